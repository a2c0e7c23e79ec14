// Q of the rows [row, + rows), those that exist, into L2, before the launch before is over.
//@ -- Called by one lane, or of two tensors by all of a warp (q.one_lane: gen/ops/mla_decode/q.lua).
//@ needs("H", "N", "R", "ROPE")
//@ if q.parts then
MLAF_DEV void fetch_q(const mlaf_decode_args& a, i64 row, int) { // of the block's N rows
  if (row >= 0 && row < a.total_q * H) fetch_q_boxes(((const mlaf_decode_params*)&a)->maps, (int)row, N);
}
//@ else
MLAF_DEV void fetch_q(const mlaf_decode_args& a, i64 row, int rows) {
  const i64 left = a.total_q * H - row;
  if (row >= 0 && left > 0) fetch_bytes(a.q + row * (2 * (R + ROPE)), (left < rows ? (int)left : rows) * (2 * (R + ROPE)));
}
//@ end
