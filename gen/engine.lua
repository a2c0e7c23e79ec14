-- The template engine: HIP text in which a line starting with //@ is Lua and ${expr} is replaced by its value.
--
-- One template line becomes one line of a Lua chunk named after the template, so every error Lua itself raises
-- (syntax, arithmetic on nil, a failed contract) already carries the template's own line number. What Lua would let
-- pass is made an error here: undefined names, nil, writes to globals, floats in output, tables and functions in
-- output, iteration in hash order. How to write a template: gen/README.md.
local engine = {}

local MAX_OUTPUT = 8 << 20 -- bytes; a template that emits more is in a loop
local MAX_DEPTH = 16       -- nested includes
local STOP = {}            -- error value that ends a dry run
-- A module's globals are looked up in two tables.
local math_type, type, tostring, select, find, sub = math.type, type, tostring, select, string.find, string.sub

-- ---------------------------------------------------------------------------------------------------------------
-- Translation

local function fail(path, line, fmt, ...) error(("%s:%d: " .. fmt):format(path, line, ...), 0) end

-- Index of the } that closes the ${ whose expression starts at `from`, or nil. Strings may contain braces.
local function closing_brace(text, from)
  local depth, i = 1, from
  while i <= #text do
    local c = text:sub(i, i)
    if c == '"' or c == "'" then
      i = i + 1
      while i <= #text and text:sub(i, i) ~= c do
        if text:sub(i, i) == "\\" then i = i + 1 end
        i = i + 1
      end
    elseif c == "{" then
      depth = depth + 1
    elseif c == "}" then
      depth = depth - 1
      if depth == 0 then return i end
    end
    i = i + 1
  end
end

local well_formed = {} -- expressions that were found to be: most stand in many lines

local function statement(text) return "do __write(" .. text .. ") end" end -- do: never valid inside an unfinished expression

-- A line of kernel text as one Lua statement that writes it, and the line where it is written as it stands.
local function text_line(path, n, line)
  if line:find("//@", 1, true) then fail(path, n, "//@ must be the first thing on its line") end
  local args, at = {}, 1
  while true do
    local open = line:find("${", at, true)
    if not open then break end
    if open > at then args[#args + 1] = ("%q"):format(line:sub(at, open - 1)) end
    local close = closing_brace(line, open + 2)
    if not close then fail(path, n, "unclosed ${ (it must close on its own line)") end
    local expr = line:sub(open + 2, close - 1)
    -- Checked alone so that an expression cannot reach out of its braces ("a) (b") and to name the right culprit.
    if not well_formed[expr] then
      local ok, why = load("return " .. expr, "=expr", "t")
      if ok then ok, why = load("return (" .. expr .. ")", "=expr", "t") end
      if not ok or not expr:find("%S") then
        fail(path, n, "bad expression ${%s}: %s", expr, (why or "it is empty"):gsub("^expr:%d+: ", ""))
      end
      well_formed[expr] = true
    end
    args[#args + 1] = ("__value((%s), %q)"):format(expr, expr)
    at = close + 1
  end
  args[#args + 1] = ("%q"):format(line:sub(at)):gsub('"$', '\\n"')
  return statement(table.concat(args, ", ")), #args == 1 and args[1] or nil
end

-- A //@ line as Lua. Long brackets could swallow following text lines unseen, so they are not allowed.
local function code_line(path, n, code)
  if code ~= "" and not code:find("^%s") then fail(path, n, "put a space after //@") end
  if code:find("%[=*%[") then fail(path, n, "long brackets [[ ]] are not allowed in a template: use quotes") end
  return code
end

-- Lua source of a template. Line n of the result comes from line n of the template.
function engine.translate(path, text)
  if text:find("\r", 1, true) then
    local _, before = text:sub(1, text:find("\r", 1, true)):gsub("\n", "")
    fail(path, before + 1, "carriage return: templates use LF line ends only")
  end
  if text ~= "" and text:sub(-1) ~= "\n" then text = text .. "\n" end
  local out, n, first, plain = {}, 0, nil, {}
  -- Lines that are written as they stand are one call, in the first one's place.
  local function join()
    if #plain > 1 then out[first] = statement('"' .. table.concat(plain) .. '"') end
    plain = {}
  end
  for line in text:gmatch("([^\n]*)\n") do
    n = n + 1
    local code, literal = line:match("^%s*//@(.*)$"), nil
    if code then out[n] = code_line(path, n, code)
    else out[n], literal = text_line(path, n, line) end
    if not literal then join()
    elseif #plain == 0 then first = n
    else out[n] = "" end
    plain[#plain + 1] = literal and literal:sub(2, -2)
  end
  join()
  -- The names of the writer come in on line 1, in front of what is there, to keep the numbering.
  out[1] = "local __write, __value = ... " .. (out[1] or "")
  return table.concat(out, "\n")
end

local chunks = {}

local function compile(path, text, env, reuse)
  local entry = chunks[path]
  if not entry or entry.text ~= text then
    entry = { text = text, source = engine.translate(path, text) }
    chunks[path] = entry
  end
  -- A dry run ends with its chunk, so the same function can serve the next one with another environment (its upvalue 1).
  -- Functions of a partial may outlive their chunk in a full render: each gets its own.
  if reuse and entry.chunk then
    debug.setupvalue(entry.chunk, 1, env)
    return entry.chunk
  end
  local chunk, why = load(entry.source, "@" .. path, "t", env)
  if not chunk then error(why, 0) end
  if reuse then entry.chunk = chunk end
  return chunk
end

-- ---------------------------------------------------------------------------------------------------------------
-- Values

-- Text of a value that ${} or emit() may print; the error says what is wrong with any other.
local function printable(value, what)
  local kind = math_type(value) or type(value)
  if kind == "string" or kind == "integer" then return tostring(value) end
  if kind == "boolean" then return tostring(value) end
  if kind == "nil" then error(what .. " is nil", 3) end
  if kind == "float" then
    error(what .. " is the float " .. tostring(value) .. ": use // for integer division, f32() or fmt() for a literal", 3)
  end
  error(what .. " is a " .. kind .. ", which has no text form", 3)
end

local function need_int(name, ...)
  for i = 1, select("#", ...) do
    local v = select(i, ...)
    if math.type(v) ~= "integer" then
      error(("%s: argument %d is %s, integer expected"):format(name, i, math.type(v) or type(v)), 3)
    end
  end
end

-- string.format whose arguments must have a text form: "%s" of a table would print an address.
local function fmt(format, ...)
  for i = 1, select("#", ...) do
    local kind = type((select(i, ...)))
    if kind ~= "string" and kind ~= "number" and kind ~= "boolean" then
      error(("fmt: argument %d is a %s"):format(i + 1, kind), 2)
    end
    if math.type((select(i, ...))) == "float" and format:find("%%[%d%.%-]*s") then
      error(("fmt: argument %d is a float in a format with %%s: use %%g or %%d"):format(i + 1), 2)
    end
  end
  return string.format(format, ...)
end

local helpers = {}

function helpers.ceil_div(a, b)
  need_int("ceil_div", a, b)
  return -(-a // b)
end
function helpers.round_up(a, b)
  need_int("round_up", a, b)
  return -(-a // b) * b
end
function helpers.is_pow2(a)
  need_int("is_pow2", a)
  return a > 0 and a & (a - 1) == 0
end
-- Exponent of a power of two.
function helpers.log2(a)
  need_int("log2", a)
  if a <= 0 or a & (a - 1) ~= 0 then error(("log2: %d is not a power of two"):format(a), 2) end
  local n = 0
  while a > 1 do a, n = a >> 1, n + 1 end
  return n
end
function helpers.min(...)
  need_int("min", ...)
  return math.min(...)
end
function helpers.max(...)
  need_int("max", ...)
  return math.max(...)
end
-- {first, ..., last}
function helpers.range(first, last, step)
  need_int("range", first, last, step or 1)
  local t = {}
  for i = first, last, step or 1 do t[#t + 1] = i end
  return t
end
-- Numbers and strings of a list, joined.
function helpers.join(list, separator)
  local t = {}
  for i, v in ipairs(list) do t[i] = printable(v, "join: element " .. i) end
  return table.concat(t, separator or ", ")
end
-- A float as a C literal that reads back to the same fp32 value.
function helpers.f32(x)
  if type(x) ~= "number" or x ~= x or x == math.huge or x == -math.huge then
    error("f32: finite number expected", 2)
  end
  local text = string.format("%.9g", x)
  if not text:find("[%.e]") then text = text .. ".0" end
  return text .. "f"
end
helpers.fmt = fmt
-- Contracts: what must hold of the parameters. Raised at the template's line.
function helpers.contract(cond, format, ...)
  if not cond then error("contract: " .. fmt(format or "not met", ...), 2) end
end

local strict_string = setmetatable({ format = fmt }, { __index = string })

-- Names every template starts with, besides its parameters.
local function base_names(loader)
  local names = {
    ipairs = ipairs, select = select, type = type, tonumber = tonumber, error = error, assert = assert,
    tostring = function(v)
      local s = printable(v, "tostring: argument")
      return s
    end,
    sorted = loader.sorted, pairs = loader.banned_pairs, next = loader.banned_pairs,
    string = strict_string,
    table = { insert = table.insert, remove = table.remove, concat = helpers.join, unpack = table.unpack },
    math = { abs = math.abs, floor = math.floor, ceil = math.ceil, type = math.type },
  }
  for name, fn in loader.sorted(helpers) do names[name] = fn end
  return names
end

-- ---------------------------------------------------------------------------------------------------------------
-- Rendering

-- The error message, extended by the innermost template line when it arose in a helper or a gen/ module.
local function with_template_line(message)
  if message == STOP then return message end
  message = tostring(message)
  if message:find("^templates/") then return message end
  for level = 2, 60 do
    local info = debug.getinfo(level, "Sl")
    if not info then break end
    if info.source:find("^@templates/") then
      return ("%s:%d: %s"):format(info.source:sub(2), info.currentline, message)
    end
  end
  return message
end

-- An environment in which unknown names and every write are errors. `layers` are searched in order.
local function environment(layers, used)
  return setmetatable({}, {
    __index = function(_, name)
      for _, layer in ipairs(layers) do
        local value = layer[name]
        if value ~= nil then
          used[name] = true
          return value
        end
      end
      error("undefined name '" .. tostring(name) .. "'", 2)
    end,
    __newindex = function(_, name)
      error("write to global '" .. tostring(name) .. "': declare it local", 2)
    end,
    __metatable = false,
  })
end

-- Collects output; write() is what text lines call, text() joins.
local function collector()
  local out, n, size = {}, 0, 0
  local function write(first, ...)
    n, size = n + 1, size + #first
    out[n] = first
    for i = 1, select("#", ...) do
      local s = select(i, ...)
      n, size = n + 1, size + #s
      out[n] = s
    end
    if size > MAX_OUTPUT then error(("more than %d bytes of output"):format(MAX_OUTPUT), 2) end
  end
  return write, function()
    local text = table.concat(out)
    out, n = { text }, 1
    return text
  end
end

-- The function that ${} calls. Not a tail call: printable() counts stack levels to find the template's line.
local function interpolate(v, expr)
  if math_type(v) == "integer" then return tostring(v) end
  if type(v) == "string" then return v end
  local s = printable(v, "${" .. expr .. "}")
  return s
end

-- Text without Lua, but for what it says that it needs.
local function is_plain(text)
  text = text:gsub("//@ needs%b()", "")
  return not text:find("//@", 1, true) and not text:find("${", 1, true)
end

-- True if `word` and blanks stand right before position `at` of a text.
local function follows(text, at, word)
  while find(text, "^%s", at - 1) and at > 1 do at = at - 1 end
  return sub(text, math.max(1, at - #word), at - 1) == word
end

-- True if a text declares a name: a constant, a macro, a function, a struct or another type. Looks at the places where the name
-- stands: a pattern that begins with a frontier would look at each character.
local function declares_name(text, name)
  local at = 1
  while true do
    local first, last = find(text, name, at, true)
    if not first then return false end
    if not find(text, "^[%w_]", first - 1) or first == 1 then
      if find(text, "^%s*[=({%[]", last + 1) then return true end
    end
    if not find(text, "^[%w_]", last + 1) and find(text, "^%s", first - 1) and first > 1 then
      if follows(text, first - 1, "#define") or follows(text, first - 1, "struct") then return true end
    end
    at = last + 1
  end
end

-- The functions of one rendering that templates see: emit, declares, needs, require, include, optional. `run(file, layers)`
-- renders a file.
local function add_functions(base, layers, r, run, used)
  local function check_closure(path)
    if r.opts.allowed and not r.opts.allowed[path] then error(path .. " is outside the template's closure", 3) end
  end
  base.emit = function(v) r.write(type(v) == "string" and v or printable(v, "emit: argument"), "\n") end
  base.declares = function(t)
    for k, v in r.loader.sorted(t) do
      need_int("declares: " .. tostring(k), v)
      r.declared[k] = v
    end
    if r.opts.dry then error(STOP, 0) end
  end
  -- A header's demands on its includer: names that the text before it declares. Each is said, so that a slip is an error here and
  -- not one of the compiler, in a text that nobody wrote.
  base.needs = function(...)
    if r.opts.fold then return end
    local before = r.text()
    for i = 1, select("#", ...) do
      local name = select(i, ...)
      if not declares_name(before, name) then error("needs " .. name .. ", which its includer does not declare before it", 2) end
    end
  end
  -- A parameter that kernels older than it do not have: 0.
  base.optional = function(name)
    used[name] = true
    return layers[1][name] or 0
  end
  base.require = function(name)
    check_closure("gen/" .. name .. ".lua")
    return r.loader.require(name)
  end
  base.include = function(file, args)
    check_closure("templates/" .. file)
    if r.opts.fold and is_plain(r.loader.template(file)) then
      r.write("// [templates/" .. file .. "]\n")
      return nil
    end
    local result = run(file, args and { args, table.unpack(layers) } or layers)
    return result
  end
end

-- Runs fn with string methods made strict: ("..."):format() goes through the string metatable, not the environment.
local function with_strict_strings(fn, ...)
  local meta = getmetatable("")
  local plain = meta.__index
  meta.__index = strict_string
  local ok, why = xpcall(fn, with_template_line, ...)
  meta.__index = plain
  return ok, why
end

local function check_names(loader, path, params, ...)
  for name in loader.sorted(params) do
    for i = 1, select("#", ...) do
      if select(i, ...)[name] ~= nil then
        error(("templates/%s:1: parameter '%s' hides a name of the engine"):format(path, name), 0)
      end
    end
  end
end

local function check_used(loader, path, params, used)
  for name in loader.sorted(params) do
    if not used[name] then
      error(("templates/%s:1: parameter '%s' is never read: a parameter that changes nothing makes equal kernels "
        .. "look different"):format(path, name), 0)
    end
  end
end

-- Render templates/<path>.
--   params  table of integers and strings, read by the template as names; each must be read at least once
--   names   further read-only names (arch, symbol, ...)
--   opts.allowed  set of paths the template may pull in (its closure)
--   opts.dry      stop behind declares{}: check the contract, emit nothing
--   opts.fold     show plain partials (text without Lua) as one line naming them
-- Returns the text and the table the template passed to declares{}.
function engine.render(loader, path, params, names, opts)
  local write, text = collector()
  local r = { loader = loader, opts = opts, write = write, text = text, declared = {} }
  local used, open_files, base = {}, {}, base_names(loader)
  local layers = { params, names, base }

  local function run(file, file_layers)
    for _, open in ipairs(open_files) do
      if open == file then error("include of " .. file .. " inside itself", 3) end
    end
    if #open_files >= MAX_DEPTH then error("includes nested deeper than " .. MAX_DEPTH, 3) end
    open_files[#open_files + 1] = file
    local chunk = compile("templates/" .. file, loader.template(file), environment(file_layers, used), opts.dry)
    local result = chunk(write, interpolate)
    open_files[#open_files] = nil
    return result
  end

  add_functions(base, layers, r, run, used)
  check_names(loader, path, params, base, names)
  local ok, why = with_strict_strings(run, path, layers)
  if not ok and why == STOP then return "", r.declared end
  if not ok then error(why, 0) end
  check_used(loader, path, params, used)
  return text(), r.declared
end

return engine
