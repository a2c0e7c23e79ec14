-- The rings of mla_prefill's Hopper kernels: all interleavings of what threads say are right, and a barrier left out is found.
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

-- A wait of math is left out of all its warps: each of them stands ahead of a turn, which tells the warps of what one has seen.
local function all_steps_count(of, v, loaders)
  local agents = {}
  for who = 1, loaders + 2 do agents[who] = who end -- the dealer, those who load, and a warp of math
  dofile(T.root .. "/tests/lua/steps.lua")(T, protocol, loader.sorted, {
    model = function() return of.model(v, { 3, 0, 0, 0, 1, 2, 4, 5, 1, 1, 1 }) end,
    agents = agents, everywhere = loaders + 2, least = 20,
    counts = function(op)
      return op[2].name ~= "begin" and not (op[1] == protocol.ops.WAIT and op[2].name:find("TURN"))
    end,
  })
end

for _, k in ipairs(KERNELS) do
  test(("prefill: steps left out of %s's rings are found"):format(k.name), function()
    all_steps_count(k.protocol, k[1], k[1].raws and 3 or 2)
  end)
end
