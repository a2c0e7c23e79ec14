-- A thread 16 bytes of each part, `depth` times over. Fields: gen/ops.lua.
local shape = require("ops/mla_merge/shape")

return {
  template = "mla_merge/rows",
  arch = shape.EVERY,
  problem = shape.FIELDS,
  params = {
    depth = { 1, 2, 4 },        -- chunks of 16 bytes of each part that a thread has in flight
    threads = { 64, 128, 256 }, -- of a workgroup
  },
  rules = {
    function(p, v)
      if v.threads * v.depth < p.vdim // 8 then
        return ("%d chunks of a workgroup are less than a row of %d columns"):format(v.threads * v.depth, p.vdim)
      end
    end,
    function(p, v)
      local rows = v.threads * v.depth // (p.vdim // 8)
      if v.depth > 1 and rows >= 2 * p.tokens * p.heads then
        return ("a workgroup has %d rows, and there are %d"):format(rows, p.tokens * p.heads)
      end
    end,
  },
  cost = function(p, v)
    return {
      threads = v.threads,
      rows_per_wg = v.threads * v.depth // (p.vdim // 8),
      lds_bytes = 0,
      regs = { { "parts", 8 * v.depth }, { "sums", 4 * v.depth }, { "rest", 32 } },
      slack = 48,
      depth = v.depth,
      inflight = v.threads * 32 * v.depth,
      any_lengths = true,
    }
  end,
}
