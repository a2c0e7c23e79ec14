-- Files of this operation that `mlaforge embed` ships (tools/embed-files.lua).
return {
  name = "o_proj",
  comment = [[mla_o_proj: y [T, d] = W_o x[t] + residual[t]: value heads to hidden states.
 *
 *   x [T, H V]; the residual where the problem says so
 *
 * Letters and arguments: mlaf_embed_projection.h. Opening a device and closing it: mlaf_embed.h.]],
  about = "tokens selects the kernel tuned for the nearest size; a plan serves any number of them.",
  header = "mlaforge/projection.h",
  args = "mlaf_projection_args",
  files = { "record.c", "op/projection.c" },
}
