-- Problem strings in Lua: "mla_decode:h16,r512,p64,q1,bf16,page64,b64,s4096", an operation's name and its fields, which
-- gen/ops/<operation>/fields.lua says, and those of problems that may follow (joint.lua). The C side (runtime/op) reads the same
-- tables; tests compare the two on the same strings.
local loader = ...
local formats = require("formats")
local joint = loader.require("joint")
local problem = {}

local known = {}

-- Operations are found by their folders.
local function fields_of(op)
  if known[op] == nil then
    local there = op:find("^[%l%d_]+$") and loader.host.read("gen/ops/" .. op .. "/fields.lua")
    known[op] = there and joint.fields(op) or false
  end
  return known[op] or error("problem: there is no operation '" .. op .. "' (gen/ops)", 0)
end

-- A field's words as a problem holds them: numbers of a flag.
local function value_of(f, i) return f.words[1] == "" and i - 1 or f.words[i] end

local function fault_of_words(f, v)
  local all = {}
  for i in ipairs(f.words) do
    all[i] = tostring(value_of(f, i))
    if v == value_of(f, i) then return nil end
  end
  return ("problem: %s is %s, must be %s"):format(f.field, tostring(v), table.concat(all, " or "))
end

local function is_moot(p, f) return f.moot and p[f.moot.field] == f.moot.at end

local function go_together(values, value)
  for _, one in ipairs(values) do
    if one == value then return true end
  end
  return false
end

-- Every field present, in range, canonical (a field that says nothing is 0); errors name field, value and range.
function problem.check(p)
  local fields = fields_of(p.op or "")
  for _, f in ipairs(fields) do
    if is_moot(p, f) and p[f.field] == 0 then goto continue end
    local v = p[f.field]
    local why = f.words and fault_of_words(f, v)
    if why then error(why, 0) end
    if not f.words and (math.type(v) ~= "integer" or v < f.least or v > f.most or v % f.multiple ~= 0) then
      error(("problem: %s is %s, must be a multiple of %d in %d..%d"):format(f.field, tostring(v), f.multiple, f.least, f.most),
        0)
    end
    ::continue::
  end
  for _, f in ipairs(fields) do
    if is_moot(p, f) then p[f.field] = f.words and value_of(f, 1) or 0 end
  end
  for _, f in ipairs(fields) do
    local other = f.apart and f.apart.field
    if other and p[f.field] ~= 0 and not go_together(f.apart.of or { 0 }, p[other]) then
      error(("problem: %s is %s and %s is %s: %s"):format(f.field, p[f.field], other, p[other], f.apart.why), 0)
    end
  end
  return p
end

-- The effect of one item of a problem string: field and value, or nil.
local function item_of(fields, item)
  local key, number = item:match("^(%l+)(%d+)$")
  for _, f in ipairs(fields) do
    for i, word in ipairs(f.words or {}) do
      if word == item and word ~= "" then return f.field, value_of(f, i) end
    end
    if key and f.key == key then return f.field, math.tointeger(tonumber(number)) end
  end
end

-- Items of a text up to a +, into p.
local function read_items(op, fields, list, text, p)
  for item in (list .. ","):gmatch("([^,]*),") do
    local field, value = item_of(fields, item)
    local refused = not field and formats.refusal(op, item)
    if refused then error("problem: " .. refused, 0) end
    if not field or p[field] ~= nil then error(("problem '%s': bad field '%s'"):format(text, item), 0) end
    p[field] = value
  end
end

local function fill(fields, p)
  for _, f in ipairs(fields) do
    if p[f.field] == nil then p[f.field] = f.words and value_of(f, 1) or f.default end
  end
end

local function place(f, value)
  for i = 1, f.words and #f.words or 0 do
    if value == value_of(f, i) then return i - 1 end
  end
  return value
end

-- A problem that follows p's first: its own fields go to p, what it says again must be as before.
local function read_next(p, name, list, text)
  local row
  for _, one in ipairs(joint.rows(p.op)) do row = row or one.own and one.op == name and one end
  if not row or (p[row.name] or 0) ~= 0 then error(("problem '%s': '%s' may not follow there"):format(text, name), 0) end
  local fields, q = fields_of(name), {}
  read_items(name, fields, list, text, q)
  for field, value in sorted(q) do
    local same = row.same[field] and p[row.same[field]]
    if same == nil and row.is then same = row.is[field] end
    if same ~= nil and value ~= same then
      error(("problem '%s': %s of %s must be %s here"):format(text, field, name, same), 0)
    end
  end
  fill(fields, q)
  for _, f in ipairs(fields_of(p.op)) do
    if f.part == name then p[f.field] = place(joint.named(fields, f.of), q[f.of]) + f.less end
  end
end

local function check_list(p, given, text)
  for _, row in ipairs(joint.rows(p.op)) do
    if row.own and given[row.name] and given[row.name] ~= 0 and p[row.name] == 0 then
      error(("problem '%s': %s may follow only behind %s"):format(text, row.op, row.behind), 0)
    end
  end
end

function problem.parse(text)
  local op, list, more = text:match("^([%l%d_]+):([^+]+)(.*)$")
  if not op then error("problem '" .. text .. "' does not begin with an operation and a colon", 0) end
  local fields, p, given = fields_of(op), { op = op }, {}
  read_items(op, fields, list, text, p)
  if more ~= "" then
    fill(fields, p)
    for next in more:gmatch("%+([^+]*)") do
      local name, items = next:match("^([%l%d_]+):(.+)$")
      if not name then error(("problem '%s': '+%s' is no problem"):format(text, next), 0) end
      read_next(p, name, items, text)
    end
    for _, row in ipairs(joint.rows(op)) do given[row.name or ""] = p[row.name or ""] end
  end
  fill(fields, p)
  problem.check(p)
  check_list(p, given, text)
  return p
end

-- The text that a field writes into a string; nil: nothing.
local function item(f, value)
  local word = f.key and f.key .. value or (f.words[1] == "" and f.words[value + 1]) or value
  return word ~= "" and word or nil
end

local function print_next(p, row)
  local fields, out = fields_of(row.op), {}
  for _, name in ipairs(joint.in_order(fields, row.own)) do
    local f = joint.named(fields, name)
    for _, of in ipairs(fields_of(p.op)) do
      if of.part == row.op and of.of == name then
        local value = p[of.field] - of.less
        out[#out + 1] = item(f, f.words and value_of(f, value + 1) or value)
      end
    end
  end
  return "+" .. row.op .. ":" .. table.concat(out, ",")
end

function problem.print(p)
  local out, next = {}, {}
  for _, f in ipairs(fields_of(p.op)) do
    if not f.part and not (f.key and is_moot(p, f)) then out[#out + 1] = item(f, p[f.field]) end
  end
  for _, row in ipairs(joint.rows(p.op)) do
    if row.own and p[row.name] ~= 0 then next[#next + 1] = print_next(p, row) end
  end
  return p.op .. ":" .. table.concat(out, ",") .. table.concat(next)
end

return problem
