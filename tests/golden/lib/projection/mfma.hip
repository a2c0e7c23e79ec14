// Generated from gen/projection/kernels.lua by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_q_b/mfma_fp8 target=gfx942 blocks=1 depth=4 dtype=bf16 heads=16 nope=128 norm=1 parts=1 pass=16 q_rank=1536 rope=64 waves=8 weights=2

#define MLAF_BF16 1
// [41 more lines of tests/golden/lib/projection/mfma_absorb.hip]

constexpr int INNER = 1536, OUTER = 3072, TOKENS = 16, WAYS = 8, THREADS = 512;
constexpr int TILE = 16;
constexpr int TILES = (OUTER + TILE - 1) / TILE;
// [23 more lines of templates/lib/projection/block.h]
                     const float* squares, float up = 1.0f) {
#pragma unroll 1
// [12 more lines of templates/lib/projection/block.h]
    const float factor = inverse_root(multiply_add(square, 0.000651041667f, a.eps)) * up;
#pragma unroll
    for (int k = 0; k < 8; k++) v[k] *= factor;
    store(p.y + (t0 + token) * a.y_token + 2 * (p.first + column), pack(v));
// [3 more lines of tests/golden/lib/projection/stay.hip]
constexpr int TILE_BLOCKS = 1;

struct share {
// [5 more lines of templates/lib/projection/parts.h]
}
constexpr int BLOCKS = 1, GROUPS = 1; // GROUPS: of 16 tokens
constexpr int TOGETHER = TOKENS / 16; // groups whose sums meet at a time
constexpr int STEPS = INNER / 64, DEPTH = 4;

struct mlaf_kernel_launch {
// [3 more lines of templates/lib/projection/launch.h]
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_q_b_mfma_fp8_f0df10ae_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    16, 0, 0, {0, 0}, 0, {}};

template <int PAIR>
// [3 more lines of templates/lib/e4m3.h]
}
// [5 more lines of templates/lib/e4m3.h]
  return __builtin_amdgcn_perm(bits_of(b), bits_of(a), 0x07060302u); // their lower halves are zero
// [4 more lines of templates/lib/e4m3.h]
#endif
// [20 more lines of tests/golden/mla_dequant/rows.cu]
  const float x = load<float>(scales + 4 * (a.scale_first_column + column >> 7));
  return x == x ? x : not_a_number(); // whose low bits are zero
}
struct operands {
  const char* w[1]; // rows of this lane
  const char* scales[BLOCKS];
  const char* x[GROUPS];
  const char* gain;
};
struct sums_of_wave {
  f32x4 of[BLOCKS][GROUPS];
  float squares[GROUPS];
};
// [5 more lines of templates/lib/projection/mfma.h]
constexpr int VALUES = 16, PARTS = VALUES / 8; // of a load, of 8 values each
typedef u32 codes_of_row __attribute__((ext_vector_type(VALUES / 4)));
// [32 more lines of templates/lib/projection/mfma_fp8.h]
        x[n][g][i / 4][i % 4] = multiply2(pair, weight);
      }
// [19 more lines of templates/lib/projection/mfma_fp8.h]

extern "C" __global__ void __launch_bounds__(THREADS) mlaf_mla_q_b_mfma_fp8_f0df10ae(const mlaf_projection_scaled_args a) {
  __shared__ __attribute__((aligned(16))) float sums[WAYS * TOKENS * PITCH];
  __shared__ float squares[WAYS * TOKENS];
  const int thread = (int)my_thread(), lane = thread % 64, wave = uniform(thread / 64), row = lane % 16, group = lane / 16;
// [3 more lines of tests/golden/lib/projection/stay.hip]
  const int begin = STEPS * wave / WAYS, end = STEPS * (wave + 1) / WAYS;
// [4 more lines of templates/lib/projection/mfma.h]
    o.w[b] = p.w + (output < OUTER ? output : OUTER - 1) * a.w_row + 16 * group;
    o.scales[b] = scales_of(a, p.head, p.first + 16 * b < OUTER ? p.first + 16 * b : OUTER - 1);
  }
  o.gain = a.gain + 32 * group;
  const i64 first = mine.part * (16 * GROUPS);
  for (i64 t0 = first; t0 < a.tokens; t0 += TILE_BLOCKS * 16 * GROUPS) {
#pragma unroll
    for (int g = 0; g < GROUPS; g++) o.x[g] = row_of_x(a, p, t0 + 16 * g + row) + 32 * group;
    sums_of_wave s = {};
    int step = wave < WAYS ? begin : end;
#pragma unroll 1
    for (; step + DEPTH <= end; step += DEPTH) add_steps<DEPTH>(a, o, step, s), loop_ends();
#pragma unroll 1
    for (; step < end; step++) add_steps<1>(a, o, step, s), loop_ends();
#pragma unroll
// [12 more lines of templates/lib/projection/mfma.h]
        const float square = sum_over_groups(s.squares[g], lane);
// [3 more lines of templates/lib/projection/mfma.h]
      finish(a, p, t0 + 16 * from, sums, squares);
    }
  }
}
