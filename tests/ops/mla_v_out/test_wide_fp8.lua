-- Passes of up to 256 tokens by weights of 8 bits (templates/lib/projection/wide_fp8.h): all interleavings of what its threads
-- say are right for every kind of kernel that the space offers, and mistakes are found.
local loader = T.loader()
local protocol, ring, plan = loader.require("protocol"), loader.require("projection/protocol"), loader.require("projection/plan")
local OPS = protocol.ops

local PROBLEMS = {
  mla_qkv_a = { { hidden = 7168, q_rank = 1536, rank = 512, rope = 64 }, { hidden = 1024, q_rank = 0, rank = 256, rope = 32 } },
  mla_q_b = { { q_rank = 1536, heads = 16, nope = 128, rope = 64, norm = 1 }, { q_rank = 768, heads = 128, nope = 64, rope = 32,
    norm = 1 }, { q_rank = 128, heads = 128, nope = 64, rope = 32, norm = 1 } },
  mla_v_out = { { heads = 16, rank = 512, v = 128 }, { heads = 128, rank = 256, v = 128 } },
  mla_o_proj = { { hidden = 7168, heads = 16, v = 128 }, { hidden = 2048, heads = 4, v = 96 } },
}

local function model_of(made, v) -- v: norm, split, ahead (true, or nil)
  return { fp8 = true, wide = true, groups = 2, ways = 1, stages = made.stages, norm = v.norm, split = v.split, ahead = v.ahead }
end

-- Adds every kind of kernel that a family offers a problem: { stages, split, norm, ahead, steps of a block }.
local function add_kinds(list, seen, family, product, p, ahead)
  local arch = loader.require("arch/sm_90a")
  for _, split in ipairs(family.params.split) do
    local made = plan.wide_fp8({ inner = product.inner, outer = product.outer, layout = "outputs", norm = product.norm,
      split = split, parts = 1 })
    if not made.refused and not family.cost(p, { split = split, parts = ahead and 1 }, arch).refused then
      local kind = model_of(made, { norm = product.norm, split = split, ahead = ahead })
      kind.steps = 2 * -(-product.inner // (128 * split))
      local key = ("%d,%d,%d,%d,%s"):format(kind.stages, split, kind.norm, math.min(kind.steps, 2 * kind.stages), ahead)
      if not seen[key] then list[#list + 1], seen[key] = kind, true end
    end
  end
end

local function kinds()
  local list, seen = {}, {}
  for op, problems in loader.sorted(PROBLEMS) do
    local families = loader.require("ops/" .. op .. "/families/all").families
    local product_of = loader.require("ops/" .. op .. "/product").product
    for _, base in ipairs(problems) do
      local p = setmetatable({ tokens = 200, dtype = "bf16", weights = 1, norm = base.norm or 0 }, { __index = base })
      add_kinds(list, seen, families.wide_fp8, product_of(p), p)
      add_kinds(list, seen, families.parts_fp8, product_of(p), p, true)
    end
  end
  return list
end

test("wide passes of 8 bits: every kind of kernel of the space is right", function()
  local right = 0
  for _, v in ipairs(kinds()) do
    local m = ring.model(v, { math.min(v.steps, 2 * v.stages + 2), 2 })
    local found = protocol.check(m, 1)[1]
    ok(not found, "%d stages, %d share, norm %d, %d steps: %s\n%s", v.stages, v.split, v.norm, v.steps, found and found.text,
      found and protocol.witness(m, found))
    right = right + 1
  end
  ok(right >= 12, "%d kinds", right)
end)

test("wide passes of 8 bits: fewer steps than stages, as many and more, one pass and three", function()
  for _, v in ipairs({ { stages = 2, norm = 0, split = 1 }, { stages = 5, norm = 1, split = 1 },
    { stages = 5, norm = 0, split = 2 }, { stages = 3, norm = 1, split = 1, ahead = true },
    { stages = 5, norm = 0, split = 2, ahead = true } }) do
    for _, case in ipairs({ { 2, 1 }, { 4, 3 }, { 6, 2 }, { 16, 2 } }) do
      local m = ring.model(model_of(v, v), case)
      local found = protocol.check(m, 1)[1]
      ok(not found, "%d stages, %d steps, %d passes: %s", v.stages, case[1], case[2], found and found.text)
    end
  end
end)

test("wide passes of 8 bits: blocks share passes where there are two", function()
  local family = loader.require("ops/mla_o_proj/families/all").families.parts_fp8
  local function refused(tokens, parts)
    local p = { heads = 16, v = 128, hidden = 7168, residual = 0, tokens = tokens, dtype = "bf16", weights = 1 }
    for _, rule in ipairs(family.rules) do
      local why = rule(p, { split = 1, parts = parts })
      if why then return why end
    end
    return family.cost(p, { split = 1, parts = parts }, loader.require("arch/sm_90a")).refused
  end
  eq(refused(128, 1), "up to 128 tokens: ring_fp8 serves them")
  eq(refused(256, 1), nil)
  eq(refused(256, 2), "256 tokens are one pass")
  eq(refused(257, 2), nil)
  eq(refused(512, 2), nil)
  eq(refused(513, 1), "more than 512 tokens: wide_fp8 serves them")
end)

test("wide passes of 8 bits: seeded mistakes are found", function()
  local function found(v, case, change)
    local m = ring.model(model_of(v, v), case)
    for _, a in ipairs(m.agents) do change(a, a.ops, m) end
    local set = {}
    for _, f in ipairs(protocol.check(m)) do set[f.kind] = true end
    return set
  end
  local function math_of(a) return a.name:find("^math") end
  local five = { stages = 5, norm = 0, split = 1 }
  eq(next(found(five, { 12, 1 }, function() end)), nil)
  -- A stage given back while its products still read x.
  ok(found(five, { 12, 1 }, function(a, ops)
    if not math_of(a) then return end
    for at = 2, #ops do
      if ops[at][1] == OPS.ARRIVE and ops[at][4] == "give_back()" then ops[at - 1], ops[at] = ops[at], ops[at - 1] end
    end
  end).race, "no race")
  -- The next stage's bytes taken without a wait for them.
  ok(found(five, { 12, 1 }, function(a, ops)
    local waits = 0
    for at = #ops, 1, -1 do
      if math_of(a) and ops[at][1] == OPS.WAIT and not ops[at][2].exact and ops[at][2].name:find("^full%[") then
        waits = waits + 1
        if waits < 4 then table.remove(ops, at) end
      end
    end
  end).race, "no race")
  -- A barrier of free stages that waits for one of the two warpgroups.
  ok(found(five, { 12, 1 }, function(_, _, m)
    for _, b in ipairs(m.barriers) do
      if b.name:find("^empty") then b.count = 2 end
    end
  end).count, "no wrong count")
  -- A barrier of x that the second lane is not counted in.
  ok(found({ stages = 5, norm = 0, split = 1, ahead = true }, { 12, 1 }, function(_, _, m)
    for _, b in ipairs(m.barriers) do
      if b.name:find("^full of x") then b.count = 1 end
    end
  end).count, "no wrong count")
  -- Sums come to where the other warpgroup still multiplies.
  ok(found(five, { 12, 1 }, function(_, ops)
    for at = #ops, 1, -1 do
      if ops[at][2].exact and ops[at][4] == "the ring is done with" then table.remove(ops, at) end
    end
  end).race, "no race")
end)

test("wide passes of 8 bits: the model's functions are the template's", function()
  local text = {}
  for _, name in ipairs({ "wide_fp8", "sums", "places" }) do
    text[#text + 1] = T.read("templates/lib/projection/" .. name .. ".h")
  end
  text = table.concat(text)
  local functions, seen = 0, {}
  for _, ahead in ipairs({ false, true }) do
    local v = { norm = 1, split = 2, ahead = ahead or nil }
    for _, a in ipairs(ring.model(model_of({ stages = 5 }, v), { 12, 2 }).agents) do
      for _, op in ipairs(a.ops) do seen[op[4]] = true end
    end
  end
  for name in loader.sorted(seen) do
    if name:find("%(%)$") then
      ok(text:find("[ *&]" .. name:sub(1, -3) .. "[(<]"), name)
      functions = functions + 1
    end
  end
  ok(functions >= 8, "%d functions", functions)
end)
