//@ -- Handed over: of a thread's columns of O in a block of 16 the first (`column`), and how far the second is behind it
//@ -- (`apart`); the member of row_state that has the sum of the weights that O was made with (`weight`); lists: sinks may come
//@ -- with them (mla_decode/lib/list_sink.h).
//@ needs("COLS", "ENDS_AT", "FACTOR_AT", "LAND_AT", "LN_2", "N", "NV", "R", "STATE_AT", "W", "WARPS_AT")
// ---- The end of a piece -----------------------------------------------------------------------------------------------
// Adds up the row states of all warps: (m, sum, weight, 0) of row n goes to every block of the cluster, at [C * n + cta_id] from
// STATE_AT. Behind it nobody in this block reads Q, P or the piece's tiles.
template <int C>
MLAF_DEV void merge_states(char* base, u32 smem, int group, int cta_id, row_state& r) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4;
  float4* const parts = (float4*)(base + WARPS_AT);
  named_sync(1 + group, 128); // of its P
#pragma unroll
  for (int c = 0; c < COLS; c++) {
    const float sum = sum_over_lanes<4, 32>(r.sum[c]), weight = sum_over_lanes<4, 32>(r.${weight}[c]);
    if (lane < 4) parts[(8 * group + warp) * N + 8 * (c / 2) + 2 * lane + c % 2] = make_float4(r.m[c], sum, weight, 0.0f);
  }
  named_sync(3, 128 * W);
  if (C > 1) cluster_wait();
  for (int i = threadIdx.x; i < N * C; i += 128 * W) {
    const int n = i % N;
    float4 all = make_float4(fmaxf(parts[n].x, parts[(W - 1) * 8 * N + n].x), 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int k = 0; k < 4 * W; k++) {
      const float4 one = parts[(k / 4 * 8 + k % 4) * N + n];
      const float factor = exp2_fast(one.x - all.x);
      all.y += one.y * factor;
      all.z += one.z * factor;
    }
    const int at = STATE_AT + 16 * (C * n + cta_id);
    if (C == 1) *(float4*)(base + at) = all;
    else cluster_send(cluster_address(smem + at, i / N), all, cluster_address(smem + ENDS_AT, i / N));
  }
}

// The weight of each block's O in row n, from the states of all blocks of the cluster, to [C * n + k] from FACTOR_AT; and
// the LSE.
template <int C>
MLAF_DEV void weigh(const mlaf_decode_args& a, const work& w, char* base, int cta_id) {
  for (int n = threadIdx.x; n < w.rows; n += 128 * W) {
    const float4* const state = (const float4*)(base + STATE_AT) + C * n;
    float* const factor = (float*)(base + FACTOR_AT) + C * n;
    float m = state[0].x, sum = 0.0f, weight = 0.0f, part[C];
#pragma unroll
    for (int k = 1; k < C; k++) m = fmaxf(m, state[k].x);
#pragma unroll
    for (int k = 0; k < C; k++) {
      part[k] = exp2_fast(state[k].x - m);
      sum += state[k].y * part[k];
      weight += state[k].z * part[k];
    }
//@ local sink = lists and " * sink_factor(a, shared_address(base), n, m + log2_fast(sum))" or ""
    const float inverse = sum == 0.0f ? 0.0f : 1.0f / weight${sink}, lse = m + log2_fast(sum);
#pragma unroll
    for (int k = 0; k < C; k++) factor[k] = part[k] * inverse;
    if (cta_id != 0) continue;
    if (w.part >= 0) a.part_lse[w.part + w.row0 + n] = lse;
    else if (a.lse) a.lse[w.row + n] = lse * LN_2;
  }
}

// Columns [64 (FIRST + FROM), 64 (FIRST + TO)) of a warpgroup's O, times its factor, to shared memory as rows, STRIDE apart;
// Add: to what is there.
template <int FIRST, int FROM, int TO, int STRIDE, bool Add>
MLAF_DEV void put_o(float* out, const float (&factor)[COLS], const float (&o)[NV][N / 2]) {
#pragma unroll
  for (int c = 0; c < COLS; c++)
#pragma unroll
    for (int i = FROM; i < TO; i++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        float* const to = out + (8 * (c / 2) + c % 2) * STRIDE + 64 * i + ${apart} * h;
        const float x = o[FIRST + i][c / 2 * 4 + c % 2 + 2 * h] * factor[c];
        *to = Add ? *to + x : x;
      }
}

// Columns [64 FIRST, + WIDTH) of O to shared memory, as rows, summed over the warpgroups: of two each hands the other half of
// its columns, and adds to the half that it got.
template <int FIRST, int WIDTH>
MLAF_DEV void gather_o(char* base, char* place_of_o, int group, const row_state& r, const float (&o)[NV][N / 2]) {
  constexpr int ALL = WIDTH / 64, HALF = ALL / 2, STRIDE = WIDTH + 4;
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4;
  const float4* const parts = (const float4*)(base + WARPS_AT);
  float* const out = (float*)place_of_o + 2 * (lane % 4) * STRIDE + 16 * warp + ${column};
  float factor[COLS];
#pragma unroll
  for (int c = 0; c < COLS; c++) {
    const int n = 8 * (c / 2) + 2 * (lane % 4) + c % 2;
    factor[c] = W == 1 ? 1.0f : exp2_fast(r.m[c] - fmaxf(parts[n].x, parts[(W - 1) * 8 * N + n].x));
  }
  if (W == 1) {
    put_o<FIRST, 0, ALL, STRIDE, false>(out, factor, o);
    return;
  }
  if (group == 0) put_o<FIRST, HALF, ALL, STRIDE, false>(out, factor, o);
  else put_o<FIRST, 0, HALF, STRIDE, false>(out, factor, o);
  named_sync(3, 128 * W);
  if (group == 0) put_o<FIRST, 0, HALF, STRIDE, true>(out, factor, o);
  else put_o<FIRST, HALF, ALL, STRIDE, true>(out, factor, o);
}

// WIDTH columns of O are cut into units of 4 columns of a row. Thread t of block k of C writes units (C r + k) T + t, of all T
// math threads, in rounds r.
#define MLAF_MEMBER __device__ __forceinline__
constexpr int T = 128 * W;
template <int C, int WIDTH>
struct units_of {
  static constexpr int UNITS = WIDTH / 4, ROUNDS = (N * UNITS + C * T - 1) / (C * T);
  MLAF_MEMBER static int unit(int round, int cta_id) { return (round * C + cta_id) * T + threadIdx.x; }
  MLAF_MEMBER static const float4& of_o(const char* o, int i) {
    return *(const float4*)(o + 4 * (i / UNITS * (WIDTH + 4) + i % UNITS * 4));
  }
  MLAF_MEMBER static int landed(int round, int from) { return LAND_AT + 16 * ((from * ROUNDS + round) * T + (int)threadIdx.x); }
};

// Sends the other blocks of the cluster what they write, and waits for theirs. Their states are there: their rings are free.
template <int C, int WIDTH>
MLAF_DEV void exchange(const work& w, char* base, u32 smem, int cta_id) {
  typedef units_of<C, WIDTH> x;
  const int units = w.rows * x::UNITS;
  if (threadIdx.x == 0) {
    int mine = 0;
#pragma unroll
    for (int r = 0; r < x::ROUNDS; r++) mine += smaller(T, units > x::unit(r, cta_id) ? units - x::unit(r, cta_id) : 0);
    barrier_expect(smem + ENDS_AT + 8, 16 * (C - 1) * mine);
  }
#pragma unroll 1
  for (int k = 1; k < C; k++) {
    const int to = cta_id + k < C ? cta_id + k : cta_id + k - C;
#pragma unroll
    for (int r = 0; r < x::ROUNDS; r++)
      if (x::unit(r, to) < units)
        cluster_send(cluster_address(smem + x::landed(r, cta_id), to), x::of_o(base, x::unit(r, to)),
                     cluster_address(smem + ENDS_AT + 8, to));
  }
  barrier_wait_cluster(smem + ENDS_AT + 8, 0);
}

// This block's units of those columns, merged over the cluster, to the output or to the partials.
template <int C, int WIDTH>
MLAF_DEV void write_o(const mlaf_decode_args& a, const work& w, const char* base, const char* o, int first, int cta_id) {
  typedef units_of<C, WIDTH> u;
  const float* const factors = (const float*)(base + FACTOR_AT);
#pragma unroll
  for (int r = 0; r < u::ROUNDS; r++) {
    const int i = u::unit(r, cta_id), n = i / u::UNITS, column = first + i % u::UNITS * 4;
    if (n >= w.rows) break;
    float4 y = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int k = 0; k < C; k++) {
      const float4 x = k == cta_id ? u::of_o(o, i) : *(const float4*)(base + u::landed(r, k));
      const float factor = factors[C * n + k];
      y.x += x.x * factor;
      y.y += x.y * factor;
      y.z += x.z * factor;
      y.w += x.w * factor;
    }
    if (w.part < 0) store_kept(a.o + 2 * ((w.row + n) * R + column), make_uint2(pack2(y.x, y.y), pack2(y.z, y.w)));
    else store_kept(a.part_o + (w.part + w.row0 + n) * R + column, y);
  }
}

// place_of_o: the begin of the ring, which nobody uses any more (all columns at once), or the piece's Q, which is the next one's
// again behind the last barrier.
template <int C, int WIDTH, int FIRST>
MLAF_DEV void finish(const mlaf_decode_args& a, const work& w, char* base, u32 smem, char* place_of_o, int group, int cta_id,
                     const row_state& r, const float (&o)[NV][N / 2]) {
  gather_o<FIRST, WIDTH>(base, place_of_o, group, r, o);
  if (C > 1) barrier_wait_cluster(smem + ENDS_AT, 0);
  if (FIRST == 0) weigh<C>(a, w, base, cta_id); // without cluster by the threads that made the states
  named_sync(3, 128 * W);
  if (C > 1) exchange<C, WIDTH>(w, base, smem, cta_id);
  write_o<C, WIDTH>(a, w, base, place_of_o, 64 * FIRST, cta_id);
  if (place_of_o != base) {
    fence_async();
    named_sync(3, 128 * W);
  }
  if constexpr (FIRST + WIDTH / 64 < NV)
    finish<C, WIDTH, FIRST + WIDTH / 64>(a, w, base, smem, place_of_o, group, cta_id, r, o);
}
