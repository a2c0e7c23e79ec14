-- Which variant serves a problem that nobody tuned, when problems of its shape near it were: the model, corrected by what was
-- measured there. A candidate's estimate is multiplied by the mean of measured over modelled of its own decode kernel nearby. A
-- measurement counts the more the liker the launch (rounds of tokens in a block, blocks) and the nearer the problem; all of them
-- together count a little, so that one odd one does not decide. What the numbers below give: docs/tuning.md, "Nearest choice".
local params = require("params")
local problem = require("problem")
local space = require("space")

local nearby = {}

local COMMON = 0.2   -- weight of what all measurements say, beside those of the kernel itself
local UNKNOWN = 1.22 -- a kernel that was not measured nearby must be this much better
local KEEP = 1.05    -- and any other than the nearest choice's this much: estimates no farther apart are a draw

local function ceil_div(a, b) return -(-a // b) end

local function doublings(a, b) return math.abs(math.log(a / b, 2)) end

local function kernel_of(name) return name:match("^[^/]*") end

-- Rounds of tokens in a block, blocks.
local function launch(p, v)
  local k, tiles = v.decode, ceil_div(p.ctx, v.decode.step)
  local groups = ceil_div(p.heads * p.q_len, k.rows_per_wg)
  if v.balanced then return ceil_div(p.batch * tiles, v.splits), groups * v.splits end
  return ceil_div(tiles, v.splits), groups * v.splits * p.batch
end

-- What was measured, as far as today's generator makes the same kernels: by decode kernel, and the mean ratio of all.
local function evidence(p, target, measured)
  local by_kernel, sum, weights = {}, 0, 0
  for i, m in ipairs(measured) do
    local at = params.merge(p, { batch = m.batch, ctx = m.ctx })
    local known, v = pcall(space.variant, at, target, m.variant)
    if known and (m.template_hash == "" or m.template_hash == v.decode.template_hash) then
      local far = doublings(m.batch, p.batch) + doublings(m.ctx, p.ctx)
      local rounds, blocks = launch(at, v)
      local one = { from = i, far = far, rounds = rounds, blocks = blocks, ratio = math.log(m.ns / v.model_ns) }
      local key = kernel_of(m.variant)
      by_kernel[key] = by_kernel[key] or {}
      table.insert(by_kernel[key], one)
      sum, weights = sum + 2 ^ -far * one.ratio, weights + 2 ^ -far
    end
  end
  return by_kernel, weights > 0 and sum / weights
end

-- What the variant should take, given the measurements of its kernel (nil: none).
local function estimate(p, v, list, common)
  if not list then return v.model_ns * math.exp(common) * UNKNOWN end
  local rounds, blocks = launch(p, v)
  local sum, weights = COMMON * common, COMMON
  for _, m in ipairs(list) do
    local weight = 2 ^ -(doublings(rounds, m.rounds) + doublings(blocks, m.blocks) + m.far / 2)
    sum, weights = sum + weight * m.ratio, weights + weight
  end
  return v.model_ns * math.exp(sum / weights)
end

-- measured: list of { batch, ctx, variant, template_hash, ns } of problems of p's shape, the nearest choice first. Returns
-- { variant, ns, from = whose kernel it is (the first such index into measured), nearest_ns = the same of the nearest choice's
-- kernel }. from is 0 for a kernel that was not measured: only where `any` allows.
function nearby.choose(p, target, measured, any)
  local by_kernel, common = evidence(p, target, measured)
  if not common then error("the generator makes none of the tuned variants any more", 0) end
  local first, best, nearest = kernel_of(measured[1].variant), nil, nil
  local seen = {} -- candidates come best first: a kernel's first has the splits that the model likes best
  for _, v in ipairs(space.variants(p, target)) do
    local key = kernel_of(v.name)
    if v.rejected then break end
    if not seen[key] and (any or by_kernel[key]) then
      local list = by_kernel[key]
      local one = { variant = v, ns = estimate(p, v, list, common), from = list and list[1].from or 0 }
      seen[key] = true
      if key == first then nearest = one end
      if not best or one.ns < best.ns then best = one end
    end
  end
  if not best then error("no tuned kernel fits " .. problem.print(p), 0) end
  local taken = nearest and nearest.ns <= KEEP * best.ns and nearest or best
  taken.nearest_ns = nearest and nearest.ns or 0
  return taken
end

return nearby
