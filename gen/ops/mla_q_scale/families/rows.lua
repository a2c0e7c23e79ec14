-- A thread 16 bytes of a query, `depth` times over. Fields: gen/ops.lua.
local shape = require("ops/mla_q_scale/shape")

return {
  template = "mla_q_scale/rows",
  arch = shape.EVERY,
  problem = shape.FIELDS,
  params = {
    depth = { 1, 2, 4 },        -- chunks of 16 bytes that a thread has in flight
    threads = { 64, 128, 256 }, -- of a workgroup
  },
  rules = {
    function(p, v)
      local rows = v.threads * v.depth // (p.qdim // 8)
      if v.depth > 1 and rows >= 2 * p.tokens * p.heads then
        return ("a workgroup has %d rows, and there are %d"):format(rows, p.tokens * p.heads)
      end
    end,
  },
  cost = function(p, v)
    return {
      threads = v.threads,
      rows_per_wg = v.threads * v.depth // (p.qdim // 8),
      lds_bytes = 0,
      regs = { { "queries", 4 * v.depth }, { "factors", v.depth }, { "rest", 32 } },
      slack = 48,
      depth = v.depth,
      inflight = v.threads * 16 * v.depth,
      any_lengths = true,
    }
  end,
}
