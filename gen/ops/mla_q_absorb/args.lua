-- The arguments of mla_q_absorb, those of all products: gen/projection/args.lua.
return require("projection/args")("mla_q_absorb", {
  about = "y [T, H, R+P] = (x[t,h,:N] W_UK[h], rope(x[t,h,N:])): queries into the latent space",
  input = "x [T, H, N+P], W_UK[h] [N, R]",
})
