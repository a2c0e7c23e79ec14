-- The gather kernel of batch-invariant plans (gen/ops.lua: invariant): one kernel for all numbers of tokens, each of which is a
-- row of its matrix instructions. A library's product takes another algorithm for another number.
local params = require("params")

return {
  families = { "mfma", "mma", "sm90" },
  sizes = function(p) return { params.merge(p, { tokens = 1 }), params.merge(p, { tokens = 4096 }) } end,
  key = function(_, values) return params.print(values) end,
  knob = function() return 1 end,
}
