-- Appends keys to the indexer's cache and quantises its queries, in one launch. The record: gen/ops.lua.
local shape = require("ops/mla_index_append/shape")

local function rows(p) return p.tokens * (1 + p.heads) end

-- Trips: position and row, angles, the stores.
return require("moves").op("append", { threads = 64 }, shape.bytes, 3, rows)
