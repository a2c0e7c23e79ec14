-- 32x32x8 matrix instructions of CDNA, 32 tokens a wave, held in registers. Fields: gen/ops.lua.
local shape = require("ops/mla_gather_kv_b/shape")

local ISSUE_SHARE = 0.6 -- of other instructions' slots: the rest lies under matrix instructions
local WAIT_CLK = 400    -- of one round in LDS

return {
  template = "mla_gather_kv_b/mfma",
  arch = { cdna2 = true, cdna3 = true, cdna4 = true },
  problem = shape.FIELDS,
  params = {
    blocks = { 1, 2 },   -- of 32 outputs, in a round
    stages = { 1, 2 },   -- rounds in LDS
    waves = { 2, 4, 8 }, -- of 32 tokens each
  },
  rules = {
    shape.columns_rule,
    function(p, v)
      local chunks = shape.ceil_div(32 * v.blocks * p.rank // 8, 64 * v.waves)
      if chunks > 8 then return ("%d chunks of W for each thread to copy"):format(chunks) end
    end,
    function(p, v)
      if v.waves > 4 and 32 * v.waves >= 2 * p.tokens then
        return ("tiles of %d tokens, and there are %d"):format(32 * v.waves, p.tokens)
      end
    end,
  },
  cost = function(p, v, arch)
    local chunks = shape.ceil_div(32 * v.blocks * p.rank // 8, 64 * v.waves)
    local mfma, other = v.blocks * p.rank // 8, v.blocks * (p.rank // 16 + 60) + 8 * chunks
    local per_simd = shape.ceil_div(v.waves, 4)
    return {
      threads = 64 * v.waves,
      rows_per_wg = 32 * v.waves,
      lds_bytes = v.stages * 32 * v.blocks * 2 * p.rank,
      regs = { { "tokens", p.rank // 4 }, { "sums", 16 * v.blocks }, { "copies", 4 * chunks }, { "rest", 80 } },
      slack = 128,
      outputs = 32 * v.blocks,
      gather_clk = 8 * arch.model.issue_clk * p.rank // 16 + 2000,
      tile_clk = per_simd * (32 * mfma + arch.model.issue_clk * other * ISSUE_SHARE) + arch.model.barrier_clk
        + (v.stages == 1 and arch.model.barrier_clk + WAIT_CLK or 0),
      any_lengths = true,
    }
  end,
}
