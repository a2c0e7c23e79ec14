-- A thread 8 values of a row, `depth` times over. Fields: gen/ops.lua.
local shape = require("ops/mla_dequant/shape")

return {
  template = "mla_dequant/rows",
  arch = shape.EVERY,
  problem = shape.FIELDS,
  params = {
    depth = { 1, 2, 4 },    -- chunks of 8 values that a thread has on their way
    threads = { 128, 256 }, -- of a workgroup
  },
  rules = {
    function(p, v)
      local rows = v.threads * v.depth // (p.rank // 8)
      if v.depth > 1 and rows >= 2 * p.w_rows then return ("a workgroup has %d rows, and there are %d"):format(rows, p.w_rows) end
    end,
  },
  cost = function(p, v)
    return {
      threads = v.threads,
      rows_per_wg = v.threads * v.depth // (p.rank // 8),
      lds_bytes = 0,
      regs = { { "weights", 2 * v.depth }, { "scales", v.depth }, { "rest", 40 } },
      slack = 48,
      depth = v.depth,
      inflight = v.threads * 8 * v.depth,
      any_lengths = true,
    }
  end,
}
