-- Kernels of batch-invariant prefill plans (gen/ops.lua: invariant): families whose rows add up their keys from the first
-- one on, in rounds that begin at multiples of `keys`, and decide nothing by other rows. So a row has the same bits in any
-- batch, and in a longer request. (sm90 walks its keys down from a tile's last one, and a warp's rows raise their references
-- together; mfma_asm rescales by what any row of a wave needs.)
local params = require("params")

return {
  families = { "mfma_invariant", "mma_invariant" },
  sizes = function(p)
    return { params.merge(p, { batch = 1, tokens = 1, ctx = 1 }), params.merge(p, { batch = 4, tokens = 1024, ctx = 1024 }) }
  end,
  key = function(_, values) return params.print(values) end,
  knob = function() return 1 end,
}
