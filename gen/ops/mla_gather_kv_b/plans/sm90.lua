-- The plan that the Hopper kernel's template and family agree on: outputs of a tile, places of the ring, shared memory.
local plan = {}

local MOST, ROWS, WIDEST = 232448, 128, 128

-- rank: columns of the latent; out: outputs of a head. cols: the widest tile that heads are made of; stages: 64 columns of W's
-- rows of a tile, as many as there is room for, but no more than two tiles have.
function plan.make(rank, out)
  local p = { slabs = rank // 64 }
  if rank % 64 ~= 0 then return { refused = ("rank %d is not a multiple of 64"):format(rank) } end
  for cols = 32, WIDEST, 32 do
    if out % cols == 0 then p.cols = cols end
  end
  if not p.cols then return { refused = ("%d outputs of a head are not a multiple of 32"):format(out) } end
  local fixed, stage = ROWS * 2 * rank + 8 * ROWS + 8 * p.slabs, 128 * p.cols + 16
  p.stages = math.min((MOST - fixed) // stage, 2 * p.slabs)
  p.bytes = fixed + p.stages * stage
  return p
end

return plan
