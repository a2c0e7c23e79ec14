-- Goldens: tests/golden/<template>/<case>.params + .hip or .cu, and the manifest of source hashes. tools/golden-update.lua makes
-- them; nothing here writes.
local T = ...
local test, eq, ok = T.test, T.eq, T.ok
local loader = T.loader()
local emit, golden = loader.require("emit"), dofile(T.root .. "/tools/golden.lua")

test("every golden matches what its template renders now", function()
  local quick = T.quick_loader(2048) -- symbols are in the text, the hash of the text is not
  local cases, seen, diffs = golden.cases(quick, T.root), {}, {}
  for _, c in ipairs(cases) do
    seen[c.template] = (seen[c.template] or 0) + 1
    local want, good, got = T.read(c.file), pcall(quick.require("emit").golden, c.template, c.params, c.target)
    ok(good, "%s: %s", c.name, tostring(got))
    if want ~= got and #diffs < 1 then diffs[#diffs + 1] = T.diff(want or "", got, c.name) end
  end
  ok(#diffs == 0, "goldens differ (after a wanted change: lua5.4 tools/golden-update.lua)\n%s", table.concat(diffs, "\n"))
  for _, name in ipairs(loader.kernels()) do ok(seen[name], "template %s has no golden", name) end
  ok(#cases >= 15 and #cases <= 60, "%d goldens, 15 to 60 wanted", #cases)
end)

test("goldens show every value of every parameter", function()
  local params, families = loader.require("params"), loader.require("ops").get("mla_decode").families
  local seen = {}
  for _, c in ipairs(golden.cases(loader, T.root)) do
    for k, v in pairs(params.parse(c.params)) do seen[c.template .. " " .. k .. "=" .. v] = true end
  end
  for _, family in pairs(families) do
    for name, values in pairs(family.params) do
      for _, value in ipairs(values) do
        local key = " " .. name .. "=" .. value
        ok(seen[family.template .. key] or family.body and seen[family.body .. key], "no golden of %s with %s=%s",
          family.template, name, value)
      end
    end
  end
end)

test("the manifest lists exactly the kernels of its problems, sorted", function()
  local want, got = golden.kernels(loader, T.root), T.lines("tests/golden/manifest.tsv")
  eq(#got, #want, "entries")
  for i, line in ipairs(got) do
    eq(line:match("^(.-\t.-\t.-)\t"), want[i].target .. "\t" .. want[i].template .. "\t" .. want[i].params, "entry " .. i)
    ok(line:find("\t%x+$") and #line:match("\t(%x+)$") == 64, "entry %d has no hash", i)
  end
end)

test("no two kernels of the manifest share a symbol", function()
  local by = {}
  for _, line in ipairs(T.lines("tests/golden/manifest.tsv")) do
    local target, template, params = line:match("^(.-)\t(.-)\t(.-)\t")
    local symbol = emit.symbol(template, params, target)
    ok(not by[symbol], "%s: %s and %s", symbol, params, by[symbol])
    by[symbol] = params
  end
end)

-- All of them are checked by tests/gen/test_gen.c, where SHA-256 is fast; here a spread.
test("manifest hashes", function()
  local got = T.lines("tests/golden/manifest.tsv")
  for i = 1, #got, math.max(1, #got // 16) do
    local target, template, params, hash = got[i]:match("^(.-)\t(.-)\t(.-)\t(%x+)$")
    local _, now = emit.render(template, params, target)
    eq(now, hash, ("source of %s %s changed (if wanted: lua5.4 tools/golden-update.lua); hash"):format(template, params))
  end
end)
