-- Which variant serves a problem that nobody tuned, when problems of its shape near it were: the model, corrected by what was
-- measured there. A candidate's estimate is multiplied by the mean of measured over modelled of its own decode kernel nearby. A
-- measurement counts the more the liker the launch and the nearer the problem; all of them together count a little. The estimate
-- is raised the more the less is known of its kernel: the lowest of fifty guesses is mostly the luckiest. What the numbers below
-- give: docs/lab/search.md, "Nearest choice".
local params = require("params")
local problem = require("problem")
local space = require("space")

local nearby = {}

local COMMON = 0.05 -- weight of what all measurements say, beside those of the kernel itself: one of a like launch has 1
local DOUBT = 0.2   -- logarithm: with no measurement of the kernel an estimate were raised by 22 %, by less the more there are
local UNKNOWN = 0.4 -- and a kernel that nobody measured near, of which nothing says that it runs well at all, by 49 %

local function ceil_div(a, b) return -(-a // b) end

local function doublings(a, b) return math.abs(math.log(a / b, 2)) end

local function kernel_of(name) return name:match("^[^/]*") end

-- What the model's error depends on: rounds of tokens in a block, and blocks.
local function launch(p, v)
  local tiles, groups = ceil_div(p.ctx, v.decode.step), ceil_div(p.heads * p.q_len, v.decode.rows_per_wg)
  return { rounds = ceil_div(tiles, v.splits), blocks = groups * v.splits * p.batch }
end

-- In doublings. Blocks count six times as much as rounds: how they fill the device decides, and goes in steps.
local function unlike(a, b)
  return doublings(a.rounds, b.rounds) / 2 + 3 * doublings(a.blocks, b.blocks)
end

-- What was measured, as far as today's generator makes the same kernels: by decode kernel; the mean ratio of all; the kernels
-- that were too slow wherever they were measured, with their templates' hashes.
local function evidence(p, target, measured)
  local by_kernel, slow, sum, weights, problems = {}, {}, 0, 0, {}
  for i, m in ipairs(measured) do
    local key, where = kernel_of(m.variant), m.batch .. "x" .. m.ctx
    local at = problems[where] or params.merge(p, { batch = m.batch, ctx = m.ctx })
    local known, v = not m.slow, nil
    problems[where] = at
    if m.slow then slow[key] = m.template_hash
    else known, v = pcall(space.variant, at, target, m.variant) end
    if known and (m.template_hash == "" or m.template_hash == v.decode.template_hash) then
      local one = launch(at, v)
      one.from, one.far = i, doublings(m.batch, p.batch) + doublings(m.ctx, p.ctx)
      one.ratio = math.log(m.ns / v.model_ns)
      by_kernel[key] = by_kernel[key] or {}
      table.insert(by_kernel[key], one)
      sum, weights = sum + 2 ^ -one.far * one.ratio, weights + 2 ^ -one.far
    end
  end
  return by_kernel, weights > 0 and sum / weights, slow
end

-- What the variant should take, given the measurements of its kernel (nil: none), raised by what is not known.
local function estimate(p, v, list, common)
  if not list then return v.model_ns * math.exp(common + UNKNOWN) end
  local here = launch(p, v)
  local sum, weights = COMMON * common, COMMON
  for _, m in ipairs(list) do
    local weight = 2 ^ -(unlike(m, here) + m.far / 2)
    sum, weights = sum + weight * m.ratio, weights + weight
  end
  return v.model_ns * math.exp(sum / weights + DOUBT * math.sqrt(COMMON / weights))
end

-- The estimate of the nearest choice's kernel, 0 if it does not fit. What was timed with one request and is no candidate for
-- several was no choice for them (runtime/op/nearest.h).
local function nearest_ns(p, measured, estimates)
  for _, m in ipairs(measured) do
    local ns = estimates[kernel_of(m.variant)]
    if ns or p.batch == 1 or m.batch > 1 then return ns or 0 end
  end
  return 0
end

-- measured: list of { batch, ctx, variant, template_hash, ns, slow } of problems of p's shape, the nearest choice first; slow:
-- the kernel was too slow wherever it was measured and shall not serve. Returns { variant, ns, from = whose kernel it is (the
-- first such index into measured), nearest_ns = the same of the nearest choice's kernel }. from is 0 for a kernel that was not
-- measured: only where `any` allows.
function nearby.choose(p, target, measured, any)
  local by_kernel, common, slow = evidence(p, target, measured)
  if not common then error("the generator makes none of the tuned variants any more", 0) end
  local best
  local seen = {} -- candidates come best first: a kernel's first has the splits that the model likes best
  for _, v in ipairs(space.variants(p, target)) do
    local key = kernel_of(v.name)
    if v.rejected then break end
    if not seen[key] and (by_kernel[key] or any and slow[key] ~= v.decode.template_hash) then
      local list = by_kernel[key]
      local ns = estimate(p, v, list, common)
      seen[key] = ns
      if not best or ns < best.ns then best = { variant = v, ns = ns, from = list and list[1].from or 0 } end
    end
  end
  if not best then error("no tuned kernel fits " .. problem.print(p), 0) end
  best.nearest_ns = nearest_ns(p, measured, seen)
  return best
end

return nearby
