-- Transposed decode with roles on Hopper for pages of any size: sm90_mid with loaders that copy rows one by one. Fields:
-- gen/ops.lua.
local shape = require("ops/mla_decode/shape")
local hopper = require("ops/mla_decode/hopper")
local partials = require("ops/mla_decode/partials")
local sm90_mid = require("ops/mla_decode/families/sm90_mid")

local MOST_GROUPS = 4 -- row groups that read the tokens of an index list: few of them leave the device idle

-- 5 to 16 rows, whose tiles take as long in a block of 32: 20 batches took 0.83 to 1.01 of sm90_few's time, one of 4 rows 1.08
-- of it (one NVIDIA H200, 2026-11-30; docs/lab/bench.md, "Regret of planning"). Index lists of 12 and 16 rows take 0.81 to 0.99
-- of its time, of 8 rows 0.99 (12 lists of the same day; docs/lab/served.md, "16-bit lists of few rows").
local function groups_rule(p, v)
  if sm90_mid.few_rows(p) then
    if p.heads * p.q_len <= 4 then return ("%d rows: family sm90_few serves so few"):format(p.heads * p.q_len) end
    return v.rows > 32 and ("%d rows go into a block of 32, not of %d"):format(p.heads * p.q_len, v.rows) or nil
  end
  if shape.may_be_lists(p) then return hopper.groups_rule(p, v, 16, MOST_GROUPS) end
  return sm90_mid.groups_rule(p, v)
end

local function cost_of(p, v, arch, family)
  local lists = sm90_mid.counts_as_lists(p)
  local slower = lists and hopper.SCATTERED.sm90_mid_gather or hopper.SCATTERED.no_lists[v.rows]
  return sm90_mid.cost_of(p, v, arch, family, true, slower)
end

return {
  cost_of = cost_of,
  template = "mla_decode/sm90_mid_gather",
  body = "mla_decode/sm90_mid",
  arch = sm90_mid.arch,
  problem = sm90_mid.problem,
  optional = sm90_mid.optional,
  combine = partials.merge("sm90_mid_gather"),
  params = sm90_mid.params,
  rules = { shape.plain_rule, hopper.schedule_rule, sm90_mid.rank_rule, hopper.scattered_rule, groups_rule },
  cost = function(p, v, arch) return cost_of(p, v, arch, "sm90_mid_gather") end,
}
