-- Shared memory of the Hopper kernel, for its template and for its family. Bytes.
local slabs_of = require("ops/mla_prefill/plans/slabs")
local plan = {}

local MOST = 232448
local FACTS = 64 -- of a tile

-- Slabs of 64 columns, and of 32 and 16 where fewer are left; of 48 with positions three of 16, so that tensor maps are 8 at
-- most.
function plan.slabs(nope, rope)
  return slabs_of(nope, rope, function(left, source)
    return left >= 64 and 64 or left >= 32 and not (source == 2 and rope == 48) and 32 or 16
  end)
end

-- qk: columns, a multiple of 16; vdim: columns, a multiple of 64; keys: of a round.
function plan.make(qk, vdim, keys)
  local p = { q = 128 * 2 * qk, k = keys * 2 * qk, v = keys * 2 * vdim, o = 8 * 2048, stages = 2, told = 6 }
  local barriers = 2 * p.stages + 2 + p.told + 1 -- full and empty of each; V's tail
  p.bytes = p.q + p.o + p.stages * (p.k + p.v) + FACTS * p.told + 16 * barriers
  p.refused = p.bytes > MOST and ("%d bytes of shared memory"):format(p.bytes) or nil
  return p
end

return plan
