-- Files of this operation that `mlaforge embed` ships (tools/embed-files.lua).
return {
  name = "v_out",
  comment = [[mla_v_out: y [T, H, V] = W_UV[h] x[t,h]: what attention gave to value heads.
 *
 *   x [T, H, R], W_UV[h] [V, R]
 *
 * Letters and arguments: mlaf_embed_projection.h. Opening a device and closing it: mlaf_embed.h.]],
  about = "tokens selects the kernel tuned for the nearest size; a plan serves any number of them.",
  header = "mlaforge/projection.h",
  args = "mlaf_projection_args",
  files = { "record.c", "op/projection.c" },
}
