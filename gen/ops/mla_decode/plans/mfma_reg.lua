-- Registers of mfma_reg beside those that it holds through its loop, and how many of its waves share a SIMD: for the template and
-- its family's table alike. `v` is the point, `isa` the target's facts.
local plan = {}

-- Addresses and temporaries.
function plan.rest(v) return v.schedule == "splits" and 64 or 80 end

-- Registers that the compiler takes above held and rest where it has them, as far as seen (docs/lab/tests.md).
function plan.slack(p, v, isa)
  local subs = v.tile // 16
  local slack = v.blocks * subs == 4 and 24 or 0 -- four S tiles at once
  if p.page_size % 16 ~= 0 then slack = slack + 8 * (v.blocks + subs - 2) end -- each lane has addresses of its own
  if isa.mfma.m16n16k32 and subs == 2 then slack = slack + 16 end -- V's operands of 32 tokens, and P's
  return slack
end

-- Waves of a SIMD. Four S tiles spill where two waves share it and slack does not fit (1 to 35 registers, seen); fewer never did.
function plan.occupancy(held, p, v, isa)
  local four = v.blocks * v.tile == 64
  return held + (four and plan.rest(v) + plan.slack(p, v, isa) or 64) <= 256 and 2 or 1
end

-- Registers of a cost: the parts that are held, to which it adds what is beside them.
function plan.regs(parts, p, v, isa)
  local held = 0
  for _, part in ipairs(parts) do held = held + part[2] end
  local rest, alone = plan.rest(v), plan.occupancy(held, p, v, isa) == 1
  parts[#parts + 1] = { "rest", rest }
  parts[#parts + 1] = { "a SIMD alone", alone and math.max(0, 264 - held - rest) or 0 } -- more than two waves could have
  return parts
end

return plan
