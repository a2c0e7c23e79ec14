-- sm90_many, sm90_mid and sm90_few, fitted, for several splits of each request: whether to cut the batch is reckoned with what
-- each share costs (plans/schedule.lua), so that a request longer than the others is not waited for. And sm90_many for one split,
-- which waits a little longer where all requests run at once. Fields: gen/ops.lua.
local params = require("params")
local sm90_many = require("ops/mla_decode/families/sm90_many")
local sm90_mid = require("ops/mla_decode/families/sm90_mid")
local sm90_few = require("ops/mla_decode/families/sm90_few")
local many_gather = require("ops/mla_decode/families/sm90_many_gather")
local mid_gather = require("ops/mla_decode/families/sm90_mid_gather")

local FITTED = { schedule = "fitted" }
local made = setmetatable({}, { __mode = "k" }) -- by point: a space has each of them for every problem
local function fitted(v)
  made[v] = made[v] or params.merge(v, FITTED)
  return made[v]
end

local function batch_rule(p)
  if p.batch == 1 then return "one request has no other beside it" end
end

-- `of` with this schedule, a word of its template; cost(p, v, arch): its cost for this family; rule: one more reason to refuse.
local function shares(of, word, cost, rule)
  local points, rules = params.merge(of.params, {}), { batch_rule, rule }
  points.schedule = nil
  for _, one in ipairs(of.rules) do rules[#rules + 1] = function(p, v, arch) return one(p, fitted(v), arch) end end
  local function instead(p, v, n) -- as `of` has it, whose parameters name a schedule
    local text = of.instead(p, params.merge(v, FITTED), n)
    if not text then return end
    local other = params.parse(text)
    other.schedule = nil
    return params.print(other)
  end
  return { asked = of.asked, behind_one = of.behind_one, instead = of.instead and instead,
    template = of.template, body = of.body, arch = of.arch, problem = of.problem,
    optional = of.optional, combine = of.combine,
    params = points, fixed = params.merge(of.fixed or {}, { schedule = word }), rules = rules,
    cost = function(p, v, arch) return cost(p, fitted(v), arch) end }
end

local function few_rule(_, v)
  if v.cluster > 2 or v.wgs == 1 then return "no plan takes it for several splits: sm90_few has it" end
end

local function many(p, v, arch) return sm90_many.boxes_cost(p, v, arch, "sm90_many_shares") end
local function whole(p, v, arch) return sm90_many.boxes_cost(p, v, arch, "sm90_many_whole") end
local function usual(p, v, arch) return sm90_many.boxes_cost(p, v, arch, "sm90_many") end
local function mid(p, v, arch) return sm90_mid.cost_of(p, v, arch, "sm90_mid_shares", false, 1) end
local function many_rows(p, v, arch) return many_gather.cost_of(p, v, arch, "sm90_many_gather_shares") end
local function whole_rows(p, v, arch) return many_gather.cost_of(p, v, arch, "sm90_many_gather_whole") end
local function mid_rows(p, v, arch) return mid_gather.cost_of(p, v, arch, "sm90_mid_gather_shares") end
local function few(p, v, arch) return sm90_few.cost_of(p, v, arch, "sm90_few_shares") end

return { families = {
  sm90_many_shares = shares(sm90_many, "shares", many),
  sm90_mid_shares = shares(sm90_mid, "shares", mid),
  sm90_many_gather_shares = shares(many_gather, "shares", many_rows),
  sm90_mid_gather_shares = shares(mid_gather, "shares", mid_rows),
  sm90_few_shares = shares(sm90_few, "shares", few, few_rule),
  sm90_many_whole = shares(sm90_many, "whole", whole),
  sm90_many_gather_whole = shares(many_gather, "whole", whole_rows),
  -- Their variants in a layer are the others': the fitted kernels that know what is old.
  sm90_many_shares_ahead = shares(require("ops/mla_decode/families/sm90_many_ahead"), "fitted", many),
  sm90_many_whole_ahead = shares(require("ops/mla_decode/families/sm90_many_ahead"), "fitted", usual),
  sm90_mid_shares_ahead = shares(require("ops/mla_decode/families/sm90_mid_ahead"), "shares", mid),
  sm90_few_shares_ahead = shares(require("ops/mla_decode/families/sm90_few_ahead"), "fitted", few, few_rule),
} }
