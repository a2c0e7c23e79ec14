-- Hidden states to the low-rank columns of queries, and the latent row. A projection: gen/projection/op.lua.
return require("projection/op")(require("ops/mla_qkv_a/product"))
