-- What goldens and manifests consist of, found by the folders of tests/golden; shared by tools/golden-update.lua (writes) and
-- tests/lua/test_golden.lua (compares).
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

-- Targets whose kernels the manifests list: one per kind of template.
golden.targets = { "gfx942", "sm_90a" }

-- { template, name, params, target, file: its text, relative to the root }, sorted. A case's .params file is one line
-- "k=v,..."; a second line names another target than its template's usual one.
function golden.cases(loader, root)
  local out = {}
  for _, file in ipairs(capture(("cd '%s' && LC_ALL=C find tests/golden -name '*.params' | LC_ALL=C sort"):format(root))) do
    local path = file:gsub("%.params$", "")
    local template, name = path:match("^tests/golden/([%w_/]+)/([%w_%-]+)$")
    local params, target = slurp(root .. "/" .. file):match("^([^\n]*)\n?([^\n]*)")
    local suffix = loader.suffix(template) or error("no template for the golden " .. file)
    if target == "" then target = suffix == ".cu" and "sm_90a" or "gfx942" end
    out[#out + 1] = { template = template, name = template .. "/" .. name, params = params, target = target,
      file = path .. suffix }
  end
  return out
end

-- The file of an operation's goldens: "manifest.tsv", "problems.txt".
function golden.file(op, name) return ("tests/golden/%s/%s"):format(op, name) end

-- The lines of every manifest of a tree; of one from before each operation had its own, too.
function golden.manifests(root)
  local out = {}
  for _, file in ipairs(capture(("cd '%s' && LC_ALL=C find tests/golden -name manifest.tsv | LC_ALL=C sort"):format(root))) do
    for line in slurp(root .. "/" .. file):gmatch("[^\n]+") do
      if line:sub(1, 1) ~= "#" then out[#out + 1] = line end
    end
  end
  return out
end

-- Every kernel the space offers for the problems of an operation's problems.txt, a library's where its family is named:
-- { target, template, params }, sorted, once each.
function golden.kernels(loader, root, op)
  local space, problem = loader.require("space"), loader.require("problem")
  local seen, keys, out = {}, {}, {}
  local function add(target, k)
    local key = target .. "\t" .. k.template .. "\t" .. k.params
    if not seen[key] then
      seen[key] = { target = target, template = k.template, params = k.params }
      keys[#keys + 1] = key
    end
  end
  for line in slurp(root .. "/" .. golden.file(op, "problems.txt")):gmatch("[^\n]+") do
    if line:sub(1, 1) ~= "#" then
      local text, only_target, only_family = line:match("^(%S+)%s*(%S*)%s*(%S*)$")
      local p = problem.parse(text)
      for _, target in ipairs(only_target ~= "" and { only_target } or golden.targets) do
        for _, item in ipairs(space.kernels(p, target)) do
          if not item.rejected and (only_family == "" or item.family == only_family) then add(target, item.kernel) end
        end
        for _, item in ipairs(only_family == "" and space.second_kernels(p, target) or {}) do add(target, item.kernel) end
        for _, item in ipairs(only_family ~= "" and space.library_kernels(p, target) or {}) do
          if not item.rejected and only_family == item.family then add(target, item.kernel) end
        end
      end
    end
  end
  table.sort(keys)
  for i, key in ipairs(keys) do out[i] = seen[key] end
  return out
end

return golden
