-- Kernels as of all projections (gen/projection/families.lua), which depend on these fields.
return require("projection/families").make("mla_o_proj", require("ops/mla_o_proj/product"),
  { "hidden", "heads", "v", "residual", "dtype" })
