-- Shared memory and registers of the transposed Hopper kernel with roles, for its template and for its family: everything but
-- the ring of boxes has its size from the problem, the ring takes the rest.
local index_list = require("ops/mla_decode/plans/index_list")

local plan = {}

local BOX = 8192       -- 64 tokens x 64 columns x 2 bytes
local MOST_TILES = 3   -- a longer ring gains nothing
local SLOTS = 512      -- registers of an SM's quarter, 32 lanes each; a warp of every warpgroup lives there
local TURNING = 40     -- registers of loaders that walk whole requests one after the other, too
local KEEPING = 56     -- registers of loaders that keep where the rows of a tile lie
local PAIRING = 48     -- rows up to which they copy two boxes at a time
local BARS = 8 * 5     -- bytes of the barriers beside the boxes'

-- v: rank, rope, rows, schedule, cluster (blocks that share a request; nil: one), gather (loaders of scattered rows:
-- templates/mla_decode/sm90_mid/gather.h), page_size (of those that may read index lists). Byte offsets; { refused = reason }
-- when it does not fit.
function plan.make(v, isa)
  local p = { boxes = v.rank // 64 + (v.rope > 0 and 1 or 0),
    loader_regs = v.schedule == "fitted" and 32 or 24 } -- 24 is the least there is; the walk takes more
  -- A warpgroup's O is rank/2 x rows in fp32; what little else it needs shrinks where that leaves the scores too few.
  p.value_regs = math.max(136, (v.rank * v.rows // 256 + 30 + 7) // 8 * 8)
  p.keeps = v.gather and SLOTS - 2 * p.value_regs - v.rows // 2 - 56 >= KEEPING
  p.pairs = p.keeps and v.rows <= PAIRING
  p.turns = v.schedule == "fitted" and SLOTS - 2 * p.value_regs - v.rows // 2 - 56 >= TURNING
  if p.keeps then p.loader_regs = KEEPING
  elseif p.turns then p.loader_regs = TURNING end
  p.score_regs = math.min(240, SLOTS - p.loader_regs - 2 * p.value_regs)
  if p.score_regs < v.rows // 2 + 56 then
    return { refused = ("%d rows leave %d registers to a thread of the scores"):format(v.rows, p.score_regs) }
  end
  local places = {
    { "p_at", 128 * v.rows },           -- P^T
    { "refs_at", 4 * v.rows },          -- reference of each row
    { "factors_at", 4 * v.rows },       -- what O is multiplied by
    { "raised_at", 16 },                -- a bit for each row whose factor is not 1
    { "parts_at", 4 * 4 * v.rows },     -- sums by warp
    { "inverse_at", 2 * 4 * v.rows },
    { "scales_at", 4 * v.rows },        -- what values of partial results are multiplied by
    { "facts_at", 2 * 48 },
  }
  if v.gather then table.insert(places, 1, { "tables_at", 3 * 2 * 64 * 4 }) end
  local blocks = v.cluster or 1
  if blocks > 1 and v.rank // 64 % (2 * blocks) ~= 0 then
    return { refused = ("rank %d: %d blocks finish no two boxes of columns each"):format(v.rank, blocks) }
  end
  local bars = BARS
  if blocks > 1 then
    bars = BARS + 8 * 3
    places[#places + 1] = { "states_at", 8 * blocks * v.rows }
  end
  local small = bars
  for _, place in ipairs(places) do small = small + place[2] end
  local q_bytes = 128 * p.boxes * v.rows
  local page_size = p.keeps and v.page_size or 0 -- others have too few registers for lists
  local list = index_list.least(page_size, v.rows)
  p.ring = math.min((isa.lds_bytes - q_bytes - small - list) // (BOX + 16 + 4), MOST_TILES * p.boxes)
  if p.ring <= p.boxes then return { refused = ("%d boxes fit into shared memory, a tile has %d"):format(p.ring, p.boxes) } end
  p.q_at = p.ring * BOX
  local at = p.q_at + q_bytes
  for _, place in ipairs(places) do
    p[place[1]] = at
    at = at + place[2]
  end
  p.bars_at = at
  p.bad_at = p.bars_at + 16 * p.ring + bars
  p.list_at = p.bad_at + 4 * p.ring
  local list_bytes
  p.list, list_bytes = index_list.fit(page_size, v.rows, (p.list_at + 15) // 16 * 16, isa)
  p.bytes = (p.list_at + list_bytes + 15) // 16 * 16
  return p
end

return plan
