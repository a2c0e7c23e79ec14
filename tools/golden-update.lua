-- lua5.4 tools/golden-update.lua: renders every golden and the operations' manifests again, and prints what changed as a unified
-- diff.
-- Run by hand after a wanted change, never by a test; the diff belongs into the review.
local root = arg[0]:match("^(.*)/tools/[^/]*$") or "."
local loader = dofile(root .. "/gen/host.lua")(root)
local golden = dofile(root .. "/tools/golden.lua")
local emit = loader.require("emit")

local function replace(path, text)
  local full = root .. "/" .. path
  local f = assert(io.open(full .. ".new", "wb"))
  assert(f:write(text))
  assert(f:close())
  os.execute(("diff -u -N --label a/%s --label b/%s '%s' '%s.new'"):format(path, path, full, full))
  assert(os.rename(full .. ".new", full))
end

for _, c in ipairs(golden.cases(loader, root)) do replace(c.file, emit.golden(c.template, c.params, c.target)) end

for _, op in ipairs(loader.require("ops").names()) do
  local lines = {
    "# Target, template, parameters, SHA-256 of the source: every kernel of the problems in problems.txt "
      .. "(tools/golden-update.lua).",
  }
  for _, k in ipairs(golden.kernels(loader, root, op)) do
    local _, hash = emit.render(k.template, k.params, k.target)
    lines[#lines + 1] = k.target .. "\t" .. k.template .. "\t" .. k.params .. "\t" .. hash
  end
  replace(golden.file(op, "manifest.tsv"), table.concat(lines, "\n") .. "\n")
  io.stderr:write(#lines - 1, " kernels in the manifest of ", op, "\n")
end
