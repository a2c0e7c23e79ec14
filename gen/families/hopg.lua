-- Many rows on Hopper for pages of any size: hop, single blocks, with loaders that copy rows one by one. Fields:
-- gen/families.lua.
local hopper = require("families/hopper")
local partials = require("partials")
local hop = require("families/hop")
local hop_plan = require("hop_plan")

return {
  template = "mla_decode_hopg",
  body = "mla_decode_hop",
  arch = hop.arch,
  problem = hop.problem,
  combine = partials.merge("hopg"),
  params = { schedule = { "fitted", "splits" } }, -- turns: its loaders have too few registers
  fixed = { cluster = 1 }, -- nothing to multicast
  rules = { hopper.schedule_rule, hop.rows_rule, hopper.scattered_rule },
  cost = function(p, v, arch)
    local plan = hop_plan.make(p.rank, p.rope, true)
    if plan.refused then return { refused = plan.refused } end
    return hop.cost_of(p, { cluster = 1, schedule = v.schedule }, arch, "hopg", plan, hopper.SCATTERED)
  end,
}
