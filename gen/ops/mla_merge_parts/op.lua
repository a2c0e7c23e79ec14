-- Merges the attentions of the same queries over N shards of a context by their log-sum-exp. The record: gen/ops.lua.
local shape = require("ops/mla_merge_parts/shape")

local function rows(p) return p.tokens * p.heads end

return require("moves").op("merge", { depth = 1, threads = 64 }, shape.bytes, 2, rows) -- trips: the parts, the stores
