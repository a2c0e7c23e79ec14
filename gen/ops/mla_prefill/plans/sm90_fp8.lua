-- Shared memory of the Hopper kernel for inputs of 8 bits, for its template and for its family. Bytes.
local plan = {}

local MOST = 232448
local FACTS = 64 -- of a tile

-- Where columns of Q and K lie: slabs of rows of 128 bytes, or of 64 where no more are left of a source. `from`: the first column
-- of that source; `column`: of Q.
local function slabs_of(nope, rope)
  local list, column = {}, 0
  for source, all in ipairs({ nope, rope }) do
    for from = 0, all - 1, 128 do
      local width = math.min(128, all - from)
      list[#list + 1] = { source = source, from = from, column = column, width = width }
      column = column + width
    end
  end
  return list
end

-- nope, rope: columns, multiples of 64; vdim: 128; keys: of a round; sums: rounds until O goes to shared memory.
function plan.make(nope, rope, vdim, keys)
  local qk = nope + rope
  local p = { q = 128 * qk, k = keys * qk, v = keys * vdim, sums = 128 * vdim * 4, stages = 2, raws = 2, told = 6,
    slabs = slabs_of(nope, rope) }
  local barriers = 2 * p.stages + 2 + p.told + p.raws -- full and empty of each
  p.bytes = p.q + p.stages * (p.k + p.v) + p.raws * p.v + p.sums + FACTS * p.told + 16 * barriers
  p.refused = p.bytes > MOST and ("%d bytes of shared memory"):format(p.bytes) or nil
  return p
end

return plan
