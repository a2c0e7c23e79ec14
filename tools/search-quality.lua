-- The report of tools/search-quality.sh: reads the *.jsonl of a folder, writes its search-quality.csv.
--   search-quality.lua DIR [finished|held|limits]   the report, or the problems whose exhaustive run is complete,
--   or that are held out, or the former each with what a pruned search may evaluate of it
local dir = arg[1] or error("usage: search-quality.lua DIR")
local WITHIN, SHARE, PROBLEMS, NEAREST = 1.03, 0.15, 0.95, 1.05

local function lines(name, schema, fn)
  for line in io.lines(dir .. "/" .. name) do
    if line:find('"schema":"mlaforge.' .. schema .. '"', 1, true) then fn(line) end
  end
end
local function text(line, key) return line:match('"' .. key .. '":"([^"]*)"') end
local function number(line, key) return tonumber(line:match('"' .. key .. '":([-%d.eE+]+)')) end

-- Problems whose exhaustive run is complete, in its order: { name, space, best }.
local problems, order = {}, {}
lines("exhaustive.jsonl", "tune", function(line)
  local name, best = text(line, "problem"), line:match('"best":(%b{})')
  if not best or text(line, "stopped") ~= "" or problems[name] then return end
  order[#order + 1] = name
  problems[name] = { name = name, space = number(line, "space"), best = number(best, "ns") }
end)
if arg[2] == "limits" then -- what a pruned search may evaluate of each; the tuner's own least
  for _, name in ipairs(order) do print(name, math.max(12, math.floor(SHARE * problems[name].space))) end
  os.exit(0)
end
if arg[2] == "finished" then
  for _, name in ipairs(order) do print(name) end
  os.exit(0)
end

-- Held out: every second context length of a family and batch.
local function split(name) -- family, batch, ctx
  local family, b, s = name:match("^(.*),b(%d+),s(%d+)$")
  return family, tonumber(b), tonumber(s)
end
local rows, held = {}, {}
for _, name in ipairs(order) do
  local family, b = split(name)
  local key = family .. ",b" .. b
  if not rows[key] then
    rows[key] = {}
    rows[#rows + 1] = rows[key]
  end
  table.insert(rows[key], name)
end
for _, row in ipairs(rows) do
  table.sort(row, function(a, b) return select(3, split(a)) < select(3, split(b)) end)
  for i = 2, #row - 1, 2 do held[row[i]] = true end
end
if arg[2] == "held" then
  for _, name in ipairs(order) do
    if held[name] then print(name) end
  end
  os.exit(0)
end

lines("pruned.jsonl", "tune", function(line)
  local p, best = problems[text(line, "problem")], line:match('"best":(%b{})')
  if not p or not best then return end
  p.evaluations, p.found, p.variant = number(line, "candidates"), number(best, "ns"), text(best, "variant")
end)
-- Samples of a search that measured for itself: the exhaustive run's sample of what it found.
lines("samples.jsonl", "sample", function(line)
  local p = problems[text(line, "problem")]
  if p and p.variant == text(line, "variant") and text(line, "outcome") == "ok" then p.sampled = number(line, "ns") end
end)
lines("nearest.jsonl", "bench", function(line)
  local p = problems[text(line, "problem")]
  if p and text(line, "rung") ~= "exact" then p.planned, p.rung = number(line, "ns"), text(line, "rung") end
end)
local grid = 0
lines("grid.jsonl", "would_tune", function() grid = grid + 1 end)
local csv = assert(io.open(dir .. "/search-quality.csv", "w"))
csv:write("kind,problem,space,tried,best_ns,found_ns,ratio\n")
local function record(kind, p, tried, ns)
  csv:write(("%s,%s,%d,%d,%.1f,%.1f,%.5f\n"):format(kind, '"' .. p.name .. '"', p.space, tried, p.best, ns, ns / p.best))
end

local good, all, spent, total, worst = 0, 0, 0, 0, 0
local thrifty = 0
print(("%-62s %9s %9s %8s %7s %7s"):format("problem", "best us", "pruned us", "behind", "tried", "share"))
for _, name in ipairs(order) do
  local p = problems[name]
  if p.found then
    local ratio, share = math.max(p.found, p.sampled or 0) / p.best, p.evaluations / p.space
    all, spent, total = all + 1, spent + p.evaluations, total + p.space
    if ratio <= WITHIN then good = good + 1 end
    if share <= SHARE then thrifty = thrifty + 1 end
    worst = math.max(worst, ratio)
    record("pruned", p, p.evaluations, p.found)
    print(("%-62s %9.2f %9.2f %7.2f%% %7d %6.1f%%"):format(
      name, p.best / 1e3, p.found / 1e3, 100 * (ratio - 1), p.evaluations, 100 * share))
  end
end
if all == 0 then print("no problem was searched both ways") os.exit(1) end

local near_good, near_all, near_worst = 0, 0, 0
print(("\n%-62s %9s %9s %8s  %s"):format("held-out problem", "best us", "planned us", "behind", "nearest tuned, rung"))
for _, name in ipairs(order) do
  local p, family, b, s = problems[name], split(name)
  local nearest, at
  for _, other in ipairs(held[name] and order or {}) do
    local f, ob, os_ = split(other)
    local d = math.abs(math.log(ob / b, 2)) + math.abs(math.log(os_ / s, 2))
    if f == family and not held[other] and (not at or d < at or d == at and other < nearest) then nearest, at = other, d end
  end
  local ns = nearest and p.planned -- what a plan that knows the other shapes really takes
  if nearest then
    near_all = near_all + 1
    local ratio = ns and ns / p.best or math.huge
    if ratio <= NEAREST then near_good = near_good + 1 end
    near_worst = math.max(near_worst, ratio)
    if ns then record("nearest", p, 0, ns) end
    print(("%-62s %9.2f %9.2f %7.2f%%  %s, %s"):format(name, p.best / 1e3, (ns or 0) / 1e3, 100 * (ratio - 1), nearest,
      p.rung or "no plan"))
  end
end

print((
  "\npruned search: within %g %% of the exhaustive best on %d of %d problems (%.0f %%; wanted %.0f %%), worst %.2f %%"):format(
  100 * (WITHIN - 1), good, all, 100 * good / all, 100 * PROBLEMS, 100 * (worst - 1)))
print(("evaluations: %d of %d (%.1f %%); at most %.0f %% on %d of %d problems"):format(
  spent, total, 100 * spent / total, 100 * SHARE, thrifty, all))
if near_all > 0 then
  print(("nearest choice on held-out shapes: within %g %% of the best on %d of %d, worst %.2f %%"):format(
    100 * (NEAREST - 1), near_good, near_all, 100 * (near_worst - 1)))
end
csv:close()
local met = good / all >= PROBLEMS and spent / total <= SHARE and near_good == near_all
if all < grid then print(("%d of the grid's %d problems are finished: the same command goes on"):format(all, grid)) end
os.exit(not met and 1 or all < grid and 2 or 0)
