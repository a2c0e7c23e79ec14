-- The arguments of mla_qkv_a, those of all products: gen/projection/args.lua.
return require("projection/args")("mla_qkv_a", {
  about = "y [T, L+R+P] = W_a x[t]: hidden states to the low-rank columns of queries and the latent row",
  input = "x [T, d], W_a rows of q_a_proj, then of kv_a_proj_with_mqa",
})
