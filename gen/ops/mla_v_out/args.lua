-- The arguments of mla_v_out, those of all products: gen/projection/args.lua.
return require("projection/args")("mla_v_out", {
  about = "y [T, H, V] = W_UV[h] x[t,h]: what attention gave to value heads",
  input = "x [T, H, R], W_UV[h] [V, R]",
})
