-- Values from the latent space: o[t, h] = W_UV[h] u[t, h]. What it is to projections: gen/projection/families.lua.
return {
  layout = "outputs",
  product = function(p) return { inner = p.rank, outer = p.v, heads = p.heads, layout = "outputs", norm = 0 } end,
}
