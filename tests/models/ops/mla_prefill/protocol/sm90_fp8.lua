-- The barriers between the threads of templates/mla_prefill/sm90_fp8.cu.in, for tests/models/protocol.lua. Functions
-- here are named as those of the template that they stand for; two warps stand for the four of a warpgroup. The
-- dealer and math are protocol/sm90.lua's; V comes into its own places and is moved to those that math reads, and there are no
-- teams.
local protocol = require("protocol")
local sm90 = require("ops/mla_prefill/protocol/sm90")
local shared = sm90.shared
local wait_full, wait_empty, read, give_back = shared.wait_full, shared.wait_empty, shared.read, shared.give_back

local sm90_fp8 = { cases = sm90.cases }

local WARPS = shared.WARPS
local TRANSPOSERS = 2
local HALVES = 2 -- of V as it came: what a transposer has

local function block(m, v)
  local x, math = { rings = {}, q = {}, cta = 0, gives = "give_back()", named = function(what) return what end }, 2 * WARPS
  local ring = shared.rings_of(m, x)
  x.k, x.raw = ring("K", v.stages, math, 1), ring("V as it came", v.raws, TRANSPOSERS, HALVES)
  x.v = ring("V", v.stages, math, TRANSPOSERS, TRANSPOSERS)
  x.told = ring("facts", v.told, math + 1 + TRANSPOSERS, 1)
  for wg = 0, 1 do x.q[wg] = ring("Q of " .. wg, 1, WARPS, 1) end
  return x
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

-- tiles: rounds of each that the block has; those without are nobody's but the dealer's. v: stages, raws, told.
function sm90_fp8.model(v, tiles)
  local m = protocol.new()
  local some, agents, x = {}, {}, block(m, v)
  for _, rounds in ipairs(tiles) do
    if rounds > 0 then some[#some + 1] = rounds end
  end
  local begin = m:named("begin", 2 + TRANSPOSERS + 2 * WARPS)
  local function add(name, does) agents[#agents + 1] = { m:agent(name), does } end
  add("dealer", function(a) shared.deal_tiles(x, a, some) end)
  add("loader", function(a) load_tiles(x, a, some) end)
  for which = 1, TRANSPOSERS do
    add("transposer " .. which, function(a) transpose_values(x, a, some, which) end)
  end
  shared.add_math(x, { x }, add, some)
  agents[1][1]:make(shared.barriers(x), "kernel")
  for _, one in ipairs(agents) do
    one[1]:sync(begin, "kernel")
    one[2](one[1])
  end
  return m
end

return sm90_fp8
