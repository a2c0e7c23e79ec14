-- The edges of gen/ops/mla_decode/fields.lua: kernels that the space offers there keep their contracts, so that a limit raised
-- without kernels that honour it fails here; what it does not offer it refuses with a reason. tests/gen/resources.c compiles
-- some of them.
local T = ...
local test, eq, ok = T.test, T.eq, T.ok
local loader = T.loader()
loader.host.sha256 = function(text) return ("%064x"):format(#text) end -- hashes are not looked at here
local space, emit, problem = loader.require("space"), loader.require("emit"), loader.require("problem")
local FIELDS = loader.require("ops/mla_decode/fields")

-- One problem for each end of each field, the others usual; the corners where all shape fields are least or most; and heads and
-- query tokens both at their most, as their product is what kernels count rows in.
local function edges()
  local list, usual = {}, { heads = 16, rank = 512, rope = 64, q_len = 1, page_size = 64, batch = 4, ctx = 1024 }
  local function add(fields)
    local p = { op = "mla_decode", causal = 1, dtype = "bf16" }
    for name, value in pairs(usual) do p[name] = fields[name] or value end
    list[#list + 1] = problem.check(p)
  end
  local least, most = {}, {}
  for _, f in ipairs(FIELDS) do
    if f.key then
      add({ [f.field] = f.least })
      add({ [f.field] = f.most })
      least[f.field], most[f.field] = f.least, f.most
    end
  end
  add(least)
  add(most)
  add({ heads = most.heads, q_len = most.q_len })
  add({ heads = most.heads, rank = least.rank, rope = least.rope, page_size = least.page_size })
  for _, rank in ipairs({ 128, 256 }) do add({ heads = most.heads, rank = rank, q_len = 2 }) end
  return list
end

-- Points of a space share nearly all of their text: of each family every `step`-th, another share for every problem.
local function some(list, step, shift)
  local out, n = {}, {}
  for _, item in ipairs(list) do
    local family = item.name:match("^[%w_]+")
    n[family] = (n[family] or 0) + 1
    if not item.rejected and (n[family] + shift) % step == 0 then out[#out + 1] = item end
  end
  return out
end

test("at its edges a problem has kernels, all of which keep their contracts", function()
  for _, target in ipairs(loader.targets()) do
    for i, p in ipairs(edges()) do
      local all, fits = space.kernels(p, target), 0
      for _, item in ipairs(all) do
        if item.rejected then ok(item.rejected ~= "", "%s: %s is refused without a reason", problem.print(p), item.name) end
        if not item.rejected then fits = fits + 1 end
      end
      ok(fits > 0, "%s: nothing serves %s", target, problem.print(p))
      for _, item in ipairs(some(all, T.every[target] and 29 or 7, i)) do
        local good, why = pcall(emit.check, item.kernel.template, item.kernel.params, target)
        ok(good, "%s: %s: %s: %s", target, problem.print(p), item.name, tostring(why))
      end
    end
  end
end)

test("with the most heads each family serves a problem or says why not", function()
  local families, most = loader.require("ops").get("mla_decode").families, FIELDS[1].most
  for _, target in ipairs({ "gfx942", "sm_90a" }) do
    for q_len = 1, 8, 7 do
      local p = problem.parse(("mla_decode:h%d,r512,p64,q%d,b8,s4096"):format(most, q_len))
      local said = {}
      for _, item in ipairs(space.kernels(p, target)) do
        local family = item.name:match("^[%w_]+")
        if item.rejected then said[family] = said[family] or item.rejected
        elseif said[family] ~= true then
          local good, source = pcall(emit.render, item.kernel.template, item.kernel.params, target)
          ok(good, "%s: %s: %s", target, item.name, tostring(source))
          ok(source:find(("constexpr int H = %d,"):format(most), 1, true), "%s: %s: no H", target, item.name)
          said[family] = true
        end
      end
      local isa = loader.require("arch/" .. target).isa.family
      for name, family in pairs(families) do
        local is_family = type(family) == "table" and family.template and family.arch and family.arch[isa]
        if is_family then
          local is_decode = family.stage == "decode"
          ok(not is_decode or said[name], "%s: family %s says nothing of %s", target, name, problem.print(p))
          if is_decode and said[name] ~= true then
            ok(not said[name]:find("contract"), "%s: %s is refused by its template only: %s", target, name, said[name])
          end
        end
      end
      for _, c in ipairs(space.second_kernels(p, target)) do
        local good, why = pcall(emit.render, c.kernel.template, c.kernel.params, target)
        ok(good, "%s: %s: %s", target, c.text, tostring(why))
      end
    end
  end
end)

test("what is made of the table, and kept, is what the table says", function()
  for what, file in pairs({ doc = "docs/limits.md", python = "python/mlaforge/fields.py", embed = "runtime/embed/mlaf_embed.h",
    loader = "runtime/embed/mlaf_embed.c" }) do
    local pipe = assert(io.popen(("%s %s/tools/limits.lua %s %s"):format(T.lua, T.root, what, T.root)))
    local text = pipe:read("a")
    pipe:close()
    eq(T.read(file), text, ("%s (after a wanted change: lua5.4 tools/limits.lua %s . %s)"):format(file, what, file))
  end
end)

test("the table's rows are whole", function()
  local rows = {}
  for _, f in ipairs(FIELDS) do
    rows[f.field] = f
    ok((f.key == nil) == (f.words ~= nil), "%s: a key or words", f.field)
    if f.key then
      ok(f.least % f.multiple == 0 and f.most % f.multiple == 0 and f.least <= f.most, "%s: %d..%d", f.field, f.least, f.most)
      ok(not f.size or f.least >= 1, "%s: distance is a ratio", f.field)
      ok(not f.default or (f.default >= f.least and f.default <= f.most), "%s: default %s", f.field, tostring(f.default))
    end
    local by = f.moot and rows[f.moot.field]
    ok(not f.moot or (by and f.moot.at >= by.least and f.moot.at <= by.most), "%s: moot by an earlier field's value", f.field)
  end
  eq(problem.print(problem.parse("mla_decode:" .. FIELDS.example)), "mla_decode:" .. FIELDS.example, "the example is canonical")
end)
