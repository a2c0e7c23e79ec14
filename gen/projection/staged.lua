-- The plan by which a block of a staged projection (templates/lib/projection/staged.h) is shared by its waves, and what it has in
-- LDS: for the template and for the family alike.
local staged = { waves = 4 } -- of a block

local LDS_BYTES = 65536 -- of a compute unit of CDNA

-- Groups of 16 outputs and of 16 tokens of a wave, and `ways`, waves that have the same and share a round's lines: of all ways to
-- share them the one that reads least from LDS, `read` halves of a line of 16 rows.
local function share(blocks, groups, lines)
  local best
  for ways = 1, 2 * lines do
    local waves = ways ~= 3 and staged.waves // ways or 0
    for by_outputs = 1, waves do
      local by_tokens = waves // by_outputs
      if waves % by_outputs == 0 and blocks % by_outputs == 0 and groups % by_tokens == 0 then
        local b, g = blocks // by_outputs, groups // by_tokens
        local read = (b + g) * 2 * lines // ways
        if not best or read < best.read then
          best = { blocks = b, groups = g, ways = ways, by_tokens = by_tokens, read = read }
        end
      end
    end
  end
  return best
end

-- Sums meet in LDS `together` groups of 16 tokens of each wave at a time, as many as there is room for.
local function sums(mine, tile, norm)
  local together = mine.groups
  local function bytes() return 64 * mine.ways * together * mine.by_tokens * (tile + 4 + norm) end
  while together > 1 and (bytes() > LDS_BYTES or mine.groups % together ~= 0) do together = together - 1 end
  return together, bytes()
end

function staged.make(s)
  local groups, tile = s.pass // 16, 16 * s.blocks
  local lines = s.blocks == 1 and 2 or 1 -- of a round: 16 rows of W are loads for half of the waves
  local mine = share(s.blocks, groups, lines)
  if not mine or 2 * s.blocks * lines % staged.waves ~= 0 or 2 * groups * lines % staged.waves ~= 0 then
    return { refused = ("%d waves do not share %d outputs and %d tokens"):format(staged.waves, tile, s.pass) }
  end
  local stage = 2048 * (s.blocks + groups) * lines
  local stages = 3 * stage <= LDS_BYTES and 3 or 2
  local together, added = sums(mine, tile, s.norm)
  mine.lines, mine.values = lines, 64 * lines
  mine.tile, mine.stage, mine.stages, mine.together, mine.lds = tile, stage, stages, together, math.max(stages * stage, added)
  return mine
end

return staged
