// A projection of weights of 8 bits at the pace of memory, for up to 64 tokens: stream.h, whose weights go from global memory
// into registers that matrix instructions read, with what makes 16-bit numbers of them on the way. Outputs are the rows of the
// instruction, tokens its columns.
//
//   outputs   lane (g, t) of a warp has values 16t .. 16t+15 of a chunk of 64: 16 bytes of rows g, g+8, g+16 .. of the tile, 32
//             of x's tokens g, g+8 .. Four bytes are what it holds of an instruction
//   inputs    it has values 8t .. 8t+7 of a chunk of 32: 8 bytes, outputs 8g .. 8g+7, of those rows; bytes of two rows are put in
//             pairs before they become numbers. Fragment i has outputs 8g+2i in rows 0..7, 8g+2i+1 in rows 8..15
//   scales    of all chunks lie in shared memory, one for 16 outputs (inputs: one for all). Products of a chunk are summed up
//             apart and come to the others times their scale
//   block     as of stream.h: its warps take the chunks in turns, two neighbours at a time; DEPTH chunks of weights are on their
//             way, AHEAD of x; sums of the warps meet in shared memory, those of SPLIT blocks in the cluster's
//
// Weights and scales are constants of a layer: the first of them are asked for before the launch waits for the one before. With a
// norm, x times the norm's weights is rounded to 16 bits before the product; the factor of a token comes in at the end.
//@ contract(arch.wave == 32 and arch.sm >= 90, "needs warps of 32 lanes and sm_90")
//@ contract(outer % 8 == 0, "%d outputs are not a multiple of 8", outer)
//@ contract(pass % 8 == 0 and pass >= 8 and pass <= 64, "a pass of %d tokens is not a multiple of 8 in 8..64", pass)
//@ local plan = require("projection/plan").stream_fp8({ inner = inner, outer = outer, layout = layout, norm = norm,
//@   weights = weights, tokens = pass, rows = rows, warps = warps, depth = depth, split = split })
//@ contract(not plan.refused, "%s", plan.refused)
//@ contract(plan.lds <= arch.lds_bytes, "%d bytes of shared memory", plan.lds)
//@ declares{ threads = 32 * warps, rows_per_wg = rows, lds_bytes = plan.lds }
//@ local outputs = layout == "outputs"

#define MLAF_BF16 ${dtype == "bf16" and 1 or 0}
//@ include("lib/projection/machine.h")
//@ include("lib/mma.h")
//@ include("lib/projection/args.h")
//@ include("lib/projection/launch.h", { shared = plan.lds, cluster = split, maps = {}, flags = 16 + 64 })

constexpr int INNER = ${inner}, OUTER = ${outer}, TOKENS = ${pass}, TILE = ${rows}, WAYS = ${warps}, SPLIT = ${split};
constexpr int THREADS = ${32 * warps};
//@ include("lib/projection/block.h", { inner = inner, norm = norm, residual = residual, turn = turn, style = style })
//@ if norm == 1 then
//@ include("lib/projection/gain.h")
//@ end
//@ include("lib/projection/fp8.h", { weights = weights })
constexpr int MT = TILE / 16, NT = TOKENS / 8, CHUNK = ${plan.chunk}, CHUNKS = ${plan.chunks}, STEPS = ${plan.steps};
constexpr int RUN = ${plan.run}, DEPTH = ${plan.depth}, AHEAD = ${plan.ahead}; // CHUNKS of a block, STEPS of a warp, RUN in a row
constexpr int LOADS = ${outputs and "2 * MT" or "8"}, PARTS = CHUNK / 32; // loads of a lane and chunk; of x, 8 values each
constexpr int SCALES = ${outputs and "MT" or "1"}, SCALES_AT = ${plan.scales_at}; // of a chunk; where they begin

//@ include("lib/projection/lanes.h", { norm = norm, dtype = dtype })
//@ if outputs then
typedef word4 codes;
MLAF_DEV codes load_codes(const void* p, bool there) { return there ? load_weights(p) : words(0, 0, 0, 0); }
//@ else
typedef word2 codes;
MLAF_DEV codes load_codes(const void* p, bool there) {
  codes x = make_uint2(0, 0);
  if (there)
    asm volatile("ld.global.L1::no_allocate.v2.u32 {%0, %1}, [%2];" : "=r"(x.x), "=r"(x.y) : "l"(p) : "memory");
  return x;
}
//@ end

struct weights {
  codes of[LOADS];
};
struct inputs {
  word4 of[NT][PARTS];
//@ if norm == 1 then
  word4 gain[PARTS];
//@ end
};

MLAF_DEV void ask_weights(const mlaf_projection_scaled_args& a, const lane_place& l, int step, weights& w) {
  const int chunk = chunk_of(l, step);
  const char* const from = l.w + ${outputs and "(i64)chunk * CHUNK" or "chunk * (CHUNK * a.w_row)"};
#pragma unroll
  for (int i = 0; i < LOADS; i++) w.of[i] = load_codes(from + i * l.w_step, is_there(chunk));
}
MLAF_DEV void ask_inputs(const lane_place& l, int step, inputs& x) {
  const int chunk = chunk_of(l, step);
#pragma unroll
  for (int i = 0; i < PARTS; i++) {
#pragma unroll
    for (int n = 0; n < NT; n++)
      x.of[n][i] = is_there(chunk) ? load_x(l.x[n] + (i64)chunk * (2 * CHUNK) + 16 * i) : words(0, 0, 0, 0);
//@ if norm == 1 then
    x.gain[i] = is_there(chunk) ? load_x(l.gain + (i64)chunk * (2 * CHUNK) + 16 * i) : words(0, 0, 0, 0);
//@ end
  }
}

// The block's scales, chunk by chunk.
MLAF_DEV void lay_scales(const mlaf_projection_scaled_args& a, const place& p, int rank, float* scales) {
#pragma unroll 1
  for (int i = (int)my_thread(); i < CHUNKS * SCALES; i += THREADS) {
    const int value = (rank * CHUNKS + i / SCALES) * CHUNK;
//@ if outputs then
    scales[i] = scale_at(a, scales_of(a, p.head, p.first + 16 * (i % SCALES)), value);
//@ else
    scales[i] = scale_at(a, scales_of(a, p.head, value), p.first);
//@ end
  }
}

// A product that is the first of its sum.
MLAF_DEV void mma16_first(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." MLAF_MMA_TYPE "." MLAF_MMA_TYPE ".f32 "
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
               : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(0.0f));
}
//@ if not outputs then
// Bytes 2i and 2i+1 of two rows' eight: each row's first, then each row's second.
MLAF_DEV u32 pair_of(const codes& a, const codes& b, int i) {
  return __byte_perm(i < 2 ? a.x : a.y, i < 2 ? b.x : b.y, i % 2 ? 0x7362 : 0x5140);
}
//@ end

// The operands of 16 outputs: number i of the chunk's instructions.
MLAF_DEV void operands_of(u32 (&a)[2 * PARTS][4], const weights& w, int m) {
#pragma unroll
  for (int i = 0; i < 2 * PARTS; i++) {
//@ if outputs then
    const u32 r0 = word_of(w.of[2 * m], i), r8 = word_of(w.of[2 * m + 1], i);
    a[i][0] = expand2<0>(r0), a[i][1] = expand2<0>(r8), a[i][2] = expand2<1>(r0), a[i][3] = expand2<1>(r8);
//@ else
    const u32 v0 = pair_of(w.of[4 * i], w.of[4 * i + 1], m), v2 = pair_of(w.of[4 * i + 2], w.of[4 * i + 3], m);
    a[i][0] = expand2<0>(v0), a[i][1] = expand2<1>(v0), a[i][2] = expand2<0>(v2), a[i][3] = expand2<1>(v2);
//@ end
  }
}

MLAF_DEV void multiply(const weights& w, inputs& x, const float* scales,
                       sums_of_warp& s${norm == 1 and ", u32 gain_scale_at" or ""}) {
//@ if norm == 1 then
  const gain_scale shrink = kept_scale(gain_scale_at);
  word4 gain[PARTS];
#pragma unroll
  for (int i = 0; i < PARTS; i++) gain[i] = shrunk(x.gain[i], shrink);
#pragma unroll
  for (int n = 0; n < NT; n++)
#pragma unroll
    for (int i = 0; i < PARTS; i++) {
      word4& v = x.of[n][i];
      const word4& g = gain[i];
      s.squares[n] = add_squares(add_squares(add_squares(add_squares(s.squares[n], v.x), v.y), v.z), v.w);
      v = words(times(v.x, g.x), times(v.y, g.y), times(v.z, g.z), times(v.w, g.w));
    }
//@ end
#pragma unroll
  for (int m = 0; m < MT; m++) {
    u32 a[2 * PARTS][4];
    operands_of(a, w, m);
    const float scale = scales[${outputs and "m" or "0"}];
#pragma unroll
    for (int n = 0; n < NT; n++) {
      float part[4];
      mma16_first(part, a[0], x.of[n][0].x, x.of[n][0].y);
#pragma unroll
      for (int i = 1; i < 2 * PARTS; i++)
        mma16(part, a[i], word_of(x.of[n][i / 2], i % 2 * 2), word_of(x.of[n][i / 2], i % 2 * 2 + 1));
#pragma unroll
      for (int e = 0; e < 4; e++) s.of[m][n][e] = fmaf(part[e], scale, s.of[m][n][e]);
    }
  }
}

//@ include("lib/projection/sums.h", { inner = inner, norm = norm, residual = residual, split = split,
//@   writers = "THREADS" })

//@ local args = require("projection/side").args(template, "mlaf_projection_scaled_args")
extern "C" __global__ void __launch_bounds__(${32 * warps}, ${plan.blocks}) ${symbol}(const ${args} a) {
//@ include("lib/projection/stream_kernel.h", { bytes = true, lands = false, layout = layout, norm = norm, split = split,
//@   turn = turn, style = style })
}
