-- Combine kernels fused with the value projection (templates/mla_decode/combine_values.cu.in): a layer's, behind launches that
-- may cut their batch. Fields: gen/ops.lua.
local partials = require("ops/mla_decode/partials")
local plan = require("ops/mla_decode/plans/combine_values")

local function make(bits, fixed)
  return {
    asked = true,
    stage = "combine",
    template = "mla_decode/combine_values",
    arch = { hopper = true },
    problem = { "dtype", "heads", "page_size", "q_len", "rank" },
    fixed = { fitted = fixed, partials = bits },
    params = { values = { 128 } },
    rules = {},
    cost = function(p, v)
      local m = plan.make(p.rank, v.values, bits)
      if m.refused then return { refused = m.refused } end
      return {
        threads = m.threads,
        rows_per_wg = m.pass,
        lds_bytes = m.shared,
        regs = { { "all, at launch", 65536 // m.threads } },
        team = 1, depth = m.depth, weight_bytes = p.heads * v.values * p.rank * 2,
      }
    end,
  }
end

local families = {}
for name, fixed in sorted(require("ops/mla_decode/plans/schedule").fixed) do
  families[partials.merge(name, fixed, "values")] = make(partials.bits(name, "fitted"), fixed)
end

return { families = families }
