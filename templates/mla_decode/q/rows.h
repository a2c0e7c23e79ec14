//@ if q.parts then
// Rows of Q that comes in two tensors (mla_decode/q/args.h): row t H + h is head h of token t.
//@   needs("H")
MLAF_DEV const char* q_latent_row(const mlaf_decode_args& a, i64 row) {
  const u32 token = (u32)row / H, head = (u32)row % H;
  return a.q + (((i64)token * a.q_token + (i64)head * a.q_head) << 4);
}
MLAF_DEV const char* q_rope_row(const mlaf_decode_args& a, i64 row) {
  const u32 token = (u32)row / H, head = (u32)row % H;
  return a.q_pe + (((i64)token * a.q_pe_token + (i64)head * a.q_pe_head) << 4);
}
//@ end
