-- Geometry, LDS layout and register plan of mla_decode/mfma_lds: one place for the template and for the space's budget.
--
-- The kernel's inner blocks are inline assembly with registers fixed here, because the compiler cannot place this
-- pressure (guide 5.2). The compiler keeps v0 .. v(frame-1) and no accumulation register; all above is ours:
--   v: frame | V^T operands | P | S | scores | temporaries | ids | m, l, n | staged loads | pool of 16-byte quads (K
--      fragments, V rows) | O
--   a: Q | rest of O
local plan = { REACH = 128 } -- the last register that the compiler may use: plans/mfma_lds_loop.lua

local ceil_div = require("whole").ceil_div
local parts = require("parts")

local LIMIT = { [1] = 512, [2] = 256, [3] = 168, [4] = 128 } -- registers per lane at so many waves per SIMD

-- Takes registers upwards; pairs and quads start even.
local function counter(first)
  local at = first
  return function(n)
    local base = at
    at = at + n
    return base
  end, function() return at end
end

local function geometry(p, v, isa)
  local cache = (p.cache or 0) ~= 0 and parts.of("mla_decode", p.cache) or nil -- of 8 bits: its bytes become f16 before LDS
  local g = {
    cache = cache, fnuz = cache and cache.fnuz, inside = cache and cache.tiles,
    isa = isa, q_apart = p.q_apart,
    per_fragment = isa.mfma.m16n16k32 and 1 or 2, -- MFMAs that use up the 16 bytes a lane holds of K
    cvt_bf16 = not cache and p.dtype == "bf16" and isa.has_cvt_pk_bf16 == 1,
    waves = v.waves, blocks = v.blocks, stages = v.stages, ahead = v.order == "ahead", columns = v.order == "columns",
    dma = v.load == "dma",
    whole = p.page_size % 16 == 0, page = p.page_size, f16 = cache ~= nil or p.dtype == "f16",
    rank = p.rank, rope = p.rope, nj = p.rank // 128, nk_c = p.rank // 32, nk = (p.rank + p.rope) // 32,
  }
  g.rows = 16 * g.blocks * g.waves
  -- LDS stage: 16 latent rows of 2*rank bytes, then 16 rope rows in slots of 128 bytes.
  g.row_bytes, g.latent_bytes = 2 * g.rank, 32 * g.rank
  g.rope_bytes = g.rope > 0 and 2048 or 0
  g.stage_bytes = g.latent_bytes + g.rope_bytes
  -- inside: scales of a tile by columns' group and token, as fp32, then over their unit as f16; then a place for each wave where
  -- lanes that hold none write. Lane 0 of a row holds those of two groups, behind which units have a place, lane 1 of the others.
  g.scales_place, g.scales_bytes, g.no_scales_bytes = g.stage_bytes, 512, g.columns and 0 or 448
  -- columns: those lanes are switched off, since LDS is full.
  g.scales_lane, g.units_at, g.v_scales_at = 192, 128, 384
  if g.inside then g.stage_bytes = g.stage_bytes + g.scales_bytes + g.no_scales_bytes * g.waves end
  if g.columns then -- behind a tile: its P, four dwords that say whose m moved, and the factors of their rows
    g.p_place, g.p_bytes = g.stage_bytes, 512 * g.blocks
    g.flags_place = g.p_place + g.p_bytes * g.waves
    g.factors_place = g.flags_place + 16
    g.stage_bytes = ceil_div(g.factors_place + 4 * g.rows, 128) * 128
  end
  g.sums = g.inside and g.nj + 1 or 1 -- of S: of each group of columns, of the rope columns
  -- Copy units. dma: pairs of rows, 8 per tile. vgpr: groups of 4 rows, 4 per tile; 8 waves take half the columns each.
  g.units = g.dma and ceil_div(8, g.waves) or math.max(1, 4 // g.waves)
  g.halves = not g.dma and g.waves == 8 and 2 or 1
  g.segments = g.nj // g.halves -- of 128 columns, per unit
  -- Q is transposed as it comes in, in the last stage, which the first copies leave free: 2 KiB per wave.
  g.q_place = (g.stages - 1) * g.stage_bytes
  g.spare_place = math.max(g.stages * g.stage_bytes, g.q_place + 2048 * g.waves)
  -- Waves without a unit in the last turn copy into a place of their own that nobody reads. A pair's rows are 4 rows
  -- apart there too, so the places lie interleaved.
  g.spare = g.dma and g.units * g.waves - 8 or 0
  g.lds_bytes = g.spare_place + (g.spare > 0 and (4 + g.spare) * g.row_bytes + g.spare * (g.rope > 0 and 256 or 0) or 0)
  g.lead = g.dma and g.stages - 1 or g.stages -- tiles between copying and computing
  -- Stages at work in iteration t, counted from that of tile t: scores of, LDS writes into.
  g.k_stage = g.ahead and 1 or 0
  g.w_stage = g.stages - 1
  return g
end

-- Registers the compiler needs at the blocks' borders: addresses, and what it computes with between them.
local function frame_size(g, spare)
  local addresses = 2 + (g.rope > 32 and 2 or g.rope > 0 and 1 or 0) + 4
  local rope, copy = g.rope > 0 and 1 or 0, nil
  if g.dma and g.whole then copy = (2 + rope) * g.units
  elseif g.dma then copy = (2 + 2 * rope) * g.units + 2 + rope
  elseif g.whole then copy = (1 + rope) * (g.units + 1)
  else copy = (1 + rope) * 4 + g.units + 1 end
  local cache = (g.cache and 2 + g.blocks or 0) + (g.inside and 4 or 0) -- factors of Q and of scores, places of scales
  local n = addresses + copy + cache + (g.columns and g.waves + 1 or 0) + spare -- columns: P's places, that of the flags
  return n + n % 2
end

-- nil and the reason when the registers do not suffice with `spare` registers for what the compiler computes with.
local function attempt(p, v, isa, spare)
  local g = geometry(p, v, isa)
  local per_simd = ceil_div(g.waves, 4)
  local limit = LIMIT[per_simd]
  local tight = limit < 512
  local take, used = counter(frame_size(g, spare))
  g.frame = used()
  g.n_ops = g.columns and 8 or tight and g.blocks == 1 and 2 or 4
  g.ops = take(2 * g.n_ops)
  g.p = take(2 * g.blocks)
  if g.columns then
    g.others = take(2 * g.blocks * (g.waves - 1)) -- P of the other waves' rows
    g.ones, g.flags, g.v_rows = take(2), take(4), take(16) -- 1, 1; whose m moved; V rows as they lie
    g.n = not g.inside and take(4 * g.blocks)
    g.bad = not g.whole and take(2) -- the largest page id seen
  end
  g.s = take(4 * g.sums * g.blocks)
  g.s_scales, g.v_scales = g.inside and take(4 * g.nj), g.inside and take(g.columns and 2 or 2 * g.nj)
  g.unit, g.inverse = g.inside and take(1), g.inside and take(1) -- of the lane's four tokens: its exponent; 1 over it
  -- P times the scales of each group of columns (columns: of own rows, by those of the wave's columns)
  g.scaled_p = g.inside and take(g.columns and 2 or 2 * g.nj)
  -- Scores scaled to base 2: a place of their own where S of the next tile is under way.
  g.x = (g.ahead or g.columns) and take(4 * g.blocks) or g.s
  g.tmp = take(2)                         -- of the softmax
  -- A register of the copies. In order=plain they are over before the softmax and the joins begin.
  g.ctmp = (g.ahead or g.columns) and take(2) or g.tmp
  g.based = g.columns and g.whole and not g.cache and g.page & (g.page - 1) == 0
  -- Row addresses of pages smaller than a tile; where based, of whole ones.
  g.addr = g.based and take(4) or g.whole and 0 or (g.ahead or g.columns) and take(4) or g.ops
  g.n_idx = g.whole and 1 or g.units
  g.idx = take(g.n_idx)
  -- Running maximum, sum of P, sum of packed P (columns: one of a product with ones).
  g.n_each = g.columns and not g.inside and 4 or 1
  g.m, g.l = take(g.blocks), take(g.blocks)
  g.n = g.n or take(g.blocks)
  -- Registers of a unit's staged loads: the latent quads, then a pair or a single of rope; tuples start even.
  g.stage_unit = g.dma and 0 or (g.cache and 2 or 4) * g.segments + (g.inside and 4 or g.rope > 0 and 2 or 0)
  g.nan = g.cache and take(1)
  if used() % 2 == 1 then take(1) end -- tuples start even
  g.staged = take(g.units * g.stage_unit)
  -- Eight bytes of a cache as f16: where addresses of rows stand later.
  g.conv = g.cache and ((g.whole or g.columns) and take(4) or g.addr)
  local fixed = used()
  g.q_regs = 4 * g.nk * g.blocks
  g.o_quads = 8 * g.nj * g.blocks
  -- The pool gets what is left: 4 quads are needed, 8 hide LDS latency for two blocks, 12 for one.
  local total_left = limit - fixed - g.q_regs - 4 * g.o_quads
  local a_room = (256 - g.q_regs) // 4                    -- quads of O that fit beside Q
  local v_need = 4 * math.max(0, g.o_quads - a_room)      -- registers of O that must be in v
  local left = math.min(total_left, 256 - fixed - v_need)
  g.quads = math.min(left // 4, g.blocks == 1 and 12 or 8)
  if g.columns then g.quads = left // 4 >= g.nk and g.nk or 0 end -- each fragment has its own
  if g.q_regs > 256 or g.quads < (g.ahead and 6 or 4) then
    return nil, ("registers: %d fixed + Q %d + O %d leave %d for K and V at %d waves per SIMD"):format(fixed, g.q_regs,
      4 * g.o_quads, left, per_simd)
  end
  g.pool = take(4 * g.quads)
  g.o_in_v = math.min(g.o_quads, (math.min(256, limit) - used()) // 4)
  g.o_v = take(4 * g.o_in_v)
  g.o_a = g.q_regs
  g.vgprs, g.agprs = used(), g.q_regs + 4 * (g.o_quads - g.o_in_v)
  local landing = 8 * ceil_div(g.nk, 2)
  g.landing, g.landing_regs = g.o_v, 4 * g.o_in_v -- columns: where K fragments come later
  if g.columns then g.landing, g.landing_regs = g.pool, 4 * g.quads end
  if g.landing_regs < landing then return nil, ("registers: Q lands in %d of %d"):format(g.landing_regs, landing) end
  g.total = ceil_div(g.vgprs, 4) * 4 + g.agprs
  if g.total > limit or g.agprs > 256 then
    return nil, ("registers: %d v + %d a > %d"):format(g.vgprs, g.agprs, limit)
  end
  return g
end

-- Temporaries of compiled code between the loop's blocks may land in registers that are live there: no statement says that they
-- are. So there must be enough others. order=columns has more such code, and 20: with 12 a fitted launch's constants, hoisted out
-- of the loop over pieces, left too few, and operands of V were overwritten (verify found it).
local SPARE, SPARE_COLUMNS = 12, 20

-- 8 are the least that compiles without spills; with 12 the rare paths need fewer moves. Fitted, a target with MFMAs of k = 32
-- spills with 8 where O is written: there 10 are the least, and 12 for several blocks at two waves per SIMD.
function plan.make(p, v, isa)
  if v.order == "columns" and p.rank ~= 128 * v.waves then
    return nil, ("order=columns: %d waves, rank %d"):format(v.waves, p.rank)
  end
  local least = 8
  if v.schedule == "fitted" and isa.mfma.m16n16k32 then least = v.waves > 4 and v.blocks > 1 and 12 or 10 end
  local g = (v.waves <= 4 or least > 8) and attempt(p, v, isa, v.order == "columns" and SPARE_COLUMNS or SPARE)
  if g then return g end
  return attempt(p, v, isa, least)
end

-- Landing place of Q as it comes in, before O lives there: units of 64 columns, 8 registers each; all blocks at once if
-- they fit.
function plan.q_landing(g, b, unit, i)
  local units = ceil_div(g.nk, 2)
  local all = 8 * units * g.blocks <= g.landing_regs
  local at = g.landing + (all and 8 * units * b or 0) + 8 * unit + 4 * i
  return ("v[%d:%d]"):format(at, at + 3), all
end

-- Register names.
function plan.quad(g, i) return ("v[%d:%d]"):format(g.pool + 4 * i, g.pool + 4 * i + 3) end
function plan.o(g, b, j, c)
  local i = (b * g.nj + j) * 8 + c
  if i < g.o_in_v then return ("v[%d:%d]"):format(g.o_v + 4 * i, g.o_v + 4 * i + 3) end
  local at = g.o_a + 4 * (i - g.o_in_v)
  return ("a[%d:%d]"):format(at, at + 3)
end
-- Single registers of the same: file and number of the first.
function plan.o_at(g, b, j, c)
  local file, at = plan.o(g, b, j, c):match("^(%a)%[(%d+)")
  return file, math.tointeger(tonumber(at))
end
-- Columns: where O is read from at the end. What accumulation registers have of it goes to those of K's fragments that the
-- compiler does not reach. Returns the moves of registers, and a function like plan.o_at.
function plan.results(g)
  local moves, to = {}, {}
  local free, last = g.pool, g.pool + 4 * g.quads
  while free <= plan.REACH do free = free + 4 end
  for i = g.o_in_v, g.o_quads - 1 do
    if free + 4 <= last then
      to[i] = free
      for r = 0, 3 do moves[#moves + 1] = { to = free + r, from = g.o_a + 4 * (i - g.o_in_v) + r } end
      free = free + 4
    end
  end
  return moves, function(b, slot, c)
    local moved = to[(b * g.nj + slot) * 8 + c]
    if moved then return "v", moved end
    return plan.o_at(g, b, slot, c)
  end
end
-- Half h (0, 1) of the 16 bytes of Q that go with K fragment f; all of them without h.
function plan.q(g, b, f, h)
  local at = (b * g.nk + f) * 4 + 2 * (h or 0)
  return ("a[%d:%d]"):format(at, at + (h and 1 or 3))
end
-- i: which of its sums.
function plan.s(g, b, i)
  local at = g.s + 4 * (g.sums * b + (i or 0))
  return ("v[%d:%d]"):format(at, at + 3)
end
function plan.p(g, b, j)
  local at = g.inside and g.scaled_p + 2 * j or g.p + 2 * b
  return ("v[%d:%d]"):format(at, at + 1)
end
-- Columns: P of a wave's own rows (slot 0), or of those of the slot-th wave behind it.
function plan.p_of(g, slot, b)
  local at = slot == 0 and (g.scaled_p or g.p) + 2 * b or g.others + 2 * (g.blocks * (slot - 1) + b)
  return ("v[%d:%d]"):format(at, at + 1)
end
function plan.n(g, b) return g.n + g.n_each * b end
function plan.op(g, i) return g.ops + 2 * (i % g.n_ops) end

return plan
