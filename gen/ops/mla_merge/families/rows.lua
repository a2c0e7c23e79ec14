-- A thread 16 bytes of each part, `depth` times over. Fields: gen/ops.lua.
local moves = require("moves")

local function regs(_, v) return { { "parts", 8 * v.depth }, { "sums", 4 * v.depth }, { "rest", 32 } } end

return moves.heads_family("mla_merge/rows", { "heads", "vdim", "dtype" }, "vdim", regs, function() return 2 end,
  { moves.long_rows })
