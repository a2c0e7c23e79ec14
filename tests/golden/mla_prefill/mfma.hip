// Generated from templates/mla_prefill/mfma_invariant.hip.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_mla_prefill_mfma_invariant_e8fcab9c
// parameters:
//   causal = 1
//   dtype = bf16
//   heads = 16
//   keys = 32
//   nope = 128
//   rope = 64
//   stages = 2
//   vdim = 128
//   waves = 4
// regenerate: lua5.4 gen/cli.lua render mla_prefill/mfma_invariant target=gfx942 causal=1 dtype=bf16 heads=16 keys=32 nope=128 rope=64 stages=2 vdim=128 waves=4


#define MLAF_BF16 1
#define MLAF_CVT_BF16 0
// [7 more lines of tests/golden/mla_prefill/mfma_asm.hip]
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_prefill_mfma_invariant_e8fcab9c_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {0, 0, 0}, 0, 0, 0, {0, 0}, 0, {}};

constexpr int H = 16, NOPE = 128, QK = 192, V = 128, LANES = 64, XCDS = 8;
constexpr bool CAUSAL = 1;
constexpr int WAVES = 4, THREADS = 64 * WAVES, ROWS = 32 * WAVES, KEYS = 32, BLOCKS = KEYS / 32, STAGES = 2;
constexpr int V_PADDED = 128; // columns of O in registers; those behind V repeat the last ones, and are not stored
constexpr int PITCH_K = 2 * QK + 16, PITCH_V = 2 * V, STAGE = KEYS * (PITCH_K + PITCH_V); // bytes in LDS
// [7 more lines of templates/mla_prefill/mfma.hip.in]
// [templates/mla_prefill/lib/tiles.h]

typedef float f32x16 __attribute__((ext_vector_type(16)));
// [68 more lines of templates/mla_prefill/mfma.hip.in]

MLAF_DEV void multiply_pv(const char* v, const u32x2 (&p)[BLOCKS][4], int lane, o_blocks& o) {
// [36 more lines of templates/mla_prefill/mfma.hip.in]
  row.top = m;
// [46 more lines of templates/mla_prefill/mfma.hip.in]

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(256, 256),
                                     amdgpu_waves_per_eu(2, 2))) void
mlaf_mla_prefill_mfma_invariant_e8fcab9c(mlaf_prefill_kernel_args a) {
  __shared__ __attribute__((aligned(16))) char lds[41984];
  const int thread = thread_id(), lane = thread & 63, wave = uniform(thread >> 6), row_at = 32 * wave;
// [43 more lines of templates/mla_prefill/mfma.hip.in]
