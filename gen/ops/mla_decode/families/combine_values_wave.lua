-- Combine kernels of CDNA fused with the value projection (templates/mla_decode/combine_values_wave.hip.in): a layer's, behind
-- splits of each request, or launches that may cut their batch. Fields: gen/ops.lua.
local plan = require("ops/mla_decode/plans/combine_values_wave")
local narrow = require("ops/mla_decode/partials").narrow
local shape = require("ops/mla_decode/shape")

local function make(fitted)
  return {
    asked = true,
    stage = "combine",
    template = "mla_decode/combine_values_wave",
    arch = shape.CDNA,
    problem = { "dtype", "heads", "page_size", "q_len", "rank" },
    fixed = { fitted = fitted },
    params = { values = { 128 } },
    rules = {},
    cost = function(p, v)
      local m = plan.make(p.rank, v.values)
      if m.refused then return { refused = m.refused } end
      return {
        threads = m.threads,
        rows_per_wg = m.pass,
        lds_bytes = m.lds_bytes,
        regs = { { "loads", 4 * m.depth * m.vectors }, { "o", 4 * m.vectors }, { "w", 8 * m.lines }, { "rest", 60 } },
        team = 1, depth = m.depth, weight_bytes = p.heads * v.values * p.rank * 2,
      }
    end,
  }
end

local fit = require("ops/mla_decode/plans/fit_wave")
return { families = { values = make(0), values_fitted = make(fit.fixed), values_16 = narrow(make(0)),
  values_fitted_16 = narrow(make(fit.columns.fixed)) } }
