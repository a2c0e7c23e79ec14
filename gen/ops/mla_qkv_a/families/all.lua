-- Kernels as of all projections (gen/projection/families.lua), which depend on these fields.
return require("projection/families").make("mla_qkv_a", require("ops/mla_qkv_a/product"),
  { "hidden", "q_rank", "rank", "rope", "dtype" })
