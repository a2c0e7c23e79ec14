-- Values from the latent space: o[t, h] = W_UV[h] u[t, h]. What it is to projections: gen/projection/families.lua.
return {
  layout = "outputs",
  stream_warps = { 4, 8 },
  ring_rows = { 16, 32, 64, 128 },
  ring_fp8_rows = { 32, 64, 128 },
  ring_fp8_splits = { 1 },
  product = require("projection/products").of("mla_v_out"),
}
