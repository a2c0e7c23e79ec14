// Tokens in pools of pages (mla_decode/lib/pools.h), in place of mfma_reg_cache/place.h. Every lane looks up the token whose K it
// loads, l%16, and gets from another lane one of the four tokens whose V its quad loads, 4(l/16) + l%4; the quad then shares the
// four addresses by DPP.
//@ needs("PAGE", "V_BYTES")
constexpr u32 TOKEN_ROW = 576, TOKEN_SCALES = 8; // bytes
//@ include("mla_decode/lib/pools.h")
struct cache {
  const mlaf_decode_args& args;
  cints pages; // of this request
  int tokens;
};
struct page_ids {
  int k;
};
struct place {
  gptr k;
  u64 v; // address of row 4(l/16) + l%4
  u32 k_scales, v_scales; // bytes from the rows to the tokens' scales
};

MLAF_DEV int k_token(const cache& kv, int t, int lane) { return smaller(t + (lane & 15), kv.tokens - 1); }

MLAF_DEV page_ids fetch_ids(const cache& kv, int t, int lane) {
  return {((const MLAF_GLOBAL int*)kv.pages)[(u32)k_token(kv, t, lane) / PAGE]};
}

MLAF_DEV u32 of_lane(u32 x, int lane) { return (u32)__builtin_amdgcn_ds_bpermute(lane << 2, (int)x); }

MLAF_DEV place locate(const cache& kv, page_ids ids, int t, int lane, bool& bad) {
  token_at at = {kv.args.num_pages > 0 ? 0 : EXTRA_POOL, 0}, found = at;
  if (find_token(kv.args, (u32)ids.k, (u32)k_token(kv, t, lane), found)) at = found;
  else
    bad = true;
  const int v = 4 * (lane >> 4) + (lane & 3);
  return {global(row_of(kv.args, at.row)), (u64)row_of(kv.args, of_lane(at.row, v)), at.scales, of_lane(at.scales, v)};
}

template <typename T>
MLAF_DEV T cache_load(gptr p, u32 lane_bytes, int bytes) {
  return *(const MLAF_GLOBAL T*)(p + lane_bytes + bytes);
}
template <typename T>
MLAF_DEV T load_k(const cache& kv, const place& p, u32 lane_bytes, int at, int lane) {
  return cache_load<T>(p.k, lane_bytes, at);
}

template <int Row>
MLAF_DEV gptr v_row(const place& p) {
  return (gptr)((u64)quad_lane<Row>((u32)(p.v >> 32)) << 32 | quad_lane<Row>((u32)p.v));
}
template <typename T>
MLAF_DEV void load_v(T (&v)[4], const cache& kv, const place& p, u32 lane_bytes, int at, int lane) {
  v[0] = cache_load<T>(v_row<0>(p), lane_bytes, at);
  v[1] = cache_load<T>(v_row<1>(p), lane_bytes, at);
  v[2] = cache_load<T>(v_row<2>(p), lane_bytes, at);
  v[3] = cache_load<T>(v_row<3>(p), lane_bytes, at);
}

// Scales of K's token, and of V's four.
MLAF_DEV u32x2 load_scales(const place& p) { return cache_load<u32x2>(p.k, p.k_scales, 0); }
MLAF_DEV void load_scales(u32x2 (&s)[4], const place& p) {
  s[0] = cache_load<u32x2>(v_row<0>(p), quad_lane<0>(p.v_scales), 0);
  s[1] = cache_load<u32x2>(v_row<1>(p), quad_lane<1>(p.v_scales), 0);
  s[2] = cache_load<u32x2>(v_row<2>(p), quad_lane<2>(p.v_scales), 0);
  s[3] = cache_load<u32x2>(v_row<3>(p), quad_lane<3>(p.v_scales), 0);
}

// The offset of this lane's V_BYTES columns in group j of 16 * V_BYTES, and of its 8 columns of the last 128: bytes, or bf16.
MLAF_DEV u32 v_column(int lane, int j) { return V_BYTES * (lane & 15); }
MLAF_DEV bool last_are_wide(int lane) { return lane & 8; }
MLAF_DEV u32 last_column(int lane) { return last_are_wide(lane) ? 448 + 16 * (lane & 7) : 384 + 8 * (lane & 7); }
