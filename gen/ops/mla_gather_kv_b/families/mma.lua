-- Warp-wide matrix instructions, for every NVIDIA GPU since Ampere. Fields: gen/ops.lua.
local shape = require("ops/mla_gather_kv_b/shape")

local MMA_CLK = 16  -- m16n8k16 and sub-partition, as mla_prefill's model counts
local LOAD_CLK = 4  -- ldmatrix.x4: 512 bytes at 128 a clock, for all four sub-partitions
local STEP_CLK = 60 -- barrier of a step
local ROW_CLK = 40  -- of a block for a gathered row of 1 KB, by the bandwidth that it has alone

return {
  template = "mla_gather_kv_b/mma",
  arch = { ampere = true, ada = true, hopper = true, blackwell = true },
  problem = shape.FIELDS,
  params = {
    across = { 1, 2, 4 },      -- warps side by side, that share the outputs of a tile
    cols = { 64, 128 },        -- outputs of a tile
    rows = { 32, 64, 128 },    -- tokens of a block, 32 for each warp
    stages = { 3, 4 },         -- steps of W in shared memory
  },
  rules = {
    shape.columns_rule,
    function(_, v)
      local wide, warps = v.cols // v.across, v.rows // 32 * v.across
      if wide ~= 32 and wide ~= 64 then return ("%d outputs of a warp are not 32 or 64"):format(wide) end
      if warps < 2 or warps > 8 then return ("%d warps of a block are not 2 to 8"):format(warps) end
    end,
    function(p, v)
      if v.rows > 32 and v.rows >= 2 * p.tokens then
        return ("tiles of %d tokens, and there are %d"):format(v.rows, p.tokens)
      end
    end,
  },
  cost = function(p, v)
    local step, warps, wide = shape.step(p), v.rows // 32 * v.across, v.cols // v.across
    local mmas, loads = 2 * (wide // 8), 2 + wide // 16 -- of a warp and 16 values
    local clk = math.max(MMA_CLK * mmas * shape.ceil_div(warps, 4), LOAD_CLK * loads * warps)
    return {
      threads = 32 * warps,
      rows_per_wg = v.rows,
      lds_bytes = v.rows * (2 * p.rank + 16) + v.stages * v.cols * (2 * step + 16) + 8 * v.rows,
      regs = { { "sums", wide }, { "operands", 12 }, { "rest", 72 } },
      slack = 96,
      outputs = v.cols,
      gather_clk = ROW_CLK * v.rows,
      tile_clk = p.rank // 16 * clk + p.rank // step * STEP_CLK,
      any_lengths = true,
    }
  end,
}
