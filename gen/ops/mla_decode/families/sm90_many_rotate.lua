-- sm90_many for caches whose rope columns are not rotated: its math warpgroups rotate each block. Fields: gen/ops.lua.
local sm90_many = require("ops/mla_decode/families/sm90_many")
local shape = require("ops/mla_decode/shape")

return {
  template = "mla_decode/sm90_many_rotate",
  body = "mla_decode/sm90_many",
  arch = sm90_many.arch,
  problem = shape.ROTATE_FIELDS,
  combine = sm90_many.combine,
  params = sm90_many.params,
  rules = shape.rotating(sm90_many.rules, {}),
  cost = sm90_many.cost,
}
