-- Sixteen threads a row, a key or a query. Fields: gen/ops.lua.
local shape = require("ops/mla_index_append/shape")

return {
  template = "mla_index_append/rows",
  arch = shape.EVERY,
  problem = shape.FIELDS,
  params = { threads = { 64, 128, 256 } }, -- of a workgroup
  rules = {
    function(p, v)
      local rows = p.tokens * (1 + p.heads)
      if v.threads > 64 and v.threads // shape.LANES >= 2 * rows then
        return ("a workgroup has %d rows, and there are %d"):format(v.threads // shape.LANES, rows)
      end
    end,
  },
  cost = function(_, v)
    return {
      threads = v.threads,
      rows_per_wg = v.threads // shape.LANES,
      lds_bytes = 0,
      regs = { { "row", 16 }, { "angles", 16 }, { "rest", 32 } },
      slack = 32,
      depth = 1,
      inflight = v.threads * 16,
      any_lengths = true,
    }
  end,
}
