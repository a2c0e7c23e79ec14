-- The ring of mla_gather_kv_b's Hopper kernel: all interleavings of what its threads say are right, and a step left out is found.
local T = ...
local test, ok = T.test, T.ok
local loader = T.loader()
local protocol = loader.require("protocol")
local sm90 = loader.require("ops/mla_gather_kv_b/protocol/sm90")
local plan = loader.require("ops/mla_gather_kv_b/plans/sm90")

local function variant(rank, out, cluster)
  local p = plan.make(rank, out)
  return { stages = p.stages, slabs = p.slabs, cluster = cluster }
end

test("gather: sm90's ring is right", function()
  local some = { variant(512, 256, 1), variant(512, 256, 2), variant(512, 448, 2), variant(256, 192, 2), variant(64, 32, 1) }
  for _, v in ipairs(some) do
    local found, m = protocol.first(sm90, v, true)
    ok(not found, "stages %d slabs %d cluster %d: %s\n%s", v.stages, v.slabs, v.cluster, found and found.text or "",
      found and protocol.witness(m, found) or "")
  end
end)

-- All steps of a kind at one barrier that an agent takes, left out: what follows from it has a name.
test("gather: steps left out of sm90's ring are found", function()
  local tried, OPS = 0, protocol.ops
  local function kind(op)
    local may = op[1] == OPS.ARRIVE or op[1] == OPS.COPY or op[1] == OPS.WAIT
    return may and not op[2].name:find("cluster") and op[1] .. " " .. op[2].name:gsub("%[%d%]", "")
  end
  local function model() return sm90.model({ stages = 3, slabs = 4, cluster = 2 }, 4) end
  for who = 1, 5 do -- of the first block: who loads, and the warps of math
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
  ok(tried >= 20, "only %d kinds of steps", tried)
end)
