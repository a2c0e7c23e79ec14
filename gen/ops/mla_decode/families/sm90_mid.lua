-- Transposed decode on Hopper for rows that fill 64 badly: all in one block, scores and values by warpgroups of their own.
-- Fields: gen/ops.lua.
local shape = require("ops/mla_decode/shape")
local hopper = require("ops/mla_decode/hopper")
local partials = require("ops/mla_decode/partials")
local protocol = require("ops/mla_decode/protocol/rules")
local hopp_plan = require("ops/mla_decode/plans/sm90_mid")
local ceil_div = shape.ceil_div

local times = require("ops/mla_decode/times").fitted.sm90_mid
local measured = require("ops/mla_decode/times").measured.sm90_mid
local part = require("ops/mla_decode/times").measured.part.sm90_mid
local MOST_GROUPS = 2     -- row groups that read the same tokens through L2

-- So few rows have sm90_few, whose loaders are slower where rows are copied one by one.
local function few_rows(p) return p.heads * p.q_len <= 16 end
-- True for launches that are reckoned as index lists: of few rows only those that are said to be.
local function counts_as_lists(p) return shape.may_be_lists(p) and (not few_rows(p) or p.reads == "lists") end

-- Nanoseconds of a launch. turns: a block takes several whole requests; `slower`: what a tile takes of sm90_mid's.
local function nanoseconds(p, v, arch, family, turns, slower, lists)
  local groups = ceil_div(p.heads * p.q_len, v.rows)
  local mmas = ceil_div(p.rank + p.rope, 16) + p.rank // 16
  local again = measured.again * math.max(0, v.rows - measured.from)
  local fitted = v.schedule == "fitted" and p.batch > measured.requests and measured.fitted or 0
  local width = v.cluster or 1
  local by = measured.merge[width]
  local merge = by and by[1] + by[2] * v.rows or 0 -- in shared memory of the cluster
  local block_ns = (times.tile + times.slope * v.rows * mmas) * slower
  local tiles = ceil_div(p.ctx, 64)
  local list_wave = lists and measured.list_wave * math.min(1, 0.3 * tiles) or 0 -- of the first turn
  local list_again = lists and measured.list_wave - list_wave or 0
  local boxes = not family:find("gather", 1, true)
  local several = (boxes or lists and few_rows(p)) and measured.several or 0
  if lists then several = several - measured.list_wave * math.min(1, (tiles - 1) / 4) end -- several splits do not pay it
  return hopper.launch(p, v, arch, {
    family = family, cut = times.cut, part = part, heat = times.heat, bits = partials.bits(family, v.schedule),
    lists = lists, several = several,
    groups = groups, turns = turns, again = again + list_again, piece = again,
    width = width, slots = width > 1 and width * arch.device.clusters[width] or arch.device.cus,
    wave = times.wave + list_wave,
    fixed = function() return times.fixed + times.row * v.rows + fitted + merge end,
    tile = hopper.tile(p, arch, groups, block_ns, times.loss),
  })
end

local function rank_rule(p)
  if p.rank ~= 256 and p.rank ~= 512 then return ("rank %d is not 256 or 512"):format(p.rank) end
end

local function rows_rule(p)
  if few_rows(p) then return ("%d rows: family sm90_few serves so few"):format(p.heads * p.q_len) end
end

local function groups_rule(p, v) return hopper.groups_rule(p, v, 16, MOST_GROUPS) end

-- The cost of sm90_mid and sm90_mid_gather, which have one kernel but for the loaders.
local function cost_of(p, v, arch, family, gather, slower)
  local fields = { rank = p.rank, rope = p.rope, rows = v.rows, schedule = v.schedule, gather = gather, page_size = p.page_size,
    cluster = v.cluster }
  local g = hopp_plan.make(fields, arch.isa)
  local why = g.refused or protocol.sm90_mid(g, p, v, gather)
  if why then return { refused = why } end
  return hopper.cost({
    threads = 512,
    rows_per_wg = v.rows,
    lds_bytes = g.bytes,
    regs = { { "all, at launch", 128 } }, -- setmaxnreg deals them out: gen/ops/mla_decode/plans/sm90_mid.lua
    step = 64 * (v.cluster or 1),
    width = v.cluster, slots = v.cluster and v.cluster * arch.device.clusters[v.cluster],
    inflight = (g.ring - g.boxes) * 8192 // 16,
    launch = nanoseconds(p, v, arch, family, g.turns and not v.cluster, slower, counts_as_lists(p) and hopper.reads_lists(p, g)),
  }, v, family, v.cluster)
end

return {
  rank_rule = rank_rule,
  few_rows = few_rows,
  counts_as_lists = counts_as_lists,
  groups_rule = groups_rule,
  cost_of = cost_of,
  template = "mla_decode/sm90_mid",
  arch = { hopper = true },
  problem = shape.DECODE_FIELDS,
  optional = shape.knows("boxes"),
  combine = partials.merge("sm90_mid"),
  params = {
    rows = { 32, 48, 64, 80, 96 },       -- query rows of a block, N of its matrix products: 72 take as long as 80
    schedule = hopper.SCHEDULES,
  },
  rules = {
    shape.plain_rule,
    hopper.schedule_rule,
    rank_rule,
    rows_rule,
    hopper.page_rule,
    groups_rule,
  },
  cost = function(p, v, arch) return cost_of(p, v, arch, "sm90_mid", false, 1) end,
}
