-- Decode kernels that cut a request by its own length alone (templates/mla_decode/lib/own_cut.h), for batch-invariant plans: the
-- fitted kernels, with another walk. Named FAMILY_invariant. Fields: gen/ops.lua.
local params = require("params")
local invariant = require("ops/mla_decode/invariant")

local FITTED = { schedule = "fitted" }

-- `of` with this walk. Whether it serves, and what it costs, is asked at sizes of its own: a plan's may change no bits.
local function make(of, combine)
  local points, rules, made = params.merge(of.params, {}), {}, {}
  points.schedule = nil
  local function fitted(v)
    made[v] = made[v] or params.merge(v, FITTED)
    return made[v]
  end
  if points.cluster and of.template:find("sm90_few") then points.cluster = { 1 } end -- a block works on its own
  for _, one in ipairs(of.rules) do rules[#rules + 1] = function(p, v, arch) return one(invariant.at(p), fitted(v), arch) end end
  return {
    asked = true, template = of.template, body = of.body, arch = of.arch, problem = of.problem, optional = of.optional,
    params = points, fixed = params.merge(of.fixed or {}, { schedule = "invariant" }), rules = rules,
    cost = function(p, v, arch)
      local asked = of.cost(invariant.at(p), fitted(v), arch)
      local cost = params.merge(asked, { combine = asked.combine_invariant or combine, always_combines = true, own = true })
      if cost.ns then
        local ns = cost.ns
        cost.ns = function() return ns(1) end
      end
      for _, name in ipairs { "parts_at", "turns_at", "places_at", "may_combine", "most_parts", "mixed", "early",
        "values" } do cost[name] = nil end
      return cost
    end,
  }
end

local families = {}
for name, combine in sorted(invariant.combine) do
  families[name .. "_invariant"] = make(require("ops/mla_decode/families/" .. name), combine)
end
return { families = families }
