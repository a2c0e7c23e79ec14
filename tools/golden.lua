-- Contents of goldens and manifests, by the lists in tests/golden; shared by tools/golden-update.lua (writes) and
-- tests/lua/test_golden.lua (compares). A golden is a kernel's source for readers, one for each body; a manifest has the hash of
-- every kernel of an operation's lists.
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

-- The file that has a kernel's body, of its template's closure: the one with its __global__ function, or with what a library is
-- asked for. Templates that only set parameters share one. Relative to templates/, without suffixes.
function golden.body(loader, template)
  local found
  for _, file in ipairs(loader.closure(template).list) do
    local name = file.path:match("^templates/([%w_/]+)%.")
    if name and (file.text:find("__global__", 1, true) or file.text:find("mlaforge library product", 1, true)) then
      assert(not found, "the kernel of " .. template .. " has two bodies")
      found = name
    end
  end
  return assert(found, "the kernel of " .. template .. " has no body")
end

-- The file of an operation's goldens: "manifest.txt", "problems.txt", "kernels.txt".
function golden.file(op, name) return ("tests/golden/%s/%s"):format(op, name) end

-- Folders with a manifest: of each operation, and of kernels that are tools.
function golden.folders(loader)
  local out = { "tools" }
  for _, op in ipairs(loader.require("ops").names()) do out[#out + 1] = op end
  return out
end

-- The kernels of every kernels.txt: { folder, template, name, params, target, body, file: its golden, relative to the root, if it
-- has one }. A line: target, template, parameters, and "golden" on demand.
function golden.cases(loader, root)
  local params, out = loader.require("params"), {}
  for _, folder in ipairs(golden.folders(loader)) do
    for line in slurp(root .. "/" .. golden.file(folder, "kernels.txt")):gmatch("[^\n]+") do
      if line:sub(1, 1) ~= "#" then
        local target, template, text, shown = line:match("^(%S+) (%S+) (%S+) ?(%S*)$")
        if not target or shown ~= "" and shown ~= "golden" or params.print(params.parse(text)) ~= text then
          error(("%s: not 'TARGET TEMPLATE PARAMETERS [golden]', parameters sorted by name: %s")
            :format(golden.file(folder, "kernels.txt"), line), 0)
        end
        local suffix = loader.suffix(template) or error("no template for the kernel " .. line, 0)
        local k = { folder = folder, template = template, params = text, target = target, name = template .. " " .. text }
        k.body = golden.body(loader, template)
        k.file = shown ~= "" and "tests/golden/" .. k.body .. suffix or nil
        out[#out + 1] = k
      end
    end
  end
  return out
end

-- Notes where a text's lines are, for runs that another text shares: by line, the places that begin so. false ends a run.
local function note_places(places, path, lines)
  for i, line in ipairs(lines) do
    if line and line ~= "" then
      places[line] = places[line] or {}
      table.insert(places[line], { path = path, lines = lines, at = i })
    end
  end
end

-- Lines of a kernel's templates that stand in its source as they are. Lines of comments, which goldens do not have, and of Lua
-- alone are left out; one with Lua in it ends a run.
local function template_places(loader, template)
  local places = {}
  for _, file in ipairs(loader.closure(template).list) do
    local lines = {}
    for line in (file.path:find("^templates/") and file.text or ""):gmatch("([^\n]*)\n") do
      if not line:find("^%s*//") then lines[#lines + 1] = not line:find("${", 1, true) and line end
    end
    note_places(places, file.path, lines)
  end
  return places
end

local FOLDED_LEAST = 4 -- lines

-- The longest run of lines from i on that one of the places has, and where. Runs of the text itself end before i.
local function longest_run(places, lines, i)
  local longest, path = 0, nil
  for _, place in ipairs(places[lines[i]] or {}) do
    local n, most = 1, place.lines == lines and i - place.at or math.huge
    while n < most and lines[i + n] and lines[i + n] == place.lines[place.at + n] do n = n + 1 end
    while lines[i + n - 1] == "" do n = n - 1 end
    if most > 0 and n > longest then longest, path = n, place.path end
  end
  return longest, path
end

local function folded(lines, templates, goldens)
  local out, i = {}, 1
  while i <= #lines do
    local n, path = longest_run(templates, lines, i)
    local n_golden, path_golden = longest_run(goldens, lines, i)
    if n_golden > n then n, path = n_golden, path_golden end
    out[#out + 1] = lines[i]
    if n >= FOLDED_LEAST then out[#out + 1] = ("// [%d more lines of %s]"):format(n - 1, path) end
    i = i + (n >= FOLDED_LEAST and n or 1)
  end
  return out
end

-- Lines without their numbers: lines of one shape are one text of the generator for another size. Notes of folded lines keep
-- theirs.
local function shapes_of(lines)
  local out = {}
  for k, line in ipairs(lines) do out[k] = line:find("^// %[") and line or line:gsub("%d+", "0") end
  return out
end

-- Folds runs that differ by numbers alone from lines that are shown above, here or in an earlier golden.
local function folded_by_shape(lines, shown, path)
  local shapes, out, i = shapes_of(lines), {}, 1
  note_places(shown, path, shapes)
  while i <= #lines do
    local n, from = longest_run(shown, shapes, i)
    out[#out + 1] = lines[i]
    if n >= FOLDED_LEAST then
      out[#out + 1] = ("// [%d more lines of %s, with other numbers]"):format(n - 1, from == path and "those above" or from)
    end
    i = i + (n >= FOLDED_LEAST and n or 1)
  end
  return out
end

local ROUND_MOST = 60 -- lines

-- Counts how often the `size` lines from i on stand there, one behind the other, but for their numbers.
local function rounds_of(shapes, i, size)
  local n, at = 1, i + size
  while shapes[at + size - 1] and shapes[at] == shapes[i] do
    for k = 1, size - 1 do
      if shapes[at + k] ~= shapes[i + k] then return n end
    end
    n, at = n + 1, at + size
  end
  return n
end

-- Keeps the first round of a loop that the generator unrolled, and says how many like it follow.
local function first_rounds(lines)
  local shapes, out, i = shapes_of(lines), {}, 1
  while i <= #lines do
    local size, rounds, hidden = 1, 1, FOLDED_LEAST - 1
    for s = 1, ROUND_MOST do
      local n = rounds_of(shapes, i, s)
      if (n - 1) * s > hidden then size, rounds, hidden = s, n, (n - 1) * s end
    end
    table.move(lines, i, i + size - 1, #out + 1, out)
    local what = size == 1 and "line" or size .. " lines"
    if rounds > 1 then out[#out + 1] = ("// [%d more times the %s above, with other numbers]"):format(rounds - 1, what) end
    i = i + size * rounds
  end
  return out
end

-- Keeps one of several blank lines: folded comments and parts leave them behind.
local function without_blank_runs(lines)
  local out = {}
  for _, line in ipairs(lines) do
    if line ~= "" or out[#out] ~= "" then out[#out + 1] = line end
  end
  return out
end

-- Lines of a preamble that say what its command says, too: a golden keeps where it is from and that command.
local function said_again(line)
  for _, said in ipairs({ "template_hash: ", "target: ", "symbol: ", "parameters:$", "  %S+ = " }) do
    if line:find("^// " .. said) then return true end
  end
end

-- Texts of all goldens by file: what the generator made of the templates. Longer runs of lines that a template has as they are,
-- or a golden of an earlier case, become the first of them and their number, since a reviewer reads them there; the manifest's
-- hash guards all.
function golden.texts(loader, cases)
  local emit, goldens, shown, out = loader.require("emit"), {}, {}, {}
  for _, c in ipairs(cases) do
    if c.file then
      local lines = {}
      for line in emit.golden(c.template, c.params, c.target):gmatch("([^\n]*)\n") do
        if not said_again(line) then lines[#lines + 1] = line end
      end
      local rounds = first_rounds(folded(lines, template_places(loader, c.template), goldens))
      local text = folded_by_shape(without_blank_runs(rounds), shown, c.file)
      out[c.file] = table.concat(text, "\n") .. "\n"
      note_places(goldens, c.file, lines)
    end
  end
  return out
end

-- Every kernel the space offers for the problems of a folder's problems.txt, a library's where its family is named, and those of
-- its kernels.txt: { target, template, params }, sorted, once each.
function golden.kernels(loader, root, folder)
  local space, problem = loader.require("space"), loader.require("problem")
  local seen, keys, out = {}, {}, {}
  local function add(target, k)
    local key = target .. "\t" .. k.template .. "\t" .. k.params
    if not seen[key] then
      seen[key] = { target = target, template = k.template, params = k.params }
      keys[#keys + 1] = key
    end
  end
  for _, c in ipairs(golden.cases(loader, root)) do
    if c.folder == folder then add(c.target, c) end
  end
  local problems = folder == "tools" and "" or slurp(root .. "/" .. golden.file(folder, "problems.txt"))
  for line in problems:gmatch("[^\n]+") do
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

-- Lists the kernels of all folders of another tree. Manifests of earlier trees have a row a kernel: target, template, parameters,
-- hash.
function golden.kernels_of(tree)
  local out = {}
  for _, path in ipairs(capture(("LC_ALL=C find '%s/tests/golden' -name manifest.tsv | LC_ALL=C sort"):format(tree.root))) do
    for target, template, params in slurp(path):gmatch("\n([^\t\n]+)\t([^\t\n]+)\t([^\t\n]+)\t%x+") do
      out[#out + 1] = { target = target, template = template, params = params }
    end
  end
  if #out > 0 then return out end
  local own = dofile(tree.root .. "/tools/golden.lua")
  for _, folder in ipairs(own.folders(tree.loader)) do
    for _, k in ipairs(own.kernels(tree.loader, tree.root, folder)) do out[#out + 1] = k end
  end
  return out
end

golden.DIGITS = 8 -- of a kernel's hash
local A_LINE = 14 -- hashes

-- A manifest: a line for each target and template, then the hashes of its kernels, in the order of their parameters.
function golden.manifest(kernels)
  local lines, group, count = {
    "# SHA-256 of the code of each kernel of problems.txt and kernels.txt, first digits: `lua5.4 tools/golden-update.lua --list`",
    "# names the kernels.",
  }, nil, 0
  for _, k in ipairs(kernels) do
    local name = k.target .. " " .. k.template
    if name ~= group then lines[#lines + 1], group, count = name, name, 0 end
    if count % A_LINE == 0 then lines[#lines + 1] = "" end
    count, lines[#lines] = count + 1, lines[#lines] .. " " .. k.hash
  end
  return table.concat(lines, "\n") .. "\n"
end

-- Reads the hashes of a folder's manifest: by target and template, a list.
function golden.hashes(root, folder)
  local out, group = {}, nil
  for line in slurp(root .. "/" .. golden.file(folder, "manifest.txt")):gmatch("[^\n]+") do
    local name = line:match("^%w%S* %S+$")
    if name then
      group = {}
      out[name] = group
    elseif line:sub(1, 1) ~= "#" then
      for hash in line:gmatch("%x+") do group[#group + 1] = hash end
    end
  end
  return out
end

-- The kernels of a folder with the hashes that its manifest has; where it has none, false.
function golden.listed(loader, root, folder)
  local hashes, used, list = golden.hashes(root, folder), {}, golden.kernels(loader, root, folder)
  for _, k in ipairs(list) do
    local name = k.target .. " " .. k.template
    used[name] = (used[name] or 0) + 1
    k.hash = hashes[name] and hashes[name][used[name]] or false
  end
  return list
end

return golden
