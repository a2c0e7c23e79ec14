-- The edges of gen/ops/OP/fields.lua: kernels that the space offers there keep their contracts, so that a limit raised without
-- kernels that honour it fails here; what it does not offer it refuses with a reason. tests/gen/resources.c compiles some of
-- mla_decode's.
local loader = T.loader()
loader.host.sha256 = function(text) return ("%064x"):format(#text) end -- hashes are not looked at here
local space, emit, problem = loader.require("space"), loader.require("emit"), loader.require("problem")
local ops = loader.require("ops")
local FIELDS = loader.require("ops/mla_decode/fields")

-- More edges of mla_decode: heads and query tokens both at their most, as kernels count rows in their product.
local MORE = { mla_decode = { "h256,q8,causal,b4,s1024", "h256,r32,p0,page1,b4,s1024", "h256,r128,q2,causal,b4,s1024",
  "h256,r256,q2,causal,b4,s1024", "h256,p0,q4,causal,fp8_v4,b4,s1024",
  "h256,q8,causal,e4m3fn,fp8_q,b4,s1024", "h1,p0,fp8_v4,page1,s64", "h256,q8,causal,kpe16,b4,s1024",
  "h256,p0,q8,causal,fp8_scales,b4,s1024", "h256,q8,causal,fp8_planar,b4,s1024",
  "h256,q8,causal,fp8_planar_fnuz,b4,s1024" } }

-- One problem for each word and for each end of each field, the others as in the example; and the corners where all shape fields
-- are least or most.
local function edges(op)
  local fields, list = ops.get(op).fields, {}
  local usual = problem.parse(op .. ":" .. ops.get(op).fields.example)
  local function add(given)
    local p = { op = op }
    for _, f in ipairs(fields) do -- what a field goes only with
      if given[f.field] and given[f.field] ~= 0 and f.apart and f.apart.of then given[f.apart.field] = f.apart.of[1] end
    end
    for _, f in ipairs(fields) do
      local otherwise = f.moot and f.key and f.default or usual[f.field] -- what says nothing in the example may do so here
      p[f.field] = given[f.field] == nil and otherwise or given[f.field]
    end
    list[#list + 1] = problem.check(p)
  end
  local least, most = {}, {}
  for _, f in ipairs(fields) do
    if f.key then
      add({ [f.field] = f.least })
      add({ [f.field] = f.most })
      least[f.field], most[f.field] = f.least, f.most
    else
      for i, word in ipairs(f.words) do add({ [f.field] = f.words[1] == "" and i - 1 or word }) end
    end
  end
  add(least)
  add(most)
  for _, text in ipairs(MORE[op] or {}) do list[#list + 1] = problem.parse(op .. ":" .. text) end
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
  local all_edges = {}
  for _, op in ipairs(ops.names()) do
    for _, p in ipairs(edges(op)) do all_edges[#all_edges + 1] = p end
  end
  T.raises(function() problem.parse("mla_decode:h16,rope_pairs,e4m3fn") end,
    "cache is 1 and rotate is 1: keys of an 8-bit cache are rotated already")
  T.raises(function() problem.parse("mla_decode:h16,fp8_ds_mla,fp8_q") end,
    "fp8_q is 1 and cache is 3: queries of 8 bits have the cache's encoding")
  for _, target in ipairs(loader.targets()) do
    for i, p in ipairs(all_edges) do
      local all, fits = space.kernels(p, target), 0
      for _, item in ipairs(all) do
        if item.rejected == "" then ok(false, "%s: %s is refused without a reason", problem.print(p), item.name) end
        if not item.rejected then fits = fits + 1 end
      end
      local absent = ops.get(p.op).absent(p, loader.require("arch/" .. target))
      if absent then ok(fits == 0, "%s: %s is served, and should not be: %s", target, problem.print(p), absent)
      elseif fits == 0 then ok(false, "%s: nothing serves %s", target, problem.print(p)) end
      for _, item in ipairs(some(all, T.every[target] and 29 or 7, i)) do
        local good, why = pcall(emit.check, item.kernel.template, item.kernel.params, target)
        if not good then ok(false, "%s: %s: %s: %s", target, problem.print(p), item.name, tostring(why)) end
      end
    end
  end
end)

test("with the most heads each family serves a problem or says why not", function()
  local families, most = loader.require("ops").get("mla_decode").families, FIELDS[1].most
  for _, target in ipairs({ "gfx942", "sm_90a" }) do
    for q_len = 1, 16, 15 do
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
          local is_decode = family.stage == "decode" and not family.asked -- which a caller names
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

test("what is made of the tables, and kept, is what the tables say", function()
  local made = { python = "python/mlaforge/fields.py", formats_python = "python/mlaforge/formats.py",
    q_parts_python = "python/mlaforge/q_parts.py", formats_doc = "docs/append.md" }
  local pages = io.popen(("cd '%s' && grep -l '^<!-- fields of ' docs/*.md"):format(T.root)) -- of each operation one
  for page in pages:lines() do
    for op in T.read(page):gmatch("<!%-%- fields of ([%w_]+) %-%->\n|") do
      ok(not made["doc:" .. op], "%s has two pages with its fields", op)
      made["doc:" .. op] = page
    end
  end
  pages:close()
  for _, op in ipairs(ops.names()) do ok(made["doc:" .. op], "no page of docs has '<!-- fields of %s -->'", op) end
  for what, file in pairs(made) do
    local pipe = assert(io.popen(("%s %s/tools/limits.lua %s %s"):format(T.lua, T.root, what, T.root)))
    local text = pipe:read("a")
    pipe:close()
    eq(T.read(file), text, ("%s (after a wanted change: lua5.4 tools/limits.lua %s . %s)"):format(file, what, file))
  end
end)

test("the page of models is what tuning/models.tsv and the fields say", function()
  local pipe = assert(io.popen(("%s %s/tools/models-page.lua %s"):format(T.lua, T.root, T.root)))
  local text = pipe:read("a")
  ok(pipe:close(), "tools/models-page.lua failed")
  eq(T.read("docs/models.md"), text, "docs/models.md (after a wanted change: lua5.4 tools/models-page.lua . docs/models.md)")
end)

-- Checks that an operation's table of fields is whole.
local function whole(op, fields)
  local rows, sizes = {}, 0
  for _, f in ipairs(fields) do
    local name = op .. "'s " .. f.field
    rows[f.field] = f
    ok((f.key == nil) == (f.words ~= nil), "%s: a key or words", name)
    if f.key then
      ok(f.least % f.multiple == 0 and f.most % f.multiple == 0 and f.least <= f.most, "%s: %d..%d", name, f.least, f.most)
      ok(not f.size or f.least >= 1, "%s: distance is a ratio", name)
      ok(not f.default or (f.default >= f.least and f.default <= f.most), "%s: default %s", name, tostring(f.default))
    end
    sizes = f.size and sizes + 1 or sizes
    ok(f.size or sizes == 0, "%s: sizes stand last", name)
    local by = f.moot and rows[f.moot.field]
    local least, most = by and by.least or 0, by and (by.most or #by.words - 1)
    ok(not f.moot or (by and f.moot.at >= least and f.moot.at <= most), "%s: moot by an earlier field's value", name)
  end
  eq(problem.print(problem.parse(op .. ":" .. fields.example)), op .. ":" .. fields.example, "the example is canonical")
end

test("the tables' rows are whole", function()
  for _, op in ipairs(ops.names()) do whole(op, ops.get(op).fields) end
end)
