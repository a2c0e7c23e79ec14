-- Queries into the latent space, rope columns turned: Qout[t, h] = (q_nope W_UK[h], rope(q_pe)).
-- A projection: gen/projection/op.lua.
return require("projection/op")(require("ops/mla_q_absorb/product"))
