-- Shared memory and registers of the Hopper kernel with roles that decodes 8-bit caches, for its template and for its family: the
-- ring of tiles takes what all else leaves.
local raw = require("ops/mla_decode/plans/sm90_raw")
local index_list = require("ops/mla_decode/plans/index_list")

local plan = {}

local FACTS = 80     -- bytes: what math must know of a piece
local MOST_TILES = 6 -- a longer ring gains nothing

local function up(x, to) return (x + to - 1) // to * to end

-- v: rank, rope, rows, load, scales (stored in the cache, for groups of columns; 0: one for all), page_size. { refused = reason }
-- when it does not fit.
function plan.make(v, isa)
  local p = raw.tile(v)
  p.facts_bytes = FACTS
  -- Scores keep the sums of a group of columns beside those of all before, where tokens hold scales.
  p.loader_regs, p.score_regs, p.value_regs = 56, 120, 168
  if v.scales > 0 then p.loader_regs, p.score_regs, p.value_regs = 64, 128, 160 end
  p.q_bytes = v.rows * 128 * ((v.rank + v.rope) // 64)
  -- A second place of P, unless a tile more is worth it: PV of a tile is over before P of the next one is made, as a rule.
  local function all(ps, ring)
    local at = p.q_bytes + ps * 128 * (v.rows + v.scales) + ring * p.tile + 4 * v.rows * (7 + ps)
    return up(up(at + 8 * (2 * ring + 3 + 2 * ps), 16) + FACTS + 4 * (ps + ring), 16)
  end
  local least = index_list.least(v.page_size)
  local function ring_of(ps)
    local ring = MOST_TILES
    while ring > 2 and all(ps, ring) + least > isa.lds_bytes do ring = ring - 1 end
    return ring
  end
  p.ps = ring_of(1) > ring_of(2) and 1 or 2
  p.ring = ring_of(p.ps)
  if p.ring < 3 then return { refused = "less than three tiles fit into shared memory" } end
  p.bytes = all(p.ps, p.ring)
  local list_bytes
  p.list, list_bytes = index_list.fit(v.page_size, p.bytes, isa)
  p.bytes = up(p.bytes + list_bytes, 16)
  return p
end

return plan
