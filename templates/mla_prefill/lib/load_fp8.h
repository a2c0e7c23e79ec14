// The warps that multiply nothing, of the Hopper kernel for inputs of 8 bits: one deals tiles, one loads, two transpose
// V.
//@ needs("KEYS", "K_AT", "K_BYTES", "K_EMPTY_AT", "K_FULL_AT", "MAP_V", "Q_AT", "Q_EMPTY_AT", "Q_FULL_AT", "Q_HALF",
//@   "RAWS", "RAW_AT", "RAW_BYTES", "RAW_EMPTY_AT", "RAW_FULL_AT", "STAGES", "TOLD", "TOLD_AT", "TOLD_EMPTY_AT", "TOLD_FULL_AT",
//@   "TRANSPOSERS", "V", "V_AT", "V_BYTES", "V_EMPTY_AT", "V_FULL_AT")
// ---- Loading warps. Columns of maps are two bytes -------------------------------------------------------------------------
MLAF_DEV void load_k(const mlaf_prefill_params& p, u32 shared, const tile& t, int round, const ring<STAGES>& at, int lane) {
  const u32 full = shared + K_FULL_AT + 8 * at.stage, to = shared + K_AT + at.stage * K_BYTES;
  const int row = t.key + round * KEYS;
  const int column[2] = {(int)(head_of(t.head) * p.a.k_head / 2), (int)(head_of(t.head) * p.a.k_pe_head / 2)};
  barrier_wait(shared + K_EMPTY_AT + 8 * at.stage, at.lap ^ 1);
  __syncwarp();
  if (lane != 0) return;
  barrier_expect(full, K_BYTES);
//@ local at = 0
//@ for _, s in ipairs(slabs) do
  copy_box(to + ${at}, &p.maps[${s.k_map}], column[${s.source - 1}] + ${s.from // 2}, row, full);
//@   at = at + keys * s.width
//@ end
}

MLAF_DEV void load_v(const mlaf_prefill_params& p, u32 shared, const tile& t, int round, const ring<RAWS>& at, int lane) {
  const u32 full = shared + RAW_FULL_AT + 8 * at.stage, to = shared + RAW_AT + at.stage * RAW_BYTES;
  barrier_wait(shared + RAW_EMPTY_AT + 8 * at.stage, at.lap ^ 1);
  __syncwarp();
  if (lane != 0) return;
  barrier_expect(full, RAW_BYTES);
  copy_box(to, &p.maps[MAP_V], (int)((head_of(t.head) * p.a.v_head + first_of_v(t.head)) / 2), t.key + round * KEYS, full);
}

// Each warpgroup's half, as soon as it has made its last scores of the tile before.
MLAF_DEV void load_q(const mlaf_prefill_params& p, u32 shared, const tile& t, u32 lap, int lane) {
  const int column = (int)(head_of(t.head) * p.a.q_head / 2);
#pragma unroll 1
  for (int half = 0; half < 2; half++) {
    const u32 full = shared + Q_FULL_AT + 8 * half, to = shared + Q_AT + half * Q_HALF;
    const int row = t.row + 64 * half;
    barrier_wait(shared + Q_EMPTY_AT + 8 * half, lap ^ 1);
    __syncwarp();
    if (lane != 0) continue;
    barrier_expect(full, Q_HALF);
//@ local at = 0
//@ for _, s in ipairs(slabs) do
    copy_box_once(to + ${at}, &p.maps[${s.q_map}], column + ${s.column // 2}, row, full);
//@   at = at + 64 * s.width
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
    for (int i = lane; i < V / 2; i += 32)
      ((u32*)(a.o + at * a.o_token + head_of(t.head) * a.o_head + 2 * first_of_v(t.head)))[i] = pack2(x, x);
    if (lane == 0 && a.lse && says_lse(t.head)) a.lse[at * a.lse_token + head_of(t.head) * a.lse_head] = bad ? x : minus_inf();
  }
}

//@ include("mla_prefill/lib/deal_tiles.h", { once = "" })

MLAF_DEV tile told_next(u32 shared, ring<TOLD>& told, int lane) {
  barrier_wait(shared + TOLD_FULL_AT + 8 * told.stage, told.lap);
  const tile t = *(const tile*)(memory() + TOLD_AT + 64 * told.stage);
  __syncwarp();
  if (lane == 0) barrier_arrive(shared + TOLD_EMPTY_AT + 8 * told.stage);
  told.next();
  return t;
}

// Q comes behind its tile's first K, for which there is a place earlier, and ahead of V, which is wanted later.
MLAF_DEV void load_tiles(const mlaf_prefill_params& p, u32 shared, int lane) {
  ring<STAGES> places = {0, 0};
  ring<RAWS> raw = {0, 0};
  ring<TOLD> told = {0, 0};
  for (u32 q_lap = 0;; q_lap ^= 1) {
    const tile t = told_next(shared, told, lane);
    if (t.rounds == 0) return;
#pragma unroll 1
    for (int i = t.rounds - 1; i >= 0; i--, places.next(), raw.next()) {
      load_k(p, shared, t, i, places, lane);
      if (i == t.rounds - 1) load_q(p, shared, t, q_lap, lane);
      load_v(p, shared, t, i, raw, lane);
    }
  }
}

// ---- V transposed: a row a column of it, KEYS bytes -----------------------------------------------------------------------
// A wgmma of bytes wants its B K-major. ldmatrix transposes pairs of bytes: of 8 keys and 16 columns a lane gets columns 2 g and
// 2 g + 1 (g = lane / 4) of keys 2 c and 2 c + 1 (c = lane % 4). Of that and the same of 8 keys behind, a permutation of bytes
// makes column 2 g of four keys, and column 2 g + 1: the four that a lane has scores of, of these 16 keys, so P's operand wants
// them in this order. stmatrix writes eight columns' 16 keys as rows of 16 bytes; even columns come ahead of odd ones:
//
//   row 16 u + g: column 16 u + 2 g     row 16 u + 8 + g: column 16 u + 2 g + 1       (of O: store_rows)
MLAF_DEV void store_matrices(u32 at, u32 w0, u32 w1, u32 w2, u32 w3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
               ::"r"(at), "r"(w0), "r"(w1), "r"(w2), "r"(w3) : "memory");
}
MLAF_DEV void load_matrices_transposed(u32 (&r)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}

MLAF_DEV void transpose(u32 from, u32 to, int first, int lane) {
  constexpr int AT_ONCE = V % 64 == 0 ? 4 : V % 32 == 0 ? 2 : 1; // of 32 keys and 16 columns each
  const u32 key = from + lane * 128, chunk = 2 * first + (lane >> 4), column = to + (lane & 15) * 128, swizzle = lane & 7;
#pragma unroll
  for (int t = 0; t < KEYS / 32 / TRANSPOSERS; t++)
#pragma unroll
    for (int u = 0; u < V / 16; u += AT_ONCE) {
      u32 x[AT_ONCE][4];
#pragma unroll
      for (int i = 0; i < AT_ONCE; i++) load_matrices_transposed(x[i], key + (first + t) * 32 * 128 + ((u + i ^ swizzle) << 4));
#pragma unroll
      for (int i = 0; i < AT_ONCE; i++)
        store_matrices(column + (u + i) * 16 * 128 + ((2 * t + chunk ^ swizzle) << 4),
                       __byte_perm(x[i][0], x[i][1], 0x6420), __byte_perm(x[i][0], x[i][1], 0x7531),
                       __byte_perm(x[i][2], x[i][3], 0x6420), __byte_perm(x[i][2], x[i][3], 0x7531));
    }
}

// V's rows from the request's end on become zero: 0 * NaN is NaN. They lie in a tile's first round.
MLAF_DEV void clear_rows(u32 v, int from, int to, int lane) {
#pragma unroll 1
  for (int i = 8 * from + lane; i < 8 * to; i += 32)
    asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(v + i * 16), "r"(0) : "memory");
  __syncwarp();
}

MLAF_DEV void transpose_values(u32 shared, int which, int lane) {
  constexpr int SHARE = KEYS / TRANSPOSERS;
  ring<RAWS> raw = {0, 0};
  ring<STAGES> places = {0, 0};
  ring<TOLD> told = {0, 0};
  for (;;) {
    const tile t = told_next(shared, told, lane);
    if (t.rounds == 0) return;
#pragma unroll 1
    for (int i = t.rounds - 1; i >= 0; i--, raw.next(), places.next()) {
      const u32 from = shared + RAW_AT + raw.stage * RAW_BYTES;
      barrier_wait(shared + RAW_FULL_AT + 8 * raw.stage, raw.lap);
      const int valid = t.keys - i * KEYS;
      if (valid < KEYS) clear_rows(from, larger(valid, SHARE * which), SHARE * (which + 1), lane);
      barrier_wait(shared + V_EMPTY_AT + 8 * places.stage, places.lap ^ 1);
      __syncwarp();
      transpose(from, shared + V_AT + places.stage * V_BYTES, SHARE / 32 * which, lane);
      fence_async();
      __syncwarp();
      if (lane != 0) continue;
      barrier_arrive(shared + RAW_EMPTY_AT + 8 * raw.stage);
      barrier_arrive(shared + V_FULL_AT + 8 * places.stage);
    }
  }
}
