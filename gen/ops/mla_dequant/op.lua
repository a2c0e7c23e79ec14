-- Makes weights of 8 bits, with a scale for each 128 x 128, numbers of 16 bits. The record: gen/ops.lua.
local shape = require("ops/mla_dequant/shape")

local function rows(p) return p.w_rows end

-- Trips: weights beside scales, the stores.
return require("moves").op("dequant", { depth = 1, threads = 128 }, shape.bytes, 2, rows)
