-- lua5.4 tests/lua/run.lua [--full] [--part K/N] [FILE-PATTERN]: the generator's tests. Prints failures and a count; exits 1 on
-- a failure. --part: the K-th of N shares of the files, about as long as the others, for a core each.
-- What would take long in whole looks at a share of its cases here, which is T0: in seconds. --full runs those tests alone, all
-- of their cases: T1.
collectgarbage("incremental", 400) -- memory is there, and collecting would be a sixth of the time
local full = arg[1] == "--full"
if full then table.remove(arg, 1) end
local part, parts = 1, 1
if arg[1] == "--part" then
  local k, n = (arg[2] or ""):match("^(%d+)/(%d+)$")
  part, parts = math.tointeger(k), math.tointeger(n)
  assert(part and part >= 1 and part <= parts, "--part K/N: the K-th of N shares")
  table.remove(arg, 1)
  table.remove(arg, 1)
end
local here = arg[0]:match("^(.*)/[^/]*$") or "."
local root = os.getenv("MLAF_SOURCE_DIR") or here .. "/../.."
local T = { root = root, lua = arg[-1] or "lua5.4" } -- the interpreter that runs us

local real_loader = dofile(root .. "/tests/models/loader.lua")

-- A loader over the real gen/ with its templates replaced by a table of name -> text (nil: the real templates).
function T.loader(templates, extra)
  local loader = real_loader(root)
  if not templates then return loader end
  local host, read = loader.host, loader.host.read
  host.read = function(path)
    if extra and extra[path] then return extra[path] end
    if path:find("^templates/") then return templates[path:sub(11)] end
    return read(path)
  end
  return loader
end

-- Names are made of hashes by the thousand, and SHA-256 in Lua is two thirds of a test's time: where nobody looks at a hash but
-- to tell texts apart, a number for each text does. They are the same for all loaders of this process. Of texts shorter than
-- `least` (0) the hash is the true one.
local numbers, known = {}, 0
function T.quick_loader(least)
  local loader = T.loader()
  local true_one = loader.host.sha256
  loader.host.sha256 = function(text)
    if #text < (least or 0) then return true_one(text) end
    if not numbers[text] then
      known = known + 1
      numbers[text] = ("%08x%056x"):format(known * 0x9e3779b1 & 0xffffffff, known) -- symbols take the first digits
    end
    return numbers[text]
  end
  return loader
end

function T.read(path)
  local f = io.open(root .. "/" .. path, "rb")
  if not f then return nil end
  local text = f:read("a")
  f:close()
  return text
end

function T.lines(path)
  local out = {}
  for line in (T.read(path) or ""):gmatch("([^\n]*)\n") do
    if line ~= "" and line:sub(1, 1) ~= "#" then out[#out + 1] = line end
  end
  return out
end

local function show(v)
  local text = type(v) == "string" and ("%q"):format(v) or tostring(v)
  return #text > 400 and text:sub(1, 400) .. " ... (" .. #text .. " bytes)" or text
end

function T.eq(got, want, what)
  if got ~= want then
    error(("%s: got %s, want %s"):format(what or "value", show(got), show(want)), 2)
  end
end

function T.ok(cond, what, ...)
  if not cond then error(select("#", ...) > 0 and what:format(...) or what or "condition is false", 2) end
end

-- fn must fail with a message that contains every given piece of plain text.
function T.raises(fn, ...)
  local ok, why = pcall(fn)
  if ok then error("no error, wanted: " .. table.concat({ ... }, " ... "), 2) end
  for _, piece in ipairs({ ... }) do
    if not tostring(why):find(piece, 1, true) then
      error(("error is %q, wanted it to contain %q"):format(tostring(why), piece), 2)
    end
  end
end

-- Unified diff of two texts, by diff(1).
function T.diff(want, got, name)
  local a, b = os.tmpname(), os.tmpname()
  for path, text in pairs({ [a] = want, [b] = got }) do
    local f = assert(io.open(path, "wb"))
    f:write(text)
    f:close()
  end
  local pipe = io.popen(("diff -u --label golden/%s --label rendered/%s %s %s | head -40"):format(name, name, a, b))
  local text = pipe:read("a")
  pipe:close()
  os.remove(a)
  os.remove(b)
  return text
end

-- The grid: heads x q_len x (rank, rope), with causal, page sizes, dtypes, rotation on read, 8-bit caches and queries, and Q in
-- two tensors in turn.
function T.grid(problem)
  local out, pages, n = {}, { 1, 16, 64 }, 0
  for _, h in ipairs({ 1, 5, 8, 16, 20, 40, 64, 128 }) do
    for _, q in ipairs({ 1, 2, 3, 5, 8 }) do
      for _, rp in ipairs({ { 512, 64 }, { 512, 0 }, { 256, 64 }, { 256, 32 } }) do
        n = n + 1
        local rotate = n % 7 == 3 and 1 + n // 7 % 2 or 0
        local cache = rotate == 0 and n % 11 == 5 and 1 + n // 11 % 3 or 0
        local fp8_q = (cache == 1 or cache == 2) and n % 2 or 0
        out[#out + 1] = problem.check({ op = "mla_decode", heads = h, q_len = q, rank = rp[1], rope = rp[2], causal = n % 2,
          rotate = rotate, cache = cache, fp8_q = fp8_q, q_parts = rotate + fp8_q == 0 and n % 9 == 4 and 1 or 0,
          batch = 64, ctx = 512, page_size = pages[n % 3 + 1], dtype = n % 5 == 0 and "f16" or "bf16" })
      end
    end
  end
  return out
end

-- Targets whose kernels the tests look at: CDNA 2 to 4, NVIDIA's newest that is tuned for, and the least its families run on.
T.targets = { "gfx942", "gfx950", "gfx90a", "sm_90a", "sm_80" }
-- Every how-manieth problem of the grid is looked at (1: all): fewer for targets that share another's templates.
-- Of the grid's periods (pages, shapes, query tokens, heads) none goes into these.
T.every = full and { gfx950 = 6, gfx90a = 6 } or { gfx942 = 7, gfx950 = 31, gfx90a = 31, sm_90a = 7, sm_80 = 11 }

-- { problem, its decode kernels } for the whole grid; made once for all test files.
local grid_kernels = {}
function T.grid_kernels(loader, target)
  target = target or "gfx942"
  if not grid_kernels[target] then
    local space, list = loader.require("space"), {}
    for i, p in ipairs(T.grid(loader.require("problem"))) do
      if i % (T.every[target] or 1) == 0 then list[#list + 1] = { p, space.kernels(p, target) } end
    end
    grid_kernels[target] = list
  end
  return grid_kernels[target]
end

local tests = {}
function T.test(name, fn)
  if not full then tests[#tests + 1] = { name = name, fn = fn } end
end
-- fn(mine): mine(i) says whether the i-th case is to be looked at, of each `share` one. Also under --full, where all are.
function T.sampled(share, name, fn)
  local function mine(i) return full or i % share == 0 end
  tests[#tests + 1] = { name = name, fn = function() fn(mine) end }
end
T.full = full

local files = {}
for _, file in ipairs({ "engine", "bare", "loader", "params", "arch", "budget", "ops", "model", "space", "nearby",
  "layer_stages", "thresholds", "lds", "merge", "needs", "render", "limits", "formats", "golden", "same", "search", "protocol",
  "overlap", "docs", "api", "args", "retime" }) do
  files[#files + 1] = { name = file, path = here .. "/test_" .. file .. ".lua" }
end
-- An operation's own: tests/ops/OP/test_*.lua.
local found = io.popen(("cd '%s' && LC_ALL=C ls tests/ops/*/test_*.lua 2>/dev/null"):format(root))
for path in found:lines() do
  local op, name = path:match("^tests/ops/([%w_]+)/test_([%w_]+)%.lua$")
  files[#files + 1] = { name = op .. "/" .. name, path = root .. "/" .. path }
end
found:close()
-- Longest first, each to the share that has least: tenths of seconds about.
local COSTS, costs = { limits = 31, render = 22, space = 15, protocol = 13, golden = 11, overlap = 8, model = 4 }, {}
table.sort(files, function(a, b)
  local x, y = COSTS[a.name] or 1, COSTS[b.name] or 1
  if x ~= y then return x > y end
  return a.name < b.name
end)
for k = 1, parts do costs[k] = 0 end
for _, file in ipairs(files) do
  file.part = 1
  for k = 2, parts do
    if costs[k] < costs[file.part] then file.part = k end
  end
  costs[file.part] = costs[file.part] + (COSTS[file.name] or 1)
end
-- A test file sees T and what nearly every test wants of it: test, sampled, eq, ok, raises, diff.
local env = { T = T }
for name, value in pairs(_G) do env[name] = value end
for _, name in ipairs({ "test", "sampled", "eq", "ok", "raises", "diff" }) do env[name] = T[name] end
for _, file in ipairs(files) do
  if file.part == part and (not arg[1] or file.name:find(arg[1])) then
    local first = #tests
    assert(loadfile(file.path, "t", env))(T)
    for i = first + 1, #tests do tests[i].name = file.name .. ": " .. tests[i].name end
  end
end

local failed, start = 0, os.clock()
for _, t in ipairs(tests) do
  local began = os.clock()
  local ok, why = xpcall(t.fn, function(e)
    return os.getenv("MLAF_TRACE") and debug.traceback(e, 2) or tostring(e)
  end)
  if not ok then
    failed = failed + 1
    print(("FAIL %s\n     %s"):format(t.name, (why:gsub("\n", "\n     "))))
  end
  if os.getenv("MLAF_TIMES") then print(("%6.2f s  %s"):format(os.clock() - began, t.name)) end
end
print(("%d tests, %d failed, %.2f s"):format(#tests, failed, os.clock() - start))
os.exit(failed == 0 and 0 or 1)
