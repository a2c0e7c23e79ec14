-- Hidden states to the low-rank columns of queries, and the latent row.
-- The fields are explained in gen/projection/families.lua.
return {
  layout = "outputs",
  stream_warps = { 4, 8, 16 },
  ring_rows = { 32, 64, 72, 96 },
  ring_splits = { 1, 2, 4 },
  ring_fp8_rows = { 32, 64 },
  ring_fp8_splits = { 1, 2, 3, 4 },
  product = require("projection/products").of("mla_qkv_a"),
}
