-- The model's job is to rank. More work never takes less time, and the known facts of the machine order the families.
local T = ...
local test, eq, ok = T.test, T.eq, T.ok
local loader = T.loader()
local space, problem = loader.require("space"), loader.require("problem")

local function estimate(text, name) return space.variant(problem.parse(text), "gfx942", name).model_ns end
local function best(text)
  return space.variants(problem.parse(text), "gfx942")[1]
end
local function first_of(text, family, splits)
  for _, v in ipairs(space.variants(problem.parse(text), "gfx942")) do
    if not v.rejected and v.name:find("^" .. family .. ":") and v.splits == splits then return v end
  end
end

test("estimates are finite and positive for every candidate", function()
  for _, text in ipairs({ "mla_decode:h1,b1,s1", "mla_decode:h128,b512,s8192", "mla_decode:h16,b1,s16777216",
    "mla_decode:h128,q8,b65536,s131072" }) do
    for _, v in ipairs(space.variants(problem.parse(text), "gfx942")) do
      if not v.rejected then
        ok(v.model_ns > 0 and v.model_ns < 1e18, "%s: %s -> %s", text, v.name, v.model_ns)
      end
    end
  end
end)

test("candidates come first, best estimate first, ties by name", function()
  local list, rejected = space.variants(problem.parse("mla_decode:h16,b64,s4096"), "gfx942"), false
  for i, v in ipairs(list) do
    ok(not (rejected and not v.rejected), "candidate %s behind a rejected one", v.name)
    rejected = rejected or v.rejected ~= nil
    local w = list[i - 1]
    if w and not v.rejected then
      ok(w.model_ns < v.model_ns or w.model_ns == v.model_ns and w.name < v.name, "%s before %s", w.name, v.name)
    end
  end
end)

test("more context never takes less time", function()
  for _, family in ipairs({ "reg", "lds" }) do
    local name = (first_of("mla_decode:h16,b64,s4096", family, 1) or {}).name
    if name then
      local last = 0
      for s = 64, 65536, 4032 do
        local ns = estimate("mla_decode:h16,b64,s" .. s, name)
        ok(ns >= last, "%s at %d: %g < %g", name, s, ns, last)
        last = ns
      end
    end
  end
end)

test("more requests never take less time", function()
  local name, last = first_of("mla_decode:h16,b64,s4096", "reg", 1).name, 0
  for b = 1, 700, 3 do
    local ns = estimate("mla_decode:h16,s1024,b" .. b, name)
    ok(ns >= last, "%d requests: %g < %g", b, ns, last)
    last = ns
  end
end)

test("a combine costs at least its launch", function()
  local arch = loader.require("arch/gfx942")
  local v = first_of("mla_decode:h16,b1,s131072", "reg", 2)
  local model, p = loader.require("model"), problem.parse("mla_decode:h16,b1,s131072")
  ok(model.combine_ns(p, v.decode.cost, v.combine.cost, arch, 2) > arch.model.launch_ns / 4, "too cheap")
  eq(model.combine_ns(p, v.decode.cost, v.combine.cost, arch, 1), 0)
end)

test("one long request is split, a full device is not", function()
  ok(best("mla_decode:h16,b1,s131072").splits >= 16, "B=1 ctx=128K: %s", best("mla_decode:h16,b1,s131072").name)
  ok(best("mla_decode:h16,b512,s4096").splits <= 2, "B=512: %s", best("mla_decode:h16,b512,s4096").name)
end)

test("few heads: bound by memory, within 2x of the bytes at sustained bandwidth", function()
  local ns = best("mla_decode:h16,b128,s8192").model_ns
  ok(ns > 250e3 and ns < 600e3, "guide 3.2: 289 us realistic, got %g us", ns / 1000)
end)

-- Pairs of variants of one problem whose times differ by more than 2 %: how many does the model put in the same order?
test("ranks like the emulator's timing model", function()
  local rows, same, all = {}, 0, 0
  for _, line in ipairs(T.lines("tests/lua/emulator_times.tsv")) do
    local text, name, us = line:match("^(.-)\t(.-)\t(.*)$")
    local good, v = pcall(space.variant, problem.parse(text), "gfx942", name)
    if good then rows[#rows + 1] = { problem = text, us = tonumber(us), ns = v.model_ns } end
  end
  ok(#rows >= 40, "only %d of the recorded variants are still in the space: record new times", #rows)
  for i, a in ipairs(rows) do
    for j = i + 1, #rows do
      local b = rows[j]
      if a.problem == b.problem and math.abs(a.us - b.us) > 0.02 * a.us then
        all = all + 1
        if (a.us - b.us) * (a.ns - b.ns) > 0 then same = same + 1 end
      end
    end
  end
  ok(same >= 0.85 * all, "%d of %d pairs in the emulator's order", same, all)
end)
