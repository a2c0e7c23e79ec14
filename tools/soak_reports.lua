-- Reports of `mlaforge verify --soak N --json`, read together; shared by tools/soaked.lua and tools/rehash.lua.
local reports = {}

-- Fields of one line of JSON as the program writes it: flat but for the kernels, no quote inside a value that is looked for.
local function text(object, key) return object:match('"' .. key .. '":"([^"]*)"') end
local function number(object, key) return tonumber(object:match('"' .. key .. '":(-?[%d.eE+]+)')) end
-- Each stage's kernel is an object with a src_hash: their sources in order.
local function sources_of(line)
  local list = {}
  for object in line:gmatch('"[%a_]+":(%b{})') do list[#list + 1] = text(object, "src_hash") end
  return table.concat(list, " ")
end

-- The key that launches are counted by. kernels: the src_hash of each stage, apart by a blank.
function reports.key(device, problem, variant, knob, kernels)
  return table.concat({ device, problem, variant, knob, kernels }, "\t")
end

-- { launches = by that key, wrong = kernels -> a problem that they were wrong for, n = reports }; nil and why: no file to read.
function reports.read(paths)
  local all = { launches = {}, wrong = {}, n = 0 }
  for _, path in ipairs(paths) do
    local f, why = io.open(path, "r")
    if not f then return nil, why end
    for line in f:lines() do
      if text(line, "schema") == "mlaforge.soak" then
        local kernels = sources_of(line)
        local knob = (number(line, "knob") or number(line, "splits")) // 1 | 0 -- reports had the latter name before
        local key = reports.key(text(line, "device"), text(line, "problem"), text(line, "variant"), knob, kernels)
        if not line:find('"correct":true', 1, true) then all.wrong[kernels] = text(line, "problem") end
        all.launches[key] = (all.launches[key] or 0) + number(line, "launches")
        all.n = all.n + 1
      end
    end
    f:close()
  end
  return all
end

return reports
