-- Kernels as of all projections (gen/projection/families.lua), which depend on these fields.
return require("projection/families").make("mla_v_out", require("ops/mla_v_out/product"), { "rank", "v", "dtype" })
