-- The arguments of mla_o_proj, those of all products: gen/projection/args.lua.
return require("projection/args")("mla_o_proj", {
  about = "y [T, d] = W_o x[t] + residual[t]: value heads to hidden states",
  input = "x [T, H V]; the residual where the problem says so",
})
