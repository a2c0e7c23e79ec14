-- sm90_many for launches that know what is old (templates/mla_decode/sm90_many_ahead.cu.in): a layer's. Fields: gen/ops.lua.
local sm90_many = require("ops/mla_decode/families/sm90_many")

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
}
