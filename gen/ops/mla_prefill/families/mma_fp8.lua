-- Warp-wide matrix instructions on bytes, for NVIDIA GPUs from Ada on. Fields: gen/ops.lua.
local shape = require("ops/mla_prefill/shape")
local times = require("ops/mla_prefill/times").counted.mma

-- Compute capabilities whose instruction for warps the compiler makes of others: bytes are widened in registers.
local WIDENED = { [90] = true, [100] = true }

-- Warps that share 16 rows of O, and the columns that each makes; the template has the same.
local function split(p)
  local parts = p.vdim > 128 and 2 or 1
  return parts, shape.ceil_div(p.vdim, 16 * parts) * 16
end

return {
  template = "mla_prefill/mma_fp8",
  arch = { ampere = true, hopper = true, blackwell = true },
  problem = shape.FIELDS_FP8,
  params = {
    keys = { 32, 64 },        -- of a round
    warps = { 4, 8 },         -- of 16 query tokens each
  },
  rules = {
    shape.bytes_only("e4m3fn"),
    function(_, _, arch)
      if arch.isa.sm < 89 then return ("compute capability %d multiplies no bytes of e4m3"):format(arch.isa.sm) end
    end,
    function(_, v, arch)
      if WIDENED[arch.isa.sm] and v.keys > 32 then
        return ("compute capability %d widens bytes in registers: more than 32 keys spill"):format(arch.isa.sm)
      end
    end,
  },
  cost = function(p, v, arch)
    local qk, parts, part = shape.ceil_div(shape.qk(p), 32) * 32, split(p)
    local rows = 16 * v.warps // parts
    local mmas = qk // 32 * (v.keys // 8) + v.keys // 32 * (part // 8) -- of a warp and round
    local loads = qk // 32 * (1 + v.keys // 16) + v.keys // 32 * (part // 16)
    local per_unit = shape.ceil_div(v.warps, 4)
    return {
      threads = 32 * v.warps,
      rows_per_wg = rows,
      lds_bytes = rows * (qk + 16) + 2 * v.keys * (qk + 16 + (parts * part // 16 | 1) * 16),
      regs = { { "o", part // 2 }, { "s", v.keys // 2 }, { "p", v.keys // 8 },
        { "rest", WIDENED[arch.isa.sm] and 108 or 72 } },
      slack = WIDENED[arch.isa.sm] and 112 or 64,
      step = v.keys,
      round_clk = per_unit * math.max(times.mma_clk * mmas, times.load_clk * loads * 4) + times.round_clk,
      tail_clk = times.tail_clk,
      any_lengths = true,
    }
  end,
}
