-- All variants of a problem on a target: the product of a family's parameters, pruned with stated reasons, times the values of
-- the operation's knob that are worth trying, ranked by its model. Knows no operation: gen/ops.lua says what a record holds.
--
-- A variant's name rebuilds it: "FAMILY:params/sKNOB" and, where a second kernel comes behind, its parameters behind that:
-- "mma:blocks=1,cols=4,stages=2,teams=1,tile=32/s8,rows=2,team=1".
local loader = ...
local params = require("params")
local ops = require("ops")
local budget = require("budget")
local emit = require("emit")

local space = {}

local WASTE = 4 -- a workgroup may have this many times the rows there are, rounded up to one block of a matrix instruction

local ceil_div = require("whole").ceil_div

-- Every combination of a family's parameter values, in sorted order: { values, text }, the text as params.print would write it.
local function product(dims)
  local out, names, values = {}, {}, {}
  for name in sorted(dims) do names[#names + 1] = name end
  local function extend(i, text)
    local name = names[i]
    if not name then
      local point = {}
      for _, key in ipairs(names) do point[key] = values[key] end
      out[#out + 1] = { values = point, text = text }
      return
    end
    local begin = text .. (i > 1 and "," or "") .. name .. "="
    for _, value in ipairs(dims[name]) do
      values[name] = value
      extend(i + 1, begin .. value)
    end
  end
  extend(1, "")
  return out
end

local points = {} -- by family
local function family_points(family)
  points[family] = points[family] or product(family.params)
  return points[family]
end

-- The kernel of whatever a family's rules refuse: one for all, as of a thousand points most are such.
local none = {} -- by family
local function no_kernel(family)
  none[family] = none[family] or { template = family.template, params = "", symbol = "", template_hash = "", threads = 0,
    rows_per_wg = 0, lds_bytes = 0, vgpr_budget = 0, step = 0, slots = 0 }
  return none[family]
end

local key_lists = {} -- by family

-- All parameter names of a family's kernels, sorted once: spaces have a thousand points.
local function keys_of(family)
  if not key_lists[family] then
    local set, list = {}, {}
    for key in sorted(family.params) do set[key] = true end
    for _, field in ipairs(family.problem) do set[field] = true end
    for _, field in ipairs(family.optional or {}) do set[field] = true end
    for key in sorted(family.fixed or {}) do set[key] = true end
    for key in sorted(set) do list[#list + 1] = key end
    key_lists[family] = list
  end
  return key_lists[family]
end

-- The stated reason why a family's parameters cannot serve a problem, before anything is computed from them.
local function reject_by_rule(p, family, point, arch)
  for _, f in ipairs(family.unlisted) do
    if p[f.field] ~= 0 then return ("%s is %d: %s"):format(f.field, p[f.field], f.unlisted) end
  end
  for _, rule in ipairs(family.rules or {}) do
    local why = rule(p, point, arch)
    if why then return why end
  end
end

-- The stated reason why a cost does not fit the target or the problem.
local function reject_by_cost(p, op, cost, arch)
  local why = cost.refused or budget.reject(cost, arch)
  if why then return why end
  local rows = ceil_div(op.rows(p), 16) * 16
  if cost.rows_per_wg > WASTE * rows and cost.rows_per_wg > 16 then
    return ("rows per workgroup %d > %d times the %d rows there are"):format(cost.rows_per_wg, WASTE, rows)
  end
end

-- The text of a kernel's parameters, in the order of their names.
local function params_text(p, family, point)
  local items, absent = {}, {}
  for _, field in ipairs(family.optional or {}) do absent[field] = p[field] == 0 end
  for _, key in ipairs(keys_of(family)) do
    local value = point[key] or p[key]
    if value == nil then value = family.fixed[key] end
    if not absent[key] then items[#items + 1] = key .. "=" .. value end
  end
  return table.concat(items, ",")
end

-- A family's kernel at a point: its parameter text and what it costs, and the reason when the point cannot serve the
-- problem. `finish` adds what only candidates need.
local function kernel(p, op, family, point, arch)
  local why = reject_by_rule(p, family, point, arch)
  if why then return no_kernel(family), why end
  local k = { template = family.template, params = params_text(p, family, point), symbol = "", template_hash = "", threads = 0,
    rows_per_wg = 0, lds_bytes = 0, vgpr_budget = 0, step = 0, slots = 0 }
  local cost = family.cost(p, point, arch)
  why = reject_by_cost(p, op, cost, arch)
  if cost.refused then return k, why end
  k.cost, k.threads, k.rows_per_wg, k.lds_bytes = cost, cost.threads, cost.rows_per_wg, cost.lds_bytes
  -- Facts for fitting the knob with no generator at hand (runtime/op/nearest.h).
  k.step = cost.step or 0
  k.slots = cost.step and (cost.slots or arch.device.cus) // (cost.width or 1) or 0
  local limit = budget.register_limit(cost.threads * (cost.bounded or 1), arch)
  k.vgpr_budget = cost.bounded and limit or math.min(budget.registers(cost, arch) + (cost.slack or 0), limit)
  return k, why
end

local function finish(k, target)
  k.symbol = emit.symbol(k.template, k.params, target)
  k.template_hash = loader.template_hash(k.template, target)
  return k
end

local function available(family, arch)
  return family.arch[arch.isa.family] and loader.has_kernel(family.template)
end

local function variant_name(family, point_text, n, second_text)
  return ("%s:%s/s%d%s"):format(family, point_text, n, second_text and "," .. second_text or "")
end

-- "mma:a=1,b=x/s8,rows=2" -> "mma", "a=1,b=x", 8, "rows=2" (nil when there is nothing behind)
local function split_name(name)
  local family, point, n, rest = name:match("^(%l[%w_]*):([%w_=,]*)/s(%d+)(.*)$")
  n = math.tointeger(tonumber(n))
  if not family or not n or n < 1 or (rest ~= "" and rest:sub(1, 1) ~= ",") then
    error(("variant name '%s': FAMILY:k=v,.../sN[,k=v] expected"):format(name), 0)
  end
  return family, point, n, rest ~= "" and rest:sub(2) or nil
end

-- The first stage's family of a name in an operation, whatever it was called when the name was written.
local function named_family(op, family, name)
  family = op.families[family] and family or op.renamed.families[family] or family
  local known = op.families[family]
  if not known or known.stage ~= op.stages[1] then error(("variant '%s': no family '%s'"):format(name, family), 0) end
  return family
end

-- A variant's name as it is today, whatever its family was called when the name was written.
function space.name_now(p, name)
  return (name:gsub("^[^:]*", ops.of(p).renamed.families))
end

-- The parts of a variant's name: family, parameters, knob, parameters of the second kernel or nil.
function space.parse_name(name)
  local family, point, n, rest = split_name(name)
  return family, params.parse(point), n, rest and params.parse(rest)
end

-- The second stage's kernels of a family that fit a problem, of all such families when none is named: list of
-- { kernel, text, family }.
function space.second_kernels(p, target, family)
  local arch, op, list = loader.require("arch/" .. target), ops.of(p), {}
  for _, name in ipairs(family and { family } or op.of_stage[op.stages[2]] or {}) do
    local of = op.families[name]
    for _, point in ipairs(available(of, arch) and family_points(of) or {}) do
      local k, why = kernel(p, op, of, point.values, arch)
      if not why then list[#list + 1] = { kernel = k, text = point.text, family = name } end
    end
  end
  return list
end

-- A kernel of the second stage behind n of a first one, with its time by the model where it has one.
local function second_kernel(p, op, first, k, text, n, target, arch)
  local ns, uneven
  if k.cost then ns, uneven = op.model.second_ns(p, first, k.cost, arch, n) end
  return { kernel = finish(k, target), text = text, ns = ns, uneven_ns = uneven or 0 }
end

-- A family's kernels for the second stage that may come behind n of a first one, best first by the model.
local function seconds(p, op, first, n, target, arch, family)
  local list = {}
  for _, c in ipairs(space.second_kernels(p, target, family)) do
    if op.second.fits(n, c.text, first) then list[#list + 1] = second_kernel(p, op, first, c.kernel, c.text, n, target, arch) end
  end
  table.sort(list, function(a, b)
    if a.ns ~= b.ns then return a.ns < b.ns end
    return a.text < b.text
  end)
  return list
end

local function candidate(p, op, arch, family, point, k, n, second)
  local ns, uneven = op.model.estimate(p, arch, k.cost, n, second and second.ns or 0, second and second.uneven_ns or 0)
  local v = {
    name = variant_name(family, point.text, n, second and second.text), knob = n, any_lengths = k.cost.any_lengths or false,
    model_ns = ns, uneven_ns = uneven or 0,
  }
  v[op.stages[1]] = k
  if second then v[op.stages[2]] = second.kernel end
  return v
end

local function rejection(op, item, n, why)
  return { name = item.name .. "/s" .. n, rejected = why, knob = n, [op.stages[1]] = item.kernel, model_ns = 0 }
end

local function by_model(a, b)
  if a.model_ns ~= b.model_ns then return a.model_ns < b.model_ns end
  return a.name < b.name
end

local function kernels_of(p, target, families)
  local arch, op, list = loader.require("arch/" .. target), ops.of(p), {}
  for _, name in ipairs(families) do
    local family = op.families[name]
    for _, point in ipairs(available(family, arch) and family_points(family) or {}) do
      local k, why = kernel(p, op, family, point.values, arch)
      point.name = point.name or name .. ":" .. point.text -- made once: each problem has these points
      list[#list + 1] = { name = point.name, family = name, point = point, kernel = k, rejected = why }
    end
  end
  return list
end

-- The first stage's kernels of a problem without regard to the knob: list of { name, family, point, kernel, rejected }.
function space.kernels(p, target)
  local op = ops.of(p)
  return kernels_of(p, target, op.of_stage[op.stages[1]])
end
-- The same of vendors' libraries.
function space.library_kernels(p, target) return kernels_of(p, target, ops.of(p).libraries) end

-- Iterates over what may come behind a first kernel: number, value of the knob worth trying, family of the second kernel or nil.
-- All second kernels of a family whose kernel does with and without one, or with several; again is true behind the first.
local function forms(p, op, family, cost, arch)
  local list = {}
  for _, n in ipairs(op.knob.counts(p, cost, arch)) do
    list[#list + 1] = { n, op.second.family(family, cost, n) }
    for _, other in ipairs { op.second.other(family, cost, n) } do list[#list + 1] = { n, other, true } end
  end
  local i = 0
  return function()
    i = i + 1
    if list[i] then return i, list[i][1], list[i][2], list[i][3] end
  end
end

-- The candidates of a problem, in no order; what is not one goes to reject(item, n, why).
local function candidates(p, target, reject)
  local arch, op = loader.require("arch/" .. target), ops.of(p)
  local list, seconds_of = {}, {}
  local best = {} -- knob and second family -> best candidate, to try the other kernels of the second stage with
  for _, item in ipairs(op.screen(p, space.kernels(p, target))) do
    local k, family, point = item.kernel, item.family, item.point
    if item.rejected then
      reject(item, 1, item.rejected)
    else
      finish(k, target)
      for _, n, behind, again in forms(p, op, family, k.cost, arch) do
        local key = ("%s/%d/%s"):format(behind or "alone", n, behind and op.second.kind(k.cost, n) or "")
        seconds_of[key] = seconds_of[key] or behind and seconds(p, op, k.cost, n, target, arch, behind) or {}
        local second = seconds_of[key][1]
        local why = behind and not second and ("%d %s, and no %s kernel for this target"):format(n, op.knob.word, op.stages[2])
          or op.knob.refuse(p, k.cost, n)
        if why then
          if not again then reject(item, n, why) end
        else
          local v = candidate(p, op, arch, family, point, k, n, second)
          list[#list + 1] = v
          if not best[key] or by_model(v, best[key].v) then
            best[key] = { v = v, family = family, point = point, kernel = k, n = n }
          end
        end
      end
    end
  end
  -- The times of both stages add up, so the other second kernels need only one first kernel each.
  for key, b in sorted(best) do
    for i = 2, #seconds_of[key] do
      list[#list + 1] = candidate(p, op, arch, b.family, b.point, b.kernel, b.n, seconds_of[key][i])
    end
  end
  return list
end

-- The space of a problem, candidates first, best estimate first; then the rejected points with their reasons.
function space.variants(p, target)
  local rejected, op = {}, ops.of(p)
  local list = candidates(p, target, function(...) rejected[#rejected + 1] = rejection(op, ...) end)
  table.sort(list, by_model)
  table.sort(rejected, by_model)
  return table.move(rejected, 1, #rejected, #list + 1, list)
end

-- The offers of vendors' libraries for a problem, whatever the model thinks of it: candidates, then those rejected. Whether the
-- library is there nobody knows here, so none of them is in the space: who has a device asks for them. model_ns is 0 but where
-- one is known to be better than kernels (cost.known_ns).
function space.libraries(p, target)
  local arch, op = loader.require("arch/" .. target), ops.of(p)
  local list, rejected = {}, {}
  for _, item in ipairs(space.library_kernels(p, target)) do
    local behind = not item.rejected and op.second.family(item.family, item.kernel.cost, 1)
    local second = behind and seconds(p, op, item.kernel.cost, 1, target, arch, behind)[1]
    local why = item.rejected or behind and not second and ("no %s kernel for this target"):format(behind)
    if why then rejected[#rejected + 1] = rejection(op, item, 1, why)
    else
      local v = candidate(p, op, arch, item.family, item.point, finish(item.kernel, target), 1, second or nil)
      v.model_ns = item.kernel.cost.known_ns or 0
      list[#list + 1] = v
    end
  end
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
local function check_point(op, family, values, name)
  for key, value in sorted(values) do
    local known = false
    for _, v in ipairs(op.families[family].params[key] or {}) do known = known or v == value end
    if not known then error(("variant '%s': %s has no %s=%s"):format(name, family, key, value), 0) end
  end
  for key in sorted(op.families[family].params) do
    if values[key] == nil then error(("variant '%s': %s is missing"):format(name, key), 0) end
  end
end

local read = {} -- points that were in order, by family and text: a plan that compares what was measured near names each often

local function read_point(op, family, text, name)
  local key = op.name .. "/" .. family .. ":" .. text
  if not read[key] then
    local values = params.parse(text)
    check_point(op, family, values, name)
    read[key] = { values = values, text = params.print(values) }
  end
  return read[key]
end

local made = setmetatable({}, { __mode = "k" }) -- problem, a table that nobody writes to -> its kernels

local function kernel_at(p, op, target, family, point, arch)
  local kernels, key = made[p] or {}, target .. "/" .. family .. ":" .. point.text
  made[p] = kernels
  kernels[key] = kernels[key] or { kernel(p, op, op.families[family], point.values, arch) }
  return kernels[key][1], kernels[key][2]
end

-- The kernel of the second stage that a variant's name gives, and the reason if the space would reject it.
local function named_second(p, op, target, arch, name, first, n, behind, text)
  if not text then error(("variant '%s': %d %s need a %s kernel, e.g. /s%d,%s"):format(name, n, op.knob.word, op.stages[2], n,
    family_points(op.families[behind])[1].text), 0) end
  local with = read_point(op, behind, text, name)
  local k, why = kernel_at(p, op, target, behind, with, arch)
  return second_kernel(p, op, first.cost, k, with.text, n, target, arch), why
end

local function has_point(family, text)
  for _, point in ipairs(family_points(family)) do
    if point.text == text then return true end
  end
end

-- The family and the point of the second kernel that a variant's name gives; no family: it has none.
local function second_of_name(op, family, cost, n, text)
  local named = text and op.second.named(cost)
  if named and has_point(op.families[named], text) then return named, text end
  text = n == 1 and text and op.families[family].behind_one or text
  local usual, others = op.second.family(family, cost, n), text and { op.second.other(family, cost, n) } or {}
  for _, other in ipairs(others) do
    if has_point(op.families[other], text) then return other, text end
  end
  return usual or others[1], text
end

-- A family of the operation for this target, by any name it ever had.
local function family_for(op, family, target, arch, name)
  family = named_family(op, family, name)
  if not available(op.families[family], arch) then
    error(("variant '%s': family %s is not for %s"):format(name, family, target), 0)
  end
  return family
end

-- One variant from its name; an error with the reason if the space would reject it for this problem.
function space.variant(p, target, name)
  local arch, op = loader.require("arch/" .. target), ops.of(p)
  local family, text, n, second_text = split_name(name)
  family = named_family(op, family, name)
  local instead = op.families[family].instead
  local point = read_point(op, family, instead and instead(p, params.parse(text), n) or text, name)
  family_for(op, family, target, arch, name)
  local k, why = kernel_at(p, op, target, family, point, arch)
  local most = k.cost and op.knob.most(k.cost)
  if not why and n > most then why = ("%d %s > %d"):format(n, op.knob.word, most) end
  local second
  local behind
  if not why then behind, second_text = second_of_name(op, family, k.cost, n, second_text) end
  if behind then
    second, why = named_second(p, op, target, arch, name, k, n, behind, second_text)
  elseif second_text and not why then
    error(("variant '%s': %s has no %s kernel"):format(name, op.second.none(n), op.stages[2] or "second"), 0)
  end
  if why then error(("variant '%s' is not in the space of %s: %s"):format(name, require("problem").print(p), why), 0) end
  return candidate(p, op, arch, family, point, finish(k, target), n, second)
end

-- A first kernel's candidates at all values of the knob worth trying, each with its best second kernel.
local function at_all_knobs(p, op, target, arch, family, point, k)
  local list = {}
  for _, n, behind in forms(p, op, family, k.cost, arch) do
    local second = behind and seconds(p, op, k.cost, n, target, arch, behind)[1] or nil
    if not op.knob.refuse(p, k.cost, n) and (second or not behind) then
      list[#list + 1] = candidate(p, op, arch, family, point, k, n, second)
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

-- A variant tuned for another problem of the same shape, fitted to p: its first kernel with the knob and the second kernel that
-- the model likes best. (Scaling them by what the tuned knob was of the model's where it was tuned did worse on the emulator.)
function space.refit(p, target, name)
  local arch, op = loader.require("arch/" .. target), ops.of(p)
  local family, values = space.parse_name(name)
  family = family_for(op, family, target, arch, name)
  check_point(op, family, values, name)
  local k, why = kernel(p, op, op.families[family], values, arch)
  if why then error(("variant '%s' does not fit %s: %s"):format(name, require("problem").print(p), why), 0) end
  return best_of(at_all_knobs(p, op, target, arch, family, { text = params.print(values) }, finish(k, target)))
end

-- The same, rejected where the operation's rule on what else the space has says so (mla_decode: tuned for one request, and no
-- candidate for several).
function space.serve(p, target, name)
  local v, op = space.refit(p, target, name), ops.of(p)
  v.rejected = op.screened(p, v[op.stages[1]].cost, function() return space.kernels(p, target) end)
  return v
end

local insides = {} -- problem and target -> what first_inside() said: a plan asks before its kernels are compiled, and behind

-- The name of the first candidate that op.inside_of() leaves as it is, or nil.
local function first_inside(p, target, op)
  local key = require("problem").print(p) .. target
  if insides[key] ~= nil then return insides[key] or nil end
  local best
  for _, v in ipairs(candidates(p, target, function() end)) do
    local family, point = split_name(v.name)
    if op.inside_of(family, point) == v.name:match("^[^/]*") and (not best or by_model(v, best)) then best = v end
  end
  insides[key] = best and best.name or false
  return best and best.name
end

-- Variants in place of one of that name for a caller who knows more of its launches (a layer), best first. ahead: what tables and
-- older rows hold is older than the launch before; next: the problem that is executed next over this one's outputs alone, or nil.
function space.inside(p, target, name, ahead, next)
  local op, list = ops.of(p), {}
  local family, point, n, second = split_name(name)
  local follows = next and require("joint").follows(p, next) and next or nil
  local own, like = family, op.inside_of and (ahead or follows) and op.inside_of(family, point)
  if like == nil then name = first_inside(p, target, op) or name
  elseif like and like ~= name:match("^[^/]*") then name = like .. "/s1" end
  family, point, n, second = split_name(name)
  for _, other in ipairs(op.inside({ family = family, second = second, own = own }, ahead, follows)) do
    local made, v = pcall(space.variant, p, target, variant_name(other.family, point, n, other.second))
    if made then list[#list + 1] = v end -- else there is no such kernel
  end
  return list
end

-- The baseline's name for a problem: fixed kernel, knob by the model.
function space.baseline(p, target)
  local arch, op = loader.require("arch/" .. target), ops.of(p)
  local b
  for _, one in ipairs(op.baselines) do
    local family = op.families[one.family]
    if not b and available(family, arch) and not reject_by_rule(p, family, one.params, arch) then b = one end
  end
  if not b then
    local why = op.absent(p, arch)
    error(why and ("%s has no kernel for this problem of %s: %s"):format(target, p.op, why)
      or "no baseline family for " .. target, 0)
  end
  local k, why = kernel(p, op, op.families[b.family], b.params, arch)
  if why then error("the baseline variant does not fit " .. require("problem").print(p) .. ": " .. why, 0) end
  return best_of(at_all_knobs(p, op, target, arch, b.family, { text = params.print(b.params) }, finish(k, target)))
end

-- Some families' batch-invariant kernels of a problem with their times, the best of each key.
local function invariant_times(p, target, arch, op, families)
  local best = {}
  for _, item in ipairs(kernels_of(p, target, families)) do
    if not item.rejected then
      local key = item.family .. ":" .. op.invariant.key(item.family, item.point.values)
      item.model_ns = op.model.estimate(p, arch, item.kernel.cost, 1, 0)
      if not best[key] or by_model(item, best[key]) then best[key] = item end
    end
  end
  return best
end

local invariant_keys = {} -- by the problems that are ranked: those of all batches of a shape are the same

-- The key that serves all sizes by which an operation ranks such kernels, in the least time on average; false: there is none.
local function invariant_key(p, target, arch, op)
  local sums, sizes, texts = {}, op.invariant.sizes(p), { target }
  for i, at in ipairs(sizes) do texts[i + 1] = require("problem").print(at) end
  local text = table.concat(texts, " ")
  if invariant_keys[text] ~= nil then return invariant_keys[text] end
  for _, at in ipairs(sizes) do
    for key, item in sorted(invariant_times(at, target, arch, op, op.invariant.families)) do
      local sum = sums[key] or { ns = 0, sizes = 0 }
      sums[key] = { ns = sum.ns + math.log(item.model_ns), sizes = sum.sizes + 1 }
    end
  end
  local best
  for key, sum in sorted(sums) do
    if sum.sizes == #sizes and (not best or sum.ns < sums[best].ns) then best = key end
  end
  invariant_keys[text] = best or false
  return invariant_keys[text]
end

-- The batch-invariant variant of a problem: what it computes of a request (of a token, where an operation has no requests)
-- depends on nothing else in the launch, and is the same in the variant of any other batch.
function space.invariant(p, target)
  local arch, op = loader.require("arch/" .. target), ops.of(p)
  local rule = op.invariant or error(("%s has no batch-invariant plan"):format(op.name), 0)
  if rule.any then return space.best(p, target, 1)[1] or error("no kernel fits " .. require("problem").print(p), 0) end
  local key = invariant_key(p, target, arch, op)
  local item = key and invariant_times(p, target, arch, op, { key:match("^[^:]*") })[key] -- a key begins with its family
  if not item then error(("%s has no batch-invariant kernel for %s"):format(target, require("problem").print(p)), 0) end
  local second = rule.second and rule.second()
  return space.variant(p, target, variant_name(item.family, item.point.text, rule.knob(p), second))
end

return space
