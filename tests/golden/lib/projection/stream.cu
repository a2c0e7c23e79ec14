// Generated from gen/projection/kernels.lua by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_q_absorb/stream target=sm_90a depth=2 dtype=bf16 land=registers nope=128 pass=8 per_sm=3 rank=512 rope=64 rows=64 split=1 style=pairs warps=2

#define MLAF_BF16 1
// [45 more lines of tests/golden/lib/projection/mma.cu]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_absorb_stream_e263c474_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 4352, {1, 1, 1},
    65, 0, 0, {0, 0}, 0, {}};

constexpr int INNER = 128, OUTER = 512, TOKENS = 8, TILE = 64, WAYS = 2, SPLIT = 1;
constexpr int THREADS = 64;
constexpr int TILES = (OUTER + TILE - 1) / TILE;
// [100 more lines of tests/golden/lib/projection/stationary_fp8.cu]
constexpr int MT = TILE / 16, NT = TOKENS / 8, CHUNKS = 4, STEPS = 2; // of a block, of a warp
constexpr int RUN = 1, DEPTH = 2, AHEAD = 2; // RUN: chunks that a warp takes in a row
constexpr int LOADS = 8; // of 16 bytes of a lane and chunk

MLAF_DEV word4 load_x(const void* p) {
// [8 more lines of templates/lib/projection/lanes.h]
};
struct lane_place {
  const char *w, *x[NT];
  i64 w_step; // bytes between two of its loads of a chunk
// [5 more lines of templates/lib/projection/lanes.h]

struct weights {
// [4 more lines of templates/lib/projection/stream.h]
};

MLAF_DEV void ask_weights(const mlaf_projection_kernel_args& a, const lane_place& l, int step, weights& w) {
  const int chunk = chunk_of(l, step);
  const char* const from = l.w + chunk * (32 * a.w_row);
#pragma unroll
// [6 more lines of templates/lib/projection/stream.h]
}
// [3 more lines of templates/lib/projection/stream.h]

MLAF_DEV void multiply(const weights& w, inputs& x, sums_of_warp& s) {
#pragma unroll
  for (int m = 0; m < MT; m++) {
    u32 of[8];
// [11 more lines of templates/lib/projection/stream.h]

MLAF_DEV void add4(float (&v)[4], const float4& x) { v[0] += x.x, v[1] += x.y, v[2] += x.z, v[3] += x.w; }
// [20 more lines of tests/golden/lib/projection/stationary_fp8.cu]

extern "C" __global__ void __launch_bounds__(64, 4) mlaf_mla_q_absorb_stream_e263c474(const mlaf_projection_kernel_args a) {
  extern __shared__ __align__(128) char memory[];
  if (!FIRST_OF_LAYER) let_next_launch_start();
  const int thread = (int)my_thread(), lane = thread & 31, warp = thread >> 5, g = lane >> 2, t = lane & 3;
// [3 more lines of templates/lib/projection/stream_kernel.h]
  lane_place l;
  l.first = warp * RUN;
  l.w_step = a.w_row;
  const int output = OUTER % TILE == 0 || p.first + 8 * g < OUTER ? p.first + 8 * g : OUTER - 8; // whose sums nobody writes
  l.w = p.w + (rank * (CHUNKS * 32) + 8 * t) * a.w_row + 2 * output;

  weights w[DEPTH];
#pragma unroll
  for (int i = 0; i < DEPTH; i++) ask_weights(a, l, i, w[i]);
  if (rank == 0) ask_turn(a, p.first / TILE * THREADS + thread, TILES * THREADS);
// [7 more lines of templates/lib/projection/stream_kernel.h]
      for (int i = 0; i < DEPTH; i++) ask_weights(a, l, i, w[i]);
#pragma unroll
    for (int n = 0; n < NT; n++) l.x[n] = row_of_x(a, p, t0 + 8 * n + g) + 16 * t + rank * (CHUNKS * 64);
    sums_of_warp s = {};
// [8 more lines of templates/lib/projection/stream_kernel.h]
        multiply(w[i], x[i % AHEAD], s);
        if (base + i + DEPTH < STEPS) ask_weights(a, l, base + i + DEPTH, w[i]);
        if (base + i + AHEAD < STEPS) ask_inputs(l, base + i + AHEAD, x[i % AHEAD]);
      }
    float* const mine = sums + warp * TOKENS * PITCH;
// [7 more lines of templates/lib/projection/end_pass.h]
          *(float2*)(to + 8 * g + 2 * m) = make_float2(s.of[m][n][e], s.of[m][n][2 + e]);
        }
      }
    __syncthreads();
    write_pass(a, p, t0, sums, rank);
    __syncthreads();
  }
  if (rank == 0) turn_rows(a, p.x, p.y, p.first / TILE * THREADS + thread, TILES * THREADS);
}
