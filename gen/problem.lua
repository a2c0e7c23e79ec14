-- Problem strings in Lua: "mla_decode:h16,r512,p64,q1,bf16,page64,b64,s4096", an operation's name and its fields, which
-- gen/ops/<operation>/fields.lua says. The C side (runtime/op) reads the same table; tests compare the two on the same strings.
local loader = ...
local formats = require("formats")
local problem = {}

local known = {}

-- Operations are found by their folders.
local function fields_of(op)
  if known[op] == nil then
    local there = op:find("^[%l%d_]+$") and loader.host.read("gen/ops/" .. op .. "/fields.lua")
    known[op] = there and loader.require("ops/" .. op .. "/fields") or false
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

function problem.parse(text)
  local op, list = text:match("^([%l%d_]+):(.+)$")
  if not op then error("problem '" .. text .. "' does not begin with an operation and a colon", 0) end
  local fields, p = fields_of(op), { op = op }
  for item in (list .. ","):gmatch("([^,]*),") do
    local field, value = item_of(fields, item)
    local refused = not field and formats.refusal(op, item)
    if refused then error("problem: " .. refused, 0) end
    if not field or p[field] ~= nil then error(("problem '%s': bad field '%s'"):format(text, item), 0) end
    p[field] = value
  end
  for _, f in ipairs(fields) do
    if p[f.field] == nil then p[f.field] = f.words and value_of(f, 1) or f.default end
  end
  return problem.check(p)
end

function problem.print(p)
  local out = {}
  for _, f in ipairs(fields_of(p.op)) do
    local word = f.key and f.key .. p[f.field] or (f.words[1] == "" and f.words[p[f.field] + 1]) or p[f.field]
    if word ~= "" and not (f.key and is_moot(p, f)) then out[#out + 1] = word end
  end
  return p.op .. ":" .. table.concat(out, ",")
end

return problem
