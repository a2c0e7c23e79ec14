-- Finds, loads and remembers everything the generator is made of: gen/ modules, templates and their partials.
--
-- Called as a chunk with one argument, the host, and returns the loader:
--   host.read(path)   text of "gen/..." or "templates/..." relative to the root, nil when there is no such file
--   host.sha256(text) 64 lower-case hex digits
--   host.list(folder) paths of the files below a folder ("gen/arch/")
-- The C host reads from the binary or from a directory; gen/cli.lua and the tests read from a directory. Both must give
-- the same bytes, so nothing here looks at anything but the host.
local host = ...
local loader = { host = host }

local real_next, math_type, sort = next, math.type, table.sort

local function integers_first(a, b)
  local ta, tb = type(a), type(b)
  if ta ~= tb then return ta == "number" end
  return a < b
end

-- Keys of a table in a fixed order (integers first, then strings): the only iteration the generator has, because the
-- order of Lua's own iteration differs from run to run and would leak into names, hashes and text.
local function sorted(t)
  if type(t) ~= "table" then error("sorted(): table expected, got " .. type(t), 2) end
  local keys, n, numbers = {}, 0, 0
  for k in real_next, t do
    local kind = math_type(k) or type(k)
    if kind == "integer" then numbers = numbers + 1
    elseif kind ~= "string" then error("sorted(): key of type " .. kind, 2) end
    n = n + 1
    keys[n] = k
  end
  -- Lua's own order serves keys of one type, several times as fast as a function.
  if numbers == 0 or numbers == n then sort(keys) else sort(keys, integers_first) end
  local i = 0
  return function()
    i = i + 1
    if keys[i] ~= nil then return keys[i], t[keys[i]] end
  end
end
loader.sorted = sorted

local function banned_pairs()
  error("pairs and next have no fixed order: use sorted(t), or ipairs(t) for lists", 2)
end
loader.banned_pairs = banned_pairs

-- The globals of gen/ modules. No io, os, load or random numbers: their results are a function of their arguments.
local globals = {
  assert = assert, error = error, ipairs = ipairs, select = select, setmetatable = setmetatable, rawget = rawget,
  getmetatable = getmetatable, tonumber = tonumber, tostring = tostring, type = type, pcall = pcall, xpcall = xpcall,
  debug = { getinfo = debug.getinfo, setupvalue = debug.setupvalue }, load = load,
  string = string, table = table, sorted = sorted, pairs = banned_pairs, next = banned_pairs, host = host,
  math = { type = math.type, floor = math.floor, ceil = math.ceil, max = math.max, min = math.min, abs = math.abs,
    tointeger = math.tointeger, maxinteger = math.maxinteger, huge = math.huge, sqrt = math.sqrt, exp = math.exp, log = math.log,
    ult = math.ult },
}
setmetatable(globals, {
  __index = function(_, name) error("undefined name '" .. tostring(name) .. "'", 2) end,
})
-- Empty, so that every write is seen; reads go through a table, not a function: modules read globals in their inner loops.
local module_env = setmetatable({}, {
  __index = globals,
  __newindex = function(_, name) error("write to global '" .. tostring(name) .. "'", 2) end,
})

-- Paths of the files below a folder, sorted.
function loader.list(folder)
  local out = host.list(folder)
  table.sort(out)
  return out
end

local modules, loading = {}, {}

-- require("budget") -> gen/budget.lua, loaded once per host.
function loader.require(name)
  if modules[name] ~= nil then return modules[name] end
  local path = "gen/" .. name .. ".lua"
  if loading[name] then error("gen module '" .. name .. "' requires itself", 2) end
  local text = host.read(path)
  if not text then error("no gen module '" .. name .. "' (" .. path .. ")", 2) end
  local chunk, why = load(text, "@" .. path, "t", module_env)
  if not chunk then error(why, 0) end
  -- Whatever ends the loading: a state that ran out of memory in it may be asked again with more.
  local ended <close> = setmetatable({}, { __close = function() loading[name] = nil end })
  loading[name] = true
  local value = chunk(loader)
  if value == nil then error(path .. " returned nothing", 2) end
  modules[name] = value
  return value
end
globals.require = loader.require

local texts = {}

-- Kernel templates end in one of these, which says what compiles them: HIP, CUDA, or nothing does: what a library is asked for.
loader.suffixes = { ".hip", ".cu", ".lib" }

local made

-- Templates that are rows of a table (gen/FOLDER/kernels.lua: name -> { suffix, text }) rather than files: path -> { text,
-- module }.
local function made_templates()
  if made then return made end
  made = {}
  for _, path in ipairs(loader.list("gen/")) do
    local module = path:match("^gen/([%w_/]+/kernels)%.lua$")
    for name, kernel in sorted(module and loader.require(module) or {}) do
      local file = "templates/" .. name .. kernel.suffix .. ".in"
      if host.read(file) then error(("%s is a file and a row of %s: remove one"):format(file, path), 0) end
      made[file] = { text = kernel.text, module = path }
    end
  end
  return made
end

-- Text of a file of the generator, or of a template that a table makes.
local function read(path)
  local text = host.read(path)
  if text or not path:find("%.in$") then return text end
  local template = made_templates()[path]
  return template and template.text
end

-- The suffix of a kernel's source, nil when there is no such kernel. Names are paths under templates/: "mla_decode/mma".
function loader.suffix(name)
  for _, suffix in ipairs(loader.suffixes) do
    if read("templates/" .. name .. suffix .. ".in") then return suffix end
  end
end

-- The file that says what a kernel is, relative to the root: its template, or the table that makes it.
function loader.origin(name)
  local path = "templates/" .. loader.kernel_file(name)
  return host.read(path) and path or made_templates()[path].module
end

-- File name of a kernel's template, relative to templates/.
function loader.kernel_file(name)
  local suffix = loader.suffix(name)
  if not suffix then error("no template file templates/" .. name .. ".hip.in, .cu.in or .lib.in", 0) end
  return name .. suffix .. ".in"
end

-- The kernel's name as it is today (gen/ops/OP/renamed.lua).
function loader.kernel_now(name)
  if loader.suffix(name) then return name end
  for _, path in ipairs(loader.list("gen/ops/")) do
    local module = path:match("^gen/(ops/[%w_]+/renamed)%.lua$")
    local now = module and loader.require(module).templates[name]
    if now then return now end
  end
  return name
end

-- A build may leave a kernel out (another architecture's, one in the making): its family then has no variants.
function loader.has_kernel(name) return loader.suffix(name) ~= nil end

-- Text of a template or partial, path relative to templates/.
function loader.template(path)
  local text = texts[path]
  if not text then
    text = read("templates/" .. path)
    if not text then error("no template file templates/" .. path, 0) end
    texts[path] = text
  end
  return text
end

-- Lines of a text that contain a word, with their numbers. Searching for the word first keeps a closure below a millisecond.
local function lines_with(text, word)
  local at, n, counted = 1, 1, 1
  return function()
    local hit = text:find(word, at, true)
    if not hit then return nil end
    local stop = text:find("\n", hit, true) or #text + 1
    local start = hit
    while start > 1 and text:byte(start - 1) ~= 10 do start = start - 1 end
    n = n + select(2, text:sub(counted, start - 1):gsub("\n", ""))
    at, counted = stop, start
    return text:sub(start, stop - 1), n
  end
end

local reference_cache = {}

-- Files that one file names by include("...") (templates only) and require("..."). Only Lua can pull files in: all of a
-- module, the //@ and ${} lines of a template. A name that is not a literal string would make the closure depend on
-- parameters, so it is an error. loader.require() is for data, hashed by value.
local function references(path, text)
  if reference_cache[path] then return reference_cache[path] end
  local found, is_template = {}, path:find("^templates/") ~= nil
  for _, word in ipairs(is_template and { "include", "require" } or { "require" }) do
    for line, n in lines_with(text, word) do
      local code = " " .. line:gsub("%-%-.*$", "")
      local is_lua = not is_template or line:find("^%s*//@") or line:find("${", 1, true)
      for before, at in code:gmatch("([^%w_])" .. word .. "%s*()%(") do
        if is_lua and before:find("[^%.:]") then
          local name = code:match('^%(%s*"([^"]+)"', at)
          if not name then
            error(("%s:%d: %s needs a literal name in double quotes: the closure must not depend on parameters")
              :format(path, n, word), 0)
          end
          found[#found + 1] = word == "include" and "templates/" .. name or "gen/" .. name .. ".lua"
        end
      end
    end
  end
  reference_cache[path] = found
  return found
end

-- Modules that shape every output: part of every closure although no template names them.
loader.core = { "gen/engine.lua", "gen/emit.lua" }

local closures = {}

-- Sorted paths of everything that decides what template `name` emits.
function loader.closure(name)
  if closures[name] then return closures[name] end
  local seen, todo = {}, { "templates/" .. loader.kernel_file(name) }
  for _, path in ipairs(loader.core) do todo[#todo + 1] = path end
  while #todo > 0 do
    local path = table.remove(todo)
    if not seen[path] then
      local text = read(path)
      if not text then error("no file " .. path .. " (wanted by template " .. name .. ")", 0) end
      seen[path] = text
      for _, other in ipairs(references(path, text)) do todo[#todo + 1] = other end
    end
  end
  local list = {}
  for path, text in sorted(seen) do list[#list + 1] = { path = path, text = text } end
  closures[name] = { list = list, has = seen }
  return closures[name]
end

-- Text form of plain data, for hashing values.
local function dump(value)
  if type(value) ~= "table" then return type(value) .. ":" .. tostring(value) end
  local out = {}
  for k, v in sorted(value) do out[#out + 1] = tostring(k) .. "=" .. dump(v) end
  return "{" .. table.concat(out, ";") .. "}"
end

local hashes, bare_texts = {}, {}

-- SHA-256 over the closure of a template without its comments (gen/bare.lua), and over the arch facts that templates can see
-- (`isa`): model constants and clocks of the arch table may be recalibrated without making tuned choices invalid.
function loader.template_hash(name, target)
  local key = name .. "@" .. target
  if not hashes[key] then
    local parts, bare = {}, loader.require("bare")
    for _, file in ipairs(loader.closure(name).list) do
      bare_texts[file.path] = bare_texts[file.path] or bare.file(file.path, file.text)
      local text = bare_texts[file.path]
      parts[#parts + 1] = ("%s %d\n%s"):format(file.path, #text, text)
    end
    parts[#parts + 1] = "isa " .. dump(loader.require("arch/" .. target).isa)
    hashes[key] = host.sha256(table.concat(parts))
  end
  return hashes[key]
end

-- Targets that have an arch table, sorted.
function loader.targets()
  local out = {}
  for _, path in ipairs(loader.list("gen/arch/")) do
    local name = path:match("^gen/arch/([%w_]+)%.lua$")
    if name then out[#out + 1] = name end
  end
  return out
end

-- Templates that are kernels, sorted: "OP/NAME" are an operation's, those in templates/ itself are tools.
function loader.kernels()
  local out, paths = {}, loader.list("templates/")
  for path in sorted(made_templates()) do paths[#paths + 1] = path end
  table.sort(paths)
  for _, path in ipairs(paths) do
    for _, suffix in ipairs(loader.suffixes) do
      local name = path:match("^templates/([%w_/]+)%" .. suffix .. "%.in$")
      if name then out[#out + 1] = name end
    end
  end
  return out
end

return loader
