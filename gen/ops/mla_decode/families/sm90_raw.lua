-- Transposed decode from 8-bit caches for few query rows on Hopper. Fields: gen/ops.lua.
local shape = require("ops/mla_decode/shape")
local hopper = require("ops/mla_decode/hopper")
local partials = require("ops/mla_decode/partials")
local protocol = require("ops/mla_decode/protocol/rules")
local parts = require("parts")
local raw_plan = require("ops/mla_decode/plans/sm90_raw")
local ceil_div = shape.ceil_div

local measured = require("ops/mla_decode/times").measured.sm90_raw
local MOST_GROUPS = 4 -- row groups that read the same tokens through L2

local function format_of(p) return raw_plan.format(parts.of("mla_decode", p.cache)) end
local function scales_of(p) return format_of(p).scales end
local function has_pools(p) return format_of(p).pools end

-- Nanoseconds of a launch.
local function nanoseconds(p, v, arch, slots, lists)
  local groups, scales = ceil_div(p.heads * p.q_len, v.rows), scales_of(p)
  local times = lists and scales > 0 and measured.lists or measured
  local block_ns = times.tile + times.row * math.max(0, v.rows - 16) + (scales > 0 and times.scales_row * v.rows or 0)
    + (has_pools(p) and p.heads * p.q_len > 16 and times.pools_row * v.rows or 0)
  local merge = v.cluster > 1 and times.merge * v.cluster or 0
  return hopper.launch(p, v, arch, {
    family = "sm90_raw", cut = 0, bits = partials.bits("sm90_raw", v.schedule),
    lists = lists, groups = groups, slots = slots, width = v.cluster, wave = times.wave,
    fixed = function() return times.fixed + merge end,
    tile = hopper.tile(p, arch, groups, block_ns * (v.load == "rows" and times.scattered or 1), times.loss),
  })
end

local function plan_of(p, v, isa)
  local f = format_of(p)
  return raw_plan.make({ rank = p.rank, rope = p.rope, rows = v.rows, cluster = v.cluster, schedule = v.schedule, load = v.load,
    scales = f.scales, page_size = p.page_size, kpe16 = f.kpe16, scales_apart = f.scales_apart }, isa)
end

local function format_rule(p)
  local f = format_of(p)
  if not f then return ("cache %s: its bytes are not what the conversion takes"):format(shape.cache(p).name) end
  if f.pools then return shape.columns_rule(p) end
  if p.rank ~= 512 or p.rope ~= f.rope then
    return ("rank %d, rope %d: written for 512 and %d"):format(p.rank, p.rope, f.rope)
  end
end

local function exact_rule(p)
  if p.dtype == "f16" and scales_of(p) > 0 then
    return "scales of groups: values times a scale in f16 are not as exact as outputs in f16 are"
  end
end

local function load_rule(p, v)
  if has_pools(p) then
    return v.load == "pages" and "load=pages: scales lie behind a page's rows, which come one by one" or nil
  end
  if v.load == "pages" and p.page_size % 16 ~= 0 then
    return ("load=pages: pages of %d tokens hold no 16 rows"):format(p.page_size)
  end
  if v.load == "rows" and p.page_size % 16 == 0 then return "load=rows: copies of 16 rows serve better" end
end

return {
  scales_of = scales_of,
  format_rule = format_rule,
  exact_rule = exact_rule,
  format_of = format_of,
  has_pools = has_pools,
  load_rule = load_rule,
  template = "mla_decode/sm90_raw",
  arch = { hopper = true },
  problem = shape.CACHE_FIELDS,
  optional = shape.knows("bytes", "fp8_q"),
  combine = partials.merge("sm90_raw"),
  params = {
    cluster = { 1, 2, 4, 6, 8, 16 },    -- blocks that share a split's tokens and merge through each other's shared memory
    load = { "pages", "rows" },         -- a copy is 16 rows of a page, or one row
    rows = { 8, 16, 24, 32 },           -- query rows of a block: N of its matrix products
    schedule = hopper.SCHEDULES,        -- fitted: as sm90_few
  },
  rules = {
    shape.cache_rule,
    format_rule,
    exact_rule,
    hopper.schedule_rule,
    function(p, v) return hopper.groups_rule(p, v, 8, has_pools(p) and 2 * MOST_GROUPS or MOST_GROUPS) end,
    function(p, v)
      if scales_of(p) > 0 and v.rows > 16 then return ("scales of groups: %d rows have too few registers"):format(v.rows) end
      if v.schedule == "fitted" and v.rows > 24 then
        return ("schedule=fitted: loaders that walk leave too few registers for %d rows"):format(v.rows)
      end
    end,
    load_rule,
    function(p, v, arch)
      if v.cluster > 2 and p.batch * ceil_div(p.heads * p.q_len, v.rows) > arch.device.clusters[v.cluster] then
        return ("clusters of %d blocks: %d requests fill the device without"):format(v.cluster, p.batch)
      end
    end,
  },
  cost = function(p, v, arch)
    local g = plan_of(p, v, arch.isa)
    local why = g.refused or protocol.sm90_raw(g, v)
    if why then return { refused = why } end
    local slots = v.cluster * arch.device.clusters[v.cluster]
    return hopper.cost({
      threads = g.threads,
      rows_per_wg = v.rows,
      lds_bytes = g.bytes,
      regs = { { "at launch", 168 } },
      slack = 160, -- ptxas spends what it has
      step = 64 * v.cluster,
      width = v.cluster, slots = slots,
      inflight = (g.ring - 1) * g.tile // (g.threads // 32),
      launch = nanoseconds(p, v, arch, slots, hopper.reads_lists(p, g)),
    }, v, "sm90_raw")
  end,
}
