-- Code shared by the families for Hopper: rules on pages and groups of rows, and the time of a launch by waves of blocks.
local shape = require("ops/mla_decode/shape")
local partials = require("ops/mla_decode/partials")
local schedule = require("ops/mla_decode/plans/schedule")
local times = require("ops/mla_decode/times")
local ceil_div = shape.ceil_div

local hopper = {}

local WIN = 0.96 -- FIT_WIN of templates/mla_decode/lib/fit.h
local HEAT_NS = 100000 -- a run of this length has half of the heat of a long one
local LEAST = 0.8 -- share of a context that is planned as it, at least: 4 sizes a doubling (mlaf_mla_decode_plan_get)

hopper.MEETS = { sm90_few = true, sm90_raw = true }

-- A part of the whole batch, or of one request.
hopper.SCHEDULES = { "fitted", "splits" }

function hopper.page_rule(p)
  if p.page_size % 8 ~= 0 then return ("tensor copies take 8 rows of a page at a time: page size %d"):format(p.page_size) end
end

-- One request has no other beside it, so a fitted kernel has nothing to decide. One index list has no other kernel: merge kernels
-- behind fitted ones apply sinks, those behind splits leave them to a launch of 1.1 to 2.7 us (docs/lab/served.md, "One
-- list with sinks").
function hopper.schedule_rule(p, v)
  if p.batch > 1 then return nil end
  local lists = p.reads == "lists" and p.page_size == 1
  if v.schedule == "fitted" and not lists then return "schedule=fitted: one request has no other beside it" end
  if v.schedule == "splits" and lists then return "schedule=splits: its merge kernel does not apply the sinks of index lists" end
end

hopper.SCATTERED = times.measured.scattered -- by family
function hopper.scattered_rule(p)
  if p.page_size % 32 == 0 then return ("boxes serve pages of %d tokens better"):format(p.page_size) end
end

-- Blocks of v.rows rows in steps of `step`: no more than `most` that read the same tokens, none larger than the rows need.
function hopper.groups_rule(p, v, step, most)
  local rows = p.heads * p.q_len
  local groups = ceil_div(rows, v.rows)
  local need = ceil_div(ceil_div(rows, groups), step) * step
  if groups > most then return ("%d groups of %d rows would read every token"):format(groups, v.rows) end
  if need < v.rows then return ("%d rows go into %d blocks of %d, not %d"):format(rows, groups, need, v.rows) end
end

-- True for one that the kernel reads itself (runtime/ops/mla_decode/index_lists.c): no batch is cut, and behind one split nothing
-- is merged. plan: the kernel's, with its table of entries.
function hopper.reads_lists(p, plan) return plan.list > 0 and shape.may_be_lists(p) end

-- `cost` with the kernels that the variant's schedule adds. Its `ns` says all about time: nothing is counted by wave or by
-- workgroup. together: blocks of a cluster that share a request.
function hopper.cost(cost, v, family, together)
  cost.wave, cost.wg = { mfma = 0, issue = 0, lds_read = 0 }, { lds_write = 0, barriers = 0, tail_clk = 0 }
  local fits = v.schedule == "fitted"
  local launch = cost.launch
  cost.any_lengths, cost.several = fits, schedule.shares[family] ~= nil
  cost.ns, cost.parts_at, cost.lists = launch.ns, launch.parts_at, launch.lists
  if fits then cost.turns_at, cost.most_parts = launch.turns_at, launch.most_parts end
  cost.behind_one = times.fitted.combine
  cost.nothing = together and times.measured.nothing[family]
  -- Parts of some families meet among themselves (templates/mla_decode/lib/meet.h), or leave it to a combine kernel.
  local meets = hopper.MEETS[schedule.shares[family] or family]
  cost.once = schedule.whole[family] ~= nil or schedule.clusters[family] ~= nil
  cost.always_combines, cost.may_combine = fits and not meets, fits and meets or false
  if fits then
    local fixed = schedule.fixed[family]
    cost.combine, cost.mixed = partials.merge(family, fixed), partials.merge(family, fixed, "mixed")
    -- Blocks alone that copy boxes: behind clusters, and lists of rows, whether a batch is cut is another sum.
    if meets and v.cluster == 1 and v.load == "tma" then
      cost.early, cost.places_at = partials.merge(family, fixed, "early"), launch.places_at
    end
  end
  if cost.always_combines then
    local kind = schedule.clusters[family] and "early_cluster" .. together or cost.once and "early_once" or "early"
    cost.early = partials.merge(family, schedule.fixed[family], kind)
    cost.places_at = launch.places_at
    cost.values = partials.merge(family, schedule.fixed[family], "values")
  end
  -- Clusters have the merge kernel that ends early, and no other: it is as fast where lengths are alike and up to 26 % faster
  -- where they differ. 12 batches, one NVIDIA H200, 2026-11-30 (docs/lab/bench.md, "Merge behind clusters").
  if schedule.clusters[family] then cost.combine, cost.early = cost.early, nil end
  -- Shares of one split are cut from fewer positions on than that kernel takes for whole: it would leave what they cut.
  if schedule.shares[family] then cost.early, cost.places_at = nil, nil end
  cost.partials = partials.bits(family, v.schedule)
  return cost
end

local shared = {} -- families that have another one for several splits
for _, of in sorted(schedule.shares) do shared[of] = true end

-- Parts that a fitted launch cuts a batch of equal requests into, and positions of a part; nil: requests stay whole. As
-- templates/mla_decode/lib/fit.h decides, of a grid as runtime/ops/mla_decode/prepare.c makes it.
local function parts_of(p, t, family, shares, cus, ctx)
  local fixed, most = schedule.fixed[family], math.max(1, cus // t.groups)
  local at_once = math.max(1, most // shares)
  local parts = math.min(most, shares * math.max(at_once, t.turns and 1 or p.batch))
  local tokens = ceil_div(ctx, p.page_size) * p.page_size
  local even = p.batch * (tokens + fixed) / parts
  local usual = schedule.shares[family] or schedule.clusters[family]
  local passes = ceil_div(p.batch, at_once)
  local alike = passes * (tokens + (usual and shares or 1) * fixed) / shares
  local once = passes == 1 and schedule.whole[family]
  local cut = once and schedule.once(p.heads * p.q_len, tokens) or schedule.cut[family == t.family and t.cut_as or family]
  if WIN * alike > even + cut then return parts, even end
end

-- Nanoseconds of a launch for a number of splits: a fixed part, and per wave of blocks its tiles of 64 tokens one after the
-- other. Of t: family, heat (share that a tile's products take longer when the card is at its power limit), turns (a block takes
-- several requests), cut (what cutting the batch costs, in ns), part (the same with large pages, as times.lua has it), cut_as
-- (whose cost of a cut the kernel has, if not the family's), bits (of partial results), groups (of rows), slots (blocks resident
-- at once), width (blocks that share a split's tokens, default 1), again (ns of each turn but the first; again_splits: of several
-- splits, if another number), piece (of each request but the first in a part) and several (of a launch of several splits that is
-- not cut), default 0, lists (true: nothing is cut), fixed(blocks) and wave in ns, tile(blocks, full, heat) in ns.
-- Returns, each for a number of splits:
--
--   ns          that time
--   parts_at    how many parts the launch cuts equal requests into, or nil
--   turns_at    how many turns of the device its blocks are if it does not; most_parts: how many parts there may be
--   places_at   whether its last turn leaves places free
function hopper.launch(p, v, arch, t)
  local width = t.width or 1
  local most = math.max(1, arch.device.cus // t.groups)
  local function parts_at(splits, family, ctx)
    if v.schedule ~= "fitted" or t.lists then return nil end
    return parts_of(p, t, family or t.family, splits * width, arch.device.cus, ctx or p.ctx)
  end
  -- One family of one split goes before another where both take as long: it may keep whole at other lengths what both cut at
  -- these, if all requests run at once; and if not, both are the same, and a server makes one kernel. Where all run at once it
  -- goes before the other one, too, if it alone keeps them whole.
  -- The family of several splits that reckons with what each share costs goes before the other, which cuts less: there all
  -- wait for a request longer than the others.
  local function in_order(splits, ns)
    if v.schedule ~= "fitted" then return ns end
    if splits > 1 then
      if schedule.shares[t.family] then return ns - 1 end
      return shared[t.family] and width <= 2 and ns * (1 + times.measured.stays) or ns
    end
    if schedule.whole[t.family] then return ns - 1 end
    if p.batch > most then return ns end
    local other = schedule.other[t.family]
    return other and parts_at(1) and not parts_at(1, other) and ns * (1 + times.measured.once) or ns
  end
  local function cut_ns(splits, parts, even, heat)
    local blocks, left = parts * t.groups, t.groups * splits * width * p.batch
    local shared = p.batch * ceil_div(p.ctx, p.page_size) * p.page_size / parts -- cached tokens of a part
    local ends = t.fixed(blocks) + (t.wave or 0) + (splits > 1 and left > t.slots and times.measured.late or 0)
    if t.part and p.page_size % 64 == 0 then
      return ends + t.part.launch + t.part.request * p.batch / parts + shared / 64 * t.tile(blocks, 1, heat)
    end
    ends, even = ends + t.cut, even + schedule.counted(schedule.shares[t.family] or schedule.whole[t.family] or t.family)
    local small = times.measured.small_pages
    if p.page_size % 64 ~= 0 and p.batch <= parts and parts <= small.pieces * p.batch then -- what a cut adds is not read
      return small.cut * (ends + shared / 64 * t.tile(blocks, 1, heat) + (even - shared) / 64 * t.tile(t.groups, 1, heat))
    end
    if p.batch > parts then -- nor is what many requests cost whatever their length
      ends = ends + (p.batch / parts - 1) * (t.piece or 0)
      return ends + shared / 64 * t.tile(blocks, 1, heat) + (even - shared) / 64 * t.tile(t.groups, 1, heat)
    end
    return ends + even / 64 * t.tile(blocks, 1, heat)
  end
  local function whole_ns(splits, heat, ctx)
    local left, tiles = t.groups * splits * width * p.batch, ceil_div(ctx, 64)
    local each, ns = ceil_div(tiles, splits * width), t.fixed(left)
    local full = tiles / (splits * width) / each -- of a block's tiles, on average
    local room = math.min(t.slots // (t.groups * width * p.batch), tiles // width) -- for so many splits
    if splits > 1 and splits < room then full = full * (1 + times.measured.room * (1 - splits / room) ^ 2) end
    if splits > 1 then
      ns = ns + (t.several or 0)
      ns = ns + times.fitted.combine.write * splits * p.batch * p.q_len * p.heads * partials.row_bytes(p.rank, t.bits)
    end
    while left > 0 do
      local now = math.min(left, t.slots)
      ns = ns + (t.wave or 0) + each * t.tile(now, full, heat)
      left = left - now
      if left > 0 then ns = ns + (splits > 1 and t.again_splits or t.again or 0) end
    end
    return ns
  end
  local function launch(splits, heat)
    local parts, even = parts_at(splits)
    if not parts then return whole_ns(splits, heat, p.ctx) end
    local ns, least = cut_ns(splits, parts, even, heat), math.max(1, math.floor(LEAST * p.ctx))
    -- A batch that is cut at this size may stay whole at others that are planned by it.
    return splits == 1 and not parts_at(splits, nil, least) and math.max(ns, whole_ns(splits, heat, least)) or ns
  end
  local function turns_at(splits) return ceil_div(t.groups * splits * width * p.batch, t.slots) end
  return {
    ns = function(splits)
      local ns = launch(splits, 1)
      return in_order(splits, t.heat and launch(splits, 1 + t.heat * ns / (ns + HEAT_NS)) or ns)
    end,
    parts_at = parts_at,
    lists = t.lists,
    most_parts = most,
    turns_at = turns_at,
    places_at = function(splits) return p.batch * splits * width % most > 0 end,
  }
end

-- Nanoseconds of a tile when so many blocks run: at the pace of memory, of the L2 that feeds all groups of rows, or of the block
-- itself; `loss` is the share of the smaller that the larger does not hide. full: so many of the tiles are there, on average;
-- heat: what the block itself takes longer. sharing: blocks that read from L2 together.
function hopper.tile(p, arch, groups, block_ns, loss, sharing)
  local m, bytes, l2 = arch.model, 64 * shape.token_bytes(p), times.fitted.l2.bytes_per_us * (sharing or 1)
  return function(now, full, heat)
    local own, memory = block_ns * heat, bytes * math.max(now / groups / m.hbm_bytes_per_us, now / l2) * 1000 * full
    return math.max(memory, own) + loss * math.min(memory, own)
  end
end

return hopper
