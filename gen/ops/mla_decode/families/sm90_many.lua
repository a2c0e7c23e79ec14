-- Many rows on Hopper: 64 query rows a block, wgmma, O split by columns over two warpgroups. Fields: gen/ops.lua.
local shape = require("ops/mla_decode/shape")
local hopper = require("ops/mla_decode/hopper")
local partials = require("ops/mla_decode/partials")
local protocol = require("ops/mla_decode/protocol/rules")
local hop_plan = require("ops/mla_decode/plans/sm90_many")
local schedule = require("ops/mla_decode/plans/schedule")
local q = require("ops/mla_decode/q")
local times = require("ops/mla_decode/times").fitted.sm90_many
local measured = require("ops/mla_decode/times").measured.sm90_many
local part = require("ops/mla_decode/times").measured.part
local small_boxes = require("ops/mla_decode/times").measured.small_boxes

local ROWS = 64

-- Nanoseconds of a wave of blocks beside their tiles; reads: each has an index list.
local function wave_ns(pair, turns, reads)
  if reads then return measured.list_wave end
  if turns then return pair and times.wave_pair or times.wave end
  return pair and measured.wave_splits_pair or measured.wave_splits
end

-- Nanoseconds of the launch: of a tile (QK and PV on the tensor cores, and the L2 that feeds them), of a wave's ends, which turns
-- of the same block overlap in part, and of the launch. `slower`: what a tile takes of sm90_many's; reads: the kernel reads index
-- lists itself; together: blocks of a cluster that share a request.
local function nanoseconds(p, v, arch, family, slower, reads, together)
  local pair, turns = v.cluster == 2, not reads and (v.schedule == "turns" or v.schedule == "fitted")
  local groups = shape.ceil_div(shape.ceil_div(p.heads * p.q_len, ROWS), v.cluster) * v.cluster
  local gather = family:find("gather", 1, true)
  local products = 2 * (p.rank + p.rope) + 2 * p.rank -- clocks of a tile on the tensor cores
  local share = (products + measured.beside_clk) / (measured.tile_clk + measured.beside_clk)
  local sharing = (pair or groups >= measured.groups) and measured.sharing or 1
  local alone = groups == 1 and p.page_size % 64 == 0 and measured.alone * (p.rank + p.rope) / 576 or 0
  local block_ns = math.max((pair and times.tile_pair or times.tile) * share, alone)
  local tile = hopper.tile(p, arch, groups, block_ns, times.loss, sharing)
  local merge = together and measured.merge or 0 -- in shared memory of the cluster
  return hopper.launch(p, v, arch, {
    family = family, turns = turns and not together, cut = times.cut, heat = times.heat, bits = partials.bits(family, v.schedule),
    part = pair and part.sm90_many_pair or part.sm90_many,
    lists = reads, several = reads and measured.list_splits or 0, groups = groups,
    again = reads and measured.list_again or measured.again, again_splits = reads and measured.list_splits_again or nil,
    width = together, slots = together and together * arch.device.clusters[together] or arch.device.cus,
    wave = wave_ns(pair, turns, reads),
    fixed = function()
      if reads then return measured.list_fixed end
      local tables = gather and shape.may_be_lists(p) and measured.list_tables or 0
      return tables + merge + (turns and (pair and times.fixed_pair or times.fixed) or measured.fixed_splits)
    end,
    tile = function(...) return slower * tile(...) end,
  })
end

local function rows_rule(p)
  if p.rank ~= 256 and p.rank ~= 512 then return ("rank %d is not 256 or 512"):format(p.rank) end
  if p.heads * p.q_len <= 16 then return ("%d rows fill no more than a quarter of %d"):format(p.heads * p.q_len, ROWS) end
end

-- The cost of sm90_many and sm90_many_gather, which have one kernel but for the loaders.
local function cost_of(p, v, arch, family, plan, slower, together)
  local why = protocol.sm90_many(plan, p, v, family:find("gather", 1, true) ~= nil)
  if why then return { refused = why } end
  local tile = 64 * 2 * (p.rank + p.rope)
  return hopper.cost({
    threads = plan.threads,
    rows_per_wg = ROWS,
    lds_bytes = plan.bytes,
    regs = { { "all, at launch", 65536 // plan.threads // 8 * 8 } }, -- what loaders leave the math warps take
    step = 64 * (together or 1),
    width = together, slots = together and together * arch.device.clusters[together],
    inflight = tile // 12,
    launch = nanoseconds(p, v, arch, family, slower, hopper.reads_lists(p, plan), together),
  }, v, family, together)
end

-- The cost of kernels that load boxes.
local function boxes_cost(p, v, arch, family, together)
  local spills = v.schedule == "fitted" and not schedule.whole[family] and q.spills(p, ROWS)
  if spills then return { refused = spills } end
  local slower = p.page_size % 64 ~= 0 and small_boxes.sm90_many or 1
  local plan = hop_plan.make({ rank = p.rank, rope = p.rope, together = together })
  return cost_of(p, v, arch, family, plan, slower, together)
end

return {
  rows_rule = rows_rule,
  cost_of = cost_of,
  boxes_cost = boxes_cost,
  template = "mla_decode/sm90_many",
  arch = { hopper = true },
  problem = shape.DECODE_FIELDS,
  optional = shape.knows("slices"),
  combine = partials.merge("sm90_many"),
  params = {
    cluster = { 1, 2 },                       -- 2: two blocks share what they load, by multicast
    -- turns: a block takes several requests, or a split of each. fitted: turns where lengths are alike, else parts of the whole
    -- batch (templates/mla_decode/lib/fit.h)
    schedule = { "fitted", "splits", "turns" },
  },
  rules = {
    shape.plain_rule,
    hopper.schedule_rule,
    rows_rule,
    hopper.page_rule,
    function(p, v)
      if v.cluster ~= 2 then return end
      local groups = shape.ceil_div(p.heads * p.q_len, ROWS)
      if groups == 1 then return "cluster=2 needs more than 64 rows" end
      -- The pair's second block would have no rows: 12 to 30 % slower than single blocks on five batches, as fast on one whose
      -- requests all run at once. One NVIDIA H200, 2026-11-30 (docs/lab/bench.md).
      if groups % 2 == 1 then return ("cluster=2: of %d groups of %d rows one is left alone"):format(groups, ROWS) end
    end,
  },
  cost = function(p, v, arch) return boxes_cost(p, v, arch, "sm90_many") end,
}
