-- Weights of 8 bits that stay in registers (templates/lib/projection/stationary_fp8.h): all interleavings of what its threads say
-- are right, mistakes are found, and plans refuse what cannot be.
local loader = T.loader()
local protocol, stationary = loader.require("protocol"), loader.require("projection/protocol_stationary")
local plan = loader.require("projection/stationary").plan
local OPS = protocol.ops

test("stationary weights: what the threads say is right, for any number of passes", function()
  for _, ways in ipairs({ 1, 2, 4 }) do
    local found, m = protocol.first(stationary, { places = 2, ways = ways }, true)
    ok(not found, "%d ways: %s", ways, found and found.text .. "\n" .. protocol.witness(m, found))
  end
  local found, m = protocol.first(stationary, { places = 2, ways = 1, direct = true }, true)
  ok(not found, "direct: %s", found and found.text .. "\n" .. protocol.witness(m, found))
end)

test("stationary weights: seeded mistakes are found", function()
  local function kinds(change, ways)
    local m, set = stationary.model({ places = 2, ways = ways or 2 }, 5), {}
    for _, a in ipairs(m.agents) do change(a, a.ops, m) end
    for _, f in ipairs(protocol.check(m)) do set[f.kind] = true end
    return set
  end
  local function without(ops, name, what)
    for at = #ops, 1, -1 do
      if ops[at][1] == what and ops[at][2].name:find(name) then table.remove(ops, at) end
    end
  end
  eq(next(kinds(function() end)), nil)
  -- W taken before it is there; x of a pass that has not come; a place filled while it is read.
  ok(kinds(function(a, ops) if a.name ~= "x" then without(ops, "^W_FULL", OPS.WAIT) end end).race, "W")
  ok(kinds(function(a, ops) if a.name ~= "x" then without(ops, "^full", OPS.WAIT) end end).race, "x")
  ok(kinds(function(a, ops) if a.name == "x" then without(ops, "^empty", OPS.WAIT) end end).race, "a place")
  -- A barrier of empty places that counts the warps of one way.
  ok(next(kinds(function(_, _, m)
    for _, b in ipairs(m.barriers) do
      if b.name:find("^empty") then b.count = 2 end
    end
  end)), "a count")
  -- A place given back before its products have read it.
  ok(kinds(function(_, ops)
    for at = 2, #ops do
      if ops[at][1] == OPS.ARRIVE and ops[at][2].name:find("^empty") then ops[at - 1], ops[at] = ops[at], ops[at - 1] end
    end
  end).race, "given back early")
  -- A pass' sums written while those of the pass before are read.
  ok(kinds(function(_, ops)
    local meetings = 0
    for _, op in ipairs(ops) do
      if op[2].name == "math" and op[1] == OPS.ARRIVE then meetings = meetings + 1 end
      if op[2].name == "math" and meetings == 2 then op.out = true end -- of the second pass, before its sums
    end
    for at = #ops, 1, -1 do
      if ops[at].out then table.remove(ops, at) end
    end
  end).race, "sums")
end)

test("stationary weights: what a plan refuses", function()
  local function with(change)
    local s = { inner = 128, outer = 512, layout = "inputs", tokens = 64, rows = 64, ways = 2, turn = 64, per_sm = 1 }
    for key, value in pairs(change) do s[key] = value end
    return plan(s)
  end
  local good = with({})
  ok(not good.refused and good.values == 64 and good.threads == 352, good.refused)
  eq(good.barriers_at % 8, 0)
  local direct = with({ ways = 1, direct = 1, per_sm = 3 })
  ok(not direct.refused and direct.threads == 128 and direct.barriers_at == direct.sums_at, direct.refused)
  for change, why in pairs({ [{ layout = "outputs" }] = "side by side", [{ inner = 96 }] = "no 2 shares of chunks of 32",
    [{ inner = 288, ways = 1 }] = "more than registers hold", [{ rows = 128, inner = 256, ways = 4 }] = "bytes each",
    [{ direct = 1 }] = "have to meet",
    [{ rows = 128, inner = 256, ways = 1 }] = "would spill", [{ per_sm = 2 }] = "registers each" }) do
    local made = with(change)
    ok(made.refused and made.refused:find(why, 1, true), "%s: %s", why, made.refused or "not refused")
  end
end)

test("stationary weights: two blocks an SM are only made where sums have at most 128 values", function()
  local family, arch = loader.require("ops/mla_q_absorb/families/all").families.stationary_fp8, loader.require("arch/sm_90a")
  local function why(p, v)
    for _, rule in ipairs(family.rules) do
      local reason = rule(p, v)
      if reason then return reason end
    end
    return family.cost(p, v, arch).refused
  end
  for _, nope in ipairs({ 64, 128, 160, 192, 256 }) do
    local served = 0
    for _, tokens in ipairs({ 1, 16, 32, 64, 200 }) do
      local p = { heads = 128, nope = nope, rope = 64, rank = 512, weights = 1, dtype = "bf16", tokens = tokens }
      for _, rows in ipairs(family.params.rows) do
        for _, ways in ipairs(family.params.ways) do
          for _, pass in ipairs(family.params.pass) do
            local reason = why(p, { rows = rows, ways = ways, pass = pass, per_sm = 2 })
            served = served + (reason and 0 or 1)
            ok(nope <= 128 or reason, "%d values, %d outputs, %d ways, %d tokens", nope, rows, ways, pass)
          end
        end
      end
    end
    eq(served > 0, nope <= 128, nope .. " values")
  end
end)
