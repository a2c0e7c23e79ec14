-- mma for caches whose rope columns are not rotated: its warps rotate each tile in shared memory. Fields: gen/ops.lua.
local mma = require("ops/mla_decode/families/mma")
local shape = require("ops/mla_decode/shape")

local MOST_EACH = 2 -- units of eight pairs of a tile that a thread turns: it holds their cosines and sines

local function each_of(p, v) return shape.ceil_div(v.tile * (p.rope // 16), 32 * v.cols * v.teams) end

return {
  template = "mla_decode/mma_rotate",
  body = "mla_decode/mma",
  arch = mma.arch,
  problem = shape.ROTATE_FIELDS,
  combine = mma.combine,
  params = mma.params,
  rules = shape.rotating(mma.rules, {
    function(p, v)
      local each = each_of(p, v)
      if each > MOST_EACH then
        return ("a thread would turn %d units of eight pairs of a tile, %d is the most"):format(each, MOST_EACH)
      end
    end,
  }),
  cost = function(p, v)
    local cost, each = mma.cost(p, v), each_of(p, v)
    cost.regs[#cost.regs + 1] = { "angles", 16 * each }
    cost.wave.issue = cost.wave.issue + each * 80 -- of a unit: 24 to unpack and pack, 32 to turn, 8 to load and store, addresses
    cost.wg.barriers = cost.wg.barriers + 1
    return cost
  end,
}
