-- The space asks whether the check (gen/protocol.lua) refuses the kernel of a plan. A space has a hundred kernels and a
-- check takes milliseconds, so what it says of the rings that plans make is written down (gen/ops/mla_decode/protocol/known.lua,
-- by tools/protocol.lua; tests compare); anything else is checked when it is asked for, once.
local loader = ...
local protocol = require("protocol")
local known = require("ops/mla_decode/protocol/known")

local rules = {}

local said = {} -- text of v -> reason, or false

-- Runs the check of a kernel's parameters v, once. Its model is loaded only then.
local function ask(name, v, size)
  local key = { name }
  for field, value in sorted(v) do key[#key + 1] = field .. "=" .. tostring(value) end
  local text = table.concat(key, " ")
  if said[text] == nil then
    local found = protocol.first(loader.require("ops/mla_decode/protocol/" .. name), v)
    said[text] = found and ("%s: %s"):format(size, found.text) or false
  end
  return said[text] or nil
end

-- True if a ring, by a row of known.lua, is one that was looked at and found right.
local function right(row, boxes, ring, most)
  local refused = row and row[boxes]
  if not refused or ring <= boxes or ring > most * boxes then return false end
  return not (" " .. refused .. " "):find(" " .. ring .. " ", 1, true)
end

local function words(plan) return ("ring of %d boxes, %d a tile"):format(plan.ring, plan.boxes) end

-- Each returns the stated reason why the kernel of a plan cannot be offered, or nil.
function rules.sm90_few(plan, p, v)
  local row = known.sm90_few[("%s,rope=%d,wgs=%d"):format(v.load, p.rope > 0 and 1 or 0, v.wgs)]
  if (plan.ordered or v.wgs == 1) and right(row, plan.boxes, plan.ring, known.sm90_few.tiles) then return nil end
  local of = loader.require("ops/mla_decode/protocol/sm90_few").of(plan,
    { rope = p.rope, wgs = v.wgs, cluster = v.cluster, schedule = v.schedule, load = v.load })
  return ask("sm90_few", of, words(plan))
end

-- gather: rows are copied one by one; plan.pairs: to two boxes at a time.
function rules.sm90_mid(plan, p, v, gather)
  local kind = plan.pairs and "pairs" or gather and "gather" or "boxes"
  local row = known.sm90_mid[("%s,rope=%d"):format(kind, p.rope > 0 and 1 or 0)]
  if right(row, plan.boxes, plan.ring, known.sm90_mid.tiles) then return nil end
  return ask("sm90_mid", loader.require("ops/mla_decode/protocol/sm90_mid").of(plan, { rope = p.rope, schedule = v.schedule,
    gather = gather }),
    words(plan))
end

function rules.sm90_many(plan, p, v, gather)
  if known.sm90_many[plan.buffers] then return nil end
  local of = loader.require("ops/mla_decode/protocol/sm90_many").of(plan, { rank = p.rank, rope = p.rope, cluster = v.cluster,
    schedule = v.schedule,
    gather = gather })
  return ask("sm90_many", of, ("%d buffers"):format(plan.buffers))
end

function rules.sm90_small_rank(plan, _, v)
  if known.sm90_small_rank[plan.buffers] then return nil end
  return ask("sm90_small_rank", loader.require("ops/mla_decode/protocol/sm90_small_rank").of(plan, { schedule = v.schedule }),
    ("%d buffers"):format(plan.buffers))
end

function rules.sm90_raw(plan, v)
  if known.sm90_raw[plan.ring] then return nil end
  local of = loader.require("ops/mla_decode/protocol/sm90_raw").of(plan, { cluster = v.cluster, schedule = v.schedule })
  return ask("sm90_raw", of, words({ ring = plan.ring, boxes = 1 }))
end

function rules.sm90_raw_mid(plan, v)
  if known.sm90_raw_mid[plan.ring] then return nil end
  local of = loader.require("ops/mla_decode/protocol/sm90_raw_mid").of(plan, v)
  return ask("sm90_raw_mid", of, words({ ring = plan.ring, boxes = 1 }))
end

return rules
