-- 32x32x16 matrix instructions of CDNA on bytes, 32 query tokens a wave. Fields: gen/ops.lua.
local shape = require("ops/mla_prefill/shape")
local times = require("ops/mla_prefill/times").counted.mfma

local ENCODING = { cdna3 = shape.bytes_only("e4m3fnuz"), cdna4 = shape.bytes_only("e4m3fn") }

local function columns(p) return shape.ceil_div(shape.qk(p), 32) * 32 end

-- Bytes of a round in LDS; the template has the same.
local function stage_bytes(p, v) return v.keys * (columns(p) + 16 + p.vdim) end

return {
  template = "mla_prefill/mfma_fp8",
  arch = { cdna3 = true, cdna4 = true },
  problem = shape.FIELDS_FP8,
  params = {
    keys = { 32, 64 },        -- of a round
    stages = { 1, 2 },        -- rounds in LDS
    waves = { 2, 4, 8 },      -- of 32 query tokens each
  },
  rules = {
    function(p, v, arch) return ENCODING[arch.isa.family](p, v, arch) end,
    function(p, v)
      local chunks = v.keys * (columns(p) + p.vdim) // 16
      if shape.ceil_div(chunks, 64 * v.waves) > 8 then return ("%d chunks for %d waves to copy"):format(chunks, v.waves) end
    end,
  },
  cost = function(p, v, arch)
    local qk, vdim, blocks = columns(p), shape.padded_v(p), v.keys // 32
    local chunks = shape.ceil_div(v.keys * (qk + p.vdim) // 16, 64 * v.waves)
    local mfma = blocks * (qk // 16 + vdim // 16) -- of a wave and round; each 8 passes of 4 clocks
    local other = blocks * (60 + qk // 32 + vdim * 3 // 8 + 90) + 4 * chunks
    local per_simd = shape.ceil_div(v.waves, 4)
    return {
      threads = 64 * v.waves,
      rows_per_wg = 32 * v.waves,
      lds_bytes = v.stages * stage_bytes(p, v),
      regs = { { "q", qk // 8 }, { "o", vdim // 2 }, { "s", 16 * blocks }, { "p", 4 * blocks }, { "copies", 4 * chunks },
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
