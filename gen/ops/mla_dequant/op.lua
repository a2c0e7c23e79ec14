-- Makes weights of 8 bits, with a scale for each 128 x 128, numbers of 16 bits. The record: gen/ops.lua. Of a family's cost its
-- model asks, beside what gen/ops.lua says:
--
--   depth, inflight  chunks of 8 values that a thread copies, and bytes that a workgroup has on their way
local shape = require("ops/mla_dequant/shape")

local op = {
  stages = { "dequant" },
  baselines = { { family = "rows", params = { depth = 1, threads = 128 } } },
}

function op.rows(p) return p.w_rows end

op.model = require("moves").model(shape.bytes, 2, op.rows) -- weights beside scales, the stores

-- What the model's error depends on: how many blocks there are.
function op.launch(p, v) return { blocks = op.model.blocks(p, v.dequant.cost) } end

function op.unlike(a, b) return math.abs(math.log(a.blocks / b.blocks, 2)) end

return op
