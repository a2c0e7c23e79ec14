// Generated from templates/mla_prefill/mfma_invariant.hip.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_prefill/mfma_invariant target=gfx942 causal=1 dtype=bf16 heads=16 keys=32 nope=128 rope=64 stages=2 vdim=128 waves=4

#define MLAF_BF16 1
// [3 more lines of tests/golden/mla_decode/combine_wave.hip]
// [templates/mla_prefill/lib/args.h]
// [4 more lines of tests/golden/mla_prefill/mfma_asm.hip]
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_prefill_mfma_invariant_e8fcab9c_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {0, 0, 0}, 0, 0, 0, {0, 0}, 0, {}};

constexpr int H = 16, NOPE = 128, QK = 192, V = 128, LANES = 64, XCDS = 8;
constexpr bool CAUSAL = 1;
constexpr int WAVES = 4, THREADS = 64 * WAVES, ROWS = 32 * WAVES, KEYS = 32, BLOCKS = KEYS / 32, STAGES = 2;
constexpr int V_PADDED = 128; // columns of O in registers; those behind V repeat the last ones, and are not stored
constexpr int PITCH_K = 2 * QK + 16, PITCH_V = 2 * V, STAGE = KEYS * (PITCH_K + PITCH_V); // bytes in LDS
constexpr int WIDE = V_PADDED % 128 == 0 ? 4 : 2, GROUPS = V_PADDED / (32 * WIDE); // of 32 * WIDE columns
constexpr int LAST = V - 32 * WIDE * (GROUPS - 1); // columns of V in the last group
constexpr i64 HEADS_BYTES = 0, KEY_BYTES = 1;
constexpr float LEAST = -3.402823466e38f; // of maxima: no inf - inf arises
// [3 more lines of templates/mla_prefill/mfma.hip.in]
// [templates/mla_prefill/lib/tiles.h]

typedef float f32x16 __attribute__((ext_vector_type(16)));
// [8 more lines of tests/golden/mla_gather_kv_b/mfma.hip]

constexpr int ROW_CHUNKS = (QK + V) / 8, CHUNKS = KEYS * ROW_CHUNKS, COPIES = (CHUNKS + THREADS - 1) / THREADS;

struct source {
// [8 more lines of templates/mla_prefill/mfma.hip.in]
  gptr at = c < NOPE / 8 ? s.k + key * s.k_token + 16 * c
          : c < QK / 8 ? s.k_pe + key * s.k_pe_token + 16 * (c - NOPE / 8) : s.v + key * s.v_token + 16 * (c - QK / 8);
  return *(const MLAF_GLOBAL u32x4*)at;
// [14 more lines of templates/mla_prefill/mfma.hip.in]
    char* const to = lds + (c < QK / 8 ? row * PITCH_K + 16 * c : KEYS * PITCH_K + row * PITCH_V + 16 * (c - QK / 8));
    if (CHUNKS % THREADS == 0 || i < CHUNKS) *(u32x4*)to = x[k];
// [4 more lines of templates/mla_prefill/mfma.hip.in]

MLAF_DEV void multiply_qk(const char* k, const u32x4 (&q)[QK / 16], int lane, f32x16 (&s)[BLOCKS]) {
  const char* const at = k + (lane & 31) * PITCH_K + 16 * (lane >> 5);
// [3 more lines of templates/mla_prefill/mfma.hip.in]
  for (int f = 0; f < QK / 16; f++)
#pragma unroll
// [8 more lines of templates/mla_prefill/mfma.hip.in]
  u32x2 x[4];
// [8 more lines of templates/mla_prefill/mfma.hip.in]

MLAF_DEV void multiply_pv(const char* v, const u32x2 (&p)[BLOCKS][4], int lane, o_blocks& o) {
  const char* const at = v + 4 * (lane >> 5) * PITCH_V + 2 * WIDE * (lane & 31);
  const char* const last = V < V_PADDED ? v + 4 * (lane >> 5) * PITCH_V + 2 * WIDE * smaller(lane & 31, LAST / WIDE - 1) : at;
#pragma unroll
  for (int b = 0; b < BLOCKS; b++)
#pragma unroll
    for (int m = 0; m < 4; m++)
#pragma unroll
      for (int j = 0; j < GROUPS; j++) {
        u32x2 x[WIDE];
        join_keys((j < GROUPS - 1 ? at : last) + (32 * b + 8 * m) * PITCH_V + 64 * WIDE * j, x);
#pragma unroll
// [7 more lines of templates/mla_prefill/mfma.hip.in]

MLAF_DEV void softmax(f32x16 (&s)[BLOCKS], u32x2 (&p)[BLOCKS][4], float scale, int limit, bool masked, int lane, row_state& row,
                      o_blocks& o) {
// [12 more lines of templates/mla_prefill/mfma.hip.in]
  const float offset = m == LEAST ? 0.0f : m * scale;
  const bool grew = any_lane(m > row.top);
  const float now = m == row.top ? 1.0f : row.top == LEAST ? 0.0f : exp2_fast(row.top * scale - offset);
  row.top = m;
// [9 more lines of templates/mla_prefill/mfma.hip.in]
      p[b][k] = u32x2{pack2(x[0], x[1]), pack2(x[2], x[3])};
// [8 more lines of templates/mla_prefill/mfma.hip.in]

MLAF_DEV void finish(const mlaf_prefill_kernel_args& a, const tile& t, int row_at, int lane, row_state row, o_blocks& o) {
  const int r = row_at + (lane & 31), g = lane >> 5;
// [3 more lines of templates/mla_prefill/mfma.hip.in]
  const float scale = total == 0.0f ? 0.0f : 1.0f / total;
  if (a.lse && g == 0) {
    const float lse = ((row.top == LEAST ? 0.0f : row.top * a.scale_log2e) + log2_fast(total)) * LN_2;
    ((MLAF_GLOBAL float*)(u64)a.lse)[(t.row + r) * a.lse_token + t.head * a.lse_head] = total == 0.0f ? minus_inf() : lse;
// [18 more lines of templates/mla_prefill/mfma.hip.in]

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(256, 256),
                                     amdgpu_waves_per_eu(2, 2))) void
mlaf_mla_prefill_mfma_invariant_e8fcab9c(mlaf_prefill_kernel_args a) {
  __shared__ __attribute__((aligned(16))) char lds[41984];
  const int thread = thread_id(), lane = thread & 63, wave = uniform(thread >> 6), row_at = 32 * wave;
// [6 more lines of templates/mla_prefill/mfma.hip.in]
  u32x4 q[QK / 16];
  {
// [3 more lines of templates/mla_prefill/mfma.hip.in]
    for (int f = 0; f < QK / 16; f++) q[f] = *(const MLAF_GLOBAL u32x4*)(at + 32 * f);
// [18 more lines of templates/mla_prefill/mfma.hip.in]
        u32x2 p[BLOCKS][4];
        multiply_qk(now, q, lane, x);
        softmax(x, p, a.scale_log2e, seen - first, first + KEYS > wave_least, lane, row, o);
        multiply_pv(now + KEYS * PITCH_K, p, lane, o);
// [7 more lines of templates/mla_prefill/mfma.hip.in]
  finish(a, t, row_at, lane, row, o);
}
