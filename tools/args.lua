-- lua5.4 tools/args.lua WHAT:OP ROOT [FILE]: what is made of gen/ops/OP/args.lua (tools/args_model.lua says what stands there).
--   args, launch, record, calls  C, by the build (tools/args_c.lua)
local what, root, file = arg[1], arg[2], arg[3]
local here = arg[0]:match("^(.*)/[^/]*$") or "."
local model = dofile(here .. "/args_model.lua")

local name, op = (what or ""):match("^(%l+):([%l%d_]+)$")
local make = dofile(here .. "/args_c.lua")
if not name or not make[name] then error("usage: lua5.4 tools/args.lua args|launch|record|calls:OP ROOT [FILE]", 0) end

-- Names of the operation's kernels, from its record for the generator.
local function stages() return dofile(root .. "/gen/host.lua")(root).require("ops/" .. op .. "/op").stages end

local text = make[name](model(root, op), name == "record" and stages())
local to = file and assert(io.open(file, "wb")) or io.stdout
assert(to:write(text))
assert(to:flush())
