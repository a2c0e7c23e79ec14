-- Values of all heads back to hidden states, the residual added on demand.
-- The fields are explained in gen/projection/families.lua.
return {
  layout = "outputs",
  stream_rows = { 16, 32 },
  stream_warps = { 4, 8, 16 },
  ring_rows = { 56, 64, 112 },
  ring_fp8_rows = { 32, 48, 64, 128 },
  ring_fp8_splits = { 1, 2 },
  product = require("projection/products").of("mla_o_proj"),
}
