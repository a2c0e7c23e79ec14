//@ needs("H", "N")
//@ include("mla_decode/q/ahead.h", { q = q })

// ---- Before the launch before is over ---------------------------------------------------------------------------------
// Asks for what the block reads first, into L2, by one warp. That launch may still write all of it, the tables too, so what they
// say serves only to ask, which is harmless for any address; loads go past L1, which would keep what they brought.
MLAF_DEV void look_ahead(const mlaf_decode_args& a) {
  const int lane = threadIdx.x % 32, request = smaller((int)blockIdx.z, a.batch - 1);
//@ if fitted then
  for (int i = 32 * lane; i < a.batch; i += 32 * 32) fetch_line(a.kv_indptr + i);
//@ end
  if (lane == 0) fetch_line(a.kv_last_page_lens + request);
  const int q_begin = load_past_l1(a.qo_indptr + request), first = load_past_l1(a.kv_indptr + request);
  const int pages = load_past_l1(a.kv_indptr + request + 1) - first;
  // Page ids of this share's first 128 pages: a line holds 32.
  if (lane < 4) fetch_line(a.kv_indices + first + (i64)pages * blockIdx.y / gridDim.y + 32 * lane);
  ${q.one_lane}fetch_q(a, (i64)q_begin * H + blockIdx.x * N, N);
}
