-- Instruction streams of mla_decode/mfma_lds with order=columns: a wave makes the scores of its own rows, and O of all rows of
-- the workgroup in its own 128 columns. P goes through LDS. Positions count matrix instructions.
--
--   interval t:  [ PV(t-1) of own rows begins, QK(t), PV(t-1) of own rows ends ]
--                border [ softmax(t), PV(t-1) of other rows ]
--
-- LDS binds next to the matrix pipe, so its accesses are dealt evenly: in interval t K fragments of tile t + 1 are read, V rows
-- of tile t, and tile t + 2 is written: three stages. Every fragment has a place in registers of its own. Addresses are offsets:
-- the loop is listed once for each stage.
local weave = require("weave")
local plan = require("ops/mla_decode/plans/mfma_lds")
local compute = require("ops/mla_decode/plans/mfma_lds_compute")
local copy = require("ops/mla_decode/plans/mfma_lds_copy")

local columns = {}

local UNIT = weave.UNIT
local BUDGET = 10 -- clocks beside a matrix instruction that others may take, of 16
local LATE = 8 -- matrix instructions that others may come later than dealt evenly
local SOON = 2 -- the same for the softmax, which P waits for
local SOFTMAX = 14 -- matrix instructions that it is dealt over
local COPIED, BASED, READ = 10, 7, 14 -- in front of an interval's end: the last of a tile's copies, of whole pages, of K's reads
local FIRST = 2 -- operands of V that multiply own rows in front of the scores

local function op(format, ...) return { asm = format:format(...) } end

local function mfma(g, d, a, b)
  return op("%s %s, %s, %s, %s", g.isa.mfma.m16n16k16[g.f16 and "f16" or "bf16"], d, a, b, d)
end

-- O of rows of a slot += operand c of V times their P.
local function add_pv(g, main, slot, c)
  for b = 0, g.blocks - 1 do
    local at = plan.op(g, c)
    local o = mfma(g, plan.o(g, b, slot, c), ("v[%d:%d]"):format(at, at + 1), plan.p_of(g, slot, b))
    if c >= FIRST then o.need = { "joined" .. c } end -- the others were in the interval before
    main[#main + 1] = o
  end
  if slot == g.waves - 1 then main[#main].give = "used" .. c end
end

-- The sum of packed P of own rows: O is divided by this one, so that the rounding of a heavy weight cancels.
local function add_sums(g, main)
  for b = 0, g.blocks - 1 do
    local n = plan.n(g, b)
    main[#main + 1] = mfma(g, ("v[%d:%d]"):format(n, n + 3), ("v[%d:%d]"):format(g.ones, g.ones + 1), plan.p_of(g, 0, b))
  end
end

-- P of other rows of the tile before, and who moved its m then.
local function exchange_reads(g, stage)
  local list = { op("ds_read_b128 v[%d:%d], %%[fl] offset:%d", g.flags, g.flags + 3, stage) }
  for slot = 1, g.waves - 1 do
    local at, last = g.others + 2 * g.blocks * (slot - 1), 2 * g.blocks - 1
    list[#list + 1] = op("ds_read_b%d v[%d:%d], %%[pr%d] offset:%d", 64 * g.blocks, at, at + last, slot - 1, stage)
  end
  return list
end

-- V rows of this wave's columns, and their operands.
local function v_reads(g, stage)
  local list = {}
  for r = 0, 3 do
    list[#list + 1] = op("ds_read_b128 v[%d:%d], %%[va%d] offset:%d", g.v_rows + 4 * r, g.v_rows + 4 * r + 3, r, stage)
  end
  return list
end
local function joins(g, first, last)
  local list = {}
  for c = first, last do
    for i = 0, 1 do
      local row = g.v_rows + 8 * i + c // 2
      list[#list + 1] = op("v_perm_b32 v%d, v%d, v%d, %%[%s]", plan.op(g, c) + i, row + 4, row, c % 2 == 0 and "lo" or "hi")
      if c < FIRST then list[#list].need = { "used" .. c } end
    end
    list[#list].give = "joined" .. c
  end
  return list
end

-- K fragments of a tile, each to its own place.
local function k_reads(g, stage)
  local list = {}
  for f = 0, g.nk - 1 do
    local name, offset = compute.k_source(g, f)
    list[#list + 1] = op("ds_read_b128 %s, %%[%s] offset:%d", plan.quad(g, f), name, offset + stage)
    list[#list].need = { "scored" .. f }
  end
  return list
end

-- S^T = K Q^T.
local function add_qk(g, main)
  local each = g.inside and 4 or g.nk -- fragments of a sum
  for f = 0, g.nk - 1 do
    local own = g.f16 and not (g.inside and f >= g.nk_c) -- inside: rope columns as they are
    local shape = g.isa.mfma[g.per_fragment == 1 and "m16n16k32" or "m16n16k16"][own and "f16" or "bf16"]
    for h = 0, g.per_fragment - 1 do
      local k = g.pool + 4 * f + 2 * h
      for b = 0, g.blocks - 1 do
        local s = plan.s(g, b, g.inside and f // 4)
        main[#main + 1] = op("%s %s, v[%d:%d], %s, %s", shape, s, k, k + (g.per_fragment == 1 and 3 or 1),
          plan.q(g, b, f, g.per_fragment == 2 and h or nil), f % each + h == 0 and "0" or s)
      end
    end
    main[#main].give = "scored" .. f
  end
end

-- Scores in base 2 less their row's m; whether one exceeds it by more than the slack, or a wave's m moved in the tile before.
local function score_ops(g)
  local list, t = {}, g.tmp
  for b = 0, g.blocks - 1 do
    if g.inside then compute.join_sums(g, list, b) end
    for r = 0, g.inside and -1 or 3 do
      local at = 4 * b + r
      list[#list + 1] = op("v_fma_f32 v%d, v%d, %%[%s], -v%d", g.x + at, g.s + at, g.cache and "sv" .. b or "scale", g.m + b)
    end
  end
  list[#list + 1] = op("v_max3_f32 v%d, v%d, v%d, v%d", t, g.flags, g.flags + 1, g.flags + 2)
  list[#list + 1] = op("v_max3_f32 v%d, v%d, v%d, v%d", t, t, g.flags + 3, g.x)
  for i = 1, 4 * g.blocks - 3, 2 do list[#list + 1] = op("v_max3_f32 v%d, v%d, v%d, v%d", t, t, g.x + i, g.x + i + 1) end
  list[#list + 1] = op("v_max_f32 v%d, v%d, v%d", t, t, g.x + 4 * g.blocks - 1)
  list[#list + 1] = op("v_cmp_lt_f32 %%[rise], %%[limit], v%d", t)
  list[#list].need = { "limit" }
  return list
end

-- Limit that the border compares with: a tile that some row does not see all of goes its seldom way.
local function limit_ops()
  local list = { op("s_cmp_lt_i32 %%[at], %%[allsee]"), op("s_cselect_b32 %%[limit], %%[usual], %%[always]") }
  list[2].give = "limit"
  return list
end

-- Stores of a tile, one list for each load to the same registers: bytes are decoded in between.
local function store_chunks(g, stage)
  local chunks, chunk = {}, {}
  local latent = g.cache and g.segments + (g.rope > 0 and 1 or 0)
  for _, o in ipairs(copy.store_ops(g, stage)) do
    chunk[#chunk + 1] = o
    if o.asm:find("^ds_write") and (not g.inside or #chunks < latent) then
      chunks[#chunks + 1] = chunk
      chunk = {}
    end
  end
  if g.inside then -- scales
    chunk[1].unit = true
    chunks[#chunks + 1] = chunk
  end
  return chunks
end

-- The copy of a tile: a store, then the load to the same registers. A load is waited for an interval later, when as many others
-- are under way as there are in an interval.
local function copy_ops(g, stage)
  local stores, loads = store_chunks(g, stage), copy.tile_ops(g)
  local list, count, at, each = {}, 0, 0, #stores // g.units
  for _, o in ipairs(loads) do
    if o.asm:find("^global_") then count = count + 1 end
  end
  local fresh, ready = true, 0 -- a unit begins, which needs a page id; stores whose loads were waited for
  for _, o in ipairs(loads) do
    if fresh then list[#list + 1] = op("s_waitcnt vmcnt(%d)", count - 1) end
    fresh = false
    if o.asm:find("^global_") and not o.asm:find("%[pages%]") then
      if ready == 0 then
        ready = math.min(2, each - at % each)
        list[#list + 1] = op("s_waitcnt vmcnt(%d)", count - ready)
      end
      at, ready = at + 1, ready - 1
      for _, x in ipairs(stores[at]) do list[#list + 1] = x end
      fresh = at % each == 0
    end
    list[#list + 1] = o
  end
  return list
end

-- inside: scales of the tile for S; those of P of the tile before are done with when those of V of this tile come.
local function scale_reads(g, stage)
  local list = {}
  for i = 0, g.nj - 1 do
    local s = g.s_scales + 4 * i
    list[#list + 1] = op("ds_read_b128 v[%d:%d], %%[ssa] offset:%d", s, s + 3, i // 2 * g.scales_lane + i % 2 * 64 + stage)
  end
  list[#list + 1] = op("ds_read_b32 v%d, %%[ssa] offset:%d", g.unit, g.units_at + stage)
  return list
end
local function p_scales(g, stage)
  local list = {}
  for slot = 1, g.waves - 1 do
    for i = 0, 1 do
      local p = g.others + 2 * (slot - 1) + i
      list[#list + 1] = op("v_pk_mul_f16 v%d, v%d, v%d", p, p, g.v_scales + i)
    end
  end
  list[#list + 1] = op("ds_read_b64 v[%d:%d], %%[vsa] offset:%d", g.v_scales, g.v_scales + 1, stage)
  return list
end

-- Tokens at which the tile that is copied next begins, and the one whose page ids come.
local function token_ops(g)
  if g.whole and not g.based then return {} end -- the template's
  return { op("s_mov_b32 %%[tok], %%[tokn]"), op("s_add_u32 %%[tokn], %%[tokn], 16"),
    op("s_min_u32 %%[tokn], %%[tokn], %%[lasttile]") }
end

local function p_writes(g, stage)
  local last = 2 * g.blocks - 1
  local o = op("ds_write_b%d %%[pw], v[%d:%d] offset:%d", 64 * g.blocks, g.p, g.p + last, stage)
  o.need = {}
  for b = 0, g.blocks - 1 do o.need[b + 1] = g.inside and "P" or "P" .. b end
  return { o }
end

-- An interval in two parts, on either side of the border. last: of the stage's tile P V alone.
local function interval(g, stage, last)
  local function at(tile) return (stage + tile) % g.stages * g.stage_bytes end -- of that tile, counted from the stage's
  local main = {}
  for c = 0, FIRST - 1 do add_pv(g, main, 0, c) end
  local scores = #main
  if not last then add_qk(g, main) end
  local scores_end = #main
  for c = FIRST, 7 do add_pv(g, main, 0, c) end
  if not g.inside then add_sums(g, main) end
  local border, others = #main, g.blocks * (g.waves - 1)
  for c = 0, 7 do
    for slot = 1, g.waves - 1 do add_pv(g, main, slot, c) end
  end
  local streams = {}
  -- ops: spread from `from` to `to`, or later, but in front of `due`.
  local function stream(ops, from, to, due)
    for _, o in ipairs(weave.spread(ops, from, to)) do o.due = due and due * UNIT or o.at + LATE * UNIT end
    streams[#streams + 1] = ops
  end
  if not last then
    local rows = weave.spread(joins(g, FIRST, 7), 0, scores + 8) -- of the tile before; then those of this one come
    for _, o in ipairs(rows) do o.due = math.min(scores + 20, scores_end) * UNIT end
    for i, o in ipairs(weave.spread(v_reads(g, at(0)), scores + 9, scores + 17)) do
      o.due = (scores + 20 + i // 4) * UNIT
      rows[#rows + 1] = o
    end
    streams[#streams + 1] = rows
    stream(exchange_reads(g, at(-1)), scores, scores + 8, scores + 14)
    stream(k_reads(g, at(1)), scores + 3, #main - READ)
    local copies = copy_ops(g, at(2))
    for _, o in ipairs(token_ops(g)) do copies[#copies + 1] = o end
    -- Scalar registers are not kept at the border: whole pages have their base there, scales their unit.
    local within = g.whole and not g.based
    local from, to = g.cache and 4 or g.based and 8 or g.whole and 4 or 12, #main - (g.based and BASED or COPIED)
    stream(copies, scores + from, within and border - 2 or to, within and border)
    local at_hand = true -- what the base is needed for comes still
    for i = #copies, 1, -1 do
      at_hand = at_hand and not copies[i].based
      if g.based and not at_hand then
        copies[i].within = true
        copies[i].at, copies[i].due = math.min(copies[i].at, (border - 4) * UNIT), math.min(copies[i].due, border * UNIT)
      end
    end
    local behind = false
    for _, o in ipairs(copies) do
      behind = behind or o.unit and not g.whole
      if behind then o.at, o.due = math.max(o.at, border * UNIT), math.max(o.due, (border + 4) * UNIT) end
    end
    if g.inside then
      stream(scale_reads(g, at(0)), scores + 9, scores + 20, scores_end)
      stream(p_scales(g, at(0)), scores + 15, scores + 24, scores_end)
    end
    stream(limit_ops(), scores_end - 16, scores_end - 12, scores_end)
    stream(score_ops(g), scores_end + 1, border, border)
    stream(joins(g, 0, FIRST - 1), border + others, border + (FIRST + 1) * others)
    local softmax = compute.softmax_ops(g)
    table.insert(softmax, 4 * g.blocks + 1, op("s_add_u32 %%[at], %%[at], 16"))
    for _, o in ipairs(p_writes(g, at(0))) do softmax[#softmax + 1] = o end
    for _, o in ipairs(g.inside and compute.packed_sum_ops(g) or {}) do softmax[#softmax + 1] = o end
    stream(softmax, border, border + SOFTMAX)
    for _, o in ipairs(softmax) do o.due = o.at + SOON * UNIT end
  else
    stream(joins(g, FIRST, 7), 0, scores, scores)
    local reads = exchange_reads(g, at(0))
    if g.inside then
      local scaled = p_scales(g, 0)
      table.move(scaled, 1, #scaled - 1, #reads + 1, reads)
    end
    stream(reads, 0, 1, 1)
  end
  local first, second = {}, {}
  for _, o in ipairs(weave.level(main, streams, g.cache and not last and weave.share(main, streams) or BUDGET)) do
    local part = o.position >= border and second or first
    if part == second and o.within then error("order=columns: a scalar register would be kept at the border", 0) end
    part[#part + 1] = o
  end
  table.insert(first, 1, op("s_barrier"))
  table.insert(first, 1, op("s_waitcnt lgkmcnt(0)"))
  return first, second
end

-- The blocks of the loop, by stage, and those behind a last tile of that stage; in front of the loop, the first fragments of K.
-- make(ops, state): a block of the listing.
function columns.add_blocks(g, out, make)
  local begin, fresh = { op("s_waitcnt lgkmcnt(0)"), op("s_barrier") }, weave.state(g.isa)
  table.move(k_reads(g, 0), 1, g.nk, 3, begin)
  for f = 0, g.nk - 1 do fresh.given["scored" .. f] = true end
  out.first = make(begin, fresh)
  local state = weave.state(g.isa)
  state.full = 9
  out.body, out.final = {}, {}
  for pass = 0, 2 * g.stages - 1 do -- taken the second time: they hold behind each other
    state.given = {}
    local first, second = interval(g, pass % g.stages)
    out.body[pass % g.stages] = { make(first, state), make(second, state) }
  end
  for stage = 0, g.stages - 1 do
    local first, second = interval(g, stage, true)
    local behind = weave.state(g.isa)
    out.final[stage] = { make(first, behind), make(second, behind) }
  end
end

return columns
