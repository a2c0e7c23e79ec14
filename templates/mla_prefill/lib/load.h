// The Hopper kernel's warps that multiply nothing: one deals tiles, one loads K and Q, one V.
//@ needs("KEYS", "K_AT", "K_BYTES", "K_EMPTY_AT", "K_FULL_AT", "MAP_V", "PAIR", "Q_AT", "Q_EMPTY_AT", "Q_FULL_AT", "Q_HALF",
//@   "SLAB", "SLABS_V", "STAGES", "TOLD", "TOLD_AT", "TOLD_EMPTY_AT", "TOLD_FULL_AT", "V", "V_AT", "V_EMPTY_AT", "V_FULL_AT",
//@   "V_LANDED_AT")
// ---- Pairs -----------------------------------------------------------------------------------------------------------------
// The tile's middle rows are one block's, the outer ones the other's: both have as many keys to go through.
MLAF_DEV int first_row(int wg, int cta) { return 64 * (wg ? 2 * PAIR - 1 - cta : cta); }
MLAF_DEV int my_cta() { return PAIR == 1 ? 0 : (int)cta_in_cluster(); }
MLAF_DEV void pair_sync() {
  if (PAIR == 1) __syncthreads();
  else asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// A block's share of a round, for both.
MLAF_DEV void copy_box_to_all(u32 to, const mlaf_tensor_map* map, int column, int row, u32 barrier) {
  if (PAIR == 1) return copy_box(to, map, column, row, barrier);
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
               "[%0], [%1, {%2, %3}], [%4], %5;"
               ::"r"(to), "l"(map), "r"(column), "r"(row), "r"(barrier), "h"((unsigned short)3) : "memory");
}
// Run by a warp: a place in both blocks is free again.
MLAF_DEV void give_back_to_all(u32 at, int lane) {
  if (PAIR == 1) {
    if (lane == 0) barrier_arrive(at);
  } else if (lane < PAIR) {
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(cluster_address(at, lane)) : "memory");
  }
}

// ---- Loading warps ---------------------------------------------------------------------------------------------------------
MLAF_DEV void load_k(const mlaf_prefill_params& p, u32 shared, const tile& t, int round, const ring<STAGES>& at, int lane) {
  const int share = my_cta() * (KEYS / PAIR);
  const u32 full = shared + K_FULL_AT + 8 * at.stage, to = shared + K_AT + at.stage * K_BYTES + share * 128;
  const int row = t.key + round * KEYS + share;
  const int column[2] = {(int)(t.head * p.a.k_head / 2), (int)(t.head * p.a.k_pe_head / 2)};
  barrier_wait(shared + K_EMPTY_AT + 8 * at.stage, at.lap ^ 1);
  __syncwarp();
  if (lane != 0) return;
  barrier_expect(full, K_BYTES);
//@ for _, s in ipairs(slabs) do
//@   local narrower = s.width < 64 and fmt(" - share * %d", 128 - 2 * s.width) or ""
  copy_box_to_all(to + ${2 * keys * s.column}${narrower}, &p.maps[${s.k_map}], column[${s.source - 1}] + ${s.from}, row, full);
//@ end
}

// V's rows from the request's end on become zero. They lie in a tile's first round.
MLAF_DEV void clear_tail(u32 v, int valid, int lane) {
#pragma unroll 1
  for (int i = lane; i < (KEYS - valid) * 8 * SLABS_V; i += 32)
    asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};"
                 ::"r"(v + valid * 128 + i % SLABS_V * SLAB + i / SLABS_V * 16), "r"(0) : "memory");
}

// landed: how often a tail was waited for.
MLAF_DEV void load_v(const mlaf_prefill_params& p, u32 shared, const tile& t, int round, const ring<STAGES>& at, int lane,
                     u32& landed) {
  const int share = my_cta() * (KEYS / PAIR), valid = t.keys - round * KEYS;
  const u32 full = shared + V_FULL_AT + 8 * at.stage, to = shared + V_AT + at.stage * SLABS_V * SLAB;
  const u32 tell = valid < KEYS ? shared + V_LANDED_AT : full;
  barrier_wait(shared + V_EMPTY_AT + 8 * at.stage, at.lap ^ 1);
  __syncwarp();
  if (lane == 0) {
    barrier_expect(tell, SLABS_V * SLAB);
#pragma unroll
    for (int i = 0; i < SLABS_V; i++)
      copy_box_to_all(to + i * SLAB + share * 128, &p.maps[MAP_V], (int)(t.head * p.a.v_head / 2) + 64 * i,
                      t.key + round * KEYS + share, tell);
  }
  if (valid >= KEYS) return;
  barrier_wait(tell, landed++ & 1);
  clear_tail(to, valid, lane);
  fence_async();
  __syncwarp();
  if (lane == 0) barrier_arrive(full);
}

// Each warpgroup's half, as soon as it has made its last scores of the tile before.
MLAF_DEV void load_q(const mlaf_prefill_params& p, u32 shared, const tile& t, u32 lap, int lane) {
  const int column = (int)(t.head * p.a.q_head / 2);
#pragma unroll 1
  for (int half = 0; half < 2; half++) {
    const u32 full = shared + Q_FULL_AT + 8 * half;
    barrier_wait(shared + Q_EMPTY_AT + 8 * half, lap ^ 1);
    __syncwarp();
    if (lane != 0) continue;
    barrier_expect(full, Q_HALF);
//@ for _, s in ipairs(slabs) do
    copy_box_once(shared + Q_AT + half * Q_HALF + ${128 * s.column}, &p.maps[${s.q_map}], column + ${s.column},
                  t.row + first_row(half, my_cta()), full);
//@ end
  }
}

// Rows that see no key.
MLAF_DEV void write_empty(const mlaf_prefill_kernel_args& a, const tile& t, int lane) {
  const bool bad = t.keys < 0;
  const float x = bad ? not_a_number() : 0.0f;
#pragma unroll 1
  for (int row = 0; row < t.rows; row++) {
    const i64 at = t.row + row;
#pragma unroll 1
    for (int i = lane; i < V / 2; i += 32) ((u32*)(a.o + at * a.o_token + t.head * a.o_head))[i] = pack2(x, x);
    if (lane == 0 && a.lse) a.lse[at * a.lse_token + t.head * a.lse_head] = bad ? x : minus_inf();
  }
}

//@ include("mla_prefill/lib/deal_tiles.h", { once = "if (my_cta() == 0) " })

// A warp for K and Q, one for V: neither waits behind the other one's places, and boxes go out side by side. Q comes behind its
// tile's first K, for which there is a place earlier, and ahead of the second one, which is wanted later.
template <bool IS_V>
MLAF_DEV void load_tiles(const mlaf_prefill_params& p, u32 shared, int lane) {
  ring<STAGES> places = {0, 0};
  ring<TOLD> told = {0, 0};
  u32 landed = 0;
  for (u32 q_lap = 0;; q_lap ^= 1) {
    barrier_wait(shared + TOLD_FULL_AT + 8 * told.stage, told.lap);
    const tile t = *(const tile*)(memory() + TOLD_AT + 64 * told.stage);
    __syncwarp();
    if (lane == 0) barrier_arrive(shared + TOLD_EMPTY_AT + 8 * told.stage);
    told.next();
    if (t.rounds == 0) return;
#pragma unroll 1
    for (int i = t.rounds - 1; i >= 0; i--) {
      if (IS_V) load_v(p, shared, t, i, places, lane, landed);
      else load_k(p, shared, t, i, places, lane);
      places.next();
      if (!IS_V && i == t.rounds - 1) load_q(p, shared, t, q_lap, lane);
    }
  }
}
