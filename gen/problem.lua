-- Problem strings for the plain-Lua tools: "mla_decode:h16,r512,p64,q1,bf16,page64,b64,s4096", ",causal" behind q.
-- The C side (runtime/ops/mla_decode/problem.c) is the authority; tests compare the two on the same strings. Both take
-- gen/limits.lua.
local problem = {}

-- key in the string, field name, default, least, most, multiple of; in print order
local FIELDS = {}
for i, f in ipairs(require("limits").problem) do
  FIELDS[i] = { f.key, f.field, f.default, f.least, f.most, f.multiple }
end
local WORDS = { bf16 = { "dtype", "bf16" }, f16 = { "dtype", "f16" }, causal = { "causal", 1 } }

-- Every field present, in range, canonical (causal := 0 when q_len is 1); errors name field, value and range.
function problem.check(p)
  for _, f in ipairs(FIELDS) do
    local v = p[f[2]]
    if math.type(v) ~= "integer" or v < f[4] or v > f[5] or v % f[6] ~= 0 then
      error(("problem: %s is %s, must be a multiple of %d in %d..%d"):format(f[2], tostring(v), f[6], f[4], f[5]), 0)
    end
  end
  if p.causal ~= 0 and p.causal ~= 1 then error("problem: causal is " .. tostring(p.causal) .. ", must be 0 or 1", 0) end
  if p.dtype ~= "bf16" and p.dtype ~= "f16" then error("problem: dtype is " .. tostring(p.dtype), 0) end
  if p.q_len == 1 then p.causal = 0 end
  return p
end

function problem.parse(text)
  local list = text:match("^mla_decode:(.+)$")
  if not list then error("problem '" .. text .. "' does not begin with mla_decode:", 0) end
  local p = { causal = 0, dtype = "bf16" }
  for item in (list .. ","):gmatch("([^,]*),") do
    local word, key, value = WORDS[item], item:match("^(%l+)(%d+)$")
    local name
    for _, f in ipairs(FIELDS) do name = name or f[1] == key and f[2] or nil end
    if word then p[word[1]] = word[2]
    elseif name and p[name] == nil then p[name] = math.tointeger(tonumber(value))
    else error(("problem '%s': bad field '%s'"):format(text, item), 0) end
  end
  for _, f in ipairs(FIELDS) do
    if p[f[2]] == nil then p[f[2]] = f[3] end
  end
  return problem.check(p)
end

function problem.print(p)
  local out = {}
  for _, f in ipairs(FIELDS) do
    out[#out + 1] = f[1] .. p[f[2]]
    if f[1] == "q" then
      if p.causal == 1 then out[#out + 1] = "causal" end
      out[#out + 1] = p.dtype
    end
  end
  return "mla_decode:" .. table.concat(out, ",")
end

return problem
