-- The shared-tile kernel's generator side: weave's waits and refusals, LDS banks, register map, instruction counts.
local loader = T.quick_loader()
local weave, plan, loop = loader.require("weave"), loader.require("ops/mla_decode/plans/mfma_lds"),
  loader.require("ops/mla_decode/plans/mfma_lds_loop")
local copy, sorted = loader.require("ops/mla_decode/plans/mfma_lds_copy"), loader.sorted
local CDNA = { "gfx942", "gfx950", "gfx90a" }
local function isa_of(target) return loader.require("arch/" .. target).isa end
local gfx942 = isa_of("gfx942")

local function lines(asm, scalars, isa)
  local ops = {}
  for i, text in ipairs(asm) do ops[i] = type(text) == "table" and text or { asm = text } end
  return table.concat((weave.listing(ops, weave.state(isa or gfx942), scalars)), "\n")
end

test("an LDS read is waited for where it is used, younger ones stay out", function()
  eq(lines({ "ds_read_b128 v[0:3], %[a]", "ds_read_b128 v[4:7], %[a] offset:64", "v_add_f32 v8, v1, v1" }),
    "ds_read_b128 v[0:3], %[a]\nds_read_b128 v[4:7], %[a] offset:64\ns_waitcnt lgkmcnt(1)\nv_add_f32 v8, v1, v1")
  ok(lines({ "ds_read_b128 v[0:3], %[a]", "v_mov_b32 v2, 0" }):find("lgkmcnt(0)", 1, true), "overwriting waits too")
end)

test("wait states: VALU to MFMA, MFMA to VALU, accumulation, exp, m0, scalar made by VALU", function()
  local mfma = "v_mfma_f32_16x16x16_bf16 v[0:3], v[4:5], a[0:1], v[0:3]"
  eq(lines({ "v_mov_b32 v4, 0", mfma }), "v_mov_b32 v4, 0\ns_nop 1\n" .. mfma)
  eq(lines({ mfma, "v_mov_b32 v9, v0" }), mfma .. "\ns_nop 6\nv_mov_b32 v9, v0")
  eq(lines({ mfma, mfma }), mfma .. "\n" .. mfma)
  local other = "v_mfma_f32_16x16x16_bf16 v[8:11], v[4:5], a[0:1], v[0:3]"
  eq(lines({ mfma, other }), mfma .. "\ns_nop 4\n" .. other)
  eq(lines({ "v_exp_f32 v0, v1", "v_add_f32 v2, v0, v0" }), "v_exp_f32 v0, v1\ns_nop 0\nv_add_f32 v2, v0, v0")
  local dma = "global_load_lds_dword %[v], s[64:65]"
  eq(lines({ "s_mov_b32 m0, %[m]", dma }, { "m" }), "s_mov_b32 m0, %[m]\ns_nop 0\n" .. dma)
  eq(lines({ "v_readlane_b32 s64, %[v], 0", dma }), "v_readlane_b32 s64, %[v], 0\ns_nop 4\n" .. dma)
end)

test("wait states behind an MFMA are the target's; gfx90a's loads to LDS read M0 and write no register", function()
  local mfma = "v_mfma_f32_16x16x16_bf16 v[0:3], v[4:5], a[0:1], v[0:3]"
  eq(lines({ mfma, "v_mov_b32 v9, v0" }, nil, isa_of("gfx950")), mfma .. "\ns_nop 7\nv_mov_b32 v9, v0")
  local slow = "v_mfma_f32_16x16x16bf16_1k v[0:3], v[4:5], a[0:1], v[0:3]"
  eq(lines({ slow, "v_mov_b32 v9, v0" }, nil, isa_of("gfx90a")), slow .. "\ns_nop 7\ns_nop 2\nv_mov_b32 v9, v0")
  local dma = "global_load_dword v1, s[64:65] offset:256 lds"
  eq(lines({ "s_mov_b32 m0, %[m]", dma, "v_mov_b32 v2, v1" }, { "m" }, isa_of("gfx90a")),
    "s_mov_b32 m0, %[m]\ns_nop 0\n" .. dma .. "\nv_mov_b32 v2, v1")
end)

test("a global load without its wait, and an op in front of what it needs, are refused", function()
  raises(function() lines({ "global_load_dword v0, v1, %[p]", "v_mov_b32 v2, v0" }) end, "load of v0 is not waited for")
  eq(lines({ "global_load_dword v0, v1, %[p]", "s_waitcnt vmcnt(0)", "v_mov_b32 v2, v0" }):match("[^\n]+$"), "v_mov_b32 v2, v0")
  raises(function() lines({ { asm = "v_mov_b32 v0, v1", need = { "K0" } } }) end, "stands in front of K0")
end)

test("division by a constant is exact up to 2^31", function()
  for _, d in ipairs({ 3, 5, 6, 7, 48, 100, 1000, 65535 }) do
    local magic, shift = copy.magic(d)
    ok(magic < 1 << 32, "magic of %d has 33 bits", d)
    for _, x in ipairs({ 0, 1, d - 1, d, d + 1, 7 * d - 1, 7 * d, (1 << 31) - 1, (1 << 31) - d, ((1 << 31) // d) * d - 1 }) do
      eq((x * magic >> 32) >> shift, x // d, x .. "/" .. d)
    end
  end
end)

-- 8 lanes that LDS serves at once (guide 1.3), and the bank groups (16 bytes) their places fall into.
local PHASES = { { 0, 1, 2, 3, 20, 21, 22, 23 }, { 4, 5, 6, 7, 16, 17, 18, 19 }, { 8, 9, 10, 11, 28, 29, 30, 31 },
  { 12, 13, 14, 15, 24, 25, 26, 27 } }
local function conflicts(place, phases)
  local worst = 0
  for half = 0, 32, 32 do
    for _, phase in ipairs(phases) do
      local seen = {}
      for _, lane in ipairs(phase) do
        local bank = place(lane + half) // 16 % 8
        seen[bank] = (seen[bank] or 0) + 1
        if seen[bank] > worst then worst = seen[bank] end
      end
    end
  end
  return worst
end

test("K, V and rope reads, Q's and O's turn: no bank conflict", function()
  for p = 0, 1 do
    eq(conflicts(function(l) return (l % 16) * 1024 + 16 * ((4 * p + l // 16) ~ 2 * (l & 3)) end, PHASES), 1, "K")
    eq(conflicts(function(l)
      local t = l % 16
      local slot = 2 * ((t & 3) + 4 * (t >> 3)) + (t >> 2 & 1)
      return slot * 128 + 16 * ((4 * p + l // 16) ~ 2 * (t & 3))
    end, PHASES), 1, "rope")
    eq(conflicts(function(l) return 128 * (l % 16) + 16 * ((4 * p + l // 16) ~ (l & 7)) end, PHASES), 1, "Q out")
  end
  for r = 0, 3 do
    eq(conflicts(function(l)
      local t = l % 16
      return (4 * (l // 16) + r) * 1024 + 16 * ((4 * (t & 3) + ((t >> 2) ~ (t & 2))) ~ 2 * r)
    end, PHASES), 1, "V")
  end
  eq(conflicts(function(l) return 128 * (l >> 3) + 16 * ((l & 7) ~ (l >> 3)) end, PHASES), 1, "O out")
  -- Without the swizzle the check must object.
  ok(conflicts(function(l) return (l % 16) * 1024 + 16 * (l // 16) end, PHASES) > 1, "plain rows conflict")
end)

local SHAPES = {
  { rank = 512, rope = 64 }, { rank = 512, rope = 0 }, { rank = 256, rope = 64 }, { rank = 256, rope = 32 },
  { rank = 384, rope = 64 },
}
local function each(fn, isa)
  for _, shape in ipairs(SHAPES) do
    for _, page in ipairs({ 1, 3, 64 }) do
      for _, v in ipairs({ { 4, 2, 3, "ahead", "dma" }, { 4, 2, 3, "ahead", "vgpr" }, { 8, 1, 2, "plain", "dma" },
        { 4, 1, 3, "plain", "dma" }, { 2, 2, 2, "plain", "vgpr" }, { 6, 1, 3, "ahead", "dma" },
        { 4, 1, 3, "columns", "vgpr" } }) do
        local p = { rank = shape.rank, rope = shape.rope, page_size = page, dtype = "bf16" }
        local g, why = plan.make(p, { waves = v[1], blocks = v[2], stages = v[3], order = v[4], load = v[5] },
          isa or gfx942)
        fn(g, why, ("%d/%d page %d %dx%d %s %s"):format(shape.rank, shape.rope, page, v[1], v[2], v[4], v[5]))
      end
    end
  end
end

test("no register has two owners, tuples start even, the total is within the limit", function()
  local made = 0
  each(function(g, why, name)
    if not g then return ok(why:find("%d"), "%s: %q", name, why) end
    made = made + 1
    local owner = {}
    local function own(what, from, count)
      for i = from, from + count - 1 do
        ok(not owner[i], "%s: v%d belongs to %s and %s", name, i, owner[i] or "", what)
        owner[i] = what
      end
    end
    own("frame", 0, g.frame)
    own("ops", g.ops, 2 * g.n_ops)
    own("p", g.p, 2 * g.blocks)
    own("s", g.s, 4 * g.blocks)
    if g.ahead or g.columns then
      own("x", g.x, 4 * g.blocks)
      own("ctmp", g.ctmp, 2)
    end
    own("tmp", g.tmp, 2)
    if (g.ahead or g.columns) and not g.whole then own("addr", g.addr, 4) end
    if g.columns then
      own("P of others", g.others, 2 * g.blocks * (g.waves - 1))
      own("ones", g.ones, 2)
      own("flags", g.flags, 4)
      own("V rows", g.v_rows, 16)
      if g.bad then own("bad", g.bad, 1) end
    end
    own("idx", g.idx, g.n_idx)
    for _, at in ipairs({ g.m, g.l }) do own("m, l", at, g.blocks) end
    own("n", g.n, g.n_each * g.blocks)
    own("staged", g.staged, g.units * g.stage_unit)
    own("pool", g.pool, 4 * g.quads)
    own("o", g.o_v, 4 * g.o_in_v)
    for _, at in ipairs({ g.ops, g.p, g.s, g.pool, g.staged, g.o_v, g.o_a, g.addr }) do eq(at % 2, 0, name) end
    for _, at in ipairs(g.columns and { g.n, g.others, g.ones, g.flags, g.v_rows } or {}) do eq(at % 2, 0, name) end
    ok(g.vgprs <= 256 and g.agprs <= 256 and g.total <= (g.waves > 4 and 256 or 512), "%s: %d + %d", name, g.vgprs, g.agprs)
  end)
  ok(made > 60, "only %d plans", made)
end)

local function total(blocks)
  local sum = {}
  for _, b in ipairs(blocks) do
    for kind, n in sorted(b.count) do sum[kind] = (sum[kind] or 0) + n end
  end
  local other = 0
  for kind, n in sorted(sum) do other = other + (kind == "mfma" and 0 or n) end
  return sum, other
end
test("H=128, rank 512: 136 MFMA, 34 LDS reads, at most 2.3 other instructions per MFMA", function()
  for _, load in ipairs({ "dma", "vgpr" }) do
    local g = plan.make({ rank = 512, rope = 64, page_size = 64, dtype = "bf16" },
      { waves = 4, blocks = 2, stages = 3, order = "ahead", load = load }, gfx942)
    local sum, other = total(loop.build(g).body)
    eq(sum.mfma, 136)
    eq(sum.ds, load == "dma" and 34 or 39)
    eq(sum.vmem, load == "dma" and 19 or 6)
    eq(sum.trans, 8)
    ok(other <= 2.2 * 136, "%s: %d others", load, other) -- the rest is for the compiler's part of the loop
  end
end)

test("order=columns: 69 MFMA a tile of 64 rows, few others, none of which waits for what it has just asked for", function()
  for _, page in ipairs({ 1, 64 }) do
    local g = plan.make({ rank = 512, rope = 64, page_size = page, dtype = "bf16" },
      { waves = 4, blocks = 1, stages = 3, order = "columns", load = "vgpr" }, gfx942)
    local code = loop.build(g)
    for stage = 0, 2 do
      local sum, other = total(code.body[stage])
      eq(sum.mfma, 69)
      eq(sum.ds, 18 + 4 + 4 + 1 + 5) -- K, V, P and flags; P; a tile
      eq(sum.vmem, 6)
      ok(other <= (page == 1 and 1.6 or 1.65) * 69, "page %d: %d others", page, other) -- whole pages: the row in its page, too
      local all, reads = {}, 0
      for _, b in ipairs(code.body[stage]) do table.move(b.lines, 1, #b.lines, #all + 1, all) end
      for _, line in ipairs(all) do
        if line:find("^ds_read") then reads = reads + 1 end
        local n = math.tointeger(tonumber(line:match("lgkmcnt%((%d+)%)")))
        ok(not n or n > 0 or line == all[1], "page %d, stage %d: %s", page, stage, line)
      end
      eq(reads, 18 + 4 + 4)
    end
  end
end)

test("other instructions are levelled: an op comes at its place or later, and never behind its due", function()
  local main, ops = {}, {}
  for i = 1, 6 do main[i] = { asm = "v_mfma_f32_16x16x16_bf16 v[0:3], v[4:5], a[0:1], v[0:3]" } end
  for i = 1, 4 do ops[i] = { asm = "v_perm_b32 v" .. i .. ", v8, v9, v10", at = weave.UNIT, due = 4 * weave.UNIT } end
  local flag = { { asm = "s_cmp_lt_i32 s0, s1", at = 0, due = 0 }, { asm = "s_cselect_b32 s2, s3, s4", at = 0, due = 0 } }
  local places = {}
  for _, o in ipairs(weave.level(main, { ops, flag }, 6)) do
    places[#places + 1] = o.asm:match("^v_mfma") and "m" or o.asm:match("^v_perm_b32 v(%d)") or o.asm:sub(3, 4)
  end
  eq(table.concat(places), "mcmcsm1m2m34mm")
end)

T.sampled(23, "every plan's listings build on every target; copies bring a tile exactly once", function(mine)
  local plans = 0
  for _, target in ipairs(CDNA) do
    local isa, built = isa_of(target), 0
    each(function(g, _, name)
      plans = plans + 1
      if not g or not mine(plans) then return end
      if T.full and target ~= CDNA[1] and plans % 3 > 0 then return end -- they share the first one's plans but for DMA and waits
      local code = loop.build(g)
      built = built + 1
      local body = g.columns and code.body[1] or code.body -- columns: of one stage; the sums of P are a product
      eq(total(body).mfma, g.blocks * ((isa.mfma.m16n16k32 and 1 or 2) * g.nk + 8 * g.nj + (g.columns and 1 or 0)),
        target .. " " .. name)
      if g.dma then
        local words = 0
        for _, line in ipairs(code.copy.lines) do
          local asm, flag = line:sub(1, #isa.dma.name), line:sub(#line - #isa.dma.flag + 1)
          if asm == isa.dma.name and flag == isa.dma.flag then words = words + 64 end
        end
        eq(words * g.waves * 4,
          16 * 2 * g.rank + (g.rope > 0 and 2048 or 0) + g.spare * (2 * g.row_bytes + (g.rope > 0 and 256 or 0)), name)
      end
    end, isa)
    ok(built > (T.full and (target == CDNA[1] and 60 or 20) or 2), "%s: only %d plans", target, built)
  end
end)
