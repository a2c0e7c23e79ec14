// Generated from templates/mla_prefill/mfma_fp8.hip.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_mla_prefill_mfma_fp8_21be5145
// parameters:
//   causal = 1
//   dtype = bf16
//   heads = 16
//   inputs = 2
//   keys = 32
//   nope = 128
//   rope = 64
//   stages = 1
//   vdim = 128
//   waves = 2
// regenerate: lua5.4 gen/cli.lua render mla_prefill/mfma_fp8 target=gfx942 causal=1 dtype=bf16 heads=16 inputs=2 keys=32 nope=128 rope=64 stages=1 vdim=128 waves=2


#define MLAF_BF16 1
#define MLAF_CVT_BF16 0
// [templates/lib/wave.h]
// [templates/lib/number.h]
// [templates/mla_prefill/lib/args.h]
// [templates/mla_prefill/lib/args_fp8.h]
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_prefill_mfma_fp8_21be5145_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {0, 0, 0}, 16, 0, 0, {0, 0}, 0, {}};

constexpr int H = 16, NOPE = 128, COLUMNS = 192, QK = 192, V = 128, LANES = 64, XCDS = 8;
constexpr bool CAUSAL = 1;
constexpr int WAVES = 2, THREADS = 64 * WAVES, ROWS = 32 * WAVES, KEYS = 32, BLOCKS = KEYS / 32, STAGES = 1;
constexpr int V_PADDED = 128; // columns of O in registers; those behind V repeat the last ones, and are not stored
constexpr int PITCH_K = QK + 16, PITCH_V = V, STAGE = KEYS * (PITCH_K + PITCH_V); // bytes in LDS
constexpr int WIDE = V_PADDED % 128 == 0 ? 4 : 2, GROUPS = V_PADDED / (32 * WIDE); // of 32 * WIDE columns
constexpr int LAST = V - 32 * WIDE * (GROUPS - 1); // columns of V in the last group
constexpr i64 HEADS_BYTES = 0, KEY_BYTES = 1;
constexpr float UP = 7.0f; // weights are at most 128, of 240
constexpr float LEAST = -3.402823466e38f; // of maxima: no inf - inf arises
MLAF_DEV int load_length(const int* at) { return *(const MLAF_GLOBAL int*)(u64)at; }
MLAF_DEV int lanes_true(bool x) { return __builtin_popcountll(__builtin_amdgcn_ballot_w64(x)); }
MLAF_DEV int same_in_all(int x) { return uniform(x); }
// [templates/mla_prefill/lib/tiles.h]

typedef float f32x16 __attribute__((ext_vector_type(16)));

MLAF_DEV f32x16 mfma32x32(u32x2 a, u32x2 b, f32x16 c) {
  return __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(__builtin_bit_cast(long, a), __builtin_bit_cast(long, b), c, 0, 0, 0);
}
MLAF_DEV u32 pack4(float x0, float x1, float x2, float x3) {
  return __builtin_amdgcn_cvt_pk_fp8_f32(x2, x3, __builtin_amdgcn_cvt_pk_fp8_f32(x0, x1, 0, false), true);
}

constexpr int ROW_CHUNKS = (QK + V) / 16, CHUNKS = KEYS * ROW_CHUNKS, COPIES = (CHUNKS + THREADS - 1) / THREADS;

struct source {
  gptr k, k_pe, v; // of the request's first key
  i64 k_token, k_pe_token, v_token;
  int last; // key that there is
};

MLAF_DEV u32x4 load_chunk(const source& s, int first, int i) {
  const int row = i / ROW_CHUNKS, c = i % ROW_CHUNKS;
  const i64 key = smaller(first + row, s.last);
  if (COLUMNS < QK && c == COLUMNS / 16) return u32x4{};
  gptr at = c < NOPE / 16 ? s.k + key * s.k_token + 16 * c
          : c < QK / 16 ? s.k_pe + key * s.k_pe_token + 16 * (c - NOPE / 16) : s.v + key * s.v_token + 16 * (c - QK / 16);
  return *(const MLAF_GLOBAL u32x4*)at;
}

MLAF_DEV void load_round(const source& s, int first, int thread, u32x4 (&x)[COPIES]) {
#pragma unroll
  for (int k = 0; k < COPIES; k++) {
    const int i = thread + k * THREADS;
    if (CHUNKS % THREADS == 0 || i < CHUNKS) x[k] = load_chunk(s, first, i);
  }
}

MLAF_DEV void store_round(char* lds, int thread, const u32x4 (&x)[COPIES]) {
#pragma unroll
  for (int k = 0; k < COPIES; k++) {
    const int i = thread + k * THREADS, row = i / ROW_CHUNKS, c = i % ROW_CHUNKS;
    char* const to = lds + (c < QK / 16 ? row * PITCH_K + 16 * c : KEYS * PITCH_K + row * PITCH_V + 16 * (c - QK / 16));
    if (CHUNKS % THREADS == 0 || i < CHUNKS) *(u32x4*)to = x[k];
  }
}

typedef f32x16 o_blocks[GROUPS][WIDE];

MLAF_DEV void multiply_qk(const char* k, const u32x4 (&q)[QK / 32], int lane, f32x16 (&s)[BLOCKS]) {
  const char* const at = k + (lane & 31) * PITCH_K + 16 * (lane >> 5);
#pragma unroll
  for (int b = 0; b < BLOCKS; b++) s[b] = f32x16{};
#pragma unroll
  for (int f = 0; f < QK / 32; f++)
#pragma unroll
    for (int b = 0; b < BLOCKS; b++) {
      const u32x4 x = *(const u32x4*)(at + b * 32 * PITCH_K + 32 * f);
      s[b] = mfma32x32(x.xy, q[f].xy, s[b]);
      s[b] = mfma32x32(x.zw, q[f].zw, s[b]);
    }
}

MLAF_DEV void join_keys(const char* at, u32x2 (&a)[WIDE]) {
#pragma unroll
  for (int half = 0; half < 2; half++) {
    u32 x[4];
#pragma unroll
    for (int e = 0; e < 4; e++) x[e] = *(const u32*)(at + (8 * half + e) * PITCH_V);
    const u32 low[2] = {__builtin_amdgcn_perm(x[1], x[0], 0x05010400u), __builtin_amdgcn_perm(x[3], x[2], 0x05010400u)};
    const u32 high[2] = {__builtin_amdgcn_perm(x[1], x[0], 0x07030602u), __builtin_amdgcn_perm(x[3], x[2], 0x07030602u)};
    a[0][half] = join_lo(low[0], low[1]), a[1][half] = join_hi(low[0], low[1]);
    a[2][half] = join_lo(high[0], high[1]), a[3][half] = join_hi(high[0], high[1]);
  }
}

MLAF_DEV void multiply_pv(const char* v, const u32x2 (&p)[BLOCKS][2], int lane, o_blocks& o) {
  const char* const at = v + 4 * (lane >> 5) * PITCH_V + WIDE * (lane & 31);
  const char* const last = V < V_PADDED ? v + 4 * (lane >> 5) * PITCH_V + WIDE * smaller(lane & 31, LAST / WIDE - 1) : at;
#pragma unroll
  for (int b = 0; b < BLOCKS; b++)
#pragma unroll
    for (int n = 0; n < 2; n++)
#pragma unroll
      for (int j = 0; j < GROUPS; j++) {
        u32x2 x[WIDE];
        join_keys((j < GROUPS - 1 ? at : last) + (32 * b + 16 * n) * PITCH_V + 32 * WIDE * j, x);
#pragma unroll
        for (int c = 0; c < WIDE; c++) o[j][c] = mfma32x32(x[c], p[b][n], o[j][c]);
      }
}

struct row_state {
  float top, sum;
};

MLAF_DEV void softmax(f32x16 (&s)[BLOCKS], u32x2 (&p)[BLOCKS][2], float scale, int limit, bool masked, int lane, row_state& row,
                      o_blocks& o) {
  if (masked) {
#pragma unroll
    for (int b = 0; b < BLOCKS; b++)
#pragma unroll
      for (int r = 0; r < 16; r++) s[b][r] = 32 * b + 8 * (r / 4) + r % 4 < limit ? s[b][r] : minus_inf();
  }
  float m = row.top;
#pragma unroll
  for (int b = 0; b < BLOCKS; b++)
#pragma unroll
    for (int r = 0; r < 16; r++) m = __builtin_fmaxf(m, s[b][r]);
  m = __builtin_fmaxf(m, lane_xor(m, lane, 32));
  const float offset = m == LEAST ? 0.0f : m * scale - UP;
  const bool grew = any_lane(m > row.top);
  const float now = row.top == LEAST ? 0.0f : exp2_fast(row.top * scale - UP - offset); // what the past is worth now
  row.top = m;
  float add = 0.0f;
#pragma unroll
  for (int b = 0; b < BLOCKS; b++)
#pragma unroll
    for (int k = 0; k < 4; k++) {
      float x[4];
#pragma unroll
      for (int e = 0; e < 4; e++) x[e] = exp2_fast(__builtin_fmaf(s[b][4 * k + e], scale, -offset));
      add += (x[0] + x[1]) + (x[2] + x[3]);
      p[b][k / 2][k % 2] = pack4(x[0], x[1], x[2], x[3]);
    }
  row.sum = (grew ? row.sum * now : row.sum) + add;
  if (!grew) return;
#pragma unroll
  for (int j = 0; j < GROUPS; j++)
#pragma unroll
    for (int c = 0; c < WIDE; c++) o[j][c] *= now;
}

MLAF_DEV void finish(const mlaf_prefill_kernel_args& a, const tile& t, int row_at, int lane, float score_scale, float v_scale,
                     row_state row, o_blocks& o) {
  const int r = row_at + (lane & 31), g = lane >> 5;
  float total = row.sum + lane_xor(row.sum, lane, 32);
  if (r >= t.rows) return;
  if (t.bad) total = __builtin_nanf("");
  const float scale = total == 0.0f ? 0.0f : v_scale * (1.0f / total);
  if (a.lse && g == 0) {
    const float lse = ((row.top == LEAST ? 0.0f : row.top * score_scale - UP) + log2_fast(total)) * LN_2;
    ((MLAF_GLOBAL float*)(u64)a.lse)[(t.row + r) * a.lse_token + t.head * a.lse_head] = total == 0.0f ? minus_inf() : lse;
  }
  MLAF_GLOBAL char* const to = (MLAF_GLOBAL char*)(u64)a.o + (t.row + r) * a.o_token + t.head * a.o_head;
  constexpr int TOGETHER = 8 / WIDE; // registers that make 8 columns
#pragma unroll
  for (int j = 0; j < GROUPS; j++)
#pragma unroll
    for (int k = 0; k < 16; k += TOGETHER) {
      const int column = 32 * WIDE * j + WIDE * (8 * (k / 4) + 4 * g + k % 4);
      if (V < V_PADDED && column >= V) continue;
      u32 w[4];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const int e = 2 * i; // of the eight
        w[i] = pack2(o[j][e % WIDE][k + e / WIDE] * scale, o[j][(e + 1) % WIDE][k + (e + 1) / WIDE] * scale);
      }
      *(MLAF_GLOBAL u32x4*)(to + 2 * column) = u32x4{w[0], w[1], w[2], w[3]};
    }
}

MLAF_DEV float scale_at(const float* at) {
  if (!at) return 1.0f;
  const float x = *(const MLAF_GLOBAL float*)(u64)at;
  return x >= 0.0f ? x : float_of(0x7fc00000u);
}
MLAF_DEV float score_scale(float scale_log2e, const float* q_scale, const float* k_scale) {
  const float scale = scale_log2e * scale_at(q_scale) * scale_at(k_scale), least = float_of(0x00800000u);
  return scale < least ? least : scale;
}

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(128, 128),
                                     amdgpu_waves_per_eu(2, 2))) void
mlaf_mla_prefill_mfma_fp8_21be5145(mlaf_prefill_scaled_args scaled) {
  const mlaf_prefill_kernel_args& a = scaled.all;
  __shared__ __attribute__((aligned(16))) char lds[10752];
  const int thread = thread_id(), lane = thread & 63, wave = uniform(thread >> 6), row_at = 32 * wave;
  tile t;
  if (!find_tile(a, (u32)group_x(), lane, smaller(XCDS, H), t)) return;

  const int most = uniform(smaller(seen_by(t, t.rows - 1), t.keys)), count = most > 0 ? (most + KEYS - 1) / KEYS : 0;
  const int wave_most = smaller(seen_by(t, row_at + 31), t.keys), wave_least = smaller(seen_by(t, row_at), t.keys);
  const int seen = smaller(seen_by(t, row_at + (lane & 31)), t.keys) - 4 * (lane >> 5);
  u32x4 q[QK / 32];
  {
    const int r = smaller(row_at + (lane & 31), t.rows - 1);
    gptr at = global(a.q) + (t.row + r) * a.q_token + t.head * a.q_head + 16 * (lane >> 5);
#pragma unroll
    for (int f = 0; f < QK / 32; f++) {
      const bool real = COLUMNS == QK || 32 * f + 16 * (lane >> 5) < COLUMNS;
      q[f] = real ? *(const MLAF_GLOBAL u32x4*)(at + 32 * f) : u32x4{};
    }
  }
  const float scale = score_scale(a.scale_log2e, scaled.q_scale, scaled.k_scale);
  row_state row = {LEAST, 0.0f};
  o_blocks o = {};
  if (count > 0) {
    const source s = {global(a.k) + t.key * a.k_token + t.head * a.k_head,
                      global(a.k_pe) + t.key * a.k_pe_token + t.head * a.k_pe_head,
                      global(a.v) + t.key * a.v_token + t.head * a.v_head, a.k_token, a.k_pe_token, a.v_token, t.keys - 1};
    u32x4 next[COPIES];
    load_round(s, 0, thread, next);
    store_round(lds, thread, next);
    load_round(s, KEYS, thread, next); // behind the last key: the last one again
    __syncthreads();
#pragma nounroll
    for (int i = 0; i < count; i++) {
      const int first = i * KEYS;
      char* const now = lds + (STAGES > 1 ? (i & 1) * STAGE : 0);
      if (first < wave_most) {
        f32x16 x[BLOCKS];
        u32x2 p[BLOCKS][2];
        multiply_qk(now, q, lane, x);
        softmax(x, p, scale, seen - first, first + KEYS > wave_least, lane, row, o);
        multiply_pv(now + KEYS * PITCH_K, p, lane, o);
      }
      if (STAGES == 1) __syncthreads(); // nobody reads this round any more
      store_round(STAGES > 1 ? lds + (~i & 1) * STAGE : lds, thread, next);
      load_round(s, first + 2 * KEYS, thread, next);
      __syncthreads();
    }
  }
  finish(a, t, row_at, lane, scale, scale_at(scaled.v_scale), row, o);
}
