-- The barriers between the threads of templates/lib/projection/ring.h, ring_fp8.h and wide_fp8.h, for tests/models/protocol.lua.
-- Functions here are named as those of the templates that they stand for; two warps stand for the four of a warpgroup.
--
-- v: stages, groups (warpgroups, 64 tokens each; of fp8: 64 outputs), norm (1: x goes through registers), split (blocks of the
-- cluster), ways (as many times the warpgroups take steps in turns), walk (tiles one after the other, sums behind the ring),
-- once (a walk in two passes: all of a pass' x in front of the ring, and a warp writes its own sums),
-- absorb (ring_absorb.h: of a pass' steps the last so many are parts of W_UK, which lie where x does, too; there are no sums),
-- idles (0: in even passes or tiles the last warpgroup has no tokens, 1: in odd ones), fp8 (ring_fp8.h), wide (wide_fp8.h: fp8,
-- too, with two groups and one way), ahead (that, of parts_fp8), loaders (2: both loaders load W and x, every second step each,
-- where the plan says `both`)
local protocol = require("protocol")

local ring = {}

local WARPS = 2   -- of a warpgroup
local X_LANES = 2 -- that load x, of parts_fp8

-- A kernel of ring_fp8 by its plan (gen/projection/plan.lua) and parameters.
function ring.of_fp8(plan, product, v)
  return { fp8 = true, stages = plan.stages, groups = plan.groups, norm = product.norm, split = v.split, ways = v.ways }
end

local function block(m, v, id, cluster)
  local x = { v = v, id = id, full = {}, x_full = {}, empty = {}, w = {}, x = {}, x2 = {}, barriers = {}, sums = {},
    cluster = cluster,
    way_warps = WARPS * v.groups, math = WARPS * v.groups * v.ways }
  local function name(what, i) return ("%s[%d] of block %d"):format(what, i, id) end
  for i = 0, v.stages - 1 do
    x.full[i] = m:barrier(name("full", i), (v.fp8 or v.loaders or v.once) and 1 or 2, id)
    x.empty[i] = m:barrier(name("empty", i), x.way_warps, id)
    x.x_full[i] = v.fp8 and m:barrier(name("full of x", i), v.ahead and X_LANES or 1, id) or x.full[i]
    x.w[i], x.x[i] = m:place(name("W", i)), m:place(name("x", i))
    if v.ahead then x.x2[i] = m:place(name("the second lane's x", i)) end
    x.barriers[#x.barriers + 1], x.barriers[#x.barriers + 2] = x.full[i], x.empty[i]
    if v.fp8 then x.barriers[#x.barriers + 1] = x.x_full[i] end
  end
  x.loaders = v.ahead and 1 + X_LANES or 2
  x.all = m:named("all of block " .. id, x.loaders + x.math)
  if v.once then
    x.all_x, x.x_is_full = m:place("x of block " .. id), m:barrier("full of x of block " .. id, 1, id)
    x.x_is_empty = m:barrier("empty of x of block " .. id, x.way_warps, id)
    x.barriers[#x.barriers + 1], x.barriers[#x.barriers + 2] = x.x_is_full, x.x_is_empty
  elseif v.walk then
    x.adders = m:named("math of block " .. id, x.math)
  end
  for i = 1, x.math do x.sums[i] = m:place(("sums %d of block %d"):format(i, id)) end
  if v.fp8 then
    x.laid, x.squares, x.parts = {}, m:place("squares of block " .. id), {}
    for i = 1, x.math do x.parts[i] = m:place(("parts of squares %d of block %d"):format(i, id)) end
    for i = 1, x.math + x.loaders do x.laid[i] = m:place(("scales and gain %d of block %d"):format(i, id)) end
  end
  return x
end

-- ---- Roles: c is an agent with its block ---------------------------------------------------------------------------------
-- All threads lay some of the scales and of the norm's weights, before they meet; those who multiply read all of them.
local function lay(c) c.a:write(c.x.laid[c.lays], "laid", "lay_scales()") end
local function read_laid(c, what)
  for i = 1, #c.x.laid do c.a:read(c.x.laid[i], "laid", what) end
end

-- The loader of one of the two, step by step through all passes: ahead: steps that it asked for before it met the others.
local function load(c, places, what, i, steps)
  local x, at, n = c.x, i % c.x.v.stages, i // c.x.v.stages
  local part, full = x.v.absorb and i % steps >= steps - x.v.absorb, (places == "w" and x.full or x.x_full)[at]
  c.a:arrive(full, n, what, 1)
  if not (part and places == "x") then c.a:copy(full, n, what, x[places][at], i) end
  if part and places == "w" then c.a:copy(full, n, what, x.x[at], i) end
end

local function load_pass(c, places, what, pass, steps, ahead)
  local stages = c.x.v.stages
  for i = pass * steps + (pass == 0 and ahead or 0), (pass + 1) * steps - 1 do
    c.a:wait(c.x.empty[i % stages], i // stages - 1, "wait_empty()")
    load(c, places, what, i, steps)
  end
end

local function load_w(c, pass, steps) load_pass(c, "w", "load_w()", pass, steps, math.min(c.x.v.stages, steps)) end
local function load_x(c, pass, steps) load_pass(c, "x", "load_x()", pass, steps, 0) end
local function load_x2(c, pass, steps) load_pass(c, "x2", "load_x()", pass, steps, 0) end

-- One of two that load both: a step's W and, behind the wait for the launch before, its x. A place is always the same one's.
local function load_w_of(c, i)
  local x, at, n = c.x, i % c.x.v.stages, i // c.x.v.stages
  c.a:arrive(x.full[at], n, "load_w()", 2)
  c.a:copy(x.full[at], n, "load_w()", x.w[at], i)
end
local function load_both(c, pass, steps)
  local x, stages, begin = c.x, c.x.v.stages, pass * steps
  for i = begin + (c.loader + begin % stages) % 2, begin + steps - 1, 2 do
    local at, n = i % stages, i // stages
    if pass > 0 or i >= stages then
      c.a:wait(x.empty[at], n - 1, "wait_empty()")
      load_w_of(c, i)
    end
    c.a:copy(x.full[at], n, "load_x()", x.x[at], i)
  end
end

local function multiply_pass(c, pass, steps)
  local x, stages, ways, before = c.x, c.x.v.stages, c.x.v.ways, nil
  local first = ((c.id - 1) // x.way_warps - pass * steps) % ways
  if x.v.idles == pass % 2 and (c.id - 1) // WARPS == x.v.groups - 1 then
    for i = pass * steps, (pass + 1) * steps - 1 do
      c.a:wait(x.full[i % stages], i // stages, "multiply_pass()")
      c.a:arrive(x.empty[i % stages], i // stages, "multiply_pass()")
    end
    return
  end
  local function read_x(i)
    if x.v.once then c.a:read(x.all_x, pass // c.tiles, "wgmma") else c.a:read(x.x[i % stages], i, "wgmma") end
  end
  local function give_back()
    c.a:read(x.w[before % stages], before, "wgmma") -- its products end here at the latest
    read_x(before)
    c.a:arrive(x.empty[before % stages], before // stages, "multiply_pass()")
    before = nil
  end
  for i = pass * steps + first, (pass + 1) * steps - 1, ways do
    if before and x.v.absorb and i % steps == steps - x.v.absorb then give_back() end
    c.a:wait(x.full[i % stages], i // stages, "multiply_pass()")
    c.a:read(x.w[i % stages], i, "wgmma")
    read_x(i)
    if before then give_back() end
    before = i
    if x.v.norm == 1 then give_back() end
  end
  if before then give_back() end
end

-- Weights of 8 bits go through registers, half a step ahead. So a way waits for its next place before it gives back the
-- one that it has; behind its last step it takes that one's bytes once more.
local function multiply_pass_fp8(c, pass, steps)
  local x, a, stages, ways, stop = c.x, c.a, c.x.v.stages, c.x.v.ways, (pass + 1) * steps
  local function wait_full(i, of) a:wait((of or x.full)[i % stages], i // stages, "multiply_steps()") end
  local function take_w(i)
    a:read(x.w[i % stages], i, "take_w()")
    if x.v.norm == 1 then read_laid(c, "take_w()") end
  end
  local i = pass * steps + ((c.id - 1) // x.way_warps - pass * steps) % ways
  wait_full(i)
  take_w(i)
  wait_full(i, x.x_full)
  while i < stop do
    local next = i + ways < stop and i + ways or i
    a:read(x.x[i % stages], i, "multiply_half()")
    take_w(i)
    read_laid(c, "finish_part()")
    a:read(x.x[i % stages], i, x.v.norm == 1 and "add_squares()" or "multiply_half()")
    wait_full(next)
    take_w(next)
    wait_full(next, x.x_full)
    a:read(x.x[i % stages], i, "finish_part()") -- its products end here
    a:arrive(x.empty[i % stages], i // stages, "give_back()")
    i = i + ways
  end
end

-- wide_fp8.h gives a stage back when the next one's products have begun and its own are over; the next one's bytes become numbers
-- before. Behind the last step they do so once more. `ahead`: the next one's bytes are taken first of all.
local function multiply_pass_wide(c, pass, steps)
  local x, a, stages, stop = c.x, c.a, c.x.v.stages, (pass + 1) * steps
  local function wait(of, i) a:wait(of[i % stages], i // stages, "take_step()") end
  local function read_x(i, what)
    a:read(x.x[i % stages], i, what)
    if x.v.ahead then a:read(x.x2[i % stages], i, what) end
  end
  local function take_w(i)
    a:read(x.w[i % stages], i, x.v.ahead and "take_codes()" or "take_w()")
    read_laid(c, x.v.ahead and "make_numbers()" or "take_w()")
  end
  local function give_back(i)
    read_x(i, "take_step()") -- its products end here
    a:arrive(x.empty[i % stages], i // stages, "give_back()")
  end
  local first = pass * steps
  wait(x.full, first)
  take_w(first)
  wait(x.x_full, first)
  for i = first, stop - 1 do
    local next = i + 1 < stop and i + 1 or i
    if x.v.ahead then
      wait(x.full, next)
      take_w(next)
    end
    read_x(i, x.v.norm == 1 and "add_squares()" or "take_step()")
    if i > first then give_back(i - 1) end
    if not x.v.ahead then
      wait(x.full, next)
      take_w(next)
    end
    wait(x.x_full, next)
  end
  give_back(stop - 1)
end

-- Sums lie where the ring was: one agent's stand for all places of it.
local function sum_pass(c, pass)
  local x = c.x
  c.a:sync(x.all, "the ring is done with")
  if c.first then
    for at = 0, x.v.stages - 1 do
      c.a:write(x.w[at], -1 - pass, "sums")
      c.a:write(x.x[at], -1 - pass, "sums")
      if x.v.ahead then c.a:write(x.x2[at], -1 - pass, "sums") end
    end
  end
  if c.id then c.a:write(x.sums[c.id], pass, "sums") end
  local parts = x.v.fp8 and x.v.norm == 1 and x.parts
  if parts and c.id then c.a:write(parts[c.id], pass, "multiply_pass()") end
  c.a:sync(x.all, "kernel")
  if not parts or x.v.wide then return end
  if c.first then
    for i = 1, x.math do c.a:read(parts[i], pass, "add_parts()") end
    c.a:write(x.squares, pass, "add_parts()")
  end
  c.a:sync(x.all, "kernel")
end

-- One agent of a block stands for those that add up; the others only take part in the barriers.
local function write_pass(c, pass)
  local x = c.x
  local function read_sums(of)
    for i = 1, of.math do c.a:read(of.sums[i], pass, "write_pass()") end
    for i = 1, of.v.wide and of.v.norm == 1 and of.math or 0 do c.a:read(of.parts[i], pass, "write_pass()") end
    if of.squares and of.v.norm == 1 and not of.v.wide then c.a:read(of.squares, pass, "write_pass()") end
  end
  if not x.cluster then
    if c.first then read_sums(x) end
    return c.a:sync(x.all, "kernel")
  end
  if c.first and x.v.ways > 1 then -- this block's share first
    read_sums(x)
    c.a:write(x.sums[1], pass, "write_pass()")
  end
  c.a:sync(x.cluster.all, "sync_cluster()")
  for _, other in ipairs(c.first and x.cluster or {}) do read_sums(other) end
  c.a:sync(x.cluster.all, "sync_cluster()")
end

-- All tiles of a block: loaders go through them without a stop.
local function walk_tiles(c, steps, tiles)
  local x = c.x
  if not c.id then return c.run(c, 0, steps * tiles) end
  for tile = 0, tiles - 1 do
    c.run(c, tile, steps)
    c.a:write(x.sums[c.id], tile, "sums")
    c.a:sync(x.adders, "walk_tiles()")
    if c.first then
      for i = 1, x.math do c.a:read(x.sums[i], tile, "write_pass()") end
    end
    c.a:sync(x.adders, "walk_tiles()")
  end
end

-- A walk whose x comes once, in PASSES passes. The loader of W goes through them without a stop.
local PASSES = 2
local function load_all_x(c)
  for pass = 0, PASSES - 1 do
    c.a:wait(c.x.x_is_empty, pass - 1, "walk_tiles()")
    c.a:arrive(c.x.x_is_full, pass, "load_x()", 1)
    c.a:copy(c.x.x_is_full, pass, "load_x()", c.x.all_x, pass)
  end
end
local function walk_once(c, steps, tiles)
  local x = c.x
  if c.makes then return load_pass(c, "w", "load_w()", 0, steps * tiles * PASSES, math.min(x.v.stages, steps * tiles)) end
  if not c.id then return load_all_x(c) end
  c.tiles = tiles
  for tile = 0, tiles * PASSES - 1 do
    if tile % tiles == 0 then c.a:wait(x.x_is_full, tile // tiles, "walk_tiles()") end
    c.run(c, tile, steps)
    if (tile + 1) % tiles == 0 then c.a:arrive(x.x_is_empty, tile // tiles, "walk_tiles()") end
    c.a:write(x.sums[c.id], tile, "sums")
    c.a:read(x.sums[c.id], tile, "write_rows()")
  end
end

local function add_block(m, x, agents)
  local function agent(name, run, c)
    c.x, c.a, c.run = x, m:agent(("%s of block %d"):format(name, x.id), x.id), run
    c.lays = c.id or x.math + (c.makes and 1 or c.second and 3 or 2)
    agents[#agents + 1] = c
  end
  for loader = 0, (x.v.loaders or 0) - 1 do agent("loader " .. loader, load_both, { loader = loader }) end
  if not x.v.loaders then
    agent("W", load_w, { makes = true })
    agent("x", load_x, {})
    if x.v.ahead then agent("x, second lane", load_x2, { second = true }) end
  end
  local multiply = x.v.wide and multiply_pass_wide or x.v.fp8 and multiply_pass_fp8 or multiply_pass
  for id = 1, x.math do agent("math " .. id, multiply, { id = id, first = id == 1 }) end
end

-- case: { steps of a pass or tile, passes or tiles }
function ring.model(v, case)
  local m, agents = protocol.new(), {}
  local cluster = v.split > 1 and {} or nil
  for id = 1, v.split do
    local x = block(m, v, id, cluster)
    if cluster then cluster[id] = x end
    add_block(m, x, agents)
  end
  if cluster then cluster.all = m:named("the cluster", #agents) end
  for _, c in ipairs(agents) do
    if c.makes then
      c.a:make(c.x.barriers, "kernel")
      for i = 0, math.min(v.stages, v.walk and case[1] * case[2] or case[1]) - 1 do load(c, "w", "load_w()", i, case[1]) end
    end
    if c.loader then
      local own = {}
      for i = c.loader, v.stages - 1, 2 do own[#own + 1], own[#own + 2] = c.x.full[i], c.x.empty[i] end
      c.a:make(own, "kernel")
      for i = c.loader, math.min(v.stages, case[1]) - 1, 2 do load_w_of(c, i) end
    end
    if v.fp8 then lay(c) end
    c.a:sync(c.x.all, "kernel")
    if v.walk then (v.once and walk_once or walk_tiles)(c, case[1], case[2]) end
    for pass = 0, v.walk and -1 or case[2] - 1 do
      c.run(c, pass, case[1])
      if not v.absorb then
        sum_pass(c, pass)
        write_pass(c, pass)
      end
    end
  end
  return m
end

-- Fewer steps than stages, as many, many more; a pass and several. A way has a step in each pass.
function ring.cases(v, all)
  local s, w = v.stages, v.ways
  if v.fp8 then
    return all and { { w, 1 }, { math.max(w, s - 1), 3 }, { s, 2 }, { s + 1, 3 }, { 3 * s + 1, 2 } } or { { 2 * s + 1, 2 } }
  end
  return all and { { 1, 1 }, { s - 1, 3 }, { s, 2 }, { s + 1, 3 }, { 3 * s + 1, 2 } } or { { 2 * s + 1, 2 } }
end

return ring
