-- Appends tokens to the latent cache: norm, rotation, cast or quantisation, and on demand the query rows, in one launch. The
-- record: gen/ops.lua. Of a family's cost its model asks, beside what gen/ops.lua says:
--
--   tokens_per_wg  tokens of a workgroup's cache rows
--   ahead          slots, positions and table are read before the launch before has ended
--   depth, inflight  chunks of 16 bytes that a thread copies, and bytes that a workgroup has in flight
local model = require("ops/mla_append/model")
local shape = require("ops/mla_append/shape")

local op = {
  stages = { "append" },
  baselines = { { family = "rows", params = { ahead = 0, group = 1, threads = 64 } } },
  model = model,
  invariant = { any = true }, -- a token's sum for the norm is a warp's, whatever else there is
}

function op.absent(p) return shape.columns_rule(p) end

function op.rows(p) return p.tokens * (1 + p.heads) end

-- The model's error depends on the number of blocks, and on what each moves.
function op.launch(p, v)
  return { blocks = model.blocks(p, v.append.cost) }
end

function op.unlike(a, b) return math.abs(math.log(a.blocks / b.blocks, 2)) end

return op
