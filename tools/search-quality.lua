-- The report of tools/search-quality.sh: reads exhaustive.jsonl, pruned.jsonl and nearest.jsonl of a folder.
local dir = arg[1] or error("usage: search-quality.lua DIR")
local WITHIN, SHARE, PROBLEMS, NEAREST = 1.03, 0.15, 0.95, 1.05

local function lines(name, schema, fn)
  for line in io.lines(dir .. "/" .. name) do
    if line:find('"schema":"mlaforge.' .. schema .. '"', 1, true) then fn(line) end
  end
end
local function text(line, key) return line:match('"' .. key .. '":"([^"]*)"') end
local function number(line, key) return tonumber(line:match('"' .. key .. '":([-%d.eE+]+)')) end

-- problem -> { best, space, evaluations, found }
local problems, order = {}, {}
lines("exhaustive.jsonl", "tune", function(line)
  local name, best = text(line, "problem"), line:match('"best":(%b{})')
  if not best then return end
  order[#order + 1] = name
  problems[name] = { name = name, space = number(line, "space"), best = number(best, "ns") }
end)
lines("pruned.jsonl", "tune", function(line)
  local p, best = problems[text(line, "problem")], line:match('"best":(%b{})')
  if p and best then p.evaluations, p.found = number(line, "candidates"), number(best, "ns") end
end)
if arg[2] ~= "held" then
  lines("nearest.jsonl", "bench", function(line)
    local p = problems[text(line, "problem")]
    if p and text(line, "rung") == "nearest" then p.planned = number(line, "ns") end
  end)
end

-- Held out: every second context length, within each family and batch; its neighbours in log2 of batch and ctx, as planning.
local function split(name) -- family, batch, ctx
  local family, b, s = name:match("^(.*),b(%d+),s(%d+)$")
  return family, tonumber(b), tonumber(s)
end
local lengths = {}
for _, name in ipairs(order) do
  local _, _, s = split(name)
  lengths[s] = true
end
local sorted = {}
for s in pairs(lengths) do sorted[#sorted + 1] = s end
table.sort(sorted)
local held = {}
for i = 2, #sorted - 1, 2 do held[sorted[i]] = true end
-- "held" as second argument: only say which context lengths these are.
if arg[2] == "held" then
  for i = 2, #sorted - 1, 2 do print(sorted[i]) end
  os.exit(0)
end

local good, all, spent, total, worst = 0, 0, 0, 0, 0
local thrifty = 0
print(("%-62s %9s %9s %8s %7s %7s"):format("problem", "best us", "pruned us", "behind", "tried", "share"))
for _, name in ipairs(order) do
  local p = problems[name]
  if p.found then
    local ratio, share = p.found / p.best, p.evaluations / p.space
    all, spent, total = all + 1, spent + p.evaluations, total + p.space
    if ratio <= WITHIN then good = good + 1 end
    if share <= SHARE then thrifty = thrifty + 1 end
    worst = math.max(worst, ratio)
    print(("%-62s %9.2f %9.2f %7.2f%% %7d %6.1f%%"):format(
      name, p.best / 1e3, p.found / 1e3, 100 * (ratio - 1), p.evaluations, 100 * share))
  end
end
if all == 0 then print("no problem was searched both ways") os.exit(1) end

local near_good, near_all, near_worst = 0, 0, 0
print(("\n%-62s %9s %9s %8s  %s"):format("held-out problem", "best us", "nearest us", "behind", "choice of"))
for _, name in ipairs(order) do
  local p, family, b, s = problems[name], split(name)
  local nearest, at
  for _, other in ipairs(held[s] and order or {}) do
    local f, ob, os_ = split(other)
    local d = math.abs(math.log(ob / b, 2)) + math.abs(math.log(os_ / s, 2))
    if f == family and not held[os_] and (not at or d < at or d == at and other < nearest) then nearest, at = other, d end
  end
  local ns = nearest and p.planned -- what a plan that knows the other shapes really takes
  if nearest then
    near_all = near_all + 1
    local ratio = ns and ns / p.best or math.huge
    if ratio <= NEAREST then near_good = near_good + 1 end
    near_worst = math.max(near_worst, ratio)
    print(("%-62s %9.2f %9.2f %7.2f%%  %s"):format(name, p.best / 1e3, (ns or 0) / 1e3, 100 * (ratio - 1), nearest))
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
os.exit(good / all >= PROBLEMS and spent / total <= SHARE and near_good == near_all and 0 or 1)
