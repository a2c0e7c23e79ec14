-- What the threads of templates/mla_prefill/sm90.cu.in say to each other, for gen/protocol.lua. Functions here are named as
-- those of the template that they stand for; two warps stand for the four of a warpgroup.
local protocol = require("protocol")

local sm90 = {}

local WARPS = 2 -- of a warpgroup

local function block(m, v)
  local x, math = { rings = {}, q = {}, zeros = {}, one = {}, turns = {} }, 2 * WARPS
  local function ring(name, n, readers)
    local r = { n = n, full = {}, empty = {}, place = {} }
    for i = 0, n - 1 do
      r.full[i], r.empty[i] = m:barrier(("%s full[%d]"):format(name, i), 1), m:barrier(("%s empty[%d]"):format(name, i), readers)
      r.place[i] = m:place(("%s, place %d"):format(name, i))
    end
    x.rings[#x.rings + 1] = r
    return r
  end
  x.k, x.v, x.told = ring("K", v.stages, math), ring("V", v.stages, math), ring("facts", v.told, math + 3)
  for wg = 0, 1 do
    x.q[wg] = ring("Q of " .. wg, 1, WARPS)
    x.one[wg] = m:named("ONE of " .. wg, WARPS)
    x.turns[wg] = m:named("TURN of " .. wg, math)
  end
  x.begin = m:named("begin", 4 + math)
  for id = 0, math - 1 do x.zeros[id] = m:place("zeros of math warp " .. id) end
  return x
end

local function wait_full(a, ring, i, what) a:wait(ring.full[i % ring.n], i // ring.n, what) end
local function wait_empty(a, ring, i, what) a:wait(ring.empty[i % ring.n], i // ring.n - 1, what) end
local function read(a, ring, i, what) a:read(ring.place[i % ring.n], i, what) end
local function give_back(a, ring, i) a:arrive(ring.empty[i % ring.n], i // ring.n, "give_back()") end

-- tiles: those that are told of, in order; one more says that there are no more.
local function deal_tiles(x, a, tiles)
  for i = 0, #tiles do
    wait_empty(a, x.told, i, "deal_tiles()")
    a:write(x.told.place[i % x.told.n], i, "deal_tiles()")
    a:arrive(x.told.full[i % x.told.n], i // x.told.n, "deal_tiles()")
  end
end

-- The i-th use of a ring's place by the loader: it is free, then copies are on their way.
local function load(a, ring, i, what)
  local at, n = i % ring.n, i // ring.n
  wait_empty(a, ring, i, what)
  a:arrive(ring.full[at], n, what, 1)
  a:copy(ring.full[at], n, what, ring.place[at], i)
end

local function load_tiles(x, a, tiles, what)
  local at = 0
  for i = 0, #tiles do
    wait_full(a, x.told, i, "load_tiles()")
    read(a, x.told, i, "load_tiles()")
    give_back(a, x.told, i)
    if i < #tiles and what == "q" then
      for wg = 0, 1 do load(a, x.q[wg], i, "load_q()") end
    elseif i < #tiles then
      for _ = 1, tiles[i + 1] do
        load(a, x[what], at, "load_" .. what .. "()")
        at = at + 1
      end
    end
  end
end

-- ---- Math: c is a warp: x, a (the agent), id and wg, uses of each ring before, told and done: tiles ------------------------
local function clear_tail(c)
  local x = c.x
  read(c.a, x.v, c.v, "clear_tail()") -- its rows in V: both warpgroups write the same zeros there
  c.a:write(x.zeros[c.id], c.v, "clear_tail()")
  c.a:sync(x.one[c.wg], "clear_tail()")
  for warp = 0, WARPS - 1 do c.a:read(x.zeros[c.wg * WARPS + warp], c.v, "multiply_v()") end
end

local function multiply_k(c)
  read(c.a, c.x.k, c.k, "multiply_k()")
  read(c.a, c.x.q[c.wg], c.told, "multiply_k()")
end

-- Every third tile has no rows for the second warpgroup.
local function mine(c, tiles, i) return i < #tiles and (c.wg == 0 or i % 3 ~= 2) end

-- S of a round is there.
local function scores(c)
  give_back(c.a, c.x.k, c.k)
  c.k = c.k + 1
  if c.round == 0 then give_back(c.a, c.x.q[c.wg], c.told) end
  read(c.a, c.x.told, c.told, "hide()")
end

local function work_on_round(c, tiles)
  local x, a, closes, more, ends = c.x, c.a, c.round == 0, true, false
  c.round = c.round - 1
  if c.round < 0 then
    c.told = c.told + 1
    wait_full(a, x.told, c.told, "work_on_round()")
    read(a, x.told, c.told, "work_on_round()")
    more, ends = mine(c, tiles, c.told), c.told == #tiles
    if more then
      c.round = tiles[c.told + 1] - 1
      wait_full(a, x.q[c.wg], c.told, "work_on_round()")
    end
  end
  if more then wait_full(a, x.k, c.k, "work_on_round()") end
  a:sync(x.turns[c.wg], "work_on_round()")
  if more then multiply_k(c) end
  local stores, passes = c.opens and c.before, not ends or c.wg == 0
  if stores then
    if passes then a:pass(x.turns[1 - c.wg], "work_on_round()") end
    read(a, x.told, c.done, "store_rows()")
    give_back(a, x.told, c.done)
    c.done = c.done + 1
  end
  wait_full(a, x.v, c.v, "work_on_round()")
  if c.opens and c.done % 2 == 0 then clear_tail(c) end
  read(a, x.v, c.v, "multiply_v()")
  if passes and not stores then a:pass(x.turns[1 - c.wg], "work_on_round()") end
  c.opens, c.before = closes, true
  if closes then read(a, x.told, c.done, "close_rows()") end
  if more then scores(c) end
  give_back(a, x.v, c.v)
  c.v = c.v + 1
  return more
end

local function work_on_run(c, tiles)
  local x, a = c.x, c.a
  c.opens, c.before, c.round = true, false, tiles[c.told + 1] - 1
  wait_full(a, x.q[c.wg], c.told, "work_on_run()")
  wait_full(a, x.k, c.k, "work_on_run()")
  multiply_k(c)
  scores(c)
  repeat until not work_on_round(c, tiles)
  read(a, x.told, c.done, "store_rows()")
end

local function pass_tile(c, rounds)
  local x, a = c.x, c.a
  wait_full(a, x.q[c.wg], c.told, "pass_tile()")
  give_back(a, x.q[c.wg], c.told)
  for _ = 1, rounds do
    wait_full(a, x.k, c.k, "pass_tile()")
    give_back(a, x.k, c.k)
    a:sync(x.turns[c.wg], "pass_tile()")
    wait_full(a, x.v, c.v, "pass_tile()")
    give_back(a, x.v, c.v)
    a:pass(x.turns[1 - c.wg], "pass_tile()")
    c.k, c.v = c.k + 1, c.v + 1
  end
  c.told = c.told + 1
end

local function work_on_tiles(c, tiles)
  local x, a = c.x, c.a
  if c.wg == 1 then a:pass(x.turns[0], "work_on_tiles()") end
  while true do
    wait_full(a, x.told, c.told, "work_on_tiles()")
    read(a, x.told, c.told, "work_on_tiles()")
    if c.told == #tiles then return end
    if mine(c, tiles, c.told) then work_on_run(c, tiles)
    else pass_tile(c, tiles[c.told + 1]) end
    give_back(a, x.told, c.done)
    c.done = c.done + 1
  end
end

-- tiles: rounds of each that a block has; those without are nobody's but the dealer's. v: stages, told.
function sm90.model(v, tiles)
  local m = protocol.new()
  local x, some = block(m, v), {}
  for _, rounds in ipairs(tiles) do
    if rounds > 0 then some[#some + 1] = rounds end
  end
  local agents = {
    { m:agent("dealer"), function(a) deal_tiles(x, a, some) end },
    { m:agent("loader of K"), function(a) load_tiles(x, a, some, "k") end },
    { m:agent("loader of V"), function(a) load_tiles(x, a, some, "v") end },
    { m:agent("loader of Q"), function(a) load_tiles(x, a, some, "q") end },
  }
  for id = 0, 2 * WARPS - 1 do
    local c = { x = x, id = id, wg = id // WARPS, k = 0, v = 0, told = 0, done = 0, opens = true, before = false }
    agents[#agents + 1] = { m:agent(("math %d.%d"):format(c.wg, id % WARPS)), function(a)
      c.a = a
      work_on_tiles(c, some)
    end }
  end
  for i, one in ipairs(agents) do
    if i == 1 then
      local list = {}
      for _, ring in ipairs(x.rings) do
        for at = 0, ring.n - 1 do list[#list + 1], list[#list + 2] = ring.full[at], ring.empty[at] end
      end
      one[1]:make(list, "kernel")
    end
    one[1]:sync(x.begin, "kernel")
    one[2](one[1])
  end
  return m
end

function sm90.cases(_, all) return { all and protocol.WALK or protocol.QUICK, { 9 }, { 1 }, { 1, 1, 1, 1, 1 }, {} } end

return sm90
