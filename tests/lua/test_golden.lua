-- Goldens: a kernel's source for readers, one for each body (tests/golden/<body>.cu, .hip or .lib). Manifests: the hash of every
-- kernel of tests/golden/<operation>/problems.txt and kernels.txt. tools/golden-update.lua makes them; nothing here writes.
local loader = T.loader()
local emit, golden = loader.require("emit"), dofile(T.root .. "/tools/golden.lua")
local cases = golden.cases(loader, T.root)
local listed = {} -- the kernels of all manifests, with their hashes
for _, folder in ipairs(golden.folders(loader)) do
  for _, k in ipairs(golden.listed(loader, T.root, folder)) do listed[#listed + 1] = k end
end

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
  local shown = {}
  for _, kernel in ipairs(listed) do
    for k, v in pairs(params.parse(kernel.params)) do shown[kernel.template .. " " .. k .. "=" .. v] = true end
  end
  for _, op in ipairs(ops.names()) do
    for name, family in pairs(ops.get(op).families) do
      for key, values in pairs(family.params) do
        for _, v in ipairs(values) do
          local what = " " .. key .. "=" .. v
          ok(shown[family.template .. what] or family.body and shown[family.body .. what],
            "no kernel of %s's %s with%s in its manifest: add a line to %s", op, name, what, golden.file(op, "kernels.txt"))
        end
      end
    end
  end
end)

test("each manifest has a hash for each kernel of its lists, and no other", function()
  for _, folder in ipairs(golden.folders(loader)) do
    local kernels = golden.listed(loader, T.root, folder)
    for _, k in ipairs(kernels) do
      ok(k.hash and #k.hash == golden.DIGITS, "%s %s %s has no hash: lua5.4 tools/golden-update.lua %s", k.target, k.template,
        k.params, folder)
    end
    eq(T.read(golden.file(folder, "manifest.txt")), golden.manifest(kernels), folder .. ": text")
  end
end)

test("no two kernels of the manifests share a symbol", function()
  local by = {}
  for _, k in ipairs(listed) do
    local symbol = emit.symbol(k.template, k.params, k.target)
    ok(not by[symbol], "%s: %s and %s", symbol, k.params, by[symbol])
    by[symbol] = k.params
  end
end)

-- Kernels of kernels.txt are all families and words: with all of them no line of a template changes unseen. Of a sample: at least
-- one kernel of each file, since goldens fold files without parameters to their names. A share of the others is checked by
-- tests/gen/test_gen.c, where SHA-256 is fast.
T.sampled(6, "manifest hashes", function(mine)
  local hashes, covered, loader = {}, {}, T.loader()
  local emit = loader.require("emit")
  -- It stands in a comment, which the hash of the code leaves out, and is more than half of what would be hashed.
  loader.template_hash = function() return ("0"):rep(64) end
  local function brings_a_file(template)
    local brings = false
    for _, file in ipairs(loader.closure(template).list) do
      brings, covered[file.path] = brings or not covered[file.path], true
    end
    return brings
  end
  for _, k in ipairs(listed) do hashes[k.target .. " " .. k.template .. " " .. k.params] = k.hash end
  for i, c in ipairs(cases) do
    if brings_a_file(c.template) or mine(i) then
      local good, source, now = pcall(emit.render, c.template, c.params, c.target)
      ok(good, "%s: %s", c.name, tostring(source))
      eq(now:sub(1, golden.DIGITS), hashes[c.target .. " " .. c.name],
        ("source of %s changed (if wanted: lua5.4 tools/golden-update.lua); hash"):format(c.name))
    end
  end
end)
