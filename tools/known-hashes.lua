-- lua5.4 tools/known-hashes.lua OLD...: after a change of templates or of the generator that changes no kernel's text but for
-- comments. OLD is a folder with a tree as it was, whose users have databases (git worktree add OLD REVISION).
-- Writes tuning/known-hashes.txt: the hash that a template had in OLD, and the one it has now, of each template whose kernels
-- in OLD's manifests and goldens (tools/golden.lua) are the same text in both trees, but for where its lines break. Up to MOST
-- of each are looked at; tools/same-code.lua, to be run before, looks at all. Choices made with the old hash then hold on.
-- A hash that moves again makes its line void: run this anew with all of the trees.
local root = arg[0]:match("^(.*)/tools/[^/]*$") or "."
local same, golden = dofile(root .. "/tools/same.lua"), dofile(root .. "/tools/golden.lua")
assert(arg[1], "usage: lua5.4 tools/known-hashes.lua OLD...")
local MOST = 16
local new = same.tree(root)

-- Texts are compared, not hashed, but for the templates' own: a number for each text takes no time.
local function without_hashes(tree, fn)
  local true_one = tree.loader.host.sha256
  tree.loader.host.sha256 = function(text) return ("%064x"):format(#text) end
  local ok, a, b = pcall(fn)
  tree.loader.host.sha256 = true_one
  return ok and a, b
end

local function render(tree, template, params, target)
  return without_hashes(tree, function() return same.render(tree, template, params, target) end)
end

-- Kernel text without line ends that mean nothing: those of the preprocessor's lines do.
local function one_line(text)
  local out, continued = {}, false
  for line in (text or ""):gmatch("[^\n]+") do
    local directive = continued or line:find("^#") ~= nil
    continued = directive and line:sub(-1) == "\\"
    out[#out + 1] = directive and "\n" .. line .. "\n" or line .. " "
  end
  return table.concat(out)
end

-- Kernels that a tree lists, MOST of each template and target: { target, template, params }, spread over the lists.
local function kernels_of(tree)
  local groups, order, list = {}, {}, {}
  local function add(target, template, params)
    local key = target .. "\t" .. template
    if not groups[key] then groups[key], order[#order + 1] = {}, key end
    table.insert(groups[key], { target, template, params })
  end
  for _, k in ipairs(golden.kernels_of(tree)) do add(k.target, k.template, k.params) end
  for _, c in ipairs(dofile(tree.root .. "/tools/golden.lua").cases(tree.loader, tree.root)) do
    add(c.target, c.template, c.params)
  end
  for _, key in ipairs(order) do
    local group = groups[key]
    local n = math.min(MOST, #group)
    for i = 1, n do list[#list + 1] = group[(i - 1) * #group // n + 1] end
  end
  return list
end

local earlier, skipped = {}, 0 -- by row: its earlier hashes
for _, old_root in ipairs(arg) do
  local old, verdict, order = same.tree(old_root), {}, {}
  for _, k in ipairs(kernels_of(old)) do
    local target, template, params = k[1], k[2], k[3]
    local now = new.loader.kernel_now(template)
    local key = target .. "\t" .. template .. "\t" .. now
    if verdict[key] == nil and new.loader.suffix(now) ~= ".lib" then
      verdict[key], order[#order + 1] = true, key
      old.loader.template_hash(template, target) -- the true one is kept, before another is made of anything
      if new.loader.has_kernel(now) then new.loader.template_hash(now, target) end
    end
    if verdict[key] then
      local a, says_a = render(old, template, params, target)
      local b, says_b = render(new, now, params, target)
      verdict[key] = a and one_line(a) == one_line(b) and says_a == says_b or false
    end
  end
  for _, key in ipairs(order) do
    local target, template, now = key:match("^(.-)\t(.-)\t(.-)$")
    local was = old.loader.template_hash(template, target)
    if not verdict[key] then skipped = skipped + 1
    elseif was ~= new.loader.template_hash(now, target) then
      local row = table.concat({ now, target, new.loader.template_hash(now, target) }, "\t")
      earlier[row] = earlier[row] or {}
      earlier[row][was:sub(1, 16)] = true
    end
  end
end

local function sorted_keys(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

local lines, n = {}, 0
for _, row in ipairs(sorted_keys(earlier)) do
  local was = sorted_keys(earlier[row])
  n = n + #was
  lines[#lines + 1] = row .. "\t" .. table.concat(was, " ")
end
local f = assert(io.open(root .. "/tuning/known-hashes.txt", "wb"))
assert(f:write("# Hashes that templates had in earlier trees and that kernels of the same text have now ",
  "(tools/known-hashes.lua).\n# template\ttarget\tnow\tfirst digits of the earlier ones\n", table.concat(lines, "\n"), "\n"))
assert(f:close())
io.stderr:write(("%d hashes are known, %d templates are other text now\n"):format(n, skipped))
