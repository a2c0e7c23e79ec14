-- Kernels as of all projections (gen/projection/families.lua), which depend on these fields.
return require("projection/families").make("mla_q_b", require("ops/mla_q_b/product"),
  { "q_rank", "heads", "nope", "rope", "norm", "dtype" })
