-- The record of a projection (gen/ops.lua): one kernel, no knob. Of a family's cost its model asks, beside what gen/ops.lua says:
--
--   pass      tokens of a pass
--   inflight  bytes of weights that a block has in flight
--   clk       of a compute unit for 16 bytes of weights and the tokens of a pass
--   x_bytes   of x that a block reads in a pass
--   line_clk  that a block's loads take L1 in a pass; nil: not what binds
--   wave_clk  that a SIMD takes for a wave's pass beside its loads; nil: not what binds
--   parts     blocks that share a tile's passes; nil: 1
--   block_ns  of each block of a compute unit beyond its first; nil: 0
--   split     blocks that share a sum; nil: 1
--   ahead     its first weights are asked for before the launch waits for the one before
--   pace      share of the bandwidth that it can draw; must be said where ahead is
--   begin_ns  what it takes at its begin beyond the others
--   chain_ns  of a block's pass at least, one thing after the other; nil: 0
--   again     times the estimate of its work, of several passes; nil: 1
--   sums      bytes of a block's sums, which go to the blocks that share them; nil: 0
local models = require("projection/model")
local side = require("projection/side")

-- Parameters of the families that serve every problem; what they are beside it, where rows are appended, takes the same.
local function baselines(of)
  local outputs = of.layout == "outputs"
  local mfma = { blocks = outputs and 1 or 4, depth = 1, parts = 1, pass = 16, waves = 1 }
  local mma = { cols = 2, pass = 8, stages = 3, ways = 1 }
  local list = {}
  for _, suffix in ipairs(of.appends and { "", side.SUFFIX } or { "" }) do
    for _, bits in ipairs({ "", "_fp8" }) do
      list[#list + 1] = { family = "mfma" .. bits .. suffix, params = mfma }
      list[#list + 1] = { family = "mma" .. bits .. suffix, params = mma }
    end
  end
  if of.absorbs then
    list[#list + 1] = { family = "ring_absorb" .. side.SUFFIX, params = { pass = 16 } }
    for _, shares in ipairs({ 1, 2, 4, 8 }) do -- one serves a number of tokens
      list[#list + 1] = { family = "mfma_absorb" .. side.SUFFIX, params = { each = 16, shares = shares, columns = 2 } }
    end
  end
  return list
end

-- of: product(p), layout (projection/families.lua); appends.
return function(of)
  return {
    stages = of.aside and { "project", "aside" } or { "project" },
    -- Runs behind a library's product alone, although it is launched before it.
    second = {
      family = function(_, cost) return cost.aside and (cost.factors and "factors" or "aside") or nil end,
      fits = function() return true end,
      none = function() return "a kernel of ours" end,
    },
    baselines = baselines(of),
    absent = of.appends and side.absent or nil,
    rows = function(p) local product = of.product(p) return product.heads * product.outer end,
    model = models.of(of.product),
    -- The model's error depends on the number of blocks.
    invariant = require("projection/invariant").rule(of),
    launch = function(p, v) return { blocks = models.blocks(of.product(p), v.project.cost) } end,
    unlike = function(a, b) return math.abs(math.log(a.blocks / b.blocks, 2)) end,
  }
end
