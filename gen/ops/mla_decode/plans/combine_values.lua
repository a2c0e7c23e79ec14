-- Shared memory of the combine kernel fused with the value projection (templates/mla_decode/combine_values.cu.in): a head a
-- block.
local plan = {}

local ceil_div = require("whole").ceil_div

local WARPS, PASS = 16, 48

-- values: columns of a head's outputs; partials: bits. pass: tokens at a time; vectors: 16-byte loads of a lane for a split of a
-- row; ways: warpgroups that share the sum of 64 outputs.
function plan.make(rank, values, partials)
  local vectors, blocks = ceil_div(rank * partials, 4096), values // 64
  local m = { warps = WARPS, pass = PASS, threads = 32 * WARPS, vectors = vectors, ways = 4 // blocks, depth = 8 // vectors }
  m.x_at = values * rank * 2
  m.meet_at = m.x_at + PASS * rank * 2
  -- Sums of a row that warps have a share of each, and what they count for; the product's sums lie in place of X and of these.
  m.full_at = ceil_div(math.max(m.meet_at + WARPS * (rank * 4 + 12), m.x_at + m.ways * PASS * (values + 4) * 4), 8) * 8
  m.dynamic = m.full_at + rank // 64 * 8 -- barriers of W's boxes
  -- The front, up to a place for swizzled rows, has a request for each thread, a number for each warp.
  m.shared = ceil_div(m.threads * 16 + WARPS * 4, 1024) * 1024 + m.dynamic
  if rank % 256 ~= 0 then m.refused = ("rank %d is not a multiple of 256"):format(rank)
  elseif values ~= 64 and values ~= 128 then m.refused = ("%d values are not 64 or 128"):format(values) end
  return m
end

return plan
