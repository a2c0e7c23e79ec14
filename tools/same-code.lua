-- lua5.4 tools/same-code.lua [--all] [--only TEMPLATE] OLD [BUILD]: after a change of templates or of the generator that should
-- change no machine code. OLD is a folder with the tree as it was (git worktree add OLD REVISION), BUILD a build of this one
-- (build). Every golden, every kernel of the manifest and every kernel of a shipped choice, as OLD names them (--only: those of a
-- template), is rendered by both:
--
--   same text   but for comments, blank lines and the kernel's own name: nothing is left to prove
--   same code   both are compiled, goldens and shipped choices always, and what runs is equal to the byte (tools/compile-texts.c)
--   renamed     a kernel of the manifest alone whose texts differ by names that changed one to one
--
-- What is none of these is named; exit code 1. --all: compile the manifest's too. Names that changed since OLD are looked up in
-- gen/ops/*/renamed.lua. Compiled kernels are in the cache ($MLAF_CACHE_DIR) for a second run.
local root = arg[0]:match("^(.*)/tools/[^/]*$") or "."
local same = dofile(root .. "/tools/same.lua")
local all = arg[1] == "--all" and table.remove(arg, 1)
local only = arg[1] == "--only" and table.remove(arg, 1) and table.remove(arg, 1)
local old_root, build = arg[1], arg[2] or root .. "/build"
assert(old_root, "usage: lua5.4 tools/same-code.lua [--all] [--only TEMPLATE] OLD [BUILD]")
local old, new = same.tree(old_root), same.tree(root)

-- Hashes are in no bare text; a number for each text tells them apart and takes no time.
local known, count = {}, 0
local function number(text)
  if not known[text] then
    count = count + 1
    known[text] = ("%08x%056x"):format(count, count)
  end
  return known[text]
end
old.loader.host.sha256, new.loader.host.sha256 = number, number

local list, seen = {}, {}

-- must: compiled where the text is not the same.
local function add(what, target, template, params, must)
  local key = target .. "\t" .. template .. "\t" .. params
  local k = seen[key]
  if only and template ~= only then return end
  if not k then
    k = { target = target, template = template, params = params, what = what }
    seen[key], list[#list + 1] = k, k
  end
  k.must = k.must or must
end

local golden = dofile(old_root .. "/tools/golden.lua")
for _, c in ipairs(golden.cases(old.loader, old_root)) do add("golden", c.target, c.template, c.params, true) end
for _, text in ipairs(same.shipped) do
  for _, row in ipairs(same.choices(old_root .. "/" .. text.file)) do
    for _, stage in ipairs(row.stages or {}) do
      add("shipped", text.target, row.fields[stage.template], row.fields[stage.params], true)
    end
  end
end
for _, k in ipairs(dofile(root .. "/tools/golden.lua").kernels_of(old)) do
  add("manifest", k.target, k.template, k.params, all)
end

local counts = { ["same text"] = 0, ["same code"] = 0, renamed = 0, differs = 0 }
local function says(k, verdict, why)
  counts[verdict] = counts[verdict] + 1
  if verdict == "differs" then print(("differs: %s %s %s %s: %s"):format(k.what, k.target, k.template, k.params, why)) end
end

local texts, open, names, shown = {}, {}, {}, {}
for _, k in ipairs(list) do
  local template = new.loader.kernel_now and new.loader.kernel_now(k.template) or k.template
  local good, a, says_a = pcall(same.render, old, k.template, k.params, k.target)
  local fine, b, says_b = pcall(same.render, new, template, k.params, k.target)
  if not good or not fine then
    says(k, "differs", not good and a or b)
  elseif says_a ~= says_b then
    says(k, "differs", ("declares %s, not %s"):format(says_b, says_a))
  elseif a == b then
    says(k, "same text")
  else
    local changed = not k.must and same.renamed(a, b)
    for _, name in ipairs(changed or {}) do
      if not shown[name] then shown[name], names[#names + 1] = true, name end
    end
    if changed then
      says(k, "renamed")
    else
      open[#open + 1] = k
      for i, tree in ipairs({ old, new }) do
        texts[#texts + 1] = { target = k.target, source = i == 1 and a or b,
          options = tree.loader.require("arch/" .. k.target).options }
      end
    end
  end
end
local answers, compiled = same.compile(build, texts, true)
for i, k in ipairs(open) do
  local a, b = answers[2 * i - 1], answers[2 * i]
  local why = a.error or b.error
  if why then says(k, "differs", why)
  elseif a.code == b.code then says(k, "same code")
  else says(k, "differs", "the machine code is another") end
end
if #names > 0 then print("names that changed: " .. table.concat(names, ", ")) end
print(("%d kernels, %d equal: %d same text, %d same code (%d texts compiled), %d renamed; %d differ"):format(#list,
  #list - counts.differs, counts["same text"], counts["same code"], compiled, counts.renamed, counts.differs))
os.exit(counts.differs == 0 and 0 or 1)
