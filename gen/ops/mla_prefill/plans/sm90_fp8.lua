-- Shared memory of the Hopper kernel for inputs of 8 bits, for its template and for its family. Bytes.
local slabs_of = require("ops/mla_prefill/plans/slabs")
local plan = {}

local MOST = 232448
local FACTS = 64 -- of a tile

-- Rows of 128 bytes, and of 64 and 32 where fewer are left.
local function width_of(left) return left >= 128 and 128 or left >= 64 and 64 or 32 end

-- nope, rope: columns, multiples of 32; all: columns of V, a multiple of 16 up to 256, of which a tile has `vdim`, all or half of
-- them; keys: of a round; sums: O of the rounds before; raw: V's rows as they came, with what lies behind them.
function plan.make(nope, rope, all, keys)
  local qk, halves = nope + rope, all > 128 and 2 or 1
  local vdim = halves == 2 and (all // 2 + 15) // 16 * 16 or all
  local p = { halves = halves, vdim = vdim, q = 128 * qk, k = keys * qk, v = keys * vdim, raw = keys * 128,
    sums = 128 * vdim * 4, stages = 2, raws = 2, told = 6, slabs = slabs_of(nope, rope, width_of) }
  local barriers = 2 * p.stages + 2 + p.told + p.raws -- full and empty of each
  p.bytes = p.q + p.stages * (p.k + p.v) + p.raws * p.raw + p.sums + FACTS * p.told + 16 * barriers
  p.refused = p.bytes > MOST and ("%d bytes of shared memory"):format(p.bytes) or nil
  return p
end

return plan
