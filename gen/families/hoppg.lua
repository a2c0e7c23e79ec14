-- Transposed decode with roles on Hopper for pages of any size: hopp with loaders that copy rows one by one. Fields:
-- gen/families.lua.
local hopper = require("families/hopper")
local partials = require("partials")
local hopp = require("families/hopp")

return {
  template = "mla_decode_hoppg",
  body = "mla_decode_hopp",
  arch = hopp.arch,
  problem = hopp.problem,
  combine = partials.merge("hoppg"),
  params = hopp.params,
  rules = { hopper.schedule_rule, hopp.rows_rule, hopper.scattered_rule, hopp.groups_rule },
  cost = function(p, v, arch) return hopp.cost_of(p, v, arch, "hoppg", true, hopper.SCATTERED) end,
}
