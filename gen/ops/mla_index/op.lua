-- Scores cached tokens for sparse attention and selects the best of them: a kernel that writes logits, and one that selects. The
-- record: gen/ops.lua. Of a family's cost its model asks, beside what gen/ops.lua says, inflight: bytes that a workgroup of the
-- first has asked for at once; tile_clk: clocks that a multiprocessor takes for 64 tokens, if nothing else holds it up.
local model = require("ops/mla_index/model")

local op = {
  stages = { "logits", "select" },
  baselines = { { family = "logits", params = { threads = 128, part = 512 } } },
  second = {
    family = function() return "select" end,
    fits = function() return true end,
    none = function() return "nothing" end,
  },
  model = model,
  invariant = { any = true, second = function() return "threads=1024" end }, -- all variants sum alike, and select exactly
}

-- A part of few cached tokens may stay mostly empty, and some kernel must serve them.
local LEAST_PART = 512
function op.rows(p) return p.tokens * math.max(p.ctx, LEAST_PART) end

-- The model's error depends on the number of blocks.
function op.launch(p, v) return { blocks = model.blocks(p, v.logits.cost) } end
function op.unlike(a, b) return math.abs(math.log(a.blocks / b.blocks, 2)) end

return op
