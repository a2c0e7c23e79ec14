-- tools/search-quality.lua on folders of scripted runs.

local names = { "exhaustive", "pruned", "samples", "nearest", "grid" }

-- files: name -> lines. The report's output and exit code; the folder is gone behind it.
local function report(files, what)
  local dir = os.tmpname()
  os.remove(dir)
  assert(os.execute("mkdir " .. dir))
  for _, name in ipairs(names) do
    local f = assert(io.open(dir .. "/" .. name .. ".jsonl", "w"))
    for _, line in ipairs(files[name] or {}) do f:write(line, "\n") end
    f:close()
  end
  local pipe = io.popen(("%s %s/tools/search-quality.lua %s %s 2>&1"):format(T.lua, T.root, dir, what or ""))
  local text = pipe:read("a")
  local _, _, code = pipe:close()
  os.execute("rm -r " .. dir)
  return text, code
end

local function tuned(problem, variant, ns, candidates)
  local best = ('{"variant":"%s","ns":%g}'):format(variant, ns)
  local run = '{"schema":"mlaforge.tune","problem":"%s","space":200,"candidates":%d,"stopped":"","best":%s}'
  return run:format(problem, candidates, best)
end
local function sampled(problem, variant, ns, outcome)
  return ('{"schema":"mlaforge.sample","problem":"%s","variant":"%s","outcome":"%s","timing":{"ns":%g}}'):format(
    problem, variant, outcome or "ok", ns)
end
local function asked(problem) return ('{"schema":"mlaforge.would_tune","problem":"%s"}'):format(problem) end

local function folder(with)
  local files = {
    exhaustive = { tuned("p,b1,s1", "best", 1000, 200), tuned("p,b1,s2", "best", 2000, 200) },
    pruned = { tuned("p,b1,s1", "best", 1010, 30), tuned("p,b1,s2", "other", 2010, 30) },
    grid = { asked("p,b1,s1"), asked("p,b1,s2") },
  }
  for name, lines in pairs(with or {}) do files[name] = lines end
  return files
end

test("what the pruned search found is judged by its time", function()
  local text, code = report(folder())
  eq(code, 0, text)
  ok(text:find("within 3 %% of the exhaustive best on 2 of 2 problems %(100 %%; wanted 95 %%%), worst 1.00 %%"), text)
  ok(text:find("evaluations: 60 of 400 (15.0 %)", 1, true), text)
  text, code = report(folder({ pruned = { tuned("p,b1,s1", "best", 1010, 30), tuned("p,b1,s2", "other", 2070, 30) } }))
  eq(code, 1, text)
  ok(text:find("on 1 of 2 problems", 1, true), text)
end)

test("of a search that measured for itself the worse of two times counts", function()
  local text, code = report(folder({ samples = { sampled("p,b1,s1", "best", 1000), sampled("p,b1,s2", "best", 2000),
    sampled("p,b1,s2", "other", 2100) } }))
  eq(code, 1, text)
  ok(text:find("on 1 of 2 problems (50 %; wanted 95 %), worst 5.00 %", 1, true), text)
  text, code = report(folder({ samples = { sampled("p,b1,s2", "other", 2020), sampled("p,b1,s1", "best", 9000, "noisy") } }))
  eq(code, 0, text)
  ok(text:find("worst 1.00 %", 1, true), text)
end)

test("what a search may evaluate", function()
  local little = tuned("p,b1,s1", "best", 1000, 20):gsub('"space":200', '"space":20')
  local stopped = tuned("p,b1,s4", "best", 1000, 20):gsub('"stopped":""', '"stopped":"cancelled"')
  eq(report({ exhaustive = { little, tuned("p,b1,s2", "best", 1, 200), stopped } }, "limits"), "p,b1,s1\t12\np,b1,s2\t30\n")
end)

test("more evaluations than the share, and problems that are left", function()
  local text, code = report(folder({ pruned = { tuned("p,b1,s1", "best", 1000, 31), tuned("p,b1,s2", "best", 2000, 30) } }))
  eq(code, 1, text)
  text, code = report(folder({ grid = { asked("p,b1,s1"), asked("p,b1,s2"), asked("p,b1,s4") } }))
  eq(code, 2, text)
  ok(text:find("2 of the grid's 3 problems are finished", 1, true), text)
end)
