-- Values of all heads back to hidden states, the residual added on demand. A projection: gen/projection/op.lua.
return require("projection/op")(require("ops/mla_o_proj/product"))
