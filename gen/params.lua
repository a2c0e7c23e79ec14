-- Compile-time parameters as text: "blocks=1,heads=16,waves=4", sorted by key. The text is the identity of a kernel (with
-- template and target), so it has exactly one spelling: values are integers or lower-case words, never floats.
local params = {}

params.NAME = "^[a-z][a-z0-9_]*$"
local WORD = "^[a-z][a-z0-9_]*$"

local function check_value(key, value)
  if math.type(value) == "integer" then return value end
  if type(value) == "string" and value:find(WORD) then return value end
  error(("parameter %s=%s: an integer or a lower-case word expected"):format(key, tostring(value)), 0)
end

-- "a=1,b=x" -> {a = 1, b = "x"}. Order and repeated keys are checked by print(parse(s)) == s where it matters.
function params.parse(text)
  local t = {}
  for item in (text .. ","):gmatch("([^,]*),") do
    if item ~= "" then
      local key, value = item:match("^([%w_]+)=([%w_%-]+)$")
      if not key or not key:find(params.NAME) then error(("bad parameter '%s' in '%s': k=v expected"):format(item, text), 0) end
      if t[key] ~= nil then error(("parameter '%s' given twice"):format(key), 0) end
      t[key] = check_value(key, value:find("^%-?%d+$") and math.tointeger(tonumber(value)) or value)
    end
  end
  return t
end

function params.print(t)
  local out = {}
  for key, value in sorted(t) do
    if type(key) ~= "string" or not key:find(params.NAME) then error("bad parameter name '" .. tostring(key) .. "'", 0) end
    out[#out + 1] = key .. "=" .. tostring(check_value(key, value))
  end
  return table.concat(out, ",")
end

-- Shallow union; later tables win.
function params.merge(...)
  local t = {}
  for i = 1, select("#", ...) do
    for k, v in sorted((select(i, ...))) do t[k] = v end
  end
  return t
end

return params
