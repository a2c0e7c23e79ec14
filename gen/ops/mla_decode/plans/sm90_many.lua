-- Shared memory of the many-rows Hopper kernel, for its template and for its family. Byte offsets.
local plan = {}

local MOST = 232448
local SLICE = 8192 -- 64 rows x 64 columns x 2 bytes
local LIST = 4 * 4 + 4 * 64 -- entries of an index list by warp, and a sink for each row

-- of: rank, rope; gather: with what the loaders of scattered rows need (templates/mla_decode/sm90_many/gather.h); lists: and of
-- index lists (sm90_many/list.h), `list` is 1 then, else 0; together: blocks of a cluster that share a request
-- (sm90_many/clusters.h; nil: one). { refused = reason } when that does not fit.
function plan.make(of)
  local rank, rope, gather = of.rank, of.rope, of.gather
  local slices, all = rank // 64, rank // 64 + (rope > 0 and 1 or 0)
  -- buffers: blocks of 64 tokens that lie there
  local p = { buffers = rank > 256 and 2 or 4, threads = gather and 512 or 384 }
  p.q_at = p.buffers * (slices * SLICE + 128 * rope)
  p.p_at = p.q_at + (rope > 0 and slices or slices - 1) * SLICE -- Q's last slice is kept in registers
  p.sums_at = p.p_at + p.buffers * SLICE
  p.m_at = p.sums_at + 2 * 64 * 4
  p.tops_at = p.m_at + p.buffers * 256 -- largest values of partial results (templates/mla_decode/sm90_many/partial.h)
  p.facts_at = p.tops_at + 2 * 64 * 4
  p.bars_at = p.facts_at + 4 * 40 -- this piece and the next one, and copies for the ends of this one and the one before
  p.bars_end = p.bars_at + 8 * (p.buffers * (all + 5) + 5)
  p.bytes, p.list = p.bars_end + (of.together and 8 * 3 or 0), 0
  if gather then
    p.tables_at = (p.bars_end + 15) // 16 * 16
    p.tables = 2 -- of 64 rows' numbers and a word
    p.bytes = p.tables_at + p.tables * (272 + 2 * 8)
    if of.lists then p.list, p.bytes = 1, p.bytes + LIST end
    if p.bytes > MOST then p.refused = ("%d bytes of shared memory > %d"):format(p.bytes, MOST) end
  end
  return p
end

return plan
