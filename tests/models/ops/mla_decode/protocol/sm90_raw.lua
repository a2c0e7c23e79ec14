-- The barriers between the threads of templates/mla_decode/sm90_raw.cu.in, for tests/models/protocol.lua. Functions here are
-- named as those of the template that they stand for. The producers' loop and the ends of pieces are those of
-- sm90_few.lua beside, which also says why two warps stand for four and the cases are enough.
local few = require("ops/mla_decode/protocol/sm90_few")
local shared = few.shared

local sm90_raw = {}

-- A kernel of a plan (gen/ops/mla_decode/plans/sm90_raw.lua) with its parameters.
function sm90_raw.of(plan, v)
  return { boxes = 1, ring = plan.ring, places = 1, wgs = plan.wgs, warps = 2, schedule = v.schedule,
    cluster = math.min(v.cluster, 2), rounds = 512 > plan.strip and 2 or 1, raises = 0, o_boxes = plan.short and 1,
    lists = plan.list > 0 and 2 or nil }
end

local PRODUCERS = { "1", "2" } -- both copy rows of every tile; the last one brings Q, too

-- v: as sm90_few's, of which a tile is one box; Q lies in one place, and comes through another.
local function block(m, v, id, ranges, cluster, whole)
  local x = shared.block(m, v, id, ranges, cluster, whole, PRODUCERS, #PRODUCERS)
  x.full_q, x.empty_q = x.barrier(1, "full_q"), x.barrier(v.wgs * v.warps, "empty_q")
  x.probs, x.p, x.raw_q, x.all_q = x.places("P"), x.places("row states"), x.places("Q as it came"), x.places("Q")
  x.q = { [0] = x.all_q[0] } -- where strips of O lie
  x.next, x.known = x.place("next facts"), x.place("facts")
  for a = 0, v.o_boxes and v.wgs * v.warps - 1 or -1 do
    for r = 1, v.cluster do x.land[a][r] = x.raw_q[a] end
  end
  return x
end

-- ---- Producer -----------------------------------------------------------------------------------------------------------
local function announce(x, a, k, none)
  a:wait(x.empty_q, k - 1, "announce()")
  a:write(x.next, k, "announce()")
  a:arrive(x.full_q, k, "announce()", none and 0 or #x.raw_q + 1)
  for w = 0, none and -1 or #x.raw_q do a:copy(x.full_q, k, "announce()", x.raw_q[w], k) end
end

local function bring(x, a, who, i)
  local s, n = i % x.v.ring, i // x.v.ring
  a:wait(x.empty[s], n - 1, "produce()")
  if who == 1 then a:write(x.bad[s], i, "produce()") end -- all who write it write the same
  a:arrive(x.full[s], n, "produce()", 1)
  a:copy(x.full[s], n, "bring()", x.slots[s][who], i)
end

local function make_barriers(x, a, who)
  if who == 1 then
    local list = {}
    for s = 0, x.v.ring - 1 do list[2 * s + 1], list[2 * s + 2] = x.full[s], x.empty[s] end
    return a:make(list, "make_barriers()")
  end
  a:make({ x.full_q, x.empty_q, x.ends, x.landed, x.met }, "make_barriers()")
  if x.v.cluster > 1 then a:arrive(x.ends, 0, "make_barriers()", x.v.cluster) end
end

-- ---- Math ---------------------------------------------------------------------------------------------------------------
local function take_q(x, a, k, math_id)
  a:read(x.next, k, "attend()")
  for w = 0, #x.raw_q do a:read(x.raw_q[w], k, "take_q()") end
  a:write(x.all_q[math_id], k, "take_q()")
  if math_id == 0 then a:write(x.known, k, "attend()") end
  a:arrive(x.empty_q, k, "attend()")
  a:sync(x.all, "attend()")
end

local function read_tile(x, a, i, what)
  for _, place in ipairs(x.slots[i % x.v.ring]) do a:read(place, i, what) end
end

-- Tile t of a range, the i-th of all.
local function tile(x, a, k, t, tiles, i, math_id)
  local v, group = x.v, math_id // x.v.warps
  local mine, ours, s, n = group * v.warps, (group + 1) * v.warps - 1, i % v.ring, i // v.ring
  local function read_all(places, version, what)
    for w = mine, ours do a:read(places[w], version, what) end
  end
  if t > 0 then a:sync(x.order[group], "compute(), tiles in order") end
  a:wait(x.full[s], n, "compute()")
  if t + 1 < tiles then a:pass(x.order[1 - group], "compute(), tiles in order") end
  if t == tiles - 1 then
    a:write(x.zeros[math_id], i, "clear_rows()")
    a:sync(x.group[group], "clear_rows()")
    read_all(x.zeros, i, "scores()")
  end
  a:read(x.bad[s], i, "compute()")
  read_tile(x, a, i, "scores()")
  for w = 0, v.wgs * v.warps - 1 do a:read(x.all_q[w], k, "scores()") end
  a:write(x.probs[math_id], i, "store_p()")
  a:sync(x.group[group], "compute(), named_any()")
  if v.raises > 0 and t % v.raises == 0 then
    a:write(x.tops[math_id], i, "raise()")
    a:sync(x.group[group], "raise()")
    read_all(x.tops, i, "raise()")
    a:write(x.probs[math_id], i, "store_p()")
    a:sync(x.group[group], "compute(), P")
  end
  read_tile(x, a, i, "multiply_v()")
  read_all(x.probs, i, "multiply_v()")
  a:arrive(x.empty[s], n, "compute()")
end

local function attend(x, a, math_id, blocks)
  local v, first = x.v, 0
  a:sync(x.there, "kernel")
  for k = 0, #x.ranges do
    local range = x.ranges[k + 1]
    a:wait(x.full_q, k, "attend()")
    if range then
      take_q(x, a, k, math_id)
    else
      a:read(x.next, k, "attend()")
    end
    if v.cluster > 1 and k == 0 then
      a:pass(x.cluster, "attend()")
      if not (range and x.whole) then a:meet(x.cluster, "attend()") end
    end
    if not range then return end
    a:read(x.known, k, "attend()")
    for t = math_id // v.warps, range.tiles - 1, v.wgs do tile(x, a, k, t, range.tiles, first + t, math_id) end
    first = first + range.tiles
    shared.end_range(x, a, k, math_id, blocks)
    if x.whole then return end
    if range.publish and math_id == 0 then a:pass(x.word, "meet_publish()") end
  end
end

local KERNEL = { block = block, producers = PRODUCERS, make_barriers = make_barriers, announce = announce, bring = bring,
  attend = attend }

-- blocks: as sm90_few.model() has them.
function sm90_raw.model(v, blocks) return shared.model(KERNEL, v, blocks) end

sm90_raw.cases = few.cases

return sm90_raw
