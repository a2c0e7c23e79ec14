-- lua5.4 tools/golden-update.lua [OP]: renders every golden and the manifests again, or those of one operation, and prints what
-- changed as a unified diff.
-- Run by hand after a wanted change, never by a test; the diff belongs into the review.
local root = arg[0]:match("^(.*)/tools/[^/]*$") or "."
local loader = dofile(root .. "/gen/host.lua")(root)
local golden = dofile(root .. "/tools/golden.lua")
local emit = loader.require("emit")

local only, folders = arg[1], golden.folders(loader)
if only then
  local known = {}
  for _, folder in ipairs(folders) do known[folder] = true end
  if not known[only] then error(only .. " is no folder of tests/golden with a manifest: " .. table.concat(folders, ", "), 0) end
  folders = { only }
end

local function replace(path, text)
  local full = root .. "/" .. path
  local f = assert(io.open(full .. ".new", "wb"))
  assert(f:write(text))
  assert(f:close())
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

for _, folder in ipairs(folders) do
  local lines = {
    "# Target, template, parameters, SHA-256 of the code: each kernel of problems.txt and kernels.txt (tools/golden-update.lua).",
  }
  for _, k in ipairs(golden.kernels(loader, root, folder)) do
    local _, hash = emit.render(k.template, k.params, k.target)
    lines[#lines + 1] = k.target .. "\t" .. k.template .. "\t" .. k.params .. "\t" .. hash
  end
  replace(golden.file(folder, "manifest.tsv"), table.concat(lines, "\n") .. "\n")
  io.stderr:write(#lines - 1, " kernels in the manifest of ", folder, "\n")
end
