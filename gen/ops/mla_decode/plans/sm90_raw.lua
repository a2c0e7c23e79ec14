-- Shared memory of the Hopper kernel that decodes 8-bit caches, for its template and for its family: the ring of tiles takes what
-- all else leaves.
local index_list = require("ops/mla_decode/plans/index_list")
local plan = {}

local FACTS = 80     -- bytes: what math must know of a piece
local MOST_TILES = 6 -- a longer ring gains nothing
local WGS = 2        -- math warpgroups

-- Bytes of a token in shared memory, by the number of its scales. 7: 448 codes, 64 columns of 16 bits, its scales, 8 bytes free.
local TOKEN = {
  [0] = function(v) return v.rank + v.rope end,
  [4] = function(v) return v.rank + 16 + 2 * v.rope end,
  [7] = function(v) return v.rank - 64 + 128 + 16 end,
}

local function up(x, to) return (x + to - 1) // to * to end

-- Facts of a format (gen/parts.lua) that texts of these kernels differ by; nil: none of them reads it.
--   scales  numbers of a token; 0: one scale for all    pools   they are powers of two behind a page's rows of both types
--   kpe16   rope columns of 16 bits in another tensor   planar  rope columns behind a page's rows
--   scales_apart  scales lie in another tensor, or behind a page's rows
--   rope    columns that a problem has
function plan.format(f)
  local s = f.scales
  if f.fnuz or f.bits ~= 8 then return nil end
  return { scales = s and s.count or 0, pools = f.pools, kpe16 = f.one_scale and f.rope.place == "tensor",
    planar = f.rope.place == "page", scales_apart = f.tiles and s.place ~= "row",
    rope = (f.own or f.rope.none) and 0 or 64 }
end

-- A tile: bytes of a token, from one to the next (pitch), of all 64. v: rank, rope, load, scales, and kpe16 where rope columns of
-- 16 bits come from another tensor, so that no 16 rows come as one copy; scales_apart where scales lie apart from codes, and rope
-- columns too: a warp's 16 rows of codes are two copies, with a chunk left free behind each, all their scales one, and their rope
-- columns as the codes.
function plan.tile(v)
  if v.scales_apart then
    local scales_at = 16 * v.rank + 2 * 16
    local rope_at = scales_at + 16 * 16
    local part = rope_at + (v.rope > 0 and 16 * 2 * v.rope + 128 or 0) -- 32 bytes more than a multiple of 128: other banks
    return { token = v.rank + 16 + 2 * v.rope, pitch = v.rank, tile = 4 * part, scales_at = scales_at, rope_at = rope_at,
      joined = false }
  end
  local p = { token = v.kpe16 and v.rank + 2 * v.rope or TOKEN[v.scales](v) }
  -- The rows of a matrix of ldmatrix lie in eight different groups of banks where a token's chunks of 16 bytes are odd. Else a
  -- chunk is left free behind each token, or behind 16 that come as one copy.
  local odd = p.token // 16 % 2 == 1
  p.joined = not odd and v.load == "pages" and not v.kpe16
  p.pitch = (odd or p.joined) and p.token or p.token + 16
  p.tile = 64 * p.pitch + (p.joined and 64 or 0)
  return p
end

-- v: rank, rope, rows, cluster, schedule, load, scales (stored in the cache, for groups of columns; 0: one for all), kpe16,
-- scales_apart, page_size.
-- Byte offsets from a base aligned to 1024; { refused = reason } when it does not fit.
function plan.make(v, isa)
  local p = plan.tile(v)
  p.wgs, p.threads, p.facts_bytes = WGS, 128 * WGS + 128, FACTS
  local slabs = (v.rank + v.rope) // 64
  p.q_bytes = up(v.rows * 128 * slabs, 1024)
  -- O goes out through Q's place in strips of so many columns when the ring is in use: rows of strip + 4 floats.
  p.strip = 64
  for k = 1, v.rank // 64 do
    if v.rank // 64 % k == 0 and 4 * (64 * k + 4) <= 128 * slabs then p.strip = 64 * k end
  end
  p.p_slabs = v.scales == 7 and 8 or math.max(v.scales, 1) -- a P for each group of columns; of 7, one for those of 16 bits, too
  p.p_bytes = v.rows * 128 * p.p_slabs
  p.tops = math.max(v.scales, 4) -- maxima beside those of rows
  p.raw_q_bytes = v.rows * 2 * (v.rank + v.rope)
  local fixed = p.q_bytes + WGS * p.p_bytes + p.raw_q_bytes + 192 * v.rows + 16 * v.rows * v.cluster
    + WGS * 16 * (v.rows + p.tops) + 4 * v.rows + 40 + 2 * FACTS + 1024 + 1024
  p.ring = math.min((isa.lds_bytes - fixed) // (p.tile + 20), MOST_TILES)
  if p.ring < 3 then return { refused = ("%d tiles fit into shared memory, three are needed"):format(p.ring) } end
  p.ring_bytes = up(p.ring * p.tile, 1024)
  -- O, and in a cluster what other blocks send of theirs, lie at the end in the place of the ring.
  local o_bytes, threads = v.rows * (v.rank + 4) * 4, 128 * WGS
  local rounds = -(-v.rows * v.rank // 4 // (v.cluster * threads))
  p.land_at = o_bytes
  if o_bytes + (v.cluster > 1 and 16 * rounds * threads * v.cluster or 0) > p.ring_bytes then
    return { refused = "O does not fit into the ring" }
  end
  -- A request that is one piece ends in one step (templates/mla_decode/sm90_few/whole.h) where a warpgroup's O fits the place of
  -- its last tile, and what another block sends that of Q as it came.
  p.short = v.schedule == "fitted" and v.cluster <= 2 and o_bytes <= p.tile and v.rows * v.rank * 2 <= p.raw_q_bytes
  p.bytes = p.ring_bytes + p.q_bytes + WGS * p.p_bytes + p.raw_q_bytes + 192 * v.rows + 16 * v.rows * v.cluster
    + WGS * 16 * (v.rows + p.tops) + 16 * p.ring + 40 + 2 * FACTS + 4 * v.rows + 4 * p.ring + 1024
  local list_bytes
  p.list, list_bytes = index_list.fit(v.page_size, v.rows, p.bytes, isa)
  p.bytes = p.bytes + list_bytes
  return p
end

return plan
