-- The ring of weights of 8 bits (templates/lib/projection/ring_fp8.h): all interleavings of what its threads say are right for
-- every kind of kernel that the space offers, the kinds that it refuses stop, and mistakes are found.
local loader = T.loader()
local protocol, ring, plan = loader.require("protocol"), loader.require("projection/protocol"), loader.require("projection/plan")
local OPS = protocol.ops

local PROBLEMS = { -- tokens: of three passes and more
  mla_qkv_a = { { hidden = 7168, q_rank = 1536, rank = 512, rope = 64, norm = 0 }, { hidden = 1024, q_rank = 0, rank = 256,
    rope = 32, norm = 0 } },
  mla_q_b = { { q_rank = 1536, heads = 16, nope = 128, rope = 64, norm = 1 }, { q_rank = 768, heads = 128, nope = 64, rope = 32,
    norm = 1 } },
  mla_v_out = { { heads = 16, rank = 512, v = 128 }, { heads = 128, rank = 256, v = 64 } },
  mla_o_proj = { { hidden = 7168, heads = 16, v = 128 }, { hidden = 2048, heads = 4, v = 96 } },
}

-- Every kind of kernel: its plan's stages, ways, blocks that share a sum, norm, steps. refused: by the rule of ways alone.
local function kinds()
  local list, seen, arch = {}, {}, loader.require("arch/sm_90a")
  for op, problems in loader.sorted(PROBLEMS) do
    local family = loader.require("ops/" .. op .. "/families/all").families.ring_fp8
    local product_of = loader.require("ops/" .. op .. "/product").product
    local function walk(p, names, at, v)
      if at <= #names then
        for _, value in ipairs(family.params[names[at]]) do
          v[names[at]] = value
          walk(p, names, at + 1, v)
        end
        return
      end
      for _, rule in ipairs(family.rules) do
        if rule(p, v) then return end
      end
      local product = product_of(p)
      local made, cost = plan.ring_fp8({ inner = product.inner, outer = product.outer, layout = "outputs", norm = product.norm,
        tokens = v.pass, rows = v.rows, per_sm = v.per_sm, split = v.split, ways = v.ways }), family.cost(p, v, arch)
      local hangs = cost.refused and cost.refused:find("^%d+ stages for %d ways$")
      if made.refused or cost.refused and not hangs then return end
      local kind = ring.of_fp8(made, product, v)
      kind.steps, kind.refused = -(-product.inner // (128 * v.split)), hangs and true or false
      local key = ("%d,%d,%d,%d,%d,%d"):format(kind.stages, kind.groups, kind.ways, kind.split, kind.norm,
        math.min(kind.steps, 2 * kind.stages))
      if not seen[key] then list[#list + 1], seen[key] = kind, true end
    end
    for _, base in ipairs(problems) do
      for _, tokens in ipairs({ 16, 32, 128, 200 }) do
        local p = setmetatable({ tokens = tokens, dtype = "bf16", weights = 1, append = 0, absorb = 0 }, { __index = base })
        local names = {}
        for name in loader.sorted(family.params) do names[#names + 1] = name end
        walk(p, names, 1, {})
      end
    end
  end
  return list
end

test("rings of 8 bits: three warpgroups of 128 tokens have no part sums, and passes of 128 a form for 96 tokens", function()
  local function of(norm, rows, tokens)
    return plan.ring_fp8({ inner = 1536, outer = 24576, layout = "outputs", norm = norm, tokens = tokens, rows = rows, per_sm = 1,
      split = 1, ways = rows > 64 and 1 or 2 })
  end
  local tall = of(1, 192, 128)
  eq(tall.refused, nil)
  eq(tall.folded, true)
  eq(tall.narrow, 96)
  eq(tall.lends, true)
  ok(of(0, 192, 128).refused:find("loaders lend registers to two", 1, true), of(0, 192, 128).refused)
  eq(of(1, 64, 128).folded, false)
  eq(of(1, 64, 128).narrow, 96)
  eq(of(1, 192, 64).folded, false)
  eq(of(1, 192, 64).narrow, nil)
  local function variants(heads, norm, tokens)
    local family = loader.require("ops/mla_q_b/families/all").families.ring_fp8
    local p = { q_rank = 1536, heads = heads, nope = 128, rope = 64, norm = norm, tokens = tokens, dtype = "bf16", weights = 1,
      append = 0, absorb = 0 }
    for _, rule in ipairs(family.rules) do
      local why = rule(p, { rows = 192, per_sm = 1, pass = 128, ways = 1, split = 1 })
      if why then return why end
    end
  end
  eq(variants(128, 1, 100), nil)
  ok(variants(128, 0, 100):find("tiles of 192 outputs", 1, true))
  ok(variants(128, 1, 129):find("tiles of 192 outputs", 1, true))
end)

test("rings of 8 bits: every kind of kernel of the space is right, and what its rule of ways refuses hangs", function()
  local right, hung = 0, 0
  for _, v in ipairs(kinds()) do
    local steps = math.min(v.steps, 2 * v.stages + 1)
    local m = ring.model(v, { steps, 2 })
    local found = protocol.check(m, 1)[1]
    local text = ("%d stages, %d groups, %d ways, %d share, %d steps"):format(v.stages, v.groups, v.ways, v.split, v.steps)
    if v.refused then
      eq(found and found.kind, "deadlock", text)
      hung = hung + 1
    else
      ok(not found, "%s: %s\n%s", text, found and found.text, found and protocol.witness(m, found))
      right = right + 1
    end
  end
  ok(right >= 20 and hung >= 3, "%d kinds are right, %d hang", right, hung)
end)

test("rings of 8 bits: the form that hung, and all cases of some", function()
  local hung = { fp8 = true, stages = 3, groups = 1, norm = 0, split = 1, ways = 3 } -- a place of each way
  local found = protocol.check(ring.model(hung, { 4, 1 }), 1)[1]
  eq(found and found.kind, "deadlock")
  ok(found.text:find("wait for phase 1 of full%[0%]"), found.text)
  eq(#protocol.check(ring.model(hung, { 3, 3 })), 0, "a step of each way in a pass") -- it gives its place back behind the last
  for _, v in ipairs({ { norm = 1, split = 2, ways = 2, stages = 4 }, { norm = 0, split = 1, ways = 3, stages = 6 },
    { norm = 0, split = 1, ways = 1, stages = 2 }, { norm = 1, split = 1, ways = 3, stages = 6 },
    { norm = 0, split = 2, ways = 1, stages = 4, groups = 2 }, { norm = 1, split = 1, ways = 1, stages = 5, groups = 3 } }) do
    v.fp8, v.groups = true, v.groups or 1
    local bad, m = protocol.first(ring, v, true)
    ok(not bad, "%d ways, %d stages: %s", v.ways, v.stages, bad and bad.text .. "\n" .. protocol.witness(m, bad))
  end
end)

-- Mistakes that a careless writer might make; each is found by its kind, whatever else follows from it.
test("rings of 8 bits: seeded mistakes are found", function()
  local function found(v, case, change)
    v.fp8, v.groups = true, v.groups or 1
    local m = ring.model(v, case)
    for _, a in ipairs(m.agents) do change(a, a.ops, m) end
    local set = {}
    for _, f in ipairs(protocol.check(m)) do set[f.kind] = true end
    return set
  end
  local function drop(ops, which)
    for at = #ops, 1, -1 do
      if which(ops[at], at) then table.remove(ops, at) end
    end
  end
  local function math_of(a) return a.name:find("^math") end
  local two = { norm = 0, split = 1, ways = 2, stages = 4 }
  eq(next(found(two, { 9, 1 }, function() end)), nil)
  -- The next step's bytes taken without a wait for them.
  ok(found(two, { 9, 1 }, function(a, ops)
    local waits = 0
    drop(ops, function(op)
      waits = waits + (op[1] == OPS.WAIT and not op[2].exact and 1 or 0)
      return math_of(a) and op[1] == OPS.WAIT and not op[2].exact and waits > 1
    end)
  end).race, "no race")
  -- A place given back as soon as its last bytes are numbers: its products still read x.
  ok(found(two, { 9, 1 }, function(a, ops)
    if not math_of(a) then return end
    for at = 2, #ops do
      if ops[at][1] == OPS.ARRIVE and ops[at][4] == "give_back()" then ops[at - 1], ops[at] = ops[at], ops[at - 1] end
    end
  end).race, "no race")
  -- A barrier of empty places that waits for the warps of all ways.
  ok(found(two, { 9, 1 }, function(_, _, m)
    for _, b in ipairs(m.barriers) do
      if b.name:find("^empty") then b.count = 4 end
    end
  end).deadlock, "it does not stop")
  -- A barrier of empty places that waits for one of two warpgroups that share x.
  ok(found({ norm = 0, split = 1, ways = 1, stages = 4, groups = 2 }, { 13, 1 }, function(_, _, m)
    for _, b in ipairs(m.barriers) do
      if b.name:find("^empty") then b.count = 2 end
    end
  end).count, "no wrong count")
  -- Places that ways do not share out evenly: a way skips every second use of one.
  ok(found({ norm = 0, split = 1, ways = 2, stages = 5 }, { 13, 1 }, function() end).alias, "no wait passes early")
  -- Scales read before all threads have laid theirs.
  ok(found(two, { 9, 1 }, function(a, ops)
    if a.name:find("^math 2") then table.insert(ops, 3, table.remove(ops, 1)) end -- a warp lays its share behind the meeting
  end).stale, "nothing is stale")
  -- Sums come to where another way still multiplies.
  ok(found(two, { 9, 1 }, function(_, ops)
    drop(ops, function(op) return op[2].exact and op[4] == "the ring is done with" end)
  end).race, "no race")
  -- Squares added up while other threads still write their parts.
  ok(found({ norm = 1, split = 1, ways = 2, stages = 4 }, { 9, 1 }, function(_, ops)
    local meetings = 0
    for at = 1, #ops do
      if ops[at][2].exact and ops[at][4] == "kernel" and ops[at][1] == OPS.ARRIVE then
        meetings = meetings + 1
        if meetings == 2 then -- behind the first one, before the ring's loops: that of sums and parts
          table.remove(ops, at + 1)
          table.remove(ops, at)
          return
        end
      end
    end
  end).race, "no race")
end)

test("rings of 8 bits: the model's functions are the template's", function()
  local text = {}
  for _, name in ipairs({ "ring_fp8", "sums", "places" }) do
    text[#text + 1] = T.read("templates/lib/projection/" .. name .. ".h")
  end
  text = table.concat(text)
  local seen = {}
  for _, a in ipairs(ring.model({ fp8 = true, stages = 4, groups = 1, norm = 1, split = 2, ways = 2 }, { 9, 2 }).agents) do
    for _, op in ipairs(a.ops) do seen[op[4]] = true end
  end
  local functions = 0
  for name in loader.sorted(seen) do
    if name:find("%(%)$") then
      ok(text:find(" " .. name:sub(1, -3) .. "(", 1, true), name)
      functions = functions + 1
    end
  end
  ok(functions >= 10, "%d functions", functions)
end)
