-- Goldens: tests/golden/<template>/<case>.params + .hip or .cu, and each operation's manifest of source hashes.
-- tools/golden-update.lua makes them; nothing here writes.
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
  local templates, of_op = {}, {}
  for _, name in ipairs(loader.kernels()) do
    ok(seen[name], "template %s has no golden", name)
    local op = name:match("^[^/]+")
    templates[op] = (templates[op] or 0) + 1
  end
  for _, c in ipairs(cases) do
    local op = c.template:match("^[^/]+")
    of_op[op] = (of_op[op] or 0) + 1
    local most = math.max(30, templates[op] + 11) -- one a template is wanted above
    ok(of_op[op] <= most, "%s has more than %d goldens: the manifest and tools/same-code.lua guard the rest", op, most)
  end
end)

-- Of a family's parameters the goldens show every word, and of numbers the least and the most; every value is in them or in the
-- manifest.
test("goldens and manifest show every value of every parameter", function()
  local params, ops = loader.require("params"), loader.require("ops")
  local shown, listed = {}, {}
  local function see(set, template, text)
    for k, v in pairs(params.parse(text)) do set[template .. " " .. k .. "=" .. v] = true end
  end
  for _, c in ipairs(golden.cases(loader, T.root)) do see(shown, c.template, c.params) end
  for _, line in ipairs(golden.manifests(T.root)) do see(listed, line:match("^.-\t(.-)\t(.-)\t")) end
  local families = {}
  for _, op in ipairs(ops.names()) do
    for name, family in pairs(ops.get(op).families) do families[#families + 1] = { op .. "'s " .. name, family } end
  end
  for _, one in ipairs(families) do
    local name, family = one[1], one[2]
    for key, values in pairs(family.params) do
      local least, most = math.huge, -math.huge
      for _, v in ipairs(values) do
        if math.type(v) then least, most = math.min(least, v), math.max(most, v) end
      end
      for _, v in ipairs(values) do
        local function has(set)
          local what = " " .. key .. "=" .. v
          return set[family.template .. what] or family.body and set[family.body .. what]
        end
        local edge = not math.type(v) or v == least or v == most
        ok(has(shown) or not edge and has(listed), "no golden%s of %s with %s=%s", edge and "" or " and no line of the manifest",
          name, key, v)
      end
    end
  end
end)

test("each manifest lists exactly the kernels of its problems, sorted", function()
  for _, op in ipairs(loader.require("ops").names()) do
    local want, got = golden.kernels(loader, T.root, op), T.lines(golden.file(op, "manifest.tsv"))
    eq(#got, #want, op .. ": entries")
    for i, line in ipairs(got) do
      eq(line:match("^(.-\t.-\t.-)\t"), want[i].target .. "\t" .. want[i].template .. "\t" .. want[i].params, "entry " .. i)
      ok(line:find("\t%x+$") and #line:match("\t(%x+)$") == 64, "entry %d has no hash", i)
    end
  end
end)

test("no two kernels of the manifests share a symbol", function()
  local by = {}
  for _, line in ipairs(golden.manifests(T.root)) do
    local target, template, params = line:match("^(.-)\t(.-)\t(.-)\t")
    local symbol = emit.symbol(template, params, target)
    ok(not by[symbol], "%s: %s and %s", symbol, params, by[symbol])
    by[symbol] = params
  end
end)

-- All of them are checked by tests/gen/test_gen.c, where SHA-256 is fast; here a spread.
test("manifest hashes", function()
  local got = golden.manifests(T.root)
  for i = 1, #got, math.max(1, #got // 16) do
    local target, template, params, hash = got[i]:match("^(.-)\t(.-)\t(.-)\t(%x+)$")
    local _, now = emit.render(template, params, target)
    eq(now, hash, ("source of %s %s changed (if wanted: lua5.4 tools/golden-update.lua); hash"):format(template, params))
  end
end)
