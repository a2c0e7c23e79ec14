-- What the threads of templates/lib/projection/ring.h say to each other, for gen/protocol.lua. Functions here are named as those
-- of the template that they stand for; two warps stand for the four of a warpgroup.
--
-- v: stages, groups (warpgroups, 64 tokens each), norm (1: x goes through registers), split (blocks of the cluster), ways (as
-- many times the warpgroups take steps in turns), walk (tiles one after the other, sums behind the ring), absorb (ring_absorb.h:
-- of a pass' steps the last so many are parts of W_UK, which lie where x does, too; there are no sums)
local protocol = require("protocol")

local ring = {}

local WARPS = 2 -- of a warpgroup

local function block(m, v, id, cluster)
  local x = { v = v, id = id, full = {}, empty = {}, w = {}, x = {}, barriers = {}, sums = {}, cluster = cluster,
    way_warps = WARPS * v.groups, math = WARPS * v.groups * v.ways }
  local function name(what, i) return ("%s[%d] of block %d"):format(what, i, id) end
  for i = 0, v.stages - 1 do
    x.full[i], x.empty[i] = m:barrier(name("full", i), 2, id), m:barrier(name("empty", i), x.way_warps, id)
    x.w[i], x.x[i] = m:place(name("W", i)), m:place(name("x", i))
    x.barriers[#x.barriers + 1], x.barriers[#x.barriers + 2] = x.full[i], x.empty[i]
  end
  x.all = m:named("all of block " .. id, 2 + x.math)
  if v.walk then x.adders = m:named("math of block " .. id, x.math) end
  for i = 1, x.math do x.sums[i] = m:place(("sums %d of block %d"):format(i, id)) end
  return x
end

-- ---- Roles: c is an agent with its block ---------------------------------------------------------------------------------
-- The loader of one of the two, step by step through all passes: ahead: steps that it asked for before it met the others.
local function load(c, places, what, i, steps)
  local x, at, n = c.x, i % c.x.v.stages, i // c.x.v.stages
  local part = x.v.absorb and i % steps >= steps - x.v.absorb
  c.a:arrive(x.full[at], n, what, 1)
  if not (part and places == "x") then c.a:copy(x.full[at], n, what, x[places][at], i) end
  if part and places == "w" then c.a:copy(x.full[at], n, what, x.x[at], i) end
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

local function multiply_pass(c, pass, steps)
  local x, stages, ways, before = c.x, c.x.v.stages, c.x.v.ways, nil
  local first = ((c.id - 1) // x.way_warps - pass * steps) % ways
  local function give_back()
    c.a:read(x.w[before % stages], before, "wgmma") -- its products end here at the latest
    c.a:read(x.x[before % stages], before, "wgmma")
    c.a:arrive(x.empty[before % stages], before // stages, "multiply_pass()")
    before = nil
  end
  for i = pass * steps + first, (pass + 1) * steps - 1, ways do
    if before and x.v.absorb and i % steps == steps - x.v.absorb then give_back() end
    c.a:wait(x.full[i % stages], i // stages, "multiply_pass()")
    c.a:read(x.w[i % stages], i, "wgmma")
    c.a:read(x.x[i % stages], i, "wgmma")
    if before then give_back() end
    before = i
    if x.v.norm == 1 then give_back() end
  end
  if before then give_back() end
end

-- Sums lie where the ring was: one agent's stand for all places of it.
local function sum_pass(c, pass)
  local x = c.x
  c.a:sync(x.all, "the ring is done with")
  if c.first then
    for at = 0, x.v.stages - 1 do
      c.a:write(x.w[at], -1 - pass, "sums")
      c.a:write(x.x[at], -1 - pass, "sums")
    end
  end
  if c.id then c.a:write(x.sums[c.id], pass, "sums") end
  c.a:sync(x.all, "kernel")
end

-- One agent of a block stands for those that add up; the others only take part in the barriers.
local function write_pass(c, pass)
  local x = c.x
  local function read_sums(of)
    for i = 1, of.math do c.a:read(of.sums[i], pass, "write_pass()") end
  end
  if not x.cluster then
    if c.first then read_sums(x) end
    return c.a:sync(x.all, "kernel")
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

local function add_block(m, x, agents)
  local function agent(name, run, c)
    c.x, c.a, c.run = x, m:agent(("%s of block %d"):format(name, x.id), x.id), run
    agents[#agents + 1] = c
  end
  agent("W", load_w, { makes = true })
  agent("x", load_x, {})
  for id = 1, x.math do agent("math " .. id, multiply_pass, { id = id, first = id == 1 }) end
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
    c.a:sync(c.x.all, "kernel")
    if v.walk then walk_tiles(c, case[1], case[2]) end
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

-- Fewer steps than stages, as many, many more; a pass and several.
function ring.cases(v, all)
  local s = v.stages
  return all and { { 1, 1 }, { s - 1, 3 }, { s, 2 }, { s + 1, 3 }, { 3 * s + 1, 2 } } or { { 2 * s + 1, 2 } }
end

return ring
