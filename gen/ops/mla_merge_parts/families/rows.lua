-- A thread 16 bytes of each part, `depth` times over. Fields: gen/ops.lua.
local moves = require("moves")

-- Chunks of 16 bytes that a thread has in flight at most: 128 registers.
local CHUNKS_MOST = 32

local function regs(p, v)
  return { { "parts", 4 * p.parts * v.depth }, { "sums", p.parts * v.depth }, { "weights", p.parts }, { "rest", 40 } }
end

local function many_chunks(p, v)
  if v.depth * p.parts > CHUNKS_MOST then
    return ("%d chunks of each of %d parts are more than the %d that registers hold"):format(v.depth, p.parts, CHUNKS_MOST)
  end
end

return moves.heads_family("mla_merge_parts/rows", { "parts", "heads", "vdim", "dtype" }, "vdim", regs,
  function(p) return p.parts end, { moves.long_rows, many_chunks })
