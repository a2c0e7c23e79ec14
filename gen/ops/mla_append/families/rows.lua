-- A warp (wave) a token of the cache, `group` heads of a token a workgroup of queries. Fields: gen/ops.lua.
local shape = require("ops/mla_append/shape")

local ceil_div = require("whole").ceil_div

local MOST_CHUNKS = 8 -- of 16 bytes that a thread has in flight

return {
  template = "mla_append/rows",
  arch = shape.EVERY,
  problem = shape.FIELDS,
  params = {
    group = { 1, 2, 4, 8, 16 },    -- heads of a workgroup
    threads = { 64, 128, 256 },    -- of a workgroup
    ahead = { 0, 1 },              -- 1: slots, positions and table are read before the launch before has ended, too
  },
  rules = {
    shape.columns_rule,
    function(_, v, arch)
      if v.ahead == 1 and arch.isa.has_pdl ~= 1 then return "no launch of this target begins before the one before has ended" end
    end,
    function(p, v)
      if v.group > 1 and v.group >= 2 * p.heads then return ("groups of %d heads, and there are %d"):format(v.group, p.heads) end
    end,
    function(p, v)
      local chunks = v.group * p.rank // 8
      if ceil_div(chunks, v.threads) > MOST_CHUNKS then
        return ("%d heads are more than %d chunks for each of %d threads"):format(v.group, MOST_CHUNKS, v.threads)
      end
      if p.heads > 0 and v.threads > 64 and 2 * chunks <= v.threads then
        return ("%d chunks leave most of %d threads idle"):format(chunks, v.threads)
      end
    end,
  },
  cost = function(p, v, arch)
    local depth = p.heads > 0 and ceil_div(v.group * p.rank // 8, v.threads) or 1
    local rounds = ceil_div(p.rank // 8, arch.isa.wave)
    return {
      threads = v.threads,
      rows_per_wg = v.group,
      lds_bytes = 0,
      tokens_per_wg = v.threads // arch.isa.wave,
      regs = { { "rows", math.max(4 * depth, 8 * rounds) }, { "rotation", p.rope > 0 and 36 or 0 }, { "rest", 32 } },
      slack = 32,
      depth = depth,
      ahead = v.ahead == 1,
      inflight = v.threads * 16 * depth,
      any_lengths = true,
    }
  end,
}
