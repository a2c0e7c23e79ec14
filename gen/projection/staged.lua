-- How a block of a staged projection (templates/lib/projection/staged.h) is shared by its waves, and what it has in LDS: for the
-- template and for the family alike.
local staged = { waves = 4 } -- of a block

-- Groups of 16 outputs and of 16 tokens of a wave: of all ways to share them the one that reads least from LDS.
local function share(blocks, groups)
  local best, waves = nil, staged.waves
  for by_outputs = 1, waves do
    local by_tokens = waves // by_outputs
    if waves % by_outputs == 0 and blocks % by_outputs == 0 and groups % by_tokens == 0 then
      local b, g = blocks // by_outputs, groups // by_tokens
      if not best or b + g < best.blocks + best.groups then best = { blocks = b, groups = g } end
    end
  end
  return best
end

function staged.make(s)
  local groups, tile = s.pass // 16, 16 * s.blocks
  local mine = share(s.blocks, groups)
  if not mine or 2 * s.blocks % staged.waves ~= 0 or 2 * groups % staged.waves ~= 0 then
    return { refused = ("%d waves do not share %d outputs and %d tokens"):format(staged.waves, tile, s.pass) }
  end
  local stage = 2048 * (s.blocks + groups)
  local sums = 4 * s.pass * (tile + 4) + (s.norm == 1 and 4 * s.pass or 0)
  return { tile = tile, blocks = mine.blocks, groups = mine.groups, stage = stage, lds = math.max(3 * stage, sums) }
end

return staged
