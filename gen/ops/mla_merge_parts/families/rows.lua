-- A thread 16 bytes of each part, `depth` times over. Fields: gen/ops.lua.
local shape = require("ops/mla_merge_parts/shape")

-- Chunks of 16 bytes that a thread has in flight at most: 128 registers.
local CHUNKS_MOST = 32

return {
  template = "mla_merge_parts/rows",
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
      if v.depth * p.parts > CHUNKS_MOST then
        return ("%d chunks of each of %d parts are more than the %d that registers hold"):format(v.depth, p.parts, CHUNKS_MOST)
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
      regs = { { "parts", 4 * p.parts * v.depth }, { "sums", p.parts * v.depth }, { "weights", p.parts }, { "rest", 40 } },
      slack = 48,
      depth = v.depth,
      inflight = v.threads * 16 * p.parts * v.depth,
      any_lengths = true,
    }
  end,
}
