-- Merges two partial attentions of the same queries by their log-sum-exp. The record: gen/ops.lua.
local function rows(p) return p.tokens * p.heads end

-- Bytes that a launch has to move: two parts in, one out, each with its sums. Trips: the parts, the stores.
local function bytes(p) return 3 * rows(p) * (2 * p.vdim + 4) end

return require("moves").op("merge", { depth = 1, threads = 64 }, bytes, 2, rows)
