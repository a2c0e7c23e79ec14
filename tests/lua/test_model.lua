-- The model's job is to rank. More work never takes less time, and the known facts of the machine order the families.
local loader = T.quick_loader()
local space, problem = loader.require("space"), loader.require("problem")

local function estimate(text, name) return space.variant(problem.parse(text), "gfx942", name).model_ns end
local function best(text)
  return space.variants(problem.parse(text), "gfx942")[1]
end
local function first_of(text, family, splits)
  for _, v in ipairs(space.variants(problem.parse(text), "gfx942")) do
    if not v.rejected and v.name:find("^" .. family .. ":") and v.knob == splits then return v end
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
  for _, family in ipairs({ "mfma_reg", "mfma_lds" }) do
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
  local name, last = first_of("mla_decode:h16,b64,s4096", "mfma_reg", 1).name, 0
  for b = 2, 700, 3 do
    local ns = estimate("mla_decode:h16,s1024,b" .. b, name)
    ok(ns >= last, "%d requests: %g < %g", b, ns, last)
    last = ns
  end
end)

test("a combine costs at least its launch", function()
  local arch = loader.require("arch/gfx942")
  local v = first_of("mla_decode:h16,b1,s131072", "mfma_reg", 2)
  local model, p = loader.require("ops/mla_decode/model"), problem.parse("mla_decode:h16,b1,s131072")
  ok(model.combine_ns(p, v.decode.cost, v.combine.cost, arch, 2) > arch.model.launch_ns / 4, "too cheap")
  -- A combine kernel after one split serves launches that cut their batch: it takes what two splits take, no less.
  eq(model.combine_ns(p, v.decode.cost, v.combine.cost, arch, 1), model.combine_ns(p, v.decode.cost, v.combine.cost, arch, 2))
  local alone = first_of("mla_decode:h16,b1,s131072", "mfma_reg", 1)
  eq(alone.model_ns, model.estimate(p, arch, alone.decode.cost, 1, 0), "without a combine kernel nothing is added")
end)

test("one long request is split, a full device is not", function()
  ok(best("mla_decode:h16,b1,s131072").knob >= 16, "B=1 ctx=128K: %s", best("mla_decode:h16,b1,s131072").name)
  ok(best("mla_decode:h16,b512,s4096").knob <= 2, "B=512: %s", best("mla_decode:h16,b512,s4096").name)
end)

test("keys that are rotated as they are read cost instructions", function()
  local text = "mla_decode:h16,b64,s4096,bf16"
  local plain, rotated = first_of(text, "mfma_reg", 1), first_of(text .. ",rope_pairs", "mfma_reg_rotate", 1)
  ok(rotated.decode.cost.wave.issue > plain.decode.cost.wave.issue, "%g for %g", rotated.decode.cost.wave.issue,
    plain.decode.cost.wave.issue)
end)

test("a ring of 8-bit weights begins once, and each further iteration costs more than that", function()
  local begin, most = {}, 0
  for _, d in ipairs({ 2048, 8192, 16384 }) do
    for _, v in ipairs(space.variants(problem.parse(("mla_o_proj:d%d,h16,v128,bf16,e4m3fn,t32"):format(d)), "sm_90a")) do
      local per_sm, rows, split = v.name:match("^ring_fp8:.*per_sm=(%d),rows=(%d+),split=(%d)")
      if rows and not v.rejected then
        local cost, n = v.project.cost, -(-(-(-d // rows) * split) // (132 * per_sm)) // 1
        local ns = cost.begin_ns - 0.1 * cost.chain_ns
        begin[n], most = begin[n] or ns, math.max(most, n)
        ok(math.abs(ns - begin[n]) < 1e-6, "%s: %g and %g ns with %d iterations", v.name, ns, begin[n], n)
      end
    end
  end
  ok(most >= 2, "no variant has a second iteration")
  ok(begin[1] > 0 and begin[2] - begin[1] > begin[1], "%g ns, and %g with a second iteration", begin[1], begin[2])
end)

test("few heads: bound by memory, within 2x of the bytes at sustained bandwidth", function()
  local ns = best("mla_decode:h16,b128,s8192").model_ns
  ok(ns > 250e3 and ns < 600e3, "guide 3.2: 289 us realistic, got %g us", ns / 1000)
end)

-- Times of the emulator's timing model (emulator_times.tsv), to compare with the closed form problem by problem.
local function recorded()
  local by, order = {}, {}
  for _, line in ipairs(T.lines("tests/lua/emulator_times.tsv")) do
    local text, name, us = line:match("^([^#].-)\t(.-)\t(.*)$")
    if text then
      if not by[text] then
        by[text] = { text = text }
        order[#order + 1] = by[text]
      end
      local good, v = pcall(space.variant, problem.parse(text), "gfx942", name)
      if good then table.insert(by[text], { us = tonumber(us), ns = v.model_ns }) end
    end
  end
  return order
end

local function rank(rows, key)
  table.sort(rows, function(a, b) return a[key] < b[key] end)
  local first = 1
  for i = 1, #rows do
    if i == #rows or rows[i + 1][key] ~= rows[i][key] then
      for k = first, i do rows[k][key .. "_rank"] = (first + i) / 2 end
      first = i + 1
    end
  end
end

local function correlation(rows)
  rank(rows, "us")
  rank(rows, "ns")
  local mean, both, a, b = (#rows + 1) / 2, 0, 0, 0
  for _, r in ipairs(rows) do
    local x, y = r.us_rank - mean, r.ns_rank - mean
    both, a, b = both + x * y, a + x * x, b + y * y
  end
  return both / math.sqrt(a * b)
end

-- docs/lab/timing-model.md states these.
test("ranks like the emulator's timing model: Spearman at least 0.85 for each problem, 0.93 on average", function()
  local sum, n = 0, 0
  for _, rows in ipairs(recorded()) do
    ok(#rows >= 12, "%s: only %d of the recorded variants are still in the space: record new times", rows.text, #rows)
    local c = correlation(rows)
    ok(c >= 0.85, "%s: %.3f", rows.text, c)
    sum, n = sum + c, n + 1
  end
  ok(n >= 10, "%d problems", n)
  ok(sum / n >= 0.93, "%.3f on average", sum / n)
end)

test("the best of the first 15 % is within 3 % of the best, for nine problems of ten", function()
  local good, n = 0, 0
  for _, rows in ipairs(recorded()) do
    rank(rows, "ns") -- leaves them in this order
    local best, first = math.huge, math.huge
    for i, r in ipairs(rows) do
      best = math.min(best, r.us)
      if i <= math.ceil(0.15 * #rows) then first = math.min(first, r.us) end
    end
    good, n = good + (first <= 1.03 * best and 1 or 0), n + 1
  end
  ok(good >= 0.9 * n, "%d of %d problems", good, n)
end)
