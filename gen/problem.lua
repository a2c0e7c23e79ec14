-- Problem strings for the plain-Lua tools: "OP:fields", e.g. "mla_decode:h16,r512,p64,q1,bf16,page64,b64,s4096". Which fields
-- there are the operation's record says (gen/ops.lua). The C side (runtime/ops/mla_decode/problem.c) is the authority;
-- tests compare the two on the same strings.
local ops = require("ops")
local problem = {}

-- Every field present, in range, canonical; errors name field, value and range.
function problem.check(p)
  local op = ops.of(p)
  p.op = op.name
  for _, f in ipairs(op.fields) do
    local v = p[f.field]
    if math.type(v) ~= "integer" or v < f.least or v > f.most or v % f.multiple ~= 0 then
      error(("problem: %s is %s, must be a multiple of %d in %d..%d"):format(f.field, tostring(v), f.multiple, f.least, f.most),
        0)
    end
  end
  local why = op.fault(p)
  if why then error("problem: " .. why, 0) end
  op.canonical(p)
  return p
end

function problem.parse(text)
  local name, list = text:match("^([%w_]+):(.+)$")
  if not name then error("problem '" .. text .. "' does not begin with an operation: " .. table.concat(ops.names(), ", "), 0) end
  local op, p = ops.get(name), { op = name }
  for key, value in sorted(op.defaults) do p[key] = value end
  for item in (list .. ","):gmatch("([^,]*),") do
    local word, key, value = op.words[item], item:match("^(%l+)(%d+)$")
    local field
    for _, f in ipairs(op.fields) do field = field or f.key == key and f.field or nil end
    if word then p[word[1]] = word[2]
    elseif field and p[field] == nil then p[field] = math.tointeger(tonumber(value))
    else error(("problem '%s': bad field '%s'"):format(text, item), 0) end
  end
  for _, f in ipairs(op.fields) do
    if p[f.field] == nil then p[f.field] = f.default end
  end
  return problem.check(p)
end

function problem.print(p)
  local op, out = ops.of(p), {}
  for _, f in ipairs(op.fields) do
    out[#out + 1] = f.key .. p[f.field]
    if f.field == op.behind then
      for _, word in ipairs(op.print_words(p)) do out[#out + 1] = word end
    end
  end
  return op.name .. ":" .. table.concat(out, ",")
end

return problem
