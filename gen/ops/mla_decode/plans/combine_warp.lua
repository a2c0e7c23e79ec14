-- A team of warps shares the merge of a row's splits (templates/mla_decode/combine_warp.cu.in): columns first, since a warp
-- with fewer runs less code, then splits.
local plan = {}

local ceil_div = require("whole").ceil_div

-- shares (of the columns) and groups (of the splits) of a team; vectors: 16-byte loads of a lane for a split; depth: splits a
-- warp has in flight, a power of two: 8 loads, 4 of narrow values, which are twice the work. Twice as many are more code to fetch
-- and slower (docs/lab/archive). fitted: all warps of a workgroup may be one team, and they list what the launch cut.
function plan.splits(rank, partials, rows, team, fitted)
  local all, shares = ceil_div(rank * partials, 4096), 1
  while shares < all and shares < team do shares = 2 * shares end
  local groups, vectors, depth = team // shares, ceil_div(all, shares), 1
  while 2 * depth * vectors <= partials // 4 do depth = 2 * depth end
  local meet, warps = groups > 1 or fitted and rows * team > 1, rows * team
  return {
    threads = 32 * warps, shares = shares, groups = groups, vectors = vectors, depth = depth,
    -- The groups' sums, and what they count for; a request for each thread, and a number for each warp.
    shared = (meet and warps * vectors * 16384 // partials + 8 * (fitted and warps or rows * groups) or 0)
      + (fitted and 32 * warps * 16 + 4 * warps or 0),
  }
end

return plan
