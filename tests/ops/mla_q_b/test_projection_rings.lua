-- The ring of the projections' Hopper kernel: all interleavings of what its threads say are right, and a step left out is found.
local T = ...
local test, ok = T.test, T.ok
local loader = T.loader()
local protocol = loader.require("protocol")
local ring = loader.require("projection/protocol")

local KINDS = {}
for _, norm in ipairs({ 0, 1 }) do
  for _, groups in ipairs({ 1, 2 }) do
    for _, split in ipairs({ 1, 2 }) do
      KINDS[#KINDS + 1] = { norm = norm, groups = groups, split = split, ways = 1, stages = 4 }
    end
  end
end

for _, split in ipairs({ 1, 2 }) do KINDS[#KINDS + 1] = { norm = 1, groups = 1, split = split, ways = 2, stages = 4 } end

KINDS[#KINDS + 1] = { norm = 0, groups = 2, split = 1, ways = 1, stages = 4, walk = true }
KINDS[#KINDS + 1] = { norm = 0, groups = 2, split = 1, ways = 1, stages = 3, absorb = 3 }

test("projections: the ring is right, with a norm, in clusters, in several passes", function()
  for _, v in ipairs(KINDS) do
    local found, m = protocol.first(ring, v, true)
    ok(not found, "norm %d groups %d split %d ways %d: %s\n%s", v.norm, v.groups, v.split, v.ways, found and found.text or "",
      found and protocol.witness(m, found) or "")
  end
end)

-- All steps of a kind at one barrier that an agent takes, left out: what follows from it has a name.
test("projections: steps left out of the ring are found", function()
  local tried, OPS = 0, protocol.ops
  local function kind(op)
    local may = op[1] == OPS.ARRIVE or op[1] == OPS.COPY or op[1] == OPS.WAIT
    return may and not op[2].exact and op[1] .. " " .. op[2].name:gsub("%[%d%]", "")
  end
  local function model() return ring.model({ norm = 0, groups = 1, split = 2, ways = 1, stages = 2 }, { 5, 2 }) end
  for _, who in ipairs({ 1, 2, 3 }) do -- the loaders, a warp of math
    local kinds = {}
    for _, op in ipairs(model().agents[who].ops) do kinds[kind(op) or ""] = op end
    kinds[""] = nil
    for name, op in loader.sorted(kinds) do
      local m = model()
      local ops = m.agents[who].ops
      for at = #ops, 1, -1 do
        if kind(ops[at]) == name then table.remove(ops, at) end
      end
      tried = tried + 1
      ok(#protocol.check(m, 1) > 0, "%s without '%s' and its like is as good", m.agents[who].name, protocol.describe(op))
    end
  end
  ok(tried >= 8, "only %d kinds of steps", tried)
end)

-- What a careless writer might do.
test("projections: seeded mistakes in the ring are found", function()
  local OPS = protocol.ops
  local function found(v, case, change)
    local m = ring.model(v, case)
    for _, a in ipairs(m.agents) do change(a, a.ops, m) end
    return #protocol.check(m, 1) > 0
  end
  local plain = { norm = 0, groups = 1, split = 1, ways = 1, stages = 3 }
  -- A place given back while its products still read it: the arrival stands before the last read of it.
  ok(found(plain, { 7, 1 }, function(a, ops)
    if not a.name:find("math") then return end
    for at = 1, #ops - 1 do
      if ops[at][1] == OPS.READ and ops[at + 1][1] == OPS.ARRIVE then ops[at], ops[at + 1] = ops[at + 1], ops[at] end
    end
  end), "a place given back too early")
  -- A barrier that takes one loader's arrival for both.
  ok(found(plain, { 5, 1 }, function(_, _, m)
    for _, b in ipairs(m.barriers) do
      if b.name:find("^full") then b.count = 1 end
    end
  end), "a full barrier that counts one loader")
  -- Sums written while another warp still multiplies from the ring.
  ok(found({ norm = 0, groups = 2, split = 1, ways = 1, stages = 3 }, { 5, 1 }, function(_, ops)
    for at = #ops, 1, -1 do
      if ops[at][2].exact and ops[at][4] == "the ring is done with" then table.remove(ops, at) end
    end
  end), "sums where the ring is in use")
  -- The second cluster barrier is there so that nobody writes sums that a neighbour still reads.
  ok(found({ norm = 0, groups = 1, split = 2, ways = 1, stages = 3 }, { 2, 2 }, function(_, ops)
    local seen = 0
    for at = #ops, 1, -1 do
      if ops[at][2].name == "the cluster" then
        seen = seen + 1
        if seen % 4 == 1 or seen % 4 == 2 then table.remove(ops, at) end
      end
    end
  end), "sums written while they are read")
  -- A tile's sums written before those of the one before are read.
  ok(found({ norm = 0, groups = 2, split = 1, ways = 1, stages = 3, walk = true }, { 2, 2 }, function(_, ops)
    local seen = 0
    for at = 1, #ops do
      if ops[at] and ops[at][2].exact and ops[at][4] == "walk_tiles()" then
        seen = seen + 1
        if seen == 3 or seen == 4 then ops[at].out = true end
      end
    end
    for at = #ops, 1, -1 do
      if ops[at].out then table.remove(ops, at) end
    end
  end), "a tile's sums where the ones before are read")
  -- A loader of x that passes over the steps of W_UK, for which the other one arrives: where those fill the ring it comes early.
  local absorb = { norm = 0, groups = 1, split = 1, ways = 1, stages = 3, absorb = 3 }
  ok(not found(absorb, { 5, 3 }, function() end), "a right one is found wrong")
  ok(found(absorb, { 5, 3 }, function(a, ops)
    local at = { W = 0, x = 0 }
    local who = a.name:match("^%a+")
    for i = 1, #ops do
      local op = ops[i]
      if at[who] and (op[1] == OPS.ARRIVE or op[1] == OPS.WAIT) and not op[2].exact then
        local step = at[who]
        if op[1] == OPS.ARRIVE then at[who] = step + 1 end
        if step % 5 >= 2 then op.part = true end
      end
    end
    for i = #ops, 1, -1 do
      if ops[i].part and who == "x" then table.remove(ops, i)
      elseif ops[i].part and ops[i][1] == OPS.ARRIVE then table.insert(ops, i, ops[i]) end
    end
  end), "a loader that passes over steps")
  -- With an odd number of stages a way passes over every second use of a barrier.
  local odd = { norm = 1, groups = 1, split = 1, ways = 2, stages = 3 }
  ok(found(odd, { 9, 1 }, function() end), "ways over an odd number of stages")
end)
