-- sm90_few, sm90_mid and sm90_many in clusters: blocks share a request's tokens and add up its O through each other's shared
-- memory, so that few short requests fill the device with nothing left to merge. A merge kernel adds up a batch that is cut; of
-- sm90_few's own clusters parts meet among themselves. Fields: gen/ops.lua.
local params = require("params")
local partials = require("ops/mla_decode/partials")
local schedule = require("ops/mla_decode/plans/schedule")
local sm90_few = require("ops/mla_decode/families/sm90_few")
local sm90_many = require("ops/mla_decode/families/sm90_many")
local sm90_mid = require("ops/mla_decode/families/sm90_mid")
local ceil_div = require("whole").ceil_div

-- Batches that sm90_mid's clusters are for: one NVIDIA H200, 2026-11-30 (docs/lab/bench.md).
local LIMITS = {
  long = 1024, -- tokens from which clusters are of two (where a longer request is cut, few blocks work on it), and busy:
  busy = 4,    -- requests for one in so many of the device's, or shares are faster
}
local function mid_rule(p, v, arch)
  local few = LIMITS.busy * p.batch * ceil_div(p.heads * p.q_len, v.rows) < arch.device.clusters[v.cluster]
  if p.ctx > LIMITS.long and (v.cluster == 4 or few) then
    return ("clusters of %d blocks: %d requests of %d tokens have shares"):format(v.cluster, p.batch, p.ctx)
  end
end

-- Clusters of two with 17 and more rows, or several groups of rows, took up to 1.26 of the time of sm90_mid's shares where
-- lengths differ; one group of up to 16 rows took up to 1.04 there, and 0.8 to 1 where lengths are alike. 23 batches, one NVIDIA
-- H200, 2026-11-30 (docs/lab/bench.md, "Regret of planning").
local function few_rule(p, v)
  local groups = ceil_div(p.heads * p.q_len, v.rows)
  if v.cluster == 2 and (v.rows > 16 or groups > 1) then
    return ("clusters of 2 blocks are for 16 rows, not for %d groups of %d"):format(groups, v.rows)
  end
end

-- rows(v): of a block. as(v): the variant of `of` that the blocks are, for its rules; rule: one more reason to refuse.
local function clusters(name, of, rows, as, points, cost, rule)
  local fixed = as({})
  fixed.cluster = nil
  local rules = {
    function(p)
      if p.batch == 1 then return "one request: its splits are merged by a kernel" end
      if p.rank ~= 512 then return ("rank %d is not 512"):format(p.rank) end
    end,
    function(p, v, arch)
      if p.batch * ceil_div(p.heads * p.q_len, rows(v)) > arch.device.clusters[v.cluster] then
        return ("clusters of %d blocks: %d requests fill the device without"):format(v.cluster, p.batch)
      end
    end,
  }
  if rule then rules[#rules + 1] = rule end
  for _, one in ipairs(of.rules) do
    rules[#rules + 1] = function(p, v, arch) return one(p, as(v), arch) end
  end
  return { template = of.template .. "_clusters", body = of.template, arch = of.arch, problem = of.problem,
    optional = of.optional, combine = partials.merge(name),
    params = params.merge(points, { cluster = schedule.cluster_blocks[name] }), fixed = fixed, rules = rules, cost = cost }
end

local function few(v) return params.merge(v, { load = "tma", schedule = "fitted", wgs = 2 }) end
local function mid(v) return params.merge(v, { schedule = "fitted" }) end
local function many(v) return params.merge(v, { cluster = 1, schedule = "fitted" }) end

return { families = {
  sm90_few_clusters = clusters("sm90_few_clusters", sm90_few, function(v) return v.rows end, few, { rows = { 8, 16, 24 } },
    function(p, v, arch) return sm90_few.cost_of(p, few(v), arch, "sm90_few_clusters") end, few_rule),
  sm90_mid_clusters = clusters("sm90_mid_clusters", sm90_mid, function(v) return v.rows end, mid, { rows = sm90_mid.params.rows },
    function(p, v, arch) return sm90_mid.cost_of(p, mid(v), arch, "sm90_mid_clusters", false, 1) end, mid_rule),
  sm90_many_clusters = clusters("sm90_many_clusters", sm90_many, function() return 64 end, many, {},
    function(p, v, arch) return sm90_many.boxes_cost(p, many(v), arch, "sm90_many_clusters", v.cluster) end),
} }
