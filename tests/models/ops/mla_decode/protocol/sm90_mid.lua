-- The barriers between the threads of templates/mla_decode/sm90_mid.cu.in, for tests/models/protocol.lua. Functions here
-- are named as those of the template that they stand for; two warps stand for four (sm90_few.lua beside).
local protocol = require("protocol")
local index_list = require("ops/mla_decode/protocol/index_list")

local sm90_mid = {}

local SENDERS = 3 -- warps that send boxes, or copy rows of each

-- A kernel of a plan (gen/ops/mla_decode/plans/sm90_mid.lua) with its parameters.
function sm90_mid.of(plan, v)
  return { boxes = plan.boxes, ring = plan.ring, rope = v.rope, schedule = v.schedule, gather = v.gather or false,
    pairs = plan.pairs or false, warps = 2, lists = plan.list > 0 and 2 or nil, ahead = v.ahead }
end

-- v: boxes, ring, rope (0: none), schedule, gather (rows are copied one by one; pairs: to two boxes at once), warps; lists: a
-- block with one piece has an index list, whose table is filled anew at each so manieth tile (nil: it has not); ahead: it is
-- sm90_mid_ahead, whose first Q the values bring.
local function block(m, v)
  local x = { v = v, values = v.boxes - (v.rope > 0 and 1 or 0), full = {}, empty = {}, slots = {}, bad = {} }
  for s = 0, v.ring - 1 do
    x.full[s] = m:barrier(("full[%d]"):format(s), v.gather and SENDERS or 1)
    x.empty[s] = m:barrier(("empty[%d]"):format(s), v.warps)
    x.slots[s], x.bad[s] = {}, m:place(("BAD[%d]"):format(s))
    for w = 1, v.gather and SENDERS or 1 do x.slots[s][w] = m:place(("slot %d, rows of sender %d"):format(s, w)) end
  end
  index_list.add_places(x, SENDERS + 1, function(name) return m:place(name) end)
  x.made = m:named("LISTED", SENDERS + 1)
  x.q_full, x.q_empty = m:barrier("Q_FULL", 1), m:barrier("Q_EMPTY", 3 * v.warps)
  x.p_full, x.ended = m:barrier("P_FULL", v.warps), { [0] = m:barrier("END[0]", v.warps), m:barrier("END[1]", v.warps) }
  x.begin, x.own, x.half = m:named("begin", SENDERS + 1 + 3 * v.warps), m:named("named 1", v.warps), {}
  x.factors_full, x.p_empty = m:named("FACTORS_FULL", 3 * v.warps), m:named("P_EMPTY", 3 * v.warps)
  x.q, x.facts = m:place("Q"), { [0] = m:place("facts of even pieces"), m:place("facts of odd pieces") }
  x.p, x.refs, x.factors, x.parts, x.zeros, x.scales, x.inverse = {}, {}, {}, {}, {}, {}, { [0] = {}, {} }
  for w = 0, v.warps - 1 do
    for _, what in ipairs({ "p", "refs", "factors", "parts", "zeros" }) do
      x[what][w] = m:place(("%s of warp %d"):format(what, w))
    end
    x.scales[w] = m:place("scales of warp " .. w)
    for odd = 0, 1 do x.inverse[odd][w] = m:place(("inverse[%d] of warp %d"):format(odd, w)) end
  end
  for g = 0, 1 do x.half[g] = m:named("named " .. 2 + g, v.warps) end
  x.halves, x.there, x.brought = m:named("HALVES", 2 * v.warps), m:named("Q_BROUGHT", 3 * v.warps), {}
  for i = 0, 2 * v.warps - 1 do x.brought[i] = m:place(("first Q, part of values %d.%d"):format(i // v.warps, i % v.warps)) end
  return x
end

-- All warps' parts of something: of the scores' threads, or of a half of O.
local function read_all(a, list, v, version, what)
  for w = 0, v.warps - 1 do a:read(list[w], version, what) end
end

-- ---- Loaders ------------------------------------------------------------------------------------------------------------
local function send_boxes(x, a, warp, pieces)
  local v, i = x.v, 0
  for _, tiles in ipairs(pieces) do
    for _ = 1, tiles do
      for b = warp, v.boxes - 1, SENDERS do
        local s, n = (i + b) % v.ring, (i + b) // v.ring
        a:wait(x.empty[s], n - 1, "send_boxes()")
        if b == 0 then a:write(x.bad[s], i, "send_boxes()") end
        a:arrive(x.full[s], n, "send_boxes()", 1)
        a:copy(x.full[s], n, "send_boxes()", x.slots[s][1], i + b)
      end
      i = i + v.boxes
    end
  end
end

-- gather: each has rows of every box. pairs: rope's box comes alone, the others two at a time, once both are given back.
local function copy_boxes(x, a, warp, pieces)
  local v, i, lists = x.v, 0, #pieces == 1 and x.v.lists
  local rope = v.boxes - x.values
  local function copy(first, count, begins, what)
    for b = first, first + count - 1 do
      a:wait(x.empty[b % v.ring], b // v.ring - 1, what)
      if warp == 0 and begins and b == first then a:write(x.bad[b % v.ring], b, what) end
    end
    for b = first, first + count - 1 do
      a:arrive(x.full[b % v.ring], b // v.ring, what, 1)
      a:copy(x.full[b % v.ring], b // v.ring, what, x.slots[b % v.ring][1 + warp], b)
    end
  end
  if lists then index_list.begin(x, a, warp + 1) end
  for _, tiles in ipairs(pieces) do
    for t = 0, tiles - 1 do
      if lists then index_list.refill(x, a, warp + 1, t) end
      for b = 0, (v.pairs and rope or v.boxes) - 1 do copy(i + b, 1, b == 0, "copy_box_of_rows()") end
      for b = v.pairs and rope or v.boxes, v.boxes - 1, 2 do copy(i + b, 2, b == 0, "copy_pair_of_boxes()") end
      i = i + v.boxes
    end
  end
end

local function read_box(x, a, b, what)
  for _, place in ipairs(x.slots[b % x.v.ring]) do a:read(place, b, what) end
end

local function send_queries(x, a, pieces)
  local lists = #pieces == 1 and x.v.lists -- this warp helps to fill the table
  if lists then index_list.begin(x, a, SENDERS + 1) end
  for k = 0, #pieces do
    local more = k < #pieces
    if x.v.schedule == "splits" and k > 0 then return end
    a:wait(x.q_empty, k - 1, "send_queries()")
    a:write(x.facts[k % 2], k, "send_queries()")
    local sends = more and not (x.v.ahead and k == 0)
    a:arrive(x.q_full, k, "send_queries()", sends and 1 or 0)
    if sends then a:copy(x.q_full, k, "send_queries()", x.q, k) end
    for t = 0, lists and more and pieces[1] - 1 or -1 do index_list.refill(x, a, SENDERS + 1, t) end
  end
end

-- ---- Scores -------------------------------------------------------------------------------------------------------------
local function score_tile(x, a, w, k, t, last, i) -- last: of the piece
  local v = x.v
  for b = i, i + v.boxes - 1 do
    a:wait(x.full[b % v.ring], b // v.ring, "scores()")
    read_box(x, a, b, "scores()")
  end
  if v.ahead and k == 0 then
    for n = 0, 2 * v.warps - 1 do a:read(x.brought[n], k, "scores()") end
  else
    a:read(x.q, k, "scores()")
  end
  if last and v.schedule ~= "splits" then a:arrive(x.q_empty, k, "work_on_scores()") end
  a:read(x.bad[i % v.ring], i, "work_on_scores()")
  if v.rope > 0 then a:arrive(x.empty[i % v.ring], i // v.ring, "work_on_scores(), rope") end
  if t > 0 then a:sync(x.p_empty, "P_EMPTY") end
  a:write(x.p[w], "maxima " .. t, "raise()")
  a:sync(x.own, "raise()")
  read_all(a, x.p, v, "maxima " .. t, "raise()")
  a:write(x.refs[w], t, "raise()")
  a:write(x.factors[w], t, "raise()")
  a:sync(x.own, "raise()")
  a:pass(x.factors_full, "raise()")
  if last then a:write(x.zeros[w], t, "clear_rows()") end
  read_all(a, x.refs, v, t, "store_p()")
  a:write(x.p[w], t, "store_p()")
  a:arrive(x.p_full, t, "store_p()")
  read_all(a, x.factors, v, t, "add_sums()")
end

local function work_on_scores(x, a, w, pieces)
  local v, t, i = x.v, 0, 0
  for k = 0, #pieces do
    a:wait(x.q_full, k, "work_on_scores()")
    if v.ahead and k == 0 then a:sync(x.there, "work_on_scores()") end
    a:read(x.facts[k % 2], k, "work_on_scores()")
    local tiles = pieces[k + 1]
    if not tiles then break end
    if tiles == 0 and v.schedule ~= "splits" then
      a:arrive(x.q_empty, k, "work_on_scores()")
      a:sync(x.own, "work_on_scores()")
    end
    for n = 1, tiles do
      score_tile(x, a, w, k, t, n == tiles, i)
      t, i = t + 1, i + v.boxes
    end
    a:write(x.parts[w], k, "finish_rows()")
    a:sync(x.own, "finish_rows()")
    read_all(a, x.parts, v, k, "finish_rows()")
    a:write(x.inverse[k % 2][w], k, "finish_rows()")
    a:read(x.facts[k % 2], k, "finish_rows()")
    a:arrive(x.ended[k % 2], k // 2, "finish_rows()")
    if v.schedule == "splits" then break end
  end
  if t > 0 then a:sync(x.p_empty, "P_EMPTY, the last one") end
end

-- ---- Values -------------------------------------------------------------------------------------------------------------
-- Boxes of a half of the tile that begins with box i, in the order of their columns. The halves' columns come in turns, with
-- pairs two at a time.
local function boxes_of_half(x, g, i)
  local mine, step = {}, x.v.pairs and 2 or 1
  for b = 0, x.values - 1 do
    if b // step % 2 == g then mine[#mine + 1] = i + (x.v.rope > 0 and 1 or 0) + b end
  end
  return mine
end

local function give_back(x, a, b, what) a:arrive(x.empty[b % x.v.ring], b // x.v.ring, what) end

local function multiply_v(x, a, g, t, last, i)
  local v = x.v
  a:sync(x.factors_full, "FACTORS_FULL")
  read_all(a, x.factors, v, t, "rescale()")
  a:wait(x.p_full, t, "P_FULL")
  if last then read_all(a, x.zeros, v, t, "multiply_v()") end
  local mine = boxes_of_half(x, g, i)
  for n, b in ipairs(mine) do
    read_box(x, a, b, "multiply_v()")
    if n == #mine then read_all(a, x.p, v, t, "multiply_v()") end
    if not last then give_back(x, a, b, "multiply_v()") end
  end
  a:pass(x.p_empty, "multiply_v()")
end

-- A warp's share of a half's boxes, or all of them: as many as a box has places, which stand for columns.
local function share(x, b, w) return x.slots[b % x.v.ring][1 + w] end

-- Rows' largest values, by way of the first box of each half; then what both halves' values are multiplied by.
local function find_units(x, a, g, w, k, i)
  local v = x.v
  local own, other = boxes_of_half(x, g, i)[1], boxes_of_half(x, 1 - g, i)[1]
  a:sync(x.half[g], "find_units(), products are done")
  if share(x, own, w) then a:write(share(x, own, w), "tops " .. own, "find_units()") end
  a:sync(x.halves, "find_units(), tops")
  for _, b in ipairs({ own, other }) do
    for n = 0, v.warps - 1 do
      if share(x, b, n) then a:read(share(x, b, n), "tops " .. b, "find_units()") end
    end
  end
  if g == 0 then
    a:read(x.inverse[k % 2][w], k, "find_units()")
    a:write(x.inverse[k % 2][w], "scales " .. k, "find_units()")
  else
    a:write(x.scales[w], k, "find_units()")
  end
  a:sync(x.halves, "find_units(), scales")
  if g == 0 then read_all(a, x.inverse[k % 2], v, "scales " .. k, "write_partial()")
  else read_all(a, x.scales, v, k, "write_partial()") end
end

-- O by way of the boxes of the piece's last tile, of which each warp writes its own columns and reads all.
local function write_boxes(x, a, g, w, k, i, partial)
  local v, mine = x.v, boxes_of_half(x, g, i)
  a:read(x.facts[k % 2], k, "write_o()")
  if partial then find_units(x, a, g, w, k, i)
  else
    read_all(a, x.inverse[k % 2], v, k, "write_o()")
    a:sync(x.half[g], "write_o(), products are done")
  end
  for _, b in ipairs(mine) do
    if share(x, b, w) then a:write(share(x, b, w), "O " .. b, "store_columns()") end
  end
  a:sync(x.half[g], "write_o(), O is there")
  for _, b in ipairs(mine) do
    for n = 0, v.warps - 1 do
      if share(x, b, n) then a:read(share(x, b, n), "O " .. b, "write_o()") end
    end
    give_back(x, a, b, "write_o()")
  end
end

local function work_on_values(x, a, g, w, pieces)
  local v, t, i = x.v, 0, 0
  for k = 0, #pieces do
    a:wait(x.q_full, k, "work_on_values()")
    if v.ahead and k == 0 then
      a:read(x.facts[0], k, "take_q()")
      a:write(x.brought[g * v.warps + w], k, "take_q()")
      a:pass(x.there, "work_on_values()")
    end
    if v.schedule ~= "splits" then a:arrive(x.q_empty, k, "work_on_values()") end
    a:read(x.facts[k % 2], k, "work_on_values()")
    local tiles = pieces[k + 1]
    if not tiles then return end
    for n = 1, tiles do
      multiply_v(x, a, g, t, n == tiles, i)
      t, i = t + 1, i + v.boxes
    end
    a:wait(x.ended[k % 2], k // 2, "work_on_values()")
    local partial = v.schedule ~= "splits" and (k + (pieces.partial or 0)) % 2 == 1
    if tiles > 0 then write_boxes(x, a, g, w, k, i - v.boxes, partial)
    elseif not partial then
      read_all(a, x.inverse[k % 2], v, k, "write_nothing()")
      a:read(x.facts[k % 2], k, "write_nothing()")
    end
    if v.schedule == "splits" then return end
  end
end

-- pieces: the tiles of each; partial: 1 if the even ones leave partial results, else the odd ones do.
function sm90_mid.model(v, pieces)
  local m = protocol.new()
  local x = block(m, v)
  local agents = {}
  local function add(name, body) agents[#agents + 1] = { m:agent(name), body } end
  for w = 0, SENDERS - 1 do add("sender " .. w, function(a) (v.gather and copy_boxes or send_boxes)(x, a, w, pieces) end) end
  add("sender of Q", function(a) send_queries(x, a, pieces) end)
  for w = 0, v.warps - 1 do add("scores " .. w, function(a) work_on_scores(x, a, w, pieces) end) end
  for g = 0, 1 do
    for w = 0, v.warps - 1 do add(("values %d.%d"):format(g, w), function(a) work_on_values(x, a, g, w, pieces) end) end
  end
  for i, one in ipairs(agents) do
    local from = v.ahead and SENDERS + 1 or 0 -- ahead: threads 128, 160 and 192, of which two warps stand for three
    if i - from >= 1 and i - from <= 2 then -- threads 0 and 32
      local list = {}
      for s = 0, v.ring - 1 do list[s + 1] = (i - from == 1 and x.full or x.empty)[s] end
      one[1]:make(list, "kernel")
    end
    if i == (v.ahead and from + 1 or 3) then -- thread 64
      one[1]:make({ x.q_full, x.q_empty, x.p_full, x.ended[0], x.ended[1] }, "kernel")
    end
    one[1]:sync(x.begin, "kernel")
    one[2](one[1])
  end
  return m
end

-- The part of a kernel that is run: sm90_few.lua beside says why it is enough.
function sm90_mid.cases(v, all)
  local long = { 2 * -(-v.ring // v.boxes) + 3 }
  if v.schedule ~= "splits" then
    local pieces = all and protocol.WALK or protocol.QUICK
    local other = table.move(pieces, 1, #pieces, 1, { partial = 1 })
    return { pieces, other, v.lists and long } -- a list is one piece
  end
  return all and { {}, { 0 }, { 1 }, { 2 }, long } or { long }
end

return sm90_mid
