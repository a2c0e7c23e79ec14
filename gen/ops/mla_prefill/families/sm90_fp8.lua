-- Hopper: wgmma of bytes; otherwise as sm90. Fields: gen/ops.lua.
local shape = require("ops/mla_prefill/shape")
local plan = require("ops/mla_prefill/plans/sm90_fp8")
local times = require("ops/mla_prefill/times").measured.sm90_fp8

local KEYS = 128 -- of a round; the template has the same

return {
  template = "mla_prefill/sm90_fp8",
  arch = { hopper = true },
  problem = shape.FIELDS_FP8,
  params = {
    room = { 20, 40 }, -- MiB of keys and values that tiles share in the cache
  },
  rules = {
    shape.bytes_only("e4m3fn"),
    function(p)
      if p.nope % 32 ~= 0 then return ("nope dim %d is not a multiple of 32"):format(p.nope) end
      if p.rope % 32 ~= 0 then return ("rope dim %d is not 0, 32 or 64"):format(p.rope) end
    end,
  },
  cost = function(p, v)
    local qk = shape.qk(p)
    local g = plan.make(p.nope, p.rope, p.vdim, KEYS)
    if g.refused then return { refused = g.refused } end
    -- The same as sm90, but V goes through shared memory once more, both ways.
    local products = 2 * (qk // 32 * KEYS // 2 + KEYS // 32 * g.vdim // 2)
    local shared = 2 * (qk // 32 * (16 + KEYS // 4) + KEYS // 32 * g.vdim // 4) + (g.k + g.raw + 2 * g.v) // 128
    local exponentials = 128 * KEYS // 16 -- of both warpgroups
    local arriving = (g.k + g.raw) // times.l2_bytes_clk
    return {
      threads = 384,
      rows_per_wg = 128 // g.halves, -- a tile of 128 rows has a half of V's columns
      lds_bytes = g.bytes,
      regs = { { "all, at launch", 168 } }, -- the math warps take 216, the others keep 72
      step = KEYS,
      round_clk = math.max(products, shared, exponentials, arriving) + times.round_clk,
      unfilled = 0.25, -- the upper half of a first round may be left out
      tail_clk = times.tail_clk + v.room, -- the smaller one unless the tuner knows better
      any_lengths = true,
    }
  end,
}
