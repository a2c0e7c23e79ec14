-- Instruction streams of mla_decode_lds and how they are laid over each other. Positions count matrix instructions.
--
-- order=plain   one tile:   [ QK(t) + copies of a later tile ] border [ softmax(t), PV(t) ]
-- order=ahead   one tile:   [ rest of PV(t-1), QK(t+1) begins + copies ] border [ QK(t+1) ends + softmax(t), PV(t) but its rest ]
-- The border is where compiled code stands that is seldom needed: masking and rescaling. What crosses an iteration in ahead: S (scores
-- of the next tile), P and the V rows of the rest (the last 128 columns), which keep the matrix pipe busy behind the barrier.
local weave = require("weave")
local plan = require("lds_plan")

local loop = {}

local UNIT = 1024 -- weave's fraction of one position

local function op(format, ...) return { asm = format:format(...) } end
-- ---- matrix instructions ---------------------------------------------------------------------------------------------------------
local function mfma(g, d, a, b, c)
  return op("v_mfma_f32_16x16x16_%s %s, %s, %s, %s", g.f16 and "f16" or "bf16", d, a, b, c)
end

-- S^T = K Q^T: fragment f of K serves all blocks; its two halves are two MFMAs.
local function add_qk(g, main, use)
  for f = 0, g.nk - 1 do
    use.k[f] = { first = #main, last = #main + 2 * g.blocks - 1 }
    for h = 0, 1 do
      for b = 0, g.blocks - 1 do
        main[#main + 1] = { qk = { f = f, h = h, b = b } } -- its registers follow once the quads are placed
      end
    end
  end
end

-- O^T += V^T P^T over columns 128j ..: operand c serves all blocks. kept: the V rows came with the iteration before.
local function add_pv(g, main, use, j, kept, floor)
  local group = { j = j, index = #use.v + 1, kept = kept, at = {}, floor = floor }
  use.v[group.index] = group
  for c = 0, 7 do
    group.at[c] = #main
    for b = 0, g.blocks - 1 do
      local slot = plan.op(g, c)
      local m = mfma(g, plan.o(g, b, j, c), ("v[%d:%d]"):format(slot, slot + 1), plan.p(g, b), plan.o(g, b, j, c))
      m.need = {}
      if not kept or c >= 2 then m.need[1] = ("op%d.%d"):format(group.index, c) end
      if not kept then m.need[#m.need + 1] = "P" .. b end
      main[#main + 1] = m
    end
  end
end

-- ---- LDS reads and where they land -----------------------------------------------------------------------------------------------
-- Address register and offset of K fragment f: columns 32f .. 32f+31 of all 16 rows.
local function k_source(g, f)
  if f < g.nk_c then return "ka" .. f % 2, 64 * (f - f % 2) end
  local i = f - g.nk_c
  return "kr" .. i % 2, 64 * (i - i % 2)
end

-- Places reads in the pool: each gets a quad that is free by the time it is wanted, else it waits for the first to become free.
-- requests: { need =, free =, want =, quad = forced or nil, make = function(quad) }; busy[q]: position until which a quad is taken.
local function place(g, requests, busy)
  for i, r in ipairs(requests) do r.index = i end
  table.sort(requests, function(a, b)
    if a.need ~= b.need then return a.need < b.need end
    return a.index < b.index
  end)
  local out = {}
  for _, r in ipairs(requests) do
    local best = r.quad
    if not best then
      for q = 0, g.quads - 1 do
        -- Among those free in time the one freed last; else the one freed first.
        if not best then best = q
        elseif busy[best] <= r.want then
          if busy[q] <= r.want and busy[q] > busy[best] then best = q end
        elseif busy[q] < busy[best] then best = q end
      end
    end
    local o = r.make(best)
    o.at = math.max(r.want, busy[best] + 1)
    if o.at >= r.need then error(("lds_loop: a read at %d comes too late for its use at %d"):format(o.at, r.need)) end
    busy[best] = r.free
    out[#out + 1] = o
  end
  table.sort(out, function(a, b)
    if a.at ~= b.at then return a.at < b.at end
    return a.asm < b.asm
  end)
  return out
end

-- Position of the join (v_perm) number i of a group's operand c: up to two operands ahead of its first MFMA, not before the group's
-- floor.
local function join_at(g, group, c, i)
  local from = (group.at[c] - 2 * g.blocks) * UNIT
  return math.max(from + (2 * i + 1) * g.blocks * UNIT // 4, group.floor or from)
end

local function join_op(g, quads, c, i)
  local slot, d = plan.op(g, c), c // 2
  return op("v_perm_b32 v%d, v%d, v%d, %%[%s]", slot + i, g.pool + 4 * quads[2 * i + 1] + d, g.pool + 4 * quads[2 * i] + d,
    c % 2 == 0 and "lo" or "hi")
end

local EARLY = 2 -- operands of the kept columns that are joined before the iteration ends

local function joins(g, use, main_end, keep)
  local out = {}
  for _, group in ipairs(use.v) do
    for c = group.kept and EARLY or 0, 7 do
      for i = 0, 1 do
        local o = join_op(g, group.quads, c, i)
        o.at = join_at(g, group, c, i)
        if not group.kept then o.need = { ("V%d.%d"):format(group.index, 2 * i), ("V%d.%d"):format(group.index, 2 * i + 1) } end
        o.give = i == 1 and ("op%d.%d"):format(group.index, c) or nil
        out[#out + 1] = o
      end
    end
  end
  -- Kept columns: their first operands, as if their MFMAs followed here.
  for c = 0, keep and EARLY - 1 or -1 do
    for i = 0, 1 do
      local o = join_op(g, { [0] = 0, 1, 2, 3 }, c, i)
      o.at = join_at(g, { at = { [c] = main_end + c * g.blocks } }, c, i)
      o.need = { ("kept%d"):format(2 * i), ("kept%d"):format(2 * i + 1) }
      out[#out + 1] = o
    end
  end
  return out
end

local function read_v(g, quad, r, j, tag)
  local o = op("ds_read_b128 %s, %%[va%d] offset:%d", plan.quad(g, quad), r, 256 * j)
  o.give = tag
  return o
end

-- Requests for the V rows of a group, or of the columns kept for the next iteration (in quads 0..3).
local function request_v(g, requests, group, from, before)
  for r = 0, 3 do
    local need = join_at(g, group, 0, r // 2)
    requests[#requests + 1] = {
      need = need, free = join_at(g, group, 7, r // 2), want = math.max(from, need - before + r),
      make = function(q)
        group.quads[r] = q
        return read_v(g, q, r, group.j, ("V%d.%d"):format(group.index, r))
      end,
    }
  end
end

-- All reads of an iteration, placed, none before position `from`. keep: columns whose V rows the next iteration joins.
local function reads(g, main, use, from, keep)
  local requests, busy, fragment = {}, {}, {}
  for q = 0, g.quads - 1 do busy[q] = from - 1 end
  for f, u in sorted(use.k) do
    requests[#requests + 1] = {
      need = u.first * UNIT, free = u.last * UNIT, want = math.max(from, (u.first - math.max(12, 6 * g.blocks)) * UNIT),
      make = function(q)
        fragment[f] = q
        local name, offset = k_source(g, f)
        local o = op("ds_read_b128 %s, %%[%s] offset:%d", plan.quad(g, q), name, offset)
        o.give = "K" .. f
        return o
      end,
    }
  end
  for _, group in ipairs(use.v) do
    group.quads = {}
    if group.kept then
      for r = 0, 3 do
        group.quads[r] = r
        busy[r] = join_at(g, group, 7, r // 2)
      end
    else
      request_v(g, requests, group, from, 10 * g.blocks * UNIT)
    end
  end
  if keep then
    local last = (#main - 2 * g.blocks) * UNIT
    for r = 0, 3 do
      requests[#requests + 1] = {
        need = last, free = #main * UNIT, want = math.max(from, last - 10 * g.blocks * UNIT + r), quad = r,
        make = function(q) return read_v(g, q, r, keep, "kept" .. r) end,
      }
    end
  end
  local list = place(g, requests, busy)
  for i, m in ipairs(main) do
    if m.qk then
      local reg, d = g.pool + 4 * fragment[m.qk.f] + 2 * m.qk.h, plan.s(g, m.qk.b)
      main[i] = mfma(g, d, ("v[%d:%d]"):format(reg, reg + 1), plan.q(g, m.qk.b, m.qk.f, m.qk.h), m.qk.f + m.qk.h == 0 and "0" or d)
      main[i].need = { "K" .. m.qk.f }
    end
  end
  return list
end

-- ---- softmax ---------------------------------------------------------------------------------------------------------------------
-- Scores in base 2, and whether any exceeds its row's m by more than the slack.
local function scale_ops(g)
  local list = {}
  for b = 0, g.blocks - 1 do
    for r = 0, 3 do list[#list + 1] = op("v_mul_f32 v%d, %%[scale], v%d", g.x + 4 * b + r, g.s + 4 * b + r) end
  end
  return list
end

local function test_ops(g)
  local list, t = {}, g.tmp
  for b = 0, g.blocks - 1 do
    local x, d = g.x + 4 * b, b == 0 and t or t + 1
    list[#list + 1] = op("v_max3_f32 v%d, v%d, v%d, v%d", d, x, x + 1, x + 2)
    list[#list + 1] = op("v_max_f32 v%d, v%d, v%d", d, d, x + 3)
    list[#list + 1] = op("v_sub_f32 v%d, v%d, v%d", d, d, g.m + b)
    if b > 0 then list[#list + 1] = op("v_max_f32 v%d, v%d, v%d", t, t, d) end
  end
  list[#list + 1] = op("v_cmp_lt_f32 %%[rise], %%[slack], v%d", t)
  return list
end

-- exp2(x - m), row sums, P packed. The blocks' streams are dealt in turn, so that results have time to arrive.
local function softmax_block(g, b)
  local list, x, p = {}, g.x + 4 * b, g.p + 2 * b
  for r = 0, 3 do list[#list + 1] = op("v_sub_f32 v%d, v%d, v%d", x + r, x + r, g.m + b) end
  for r = 0, 3 do list[#list + 1] = op("v_exp_f32 v%d, v%d", x + r, x + r) end
  for r = 0, 3 do
    list[#list + 1] = op("v_add_f32 v%d, v%d, v%d", g.l + b, g.l + b, x + r)
    if g.f16 then
      list[#list + 1] = op("v_cvt_f16_f32 v%d, v%d", x + r, x + r)
    else -- to nearest even: add 0x7fff and the lowest bit kept
      local t = g.tmp + r % 2
      list[#list + 1] = op("v_bfe_u32 v%d, v%d, 16, 1", t, x + r)
      list[#list + 1] = op("v_add3_u32 v%d, v%d, v%d, %%[half]", x + r, x + r, t)
    end
  end
  for i = 0, 1 do
    if g.f16 then list[#list + 1] = op("v_pack_b32_f16 v%d, v%d, v%d", p + i, x + 2 * i, x + 2 * i + 1)
    else list[#list + 1] = op("v_perm_b32 v%d, v%d, v%d, %%[hi]", p + i, x + 2 * i + 1, x + 2 * i) end
  end
  list[#list].give = "P" .. b
  return list
end

-- The sum of what was packed: O is divided by this one, so that the rounding of a heavy weight cancels.
local function packed_sum_ops(g)
  local list = {}
  for b = 0, g.blocks - 1 do
    for i = 0, 1 do
      local p, t, n = g.p + 2 * b + i, g.tmp + i, g.n + b
      if g.f16 then
        list[#list + 1] = op("v_dot2_f32_f16 v%d, v%d, %%[ones], v%d", n, p, n)
      else
        list[#list + 1] = op("v_lshlrev_b32 v%d, 16, v%d", t, p)
        list[#list + 1] = op("v_add_f32 v%d, v%d, v%d", n, n, t)
        list[#list + 1] = op("v_and_b32 v%d, 0xffff0000, v%d", t, p)
        list[#list + 1] = op("v_add_f32 v%d, v%d, v%d", n, n, t)
      end
      list[#list].need = { "P" .. b }
    end
  end
  return list
end

local function softmax_ops(g)
  local list = {}
  for b = 0, g.blocks - 1 do
    for _, o in ipairs(softmax_block(g, b)) do list[#list + 1] = o end
  end
  return list
end

-- ---- copies from the cache to LDS ------------------------------------------------------------------------------------------------
local function add(list, format, ...) list[#list + 1] = op(format, ...) end

-- Exact unsigned division of x < 2^31 by d > 1, not a power of two: mulhi(x, magic) >> shift.
function loop.magic(d)
  local shift = 0
  while 2 << shift <= d do shift = shift + 1 end
  return ((1 << (32 + shift)) + d - 1) // d, shift
end

local function log2(n)
  local k = 0
  while 1 << k < n do k = k + 1 end
  return 1 << k == n and k or nil
end

-- dst = page of token x (in place), times `scale` 4 for the byte offset of its id.
local function page_offset(g, list, x)
  local k = log2(g.page)
  if not k then
    local _, shift = loop.magic(g.page)
    add(list, "v_mul_hi_u32 v%d, v%d, %%[magic]", x, x)
    k = shift
  end
  if k > 0 then add(list, "v_lshrrev_b32 v%d, %d, v%d", x, k, x) end
  add(list, "v_lshlrev_b32 v%d, 2, v%d", x, x)
end

-- Pages smaller than a tile: cache row of this lane's token of unit u into v<t>.
local function row_ops(g, list, u)
  local id, t = g.idx + u, g.ctmp
  add(list, "v_max_u32 %%[bad], %%[bad], v%d", id)
  add(list, "v_min_u32 v%d, %%[maxid], v%d", t, id)
  if g.page > 1 then
    local k, x, q = log2(g.page), t + 1, g.addr
    add(list, "v_add_u32 v%d, %%[tok], %%[row%d]", x, u)
    add(list, "v_min_u32 v%d, %%[last], v%d", x, x)
    if k then
      add(list, "v_and_b32 v%d, %d, v%d", x, g.page - 1, x)
      add(list, "v_lshl_or_b32 v%d, v%d, %d, v%d", t, t, k, x)
    else
      local _, shift = loop.magic(g.page)
      add(list, "v_mul_hi_u32 v%d, v%d, %%[magic]", q, x)
      if shift > 0 then add(list, "v_lshrrev_b32 v%d, %d, v%d", q, shift, q) end
      add(list, "v_mul_lo_u32 v%d, v%d, %%[page]", q, q)
      add(list, "v_sub_u32 v%d, v%d, v%d", x, x, q)
      add(list, "v_mul_lo_u32 v%d, v%d, %%[page]", t, t)
      add(list, "v_add_u32 v%d, v%d, v%d", t, t, x)
    end
  end
end

-- The page ids of the next tile to copy; whole pages: one id, else one per lane and unit.
local function next_id(g, list, u)
  local x = g.ctmp + 1
  if g.whole then
    add(list, "v_mov_b32 v%d, %%[pgo]", x)
  else
    add(list, "v_add_u32 v%d, %%[tokn], %%[row%d]", x, u)
    add(list, "v_min_u32 v%d, %%[last], v%d", x, x)
    page_offset(g, list, x)
  end
  add(list, "global_load_dword v%d, v%d, %%[pages]", g.idx + u, x)
end

-- Whole pages: the tile's first row as a scalar address, s64 (latent) and s66 (rope).
local function tile_base(g, list)
  add(list, "v_readfirstlane_b32 s68, v%d", g.idx)
  add(list, "s_max_u32 %%[bad], %%[bad], s68")
  add(list, "s_min_u32 s68, s68, %%[maxid]")
  local k = log2(g.page)
  if k then add(list, "s_lshl_b32 s68, s68, %d", k) else add(list, "s_mul_i32 s68, s68, %d", g.page) end
  add(list, "s_add_u32 s68, s68, %%[pos]")
  add(list, "s_mul_i32 s64, s68, %%[cs]")
  add(list, "s_mul_hi_u32 s65, s68, %%[cs]")
  add(list, "s_add_u32 s64, s64, %%[ckl]")
  add(list, "s_addc_u32 s65, s65, %%[ckh]")
  if g.rope > 0 then
    add(list, "s_mul_i32 s66, s68, %%[ks]")
    add(list, "s_mul_hi_u32 s67, s68, %%[ks]")
    add(list, "s_add_u32 s66, s66, %%[kpl]")
    add(list, "s_addc_u32 s67, s67, %%[kph]")
  end
end

local function dma_unit(g, list, u)
  local v, rope = g.addr, nil
  if not g.whole then
    row_ops(g, list, u)
    next_id(g, list, u)
    add(list, "v_mad_u64_u32 v[%d:%d], vcc, v%d, %%[vcs], %%[ckv]", v, v + 1, g.ctmp)
    if g.rope > 0 then
      add(list, "v_mad_u64_u32 v[%d:%d], vcc, v%d, %%[vks], %%[kp%d]", v + 2, v + 3, g.ctmp, u)
      rope = ("v[%d:%d], off"):format(v + 2, v + 3)
    end
    for h = 0, 1 do
      add(list, "v_readlane_b32 s%d, v%d, %d", 64 + 2 * h, v, 32 * h)
      add(list, "v_readlane_b32 s%d, v%d, %d", 65 + 2 * h, v + 1, 32 * h)
    end
  elseif g.rope > 0 then
    rope = ("%%[lr%d], s[66:67]"):format(u)
  end
  for h = 0, 1 do
    if h == 0 then add(list, "s_mov_b32 m0, %%[ml%d]", u) else add(list, "s_add_u32 m0, %%[ml%d], %d", u, 4 * g.row_bytes) end
    for s = 0, g.nj - 1 do
      if g.whole then add(list, "global_load_lds_dword %%[la%d], s[64:65] offset:%d", 2 * u + h, 256 * s)
      else add(list, "global_load_lds_dword %%[la%d], s[%d:%d] offset:%d", u, 64 + 2 * h, 65 + 2 * h, 256 * s) end
    end
  end
  if rope then
    add(list, "s_mov_b32 m0, %%[mr%d]", u)
    add(list, "global_load_lds_dword %s", rope)
  end
end

-- Registers of a staged load.
local function staged(g, u, s)
  local base = g.staged + u * g.stage_unit + 4 * s
  if s < g.segments then return ("v[%d:%d]"):format(base, base + 3), "dwordx4", "b128" end
  if g.rope == 64 and g.halves == 1 then return ("v[%d:%d]"):format(base, base + 1), "dwordx2", "b64" end
  return "v" .. base, "dword", "b32"
end

local function load_unit(g, list, u)
  local latent, rope = ("%%[la%d], s[64:65]"):format(u), ("%%[lr%d], s[66:67]"):format(u)
  if not g.whole then
    local v = g.addr
    row_ops(g, list, u)
    next_id(g, list, u)
    add(list, "v_mad_u64_u32 v[%d:%d], vcc, v%d, %%[vcs], %%[cka]", v, v + 1, g.ctmp)
    latent = ("v[%d:%d], off"):format(v, v + 1)
    if g.rope > 0 then
      add(list, "v_mad_u64_u32 v[%d:%d], vcc, v%d, %%[vks], %%[kpa]", v + 2, v + 3, g.ctmp)
      rope = ("v[%d:%d], off"):format(v + 2, v + 3)
    end
  end
  for s = 0, g.segments - (g.rope > 0 and 0 or 1) do
    local regs, width = staged(g, u, s)
    if s < g.segments then add(list, "global_load_%s %s, %s offset:%d", width, regs, latent, 256 * s)
    else add(list, "global_load_%s %s, %s", width, regs, rope) end
  end
end

-- Registers -> LDS. Groups of 4 rows: unit u of wave w holds rows 4(w + waves*u) ..
local function store_ops(g)
  local list = {}
  for u = 0, g.units - 1 do
    local group = g.waves * u
    for s = 0, g.segments - (g.rope > 0 and 0 or 1) do
      local regs, _, width = staged(g, u, s)
      if s < g.segments then add(list, "ds_write_%s %%[wa], %s offset:%d", width, regs, 256 * s + 4 * group * g.row_bytes)
      else add(list, "ds_write_%s %%[wr], %s offset:%d", width, regs, 128 * (8 * (group // 2) + group % 2)) end
    end
  end
  return list
end

-- The ids of a tile alone: where the pipeline starts.
local function id_ops(g)
  local list = {}
  for u = 0, g.n_idx - 1 do next_id(g, list, u) end
  return list
end

-- One tile on its way: addresses from the ids at hand, the ids of the next tile, the data. An id is fetched as soon as its register
-- is free, so that a wait for it can leave the data behind it under way. Returns the list and how many loads that is.
local function copy_ops(g)
  local list, behind = {}, 0
  if g.whole then
    tile_base(g, list)
    next_id(g, list, 0)
  end
  for u = 0, g.units - 1 do
    if g.dma then dma_unit(g, list, u) else load_unit(g, list, u) end
  end
  for _, o in ipairs(list) do
    if o.asm:find("%[pages%]") then behind = 0 elseif o.asm:find("^global_") then behind = behind + 1 end
  end
  return list, behind
end

-- ---- Q --------------------------------------------------------------------------------------------------------------------------
-- Q's rows are fetched as rows (8 lanes: 128 bytes of one) and turned into B operands (lane l: row l%16) through LDS, 16 rows x 64
-- columns at a time: one place per wave, LDS keeps a wave's accesses in order.
local function q_load_ops(g, b)
  local list = {}
  for unit = 0, (g.nk - 1) // 2 do
    local half = 2 * unit + 1 >= g.nk -- 32 columns left: lanes beyond repeat them
    for i = 0, 1 do
      local to = plan.q_landing(g, b, unit, i)
      if half then add(list, "global_load_dwordx4 %s, %%[qt%d], off", to, i)
      else add(list, "global_load_dwordx4 %s, %%[qa%d], off offset:%d", to, i, 128 * unit) end
    end
  end
  return list
end

local function q_turn_ops(g, b)
  local list = {}
  for unit = 0, (g.nk - 1) // 2 do
    for i = 0, 1 do add(list, "ds_write_b128 %%[qw], %s offset:%d", (plan.q_landing(g, b, unit, i)), 1024 * i) end
    for h = 0, math.min(1, g.nk - 1 - 2 * unit) do
      local at_reg = (b * g.nk + 2 * unit + h) * 4
      add(list, "ds_read_b128 a[%d:%d], %%[qr%d]", at_reg, at_reg + 3, h)
    end
  end
  add(list, "s_waitcnt lgkmcnt(0)")
  return list
end

-- ---- blocks ----------------------------------------------------------------------------------------------------------------------
local SCALARS = { "scale", "slack", "rise", "lo", "hi", "half", "ones", "pgo", "pages", "maxid", "pos", "cs", "ks", "ckl", "ckh", "kpl", "kph",
  "tok", "tokn", "last", "magic", "page", "ckv", "kd", "vd", "wd", "ws" }
local function scalars(g)
  local list = {}
  for _, n in ipairs(SCALARS) do list[#list + 1] = n end
  for u = 0, 7 do
    list[#list + 1] = "ml" .. u
    list[#list + 1] = "mr" .. u
  end
  if g.whole then list[#list + 1] = "bad" end
  return list
end

-- Addresses step to the next stage; K, V and the copies stand in different ones.
local function step(list, name, delta, unit)
  add(list, "%s_add_u32 %%[%s], %%[%s], %%[%s]", unit, name, delta, name)
end
local function k_steps(g)
  local list = {}
  step(list, "ka0", "kd", "v")
  step(list, "ka1", "kd", "v")
  if g.rope > 0 then step(list, "kr0", "kd", "v") end
  if g.rope > 32 then step(list, "kr1", "kd", "v") end
  return list
end
local function v_steps()
  local list = {}
  for r = 0, 3 do step(list, "va" .. r, "vd", "v") end
  return list
end
local function copy_steps(g)
  local list = {}
  if g.dma then
    for u = 0, g.units - 1 do -- a spare place stays where it is
      local delta = g.spare > 0 and u == g.units - 1 and "ws" or "wd"
      step(list, "ml" .. u, delta, "s")
      if g.rope > 0 then step(list, "mr" .. u, delta, "s") end
    end
  else
    step(list, "wa", "wd", "v")
    if g.rope > 0 then step(list, "wr", "wd", "v") end
  end
  return list
end

-- One iteration in two parts, on either side of the border.
--   qk: scores of a tile; pv: P V of a tile, all of it or (rest) without the last columns, which come first (tail) in the next iteration;
--   copy: fetches a later tile
local function iteration(g, what)
  local main, use, last = {}, { k = {}, v = {} }, g.nj - 1
  if what.tail then add_pv(g, main, use, last, true) end
  local tail = #main
  if what.qk then add_qk(g, main, use) end
  local scores_end, border = #main, #main
  if what.tail and what.qk then border = tail + 2 * g.blocks * (g.nk // 3) end
  if what.pv then
    local floor = not what.tail and border * UNIT - 1 or nil -- plain: joins wait for the softmax, K's quads for the scores
    for j = 0, what.rest and last - 1 or last do add_pv(g, main, use, j, false, floor) end
  end
  local from = what.tail and 0 or -64 * UNIT -- where the barrier stands
  local keep = what.rest and last or nil
  local fetch = reads(g, main, use, from, keep)
  local streams = { fetch, joins(g, use, #main, keep) }
  local function stream(ops, first, behind) streams[#streams + 1] = weave.spread(ops, first, behind) end
  local function exactly(ops, position)
    for _, o in ipairs(ops) do o.at = position end
    streams[#streams + 1] = ops
  end
  local cut = border * UNIT - 2
  if what.tail then
    stream(scale_ops(g), 0, tail - 1)
    if what.qk then stream(test_ops(g), tail, border) else exactly(test_ops(g), cut - 1) end
  elseif what.pv then
    exactly(scale_ops(g), cut - 1)
    exactly(test_ops(g), cut - 1)
  end
  if what.pv then
    if what.tail and what.qk then stream(softmax_ops(g), border, scores_end - 1) else exactly(softmax_ops(g), cut) end
    stream(packed_sum_ops(g), scores_end, math.max(scores_end + 1, #main))
  end
  if what.copy then
    if not g.dma then stream(store_ops(g), 0, border // 3) end
    stream(copy_ops(g), g.dma and 0 or border // 3, border - 3 * g.blocks)
  end
  if what.step then
    local last_read = 0
    for _, o in ipairs(streams[1]) do last_read = math.max(last_read, o.at) end
    stream(k_steps(g), scores_end, #main)
    stream(copy_steps(g), scores_end, #main)
    stream(v_steps(), math.min(#main, last_read // UNIT + 1), #main)
  end
  local first, second = {}, {}
  for _, o in ipairs(weave.merge(main, streams)) do
    local part = o.at and o.at >= cut and second or not o.at and o.position >= border and second or first
    part[#part + 1] = o
  end
  return first, second, from
end

-- What a block of assembly is for the template: its lines, operands and clobbers.
local ARRAYS = { ka = "u", kr = "u", va = "u", la = "u", lr = "u", row = "u", kp = "u", ml = "u", mr = "u", qa = "q", qt = "q", qr = "u" }
local VECTORS = { ka = 1, kr = 1, va = 1, la = 1, lr = 1, row = 1, kp = 1, wa = 1, wr = 1, vcs = 1, vks = 1, cka = 1, kpa = 1,
  qa = 1, qt = 1, qr = 1, qw = 1 }

local function operand(g, name, lines)
  local base, index = name:match("^(%a+)(%d+)$")
  local expr = base and ARRAYS[base] and ("%s[%s]"):format(base, index) or name
  local class = (VECTORS[base or name] or name == "bad" and not g.whole) and "v" or "s"
  local out = false
  for _, line in ipairs(lines) do
    local first = line:match("^%S+ ([^,]*)")
    if first == "%[" .. name .. "]" and not line:find("^ds_write") and not line:find("^global") then out = true end
  end
  return ('[%s] "%s%s"(%s)'):format(name, out and (name == "rise" and "=" or "+") or "", class, expr), out
end

-- Every block claims the registers that live across it besides its own, so that nothing of the compiler's can be there: what does not
-- fit is spilled, and a kernel that spills is never offered. phase: "prologue" (ids, staged loads, Q, O, m, l, n), "loop" (all) or
-- "epilogue" (O, m, l, n). Registers from 129 on are out of the compiler's reach: with one wave per SIMD, and LDS allows no more, LLVM takes
-- amdgpu_num_vgpr for at least half of 257.
local REACH = 128
local function claim(set, file, from, count)
  for i = from, math.min(REACH, from + count - 1) do set[("%s%03d"):format(file, i)] = ('"%s%d"'):format(file, i) end
end

local function live(g, phase)
  local set = {}
  if phase == "loop" then
    claim(set, "v", g.frame, g.vgprs - g.frame)
    claim(set, "a", 0, g.agprs)
    return set
  end
  claim(set, "v", g.o_v, 4 * g.o_in_v)
  for _, at in ipairs({ g.m, g.l, g.n }) do claim(set, "v", at, g.blocks) end
  claim(set, "a", g.o_a, g.agprs - g.o_a)
  if phase == "prologue" then
    claim(set, "v", g.idx, g.n_idx)
    claim(set, "v", g.staged, g.units * g.stage_unit)
    claim(set, "a", 0, g.q_regs)
  end
  return set
end

local function names(set)
  local list = {}
  for _, text in sorted(set) do list[#list + 1] = text end
  return table.concat(list, ", ")
end
-- The same as text, for the template's own statements.
function loop.claimed(g, phase) return names(live(g, phase)) end

local function clobbers(g, lines, phase)
  local set = live(g, phase)
  for _, line in ipairs(lines) do
    for file, first, last in line:gmatch("%f[%w]([vas])%[(%d+):(%d+)%]") do claim(set, file, tonumber(first) // 1, last - first + 1) end
    for file, at in line:gmatch("%f[%w]([vas])(%d+)%f[%W]") do claim(set, file, tonumber(at) // 1, 1) end
  end
  return '"memory", "vcc", "scc", ' .. names(set)
end

local function block(g, ops, state, phase)
  local lines, count = weave.listing(ops, state, scalars(g))
  local seen, outs, ins = {}, {}, {}
  for _, line in ipairs(lines) do
    for name in line:gmatch("%%%[([%w_]+)%]") do
      if not seen[name] then
        seen[name] = true
        local text, out = operand(g, name, lines)
        local list = out and outs or ins
        list[#list + 1] = text
      end
    end
  end
  return { lines = lines, outs = table.concat(outs, ", "), ins = table.concat(ins, ", "), clobbers = clobbers(g, lines, phase), count = count }
end

-- In front of an iteration: everything this wave fetched or wrote is there, then everything all waves did.
local function entry(vmcnt)
  return { op("s_waitcnt vmcnt(%d) lgkmcnt(0)", vmcnt), op("s_barrier") }
end

-- Blocks of an iteration. The loop's are listed twice and taken the second time, so that they also hold behind themselves.
local function iteration_blocks(g, what, vmcnt, passes)
  local result
  local state = weave.state()
  for _ = 1, passes do
    state.given = {}
    local first, second, from = iteration(g, what)
    local head, wait = {}, entry(vmcnt)
    local placed = false
    for _, o in ipairs(first) do
      if not placed and not (o.at and o.at < from) then
        for _, w in ipairs(wait) do head[#head + 1] = w end
        placed = true
      end
      head[#head + 1] = o
    end
    result = { block(g, head, state, "loop"), block(g, second, state, "loop") }
  end
  return result
end

local function plain_block(g, ops)
  return block(g, ops, weave.state(), "prologue")
end

-- All blocks of a kernel.
function loop.build(g)
  local _, behind = copy_ops(g)
  local leave = g.dma and not g.ahead and g.stages == 3 and math.min(behind, 63) or 0 -- 6 bits in the instruction
  local out = { leave = leave }
  out.ids = plain_block(g, id_ops(g))
  out.copy = plain_block(g, (copy_ops(g)))
  if not g.dma then out.store = plain_block(g, store_ops(g)) end
  out.q_load, out.q_turn = {}, {}
  for b = 0, g.blocks - 1 do
    out.q_load[b], out.q_turn[b] = plain_block(g, q_load_ops(g, b)), plain_block(g, q_turn_ops(g, b))
  end
  local _, all = plan.q_landing(g, 0, 0, 0)
  out.q_at_once = all
  if g.ahead then
    out.first = iteration_blocks(g, { qk = true }, 0, 1)
    out.body = iteration_blocks(g, { tail = true, qk = true, pv = true, rest = true, copy = true, step = true }, leave, 2)
    out.final = iteration_blocks(g, { tail = true, pv = true }, 0, 1)
  else
    out.body = iteration_blocks(g, { qk = true, pv = true, copy = true, step = true }, leave, 2)
  end
  return out
end

return loop
