-- Low-rank columns, through RMSNorm, to query heads. What it is to projections: gen/projection/families.lua.
return {
  layout = "outputs",
  aside = "norm",
  appends = true,
  absorbs = true,
  aside_fields = { "q_rank", "dtype" },
  stream_warps = { 4, 8, 16 },
  stream_lands = { "registers", "shared" },
  ring_rows = { 32, 48, 64, 96, 192 },
  ring_ways = { 1, 2 },
  ring_fp8_rows = { 32, 48, 64, 192 },
  ring_fp8_splits = { 1, 2 },
  product = require("projection/products").of("mla_q_b"),
}
