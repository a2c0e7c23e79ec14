-- Low-rank columns, through RMSNorm, to query heads. A projection: gen/projection/op.lua.
return require("projection/op")(require("ops/mla_q_b/product"))
