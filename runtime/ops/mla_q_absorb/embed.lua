-- Files of this operation that `mlaforge embed` ships (tools/embed-files.lua).
return {
  name = "q_absorb",
  comment = [[mla_q_absorb: y [T, H, R+P] = (x[t,h,:N] W_UK[h], rope(x[t,h,N:])): queries into the latent space.
 *
 *   x [T, H, N+P], W_UK[h] [N, R]
 *
 * Letters and arguments: mlaf_embed_projection.h. Opening a device and closing it: mlaf_embed.h.]],
  about = "tokens selects the kernel tuned for the nearest size; a plan serves any number of them.",
  header = "mlaforge/projection.h",
  args = "mlaf_projection_args",
  files = { "record.c", "op/projection.c" },
}
