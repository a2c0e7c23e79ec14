-- Streams of mla_decode/mfma_lds_cache: bytes of an 8-bit cache become f16 between their registers and LDS, queries in bf16
-- between their loads and LDS. A byte in the upper half of 16 bits, shifted right by one, is the f16 that is 2^-8 of it, exactly
-- (e4m3fnuz: 2^-7).
local plan = require("ops/mla_decode/plans/mfma_lds")

local bytes = {}

local function add(list, format, ...) list[#list + 1] = { asm = format:format(...) } end

-- The staged registers of a unit: two for each 128 columns of the latent, then those of its rope columns.
function bytes.staged(g, u, s)
  local base = g.staged + u * g.stage_unit + 2 * s
  if s < g.segments or g.inside then return ("v[%d:%d]"):format(base, base + 1), "dwordx2" end
  return "v" .. base, "dword"
end

-- Four bytes in register x become two registers of f16 from `to` on.
local function widen(list, x, to)
  for i, from in ipairs({ "bytelo", "bytehi" }) do
    local d = to + i - 1
    add(list, "v_perm_b32 v%d, v%d, v%d, %%[%s]", d, x, x, from)
    add(list, "v_pk_ashrrev_i16 v%d, 1, v%d op_sel_hi:[0,1]", d, d)
    add(list, "v_and_b32 v%d, %%[bytekeep], v%d", d, d)
  end
end

-- Bit 7 of some byte of g.nan is set if one of the four is NaN.
local function look_for_nan(g, list, x, first)
  local t = first and g.nan or g.ctmp
  if g.fnuz then
    add(list, "v_xor_b32 v%d, %%[bytesign], v%d", g.ctmp + 1, x)
    add(list, "v_subrev_u32 v%d, %%[byteone], v%d", t, g.ctmp + 1)
    add(list, "v_bfi_b32 v%d, v%d, 0, v%d", t, g.ctmp + 1, t)
  else
    add(list, "v_and_b32 v%d, %%[bytelow], v%d", t, x)
    add(list, "v_add_u32 v%d, %%[byteone], v%d", t, t)
  end
  if not first then add(list, "v_or_b32 v%d, v%d, v%d", g.nan, g.nan, t) end
end

-- A token with a NaN has one in its last columns: those are K alone where it has rope columns.
local function tell_nan(g, list, to)
  add(list, "v_and_b32 v%d, %%[bytesign], v%d", g.nan, g.nan)
  add(list, "v_min_u32 v%d, 1, v%d", g.nan, g.nan)
  add(list, "v_mul_u32_u24 v%d, %s, v%d", g.nan, g.inside and "0x7fc0" or "0x7e00", g.nan)
  add(list, "v_or_b32 v%d, v%d, v%d", to, to, g.nan)
end

-- The unit of four tokens, a power of two: P is times their scales over it in f16, and in fp32 times the unit itself. The largest
-- scale is 2^6 and more of it, since P is up to 2^8. Exponents of units: sums of P in fp32 bear 2^100 between them.
local UNIT_BELOW, UNIT_LEAST, UNIT_MOST = 6, 127 - 56, 127 + 44
local UNIT, TOP = "s68", "s69" -- scalar registers

-- inside: the unit of a unit's four rows to v<g.ctmp>, as -log2, and 1 over it to UNIT. Lanes 0 and 1 of a row hold two scales
-- each; of a rank below 512 only the first nj are any.
local function find_unit(g, list, first)
  local one = g.nj % 2 == 1 -- the last lane that holds scales holds one
  add(list, "v_max_f32 v%d, |v%d|, |v%d|", g.ctmp, first, first + 1)
  for row = 0, 3 do
    for lane = 0, (g.nj - 1) // 2 do
      local only = one and lane == g.nj // 2
      add(list, "v_readlane_b32 %s, v%d, %d", row + lane == 0 and UNIT or TOP, only and first or g.ctmp, 16 * row + lane)
      if only then add(list, "s_and_b32 %s, %s, 0x7fffffff", row + lane == 0 and UNIT or TOP, row + lane == 0 and UNIT or TOP) end
      if row + lane > 0 then add(list, "s_max_u32 %s, %s, %s", UNIT, UNIT, TOP) end
    end
  end
  add(list, "s_lshr_b32 %s, %s, 23", UNIT, UNIT)
  add(list, "s_sub_i32 %s, %s, %d", UNIT, UNIT, UNIT_BELOW)
  add(list, "s_max_i32 %s, %s, %d", UNIT, UNIT, UNIT_LEAST)
  add(list, "s_min_i32 %s, %s, %d", UNIT, UNIT, UNIT_MOST)
  add(list, "s_sub_i32 %s, 127, %s", TOP, UNIT)
  add(list, "v_mov_b32 v%d, %s", g.ctmp, TOP)
  add(list, "s_sub_i32 %s, 254, %s", UNIT, UNIT)
  add(list, "s_lshl_b32 %s, %s, 23", UNIT, UNIT)
end

-- inside: scales lie in front of a row's rope columns.
local function store_scales(g, list, u, stage)
  local first = math.tointeger(tonumber(bytes.staged(g, u, g.segments + 1):match("%d+")))
  local group = 4 * g.waves * u
  if g.columns then return bytes.store_scales_masked(g, list, first, group, stage) end
  add(list, "ds_write2_b32 %%[wsa], v%d, v%d offset0:%d offset1:%d", first, first + 1, group, group + 16)
  find_unit(g, list, first)
  add(list, "ds_write_b32 %%[wsa], v%d offset:%d", g.ctmp, 4 * group + g.units_at)
  for i = 0, 1 do
    add(list, "v_mul_f32 v%d, %s, v%d", g.ctmp, UNIT, first + i)
    add(list, "v_cvt_f16_f32 v%d, v%d", g.ctmp, g.ctmp)
    add(list, "ds_write_b16 %%[wha], v%d offset:%d", g.ctmp, 2 * group + 32 * i)
  end
end

-- order=columns: lanes that hold no scales are switched off where those that do write.
function bytes.store_scales_masked(g, list, first, group, stage)
  local function masked(writes)
    local from = #list + 1
    add(list, "s_mov_b32 exec_lo, 0x30003")
    add(list, "s_mov_b32 exec_hi, 0x30003")
    for _, w in ipairs(writes) do add(list, "%s", w) end
    for i = from, #list do list[i].glue = true end
    add(list, "s_mov_b64 exec, -1")
  end
  find_unit(g, list, first)
  local writes = { ("ds_write_b32 %%[wsa], v%d offset:%d"):format(g.ctmp, 4 * group + g.units_at + stage) }
  for i = 0, 1 do
    writes[#writes + 1] = ("ds_write_b32 %%[wsa], v%d offset:%d"):format(first + i, 4 * group + 64 * i + stage)
  end
  masked(writes)
  for i = 0, 1 do
    add(list, "v_mul_f32 v%d, %s, v%d", g.ctmp, UNIT, first + i)
    add(list, "v_cvt_f16_f32 v%d, v%d", g.ctmp, g.ctmp)
    masked({ ("ds_write_b16 %%[wha], v%d offset:%d"):format(g.ctmp, 2 * group + 32 * i + stage) })
  end
end

-- Registers -> LDS. Groups of 4 rows: unit u of wave w holds rows 4(w + waves*u) ..
-- stage: bytes between the addresses at hand and the place of the tile.
function bytes.store_ops(g, stage)
  local list = {}
  for u = 0, g.units - 1 do
    local group, last = g.waves * u, g.segments - (g.rope > 0 and 0 or 1)
    for s = 0, last do
      local from = math.tointeger(tonumber(bytes.staged(g, u, s):match("%d+")))
      local dwords = s < g.segments and 2 or 1
      for d = 0, (s < g.segments or not g.inside) and dwords - 1 or -1 do
        widen(list, from + d, g.conv + 2 * d)
        look_for_nan(g, list, from + d, s + d == 0)
      end
      local own = g.inside and s == g.segments and from or g.conv -- rope columns of 16 bits stay as they are
      if s == last then tell_nan(g, list, own + 2 * dwords - 1) end
      if s < g.segments then
        add(list, "ds_write_b128 %%[wa], v[%d:%d] offset:%d", g.conv, g.conv + 3, 256 * s + 4 * group * g.row_bytes + stage)
      else
        add(list, "ds_write_b64 %%[wr], v[%d:%d] offset:%d", own, own + 1, 128 * (8 * (group // 2) + group % 2) + stage)
      end
    end
    if g.inside then store_scales(g, list, u, stage) end
  end
  return list
end

-- ---- Q in bf16 ----------------------------------------------------------------------------------
local function landed(g, b, i)
  local list = {}
  for unit = 0, (g.inside and g.nk_c or g.nk) // 2 - 1 do -- inside: rope columns are multiplied as they are
    local first = math.tointeger(tonumber(plan.q_landing(g, b, unit, i):match("%d+")))
    for r = first, first + 3 do list[#list + 1] = r end
  end
  return list
end

-- The largest magnitudes of this lane's two rows, two numbers of 16 bits each.
function bytes.q_most_ops(g, b)
  local list = {}
  for i = 0, 1 do
    for _, r in ipairs(landed(g, b, i)) do
      add(list, "v_and_b32 v%d, 0x7fff7fff, v%d", g.conv, r)
      add(list, "v_pk_max_u16 %%[qm%d], %%[qm%d], v%d", i, i, g.conv)
    end
  end
  return list
end

-- Both rows times a power of two each, as f16.
function bytes.q_narrow_ops(g, b)
  local list = {}
  for i = 0, 1 do
    for _, r in ipairs(landed(g, b, i)) do
      add(list, "v_lshlrev_b32 v%d, 16, v%d", g.conv, r)
      add(list, "v_and_b32 v%d, 0xffff0000, v%d", r, r)
      add(list, "v_mul_f32 v%d, %%[qf%d], v%d", g.conv, i, g.conv)
      add(list, "v_mul_f32 v%d, %%[qf%d], v%d", r, i, r)
      add(list, "v_cvt_pkrtz_f16_f32 v%d, v%d, v%d", r, g.conv, r)
    end
  end
  return list
end

return bytes
