// The place of tokens in a cache whose rows hold bytes, and the loads of a tile. A page's rows follow one another; `whole`: pages
// hold whole tiles; `apart`: rope columns are rows of another tensor; `scales`: scales are. Offsets are 64-bit products of two
// 32-bit numbers: 2^32 rows are more than any memory holds, and a row is below 2^28 bytes, so that 16 rows of one page are 32-bit
// offsets from the first.
//@ needs("PAGE", "R", "V_BYTES")
struct cache {
  gptr ckv;
  u32 row_bytes; // from row to row
  cints pages;   // of this request
  int num_pages, tokens;
//@ if apart or scales then
  gptr kpe;
  u32 kpe_row_bytes;
//@ end
};

template <typename T>
MLAF_DEV T cache_load(gptr p, u32 lane_bytes, int bytes) {
  return *(const MLAF_GLOBAL T*)(p + lane_bytes + bytes);
}

// The offset of this lane's V_BYTES columns in group j of 16 * V_BYTES. In the last group, lanes beyond the rank read the last
// chunk that exists: what they compute is never stored.
MLAF_DEV u32 v_column(int lane, int j) {
  const int chunks = smaller(16, (R - 16 * V_BYTES * j) / V_BYTES);
  return V_BYTES * (chunks == 16 ? lane & 15 : smaller(lane & 15, chunks - 1));
}

//@ if whole then
// One page id for 16 tokens, in a scalar register; lanes differ by a 32-bit offset only.
struct page_ids {
  int id;
};
struct place {
  gptr first; // of the 16 rows
  u32 last;   // byte offset of the last row that exists
//@ if apart or scales then
  gptr rope; // in the other tensor
  u32 rope_last;
//@ end
};

MLAF_DEV page_ids fetch_ids(const cache& kv, int t, int lane) { return {kv.pages[(u32)t / PAGE]}; }

MLAF_DEV place locate(const cache& kv, page_ids ids, int t, int lane, bool& bad) {
  const bool outside = (u32)ids.id >= (u32)kv.num_pages;
  bad |= outside;
  const u32 row = (u32)(outside ? 0 : ids.id) * PAGE + (u32)t % PAGE;
//@ if apart or scales then
  const u32 last = smaller(15, kv.tokens - 1 - t);
  return {kv.ckv + (u64)row * kv.row_bytes, last * kv.row_bytes, kv.kpe + (u64)row * kv.kpe_row_bytes, last * kv.kpe_row_bytes};
//@ else
  return {kv.ckv + (u64)row * kv.row_bytes, (u32)smaller(15, kv.tokens - 1 - t) * kv.row_bytes};
//@ end
}
//@ if apart then
// Bytes `at` of the rope columns of this lane's token in K.
template <typename T>
MLAF_DEV T load_rope(const cache& kv, const place& p, u32 lane_bytes, int at, int lane) {
  return cache_load<T>(p.rope, smaller((u32)(lane & 15) * kv.kpe_row_bytes, p.rope_last) + lane_bytes, at);
}
//@ elseif scales then
// Scales of this lane's four tokens in V.
MLAF_DEV void load_scales(f32x4 (&v)[4], const cache& kv, const place& p, int lane) {
#pragma unroll
  for (int r = 0; r < 4; r++)
    v[r] = cache_load<f32x4>(p.rope, smaller((u32)(4 * (lane >> 4) + r) * kv.kpe_row_bytes, p.rope_last), 0);
}
//@ end

// Bytes `at` of the row of this lane's token in K, l%16.
template <typename T>
MLAF_DEV T load_k(const cache& kv, const place& p, u32 lane_bytes, int at, int lane) {
  return cache_load<T>(p.first, smaller((u32)(lane & 15) * kv.row_bytes, p.last) + lane_bytes, at);
}
// Bytes `at` of the rows of this lane's four tokens in V, 4(l/16)+r.
template <typename T>
MLAF_DEV void load_v(T (&v)[4], const cache& kv, const place& p, u32 lane_bytes, int at, int lane) {
#pragma unroll
  for (int r = 0; r < 4; r++) {
    const u32 row = 4 * (lane >> 4) + r;
    v[r] = cache_load<T>(p.first, smaller(row * kv.row_bytes, p.last) + lane_bytes, at);
  }
}
//@ else
// Every lane looks up the page of the token whose K it loads, l%16, and of one of the four tokens whose V its quad loads,
// 4(l/16) + l%4; the quad then shares the four addresses by DPP.
struct page_ids {
  int k, v;
};
struct place {
  gptr k;
  u64 v; // byte offset of row 4(l/16) + l%4
//@ if apart then
  gptr rope; // of K's token
//@ elseif scales then
  u64 scales; // byte offset of those of V's token
//@ end
};

MLAF_DEV int k_token(const cache& kv, int t, int lane) { return smaller(t + (lane & 15), kv.tokens - 1); }
MLAF_DEV int v_token(const cache& kv, int t, int lane) {
  return smaller(t + 4 * (lane >> 4) + (lane & 3), kv.tokens - 1);
}

MLAF_DEV page_ids fetch_ids(const cache& kv, int t, int lane) {
  const MLAF_GLOBAL int* pages = (const MLAF_GLOBAL int*)kv.pages;
  return {pages[(u32)k_token(kv, t, lane) / PAGE], pages[(u32)v_token(kv, t, lane) / PAGE]};
}

MLAF_DEV u32 row_of(const cache& kv, int id, int token, bool& bad) {
  const bool outside = (u32)id >= (u32)kv.num_pages;
  bad |= outside;
  return (u32)(outside ? 0 : id) * PAGE + (u32)token % PAGE;
}

MLAF_DEV place locate(const cache& kv, page_ids ids, int t, int lane, bool& bad) {
  const u64 k = row_of(kv, ids.k, k_token(kv, t, lane), bad), v = row_of(kv, ids.v, v_token(kv, t, lane), bad);
//@ local other = apart and ", kv.kpe + k * kv.kpe_row_bytes" or scales and ", v * kv.kpe_row_bytes" or ""
  return {kv.ckv + k * kv.row_bytes, v * kv.row_bytes${other}};
}
//@ if apart then
template <typename T>
MLAF_DEV T load_rope(const cache& kv, const place& p, u32 lane_bytes, int at, int lane) {
  return cache_load<T>(p.rope, lane_bytes, at);
}
//@ end

template <typename T>
MLAF_DEV T load_k(const cache& kv, const place& p, u32 lane_bytes, int at, int lane) {
  return cache_load<T>(p.k, lane_bytes, at);
}

template <int Row>
MLAF_DEV gptr v_row(const cache& kv, const place& p) {
  return kv.ckv + ((u64)quad_lane<Row>((u32)(p.v >> 32)) << 32 | quad_lane<Row>((u32)p.v));
}
template <typename T>
MLAF_DEV void load_v(T (&v)[4], const cache& kv, const place& p, u32 lane_bytes, int at, int lane) {
  v[0] = cache_load<T>(v_row<0>(kv, p), lane_bytes, at);
  v[1] = cache_load<T>(v_row<1>(kv, p), lane_bytes, at);
  v[2] = cache_load<T>(v_row<2>(kv, p), lane_bytes, at);
  v[3] = cache_load<T>(v_row<3>(kv, p), lane_bytes, at);
}
//@   if scales then
template <int Row>
MLAF_DEV f32x4 scales_of_row(const cache& kv, const place& p) {
  return cache_load<f32x4>(
      kv.kpe + ((u64)quad_lane<Row>((u32)(p.scales >> 32)) << 32 | quad_lane<Row>((u32)p.scales)), 0, 0);
}
MLAF_DEV void load_scales(f32x4 (&v)[4], const cache& kv, const place& p, int lane) {
  v[0] = scales_of_row<0>(kv, p), v[1] = scales_of_row<1>(kv, p);
  v[2] = scales_of_row<2>(kv, p), v[3] = scales_of_row<3>(kv, p);
}
//@   end
//@ end
