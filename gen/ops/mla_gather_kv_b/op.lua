-- Gathers a chunk's rows from the pages of the cache and expands them by W_kvb to keys and values of each head. The record:
-- gen/ops.lua. Of a family's cost its model asks, beside what gen/ops.lua says:
--
--   rows_per_wg  tokens that a workgroup gathers;  outputs: of a tile that it makes of them at a time
--   gather_clk, tile_clk  clocks of the one and of the other
local model = require("ops/mla_gather_kv_b/model")
local shape = require("ops/mla_gather_kv_b/shape")

local op = {
  stages = { "gather", "aside" },
  -- Runs behind a library's product alone, although it is launched before it.
  second = {
    family = function(_, cost) return cost.aside and "aside" or nil end,
    fits = function() return true end,
    none = function() return "a kernel of ours" end,
  },
  baselines = {
    { family = "mma", params = { across = 2, cols = 64, rows = 32, stages = 3 } },
    { family = "mfma", params = { blocks = 1, stages = 1, waves = 4 } },
  },
  model = model,
  invariant = require("ops/mla_gather_kv_b/invariant"),
}

function op.absent(p) return shape.columns_rule(p) end

-- Workgroups share the tokens among themselves. Of few tokens a tile may stay mostly empty, and some must serve.
local LEAST_ROWS = 128
function op.rows(p) return math.max(p.tokens, LEAST_ROWS) end

-- The model's error depends on the number of tiles of tokens.
function op.launch(p, v) return { tiles = -(-p.tokens // v.gather.cost.rows_per_wg) } end

function op.unlike(a, b) return math.abs(math.log(a.tiles / b.tiles, 2)) end

return op
