-- sm90_few for launches that know what is old (templates/mla_decode/sm90_few_ahead.cu.in): a layer's. Fields: gen/ops.lua.
local sm90_few = require("ops/mla_decode/families/sm90_few")

local rules = { function(_, v)
  if v.load ~= "tma" then return "ahead of its wait the kernel asks for boxes alone" end
end }

return {
  asked = true,
  template = "mla_decode/sm90_few_ahead",
  body = "mla_decode/sm90_few",
  arch = sm90_few.arch,
  problem = sm90_few.problem,
  combine = sm90_few.combine,
  params = sm90_few.params,
  rules = table.move(sm90_few.rules, 1, #sm90_few.rules, 2, rules),
  cost = sm90_few.cost,
}
