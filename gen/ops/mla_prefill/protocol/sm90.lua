-- What the threads of templates/mla_prefill/sm90.cu.in say to each other, for gen/protocol.lua. Functions here are named as
-- those of the template that they stand for; two warps stand for the four of a warpgroup.
local protocol = require("protocol")

local sm90 = {}

local WARPS = 2 -- of a warpgroup

local function block(m, stages)
  local x, math = { stages = stages, zeros = {} }, 2 * WARPS
  local function ring(name, n)
    local r = { n = n, full = {}, empty = {}, place = {} }
    for i = 0, n - 1 do
      r.full[i], r.empty[i] = m:barrier(("%s full[%d]"):format(name, i), 1), m:barrier(("%s empty[%d]"):format(name, i), math)
      r.place[i] = m:place(("%s, place %d"):format(name, i))
    end
    x[#x + 1] = r
    return r
  end
  x.k, x.v, x.q, x.told = ring("K", stages), ring("V", stages), ring("Q", 1), ring("facts", 2)
  x.both = m:named("BOTH", math)
  x.begin = m:named("begin", 1 + math)
  for id = 0, math - 1 do x.zeros[id] = m:place("zeros of math warp " .. id) end
  return x
end

-- The i-th use of a ring's place by the loader: it is free, then copies are on their way.
local function load(a, ring, i, what)
  local at, n = i % ring.n, i // ring.n
  a:wait(ring.empty[at], n - 1, what)
  a:arrive(ring.full[at], n, what, 1)
  a:copy(ring.full[at], n, what, ring.place[at], i)
end

local function tell(a, x, i)
  local at, n = i % x.told.n, i // x.told.n
  a:wait(x.told.empty[at], n - 1, "tell()")
  a:write(x.told.place[at], i, "tell()")
  a:arrive(x.told.full[at], n, "tell()")
end

local function load_tiles(x, a, tiles)
  local k, v, q = 0, 0, 0
  for i, rounds in ipairs(tiles) do
    tell(a, x, i - 1)
    if rounds > 0 then
      load(a, x.k, k, "load_k()")
      k = k + 1
      load(a, x.q, q, "load_q()")
      q = q + 1
      for round = rounds - 1, 0, -1 do
        if round > 0 then
          load(a, x.k, k, "load_k()")
          k = k + 1
        end
        load(a, x.v, v, "load_v()")
        v = v + 1
      end
    end
  end
  tell(a, x, #tiles)
end

-- ---- Math: c is a warp: x, a (the agent), id among the math warps, uses of each ring before -------------------------------
local function wait_full(c, ring, i, what) c.a:wait(ring.full[i % ring.n], i // ring.n, what) end
local function read(c, ring, i, what) c.a:read(ring.place[i % ring.n], i, what) end
local function give_back(c, ring, i) c.a:arrive(ring.empty[i % ring.n], i // ring.n, "give_back()") end

local function clear_tail(c)
  local x = c.x
  c.a:write(x.zeros[c.id], c.v, "clear_tail()") -- its rows of V, which nobody else writes
  c.a:sync(x.both, "clear_tail()")
  for id = 0, 2 * WARPS - 1 do c.a:read(x.zeros[id], c.v, "multiply_v()") end
end

local function work_on_tile(c, rounds, cleared)
  local x = c.x
  local function multiply_k()
    read(c, x.k, c.k, "multiply_k()")
    read(c, x.q, c.q, "multiply_k()")
  end
  wait_full(c, x.k, c.k, "work_on_tile()")
  multiply_k()
  give_back(c, x.k, c.k)
  c.k = c.k + 1
  wait_full(c, x.v, c.v, "work_on_tile()")
  if cleared then clear_tail(c) end
  for _ = 2, rounds do
    wait_full(c, x.k, c.k, "work_on_tile()")
    multiply_k()
    read(c, x.v, c.v, "multiply_v()")
    give_back(c, x.k, c.k)
    c.k = c.k + 1
    give_back(c, x.v, c.v)
    c.v = c.v + 1
    wait_full(c, x.v, c.v, "work_on_tile()")
  end
  give_back(c, x.q, c.q)
  c.q = c.q + 1
  read(c, x.v, c.v, "multiply_v()")
  give_back(c, x.v, c.v)
  c.v = c.v + 1
end

local function work_on_tiles(c, tiles)
  local x = c.x
  for i = 0, #tiles do
    wait_full(c, x.told, i, "work_on_tiles()")
    read(c, x.told, i, "work_on_tiles()")
    give_back(c, x.told, i)
    local rounds = tiles[i + 1]
    if rounds and rounds > 0 then
      wait_full(c, x.q, c.q, "work_on_tiles()")
      work_on_tile(c, rounds, i % 2 == 0)
    end
  end
end

-- tiles: rounds of each that a block has. v: stages.
function sm90.model(v, tiles)
  local m = protocol.new()
  local x = block(m, v.stages)
  local agents = { { m:agent("loader"), function(a) load_tiles(x, a, tiles) end } }
  for id = 0, 2 * WARPS - 1 do
    local c = { x = x, id = id, k = 0, v = 0, q = 0 }
    agents[#agents + 1] = { m:agent(("math %d.%d"):format(id // WARPS, id % WARPS)), function(a)
      c.a = a
      work_on_tiles(c, tiles)
    end }
  end
  for i, one in ipairs(agents) do
    if i == 1 then
      local list = {}
      for _, ring in ipairs(x) do
        for at = 0, ring.n - 1 do list[#list + 1], list[#list + 2] = ring.full[at], ring.empty[at] end
      end
      one[1]:make(list, "kernel")
    end
    one[1]:sync(x.begin, "kernel")
    one[2](one[1])
  end
  return m
end

function sm90.cases(_, all) return { all and protocol.WALK or protocol.QUICK, { 9 }, {} } end

return sm90
