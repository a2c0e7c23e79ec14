-- The barriers between the threads of templates/mla_prefill/sm90.cu.in, for tests/models/protocol.lua. Functions here
-- are named as those of the template that they stand for; two warps stand for the four of a warpgroup.
local protocol = require("protocol")

local sm90 = {}

local WARPS = 2 -- of a warpgroup

-- A maker of block x's rings: of n places, of so many shares, with so many readers and writers (1).
local function rings_of(m, x)
  return function(name, n, readers, shares, writers)
    local r = { n = n, full = {}, empty = {}, place = {}, shares = shares }
    for i = 0, n - 1 do
      r.full[i] = m:barrier(x.named(("%s full[%d]"):format(name, i)), writers or 1, x.cta + 1)
      r.empty[i] = m:barrier(x.named(("%s empty[%d]"):format(name, i)), readers, x.cta + 1)
      r.place[i] = {}
      for share = 1, shares do r.place[i][share] = m:place(x.named(("%s, place %d, share %d"):format(name, i, share))) end
    end
    x.rings[#x.rings + 1] = r
    return r
  end
end

-- A block of a team of v.pair: what the others signal to is here, too.
local function block(m, v, cta)
  local x, math = { rings = {}, q = {}, turns = {}, cta = cta, gives = "give_back_to_all()" }, 2 * WARPS
  local function of_block(what) return ("%s of block %d"):format(what, cta) end
  x.named = of_block
  local ring = rings_of(m, x)
  x.k, x.v = ring("K", v.stages, math * v.pair, v.pair), ring("V", v.stages, math * v.pair, v.pair)
  x.told = ring("facts", v.told, math + 2, 1)
  for wg = 0, 1 do
    x.q[wg] = ring("Q of " .. wg, 1, WARPS, 1)
    x.turns[wg] = m:named(of_block("TURN of " .. wg), math)
  end
  x.landed = m:barrier(of_block("V landed"), 1, cta + 1)
  return x
end

local function wait_full(a, ring, i, what) a:wait(ring.full[i % ring.n], i // ring.n, what) end
local function wait_empty(a, ring, i, what) a:wait(ring.empty[i % ring.n], i // ring.n - 1, what) end
local function read(a, ring, i, what)
  for _, place in ipairs(ring.place[i % ring.n]) do a:read(place, i, what) end
end
local function give_back(a, ring, i) a:arrive(ring.empty[i % ring.n], i // ring.n, "give_back()") end
local function give_back_to_all(c, name, i)
  for _, x in ipairs(c.team) do c.a:arrive(x[name].empty[i % x[name].n], i // x[name].n, x.gives) end
end

-- tiles: those that are told of, in order; one more says that there are no more.
local function deal_tiles(x, a, tiles)
  for i = 0, #tiles do
    wait_empty(a, x.told, i, "deal_tiles()")
    a:write(x.told.place[i % x.told.n][1], i, "deal_tiles()")
    a:arrive(x.told.full[i % x.told.n], i // x.told.n, "deal_tiles()")
  end
end

-- The i-th use of a ring's place by the loader: it is free, then copies are in flight; of K and V a share to all blocks.
-- tail: the phase that hears of them, of V whose tail is to be cleared first.
local function load(a, ring, i, what, cta, team, name, tail)
  local at, n = i % ring.n, i // ring.n
  wait_empty(a, ring, i, what)
  a:arrive(tail and team[cta + 1].landed or ring.full[at], tail or n, what, ring.shares)
  for _, x in ipairs(team) do
    local to = x[name] or ring
    a:copy(tail and x.landed or to.full[at], tail or n, what, to.place[at][ring.shares > 1 and cta + 1 or 1], i)
  end
end

-- V becomes zero behind the request's end, before anybody hears of it.
local function load_tail(a, x, i, team, landed)
  local at = i % x.v.n
  load(a, x.v, i, "load_v()", x.cta, team, "v", landed)
  a:wait(x.landed, landed, "load_v()")
  for _, place in ipairs(x.v.place[at]) do a:write(place, i, "clear_tail()") end
  a:arrive(x.v.full[at], i // x.v.n, "load_v()")
end

-- is_v: the loader of V; else that of K and Q.
local function load_tiles(team, x, a, tiles, is_v)
  local at, landed = 0, 0
  for i = 0, #tiles do
    wait_full(a, x.told, i, "load_tiles()")
    read(a, x.told, i, "load_tiles()")
    give_back(a, x.told, i)
    for round = 1, tiles[i + 1] or 0 do
      if not is_v then
        load(a, x.k, at, "load_k()", x.cta, team, "k")
        for wg = 0, round == 1 and 1 or -1 do load(a, x.q[wg], i, "load_q()", 0, { x }) end
      elseif round == 1 and i % 2 == 0 then
        load_tail(a, x, at, team, landed)
        landed = landed + 1
      else
        load(a, x.v, at, "load_v()", x.cta, team, "v")
      end
      at = at + 1
    end
  end
end

-- ---- Math: c is a warp: x, its team, a (the agent), id and wg, uses of each ring before, told and done: tiles --------------
local function take_turn(c)
  if c.x.turns then c.a:sync(c.x.turns[c.wg], "take_turn()") end
end
local function pass_turn(c)
  if c.x.turns then c.a:pass(c.x.turns[1 - c.wg], "pass_turn()") end
end

local function multiply_k(c)
  read(c.a, c.x.k, c.k, "multiply_k()")
  read(c.a, c.x.q[c.wg], c.told, "multiply_k()")
end

-- Rows by 64: tiles are full or not, and how many keys their last row sees leaves a round half full or not.
local function chunks(c, i) return (i * 5 + 2) % 3 > 0 and 2 * #c.team or i % (2 * #c.team) + 1 end
local function chunk(c) return c.wg == 0 and c.x.cta or 2 * #c.team - 1 - c.x.cta end
local function mine(c, tiles, i) return i < #tiles and chunk(c) < chunks(c, i) end
local function rounds_here(c, tiles)
  local i = c.told
  local halves = 2 * tiles[i + 1] - i // 2 % 2 - (chunks(c, i) - 1 - chunk(c))
  return math.max(1, (halves + 1) // 2)
end

local function pass_k(c)
  wait_full(c.a, c.x.k, c.k, "pass_k()")
  give_back_to_all(c, "k", c.k)
  c.k = c.k + 1
  take_turn(c)
  pass_turn(c)
end

local function pass_v(c)
  wait_full(c.a, c.x.v, c.v, "pass_v()")
  give_back_to_all(c, "v", c.v)
  c.v = c.v + 1
end

local function make_weights(c)
  if c.round == 0 then give_back(c.a, c.x.q[c.wg], c.told) end
  give_back_to_all(c, "k", c.k)
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
  take_turn(c)
  multiply_k(c)
  pass_turn(c)
  make_weights(c)
  for _ = 1, skipped do pass_v(c) end
  while c.round > 0 do
    c.round = c.round - 1
    wait_full(a, x.v, c.v, "work_on_tile()")
    wait_full(a, x.k, c.k, "work_on_tile()")
    take_turn(c)
    multiply_k(c)
    read(a, x.v, c.v, "multiply_v()")
    pass_turn(c)
    make_weights(c)
    give_back_to_all(c, "v", c.v)
    c.v = c.v + 1
  end
  wait_full(a, x.v, c.v, "work_on_tile()")
  take_turn(c)
  read(a, x.v, c.v, "multiply_v()")
  pass_turn(c)
  give_back_to_all(c, "v", c.v)
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
  take_turn(c)
  pass_turn(c)
end

local function work_on_tiles(c, tiles)
  local x, a = c.x, c.a
  if c.wg == 1 then pass_turn(c) end
  while true do
    wait_full(a, x.told, c.told, "work_on_tiles()")
    read(a, x.told, c.told, "work_on_tiles()")
    if c.told == #tiles then break end
    if mine(c, tiles, c.told) then work_on_tile(c, tiles)
    else pass_tile(c, tiles[c.told + 1]) end
    give_back(a, x.told, c.told)
    c.told = c.told + 1
  end
  if c.wg == 0 then take_turn(c) end
end

-- Adds the math warps of a block: add(name, does) makes agents.
local function add_math(x, team, add, tiles)
  for id = 0, 2 * WARPS - 1 do
    local c = { x = x, team = team, id = id, wg = id // WARPS, k = 0, v = 0, told = 0 }
    add(("math %d.%d"):format(c.wg, id % WARPS), function(a)
      c.a = a
      work_on_tiles(c, tiles)
    end)
  end
end

-- The barriers of a block's rings.
local function barriers(x)
  local list = {}
  for _, ring in ipairs(x.rings) do
    for at = 0, ring.n - 1 do list[#list + 1], list[#list + 2] = ring.full[at], ring.empty[at] end
  end
  return list
end

-- Shared with sm90_fp8, whose blocks have no turns.
sm90.shared = { WARPS = WARPS, rings_of = rings_of, wait_full = wait_full, wait_empty = wait_empty, read = read,
  give_back = give_back, deal_tiles = deal_tiles, add_math = add_math, barriers = barriers }

-- tiles: rounds of each that a team has; those without are nobody's but the dealer's. v: stages, told, pair.
function sm90.model(v, tiles)
  local m = protocol.new()
  local team, some, agents = {}, {}, {}
  for _, rounds in ipairs(tiles) do
    if rounds > 0 then some[#some + 1] = rounds end
  end
  for cta = 0, v.pair - 1 do team[cta + 1] = block(m, v, cta) end
  local all = v.pair * (3 + 2 * WARPS)
  local begin, over = m:named("begin", all), v.pair > 1 and m:named("over", all)
  for cta = 0, v.pair - 1 do
    local x = team[cta + 1]
    local function add(name, does) agents[#agents + 1] = { m:agent(("%s, block %d"):format(name, cta), cta + 1), does, x } end
    add("dealer", function(a) deal_tiles(x, a, some) end)
    add("loader of K and Q", function(a) load_tiles(team, x, a, some, false) end)
    add("loader of V", function(a) load_tiles(team, x, a, some, true) end)
    add_math(x, team, add, some)
  end
  for i, one in ipairs(agents) do
    if (i - 1) % (3 + 2 * WARPS) == 0 then
      local list = barriers(one[3])
      list[#list + 1] = one[3].landed
      one[1]:make(list, "kernel")
    end
    one[1]:sync(begin, "kernel")
    one[2](one[1])
    if over then one[1]:sync(over, "kernel") end
  end
  return m
end

-- The last but one goes round the ring of facts.
function sm90.cases(_, all)
  return { all and protocol.WALK or protocol.QUICK, { 9 }, { 1 }, { 1, 1, 1, 1, 1, 1, 1, 1 }, {} }
end

return sm90
