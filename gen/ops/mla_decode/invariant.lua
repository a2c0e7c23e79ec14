-- Kernels of batch-invariant decode plans (gen/ops.lua: invariant).
local params = require("params")
local plan = require("ops/mla_decode/plans/invariant")
local partials = require("ops/mla_decode/partials")

local invariant = {
  -- The families whose walk has that schedule, and the combine kernel behind each.
  combine = { mfma_reg = "combine_invariant", mfma_lds = "combine_invariant", mfma_reg_rotate = "combine_invariant",
    mfma_reg_cache = "combine_invariant" },
}

for _, name in ipairs { "sm90_few", "sm90_few_rotate", "sm90_mid", "sm90_mid_gather", "sm90_many", "sm90_many_gather",
  "sm90_many_rotate", "sm90_small_rank" } do
  invariant.combine[name] = partials.merge(name, nil, "invariant")
end

-- The problem at the sizes that kernels are ranked by.
local known = setmetatable({}, { __mode = "k" })
function invariant.at(p)
  known[p] = known[p] or params.merge(p, { batch = 64, ctx = 4096 })
  return known[p]
end
function invariant.sizes(p) return { invariant.at(p) } end
function invariant.key(_, values) return params.print(values) end

invariant.families = {}
for name in sorted(invariant.combine) do invariant.families[#invariant.families + 1] = name .. "_invariant" end

function invariant.knob(p) return plan.most(p.heads * p.q_len) end
function invariant.second() return "rows=4,team=2" end -- few blocks: of many rows most have nothing to add

return invariant
