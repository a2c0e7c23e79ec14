-- Scales the queries of each token by its position. The record: gen/ops.lua.
local function rows(p) return p.tokens * p.heads end

-- Bytes that a launch has to move: queries in and out, positions. Trips: positions, queries, the stores.
local function bytes(p) return p.tokens * (4 * p.heads * p.qdim + 8) end

return require("moves").op("scale", { depth = 1, threads = 64 }, bytes, 3, rows)
