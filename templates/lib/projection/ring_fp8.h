// A projection of weights of 8 bits by wgmma, for more tokens than registers can feed: ring.h, whose weights become 16-bit
// numbers between shared memory and the registers of the product. Outputs are its rows, 64 of them a warpgroup, of
// which TILE are there; tokens are its columns.
//
//   block     a tile of outputs of one head, or a share of its sum (SPLIT blocks, a cluster): WAYS warpgroups that take the
//             steps of the sum in turns, or GROUPS that take each step together, 64 outputs each, so that x comes less often; a
//             warp that loads weights, a warp that loads x
//   ring      STAGES of 128 values: x, two of [TOKENS][64] | W [TILE][128], rows of 128 bytes, swizzled
//   widths    of passes of 128 tokens two forms are compiled: for up to 96 tokens, which multiplies fewer columns, and for more
//   operands  lane (g, t) of a warp has values 2t, 2t+1, 2t+8, 2t+9 of 16 of the rows g and g+8, two bytes a load. While a half
//             step is multiplied the bytes of the next one become numbers, all of them
//   scales    of all half steps lie behind the ring, one for 16 outputs. Products of a step, or of a half step where scales
//             change within steps, are summed up apart and come to the others times their scale
//   norm      weights are multiplied by the norm's, rounded to 16 bits: x stays where it is. Each thread squares a part of x's
//             rows; the factor of a token comes in at the end
//   folded    (128 tokens, three GROUPS, a norm) a byte's scale comes in with the norm's weight, in fp32 and rounded once. So all
//             products are one sum, whose registers three warpgroups have
//   sums      meet where the ring was; sums.h finishes them
//   registers of 128 tokens a thread has 128 sums and part sums: a third warpgroup loads and lends its registers (setmaxnreg),
//             and with three GROUPS a fourth one
//
// Weights and scales are constants of a layer: the first STAGES are asked for before the launch waits for the one before.
//@ contract(arch.has_wgmma == 1 and arch.has_tma == 1, "needs wgmma and tensor copies")
//@ contract(pass == 16 or pass == 32 or pass == 64 or pass == 128, "a pass of %d tokens is not 16, 32, 64 or 128", pass)
//@ contract(norm == 0 or dtype == "bf16", "a weight times a norm's may be more than a f16")
//@ local plan = require("projection/plan").ring_fp8({ inner = inner, outer = outer, layout = layout, norm = norm, tokens = pass,
//@   rows = rows, per_sm = per_sm, split = split, ways = ways })
//@ contract(not plan.refused, "%s", plan.refused)
//@ local folded, narrow = plan.folded, plan.narrow
//@ local width = narrow and "WIDTH" or "TOKENS" -- columns of a product
//@ local sums_of = narrow and "SUMS" or "TOKENS / 2" -- of a thread
//@ contract(plan.lds <= arch.lds_bytes, "%d bytes of shared memory", plan.lds)
//@ declares{ threads = plan.threads, rows_per_wg = rows, lds_bytes = plan.lds }

#define MLAF_BF16 ${dtype == "bf16" and 1 or 0}
//@ include("lib/projection/machine.h")
//@ include("lib/projection/args.h")
//@ include("lib/projection/fp8.h", { weights = weights })
//@ include("lib/projection/launch.h", { shared = plan.lds, cluster = split, flags = 16 + 8192,
//@   maps = { { 1, 64, rows }, { 2, 64, pass } } })
//@ include("lib/projection/maps.h", { args = "mlaf_projection_scaled_args" })
//@ include("lib/hopper.h")
//@ include("lib/wgmma.h", { type = dtype, kinds = narrow and { { narrow, false }, { pass, false } } or { { pass, false } } })

constexpr int INNER = ${inner}, OUTER = ${outer}, TOKENS = ${pass}, TILE = ${rows}, WAYS = ${ways}, SPLIT = ${split};
constexpr int GROUPS = ${plan.groups}, WAY = 128 * GROUPS; // warpgroups of a way, 64 outputs each; its threads
constexpr int THREADS = ${plan.threads}, STAGES = ${plan.stages}, STEPS = INNER / 128, SCALES = (TILE + 15) / 16;
//@ include("lib/projection/block.h", { inner = inner, norm = norm, residual = residual, turn = 0, style = "unrotated" })
//@ include("lib/projection/sums.h", { inner = inner, norm = norm, residual = residual, split = split,
//@   writers = plan.lends and "WAY * WAYS" or "THREADS" })
constexpr int W_AT = TOKENS * 256, W_BYTES = TILE * 128, STAGE = W_AT + W_BYTES; // in a stage
constexpr int FULL_AT = ${plan.barriers_at}, X_AT = FULL_AT + 8 * STAGES, EMPTY_AT = X_AT + 8 * STAGES; // W is there; x; room
constexpr int SCALES_AT = ${plan.scales_at};
//@ if norm == 1 then
constexpr int GAIN_AT = ${plan.gain_at}, PARTS_AT = SQUARES_AT + WAYS * TOKENS; // of squares: floats, behind their sums
constexpr int SQUARERS = GROUPS == 3 ? 256 : WAY; // threads of a way that square x: each as much of it
//@ end
constexpr int W_WARP = 4 * GROUPS * WAYS, X_WARP = W_WARP + 1;

//@ include("lib/projection/places.h")

//@ include("lib/projection/x_rows.h")

// ---- The loaders: a lane each ------------------------------------------------------------------------------------------
MLAF_DEV void load_w(const mlaf_projection_params& p, u32 shared, const place& at, int step, const ring& r) {
  const u32 full = shared + FULL_AT + 8 * r.stage;
  barrier_expect(full, W_BYTES);
  copy_box_once(shared + r.stage * STAGE + W_AT, &p.w, (int)(at.head * p.a.w_head / 2) + 64 * step, at.first, full);
}
MLAF_DEV void load_x(const mlaf_projection_params& p, u32 shared, const place& at, int step, i64 t0, const ring& r) {
  const u32 full = shared + X_AT + 8 * r.stage, to = shared + r.stage * STAGE;
  const int column = (int)(at.head * p.a.x_head / 2) + 128 * step;
  barrier_expect(full, x_rows(p.a.tokens) * 256);
  copy_box(to, &p.x, column, (int)t0, full);
  copy_box(to + TOKENS * 128, &p.x, column + 64, (int)t0, full);
}
MLAF_DEV void wait_empty(u32 shared, const ring& r) { barrier_wait(shared + EMPTY_AT + 8 * r.stage, r.lap ^ 1); }

// The block's scales, half step by half step; of rows behind the last one the last one's.
MLAF_DEV void lay_scales(const mlaf_projection_scaled_args& a, const place& at, int begin, int end, char* memory, int thread) {
  float* const to = (float*)(memory + SCALES_AT);
#pragma unroll 1
  for (int i = thread; i < 2 * (end - begin) * SCALES; i += THREADS) {
    const int row = at.first + 16 * (i % SCALES);
    to[i] = scale_at(a, scales_of(a, at.head, row < OUTER ? row : OUTER - 1), 128 * begin + i / SCALES * 64);
  }
}

// ---- Math --------------------------------------------------------------------------------------------------------------
//@ if norm == 1 then
//@   if not folded then
// Two pairs multiplied, each product rounded once.
MLAF_DEV u32 times(u32 a, u32 b) {
  u32 x;
  asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(x) : "r"(a), "r"(b));
  return x;
}
//@   end
MLAF_DEV void lay_gain(const mlaf_projection_kernel_args& a, char* memory, int thread) {
#pragma unroll 1
  for (int i = thread; i < INNER / 8; i += THREADS) *(word4*)(memory + GAIN_AT + 16 * i) = load<word4>(a.gain + 16 * i);
}
// A thread's share of a token's values in a step. One token's threads are TOKENS apart. Four sums, so that none waits for the
// one before.
MLAF_DEV float add_squares(float sum, u32 x, int thread) {
  constexpr int CHUNKS = 16 * TOKENS / SQUARERS; // of 8 values, 8 of them a half step
  const int token = thread % TOKENS;
  if (SQUARERS < WAY && thread >= SQUARERS) return 0.0f;
  float part[4] = {};
#pragma unroll
  for (int i = 0; i < CHUNKS; i++) {
    const int chunk = thread / TOKENS * CHUNKS + i;
    u32 w[4];
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "r"(x + chunk / 8 * (TOKENS * 128) + token * 128 + (chunk % 8 ^ (token & 7)) * 16) : "memory");
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const float lo = unpack_lo(w[k]), hi = unpack_hi(w[k]);
      part[k] = fmaf(lo, lo, fmaf(hi, hi, part[k]));
    }
  }
  return sum + ((part[0] + part[1]) + (part[2] + part[3]));
}
//@ end
MLAF_DEV u32 load_2(u32 at) {
  unsigned short x;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(x) : "r"(at) : "memory");
  return x;
}
MLAF_DEV u32 load_word(u32 at) {
  u32 x;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(at) : "memory");
  return x;
}
//@ local number = "expand2<0>(codes[j][i])"
//@ if norm == 1 then number = "times(" .. number .. ", gains[j][i >> 1])" end
// A lane's share of 64 values of 64 outputs: all bytes first, since numbers are made of them in the order of the text. w: its
// row g of the stage; gain: of its first value${folded and "; scale: of the half step" or ""}.
MLAF_DEV void take_w(u32 (&a)[4][4], u32 w, int half, int g, u32 gain${folded and ", float scale" or ""}) {
  u32 codes[4][4];
#pragma unroll
  for (int j = 0; j < 4; j++)
#pragma unroll
    for (int i = 0; i < 4; i++)
      codes[j][i] = load_2(w + (4 * half + j ^ g) * 16 + (i & 1) * (8 * 128) + (i >> 1) * 8); // 16 values, swizzled
//@ if norm == 1 then
  u32 gains[4][2];
#pragma unroll
  for (int j = 0; j < 4; j++)
#pragma unroll
    for (int i = 0; i < 2; i++) gains[j][i] = load_word(gain + 128 * half + 32 * j + 16 * i);
//@ end
#pragma unroll
  for (int j = 0; j < 4; j++)
//@ if folded then
#pragma unroll
    for (int k = 0; k < 2; k++) {
      const float lo = scale * unpack_lo(gains[j][k]), hi = scale * unpack_hi(gains[j][k]);
#pragma unroll
      for (int i = 2 * k; i < 2 * k + 2; i++) {
        float v, w;
        decode2<0>(codes[j][i], v, w);
        a[j][i] = pack2(v * lo, w * hi);
      }
    }
//@ else
#pragma unroll
    for (int i = 0; i < 4; i++) a[j][i] = ${number};
//@ end
}

// The same number of all lanes, in a register that is one for all of them: a product's descriptor wants such ones.
MLAF_DEV u32 of_warp(u32 x) {
  u32 y;
  asm("redux.sync.or.b32 %0, %1, 0xffffffff;" : "=r"(y) : "r"(x));
  return y;
}
// Half a step's products, begun; beside: on top of those of the half before.
//@ if narrow then
template <int SUMS>
//@ end
MLAF_DEV void multiply_half(float (&part)[${sums_of}], const u32 (&a)[4][4], u32 x, bool beside) {
  if (!beside) settle(part);
  wgmma_fence();
#pragma unroll
  for (int j = 0; j < 4; j++) wgmma_rs(part, a[j], x + 2 * j, beside || j > 0);
  wgmma_commit();
}
//@ if not folded then
// Waits for the products, and adds them up times their scale.
//@   if narrow then
template <int SUMS>
//@   end
MLAF_DEV void finish_part(float (&total)[${sums_of}], float (&part)[${sums_of}], float scale) {
  wgmma_wait<0>();
  settle(part);
#pragma unroll
  for (int i = 0; i < ${sums_of}; i++) total[i] = fmaf(part[i], scale, total[i]);
}
//@ end

// A way's steps from `step` on. WHOLE: a step has one scale, so that both halves' products are one sum.
// Numbers made in a round of the loop are used in it, or else the compiler waits for each product, but for the next step's first
// numbers, which are made while the second half is multiplied; behind the last step they are made once more, for nobody.
template <${narrow and "int WIDTH, " or ""}bool WHOLE>
MLAF_DEV float multiply_steps(float (&total)[${width} / 2], char* memory, u32 shared, int begin, int step, int end, int thread,
                              ring r) {
  const int lane = thread & 31, warp = __shfl_sync(~0u, thread >> 5, 0) % (4 * GROUPS), g = lane >> 2, t = lane & 3;
  const float* const scales = (const float*)(memory + SCALES_AT) + (warp < SCALES ? warp : 0);
  const u32 row = W_AT + (16 * warp + g) * 128 + 2 * t, gain = ${norm == 1 and "shared + GAIN_AT + 4 * t" or "0"};
//@ if folded then
  float square = 0.0f;
//@ else
  float part[${width} / 2], square = 0.0f;
#pragma unroll
  for (int i = 0; i < ${width} / 2; i++) part[i] = 0.0f;
//@ end
  u32 a[2][4][4]; // of half steps
  barrier_wait(shared + FULL_AT + 8 * r.stage, r.lap);
//@ local scale_of = folded and ", scales[2 * (step - begin) * SCALES]" or ""
  take_w(a[0], shared + r.stage * STAGE + row, 0, g, gain + 256 * step${scale_of});
  wait_for_previous_launch(); // weights come ahead of it, and so do their first numbers
  barrier_wait(shared + X_AT + 8 * r.stage, r.lap);
#pragma unroll 1
  for (; step < end; step += WAYS) {
    const u32 at = shared + r.stage * STAGE, x = of_warp(k_major(at));
    const bool last = step + WAYS >= end;
    ring next = r;
    next.advance<WAYS>();
    next.stage = last ? r.stage : next.stage;
    next.lap = last ? r.lap : next.lap;
    const u32 full = shared + FULL_AT + 8 * next.stage;
//@ if folded then
    settle(total);
    multiply_half(total, a[0], x, true);
    take_w(a[1], at + row, 1, g, gain + 256 * step, scales[(2 * (step - begin) + 1) * SCALES]);
    multiply_half(total, a[1], x + TOKENS * 8, true);
//@ else
    multiply_half(part, a[0], x, false);
    take_w(a[1], at + row, 1, g, gain + 256 * step);
    if (!WHOLE) finish_part(total, part, scales[2 * (step - begin) * SCALES]);
    multiply_half(part, a[1], x + TOKENS * 8, WHOLE);
//@ end
//@ if norm == 1 then
    square = add_squares(square, at, thread % WAY);
//@ end
    barrier_wait(full, next.lap);
    if (WHOLE) wgmma_wait<1>(); // nobody reads a[0] any more
//@ if folded then
    const int next_step = last ? step : step + WAYS;
    take_w(a[0], shared + next.stage * STAGE + row, 0, g, gain + 256 * next_step, scales[2 * (next_step - begin) * SCALES]);
//@ else
    take_w(a[0], shared + next.stage * STAGE + row, 0, g, gain + 256 * (last ? step : step + WAYS));
//@ end
    barrier_wait(full + (X_AT - FULL_AT), next.lap); // without a branch here the compiler makes most numbers behind the products
//@ if folded then
    wgmma_wait<0>();
    settle(total);
//@ else
    finish_part(total, part, scales[(2 * (step - begin) + 1) * SCALES]);
//@ end
    give_back(shared + EMPTY_AT + 8 * r.stage, lane);
    r.advance<WAYS>();
  }
  return square;
}

//@ if narrow then
template <int WIDTH>
//@ end
MLAF_DEV void multiply_pass(const mlaf_projection_scaled_args& args, char* memory, u32 shared, int begin, int end, int thread,
                            ring& all) {
  const int lane = thread & 31, any = __shfl_sync(~0u, thread >> 5, 0), warp = any % (4 * GROUPS), way = any / (4 * GROUPS);
  const int g = lane >> 2, t = lane & 3;
  // Each way has its own stages, whose number the ways divide: it never skips a use of one, as parities want.
  const int first = (way + STAGES - all.stage) % WAYS;
  ring r = all;
  r.advance(first);
  all.advance(end - begin);
  float total[${width} / 2];
#pragma unroll
  for (int i = 0; i < ${width} / 2; i++) total[i] = 0.0f;
//@ local steps_of = narrow and "multiply_steps<WIDTH, " or "multiply_steps<"
//@ if folded then
  const float square = ${steps_of}true>(total, memory, shared, begin, begin + first, end, thread, r);
//@ else
  ${norm == 1 and "const float square = " or ""}args.scale_first_column % 128 == 0
    ? ${steps_of}true>(total, memory, shared, begin, begin + first, end, thread, r)
    : ${steps_of}false>(total, memory, shared, begin, begin + first, end, thread, r);
//@ end
  __syncthreads(); // the ring is done with
  float* const sums = (float*)memory + way * TOKENS * PITCH;
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int output = 16 * warp + g + 8 * h;
    if (TILE % 64 != 0 && output >= TILE) continue;
#pragma unroll
    for (int j = 0; j < ${width} / 8; j++)
#pragma unroll
      for (int e = 0; e < 2; e++) sums[(8 * j + 2 * t + e) * PITCH + output] = total[4 * j + 2 * h + e];
  }
//@ if norm == 1 then
  ((float*)memory)[PARTS_AT + thread] = square;
//@ end
}
//@ if norm == 1 then
// A token's squares, of all threads of a way that had some of it.
MLAF_DEV void add_parts(float* memory, int thread) {
  if (thread < WAYS * TOKENS) {
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < SQUARERS / TOKENS; i++) sum += memory[PARTS_AT + thread / TOKENS * WAY + i * TOKENS + thread % TOKENS];
    memory[SQUARES_AT + thread] = sum;
  }
}
//@ end

//@ local function end_of_pass(args)
    __syncthreads();
//@   if norm == 1 then
    add_parts((float*)memory, thread);
    __syncthreads();
//@   end
    write_pass(${args}, at, t0, (float*)memory, rank);
    fence_async(); // copies of the next pass come to where the sums are
//@   if split > 1 then
    sync_cluster(); // nobody reads this block's sums any more
//@   else
    __syncthreads();
//@   end
//@ end
//@ if narrow then
// All passes of those who multiply, with registers of its own for each width.
template <int WIDTH>
MLAF_DEV void multiply_all(const mlaf_projection_scaled_args& args, const place& at, char* memory, u32 shared, int begin, int end,
                           int thread, int rank, ring r) {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 ${plan.lent};");
#pragma unroll 1
  for (i64 t0 = 0; t0 < args.tokens; t0 += TOKENS) {
    multiply_pass<WIDTH>(args, memory, shared, begin, end, thread, r);
//@   end_of_pass("args")
  }
}
//@ end

//@ if plan.lends then
//@ include("lib/projection/load_pass.h")

//@ end
//@ local side = require("projection/side")
extern "C" __global__ void __launch_bounds__(${plan.threads}, ${plan.blocks}) ${symbol}(
    const __grid_constant__ ${side.args(template, "mlaf_projection_params")} p) {
  extern __shared__ __align__(1024) char memory[];
  if (!FIRST_OF_LAYER) let_next_launch_start();
//@ if side.of(template) then
  if (appended(p, TILES * SPLIT)) return;
//@ end
  const u32 shared = shared_address(memory);
  const int thread = (int)my_thread(), warp = __shfl_sync(~0u, thread >> 5, 0), rank = (int)(my_block() % SPLIT);
  const place at = place_of(p.a, my_block() / SPLIT);
  const int begin = STEPS * rank / SPLIT, end = STEPS * (rank + 1) / SPLIT;
  ring r = {0, 0};
  if (thread == 32 * W_WARP) {
    for (int i = 0; i < STAGES; i++) {
      barrier_init(shared + FULL_AT + 8 * i, 1);
      barrier_init(shared + X_AT + 8 * i, 1);
      barrier_init(shared + EMPTY_AT + 8 * i, 4 * GROUPS);
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
//@ if plan.lends then
  // Loading and multiplying warps never meet in the text again: their registers differ in number.
  if (warp >= W_WARP) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 ${plan.kept};");
#pragma unroll 1
    for (i64 t0 = 0; t0 < p.a.tokens; t0 += TOKENS) {
      load_pass(p, shared, at, begin, end, t0, warp, thread, r);
      for (int i = 0; i < ${2 + norm}; i++) __syncthreads(); // the ring is done with; sums are there
//@   if split > 1 then
      for (int i = 0; i < 2; i++) sync_cluster(); // within write_pass, and behind it
//@   else
      __syncthreads(); // sums are written
//@   end
    }
    return;
  }
//@   if narrow then
  if (p.a.tokens <= ${narrow}) return multiply_all<${narrow}>(p.a, at, memory, shared, begin, end, thread, rank, r);
  multiply_all<TOKENS>(p.a, at, memory, shared, begin, end, thread, rank, r);
}
//@   else
  asm volatile("setmaxnreg.inc.sync.aligned.u32 ${plan.lent};");
#pragma unroll 1
  for (i64 t0 = 0; t0 < p.a.tokens; t0 += TOKENS) {
    multiply_pass(p.a, memory, shared, begin, end, thread, r);
//@   end
//@ else
#pragma unroll 1
  for (i64 t0 = 0; t0 < p.a.tokens; t0 += TOKENS) {
    if (warp == W_WARP) {
      if (thread == 32 * W_WARP)
        for (int step = t0 ? begin : begin + STAGES; step < end; step++, r.next()) {
          wait_empty(shared, r);
          load_w(p, shared, at, step, r);
        }
      __syncwarp();
      wait_for_previous_launch();
    } else if (warp == X_WARP) {
      if (thread == 32 * X_WARP)
        for (int step = begin; step < end; step++, r.next()) {
          wait_empty(shared, r);
          load_x(p, shared, at, step, t0, r);
        }
      __syncwarp();
    } else {
      multiply_pass(p.a, memory, shared, begin, end, thread, r);
    }
    if (warp >= W_WARP) __syncthreads(); // the ring is done with
//@ end
//@ if not narrow then
//@   end_of_pass("p.a")
  }
}
//@ end
