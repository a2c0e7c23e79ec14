-- Streams of mla_decode/mfma_lds that compute: matrix instructions, the LDS reads that feed them, joins of V, softmax.
-- Positions count matrix instructions. See gen/ops/mla_decode/plans/mfma_lds_loop.lua for how the streams are laid over each
-- other.
local plan = require("ops/mla_decode/plans/mfma_lds")

local compute = {}

local UNIT = require("weave").UNIT

local function op(format, ...) return { asm = format:format(...) } end

-- ---- matrix instructions ------------------------------------------------------------------------
-- as: a type other than the tile's.
local function mfma(g, shape, d, a, b, c, as)
  return op("%s %s, %s, %s, %s", shape[(as or g.f16) and (as or "f16") or "bf16"], d, a, b, c)
end

-- S^T = K Q^T: fragment f of K serves all blocks; its two halves are two MFMAs, or one where the target has k = 32.
function compute.add_qk(g, main, use)
  for f = 0, g.nk - 1 do
    use.k[f] = { first = #main, last = #main + g.per_fragment * g.blocks - 1 }
    for h = 0, g.per_fragment - 1 do
      for b = 0, g.blocks - 1 do
        main[#main + 1] = { qk = { f = f, h = h, b = b } } -- its registers follow once the quads are placed
      end
    end
  end
end

-- O^T += V^T P^T over columns 128j ..: operand c serves all blocks. kept: the V rows came with the iteration before.
function compute.add_pv(g, main, use, j, kept, floor)
  local group = { j = j, index = #use.v + 1, kept = kept, at = {}, floor = floor }
  use.v[group.index] = group
  for c = 0, 7 do
    group.at[c] = #main
    for b = 0, g.blocks - 1 do
      local slot = plan.op(g, c)
      local o = plan.o(g, b, j, c)
      local m = mfma(g, g.isa.mfma.m16n16k16, o, ("v[%d:%d]"):format(slot, slot + 1), plan.p(g, b, j), o)
      m.need = {}
      if not kept or c >= 2 then m.need[1] = ("op%d.%d"):format(group.index, c) end
      if not kept then m.need[#m.need + 1] = "P" .. (g.inside and j or b) end
      main[#main + 1] = m
    end
  end
end

-- ---- LDS reads and where they land --------------------------------------------------------------
-- Address register and offset of K fragment f: columns 32f .. 32f+31 of all 16 rows.
function compute.k_source(g, f)
  if f < g.nk_c then return "ka" .. f % 2, 64 * (f - f % 2) end
  local i = f - g.nk_c
  return "kr" .. i % 2, 64 * (i - i % 2)
end

-- Places reads in the pool: each gets a quad that is free by the time it is wanted, else it waits for the first to
-- become free. requests: { need =, free =, want =, quad = forced or nil, make = function(quad) }; busy[q]: position
-- until which a quad is taken.
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

-- Position of the join (v_perm) number i of a group's operand c: up to two operands ahead of its first MFMA, not before
-- the group's floor.
local function join_at(g, group, c, i)
  local from = (group.at[c] - 2 * g.blocks) * UNIT
  return math.max(from + (2 * i + 1) * g.blocks * UNIT // 4, group.floor or from)
end

local function join_op(g, quads, c, i)
  local slot, d = plan.op(g, c), c // 2
  local first, second = g.pool + 4 * quads[2 * i] + d, g.pool + 4 * quads[2 * i + 1] + d
  return op("v_perm_b32 v%d, v%d, v%d, %%[%s]", slot + i, second, first, c % 2 == 0 and "lo" or "hi")
end

local EARLY = 2 -- operands of the kept columns that are joined before the iteration ends

function compute.joins(g, use, main_end, keep)
  local out = {}
  for _, group in ipairs(use.v) do
    for c = group.kept and EARLY or 0, 7 do
      for i = 0, 1 do
        local o = join_op(g, group.quads, c, i)
        o.at = join_at(g, group, c, i)
        local row = "V" .. group.index .. "."
        if not group.kept then o.need = { row .. 2 * i, row .. 2 * i + 1 } end
        out[#out + 1] = o
        o.give = i == 1 and ("op%d.%d"):format(group.index, c) or nil
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
function compute.reads(g, main, use, from, keep)
  local requests, busy, fragment = {}, {}, {}
  for q = 0, g.quads - 1 do busy[q] = from - 1 end
  for f, u in sorted(use.k) do
    requests[#requests + 1] = {
      need = u.first * UNIT, free = u.last * UNIT,
      want = math.max(from, (u.first - math.max(12, 6 * g.blocks)) * UNIT),
      make = function(q)
        fragment[f] = q
        local name, offset = compute.k_source(g, f)
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
        need = last, free = #main * UNIT, quad = r,
        want = math.max(from, last - 10 * g.blocks * UNIT + r),
        make = function(q) return read_v(g, q, r, keep, "kept" .. r) end,
      }
    end
  end
  local list = place(g, requests, busy)
  for i, m in ipairs(main) do
    if m.qk then
      local rope = g.inside and m.qk.f >= g.nk_c
      local d = plan.s(g, m.qk.b, g.inside and m.qk.f // 4 or 0)
      local c = m.qk.f % (g.inside and 4 or g.nk) + m.qk.h == 0 and "0" or d -- the first starts from 0
      if g.per_fragment == 1 then
        main[i] = mfma(g, g.isa.mfma.m16n16k32, d, plan.quad(g, fragment[m.qk.f]), plan.q(g, m.qk.b, m.qk.f), c,
          rope and "bf16")
      else
        local reg = g.pool + 4 * fragment[m.qk.f] + 2 * m.qk.h
        main[i] = mfma(g, g.isa.mfma.m16n16k16, d, ("v[%d:%d]"):format(reg, reg + 1), plan.q(g, m.qk.b, m.qk.f, m.qk.h), c,
          rope and "bf16")
      end
      main[i].need = { "K" .. m.qk.f }
    end
  end
  return list
end

-- ---- softmax ------------------------------------------------------------------------------------
-- inside: the sums of each group of columns times their token's scale, and those of the rope columns; times the tokens' unit by
-- its logarithm.
function compute.join_sums(g, list, b)
  local first, rope = g.s + 4 * g.sums * b, g.s + 4 * (g.sums * b + g.nj)
  for r = 0, 3 do list[#list + 1] = op("v_mul_f32 v%d, v%d, v%d", first + r, g.s_scales + r, first + r) end
  for i = 1, g.nj - 1 do
    for r = 0, 3 do
      list[#list + 1] = op("v_fmac_f32 v%d, v%d, v%d", first + r, g.s_scales + 4 * i + r, first + 4 * i + r)
    end
  end
  list[#list + 1] = op("v_cvt_f32_i32 v%d, v%d", g.tmp, g.unit)
  list[#list + 1] = op("v_ldexp_f32 v%d, 1.0, v%d", g.inverse, g.unit)
  if g.columns then list[#list + 1] = op("v_add_f32 v%d, v%d, v%d", g.tmp, g.tmp, g.m + b) end -- less m
  for r = 0, 3 do list[#list + 1] = op("v_fma_f32 v%d, %%[sv%d], v%d, -v%d", g.x + 4 * b + r, b, first + r, g.tmp) end
  for r = 0, 3 do list[#list + 1] = op("v_fmac_f32 v%d, %%[scale], v%d", g.x + 4 * b + r, rope + r) end
end

-- inside: reads of the scales: of V that an iteration multiplies, from position `from` on, where the barrier stands; and behind
-- `tail`, the last uses of those before, of S whose products it makes.
function compute.scale_reads(g, what, from, tail)
  local list = {}
  local function add(at, format, ...)
    list[#list + 1] = op(format, ...)
    list[#list].at = at
  end
  for i = 0, what.pv and g.nj - 1 or -1 do
    local v = g.v_scales + 2 * i
    add(from, "ds_read_b64 v[%d:%d], %%[vsa] offset:%d", v, v + 1, 32 * i)
    list[#list].give = "scales" .. i
  end
  for i = 0, what.qk and g.nj - 1 or -1 do
    local s = g.s_scales + 4 * i
    add((tail + i) * UNIT, "ds_read_b128 v[%d:%d], %%[ssa] offset:%d", s, s + 3, i // 2 * g.scales_lane + i % 2 * 64)
  end
  if what.qk then add((tail + g.nj) * UNIT, "ds_read_b32 v%d, %%[ssa] offset:%d", g.unit, g.units_at) end
  return list
end

-- Scores in base 2, and whether any exceeds its row's m by more than the slack.
function compute.scale_ops(g)
  local list = {}
  if g.inside then
    for b = 0, g.blocks - 1 do compute.join_sums(g, list, b) end
    return list
  end
  for b = 0, g.blocks - 1 do
    local scale = g.cache and "sv" .. b or "scale" -- rows of Q have powers of two of their own
    for r = 0, 3 do list[#list + 1] = op("v_mul_f32 v%d, %%[%s], v%d", g.x + 4 * b + r, scale, g.s + 4 * b + r) end
  end
  return list
end

function compute.test_ops(g)
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
  for r = 0, g.columns and -1 or 3 do list[#list + 1] = op("v_sub_f32 v%d, v%d, v%d", x + r, x + r, g.m + b) end
  for r = 0, 3 do list[#list + 1] = op("v_exp_f32 v%d, v%d", x + r, x + r) end
  for r = 0, 3 do
    if g.inside then list[#list + 1] = op("v_fmac_f32 v%d, v%d, v%d", g.l + b, g.inverse, x + r) -- without units
    else list[#list + 1] = op("v_add_f32 v%d, v%d, v%d", g.l + b, g.l + b, x + r) end
    if g.cvt_bf16 then -- below
    elseif g.columns and not g.f16 then -- to nearest, a tie upwards: one in 2^16 is a tie
      list[#list + 1] = op("v_add_u32 v%d, %%[half], v%d", x + r, x + r)
    elseif g.f16 then
      list[#list + 1] = op("v_cvt_f16_f32 v%d, v%d", x + r, x + r)
    else -- to nearest even: add 0x7fff and the lowest bit kept
      local t = g.tmp + r % 2
      list[#list + 1] = op("v_bfe_u32 v%d, v%d, 16, 1", t, x + r)
      list[#list + 1] = op("v_add3_u32 v%d, v%d, v%d, %%[half]", x + r, x + r, t)
    end
  end
  for i = 0, 1 do
    if g.cvt_bf16 then list[#list + 1] = op("v_cvt_pk_bf16_f32 v%d, v%d, v%d", p + i, x + 2 * i, x + 2 * i + 1)
    elseif g.f16 then list[#list + 1] = op("v_pack_b32_f16 v%d, v%d, v%d", p + i, x + 2 * i, x + 2 * i + 1)
    else list[#list + 1] = op("v_perm_b32 v%d, v%d, v%d, %%[hi]", p + i, x + 2 * i + 1, x + 2 * i) end
  end
  list[#list].give = g.inside and "P" or "P" .. b
  for i = 0, g.inside and g.columns and 1 or -1 do
    list[#list + 1] = op("v_pk_mul_f16 v%d, v%d, v%d", g.scaled_p + i, p + i, g.v_scales + i)
  end
  for j = 0, g.inside and not g.columns and g.nj - 1 or -1 do
    for i = 0, 1 do
      list[#list + 1] = op("v_pk_mul_f16 v%d, v%d, v%d", g.scaled_p + 2 * j + i, p + i, g.v_scales + 2 * j + i)
      list[#list].need = { "scales" .. j }
    end
    list[#list].give = "P" .. j
  end
  return list
end

-- The sum of what was packed: O is divided by this one, so that the rounding of a heavy weight cancels.
function compute.packed_sum_ops(g)
  local list = {}
  for b = 0, g.blocks - 1 do
    for i = 0, 1 do
      local p, t, n = g.p + 2 * b + i, g.tmp + i, g.n + b
      if g.inside then
        list[#list + 1] = op("v_dot2_f32_f16 v%d, v%d, %%[ones], %s", g.tmp, p, i == 0 and "0" or "v" .. g.tmp)
        if i == 1 then list[#list + 1] = op("v_fmac_f32 v%d, v%d, v%d", n, g.inverse, g.tmp) end
      elseif g.f16 then
        list[#list + 1] = op("v_dot2_f32_f16 v%d, v%d, %%[ones], v%d", n, p, n)
      else
        list[#list + 1] = op("v_lshlrev_b32 v%d, 16, v%d", t, p)
        list[#list + 1] = op("v_add_f32 v%d, v%d, v%d", n, n, t)
        list[#list + 1] = op("v_and_b32 v%d, 0xffff0000, v%d", t, p)
        list[#list + 1] = op("v_add_f32 v%d, v%d, v%d", n, n, t)
      end
      list[#list].need = { g.inside and "P" or "P" .. b }
    end
  end
  return list
end

function compute.softmax_ops(g)
  local list = {}
  for b = 0, g.blocks - 1 do
    for _, o in ipairs(softmax_block(g, b)) do list[#list + 1] = o end
  end
  return list
end

return compute
