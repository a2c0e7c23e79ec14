-- Merges two partial attentions of the same queries by their log-sum-exp. The record: gen/ops.lua. Of a family's cost its model
-- asks, beside what gen/ops.lua says:
--
--   depth, inflight  chunks of 16 bytes of each part that a thread copies, and bytes that a workgroup has on their way
local shape = require("ops/mla_merge/shape")

local function rows(p) return p.tokens * p.heads end

local model = require("moves").model(shape.bytes, 2, rows) -- the parts, the stores

local op = {
  stages = { "merge" },
  baselines = { { family = "rows", params = { depth = 1, threads = 64 } } },
  model = model,
  rows = rows,
}

-- What the model's error depends on: how many blocks there are.
function op.launch(p, v) return { blocks = model.blocks(p, v.merge.cost) } end

function op.unlike(a, b) return math.abs(math.log(a.blocks / b.blocks, 2)) end

return op
