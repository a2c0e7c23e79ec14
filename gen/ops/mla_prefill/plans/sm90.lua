-- Shared memory of the Hopper kernel, for its template and for its family. Bytes.
local plan = {}

local MOST = 232448
local FACTS = 64 -- of a tile

-- Where columns of Q and K lie: slabs of 64, and of 32 and 16 where fewer are left of a source; of 48 with positions three of 16,
-- so that tensor maps are 8 at most. `from`: the first column of that source; `column`: of Q.
function plan.slabs(nope, rope)
  local list, column = {}, 0
  for source, all in ipairs({ nope, rope }) do
    local from = 0
    while from < all do
      local left = all - from
      local width = left >= 64 and 64 or left >= 32 and not (source == 2 and all == 48) and 32 or 16
      list[#list + 1] = { source = source, from = from, column = column, width = width }
      from, column = from + width, column + width
    end
  end
  return list
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
