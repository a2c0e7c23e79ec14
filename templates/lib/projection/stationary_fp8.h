// A projection of short sums with weights of 8 bits, layout=inputs, by wgmma: a block's weights become 16-bit numbers once, in
// the registers that the product takes them from, and stay there for all tokens. Outputs are its rows, tokens its columns.
//
//   block     a tile of TILE outputs of one head: WAYS warpgroups, each with VALUES values of the sum; a warp that loads x; where
//             columns turn, two warps that turn the tile's share of them
//   weights   W [INNER][TILE] comes by one tensor copy, swizzled. Lane (g, t) of warp w has outputs 2 MT g .. of the warp's
//             16 MT, side by side: row g of product m is output 2 m of them, row g+8 is output 2 m + 1. It loads their bytes of
//             values 2t, 2t+1, 2t+8, 2t+9 of each 16, without conflicts, and puts those of two values in pairs
//   x         in PLACES places, a pass of [INNER/64][TOKENS][64] each, rows of 128 bytes, swizzled
//   scales    one for 32 values. Where all of a way's are equal, they come in behind the whole sum, else chunk by chunk
//   sums      of the ways meet in shared memory; sums.h finishes them
//   direct    one way, for many tokens: a lane rounds its own sums and writes them; the first one loads x, too, and all turn
//             columns before the first pass
//
// Weights and scales are constants of a layer: they are in registers before the launch waits for the one before.
//@ contract(arch.has_wgmma == 1 and arch.has_tma == 1, "needs wgmma and tensor copies")
//@ contract(pass == 16 or pass == 32 or pass == 64, "a pass of %d tokens is not 16, 32 or 64", pass)
//@ contract(rows == 64 or rows == 128, "tiles of %d outputs are not 64 or 128", rows)
//@ local plan = require("projection/stationary").plan({ inner = inner, outer = outer, layout = layout, tokens = pass,
//@   rows = rows, ways = ways, turn = turn, per_sm = per_sm, direct = direct })
//@ contract(not plan.refused, "%s", plan.refused)
//@ contract(direct == 0 or rows == 64, "tiles of %d outputs, of which a lane writes more than two", rows)
//@ contract(plan.lds <= arch.lds_bytes, "%d bytes of shared memory", plan.lds)
//@ declares{ threads = plan.threads, rows_per_wg = rows, lds_bytes = plan.lds }

#define MLAF_BF16 ${dtype == "bf16" and 1 or 0}
//@ include("lib/projection/machine.h")
//@ include("lib/projection/args.h")
//@ include("lib/projection/fp8.h", { weights = weights })
//@ include("lib/projection/launch.h", { shared = plan.lds, cluster = 1, flags = 16 + 8192,
//@   maps = { { 1, rows // 2, inner, rows }, { 2, 64, pass } } })
//@ include("lib/projection/maps.h", { args = "mlaf_projection_scaled_args" })
//@ include("lib/hopper.h")
//@ include("lib/wgmma.h", { type = dtype, kinds = { { pass, false } } })

constexpr int INNER = ${inner}, OUTER = ${outer}, TOKENS = ${pass}, TILE = ${rows}, WAYS = ${ways}, SPLIT = 1;
constexpr int THREADS = ${128 * ways}, MT = TILE / 64, VALUES = ${plan.values}, GROUPS = VALUES / 16; // of a way
//@ include("lib/projection/block.h", { inner = inner, norm = norm, residual = residual, turn = turn, style = style })
//@ if direct == 0 then
//@ include("lib/projection/sums.h", { inner = inner, norm = norm, residual = residual, split = 1, writers = "THREADS" })
//@ end
constexpr int PLACES = ${plan.places}, PLACE = ${plan.x}, BOXES = PLACE / (TOKENS * 128);
//@ if direct == 0 then
constexpr int X_AT = ${plan.x_at}, SUMS_AT = ${plan.sums_at};
//@ else
constexpr int X_AT = ${plan.x_at};
//@ end
constexpr int W_FULL = ${plan.barriers_at}, FULL_AT = W_FULL + 8, EMPTY_AT = FULL_AT + 8 * PLACES;
//@ if direct == 1 then
constexpr int X_WARP = 0, TURN_AT = 0, TURN_THREADS = THREADS;
//@ else
constexpr int X_WARP = 4 * WAYS, TURN_AT = 128 * WAYS + 32, TURN_THREADS = ${plan.threads} - TURN_AT;
//@ end

//@ include("lib/projection/x_rows.h")

// ---- The loaders: a lane each ------------------------------------------------------------------------------------------
MLAF_DEV void load_w(const mlaf_projection_params& p, u32 shared, const place& at) {
  barrier_expect(shared + W_FULL, INNER * TILE);
  copy_box_once(shared, &p.w, (int)((at.head * p.a.w_head + at.first) / 2), 0, shared + W_FULL);
}
//@ if direct == 1 then
// Pass i, whose tokens begin at t0, if there is one.
MLAF_DEV void load_pass(const mlaf_projection_params& p, u32 shared, const place& at, int i, i64 t0) {
  if (t0 < p.a.tokens) {
//@ else
MLAF_DEV void load_x(const mlaf_projection_params& p, u32 shared, const place& at) {
  int i = 0;
#pragma unroll 1
  for (i64 t0 = 0; t0 < p.a.tokens; t0 += TOKENS, i++) {
//@ end
    const u32 place = i % PLACES, full = shared + FULL_AT + 8 * place;
    barrier_wait(shared + EMPTY_AT + 8 * place, i / PLACES & 1 ^ 1);
    barrier_expect(full, BOXES * x_rows(p.a.tokens) * 128);
#pragma unroll
    for (int box = 0; box < BOXES; box++)
      copy_box(shared + X_AT + place * PLACE + box * (TOKENS * 128), &p.x, (int)(at.head * p.a.x_head / 2) + 64 * box, (int)t0,
               full);
  }
}

// ---- Math --------------------------------------------------------------------------------------------------------------
MLAF_DEV u32 load_bytes(u32 at) { // 2 MT of them
//@ if rows == 64 then
  unsigned short x;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(x) : "r"(at) : "memory");
//@ else
  u32 x;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(at) : "memory");
//@ end
  return x;
}
// A lane's share of 16 values from `first` on, for its outputs, whose first is `output`.
MLAF_DEV void take_w(u32 (&a)[MT][4], u32 shared, int first, int output, int t) {
  u32 codes[4];
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const u32 at = (first + 2 * t + (i & 1) + (i >> 1) * 8) * TILE + output;
    codes[i] = load_bytes(shared + (at ^ (at >> 7 & TILE / 16 - 1) << 4)); // swizzled: 7, of rows of 64 bytes 3
  }
#pragma unroll
  for (int m = 0; m < MT; m++)
#pragma unroll
    for (int i = 0; i < 2; i++) { // values 2t and 2t+1; 2t+8 and 2t+9
      const u32 two = __byte_perm(codes[2 * i], codes[2 * i + 1], m ? 0x7362 : 0x5140); // of each of two outputs
      a[m][2 * i] = expand2<0>(two), a[m][2 * i + 1] = expand2<1>(two);
    }
}

// Lower word of the descriptor of x's values from `first` on.
MLAF_DEV u32 values_of(u32 x, int first) { return k_major(x) + first / 64 * (TOKENS * 8) + first % 64 / 8; }

// A way's part of a pass.
MLAF_DEV void multiply(float (&sum)[MT][TOKENS / 2], const u32 (&a)[GROUPS][MT][4], const float (&scales)[GROUPS / 2], bool same,
                       u32 x, int first) {
  if (same) {
#pragma unroll
    for (int m = 0; m < MT; m++) settle(sum[m]);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < GROUPS; i++)
#pragma unroll
      for (int m = 0; m < MT; m++) wgmma_rs(sum[m], a[i][m], values_of(x, first + 16 * i), i > 0);
    wgmma_commit();
    wgmma_wait<0>();
#pragma unroll
    for (int m = 0; m < MT; m++) {
      settle(sum[m]);
#pragma unroll
      for (int i = 0; i < TOKENS / 2; i++) sum[m][i] *= scales[0];
    }
    return;
  }
#pragma unroll
  for (int m = 0; m < MT; m++) {
#pragma unroll
    for (int i = 0; i < TOKENS / 2; i++) sum[m][i] = 0.0f;
#pragma unroll
    for (int c = 0; c < GROUPS / 2; c++) {
      float part[TOKENS / 2];
      settle(part);
      wgmma_fence();
      wgmma_rs(part, a[2 * c][m], values_of(x, first + 32 * c), false);
      wgmma_rs(part, a[2 * c + 1][m], values_of(x, first + 32 * c + 16), true);
      wgmma_commit();
      wgmma_wait<0>();
      settle(part);
#pragma unroll
      for (int i = 0; i < TOKENS / 2; i++) sum[m][i] = fmaf(part[i], scales[c], sum[m][i]);
    }
  }
}

//@ if direct == 1 then
// A lane's sums, rounded once: its outputs side by side, 8 lanes a line of a token.
MLAF_DEV void write_sums(const mlaf_projection_kernel_args& a, const float (&sum)[MT][TOKENS / 2], char* y, i64 t0, int t) {
#pragma unroll
  for (int j = 0; j < TOKENS / 8; j++)
#pragma unroll
    for (int e = 0; e < 2; e++) {
      const i64 token = t0 + 8 * j + 2 * t + e;
      if (token >= a.tokens) continue;
      store(y + token * a.y_token, pack2(sum[0][4 * j + e], sum[0][4 * j + 2 + e]));
    }
}
//@ else
// A lane's sums, its outputs side by side.
MLAF_DEV void lay_sums(const float (&sum)[MT][TOKENS / 2], float* to, int t) {
#pragma unroll
  for (int j = 0; j < TOKENS / 8; j++)
#pragma unroll
    for (int e = 0; e < 2; e++) {
      float* const at = to + (8 * j + 2 * t + e) * PITCH;
//@ if rows == 64 then
      *(float2*)at = make_float2(sum[0][4 * j + e], sum[0][4 * j + 2 + e]);
//@ else
      *(float4*)at = make_float4(sum[0][4 * j + e], sum[0][4 * j + 2 + e], sum[1][4 * j + e], sum[1][4 * j + 2 + e]);
//@ end
    }
}
//@ end

//@ local turner = "at.first / TILE * TURN_THREADS + thread - TURN_AT, TILES * TURN_THREADS"
extern "C" __global__ void __launch_bounds__(${plan.threads}, ${per_sm}) ${symbol}(
    const __grid_constant__ mlaf_projection_params p) {
  extern __shared__ __align__(1024) char memory[];
  let_next_launch_start();
  const u32 shared = shared_address(memory);
  const int thread = (int)my_thread(), warp = __shfl_sync(~0u, thread >> 5, 0);
  const place at = place_of(p.a, my_block());
  if (thread == 32 * X_WARP) {
    barrier_init(shared + W_FULL, 1);
    for (int i = 0; i < PLACES; i++) {
      barrier_init(shared + FULL_AT + 8 * i, 1);
      barrier_init(shared + EMPTY_AT + 8 * i, 4 * WAYS);
    }
    barriers_ready();
    load_w(p, shared, at); // who waits for it does so behind the barrier below
  }
  __syncthreads();
//@ if direct == 0 then
  if (warp >= X_WARP) {
//@ if turn > 0 and style ~= "unrotated" then
    if (thread >= TURN_AT) ask_turn(p.a, ${turner});
//@ end
    wait_for_previous_launch();
    if (thread == 32 * X_WARP) load_x(p, shared, at);
//@ if turn > 0 then
    if (thread >= TURN_AT) turn_rows(p.a, at.x, at.y, ${turner});
//@ end
    return;
  }
//@ end
  const int lane = thread & 31, g = lane >> 2, t = lane & 3, way = warp / 4, first = way * VALUES;
  const int output = warp % 4 * (16 * MT) + 2 * MT * g;
  float scales[GROUPS / 2];
  bool same = true;
#pragma unroll
  for (int c = 0; c < GROUPS / 2; c++) {
    scales[c] = scale_at(p.a, scales_of(p.a, at.head, first + 32 * c), at.first);
    same = same && bits_of(scales[c]) == bits_of(scales[0]);
  }
  u32 a[GROUPS][MT][4];
  barrier_wait(shared + W_FULL, 0);
#pragma unroll
  for (int i = 0; i < GROUPS; i++) take_w(a[i], shared, first + 16 * i, output, t);
  wait_for_previous_launch();
//@ if direct == 0 then
  float* const sums = (float*)(memory + SUMS_AT);
//@ else
  for (int k = 0; k < PLACES && thread == 0; k++) load_pass(p, shared, at, k, k * TOKENS);
  __syncwarp();
//@   if turn > 0 then
  turn_rows(p.a, at.x, at.y, ${turner}); // while the first passes' x comes
//@   end
//@ end
  int i = 0;
#pragma unroll 1
  for (i64 t0 = 0; t0 < p.a.tokens; t0 += TOKENS, i++) {
    const u32 place = i % PLACES;
    float sum[MT][TOKENS / 2];
    barrier_wait(shared + FULL_AT + 8 * place, i / PLACES & 1);
    multiply(sum, a, scales, same, shared + X_AT + place * PLACE, first);
    if (lane == 0) barrier_arrive(shared + EMPTY_AT + 8 * place);
//@ if direct == 1 then
    if (thread == 0) load_pass(p, shared, at, i + PLACES, t0 + PLACES * TOKENS);
    __syncwarp();
    if (OUTER % TILE == 0 || at.first + output < OUTER) write_sums(p.a, sum, at.y + 2 * (at.first + output), t0, t);
//@ else
    if (t0) named_sync(1, THREADS); // the pass before is written
    lay_sums(sum, sums + way * TOKENS * PITCH + output, t);
    named_sync(1, THREADS);
    write_pass(p.a, at, t0, sums, 0);
//@ end
  }
}
