-- Shapes of CDNA's combine kernel fused with the value projection (templates/mla_decode/combine_values_wave.hip.in).
local plan = {}

local WAVES, PASS, EACH = 8, 8, 32

-- each: columns of a head's values at a time. Waves share the sum of 16 columns, `ways` of them.
-- sums_at: sums of each wave, of a row and of a product. kinds_at: a word for each row.
function plan.make(rank, values)
  local m = { waves = WAVES, pass = PASS, threads = 64 * WAVES, each = EACH, ways = WAVES * 16 // EACH }
  m.vectors, m.depth = rank // 256, 8
  m.lines = rank // 64 // m.ways
  m.sums_at = PASS * rank * 2
  m.kinds_at = m.sums_at + WAVES * math.max(rank * 4, 1024)
  m.lds_bytes = m.kinds_at + PASS * 4
  if rank % 256 ~= 0 then m.refused = ("rank %d is not a multiple of 256"):format(rank)
  elseif values % EACH ~= 0 then m.refused = ("%d values are not a multiple of %d"):format(values, EACH) end
  return m
end

return plan
