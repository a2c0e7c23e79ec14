-- lua5.4 tools/golden-update.lua [OP]: renders every golden and the manifests again, or those of one operation, and prints what
-- changed: goldens as a unified diff, kernels of the manifests by their names.
-- Run by hand after a wanted change, never by a test; what it prints belongs into the review.
-- lua5.4 tools/golden-update.lua --list [OP]: prints what the manifests hold: target, template, parameters, first digits of the
-- code's SHA-256. Changes nothing.
local root = arg[0]:match("^(.*)/tools/[^/]*$") or "."
local loader = dofile(root .. "/gen/host.lua")(root)
local golden = dofile(root .. "/tools/golden.lua")
local emit = loader.require("emit")

local list = arg[1] == "--list" and table.remove(arg, 1)
local only, folders = arg[1], golden.folders(loader)
if only then
  local known = {}
  for _, folder in ipairs(folders) do known[folder] = true end
  if not known[only] then error(only .. " is no folder of tests/golden with a manifest: " .. table.concat(folders, ", "), 0) end
  folders = { only }
end

if list then
  for _, folder in ipairs(folders) do
    for _, k in ipairs(golden.listed(loader, root, folder)) do
      print(table.concat({ k.target, k.template, k.params, k.hash or "-" }, "\t"))
    end
  end
  os.exit(true)
end

local function write(path, text)
  local f = assert(io.open(path, "wb"))
  assert(f:write(text))
  assert(f:close())
end

local function replace(path, text)
  local full = root .. "/" .. path
  write(full .. ".new", text)
  os.execute(("diff -u -N --label a/%s --label b/%s '%s' '%s.new'"):format(path, path, full, full))
  assert(os.rename(full .. ".new", full))
end

-- Goldens of bodies that are gone, or that have another name.
local function remove_others(texts)
  local pipe = assert(io.popen(("cd '%s' && LC_ALL=C find tests/golden -type f | LC_ALL=C sort"):format(root)))
  for file in pipe:lines() do
    if not texts[file] and (file:find("%.cu$") or file:find("%.hip$") or file:find("%.lib$")) then
      print("removed " .. file)
      os.remove(root .. "/" .. file)
    end
  end
  pipe:close()
end

local cases = golden.cases(loader, root)
local texts = golden.texts(loader, cases)
for _, c in ipairs(cases) do
  if c.file and (not only or c.folder == only) then
    os.execute(("mkdir -p '%s/%s'"):format(root, c.file:match("^(.*)/")))
    replace(c.file, texts[c.file])
  end
end
if not only then remove_others(texts) end

-- Names kernels whose text no kernel of their template had before: new ones, and such as changed. Counts texts that are gone.
local function print_changes(kernels, before)
  local gone = 0
  for _, k in ipairs(kernels) do
    local hashes = before[k.target .. " " .. k.template] or {}
    if not hashes[k.hash] then print(("new text: %s %s %s"):format(k.target, k.template, k.params)) end
    hashes[k.hash] = "seen"
  end
  for _, hashes in pairs(before) do
    for _, state in pairs(hashes) do gone = gone + (state == "seen" and 0 or 1) end
  end
  if gone > 0 then print(("%d texts are gone"):format(gone)) end
end

local function hashes_before(folder)
  local sets = {}
  for name, hashes in pairs(golden.hashes(root, folder)) do
    sets[name] = {}
    for _, hash in ipairs(hashes) do sets[name][hash] = "old" end
  end
  return sets
end

for _, folder in ipairs(folders) do
  local kernels, before = golden.kernels(loader, root, folder), hashes_before(folder)
  for _, k in ipairs(kernels) do
    local _, hash = emit.render(k.template, k.params, k.target)
    k.hash = hash:sub(1, golden.DIGITS)
  end
  print_changes(kernels, before)
  write(root .. "/" .. golden.file(folder, "manifest.txt"), golden.manifest(kernels))
  io.stderr:write(#kernels, " kernels in the manifest of ", folder, "\n")
end
