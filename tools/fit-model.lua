-- lua5.4 tools/fit-model.lua SAMPLES... [-n ROUNDS]: fits gen/ops/mla_decode/times.lua to what was measured, prints the
-- constants. SAMPLES: lines of "problem<tab>variant<tab>ns" for sm_90a, e.g. from `mlaforge db show PROBLEM --samples
-- --json`. What is made small: the mean loss of time by taking the model's first of the variants that were measured, and, so
-- that the search has a slope, the error of the estimates, near the best of each problem most; problems count alike. Random
-- steps of one constant at a time; a given seed.
local root = arg[0]:match("^(.*)/tools/[^/]*$") or "."
local loader = dofile(root .. "/gen/host.lua")(root)
local space, problem, params = loader.require("space"), loader.require("problem"), loader.require("params")
local all_times = loader.require("ops/mla_decode/times")
local times = all_times.fitted
for _, key in ipairs { "round", "meet", "first" } do all_times.measured.uneven[key] = 0 end -- equal ones

local TARGET, ERROR, NEAR = "sm_90a", 0.5, 4 -- target; weight of the errors beside the loss; how fast a variant's weight falls

local function read(files)
  local by, order = {}, {}
  for _, file in ipairs(files) do
    for line in io.lines(file) do
      local text, name, ns = line:match("^([^\t]+)\t([^\t]+)\t([%d.]+)$")
      assert(text, file .. ": " .. line)
      if not by[text] then
        by[text] = { problem = problem.parse(text), ns = {} }
        order[#order + 1] = by[text]
      end
      by[text].ns[name] = math.min(by[text].ns[name] or math.huge, tonumber(ns))
    end
  end
  local known = {} -- problems of which something was measured that the space still has
  for _, one in ipairs(order) do
    one.best = math.huge
    for name, ns in pairs(one.ns) do
      if pcall(space.variant, one.problem, TARGET, name) then one.best = math.min(one.best, ns) else one.ns[name] = nil end
    end
    if next(one.ns) then known[#known + 1] = one end
  end
  return known
end

local function score(all)
  local loss, error = 0, 0
  for _, one in ipairs(all) do
    local p = params.merge(one.problem, {}) -- a table of its own: kernels are remembered by it
    local first, taken, errors, weights = math.huge, one.best, 0, 0
    for name, ns in pairs(one.ns) do
      local model = space.variant(p, TARGET, name).model_ns
      local weight = math.exp(-NEAR * (ns / one.best - 1))
      if model < first then first, taken = model, ns end
      errors, weights = errors + weight * math.log(model / ns) ^ 2, weights + weight
    end
    loss, error = loss + math.log(taken / one.best), error + errors / weights
  end
  return (loss + ERROR * error) / #all, math.exp(loss / #all), math.sqrt(error / #all)
end

local files, rounds = {}, 400
for i = 1, #arg do
  if arg[i] == "-n" then rounds = tonumber(arg[i + 1]) elseif arg[i - 1] ~= "-n" then files[#files + 1] = arg[i] end
end
local all, knobs = read(files), {}
for family, list in pairs(times) do
  for key in pairs(list) do knobs[#knobs + 1] = { family, key } end
end
table.sort(knobs, function(a, b) return a[1] .. a[2] < b[1] .. b[2] end)
math.randomseed(1)
local best, loss, rms = score(all)
io.stderr:write(("%d problems: score %.4f, loss %.4f, error %.3f\n"):format(#all, best, loss, rms))
for round = 1, rounds do
  local family, key = table.unpack(knobs[math.random(#knobs)])
  local was = times[family][key]
  local unit = math.abs(was) > 20 and math.abs(was) or was ~= 0 and was < 1 and 0.1 or 1000
  times[family][key] = was + unit * (math.random() - 0.5) * (round < rounds / 2 and 0.8 or 0.3)
  local now, l, r = score(all)
  if now < best then
    best, loss, rms = now, l, r
    io.stderr:write(("%d: %s.%s %.4g: score %.4f, loss %.4f, error %.3f\n"):format(round, family, key, times[family][key], best,
      loss, rms))
  else
    times[family][key] = was
  end
end
for _, knob in ipairs(knobs) do print(("%s.%s = %.4g"):format(knob[1], knob[2], times[knob[1]][knob[2]])) end
