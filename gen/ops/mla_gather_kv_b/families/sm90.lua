-- Hopper: wgmma, W by tensor copies, two warpgroups in turns. Fields: gen/ops.lua.
local shape = require("ops/mla_gather_kv_b/shape")
local plan = require("ops/mla_gather_kv_b/plans/sm90")

local ROW_CLK = 24   -- of a block for a gathered row, of which many are in flight
local END_CLK = 1500 -- what writes the last tile has nothing to hide it

return {
  template = "mla_gather_kv_b/sm90",
  arch = { hopper = true },
  problem = shape.FIELDS,
  params = {
    cluster = { 1, 2 }, -- 2: two blocks share what they load of W, by multicast
  },
  rules = {
    shape.columns_rule,
    function(p, v)
      local tiles = shape.ceil_div(p.tokens, 128)
      if v.cluster > 1 and tiles < 2 then return ("%d blocks share W, and there are %d"):format(v.cluster, tiles) end
    end,
  },
  cost = function(p, v)
    local g = plan.make(p.rank, shape.outputs(p) // p.heads)
    if g.refused then return { refused = g.refused } end
    -- 64 rows of A from shared memory take 16 clocks beside N / 4; the products N / 2. What two blocks load apart the cache
    -- gives at a quarter less.
    local clk = 2 * (p.rank // 16) * math.max(g.cols // 2, 16 + g.cols // 4)
    return {
      threads = 384,
      rows_per_wg = 128,
      lds_bytes = g.bytes,
      regs = { { "all, at launch", 168 } }, -- the math warps take 232, the others keep 40
      outputs = g.cols,
      gather_clk = ROW_CLK * 128 + END_CLK,
      tile_clk = v.cluster == 1 and clk * 5 // 4 or clk,
      any_lengths = true,
    }
  end,
}
