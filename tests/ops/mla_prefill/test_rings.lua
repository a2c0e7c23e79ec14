-- The rings of mla_prefill's Hopper kernels: all interleavings of what threads say are right, and a barrier left out is found.
local T = ...
local test, ok = T.test, T.ok
local loader = T.loader()
local protocol = loader.require("protocol")
local function plan(name, ...) return loader.require("ops/mla_prefill/plans/" .. name).make(...) end
local p, p8 = plan("sm90", 192, 128, 128), plan("sm90_fp8", 128, 64, 128, 128)
local function form(pair) return { stages = p.stages, told = p.told, pair = pair } end
local KERNELS = {
  { name = "sm90", form(1), form(2) },
  { name = "sm90_fp8", { stages = p8.stages, raws = p8.raws, told = p8.told } },
}
for _, k in ipairs(KERNELS) do k.protocol = loader.require("ops/mla_prefill/protocol/" .. k.name) end

for _, k in ipairs(KERNELS) do
  test(("prefill: %s's rings are right"):format(k.name), function()
    for _, form in ipairs(k) do
      local found, m = protocol.first(k.protocol, form, true)
      ok(not found, "%s\n%s", found and found.text or "", found and protocol.witness(m, found) or "")
    end
  end)
end

-- All steps of a kind at one ring that an agent takes, left out: what follows from it has a name. Of math's waits those of all
-- its warps are: each of them stands ahead of a turn, which tells the warps of what one of them has seen.
local function all_steps_count(of, v, loaders)
  local tiles, tried, OPS = { 3, 0, 0, 0, 1, 2, 4, 5, 1, 1, 1 }, 0, protocol.ops
  local function kind(op)
    local may = op[1] == OPS.ARRIVE or op[1] == OPS.COPY or op[1] == OPS.WAIT
    return may and op[2].name ~= "begin" and op[1] .. " " .. op[2].name:gsub("%[%d%]", "")
  end
  for who = 1, loaders + 2 do -- the dealer, those who load, and a warp of math
    local kinds = {}
    for _, op in ipairs(of.model(v, tiles).agents[who].ops) do kinds[kind(op) or ""] = op end
    kinds[""] = nil
    for name, op in loader.sorted(kinds) do
      if not (op[1] == OPS.WAIT and op[2].name:find("TURN")) then
        local m = of.model(v, tiles)
        for i = who, op[1] == OPS.WAIT and who == loaders + 2 and #m.agents or who do
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
end

for _, k in ipairs(KERNELS) do
  test(("prefill: steps left out of %s's rings are found"):format(k.name), function()
    all_steps_count(k.protocol, k[1], k[1].raws and 3 or 2)
  end)
end
