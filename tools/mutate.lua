-- lua5.4 tools/mutate.lua [--seed N] [--only ROOM] [--preset P] SCRATCH: does the suite find faults? It puts 60 of them into
-- kernels, checks and host code, one token each, one after another into a copy of the tree in SCRATCH, builds that, and runs the
-- tests of the fault's room: T0 (the generator's, for what Lua reads) and T1. Places and faults are drawn from the tables below;
-- a seed draws the same ones from the same tree. A fault that does not compile is drawn anew. A line of SCRATCH/faults.tsv for
-- each: a second run goes on where the first one stopped, and tries what survived again, as with --preset asan. Exit code 1 when
-- one survives. --list: names the places, and does nothing. --tests REGEX: T1's tests of that name in place of the room's.
-- --seconds N: begins no fault when the first was begun longer ago.
local root = arg[0]:match("^(.*)/tools/[^/]*$") or "."
local option = {}
while arg[1] and arg[1]:match("^%-%-") do
  local name = table.remove(arg, 1):sub(3)
  option[name] = name == "list" or table.remove(arg, 1)
end
local scratch = assert(arg[1] or option.list and "", "usage: lua5.4 tools/mutate.lua [--only ROOM] SCRATCH")
math.randomseed(tonumber(option.seed or 1), 0)

-- Faults: what they are, what they look for in a line, what stands there afterwards.
local c_faults = {
  { "bound off by one", " < ", " <= " }, { "bound off by one", " <= ", " < " }, { "bound off by one", " > ", " >= " },
  { "bound off by one", " >= ", " > " },
  { "condition turned", " == ", " != " }, { "condition turned", " != ", " == " },
  { "condition turned", "if %(!", "if (" }, { "and for or", " && ", " || " }, { "or for and", " || ", " && " },
  { "one more", " %- 1%f[%D]", "" }, { "one less", " %+ 1%f[%D]", "" }, { "operands swapped", "([%w_]+) %- ([%w_]+)", "%2 - %1" },
  { "operands swapped", "([%w_]+) / ([%w_]+)", "%2 / %1" },
  { "minus for plus", " %+ ", " - " }, { "plus for times", " %* ", " + " },
  { "error not looked at", "if %(status != MLAF_OK%) return status;", "" },
  { "error not returned", "return status;", "return MLAF_OK;" },
  { "check dropped", "^(%s*)if %(.*%) return mlaf_fail%(.*;$", "%1;" },
  { "argument ignored", "%(([%w_]+), ([%w_]+)%)", "(%1, %1)" }, { "wrong stride", "([%w_]*stride[%w_]*) %*", "(%1 + 1) *" },
}
local kernel_faults = {
  { "barrier dropped", "__syncthreads%(%);", ";" }, { "barrier dropped", "__builtin_amdgcn_s_barrier%(%);", ";" },
  { "wait dropped", "[%w_]*wait[%w_]*%b();", ";" }, { "bound off by one", " < ", " <= " }, { "bound off by one", " >= ", " > " },
  { "condition turned", " == ", " != " }, { "operands swapped", "([%w_]+) %- ([%w_]+)", "%2 - %1" },
  { "minus for plus", " %+ ", " - " }, { "plus for times", " %* ", " + " }, { "maximum for minimum", "fmaxf%(", "fminf(" },
  { "wrong stride", "%* ([%w_]*stride[%w_]*)", "* (%1 + 1)" },
}
local lua_faults = {
  { "bound off by one", " < ", " <= " }, { "bound off by one", " <= ", " < " }, { "bound off by one", " > ", " >= " },
  { "condition turned", " == ", " ~= " }, { "and for or", " and ", " or " }, { "condition turned", "if not ", "if " },
  { "one more", " %- 1%f[%D]", "" }, { "minus for plus", " %+ ", " - " }, { "plus for times", " %* ", " + " },
}

-- The tables of all operations are one room's code: three kinds of them, and what they have in common.
local OP_TESTS = "^op/|^ops/mla_dequant/|^ops/mla_merge/|^ops/mla_v_out/test_projection|^ops/mla_q_b/|^check/test_(verify|toy)"

-- Rooms: files, faults of them, how many, and the tests that are about them: of ctest, and of tests/lua/run.lua.
local rooms = {
  { "base", "^runtime/base/.*%.c$", c_faults, 6, "^base/" },
  { "op", "^runtime/op/.*%.c$", c_faults, 6, OP_TESTS },
  { "ops", "^runtime/ops/[%w_]+/[%w_]+%.c$", c_faults, 8, "^ops/.*/test_|^op/|^plan/test_block_tables" },
  { "db", "^runtime/db/.*%.c$", c_faults, 5, "^db/" },
  { "check", "^runtime/check/.*%.c$", c_faults, 5, "^check/" },
  { "emu", "^runtime/emu/.*%.c$", c_faults, 8, "^emu/test_" },
  { "compile", "^runtime/compile/.*%.c$", c_faults, 4, "^compile/" },
  { "bundle", "^runtime/bundle/.*%.c$", c_faults, 3, "^bundle/" },
  { "tune", "^runtime/tune/.*%.c$", c_faults, 2, "^tune/" },
  { "plan", "^runtime/plan/.*%.c$", c_faults, 2, "^plan/|^tune/test_tune_api|^ops/mla_decode/test_(pools|index_lists)" },
  { "layer", "^runtime/layer/.*%.c$", c_faults, 2, "^layer/" },
  { "gen", "^gen/[%w_/]+%.lua$", lua_faults, 4, "^gen/test_gen", "" },
  { "kernels", "^templates/.*%.hip%.in$", kernel_faults, 5, "^kernels/test_kernels|^ops/.*/kernels", "golden" },
}

local function lines_of(command)
  local out = {}
  for line in assert(io.popen(command)):lines() do out[#out + 1] = line end
  return out
end
local function run(command) return (os.execute(command .. " >" .. scratch .. "/last.log 2>&1")) end
local function read(path) local f = assert(io.open(path, "rb")); local s = f:read("a"); f:close(); return s end
local function write(path, text) local f = assert(io.open(path, "wb")); f:write(text); f:close() end

-- Code, not comments or messages: a fault there would be none.
local function is_code(line, at)
  if line:match("^%s*[/*#]") or line:match("^%s*%-%-") or line:match("assert") then return false end
  local before = line:sub(1, at - 1)
  local _, quotes = before:gsub('"', "")
  return quotes % 2 == 0 and not before:find("/*", 1, true) and not before:find("//", 1, true) and not before:find("-- ", 1, true)
end

-- A fault that is none: arrays have an element that nothing writes, since calloc of 0 elements may be NULL.
local function is_none(line, new)
  return line:find("calloc%([%w_>.-]+ %+ 1, ") and new:find("calloc%([%w_>.-]+, ") and true or false
end

-- The places of a room: { file, line number, fault, line with it }.
local files = lines_of("cd '" .. root .. "' && git ls-files runtime gen templates | LC_ALL=C sort")
local function places(room)
  local out = {}
  for _, file in ipairs(files) do
    if file:match(room[2]) then
      local n = 0
      for line in (read(root .. "/" .. file) .. "\n"):gmatch("(.-)\n") do
        n = n + 1
        for _, fault in ipairs(room[3]) do
          local from, to = line:find(fault[2])
          if from and is_code(line, from) then
            local new = line:sub(1, from - 1) .. line:sub(from, to):gsub(fault[2], fault[3], 1) .. line:sub(to + 1)
            if new ~= line then out[#out + 1] = { file = file, n = n, fault = fault[1], old = line, new = new } end
          end
        end
      end
    end
  end
  return out
end

-- The kinds of faults of a room come up alike, however common each is. Draws more than are wanted, for those that do not compile.
local function draw(room)
  local kinds, names, out = {}, {}, {}
  for _, p in ipairs(places(room)) do
    if not kinds[p.fault] then kinds[p.fault], names[#names + 1] = {}, p.fault end
    table.insert(kinds[p.fault], p)
  end
  while #out < 4 * room[4] and #names > 0 do
    local k = math.random(#names)
    local kind = kinds[names[k]]
    out[#out + 1] = table.remove(kind, math.random(#kind))
    if #kind == 0 then table.remove(names, k) end
  end
  return out
end

local function put(place)
  local text, n = {}, 0
  for line in (read(root .. "/" .. place.file) .. "\n"):gmatch("(.-)\n") do
    n = n + 1
    text[n] = n == place.n and place.new or line
  end
  write(scratch .. "/tree/" .. place.file, table.concat(text, "\n", 1, text[n] == "" and n or n))
end
local function take_back(place) write(scratch .. "/tree/" .. place.file, read(root .. "/" .. place.file)) end

local preset = option.preset or "release"
local tree = scratch .. "/tree"
local build = tree .. (preset == "release" and "/build" or "/build-" .. preset)
local function set_up()
  assert(os.execute("mkdir -p '" .. tree .. "'"))
  assert(run(("cd '%s' && git ls-files -z | xargs -0 cp --parents -put '%s'"):format(root, tree)), "cannot copy the tree")
  for _, file in ipairs(files) do -- a fault that a run before left there, newer than the file
    local text = read(root .. "/" .. file)
    if read(tree .. "/" .. file) ~= text then write(tree .. "/" .. file, text) end
  end
  run(("ln -sfn \"$(realpath '%s/.deps')\" '%s/.deps'"):format(root, tree))
  local launcher = run("command -v ccache") and "-DCMAKE_C_COMPILER_LAUNCHER=ccache" or ""
  assert(run(("cd '%s' && cmake --preset %s %s"):format(tree, preset, launcher)), "cannot configure: " .. scratch .. "/last.log")
end

-- The programs of a room's tests, as CTest's file of them names each: those below the build folder are targets.
local function targets(tests)
  local out, seen, wanted = { "memo-worker", "mlaforge-worker", "mlaforge", "mlaforge_shared", "fakecuda", "fakecublaslt",
    "fakehipblaslt", "fakehip6" }, {}, {}
  for _, line in ipairs(lines_of(("ctest --test-dir '%s' -N -R '%s'"):format(build, tests))) do
    wanted[line:match("Test +#%d+: (%S+)") or ""] = true
  end
  for name, program in read(build .. "/CTestTestfile.cmake"):gmatch('add_test%(%[=%[([^%]]+)%]=%] "([^"]+)"') do
    local target = wanted[name] and program:match("/build[^/]*/([^/]+)$")
    if target and not seen[target] then seen[target], out[#out + 1] = true, target end
  end
  return table.concat(out, " ")
end

local function make(tests)
  return run(("cmake --build '%s' -j2 --target %s"):format(build, targets(tests)))
end
local function t1(tests)
  return run(("MLAF_MEMO_DIR=${MLAF_MEMO_DIR:-'%s/memo'} timeout 900 ctest --test-dir '%s' -L t1 -R '%s' --timeout 300 %s")
    :format(scratch, build, tests, "--stop-on-failure -j2"))
end
local function first_failure()
  local name = "?"
  for line in io.lines(scratch .. "/last.log") do
    name = line:match("Test +#%d+: (%S+) .*%*%*%*") or name
  end
  return name
end

-- "T0", "T1: the test", or nil for a survivor.
local function found_by(room, tests)
  local found = {}
  if room[6] and not run(("cd '%s' && timeout 300 lua5.4 tests/lua/run.lua %s"):format(tree, room[6])) then
    found[#found + 1] = "T0"
  end
  local stage = preset == "release" and "T1 " or preset .. " "
  if not t1(tests) then found[#found + 1] = stage .. first_failure() end
  return #found > 0 and table.concat(found, ", ") or nil
end

local done = {}
local log_path = scratch .. "/faults.tsv"
local log = not option.list and io.open(log_path, "r")
if log then
  for line in log:lines() do
    local place, verdict = line:match("^(%S+)\t[^\t]*\t([^\t]*)")
    if place then done[place .. line:match("\t[^\t]*")] = verdict ~= "SURVIVES" and verdict or nil end
  end
  log:close()
end
local function line_of(place, verdict)
  return table.concat({ place.file .. ":" .. place.n, place.fault, verdict, place.old:match("^%s*(.*)"),
    place.new:match("^%s*(.*)") }, "\t")
end
local function note(place, verdict)
  local f = assert(io.open(log_path, "a"))
  local line = line_of(place, verdict)
  f:write(line, "\n")
  f:close()
  print(line)
end

local function list(place)
  print(line_of(place, "listed"))
  return "listed"
end

if not option.list then set_up() end
local survivors, faults, began = 0, 0, nil
for _, room in ipairs(rooms) do
  local drawn = draw(room) -- of every room, so that --only draws the same
  local tests = option.tests or room[5]
  local wanted = (not option.only or option.only == room[1]) and room[4] or 0
  assert(wanted == 0 or option.list or make(tests) and t1(tests), "the tree as it is fails: see last.log in the scratch folder")
  if wanted > 0 then began = began or os.time() end
  for _, place in ipairs(drawn) do
    if wanted == 0 or os.time() - began > tonumber(option.seconds or 1e9) then break end
    local verdict = done[place.file .. ":" .. place.n .. "\t" .. place.fault]
    if option.list then
      verdict = list(place)
    elseif not verdict then
      put(place)
      verdict = is_none(place.old, place.new) and "is none" or not make(tests) and "does not build" or found_by(room, tests)
        or "SURVIVES"
      take_back(place)
      note(place, verdict)
    end
    if verdict ~= "does not build" and verdict ~= "is none" then wanted, faults = wanted - 1, faults + 1 end
    if verdict == "SURVIVES" then survivors = survivors + 1 end
  end
end
if not option.list then print(("%d faults, %d found, %d survive"):format(faults, faults - survivors, survivors)) end
os.exit(survivors == 0 or option.list)
