// Low-rank columns, through RMSNorm, to query heads, and those at once into the latent space: y[t, h] = (q W_UK[h], rope(q_pe)),
// q = W[h] norm(x[t]). By wgmma and tensor copies, as ring.h. Queries never leave the registers: what a warpgroup has of them
// after the first product is what the second takes as its operand.
//
//   block     a head: warpgroups of 64 tokens each, a warp that loads weights, a warp that loads x
//   ring      STAGES of x [TOKENS][64] | W [TILE][64], and behind the sum's steps of W_UK [OUTS/64][nope][64]: OUTS outputs
//   second    for OUTS outputs at a time; where there is one warpgroup, one part is written while the next is multiplied
//
// Weights of both are constants of a layer: the first STAGES of them are asked for before the launch waits for the one before.
//@ local tokens64 = (pass + 63) // 64
//@ contract(arch.has_wgmma == 1 and arch.has_tma == 1, "needs wgmma and tensor copies")
//@ contract(pass == 16 or pass == 32 or pass == 64 or pass == 128, "a pass of %d tokens is not 16, 32, 64 or 128", pass)
//@ local plan = require("projection/plan").ring_absorb({ inner = inner, nope = nope, rope = rope, rank = rank, tokens = pass })
//@ contract(not plan.refused, "%s", plan.refused)
//@ contract(plan.lds <= arch.lds_bytes, "%d bytes of shared memory", plan.lds)
//@ declares{ threads = plan.threads, rows_per_wg = nope + rope, lds_bytes = plan.lds }

#define MLAF_BF16 ${dtype == "bf16" and 1 or 0}
//@ include("lib/projection/machine.h")
//@ include("lib/mma.h")
//@ include("lib/projection/args.h")
//@ include("lib/projection/launch.h", { shared = plan.lds, cluster = 1, flags = 8192 + require("projection/side").ABSORBS,
//@   maps = { { 1, 64, nope + rope }, { 2, 64, pass }, { 3, 64, nope } } })
//@ include("lib/projection/maps.h", { args = "mlaf_projection_kernel_args" })
//@ include("lib/hopper.h")
//@ include("lib/wgmma.h", { type = dtype, kinds = { { nope + rope, false }, { plan.outs, true } } })

constexpr int INNER = ${inner}, OUTER = ${heads * (nope + rope)}, TOKENS = ${pass}, TILE = ${nope + rope}, WAYS = 1;
constexpr int NOPE = ${nope}, P = ${rope}, OUTS = ${plan.outs}, PARTS = ${rank} / OUTS;
constexpr int THREADS = ${plan.threads}, STAGES = ${plan.stages}, STEPS = INNER / 64, MATH_WARPS = ${4 * tokens64};
//@ include("lib/projection/block.h", { inner = inner, norm = 1, residual = 0, turn = 0, style = "unrotated" })
//@ include("lib/projection/gain.h")
constexpr int W_AT = TOKENS * 128, STAGE = ${plan.stage};
constexpr int FULL_AT = ${plan.barriers_at}, EMPTY_AT = FULL_AT + 8 * STAGES;
constexpr int GAIN_AT = ${plan.gain_at}, ROOM_AT = ${plan.room_at}; // the norm's weights; outputs of each warp
constexpr int W_WARP = MATH_WARPS, X_WARP = MATH_WARPS + 1;
//@ include("lib/projection/places.h")
//@ include("lib/projection/norm_x.h")

// The second product's arguments follow the first product's and those of what is appended. Its x is not read.
template <class ARGS>
struct absorbing : ARGS {
  alignas(64) mlaf_projection_kernel_args second;
  mlaf_tensor_map w_uk;
};
typedef absorbing<beside<mlaf_projection_params>> params;
static_assert(sizeof(params) == 1088, "differs from runtime/ops/mla_q_b/absorb.c");

//@ include("lib/projection/x_rows.h")

// ---- The loaders: a lane each ------------------------------------------------------------------------------------------
// Step `step` of a pass: of the sum, or behind those a part of W_UK, with which no x comes.
MLAF_DEV void load_w(const params& p, u32 shared, int head, int step, const ring& r) {
  const u32 full = shared + FULL_AT + 8 * r.stage, to = shared + r.stage * STAGE;
  if (step < STEPS) {
    barrier_expect(full, TILE * 128);
    copy_box_once(to + W_AT, &p.w, 64 * step, head * TILE, full);
    return;
  }
  const int column = (int)(head * p.second.w_head / 2) + (step - STEPS) * OUTS;
  barrier_expect(full, OUTS * NOPE * 2);
#pragma unroll
  for (int i = 0; i < OUTS / 64; i++) copy_box_once(to + i * NOPE * 128, &p.w_uk, column + 64 * i, 0, full);
}
// A part of W_UK has no x: it takes part all the same, since parities want that nobody skips a use of a place.
MLAF_DEV void load_x(const params& p, u32 shared, int step, i64 t0, const ring& r) {
  const u32 full = shared + FULL_AT + 8 * r.stage;
  if (step >= STEPS) return barrier_arrive(full);
  barrier_expect(full, x_rows(p.a.tokens) * 128);
  copy_box(shared + r.stage * STAGE, &p.x, 64 * step, (int)t0, full);
}
MLAF_DEV void wait_empty(u32 shared, const ring& r) { barrier_wait(shared + EMPTY_AT + 8 * r.stage, r.lap ^ 1); }

MLAF_DEV void load_pass(const params& p, u32 shared, int head, i64 t0, int warp, int thread, ring& r) {
  if (thread == 32 * W_WARP)
    for (int step = t0 ? 0 : STAGES; step < STEPS + PARTS; step++, r.next()) {
      wait_empty(shared, r);
      load_w(p, shared, head, step, r);
    }
  if (thread == 32 * X_WARP)
    for (int step = 0; step < STEPS + PARTS; step++, r.next()) {
      wait_empty(shared, r);
      load_x(p, shared, step, t0, r);
    }
  __syncwarp();
}

// ---- Math --------------------------------------------------------------------------------------------------------------
// The first product of a pass: what queries are but for the norm's factor, and that.
MLAF_DEV void multiply_steps(float (&d)[TILE / 2], float (&factor)[2], const params& p, float up, u32 shared, int warp, int lane,
                             ring& r) {
#pragma unroll
  for (int i = 0; i < TILE / 2; i++) d[i] = 0.0f;
  settle(d);
  u32 before = 0; // barrier of the step whose products may still run
  float squares[2][2][4] = {};
#pragma unroll 1
  for (int two = 0; two < STEPS; two += 2) { // without a branch: it would make the compiler wait for each product
    u32 a[2][4][4];                          // of this step and of the one before
#pragma unroll
    for (int i = 0; i < 2; i++) {
      barrier_wait(shared + FULL_AT + 8 * r.stage, r.lap);
      const u32 at = shared + r.stage * STAGE, w = k_major(at + W_AT);
      u32 raw[4][4];
      take_x(raw, a[i], at, shared + GAIN_AT + 128 * (two + i), warp, lane);
      wgmma_fence();
#pragma unroll
      for (int j = 0; j < 4; j++) wgmma_rs(d, a[i][j], w + 2 * j, true);
      wgmma_commit();
      add_squares(squares, raw);
      wgmma_wait<1>(); // the step before is done, and its registers are free
      if (before) give_back(before, lane);
      before = shared + EMPTY_AT + 8 * r.stage;
      r.next();
    }
  }
  wgmma_wait<0>();
  settle(d);
  give_back(before, lane);
#pragma unroll
  for (int h = 0; h < 2; h++) { // a row's square is with one lane of its four
    const float even = squares[0][h][2 * h] + squares[1][h][2 * h], odd = squares[0][h][2 * h + 1] + squares[1][h][2 * h + 1];
    const float square = __shfl_sync(~0u, lane & 4 ? odd : even, (lane & ~3) | lane >> 3);
    factor[h] = inverse_root(multiply_add(square, ${f32(1.0 / inner)}, p.a.eps)) * up;
  }
}

// Queries without positions as the second product's operand, rounded.
MLAF_DEV void take_queries(u32 (&a)[NOPE / 16][4], const float (&d)[TILE / 2], const float (&factor)[2]) {
#pragma unroll
  for (int j = 0; j < NOPE / 16; j++)
#pragma unroll
    for (int i = 0; i < 4; i++) { // i & 1: the row, i >> 1: eight columns on
      const int at = 4 * (2 * j + (i >> 1)) + 2 * (i & 1);
      a[j][i] = pack2(d[at] * factor[i & 1], d[at + 1] * factor[i & 1]);
    }
}

// Sums of a warp's 16 rows, 2 N columns from `column` on, 64 of them at a time by way of shared memory: whole lines are written.
template <int N>
MLAF_DEV void write_rows(const params& p, u32 room, int head, i64 token, i64 least, int column, const float (&d)[N], int lane) {
  constexpr int WIDE = N >= 32 ? 64 : 2 * N, CHUNKS = WIDE / 8; // of 16 bytes, of a row
#pragma unroll
  for (int group = 0; group < 2 * N / WIDE; group++) {
#pragma unroll
    for (int j = 0; j < WIDE / 16; j++) { // matrices: rows 0-7, rows 8-15, of eight columns; the same of the next eight
      const float* const from = d + group * WIDE / 2 + 8 * j;
      const int row = lane & 15, chunk = 2 * j + (lane >> 4);
      asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                   ::"r"(room + row * 128 + ((chunk ^ (row & 7)) * 16)), "r"(pack2(from[0], from[1])),
                   "r"(pack2(from[2], from[3])), "r"(pack2(from[4], from[5])), "r"(pack2(from[6], from[7])) : "memory");
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 16 * CHUNKS / 32; i++) {
      const int row = (32 * i + lane) / CHUNKS, chunk = (32 * i + lane) % CHUNKS;
      word4 x;
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                   : "r"(room + row * 128 + ((chunk ^ (row & 7)) * 16)) : "memory");
      if (token + row >= least) continue;
      store(p.second.y + (token + row) * p.second.y_token + head * p.second.y_head + 2 * (column + group * WIDE + 8 * chunk), x);
    }
    __syncwarp(); // before the next ones come here
  }
}

//@ if rope > 0 then
// A lane's rope columns, of both rows, turned in place: what belongs together is in one lane.
MLAF_DEV void turn(float (&q)[P / 2], const params& p, const i64 (&position)[2], int lane) {
//@   if style ~= "unrotated" then
  const mlaf_projection_kernel_args& a = p.second;
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const bool known = (u64)position[h] < (u64)a.table_rows;
    const i64 at = known ? position[h] * a.table_row : 0;
#pragma unroll
    for (int i = 0; i < P / ${style == "halves" and 16 or 8}; i++)
#pragma unroll
      for (int k = 0; k < ${style == "halves" and 2 or 1}; k++) {
        const int angle = ${style == "halves" and "8 * i + 2 * (lane & 3) + k" or "4 * i + (lane & 3)"};
        float c = not_a_number(), s = c;
        if (known && a.flags & PROJECTION_TABLE_16) {
          c = unpack_lo(load<unsigned short>(a.cos + at + 2 * angle));
          s = unpack_lo(load<unsigned short>(a.sin + at + 2 * angle));
        } else if (known) {
          c = load<float>(a.cos + at + 4 * angle);
          s = load<float>(a.sin + at + 4 * angle);
        }
//@     if style == "halves" then
        float &x = q[4 * i + 2 * h + k], &y = q[4 * (i + P / 16) + 2 * h + k];
//@     else
        float &x = q[4 * i + 2 * h], &y = q[4 * i + 2 * h + 1];
//@     end
        const float across = y * s, back = x * s;
        x = multiply_add(x, c, -across);
        y = multiply_add(y, c, back);
      }
  }
//@   end
}
//@ end

MLAF_DEV void multiply_pass(const params& p, float up, u32 shared, int head, i64 t0, int warp, int lane, ring& r) {
  const i64 first = t0 + 16 * warp, token = first + (lane >> 2), least = t0 + TOKENS < p.a.tokens ? t0 + TOKENS : p.a.tokens;
  const u32 room = shared + ROOM_AT + 2048 * warp;
//@ if rope > 0 and style ~= "unrotated" then
  i64 position[2];
#pragma unroll
  for (int h = 0; h < 2; h++) position[h] = token + 8 * h < least ? load<i64>(p.second.positions + token + 8 * h) : 0;
//@ elseif rope > 0 then
  const i64 position[2] = {0, 0};
//@ end
  u32 a[NOPE / 16][4];
  float q[P / 2 + 1];
  {
    float d[TILE / 2], factor[2];
    multiply_steps(d, factor, p, up, shared, warp, lane, r);
    take_queries(a, d, factor);
#pragma unroll
    for (int i = 0; i < P / 2; i++) q[i] = d[NOPE / 2 + i] * factor[i >> 1 & 1];
  }
  constexpr int AHEAD = ${tokens64 == 1 and 2 or 1};
  float d[AHEAD][OUTS / 2];
  u32 before = 0;
#pragma unroll
  for (int part = 0; part < PARTS + AHEAD - 1; part++) {
    if (part < PARTS) {
      float(&to)[OUTS / 2] = d[part % AHEAD];
      settle(to);
      barrier_wait(shared + FULL_AT + 8 * r.stage, r.lap);
      const u32 w = n_major(shared + r.stage * STAGE, NOPE * 128);
      wgmma_fence();
#pragma unroll
      for (int j = 0; j < NOPE / 16; j++) wgmma_rs_t(to, a[j], w + 128 * j, j > 0);
      wgmma_commit();
    }
//@ if rope > 0 then
    if (part == 0) { // while the tensor cores are busy
      float(&pe)[P / 2] = *(float(*)[P / 2])q;
      turn(pe, p, position, lane);
      write_rows(p, room, head, first, least, ${rank}, pe, lane);
    }
//@ end
    if (part < AHEAD - 1) {
      before = shared + EMPTY_AT + 8 * r.stage;
      r.next();
      continue;
    }
    if (AHEAD == 2 && part < PARTS) wgmma_wait<1>();
    else wgmma_wait<0>();
    float(&from)[OUTS / 2] = d[(part - AHEAD + 1) % AHEAD];
    settle(from);
    if (AHEAD == 1) before = shared + EMPTY_AT + 8 * r.stage;
    give_back(before, lane);
    if (part < PARTS) {
      before = shared + EMPTY_AT + 8 * r.stage;
      r.next();
    }
    write_rows(p, room, head, first, least, (part - AHEAD + 1) * OUTS, from, lane);
  }
}

//@ local side = require("projection/side")
extern "C" __global__ void __launch_bounds__(${plan.threads}, 1) ${symbol}(const __grid_constant__ params p) {
  extern __shared__ __align__(1024) char memory[];
  let_next_launch_start();
  if (appended(p, TILES)) return;
  const u32 shared = shared_address(memory);
  const int thread = (int)my_thread(), warp = __shfl_sync(~0u, thread >> 5, 0), head = (int)my_block();
  ring r = {0, 0};
  if (thread == 32 * W_WARP) {
    for (int i = 0; i < STAGES; i++) {
      barrier_init(shared + FULL_AT + 8 * i, 2);
      barrier_init(shared + EMPTY_AT + 8 * i, MATH_WARPS);
    }
    barriers_ready();
    // Nothing is in the ring yet, and who waits for these copies does so behind the barrier below.
    for (int i = 0; i < STAGES; i++, r.next()) load_w(p, shared, head, i, r);
  }
  const gain_scale shrink = scale_of_gain(p.a, thread & 31);
  lay_gain(p.a, shrink, memory, thread);
  __syncthreads();
  if (warp != W_WARP) wait_for_previous_launch();
  // Loading and multiplying warps never meet in the text again: their registers may differ in number.
  if (warp >= W_WARP) {
//@ if plan.lends then
    asm volatile("setmaxnreg.dec.sync.aligned.u32 ${plan.kept};");
//@ end
#pragma unroll 1
    for (i64 t0 = 0; t0 < p.a.tokens; t0 += TOKENS) load_pass(p, shared, head, t0, warp, thread, r);
    if (warp == W_WARP) wait_for_previous_launch();
    return;
  }
//@ if plan.lends then
  asm volatile("setmaxnreg.inc.sync.aligned.u32 ${plan.lent};");
//@ end
#pragma unroll 1
  for (i64 t0 = 0; t0 < p.a.tokens; t0 += TOKENS)
    multiply_pass(p, shrink.up(), shared, head, t0, warp, thread & 31, r);
}
