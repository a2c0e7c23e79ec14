-- sm90_raw_mid for index lists with two warpgroups that make scores, of one tile after the other in turns. Fields: gen/ops.lua.
local shape = require("ops/mla_decode/shape")
local partials = require("ops/mla_decode/partials")
local q = require("ops/mla_decode/q")
local raw = require("ops/mla_decode/families/sm90_raw")
local sm90_raw_mid = require("ops/mla_decode/families/sm90_raw_mid")

return {
  template = "mla_decode/sm90_raw_two",
  body = "mla_decode/sm90_raw_mid",
  arch = sm90_raw_mid.arch,
  problem = sm90_raw_mid.problem,
  optional = sm90_raw_mid.optional,
  combine = partials.merge("sm90_raw_two"),
  params = { load = { "rows" }, rows = { 32 }, schedule = sm90_raw_mid.params.schedule },
  rules = table.move(sm90_raw_mid.rules, 1, #sm90_raw_mid.rules, 2, {
    function(p)
      if p.page_size ~= 1 or p.q_len ~= 1 or p.reads == "tables" then
        return "no index lists come: family sm90_raw_mid serves tables of pages"
      end
      local f = raw.format_of(p)
      if f and f.scales == 0 then return ("cache %s: its tokens hold no scales"):format(shape.cache(p).name) end
      if f and f.scales_apart then
        return ("cache %s: scales of its tokens do not lie behind their codes"):format(shape.cache(p).name)
      end
      if f and q.in_two(p) then return "Q is two tensors: values have too few registers to take both" end
    end,
  }),
  cost = function(p, v, arch) return sm90_raw_mid.cost_of(p, v, arch, "sm90_raw_two") end,
}
