-- Keys from memory to registers, products by 16-bit matrix instructions. Fields: gen/ops.lua.
local shape = require("ops/mla_index/shape")

return {
  template = "mla_index/logits",
  arch = shape.EVERY,
  problem = shape.FIELDS,
  params = {
    threads = { 128, 256 },       -- of a workgroup
    part = { 512, 1024, 2048 },   -- cached tokens of a workgroup
  },
  rules = {
    function(p, v)
      if v.part > 512 and v.part >= 2 * p.ctx then
        return ("parts of %d tokens, and there are %d"):format(v.part, p.ctx)
      end
    end,
  },
  cost = function(p, v, arch)
    local waves, rows = v.threads // arch.isa.wave, 4096 // arch.isa.wave // 4 -- registers of a wave's keys, as they lie
    return {
      threads = v.threads,
      rows_per_wg = v.part,
      lds_bytes = shape.lds_bytes(p.heads, v.part),
      regs = { { "keys", 3 * rows }, { "sums", 16 }, { "rest", 56 } },
      slack = 96,
      waves = waves,
      inflight = waves * shape.WAVE_TOKENS * shape.TOKEN_BYTES,
      tile_clk = arch.isa.family == "hopper" and 13.6 * p.heads or nil, -- one H200, 2026-11-29: 123.7 us for 64 x 32768, 64 heads
      any_lengths = true,
    }
  end,
}
