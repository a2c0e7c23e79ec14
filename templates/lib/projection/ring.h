// A projection by wgmma, for more tokens than registers can feed: weights and x come through a ring in shared memory by tensor
// copies, 64 values of a sum at a time. Tokens are the rows of the product, 64 a warpgroup; a tile's outputs its columns.
//
//   block     a tile of TILE outputs of one head, or a share of its sum (SPLIT blocks, a cluster): warpgroups that multiply, a
//             warp that loads weights, a warp that loads x; where columns turn, two warps that turn the tile's share of them
//   loaders   with a norm, or of short sums, and in tiles that are not wide, a block waits for x: there both warps load W and x,
//             every second step each, and a place of the ring is always the same one's
//   ways      warpgroups with the same tokens take the steps of the sum in turns (WAYS of them): with a norm a step is a chain of
//             x through registers, and one warpgroup alone waits for it at each
//   ring      STAGES of x [TOKENS][64] | W, rows of 128 bytes, swizzled. layout=outputs: W [TILE][64]; inputs: 64 outputs of 64
//             values side by side, [TILE/64][64][64]. Rows of x behind the last token are zeros; rows behind TOKENS are whatever
//             lies there, and so are the results that nobody writes
//   norm      a warp takes its 16 rows of x into registers, squares them for the sum, multiplies by the norm's weights, rounded
//             to 16 bits, and multiplies from there; the factor of a token comes in at the end
//   sums      a token's lie side by side where the ring was; sums.h finishes them
//   tiles     with more than one a block takes tiles of a head one after the other: sums lie behind the ring, so that the next
//             tile's W and x come while they are written. Of more than 64 tokens x comes once for all tiles, in front of the
//             ring, whose stages are W alone; and sums are rounded as they are laid, since each warp writes its own 16 rows
//
// Weights are constants of a layer: the first STAGES of them are asked for before the launch waits for the one before.
//@ local split, ways, tokens64 = split or 1, ways or 1, (pass + 63) // 64
//@ contract(arch.has_wgmma == 1 and arch.has_tma == 1, "needs wgmma and tensor copies")
//@ contract(pass == 16 or pass == 32 or pass == 64 or pass == 128 or pass == 256, "a pass of %d tokens", pass)
//@ contract(norm == 0 or layout == "outputs", "a norm needs layout=outputs")
//@ contract(norm == 0 or pass <= 128, "a norm, and passes of %d tokens", pass)
//@ local idles = pass > 128 -- warpgroups whose tokens are all behind the last one
//@ local once = tiles > 1 and pass > 64 -- x comes once
//@ local plan = require("projection/plan").ring({ inner = inner, outer = outer, layout = layout, norm = norm, tokens = pass,
//@   rows = rows, per_sm = per_sm, split = split, turn = turn, ways = ways, tiles = tiles })
//@ contract(not plan.refused, "%s", plan.refused)
//@ contract(plan.lds <= arch.lds_bytes, "%d bytes of shared memory", plan.lds)
//@ contract(tiles == 1 or norm == 0 and split * ways == 1 and outer % (rows * tiles) == 0, "%d tiles of a block", tiles)
//@ contract(not (plan.both and plan.lends), "wide tiles lend registers, and wait for W")
//@ contract(turn == 0 or split == 1, "columns turn, and %d blocks share a sum", split)
//@ declares{ threads = plan.threads, rows_per_wg = rows * tiles, lds_bytes = plan.lds }

#define MLAF_BF16 ${dtype == "bf16" and 1 or 0}
//@ include("lib/projection/machine.h")
//@ if norm == 1 then
//@ include("lib/mma.h")
//@ end
//@ include("lib/projection/args.h")
//@ include("lib/projection/launch.h", { shared = plan.lds, cluster = split, flags = 8192,
//@   maps = { { 1, 64, layout == "outputs" and rows or 64 }, { 2, 64, pass } } })
//@ include("lib/projection/maps.h", { args = "mlaf_projection_kernel_args" })
//@ include("lib/hopper.h")
//@ include("lib/wgmma.h", { type = dtype, kinds = { { rows, layout == "inputs" } } })

constexpr int INNER = ${inner}, OUTER = ${outer}, TOKENS = ${pass}, TILE = ${rows}, WAYS = ${ways}, SPLIT = ${split};
constexpr int THREADS = ${tiles > 1 and plan.workers - 64 or plan.workers}, STAGES = ${plan.stages}, STEPS = INNER / 64;
constexpr int WAY_WARPS = ${4 * tokens64}, MATH_WARPS = WAYS * WAY_WARPS; // that multiply a step, and all
//@ include("lib/projection/block.h", { inner = inner, norm = norm, residual = residual, turn = turn, style = style })
//@ if norm == 1 then
//@ include("lib/projection/gain.h")
//@ end
//@ include("lib/projection/sums.h", { inner = inner, norm = norm, residual = residual, split = split,
//@   writers = plan.lends and "32 * MATH_WARPS" or "THREADS" })
//@ if once then
constexpr int X_BOX = TOKENS * 128; // x of a step, from 0 on
constexpr int W_AT = STEPS * X_BOX, W_BYTES = TILE * 128, STAGE = W_BYTES;
//@ else
constexpr int W_AT = TOKENS * 128, W_BYTES = TILE * 128, STAGE = W_AT + W_BYTES; // in a stage
//@ end
constexpr int FULL_AT = ${plan.barriers_at}, EMPTY_AT = FULL_AT + 8 * STAGES;
//@ if norm == 1 then
constexpr int GAIN_AT = ${plan.gain_at};
//@ end
constexpr int W_WARP = MATH_WARPS, X_WARP = MATH_WARPS + 1;
constexpr int TURN_AT = ${plan.workers}, TURN_THREADS = ${plan.threads - plan.workers};

//@ if tiles > 1 then
constexpr int TAKES = ${tiles}, SUMS_AT = ${plan.sums_at}; // tiles of a block; behind the ring
//@ end
//@ if once then
constexpr int X_FULL = EMPTY_AT + 8 * STAGES, X_EMPTY = X_FULL + 8; // barriers of x
constexpr int LAID = 2 * TILE + 16; // bytes of a token's rounded sums: neighbours begin in other banks
//@ else
// The threads that work on sums.
MLAF_DEV void sync_workers() {
//@ if turn > 0 or tiles > 1 then
  named_sync(1, THREADS);
//@ else
  __syncthreads();
//@ end
}
//@ end

//@ include("lib/projection/places.h")

//@ include("lib/projection/x_rows.h")

// ---- The loaders: a lane each ------------------------------------------------------------------------------------------
//@ if plan.both then
// A step's W; its x comes, too.
//@ end
MLAF_DEV void load_w(const mlaf_projection_params& p, u32 shared, const place& at, int step, const ring& r) {
  const u32 full = shared + FULL_AT + 8 * r.stage, to = shared + r.stage * STAGE + W_AT;
  const int column = (int)(at.head * p.a.w_head / 2);
  barrier_expect(full, W_BYTES${plan.both and " + x_rows(p.a.tokens) * 128" or ""});
//@ if layout == "outputs" then
  copy_box_once(to, &p.w, column + 64 * step, at.first, full);
//@ else
#pragma unroll
  for (int i = 0; i < TILE / 64; i++) copy_box_once(to + i * 64 * 128, &p.w, column + at.first + 64 * i, 64 * step, full);
//@ end
}
//@ if once then
// All of a pass' x.
MLAF_DEV void load_x(const mlaf_projection_params& p, u32 shared, const place& at, i64 t0) {
  barrier_expect(shared + X_FULL, STEPS * x_rows(p.a.tokens) * 128);
#pragma unroll
  for (int step = 0; step < STEPS; step++)
    copy_box(shared + step * X_BOX, &p.x, (int)(at.head * p.a.x_head / 2) + 64 * step, (int)t0, shared + X_FULL);
}
//@ else
MLAF_DEV void load_x(const mlaf_projection_params& p, u32 shared, const place& at, int step, i64 t0, const ring& r) {
  const u32 full = shared + FULL_AT + 8 * r.stage;
//@ if not plan.both then
  barrier_expect(full, x_rows(p.a.tokens) * 128);
//@ end
  copy_box(shared + r.stage * STAGE, &p.x, (int)(at.head * p.a.x_head / 2) + 64 * step, (int)t0, full);
}
//@ end
MLAF_DEV void wait_empty(u32 shared, const ring& r) { barrier_wait(shared + EMPTY_AT + 8 * r.stage, r.lap ^ 1); }
//@ if plan.both then
// The steps of a pass that a loader has.
MLAF_DEV void load_steps(const mlaf_projection_params& p, u32 shared, const place& at, int begin, int end, i64 t0, int loader,
                         ring& all) {
  const int first = (loader + all.stage) & 1;
  int step = begin + first;
  ring r = all;
  r.advance(first);
  all.advance(end - begin);
  if (t0 == 0) // their W is in flight
#pragma unroll 1
    for (; step < end && step < begin + STAGES; step += 2, r.advance<2>()) load_x(p, shared, at, step, t0, r);
#pragma unroll 1
  for (; step < end; step += 2, r.advance<2>()) {
    wait_empty(shared, r);
    load_w(p, shared, at, step, r);
    load_x(p, shared, at, step, t0, r);
  }
}
//@ end

// ---- Math --------------------------------------------------------------------------------------------------------------
//@ if norm == 1 then
//@ include("lib/projection/norm_x.h")
//@ end
//@ local takes = tiles > 1 and " / TAKES" or ""
//@ local turner = fmt("at.first / TILE%s * TURN_THREADS + thread - TURN_AT, TILES%s * TURN_THREADS", takes, takes)
//@ local w_step = layout == "outputs" and 2 or 128 -- of a descriptor, from 16 values to the next
//@ local trans = layout == "inputs" and "_t" or ""
//@ local left = idles and "p.a.tokens - t0, " or ""

struct stage_at {
  u32 x, w; // address of x, descriptor of W
};
MLAF_DEV stage_at wait_full(u32 shared, const ring& r) {
  const u32 at = shared + r.stage * STAGE;
  barrier_wait(shared + FULL_AT + 8 * r.stage, r.lap);
//@ if layout == "outputs" then
  return {at, k_major(at + W_AT)};
//@ else
  return {at, n_major(at + W_AT, 64 * 128)};
//@ end
}

//@ if idles then
// left: tokens from the pass' first on. Without any a warpgroup multiplies nothing, and gives back what it did not read.
MLAF_DEV void multiply_pass(char* memory, u32 shared, int begin, int end, int thread, i64 left, ring& all) {
//@ else
MLAF_DEV void multiply_pass(char* memory, u32 shared, int begin, int end, int thread, ring& all) {
//@ end
//@ if ways > 1 then
  // Each way has its own half of the stages, an even number: it never skips a use of one, as barriers' parities want.
  const int lane = thread & 31, any = __shfl_sync(~0u, thread >> 5, 0), warp = any % WAY_WARPS, way = any / WAY_WARPS;
  const int first = (way + STAGES - all.stage) % WAYS;
  ring r = all;
  r.advance(first);
  all.advance(end - begin);
  begin += first;
//@ else
  const int lane = thread & 31, warp = __shfl_sync(~0u, thread >> 5, 0);
  ring& r = all;
//@ end
//@ if idles then
  if (warp / 4 * 64 >= left) {
#pragma unroll 1
    for (int step = begin; step < end; step++, r.next()) {
      wait_full(shared, r);
      give_back(shared + EMPTY_AT + 8 * r.stage, lane);
    }
//@ if tiles == 1 then
    sync_workers();
//@ end
    return;
  }
//@ end
  float d[TILE / 2];
#pragma unroll
  for (int i = 0; i < TILE / 2; i++) d[i] = 0.0f;
  settle(d);
  u32 before = 0; // barrier of the step whose products may still run
//@ if norm == 1 then
  float squares[2][2][4] = {};
  // A branch between products makes the compiler wait for each of them: known counts have none. Where two blocks of an SM overlap
  // it takes fewer registers so, without which they would not fit.
  constexpr bool KNOWN = STEPS % (2 * WAYS * SPLIT) == 0 && ${plan.known and 1 or 0};
  const int steps = KNOWN ? STEPS / (WAYS * SPLIT) : (end - begin + WAYS - 1) / WAYS;
#pragma unroll 1
  for (int two = 0; two < steps; two += 2) {
    u32 a[2][4][4]; // of this step and of the one before
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int step = begin + (two + i) * WAYS;
      if (!KNOWN && two + i >= steps) break;
      const stage_at s = wait_full(shared, r);
      u32 raw[4][4];
      take_x(raw, a[i], s.x, shared + GAIN_AT + 128 * step, warp, lane);
      wgmma_fence();
#pragma unroll
      for (int j = 0; j < 4; j++) wgmma_rs${trans}(d, a[i][j], s.w + ${w_step} * j, true);
      wgmma_commit();
      add_squares(squares, raw);
      wgmma_wait<1>(); // the step before is done, and its registers are free
      if (before) give_back(before, lane);
      before = shared + EMPTY_AT + 8 * r.stage;
      r.advance<WAYS>();
    }
  }
//@ else
#pragma unroll 1
  for (int step = begin; step < end; step += WAYS, r.advance<WAYS>()) {
    const stage_at s = wait_full(shared, r);
    const u32 x = k_major(${once and "shared + step * X_BOX" or "s.x"} + warp / 4 * (64 * 128));
    wgmma_fence();
#pragma unroll
    for (int j = 0; j < 4; j++) wgmma_ss${trans}(d, x + 2 * j, s.w + ${w_step} * j, true);
    wgmma_commit();
    wgmma_wait<1>(); // the step before is done
    if (before) give_back(before, lane);
    before = shared + EMPTY_AT + 8 * r.stage;
  }
//@ end
  wgmma_wait<0>();
  settle(d);
  ${ways > 1 and "if (before) " or ""}give_back(before, lane);
//@ if tiles == 1 then
  sync_workers(); // the ring is done with
//@ end
  const int row = 16 * warp + (lane >> 2);
//@ if once then
#pragma unroll
  for (int h = 0; h < 2; h++) {
    u32* const to = (u32*)(memory + SUMS_AT + (row + 8 * h) * LAID) + (lane & 3);
#pragma unroll
    for (int i = 0; i < TILE / 8; i++) to[4 * i] = pack2(d[4 * i + 2 * h], d[4 * i + 2 * h + 1]);
  }
}
//@ else
  float* const sums = (float*)(memory${tiles > 1 and " + SUMS_AT" or ""})${ways > 1 and " + way * TOKENS * PITCH" or ""};
//@ if norm == 1 then
  float* const squares_at = (float*)memory + SQUARES_AT${ways > 1 and " + way * TOKENS" or ""};
//@ end
#pragma unroll
  for (int h = 0; h < 2; h++) {
    if (TOKENS % 64 != 0 && row + 8 * h >= TOKENS) continue;
    float* const to = sums + (row + 8 * h) * PITCH + 2 * (lane & 3);
#pragma unroll
    for (int i = 0; i < TILE / 8; i++) *(float2*)(to + 8 * i) = make_float2(d[4 * i + 2 * h], d[4 * i + 2 * h + 1]);
//@ if norm == 1 then
    const float even = squares[0][h][2 * h] + squares[1][h][2 * h], odd = squares[0][h][2 * h + 1] + squares[1][h][2 * h + 1];
    if ((lane & 3) == lane >> 3) squares_at[row + 8 * h] = lane & 4 ? odd : even;
//@ end
  }
}
//@ end

//@ if tiles > 1 then
MLAF_DEV place tile_of(place at, int tile) {
  at.first += tile * TILE;
  return at;
}
//@ if once then
// A warp's 16 rows of rounded sums: no other warp reads them.
MLAF_DEV void write_rows(const mlaf_projection_kernel_args& a, const place& p, i64 t0, const char* laid, int warp, int lane) {
#pragma unroll 4
  for (int i = lane; i < 16 * OCTETS; i += 32) {
    const int token = 16 * warp + i / OCTETS, column = i % OCTETS * 8;
    if (t0 + token >= a.tokens) continue;
    store(p.y + (t0 + token) * a.y_token + 2 * (p.first + column), *(const word4*)(laid + token * LAID + 2 * column));
  }
}
// All tiles of a block, in all passes: warps never meet. lap: parity of x's barriers.
MLAF_DEV void walk_tiles(const mlaf_projection_params& p, char* memory, u32 shared, const place& at, int warp, int thread,
                         ring& r) {
  u32 lap = 0;
#pragma unroll 1
  for (i64 t0 = 0; t0 < p.a.tokens; t0 += TOKENS, lap ^= 1) {
    if (warp == W_WARP) {
      if (thread == 32 * W_WARP)
        for (int i = t0 ? 0 : STAGES; i < TAKES * STEPS; i++, r.next()) {
          wait_empty(shared, r);
          load_w(p, shared, tile_of(at, i / STEPS), i % STEPS, r);
        }
      __syncwarp();
      wait_for_previous_launch();
    } else if (warp == X_WARP) {
      if (thread == 32 * X_WARP) {
        barrier_wait(shared + X_EMPTY, lap ^ 1);
        load_x(p, shared, at, t0);
      }
      __syncwarp();
    } else {
      barrier_wait(shared + X_FULL, lap);
#pragma unroll 1
      for (int tile = 0; tile < TAKES; tile++) {
        multiply_pass(memory, shared, 0, STEPS, thread, ${left}r);
        __syncwarp();
        if (tile == TAKES - 1) give_back(shared + X_EMPTY, thread & 31);
        write_rows(p.a, tile_of(at, tile), t0, memory + SUMS_AT, warp, thread & 31);
        __syncwarp(); // before the next tile's sums come here
      }
    }
  }
}
//@ else
// All tiles of a block, in all passes: nobody waits for the writing of sums but those who write them.
MLAF_DEV void walk_tiles(const mlaf_projection_params& p, char* memory, u32 shared, const place& at, int warp, int thread,
                         ring& r) {
#pragma unroll 1
  for (i64 t0 = 0; t0 < p.a.tokens; t0 += TOKENS) {
    if (warp == W_WARP) {
      if (thread == 32 * W_WARP)
        for (int i = t0 ? 0 : STAGES; i < TAKES * STEPS; i++, r.next()) {
          wait_empty(shared, r);
          load_w(p, shared, tile_of(at, i / STEPS), i % STEPS, r);
        }
      __syncwarp();
      wait_for_previous_launch();
    } else if (warp == X_WARP) {
      if (thread == 32 * X_WARP)
        for (int i = 0; i < TAKES * STEPS; i++, r.next()) {
          wait_empty(shared, r);
          load_x(p, shared, at, i % STEPS, t0, r);
        }
      __syncwarp();
    } else {
#pragma unroll 1
      for (int tile = 0; tile < TAKES; tile++) {
        multiply_pass(memory, shared, 0, STEPS, thread, ${left}r);
        sync_workers();
        write_pass(p.a, tile_of(at, tile), t0, (float*)(memory + SUMS_AT), 0);
        sync_workers(); // before the next tile's sums come here
      }
    }
  }
}
//@ end

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
  const place at = ${tiles > 1 and "place_of(p.a, my_block() * TAKES)" or "place_of(p.a, my_block() / SPLIT)"};
  const int begin = STEPS * rank / SPLIT, end = STEPS * (rank + 1) / SPLIT;
  ring r = {0, 0};
//@ if plan.both then
  if (thread == 32 * W_WARP || thread == 32 * X_WARP) {
    for (int i = warp - W_WARP; i < STAGES; i += 2) {
      barrier_init(shared + FULL_AT + 8 * i, 1);
      barrier_init(shared + EMPTY_AT + 8 * i, WAY_WARPS);
    }
    barriers_ready();
    // Nothing is in the ring yet, and who waits for these copies does so behind the barrier below.
    for (ring mine = {warp - W_WARP, 0}; mine.stage < STAGES && begin + mine.stage < end; mine.stage += 2)
      load_w(p, shared, at, begin + mine.stage, mine);
  }
//@ else
  if (thread == 32 * W_WARP) {
    for (int i = 0; i < STAGES; i++) {
      barrier_init(shared + FULL_AT + 8 * i, ${once and 1 or 2});
      barrier_init(shared + EMPTY_AT + 8 * i, WAY_WARPS);
    }
//@ if once then
    barrier_init(shared + X_FULL, 1);
    barrier_init(shared + X_EMPTY, WAY_WARPS);
//@ end
    barriers_ready();
    // Nothing is in the ring yet, and who waits for these copies does so behind the barrier below.
//@ if tiles > 1 then
    for (int i = 0; i < STAGES && i < TAKES * STEPS; i++, r.next()) load_w(p, shared, tile_of(at, i / STEPS), i % STEPS, r);
//@ else
    for (int i = 0; i < STAGES && begin + i < end; i++, r.next()) load_w(p, shared, at, begin + i, r);
//@ end
  }
//@ end
//@ if norm == 1 then
  const gain_scale shrink = scale_of_gain(p.a, thread & 31);
  lay_gain(p.a, shrink, memory, thread);
//@ end
  __syncthreads();
//@ if turn > 0 and style ~= "unrotated" then
  if (${tiles > 1 and "warp > X_WARP" or "thread >= TURN_AT"}) ask_turn(p.a, ${turner});
//@ end
//@ if plan.both then
  wait_for_previous_launch();
  if (FIRST_OF_LAYER) let_next_launch_start();
//@ else
  if (warp != W_WARP) wait_for_previous_launch();
  if (FIRST_OF_LAYER && warp != W_WARP) let_next_launch_start();
//@ end
//@ if turn > 0 then
  if (${tiles > 1 and "warp > X_WARP" or "thread >= TURN_AT"}) {
    turn_rows(p.a, at.x, at.y, ${turner});
    return;
  }
//@ end
//@ if tiles > 1 then
  walk_tiles(p, memory, shared, at, warp, thread, r);
//@ elseif plan.lends then
  // Loading and multiplying warps never meet in the text again: their registers differ in number.
  if (warp >= W_WARP) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 ${plan.kept};");
#pragma unroll 1
    for (i64 t0 = 0; t0 < p.a.tokens; t0 += TOKENS) {
      load_pass(p, shared, at, begin, end, t0, warp, thread, r);
      for (int i = 0; i < 3; i++) sync_workers(); // the ring is done with; sums are there; and are written
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 ${plan.lent};");
#pragma unroll 1
  for (i64 t0 = 0; t0 < p.a.tokens; t0 += TOKENS) {
    multiply_pass(memory, shared, begin, end, thread, r);
    sync_workers();
    write_pass(p.a, at, t0, (float*)memory, rank${norm == 1 and ", shrink.up()" or ""});
    fence_async(); // copies of the next pass come to where the sums are
    sync_workers();
  }
//@ else
#pragma unroll 1
  for (i64 t0 = 0; t0 < p.a.tokens; t0 += TOKENS) {
//@   if plan.both then
    if (warp == W_WARP || warp == X_WARP) {
      if ((thread & 31) == 0) load_steps(p, shared, at, begin, end, t0, warp - W_WARP, r);
      __syncwarp();
    } else {
      multiply_pass(memory, shared, begin, end, thread, ${left}r);
    }
//@   else
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
      multiply_pass(memory, shared, begin, end, thread, ${left}r);
    }
//@   end
    if (warp >= W_WARP) sync_workers(); // the ring is done with
    sync_workers();
    write_pass(p.a, at, t0, (float*)memory, rank${norm == 1 and ", shrink.up()" or ""});
    fence_async(); // copies of the next pass come to where the sums are
//@ if split > 1 then
    sync_cluster(); // nobody reads this block's sums any more
//@ else
    sync_workers();
//@ end
  }
//@ end
}
