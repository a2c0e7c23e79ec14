-- Hopper: keys through a ring in shared memory, products by wgmma. Fields: gen/ops.lua.
local shape = require("ops/mla_index/shape")

return {
  template = "mla_index/sm90",
  arch = { hopper = true },
  problem = shape.FIELDS,
  params = {
    groups = { 1, 2 },            -- warpgroups that multiply, 128 threads each
    part = { 512, 1024, 2048 },   -- cached tokens of a workgroup
  },
  rules = require("ops/mla_index/families/logits").rules,
  cost = function(p, v)
    local ring = shape.ring(p.heads, v.groups)
    return {
      threads = ring.threads,
      rows_per_wg = v.part,
      lds_bytes = ring.bytes,
      regs = { { "keys", 48 }, { "sums", p.heads // 2 }, { "weights", p.heads // 4 }, { "rest", 16 } },
      waves = 4 * v.groups,
      step = 16,
      inflight = ring.stages * 64 * shape.TOKEN_BYTES,
      tile_clk = 10 * p.heads, -- one H200, 2026-11-29: 90.4 us for 64 x 32768, 64 heads
      any_lengths = true,
    }
  end,
}
