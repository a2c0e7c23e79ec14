// A projection of weights of 8 bits by wgmma, for 129 tokens and more: a pass has up to 256 tokens, so that a matrix is read, and
// its bytes become numbers, once for all of them. Outputs are the product's rows, tokens its columns.
//
//   block     a tile of 128 outputs of one head, or a share of its sum (SPLIT blocks, a cluster): two warpgroups with 64 outputs
//             each, and a third one that loads and lends its registers (setmaxnreg)
//   ring      STAGES of 64 values: x, [256][64] of which WIDTH rows are there | W [128][64], rows of 64 bytes; both swizzled
//   operands  lane (g, t) of a warp has values 2t, 2t+1, 2t+8, 2t+9 of 16 of the rows g and g+8, two bytes a load. While a stage
//             is multiplied the next one's bytes become numbers: byte times scale (times the norm's weight) in fp32, rounded once
//             to bf16. So all of a sum's products have one accumulator; ring_fp8.h scales them apart, which takes twice the
//             registers
//   passes    as few as there can be, all of one WIDTH, the least of the plan's widths that holds the tokens; the loops are
//             compiled once for each. x comes in whole boxes, which may have rows beyond
//   norm      a thread squares a token's row of each stage; the token's factor comes in at the end. normed: nothing is squared,
//             the factors are those of a kernel before this one
//   sums      lie where the ring was; sums.h adds up those of a cluster and finishes them
//
// Weights and scales are constants of a layer: the first STAGES are asked for before the launch waits for the one before.
//@ contract(arch.has_wgmma == 1 and arch.has_tma == 1, "needs wgmma and tensor copies")
//@ contract(dtype == "bf16", "a weight times its scale may be more than %s holds", dtype)
//@ local plan = require("projection/plan").wide_fp8({ inner = inner, outer = outer, layout = layout, norm = norm,
//@   split = split, parts = parts, fine = lanes == 2 })
//@ -- lanes: that load x. With two (parts_fp8) a stage's bytes are taken, too, before the products of the one before are asked
//@ -- for, and PARTS blocks share a tile's passes.
//@ local ahead = lanes == 2
//@ local function passes(width, args)
//@   if not ahead then return fmt("i64 t0 = 0; t0 < %s.tokens; t0 += %s", args, width) end
//@   return fmt("i64 t0 = my_block() / SPLIT %% PARTS * %s; t0 < end_of(%s.tokens, %s); t0 += PARTS * %s", width, args, width,
//@     width)
//@ end
//@ contract(not plan.refused, "%s", plan.refused)
//@ contract(plan.lds <= arch.lds_bytes, "%d bytes of shared memory", plan.lds)
//@ declares{ threads = plan.threads, rows_per_wg = plan.rows_per_wg, lds_bytes = plan.lds }

#define MLAF_BF16 1
//@ include("lib/projection/machine.h")
//@ include("lib/projection/args.h")
//@ include("lib/projection/fp8.h", { weights = weights })
//@ include("lib/projection/launch.h", { shared = plan.lds, cluster = split, flags = normed == 1 and 2064 or 16,
//@   maps = { { 1, 32, plan.tile, 64 }, { 2, 64, plan.rows } } })
//@ include("lib/projection/maps.h", { args = "mlaf_projection_scaled_args" })
//@ include("lib/hopper.h")
//@ local kinds = {}
//@ for _, width in ipairs(plan.widths) do kinds[#kinds + 1] = { width, false } end
//@ include("lib/wgmma.h", { type = dtype, kinds = kinds })

constexpr int INNER = ${inner}, OUTER = ${outer}, TOKENS = ${plan.tokens}, TILE = ${plan.tile}, WAYS = 1, SPLIT = ${split};
constexpr int THREADS = ${plan.threads}, MATH = ${plan.math}, STAGES = ${plan.stages}, STEPS = INNER / 64, SCALES = TILE / 16;
//@ local sums_norm = normed == 1 and 2 or norm
//@ include("lib/projection/block.h", { inner = inner, norm = sums_norm, residual = residual, turn = 0, style = "unrotated" })
//@ include("lib/projection/sums.h", { inner = inner, norm = sums_norm, residual = residual, split = split, writers = "MATH" })
constexpr int ROWS = ${plan.rows}; // tokens of a box of x
constexpr int W_AT = TOKENS * 128, W_BYTES = TILE * 64, STAGE = W_AT + W_BYTES; // in a stage
constexpr int FULL_AT = ${plan.barriers_at}, X_AT = FULL_AT + 8 * STAGES, EMPTY_AT = X_AT + 8 * STAGES; // W is there; x; room
constexpr int SCALES_AT = ${plan.scales_at};
//@ if norm == 1 then
constexpr int GAIN_AT = ${plan.gain_at};
//@ end
constexpr int W_WARP = MATH / 32, X_WARP = W_WARP + 1;
//@ if ahead then
constexpr int PARTS = ${parts}, X_LANES = ${lanes};
//@ end

//@ include("lib/projection/places.h")

// Tokens of each pass.
MLAF_DEV int width_of(i64 tokens) {
  const i64 passes = (tokens + TOKENS - 1) / TOKENS, each = (tokens + passes - 1) / passes;
//@ if ahead then
//@   for i = 1, #plan.widths - 1 do
  if (each <= ${plan.widths[i]}) return ${plan.widths[i]};
//@   end
  return ${plan.widths[#plan.widths]};
//@ else
  return each <= ${plan.widths[1]} ? ${plan.widths[1]} : (int)((each + ROWS - 1) / ROWS) * ROWS;
//@ end
}

// ---- The loaders: a lane each ------------------------------------------------------------------------------------------
MLAF_DEV void load_w(const mlaf_projection_params& p, u32 shared, const place& at, int step, const ring& r) {
  const u32 full = shared + FULL_AT + 8 * r.stage;
  barrier_expect(full, W_BYTES);
  copy_box_once(shared + r.stage * STAGE + W_AT, &p.w, (int)(at.head * p.a.w_head / 2) + 32 * step, at.first, full);
}
MLAF_DEV void load_x(const mlaf_projection_params& p, u32 shared, const place& at, int step, i64 t0, int width, const ring& r) {
  const u32 full = shared + X_AT + 8 * r.stage, to = shared + r.stage * STAGE;
  const int column = (int)(at.head * p.a.x_head / 2) + 64 * step;
//@ if ahead then
  const int boxes = (width + ROWS - 1) / ROWS, first = (int)my_thread() / 32 - X_WARP; // every X_LANES-th is this lane's
  barrier_expect(full, (u32)((boxes - first + X_LANES - 1) / X_LANES * ROWS) * 128);
#pragma unroll 1
  for (int row = first * ROWS; row < width; row += X_LANES * ROWS)
    copy_box(to + row * 128, &p.x, column, (int)t0 + row, full);
//@ else
  barrier_expect(full, (u32)width * 128);
#pragma unroll 1
  for (int row = 0; row < width; row += ROWS) copy_box(to + row * 128, &p.x, column, (int)t0 + row, full);
//@ end
}
MLAF_DEV void wait_empty(u32 shared, const ring& r) { barrier_wait(shared + EMPTY_AT + 8 * r.stage, r.lap ^ 1); }

//@ if ahead then
// A block's passes go from its part's to this; the first one is always there, if only to take what was asked for ahead.
MLAF_DEV i64 end_of(i64 tokens, int width) { return tokens > PARTS * width ? tokens : PARTS * width; }
//@ end
// W and x of a pass, by a warp each.
MLAF_DEV void load_pass(const mlaf_projection_params& p, u32 shared, const place& at, int begin, int end, i64 t0, int width,
                        int warp, int thread, ring& r) {
  if (thread == 32 * W_WARP)
    for (int step = ${ahead and "t0 >= PARTS * width" or "t0"} ? begin : begin + STAGES; step < end; step++, r.next()) {
      wait_empty(shared, r);
      load_w(p, shared, at, step, r);
    }
  if (${ahead and "warp >= X_WARP && warp < X_WARP + X_LANES && thread % 32 == 0" or "thread == 32 * X_WARP"})
    for (int step = begin; step < end; step++, r.next()) {
      wait_empty(shared, r);
      load_x(p, shared, at, step, t0, width, r);
    }
  __syncwarp();
  if (warp == W_WARP) wait_for_previous_launch();
}

// The block's scales, step by step; rows behind the last one have the last one's.
MLAF_DEV void lay_scales(const mlaf_projection_scaled_args& a, const place& at, int begin, int end, char* memory, int thread) {
  float* const to = (float*)(memory + SCALES_AT);
#pragma unroll 1
  for (int i = thread; i < (end - begin) * SCALES; i += THREADS) {
    const int row = at.first + 16 * (i % SCALES);
    to[i] = scale_at(a, scales_of(a, at.head, row < OUTER ? row : OUTER - 1), 64 * (begin + i / SCALES));
  }
}

// ---- Math --------------------------------------------------------------------------------------------------------------
//@ if norm == 1 then
MLAF_DEV void lay_gain(const mlaf_projection_kernel_args& a, char* memory, int thread) {
#pragma unroll 1
  for (int i = thread; i < INNER / 8; i += THREADS) *(word4*)(memory + GAIN_AT + 16 * i) = load<word4>(a.gain + 16 * i);
}
//@   if normed == 0 then
// The squares of a token's row of a stage. Four sums, so that none waits for the one before.
MLAF_DEV float add_squares(float sum, u32 x, int token) {
  float part[4] = {};
#pragma unroll
  for (int chunk = 0; chunk < 8; chunk++) {
    u32 w[4];
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "r"(x + token * 128 + (chunk ^ (token & 7)) * 16) : "memory");
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const float lo = unpack_lo(w[k]), hi = unpack_hi(w[k]);
      part[k] = fmaf(lo, lo, fmaf(hi, hi, part[k]));
    }
  }
  return sum + ((part[0] + part[1]) + (part[2] + part[3]));
}
//@   end
MLAF_DEV u32 load_word(u32 at) {
  u32 x;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(at) : "memory");
  return x;
}
//@ end
MLAF_DEV u32 load_2(u32 at) {
  unsigned short x;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(x) : "r"(at) : "memory");
  return x;
}
//@ if normed == 1 then
// Two bytes times their scales times the norm's weights.
MLAF_DEV u32 number2(u32 codes, float lo, float hi) {
  float a, b;
  decode2<0>(codes, a, b);
  return pack2(a * lo, b * hi);
}
//@ else
// Two bytes times their scale (and the norm's weights).
MLAF_DEV u32 number2(u32 codes, float scale${norm == 1 and ", u32 gain" or ""}) {
  float a, b;
  decode2<0>(codes, a, b);
//@ if norm == 1 then
  return pack2(a * scale * unpack_lo(gain), b * scale * unpack_hi(gain));
//@ else
  return pack2(a * scale, b * scale);
//@ end
}
//@ end
//@ if ahead then
// A lane's share of 64 values of 64 outputs; w: its row g of the stage.
MLAF_DEV void take_codes(u32 (&codes)[4][4], u32 w, int g) {
#pragma unroll
  for (int j = 0; j < 4; j++)
#pragma unroll
    for (int i = 0; i < 4; i++)
      codes[j][i] = load_2(w + (j ^ g >> 1) * 16 + (i & 1) * (8 * 64) + (i >> 1) * 8); // 16 values, swizzled
}
// gain: of its first value.
MLAF_DEV void make_numbers(u32 (&a)[4][4], const u32 (&codes)[4][4], float scale, u32 gain) {
//@ else
// A lane's share of 64 values of 64 outputs: all bytes first, since numbers are made of them in the order of the text. w: its
// row g of the stage; gain: of its first value.
MLAF_DEV void take_w(u32 (&a)[4][4], u32 w, int g, float scale, u32 gain) {
  u32 codes[4][4];
#pragma unroll
  for (int j = 0; j < 4; j++)
#pragma unroll
    for (int i = 0; i < 4; i++)
      codes[j][i] = load_2(w + (j ^ g >> 1) * 16 + (i & 1) * (8 * 64) + (i >> 1) * 8); // 16 values, swizzled
//@ end
#pragma unroll
  for (int j = 0; j < 4; j++) {
//@ if norm == 1 then
    const u32 gains[2] = {load_word(gain + 32 * j), load_word(gain + 32 * j + 16)};
//@ end
//@ if normed == 1 then
#pragma unroll
    for (int k = 0; k < 2; k++) {
      const float lo = scale * unpack_lo(gains[k]), hi = scale * unpack_hi(gains[k]);
      a[j][2 * k] = number2(codes[j][2 * k], lo, hi), a[j][2 * k + 1] = number2(codes[j][2 * k + 1], lo, hi);
    }
//@ else
#pragma unroll
    for (int i = 0; i < 4; i++) a[j][i] = number2(codes[j][i], scale${norm == 1 and ", gains[i >> 1]" or ""});
//@ end
  }
}

// The same number of all lanes, in a register that is one for all of them: a product's descriptor wants such ones.
MLAF_DEV u32 of_warp(u32 x) {
  u32 y;
  asm${ahead and " volatile" or ""}("redux.sync.or.b32 %0, %1, 0xffffffff;" : "=r"(y) : "r"(x));
  return y;
}
// The place of a warpgroup's lane.
struct lane_place {
  u32 shared, row, gain; // row: of W in a stage
  const float* scales;
  int g, lane, token;
};

//@ if ahead then
// A stage is multiplied while the next one's bytes, taken before, become numbers; behind the last step they do so once more, for
// nobody. x: the stage's descriptor, and then the next one's.
template <int WIDTH>
MLAF_DEV void take_step(float (&total)[WIDTH / 2], u32 (&a)[4][4], u32 (&next_a)[4][4], const lane_place& l, int step, int end,
                        ring& r, int& before, float& square, u32& x) {
  const bool last = step + 1 >= end;
  ring next = r;
  if (!last) next.next();
  const int next_step = last ? step : step + 1;
  const u32 full = l.shared + FULL_AT + 8 * next.stage;
  u32 codes[4][4];
  barrier_wait(full, next.lap);
  take_codes(codes, l.shared + next.stage * STAGE + l.row, l.g);
  const float scale = l.scales[next_step * SCALES];
  settle(total);
  wgmma_fence();
#pragma unroll
  for (int j = 0; j < 4; j++) wgmma_rs(total, a[j], x + 2 * j, true);
  wgmma_commit();
  wgmma_wait<1>();
  if (before >= 0) give_back(l.shared + EMPTY_AT + 8 * before, l.lane);
//@   if norm == 1 and normed == 0 then
  if (l.token < WIDTH) square = add_squares(square, l.shared + r.stage * STAGE, l.token);
//@   end
  make_numbers(next_a, codes, scale, l.gain + 128 * next_step);
  x = of_warp(k_major(l.shared + next.stage * STAGE));
  barrier_wait(full + (X_AT - FULL_AT), next.lap);
  before = r.stage;
  r.next();
}
//@ else
// A stage is multiplied while the next one's bytes become numbers; behind the last step they do so once more, for nobody. The
// stage before is done with when no other products than these are under way.
template <int WIDTH>
MLAF_DEV void take_step(float (&total)[WIDTH / 2], u32 (&a)[4][4], u32 (&next_a)[4][4], const lane_place& l, int step, int end,
                        ring& r, int& before, float& square) {
  const u32 at = l.shared + r.stage * STAGE, x = of_warp(k_major(at));
  const bool last = step + 1 >= end;
  ring next = r;
  next.next();
  next.stage = last ? r.stage : next.stage;
  next.lap = last ? r.lap : next.lap;
  const int next_step = last ? step : step + 1;
  const u32 full = l.shared + FULL_AT + 8 * next.stage;
  settle(total);
  wgmma_fence();
#pragma unroll
  for (int j = 0; j < 4; j++) wgmma_rs(total, a[j], x + 2 * j, true);
  wgmma_commit();
  wgmma_wait<1>();
  if (before >= 0) give_back(l.shared + EMPTY_AT + 8 * before, l.lane);
//@ if norm == 1 then
  if (l.token < WIDTH) square = add_squares(square, at, l.token);
//@ end
  barrier_wait(full, next.lap);
  take_w(next_a, l.shared + next.stage * STAGE + l.row, l.g, l.scales[next_step * SCALES], l.gain + 128 * next_step);
  barrier_wait(full + (X_AT - FULL_AT), next.lap);
  before = r.stage;
  r.next();
}
//@ end

template <int WIDTH>
MLAF_DEV void multiply_pass(char* memory, u32 shared, int begin, int end, int thread, ring& r) {
  const int lane = thread & 31, warp = __shfl_sync(~0u, thread >> 5, 0), g = lane >> 2, t = lane & 3;
  const lane_place l = {shared, (u32)(W_AT + (16 * warp + g) * 64 + 2 * t), ${norm == 1 and "shared + GAIN_AT + 4 * t" or "0"},
                        (const float*)(memory + SCALES_AT) + warp - begin * SCALES, g, lane, thread};
  float total[WIDTH / 2], square = 0.0f;
#pragma unroll
  for (int i = 0; i < WIDTH / 2; i++) total[i] = 0.0f;
  u32 a[2][4][4];
  int before = -1;
  barrier_wait(shared + FULL_AT + 8 * r.stage, r.lap);
//@ if ahead then
  u32 codes[4][4], x = of_warp(k_major(shared + r.stage * STAGE));
  take_codes(codes, shared + r.stage * STAGE + l.row, g);
  make_numbers(a[0], codes, l.scales[begin * SCALES], l.gain + 128 * begin);
//@ else
  take_w(a[0], shared + r.stage * STAGE + l.row, g, l.scales[begin * SCALES], l.gain + 128 * begin);
//@ end
  wait_for_previous_launch(); // weights come ahead of it, and so do their first numbers
  barrier_wait(shared + X_AT + 8 * r.stage, r.lap);
#pragma unroll 1
  for (int step = begin; step < end; step += 2) { // a share has an even number of steps
    take_step<WIDTH>(total, a[0], a[1], l, step, end, r, before, square${ahead and ", x" or ""});
    take_step<WIDTH>(total, a[1], a[0], l, step + 1, end, r, before, square${ahead and ", x" or ""});
  }
  wgmma_wait<0>();
  settle(total);
  give_back(shared + EMPTY_AT + 8 * before, lane);
  __syncthreads(); // the ring is done with
  float* const sums = (float*)memory;
#pragma unroll
  for (int h = 0; h < 2; h++)
#pragma unroll
    for (int j = 0; j < WIDTH / 8; j++)
#pragma unroll
      for (int e = 0; e < 2; e++) sums[(8 * j + 2 * t + e) * PITCH + 16 * warp + g + 8 * h] = total[4 * j + 2 * h + e];
//@ if sums_norm == 1 then
  if (thread < WIDTH) sums[SQUARES_AT + thread] = square;
//@ end
}

// All passes. A function of each width, from its registers on: what more of it is common to all widths the compiler gives none.
template <int WIDTH>
MLAF_DEV void multiply_all(const mlaf_projection_scaled_args& args, const place& at, char* memory, u32 shared, int begin, int end,
                           int thread, int rank, ring r) {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 ${plan.lent};");
#pragma unroll 1
  for (${passes("WIDTH", "args")}) {
    multiply_pass<WIDTH>(memory, shared, begin, end, thread, r);
    __syncthreads();
    mlaf_projection_kernel_args a = args; // up to the end of the pass
    a.tokens = t0 + WIDTH < a.tokens ? t0 + WIDTH : a.tokens;
    write_pass(a, at, t0, (float*)memory, rank);
    fence_async(); // copies of the next pass come to where the sums are
//@ if split > 1 then
    sync_cluster(); // nobody reads this block's sums any more
//@ else
    __syncthreads();
//@ end
  }
}

extern "C" __global__ void __launch_bounds__(${plan.threads}, 1) ${symbol}(
    const __grid_constant__ mlaf_projection_params p) {
  extern __shared__ __align__(1024) char memory[];
  if (!FIRST_OF_LAYER) let_next_launch_start();
  const u32 shared = shared_address(memory);
  const int thread = (int)my_thread(), warp = __shfl_sync(~0u, thread >> 5, 0), rank = (int)(my_block() % SPLIT);
  const int width = width_of(p.a.tokens);
  const place at = place_of(p.a, my_block() / ${ahead and "(SPLIT * PARTS)" or "SPLIT"});
  const int begin = 2 * (STEPS / 2 * rank / SPLIT), end = 2 * (STEPS / 2 * (rank + 1) / SPLIT);
  ring r = {0, 0};
  if (thread == 32 * W_WARP) {
    for (int i = 0; i < STAGES; i++) {
      barrier_init(shared + FULL_AT + 8 * i, 1);
      barrier_init(shared + X_AT + 8 * i, ${lanes});
      barrier_init(shared + EMPTY_AT + 8 * i, MATH / 32);
    }
    barriers_ready();
    // Nothing is in the ring yet, and who waits for these copies does so behind the barrier below.
    for (int i = 0; i < STAGES && begin + i < end; i++, r.next()) load_w(p, shared, at, begin + i, r);
  }
  lay_scales(p.a, at, begin, end, memory, thread);
//@ if norm == 1 then
  lay_gain(p.a, memory, thread);
//@ end
  __syncthreads();
  if (warp > W_WARP) wait_for_previous_launch();
  if (FIRST_OF_LAYER && warp > W_WARP) let_next_launch_start();
  // Those who load and those who multiply never meet in the text again: their registers differ in number.
  if (warp >= W_WARP) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 ${plan.kept};");
#pragma unroll 1
    for (${passes("width", "p.a")}) {
      load_pass(p, shared, at, begin, end, t0, width, warp, thread, r);
      __syncthreads(); // the ring is done with
      __syncthreads(); // sums are there
//@ if split > 1 then
      for (int i = 0; i < 2; i++) sync_cluster(); // within write_pass, and behind it
//@ else
      __syncthreads(); // sums are written
//@ end
    }
    return;
  }
//@ for _, width in ipairs(plan.widths) do
  if (width == ${width}) return multiply_all<${width}>(p.a, at, memory, shared, begin, end, thread, rank, r);
//@ end
}
