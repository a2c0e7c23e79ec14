// Generated from gen/projection/kernels.lua by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_q_absorb/stream_fp8 target=sm_90a depth=4 dtype=bf16 nope=128 pass=8 rank=512 rope=64 rows=64 split=1 style=pairs warps=2 weights=1

#define MLAF_BF16 1
// [45 more lines of tests/golden/lib/projection/mma.cu]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_absorb_stream_fp8_d750f8d9_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 4368, {1, 1, 1},
// [3 more lines of tests/golden/lib/projection/stream.cu, with other numbers]
// [102 more lines of tests/golden/lib/projection/stream.cu]
MLAF_DEV void unpack_halves(u32 x, float& a, float& b) {
// [45 more lines of tests/golden/lib/projection/dot.cu]
constexpr int MT = TILE / 16, NT = TOKENS / 8, CHUNK = 32, CHUNKS = 4, STEPS = 2;
constexpr int RUN = 1, DEPTH = 2, AHEAD = 2; // CHUNKS of a block, STEPS of a warp, RUN in a row
constexpr int LOADS = 8, PARTS = CHUNK / 32; // loads of a lane and chunk; of x, 8 values each
constexpr int SCALES = 1, SCALES_AT = 4352; // of a chunk; where they begin

MLAF_DEV word4 load_x(const void* p) {
// [17 more lines of tests/golden/lib/projection/stream.cu]

typedef word2 codes;
// [12 more lines of templates/lib/projection/stream_fp8.h]
};
// [3 more lines of templates/lib/projection/stream_fp8.h]
  const char* const from = l.w + chunk * (CHUNK * a.w_row);
#pragma unroll
// [9 more lines of templates/lib/projection/stream_fp8.h]
  }
// [6 more lines of templates/lib/projection/stream_fp8.h]
    scales[i] = scale_at(a, scales_of(a, p.head, value), p.first);
// [16 more lines of templates/lib/projection/stream_fp8.h]
    const u32 v0 = pair_of(w.of[4 * i], w.of[4 * i + 1], m), v2 = pair_of(w.of[4 * i + 2], w.of[4 * i + 3], m);
// [5 more lines of templates/lib/projection/stream_fp8.h]
                       sums_of_warp& s) {
#pragma unroll
// [3 more lines of templates/lib/projection/stream_fp8.h]
    const float scale = scales[0];
#pragma unroll
// [11 more lines of templates/lib/projection/stream_fp8.h]

MLAF_DEV void add4(float (&v)[4], const float4& x) { v[0] += x.x, v[1] += x.y, v[2] += x.z, v[3] += x.w; }
// [20 more lines of tests/golden/lib/projection/stationary_fp8.cu]

extern "C" __global__ void __launch_bounds__(64, 4) mlaf_mla_q_absorb_stream_fp8_d750f8d9(const mlaf_projection_scaled_args a) {
  extern __shared__ __align__(128) char memory[];
// [5 more lines of tests/golden/lib/projection/stream.cu]
  float* const scales = (float*)(memory + SCALES_AT);
  lane_place l;
// [3 more lines of tests/golden/lib/projection/stream.cu]
  l.w = p.w + (rank * (CHUNKS * CHUNK) + 8 * t) * a.w_row + output;

  weights w[DEPTH];
// [3 more lines of templates/lib/projection/stream_kernel.h]
  __syncthreads();
  wait_for_previous_launch();
// [8 more lines of tests/golden/lib/projection/stream.cu]
    for (int n = 0; n < NT; n++) l.x[n] = row_of_x(a, p, t0 + 8 * n + g) + (16 * PARTS) * t + rank * (2 * CHUNKS * CHUNK);
    sums_of_warp s = {};
// [8 more lines of templates/lib/projection/stream_kernel.h]
        const int chunk = chunk_of(l, base + i);
        const float* const scales_here = scales + (is_there(chunk) ? chunk : 0) * SCALES;
        multiply(w[i], x[i % AHEAD], scales_here, s);
        if (base + i + DEPTH < STEPS) ask_weights(a, l, base + i + DEPTH, w[i]);
// [19 more lines of tests/golden/lib/projection/stream.cu]
