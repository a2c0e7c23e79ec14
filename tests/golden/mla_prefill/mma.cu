// Generated from templates/mla_prefill/mma_invariant.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_prefill_mma_invariant_cb385862
// parameters:
//   causal = 1
//   dtype = bf16
//   heads = 16
//   keys = 32
//   nope = 128
//   rope = 64
//   stages = 2
//   vdim = 128
//   warps = 4
// regenerate: lua5.4 gen/cli.lua render mla_prefill/mma_invariant target=sm_90a causal=1 dtype=bf16 heads=16 keys=32 nope=128 rope=64 stages=2 vdim=128 warps=4


#define MLAF_BF16 1
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
// [templates/lib/mma.h]
// [templates/mla_prefill/lib/args.h]
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_prefill_mma_invariant_cb385862_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 68608, {0, 0, 0}, 1, 0, 0, {0, 0}, 0, {}};

constexpr int H = 16, NOPE = 128, QK = 192, V = 128, LANES = 32;
constexpr bool CAUSAL = 1;
constexpr int WARPS = 4, THREADS = 32 * WARPS, ROWS = 16 * WARPS, KEYS = 32, STAGES = 2;
constexpr int PITCH_K = 2 * QK + 16, PITCH_V = 2 * V + 16; // bytes of a row in shared memory
constexpr i64 HEADS_BYTES = 25165824, KEY_BYTES = 2 * (QK + V);
MLAF_DEV int load_length(const int* at) { return *at; }
MLAF_DEV int lanes_true(bool x) { return __popc(__ballot_sync(~0u, x)); }
MLAF_DEV int same_in_all(int x) { return x; }
// [templates/mla_prefill/lib/tiles.h]

constexpr int SLABS_K = (QK + 63) / 64, SLABS_V = (V + 63) / 64, ROWS_AT_ONCE = THREADS / 8;

template <int SLABS>
struct source {
  const char* at[SLABS];
  i64 stride[SLABS];
};

template <int COLUMNS, int PITCH, int SLABS>
MLAF_DEV void copy_rows(const source<SLABS>& s, u32 to, int first, int keys, int thread) {
  const int lane = thread & 7;
#pragma unroll
  for (int r = 0; r < KEYS; r += ROWS_AT_ONCE) {
    const int row = r + (thread >> 3);
    if (KEYS % ROWS_AT_ONCE != 0 && row >= KEYS) break;
    const bool real = first + row < keys;
#pragma unroll
    for (int i = 0; i < SLABS; i++)
      if (COLUMNS % 64 == 0 || 64 * i + 8 * lane < COLUMNS)
        copy16(to + row * PITCH + 128 * i + 16 * lane, s.at[i] + (real ? (i64)(first + row) * s.stride[i] : 0), real);
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
  for (int c = 0; c < QK / 16; c++) {
    u32 a[4];
    load_matrices(a, qa + 32 * c);
#pragma unroll
    for (int n = 0; n < KEYS / 16; n++) {
      u32 b[4];
      load_matrices(b, ka + n * 16 * PITCH_K + 32 * c);
      mma16(s[2 * n], a, b[0], b[1]);
      mma16(s[2 * n + 1], a, b[2], b[3]);
    }
  }
}

struct row_state {
  float top[2], sum[2];
};

template <bool MASKED>
MLAF_DEV void softmax(float (&s)[KEYS / 8][4], u32 (&p)[KEYS / 16][4], float scale, const int (&limit)[2], row_state& row,
                      float (&o)[V / 8][4]) {
  float now[2], offset[2];
#pragma unroll
  for (int h = 0; h < 2; h++) {
    float m = row.top[h];
#pragma unroll
    for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
      for (int e = 0; e < 2; e++) {
        float& x = s[n][2 * h + e];
        if (MASKED) x = 8 * n + e < limit[h] ? x : minus_inf();
        m = fmaxf(m, x);
      }
    m = max_over_lanes<1, 4>(m);
    offset[h] = m == minus_inf() ? 0.0f : m * scale; // nothing seen yet: all weights are 0, not NaN
    now[h] = m == row.top[h] ? 1.0f : exp2_fast(row.top[h] * scale - offset[h]);
    row.top[h] = m;
    float add = 0.0f;
#pragma unroll
    for (int n = 0; n < KEYS / 8; n++) {
      const float p0 = exp2_fast(fmaf(s[n][2 * h], scale, -offset[h])), p1 = exp2_fast(fmaf(s[n][2 * h + 1], scale, -offset[h]));
      add += p0 + p1;
      p[n / 2][2 * (n & 1) + h] = pack2(p0, p1);
    }
    row.sum[h] = row.sum[h] * now[h] + add;
  }
  if (!__any_sync(~0u, now[0] != 1.0f || now[1] != 1.0f)) return; // true for NaN
#pragma unroll
  for (int u = 0; u < V / 8; u++)
#pragma unroll
    for (int e = 0; e < 4; e++) o[u][e] *= now[e >> 1];
}

MLAF_DEV void multiply_pv(const u32 (&p)[KEYS / 16][4], u32 v, int lane, float (&o)[V / 8][4]) {
  const u32 va = v + (lane & 15) * PITCH_V + (lane >> 4) * 16;
#pragma unroll
  for (int t = 0; t < KEYS / 16; t++)
#pragma unroll
    for (int u = 0; u < V / 16; u++) {
      u32 b[4];
      load_matrices_transposed(b, va + t * 16 * PITCH_V + 32 * u);
      mma16(o[2 * u], p[t], b[0], b[1]);
      mma16(o[2 * u + 1], p[t], b[2], b[3]);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) mlaf_mla_prefill_mma_invariant_cb385862(const __grid_constant__ mlaf_prefill_kernel_args a) {
  extern __shared__ __align__(128) char memory[];
  const int thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
  const u32 q_at = shared_address(memory), k_at = q_at + ROWS * PITCH_K, v_at = k_at + STAGES * KEYS * PITCH_K;

  wait_for_previous_launch();
  tile t;
  if (!find_tile(a, blockIdx.x, lane, 0, t)) return;

  source<SLABS_K> from_k;
  source<SLABS_V> from_v;
#pragma unroll
  for (int i = 0; i < SLABS_K; i++) {
    const int column = 64 * i + 8 * (thread & 7);
    const bool own = column < NOPE;
    from_k.stride[i] = own ? a.k_token : a.k_pe_token;
    from_k.at[i] = own ? a.k + t.head * a.k_head + 2 * column : a.k_pe + t.head * a.k_pe_head + 2 * (column - NOPE);
    from_k.at[i] += t.key * from_k.stride[i];
  }
#pragma unroll
  for (int i = 0; i < SLABS_V; i++) {
    from_v.stride[i] = a.v_token;
    from_v.at[i] = a.v + t.head * a.v_head + t.key * a.v_token + 128 * i + 16 * (thread & 7);
  }

  const int most = smaller(seen_by(t, t.rows - 1), t.keys), count = most > 0 ? (most + KEYS - 1) / KEYS : 0;
  const char* const q = a.q + t.row * a.q_token + t.head * a.q_head;
  for (int i = thread; i < ROWS * (QK / 8); i += THREADS) {
    const int r = i / (QK / 8), c = i % (QK / 8);
    const bool real = r < t.rows;
    copy16(q_at + r * PITCH_K + 16 * c, q + (real ? r * a.q_token + 16 * c : 0), real);
  }
  if (count > 0) {
    copy_rows<QK, PITCH_K>(from_k, k_at, 0, t.keys, thread);
    if (STAGES > 1) copy_rows<V, PITCH_V>(from_v, v_at, 0, t.keys, thread);
  }
  end_copy_group();

  const int row0 = 16 * warp + (lane >> 2), column0 = 2 * (lane & 3);
  const int warp_most = smaller(seen_by(t, 16 * warp + 15), t.keys), warp_least = smaller(seen_by(t, 16 * warp), t.keys);
  row_state row = {{minus_inf(), minus_inf()}, {0.0f, 0.0f}};
  float o[V / 8][4] = {};

  for (int i = 0; i < count; i++) {
    const int first = i * KEYS, stage = STAGES > 1 ? i & 1 : 0;
    const u32 k = k_at + stage * KEYS * PITCH_K, v = v_at + stage * KEYS * PITCH_V;
    wait_for_copies<0>();
    __syncthreads(); // round i is there for all, and nobody reads the one before it any more
    if (STAGES == 1) {
      copy_rows<V, PITCH_V>(from_v, v, first, t.keys, thread);
    } else if (i + 1 < count) {
      copy_rows<QK, PITCH_K>(from_k, k_at + (stage ^ 1) * KEYS * PITCH_K, first + KEYS, t.keys, thread);
      copy_rows<V, PITCH_V>(from_v, v_at + (stage ^ 1) * KEYS * PITCH_V, first + KEYS, t.keys, thread);
    }
    end_copy_group();

    const bool works = first < warp_most;
    float s[KEYS / 8][4];
    u32 p[KEYS / 16][4];
    if (works) {
      multiply_qk(q_at + 16 * warp * PITCH_K, k, lane, s);
      const int limit[2] = {smaller(seen_by(t, row0), t.keys) - first - column0,
                            smaller(seen_by(t, row0 + 8), t.keys) - first - column0};
      if (first + KEYS > warp_least) softmax<true>(s, p, a.scale_log2e, limit, row, o);
      else softmax<false>(s, p, a.scale_log2e, limit, row, o);
    }
    if (STAGES == 1) {
      wait_for_copies<0>();
      __syncthreads(); // V is there for all, and nobody reads K any more
      if (i + 1 < count) copy_rows<QK, PITCH_K>(from_k, k, first + KEYS, t.keys, thread);
      end_copy_group();
    }
    if (works) multiply_pv(p, v, lane, o);
  }

  wait_for_copies<0>(); // no copy may outlive its block
  let_next_launch_start();
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int r = row0 + 8 * h;
    float total = sum_over_lanes<1, 4>(row.sum[h]);
    if (r >= t.rows) continue;
    if (t.bad) total = not_a_number();
    const float scale = total == 0.0f ? 0.0f : 1.0f / total;
    if (a.lse && (lane & 3) == 0)
      a.lse[(t.row + r) * a.lse_token + t.head * a.lse_head] = total == 0.0f ? minus_inf()
        : ((row.top[h] == minus_inf() ? 0.0f : row.top[h] * a.scale_log2e) + log2_fast(total)) * LN_2;
    char* const to = a.o + (t.row + r) * a.o_token + t.head * a.o_head + 2 * column0;
#pragma unroll
    for (int u = 0; u < V / 8; u++) *(u32*)(to + 16 * u) = pack2(o[u][2 * h] * scale, o[u][2 * h + 1] * scale);
  }
}
