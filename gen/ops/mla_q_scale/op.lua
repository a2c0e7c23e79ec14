-- Scales the queries of each token by its position. The record: gen/ops.lua.
local shape = require("ops/mla_q_scale/shape")

local function rows(p) return p.tokens * p.heads end

-- Trips: positions, queries, the stores.
return require("moves").op("scale", { depth = 1, threads = 64 }, shape.bytes, 3, rows)
