-- What goldens and manifest consist of; shared by tools/golden-update.lua (writes) and tests/lua/test_golden.lua (compares).
local golden = {}

local function capture(command)
  local pipe, out = assert(io.popen(command)), {}
  for line in pipe:lines() do out[#out + 1] = line end
  pipe:close()
  return out
end

local function slurp(path)
  local f = assert(io.open(path, "rb"), "cannot read " .. path)
  local text = f:read("a")
  f:close()
  return text
end

-- { template, name, params, path without suffix relative to the root }, sorted. A case's .params file is one line "k=v,...".
function golden.cases(root)
  local out = {}
  for _, file in ipairs(capture(("cd '%s' && LC_ALL=C find tests/golden -name '*.params' | LC_ALL=C sort"):format(root))) do
    local path = file:gsub("%.params$", "")
    local template, name = path:match("^tests/golden/([%w_]+)/([%w_%-]+)$")
    local params = slurp(root .. "/" .. file):match("^[^\n]*")
    out[#out + 1] = { template = template, name = template .. "/" .. name, path = path, params = params }
  end
  return out
end

-- Every kernel the space offers for the problems of tests/golden/problems.txt: { template, params }, sorted, once each.
function golden.kernels(loader, root)
  local space, problem = loader.require("space"), loader.require("problem")
  local seen, keys, out = {}, {}, {}
  local function add(k)
    local key = k.template .. "\t" .. k.params
    if not seen[key] then
      seen[key] = k
      keys[#keys + 1] = key
    end
  end
  for line in slurp(root .. "/tests/golden/problems.txt"):gmatch("[^\n]+") do
    if line:sub(1, 1) ~= "#" then
      local p = problem.parse(line)
      for _, item in ipairs(space.kernels(p, "gfx942")) do
        if not item.rejected then add(item.kernel) end
      end
      for _, item in ipairs(space.combine_kernels(p, "gfx942")) do add(item.kernel) end
    end
  end
  table.sort(keys)
  for i, key in ipairs(keys) do out[i] = { template = seen[key].template, params = seen[key].params } end
  return out
end

return golden
