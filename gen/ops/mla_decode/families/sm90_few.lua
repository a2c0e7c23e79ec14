-- Transposed decode for few query rows on Hopper. Fields: gen/ops.lua.
local shape = require("ops/mla_decode/shape")
local hopper = require("ops/mla_decode/hopper")
local partials = require("ops/mla_decode/partials")
local protocol = require("ops/mla_decode/protocol/rules")
local schedule = require("ops/mla_decode/plans/schedule")
local hopt_plan = require("ops/mla_decode/plans/sm90_few")
local ceil_div = shape.ceil_div

local times = require("ops/mla_decode/times").fitted.sm90_few
local measured = require("ops/mla_decode/times").measured.sm90_few
local part = require("ops/mla_decode/times").measured.part.sm90_few
local counted = require("ops/mla_decode/times").counted.sm90_few
local MOST_GROUPS = 4  -- row groups that read the same tokens through L2

-- Registers of a math thread: O and S in fp32, what a row has gathered, addresses. ptxas gives 255 to one math warpgroup beside
-- the producer, setmaxnreg 232 to each of two.
local function registers(p, v)
  return { { "o", p.rank // 64 * v.rows // 2 }, { "s", v.rows // 2 }, { "state", 3 * v.rows // 4 },
    { "rest", v.schedule ~= "splits" and 48 or 44 } }
end

-- Nanoseconds of a launch.
local function nanoseconds(p, v, arch, family, slots, lists)
  local groups = ceil_div(p.heads * p.q_len, v.rows)
  local mmas = ceil_div(p.rank + p.rope, 16) + p.rank // 16
  local mma_clk = mmas * (counted.mma_clk + counted.mma_clk_4_rows * v.rows // 4)
  local soft_clk = times.soft_clk + times.row_clk * v.rows
  local alone = (mma_clk + soft_clk) // v.wgs
  local clk = math.max(mma_clk, alone) + times.beside * math.min(mma_clk, alone)
  local slower = v.load == "gather" and hopper.SCATTERED.sm90_few or 1
  local block_ns = clk * 1000 / measured.clk_mhz + times.tile -- a block alone draws no more than 60 GB/s
  local tile = hopper.tile(p, arch, groups, block_ns, times.loss)
  local crowded = v.schedule == "fitted" and groups > measured.groups and p.batch > measured.requests and measured.crowded or 0
  if v.schedule == "fitted" and v.cluster > 2 and p.batch > measured.requests then crowded = crowded + measured.wide end
  local ends = lists and measured.list_rows[v.rows] or 0
  local merge = v.cluster > 1 and times.merge + times.merge_row * v.rows * v.cluster or 0 -- in shared memory of the cluster
  local longer = 1 + (v.rows >= 24 and measured.rows_24[v.cluster > 2 and "more" or "few"] or 0)
  if schedule.clusters[family] then longer = longer + measured.clusters_row * (v.rows - 8) end
  local launch = hopper.launch(p, v, arch, {
    family = family, cut = times.cut, part = part, bits = partials.bits("sm90_few", v.schedule),
    cut_as = family == "sm90_few" and (v.cluster > 1 or v.load == "gather") and "sm90_few_meets" or nil,
    lists = lists, several = lists and p.batch > 1 and measured.list_splits or 0,
    groups = groups, slots = slots, width = v.cluster, again = v.cluster > 1 and measured.again or 0,
    wave = times.wave, -- a wave's begin and end, part of which the launch's own hide
    fixed = function(blocks) return times.block * math.min(blocks, slots) / groups + times.fixed + merge + crowded + ends end,
    tile = function(...) return slower * tile(...) end,
  })
  local ns = launch.ns
  function launch.ns(splits) return longer * ns(splits) end
  return launch
end

local function cost_of(p, v, arch, family)
  local g = hopt_plan.make(
    { rank = p.rank, rope = p.rope, rows = v.rows, wgs = v.wgs, cluster = v.cluster, schedule = v.schedule,
      page_size = hopt_plan.reads_lists(v.load, p.rotate > 0, v.schedule) and p.page_size or nil }, arch.isa)
  if g.refused then return { refused = g.refused } end
  local why = protocol.sm90_few(g, p, v)
  if why then return { refused = why } end
  local most = arch.device.clusters[v.cluster]
  local regs, sum = registers(p, v), 0
  for _, part in ipairs(regs) do sum = sum + part[2] end
  if v.wgs == 2 and sum > 232 then return { refused = ("registers %d > 232 of two math warpgroups"):format(sum) } end
  return hopper.cost({
    threads = g.threads,
    rows_per_wg = v.rows,
    lds_bytes = g.bytes,
    regs = v.wgs == 2 and { { "at launch", 168 } } or regs,
    slack = 160, -- ptxas spends what it has
    step = 64 * v.cluster,
    width = v.cluster, slots = v.cluster * most, copies = v.load == "gather",
    inflight = (g.ring - g.boxes) * 8192 // (g.threads // 32),
    launch = nanoseconds(p, v, arch, family, v.cluster * most, hopper.reads_lists(p, g)),
  }, v, family, schedule.clusters[family] and v.cluster)
end

return {
  registers = registers,
  cost_of = cost_of,
  template = "mla_decode/sm90_few",
  arch = { hopper = true },
  problem = shape.DECODE_FIELDS,
  optional = shape.knows("boxes"),
  combine = partials.merge("sm90_few"),
  params = {
    cluster = { 1, 2, 4, 6, 8, 16 },    -- blocks that share a split's tokens and merge through each other's shared memory
    load = { "gather", "tma" },         -- how tiles come: 16-byte copies, or boxes by the copy engine
    rows = { 8, 16, 24, 32, 40 },       -- query rows of a block: N of its matrix products
    -- fitted: splits where lengths are alike, else parts of the whole batch (templates/mla_decode/lib/fit.h)
    schedule = { "fitted", "splits" },
    wgs = { 1, 2 },                     -- math warpgroups, taking turns on tiles
  },
  rules = {
    shape.plain_rule,
    hopper.schedule_rule,
    function(p)
      if p.rank % 64 ~= 0 then return ("rank %d is not a multiple of 64"):format(p.rank) end
    end,
    function(p, v) return hopper.groups_rule(p, v, 8, MOST_GROUPS) end,
    function(_, v)
      if v.wgs == 2 and v.schedule == "fitted" and v.rows >= 32 then -- loaders that walk leave math 208
        return ("two math warpgroups have too few registers for %d rows beside loaders that walk"):format(v.rows)
      end
    end,
    function(p, v)
      if v.load == "tma" and p.page_size % 8 ~= 0 then
        return ("load=tma: pages of %d tokens hold no boxes of 8"):format(p.page_size)
      end
      if v.load == "gather" and p.page_size % 16 == 0 then return "load=gather: boxes serve pages of 16 tokens better" end
    end,
    function(p, v, arch)
      if v.cluster > 2 and p.batch * ceil_div(p.heads * p.q_len, v.rows) > arch.device.clusters[v.cluster] then
        return ("clusters of %d blocks: %d requests fill the device without"):format(v.cluster, p.batch)
      end
    end,
    function(_, v)
      if v.schedule == "fitted" and v.wgs == 2 and v.rows > 32 then
        return ("schedule=fitted: the walk leaves two warpgroups of %d rows too few registers"):format(v.rows)
      end
    end,
  },
  cost = function(p, v, arch) return cost_of(p, v, arch, "sm90_few") end,
}
