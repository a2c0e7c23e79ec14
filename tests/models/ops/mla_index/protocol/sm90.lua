-- The barriers between the threads of templates/mla_index/sm90.cu.in, for tests/models/protocol.lua. Functions here are named as
-- those of the template that they stand for; two warps stand for the four of a warpgroup, two lanes for the loader's.
--
-- v: stages, groups; whole: steps come in two copies by one lane, else token by token by all
local protocol = require("protocol")

local sm90 = {}

local WARPS, LANES = 2, 2

local function block(m, v)
  local x = { full = {}, empty = {}, there = {}, place = {}, barriers = {} }
  for i = 0, v.stages - 1 do
    x.full[i] = m:barrier(("full[%d]"):format(i), v.whole and 1 or LANES + 1)
    x.there[i] = m:place(("there[%d]"):format(i))
    x.empty[i] = m:barrier(("empty[%d]"):format(i), WARPS)
    x.place[i] = {}
    for k = 1, 2 do x.place[i][k] = m:place(("place %d, part %d"):format(i, k)) end -- keys and scales; a lane's tokens
    x.barriers[2 * i + 1], x.barriers[2 * i + 2] = x.full[i], x.empty[i]
  end
  return x
end

local function load_steps(a, x, v, lane, steps)
  for i = 0, lane == 1 and steps - 1 or -1 do
    local at, n = i % v.stages, i // v.stages
    a:wait(x.empty[at], n - 1, "load_steps()")
    a:write(x.there[at], i, "load_steps()")
    a:arrive(x.full[at], n, "load_steps()", 2)
    for k = 1, 2 do a:copy(x.full[at], n, "load_steps()", x.place[at][k], i) end
  end
end

local function load_tokens(a, x, v, lane, steps)
  for i = 0, steps - 1 do
    local at, n = i % v.stages, i // v.stages
    a:wait(x.empty[at], n - 1, "load_tokens()")
    if lane == 1 then a:write(x.there[at], i, "load_tokens()") end
    a:arrive(x.full[at], n, "arrive_behind_copies()", 1)
    a:copy(x.full[at], n, "load_tokens()", x.place[at][lane], i)
    if lane == 1 then a:arrive(x.full[at], n, "load_tokens()") end
  end
end

local function work(a, x, v, group, steps)
  for i = group, steps - 1, v.groups do
    local at, n = i % v.stages, i // v.stages
    a:wait(x.full[at], n, "work()")
    for k = 1, 2 do a:read(x.place[at][k], i, "load_keys()") end
    a:read(x.there[at], i, "work()")
    a:arrive(x.empty[at], n, "work()")
  end
end

-- steps: of a block's tokens.
function sm90.model(v, steps)
  local m = protocol.new()
  local x, all = block(m, v), m:named("all threads", LANES + v.groups * WARPS)
  local agents = {}
  for lane = 1, LANES do
    local load = v.whole and load_steps or load_tokens
    agents[#agents + 1] = { m:agent("loader's lane " .. lane), function(a) load(a, x, v, lane, steps) end }
  end
  for k = 0, v.groups * WARPS - 1 do
    local group = k // WARPS
    agents[#agents + 1] = { m:agent(("math %d.%d"):format(group, k % WARPS)), function(a) work(a, x, v, group, steps) end }
  end
  for k, agent in ipairs(agents) do
    if k == 1 then agent[1]:make(x.barriers, "kernel") end
    agent[1]:sync(all, "kernel")
    agent[2](agent[1])
  end
  return m
end

function sm90.cases(v, every) return every and { 1, 2, v.stages, v.stages + 1, 3 * v.stages + 2 } or { 3 * v.stages } end

return sm90
