-- Values from the latent space: o[t, h] = W_UV[h] u[t, h]. A projection: gen/projection/op.lua.
return require("projection/op")(require("ops/mla_v_out/product"))
