-- Kernels as of all projections (gen/projection/families.lua), which depend on these fields.
return require("projection/families").make("mla_q_absorb", require("ops/mla_q_absorb/product"),
  { "nope", "rope", "rank", "dtype", "style" })
