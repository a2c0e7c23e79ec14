-- What the space asks: whether the check (gen/protocol.lua) refuses the kernel of a plan. A space has a hundred kernels and a
-- check takes milliseconds, so what it says of the rings that plans make is written down (gen/protocol/known.lua, by
-- tools/protocol.lua; tests compare); anything else is checked when it is asked for, once.
local loader = ...
local protocol = require("protocol")
local known = require("protocol/known")

local rules = {}

local said = {} -- text of v -> reason, or false

-- Runs the check of a kernel's parameters v, once. Its model is loaded only then.
local function ask(name, v, size)
  local key = { name }
  for field, value in sorted(v) do key[#key + 1] = field .. "=" .. tostring(value) end
  local text = table.concat(key, " ")
  if said[text] == nil then
    local found = protocol.first(loader.require("protocol/" .. name), v)
    said[text] = found and ("%s: %s"):format(size, found.text) or false
  end
  return said[text] or nil
end

-- Of a row of known.lua: whether a ring is one that was looked at and found right.
local function right(row, boxes, ring, most)
  local refused = row and row[boxes]
  if not refused or ring <= boxes or ring > most * boxes then return false end
  return not (" " .. refused .. " "):find(" " .. ring .. " ", 1, true)
end

local function words(plan) return ("ring of %d boxes, %d a tile"):format(plan.ring, plan.boxes) end

-- Each returns the stated reason why the kernel of a plan cannot be offered, or nil.
function rules.hopt(plan, p, v)
  local row = known.hopt[("%s,rope=%d,wgs=%d"):format(v.load, p.rope > 0 and 1 or 0, v.wgs)]
  if (plan.ordered or v.wgs == 1) and right(row, plan.boxes, plan.ring, known.hopt.tiles) then return nil end
  local of = loader.require("protocol/hopt").of(plan,
    { rope = p.rope, wgs = v.wgs, cluster = v.cluster, schedule = v.schedule, load = v.load })
  return ask("hopt", of, words(plan))
end

-- gather: rows are copied one by one.
function rules.hopp(plan, p, v, gather)
  local row = known.hopp[("gather=%d,rope=%d"):format(gather and 1 or 0, p.rope > 0 and 1 or 0)]
  if right(row, plan.boxes, plan.ring, known.hopp.tiles) then return nil end
  return ask("hopp", loader.require("protocol/hopp").of(plan, { rope = p.rope, schedule = v.schedule, gather = gather }),
    words(plan))
end

function rules.hop(plan, p, v, gather)
  if known.hop[plan.buffers] then return nil end
  local of = loader.require("protocol/hop").of(plan, { rank = p.rank, rope = p.rope, cluster = v.cluster, schedule = v.schedule,
    gather = gather })
  return ask("hop", of, ("%d buffers"):format(plan.buffers))
end

function rules.hopw(plan, _, v)
  if known.hopw[plan.buffers] then return nil end
  return ask("hopw", loader.require("protocol/hopw").of(plan, { schedule = v.schedule }), ("%d buffers"):format(plan.buffers))
end

return rules
