-- Shared memory and registers of the Hopper kernel with roles that decodes 8-bit caches, for its template and for its family: the
-- ring of tiles takes what all else leaves.
local raw = require("ops/mla_decode/plans/sm90_raw")
local index_list = require("ops/mla_decode/plans/index_list")

local plan = {}

local FACTS = 80     -- bytes: what math must know of a piece
local MOST_TILES = 6 -- a longer ring gains nothing

local function up(x, to) return (x + to - 1) // to * to end

-- v: rank, rope, rows, load, scales (stored in the cache, for groups of columns; 0: one for all), kpe16, scales_apart, page_size.
-- { refused = reason } when it does not fit.
function plan.make(v, isa)
  local p = raw.tile(v)
  p.facts_bytes = FACTS
  -- Scores of 64 rows keep the sums of a group of columns beside those of all before, where tokens hold scales.
  p.loader_regs, p.score_regs, p.value_regs = 56, 120, 168
  if v.scales == 7 and v.rows == 64 then p.loader_regs, p.score_regs, p.value_regs = 48, 128, 168 end
  if v.scales == 4 and (v.rows == 64 or v.scales_apart) then p.loader_regs, p.score_regs, p.value_regs = 64, 128, 160 end
  p.threads = 512
  if v.teams == 2 then -- at launch 96 for each of 640 threads
    p.threads = 640
    p.loader_regs, p.score_regs, p.value_regs = 56, 96, 112
    if v.scales == 7 then p.loader_regs, p.score_regs = 48, 104 end
  end
  p.q_bytes = v.rows * 128 * ((v.rank + v.rope) // 64)
  p.ps = 2 -- places of P: PV of a tile goes on while P of the next one is made
  p.scored = v.scales ~= 4 and v.rows == 64 -- PV of a tile waits for the next one's scores
  local pools = v.scales == 7 -- P in bf16, too; what P of each group is relative to, its factors by place, maxima of four warps
  local p_bytes = (pools and 2 or 1) * v.rows
  p.shifts = pools and 32 * (5 + p.ps) or nil
  local of_rows = p.ps + (v.teams == 2 and 13 or 7) -- numbers of each row
  local function all(ring)
    local at = p.q_bytes + p.ps * 128 * (p_bytes + v.scales) + ring * p.tile + 4 * v.rows * of_rows
    if v.teams == 2 then at = up(at, 16) + 16 end
    return up(up(at + 8 * (2 * ring + 3 + (p.scored and 3 or 2) * p.ps), 16) + FACTS + (p.shifts or 0) + 4 * (p.ps + ring), 16)
  end
  p.ring = MOST_TILES
  local least = index_list.least(v.page_size, v.rows)
  while p.ring > 2 and all(p.ring) + least > isa.lds_bytes do p.ring = p.ring - 1 end
  if p.ring < 3 then return { refused = "less than three tiles fit into shared memory" } end
  p.bytes = all(p.ring)
  local list_bytes
  p.list, list_bytes = index_list.fit(v.page_size, v.rows, p.bytes, isa, p.loader_regs < 56 and 512 or nil)
  p.bytes = up(p.bytes + list_bytes, 16)
  return p
end

return plan
