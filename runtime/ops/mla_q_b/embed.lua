-- Files of this operation that `mlaforge embed` ships (tools/embed-files.lua).
return {
  name = "q_b",
  stem = "q_b_",
  comment = [[mla_q_b: y [T, H(N+P)] = W_qb x[t]: low-rank columns to query heads.
 *
 *   x [T, L], through RMSNorm where the problem says norm
 *
 * Letters and arguments: mlaf_embed_projection.h. Opening a device and closing it: mlaf_embed.h.]],
  about = "tokens selects the kernel tuned for the nearest size; a plan serves any number of them.",
  header = "mlaforge/projection.h",
  args = "mlaf_projection_args",
  files = { "joint.c", "record.c", "op/joint.c", "op/projection.c" },
  with = { "mla_append", "mla_q_absorb" },
  execute = false,
  also = { "mlaf_embed_mla_q_b_launch.h" },
}
