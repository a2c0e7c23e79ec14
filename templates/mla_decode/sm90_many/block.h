// A block of 64 tokens on a math warpgroup of the many-rows Hopper kernel: products, references, P, sums. The includer has the
// constants of the kernel.
// A thread's share of its warpgroup's 64 rows: rows 16*warp + lane/4 + 8h, h = 0, 1.
//@ needs("ALL", "BEGIN_OF", "BUFFER", "CAUSAL", "EMPTY_AT", "FULL_AT", "H", "HALF", "KV_AT", "LAST_HI", "M_AT", "M_READY",
//@   "N_OF", "OWN_BUFFERS", "O_COLS", "PAIR", "P_AT", "P_READY", "QUARTER", "Q_AT", "Q_LAST_K", "Q_SLICES", "ROPE", "SLICE",
//@   "SLICES", "TOKENS_OF")
struct rows_state {
  float m[2], sum[2]; // reference; sum of P, this thread's columns of own blocks
};

struct math {
  // Addresses made of these are not worth registers through the loop: there are none left.
  MLAF_MEMBER void forget() { asm volatile("" : "+r"(lane), "+r"(warp), "+r"(shared)); }

  u32 shared;
  u32 peer;      // of a pair: where the other block's barriers of empty slices begin
  float scale;   // positive; Q has its sign
  int lane, warp;
  int clear;     // of the piece's tokens, those that all rows see
  u32 used[2];   // blocks before this piece
};

template <int WHO> // 0: A, 1: B
MLAF_DEV buffer_use use_of(const math& c, int i) {
  const u32 n = c.used[WHO] + i;
  return {WHO + 2 * (int)(n % OWN_BUFFERS), n / OWN_BUFFERS};
}

MLAF_DEV void give_back(const math& c, int buffer, int group) {
  const u32 at = 8 * (5 * buffer + group);
  if (c.lane == 0) barrier_arrive(c.shared + EMPTY_AT + at);
  if (PAIR == 2 && c.lane == 1) barrier_arrive_there(c.peer + at);
}
// S of the slices of a quarter, the i-th one in the order in which they were given back. B's product with them is ahead of A's,
// of either's blocks; only rows copied one by one come so late that it shows.
template <int WG>
MLAF_DEV void multiply_quarter(const math& c, buffer_use t, int i, const u32 (&q_last)[4][4], float (&s)[32]) {
  const int quarter = ${gather and "i ^ 2" or "WG == 0 ? (i & 1) * 2 + i / 2 : i ^ 2"};
  const u32 k = k_major(c.shared + KV_AT + t.buffer * BUFFER), q = k_major(c.shared + Q_AT);
  barrier_wait(c.shared + FULL_AT + 8 * (ALL * t.buffer + quarter * QUARTER), t.use & 1);
//@ if gather then
  take_copies();
//@ end
  settle(s);
  wgmma_fence();
#pragma unroll
  for (int j = 0; j < 4 * QUARTER; j++) {
    const int slice = quarter * QUARTER + j / 4, at = slice * (SLICE / 16) + 2 * (j % 4);
    if (ROPE == 0 && slice == Q_SLICES) wgmma_rs(s, q_last[j % 4], k + at, true);
    else wgmma_ss(s, q + at, k + at, ROPE > 0 || i > 0 || j > 0);
  }
  wgmma_commit();
}
// S of a block in two steps: its rope slice, or else its first quarter, and the rest of it. A loop: both math warpgroups' blocks
// unrolled are 34 KB of instructions, and their warps wait for them.
template <int WG>
MLAF_DEV void multiply_first(const math& c, buffer_use t, const u32 (&q_last)[4][4], float (&s)[32]) {
  if (ROPE == 0) return multiply_quarter<WG>(c, t, 0, q_last, s);
  const u32 k = k_major(c.shared + KV_AT + t.buffer * BUFFER) + SLICES * (SLICE / 16);
  barrier_wait(c.shared + FULL_AT + 8 * (ALL * t.buffer + SLICES), t.use & 1);
//@ if gather then
  take_copies();
//@ end
  settle(s);
  wgmma_fence();
#pragma unroll
  for (int i = 0; i < Q_LAST_K; i++) wgmma_rs<LAST_HI>(s, q_last[i], k + 2 * i, i > 0);
  wgmma_commit();
}
template <int WG>
MLAF_DEV void multiply_rest(const math& c, buffer_use t, const u32 (&q_last)[4][4], float (&s)[32]) {
#pragma unroll (ROPE > 0 ? 1 : 4)
  for (int i = ROPE > 0 ? 0 : 1; i < 4; i++) multiply_quarter<WG>(c, t, i, q_last, s);
}

template <int WG>
MLAF_DEV u32 v_of(const math& c, int buffer, int half) {
  return n_major(c.shared + KV_AT + buffer * BUFFER, SLICE) + (WG * HALF + half * QUARTER) * (SLICE / 16);
}
// O += P V, in two groups, with between() between them.
template <int WG, typename BETWEEN>
MLAF_DEV void multiply_v(const math& c, int buffer, const u32 (&p)[4][4], float (&o)[2][O_COLS / 2], BETWEEN between) {
  settle(o[0]);
  settle(o[1]);
  wgmma_fence();
#pragma unroll
  for (int h = 0; h < 2; h++) {
#pragma unroll
    for (int k = 0; k < 4; k++) wgmma_rs_t(o[h], p[k], v_of<WG>(c, buffer, h) + 128 * k, true);
    wgmma_commit();
    if (h == 0) {
      between();
      wgmma_fence();
    }
  }
}
template <int WG>
MLAF_DEV void multiply_v(const math& c, int buffer, float (&o)[2][O_COLS / 2]) { // P of the other warpgroup
  const u32 p = k_major(c.shared + P_AT + buffer * SLICE);
  settle(o[0]);
  settle(o[1]);
  wgmma_fence();
#pragma unroll
  for (int h = 0; h < 2; h++) {
#pragma unroll
    for (int k = 0; k < 4; k++) wgmma_ss_t(o[h], p + 2 * k, v_of<WG>(c, buffer, h) + 128 * k, true);
    wgmma_commit();
  }
}
// Wait for the two groups of multiply_v with BEHIND younger groups, and give the slices back.
template <int WG, int BEHIND, typename BETWEEN>
MLAF_DEV void finish_v(const math& c, int buffer, BETWEEN between) {
  wgmma_wait<BEHIND + 1>();
  give_back(c, buffer, 2 * WG);
  between();
  wgmma_wait<BEHIND>();
  give_back(c, buffer, 2 * WG + 1);
}
template <int WG, int BEHIND>
MLAF_DEV void finish_v(const math& c, int buffer) {
  finish_v<WG, BEHIND>(c, buffer, [] {});
}

// O and the sums to the reference of the block that is added next. No product may be under way.
MLAF_DEV void bring_to(float m0, float m1, rows_state& r, float (&o)[2][O_COLS / 2]) {
  const float m[2] = {m0, m1};
#pragma unroll
  for (int h = 0; h < 2; h++) { // rows 0-7, rows 8-15 of the warp
    if (!__any_sync(~0u, m[h] != r.m[h])) continue;
    const float f = exp2_fast(r.m[h] - m[h]);
#pragma unroll
    for (int v = 0; v < 2; v++) {
      settle(o[v]);
#pragma unroll
      for (int i = 0; i < O_COLS / 2; i++)
        if ((i >> 1 & 1) == h) o[v][i] *= f;
      settle(o[v]);
    }
    r.sum[h] *= f;
    r.m[h] = m[h];
  }
}
MLAF_DEV void bring_to_block(const math& c, int buffer, rows_state& r, float (&o)[2][O_COLS / 2]) {
  named_sync(M_READY + buffer, 256);
  const u32 m = c.shared + M_AT + 4 * (64 * buffer + 16 * c.warp + (c.lane >> 2));
  bring_to(load_4(m), load_4(m + 32), r, o);
}

// Tokens from the request's end on may hold anything, also NaN: their V becomes zero, since P = 0 is not enough.
template <int WG>
MLAF_DEV void clear_tail(const math& c, int buffer, int j) {
  if (64 * j + 64 <= c.clear) return;
  const int valid = known(c.shared, TOKENS_OF) - known(c.shared, BEGIN_OF) - 64 * j;
  if (valid >= 64) return;
  named_sync(1 + WG, 128);
  const u32 at = c.shared + KV_AT + buffer * BUFFER + WG * HALF * SLICE + valid * 128;
#pragma unroll 1
  for (int i = 32 * c.warp + c.lane; i < (64 - valid) * 8 * HALF; i += 128)
    store_16(at + i % HALF * SLICE + i / HALF * 16, 0, 0, 0, 0);
  fence_async();
  named_sync(1 + WG, 128);
}

// Scores, masked; the block's reference.
MLAF_DEV void find_reference(const math& c, int j, float (&s)[32], const rows_state& r, float (&m)[2]) {
  if (64 * j + 64 > c.clear) {
    int limit[2]; // tokens that this thread's rows see, counted from its first
    const int seen = known(c.shared, TOKENS_OF) - known(c.shared, BEGIN_OF) - 64 * j - 2 * (c.lane & 3);
    const int n = known(c.shared, N_OF);
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int token = (64 * blockIdx.x + 16 * c.warp + (c.lane >> 2) + 8 * h) / H;
      limit[h] = CAUSAL ? seen - (n - 1 - token) : seen;
    }
#pragma unroll
    for (int i = 0; i < 32; i++)
      if (8 * (i / 4) + (i & 1) >= limit[i >> 1 & 1]) s[i] = minus_inf();
  }
  float top[2][2] = {{s[0], s[1]}, {s[2], s[3]}};
#pragma unroll
  for (int i = 4; i < 32; i++) top[i >> 1 & 1][i & 1] = fmaxf(top[i >> 1 & 1][i & 1], s[i]);
  const float row[2] = {fmaxf(top[0][0], top[0][1]), fmaxf(top[1][0], top[1][1])};
  float other[2][3]; // of the row's other lanes. Beside QK a shuffle takes 200-350 clocks: all at once
#pragma unroll
  for (int i = 0; i < 6; i++) other[i & 1][i / 2] = __shfl_xor_sync(~0u, row[i & 1], i / 2 + 1);
#pragma unroll
  for (int h = 0; h < 2; h++)
    m[h] = fmaxf(r.m[h], fmaxf(fmaxf(row[h], other[h][0]), fmaxf(other[h][1], other[h][2])) * c.scale);
}

// P of 16 tokens (k-step k) into registers and shared memory; unrounded in s.
MLAF_DEV void make_p(const math& c, int buffer, int k, float (&s)[32], const float (&m)[2], u32 (&p)[4]) {
  const u32 to = c.shared + P_AT + buffer * SLICE + (16 * c.warp + (c.lane & 15)) * 128;
#pragma unroll
  for (int i = 8 * k; i < 8 * k + 8; i++) s[i] = exp2_fast(fmaf(s[i], c.scale, -m[i >> 1 & 1]));
#pragma unroll
  for (int i = 0; i < 4; i++) p[i] = pack2(s[8 * k + 2 * i], s[8 * k + 2 * i + 1]);
  store_matrices(to + (((2 * k + (c.lane >> 4)) ^ (c.lane & 7)) << 4), p);
}
// The reference goes ahead of P: the other warpgroup brings its O there meanwhile.
MLAF_DEV void publish_reference(const math& c, int buffer, const float (&m)[2]) {
  if ((c.lane & 3) == 0) {
    const u32 to = c.shared + M_AT + 4 * (64 * buffer + 16 * c.warp + (c.lane >> 2));
    store_4(to, m[0]);
    store_4(to + 32, m[1]);
  }
  named_arrive(M_READY + buffer, 256);
}
MLAF_DEV void load_reference(const math& c, int buffer, float (&m)[2]) {
  const u32 at = c.shared + M_AT + 4 * (64 * buffer + 16 * c.warp + (c.lane >> 2));
  m[0] = load_4(at);
  m[1] = load_4(at + 32);
}
MLAF_DEV void publish_p(int buffer) {
  fence_async();
  named_arrive(P_READY + buffer, 256);
}
// Each sum begins with what is loaded here (0): else ptxas would put them between the products that are issued before.
MLAF_DEV void add_sums(const math& c, int buffer, rows_state& r, const float (&s)[32]) {
  float m[2];
  load_reference(c, buffer, m);
#pragma unroll
  for (int h = 0; h < 2; h++) {
    r.sum[h] += m[h] - r.m[h];
#pragma unroll
    for (int i = 0; i < 8; i++) r.sum[h] = r.sum[h] + s[4 * i + 2 * h] + s[4 * i + 2 * h + 1];
  }
}
