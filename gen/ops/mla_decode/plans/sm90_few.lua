-- Shared memory of the transposed Hopper kernel, for its template and for its family: everything but the ring of boxes has
-- its size from the problem, the ring takes the rest.
local index_list = require("ops/mla_decode/plans/index_list")
local plan = {}

local BOX = 8192       -- 64 tokens x 64 columns x 2 bytes
local FACTS = 80       -- what math must know of a piece
local MOST_TILES = 4   -- a longer ring gains nothing

-- v: rank, rope, rows, wgs, cluster, schedule; page_size where index lists may come. Byte offsets from a base aligned to 1024;
-- { refused = reason } when it does not fit.
function plan.make(v, isa)
  local boxes = v.rank // 64 + (v.rope > 0 and 1 or 0)
  -- O goes out through Q's place in strips of `strip` columns when the ring is in use: rows of strip + 4 floats.
  local values, strip = v.rank // 64, 64
  for k = 1, values do
    if values % k == 0 and 4 * (64 * k + 4) <= 128 * boxes then strip = 64 * k end
  end
  local q_bytes = (v.rows * math.max(128 * boxes, 4 * (strip + 4)) + 1023) // 1024 * 1024
  local places = v.schedule ~= "splits" and 2 or 1 -- Q of the next piece comes while this one is computed
  local fixed = places * (q_bytes + FACTS + 16) + v.wgs * v.rows * 128 + 16 * v.rows * (v.wgs + v.cluster)
  local ring = math.min((isa.lds_bytes - 1064 - fixed) // (BOX + 20), MOST_TILES * boxes)
  if ring <= boxes then return { refused = ("%d boxes fit into shared memory, a tile has %d"):format(ring, boxes) } end
  -- O, and with a cluster what other blocks send of theirs, lie at the end in the place of ring and Q.
  local o_bytes, threads = v.rows * (v.rank + 4) * 4, 128 * v.wgs
  local rounds = -(-v.rows * v.rank // 4 // (v.cluster * threads))
  local land_bytes = v.cluster > 1 and 16 * rounds * threads * v.cluster or 0
  if ring * BOX + q_bytes < o_bytes + land_bytes then return { refused = "O does not fit into the ring" } end
  local p = { boxes = boxes, strip = strip, ring = ring, threads = 128 * v.wgs + 128 }
  -- A request that is one piece ends in one step (templates/mla_decode/sm90_few/whole.h) where each of two warpgroups finds room
  -- for its O in the place of its last tile, which may wrap around, beside the other's, and where what another block sends fits
  -- where a second Q would lie.
  p.o_boxes = -(-o_bytes // BOX)
  p.short = v.schedule == "fitted" and v.wgs == 2 and v.cluster <= 2 and v.rank % 128 == 0 and 2 * p.o_boxes - 1 <= boxes
    and ring >= 2 * boxes and v.rows * v.rank * 2 <= q_bytes
  -- Two warpgroups score their tiles one after the other: tests/models/ops/mla_decode/protocol finds what happens else.
  p.ordered = true
  p.land_at = o_bytes
  p.q_at = ring * BOX
  p.q_bytes, p.places = q_bytes, places
  p.p_at = p.q_at + places * q_bytes
  p.state_at = p.p_at + v.wgs * v.rows * 128
  p.tops_at = p.state_at + 16 * v.rows * v.cluster
  p.bars_at = p.tops_at + 16 * v.wgs * v.rows
  p.ends_at = p.bars_at + 16 * ring
  p.full_q_at = p.ends_at + 24
  p.facts_at, p.facts_bytes = p.full_q_at + 16 * places, FACTS
  p.bad_at = p.facts_at + FACTS * places
  p.bytes = p.bad_at + 4 * ring + 1024 -- 1024: to align the base
  local list_bytes
  p.list, list_bytes = index_list.fit(v.page_size, v.rows, p.bytes, isa)
  p.bytes = p.bytes + list_bytes
  return p
end

-- True if it may read index lists itself.
function plan.reads_lists(load, rotates, schedule) return load == "gather" and not rotates and schedule ~= "invariant" end

return plan
