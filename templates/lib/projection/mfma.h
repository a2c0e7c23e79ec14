// A projection by matrix instructions of CDNA: outputs are the rows of the matrix instruction, tokens its columns. Nothing but
// the sums goes through LDS: a lane loads what it multiplies.
//
//   layout=outputs  lane l has row l%16 of each of `blocks` groups of 16 outputs, and 16 bytes of it: values 8 * (l/16) .. +7 of
//                   a step of 32. x the same, so the order of values within a step is free: two instructions of 16.
//                   L1 takes four lanes a clock, and four lines whose addresses differ by a multiple of 512 bytes, as rows mostly
//                   do, one after the other. So 16-bit weights come in steps of a line, 64 values, and of the `depth` lines that
//                   are asked for together lane l has line n ^ l % depth as its number n; then each puts its own in order
//   layout=inputs   lane l has rows 4 * (l/16) .. +3 of a step of 16, and `blocks` (4 or 8) outputs from blocks * (l%16) on of
//                   each. Two-by-two transpositions make `blocks` operands of four values; number c has outputs c, blocks + c, ..
//   waves           share the contraction: each has a run of steps, `depth` of them in flight. Sums meet in LDS.
//                   Where columns turn, a wave more turns them meanwhile
//   parts           blocks that share the passes of a tile (parts.h): W is read more often, and more compute units have work
//
// Lanes beyond the last output or token load the last one's, whose results nobody writes. With a norm, x times the norm's
// weights is rounded to 16 bits before the product, or W is, where a block has fewer rows of it and 16 bits are bf16 (a
// f16 could be too small). Squares of lines are products of x with itself, of which the diagonal counts. The factor of a token
// comes in at the end.
//@ contract(arch.wave == 64, "wave size %d", arch.wave)
//@ contract(inner % 32 == 0, "%d values of a sum are not a multiple of 32", inner)
//@ contract(outer % 8 == 0, "%d outputs are not a multiple of 8", outer)
//@ contract(pass % 16 == 0 and pass >= 16 and pass <= 128, "a pass of %d tokens is not a multiple of 16 in 16..128", pass)
//@ contract(layout == "outputs" or blocks == 4 or blocks == 8, "%d outputs of a lane are not 4 or 8", blocks)
//@ local plan = require("projection/plan").mfma({ weights = weights, inner = inner, layout = layout, norm = norm,
//@   waves = waves, blocks = blocks })
//@ local lines = require("projection/lines")
//@ local shape = { weights = weights, inner = inner, layout = layout }
//@ local whole = lines.whole(shape)
//@ contract(depth == 1 or depth == 2 or depth == 4, "depth %d is not 1, 2 or 4", depth)
//@ local together, lds = lines.together(pass, plan.lds)
//@ contract(lds <= arch.lds_bytes, "%d bytes of LDS", lds)
//@ contract(layout == "outputs" or norm == 0, "a norm needs layout=outputs")
//@ local all = waves + lines.turning(turn) -- waves; the last one turns columns meanwhile
//@ declares{ threads = 64 * all, rows_per_wg = plan.tile // parts, lds_bytes = lds }
//@ local shrinks = norm == 1 and dtype == "f16" -- gain.h; a bf16 stays as it is
//@ local gain_on_w = norm == 1 and whole and dtype == "bf16" and blocks < pass // 16
//@ local args = weights == 0 and "mlaf_projection_kernel_args" or "mlaf_projection_scaled_args"
//@ local side = require("projection/side")

#define MLAF_BF16 ${dtype == "bf16" and 1 or 0}
#define MLAF_MFMA_K32 0
//@ include("lib/projection/machine.h")
//@ include("lib/mfma.h")
//@ include("lib/projection/args.h")

constexpr int INNER = ${inner}, OUTER = ${outer}, TOKENS = ${together}, WAYS = ${waves}, THREADS = ${64 * all};
constexpr int TILE = ${plan.tile};
//@ include("lib/projection/block.h", { inner = inner, norm = norm, residual = residual, turn = turn, style = style })
//@ if shrinks then
//@ include("lib/projection/gain.h")
//@ end
//@ include("lib/projection/one_trip.h")
//@ include("lib/projection/parts.h", { tile = plan.tile, outer = outer, parts = parts })
constexpr int BLOCKS = ${blocks}, GROUPS = ${pass // 16}; // GROUPS: of 16 tokens
constexpr int TOGETHER = TOKENS / 16; // groups whose sums meet at a time
constexpr int STEPS = INNER / ${lines.step(shape, plan.step)}, DEPTH = ${depth};

//@ if weights ~= 0 or side.of(template) then
//@ include("lib/projection/launch.h", { shared = 0, cluster = 1, maps = {}, flags = weights ~= 0 and 16 or 0 })
//@ end
//@ if weights ~= 0 then
//@ include("lib/projection/fp8.h", { weights = weights })
//@ end
struct operands {
  const char* w[${layout == "outputs" and blocks or 4}]; // rows of this lane
//@ if weights ~= 0 and layout == "outputs" then
  const char* scales[BLOCKS];
//@ elseif weights ~= 0 then
  int head, first;
//@ end
  const char* x[GROUPS];
//@ if layout == "inputs" then
  i64 w_step;
//@ end
//@ if norm == 1 then
  const char* gain;
//@ end
//@ if shrinks then
  gain_scale shrink;
//@ end
};
struct sums_of_wave {
  f32x4 of[BLOCKS][GROUPS];
//@ if norm == 1 then
  ${whole and "f32x4" or "float"} squares[GROUPS];
//@ end
};

// Comes behind the matrix instructions of a loop's body. hiprtc counts the s_branch at a block's end as a wait state on the edge
// that jumps over it, too. The loop behind, whose addresses may take the place of sums, then has a state too few: the last
// instruction still reads or writes them. Inline assembly is not counted, so these two states are extra.
MLAF_DEV void loop_ends() {
  __builtin_amdgcn_sched_barrier(0);
  asm volatile("s_nop 1");
}
//@ if weights ~= 0 then
//@ include("lib/projection/mfma_fp8.h", { layout = layout, norm = norm, blocks = blocks, values = plan.values,
//@   shrinks = shrinks })
//@ elseif whole then
// Lines in order: number j is what the lane loaded as number j ^ turn.
template <int N>
MLAF_DEV void in_order(word4 (&line)[N][2], int turn) {
#pragma unroll
  for (int bit = 1; bit < N; bit *= 2) {
    const bool on = turn & bit;
#pragma unroll
    for (int n = 0; n < N; n++) {
      if (n & bit) continue;
#pragma unroll
      for (int h = 0; h < 2; h++)
#pragma unroll
        for (int i = 0; i < 4; i++) { // values, not places: the compiler would choose between those at run time
          const u32 a = line[n][h][i], b = line[n + bit][h][i];
          line[n][h][i] = on ? b : a;
          line[n + bit][h][i] = on ? a : b;
        }
    }
  }
}

template <int N, bool X_IN_TURN>
MLAF_DEV void add_steps(const operands& o, int step, sums_of_wave& s) {
  word4 w[BLOCKS][N][2], x[GROUPS][N][2]; // halves of a line
//@   if norm == 1 then
  word4 gain[N][2];
//@   end
  const int turn = (int)my_thread() % N, x_turn = X_IN_TURN ? turn : 0;
#pragma unroll
  for (int n = 0; n < N; n++) {
    const i64 at = (i64)step * 128 + (n ^ turn) * 128, x_at = (i64)step * 128 + (n ^ x_turn) * 128;
#pragma unroll
    for (int h = 0; h < 2; h++) {
#pragma unroll
      for (int b = 0; b < BLOCKS; b++) w[b][n][h] = load_weights(o.w[b] + at + 64 * h);
#pragma unroll
      for (int g = 0; g < GROUPS; g++) x[g][n][h] = load<word4>(o.x[g] + x_at + 64 * h);
//@   if norm == 1 then
      gain[n][h] = load<word4>(o.gain + (i64)(step + n) * 128 + 64 * h);
//@   end
    }
  }
  __builtin_amdgcn_sched_barrier(0); // all are asked for before any is waited for
//@   if shrinks then
#pragma unroll
  for (int n = 0; n < 2 * N; n++) gain[n / 2][n % 2] = shrunk(gain[n / 2][n % 2], o.shrink);
//@   end
#pragma unroll
  for (int b = 0; b < BLOCKS; b++) {
    in_order<N>(w[b], turn);
//@   if gain_on_w then
#pragma unroll
    for (int n = 0; n < 2 * N; n++)
#pragma unroll
      for (int i = 0; i < 4; i++) w[b][n / 2][n % 2][i] = multiply2(w[b][n / 2][n % 2][i], gain[n / 2][n % 2][i]);
//@   end
  }
#pragma unroll
  for (int g = 0; g < GROUPS; g++) {
    if (X_IN_TURN) in_order<N>(x[g], turn);
#pragma unroll
    for (int n = 0; n < 2 * N; n++) {
      word4 v = x[g][n / 2][n % 2];
//@   if norm == 1 then
      s.squares[g] = mfma16(v.xy, v.xy, s.squares[g]);
      s.squares[g] = mfma16(v.zw, v.zw, s.squares[g]);
//@   end
//@   if norm == 1 and not gain_on_w then
#pragma unroll
      for (int i = 0; i < 4; i++) v[i] = multiply2(v[i], gain[n / 2][n % 2][i]);
//@   end
#pragma unroll
      for (int b = 0; b < BLOCKS; b++) {
        s.of[b][g] = mfma16(w[b][n / 2][n % 2].xy, v.xy, s.of[b][g]);
        s.of[b][g] = mfma16(w[b][n / 2][n % 2].zw, v.zw, s.of[b][g]);
      }
    }
  }
}

// Steps begin .. end - 1 of a wave. X_IN_TURN: rows of x are in one bank, as those of W mostly are.
template <bool X_IN_TURN>
MLAF_DEV void add_up(const operands& o, int begin, int end, sums_of_wave& s) {
  int step = begin;
#pragma unroll 1
  for (; step + DEPTH <= end; step += DEPTH) add_steps<DEPTH, X_IN_TURN>(o, step, s), loop_ends();
//@   if depth == 4 then
#pragma unroll 1
  for (; step + 2 <= end; step += 2) add_steps<2, X_IN_TURN>(o, step, s), loop_ends();
//@   end
#pragma unroll 1
  for (; step < end; step++) add_steps<1, X_IN_TURN>(o, step, s), loop_ends();
}
//@ elseif layout == "outputs" then
template <int N>
MLAF_DEV void add_steps(const operands& o, int step, sums_of_wave& s) {
  word4 w[N][BLOCKS], x[N][GROUPS];
//@   if norm == 1 then
  word4 gain[N];
//@   end
#pragma unroll
  for (int n = 0; n < N; n++) {
    const i64 at = (i64)(step + n) * 64;
#pragma unroll
    for (int b = 0; b < BLOCKS; b++) w[n][b] = load_weights(o.w[b] + at);
#pragma unroll
    for (int g = 0; g < GROUPS; g++) x[n][g] = load<word4>(o.x[g] + at);
//@   if norm == 1 then
    gain[n] = load<word4>(o.gain + at);
//@   end
  }
#pragma unroll
  for (int n = 0; n < N; n++)
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
      word4 v = x[n][g];
//@   if norm == 1 then
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const float lo = unpack_lo(v[i]), hi = unpack_hi(v[i]);
        s.squares[g] = multiply_add(lo, lo, multiply_add(hi, hi, s.squares[g]));
        v[i] = multiply2(v[i], ${shrinks and "shrunk(gain[n][i], o.shrink)" or "gain[n][i]"});
      }
//@   end
#pragma unroll
      for (int b = 0; b < BLOCKS; b++) {
        s.of[b][g] = mfma16(w[n][b].xy, v.xy, s.of[b][g]);
        s.of[b][g] = mfma16(w[n][b].zw, v.zw, s.of[b][g]);
      }
    }
}
//@ else
constexpr int WORDS = BLOCKS / 2; // of a lane's outputs in a row
typedef u32 words_of_row __attribute__((ext_vector_type(WORDS)));

template <int N>
MLAF_DEV void add_steps(const operands& o, int step, sums_of_wave& s) {
  words_of_row w[N][4];
  u32x2 x[N][GROUPS];
#pragma unroll
  for (int n = 0; n < N; n++) {
#pragma unroll
    for (int r = 0; r < 4; r++) w[n][r] = load<words_of_row>(o.w[r] + (i64)(step + n) * o.w_step);
#pragma unroll
    for (int g = 0; g < GROUPS; g++) x[n][g] = load<u32x2>(o.x[g] + (i64)(step + n) * 32);
  }
#pragma unroll
  for (int n = 0; n < N; n++)
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
      const u32x2 even = {join_lo(w[n][0][i], w[n][1][i]), join_lo(w[n][2][i], w[n][3][i])};
      const u32x2 odd = {join_hi(w[n][0][i], w[n][1][i]), join_hi(w[n][2][i], w[n][3][i])};
#pragma unroll
      for (int g = 0; g < GROUPS; g++) {
        s.of[2 * i][g] = mfma16(even, x[n][g], s.of[2 * i][g]);
        s.of[2 * i + 1][g] = mfma16(odd, x[n][g], s.of[2 * i + 1][g]);
      }
    }
}
//@ end

extern "C" __global__ void __launch_bounds__(THREADS) ${symbol}(const ${side.args(template, args)} a) {
  __shared__ __attribute__((aligned(16))) float sums[WAYS * TOKENS * PITCH];
//@ if norm == 1 then
  __shared__ float squares[WAYS * TOKENS];
//@ else
  const float* const squares = nullptr;
//@ end
  const int thread = (int)my_thread(), lane = thread % 64, wave = uniform(thread / 64), row = lane % 16, group = lane / 16;
  fetch_arguments(a);
//@ if side.of(template) then
  if (appended(a, TILES * TILE_BLOCKS)) return;
//@ end
  const share mine = my_share();
  const place p = place_of(a, mine.tile);
  const int begin = STEPS * wave / WAYS, end = STEPS * (wave + 1) / WAYS;
  operands o;
//@ if layout == "outputs" then
#pragma unroll
  for (int b = 0; b < BLOCKS; b++) {
    const int output = p.first + 16 * b + row;
    o.w[b] = p.w + (output < OUTER ? output : OUTER - 1) * a.w_row + ${weights == 0 and 16 or plan.values} * group;
//@   if weights ~= 0 then
    o.scales[b] = scales_of(a, p.head, p.first + 16 * b < OUTER ? p.first + 16 * b : OUTER - 1);
//@   end
  }
//@ else
  const int output = p.first + BLOCKS * row;
#pragma unroll
//@   local bytes = weights == 0 and "2 * " or ""
  for (int r = 0; r < 4; r++) o.w[r] = p.w + (4 * group + r) * a.w_row + ${bytes}(output < OUTER ? output : OUTER - BLOCKS);
  o.w_step = 16 * a.w_row;
//@   if weights ~= 0 then
  o.head = p.head, o.first = p.first;
//@   end
//@ end
//@ if norm == 1 then
  o.gain = a.gain + ${weights == 0 and 16 or 2 * plan.values} * group;
//@   if shrinks then
  o.shrink = scale_of_gain(a, lane);
//@   end
//@ end
//@ if turn > 0 then
  // Columns that turn are shared out over the head's blocks: a wave beside those that multiply.
  const int blocks = TILES * TILE_BLOCKS, block = p.first / TILE * TILE_BLOCKS + mine.part;
  if (wave == WAYS) turn_rows(a, p.x, p.y, block * 64 + lane, blocks * 64);
//@ end
  const i64 first = mine.part * (16 * GROUPS);
  for (i64 t0 = first; t0 < a.tokens; t0 += TILE_BLOCKS * 16 * GROUPS) {
#pragma unroll
//@ local x_bytes = layout == "inputs" and 8 or weights == 0 and 16 or 2 * plan.values
    for (int g = 0; g < GROUPS; g++) o.x[g] = row_of_x(a, p, t0 + 16 * g + row) + ${x_bytes} * group;
    sums_of_wave s = {};
//@ if whole then
    if (a.x_token % 512 == 0) add_up<true>(o, begin, end, s);
    else add_up<false>(o, begin, end, s);
//@ else
    int step = wave < WAYS ? begin : end;
#pragma unroll 1
//@ local given = weights == 0 and "o" or "a, o"
    for (; step + DEPTH <= end; step += DEPTH) add_steps<DEPTH>(${given}, step, s), loop_ends();
#pragma unroll 1
    for (; step < end; step++) add_steps<1>(${given}, step, s), loop_ends();
//@ end
#pragma unroll
    for (int from = 0; from < GROUPS; from += TOGETHER) {
      if (t0 + 16 * from >= a.tokens) break; // the same for all
      if (t0 != first || from) __syncthreads(); // those before were written from the sums
#pragma unroll
      for (int g = from; g < from + TOGETHER; g++) {
        if (THREADS > 64 * WAYS && wave == WAYS) break;
        const int token = wave * TOKENS + 16 * (g - from) + row;
        float* const to = sums + token * PITCH;
#pragma unroll
        for (int b = 0; b < BLOCKS; b++)
#pragma unroll
//@ if layout == "outputs" then
          for (int r = 0; r < 4; r++) to[16 * b + 4 * group + r] = s.of[b][g][r];
//@ else
          for (int r = 0; r < 4; r++) to[BLOCKS * (4 * group + r) + b] = s.of[b][g][r];
//@ end
//@ if norm == 1 and whole then
        if (group == row / 4) squares[token] = s.squares[g][row % 4];
//@ elseif norm == 1 then
        const float square = sum_over_groups(s.squares[g], lane);
        if (group == 0) squares[token] = square;
//@ end
      }
      __syncthreads();
      finish(a, p, t0 + 16 * from, sums, squares${shrinks and ", o.shrink.up()" or ""});
    }
  }
}
