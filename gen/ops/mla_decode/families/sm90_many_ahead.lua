-- sm90_many for launches that know what is old (templates/mla_decode/sm90_many_ahead.cu.in): a layer's. Fields: gen/ops.lua.
local sm90_many = require("ops/mla_decode/families/sm90_many")
local params = require("params")

-- Two blocks of a pair read a request's rows once for both halves of 128 heads, which in a layer is worth 4 us of 200 and of 220
-- where each has 31 tiles and 62, and costs 3.5 of 145 where it has 15 (docs/lab/layer.md). A tune of 31 alone chose none.
local PAIRS_TOKENS, ROWS = 128 * 1024, 64
local function pairs_where_long(p, v, splits)
  local rows = p.heads * p.q_len
  if splits ~= 1 or v.cluster ~= 1 or v.schedule ~= "fitted" or rows <= ROWS or rows > 2 * ROWS then return end
  if p.batch * p.ctx < PAIRS_TOKENS then return end
  v.cluster = 2
  return params.print(v)
end

return {
  asked = true,
  template = "mla_decode/sm90_many_ahead",
  body = "mla_decode/sm90_many",
  arch = sm90_many.arch,
  problem = sm90_many.problem,
  combine = sm90_many.combine,
  params = sm90_many.params,
  rules = sm90_many.rules,
  cost = sm90_many.cost,
  -- Blocks of a layer that end early leave its places to the next launch: 0.4 to 3.7 us of a layer of 128 heads
  -- (docs/lab/layer.md).
  instead = pairs_where_long,
  behind_one = "early=1,rows=4,team=2",
}
