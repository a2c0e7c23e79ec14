-- The generator from the command line, with lua5.4 alone. Run `lua5.4 gen/cli.lua help`.
local root = (arg[0]:match("^(.*)/gen/[^/]*$")) or (arg[0]:find("^gen/") and ".") or ".."
local loader = dofile(root .. "/gen/host.lua")(root)

local usage = [[
lua5.4 gen/cli.lua render TEMPLATE target=gfx942 k=v ...   the source of one kernel on stdout (-o FILE: to a file)
lua5.4 gen/cli.lua hash TEMPLATE [target=gfx942]            its template_hash and the files it covers
lua5.4 gen/cli.lua list                                     kernels and targets
lua5.4 gen/cli.lua space PROBLEM [target=gfx942] [all]      variants of a problem; all: with the rejected ones
lua5.4 gen/cli.lua invariant PROBLEM [target=gfx942]        the batch-invariant variant of its shape
lua5.4 gen/cli.lua show PROBLEM VARIANT [target=gfx942]     templates and parameters of one variant
]]

-- Splits {"target=x", "a=1", "-o", "f"} into parameters and options.
local function arguments(from)
  local values, target, out, words = {}, "gfx942", nil, {}
  local i = from
  while i <= #arg do
    local key, value = arg[i]:match("^([%w_]+)=([%w_%-]+)$")
    if arg[i] == "-o" then
      i = i + 1
      out = arg[i]
    elseif key == "target" then target = value
    elseif key then values[#values + 1] = arg[i]
    else words[#words + 1] = arg[i] end
    i = i + 1
  end
  return table.concat(values, ","), target, out, words
end

local commands = {}

function commands.help() io.write(usage) end

function commands.render()
  local text, target, out = arguments(3)
  local source = loader.require("emit").render(assert(arg[2], "which template?"), text, target)
  local file = out and assert(io.open(out, "wb")) or io.stdout
  assert(file:write(source))
  assert(file:flush())
end

function commands.hash()
  local _, target = arguments(3)
  print(loader.template_hash(arg[2], target))
  for _, file in ipairs(loader.closure(arg[2]).list) do
    print("  " .. file.path .. (loader.host.read(file.path) and "" or ": a row of " .. loader.origin(arg[2])))
  end
end

function commands.list()
  for _, name in ipairs(loader.kernels()) do print("kernel " .. name) end
  for _, name in ipairs(loader.targets()) do print("target " .. name) end
end

function commands.space()
  local _, target, _, words = arguments(3)
  local problem = loader.require("problem").parse(assert(arg[2], "which problem?"))
  local list, first = loader.require("space").variants(problem, target), loader.require("ops").of(problem).stages[1]
  for _, v in ipairs(list) do
    local k = v[first]
    if not v.rejected then
      print(("%-58s %9.1f us  threads %3d  rows %3d  lds %5d  regs %3d"):format(v.name, v.model_ns / 1000, k.threads,
        k.rows_per_wg, k.lds_bytes, k.vgpr_budget))
    elseif words[1] == "all" then
      print(("%-58s rejected: %s"):format(v.name, v.rejected))
    end
  end
end

function commands.invariant()
  local _, target = arguments(3)
  print(loader.require("space").invariant(loader.require("problem").parse(assert(arg[2], "which problem?")), target).name)
end

function commands.show()
  local _, target = arguments(4)
  local problem = loader.require("problem").parse(assert(arg[2], "which problem?"))
  local v = loader.require("space").variant(problem, target, assert(arg[3], "which variant?"))
  for _, stage in ipairs(loader.require("ops").of(problem).stages) do
    local k = v[stage]
    if k then print(("%s target=%s %s"):format(k.template, target, (k.params:gsub(",", " ")))) end
  end
end

local ok, why = xpcall(commands[arg[1] or "help"] or commands.help, function(e)
  return os.getenv("MLAF_TRACE") and debug.traceback(e, 2) or tostring(e)
end)
if not ok then
  io.stderr:write("error: ", why, "\n")
  os.exit(1)
end
