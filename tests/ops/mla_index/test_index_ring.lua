-- The ring of mla_index's Hopper kernel: all interleavings of what its threads say are right, and a step left out is found.
local loader = T.loader()
local protocol = loader.require("protocol")
local sm90 = loader.require("ops/mla_index/protocol/sm90")
local shape = loader.require("ops/mla_index/shape")

local function variants()
  local out = {}
  for groups = 1, 2 do
    for _, whole in ipairs { true, false } do
      out[#out + 1] = { stages = shape.ring(64, groups).stages, groups = groups, whole = whole }
    end
  end
  return out
end

test("index: sm90's ring is right", function()
  for _, v in ipairs(variants()) do
    local found, m = protocol.first(sm90, v, true)
    ok(not found, "stages %d groups %d: %s\n%s", v.stages, v.groups, found and found.text or "",
      found and protocol.witness(m, found) or "")
  end
end)

-- Places that are not dealt out evenly: a warpgroup may look for a use that is two ahead of the one under way.
test("index: a ring that two warpgroups cannot share is found", function()
  local v = { stages = 1, groups = 2, whole = true }
  ok(protocol.first(sm90, v, true), "one place for two warpgroups is said to be right")
end)

-- All steps of a kind at one barrier that an agent takes, left out: what follows from it has a name.
test("index: steps left out of sm90's ring are found", function()
  local tried, OPS = 0, protocol.ops
  local function kind(op)
    local may = op[1] == OPS.ARRIVE or op[1] == OPS.COPY or op[1] == OPS.WAIT
    return may and not op[2].name:find("all threads") and op[1] .. " " .. op[2].name:gsub("%[%d%]", "")
  end
  for _, v in ipairs(variants()) do
    for who, agent in ipairs(sm90.model(v, 2 * v.stages + 1).agents) do
      local kinds = {}
      for _, op in ipairs(agent.ops) do kinds[kind(op) or ""] = op end
      kinds[""] = nil
      for name, op in loader.sorted(kinds) do
        local m = sm90.model(v, 2 * v.stages + 1)
        local ops = m.agents[who].ops
        for at = #ops, 1, -1 do
          if kind(ops[at]) == name then table.remove(ops, at) end
        end
        tried = tried + 1
        ok(#protocol.check(m, 1) > 0, "%s without '%s' and its like is as good", m.agents[who].name, protocol.describe(op))
      end
    end
  end
  ok(tried >= 30, "only %d kinds of steps", tried)
end)
