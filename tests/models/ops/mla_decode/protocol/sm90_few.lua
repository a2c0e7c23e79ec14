-- The barriers between the threads of templates/mla_decode/sm90_few.cu.in, for tests/models/protocol.lua. Functions here
-- are named as those of the template that they stand for.
--
-- Two warps stand for the four of a warpgroup: all four run one program, every finding is about two steps, and whether one is
-- before the other among four is the same as among two (send all warps but the one of the first step to the second).
local protocol = require("protocol")
local index_list = require("ops/mla_decode/protocol/index_list")

local sm90_few = {}

-- A kernel of a plan (gen/ops/mla_decode/plans/sm90_few.lua) with its parameters. Of a cluster two blocks stand for all, as two
-- warps do.
function sm90_few.of(plan, v)
  local values = plan.boxes - (v.rope > 0 and 1 or 0)
  return { boxes = plan.boxes, ring = plan.ring, places = plan.places, ordered = plan.ordered, rope = v.rope, wgs = v.wgs,
    schedule = v.schedule, cluster = math.min(v.cluster, 2), load = v.load, rotate = v.rotate, ahead = v.ahead,
    turns = v.schedule == "fitted" and v.load == "tma" and v.cluster == 1 and not v.ahead and not v.rotate,
    rounds = 64 * values > plan.strip and 2 or 1, raises = 0, warps = 2, o_boxes = plan.short and plan.o_boxes,
    lists = plan.list > 0 and 2 or nil }
end

local PRODUCERS = { tma = { "0", "1", "2", "3" }, gather = { "0", "1", "3" } } -- gather: 0 and 1 stand for the equal warps 0 to 2

-- ---- A block ------------------------------------------------------------------------------------------------------------
-- v: boxes, ring, rope (0: none), wgs, places, schedule, cluster, load, ordered; rounds: trips of O through Q's place; raises: a
-- maximum rises at each so manieth tile (0: never); rotate: the rope box is rotated before it is multiplied; ahead: it is
-- sm90_few_ahead, whose first Q math brings; turns: a block takes several whole requests; o_boxes: whole requests end by
-- end_whole(), each warpgroup's O in so many boxes; warps: that stand for a warpgroup's four; lists: whole requests are index
-- lists, whose table is filled anew at each so manieth tile (nil: they are not). sm90_few.of() fills it in.
-- Barriers and places that this kernel shares with sm90_raw. producers: names; copiers: that fill a slot of the ring together.
local function block_of(m, v, id, ranges, cluster, whole, producers, copiers)
  local x = { v = v, id = id, ranges = ranges, cluster = cluster, producers = producers, whole = whole,
    c = whole and v.cluster or 1, full = {}, empty = {}, slots = {}, bad = {}, group = {}, order = {}, land = {}, state = {} }
  local n_math = v.wgs * v.warps
  local function name(text, ...) return ("block %d: "):format(id) .. text:format(...) end
  function x.place(...) return m:place(name(...)) end
  function x.barrier(count, ...) return m:barrier(name(...), count, id) end
  function x.places(text) -- one for each warp of math
    local out = {}
    for a = 0, n_math - 1 do out[a] = x.place("%s, warp %d.%d", text, a // v.warps, a % v.warps) end
    return out
  end
  for s = 0, v.ring - 1 do
    x.full[s], x.empty[s] = x.barrier(copiers, "full[%d]", s), x.barrier(v.warps, "empty[%d]", s)
    x.slots[s], x.bad[s] = {}, x.place("BAD[%d]", s)
    for k = 1, copiers do x.slots[s][k] = x.place("slot %d", s) end
  end
  x.ends, x.landed, x.met = x.barrier(1, "ENDS"), x.barrier(1, "ENDS + 8"), x.barrier(1, "MET")
  x.word, x.made = m:named(name("word"), 1), m:named(name("named 4"), #producers)
  x.there, x.all = m:named(name("named 5"), #producers + n_math), m:named(name("named 3"), n_math)
  for g = 0, v.wgs - 1 do
    x.group[g] = m:named(name("named %d", 1 + g), v.warps)
    x.order[g] = m:named(name("order of warpgroup %d", g), 2 * v.warps)
  end
  x.tops, x.zeros, x.o, x.piece = x.places("tops"), x.places("zeros"), x.places("O"), x.places("published O")
  x.factor = x.place("factors")
  index_list.add_places(x, #producers, x.place)
  for a = 0, n_math - 1 do x.land[a] = {} end
  for r = 1, v.cluster do
    x.state[r] = x.place("states of block %d", r)
    for a = 0, n_math - 1 do x.land[a][r] = x.place("O of block %d for warp %d.%d", r, a // v.warps, a % v.warps) end
  end
  return x
end

local function block(m, v, id, ranges, cluster, whole)
  local producers = PRODUCERS[v.load]
  local x = block_of(m, v, id, ranges, cluster, whole, producers, v.load == "tma" and 1 or #producers)
  x.full_q, x.empty_q, x.q, x.facts = {}, {}, {}, {}
  for k = 0, v.places - 1 do
    x.full_q[k], x.empty_q[k] = x.barrier(1, "full_q[%d]", k), x.barrier(v.wgs * v.warps, "empty_q[%d]", k)
    x.q[k], x.facts[k] = x.place("Q %d", k), x.place("facts %d", k)
  end
  x.p, x.brought = x.places("P"), v.ahead and x.places("Q 0")
  return x
end

local function slot_of(x, i) return i % x.v.ring, i // x.v.ring end

-- ---- Producer -----------------------------------------------------------------------------------------------------------
local function announce(x, a, k, none)
  local place, n = k % x.v.places, k // x.v.places
  local brought = x.v.ahead and k == 0
  a:wait(x.empty_q[place], n - 1, "announce()")
  a:write(x.facts[place], k, "announce()")
  a:arrive(x.full_q[place], n, "announce()", (none or brought) and 0 or 1)
  if not (none or brought) then a:copy(x.full_q[place], n, "announce()", x.q[place], k) end
end

local function send_box(x, a, who, i, b)
  if x.v.load ~= "gather" and b % 4 ~= who - 1 then return end
  local s, n = slot_of(x, i)
  a:wait(x.empty[s], n - 1, "produce()")
  if b == 0 and who == 1 then a:write(x.bad[s], i, "produce()") end -- gather: all who write it write the same
  a:arrive(x.full[s], n, "produce()", 1)
  a:copy(x.full[s], n, "produce()", x.slots[s][x.v.load == "tma" and 1 or who], i)
end

-- kernel: announce(), and bring(), which may copy box b of a tile, the i-th of all.
local function produce(kernel, x, a, who, blocks)
  local last, from, lists = who == #x.producers, 0, x.whole and x.v.lists
  for k = 0, #x.ranges do
    local range = x.ranges[k + 1]
    if x.v.ahead and k == 0 then a:sync(x.there, "produce()") end
    if lists and k == 0 then index_list.begin(x, a, who) end
    if last then kernel.announce(x, a, k, not range) end
    if not range then return end
    for i = from, from + range.tiles * x.v.boxes - 1 do
      local b = (i - from) % x.v.boxes
      if lists and b == 0 then index_list.refill(x, a, who, (i - from) // x.v.boxes) end
      kernel.bring(x, a, who, i, b)
    end
    from = from + range.tiles * x.v.boxes
    if last and range.others then -- meet()
      for _, part in ipairs(range.others) do a:meet_word(blocks[part].word, "meet()") end
      a:arrive(x.met, 0, "meet()")
    end
    if x.whole and not x.v.turns then return end
  end
end

-- Run by one thread of each of three loaders' warps; ahead: by one of math; who gathers or rotates: by many of one warp and
-- the last.
local function make_barriers(x, a, warp)
  local full, empty, rest, one = {}, {}, { x.ends, x.landed, x.met }, x.v.ahead
  local many = x.v.load == "gather" or x.v.rotate
  for s = 0, x.v.ring - 1 do full[s + 1], empty[s + 1] = x.full[s], x.empty[s] end
  for k = 0, x.v.places - 1 do rest[#rest + 1], rest[#rest + 2] = x.full_q[k], x.empty_q[k] end
  if one or warp == 1 then a:make(full, "make_barriers()") end
  if one or warp == (many and 1 or 2) then a:make(empty, "make_barriers()") end
  if not one and warp ~= (many and #x.producers or 3) then return end
  a:make(rest, "make_barriers()")
  if x.v.cluster > 1 then a:arrive(x.ends, 0, "make_barriers()", x.v.cluster) end
end

local function producer(kernel, x, a, who, blocks)
  if not x.v.ahead then kernel.make_barriers(x, a, who) end
  if x.v.cluster > 1 then a:pass(x.cluster, "kernel") end
  if not x.v.ahead then
    a:sync(x.made, "kernel")
    a:pass(x.there, "kernel")
  end
  produce(kernel, x, a, who, blocks)
  if x.v.cluster > 1 then a:meet(x.cluster, "kernel") end
end

-- ---- Math ---------------------------------------------------------------------------------------------------------------
local function read_box(x, a, i, what)
  for _, place in ipairs(x.slots[i % x.v.ring]) do a:read(place, i, what) end
end

-- tell: the other warpgroup may wait for the next tile's boxes. The last products are not through then.
local function scores(x, a, k, first, group, tell)
  for i = first, first + x.v.boxes - 1 do
    local s, n = slot_of(x, i)
    a:wait(x.full[s], n, "scores()")
    if tell and i == first + x.v.boxes - 1 then a:pass(x.order[1 - group], "scores(), tiles in order") end
    read_box(x, a, i, "scores()")
    if x.v.rotate and i == first + x.v.boxes - 1 then -- in place, by all warps, each of all boxes' rows
      a:sync(x.group[group], "scores(), rotated")
      read_box(x, a, i, "scores()")
    end
  end
  if x.v.ahead and k == 0 then
    for w = 0, x.v.wgs * x.v.warps - 1 do a:read(x.brought[w], k, "scores()") end
  else
    a:read(x.q[k % x.v.places], k, "scores()")
  end
end

-- Pairs of boxes: each is given back once the next is under way.
local function multiply_v(x, a, group, first)
  local values = x.v.boxes - (x.v.rope > 0 and 1 or 0)
  for i = 0, values - 1, 2 do
    local pair = math.min(2, values - i)
    for j = i, i + pair - 1 do read_box(x, a, first + j, "multiply_v()") end
    if i + 2 >= values then -- the last products read P to the end
      for w = group * x.v.warps, (group + 1) * x.v.warps - 1 do a:read(x.p[w], first, "multiply_v()") end
    end
    for j = i, i + pair - 1 do
      local s, n = slot_of(x, first + j)
      a:arrive(x.empty[s], n, "multiply_v()")
    end
  end
end

local function tile(x, a, k, t, tiles, first, math_id)
  local v, group = x.v, math_id // x.v.warps
  local mine, ours = group * v.warps, (group + 1) * v.warps - 1
  local ordered = v.ordered and v.wgs == 2
  if ordered and t > 0 then a:sync(x.order[group], "compute(), tiles in order") end
  scores(x, a, k, first, group, ordered and t + 1 < tiles)
  a:read(x.bad[first % v.ring], first, "compute()")
  if v.rope > 0 then
    local s, n = slot_of(x, first + v.boxes - 1)
    a:arrive(x.empty[s], n, "compute(), rope")
  end
  if t == tiles - 1 then a:write(x.zeros[math_id], first, "clear_rows()") end
  a:sync(x.group[group], "compute(), named_any()")
  if v.raises > 0 and t % v.raises == 0 then
    a:write(x.tops[math_id], first, "raise()")
    a:sync(x.group[group], "raise()")
    for w = mine, ours do a:read(x.tops[w], first, "raise()") end
  end
  a:write(x.p[math_id], first, "store_p()")
  a:sync(x.group[group], "compute(), P")
  if t == tiles - 1 then
    for w = mine, ours do a:read(x.zeros[w], first, "multiply_v()") end
  end
  multiply_v(x, a, group, first)
end

local function merge_states(x, a, k, math_id, blocks)
  local v, n_math = x.v, x.v.wgs * x.v.warps
  a:sync(x.group[math_id // v.warps], "merge_states()")
  a:write(x.p[math_id], "parts " .. k, "merge_states()") -- PARTS_AT is P's place
  a:sync(x.all, "merge_states()")
  if x.c > 1 then a:meet(x.cluster, "merge_states()") end
  for w = 0, n_math - 1 do a:read(x.p[w], "parts " .. k, "merge_states()") end
  if x.c == 1 then
    if math_id == 0 then a:write(x.state[1], k, "merge_states()") end
    return
  end
  for r = 1, x.c do
    if r % n_math == math_id then a:copy(blocks[r].ends, 0, "merge_states()", blocks[r].state[x.id], k) end
  end
end

-- True if range k is a whole request behind which the block has none: it ends through the ring.
local function ends(x, k) return x.whole and (not x.v.turns or k == #x.ranges - 1) end

-- O of all warpgroups to `under`, the places that lie there, each rewritten by one warp.
local function gather_o(x, a, name, math_id, under)
  local v, n_math = x.v, x.v.wgs * x.v.warps
  for i, place in ipairs(under) do
    if i % n_math == math_id then a:write(place, name, "gather_o()") end
  end
  a:write(x.o[math_id], "half of " .. name, "gather_o()")
  if v.wgs == 2 then
    a:sync(x.all, "gather_o()")
    local other = (math_id + v.warps) % n_math
    a:read(x.o[other], "half of " .. name, "gather_o()")
    a:write(x.o[other], name, "gather_o()")
  else
    a:write(x.o[math_id], name, "gather_o()")
  end
end

local function read_o(x, a, name, under, what)
  for w = 0, x.v.wgs * x.v.warps - 1 do a:read(x.o[w], name, what) end
  for _, place in ipairs(under) do a:read(place, name, what) end
end

-- The ring from its begin on, in whose place O lies at the end.
local function ring_places(x)
  local out = {}
  for s = 0, x.v.ring - 1 do
    for _, place in ipairs(x.slots[s]) do out[#out + 1] = place end
  end
  return out
end

local function exchange(x, a, k, math_id, blocks, name)
  local v, n_math = x.v, x.v.wgs * x.v.warps
  if math_id == 0 then a:arrive(x.landed, 0, "exchange()", (v.cluster - 1) * n_math) end
  read_o(x, a, name, {}, "exchange()")
  for r = 1, v.cluster do
    if r ~= x.id then a:copy(blocks[r].landed, 0, "exchange()", blocks[r].land[math_id][x.id], k) end
  end
  a:wait(x.landed, 0, "exchange()")
  for r = 1, v.cluster do
    if r ~= x.id then a:read(x.land[math_id][r], k, "write_o()") end
  end
end

-- The places of piece k's Q, where O lies at the end of one that is not the block's last.
local function q_places(x, k)
  local out = { x.q[k % x.v.places] }
  for a = 0, x.v.ahead and k % x.v.places == 0 and x.v.wgs * x.v.warps - 1 or -1 do out[#out + 1] = x.brought[a] end
  return out
end

local function finish(x, a, k, math_id, blocks)
  local v, walks = x.v, not ends(x, k)
  local under = walks and q_places(x, k) or ring_places(x)
  for round = 1, walks and v.rounds or 1 do
    local name = ("O %d.%d"):format(k, round)
    gather_o(x, a, name, math_id, under)
    if x.c > 1 then a:wait(x.ends, 0, "finish()") end
    if round == 1 and math_id == 0 then -- weigh()
      for r = 1, x.c do a:read(x.state[r], k, "weigh()") end
      a:write(x.factor, k, "weigh()")
    end
    a:sync(x.all, "finish()")
    if x.c > 1 then exchange(x, a, k, math_id, blocks, name) end
    a:read(x.factor, k, "write_o()")
    read_o(x, a, name, under, "write_o()")
    if x.ranges[k + 1].publish and round == v.rounds then a:write(x.piece[math_id], x.id, "write_o()") end
    if walks then a:sync(x.all, "finish()") end
  end
end

-- A range that began in an earlier part, the walk's last, where no combine kernel comes: through the ring.
local function finish_last(x, a, k, math_id, blocks)
  local range, under = x.ranges[k + 1], ring_places(x)
  gather_o(x, a, "O " .. k, math_id, under)
  a:sync(x.all, "finish_last()")
  if range.others then a:wait(x.met, 0, "finish_last()") end
  a:read(x.state[1], k, "finish_last()")
  read_o(x, a, "O " .. k, under, "finish_last()")
  for _, part in ipairs(range.others or {}) do
    for w = 0, x.v.wgs * x.v.warps - 1 do a:read(blocks[part].piece[w], part, "finish_last()") end
  end
  if range.publish then a:write(x.piece[math_id], x.id, "finish_last()") end
  a:sync(x.all, "finish_last()")
end

-- The first of the boxes in whose place warpgroup g's O lies; first: the number of the piece's first box.
local function box_of_o(x, first, tiles, g)
  local v, t = x.v, tiles > g and g + (tiles - 1 - g) // 2 * 2 or g
  local slot = (first + t * v.boxes) % v.ring
  return v.ring - slot >= v.o_boxes and slot or 0
end
local function boxes_of_o(x, first, tiles, g)
  local begin, out = box_of_o(x, first, tiles, g), {}
  for s = begin, begin + x.v.o_boxes - 1 do table.move(x.slots[s], 1, #x.slots[s], #out + 1, out) end
  return out
end
local function put_whole(x, a, k, math_id, first)
  local group, tiles = math_id // x.v.warps, x.ranges[k + 1].tiles
  a:sync(x.group[group], "put_whole()")
  a:write(x.p[math_id], "parts " .. k, "put_whole()")
  for i, place in ipairs(boxes_of_o(x, first, tiles, group)) do
    if i % x.v.warps == math_id % x.v.warps then a:write(place, "O " .. group, "put_whole()") end
  end
  a:write(x.o[math_id], "O " .. group, "put_whole()")
  a:sync(x.all, "put_whole()")
end
local function read_whole(x, a, k, first, what)
  for w = 0, x.v.wgs * x.v.warps - 1 do a:read(x.o[w], "O " .. w // x.v.warps, what) end
  for g = 0, 1 do
    for _, place in ipairs(boxes_of_o(x, first, x.ranges[k + 1].tiles, g)) do a:read(place, "O " .. g, what) end
  end
end
local function read_parts(x, a, k)
  for w = 0, x.v.wgs * x.v.warps - 1 do a:read(x.p[w], "parts " .. k, "whole_row_of()") end
end

-- The data that another block sends lie where a second Q would, which a whole request has not.
local function end_whole(x, a, k, math_id, blocks, first)
  local other, n_math = blocks[3 - x.id], x.v.wgs * x.v.warps
  put_whole(x, a, k, math_id, first)
  if x.c > 1 then
    a:meet(x.cluster, "end_whole()")
    if math_id == 0 then a:arrive(x.landed, 0, "end_whole()", n_math + 1) end
  end
  read_parts(x, a, k)
  read_whole(x, a, k, first, "end_whole()")
  if x.c == 1 then return end
  a:copy(other.landed, 0, "end_whole()", other.land[math_id][x.id], k)
  if math_id == 0 then a:copy(other.landed, 0, "end_whole()", other.state[x.id], k) end
  a:wait(x.landed, 0, "end_whole()")
  a:read(x.land[math_id][other.id], k, "end_whole()")
  a:read(x.state[other.id], k, "end_whole()")
end

-- first: the number of the range's first box, where a block has several whole requests.
local function end_range(x, a, k, math_id, blocks, first)
  if ends(x, k) and x.v.o_boxes then return end_whole(x, a, k, math_id, blocks, first or 0) end
  merge_states(x, a, k, math_id, blocks)
  if x.ranges[k + 1].last then finish_last(x, a, k, math_id, blocks) else finish(x, a, k, math_id, blocks) end
end

local function attend(x, a, math_id, blocks)
  local v, first = x.v, 0
  if v.ahead and math_id == 0 then make_barriers(x, a) end
  if v.cluster > 1 then a:pass(x.cluster, "kernel") end
  a:sync(x.there, "kernel")
  for k = 0, #x.ranges do
    local place, n = k % v.places, k // v.places
    a:wait(x.full_q[place], n, "attend()")
    a:read(x.facts[place], k, "attend()")
    local range = x.ranges[k + 1]
    if k == 0 and v.ahead and range then
      a:write(x.brought[math_id], k, "take_q()")
      a:sync(x.all, "take_q()")
    end
    if k == 0 and v.cluster > 1 and v.schedule == "fitted" and not (range and x.whole) then a:meet(x.cluster, "attend()") end
    if not range then return end
    for t = math_id // v.warps, range.tiles - 1, v.wgs do
      tile(x, a, k, t, range.tiles, first + t * v.boxes, math_id)
    end
    end_range(x, a, k, math_id, blocks, first)
    first = first + range.tiles * v.boxes
    if ends(x, k) and v.o_boxes then return end
    a:read(x.facts[place], k, "finish()")
    if ends(x, k) then return end
    if range.publish and math_id == 0 then a:pass(x.word, "meet_publish()") end
    a:arrive(x.empty_q[place], n, "attend()")
  end
end

-- kernel: block(), make_barriers(), announce(), bring(), attend(), of this file or of sm90_raw.
local function model(kernel, v, blocks)
  local m, xs, n_math = protocol.new(), {}, v.wgs * v.warps
  local producers = kernel.producers or PRODUCERS[v.load]
  local whole = v.schedule == "splits" or blocks.whole == true
  local size, cluster = whole and #blocks or v.cluster, nil
  for id, ranges in ipairs(blocks) do
    if (id - 1) % size == 0 then
      cluster = m:named("cluster of block " .. id, math.min(size, #blocks - id + 1) * (#producers + n_math))
    end
    xs[id] = kernel.block(m, v, id, ranges, cluster, whole)
  end
  for id, x in ipairs(xs) do
    for who, name in ipairs(producers) do
      producer(kernel, x, m:agent(("block %d producer %s"):format(id, name), id), who, xs)
    end
    for a = 0, n_math - 1 do
      kernel.attend(x, m:agent(("block %d math %d.%d"):format(id, a // v.warps, a % v.warps), id), a, xs)
    end
  end
  return m
end

-- Shared with sm90_raw, whose blocks have the fields that these functions read.
sm90_few.shared = { model = model, block = block_of, end_range = end_range }

local KERNEL = { block = block, make_barriers = make_barriers, announce = announce, bring = send_box, attend = attend }

-- blocks: of each its list of ranges; whole: it has one (splits, and fitted where lengths are alike). A range is { tiles, last
-- = it began in an earlier part and no combine kernel comes, publish = it goes on in a later one, others = parts whose pieces it
-- adds }. Of a cluster's blocks, or of parts, whose blocks are neighbours in clusters, too.
function sm90_few.model(v, blocks) return model(KERNEL, v, blocks) end

-- The part of a kernel that is run. A box waits for those one and two rings before it, and no step's past reaches further: what
-- comes before a step has no higher number of box or range. Every tile has the same steps as the one `wgs` before it. So a range
-- of two rings and a few tiles has met all that any longer one meets. Ends of ranges bring all math warps together, which only
-- adds order; who has the next tile changes there: so `walk` has every three lengths of 0, 1, 2 in a row, then longer ones.
function sm90_few.cases(v, all)
  local long, few = { { tiles = 2 * -(-v.ring // v.boxes) + v.wgs + 1 } }, { { tiles = 2 } }
  local out = {}
  local function add(ranges, other, whole) -- other: of the second block of a cluster
    out[#out + 1] = { ranges, v.cluster > 1 and other or nil, whole = whole }
  end
  add(long, few, true)
  for _, tiles in ipairs(all and { 0, 1, 2, 3 } or { 0 }) do add({ { tiles = tiles } }, few, true) end
  if v.schedule == "splits" then return out end
  add({}, {}, true) -- requests in turns, and none is left
  local ranges = {}
  for i, tiles in ipairs(all and protocol.WALK or protocol.QUICK) do ranges[i] = { tiles = tiles } end
  if v.turns then add(ranges, nil, true) end
  -- Cut, for a combine kernel: nobody meets.
  add(ranges, few, false)
  if all then add(long, {}, false) end
  -- The same launch cut where none comes.
  out[#out + 1] = sm90_few.meeting(all and 7 or 5, all and long[1] or few[1])
  return out
end

-- Whom the piece of a part waits for, as the template says it: before, owner: its number, and whether it is the last.
function sm90_few.whom(before, owner)
  local all = 1
  if owner then return before end
  while before & 3 * all == 3 * all do all = all << 2 end -- a digit that is 3
  return before & (all - 1)
end
function sm90_few.others(id, whom)
  local out, step = {}, 1
  while whom > 0 do
    for k = 0, (whom & 3) - 1 do out[#out + 1] = id - 1 - k * step end
    id, whom, step = id - (whom & 3) * step, whom >> 2, step << 2
  end
  return out
end

-- Parts of a batch with a request of so many pieces, in the order of their walks: backwards. The first part has more behind its
-- piece, among it `long`, the owner publishes the next request's begin, and the last block of a cluster may have no part.
function sm90_few.meeting(pieces, long)
  local blocks = {}
  for id = 1, pieces do
    local owner = id == pieces
    local others = sm90_few.others(id, sm90_few.whom(id - 1, owner))
    blocks[id] = { { tiles = id % 3 + 1, last = id > 1, publish = not owner, others = #others > 0 and others or nil } }
  end
  table.move({ long, { tiles = 0 } }, 1, 2, 2, blocks[1])
  table.insert(blocks[pieces], 1, { tiles = 1, publish = true })
  blocks[pieces + 1] = { { tiles = 1 }, { tiles = 3, last = true, others = { pieces } } }
  blocks[pieces + 2] = {}
  return blocks
end

return sm90_few
