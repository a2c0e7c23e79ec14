-- lua5.4 tools/rehash.lua OLD TARGET FILE [BUILD]: after a change of templates or of the generator that changes no machine code.
-- OLD is a folder with the tree as it was (git worktree add OLD REVISION), FILE is tuning text, BUILD a build of this tree.
-- Every choice's kernels are rendered by both trees; where they are the same text or compile to the same code (see
-- tools/same-code.lua), the choice gets the names and hashes of today, else it keeps the old ones and is named: it has to be
-- tuned again. Writes FILE; exit code 1 when a choice was left.
local root = arg[0]:match("^(.*)/tools/[^/]*$") or "."
local same = dofile(root .. "/tools/same.lua")
local old_root, target, file, build = arg[1], arg[2], arg[3], arg[4] or root .. "/build"
assert(file, "usage: lua5.4 tools/rehash.lua OLD TARGET FILE [BUILD]")
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

-- Whether the two texts of each kernel are one program, and its cache key of today.
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
    local good = row.kernels ~= nil
    for _, one in ipairs(row.kernels or {}) do good = good and one.good and one.key ~= nil end
    if good then
      changed = changed + (rewrite(row) and 1 or 0)
    else
      left = left + 1
      io.stderr:write("left: ", row.fields[row.at.problem], " ", row.fields[row.at.variant], ": ",
        row.why or "its machine code is another", "\n")
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
