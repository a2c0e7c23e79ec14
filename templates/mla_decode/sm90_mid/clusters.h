// The end of a request that a cluster's C blocks have cut among them (mla_decode/sm90_mid_clusters). Each block finishes a C-th
// of O's columns, and each warpgroup of values hands over the others', straight from its registers:
//
//   C = 4       columns 0-127   128-255        256-383   384-511
//   finished by block 0         block 1        block 2   block 3
//   held by     left values of all blocks      right values of all blocks
//
// A thread's values land with the thread of the same number, 16 bytes at a time, so nothing is rearranged on the way. They land
// over Q and the ring's end, once all values of that block are through with both.
//
//   scores   states of all rows to all blocks -> each row's weight for what each block has of it
//   values   "free" to the other blocks; their "free"; O to them; weights; what has landed; write_o
//@ needs("BOX", "C", "END", "ENDS", "FREE", "HALF", "LANDED", "LN_2", "N", "NV", "P_AT", "R", "ROWS_OF", "ROW_OF", "STATES_AT")
constexpr int MINE = NV / C, UNITS_SENT = MINE * N / 8; // boxes that a block finishes; 16 bytes of a thread in them
constexpr int LAND_AT = P_AT - (C - 1) * UNITS_SENT * 2048;
static_assert(MINE % 2 == 0 && LAND_AT >= 0, "plans/sm90_mid.lua refuses others");
MLAF_DEV int value_slot(const place& at, int half, int i);

//@ include("mla_decode/lib/cluster_ends.h")

// By the thread that makes the block's other barriers.
MLAF_DEV void make_cluster_barriers(u32 smem) {
  barrier_init(smem + ENDS, 1);
  barrier_init(smem + FREE, 8 * (C - 1));
  barrier_init(smem + LANDED, 1);
  barrier_expect(smem + ENDS, 8 * N * (C - 1));
}

// Row n's weights, in place of the states, and its LSE. Run by the thread that has its maximum and sum.
MLAF_DEV void meet_rows(const mlaf_decode_args& a, u32 smem, u32 about, int n, float m, float sum) {
  const int cta_id = cta_in_cluster();
  const u32 states = smem + STATES_AT + 8 * n;
#pragma unroll
  for (int k = 0; k < C; k++)
    if (k != cta_id) cluster_send_8(cluster_address(states + 8 * N * cta_id, k), m, sum, cluster_address(smem + ENDS, k));
  barrier_wait_cluster(smem + ENDS, 0);
  float top = m, all = 0.0f;
  float2 x[C];
#pragma unroll
  for (int k = 0; k < C; k++) {
    x[k] = load_8(states + 8 * N * k);
    if (k == cta_id) x[k] = make_float2(m, sum);
    top = fmaxf(top, x[k].x);
  }
#pragma unroll
  for (int k = 0; k < C; k++) {
    x[k].x = exp2_fast(x[k].x - top);
    all = fmaf(x[k].x, x[k].y, all);
  }
  const float inverse = all == 0.0f ? 0.0f : 1.0f / all; // no token seen: O = 0
#pragma unroll
  for (int k = 0; k < C; k++) store_4(states + 8 * N * k, x[k].x * inverse);
  if (cta_id == 0 && n < known(about, ROWS_OF) && a.lse)
    a.lse[load_s64(about + ROW_OF) + n] = all == 0.0f ? minus_inf() : (top + log2_fast(all)) * LN_2;
}

// Weights of the rows 8j + 2 (lane%4) + (0, 1) for block k.
MLAF_DEV float2 weights_of(u32 smem, int k, int j) {
  const uint4 x = load_16(smem + STATES_AT + 8 * (N * k + 8 * j + 2 * (threadIdx.x % 4)));
  return make_float2(float_of(x.x), float_of(x.z));
}

// Hands over what other blocks finish.
MLAF_DEV void send_columns(u32 smem, int half, int cta_id, const float (&o)[HALF][N / 2]) {
  const int thread = threadIdx.x % 128;
  if ((threadIdx.x & 31) == 0)
#pragma unroll
    for (int k = 0; k < C; k++)
      if (k != cta_id) cluster_tell(cluster_address(smem + FREE, k));
  barrier_wait_cluster(smem + FREE, 0);
#pragma unroll
  for (int q = 0; q < C / 2; q++) {
    const int to = half * (C / 2) + q;
    if (to == cta_id) continue;
    const u32 at = cluster_address(smem + LAND_AT + (cta_id - (cta_id > to)) * (UNITS_SENT * 2048) + 16 * thread, to);
    const u32 bar = cluster_address(smem + LANDED, to);
#pragma unroll
    for (int i = 0; i < MINE; i++)
#pragma unroll
      for (int j = 0; j < N / 8; j++) {
        const float* const x = &o[q * MINE + i][4 * j];
        cluster_send(at + (i * (N / 8) + j) * 2048, make_float4(x[0], x[1], x[2], x[3]), bar);
      }
  }
}

// This block's columns of O, by the warpgroup that holds them, through boxes of the last tile as in write_o().
MLAF_DEV void write_columns(const mlaf_decode_args& a, u32 smem, int half, int cta_id, u32 about, const place& at,
                            float (&o)[HALF][N / 2]) {
  if (C == 4 && cta_id % 2 == 1)
#pragma unroll
    for (int i = 0; i < MINE; i++)
#pragma unroll
      for (int j = 0; j < N / 2; j++) o[i][j] = o[HALF - MINE + i][j];
  const int thread = threadIdx.x % 128, lane = threadIdx.x & 31;
  if (thread == 0) barrier_expect(smem + LANDED, (C - 1) * UNITS_SENT * 2048);
  barrier_wait_cluster(smem + LANDED, 0);
#pragma unroll
  for (int j = 0; j < N / 8; j++) {
    const float2 own = weights_of(smem, cta_id, j);
#pragma unroll
    for (int i = 0; i < MINE; i++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        o[i][4 * j + 2 * h] *= own.x;
        o[i][4 * j + 2 * h + 1] *= own.y;
      }
#pragma unroll
    for (int s = 0; s < C - 1; s++) {
      const float2 w = weights_of(smem, s + (s >= cta_id), j);
#pragma unroll
      for (int i = 0; i < MINE; i++) {
        const uint4 x = load_16(smem + LAND_AT + (s * UNITS_SENT + i * (N / 8) + j) * 2048 + 16 * thread);
        o[i][4 * j] = fmaf(float_of(x.x), w.x, o[i][4 * j]);
        o[i][4 * j + 1] = fmaf(float_of(x.y), w.y, o[i][4 * j + 1]);
        o[i][4 * j + 2] = fmaf(float_of(x.z), w.x, o[i][4 * j + 2]);
        o[i][4 * j + 3] = fmaf(float_of(x.w), w.y, o[i][4 * j + 3]);
      }
    }
  }
  constexpr int UNITS = MINE * 8; // of 16 bytes, in a row of these columns
  const int chunk = threadIdx.x / 32 % 4 * 2 + lane / 8 % 2, unit = thread % UNITS, rows = known(about, ROWS_OF);
  char* const to = a.o + load_s64(about + ROW_OF) * (2 * R) + 16 * (UNITS * cta_id + unit);
  const u32 from = smem + BOX * value_slot(at, half, unit / 8);
#pragma unroll
  for (int first = 0; first < N; first += 64) {
    named_sync(2 + half, 128); // all of the half are through with the boxes, and with what landed
#pragma unroll
    for (int j = first / 8; j < smaller(first + 64, N) / 8; j++)
#pragma unroll
      for (int i = 0; i < MINE; i += 2) {
        u32 w[4];
#pragma unroll
        for (int x = 0; x < 4; x++) w[x] = pack2(o[i + x / 2][4 * j + x % 2 * 2], o[i + x / 2][4 * j + x % 2 * 2 + 1]);
        const u32 box = smem + BOX * value_slot(at, half, i + lane / 16);
        store_matrices(box + (8 * j - first + lane % 8) * 128 + ((chunk ^ lane % 8) << 4), w[0], w[1], w[2], w[3]);
      }
    named_sync(2 + half, 128);
#pragma unroll 4
    for (int n = first + thread / UNITS; n < smaller(first + 64, rows); n += 128 / UNITS)
      *(uint4*)(to + n * (2 * R)) = load_16(from + (n - first) * 128 + ((unit % 8 ^ n % 8) << 4));
  }
}

// The end of the request for a warpgroup of values.
MLAF_DEV void meet_values(const mlaf_decode_args& a, u32 smem, int half, u32 about, const place& last, float (&o)[HALF][N / 2]) {
  const int cta_id = cta_in_cluster();
  send_columns(smem, half, cta_id, o);
  if (cta_id / (C / 2) != half) return;
  barrier_wait(smem + END, 0);
  write_columns(a, smem, half, cta_id, about, last, o);
}
