-- Chooses the variant of a problem that nobody tuned, when problems of its shape near it were: by the model, corrected by what
-- was measured there. A candidate's estimate is multiplied by the mean of measured over modelled of its own first kernel nearby.
-- A measurement counts the more the liker the launch and the nearer the problem; all of them together count a little. The
-- estimate is raised the more the less is known of its kernel: the lowest of fifty guesses is mostly the luckiest. What the
-- numbers below give: docs/lab/search.md, "Nearest choice".
--
-- Kernels of a model that was fitted to the target's times (op.doubts) are compared only by what was measured of them at one
-- problem: measured over modelled differs more between two problems than between two kernels of one problem, so a problem of
-- which only its choice is known ranks no kernel before another.
local loader = ...
local problem = require("problem")
local space = require("space")
local ops = require("ops")

local nearby = {}

local COMMON = 0.05 -- weight of what all measurements say, beside those of the kernel itself: one of a like launch has 1
-- Logarithms: with no measurement of the kernel an estimate were raised by 22 %, by less the more there are; and a kernel that
-- nobody measured near, of which nothing says that it runs well at all, by 49 %. Where a model was fitted to a target's times the
-- operation says less: there the model alone errs less than a neighbour does (docs/lab/perf-log/ragged.md).
local DOUBTS = { kernel = 0.2, unknown = 0.4 }

-- The distance of two problems of one shape, in doublings of their sizes.
local function doublings(op, p, q)
  local sum = 0
  for _, f in ipairs(op.fields) do
    if f.size then sum = sum + math.abs(math.log(p[f.field] / q[f.field], 2)) end
  end
  return sum
end

-- The name of a variant's first kernel: its name without the knob and what is behind, where the operation says so that of
-- another kernel which runs alike.
local function kernel_of(p, name)
  local kernel, like = space.name_now(p, name):match("^[^/]*"), ops.of(p).like
  return like and like(kernel) or kernel
end

-- Measured over modelled, as a logarithm, for the lengths that were measured: an estimate counts what requests of different
-- lengths cost more, which a measurement of equal ones does not have.
local function ratio(m, v)
  return math.log(m.ns / (m.lengths == "equal" and v.model_ns - v.uneven_ns or v.model_ns))
end

-- Keeps of each measurement's ratio only how it differs from the others of its problem, beside what all of them have in common.
local function compare_within_problems(list, common)
  local level = {}
  for _, m in ipairs(list) do
    local l = level[m.problem] or { sum = 0, n = 0 }
    level[m.problem] = l
    l.sum, l.n = l.sum + m.ratio, l.n + 1
  end
  for _, m in ipairs(list) do m.ratio = common + m.ratio - level[m.problem].sum / level[m.problem].n end
end

-- Measurements that today's generator makes the same kernels for: list of launches with their ratios; the kernels that
-- were too slow wherever they were measured, with their templates' hashes.
local function known_launches(p, target, measured)
  local list, slow, op = {}, {}, ops.of(p)
  for i, m in ipairs(measured) do
    local key, known, v = kernel_of(p, m.variant), not m.slow, nil
    local family = op.families[key:match("^[^:]*")]
    if family and family.library then known = false -- its times say nothing of kernels, and it serves what was timed alone
    elseif m.slow then slow[key] = m.template_hash
    else known, v = pcall(space.variant, m.at, target, m.variant) end
    if known and (m.template_hash == "" or m.template_hash == v[op.stages[1]].template_hash) then
      local one = op.launch(m.at, v)
      one.kernel, one.problem, one.from = key, problem.print(m.at), i
      one.far, one.ratio = doublings(op, m.at, p), ratio(m, v)
      list[#list + 1] = one
    end
  end
  return list, slow
end

-- The same by first kernel, the mean ratio of all (nil: nothing is known), and the slow kernels.
local function evidence(p, target, measured, fitted)
  local list, slow = known_launches(p, target, measured)
  local by_kernel, sum, weights = {}, 0, 0
  for _, m in ipairs(list) do sum, weights = sum + 2 ^ -m.far * m.ratio, weights + 2 ^ -m.far end
  if weights == 0 then return by_kernel, nil, slow end
  if fitted then compare_within_problems(list, sum / weights) end
  for _, m in ipairs(list) do
    by_kernel[m.kernel] = by_kernel[m.kernel] or {}
    table.insert(by_kernel[m.kernel], m)
  end
  return by_kernel, sum / weights, slow
end

-- The time that the variant should take, given the measurements of its kernel (nil: none), raised by what is not known.
local function estimate(p, v, list, common, doubts)
  if not list then return v.model_ns * math.exp(common + doubts.unknown) end
  local op = ops.of(p)
  local here = op.launch(p, v)
  local sum, weights = COMMON * common, COMMON
  for _, m in ipairs(list) do
    local weight = 2 ^ -(op.unlike(m, here) + m.far / 2)
    sum, weights = sum + weight * m.ratio, weights + weight
  end
  return v.model_ns * math.exp(sum / weights + doubts.kernel * math.sqrt(COMMON / weights))
end

-- The estimate of the nearest choice's kernel, 0 if it does not fit. What stands back and is no candidate was no choice here.
local function nearest_ns(p, measured, estimates)
  local stands_back = ops.of(p).stands_back
  for _, m in ipairs(measured) do
    local ns = estimates[kernel_of(p, m.variant)]
    if ns or not stands_back or not stands_back(p, m.at) then return ns or 0 end
  end
  return 0
end

-- measured: list of { at, variant, template_hash, ns, lengths, slow } of problems `at` of p's shape, the nearest choice first;
-- lengths: of the requests that were timed; slow: the kernel was too slow wherever it was measured and shall not serve. Returns
-- { variant, ns, from = whose kernel it is (the first such index into measured), nearest_ns = the same of the nearest choice's
-- kernel }. from is 0 for a kernel that was not measured: only where `any` allows.
function nearby.choose(p, target, measured, any)
  local best, op = nil, ops.of(p)
  local fitted = op.doubts(p, loader.require("arch/" .. target))
  local first, doubts = op.stages[1], fitted or DOUBTS
  local by_kernel, common, slow = evidence(p, target, measured, fitted)
  if not common then error("the generator makes none of the tuned variants any more", 0) end
  local seen = {} -- candidates come best first: a kernel's first has the splits that the model likes best
  for _, v in ipairs(space.variants(p, target)) do
    local key = kernel_of(p, v.name)
    if v.rejected then break end
    if not seen[key] and (by_kernel[key] or any and slow[key] ~= v[first].template_hash) then
      local list = by_kernel[key]
      local ns = estimate(p, v, list, common, doubts)
      seen[key] = ns
      if not best or ns < best.ns then best = { variant = v, ns = ns, from = list and list[1].from or 0 } end
    end
  end
  if not best then error("no tuned kernel fits " .. problem.print(p), 0) end
  best.nearest_ns = nearest_ns(p, measured, seen)
  return best
end

return nearby
