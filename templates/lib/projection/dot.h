// A projection by dot products, for a few tokens, on any target.
//
//   layout=outputs    W[h] is [OUTER][INNER]: a warp (wave) has `cols` outputs, its lanes 16 bytes of each row, LANES * 8 values
//                     further on; `depth` such loads of every row are in flight. Sums go over the lanes.
//   layout=inputs     W[h] is [INNER][OUTER]: a thread has 8 outputs, 16 bytes of every WAYS-th row; a row of x lies in shared
//                     memory as fp32. Sums go over the threads that have the same outputs.
//
// All arithmetic is fp32: x times the norm's weights is not rounded, the sum of squares comes along.
//@ if weights ~= 0 then
// Weights of 8 bits: 16 values of a row in a load (dot_fp8.h); layout=inputs 8 outputs, and x lies in shared memory times its
// block's scale.
//@ end
//@ local plan = require("projection/plan").dot({ inner = inner, outer = outer, layout = layout, norm = norm, tokens = pass,
//@   cols = cols, threads = threads }, arch.wave)
//@ contract(not plan.refused, "%s", plan.refused)
//@ declares{ threads = threads, rows_per_wg = plan.tile, lds_bytes = plan.lds }
//@ local args = weights == 0 and "mlaf_projection_kernel_args" or "mlaf_projection_scaled_args"
//@ local side = require("projection/side")

#define MLAF_BF16 ${dtype == "bf16" and 1 or 0}
//@ include("lib/projection/machine.h")
//@ include("lib/projection/args.h")
//@ include("lib/projection/launch.h", { shared = 0, cluster = 1, maps = {}, flags = weights ~= 0 and 16 or 0 })

constexpr int INNER = ${inner}, OUTER = ${outer}, TOKENS = ${pass}, THREADS = ${threads};
constexpr int TILE = ${plan.tile}, WAYS = ${plan.ways};
//@ include("lib/projection/block.h", { inner = inner, norm = norm, residual = residual, turn = turn, style = style })
//@ if weights ~= 0 then
//@ include("lib/projection/fp8.h", { weights = weights })
//@ end

//@ if layout == "outputs" then
constexpr int COLS = ${cols}, CHUNKS = INNER / ${weights == 0 and 8 or 16}, ROUNDS = (CHUNKS + LANES - 1) / LANES;
constexpr int DEPTH = ROUNDS < ${depth} ? ROUNDS : ${depth};

struct sums_of_warp {
  float of[TOKENS][COLS];
  float squares[TOKENS];
};

//@   if weights ~= 0 then
//@ include("lib/projection/dot_fp8.h", { norm = norm })
//@   else
// Rounds round .. round + N - 1.
template <int N>
MLAF_DEV void add_rounds(const mlaf_projection_kernel_args& a, const char* const (&w)[COLS], const char* const (&x)[TOKENS],
                         int round, int lane, sums_of_warp& s) {
  word4 weights[N][COLS];
  bool there[N];
#pragma unroll
  for (int r = 0; r < N; r++) {
    const int chunk = (round + r) * LANES + lane;
    there[r] = CHUNKS % LANES == 0 || chunk < CHUNKS;
#pragma unroll
    for (int c = 0; c < COLS; c++)
      weights[r][c] = there[r] ? load_weights(w[c] + 16 * chunk) : words(0, 0, 0, 0);
  }
#pragma unroll
  for (int r = 0; r < N; r++) {
    const int chunk = (round + r) * LANES + lane;
    float v[TOKENS][8];
#pragma unroll
    for (int t = 0; t < TOKENS; t++) unpack(v[t], there[r] ? load<word4>(x[t] + 16 * chunk) : words(0, 0, 0, 0));
//@   if norm == 1 then
    float g[8];
    unpack(g, there[r] ? load<word4>(a.gain + 16 * chunk) : words(0, 0, 0, 0));
#pragma unroll
    for (int t = 0; t < TOKENS; t++)
#pragma unroll
      for (int i = 0; i < 8; i++) {
        s.squares[t] = multiply_add(v[t][i], v[t][i], s.squares[t]);
        v[t][i] *= g[i];
      }
//@   end
#pragma unroll
    for (int c = 0; c < COLS; c++) {
      float u[8];
      unpack(u, weights[r][c]);
#pragma unroll
      for (int t = 0; t < TOKENS; t++)
#pragma unroll
        for (int i = 0; i < 8; i++) s.of[t][c] = multiply_add(u[i], v[t][i], s.of[t][c]);
    }
  }
}

//@   end
MLAF_DEV float over_lanes(float x, int lane) {
#pragma unroll
  for (int d = 1; d < LANES; d *= 2) x += exchange(x, lane, d);
  return x;
}

extern "C" __global__ void __launch_bounds__(${threads}) ${symbol}(const ${side.args(template, args)} a) {
  __shared__ __attribute__((aligned(16))) float sums[TOKENS * PITCH];
//@   if norm == 1 then
  __shared__ float squares[TOKENS];
//@   else
  const float* const squares = nullptr;
//@   end
  const int thread = (int)my_thread(), lane = thread % LANES, warp = thread / LANES;
  const place p = my_place(a);
  if (!FIRST_OF_LAYER) let_next_launch_start();
//@ if side.of(template) then
  if (appended(a, TILES)) return;
//@ end
  wait_for_previous_launch();
  if (FIRST_OF_LAYER) let_next_launch_start();
//@   if weights ~= 0 then
  const char *w[COLS], *scales[COLS];
//@   else
  const char* w[COLS];
//@   end
#pragma unroll
  for (int c = 0; c < COLS; c++) {
    const int output = p.first + warp * COLS + c;
    w[c] = p.w + (output < OUTER ? output : OUTER - 1) * a.w_row;
//@   if weights ~= 0 then
    scales[c] = scales_of(a, p.head, output < OUTER ? output : OUTER - 1);
//@   end
  }
//@   local given = weights ~= 0 and "a, w, scales, x" or "a, w, x"
  for (i64 t0 = 0; t0 < a.tokens; t0 += TOKENS) {
    const char* x[TOKENS];
#pragma unroll
    for (int t = 0; t < TOKENS; t++) x[t] = row_of_x(a, p, t0 + t);
    sums_of_warp s = {};
#pragma unroll 1
    for (int round = 0; round + DEPTH <= ROUNDS; round += DEPTH) add_rounds<DEPTH>(${given}, round, lane, s);
    if (ROUNDS % DEPTH) add_rounds<(ROUNDS % DEPTH ? ROUNDS % DEPTH : 1)>(${given}, ROUNDS - ROUNDS % DEPTH, lane, s);
    if (t0) __syncthreads(); // the pass before was written from the sums
#pragma unroll
    for (int t = 0; t < TOKENS; t++) {
#pragma unroll
      for (int c = 0; c < COLS; c++) {
        const float sum = over_lanes(s.of[t][c], lane);
        if (lane == 0) sums[t * PITCH + warp * COLS + c] = sum;
      }
//@   if norm == 1 then
      const float square = over_lanes(s.squares[t], lane);
      if (thread == 0) squares[t] = square;
//@   end
    }
    __syncthreads();
    finish(a, p, t0, sums, squares);
  }
}
//@ else
constexpr int SPAN = TILE / 8, ROWS = (INNER + WAYS - 1) / WAYS; // rows of a thread, every WAYS-th
constexpr int DEPTH = ROWS < ${depth} ? ROWS : ${depth};

template <int N>
MLAF_DEV void add_rows(const char* w, i64 w_row, int first, const float* x, float (&s)[TOKENS][8]) {
//@   if weights ~= 0 then
  word2 weights[N];
#pragma unroll
  for (int r = 0; r < N; r++) {
    const int row = first + r * WAYS;
    weights[r] = load<word2>(w + (INNER % WAYS == 0 || row < INNER ? row : INNER - 1) * w_row); // whose x is 0
  }
//@   else
  word4 weights[N];
#pragma unroll
  for (int r = 0; r < N; r++) {
    const int row = first + r * WAYS;
    weights[r] = INNER % WAYS == 0 || row < INNER ? load_weights(w + row * w_row) : words(0, 0, 0, 0);
  }
//@   end
#pragma unroll
  for (int r = 0; r < N; r++) {
    const int row = first + r * WAYS;
    float u[8];
//@   if weights ~= 0 then
    decode8(u, weights[r].x, weights[r].y);
//@   else
    unpack(u, weights[r]);
//@   end
#pragma unroll
    for (int t = 0; t < TOKENS; t++) {
      const float v = x[t * (ROWS * WAYS) + row];
#pragma unroll
      for (int i = 0; i < 8; i++) s[t][i] = multiply_add(u[i], v, s[t][i]);
    }
  }
}

//@   local bytes = weights == 0 and "2 * " or ""
extern "C" __global__ void __launch_bounds__(${threads}) ${symbol}(const ${side.args(template, args)} a) {
  __shared__ __attribute__((aligned(16))) float sums[WAYS * TOKENS * PITCH];
  __shared__ float inputs[TOKENS * ROWS * WAYS];
  const int thread = (int)my_thread(), way = thread / SPAN, column = thread % SPAN * 8;
  const place p = my_place(a);
  const int output = p.first + column < OUTER ? p.first + column : OUTER - 8;
  if (!FIRST_OF_LAYER) let_next_launch_start();
//@ if side.of(template) then
  if (appended(a, TILES)) return;
//@ end
  wait_for_previous_launch();
  if (FIRST_OF_LAYER) let_next_launch_start();
  for (i64 t0 = 0; t0 < a.tokens; t0 += TOKENS) {
    for (int i = thread; i < TOKENS * (ROWS * WAYS / 2); i += THREADS) { // two values at a time; zeros behind the last
      const int t = i / (ROWS * WAYS / 2), k = i % (ROWS * WAYS / 2) * 2;
      const u32 pair = INNER % WAYS == 0 || k < INNER ? load<u32>(row_of_x(a, p, t0 + t) + 2 * k) : 0;
//@   if weights ~= 0 then
      const float scale = scale_at(a, scales_of(a, p.head, k < INNER ? k : INNER - 1), p.first); // of both rows
      inputs[t * (ROWS * WAYS) + k] = unpack_lo(pair) * scale;
      inputs[t * (ROWS * WAYS) + k + 1] = unpack_hi(pair) * scale;
//@   else
      inputs[t * (ROWS * WAYS) + k] = unpack_lo(pair);
      inputs[t * (ROWS * WAYS) + k + 1] = unpack_hi(pair);
//@   end
    }
    __syncthreads();
    float s[TOKENS][8] = {};
    int row = way;
#pragma unroll 1
    for (int r = 0; r + DEPTH <= ROWS; r += DEPTH, row += DEPTH * WAYS)
      add_rows<DEPTH>(p.w + ${bytes}output, a.w_row, row, inputs, s);
    if (ROWS % DEPTH) add_rows<(ROWS % DEPTH ? ROWS % DEPTH : 1)>(p.w + ${bytes}output, a.w_row, row, inputs, s);
#pragma unroll
    for (int t = 0; t < TOKENS; t++)
#pragma unroll
      for (int i = 0; i < 8; i++) sums[(way * TOKENS + t) * PITCH + column + i] = s[t][i];
    __syncthreads();
    finish(a, p, t0, sums, nullptr);
    __syncthreads();
  }
//@   if turn > 0 then
  if (p.first == 0) turn_rows(a, p.x, p.y, (int)my_thread(), THREADS);
//@   end
}
//@ end
