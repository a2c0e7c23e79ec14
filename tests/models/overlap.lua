-- Launches that overlap (programmatic dependent launch): does some block of a kernel wait for the launch before, whatever is in
-- memory?
--
-- A launch waits for the one before it, and not for those before that one. So where no thread of a kernel executes
-- griddepcontrol.wait, the launch behind it may run beside the launch ahead of it, whose results it reads. One waiting thread in
-- each launch is enough: the launch is not over before that thread has waited.
--
-- overlap.waits(source) walks the text of a CUDA kernel as one thread of block 0 does, function calls included, and looks for a
-- thread that waits on every path. What follows from the thread's number, the block's and constants is computed. Any other
-- condition may be true or false, so both branches have to wait; any loop may run zero times. AT_LEAST says what a launch is
-- known to have. It is a check of text, not a compiler: what it cannot read counts as not waiting.
local overlap = {}

local WAIT = "wait_for_previous_launch"
local AT_LEAST = { ["a.tokens"] = 1, ["a.token_blocks"] = 1 } -- nothing is launched for no tokens, and tokens have blocks
local THREADS_MOST, WARP = 1024, 32

-- ---- Text to tokens ---------------------------------------------------------------------------------------------------
local TWO = {}
for _, op in ipairs({ "==", "!=", "<=", ">=", "&&", "||", "<<", ">>", "++", "--", "+=", "-=", "*=", "/=", "%=", "|=", "&=",
  "^=", "->", "::" }) do TWO[op] = true end

-- Bytes that a word begins with, and a number. All else is one or two characters.
local WORD, NUMBER = {}, {}
for byte = 0, 255 do
  local text = string.char(byte)
  WORD[byte], NUMBER[byte] = text:find("^[%a_]") ~= nil, text:find("^%d") ~= nil
end

local function tokens_of(source)
  source = source:gsub("\\\n", " "):gsub("//[^\n]*", ""):gsub("/%*.-%*/", ""):gsub("\n%s*#[^\n]*", "\n"):gsub('"[^"\n]*"', '""')
  local byte, sub, match = string.byte, string.sub, string.match
  local list, n, at, last = { ends = {} }, 0, source:find("%S"), #source -- ends: of brackets, once they were looked for
  while at and at <= last do
    local first, text = byte(source, at), nil
    if WORD[first] then text, at = match(source, "^([%w_]+)%s*()", at)
    elseif NUMBER[first] then text, at = match(source, "^([%w_.]+)%s*()", at)
    else
      text = sub(source, at, at + 1)
      if not TWO[text] then text = sub(text, 1, 1) end
      at = match(source, "^%s*()", at + #text)
    end
    n = n + 1
    list[n] = text
  end
  return list
end

local CLOSE = { ["("] = ")", ["{"] = "}", ["["] = "]" }
local function matching(list, at)
  local known = list.ends[at]
  if known then return known end
  local open, close, depth = list[at], CLOSE[list[at]], 0
  for i = at, #list do
    local x = list[i]
    if x == open then depth = depth + 1 elseif x == close then depth = depth - 1 end
    if depth == 0 then
      list.ends[at] = i
      return i
    end
  end
  error("no '" .. close .. "'", 0)
end

-- ---- Tokens to statements ---------------------------------------------------------------------------------------------
local statement

local function block(list, at) -- at: of "{"; statements and where it ends
  local last, body = matching(list, at), { kind = "block" }
  at = at + 1
  while at < last do body[#body + 1], at = statement(list, at) end
  return body, last + 1
end

function statement(list, at)
  local word = list[at]
  if word == "{" then return block(list, at) end
  if word == "if" then
    if list[at + 1] == "constexpr" then at = at + 1 end
    local close = matching(list, at + 1)
    local s = { kind = "if", cond = { at + 2, close - 1 } }
    s.yes, at = statement(list, close + 1)
    if list[at] == "else" then s.no, at = statement(list, at + 1) end
    return s, at
  end
  if word == "for" or word == "while" then
    local close, parts, from, depth = matching(list, at + 1), {}, at + 2, 0
    for i = at + 2, close do
      local x = list[i]
      if CLOSE[x] then depth = depth + 1 elseif i < close and (x == ")" or x == "}" or x == "]") then depth = depth - 1 end
      if i == close or x == ";" and depth == 0 then parts[#parts + 1], from = { from, i - 1 }, i + 1 end
    end
    local s = { kind = "loop", init = word == "for" and parts[1] or nil, cond = word == "for" and parts[2] or parts[1],
      head = { at + 2, close - 1 } }
    s.body, at = statement(list, close + 1)
    return s, at
  end
  if word == "do" then
    local s = { kind = "do" }
    s.body, at = statement(list, at + 1)
    return s, matching(list, at + 1) + 2
  end
  local from, depth = at, 0
  while list[at] ~= ";" or depth > 0 do
    local x = list[at] or error("a statement does not end", 0)
    if CLOSE[x] then depth = depth + 1 elseif x == ")" or x == "}" or x == "]" then depth = depth - 1 end
    at = at + 1
  end
  local kinds = { ["return"] = "return", ["break"] = "break", ["continue"] = "continue" }
  return { kind = kinds[word] or "plain", from = from, to = at - 1 }, at + 1
end

-- ---- Values: a number, or nil where it is not known -------------------------------------------------------------------
local LEVELS = { { "||" }, { "&&" }, { "|" }, { "^" }, { "&" }, { "==", "!=" }, { "<", ">", "<=", ">=" }, { "<<", ">>" },
  { "+", "-" }, { "*", "/", "%" } }
local LEVEL_OF = {}
for level, ops in ipairs(LEVELS) do
  for _, op in ipairs(ops) do LEVEL_OF[op] = level end
end
local function truth(x) return x and 1 or 0 end
local COMPUTE = {
  ["|"] = function(a, b) return a | b end, ["^"] = function(a, b) return a ~ b end, ["&"] = function(a, b) return a & b end,
  ["=="] = function(a, b) return truth(a == b) end, ["!="] = function(a, b) return truth(a ~= b) end,
  ["<"] = function(a, b) return truth(a < b) end, [">"] = function(a, b) return truth(a > b) end,
  ["<="] = function(a, b) return truth(a <= b) end, [">="] = function(a, b) return truth(a >= b) end,
  ["<<"] = function(a, b) return a << b end, [">>"] = function(a, b) return a >> b end,
  ["+"] = function(a, b) return a + b end, ["-"] = function(a, b) return a - b end, ["*"] = function(a, b) return a * b end,
  ["/"] = function(a, b) return b ~= 0 and a // b or nil end, ["%"] = function(a, b) return b ~= 0 and a % b or nil end,
}

local function combine(op, a, b)
  if op == "&&" then
    if a == 0 or b == 0 then return 0 end
    return a and b and 1 or nil
  elseif op == "||" then
    if a and a ~= 0 or b and b ~= 0 then return 1 end
    return a and b and 0 or nil
  end
  if op == "*" and (a == 0 or b == 0) then return 0 end
  if type(a) == "table" or type(b) == "table" then -- at least so much
    return op == "<" and type(b) == "table" and math.type(a) and a < b.least and 1 or nil
  end
  return a and b and COMPUTE[op](a, b)
end

local CASTS = { int = true, u32 = true, u64 = true, i64 = true, bool = true, unsigned = true, long = true }
local walker = {}
walker.__index = walker

-- A value that ends before `last`; what it is and where it goes on.
function walker:primary(at, last)
  local list = self.list
  local x = list[at]
  if x == "(" then
    local close = matching(list, at)
    if CASTS[list[at + 1]] and close <= at + 3 then return self:primary(close + 1, last) end
    return self:value(at + 1, close - 1), close + 1
  elseif x == "!" then
    local v, after = self:primary(at + 1, last)
    return math.type(v) and truth(v == 0) or nil, after
  elseif x == "-" then
    local v, after = self:primary(at + 1, last)
    return math.type(v) and -v or nil, after
  elseif x == "true" or x == "false" then return truth(x == "true"), at + 1
  elseif x:find("^%d") then return math.tointeger(tonumber((x:gsub("[uUlL]+$", "")))), at + 1
  elseif not x:find("^[%a_]") then return nil, last + 1 end
  local name = x
  at = at + 1
  while list[at] == "." and at < last do name, at = name .. "." .. list[at + 1], at + 2 end
  if list[at] == "(" then
    local close = matching(list, at)
    if name == "my_thread" then return self.thread, close + 1 end
    if name == "my_block" then return 0, close + 1 end
    if name == "__shfl_sync" then -- of a value that all lanes have: that one
      local comma = at
      while list[comma] ~= "," do comma = comma + 1 end
      return self:value(comma + 1, close - 3), close + 1
    end
    return self.functions[name] and self:inside(name, at, walker.result), close + 1
  end
  if list[at] == "[" or list[at] == "->" or list[at] == "::" then return nil, last + 1 end
  if name == "threadIdx.x" then return self.thread, at end
  if name:find("^blockIdx%.") then return 0, at end
  local known = self.env[name]
  if known == nil then known = self.constants[name] end
  local least = AT_LEAST[name:match("[^.]+%.[^.]+$") or name]
  return known or least and { least = least } or nil, at
end

function walker:binary(at, last, level)
  if level > #LEVELS then return self:primary(at, last) end
  local v
  v, at = self:binary(at, last, level + 1)
  while at <= last and LEVEL_OF[self.list[at]] == level do
    local op, w = self.list[at], nil
    w, at = self:binary(at + 1, last, level + 1)
    v = combine(op, v, w)
  end
  return v, at
end

function walker:value(at, last)
  if last < at then return nil end
  local v, after = self:binary(at, last, 1)
  if after <= last then return nil end -- something else, such as a ? b : c
  return v
end

-- ---- The places of a path that has not waited -------------------------------------------------------------------------
-- Returns, for a statement, a set of "fall", "return", "break", "continue", the ways to leave it without having waited.
local function with(a, b)
  local out = {}
  for _, way in ipairs({ "fall", "return", "break", "continue" }) do out[way] = a[way] or b[way] end
  return out
end

local TYPES = { int = true, u32 = true, bool = true, i64 = true, u64 = true, unsigned = true }

-- Names that get values: those declared with a value that is known are, all others are not any more.
function walker:assign(from, to)
  local list, at = self.list, from
  while list[at] == "const" or list[at] == "constexpr" or list[at] == "static" do at = at + 1 end
  if TYPES[list[at]] then
    at = at + 1
    if list[at] == "const" then at = at + 1 end
    while at <= to do
      local name, stop, depth = list[at], at, 0
      while stop <= to and not (list[stop] == "," and depth == 0) do
        local x = list[stop]
        if CLOSE[x] then depth = depth + 1 elseif x == ")" or x == "}" or x == "]" then depth = depth - 1 end
        stop = stop + 1
      end
      local v = list[at + 1] == "=" and self:value(at + 2, stop - 1)
      self.env[name] = math.type(v) and v or false
      at = stop + 1
    end
    return
  end
  self:forget(from, to)
end
function walker:forget(from, to)
  for i = from, to do
    local x, next, before = self.list[i], self.list[i + 1], self.list[i - 1]
    if x:find("^[%a_]") and (next == "=" or next == "++" or next == "--" or before == "++" or before == "--" or before == "&"
        or TWO[next] and #next == 2 and next:sub(2) == "=" and not LEVEL_OF[next]) then self.env[x] = false end
  end
end

-- Calls within an expression, each of whose functions may wait: true where one of them does on every path.
function walker:calls(from, to)
  local list = self.list
  for i = from, to do
    local name = list[i]
    local after = i + 1
    if list[after] == "<" then -- template arguments
      local j = after + 1
      while j <= to and list[j]:find("^[%w_]") or list[j] == "," do j = j + 1 end
      if list[j] == ">" then after = j + 1 end
    end
    if list[after] == "(" and list[i - 1] ~= "." then
      if name == WAIT then return true end
      if self.functions[name] and self:inside(name, after, walker.never_unwaited) then return true end
    end
    if list[i] == "[" and (list[i + 1] == "&" or list[i + 1] == "]") then return false end -- a lambda: not called here
  end
  return false
end

-- Returns what `look` finds in the body of a function that is called at `open`; nil where there is more than one of that name.
function walker:inside(name, open, look)
  local f, list, args = self.functions[name], self.list, {}
  if not f.body or f.again or self.depth > 20 then return nil end
  local close, from, depth = matching(list, open), open + 1, 0
  for i = open + 1, close do
    local x = list[i]
    if i == close or x == "," and depth == 0 then
      args[#args + 1] = self:value(from, i - 1) or false
      from = i + 1
    elseif CLOSE[x] then depth = depth + 1 elseif x == ")" or x == "}" or x == "]" then depth = depth - 1 end
  end
  local outside = self.env
  self.env, self.depth = {}, self.depth + 1
  for i, param in ipairs(f.params) do self.env[param] = math.type(args[i]) and args[i] or false end
  local found = look(self, f.body)
  self.env, self.depth = outside, self.depth - 1
  return found
end
function walker:never_unwaited(body) return next(self:walk(body)) == nil end
-- Returns the value that a function returns where only known conditions are ahead of that.
function walker:result(body)
  for _, s in ipairs(body) do
    local v = s.kind == "if" and self:value(s.cond[1], s.cond[2])
    if s.kind == "if" and math.type(v) then s = v ~= 0 and s.yes or s.no or { kind = "none" } end
    if s.kind == "return" then return self:value(s.from + 1, s.to) end
    if s.kind == "plain" then self:assign(s.from, s.to) elseif s.kind ~= "none" then return nil end
  end
end

function walker:walk(s)
  if s.kind == "block" then
    local out, outside = {}, self.env
    self.env = setmetatable({}, { __index = outside, __newindex = function(t, k, v)
      if rawget(outside, k) ~= nil or getmetatable(outside) and outside[k] ~= nil then outside[k] = v else rawset(t, k, v) end
    end })
    for _, one in ipairs(s) do
      local left = self:walk(one)
      local falls = left.fall
      left.fall = nil
      out = with(out, left)
      if not falls then
        self.env = outside
        return out
      end
    end
    self.env = outside
    out.fall = true
    return out
  elseif s.kind == "if" then
    if self:calls(s.cond[1], s.cond[2]) then return {} end
    local v = self:value(s.cond[1], s.cond[2])
    if math.type(v) then
      local taken = v ~= 0 and s.yes or s.no
      return taken and self:walk(taken) or { fall = true }
    end
    return with(self:walk(s.yes), s.no and self:walk(s.no) or { fall = true })
  elseif s.kind == "loop" or s.kind == "do" then
    if s.init then self:assign(s.init[1], s.init[2]) end
    local endless = s.cond and (s.cond[2] < s.cond[1] or self.list[s.cond[1]] == "true" and s.cond[2] == s.cond[1])
    local first = (endless or s.kind == "do") and self:walk(s.body) -- the first time around
    if first and not first.fall and not first.continue then -- there is no second
      return { fall = first["break"], ["return"] = first["return"] }
    end
    self:forget(s.head and s.head[1] or 1, s.head and s.head[2] or 0)
    local left = with(first or {}, self:walk(s.body))
    local leaves = not endless or left["break"]
    return { fall = leaves or nil, ["return"] = left["return"] }
  elseif s.kind == "plain" then
    if self:calls(s.from, s.to) then return {} end
    self:assign(s.from, s.to)
    return { fall = true }
  end
  if s.kind == "return" and self:calls(s.from + 1, s.to) then return {} end
  return { [s.kind] = true }
end

-- ---- A kernel's text --------------------------------------------------------------------------------------------------
-- Functions by name, constants, and the kernel: what has __global__ ahead of it.
local function read(source)
  local list = tokens_of(source)
  local functions, constants, kernel, global = {}, {}, nil, false
  local self = setmetatable({ list = list, env = {}, constants = constants, functions = functions,
    order = {}, thread = 0, depth = 0 }, walker)
  local at = 1
  while at <= #list do
    local x = list[at]
    if x == "__global__" then global = true end
    if (x == "struct" or x == "enum" or x == "union") and list[at + 1] then
      local open = at
      while list[open] ~= "{" and list[open] ~= ";" do open = open + 1 end
      at = list[open] == "{" and matching(list, open) + 1 or open + 1
    elseif x == "constexpr" and TYPES[list[at + 1]] then
      local stop = at
      while list[stop] ~= ";" do stop = stop + 1 end
      self.env = constants
      self:assign(at, stop - 1)
      at = stop + 1
    elseif x:find("^[%a_]") and list[at + 1] == "(" and list[matching(list, at + 1) + 1] == "{" then
      local close = matching(list, at + 1)
      local params = {}
      for i = at + 2, close do
        if (list[i] == "," or i == close) and list[i - 1]:find("^[%a_]") then params[#params + 1] = list[i - 1] end
      end
      local last = matching(list, close + 1)
      local f = { name = x, params = params, from = close + 1, to = last, again = functions[x] ~= nil }
      functions[x], self.order[#self.order + 1] = f, f
      if global then kernel, global = f, false end
      at = last + 1
    else
      at = at + 1
    end
  end
  return self, kernel
end

-- Marks the functions that reach a wait at all: others need no walk.
local function mark(self)
  local named = {} -- by function, the functions that its text names
  for _, f in ipairs(self.order) do
    local list, there = {}, {}
    for i = f.from, f.to do
      local x = self.list[i]
      if x == WAIT then f.may_wait = true end
      if self.functions[x] and x ~= f.name and not there[x] then list[#list + 1], there[x] = x, true end
    end
    named[f] = list
  end
  local changed = true
  while changed do
    changed = false
    for _, f in ipairs(self.order) do
      for _, x in ipairs(f.may_wait and {} or named[f]) do
        if self.functions[x].may_wait then f.may_wait, changed = true, true end
      end
    end
  end
  for _, f in ipairs(self.order) do
    if f.may_wait then f.body = block(self.list, f.from) end
  end
end

-- The number of a thread of block 0 that waits on every path; nil and why there is none.
function overlap.waits(source)
  local self, kernel = read(source)
  self.functions[WAIT] = nil
  if not source:find(WAIT .. "%(%) {[^}]*griddepcontrol%.wait;") then return nil, WAIT .. "() does not wait" end
  if not kernel then return nil, "no kernel in the text" end
  mark(self)
  if not kernel.may_wait then return nil, kernel.name .. " never waits for the launch before" end
  local threads = source:match("__launch_bounds__%((%d+)")
  for thread = 0, (tonumber(threads) or self.constants.THREADS or THREADS_MOST) - 1, WARP do
    self.thread, self.env, self.depth = thread, {}, 0
    for _, param in ipairs(kernel.params) do self.env[param] = nil end
    if not next(self:walk(kernel.body)) then return thread end
  end
  return nil, kernel.name .. " has no thread that waits for the launch before on every path"
end

return overlap
