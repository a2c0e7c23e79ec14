-- Combine kernel for NVIDIA's targets. Fields: gen/ops.lua.
local partials = require("ops/mla_decode/partials")
local plan = require("ops/mla_decode/plans/combine_warp")

local FITTED_WARPS = 8

-- Merges the splits of each row through their LSE: `team` warps per row, `rows` rows per workgroup. bits: ../partials.lua;
-- fitted: the fixed cost of a request behind launches that may have cut their batch (templates/mla_decode/lib/fit.h), else 0.
local function make(bits, fitted)
  return {
    stage = "combine",
    template = "mla_decode/combine_warp",
    arch = { ampere = true, hopper = true, blackwell = true },
    problem = fitted > 0 and { "dtype", "heads", "page_size", "q_len", "rank" } or { "dtype", "rank" },
    fixed = { fitted = fitted, partials = bits },
    params = { rows = { 1, 2, 4, 8 }, team = { 1, 2, 4, 8, 16 } },
    rules = {
      function(_, v)
        if v.rows * v.team > 16 then return ("%d warps > 16"):format(v.rows * v.team) end
        if fitted > 0 and v.rows * v.team ~= FITTED_WARPS then
          return ("%d warps: behind a launch that may cut its batch %d work on a long request's row"):format(v.rows * v.team,
            FITTED_WARPS)
        end
        if fitted > 0 and v.team == 1 and not v.early then
          return "team=1: one warp would add up all pieces of a long request's row" -- 16 % of a batch with one such request
        end
      end,
    },
    cost = function(p, v)
      local m = plan.splits(p.rank, bits, v.rows, v.team, fitted > 0)
      return {
        threads = m.threads,
        rows_per_wg = v.rows,
        lds_bytes = m.shared,
        regs = { { "loads", 4 * m.depth * m.vectors }, { "o", 128 // bits * m.vectors },
          { "rest", fitted > 0 and 40 or 28 } },
        slack = 24,
        team = m.groups, depth = m.depth, -- of splits; splits a warp has in flight
      }
    end,
  }
end

-- The same with what costs lengths that differ less: mla_decode/combine_mixed, behind several splits.
local function make_mixed(bits, fixed)
  local mixed = make(bits, fixed)
  mixed.template, mixed.body = "mla_decode/combine_mixed", "mla_decode/combine_warp"
  mixed.params = { mixed = { 1 }, rows = mixed.params.rows, team = mixed.params.team }
  local cost = mixed.cost
  mixed.cost = function(...)
    local x = cost(...)
    x.far = FITTED_WARPS
    return x
  end
  return mixed
end

-- One of those kernels serves behind one split: mla_decode/combine_early. cut: what a cut costs the launch before; once: 1
-- if it costs another number where all requests run at once, 2 where lengths differ (plans/schedule.lua).
local function make_early(bits, fixed, cut, once)
  local early = make_mixed(bits, fixed)
  early.template = "mla_decode/combine_early"
  early.fixed = { cut = cut, fitted = fixed, once = once, partials = bits }
  early.params = { early = { 1 }, rows = { 4, 8 }, team = { 1, 2 } } -- where a row has a warp, long ones have all of a block's
  local cost = early.cost
  early.cost = function(p, v)
    local x = cost(p, v)
    x.early = true
    x.apart = v.team == 1 and 2 * x.depth or nil -- FEW of the template
    return x
  end
  return early
end

-- The same behind a launch whose requests each belong to a cluster of so many blocks: mla_decode/combine_early_clusters.
local function make_early_clusters(bits, fixed, cut, blocks)
  local early = make_early(bits, fixed, cut, 0)
  early.template = "mla_decode/combine_early_clusters"
  early.fixed = { cluster = blocks, cut = cut, fitted = fixed, partials = bits }
  return early
end

-- The kernel behind launches that cut each request by its own length: mla_decode/combine_warp_invariant.
local function make_invariant(bits)
  local x = make(bits, 0)
  x.asked, x.template, x.body, x.fixed = true, "mla_decode/combine_warp_invariant", "mla_decode/combine_warp", { partials = bits }
  x.problem = { "dtype", "heads", "page_size", "q_len", "rank" }
  return x
end

-- One for each form of partial results, and behind launches that may cut their batch also one for each fixed cost of a request.
local families = { [partials.merge("mma")] = make(partials.bits("mma", "splits"), 0) }
local schedule = require("ops/mla_decode/plans/schedule")
for name, fixed in sorted(schedule.fixed) do
  families[partials.merge(name)] = make(partials.bits(name, "splits"), 0)
  local bits, usual = partials.bits(name, "fitted"), schedule.shares[name] or name
  local cut, once = schedule.cut[usual], schedule.whole[name] and 1 or schedule.alike[usual] and 2 or 0
  families[partials.merge(name, fixed)] = make(bits, fixed)
  families[partials.merge(name, fixed, "mixed")] = make_mixed(bits, fixed)
  if schedule.clusters[name] then
    for _, blocks in ipairs(schedule.cluster_blocks[name]) do
      families[partials.merge(name, fixed, "early_cluster" .. blocks)] = make_early_clusters(bits, fixed, cut, blocks)
    end
  else
    local early = partials.merge(name, fixed, once == 1 and "early_once" or "early")
    local other = families[early] and families[early].fixed
    assert(not other or other.cut == cut and other.once == once, "families of one merge kernel cut alike")
    families[early] = make_early(bits, fixed, cut, once)
  end
end

for _, bits in ipairs { 16, 32 } do families["merge_invariant_" .. bits] = make_invariant(bits) end
return { families = families }
