-- Shared memory of the transposed Hopper kernel, for its template and for its family: everything but the ring of boxes has
-- its size from the problem, the ring takes the rest.
local plan = {}

local BOX = 8192       -- 64 tokens x 64 columns x 2 bytes
local KEPT = 128       -- a block's place in its work
local MOST_TILES = 4   -- a longer ring gains nothing

-- v: rank, rope, rows, wgs, cluster. Byte offsets from a base aligned to 1024; { refused = reason } when it does not fit.
function plan.make(v, isa)
  local boxes = v.rank // 64 + (v.rope > 0 and 1 or 0)
  -- O goes out through Q's place in pieces of `piece` columns when the ring is in use: rows of piece + 4 floats.
  local values, piece = v.rank // 64, 64
  for k = 1, values do
    if values % k == 0 and 4 * (64 * k + 4) <= 128 * boxes then piece = 64 * k end
  end
  local q_bytes = v.rows * math.max(128 * boxes, 4 * (piece + 4))
  local fixed = q_bytes + v.wgs * v.rows * 128 + 16 * v.rows * (v.wgs + v.cluster)
  local ring = math.min((isa.lds_bytes - 1040 - KEPT - fixed) // (BOX + 20), MOST_TILES * boxes)
  if ring <= boxes then return { refused = ("%d boxes fit into shared memory, a tile has %d"):format(ring, boxes) } end
  if ring * BOX + q_bytes < v.rows * (v.rank + 4) * 4 then return { refused = "O does not fit into the ring" } end
  local p = { boxes = boxes, piece = piece, ring = ring, threads = 128 * v.wgs + 128 }
  p.q_at = ring * BOX
  p.p_at = p.q_at + q_bytes
  p.state_at = p.p_at + v.wgs * v.rows * 128
  p.tops_at = p.state_at + 16 * v.rows * v.cluster
  p.bars_at = p.tops_at + 16 * v.wgs * v.rows
  p.bad_at = p.bars_at + 16 * ring
  p.kept_at = (p.bad_at + 4 * ring + 15) // 16 * 16
  p.kept_bytes = KEPT
  p.bytes = p.kept_at + KEPT + 1024 -- 1024: to align the base
  return p
end

return plan
