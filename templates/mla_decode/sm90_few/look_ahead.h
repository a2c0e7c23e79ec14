//@ needs("H", "N", "R", "ROPE")
//@ local q_parts = optional("q_parts") == 1
// Q of the rows [row, + rows), those that exist, into L2.
//@ if q_parts then
MLAF_DEV void fetch_q(const mlaf_decode_args& a, i64 row, int) { // by all lanes of a warp, of the block's N rows
  if (row >= 0 && row < a.total_q * H) fetch_q_boxes(((const mlaf_decode_params*)&a)->maps, (int)row, N);
}
//@ else
MLAF_DEV void fetch_q(const mlaf_decode_args& a, i64 row, int rows) {
  const i64 left = a.total_q * H - row;
  if (row >= 0 && left > 0) fetch_bytes(a.q + row * (2 * (R + ROPE)), (left < rows ? (int)left : rows) * (2 * (R + ROPE)));
}
//@ end

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
  ${q_parts and "" or "if (lane == 0) "}fetch_q(a, (i64)q_begin * H + blockIdx.x * N, N);
}
