// A projection at the pace of memory, for up to 64 tokens: weights go from global memory into the registers that matrix
// instructions read, 16 bytes a load, and nothing lies between. Outputs are the rows of the instruction, tokens its columns.
//
//   order     the values of a sum may be taken in any order that weights and x share. Lane (g, t) of a warp, g = l/4, t = l%4,
//             has values 8t .. 8t+7 of a chunk of 32: words 0 and 1 are what it holds of the first instruction, 2 and 3 of the
//             second one
//   outputs   W[h] is [OUTER][INNER]: it loads those 16 bytes of rows g, g+8, g+16 .. of the tile, and of x's tokens g, g+8 ..
//   inputs    W[h] is [INNER][OUTER]: it loads outputs 8g .. 8g+7 of the rows of its eight values; two-by-two transpositions
//             make pairs of values of them. Fragment i has outputs 8g+2i in rows 0..7, 8g+2i+1 in rows 8..15
//   block     a tile of TILE outputs of one head, or a share of its sum (SPLIT blocks, a cluster). Its warps take the chunks in
//             turns, two neighbours (a line of 128 bytes) at a time. DEPTH chunks of weights are in flight, AHEAD of x
//   sums      of the warps meet in shared memory, those of the blocks in the cluster's
//
// Weights are constants of a layer: the first of them are asked for before the launch waits for the one before. With a norm, x
// times the norm's weights is rounded to 16 bits before the product; the factor of a token comes in at the end.
//@ local split, lands = split or 1, land == "shared"
//@ contract(arch.wave == 32 and arch.sm >= 90, "needs warps of 32 lanes and sm_90")
//@ contract(inner % 32 == 0, "%d values of a sum are not a multiple of 32", inner)
//@ contract(outer % 8 == 0, "%d outputs are not a multiple of 8", outer)
//@ contract(pass % 8 == 0 and pass >= 8 and pass <= 64, "a pass of %d tokens is not a multiple of 8 in 8..64", pass)
//@ local plan = require("projection/plan").stream({ inner = inner, outer = outer, layout = layout, norm = norm, tokens = pass,
//@   rows = rows, warps = warps, depth = depth, split = split, land = land,
//@   per_sm = per_sm })
//@ contract(not plan.refused, "%s", plan.refused)
//@ contract(plan.lds <= arch.lds_bytes, "%d bytes of shared memory", plan.lds)
//@ declares{ threads = 32 * warps, rows_per_wg = rows, lds_bytes = plan.lds }

#define MLAF_BF16 ${dtype == "bf16" and 1 or 0}
//@ include("lib/projection/machine.h")
//@ include("lib/mma.h")
//@ include("lib/projection/args.h")
//@ include("lib/projection/launch.h", { shared = plan.lds, cluster = split, maps = {}, flags = lands and 0 or 64 })

constexpr int INNER = ${inner}, OUTER = ${outer}, TOKENS = ${pass}, TILE = ${rows}, WAYS = ${warps}, SPLIT = ${split};
constexpr int THREADS = ${32 * warps};
//@ include("lib/projection/block.h", { inner = inner, norm = norm, residual = residual, turn = turn, style = style })
//@ if norm == 1 then
//@ include("lib/projection/gain.h")
//@ end
constexpr int MT = TILE / 16, NT = TOKENS / 8, CHUNKS = ${plan.chunks}, STEPS = ${plan.steps}; // of a block, of a warp
constexpr int RUN = ${plan.run}, DEPTH = ${plan.depth}, AHEAD = ${plan.ahead}; // RUN: chunks that a warp takes in a row
constexpr int LOADS = ${layout == "outputs" and "2 * MT" or "8"}; // of 16 bytes of a lane and chunk
//@ if lands then
constexpr int SLOTS_AT = ${plan.slots_at}; // in shared memory: [DEPTH][LOADS][THREADS] of 16 bytes, each thread's own
//@ end

//@ include("lib/projection/lanes.h", { norm = norm, dtype = dtype })

struct weights {
  word4 of[LOADS];
};
struct inputs {
  word4 of[NT];
//@ if norm == 1 then
  word4 gain;
//@ end
};

//@ local chunk_bytes = layout == "outputs" and "(i64)chunk * 64" or "chunk * (32 * a.w_row)"
//@ if lands then
MLAF_DEV u32 slot(u32 mine, int place, int i) { return mine + 16 * THREADS * (place * LOADS + i); }
// `there`: the warp has such a step. What a thread copies it alone reads, so it waits for nobody else.
MLAF_DEV void ask_weights(const mlaf_projection_kernel_args& a, const lane_place& l, int step, u32 mine, int place, bool there) {
  const int chunk = chunk_of(l, step);
  const char* const from = l.w + ${chunk_bytes};
  if (there)
#pragma unroll
    for (int i = 0; i < LOADS; i++)
      copy16(slot(mine, place, i), is_there(chunk) ? from + i * l.w_step : l.w, is_there(chunk));
  end_copy_group();
}
MLAF_DEV void take_weights(u32 mine, int place, weights& w) {
#pragma unroll
  for (int i = 0; i < LOADS; i++)
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w.of[i].x), "=r"(w.of[i].y), "=r"(w.of[i].z), "=r"(w.of[i].w) : "r"(slot(mine, place, i)) : "memory");
}
//@ else
MLAF_DEV void ask_weights(const mlaf_projection_kernel_args& a, const lane_place& l, int step, weights& w) {
  const int chunk = chunk_of(l, step);
  const char* const from = l.w + ${chunk_bytes};
#pragma unroll
  for (int i = 0; i < LOADS; i++) w.of[i] = is_there(chunk) ? load_weights(from + i * l.w_step) : words(0, 0, 0, 0);
}
//@ end
MLAF_DEV void ask_inputs(const lane_place& l, int step, inputs& x) {
  const int chunk = chunk_of(l, step);
#pragma unroll
  for (int n = 0; n < NT; n++) x.of[n] = is_there(chunk) ? load_x(l.x[n] + (i64)chunk * 64) : words(0, 0, 0, 0);
//@ if norm == 1 then
  x.gain = is_there(chunk) ? load_x(l.gain + (i64)chunk * 64) : words(0, 0, 0, 0);
//@ end
}

//@ if layout == "inputs" then
MLAF_DEV u32 join_lo(u32 a, u32 b) { return __byte_perm(a, b, 0x5410); }
MLAF_DEV u32 join_hi(u32 a, u32 b) { return __byte_perm(a, b, 0x7632); }
//@ end

MLAF_DEV void multiply(const weights& w, inputs& x, sums_of_warp& s${norm == 1 and ", u32 gain_scale_at" or ""}) {
//@ if norm == 1 then
  const word4 g = shrunk(x.gain, kept_scale(gain_scale_at));
#pragma unroll
  for (int n = 0; n < NT; n++) {
    word4& v = x.of[n];
    s.squares[n] = add_squares(add_squares(add_squares(add_squares(s.squares[n], v.x), v.y), v.z), v.w);
    v = words(times(v.x, g.x), times(v.y, g.y), times(v.z, g.z), times(v.w, g.w));
  }
//@ end
#pragma unroll
  for (int m = 0; m < MT; m++) {
//@ if layout == "outputs" then
    const word4 &r0 = w.of[2 * m], &r8 = w.of[2 * m + 1];
    const u32 a0[4] = {r0.x, r8.x, r0.y, r8.y}, a1[4] = {r0.z, r8.z, r0.w, r8.w};
//@ else
    u32 of[8];
#pragma unroll
    for (int i = 0; i < 8; i++) of[i] = word_of(w.of[i], m);
    const u32 a0[4] = {join_lo(of[0], of[1]), join_hi(of[0], of[1]), join_lo(of[2], of[3]), join_hi(of[2], of[3])};
    const u32 a1[4] = {join_lo(of[4], of[5]), join_hi(of[4], of[5]), join_lo(of[6], of[7]), join_hi(of[6], of[7])};
//@ end
#pragma unroll
    for (int n = 0; n < NT; n++) {
      mma16(s.of[m][n], a0, x.of[n].x, x.of[n].y);
      mma16(s.of[m][n], a1, x.of[n].z, x.of[n].w);
    }
  }
}

//@ include("lib/projection/sums.h", { inner = inner, norm = norm, residual = residual, split = split,
//@   writers = "THREADS" })

//@ local args = require("projection/side").args(template, "mlaf_projection_kernel_args")
extern "C" __global__ void __launch_bounds__(${32 * warps}, ${plan.blocks}) ${symbol}(const ${args} a) {
//@ include("lib/projection/stream_kernel.h", { bytes = false, lands = lands, layout = layout, norm = norm, split = split,
//@   turn = turn, style = style })
}
