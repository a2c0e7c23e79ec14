-- lua5.4 tools/args.lua WHAT:OP ROOT [FILE]: what is made of gen/ops/OP/args.lua (tools/args_model.lua says what stands there;
-- tools/args_given.lua, where that has optional tensors alone).
--   args, launch, record, calls  C, by the build (tools/args_c.lua)
--   header, python               include/mlaforge/OP.h, python/mlaforge/OP.py (tools/args_header.lua, args_python.lua)
--   kept                         writes the last two, which are kept in the tree, to their places, where the table has what
--                                they say; a test compares
local what, root, file = arg[1], arg[2] or ".", arg[3]
local here = arg[0]:match("^(.*)/[^/]*$") or "."
local function module(name) return dofile(("%s/%s.lua"):format(here, name)) end

local function write(to, text)
  local f = to and assert(io.open(to, "wb")) or io.stdout
  assert(f:write(text))
  assert(f:flush())
end

local name, op = (what or ""):match("^(%l+):([%l%d_]+)$")
if name == "args" and dofile(("%s/gen/ops/%s/args.lua"):format(root, op)).given then
  return write(file, module("args_given")(root, op))
end
local make = module("args_c")
make.header, make.python = module("args_header"), module("args_python")
local KEPT = { header = "include/mlaforge/%s.h", python = "python/mlaforge/%s.py" }
if not make[name] and name ~= "kept" then
  error("usage: lua5.4 tools/args.lua args|launch|record|calls|header|python|kept:OP ROOT [FILE]", 0)
end
local model = module("args_model")(root, op)

-- Names of the operation's kernels, from its record for the generator.
local function stages() return dofile(root .. "/gen/host.lua")(root).require("ops/" .. op .. "/op").stages end

if name == "kept" then
  for kind, path in pairs(KEPT) do
    if model.raw[kind == "python" and "python" or "head"] then write(root .. "/" .. path:format(op), make[kind](model)) end
  end
else
  write(file, make[name](model, name == "record" and stages()))
end
