-- Shared memory of the Hopper kernel, for its template and for its family. Bytes.
local plan = {}

local MOST = 232448
local FACTS = 64 -- of a tile

-- qk, vdim: columns, multiples of 64; keys: of a round.
function plan.make(qk, vdim, keys)
  local p = { q = 128 * 2 * qk, k = keys * 2 * qk, v = keys * 2 * vdim, stages = 2, told = 3 }
  p.bytes = p.q + p.stages * (p.k + p.v) + FACTS * p.told + 16 * (2 * p.stages + 2 + p.told) -- full and empty of each
  p.refused = p.bytes > MOST and ("%d bytes of shared memory"):format(p.bytes) or nil
  return p
end

return plan
