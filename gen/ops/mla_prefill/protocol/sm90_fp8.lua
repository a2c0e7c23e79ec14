-- The barriers between the threads of templates/mla_prefill/sm90_fp8.cu.in, for gen/protocol.lua. Functions
-- here are named as those of the template that they stand for; two warps stand for the four of a warpgroup. It is
-- protocol/sm90.lua's but for V: it comes into its own places and is moved to those that math reads; and there are no teams.
local protocol = require("protocol")

local sm90_fp8 = {}

local WARPS = 2 -- of a warpgroup
local TRANSPOSERS = 2
local HALVES = 2 -- of V as it came: what a transposer has

local function block(m, v)
  local x, math = { rings = {}, q = {} }, 2 * WARPS
  local function ring(name, n, readers, shares, writers)
    local r = { n = n, full = {}, empty = {}, place = {}, shares = shares }
    for i = 0, n - 1 do
      r.full[i] = m:barrier(("%s full[%d]"):format(name, i), writers or 1)
      r.empty[i] = m:barrier(("%s empty[%d]"):format(name, i), readers)
      r.place[i] = {}
      for share = 1, shares do r.place[i][share] = m:place(("%s, place %d, share %d"):format(name, i, share)) end
    end
    x.rings[#x.rings + 1] = r
    return r
  end
  x.k, x.raw = ring("K", v.stages, math, 1), ring("V as it came", v.raws, TRANSPOSERS, HALVES)
  x.v = ring("V", v.stages, math, TRANSPOSERS, TRANSPOSERS)
  x.told = ring("facts", v.told, math + 1 + TRANSPOSERS, 1)
  for wg = 0, 1 do x.q[wg] = ring("Q of " .. wg, 1, WARPS, 1) end
  return x
end

local function wait_full(a, ring, i, what) a:wait(ring.full[i % ring.n], i // ring.n, what) end
local function wait_empty(a, ring, i, what) a:wait(ring.empty[i % ring.n], i // ring.n - 1, what) end
local function read(a, ring, i, what)
  for _, place in ipairs(ring.place[i % ring.n]) do a:read(place, i, what) end
end
local function give_back(a, ring, i) a:arrive(ring.empty[i % ring.n], i // ring.n, "give_back()") end

-- tiles: those that are told of, in order; one more says that there are no more.
local function deal_tiles(x, a, tiles)
  for i = 0, #tiles do
    wait_empty(a, x.told, i, "deal_tiles()")
    a:write(x.told.place[i % x.told.n][1], i, "deal_tiles()")
    a:arrive(x.told.full[i % x.told.n], i // x.told.n, "deal_tiles()")
  end
end

-- The i-th use of a ring's place by the loader: it is free, then copies are in flight.
local function load(a, ring, i, what)
  local at, n = i % ring.n, i // ring.n
  wait_empty(a, ring, i, what)
  a:arrive(ring.full[at], n, what, ring.shares)
  for share = 1, ring.shares do a:copy(ring.full[at], n, what, ring.place[at][share], i) end
end

-- Calls `does` with each use of a ring by a tile's rounds: its number, the tile's, the round's from 1 on.
local function walk_tiles(x, a, tiles, does)
  local at = 0
  for i = 0, #tiles do
    wait_full(a, x.told, i, "next_tile()")
    read(a, x.told, i, "next_tile()")
    give_back(a, x.told, i)
    for round = 1, tiles[i + 1] or 0 do
      does(at, i, round)
      at = at + 1
    end
  end
end

local function load_tiles(x, a, tiles)
  walk_tiles(x, a, tiles, function(at, i, round)
    load(a, x.k, at, "load_k()")
    for wg = 0, round == 1 and 1 or -1 do load(a, x.q[wg], i, "load_q()") end
    load(a, x.raw, at, "load_v()")
  end)
end

-- V becomes zero in place behind the request's end. Half of the tiles end within a round.
local function transpose_values(x, a, tiles, which)
  walk_tiles(x, a, tiles, function(at, i, round)
    local from = x.raw.place[at % x.raw.n][which]
    wait_full(a, x.raw, at, "transpose_values()")
    a:read(from, at, "transpose()")
    if round == 1 and i % 2 == 0 then a:write(from, at, "clear_rows()") end
    wait_empty(a, x.v, at, "transpose_values()")
    a:write(x.v.place[at % x.v.n][which], at, "transpose()")
    a:arrive(x.raw.empty[at % x.raw.n], at // x.raw.n, "transpose_values()")
    a:arrive(x.v.full[at % x.v.n], at // x.v.n, "transpose_values()")
  end)
end

-- ---- Math: c is a warp: x, a (the agent), id and wg, uses of each ring before, told and done: tiles --------------

local function multiply_k(c)
  read(c.a, c.x.k, c.k, "multiply_k()")
  read(c.a, c.x.q[c.wg], c.told, "multiply_k()")
end

-- Rows by 64: tiles are full or not, and how many keys their last row sees leaves a round half full or not.
local function chunks(i) return (i * 5 + 2) % 3 > 0 and 2 or i % 2 + 1 end
local function mine(c, tiles, i) return i < #tiles and c.wg < chunks(i) end
local function rounds_here(c, tiles)
  local i = c.told
  local halves = 2 * tiles[i + 1] - i // 2 % 2 - (chunks(i) - 1 - c.wg)
  return math.max(1, (halves + 1) // 2)
end

local function pass_k(c)
  wait_full(c.a, c.x.k, c.k, "pass_k()")
  give_back(c.a, c.x.k, c.k)
  c.k = c.k + 1
end

local function pass_v(c)
  wait_full(c.a, c.x.v, c.v, "pass_v()")
  give_back(c.a, c.x.v, c.v)
  c.v = c.v + 1
end

local function make_weights(c)
  if c.round == 0 then give_back(c.a, c.x.q[c.wg], c.told) end
  give_back(c.a, c.x.k, c.k)
  c.k = c.k + 1
  read(c.a, c.x.told, c.told, "hide()")
end

local function work_on_tile(c, tiles)
  local x, a = c.x, c.a
  c.round = rounds_here(c, tiles) - 1
  local skipped = tiles[c.told + 1] - 1 - c.round
  for _ = 1, skipped do pass_k(c) end
  wait_full(a, x.q[c.wg], c.told, "work_on_tile()")
  wait_full(a, x.k, c.k, "work_on_tile()")
  multiply_k(c)
  make_weights(c)
  for _ = 1, skipped do pass_v(c) end
  while c.round > 0 do
    c.round = c.round - 1
    wait_full(a, x.v, c.v, "work_on_tile()")
    wait_full(a, x.k, c.k, "work_on_tile()")
    multiply_k(c)
    read(a, x.v, c.v, "multiply_v()")
    make_weights(c)
    give_back(c.a, c.x.v, c.v)
    c.v = c.v + 1
  end
  wait_full(a, x.v, c.v, "work_on_tile()")
  read(a, x.v, c.v, "multiply_v()")
  give_back(c.a, c.x.v, c.v)
  c.v = c.v + 1
  read(a, x.told, c.told, "store_rows()")
end

local function pass_tile(c, rounds)
  wait_full(c.a, c.x.q[c.wg], c.told, "pass_tile()")
  give_back(c.a, c.x.q[c.wg], c.told)
  for _ = 1, rounds do
    pass_k(c)
    pass_v(c)
  end
end

local function work_on_tiles(c, tiles)
  local x, a = c.x, c.a
  while true do
    wait_full(a, x.told, c.told, "work_on_tiles()")
    read(a, x.told, c.told, "work_on_tiles()")
    if c.told == #tiles then break end
    if mine(c, tiles, c.told) then work_on_tile(c, tiles)
    else pass_tile(c, tiles[c.told + 1]) end
    give_back(a, x.told, c.told)
    c.told = c.told + 1
  end
end

-- tiles: rounds of each that the block has; those without are nobody's but the dealer's. v: stages, raws, told.
function sm90_fp8.model(v, tiles)
  local m = protocol.new()
  local some, agents, x = {}, {}, block(m, v)
  for _, rounds in ipairs(tiles) do
    if rounds > 0 then some[#some + 1] = rounds end
  end
  local begin = m:named("begin", 2 + TRANSPOSERS + 2 * WARPS)
  local function add(name, does) agents[#agents + 1] = { m:agent(name), does } end
  add("dealer", function(a) deal_tiles(x, a, some) end)
  add("loader", function(a) load_tiles(x, a, some) end)
  for which = 1, TRANSPOSERS do
    add("transposer " .. which, function(a) transpose_values(x, a, some, which) end)
  end
  for id = 0, 2 * WARPS - 1 do
    local c = { x = x, id = id, wg = id // WARPS, k = 0, v = 0, told = 0 }
    add(("math %d.%d"):format(c.wg, id % WARPS), function(a)
      c.a = a
      work_on_tiles(c, some)
    end)
  end
  local list = {}
  for _, ring in ipairs(x.rings) do
    for at = 0, ring.n - 1 do list[#list + 1], list[#list + 2] = ring.full[at], ring.empty[at] end
  end
  agents[1][1]:make(list, "kernel")
  for _, one in ipairs(agents) do
    one[1]:sync(begin, "kernel")
    one[2](one[1])
  end
  return m
end

-- The last but one goes round the ring of facts.
function sm90_fp8.cases(_, all)
  return { all and protocol.WALK or protocol.QUICK, { 9 }, { 1 }, { 1, 1, 1, 1, 1, 1, 1, 1 }, {} }
end

return sm90_fp8
