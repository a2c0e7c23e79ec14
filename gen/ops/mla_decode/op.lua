-- Absorbed MLA decode over a paged latent cache: a decode kernel, and where it leaves partial results a combine kernel behind it.
-- The record: gen/ops.lua. Of a family's cost this operation asks, beside what gen/ops.lua says:
--
--   wave     per wave and round: mfma and other instructions, LDS bytes read
--   wg       per workgroup and round: LDS bytes written, barriers; tail_clk once at the end
--   stall_clk, overlap_loss, mfma_clk  when better or worse than the model's or the target's defaults
--   inflight bytes of loads outstanding per wave; streaming: the cache's loads ask not to be kept
--   ns       function (splits): nanoseconds of the decode kernel in place of the model's; parts_at, turns_at, behind_one:
--            hopper.lua
--   combine  name of another combine family than the family's
--   combine_invariant  the same for its batch-invariant variant
--   always_combines  its combine kernel comes also behind one split; may_combine: both are candidates there
--   nothing  ns of a combine kernel behind one split that finds nothing to do, where it is not the target's usual
--   early    name of another combine family that may come behind one split; places_at(n): whether it finds places free
--   mixed    name of another combine family that may come behind several splits
--   copies   its loaders copy rows one by one
--   values   name of another combine family that may come behind: it is fused with the value projection, where a name says so
--   any_lengths  it is as good for requests of different lengths
--   own      a request's length alone decides how it is cut: the knob is the most parts (plans/invariant.lua)
--   partials bits of a value in a partial result (32; partials.lua)
--   of a combine kernel: weight_bytes (that it reads, too), team (waves that share a row's splits), depth (splits a wave has in
--   flight), early (most of its
--   workgroups end before the decode kernel does where nothing is left to do), far (teams' waves that share a row of many
--   pieces), apart (more pieces than that are many, where it is not for the model to say)
--
-- and of a decode family `combine`, the name of the combine family its splits are merged by ("combine" when left out), and
-- `behind`, that one's parameters behind one split (below when left out).
local model = require("ops/mla_decode/model")
local params = require("params")
local schedule = require("ops/mla_decode/plans/schedule")
local shape = require("ops/mla_decode/shape")
local splits = require("ops/mla_decode/splits")

local BEHIND_ONE = "rows=4,team=2" -- the combine kernel behind one split: mostly it finds nothing to do
local BEHIND = { [BEHIND_ONE] = true, ["mixed=1," .. BEHIND_ONE] = true, ["early=1," .. BEHIND_ONE] = true,
  ["early=1,rows=8,team=1"] = true }

local NOT_ANY_LENGTHS = "requests of different lengths take as long as if all %d were the longest, and other kernels serve them "
  .. "better"

local ceil_div = require("whole").ceil_div

local MFMA_REG = { blocks = 1, kvload = "temporal", psplit = 1, qsrc = "reg", rescale = "always", schedule = "splits", tile = 16,
  waves = 4 }
local MFMA_REG_CACHE = { blocks = 1, qsrc = "reg", rescale = "always", schedule = "splits", waves = 4 }
local MMA = { blocks = 1, cols = 4, stages = 2, teams = 1, tile = 32 }

local op = {
  stages = { "decode", "combine" },
  baselines = {
    { family = "mfma_reg", params = MFMA_REG }, { family = "mma", params = MMA },
    { family = "mfma_reg_rotate", params = MFMA_REG }, { family = "mma_rotate", params = MMA },
    { family = "mfma_reg_cache", params = MFMA_REG_CACHE }, { family = "mma_cache", params = MMA },
  },
  knob = splits,
  model = { estimate = model.estimate, second_ns = model.combine_ns },
  renamed = require("ops/mla_decode/renamed"),
  invariant = require("ops/mla_decode/invariant"),
}

function op.rows(p) return p.heads * p.q_len end

function op.absent(p) return shape.columns_rule(p) end

op.second = {
  family = function(family, cost, n)
    if n > 1 or cost.always_combines then return cost.combine or op.families[family].combine or "combine" end
  end,
  other = function(_, cost, n)
    if n > 1 then return cost.mixed end
    if cost.may_combine then return cost.combine, cost.mixed, cost.early end
    return cost.early
  end,
  named = function(cost) return cost.values end,
  -- All that model.combine_ns asks of a decode kernel.
  kind = function(cost, n)
    return ("%d %d %s %s %s %s"):format(cost.parts_at and cost.parts_at(n) or 0, cost.most_parts or 0, cost.may_combine,
      cost.places_at and cost.places_at(n), cost.lists, cost.nothing)
  end,
  fits = function(n, text, cost)
    if n > 1 then return true end
    if cost.behind then return text == cost.behind end
    return BEHIND[text]
  end,
  none = function(n) return n == 1 and "one split" or "its schedule" end,
}

-- A plan must be good for lengths that nobody told it: of several requests, where some kernel serves all lengths, the others are
-- no candidates. (Named, as a variant, they serve.)
function op.screen(p, items)
  local some = false
  for _, item in ipairs(items) do some = some or not item.rejected and item.kernel.cost.any_lengths end
  for _, item in ipairs(items) do
    if p.batch > 1 and some and not item.rejected and not item.kernel.cost.any_lengths then
      item.rejected = NOT_ANY_LENGTHS:format(p.batch)
    end
  end
  return items
end

-- The same of one kernel, given all that the space has: the stated reason, or nil. `kernels` makes that list.
function op.screened(p, cost, kernels)
  if p.batch == 1 or cost.any_lengths then return nil end
  for _, item in ipairs(kernels()) do
    if not item.rejected and item.kernel.cost.any_lengths then return NOT_ANY_LENGTHS:format(p.batch) end
  end
end

-- The kernel that a caller who knows more is served in place of this one's: clusters that leave merging to a kernel do not read
-- ahead, and are not fused with values. Those of sm90_few have a like one which does; for the others, and for clusters of two,
-- whose parts meet slowly where one request is long, the best of other kernels (nil).
function op.inside_of(family, point)
  if not schedule.clusters[family] then return family .. ":" .. point end
  if family ~= "sm90_few_clusters" then return nil end
  local as = params.merge(params.parse(point), { load = "tma", schedule = "fitted", wgs = 2 })
  if as.cluster == 2 then return nil end
  return "sm90_few:" .. params.print(as)
end

-- Kernels that read ahead of their wait are families of their own, where launches overlap. A combine kernel that serves
-- mla_v_out's problem, too, is one of families/combine_values.lua or families/combine_values_wave.lua. v.own: the plan's family,
-- whose clusters are better than what sm90_mid gains by reading ahead: a layer of 64 heads, 37 x 362, 70.8 us for 71.6 (one
-- NVIDIA H200, 2026-11-30).
function op.inside(v, ahead, next)
  ahead = ahead and op.families[v.family].arch ~= shape.CDNA
  if ahead and v.family:find("^sm90_mid") then
    if schedule.clusters[v.own] then return {} end
    next = nil -- of 64 heads no layer was faster by values in attention's last launch
  end
  local family, list = ahead and v.family .. "_ahead" or v.family, {}
  if next then list[1] = { family = family, second = "values=" .. next.v } end
  if ahead then list[#list + 1] = { family = family, second = v.second } end
  return list
end

-- The model's error depends on rounds of tokens in a block, and blocks.
function op.launch(p, v)
  local tiles, groups = ceil_div(p.ctx, v.decode.step), ceil_div(op.rows(p), v.decode.rows_per_wg)
  return { rounds = ceil_div(tiles, v.knob), blocks = groups * v.knob * p.batch }
end

local function doublings(a, b) return math.abs(math.log(a / b, 2)) end

-- Families of shares, and those for one split, differ from the others in what they reckon a cut to cost, and in no time.
function op.like(kernel)
  local family, point = kernel:match("^(.*)_shares:(.*)$")
  if not family then family, point = kernel:match("^(.*)_whole:(.*)$") end
  if not family then return kernel end
  return family .. ":" .. params.print(params.merge(params.parse(point), { schedule = "fitted" }))
end

-- A variant tuned for one request stands back for several (ops/mla_decode/launch.c).
function op.stands_back(asked, tuned) return asked.batch > 1 and tuned.batch == 1 end

-- The model's doubts about several requests, where the target's model was fitted to its times.
function op.doubts(p, arch) return p.batch > 1 and arch.model.doubts or nil end

-- The difference of two launches, in doublings. Blocks count six times as much as rounds: how they fill the device decides, and
-- goes in steps.
function op.unlike(a, b)
  return doublings(a.rounds, b.rounds) / 2 + 3 * doublings(a.blocks, b.blocks)
end

return op
