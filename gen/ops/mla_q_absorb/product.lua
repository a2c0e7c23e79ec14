-- Queries into the latent space, rope columns turned: Qout[t, h] = (q_nope W_UK[h], rope(q_pe)).
-- The fields are explained in gen/projection/families.lua.
return {
  layout = "inputs",
  aside = "rope",
  aside_fields = { "nope", "rope", "rank", "dtype", "style" },
  stream_warps = { 2, 4 },
  ring_rows = { 64, 128, 256 },
  walk_rows = { 64, 128 },
  walk_tiles = { 2, 4, 8 },
  stationary_rows = { 64, 128 },
  product = require("projection/products").of("mla_q_absorb"),
}
