-- The rings of mla_prefill's Hopper kernel: all interleavings of what its threads say are right, and a barrier left out is found.
local T = ...
local test, ok = T.test, T.ok
local loader = T.loader()
local protocol = loader.require("protocol")
local sm90 = loader.require("ops/mla_prefill/protocol/sm90")
local plan = loader.require("ops/mla_prefill/plans/sm90")

local p = plan.make(192, 128, 128)
local v = { stages = p.stages, told = p.told, pair = 1 }
local paired = { stages = p.stages, told = p.told, pair = 2 }

test("prefill: sm90's rings are right", function()
  for _, form in ipairs({ v, paired }) do
    local found, m = protocol.first(sm90, form, true)
    ok(not found, "%s\n%s", found and found.text or "", found and protocol.witness(m, found) or "")
  end
end)

-- All steps of a kind at one ring that an agent takes, left out: what follows from it has a name. Of math's waits those of all
-- its warps are: each of them stands ahead of a turn, which tells the warps of what one of them has seen.
test("prefill: steps left out of sm90's rings are found", function()
  local tiles, tried, OPS = { 3, 0, 0, 0, 1, 2, 4, 5 }, 0, protocol.ops
  local function kind(op)
    local may = op[1] == OPS.ARRIVE or op[1] == OPS.COPY or op[1] == OPS.WAIT
    return may and op[2].name ~= "begin" and op[1] .. " " .. op[2].name:gsub("%[%d%]", "")
  end
  for who = 1, 4 do -- the dealer, those who load, and a warp of math
    local kinds = {}
    for _, op in ipairs(sm90.model(v, tiles).agents[who].ops) do kinds[kind(op) or ""] = op end
    kinds[""] = nil
    for name, op in loader.sorted(kinds) do
      if not (op[1] == OPS.WAIT and op[2].name:find("TURN")) then
        local m = sm90.model(v, tiles)
        for i = who, op[1] == OPS.WAIT and who == 4 and #m.agents or who do
          local ops = m.agents[i].ops
          for at = #ops, 1, -1 do
            if kind(ops[at]) == name then table.remove(ops, at) end
          end
        end
        tried = tried + 1
        ok(#protocol.check(m, 1) > 0, "%s without '%s' and its like is as good", m.agents[who].name, protocol.describe(op))
      end
    end
  end
  ok(tried >= 20, "only %d kinds of steps", tried)
end)
