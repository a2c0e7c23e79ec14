-- The ring of the projections' Hopper kernel: all interleavings of what its threads say are right, and a step left out is found.
local loader = T.loader()
local protocol = loader.require("protocol")
local ring = loader.require("projection/protocol")

local KINDS = {}
for _, norm in ipairs({ 0, 1 }) do
  for _, groups in ipairs({ 1, 2 }) do
    for _, split in ipairs({ 1, 2 }) do
      KINDS[#KINDS + 1] = { norm = norm, groups = groups, split = split, ways = 1, stages = 4 }
      KINDS[#KINDS + 1] = { norm = norm, groups = groups, split = split, ways = 1, stages = 4, loaders = 2 }
    end
  end
end

for _, split in ipairs({ 1, 2 }) do
  KINDS[#KINDS + 1] = { norm = 1, groups = 1, split = split, ways = 2, stages = 4 }
  KINDS[#KINDS + 1] = { norm = 1, groups = 1, split = split, ways = 2, stages = 4, loaders = 2 }
end

KINDS[#KINDS + 1] = { norm = 0, groups = 2, split = 1, ways = 1, stages = 4, walk = true }
KINDS[#KINDS + 1] = { norm = 0, groups = 2, split = 1, ways = 1, stages = 4, walk = true, once = true }
KINDS[#KINDS + 1] = { norm = 0, groups = 2, split = 1, ways = 1, stages = 3, absorb = 3 }
for idles = 0, 1 do -- passes of 256 tokens, with fewer
  KINDS[#KINDS + 1] = { norm = 0, groups = 2, split = 1, ways = 1, stages = 4, loaders = 2, idles = idles }
  KINDS[#KINDS + 1] = { norm = 0, groups = 2, split = 2, ways = 1, stages = 4, idles = idles }
  KINDS[#KINDS + 1] = { norm = 0, groups = 2, split = 1, ways = 1, stages = 4, walk = true, idles = idles }
  KINDS[#KINDS + 1] = { norm = 0, groups = 2, split = 1, ways = 1, stages = 4, walk = true, once = true, idles = idles }
end

test("projections: the ring is right, with a norm, in clusters, in several passes", function()
  for _, v in ipairs(KINDS) do
    local found, m = protocol.first(ring, v, true)
    ok(not found, "norm %d groups %d split %d ways %d: %s\n%s", v.norm, v.groups, v.split, v.ways, found and found.text or "",
      found and protocol.witness(m, found) or "")
  end
end)

-- Rings that plans make: which have two loaders of both, and that a place is always the same one's.
test("projections: both loaders have places of their own", function()
  local plan, seen = loader.require("projection/plan"), {}
  for _, s in ipairs({ { inner = 1536, norm = 1, rows = 32, ways = 2 }, { inner = 1536, norm = 1, rows = 48, split = 2 },
    { inner = 1536, norm = 1, rows = 192 }, { inner = 576, norm = 1, rows = 64 }, { inner = 512, rows = 64 },
    { inner = 320, rows = 32 },
    { inner = 64, rows = 64, layout = "inputs" }, { inner = 128, rows = 128, layout = "inputs", turn = 64 },
    { inner = 7168, rows = 72 },
    { inner = 128, rows = 128, layout = "inputs", turn = 64, tiles = 4 } }) do
    for _, tokens in ipairs({ 16, 32, 64, 128 }) do
      for per_sm = 1, 3 do
        local norm, split, ways, tiles = s.norm or 0, s.split or 1, s.ways or 1, s.tiles or 1
        local made = plan.ring({ inner = s.inner, outer = s.rows * 8, layout = s.layout or "outputs", norm = norm,
          tokens = tokens, rows = s.rows, per_sm = per_sm, split = split, turn = s.turn or 0, ways = ways, tiles = tiles })
        local steps = math.ceil(s.inner // 64 / split)
        if not made.refused then
          seen[made.both] = true
          local narrow = s.rows <= 64 or s.layout == "inputs"
          local waits = tiles == 1 and (norm == 1 or s.inner <= 512) and narrow
          ok(made.both == waits and not (waits and made.lends), "inner %d norm %d tiles %d", s.inner, norm, tiles)
          ok(not made.both or made.stages % 2 == 0 or made.stages == steps, "%d stages of %d steps", made.stages, steps)
          local v = { norm = norm, groups = made.threads > 256 and 2 or 1, split = split, ways = ways, stages = made.stages,
            loaders = made.both and 2 or nil }
          local found = tiles == 1 and protocol.check(ring.model(v, { steps, 2 }), 1)[1]
          ok(not found, "%d stages of %d steps: %s", made.stages, steps, found and found.text or "")
        end
      end
    end
  end
  ok(seen[true] and seen[false], "only one kind")
end)

test("projections: 129 to 256 tokens are a pass, of a ring without a norm", function()
  local space, problem = loader.require("space"), loader.require("problem")
  local function first(text, tokens) return space.best(problem.parse(text .. ",t" .. tokens), "sm_90a", 1)[1].name end
  for text, wanted in pairs { ["mla_v_out:h128,r512,v128,bf16"] = "^ring:pass=256,.*rows=128,",
    ["mla_v_out:h64,r512,v128,bf16"] = "^ring:pass=256,.*rows=64,", ["mla_v_out:h16,r512,v128,bf16"] = "^ring:pass=256,",
    ["mla_q_absorb:h128,n128,p64,r512,bf16,pairs"] = "^walk:pass=256,.*rows=64,tiles=8/",
    ["mla_q_absorb:h64,n128,p64,r512,bf16,pairs"] = "^walk:pass=256,.*rows=64,tiles=4/",
    ["mla_q_absorb:h16,n128,p64,r512,bf16,pairs"] = "^ring:pass=256," } do
    for _, tokens in ipairs { 129, 144, 192, 256 } do
      ok(first(text, tokens):find(wanted), "%s: %s", text, first(text, tokens))
    end
    for _, tokens in ipairs { 64, 128, 257, 512 } do
      ok(not first(text, tokens):find("pass=256"), "%s: %s", text, first(text, tokens))
    end
  end
  local seen = {}
  for _, text in ipairs { "mla_q_b:l1536,h16,n128,p64,norm,bf16,t256", "mla_qkv_a:d7168,l1536,r512,p64,bf16,t256",
    "mla_q_absorb:h128,n128,p64,r512,bf16,pairs,t256" } do
    for _, v in ipairs(space.variants(problem.parse(text), "sm_90a")) do
      if not v.rejected and v.name:find("^ring:pass=256") then seen[text:match("^[%w_]+")] = true end
    end
  end
  for _, text in ipairs { "mla_q_b:l1536,h16,n128,p64,norm,bf16,t300", "mla_v_out:h16,r512,v128,bf16,t200" } do
    local name = space.invariant(problem.parse(text), "sm_90a").name
    ok(name:find("^ring_invariant:pass=128,"), "%s: %s", text, name) -- of any number of tokens
  end
  ok(not seen.mla_q_b and seen.mla_qkv_a and not seen.mla_q_absorb, "a norm, or turns of all SMs one after the other")
end)

-- Layers of 32 and 64 heads took 2 to 5 us more by one way, which the model held for as fast (docs/lab/projections.md).
test("projections: two warpgroups take turns at the steps of narrow tiles with a norm", function()
  local space, problem = loader.require("space"), loader.require("problem")
  for _, heads in ipairs { 32, 64 } do
    for _, tokens in ipairs { 16, 32, 64 } do
      local text = ("mla_q_b:l1536,h%d,n128,p64,norm,bf16,t%d+mla_append:r512,paged,pairs,norm"):format(heads, tokens)
      local name = space.best(problem.parse(text), "sm_90a", 1)[1].name
      ok(name:find("^ring_append:.*ways=2/"), "%s: %s", text, name)
    end
  end
  local name = space.best(problem.parse("mla_q_b:l1536,h128,n128,p64,norm,bf16,t16"), "sm_90a", 1)[1].name
  ok(name:find("rows=192,split=1,ways=1/"), name) -- wide tiles' products hide it
end)

test("projections: steps left out of the ring are found", function()
  dofile(T.root .. "/tests/lua/steps.lua")(T, protocol, loader.sorted, {
    model = function() return ring.model({ norm = 0, groups = 1, split = 2, ways = 1, stages = 2 }, { 5, 2 }) end,
    agents = { 1, 2, 3 }, -- the loaders, a warp of math
    counts = function(op) return not op[2].exact end,
    least = 8,
  })
end)

-- Mistakes that a careless writer might make.
test("projections: seeded mistakes in the ring are found", function()
  local OPS = protocol.ops
  local function found(v, case, change)
    local m = ring.model(v, case)
    for _, a in ipairs(m.agents) do change(a, a.ops, m) end
    return #protocol.check(m, 1) > 0
  end
  local plain = { norm = 0, groups = 1, split = 1, ways = 1, stages = 3 }
  -- A place given back while its products still read it: the arrival stands before the last read of it.
  ok(found(plain, { 7, 1 }, function(a, ops)
    if not a.name:find("math") then return end
    for at = 1, #ops - 1 do
      if ops[at][1] == OPS.READ and ops[at + 1][1] == OPS.ARRIVE then ops[at], ops[at + 1] = ops[at + 1], ops[at] end
    end
  end), "a place given back too early")
  -- A barrier that takes one loader's arrival for both.
  ok(found(plain, { 5, 1 }, function(_, _, m)
    for _, b in ipairs(m.barriers) do
      if b.name:find("^full") then b.count = 1 end
    end
  end), "a full barrier that counts one loader")
  -- Sums written while another warp still multiplies from the ring.
  ok(found({ norm = 0, groups = 2, split = 1, ways = 1, stages = 3 }, { 5, 1 }, function(_, ops)
    for at = #ops, 1, -1 do
      if ops[at][2].exact and ops[at][4] == "the ring is done with" then table.remove(ops, at) end
    end
  end), "sums where the ring is in use")
  -- The second cluster barrier is there so that nobody writes sums that a neighbour still reads.
  ok(found({ norm = 0, groups = 1, split = 2, ways = 1, stages = 3 }, { 2, 2 }, function(_, ops)
    local seen = 0
    for at = #ops, 1, -1 do
      if ops[at][2].name == "the cluster" then
        seen = seen + 1
        if seen % 4 == 1 or seen % 4 == 2 then table.remove(ops, at) end
      end
    end
  end), "sums written while they are read")
  -- A tile's sums written before those of the one before are read.
  ok(found({ norm = 0, groups = 2, split = 1, ways = 1, stages = 3, walk = true }, { 2, 2 }, function(_, ops)
    local seen = 0
    for at = 1, #ops do
      if ops[at] and ops[at][2].exact and ops[at][4] == "walk_tiles()" then
        seen = seen + 1
        if seen == 3 or seen == 4 then ops[at].out = true end
      end
    end
    for at = #ops, 1, -1 do
      if ops[at].out then table.remove(ops, at) end
    end
  end), "a tile's sums where the ones before are read")
  -- A walk's x multiplied before it is there, and asked for while the pass before still multiplies by it.
  local walks = { norm = 0, groups = 2, split = 1, ways = 1, stages = 3, walk = true, once = true }
  ok(not found(walks, { 2, 2 }, function() end), "a right walk is found wrong")
  for _, mistake in ipairs { { "^math", "a walk's x unseen" }, { "^x", "a walk's next x too early" } } do
    ok(found(walks, { 2, 2 }, function(a, ops)
      for at = a.name:find(mistake[1]) and #ops or 0, 1, -1 do
        if ops[at][1] == OPS.WAIT and ops[at][4] == "walk_tiles()" then table.remove(ops, at) end
      end
    end), mistake[2])
  end
  -- A warpgroup without tokens that gives back what is not there yet.
  local idle = { norm = 0, groups = 2, split = 1, ways = 1, stages = 2, idles = 0 }
  ok(not found(idle, { 5, 1 }, function() end), "a right one that idles is found wrong")
  ok(found(idle, { 5, 1 }, function(a, ops)
    if a.name:find("math 4", 1, true) then
      for at = #ops, 1, -1 do
        if ops[at][1] == OPS.WAIT then table.remove(ops, at) end
      end
    end
  end), "a place given back unseen")
  -- A loader of x that passes over the steps of W_UK, for which the other one arrives: where those fill the ring it comes early.
  -- Of two loaders one that passes over the wait for a place, or asks for x ahead of it.
  local both = { norm = 0, groups = 1, split = 1, ways = 1, stages = 2, loaders = 2 }
  ok(not found(both, { 5, 2 }, function() end), "two right loaders are found wrong")
  ok(found(both, { 5, 2 }, function(a, ops)
    if a.name:find("loader 1", 1, true) then
      for at = #ops, 1, -1 do
        if ops[at][1] == OPS.WAIT and ops[at][4] == "wait_empty()" then table.remove(ops, at) end
      end
    end
  end), "a loader that does not wait")
  -- A loader that says of a step's W alone that it comes.
  ok(found(both, { 5, 2 }, function(_, ops)
    for at = 1, #ops do
      if ops[at][1] == OPS.ARRIVE and ops[at][4] == "load_w()" then ops[at][5] = 1 end
    end
  end), "x that nobody awaits")
  local absorb = { norm = 0, groups = 1, split = 1, ways = 1, stages = 3, absorb = 3 }
  ok(not found(absorb, { 5, 3 }, function() end), "a right one is found wrong")
  ok(found(absorb, { 5, 3 }, function(a, ops)
    local at = { W = 0, x = 0 }
    local who = a.name:match("^%a+")
    for i = 1, #ops do
      local op = ops[i]
      if at[who] and (op[1] == OPS.ARRIVE or op[1] == OPS.WAIT) and not op[2].exact then
        local step = at[who]
        if op[1] == OPS.ARRIVE then at[who] = step + 1 end
        if step % 5 >= 2 then op.part = true end
      end
    end
    for i = #ops, 1, -1 do
      if ops[i].part and who == "x" then table.remove(ops, i)
      elseif ops[i].part and ops[i][1] == OPS.ARRIVE then table.insert(ops, i, ops[i]) end
    end
  end), "a loader that passes over steps")
  -- Odd numbers of stages: a way passes over every second use of a barrier.
  local odd = { norm = 1, groups = 1, split = 1, ways = 2, stages = 3 }
  ok(found(odd, { 9, 1 }, function() end), "ways over an odd number of stages")
end)

-- A bundle asks for it: without one it refuses the problem.
test("queries into the latent space: a baseline for every number of tokens", function()
  local space, problem = loader.require("space"), loader.require("problem")
  for target, family in pairs { gfx90a = "mfma", gfx942 = "mfma", gfx950 = "mfma", sm_90a = "ring" } do
    for _, tokens in ipairs { 1, 8, 9, 16, 17, 64, 100, 128, 300 } do
      local p = problem.parse("mla_q_b:l1536,h128,n128,p64,norm,bf16,append_paged,r512,append_norm,absorb_pairs,t" .. tokens)
      local v = space.baseline(p, target)
      ok(not v.rejected and v.name:find("^" .. family .. "_absorb_append:"), "%s, %d tokens: %s", target, tokens, v.name)
    end
  end
end)
