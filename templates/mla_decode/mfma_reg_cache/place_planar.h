// Tokens in pages of all codes, then all scales, then all rope columns (mla_decode/lib/planar.h has the same places), in place of
// mfma_reg_cache/place.h. `whole`: pages hold whole tiles.
//@ needs("PAGE", "R", "ROPE", "V_BYTES")
constexpr u32 ROPE_BYTES = 2 * ROPE;

struct cache {
  gptr ckv;
  u64 page_bytes; // from page to page
  u32 page_tokens;
  cints pages; // of this request
  int num_pages, tokens;
};

template <typename T>
MLAF_DEV T cache_load(gptr p, u32 lane_bytes, int bytes) {
  return *(const MLAF_GLOBAL T*)(p + lane_bytes + bytes);
}

// The offset of this lane's V_BYTES columns in group j of 16 * V_BYTES: place.h.
MLAF_DEV u32 v_column(int lane, int j) {
  const int chunks = smaller(16, (R - 16 * V_BYTES * j) / V_BYTES);
  return V_BYTES * (chunks == 16 ? lane & 15 : smaller(lane & 15, chunks - 1));
}

// The begin of a page's scales, and of its rope columns.
MLAF_DEV u64 scales_of_page(const cache& kv) { return (u64)kv.page_tokens * R; }
MLAF_DEV u64 rope_of_page(const cache& kv) { return (u64)kv.page_tokens * (R + 16); }

//@ if whole then
// One page id for 16 tokens, in a scalar register; lanes differ by a 32-bit offset only.
struct page_ids {
  int id;
};
struct place {
  gptr codes, scales, rope; // of the first of the 16
  u32 last;                 // the last that exists
};

MLAF_DEV page_ids fetch_ids(const cache& kv, int t, int lane) { return {kv.pages[(u32)t / PAGE]}; }

MLAF_DEV place locate(const cache& kv, page_ids ids, int t, int lane, bool& bad) {
  const bool outside = (u32)ids.id >= (u32)kv.num_pages;
  bad |= outside;
  const gptr page = kv.ckv + (u64)(u32)(outside ? 0 : ids.id) * kv.page_bytes;
  const u32 slot = (u32)t % PAGE;
  return {page + slot * R, page + scales_of_page(kv) + slot * 16, page + rope_of_page(kv) + slot * ROPE_BYTES,
          (u32)smaller(15, kv.tokens - 1 - t)};
}

MLAF_DEV u32 row_in(const place& p, u32 row) { return smaller(row, p.last); }

// Bytes `at` of the codes, or of the rope columns, of this lane's token in K, l%16.
template <typename T>
MLAF_DEV T load_k(const cache& kv, const place& p, u32 lane_bytes, int at, int lane) {
  return cache_load<T>(p.codes, row_in(p, lane & 15) * R + lane_bytes, at);
}
template <typename T>
MLAF_DEV T load_rope(const cache& kv, const place& p, u32 lane_bytes, int at, int lane) {
  return cache_load<T>(p.rope, row_in(p, lane & 15) * ROPE_BYTES + lane_bytes, at);
}
// A lane's share of its four tokens in V, 4(l/16)+r, and their scales.
template <typename T>
MLAF_DEV void load_v(T (&v)[4], const cache& kv, const place& p, u32 lane_bytes, int at, int lane) {
#pragma unroll
  for (int r = 0; r < 4; r++) v[r] = cache_load<T>(p.codes, row_in(p, 4 * (lane >> 4) + r) * R + lane_bytes, at);
}
MLAF_DEV void load_scales(f32x4 (&v)[4], const cache& kv, const place& p, int lane) {
#pragma unroll
  for (int r = 0; r < 4; r++) v[r] = cache_load<f32x4>(p.scales, row_in(p, 4 * (lane >> 4) + r) * 16, 0);
}
//@ else
// Every lane looks up the page of the token whose K it loads, l%16, and of one of the four tokens whose V its quad loads,
// 4(l/16) + l%4; the quad then shares the four places by DPP. Pages of 1 are tokens, page * page_tokens + slot.
struct page_ids {
  int k, v;
};
struct place {
  gptr k, rope;  // of K's token
  u64 v, scales; // addresses of row 4(l/16) + l%4
};

MLAF_DEV int k_token(const cache& kv, int t, int lane) { return smaller(t + (lane & 15), kv.tokens - 1); }
MLAF_DEV int v_token(const cache& kv, int t, int lane) {
  return smaller(t + 4 * (lane >> 4) + (lane & 3), kv.tokens - 1);
}

MLAF_DEV page_ids fetch_ids(const cache& kv, int t, int lane) {
  const MLAF_GLOBAL int* pages = (const MLAF_GLOBAL int*)kv.pages;
  return {pages[(u32)k_token(kv, t, lane) / PAGE], pages[(u32)v_token(kv, t, lane) / PAGE]};
}

struct page_place {
  gptr page;
  u32 slot;
};
MLAF_DEV page_place find_page(const cache& kv, int id, int token, bool& bad) {
  const bool outside = (u32)id >= (u32)kv.num_pages;
  bad |= outside;
  const u32 entry = outside ? 0 : id, page = PAGE == 1 ? entry / kv.page_tokens : entry;
  return {kv.ckv + (u64)page * kv.page_bytes, PAGE == 1 ? entry - page * kv.page_tokens : (u32)token % PAGE};
}

MLAF_DEV place locate(const cache& kv, page_ids ids, int t, int lane, bool& bad) {
  const page_place k = find_page(kv, ids.k, k_token(kv, t, lane), bad), v = find_page(kv, ids.v, v_token(kv, t, lane), bad);
  return {k.page + k.slot * R, k.page + rope_of_page(kv) + k.slot * ROPE_BYTES, (u64)(v.page + v.slot * R),
          (u64)(v.page + scales_of_page(kv) + v.slot * 16)};
}

template <typename T>
MLAF_DEV T load_k(const cache& kv, const place& p, u32 lane_bytes, int at, int lane) {
  return cache_load<T>(p.k, lane_bytes, at);
}
template <typename T>
MLAF_DEV T load_rope(const cache& kv, const place& p, u32 lane_bytes, int at, int lane) {
  return cache_load<T>(p.rope, lane_bytes, at);
}

template <int Row>
MLAF_DEV gptr of_row(u64 address) {
  return (gptr)((u64)quad_lane<Row>((u32)(address >> 32)) << 32 | quad_lane<Row>((u32)address));
}
template <typename T>
MLAF_DEV void load_v(T (&v)[4], const cache& kv, const place& p, u32 lane_bytes, int at, int lane) {
  v[0] = cache_load<T>(of_row<0>(p.v), lane_bytes, at);
  v[1] = cache_load<T>(of_row<1>(p.v), lane_bytes, at);
  v[2] = cache_load<T>(of_row<2>(p.v), lane_bytes, at);
  v[3] = cache_load<T>(of_row<3>(p.v), lane_bytes, at);
}
MLAF_DEV void load_scales(f32x4 (&v)[4], const cache& kv, const place& p, int lane) {
  v[0] = cache_load<f32x4>(of_row<0>(p.scales), 0, 0), v[1] = cache_load<f32x4>(of_row<1>(p.scales), 0, 0);
  v[2] = cache_load<f32x4>(of_row<2>(p.scales), 0, 0), v[3] = cache_load<f32x4>(of_row<3>(p.scales), 0, 0);
}
//@ end
