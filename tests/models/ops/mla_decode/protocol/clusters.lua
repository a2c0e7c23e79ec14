-- The end of a request whose tokens the blocks of a cluster share (templates/mla_decode/sm90_mid/clusters.h and
-- sm90_many/clusters.h), for tests/models/protocol.lua: from the last products on; what comes before it is in the models of
-- sm90_mid and sm90_many. Functions here are named as those of the templates; two warps stand for four, and two blocks for all.
local protocol = require("protocol")

local clusters = {}

-- v: blocks; scores: a warpgroup of its own tells states and makes weights (sm90_mid), else math does, and states land where Q
-- was (sm90_many); warps: that stand for a warpgroup's four.
local function block(m, v, id)
  local x = { v = v, id = id, tiles = {}, states = {}, weights = {} }
  local function name(text, ...) return ("block %d: "):format(id) .. text:format(...) end
  x.free = m:barrier(name("FREE"), 2 * v.warps * (v.blocks - 1), id)
  x.ends, x.landed = m:barrier(name("ENDS"), 1, id), m:barrier(name("LANDED"), 1, id)
  x.weighed = v.scores and m:barrier(name("END"), v.warps, id)
  x.begin = m:named(name("begin"), 1 + 2 * v.warps + (v.scores and v.warps or 0))
  x.half = { m:named(name("named 2"), v.warps), m:named(name("named 3"), v.warps) }
  x.both = m:named(name("BOTH"), 2 * v.warps)
  for from = 1, v.blocks do
    x.tiles[from] = m:place(name("tiles, where O of block %d lands", from))
    x.states[from] = m:place(v.scores and name("states of block %d", from) or name("Q, where states of block %d land", from))
  end
  x.sums = {}
  for w = 0, v.warps - 1 do
    x.weights[w] = m:place(name("weights by warp %d", w))
    for wg = 1, 2 do x.sums[v.warps * (wg - 1) + w] = m:place(name("sums of warp %d.%d", wg, w)) end
  end
  return x
end

local function others(x, blocks, what)
  for id, other in ipairs(blocks) do
    if id ~= x.id then what(other, id) end
  end
end

local function tell_states(x, a, w, blocks, what)
  others(x, blocks, function(other)
    if w == 0 then a:copy(other.ends, 0, what, other.states[x.id], "states " .. x.id) end
  end)
end

-- sm90_mid: rows of the piece, by a warp of the scores.
local function finish_rows(x, a, w, blocks)
  a:meet(x.cluster, "work_on_scores()")
  tell_states(x, a, w, blocks, "meet_rows()")
  a:wait(x.ends, 0, "meet_rows()")
  others(x, blocks, function(_, id) a:read(x.states[id], "states " .. id, "meet_rows()") end)
  a:write(x.weights[w], "weights", "meet_rows()")
  a:arrive(x.weighed, 0, "finish_rows()")
end

-- The warpgroup wg's warp w, behind its last products.
local function finish_values(x, a, wg, w, blocks)
  local v = x.v
  for from = 1, v.blocks do a:read(x.tiles[from], "tiles", "multiply_v()") end
  if not v.scores then
    for from = 1, v.blocks do a:read(x.states[from], "Q", "multiply_quarter()") end
  end
  a:meet(x.cluster, v.scores and "work_on_values()" or "work_on_blocks()")
  others(x, blocks, function(other) a:arrive(other.free, 0, "send_columns()") end)
  if not v.scores then
    a:write(x.sums[v.warps * (wg - 1) + w], "sums", "finish()")
    a:sync(x.both, "finish()")
    for i = 0, 2 * v.warps - 1 do a:read(x.sums[i], "sums", "finish_together()") end
  end
  a:wait(x.free, 0, "send_columns()")
  if not v.scores and wg == 1 then tell_states(x, a, w, blocks, "finish_together()") end
  if wg ~= x.id then
    if w == 0 then a:copy(blocks[wg].landed, 0, "send_columns()", blocks[wg].tiles[x.id], "O of block " .. x.id) end
    return
  end
  if w == 0 then a:arrive(x.landed, 0, "write_columns()", v.blocks - 1) end
  if v.scores then
    a:wait(x.weighed, 0, "meet_values()")
    for i = 0, v.warps - 1 do a:read(x.weights[i], "weights", "write_columns()") end
  else
    a:wait(x.ends, 0, "finish_columns()")
    others(x, blocks, function(_, id) a:read(x.states[id], "states " .. id, "finish_columns()") end)
  end
  a:wait(x.landed, 0, "write_columns()")
  others(x, blocks, function(_, id) a:read(x.tiles[id], "O of block " .. id, "write_columns()") end)
  if not v.scores then return end
  a:sync(x.half[wg], "write_columns()")
  -- Through boxes of the last tile, over which O of other blocks may have landed.
  others(x, blocks, function(_, id)
    if w == 0 then a:write(x.tiles[id], "O", "write_columns()") end
  end)
end

function clusters.model(v)
  local m, xs, agents = protocol.new(), {}, {}
  local each = 1 + 2 * v.warps + (v.scores and v.warps or 0)
  local cluster = m:named("cluster", v.blocks * each)
  for id = 1, v.blocks do
    xs[id] = block(m, v, id)
    xs[id].cluster = cluster
  end
  for id, x in ipairs(xs) do
    local function add(name, body) agents[#agents + 1] = { m:agent(("block %d %s"):format(id, name), id), body, x } end
    add("loaders", function(a)
      for from = 1, v.blocks do
        a:write(x.tiles[from], "tiles", "load")
        if not v.scores then a:write(x.states[from], "Q", "load") end
      end
      a:sync(x.loaded, "load")
      a:meet(cluster, "kernel")
    end)
    x.loaded = m:named(("block %d: loaded"):format(id), 1 + 2 * v.warps)
    if v.scores then
      for w = 0, v.warps - 1 do add("scores " .. w, function(a) finish_rows(x, a, w, xs) end) end
    end
    for wg = 1, 2 do
      for w = 0, v.warps - 1 do
        add(("values %d.%d"):format(wg, w), function(a)
          a:sync(x.loaded, "load")
          finish_values(x, a, wg, w, xs)
        end)
      end
    end
  end
  for _, one in ipairs(agents) do
    local a, body, x = table.unpack(one)
    if a.name:find("loaders") then
      a:make({ x.free, x.ends, x.landed, x.weighed }, "kernel")
      a:arrive(x.ends, 0, "kernel", v.blocks - 1)
    end
    a:sync(x.begin, "kernel")
    a:pass(cluster, "kernel")
    body(a)
  end
  return m
end

return clusters
