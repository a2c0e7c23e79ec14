-- 32x32x8 matrix instructions of CDNA, 32 query tokens a wave. Fields: gen/ops.lua.
local shape = require("ops/mla_prefill/shape")
local times = require("ops/mla_prefill/times").counted.mfma

-- Bytes of a round in LDS; the template has the same.
local function stage_bytes(p, v) return v.keys * (2 * shape.qk(p) + 16 + 2 * p.vdim) end

return {
  template = "mla_prefill/mfma",
  arch = { cdna2 = true, cdna3 = true, cdna4 = true },
  problem = shape.FIELDS,
  params = {
    keys = { 32, 64 },        -- of a round
    stages = { 1, 2 },        -- rounds in LDS
    waves = { 2, 4, 8 },      -- of 32 query tokens each
  },
  rules = {
    shape.words_only,
    function(p, v)
      local chunks = v.keys * (shape.qk(p) + p.vdim) // 8
      if shape.ceil_div(chunks, 64 * v.waves) > 8 then return ("%d chunks for %d waves to copy"):format(chunks, v.waves) end
    end,
  },
  cost = function(p, v, arch)
    local qk, vdim, blocks = shape.qk(p), shape.padded_v(p), v.keys // 32
    local chunks = shape.ceil_div(v.keys * (qk + p.vdim) // 8, 64 * v.waves)
    local mfma = blocks * (qk // 8 + vdim // 8) -- of a wave and round; each 8 passes of 4 clocks
    local other = blocks * (60 + qk // 16 + vdim * 3 // 8 + 90) + 4 * chunks
    local per_simd = shape.ceil_div(v.waves, 4)
    return {
      threads = 64 * v.waves,
      rows_per_wg = 32 * v.waves,
      lds_bytes = v.stages * stage_bytes(p, v),
      regs = { { "q", qk // 4 }, { "o", vdim // 2 }, { "s", 16 * blocks }, { "p", 8 * blocks }, { "copies", 4 * chunks },
        { "rest", 60 } },
      slack = 160,
      step = v.keys,
      round_clk = per_simd * (32 * mfma + arch.model.issue_clk * other * times.issue_share) + arch.model.barrier_clk
        + (v.stages == 1 and arch.model.barrier_clk + times.wait_clk or 0),
      tail_clk = times.tail_clk,
      any_lengths = true,
    }
  end,
}
