-- Many rows on Hopper for pages of any size: sm90_many, single blocks, with loaders that copy rows one by one. Fields:
-- gen/ops.lua.
local shape = require("ops/mla_decode/shape")
local hopper = require("ops/mla_decode/hopper")
local partials = require("ops/mla_decode/partials")
local sm90_many = require("ops/mla_decode/families/sm90_many")
local hop_plan = require("ops/mla_decode/plans/sm90_many")

-- lists is the fitted schedule beside what reads index lists, which page lists go without: another kernel.
local function lists_rule(p, v)
  if v.schedule ~= "lists" then return nil end
  if not shape.may_be_lists(p) then return "schedule=lists: no index lists come" end
  return hopper.schedule_rule(p, { schedule = "fitted" })
end

local function cost_of(p, v, arch, family)
  local lists = v.schedule == "lists"
  local plan = hop_plan.make({ rank = p.rank, rope = p.rope, gather = true, lists = lists })
  if plan.refused then return { refused = plan.refused } end
  local slower = hopper.SCATTERED.sm90_many_gather
  return sm90_many.cost_of(p, { cluster = 1, schedule = lists and "fitted" or v.schedule }, arch, family, plan, slower)
end

return {
  cost_of = cost_of,
  template = "mla_decode/sm90_many_gather",
  body = "mla_decode/sm90_many",
  arch = sm90_many.arch,
  problem = sm90_many.problem,
  optional = sm90_many.optional,
  combine = partials.merge("sm90_many_gather"),
  params = { schedule = { "fitted", "lists", "splits" } }, -- turns: its loaders have too few registers
  fixed = { cluster = 1 }, -- nothing to multicast
  rules = { shape.plain_rule, hopper.schedule_rule, lists_rule, sm90_many.rows_rule, hopper.scattered_rule },
  cost = function(p, v, arch) return cost_of(p, v, arch, "sm90_many_gather") end,
}
