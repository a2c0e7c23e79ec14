-- Combine kernel for CDNA. Fields: gen/ops.lua.
local narrow = require("ops/mla_decode/partials").narrow
local shape = require("ops/mla_decode/shape")
local ceil_div = shape.ceil_div

-- Merges the splits of each row through their LSE: `team` waves per row, `rows` rows per workgroup. fitted: the fixed cost of a
-- request behind launches that may have cut their batch (templates/mla_decode/lib/fit_wave.h), else 0.
local function make(fitted)
  return {
    stage = "combine",
    template = "mla_decode/combine_wave",
    arch = shape.CDNA,
    problem = fitted > 0 and { "dtype", "heads", "page_size", "q_len", "rank" } or { "dtype", "rank" },
    fixed = { fitted = fitted },
    params = { rows = { 1, 2, 4, 8 }, team = { 1, 2, 4, 8 } },
    rules = {
      function(_, v)
        if v.rows * v.team > 16 then return ("%d waves > 16"):format(v.rows * v.team) end
      end,
      function(_, v)
        if fitted > 0 and v.rows * v.team < 4 then
          return ("%d waves: a request cut over the whole device has hundreds of pieces a row"):format(v.rows * v.team)
        end
      end,
    },
    cost = function(p, v)
      local vectors = ceil_div(p.rank, 256)
      return {
        threads = 64 * v.rows * v.team,
        rows_per_wg = v.rows,
        lds_bytes = (v.team > 1 or fitted > 0 and v.rows > 1) and 4 * p.rank * v.rows * v.team or 0, -- the waves' sums
        regs = { { "loads", 64 }, { "o", 4 * vectors }, { "rest", 40 } },
        team = v.team, depth = fitted > 0 and (v.team > 1 and 4 or 8) or 16 // vectors, -- splits a wave has in flight
      }
    end,
  }
end

-- The kernel behind launches that cut each request by its own length: mla_decode/combine_wave_invariant.
local function make_invariant()
  local x = make(0)
  x.asked, x.template, x.body, x.fixed = true, "mla_decode/combine_wave_invariant", "mla_decode/combine_wave", nil
  x.problem = { "dtype", "heads", "page_size", "q_len", "rank" }
  return x
end

local fit = require("ops/mla_decode/plans/fit_wave")
return { families = { combine = make(0), combine_fitted = make(fit.fixed), combine_invariant = make_invariant(),
  combine_16 = narrow(make(0)), combine_fitted_16 = narrow(make(fit.columns.fixed)),
  combine_invariant_16 = narrow(make_invariant()) } }
