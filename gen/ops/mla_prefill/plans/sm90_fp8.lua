-- Shared memory of the Hopper kernel for inputs of 8 bits, for its template and for its family. Bytes.
local plan = {}

local MOST = 232448
local FACTS = 64 -- of a tile

-- Where columns of Q and K lie: slabs of rows of 128 bytes, and of 64 and 32 where fewer are left of a source. `from`: the first
-- column of that source; `column`: of Q.
local function slabs_of(nope, rope)
  local list, column = {}, 0
  for source, all in ipairs({ nope, rope }) do
    local from = 0
    while from < all do
      local left = all - from
      local width = left >= 128 and 128 or left >= 64 and 64 or 32
      list[#list + 1] = { source = source, from = from, column = column, width = width }
      from, column = from + width, column + width
    end
  end
  return list
end

-- nope, rope: columns, multiples of 32; vdim: a multiple of 16 up to 128; keys: of a round; sums: O of the rounds before; raw:
-- V's rows as they came, with what lies behind them.
function plan.make(nope, rope, vdim, keys)
  local qk = nope + rope
  local p = { q = 128 * qk, k = keys * qk, v = keys * vdim, raw = keys * 128, sums = 128 * vdim * 4, stages = 2, raws = 2,
    told = 6, slabs = slabs_of(nope, rope) }
  local barriers = 2 * p.stages + 2 + p.told + p.raws -- full and empty of each
  p.bytes = p.q + p.stages * (p.k + p.v) + p.raws * p.raw + p.sums + FACTS * p.told + 16 * barriers
  p.refused = p.bytes > MOST and ("%d bytes of shared memory"):format(p.bytes) or nil
  return p
end

return plan
