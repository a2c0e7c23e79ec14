-- The barriers between the threads of templates/mla_gather_kv_b/sm90.cu.in, for tests/models/protocol.lua. Functions
-- here are named as those of the template that they stand for; two warps stand for the four of a warpgroup.
--
-- v: stages, slabs, cluster (blocks that load W for each other)
local protocol = require("protocol")

local sm90 = {}

local WARPS = 2 -- of a warpgroup
local MATH = 2 * WARPS

local function block(m, v, id)
  local x = { id = id, full = {}, empty = {}, slab_full = {}, w = {}, x = {}, rows = {}, turns = {}, barriers = {} }
  local function name(what, i) return ("%s[%d] of block %d"):format(what, i, id) end
  local function add(list, i, b) list[i], x.barriers[#x.barriers + 1] = b, b end
  for i = 0, v.stages - 1 do
    add(x.full, i, m:barrier(name("full", i), 1, id))
    add(x.empty, i, m:barrier(name("empty", i), v.cluster * WARPS, id))
    x.w[i] = {}
    for half = 1, v.cluster do x.w[i][half] = m:place(name("W", i) .. ", half " .. half) end
  end
  for k = 0, v.slabs - 1 do
    add(x.slab_full, k, m:barrier(name("slab_full", k), MATH, id))
    x.x[k] = {}
    for warp = 0, MATH - 1 do x.x[k][warp] = m:place(name("x", k) .. ", share " .. warp) end
  end
  for wg = 0, 1 do x.turns[wg] = m:named(name("TURN", wg), MATH) end
  x.rows_found = m:named("ROWS_FOUND of block " .. id, MATH)
  for warp = 0, WARPS - 1 do x.rows[warp] = m:place(name("rows", warp)) end
  return x
end

-- c: an agent a with its block x; v, tiles.
local function load_w(c, cluster)
  local v = c.v
  for i = 0, c.tiles * v.slabs - 1 do
    local at, n = i % v.stages, i // v.stages
    c.a:wait(c.x.empty[at], n - 1, "load_w()")
    c.a:arrive(c.x.full[at], n, "load_w()", v.cluster)
    for _, other in ipairs(cluster) do c.a:copy(other.full[at], n, "load_w()", other.w[at][c.x.id], i) end
  end
end

local function give_share(c, k)
  c.a:write(c.x.x[k][c.id], 0, "give_share()")
  c.a:arrive(c.x.slab_full[k], 0, "give_share()")
end

local function read_step(c, k, i)
  for half = 1, c.v.cluster do c.a:read(c.x.w[i % c.v.stages][half], i, "wgmma") end
  for warp = 0, MATH - 1 do c.a:read(c.x.x[k][warp], 0, "wgmma") end
end

local function give_back(c, cluster, k, i)
  read_step(c, k, i) -- its products end here at the latest
  for _, other in ipairs(cluster) do c.a:arrive(other.empty[i % c.v.stages], i // c.v.stages, "give_back()") end
end

local function multiply(c, cluster, tile, gathers, passes)
  local v = c.v
  for k = 0, v.slabs - 1 do
    local i = tile * v.slabs + k
    if gathers then
      give_share(c, k)
      c.a:wait(c.x.slab_full[k], 0, "multiply()")
    end
    c.a:wait(c.x.full[i % v.stages], i // v.stages, "multiply()")
    if k + 1 == v.slabs and passes then c.a:pass(c.x.turns[1 - c.wg], "multiply()") end
    read_step(c, k, i)
    if k > 0 then give_back(c, cluster, k - 1, i - 1) end
  end
  give_back(c, cluster, v.slabs - 1, (tile + 1) * v.slabs - 1)
end

local function work_on_tiles(c, cluster)
  local x, v = c.x, c.v
  if c.wg == 0 then c.a:write(x.rows[c.id], 0, "work_on_tiles()") end
  c.a:sync(x.rows_found, "work_on_tiles()")
  for warp = 0, WARPS - 1 do c.a:read(x.rows[warp], 0, "gather()") end
  for k = 0, c.wg == 1 and v.slabs - 1 or -1 do give_share(c, k) end
  for tile = c.wg, c.tiles - 1, 2 do
    if tile > 0 then c.a:sync(x.turns[c.wg], "work_on_tiles()") end
    multiply(c, cluster, tile, tile == 0, tile + 1 < c.tiles)
  end
end

-- tiles: of a block's share.
function sm90.model(v, tiles)
  local m, cluster, agents = protocol.new(), {}, {}
  for id = 1, v.cluster do cluster[id] = block(m, v, id) end
  local all = m:named("the cluster", v.cluster * (1 + MATH))
  for _, x in ipairs(cluster) do
    local function agent(name, run, c)
      c.x, c.v, c.tiles, c.run = x, v, tiles, run
      c.a = m:agent(("%s of block %d"):format(name, x.id), x.id)
      agents[#agents + 1] = c
    end
    agent("loader", load_w, { makes = true })
    for id = 0, MATH - 1 do
      agent(("math %d.%d"):format(id // WARPS, id % WARPS), work_on_tiles, { id = id, wg = id // WARPS })
    end
  end
  for _, c in ipairs(agents) do
    if c.makes then c.a:make(c.x.barriers, "kernel") end
    c.a:sync(all, "kernel")
    c.run(c, cluster)
    if v.cluster > 1 then c.a:sync(all, "kernel") end
  end
  return m
end

function sm90.cases(_, every) return every and { 1, 2, 3, 5 } or { 3 } end

return sm90
