-- Goldens: a kernel's source for readers, one for each body (tests/golden/<body>.cu, .hip or .lib). Manifests: the hash of every
-- kernel of tests/golden/<operation>/problems.txt and kernels.txt. tools/golden-update.lua makes them; nothing here writes.
local T = ...
local test, eq, ok = T.test, T.eq, T.ok
local loader = T.loader()
local emit, golden = loader.require("emit"), dofile(T.root .. "/tools/golden.lua")
local cases = golden.cases(loader, T.root)

test("every golden matches what its template renders now", function()
  local quick, diff = T.quick_loader(2048), nil -- symbols are in the text, the hash of the text is not
  for file, got in pairs(golden.texts(quick, cases)) do
    local want = T.read(file)
    if want ~= got then diff = diff or T.diff(want or "", got, file) end
  end
  ok(not diff, "goldens differ (after a wanted change: lua5.4 tools/golden-update.lua)\n%s", diff)
end)

test("each body has one golden, each template a kernel in kernels.txt", function()
  local shown, listed = {}, {}
  for _, c in ipairs(cases) do
    listed[c.template] = true
    ok(not (c.file and shown[c.body]), "%s has two goldens: the manifest and tools/same-code.lua guard the rest", c.body)
    shown[c.body] = shown[c.body] or c.file
  end
  for _, name in ipairs(loader.kernels()) do
    local folder = name:match("^(.-)/") or "tools"
    ok(listed[name], "template %s is not in %s", name, golden.file(folder, "kernels.txt"))
    ok(shown[golden.body(loader, name)], "%s has no golden: write 'golden' behind a kernel of it in %s",
      golden.body(loader, name), golden.file(folder, "kernels.txt"))
  end
end)

test("the manifests show every value of every parameter", function()
  local params, ops = loader.require("params"), loader.require("ops")
  local listed = {}
  for _, line in ipairs(golden.manifests(T.root)) do
    local template, text = line:match("^.-\t(.-)\t(.-)\t")
    for k, v in pairs(params.parse(text)) do listed[template .. " " .. k .. "=" .. v] = true end
  end
  for _, op in ipairs(ops.names()) do
    for name, family in pairs(ops.get(op).families) do
      for key, values in pairs(family.params) do
        for _, v in ipairs(values) do
          local what = " " .. key .. "=" .. v
          ok(listed[family.template .. what] or family.body and listed[family.body .. what],
            "no kernel of %s's %s with%s in its manifest: add a line to %s", op, name, what, golden.file(op, "kernels.txt"))
        end
      end
    end
  end
end)

test("each manifest lists exactly the kernels of its problems, sorted", function()
  for _, op in ipairs(golden.folders(loader)) do
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

-- Kernels of kernels.txt are all families and words: with all of them no line of a template changes unseen. Of a sample: at least
-- one kernel of each file, since goldens fold files without parameters to their names. A share of the others is checked by
-- tests/gen/test_gen.c, where SHA-256 is fast.
T.sampled(6, "manifest hashes", function(mine)
  local listed, covered = {}, {}
  local function brings_a_file(template)
    local brings = false
    for _, file in ipairs(loader.closure(template).list) do
      brings, covered[file.path] = brings or not covered[file.path], true
    end
    return brings
  end
  for _, line in ipairs(golden.manifests(T.root)) do
    local key, hash = line:match("^(.*)\t(%x+)$")
    listed[key] = hash
  end
  for i, c in ipairs(cases) do
    if brings_a_file(c.template) or mine(i) then
      local good, source, now = pcall(emit.render, c.template, c.params, c.target)
      ok(good, "%s: %s", c.name, tostring(source))
      eq(now, listed[c.target .. "\t" .. c.template .. "\t" .. c.params],
        ("source of %s changed (if wanted: lua5.4 tools/golden-update.lua); hash"):format(c.name))
    end
  end
end)
