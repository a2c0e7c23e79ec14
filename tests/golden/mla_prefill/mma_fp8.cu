// Generated from templates/mla_prefill/mma_fp8.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_prefill_mma_fp8_db71ec8f
// parameters:
//   causal = 1
//   dtype = bf16
//   heads = 8
//   inputs = 1
//   keys = 32
//   nope = 192
//   rope = 64
//   vdim = 256
//   warps = 8
// regenerate: lua5.4 gen/cli.lua render mla_prefill/mma_fp8 target=sm_90a causal=1 dtype=bf16 heads=8 inputs=1 keys=32 nope=192 rope=64 vdim=256 warps=8


#define MLAF_BF16 1
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
// [templates/lib/mma.h]
// [templates/mla_prefill/lib/args.h]
// [templates/mla_prefill/lib/args_fp8.h]
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_prefill_mma_fp8_db71ec8f_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 52224, {0, 0, 0}, 17, 0, 0, {0, 0}, 0, {}};

constexpr int H = 8, NOPE = 192, COLUMNS = 256, QK = 256, V = 256, LANES = 32;
constexpr bool CAUSAL = 1;
constexpr int WARPS = 8, THREADS = 32 * WARPS, PARTS = 2, ROWS = 16 * WARPS / PARTS, KEYS = 32;
constexpr int PART = 128; // columns of O that a warp makes; those behind V are not stored
constexpr int PITCH_K = QK + 16, PITCH_V = 272; // bytes of a row in shared memory: an odd number of 16
constexpr i64 HEADS_BYTES = 25165824, KEY_BYTES = QK + V;
constexpr float UP = 8.0f; // weights are at most 256, of 448
MLAF_DEV int load_length(const int* at) { return *at; }
MLAF_DEV int lanes_true(bool x) { return __popc(__ballot_sync(~0u, x)); }
MLAF_DEV int same_in_all(int x) { return x; }
// [templates/mla_prefill/lib/tiles.h]

MLAF_DEV u32 pack4(float x0, float x1, float x2, float x3) {
  unsigned short lo, hi;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(lo) : "f"(x1), "f"(x0));
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(hi) : "f"(x3), "f"(x2));
  return lo | (u32)hi << 16;
}

MLAF_DEV void mma32(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

struct source {
  const char *k, *k_pe, *v; // of the request's first key
  i64 k_token, k_pe_token, v_token;
};

MLAF_DEV void copy_round(const source& s, u32 k, u32 v, int first, int keys, int thread) {
#pragma unroll 1
  for (int i = thread; i < KEYS * (QK / 16); i += THREADS) {
    const int row = i / (QK / 16), c = 16 * (i % (QK / 16));
    const i64 key = first + row < keys ? first + row : 0;
    const char* const from = c < NOPE ? s.k + key * s.k_token + c : s.k_pe + key * s.k_pe_token + (c - NOPE);
    const bool real = first + row < keys && c < COLUMNS;
    copy16(k + row * PITCH_K + c, real ? from : s.k, real);
  }
#pragma unroll 1
  for (int i = thread; i < KEYS * (V / 16); i += THREADS) {
    const int row = i / (V / 16), c = 16 * (i % (V / 16));
    const bool real = first + row < keys;
    copy16(v + row * PITCH_V + c, s.v + (real ? (i64)(first + row) * s.v_token + c : 0), real);
  }
}

MLAF_DEV void multiply_qk(u32 q, u32 k, int lane, float (&s)[KEYS / 8][4]) {
  const u32 qa = q + (lane & 15) * PITCH_K + (lane >> 4) * 16;
  const u32 ka = k + ((lane & 7) + (lane >> 4) * 8) * PITCH_K + (lane >> 3 & 1) * 16;
#pragma unroll
  for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
    for (int e = 0; e < 4; e++) s[n][e] = 0.0f;
#pragma unroll
  for (int c = 0; c < QK / 32; c++) {
    u32 a[4];
    load_matrices(a, qa + 32 * c);
#pragma unroll
    for (int n = 0; n < KEYS / 16; n++) {
      u32 b[4];
      load_matrices(b, ka + n * 16 * PITCH_K + 32 * c);
      mma32(s[2 * n], a, b[0], b[1]);
      mma32(s[2 * n + 1], a, b[2], b[3]);
    }
  }
}

struct row_state {
  float top[2], sum[2];
};

MLAF_DEV void softmax(float (&s)[KEYS / 8][4], u32 (&p)[KEYS / 32][4], float scale, const int (&limit)[2], bool masked,
                      row_state& row, float (&o)[PART / 8][4]) {
  if (masked) {
#pragma unroll
    for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
      for (int e = 0; e < 4; e++) s[n][e] = 8 * n + (e & 1) < limit[e >> 1] ? s[n][e] : minus_inf();
  }
  float now[2], offset[2];
#pragma unroll
  for (int h = 0; h < 2; h++) {
    float m = row.top[h];
#pragma unroll
    for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
      for (int e = 0; e < 2; e++) m = fmaxf(m, s[n][2 * h + e]);
    m = max_over_lanes<1, 4>(m);
    offset[h] = m == minus_inf() ? 0.0f : m * scale - UP; // nothing seen yet: all weights are 0, not NaN
    now[h] = exp2_fast(row.top[h] * scale - UP - offset[h]); // what the past is worth now
    row.top[h] = m;
    float add = 0.0f;
#pragma unroll
    for (int n = 0; n < KEYS / 8; n += 2) {
      float x[4];
#pragma unroll
      for (int e = 0; e < 4; e++) x[e] = exp2_fast(fmaf(s[n + e / 2][2 * h + e % 2], scale, -offset[h]));
      add += (x[0] + x[1]) + (x[2] + x[3]);
      p[n / 4][(n & 2) + h] = pack4(x[0], x[1], x[2], x[3]);
    }
    row.sum[h] = row.sum[h] * now[h] + add;
  }
  if (!__any_sync(~0u, now[0] != 1.0f || now[1] != 1.0f)) return; // true for NaN
#pragma unroll
  for (int u = 0; u < PART / 8; u++)
#pragma unroll
    for (int e = 0; e < 4; e++) o[u][e] *= now[e >> 1];
}

MLAF_DEV void multiply_pv(const u32 (&p)[KEYS / 32][4], u32 v, int lane, float (&o)[PART / 8][4]) {
  const u32 va = v + lane * PITCH_V;
#pragma unroll
  for (int u = 0; u < PART / 16; u++) {
    float even[4] = {}, odd[4] = {};
#pragma unroll
    for (int t = 0; t < KEYS / 32; t++) {
      u32 x[4];
      load_matrices_transposed(x, va + t * 32 * PITCH_V + 16 * u);
      mma32(even, p[t], __byte_perm(x[0], x[1], 0x6420), __byte_perm(x[2], x[3], 0x6420));
      mma32(odd, p[t], __byte_perm(x[0], x[1], 0x7531), __byte_perm(x[2], x[3], 0x7531));
    }
#pragma unroll
    for (int e = 0; e < 4; e++) o[2 * u][e] += even[e], o[2 * u + 1][e] += odd[e];
    if (u % 4 == 3) __syncwarp(); // no more at a time: sums wait for products in registers
  }
}

MLAF_DEV float scale_at(const float* at) {
  if (!at) return 1.0f;
  const float x = *at;
  return x >= 0.0f ? x : float_of(0x7fc00000u);
}
MLAF_DEV float score_scale(float scale_log2e, const float* q_scale, const float* k_scale) {
  const float scale = scale_log2e * scale_at(q_scale) * scale_at(k_scale), least = float_of(0x00800000u);
  return scale < least ? least : scale;
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) mlaf_mla_prefill_mma_fp8_db71ec8f(const __grid_constant__ mlaf_prefill_scaled_args scaled) {
  extern __shared__ __align__(128) char memory[];
  const mlaf_prefill_kernel_args& a = scaled.all;
  const int thread = threadIdx.x, lane = thread & 31, warp = (thread >> 5) % (WARPS / PARTS);
  const int part = PART * ((thread >> 5) / (WARPS / PARTS)); // its first column of V
  const u32 q_at = shared_address(memory), k_at = q_at + ROWS * PITCH_K, v_at = k_at + 2 * KEYS * PITCH_K;

  wait_for_previous_launch();
  tile t;
  if (!find_tile(a, blockIdx.x, lane, 0, t)) return;
  const float scale = score_scale(a.scale_log2e, scaled.q_scale, scaled.k_scale);
  const source from = {a.k + t.key * a.k_token + t.head * a.k_head, a.k_pe + t.key * a.k_pe_token + t.head * a.k_pe_head,
                       a.v + t.key * a.v_token + t.head * a.v_head, a.k_token, a.k_pe_token, a.v_token};

  const int most = smaller(seen_by(t, t.rows - 1), t.keys), count = most > 0 ? (most + KEYS - 1) / KEYS : 0;
  const char* const q = a.q + t.row * a.q_token + t.head * a.q_head;
#pragma unroll 1
  for (int i = thread; i < ROWS * (QK / 16); i += THREADS) {
    const int r = i / (QK / 16), c = 16 * (i % (QK / 16));
    const bool real = r < t.rows && c < COLUMNS;
    copy16(q_at + r * PITCH_K + c, q + (real ? r * a.q_token + c : 0), real);
  }
  if (count > 0) copy_round(from, k_at, v_at, 0, t.keys, thread);
  end_copy_group();

  const int row0 = 16 * warp + (lane >> 2);
  const int warp_most = smaller(seen_by(t, 16 * warp + 15), t.keys), warp_least = smaller(seen_by(t, 16 * warp), t.keys);
  row_state row = {{minus_inf(), minus_inf()}, {0.0f, 0.0f}};
  float o[PART / 8][4] = {};

  for (int i = 0; i < count; i++) {
    const int first = i * KEYS, stage = i & 1, column0 = 2 * (lane & 3);
    const u32 k = k_at + stage * KEYS * PITCH_K, v = v_at + stage * KEYS * PITCH_V;
    wait_for_copies<0>();
    __syncthreads(); // round i is there for all, and nobody reads the one before it any more
    if (i + 1 < count)
      copy_round(from, k_at + (stage ^ 1) * KEYS * PITCH_K, v_at + (stage ^ 1) * KEYS * PITCH_V, first + KEYS, t.keys, thread);
    end_copy_group();
    if (first >= warp_most) continue;
    float s[KEYS / 8][4];
    u32 p[KEYS / 32][4];
    multiply_qk(q_at + 16 * warp * PITCH_K, k, lane, s);
    const int limit[2] = {smaller(seen_by(t, row0), t.keys) - first - column0,
                          smaller(seen_by(t, row0 + 8), t.keys) - first - column0};
    softmax(s, p, scale, limit, first + KEYS > warp_least, row, o);
    multiply_pv(p, v + part, lane, o);
  }

  wait_for_copies<0>(); // no copy may outlive its block
  let_next_launch_start();
  const float v_scale = scale_at(scaled.v_scale);
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int r = row0 + 8 * h;
    float total = sum_over_lanes<1, 4>(row.sum[h]);
    if (r >= t.rows) continue;
    if (t.bad) total = not_a_number();
    const float last = total == 0.0f ? 0.0f : v_scale * (1.0f / total);
    if (a.lse && part == 0 && (lane & 3) == 0)
      a.lse[(t.row + r) * a.lse_token + t.head * a.lse_head] = total == 0.0f ? minus_inf()
        : ((row.top[h] == minus_inf() ? 0.0f : row.top[h] * scale - UP) + log2_fast(total)) * LN_2;
    char* const to = a.o + (t.row + r) * a.o_token + t.head * a.o_head + 2 * part + 8 * (lane & 3);
#pragma unroll
    for (int u = 0; u < PART / 16; u++) {
      if (PART * PARTS > V && part + 16 * u >= V) break;
      const float *const even = o[2 * u] + 2 * h, *const odd = o[2 * u + 1] + 2 * h;
      *(uint2*)(to + 32 * u) = make_uint2(pack2(even[0] * last, odd[0] * last), pack2(even[1] * last, odd[1] * last));
    }
  }
}
