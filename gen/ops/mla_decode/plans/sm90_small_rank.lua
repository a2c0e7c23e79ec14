-- Shared memory of the Hopper kernel for 128 rows a block, for its template and for its family. Byte offsets.
local plan = {}

local SLICE = 8192 -- 64 rows x 64 columns x 2 bytes
local MOST = 232448
local FACTS, BARRIERS_BEHIND = 64, 4

function plan.make(rank, rope)
  local slices = rank // 64
  local buffer, q = slices * SLICE + 128 * rope, slices * 2 * SLICE -- Q's rope is kept in registers
  local p = { buffer = buffer }
  p.buffers = math.min(8, (MOST - q - FACTS - 8 * BARRIERS_BEHIND) // (buffer + 16))
  p.q_at = p.buffers * buffer
  p.facts_at = p.q_at + q
  p.bars_at = p.facts_at + FACTS
  p.bytes = p.bars_at + 8 * (2 * p.buffers + BARRIERS_BEHIND)
  return p
end

return plan
