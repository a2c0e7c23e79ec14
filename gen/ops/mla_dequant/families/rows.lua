-- A thread 8 values of a row, `depth` times over, of a long row as often as that takes. Fields: gen/ops.lua.
local shape = require("ops/mla_dequant/shape")

return {
  template = "mla_dequant/rows",
  arch = shape.EVERY,
  problem = shape.FIELDS,
  params = {
    depth = { 1, 2, 4 },    -- chunks of 8 values that a thread has in flight
    threads = { 128, 256 }, -- of a workgroup
  },
  rules = {
    function(p, v)
      local rows, chunks = shape.rows(p, v), p.columns // 8
      if v.depth > 1 and v.threads * v.depth < chunks then return ("a row has %d chunks of 8 values"):format(chunks) end
      if v.depth > 1 and rows >= 2 * p.w_rows then return ("a workgroup has %d rows, and there are %d"):format(rows, p.w_rows) end
    end,
  },
  cost = function(p, v)
    return {
      threads = v.threads,
      rows_per_wg = shape.rows(p, v),
      lds_bytes = 0,
      regs = { { "weights", 2 * shape.chunks(p, v) }, { "scales", shape.chunks(p, v) }, { "rest", 40 } },
      slack = 48,
      depth = shape.chunks(p, v),
      inflight = v.threads * 8 * shape.chunks(p, v),
      any_lengths = true,
    }
  end,
}
