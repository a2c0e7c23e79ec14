-- The ring of mla_gather_kv_b's Hopper kernel: all interleavings of what its threads say are right, and a step left out is found.
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

test("gather: steps left out of sm90's ring are found", function()
  dofile(T.root .. "/tests/lua/steps.lua")(T, protocol, loader.sorted, {
    model = function() return sm90.model({ stages = 3, slabs = 4, cluster = 2 }, 4) end,
    agents = { 1, 2, 3, 4, 5 }, -- of the first block: who loads, and the warps of math
    counts = function(op) return not op[2].name:find("cluster") end,
    least = 20,
  })
end)
