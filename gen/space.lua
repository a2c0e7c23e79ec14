-- All variants of a problem on a target: the product of a family's parameters, pruned with stated reasons, times the
-- split counts worth trying, ranked by the model.
--
-- A variant's name rebuilds it: "FAMILY:params/sSPLITS" and, when there is more than one split, the combine kernel's
-- parameters behind it: "reg:blocks=1,kvload=nt,rescale=lazy,waves=4/s8,rows=2,team=1".
local loader = ...
local params = require("params")
local families = require("families")
local budget = require("budget")
local model = require("model")
local emit = require("emit")

local space = {}

local limits = require("limits")
local MAX_SPLITS = limits.splits
local MAX_TURNS = 2   -- of a launch that may cut its batch, with more than one split
local BEHIND_ONE = "rows=4,team=2" -- the combine kernel behind one split: mostly it finds nothing to do
local WASTE = 4 -- a workgroup may have this many times the rows there are, rounded up to one MFMA block

local function ceil_div(a, b) return -(-a // b) end

-- Every combination of a family's parameter values, in sorted order: { values, text }, the text as params.print would write it.
local function product(dims)
  local out, names = { { values = {}, text = "" } }, {}
  for name, values in sorted(dims) do
    local wider = {}
    for _, point in ipairs(out) do
      for _, value in ipairs(values) do
        local wide = { [name] = value }
        for _, other in ipairs(names) do wide[other] = point.values[other] end
        wider[#wider + 1] = { values = wide, text = ("%s%s%s=%s"):format(point.text, #names > 0 and "," or "", name, value) }
      end
    end
    out, names[#names + 1] = wider, name
  end
  return out
end

local points = {}
local function family_points(name)
  points[name] = points[name] or product(families[name].params)
  return points[name]
end

local key_lists = {}

-- All parameter names of a family's kernels, sorted once: spaces have a thousand points.
local function keys_of(name)
  if not key_lists[name] then
    local set, list = {}, {}
    for key in sorted(families[name].params) do set[key] = true end
    for _, field in ipairs(families[name].problem) do set[field] = true end
    for key in sorted(families[name].fixed or {}) do set[key] = true end
    for key in sorted(set) do list[#list + 1] = key end
    key_lists[name] = list
  end
  return key_lists[name]
end

-- The stated reason why a family's parameters cannot serve a problem, before anything is computed from them.
local function reject_by_rule(p, family, point, arch)
  for _, rule in ipairs(family.rules or {}) do
    local why = rule(p, point, arch)
    if why then return why end
  end
end

-- The stated reason why a cost does not fit the target or the problem.
local function reject_by_cost(p, cost, arch)
  local why = cost.refused or budget.reject(cost, arch)
  if why then return why end
  local rows = ceil_div(p.heads * p.q_len, 16) * 16
  if cost.rows_per_wg > WASTE * rows and cost.rows_per_wg > 16 then
    return ("rows per workgroup %d > %d times the %d rows there are"):format(cost.rows_per_wg, WASTE, rows)
  end
end

-- A family's kernel at a point: its parameter text and what it costs, and the reason when the point cannot serve the
-- problem. `finish` adds what only candidates need.
local function kernel(p, name, point, arch)
  local family, items = families[name], {}
  for i, key in ipairs(keys_of(name)) do
    local value = point[key] or p[key]
    if value == nil then value = family.fixed[key] end
    items[i] = key .. "=" .. value
  end
  local k = { template = family.template, params = table.concat(items, ","), symbol = "", template_hash = "", threads = 0,
    rows_per_wg = 0, lds_bytes = 0, vgpr_budget = 0, step = 0, slots = 0 }
  local why = reject_by_rule(p, family, point, arch)
  if why then return k, why end
  local cost = family.cost(p, point, arch)
  why = reject_by_cost(p, cost, arch)
  if cost.refused then return k, why end
  k.cost, k.threads, k.rows_per_wg, k.lds_bytes = cost, cost.threads, cost.rows_per_wg, cost.lds_bytes
  -- For fitting splits with no generator at hand (runtime/op/nearest.h).
  k.step = cost.step or 0
  k.slots = cost.step and (cost.slots or arch.device.cus) // (cost.width or 1) or 0
  local limit = budget.register_limit(cost.threads, arch)
  k.vgpr_budget = math.min(budget.registers(cost, arch) + (cost.slack or 0), limit)
  return k, why
end

local function finish(k, target)
  k.symbol = emit.symbol(k.template, k.params, target)
  k.template_hash = loader.template_hash(k.template, target)
  return k
end

local function available(name, arch)
  return families[name].arch[arch.isa.family] and loader.has_kernel(families[name].template)
end

-- The family of the combine kernels that merge what a decode kernel leaves.
local function combine_family(name, cost)
  return cost.combine or families[name].combine or "combine"
end

-- Whether a combine kernel comes behind.
local function combines_at(splits, cost) return splits > 1 or cost.always_combines end

-- The stated reason why a split count makes no sense for this context, or nil.
local function reject_splits(p, cost, splits)
  local rounds = ceil_div(p.ctx, cost.step)
  if splits > rounds then
    return ("%d splits > %d rounds of %d tokens"):format(splits, rounds, cost.step)
  end
  local turns = splits > 1 and cost.turns_at and cost.turns_at(splits) or 1
  if turns > MAX_TURNS then
    return ("%d splits take %d turns of the device, and the launch shares out uneven turns itself"):format(splits, turns)
  end
  local used = ceil_div(rounds, ceil_div(rounds, splits))
  if used < splits then
    return ("%d splits: %d of them would be empty (%d rounds of %d tokens)"):format(splits, splits - used, rounds, cost.step)
  end
end

-- Split counts to try: powers of two, and those that fill the CUs once, twice or four times.
local function split_counts(p, cost, arch)
  local set, slots = { [1] = true }, cost.slots or arch.device.cus
  local base = ceil_div(p.heads * p.q_len, cost.rows_per_wg) * p.batch * (cost.width or 1) -- workgroups of a split
  local most = math.max(1, math.min(MAX_SPLITS, ceil_div(p.ctx, cost.step)))
  local enough = math.max(1, 4 * slots // base)
  local s = 2
  while s <= most and s <= 2 * enough do
    set[s] = true
    s = 2 * s
  end
  local rounds = ceil_div(p.ctx, cost.step)
  for _, fill in ipairs({ 1, 2, 4 }) do
    local n = math.max(1, math.min(most, fill * slots // base))
    set[ceil_div(rounds, ceil_div(rounds, n))] = true -- as many as get work
  end
  local out = {}
  for n in sorted(set) do out[#out + 1] = n end
  return out
end

local function variant_name(family, point_text, splits, combine_text)
  return ("%s:%s/s%d%s"):format(family, point_text, splits, combine_text and "," .. combine_text or "")
end

-- "reg:a=1,b=x/s8,rows=2" -> "reg", "a=1,b=x", 8, "rows=2" (nil when splits is 1)
local function split_name(name)
  local family, point, splits, rest = name:match("^(%l+):([%w_=,]*)/s(%d+)(.*)$")
  splits = math.tointeger(tonumber(splits))
  if not family or not splits or splits < 1 or (rest ~= "" and rest:sub(1, 1) ~= ",") then
    error(("variant name '%s': FAMILY:k=v,.../sN[,k=v] expected"):format(name), 0)
  end
  return family, point, splits, rest ~= "" and rest:sub(2) or nil
end

-- The same with parameters in tables.
function space.parse_name(name)
  local family, point, splits, rest = split_name(name)
  return family, params.parse(point), splits, rest and params.parse(rest)
end

-- The combine kernels of a family that fit a problem, of all combine families when none is named: list of
-- { kernel, text, family }.
function space.combine_kernels(p, target, family)
  local arch, list = loader.require("arch/" .. target), {}
  for _, name in ipairs(family and { family } or families.combines) do
    for _, point in ipairs(available(name, arch) and family_points(name) or {}) do
      local k, why = kernel(p, name, point.values, arch)
      if not why then list[#list + 1] = { kernel = k, text = point.text, family = name } end
    end
  end
  return list
end

-- Best combine kernel of a family for a problem and split count by the model; all of them, best first.
local function combines(p, decode, splits, target, arch, family)
  local list = {}
  for _, c in ipairs(space.combine_kernels(p, target, family)) do
    if splits > 1 or c.text == BEHIND_ONE then list[#list + 1] = { kernel = finish(c.kernel, target), text = c.text,
      ns = model.combine_ns(p, decode, c.kernel.cost, arch, splits) } end
  end
  table.sort(list, function(a, b)
    if a.ns ~= b.ns then return a.ns < b.ns end
    return a.text < b.text
  end)
  return list
end

local function candidate(p, arch, family, point, k, splits, combine)
  return {
    name = variant_name(family, point.text, splits, combine and combine.text), splits = splits, decode = k,
    combine = combine and combine.kernel, any_lengths = k.cost.any_lengths or false,
    model_ns = model.estimate(p, arch, k.cost, splits, combine and combine.ns or 0),
  }
end

local function rejection(item, splits, why)
  return { name = item.name .. "/s" .. splits, rejected = why, splits = splits, decode = item.kernel, model_ns = 0 }
end

local function by_model(a, b)
  if a.model_ns ~= b.model_ns then return a.model_ns < b.model_ns end
  return a.name < b.name
end

-- The decode kernels of a problem without regard to splits: list of { name, family, point, kernel, rejected }.
function space.kernels(p, target)
  local arch, list = loader.require("arch/" .. target), {}
  for _, family in ipairs(families.decode) do
    for _, point in ipairs(available(family, arch) and family_points(family) or {}) do
      local k, why = kernel(p, family, point.values, arch)
      list[#list + 1] = { name = family .. ":" .. point.text, family = family, point = point, kernel = k, rejected = why }
    end
  end
  return list
end

local NOT_ANY_LENGTHS = "requests of different lengths take as long as if all %d were the longest, and other kernels serve them "
  .. "better"

-- A plan must be good for lengths that nobody told it: of several requests, where some kernel serves all lengths, the others are
-- no candidates. (Named, as a variant, they serve.)
local function for_any_lengths(p, items)
  local some = false
  for _, item in ipairs(items) do some = some or not item.rejected and item.kernel.cost.any_lengths end
  for _, item in ipairs(items) do
    if p.batch > 1 and some and not item.rejected and not item.kernel.cost.any_lengths then
      item.rejected = NOT_ANY_LENGTHS:format(p.batch)
    end
  end
  return items
end

-- The candidates of a problem, in no order; what is not one goes to reject(item, splits, why).
local function candidates(p, target, reject)
  local arch = loader.require("arch/" .. target)
  local list, combine_of = {}, {}
  local best = {} -- split count and combine family -> best candidate, to try the other combine kernels with
  for _, item in ipairs(for_any_lengths(p, space.kernels(p, target))) do
    local k, family, point = item.kernel, item.family, item.point
    if item.rejected then
      reject(item, 1, item.rejected)
    else
      finish(k, target)
      for _, splits in ipairs(split_counts(p, k.cost, arch)) do
        local merge, behind = combine_family(family, k.cost), combines_at(splits, k.cost)
        local parts = k.cost.parts_at and k.cost.parts_at(splits) or 0 -- what there is to combine goes by them
        local key = merge .. "/" .. splits .. "/" .. (behind and parts or "alone")
        combine_of[key] = combine_of[key] or behind and combines(p, k.cost, splits, target, arch, merge) or {}
        local combine = combine_of[key][1]
        local why = behind and not combine and splits .. " splits, and no combine kernel for this target"
          or reject_splits(p, k.cost, splits)
        if why then
          reject(item, splits, why)
        else
          local v = candidate(p, arch, family, point, k, splits, combine)
          list[#list + 1] = v
          if not best[key] or by_model(v, best[key].v) then
            best[key] = { v = v, family = family, point = point, kernel = k, splits = splits }
          end
        end
      end
    end
  end
  -- Decode and combine times add up, so the other combine kernels need only one decode kernel each.
  for key, b in sorted(best) do
    for i = 2, #combine_of[key] do
      list[#list + 1] = candidate(p, arch, b.family, b.point, b.kernel, b.splits, combine_of[key][i])
    end
  end
  return list
end

-- The space of a problem, candidates first, best estimate first; then the rejected points with their reasons.
function space.variants(p, target)
  local rejected = {}
  local list = candidates(p, target, function(...) rejected[#rejected + 1] = rejection(...) end)
  table.sort(list, by_model)
  table.sort(rejected, by_model)
  return table.move(rejected, 1, #rejected, #list + 1, list)
end

-- The first `most` candidates of that list.
function space.best(p, target, most)
  local top = {}
  for _, v in ipairs(candidates(p, target, function() end)) do
    local at = math.min(#top + 1, most)
    if #top < most or by_model(v, top[at]) then
      while at > 1 and by_model(v, top[at - 1]) do
        top[at] = top[at - 1]
        at = at - 1
      end
      top[at] = v
    end
  end
  return top
end

-- A parameter table must name exactly the family's parameters with values the family lists.
local function check_point(family, values, name)
  for key, value in sorted(values) do
    local known = false
    for _, v in ipairs(families[family].params[key] or {}) do known = known or v == value end
    if not known then error(("variant '%s': %s has no %s=%s"):format(name, family, key, value), 0) end
  end
  for key in sorted(families[family].params) do
    if values[key] == nil then error(("variant '%s': %s is missing"):format(name, key), 0) end
  end
end

local read = {} -- points that were in order, by family and text: a plan that compares what was measured near names each often

local function read_point(family, text, name)
  local key = family .. ":" .. text
  if not read[key] then
    local values = params.parse(text)
    check_point(family, values, name)
    read[key] = { values = values, text = params.print(values) }
  end
  return read[key]
end

local made = setmetatable({}, { __mode = "k" }) -- problem, a table that nobody writes to -> its kernels

local function kernel_at(p, target, family, point, arch)
  local kernels, key = made[p] or {}, target .. "/" .. family .. ":" .. point.text
  made[p] = kernels
  kernels[key] = kernels[key] or { kernel(p, family, point.values, arch) }
  return kernels[key][1], kernels[key][2]
end

-- One variant from its name; an error with the reason if the space would reject it for this problem.
function space.variant(p, target, name)
  local arch = loader.require("arch/" .. target)
  local family, text, splits, combine_text = split_name(name)
  local is_decode = false
  for _, f in ipairs(families.decode) do is_decode = is_decode or f == family end
  if not is_decode then error(("variant '%s': no family '%s'"):format(name, family), 0) end
  local point = read_point(family, text, name)
  if not available(family, arch) then error(("variant '%s': family %s is not for %s"):format(name, family, target), 0) end
  local k, why = kernel_at(p, target, family, point, arch)
  if not why and splits > MAX_SPLITS then why = ("%d splits > %d"):format(splits, MAX_SPLITS) end
  local combine
  local merge = not why and combines_at(splits, k.cost) and combine_family(family, k.cost)
  if merge then
    if not combine_text then error(("variant '%s': %d splits need a combine kernel, e.g. /s%d,%s")
      :format(name, splits, splits, family_points(merge)[1].text), 0) end
    local with = read_point(merge, combine_text, name)
    local c, combine_why = kernel_at(p, target, merge, with, arch)
    why = why or combine_why
    combine = { kernel = finish(c, target), text = with.text,
      ns = c.cost and model.combine_ns(p, k.cost, c.cost, arch, splits) }
  elseif combine_text and not why then
    error(("variant '%s': %s has no combine kernel"):format(name, splits == 1 and "one split" or "its schedule"), 0)
  end
  if why then error(("variant '%s' is not in the space of %s: %s"):format(name, require("problem").print(p), why), 0) end
  return candidate(p, arch, family, point, finish(k, target), splits, combine)
end

-- A decode kernel's candidates at all split counts worth trying, each with its best combine kernel.
local function at_all_splits(p, target, arch, family, point, k)
  local list = {}
  for _, splits in ipairs(split_counts(p, k.cost, arch)) do
    local merge = combines_at(splits, k.cost) and combine_family(family, k.cost)
    local combine = merge and combines(p, k.cost, splits, target, arch, merge)[1] or nil
    if not reject_splits(p, k.cost, splits) and (combine or not merge) then
      list[#list + 1] = candidate(p, arch, family, point, k, splits, combine)
    end
  end
  return list
end

local function best_of(list)
  local best
  for _, v in ipairs(list) do
    if not best or by_model(v, best) then best = v end
  end
  return best
end

-- A variant tuned for another batch and context, fitted to p: its decode kernel with the split count and the combine kernel that
-- the model likes best. (Scaling them by what the tuned count was of the model's where it was tuned did worse on the emulator.)
function space.refit(p, target, name)
  local arch = loader.require("arch/" .. target)
  local family, values = space.parse_name(name)
  if not available(family, arch) then error(("variant '%s': family %s is not for %s"):format(name, family, target), 0) end
  check_point(family, values, name)
  local k, why = kernel(p, family, values, arch)
  if why then error(("variant '%s' does not fit %s: %s"):format(name, require("problem").print(p), why), 0) end
  return best_of(at_all_splits(p, target, arch, family, { text = params.print(values) }, finish(k, target)))
end

-- The same of a variant that was tuned for one request: rejected where that is no candidate for several.
function space.serve(p, target, name)
  local v = space.refit(p, target, name)
  if p.batch > 1 and not v.decode.cost.any_lengths then
    for _, item in ipairs(space.kernels(p, target)) do
      if not item.rejected and item.kernel.cost.any_lengths then
        v.rejected = NOT_ANY_LENGTHS:format(p.batch)
        break
      end
    end
  end
  return v
end

-- The baseline's name for a problem: fixed kernel, split count by the model.
function space.baseline(p, target)
  local arch = loader.require("arch/" .. target)
  local b
  for _, one in ipairs(families.baselines) do b = b or available(one.family, arch) and one or nil end
  if not b then error("no baseline family for " .. target, 0) end
  local k, why = kernel(p, b.family, b.params, arch)
  if why then error("the baseline variant does not fit " .. require("problem").print(p) .. ": " .. why, 0) end
  return best_of(at_all_splits(p, target, arch, b.family, { text = params.print(b.params) }, finish(k, target)))
end

return space
