-- Hopper: wgmma, tensor copies, a persistent block on each SM. Fields: gen/ops.lua.
local shape = require("ops/mla_prefill/shape")
local plan = require("ops/mla_prefill/plans/sm90")
local times = require("ops/mla_prefill/times").measured.sm90

return {
  template = "mla_prefill/sm90",
  arch = { hopper = true },
  problem = shape.FIELDS,
  params = {
    keys = { 64, 128 }, -- of a round
    pair = { 1, 2 },    -- blocks that work on a tile together: each reads half of K and V, both get all of it
    room = { 20, 40 },  -- MiB of keys and values that tiles share in the cache
  },
  rules = {
    shape.words_only,
    function(p, v)
      if v.keys + p.vdim > 320 then
        return ("%d columns of scores and %d of O do not fit the registers"):format(v.keys, p.vdim)
      end
    end,
  },
  cost = function(p, v)
    local qk = shape.qk(p)
    local g = plan.make(qk, shape.padded_v(p), v.keys)
    if g.refused then return { refused = g.refused } end
    -- Two warpgroups: 64 rows of A from shared memory take 16 clocks beside N / 4; the products N / 2.
    local products = 2 * (qk // 16 * v.keys // 2 + v.keys // 16 * p.vdim // 2)
    local shared = 2 * (qk // 16 * (16 + v.keys // 4) + v.keys // 16 * p.vdim // 4) + g.k // 128 + g.v // 128
    local arriving = (g.k + g.v) // v.pair // times.l2_bytes_clk
    return {
      threads = 384,
      rows_per_wg = 128 * v.pair,
      team = v.pair,
      lds_bytes = g.bytes,
      regs = { { "all, at launch", 168 } }, -- the math warps take 224, the others keep 56
      step = v.keys,
      round_clk = math.max(products, shared, arriving) + times.round_clk,
      unfilled = v.keys == 128 and 0.25 or 0.5, -- the upper half of a first round may be left out
      tail_clk = times.tail_clk + (v.pair - 1) * times.pair_clk + v.room, -- the smaller one unless the tuner knows better
      any_lengths = true,
    }
  end,
}
