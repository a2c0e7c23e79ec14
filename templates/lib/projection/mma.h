// A projection by warp-wide matrix instructions, for every NVIDIA GPU since Ampere: outputs are the rows of the matrix
// instruction, tokens its columns.
//
//   block     cols * ways warps: warp (c, w) has outputs 16c .. 16c+15 of the tile and values 32w .. 32w+31 of every step, which
//             has 32 * ways
//   ring      `stages` steps of W and x in shared memory, copied by cp.async; a stage is
//             layout=outputs  W [TILE][STEP] | x [TOKENS][STEP] | norm's weights [STEP]
//             layout=inputs   W [STEP][TILE], read transposed | x ...
//             rows padded by 16 bytes: eight rows in a line lie in different banks
//   sums      of the ways meet in shared memory, where the ring was
//
// If there is a norm, x times the norm's weights is rounded to 16 bits before the product; the factor of a token comes in at
// the end, from the squares that warps of the first column summed up.
//@ contract(arch.wave == 32 and arch.sm >= 80, "needs warps of 32 lanes and sm_80")
//@ contract(inner % 32 == 0, "%d values of a sum are not a multiple of 32", inner)
//@ contract(outer % 8 == 0, "%d outputs are not a multiple of 8", outer)
//@ contract(pass % 8 == 0 and pass >= 8 and pass <= 128, "a pass of %d tokens is not a multiple of 8 in 8..128", pass)
//@ contract(stages >= 2 and stages <= 8, "stages %d is not in 2..8", stages)
//@ local plan = require("projection/plan").mma({ inner = inner, outer = outer, layout = layout, norm = norm, tokens = pass,
//@   cols = cols, ways = ways, stages = stages, weights = weights })
//@ contract(plan.lds <= arch.lds_bytes, "%d bytes of shared memory", plan.lds)
//@ declares{ threads = plan.threads, rows_per_wg = plan.tile, lds_bytes = plan.lds }
//@ local args = weights == 0 and "mlaf_projection_kernel_args" or "mlaf_projection_scaled_args"
//@ local side = require("projection/side")

#define MLAF_BF16 ${dtype == "bf16" and 1 or 0}
//@ include("lib/projection/machine.h")
//@ include("lib/mma.h")
//@ include("lib/projection/args.h")
//@ include("lib/projection/launch.h", { shared = plan.lds, cluster = 1, maps = {}, flags = weights ~= 0 and 16 or 0 })

constexpr int INNER = ${inner}, OUTER = ${outer}, TOKENS = ${pass}, COLS = ${cols}, WAYS = ${ways}, STAGES = ${stages};
constexpr int THREADS = ${plan.threads}, TILE = ${plan.tile}, STEP = ${plan.step}, STEPS = (INNER + STEP - 1) / STEP;
//@ include("lib/projection/block.h", { inner = inner, norm = norm, residual = residual, turn = turn, style = style })
//@ if norm == 1 then
//@ include("lib/projection/gain.h")
//@ end
constexpr int NT = TOKENS / 8;
constexpr int PITCH_X = 2 * STEP + ${plan.pitch_x - 2 * plan.step}, PITCH_W = ${plan.pitch_w}; // bytes
constexpr int X_AT = ${plan.w}, GAIN_AT = X_AT + TOKENS * PITCH_X, STAGE = ${plan.stage}; // in a stage

//@ local values, bytes = weights == 0 and 8 or 16, weights == 0 and "2 * " or "" -- of 16 bytes of W
//@ if weights ~= 0 then
//@ include("lib/projection/fp8.h", { weights = weights })
//@ include("lib/projection/mma_fp8.h", { layout = layout })
//@ end
MLAF_DEV void copy_step(const mlaf_projection_kernel_args& a, const place& p, i64 t0, int step, u32 at, int thread) {
  const int first = step * STEP;
//@ if layout == "outputs" then
  constexpr int CHUNKS = STEP / ${values}, W_ROWS = TILE;
//@ else
  constexpr int CHUNKS = TILE / ${values}, W_ROWS = STEP;
//@ end
#pragma unroll
  for (int i = 0; i < (W_ROWS * CHUNKS + THREADS - 1) / THREADS; i++) {
    const int n = i * THREADS + thread, row = n / CHUNKS, chunk = n % CHUNKS;
    if (W_ROWS * CHUNKS % THREADS != 0 && n >= W_ROWS * CHUNKS) break;
//@ if layout == "outputs" then
    const int output = p.first + row, value = first + ${values} * chunk;
    const bool real = (OUTER % TILE == 0 || output < OUTER) && (INNER % STEP == 0 || value < INNER);
    copy16(at + row * PITCH_W + 16 * chunk, real ? p.w + output * a.w_row + ${bytes}value : p.w, real);
//@ else
    const int output = p.first + ${values} * chunk, value = first + row;
    const bool real = (OUTER % TILE == 0 || output < OUTER) && (INNER % STEP == 0 || value < INNER);
    copy16(at + row * PITCH_W + 16 * chunk, real ? p.w + value * a.w_row + ${bytes}output : p.w, real);
//@ end
  }
#pragma unroll
  for (int i = 0; i < (TOKENS * (STEP / 8) + THREADS - 1) / THREADS; i++) {
    const int n = i * THREADS + thread, token = n / (STEP / 8), chunk = n % (STEP / 8), value = first + 8 * chunk;
    if (TOKENS * (STEP / 8) % THREADS != 0 && n >= TOKENS * (STEP / 8)) break;
    const bool real = t0 + token < a.tokens && (INNER % STEP == 0 || value < INNER);
    copy16(at + X_AT + token * PITCH_X + 16 * chunk, real ? p.x + (t0 + token) * a.x_token + 2 * value : p.x, real);
  }
//@ if norm == 1 then
  if (thread < STEP / 8) {
    const bool real = INNER % STEP == 0 || first + 8 * thread < INNER;
    copy16(at + GAIN_AT + 16 * thread, real ? a.gain + 2 * (first + 8 * thread) : a.gain, real);
  }
//@ end
}

//@ if norm == 1 then
MLAF_DEV u32 load_pair(u32 at) {
  u32 x;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(at) : "memory");
  return x;
}
MLAF_DEV float add_squares(float sum, u32 pair) {
  const float lo = unpack_lo(pair), hi = unpack_hi(pair);
  return fmaf(lo, lo, fmaf(hi, hi, sum));
}
//@ end

extern "C" __global__ void __launch_bounds__(${plan.threads}, 1) ${symbol}(const ${side.args(template, args)} a) {
  extern __shared__ __align__(128) char memory[];
  const int thread = (int)my_thread(), lane = thread & 31, warp = thread >> 5, col = warp % COLS, way = warp / COLS;
  const u32 ring = shared_address(memory);
  const place p = my_place(a);
  float* const sums = (float*)memory;
  float* const squares = sums + WAYS * TOKENS * PITCH;
  if (!FIRST_OF_LAYER) let_next_launch_start();
//@ if side.of(template) then
  if (appended(a, TILES)) return;
//@ end
//@ if norm == 1 then
  const gain_scale shrink = scale_of_gain(a, lane);
//@ end
  wait_for_previous_launch();
  if (FIRST_OF_LAYER) let_next_launch_start();

  for (i64 t0 = 0; t0 < a.tokens; t0 += TOKENS) {
    float s[NT][4] = {};
//@ if norm == 1 then
    float square[NT] = {};
//@ end
#pragma unroll
    for (int i = 0; i < STAGES - 1; i++) {
      if (i < STEPS) copy_step(a, p, t0, i, ring + i * STAGE, thread);
      end_copy_group();
    }
    int slot = 0, free = STAGES - 1;
//@ if weights ~= 0 then
    float next_scale = scale_of_step(a, p, 0, col, way);
//@ end
#pragma unroll 1
    for (int step = 0; step < STEPS; step++) {
      wait_for_copies<STAGES - 2>();
      __syncthreads(); // everybody's copies are there, and the slot of the step before is free
      if (step + STAGES - 1 < STEPS) copy_step(a, p, t0, step + STAGES - 1, ring + free * STAGE, thread);
      end_copy_group();
      const u32 w = ring + slot * STAGE, x = w + X_AT;
      u32 a0[4], a1[4]; // 16 outputs, values 0..15 and 16..31 of the warp's
//@ if weights ~= 0 then
      load_operands(a0, a1, w, col, way, lane);
      const float scale = next_scale;
      next_scale = scale_of_step(a, p, step + 1, col, way);
//@ elseif layout == "outputs" then
      const u32 wa = w + (16 * col + (lane & 15)) * PITCH_W + 64 * way + (lane >> 4) * 16;
      load_matrices(a0, wa);
      load_matrices(a1, wa + 32);
//@ else
      const u32 wa = w + (32 * way + (lane & 7) + 8 * (lane >> 4)) * PITCH_W + 32 * col + 16 * (lane >> 3 & 1);
      load_matrices_transposed(a0, wa);
      load_matrices_transposed(a1, wa + 16 * PITCH_W);
//@ end
//@ if norm == 1 then
      u32 gain[4];
#pragma unroll
//@   if weights ~= 0 then
      for (int i = 0; i < 4; i++)
        gain[i] = shrunk(load_pair(w + GAIN_AT + 64 * way + 32 * (i >> 1) + 8 * (lane & 3) + 4 * (i & 1)), shrink);
//@   else
      for (int i = 0; i < 4; i++) gain[i] = shrunk(load_pair(w + GAIN_AT + 64 * way + 16 * i + 4 * (lane & 3)), shrink);
//@   end
//@ end
//@ local quads = weights ~= 0 and layout == "outputs"
//@ if quads then
      const u32 xa = x + (lane >> 2) * PITCH_X + 64 * way + 8 * (lane & 3);
//@ else
      const u32 xa = x + (lane & 7) * PITCH_X + 64 * way + (lane >> 3) * 16;
//@ end
#pragma unroll
      for (int n = 0; n < NT; n++) {
        u32 b[4];
//@ if quads then
        load_quads(b, xa + n * 8 * PITCH_X);
//@ else
        load_matrices(b, xa + n * 8 * PITCH_X);
//@ end
//@ if norm == 1 then
#pragma unroll
        for (int i = 0; i < 4; i++) {
          square[n] = add_squares(square[n], b[i]);
          b[i] = multiply2(b[i], gain[i]);
        }
//@ end
//@ if weights ~= 0 then
        float part[4] = {};
        mma16(part, a0, b[0], b[1]);
        mma16(part, a1, b[2], b[3]);
#pragma unroll
        for (int i = 0; i < 4; i++) s[n][i] = fmaf(part[i], scale, s[n][i]);
//@ else
        mma16(s[n], a0, b[0], b[1]);
        mma16(s[n], a1, b[2], b[3]);
//@ end
      }
      slot = slot + 1 == STAGES ? 0 : slot + 1;
      free = free + 1 == STAGES ? 0 : free + 1;
    }
    wait_for_copies<0>();
    __syncthreads();
//@ local by_twos = weights ~= 0 and layout == "inputs"
//@ local at = by_twos and "(i >> 1)" or "8 * (i >> 1)"
    float* const mine = sums + way * TOKENS * PITCH + 16 * col + ${by_twos and "2 * (lane >> 2)" or "(lane >> 2)"};
#pragma unroll
    for (int n = 0; n < NT; n++)
#pragma unroll
      for (int i = 0; i < 4; i++) mine[(8 * n + 2 * (lane & 3) + (i & 1)) * PITCH + ${at}] = s[n][i];
//@ if norm == 1 then
#pragma unroll
    for (int n = 0; n < NT; n++) {
      const float sum = sum_over_lanes<1, 4>(square[n]);
      if (col == 0 && (lane & 3) == 0) squares[way * TOKENS + 8 * n + (lane >> 2)] = sum;
    }
//@ end
    __syncthreads();
    finish(a, p, t0, sums, squares${norm == 1 and ", shrink.up()" or ""});
    __syncthreads(); // the next pass copies to where the sums are
  }
//@ if turn > 0 then
  if (p.first == 0) turn_rows(a, p.x, p.y, (int)my_thread(), THREADS);
//@ end
}
