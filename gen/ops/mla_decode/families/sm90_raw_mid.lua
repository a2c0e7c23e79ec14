-- Transposed decode from 8-bit caches with roles on Hopper: a tile's bytes become f16 once for up to 64 query rows. Fields:
-- gen/ops.lua.
local shape = require("ops/mla_decode/shape")
local hopper = require("ops/mla_decode/hopper")
local partials = require("ops/mla_decode/partials")
local protocol = require("ops/mla_decode/protocol/rules")
local mid_plan = require("ops/mla_decode/plans/sm90_raw_mid")
local q = require("ops/mla_decode/q")
local raw = require("ops/mla_decode/families/sm90_raw")
local ceil_div = shape.ceil_div

local measured = require("ops/mla_decode/times").measured
local times = measured.sm90_raw_mid
local MOST_GROUPS = 4 -- row groups that read the same tokens through L2

-- Nanoseconds of a launch of index lists that the kernel reads, whose first turn of blocks begins and ends as its number says.
local function lists_nanoseconds(p, v, arch, family, scales, groups)
  local of = measured[family].lists
  local wave = of.wave[scales][v.rows]
  return hopper.launch(p, v, arch, {
    family = family, cut = 0, bits = partials.bits(family, v.schedule),
    lists = true, groups = groups, slots = arch.device.cus, wave = wave,
    fixed = function(blocks)
      return of.fixed + of.row * v.rows + of.block * math.min(blocks, arch.device.cus) - wave - arch.model.launch_ns
    end,
    tile = hopper.tile(p, arch, groups, of.tile[scales][v.rows], of.loss),
  })
end

-- Nanoseconds of a launch.
local function nanoseconds(p, v, arch, family, lists)
  local groups, scales = ceil_div(p.heads * p.q_len, v.rows), raw.scales_of(p)
  if lists and scales > 0 then return lists_nanoseconds(p, v, arch, family, scales, groups) end
  local block_ns = times.tile + times.row * v.rows + (scales > 0 and times.scales or 0)
  return hopper.launch(p, v, arch, {
    family = family, cut = 0, bits = partials.bits(family, v.schedule),
    lists = lists, groups = groups, slots = arch.device.cus, wave = times.wave,
    fixed = function() return times.fixed + (family == "sm90_raw_two" and 1 or 0) end, -- where no lists come it was not timed
    tile = hopper.tile(p, arch, groups, block_ns * (v.load == "rows" and times.scattered or 1), times.loss),
  })
end

-- The cost of sm90_raw_mid and sm90_raw_two, which differ in who makes the scores.
local function cost_of(p, v, arch, family)
  local f, teams = raw.format_of(p), family == "sm90_raw_two" and 2 or 1
  local fields = { rank = p.rank, rope = p.rope, rows = v.rows, load = v.load, scales = f.scales, page_size = p.page_size,
    kpe16 = f.kpe16, scales_apart = f.scales_apart, teams = teams }
  local g = mid_plan.make(fields, arch.isa)
  local why = g.refused or protocol.sm90_raw_mid(g, v)
  if why then return { refused = why } end
  return hopper.cost({
    threads = g.threads,
    rows_per_wg = v.rows,
    lds_bytes = g.bytes,
    -- setmaxnreg deals them out: gen/ops/mla_decode/plans/sm90_raw_mid.lua
    regs = { { "all, at launch", teams == 2 and 96 or 128 } },
    step = 64,
    inflight = (g.ring - 1) * g.tile // 16,
    launch = nanoseconds(p, v, arch, family, hopper.reads_lists(p, g)),
  }, v, family)
end

return {
  cost_of = cost_of,
  template = "mla_decode/sm90_raw_mid",
  arch = { hopper = true },
  problem = shape.CACHE_FIELDS,
  optional = shape.knows("bytes", "fp8_q"),
  combine = partials.merge("sm90_raw_mid"),
  params = {
    load = raw.params.load,
    rows = { 32, 48, 64 }, -- query rows of a block: N of its matrix products
    schedule = hopper.SCHEDULES,
  },
  rules = {
    shape.cache_rule,
    raw.format_rule,
    raw.exact_rule,
    function(p)
      if p.heads * p.q_len <= 16 then return ("%d rows: family sm90_raw serves so few"):format(p.heads * p.q_len) end
    end,
    function(p, v)
      if raw.format_of(p).planar and v.rows > (v.load == "rows" and 32 or 48) then
        return ("load=%s and %d rows, and a token's parts in three places: too few registers"):format(v.load, v.rows)
      end
    end,
    function(p, v)
      local f = raw.format_of(p)
      if q.in_two(p) and p.page_size == 1 and v.rows == 64 and f.scales > 0 and not f.scales_apart and not f.pools then
        return "64 rows, index lists of tokens that hold scales, and Q in two tensors: too few registers"
      end
    end,
    function(p, v)
      if raw.has_pools(p) and p.causal == 1 and p.q_len > 1 and v.rows == 64 then
        return "64 rows that see different tokens, and scales behind a page's rows: too few registers"
      end
    end,
    hopper.schedule_rule,
    function(p, v) return hopper.groups_rule(p, v, 16, MOST_GROUPS) end,
    raw.load_rule,
  },
  cost = function(p, v, arch) return cost_of(p, v, arch, "sm90_raw_mid") end,
}
