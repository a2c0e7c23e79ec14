-- sm90_few for caches whose rope columns are not rotated: its math warpgroups rotate each tile. Fields: gen/ops.lua.
local sm90_few = require("ops/mla_decode/families/sm90_few")
local shape = require("ops/mla_decode/shape")

return {
  template = "mla_decode/sm90_few_rotate",
  body = "mla_decode/sm90_few",
  arch = sm90_few.arch,
  problem = shape.ROTATE_FIELDS,
  combine = sm90_few.combine,
  params = sm90_few.params,
  rules = shape.rotating(sm90_few.rules, {
    function(p, v)
      local sum = 16 * (p.rope // 32) -- cosines and sines of a thread's pairs of a tile
      for _, part in ipairs(sm90_few.registers(p, v)) do sum = sum + part[2] end
      local most = v.wgs == 2 and 232 or 255
      if sum > most then
        return ("registers %d > %d of %s, with a tile's angles"):format(sum, most,
          v.wgs == 2 and "two math warpgroups" or "a thread")
      end
    end,
  }),
  cost = sm90_few.cost, -- what rotation adds is the same for all points but for the tile's time, which memory hides
}
