-- The protocol check: that it finds what an exhaustive search finds, on small models; that it finds the known bug and seeded
-- ones; and what it says of every kernel of the covering grid.
local loader = T.quick_loader()
local protocol, rules, known = loader.require("protocol"), loader.require("ops/mla_decode/protocol/rules"),
  loader.require("ops/mla_decode/protocol/known")
local OPS = protocol.ops
local explore = dofile(T.root .. "/tests/lua/explore.lua")
local KERNELS = {}
for _, name in ipairs({ "sm90_few", "sm90_many", "sm90_mid", "sm90_raw", "sm90_raw_mid", "sm90_small_rank", "clusters" }) do
  KERNELS[name] = loader.require("ops/mla_decode/protocol/" .. name) end

local function with(base, change)
  local v = {}
  for _, from in ipairs({ base, change or {} }) do
    for key, value in pairs(from) do v[key] = value end
  end
  return v
end
local HOPT = { boxes = 9, ring = 18, places = 1, wgs = 2, rope = 64, cluster = 1, schedule = "splits", load = "tma",
  ordered = true, rounds = 2, raises = 0, warps = 2 }
local WALK = { schedule = "fitted", places = 2 }
local WHOLE = with(HOPT, with(WALK, { ring = 22, cluster = 2, o_boxes = 5 }))
local HOP = { buffers = 2, rope = 64, cluster = 1, shared = true, many = true, gather = false, warps = 2 }
local HOPP = { boxes = 9, ring = 15, rope = 64, schedule = "fitted", warps = 2 }
local RAW = { boxes = 1, ring = 5, places = 1, wgs = 2, warps = 2, cluster = 1, schedule = "splits", rounds = 2, raises = 0 }
local RAW_MID = { boxes = 1, ring = 3, ps = 2, schedule = "fitted", raises = 1, warps = 2, scored = true }
local RAW_TWO = { boxes = 1, ring = 4, ps = 2, schedule = "fitted", raises = 1, warps = 2, teams = 2 }
local ENDS_MID, ENDS_MANY = { blocks = 2, scores = true, warps = 2 }, { blocks = 2, warps = 2 }
local HOPW = { buffers = 4, schedule = "fitted", warps = 2 }

local function first(name, v, all)
  local found, m = protocol.first(KERNELS[name], v, all)
  return found, found and found.text .. "\n" .. protocol.witness(m, found) or "nothing"
end

-- ---- Small models against all their interleavings ------------------------------------------------------------------------
test("the check agrees with all interleavings of small models: 40, the others in protocol_full.lua", function()
  local clean, by_kind = 0, {}
  local compared, why = dofile(T.root .. "/tests/lua/small_models.lua")(loader, T.root, 3, 40, function(found)
    clean = clean + (#found == 0 and 1 or 0)
    for _, f in ipairs(found) do by_kind[f.kind] = true end
  end)
  ok(not why, "model %d: %s", compared, why)
  ok(clean > 8 and clean < 32, "%d of them are right", clean)
  for _, kind in ipairs({ "alias", "lapped", "early", "count", "race", "stale", "unmade", "exited", "deadlock" }) do
    ok(by_kind[kind], "no model with %s", kind)
  end
end)

test("what a wait that passes too early leads to", function()
  -- A ring of 3, tiles of 2 boxes, two warpgroups in turns: the one that is early reads what the other one still waits for.
  local function model(ordered)
    local m, full, empty, slot = protocol.new(), {}, {}, {}
    local producer, math, order = m:agent("producer"), { [0] = m:agent("math 0"), m:agent("math 1") }, {}
    local list, begin = {}, m:named("begin", 3)
    for s = 0, 2 do
      full[s], empty[s], slot[s] = m:barrier("full " .. s, 1), m:barrier("empty " .. s, 1), m:place("slot " .. s)
      list[2 * s + 1], list[2 * s + 2] = full[s], empty[s]
    end
    for g = 0, 1 do order[g] = m:named("order " .. g, 2) end
    producer:make(list, "")
    for _, a in ipairs(m.agents) do a:sync(begin, "") end
    for i = 0, 5 do
      producer:wait(empty[i % 3], i // 3 - 1, "")
      producer:arrive(full[i % 3], i // 3, "", 1)
      producer:copy(full[i % 3], i // 3, "", slot[i % 3], i)
      local t = i // 2
      local a = math[t % 2]
      if ordered and t > 0 and i % 2 == 0 then a:sync(order[t % 2], "") end
      a:wait(full[i % 3], i // 3, "")
      a:read(slot[i % 3], i, "")
      if i % 2 == 1 then
        if ordered and t < 2 then a:pass(order[1 - t % 2], "") end
        for k = i - 1, i do a:arrive(empty[k % 3], k // 3, "") end
      end
    end
    return m
  end
  local all = explore(model(false), OPS, 20000, true)
  local early = false
  for what in pairs(all.first) do early = early or what:find("^alias") end
  ok(early, "the search finds no early wait")
  ok(all.consequences.race, "no race follows")
  all = explore(model(true), OPS, 20000, true)
  eq(next(all.first), nil)
  eq(next(all.consequences), nil)
  eq(#protocol.check(model(true)), 0)
  eq(protocol.check(model(false))[1].kind, "alias")
end)

-- ---- The known bug --------------------------------------------------------------------------------------------------------
test("sm90_few with two warpgroups: rings of 20, 22, 23 and 25 let a wait pass too early, 18 and order do not", function()
  for _, change in ipairs({ {}, WALK, { load = "gather" } }) do
    for _, ring in ipairs({ 18, 20, 22, 23, 25 }) do
      local v = with(with(HOPT, change), { ring = ring, ordered = false })
      local found, text = first("sm90_few", v)
      eq(found and found.kind, ring ~= 18 and "alias" or nil, ("%s, %d boxes"):format(v.schedule, ring))
      if found then ok(text:find("math [01]%.[01]: wait for phase %d+ of [^,]*full%[%d+%], scores"), text) end
      eq(select(2, first("sm90_few", with(v, { ordered = true }))), "nothing", ring .. " boxes in order")
      eq(select(2, first("sm90_few", with(v, { wgs = 1 }))), "nothing", ring .. " boxes, one warpgroup")
    end
  end
end)

test("order does not save a ring below two tiles: boxes dealt out to producers", function()
  local found, text = first("sm90_few", with(HOPT, { ring = 17 }))
  eq(found and found.kind, "alias")
  ok(text:find("producer %d: wait for phase %d+ of [^,]*empty%[%d+%], produce"), text)
  eq(select(2, first("sm90_few", with(HOPT, { ring = 17, load = "gather" }))), "nothing") -- all of them take every box
end)

-- ---- Kernels of the space -------------------------------------------------------------------------------------------------
-- All plans: protocol_full.lua.
T.sampled(3, "pipelined kernels of the covering grid are right: every sixth", function(mine)
  local by_family, kernels = {}, dofile(T.root .. "/tests/lua/protocol_kernels.lua")(loader, T.grid_kernels(loader, "sm_90a"))
  for i, k in ipairs(kernels) do
    by_family[k.family] = (by_family[k.family] or 0) + 1
    if by_family[k.family] % 6 == 1 and mine(by_family[k.family] // 6) then
      local found, text = first(k.model, k.v)
      ok(not found, "%s: %s", k.key, text)
    end
  end
  ok(#kernels > (T.full and 150 or 100), "%d kinds of kernels", #kernels)
  for _, name in ipairs({ "sm90_few", "sm90_many", "sm90_many_gather", "sm90_mid", "sm90_mid_gather", "sm90_small_rank" }) do
    ok(by_family[name], "none of %s", name) end
end)

T.sampled(5, "all cases of some kernels: long walks, maxima that rise, clusters of three", function(mine)
  for i, one in ipairs({
    { "sm90_few", HOPT }, { "sm90_few", with(HOPT, with(WALK, { ring = 23, raises = 1 })) },
    { "sm90_few", with(HOPT, { ring = 25, cluster = 2, wgs = 1 }) }, { "sm90_few", with(HOPT, { ring = 16, wgs = 1,
      warps = 4 }) },
    { "sm90_few", with(HOPT, with(WALK, { ring = 20, raises = 2, cluster = 2 })) }, { "sm90_many", with(HOP, { cluster = 2 }) },
    { "sm90_few", with(HOPT, with(WALK, { ring = 25, cluster = 2, ahead = true })) },
    { "sm90_few", with(HOPT, { ring = 27, wgs = 1, ahead = true }) },
    { "sm90_few", with(WHOLE, { raises = 1 }) }, { "sm90_few", with(WHOLE, { cluster = 1, boxes = 5, ring = 20, o_boxes = 3 }) },
    { "sm90_few", with(WHOLE, { cluster = 1, turns = true }) },
    { "sm90_many", HOP }, { "sm90_many", with(HOP, { many = false, cluster = 2, buffers = 4, shared = false }) },
    { "sm90_many", with(HOP, { ahead = true, cluster = 2 }) }, { "sm90_many", with(HOP, { ahead = true, rope = 0, buffers = 4,
      shared = false }) }, { "sm90_many", with(HOP, { ahead = true, many = false }) },
    { "sm90_many", with(HOP, { gather = true }) }, { "sm90_many", with(HOP, { gather = true, rope = 0, buffers = 4,
      shared = false }) },
    { "sm90_many", with(HOP, { gather = true, lists = true }) }, { "sm90_many", with(HOP, { gather = true, lists = true, rope = 0,
      buffers = 4, shared = false, many = false }) },
    { "sm90_mid", with(HOPP, { gather = true }) }, { "sm90_mid", with(HOPP, { gather = true, schedule = "splits", lists = 2 }) },
    { "sm90_mid", with(HOPP, { gather = true, pairs = true }) },
    { "sm90_mid", with(HOPP, { gather = true, pairs = true, schedule = "splits", lists = 2 }) },
    { "sm90_mid", with(HOPP, { ahead = true }) }, { "sm90_mid", with(HOPP, { ahead = true, schedule = "splits" }) },
    { "sm90_mid", HOPP }, { "sm90_mid", with(HOPP, { schedule = "splits",
      warps = 4 }) },
    { "sm90_raw", RAW }, { "sm90_raw", with(RAW, { ring = 3, cluster = 2, raises = 1 }) },
    { "sm90_raw", with(RAW, { ring = 4, schedule = "fitted", o_boxes = 1, raises = 2 }) },
    { "sm90_raw", with(RAW, { schedule = "fitted", cluster = 2, o_boxes = 1, warps = 4 }) },
    { "sm90_raw", with(RAW, { lists = 2 }) }, { "sm90_few", with(HOPT, { load = "gather", lists = 1 }) },
    { "sm90_raw", with(RAW, { schedule = "fitted", cluster = 2, o_boxes = 1, lists = 1 }) },
    { "sm90_raw_mid", with(RAW_MID, { raises = 2, warps = 4 }) }, { "sm90_raw_mid", with(RAW_MID, { ps = 1, ring = 4 }) },
    { "sm90_raw_mid", with(RAW_MID, { schedule = "splits" }) },
    { "sm90_raw_mid", with(RAW_MID, { schedule = "splits", lists = 2 }) },
    { "sm90_raw_mid", with(RAW_MID, { schedule = "splits", wide = 3 }) },
    { "sm90_raw_mid", with(RAW_MID, { raises = 2, wide = 2 }) }, { "sm90_raw_mid", with(RAW_MID, { scored = false, wide = 2 }) },
    { "sm90_raw_mid", RAW_TWO }, { "sm90_raw_mid", with(RAW_TWO, { raises = 3, wide = 3 }) },
    { "sm90_raw_mid", with(RAW_TWO, { schedule = "splits", lists = 2, wide = 2 }) },
    { "sm90_small_rank", HOPW },
    { "sm90_small_rank", with(HOPW, { schedule = "splits", buffers = 3 }) },
  }) do
    if mine(i - 1) then eq(select(2, first(one[1], one[2], true)), "nothing", one[1]) end
  end
  local three = { { { tiles = 2 } }, { { tiles = 1 } }, { { tiles = 0 } } }
  eq(#protocol.check(KERNELS.sm90_few.model(with(HOPT, { cluster = 3 }), three)), 0, "a cluster of three")
end)

test("the model's functions are the template's", function()
  -- Loaders that copy rows one by one are files of their own, which a tree may lack.
  local gathers, gathered = T.read("templates/mla_decode/sm90_many/gather.h") ~= nil, { copy_rope = true, publish = true,
    list_piece = true, read_table = true, copy_quarters = true, say_checked = true, list_rows = true, count_list = true,
    say_lists = true, say_piece = true }
  local files = {
    sm90_few = { "mla_decode/sm90_few.cu.in", "mla_decode/sm90_few/ahead.h", "mla_decode/sm90_few/barriers.h",
      "mla_decode/sm90_few/ends.h", "mla_decode/sm90_few/look_ahead.h", "mla_decode/sm90_few/take_pieces.h",
      "mla_decode/sm90_few/whole.h", "mla_decode/lib/index_list.h", "mla_decode/lib/meet.h" },
    sm90_mid = { "mla_decode/sm90_mid.cu.in", "mla_decode/sm90_mid/ahead.h", "mla_decode/sm90_mid/partial.h" },
    clusters = { "mla_decode/sm90_mid.cu.in", "mla_decode/sm90_mid/clusters.h", "mla_decode/sm90_many.cu.in",
      "mla_decode/sm90_many/block.h", "mla_decode/sm90_many/clusters.h", "mla_decode/sm90_many/finish.h" },
    sm90_raw = { "mla_decode/sm90_raw.cu.in", "mla_decode/lib/index_list.h", "mla_decode/sm90_raw/list.h",
      "mla_decode/sm90_raw/load.h", "mla_decode/sm90_raw/products.h",
      "mla_decode/sm90_raw/query.h", "mla_decode/sm90_raw/softmax.h", "mla_decode/sm90_few/take_pieces.h",
      "mla_decode/lib/meet.h" },
    sm90_raw_mid = { "mla_decode/sm90_raw_mid.cu.in", "mla_decode/sm90_raw_mid/scores.h", "mla_decode/sm90_raw_mid/values.h",
      "mla_decode/sm90_raw_mid/scores_pools.h", "mla_decode/sm90_raw_mid/values_pools.h", "mla_decode/sm90_raw/load.h",
      "mla_decode/sm90_raw/query.h" },
    index_list = { "mla_decode/lib/index_list.h", "mla_decode/sm90_raw/list.h" },
    sm90_small_rank = { "mla_decode/sm90_small_rank.cu.in" }, sm90_many = { "mla_decode/sm90_many.cu.in",
      "mla_decode/sm90_many/block.h", "mla_decode/sm90_many/ends.h", "mla_decode/sm90_many/finish.h",
        "mla_decode/sm90_many/load.h", "mla_decode/sm90_many/ahead.h",
      "mla_decode/sm90_many/list.h", "mla_decode/sm90_many/order.h", "mla_decode/sm90_many/partial.h",
      "mla_decode/sm90_many/rotate.h" } }
  for name, list in pairs(files) do
    local text, seen = "", 0
    for _, file in ipairs(list) do text = text .. T.read("templates/" .. file) end
    for _, file in ipairs({ "mla_decode/sm90_many/gather.h", "mla_decode/sm90_mid/gather.h" }) do
      text = text .. (T.read("templates/" .. file) or "") end
    for word in loader.host.read("gen/ops/mla_decode/protocol/" .. name .. ".lua"):gmatch('"([%l_]+)%(%)') do
      seen = seen + 1
      ok(text:find("[ %*&]" .. word .. "%(") or gathered[word] and not gathers, "%s: no %s() in the template", name, word)
    end
    ok(seen > 8, "%s names %d functions", name, seen)
  end
end)

-- ---- The space and the check -----------------------------------------------------------------------------------------------
test("the space refuses what the check refuses, with the reason", function()
  local fresh = T.loader()
  fresh.host.sha256 = function(text) return ("%064x"):format(#text) end
  local plan = fresh.require("ops/mla_decode/plans/sm90_few")
  local make, forced = plan.make, {}
  plan.make = function(...)
    local g = make(...)
    for key, value in pairs(forced) do g[key] = value end
    return g
  end
  local p = fresh.require("problem").parse("mla_decode:h16,b4,s4096")
  local function count()
    local refused, offered = 0, 0
    for _, item in ipairs(fresh.require("space").kernels(p, "sm_90a")) do
      if item.name:find("^sm90_few") and item.name:find("wgs=2") then
        if item.rejected and item.rejected:find("^ring of %d+ boxes, 9 a tile: refused by the check") then refused = refused + 1
        elseif not item.rejected then offered = offered + 1 end
      end
    end
    return refused, offered
  end
  local refused, offered = count()
  eq(refused, 0, "refused as it is")
  ok(offered > 10, "%d offered", offered)
  forced = { ordered = false }
  refused = count()
  eq(refused, offered, "refused without order")
  forced = { ring = 4 * 9 + 1 }
  eq(count(), offered, "refused with a ring that was not looked at")
end)

test("what is written down of rings is what the check says", function()
  local function row(name, key, boxes, of, most)
    local list = {}
    for ring = boxes + 1, most * boxes do
      if first(name, of(ring)) then list[#list + 1] = ring end
    end
    eq(known[name][key][boxes], table.concat(list, " "), ("%s %s, tiles of %d"):format(name, key, boxes))
  end
  for _, one in ipairs({ { "tma", 64, 2, 9 }, { "tma", 64, 2, 3 }, { "tma", 0, 2, 5 }, { "tma", 64, 1, 4 },
    { "gather", 64, 2, 4 } }) do
    local load, rope, wgs, boxes = table.unpack(one)
    row("sm90_few", ("%s,rope=%d,wgs=%d"):format(load, rope // 64, wgs), boxes,
      function(ring) return with(HOPT, { boxes = boxes, ring = ring, rope = rope, wgs = wgs, load = load }) end,
        known.sm90_few.tiles)
  end
  for boxes = 4, 5 do
    row("sm90_mid", ("boxes,rope=%d"):format(boxes - 4), boxes,
      function(ring) return with(HOPP, { boxes = boxes, ring = ring, rope = boxes - 4, schedule = "splits" }) end,
      known.sm90_mid.tiles)
  end
  for buffers = 2, 5 do
    eq(known.sm90_small_rank[buffers] or false, not first("sm90_small_rank", with(HOPW, { buffers = buffers })),
      "sm90_small_rank " .. buffers)
  end
  for ring = 2, 5 do
    for _, change in ipairs({ {}, { schedule = "fitted", cluster = 2, o_boxes = 1 } }) do
      local found, text = first("sm90_raw", with(RAW, with(change, { ring = ring })))
      ok(not known.sm90_raw[ring] or not found, "sm90_raw %d: %s", ring, text)
    end
  end
  ok(known.sm90_raw[3] and known.sm90_raw[6])
  for ring = 2, 5 do
    for _, change in ipairs({ {}, { ps = 1 }, { schedule = "splits" }, { lists = 2 }, { scored = false },
      { wide = 2 }, { scored = false, teams = 2 } }) do
      local found, text = first("sm90_raw_mid", with(RAW_MID, with(change, { ring = ring })))
      ok(not known.sm90_raw_mid[ring] or not found, "sm90_raw_mid %d: %s", ring, text)
    end
  end
  eq(rules.sm90_small_rank({ buffers = 2 }):match("^2 buffers: refused"), "2 buffers: refused")
end)

-- ---- Seeded mistakes -------------------------------------------------------------------------------------------------------
-- Numbers the rounds of named barriers anew, as a kernel does that lacks or has one more.
local function renumber(m)
  for _, a in ipairs(m.agents) do
    local rounds = {}
    for i, op in ipairs(a.ops) do
      local b = op[2]
      if op[1] <= OPS.ARRIVE and b.exact and not b.name:find("word") then
        if op[1] == OPS.ARRIVE then rounds[b] = (rounds[b] or -1) + 1 end
        a.ops[i] = table.move(op, 1, 5, 1, {})
        a.ops[i][3] = rounds[b] or op[3]
      end
    end
  end
end

local function fits(op, kinds, target, what)
  for _, kind in ipairs(kinds) do
    if op[1] == OPS[kind] then return (op[2].name or ""):find(target) and op[4]:find(what, 1, true) end
  end
end

-- change(ops, i, agent) for each operation of these kinds, of agents whose names have a pattern, at a target, with words like
-- these.
local function edit(m, who, kinds, target, what, change)
  local hits = 0
  for _, a in ipairs(m.agents) do
    local list = {}
    for _, op in ipairs(a.name:find(who) and a.ops or {}) do
      if fits(op, kinds, target, what) then list[#list + 1] = op end
    end
    hits = hits + #list
    for _, op in ipairs(list) do
      for i, other in ipairs(a.ops) do
        if other == op then
          change(a.ops, i, a)
          break
        end
      end
    end
  end
  ok(hits > 0, "the seed hits nothing: %s, %s, %s", who, target, what)
  renumber(m)
end
local function drop(ops, i) table.remove(ops, i) end

-- The name of a wait: its agent's kind, its barrier and its place, without numbers.
local function wait_key(a, op)
  return ("%s | %s | %s"):format(a.name:match("^%a+"), op[2].name:gsub("%d+", "N"), op[4])
end

-- Drops all waits of that key, and what they arrive at as they wait.
local function drop_key(m, key)
  for _, a in ipairs(m.agents) do
    local kept = {}
    for _, op in ipairs(a.ops) do
      local waits = op[1] == OPS.WAIT or op[1] == OPS.ARRIVE and op[2].exact
      if not (waits and wait_key(a, op) == key) then kept[#kept + 1] = op end
    end
    a.ops = kept
  end
  renumber(m)
end
local function twice(ops, i) table.insert(ops, i, ops[i]) end
-- Moves an operation up over `n` others.
local function earlier(n)
  return function(ops, i) table.insert(ops, i - n, table.remove(ops, i)) end
end
local function counts(m, target, by)
  for _, b in ipairs(m.barriers) do if b.name:find(target) then b.count = b.count + by end end
end

local LONG, FEW = { { { tiles = 7 } } }, { { { tiles = 2 } }, { { tiles = 1 } } }
local WHOLES = { { { tiles = 7 } }, { { tiles = 8 } }, whole = true }
local turning = with(WHOLE, { cluster = 1, turns = true })
local TURNS = { { { tiles = 1 }, { tiles = 2 }, { tiles = 3 }, { tiles = 2 } }, whole = true } -- requests of a block
local RANGES = { { { tiles = 1 }, { tiles = 2 }, { tiles = 0 }, { tiles = 3 }, { tiles = 1 } } }
local PARTS = KERNELS.sm90_few.meeting(5, { tiles = 2 })
local PIECES = { { blocks = 3, cut = true }, { blocks = 0, cut = true }, { blocks = 2, cut = true }, { blocks = 4 },
  { blocks = 1 }, { blocks = 2 } }
local TILES = { 2, 0, 1, 3 }
local walk, cluster = with(HOPT, WALK), with(HOPT, { cluster = 2 })
local pair, rows = with(HOP, { cluster = 2 }), with(HOP, { gather = true })
local raw_pair = with(RAW, { schedule = "fitted", cluster = 2, o_boxes = 1 })

-- name, kernel, parameters, case, what is done to the model, the kind of finding, and a pattern of its text
local SEEDS = {
  { "a box is read without a wait", "sm90_few", HOPT, LONG, "race", "slot 4", function(m)
    edit(m, "math 0.0", { "WAIT" }, "full%[4%]", "scores()", drop)
  end },
  { "boxes of V are given back before the products are through", "sm90_few", HOPT, LONG, "race", "slot", function(m)
    edit(m, "math 1", { "ARRIVE" }, "empty", "multiply_v()", earlier(2))
  end },
  { "Q that math brings is multiplied before all have brought theirs", "sm90_few", with(HOPT, { ahead = true }), LONG, "race",
    "Q 0, warp", function(m) edit(m, "math", { "ARRIVE", "WAIT" }, "named 3", "take_q()", drop) end },
  { "loaders do not wait for barriers that math makes", "sm90_few", with(HOPT, { ahead = true }), LONG, "unmade", "", function(m)
    edit(m, "producer", { "WAIT" }, "named 5", "produce()", drop)
  end },
  { "an empty barrier awaits one warp too many", "sm90_few", HOPT, LONG, "deadlock", "produce", function(m)
    counts(m, "empty%[3%]", 1)
  end },
  { "an empty barrier awaits one warp too few", "sm90_few", HOPT, LONG, "count", "empty%[3%]", function(m)
    counts(m, "empty%[3%]", -1)
  end },
  { "Q is awaited by the wrong parity", "sm90_few", walk, RANGES, "parity", "full_q", function(m)
    edit(m, "math 0.1", { "WAIT" }, "full_q%[1%]", "attend()", function(ops, i)
      ops[i] = { ops[i][1], ops[i][2], ops[i][3], ops[i][4], 1 - (ops[i][3] & 1) }
    end)
  end },
  { "P is read without a barrier of its warps", "sm90_few", HOPT, LONG, "race", "P, warp", function(m)
    edit(m, "math 0", { "ARRIVE", "WAIT" }, "named 1", "compute(), P", drop)
  end },
  { "maxima without a barrier", "sm90_few", with(HOPT, { raises = 1 }), LONG, "race", "tops", function(m)
    edit(m, "math 1", { "ARRIVE", "WAIT" }, "named 2", "raise()", drop)
  end },
  { "Q and the facts are given back before the range is finished", "sm90_few", walk, RANGES, "race", "facts", function(m)
    edit(m, "math 0.0", { "ARRIVE" }, "empty_q", "attend()", earlier(4))
  end },
  { "facts are overwritten without a wait", "sm90_few", walk, RANGES, "race", "facts", function(m)
    edit(m, "producer 3", { "WAIT" }, "empty_q", "announce()", drop)
  end },
  { "the order's barrier is arrived at twice", "sm90_few", with(HOPT, { ring = 20 }), LONG, "early", "order", function(m)
    edit(m, "math 0.0", { "ARRIVE" }, "order of warpgroup 1", "scores(), tiles", twice)
  end },
  { "P of the next tile is stored while a warp still multiplies this one's", "sm90_raw", with(RAW, { ring = 4 }), LONG, "race",
    "P, warp", function(m) edit(m, "math", { "ARRIVE", "WAIT" }, "order", "tiles in order", drop) end },
  { "the other block sends to where Q still comes", "sm90_raw", raw_pair, WHOLES, "race", "Q as it came", function(m)
    edit(m, "block 2 math", { "ARRIVE" }, "cluster", "attend()", function(ops, i) table.insert(ops, 3, table.remove(ops, i)) end)
  end },
  { "the next Q comes before all have taken this one", "sm90_raw", with(RAW, { schedule = "fitted" }), RANGES, "race", "Q as it",
    function(m) edit(m, "producer 2", { "WAIT" }, "empty_q", "announce()", drop) end },
  { "a list's table is filled anew before all have read what is left", "sm90_raw", with(RAW, { lists = 2 }), LONG, "race",
    "front of the table", function(m) edit(m, "producer", { "ARRIVE", "WAIT" }, "named 4", "refill_list()", drop) end },
  { "a list's table is read before all have filled it", "sm90_raw", with(RAW, { lists = 2 }), LONG, "race", "table",
    function(m)
      edit(m, "producer", { "ARRIVE", "WAIT" }, "named 4", "keep_entries()", drop)
    end },
  { "a list's entries are counted before all have told theirs", "sm90_raw_mid", with(RAW_MID, { lists = 2 }), { 5 }, "race",
    "counts", function(m) edit(m, "producer", { "ARRIVE", "WAIT" }, "MADE", "keep_entries()", drop) end },
  { "a list is filled anew while rows are copied by it", "sm90_mid", with(HOPP, { gather = true, lists = 2 }), { 5 }, "race",
    "table", function(m) edit(m, "sender 1", { "ARRIVE", "WAIT" }, "LISTED", "refill_list()", drop) end },
  { "a list's facts are told before all warps have counted", "sm90_many", with(HOP, { gather = true, lists = true }),
    { { blocks = 5 } }, "race", "count of warp", function(m)
      edit(m, "loader of Q", { "ARRIVE", "WAIT" }, "COUNTED", "say_lists()", drop)
      edit(m, "copier", { "ARRIVE", "WAIT" }, "COUNTED", "count_list()", drop)
    end },
  { "a list's next table is begun before it is given back", "sm90_many", with(HOP, { gather = true, lists = true }),
    { { blocks = 5 } }, "race", "table", function(m) edit(m, "lister", { "WAIT" }, "TABLE_EMPTY", "list_rows()", drop) end },
  { "the order is not passed on", "sm90_few", with(HOPT, { ring = 20 }), LONG, "deadlock", "order", function(m)
    edit(m, "math 1", { "ARRIVE" }, "order of warpgroup 0", "scores(), tiles", drop)
  end },
  { "O is put into the ring before all are done with it", "sm90_few", HOPT, LONG, "race", "slot", function(m)
    edit(m, "math", { "ARRIVE", "WAIT" }, "named 3", "merge_states()", drop)
  end },
  { "a cluster's states are sent before the other block runs", "sm90_few", cluster, FEW, "unmade", "ENDS", function(m)
    edit(m, "math", { "WAIT" }, "cluster", "merge_states()", drop)
  end },
  { "a warpgroup's O is stored before all its warps are done with the tile", "sm90_few", WHOLE, WHOLES, "race", "slot",
    function(m) edit(m, "math 1", { "ARRIVE", "WAIT" }, "named 2", "put_whole()", drop) end },
  { "a warpgroup's O is stored where the other's tile lies", "sm90_few", WHOLE, WHOLES, "race", "slot", function(m)
    edit(m, "block 1 math 1.0", { "WRITE" }, "slot 2", "put_whole()", function(ops, i)
      for _, p in ipairs(m.places) do
        if p.name == "block 1: slot 12" then ops[i] = { ops[i][1], p, ops[i][3], ops[i][4], ops[i][5] } end
      end
    end)
  end },
  { "a block's third request is told before its first is finished", "sm90_few", turning, TURNS, "race", "facts", function(m)
    edit(m, "producer", { "WAIT" }, "empty_q", "announce()", drop)
  end },
  { "a block's last O is stored before its tile is done with", "sm90_few", turning, TURNS, "race", "slot", function(m)
    edit(m, "math 1", { "ARRIVE", "WAIT" }, "named 2", "put_whole()", drop)
  end },
  { "both warpgroups' O are added before both are there", "sm90_few", WHOLE, WHOLES, "race", "slot", function(m)
    edit(m, "math", { "ARRIVE", "WAIT" }, "named 3", "put_whole()", drop)
  end },
  { "a block sends O before the other runs", "sm90_few", WHOLE, WHOLES, "unmade", "ENDS", function(m)
    edit(m, "math", { "WAIT" }, "cluster", "end_whole()", drop)
  end },
  { "a block of a whole request does not wait for the other's O", "sm90_few", WHOLE, WHOLES, "exited", "block %d may have ended",
    function(m) edit(m, "math", { "WAIT" }, "ENDS . 8", "end_whole()", drop) end },
  { "a block of a cluster does not wait for the others' O", "sm90_few", cluster, FEW, "exited", "block %d may have ended",
    function(m)
    edit(m, "math", { "WAIT" }, "ENDS . 8", "exchange()", drop)
  end },
  { "a barrier awaits fewer bytes than come", "sm90_few", cluster, FEW, "count", "ENDS", function(m)
    edit(m, "producer 2", { "ARRIVE" }, "ENDS", "make_barriers()", function(ops, i)
      ops[i] = { ops[i][1], ops[i][2], ops[i][3], ops[i][4], ops[i][5] - 1 }
    end)
  end },
  { "a barrier awaits more bytes than come", "sm90_few", HOPT, LONG, "deadlock", "scores", function(m)
    edit(m, "producer 2", { "ARRIVE" }, "full%[2%]", "produce()", function(ops, i)
      ops[i] = { ops[i][1], ops[i][2], ops[i][3], ops[i][4], 2 }
    end)
  end },
  { "a piece's word is published before the piece", "sm90_few", walk, PARTS, "race", "published O", function(m)
    edit(m, "block 1 math 0.0", { "ARRIVE" }, "word", "meet_publish()", earlier(6))
  end },
  { "a piece's word is published without a barrier of its writers", "sm90_few", walk, PARTS, "race", "published O", function(m)
    edit(m, "block 1 math", { "ARRIVE", "WAIT" }, "named 3", "finish()", drop)
  end },
  { "a piece is added without its word", "sm90_few", walk, PARTS, "race", "published O", function(m)
    edit(m, "block 4 producer 3", { "WAIT" }, "block 2: word", "meet()", drop)
  end },
  { "pieces are added before the producer has taken their words", "sm90_few", walk, PARTS, "race", "published O", function(m)
    edit(m, "block 5 math", { "WAIT" }, "MET", "finish_last()", drop)
  end },
  { "a sum of pieces is published before all warps have added theirs", "sm90_few", walk, PARTS, "race", "published O", function(m)
    edit(m, "block 4 math", { "ARRIVE", "WAIT" }, "named 3", "finish_last()", drop)
  end },
  { "slices of a pair are given back to this block only", "sm90_many", pair, PIECES, "deadlock", "empty", function(m)
    edit(m, "block 1 [AB]", { "ARRIVE" }, "block 2: empty", "give_back()", drop)
  end },
  { "slices of a pair are filled before the other block gave them back", "sm90_many", pair, PIECES, "race", "quarter", function(m)
    edit(m, "[AB]%.", { "ARRIVE" }, "empty", "give_back()", function(ops, i, a)
      if ops[i][2].block ~= a.block then table.remove(ops, i) end
    end)
    counts(m, "empty", -2)
  end },
  { "a pair ends without waiting for the other block", "sm90_many", pair, PIECES, "exited", "block %d may have ended", function(m)
    edit(m, "block", { "ARRIVE", "WAIT" }, "cluster", "end", drop)
  end },
  { "a pair begins without waiting for the other block", "sm90_many", pair, PIECES, "unmade", "full", function(m)
    edit(m, "block", { "ARRIVE", "WAIT" }, "cluster", "begin", drop)
  end },
  { "a reference is published twice", "sm90_many", HOP, PIECES, "early", "M_READY", function(m)
    edit(m, "A.0", { "ARRIVE" }, "M_READY . 0", "publish_reference()", twice)
  end },
  { "P of the other warpgroup is read before it is there", "sm90_many", HOP, PIECES, "race", "P 0", function(m)
    edit(m, "[AB]%.", { "ARRIVE", "WAIT" }, "P_READY . 0", "P", drop)
  end },
  { "facts of a piece are overwritten while math reads them", "sm90_many", HOP, PIECES, "race", "facts", function(m)
    edit(m, "loader of Q", { "WAIT" }, "LAST_EMPTY", "load_queries()", drop)
  end },
  { "a piece's end reads the facts, not their copy", "sm90_many", HOP, PIECES, "race", "facts", function(m)
    local facts
    for _, p in ipairs(m.places) do if p.name == "block 1: facts" then facts = p end end
    edit(m, "[AB]%.", { "READ" }, "facts' copy", "finish()", function(ops, i)
      ops[i] = { OPS.READ, facts, ops[i][3], ops[i][4] }
    end)
  end },
  { "one copy of the facts where two are needed", "sm90_many", HOP, PIECES, "race", "facts' copy 0", function(m)
    local zero
    for _, p in ipairs(m.places) do if p.name:find("facts' copy 0") then zero = p end end
    for _, a in ipairs(m.agents) do
      for _, op in ipairs(a.ops) do
        if op[2].name and op[2].name:find("facts' copy 1") then op[2] = zero end
      end
    end
  end },
  { "largest values are another piece's", "sm90_many", HOP, PIECES, "race", "tops", function(m)
    edit(m, "[AB]%.", { "ARRIVE", "WAIT" }, "BOTH", "work_on_blocks()", drop)
  end },
  { "a loader counts on a wait that it skips in short pieces", "sm90_many", HOP, { { blocks = 2 }, { blocks = 0 },
    { blocks = 2 } },
    "alias", "loader 1: wait for phase %d of [^,]*Q_FULL", function(m)
      edit(m, "loader 1", { "HINT" }, "Q_FULL", "load_piece()", function(ops, i)
        ops[i] = { OPS.WAIT, ops[i][2], ops[i][3], ops[i][4] }
      end)
    end },
  { "Q that math brings is multiplied before all have brought theirs", "sm90_many", with(HOP, { ahead = true }), PIECES, "race",
    "write block 1: P 0, 0 .Q 0.", function(m) edit(m, "[AB]%.", { "ARRIVE", "WAIT" }, "BOTH", "take_q()", drop) end },
  { "loaders do not wait for barriers that math makes", "sm90_many", with(HOP, { ahead = true }), PIECES, "unmade", "",
    function(m) edit(m, "loader", { "WAIT" }, "begin", "begin_together()", drop) end },
  { "an end is said to be near before its Q is there", "sm90_many", with(HOP, { ahead = true }), { { blocks = 2 },
    { blocks = 2 }, { blocks = 2 }, { blocks = 2 } }, "lapped", "NEAR_END", function(m)
    edit(m, "loader 0", { "WAIT" }, "Q_FULL", "load_piece()", drop)
  end },
  { "the sums' places are not handed over", "sm90_many", HOP, PIECES, "race", "sums", function(m)
    edit(m, "[AB]%.", { "ARRIVE", "WAIT" }, "BOTH", "finish()", drop)
  end },
  { "a table of rows is written while a copier reads it", "sm90_many", rows, PIECES, "race", "table", function(m)
    edit(m, "lister", { "WAIT" }, "TABLE_EMPTY", "publish()", drop)
  end },
  { "a table of rows does not wait for who copies rope", "sm90_many", rows, PIECES, "count", "TABLE_EMPTY", function(m)
    counts(m, "TABLE_EMPTY", -1)
  end },
  { "rope is copied over a slice that is still read", "sm90_many", rows, PIECES, "race", "quarter 4", function(m)
    edit(m, "copier of rope 1", { "WAIT" }, "empty", "copy_rope()", drop)
  end },
  { "rows are copied over slices that are still read", "sm90_many", rows, PIECES, "race", "quarter", function(m)
    edit(m, "copier 1", { "WAIT" }, "empty", "copy_quarters()", drop)
  end },
  { "rows are there when the first copier's are", "sm90_many", rows, PIECES, "count", "full", function(m)
    counts(m, "full%[%d%]%[[0-3]%]", -1)
  end },
  { "a piece ends before its pages were looked at", "sm90_many", rows, PIECES, "race", "BAD", function(m)
    edit(m, "loader of Q", { "WRITE" }, "BAD", "say_checked()", earlier(-1))
  end },
  { "a box is there when two of three copiers' rows are", "sm90_mid", with(HOPP, { gather = true }), TILES, "count", "full",
    function(m) counts(m, "full", -1) end },
  { "the second of two boxes is copied before it is given back", "sm90_mid", with(HOPP, { gather = true, pairs = true }), TILES,
    "race", "slot", function(m) edit(m, "sender 1", { "WAIT" }, "empty", "copy_pair_of_boxes()", drop) end },
  { "P is made while the values still multiply by the one before", "sm90_mid", HOPP, TILES, "race", "p of warp", function(m)
    edit(m, "scores", { "ARRIVE", "WAIT" }, "P_EMPTY", "P_EMPTY", drop)
    counts(m, "P_EMPTY", -2)
  end },
  { "Q that the values bring is multiplied before all have brought theirs", "sm90_mid", with(HOPP, { ahead = true }), TILES,
    "race", "first Q", function(m) edit(m, "scores", { "WAIT" }, "Q_BROUGHT", "work_on_scores()", drop) end },
  { "loaders do not wait for barriers that math makes", "sm90_mid", with(HOPP, { ahead = true }), TILES, "unmade", "", function(m)
    edit(m, "sender", { "WAIT" }, "begin", "kernel", drop)
  end },
  { "the rope box is given back before the scores", "sm90_mid", HOPP, TILES, "race", "slot", function(m)
    edit(m, "scores", { "ARRIVE" }, "empty", "rope", earlier(19))
  end },
  { "factors are read before they are there", "sm90_mid", HOPP, TILES, "race", "factors", function(m)
    edit(m, "values", { "ARRIVE", "WAIT" }, "FACTORS_FULL", "FACTORS_FULL", drop)
    counts(m, "FACTORS_FULL", -4)
  end },
  { "the end is told before the sums are there", "sm90_mid", HOPP, TILES, "race", "inverse", function(m)
    edit(m, "scores 1", { "ARRIVE" }, "END", "finish_rows()", earlier(2))
  end },
  { "sums are read before the end is told", "sm90_mid", HOPP, TILES, "race", "inverse", function(m)
    edit(m, "values", { "WAIT" }, "END", "work_on_values()", drop)
  end },
  { "O is stored over boxes that another warp still multiplies by", "sm90_mid", HOPP, TILES, "race", "slot", function(m)
    edit(m, "values", { "ARRIVE", "WAIT" }, "named", "write_o(), products", drop)
  end },
  { "a half's largest values are read before they are there", "sm90_mid", HOPP, TILES, "race", "slot", function(m)
    edit(m, "values", { "ARRIVE", "WAIT" }, "HALVES", "find_units(), tops", drop)
  end },
  { "O is stored over largest values that the other half reads", "sm90_mid", HOPP, TILES, "race", "slot", function(m)
    edit(m, "values", { "ARRIVE", "WAIT" }, "HALVES", "find_units(), scales", drop)
  end },
  { "a box is given back before O has left it", "sm90_mid", HOPP, TILES, "race", "slot", function(m)
    edit(m, "values 0.0", { "ARRIVE" }, "empty", "write_o()", earlier(2))
  end },
  { "sums of a piece without tiles are stored while the piece before still reads", "sm90_mid", HOPP, TILES, "race", "parts",
    function(m) edit(m, "scores", { "ARRIVE", "WAIT" }, "named 1", "work_on_scores()", drop) end },
  { "facts change while the values still need the piece before", "sm90_mid", HOPP, TILES, "race", "facts", function(m)
    edit(m, "values", { "ARRIVE" }, "Q_EMPTY", "work_on_values()", drop)
    counts(m, "Q_EMPTY", -4)
  end },
  { "P is made while the values still multiply by the one two tiles before", "sm90_raw_mid", RAW_MID, { 5 }, "race", "P [01] of",
    function(m) edit(m, "scores", { "WAIT" }, "P_EMPTY", "work_on_scores()", drop) end },
  { "P is there before its numbers are", "sm90_raw_mid", RAW_MID, { 3 }, "race", "P [01] of", function(m)
    edit(m, "scores 1", { "ARRIVE" }, "P_FULL", "work_on_scores()", earlier(1))
  end },
  { "PV waits for scores that nobody makes", "sm90_raw_mid", RAW_MID, { 3 }, "deadlock", "SCORED", function(m)
    edit(m, "scores 1", { "ARRIVE" }, "SCORED", "work_on_scores()", drop)
  end },
  { "a wide tile's second P is made over the one two before", "sm90_raw_mid", with(RAW_MID, { wide = 2 }), { 5 }, "race",
    "P [01] of", function(m) edit(m, "scores", { "WAIT" }, "P_EMPTY", "hand_over_wide()", drop) end },
  { "a tile is given back by half of the values", "sm90_raw_mid", RAW_MID, { 6 }, "count", "empty", function(m)
    counts(m, "empty%[%d%]", -2)
  end },
  { "Q is read before the values made it", "sm90_raw_mid", RAW_MID, { 2, 1 }, "race", "Q", function(m)
    edit(m, "scores", { "ARRIVE", "WAIT" }, "Q_READY", "work_on_scores()", drop)
    counts(m, "Q_READY", -2)
  end },
  { "the next piece's facts are written before O is stored", "sm90_raw_mid", RAW_MID, { 2, 1 }, "race", "facts", function(m)
    edit(m, "producer 2", { "WAIT" }, "empty_q", "announce()", drop)
  end },
  { "m is set anew before the tile before has set it", "sm90_raw_mid", with(RAW_TWO, { raises = 3 }), { 5 }, "race", "refs",
    function(m) edit(m, "scores", { "ARRIVE", "WAIT" }, "TURN", "work_on_scores()", drop) end },
  { "the turn is passed on before m is set", "sm90_raw_mid", with(RAW_TWO, { raises = 3 }), { 5 }, "race", "turn", function(m)
    edit(m, "scores 0", { "ARRIVE" }, "TURN", "pass_turn()", earlier(1))
  end },
  { "scales of tokens beyond the end are read before they are cleared", "sm90_raw_mid", RAW_TWO, { 3 }, "race", "zeros",
    function(m) edit(m, "scores", { "ARRIVE", "WAIT" }, "named 1", "clear_rows()", drop) end },
  { "sums are added up before the second team's are there", "sm90_raw_mid", RAW_TWO, { 3 }, "race", "sums", function(m)
    edit(m, "scores", { "ARRIVE", "WAIT" }, "BOTH", "finish_rows()", drop)
  end },
  { "O lands while the other block still multiplies", "clusters", ENDS_MID, nil, "race", "tiles", function(m)
    edit(m, "block 1 values", { "WAIT" }, "FREE", "send_columns()", drop)
  end },
  { "states land on Q that is still read", "clusters", ENDS_MANY, nil, "race", "Q, where", function(m)
    edit(m, "block 2 values", { "WAIT" }, "FREE", "send_columns()", drop)
  end },
  { "a warp says too early that its products are done", "clusters", ENDS_MANY, nil, "race", "tiles", function(m)
    edit(m, "block 1 values 2.1", { "ARRIVE" }, "FREE", "send_columns()", function(ops, i)
      table.insert(ops, 5, table.remove(ops, i))
    end)
  end },
  { "a cluster's block is sent to before it runs", "clusters", ENDS_MID, nil, "unmade", "ENDS", function(m)
    edit(m, "block 1 scores", { "WAIT" }, "cluster", "work_on_scores()", drop)
  end },
  { "O is added before it has landed", "clusters", ENDS_MID, nil, "race", "tiles", function(m)
    edit(m, "block 2 values 2.1", { "WAIT" }, "LANDED", "write_columns()", drop)
  end },
  { "weights are taken before the states are there", "clusters", ENDS_MANY, nil, "race", "Q, where", function(m)
    edit(m, "block 1 values 1.0", { "WAIT" }, "ENDS", "finish_columns()", drop)
  end },
  { "O is stored over what another warp has still to add", "clusters", ENDS_MID, nil, "race", "tiles", function(m)
    edit(m, "block 1 values 1", { "ARRIVE", "WAIT" }, "named 2", "write_columns()", drop)
  end },
  { "two buffers where three are needed", "sm90_small_rank", with(HOPW, { buffers = 2 }), { 3 }, "deadlock", "wait_full",
    function() end },
  { "a turn is not passed on", "sm90_small_rank", HOPW, { 2, 1 }, "deadlock", "take_turn", function(m)
    edit(m, "math 0", { "ARRIVE" }, "TURN . 1", "pass_turn()", drop)
  end },
  { "zeros are written beside the other warpgroup's K", "sm90_small_rank", HOPW, { 2, 1 }, "race", "buffer", function(m)
    edit(m, "math", { "ARRIVE", "WAIT" }, "BOTH", "clear_tail()", drop)
  end },
  { "a bad page is looked for before it is known", "sm90_small_rank", HOPW, { 2, 1 }, "race", "BAD", function(m)
    edit(m, "math 1.1", { "WAIT" }, "CHECKED", "work_on_pieces()", drop)
  end },
  { "a loader forgets to wait for a buffer", "sm90_small_rank", HOPW, { 6 }, "race", "buffer", function(m)
    edit(m, "loader 2", { "WAIT" }, "empty", "load_piece()", drop)
  end },
}

test("sm90_raw_two: whichever wait is dropped, the check finds it", function()
  local models = {}
  for _, change in ipairs({ {}, { wide = 2 }, { schedule = "splits", lists = 2 } }) do
    local v = with(RAW_TWO, with(change, { raises = 3 }))
    for _, case in ipairs(KERNELS.sm90_raw_mid.cases(v, false)) do
      models[#models + 1] = function() return KERNELS.sm90_raw_mid.model(v, case) end
    end
  end
  local known_keys, n = {}, 0
  for _, make in ipairs(models) do
    for _, a in ipairs(make().agents) do
      for _, op in ipairs(a.ops) do
        if op[1] == OPS.WAIT then known_keys[wait_key(a, op)] = true end
      end
    end
  end
  ok(known_keys["producer | MADE | kernel"], "the barriers' makers do not wait for each other")
  for key in loader.sorted(known_keys) do
    local found = false
    for _, make in ipairs(models) do
      local m = make()
      drop_key(m, key)
      found = found or #protocol.check(m, 1) > 0
    end
    ok(found, "nothing is found without %s", key)
    n = n + 1
  end
  ok(n > 25, "%d waits", n)
end)

test("seeded mistakes are found, each by its kind, and nothing without them", function()
  local n = 0
  for _, s in ipairs(SEEDS) do
    local name, kernel, v, case, kind, pattern, change = table.unpack(s, 1, 7)
    if name ~= "two buffers where three are needed" then
      local found = protocol.check(KERNELS[kernel].model(v, case), 1)
      ok(not found[1], "%s, without the seed: %s", name, found[1] and found[1].text)
    end
    local m, hit, texts = KERNELS[kernel].model(v, case), false, {}
    change(m)
    for i, f in ipairs(protocol.check(m)) do
      hit = hit or f.kind == kind and f.text:find(pattern) ~= nil
      if i <= 3 then texts[i] = f.text end
    end
    ok(hit, "%s: no %s of %s, but: %s", name, kind, pattern, table.concat(texts, "; "))
    n = n + 1
  end
  ok(n > 30, "%d seeds", n)
end)
