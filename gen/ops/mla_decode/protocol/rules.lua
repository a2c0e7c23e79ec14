-- Answers of the check of pipelined kernels (tests/models/protocol.lua) about the rings that plans make, as the space asks. A
-- check takes milliseconds, and a space has a hundred kernels, so known.lua beside has them, written by tools/protocol.lua; tests
-- compare both for every ring that plans make.
local known = require("ops/mla_decode/protocol/known")

local rules = {}

-- True if a ring, by a row of known.lua, is one that was looked at and found right.
local function right(row, boxes, ring, most)
  local refused = row and row[boxes]
  if not refused or ring <= boxes or ring > most * boxes then return false end
  return not (" " .. refused .. " "):find(" " .. ring .. " ", 1, true)
end

-- The stated reason why a kernel cannot be offered, or nil where the check found it right.
local function unless(is_right, words, ...)
  if is_right then return nil end
  return ("%s: refused by the check of its barriers, or not checked (lua5.4 tools/protocol.lua)"):format(words:format(...))
end

local RING = "ring of %d boxes, %d a tile"

-- Each returns the stated reason why the kernel of a plan cannot be offered, or nil.
function rules.sm90_few(plan, p, v)
  local row = known.sm90_few[("%s,rope=%d,wgs=%d"):format(v.load, p.rope > 0 and 1 or 0, v.wgs)]
  return unless((plan.ordered or v.wgs == 1) and right(row, plan.boxes, plan.ring, known.sm90_few.tiles), RING, plan.ring,
    plan.boxes)
end

-- gather: rows are copied one by one; plan.pairs: to two boxes at a time.
function rules.sm90_mid(plan, p, _, gather)
  local kind = plan.pairs and "pairs" or gather and "gather" or "boxes"
  local row = known.sm90_mid[("%s,rope=%d"):format(kind, p.rope > 0 and 1 or 0)]
  return unless(right(row, plan.boxes, plan.ring, known.sm90_mid.tiles), RING, plan.ring, plan.boxes)
end

for _, name in ipairs({ "sm90_many", "sm90_small_rank" }) do
  rules[name] = function(plan) return unless(known[name][plan.buffers], "%d buffers", plan.buffers) end
end
for _, name in ipairs({ "sm90_raw", "sm90_raw_mid" }) do
  rules[name] = function(plan) return unless(known[name][plan.ring], RING, plan.ring, 1) end
end

return rules
