-- Warp-wide matrix instructions, for every NVIDIA GPU since Ampere. Fields: gen/ops.lua.
local shape = require("ops/mla_prefill/shape")
local times = require("ops/mla_prefill/times").counted.mma

-- Bytes of a row in shared memory; the template has the same.
local function pitch(cols) return 2 * cols + 16 end

return {
  template = "mla_prefill/mma",
  arch = { ampere = true, hopper = true, blackwell = true },
  problem = shape.FIELDS,
  params = {
    keys = { 32, 64, 128 },   -- of a round
    stages = { 1, 2 },        -- rounds in shared memory
    warps = { 4, 8 },         -- of 16 query tokens each
  },
  rules = {
    shape.words_only,
    function(p, v)
      if v.keys == 128 and p.vdim > 128 then return ("%d keys beside %d columns of O"):format(v.keys, p.vdim) end
    end,
  },
  cost = function(p, v)
    local qk, rows = shape.qk(p), 16 * v.warps
    local mmas = qk // 16 * (v.keys // 8) + v.keys // 16 * (p.vdim // 8) -- of a warp and round
    local loads = qk // 16 * (1 + v.keys // 16) + v.keys // 16 * (p.vdim // 16)
    local per_unit = shape.ceil_div(v.warps, 4)
    return {
      threads = 32 * v.warps,
      rows_per_wg = rows,
      lds_bytes = rows * pitch(qk) + v.stages * v.keys * (pitch(qk) + pitch(p.vdim)),
      regs = { { "o", p.vdim // 2 }, { "s", v.keys // 2 }, { "p", v.keys // 4 }, { "rest", 56 } },
      slack = 64,
      step = v.keys,
      round_clk = per_unit * math.max(times.mma_clk * mmas, times.load_clk * loads * 4) + times.round_clk
        + (v.stages == 1 and times.wait_clk or 0),
      tail_clk = times.tail_clk,
      any_lengths = true,
    }
  end,
}
