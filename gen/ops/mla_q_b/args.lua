-- The arguments of mla_q_b, those of all products: gen/projection/args.lua.
return require("projection/args")("mla_q_b", {
  about = "y [T, H(N+P)] = W_qb x[t]: low-rank columns to query heads",
  input = "x [T, L], through RMSNorm where the problem says norm",
  -- Problems that follow in a launch: runtime/ops/mla_q_b/joint.c.
  joint = true,
  stem = "q_b_", files = { "joint.c", "op/joint.c" }, with = { "mla_append", "mla_q_absorb" }, execute = false,
  also = { "mlaf_embed_mla_q_b_launch.h" },
})
