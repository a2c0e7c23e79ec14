-- lua5.4 tools/rehash.lua [--soaked LEAST REPORT.jsonl... --] OLD TARGET FILE [BUILD]: after a change of templates or of the
-- generator that changes no machine code, or kernels that were soaked since.
-- OLD is a folder with the tree as it was (git worktree add OLD REVISION), FILE is tuning text, BUILD a build of this tree.
-- Every choice's kernels are rendered by both trees; where they are the same text or compile to the same code (see
-- tools/same-code.lua), the choice gets the names and hashes of today, else it keeps the old ones and is named: it has to be
-- tuned again. Writes FILE; exit code 1 when a choice was left.
-- --soaked: a choice whose machine code is another one gets them, too, when the reports (tools/soaked.lua) say LEAST launches or
-- more of today's kernels on its device, and none wrong. Its time stays the one that was measured with the old ones: time both in
-- turns before.
local root = arg[0]:match("^(.*)/tools/[^/]*$") or "."
local same = dofile(root .. "/tools/same.lua")
local soak_reports, soaked = dofile(root .. "/tools/soak_reports.lua"), { launches = {}, wrong = {}, least = math.huge }
if arg[1] == "--soaked" then
  local paths = {}
  table.remove(arg, 1)
  local least = tonumber(table.remove(arg, 1) or "")
  while arg[1] and arg[1] ~= "--" do paths[#paths + 1] = table.remove(arg, 1) end
  table.remove(arg, 1)
  assert(least and #paths > 0, "--soaked wants: LEAST REPORT.jsonl... --")
  soaked = assert(soak_reports.read(paths))
  soaked.least = least
end
local old_root, target, file, build = arg[1], arg[2], arg[3], arg[4] or root .. "/build"
assert(file, "usage: lua5.4 tools/rehash.lua [--soaked LEAST REPORT.jsonl... --] OLD TARGET FILE [BUILD]")
local old, new = same.tree(old_root), same.tree(root)
local space, problem, ops = new.loader.require("space"), new.loader.require("problem"), new.loader.require("ops")
local options = new.loader.require("arch/" .. target).options

-- The kernels of a choice as both trees make them: { stage (its columns), k = today's kernel, a, b = bare texts, source }
local function kernels_of(row)
  local p, list, known = problem.parse(row.fields[row.at.problem]), {}, {}
  local v = space.variant(p, target, row.fields[row.at.variant])
  for _, stage in ipairs(row.stages) do
    local one = { stage = stage, k = v[stage.name] or error("the variant has other kernels today", 0) }
    one.a, one.says_a = same.render(old, row.fields[stage.template], row.fields[stage.params], target)
    one.b, one.says_b = same.render(new, one.k.template, one.k.params, target)
    one.source, one.src_hash = new.emit.render(one.k.template, one.k.params, target)
    known[stage.name], list[#list + 1] = true, one
  end
  for _, name in ipairs(ops.of(p).stages) do
    if v[name] and not known[name] then error("the variant has other kernels today", 0) end
  end
  return v, list
end

-- Proves that the two texts of each kernel are one program, and returns its cache key of today.
local function prove(rows)
  local texts, keys, open = {}, {}, {}
  for _, row in ipairs(rows) do
    for _, one in ipairs(row.kernels or {}) do
      keys[#keys + 1] = { target = target, source = one.source, options = options }
      one.key_at = #keys
      one.good = one.a == one.b and one.says_a == one.says_b
      if one.a ~= one.b and one.says_a == one.says_b then
        texts[#texts + 1] = { target = target, source = one.a, options = options }
        texts[#texts + 1] = { target = target, source = one.b, options = options }
        open[#open + 1] = one
      end
    end
  end
  local answers = same.compile(build, texts, true)
  for i, one in ipairs(open) do
    local a, b = answers[2 * i - 1], answers[2 * i]
    one.good = a.code ~= nil and a.code == b.code
  end
  local found = same.compile(build, keys, false)
  for _, row in ipairs(rows) do
    for _, one in ipairs(row.kernels or {}) do one.key = found[one.key_at].key end
  end
end

-- True if today's kernels of a row were soaked.
local function was_soaked(row)
  local list = {}
  for _, one in ipairs(row.kernels) do list[#list + 1] = one.src_hash end
  local kernels, f, at = table.concat(list, " "), row.fields, row.at
  local n = soaked.launches[soak_reports.key(f[at.device], f[at.problem], row.variant.name, f[at.knob], kernels)] or 0
  return n >= soaked.least and not soaked.wrong[kernels]
end

-- Today's names and hashes into a row; true when something changed.
local function rewrite(row)
  local changed = false
  local function set(i, value)
    changed = changed or row.fields[i] ~= value
    row.fields[i] = value
  end
  set(row.at.variant, row.variant.name)
  for _, one in ipairs(row.kernels) do
    local fresh = { template_hash = one.k.template_hash, src_hash = one.src_hash, code_key = one.key }
    for _, name in ipairs({ "template", "params", "symbol" }) do set(one.stage[name], one.k[name]) end
    for _, name in ipairs({ "template_hash", "src_hash", "code_key" }) do
      if row.fields[one.stage[name]] ~= "-" then set(one.stage[name], fresh[name]) end
    end
  end
  return changed
end

local rows, choices = same.choices(file), {}
for _, row in ipairs(rows) do
  if row.fields then
    choices[#choices + 1] = row
    local good, v, list = pcall(kernels_of, row)
    if good then row.variant, row.kernels = v, list else row.why = v end
  end
end
prove(choices)
local out, changed, left = {}, 0, 0
for i, row in ipairs(rows) do
  if row.fields then
    local good, keys = row.kernels ~= nil, row.kernels ~= nil
    for _, one in ipairs(row.kernels or {}) do good, keys = good and one.good, keys and one.key ~= nil end
    good = keys and (good or was_soaked(row))
    if good then
      changed = changed + (rewrite(row) and 1 or 0)
    else
      left = left + 1
      io.stderr:write("left: ", row.fields[row.at.problem], " ", row.fields[row.at.variant], ": ",
        row.why or "its machine code is another" .. (soaked.n and ", and no soak of it was good" or ""), "\n")
    end
    row.line = table.concat(row.fields, "\t")
  end
  out[i] = row.line
end
local f = assert(io.open(file, "wb"))
assert(f:write(table.concat(out, "\n"), "\n"))
assert(f:close())
io.stderr:write(("%d choices, %d have new names or hashes, %d were left\n"):format(#choices, changed, left))
os.exit(left == 0 and 0 or 1)
