-- Families of 32x32 matrix instructions of CDNA, 32 query tokens a wave, by the bytes of an input. Fields: gen/ops.lua.
local shape = require("ops/mla_prefill/shape")
local times = require("ops/mla_prefill/times").counted.mfma

local ENCODING = { cdna3 = shape.bytes_only("e4m3fnuz"), cdna4 = shape.bytes_only("e4m3fn") }
local function encoding_rule(p, v, arch) return ENCODING[arch.isa.family](p, v, arch) end

return function(size)
  local bytes, per = size == 1, 16 // size -- values of 16 bytes
  -- Columns of Q and K in LDS.
  local function columns(p) return shape.ceil_div(shape.qk(p), 2 * per) * (2 * per) end
  -- Those of 16 bytes that a thread copies for a round.
  local function copies(p, v) return shape.ceil_div(v.keys * (columns(p) + p.vdim) // per, 64 * v.waves) end

  return {
    template = bytes and "mla_prefill/mfma_fp8" or "mla_prefill/mfma",
    arch = { cdna2 = not bytes or nil, cdna3 = true, cdna4 = true },
    problem = bytes and shape.FIELDS_FP8 or shape.FIELDS,
    params = {
      keys = { 32, 64 },        -- of a round
      stages = { 1, 2 },        -- rounds in LDS
      waves = { 2, 4, 8 },      -- of 32 query tokens each
    },
    rules = {
      bytes and encoding_rule or shape.words_only,
      function(p, v)
        local chunks = v.keys * (columns(p) + p.vdim) // per
        if copies(p, v) > 8 then return ("%d chunks for %d waves to copy"):format(chunks, v.waves) end
      end,
    },
    cost = function(p, v, arch)
      local qk, vdim, blocks, chunks = columns(p), shape.padded_v(p), v.keys // 32, copies(p, v)
      local mfma = blocks * (qk // per + vdim // per) -- of a wave and round; each 8 passes of 4 clocks
      local other = blocks * (60 + qk // (2 * per) + vdim * 3 // 8 + 90) + 4 * chunks
      local per_simd = shape.ceil_div(v.waves, 4)
      return {
        threads = 64 * v.waves,
        rows_per_wg = 32 * v.waves,
        lds_bytes = v.stages * v.keys * (size * columns(p) + 16 + size * p.vdim), -- the template has the same
        regs = { { "q", size * qk // 8 }, { "o", vdim // 2 }, { "s", 16 * blocks }, { "p", 4 * size * blocks },
          { "copies", 4 * chunks }, { "rest", 60 } },
        slack = 160,
        step = v.keys,
        round_clk = per_simd * (32 * mfma + arch.model.issue_clk * other * times.issue_share) + arch.model.barrier_clk
          + (v.stages == 1 and arch.model.barrier_clk + times.wait_clk or 0),
        tail_clk = times.tail_clk,
        any_lengths = true,
      }
    end,
  }
end
