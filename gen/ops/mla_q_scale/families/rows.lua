-- A thread 16 bytes of a query, `depth` times over. Fields: gen/ops.lua.
local function regs(_, v) return { { "queries", 4 * v.depth }, { "factors", v.depth }, { "rest", 32 } } end

return require("moves").heads_family("mla_q_scale/rows", { "heads", "qdim", "dtype" }, "qdim", regs, function() return 1 end, {})
