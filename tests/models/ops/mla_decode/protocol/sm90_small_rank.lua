-- The barriers between the threads of templates/mla_decode/sm90_small_rank.cu.in, for tests/models/protocol.lua.
-- Functions here are named as those of the template that they stand for; two warps stand for four
-- (sm90_few.lua beside).
local protocol = require("protocol")

local sm90_small_rank = {}

local LOADERS = 3

-- A kernel of a plan (gen/ops/mla_decode/plans/sm90_small_rank.lua) with its parameters.
function sm90_small_rank.of(plan, v) return { buffers = plan.buffers, schedule = v.schedule, warps = 2 } end

-- v: buffers, schedule, warps.
local function block(m, v)
  local x, math = { v = v, full = {}, empty = {}, buffers = {} }, 2 * v.warps
  for b = 0, v.buffers - 1 do
    x.full[b], x.empty[b], x.buffers[b] = m:barrier(("full[%d]"):format(b), LOADERS), m:barrier(("empty[%d]"):format(b), math), {}
    for w = 0, LOADERS - 1 do x.buffers[b][w] = m:place(("buffer %d, by loader %d"):format(b, w)) end
  end
  x.q_full, x.q_empty = m:barrier("Q_FULL", 1), m:barrier("Q_EMPTY", math)
  x.facts_full, x.checked = m:barrier("FACTS", 1), m:barrier("CHECKED", 1)
  x.begin, x.both = m:named("begin", LOADERS + 1 + math), m:named("BOTH", math)
  x.turn, x.own, x.zeros = {}, {}, {}
  for wg = 0, 1 do x.turn[wg], x.own[wg] = m:named("TURN + " .. wg, math), m:named("OWN + " .. wg, v.warps) end
  x.q, x.facts, x.bad = { [0] = m:place("Q of warpgroup 0"), m:place("Q of warpgroup 1") }, m:place("facts"), m:place("BAD")
  for id = 0, math - 1 do x.zeros[id] = m:place("zeros of math warp " .. id) end
  return x
end

local function load_cache(x, a, warp, pieces)
  local i = 0
  for k, blocks in ipairs(pieces) do
    for j = 0, blocks - 1 do
      local b, n = i % x.v.buffers, i // x.v.buffers
      if k == 1 and j == 1 then a:hint(x.q_full, 0, "load_piece()") end
      a:wait(x.empty[b], n - 1, "load_piece()")
      a:arrive(x.full[b], n, "load_piece()", 1)
      a:copy(x.full[b], n, "load_piece()", x.buffers[b][warp], i)
      i = i + 1
    end
    if x.v.schedule == "splits" then return end
  end
end

local function load_queries(x, a, pieces)
  for k = 0, #pieces do
    local more = k < #pieces
    if k > 0 then a:wait(x.q_empty, k - 1, "load_queries()") end
    a:write(x.facts, k, "load_queries()")
    a:arrive(x.facts_full, k, "load_queries()")
    a:arrive(x.q_full, k, "load_queries()", more and 2 or 0)
    for wg = 0, more and 1 or -1 do a:copy(x.q_full, k, "load_queries()", x.q[wg], k) end
    if not more then return end
    a:write(x.bad, k, "load_queries()")
    a:arrive(x.checked, k, "load_queries()")
    if x.v.schedule == "splits" then return end
  end
end

-- ---- Math ---------------------------------------------------------------------------------------------------------------
-- c: a warp of a math warpgroup: x, a (the agent), wg, w, id among the math warps, at (blocks before).
local function wait_full(c, i) c.a:wait(c.x.full[i % c.x.v.buffers], i // c.x.v.buffers, "wait_full()") end
local function take_turn(c) c.a:sync(c.x.turn[c.wg], "take_turn()") end
local function pass_turn(c) c.a:pass(c.x.turn[1 - c.wg], "pass_turn()") end
local function read_block(c, i, what)
  for w = 0, LOADERS - 1 do c.a:read(c.x.buffers[i % c.x.v.buffers][w], i, what) end
end
local function multiply_k(c, i, k)
  read_block(c, i, "multiply_k()")
  c.a:read(c.x.q[c.wg], k, "multiply_k()")
end
local function give_back(c, i) c.a:arrive(c.x.empty[i % c.x.v.buffers], i // c.x.v.buffers, "give_back()") end

local function clear_tail(c, i)
  c.a:sync(c.x.both, "clear_tail()")
  c.a:write(c.x.zeros[c.id], i, "clear_tail()")
  if c.id < LOADERS then c.a:write(c.x.buffers[i % c.x.v.buffers][c.id], i, "clear_tail()") end -- one warp stands for all
  c.a:sync(c.x.both, "clear_tail()")
  for id = 0, 2 * c.x.v.warps - 1 do c.a:read(c.x.zeros[id], i, "multiply_v()") end
end

local function work_on_piece(c, k, blocks)
  local first = c.at
  wait_full(c, first)
  take_turn(c)
  multiply_k(c, first, k)
  pass_turn(c)
  if blocks > 1 then wait_full(c, first + 1) end
  for j = 1, blocks - 1 do
    take_turn(c)
    pass_turn(c)
    multiply_k(c, first + j, k)
    wait_full(c, first + math.min(j + 1, blocks - 1))
    read_block(c, first + j - 1, "multiply_v()")
    give_back(c, first + j - 1)
  end
  c.at = first + blocks
  clear_tail(c, c.at - 1)
  take_turn(c)
  pass_turn(c)
  read_block(c, c.at - 1, "multiply_v()")
  give_back(c, c.at - 1)
end

local function work_on_pieces(c, pieces)
  local x, a = c.x, c.a
  if c.wg == 1 then pass_turn(c) end
  for k = 0, #pieces do
    a:wait(x.facts_full, k, "work_on_pieces()")
    a:read(x.facts, k, "work_on_pieces()")
    local blocks = pieces[k + 1]
    if not blocks then break end
    a:wait(x.q_full, k, "work_on_pieces()")
    if blocks > 0 then work_on_piece(c, k, blocks) end
    a:wait(x.checked, k, "work_on_pieces()")
    a:read(x.facts, k, "finish()")
    a:read(x.bad, k, "finish()")
    a:sync(x.own[c.wg], "finish()")
    if c.w == 0 then a:write(x.q[c.wg], "O " .. k, "write_columns()") end -- each warp its rows; one stands for all
    if x.v.schedule == "splits" then break end
    a:arrive(x.q_empty, k, "work_on_pieces()")
  end
  if c.wg == 0 then take_turn(c) end
end

-- pieces: the blocks of 64 tokens of each.
function sm90_small_rank.model(v, pieces)
  local m = protocol.new()
  local x = block(m, v)
  local agents = {}
  local function add(name, body) agents[#agents + 1] = { m:agent(name), body } end
  for w = 0, LOADERS - 1 do add("loader " .. w, function(a) load_cache(x, a, w, pieces) end) end
  add("loader of Q", function(a) load_queries(x, a, pieces) end)
  for id = 0, 2 * v.warps - 1 do
    local c = { x = x, wg = id // v.warps, w = id % v.warps, id = id, at = 0 }
    add(("math %d.%d"):format(c.wg, c.w), function(a)
      c.a = a
      work_on_pieces(c, pieces)
    end)
  end
  for i, one in ipairs(agents) do
    if i == 1 then -- thread 0
      local list = { x.q_full, x.q_empty, x.facts_full, x.checked }
      for b = 0, v.buffers - 1 do list[#list + 1], list[#list + 2] = x.full[b], x.empty[b] end
      one[1]:make(list, "kernel")
    end
    one[1]:sync(x.begin, "kernel")
    one[2](one[1])
  end
  return m
end

-- The part of a kernel that is run: sm90_few.lua beside says why it is enough.
function sm90_small_rank.cases(v, all)
  if v.schedule ~= "splits" then return { all and protocol.WALK or protocol.QUICK } end
  local long = { 2 * v.buffers + 3 }
  return all and { {}, { 0 }, { 1 }, { 2 }, long } or { long }
end

return sm90_small_rank
