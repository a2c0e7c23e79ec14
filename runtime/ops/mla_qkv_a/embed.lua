-- Files of this operation that `mlaforge embed` ships (tools/embed-files.lua).
return {
  name = "qkv_a",
  comment = [[mla_qkv_a: y [T, L+R+P] = W_a x[t]: hidden states to the low-rank columns of queries and the latent row.
 *
 *   x [T, d], W_a rows of q_a_proj, then of kv_a_proj_with_mqa
 *
 * Letters and arguments: mlaf_embed_projection.h. Opening a device and closing it: mlaf_embed.h.]],
  about = "tokens selects the kernel tuned for the nearest size; a plan serves any number of them.",
  header = "mlaforge/projection.h",
  args = "mlaf_projection_args",
  files = { "record.c", "op/projection.c" },
}
