-- Streams of mla_decode/mfma_lds that fetch: tiles of the cache into LDS, page ids, Q into its registers.
local plan = require("ops/mla_decode/plans/mfma_lds")
local bytes = require("ops/mla_decode/plans/mfma_lds_cache")

local copy = {}

local function op(format, ...) return { asm = format:format(...) } end
local function add(list, format, ...) list[#list + 1] = op(format, ...) end

-- Exact unsigned division of x < 2^31 by d > 1, not a power of two: mulhi(x, magic) >> shift.
function copy.magic(d)
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
    local _, shift = copy.magic(g.page)
    add(list, "v_mul_hi_u32 v%d, v%d, %%[magic]", x, x)
    k = shift
  end
  if k > 0 then add(list, "v_lshrrev_b32 v%d, %d, v%d", x, k, x) end
  add(list, "v_lshlrev_b32 v%d, 2, v%d", x, x)
end

-- Pages smaller than a tile: cache row of this lane's token of unit u into v<t>.
local function row_ops(g, list, u)
  local id, t = g.idx + u, g.ctmp
  local bad = g.bad and "v" .. g.bad or "%[bad]"
  add(list, "v_max_u32 %s, %s, v%d", bad, bad, id)
  add(list, "v_min_u32 v%d, %%[maxid], v%d", t, id)
  if g.page > 1 then
    local k, x, q = log2(g.page), t + 1, g.addr
    add(list, "v_add_u32 v%d, %%[tok], %%[row%d]", x, u)
    add(list, "v_min_u32 v%d, %%[last], v%d", x, x)
    if k then
      add(list, "v_and_b32 v%d, %d, v%d", x, g.page - 1, x)
      add(list, "v_lshl_or_b32 v%d, v%d, %d, v%d", t, t, k, x)
    else
      local _, shift = copy.magic(g.page)
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
  if g.based then
    add(list, "v_mov_b32 v%d, %%[tokn]", x)
    page_offset(g, list, x)
  elseif g.whole then
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
  if g.based then add(list, "s_and_b32 s65, %%[tok], %d", g.page - 1) end
  add(list, "s_add_u32 s68, s68, %s", g.based and "s65" or "%[pos]")
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

-- A dword per lane from `source` to LDS, where M0 says.
local function dma(g, list, source) add(list, "%s %s%s", g.isa.dma.name, source, g.isa.dma.flag) end

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
    if h == 0 then add(list, "s_mov_b32 m0, %%[ml%d]", u)
    else add(list, "s_add_u32 m0, %%[ml%d], %d", u, 4 * g.row_bytes) end
    for s = 0, g.nj - 1 do
      if g.whole then dma(g, list, ("%%[la%d], s[64:65] offset:%d"):format(2 * u + h, 256 * s))
      else dma(g, list, ("%%[la%d], s[%d:%d] offset:%d"):format(u, 64 + 2 * h, 65 + 2 * h, 256 * s)) end
    end
  end
  if rope then
    add(list, "s_mov_b32 m0, %%[mr%d]", u)
    dma(g, list, rope)
  end
end

-- Registers of a staged load.
local function staged(g, u, s)
  if g.cache then return bytes.staged(g, u, s) end
  local base = g.staged + u * g.stage_unit + 4 * s
  if s < g.segments then return ("v[%d:%d]"):format(base, base + 3), "dwordx4", "b128" end
  if g.rope == 64 and g.halves == 1 then return ("v[%d:%d]"):format(base, base + 1), "dwordx2", "b64" end
  return "v" .. base, "dword", "b32"
end

-- Whole pages, order=columns: this lane's address as a vector, since scalar registers are not kept where the border's compiled
-- code stands. part: 0 latent, 2 rope.
local function lane_address(g, list, part, offset)
  local v, s = g.addr + part, 64 + part
  add(list, "v_mad_u64_u32 v[%d:%d], vcc, %%[%s], 1, s[%d:%d]", v, v + 1, offset, s, s + 1)
  list[#list].based = true
  return ("v[%d:%d], off"):format(v, v + 1)
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
  elseif g.based then
    latent, rope = lane_address(g, list, 0, ("la%d"):format(u)), g.rope > 0 and lane_address(g, list, 2, ("lr%d"):format(u))
  end
  for s = 0, g.segments - (g.rope > 0 and 0 or 1) do
    local regs, width = staged(g, u, s)
    if s < g.segments then add(list, "global_load_%s %s, %s offset:%d", width, regs, latent, (g.cache and 128 or 256) * s)
    else add(list, "global_load_%s %s, %s", width, regs, rope) end
  end
  if g.inside then add(list, "global_load_dwordx2 %s, %s offset:-16", bytes.staged(g, u, g.segments + 1), rope) end
end

-- Registers -> LDS. Groups of 4 rows: unit u of wave w holds rows 4(w + waves*u) .. stage: bytes between the addresses at hand
-- and the place of the tile.
function copy.store_ops(g, stage)
  stage = stage or 0
  if g.cache then return bytes.store_ops(g, stage) end
  local list = {}
  for u = 0, g.units - 1 do
    local group = g.waves * u
    for s = 0, g.segments - (g.rope > 0 and 0 or 1) do
      local regs, _, width = staged(g, u, s)
      local rows = 4 * group * g.row_bytes
      if s < g.segments then add(list, "ds_write_%s %%[wa], %s offset:%d", width, regs, 256 * s + rows + stage)
      else add(list, "ds_write_%s %%[wr], %s offset:%d", width, regs, 128 * (8 * (group // 2) + group % 2) + stage) end
    end
  end
  return list
end

-- The ids of a tile alone: where the pipeline starts.
function copy.id_ops(g)
  local list = {}
  for u = 0, g.n_idx - 1 do next_id(g, list, u) end
  return list
end

-- The copy of one tile: addresses from the ids at hand, the ids of the next tile, the data. An id is fetched as soon as
-- its register is free, so that a wait for it can leave the data behind it under way. Returns the list and how many
-- loads that is.
function copy.tile_ops(g)
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

-- ---- Q ------------------------------------------------------------------------------------------
-- Q's rows are fetched as rows (8 lanes: 128 bytes of one) and turned into B operands (lane l: row l%16) through LDS,
-- 16 rows x 64 columns at a time: one place per wave, LDS keeps a wave's accesses in order.
function copy.q_load_ops(g, b)
  local list = {}
  for unit = 0, (g.nk - 1) // 2 do
    -- 32 columns left, which lanes beyond repeat; or those of another tensor.
    local half = 2 * unit + 1 >= g.nk or g.q_apart and 64 * unit >= g.q_apart
    for i = 0, 1 do
      local to = plan.q_landing(g, b, unit, i)
      if half then add(list, "global_load_dwordx4 %s, %%[qt%d], off", to, i)
      else add(list, "global_load_dwordx4 %s, %%[qa%d], off offset:%d", to, i, 128 * unit) end
    end
  end
  return list
end

-- Nobody waits for the reads here: the border of the first tile waits for everything in LDS before a product uses them.
function copy.q_turn_ops(g, b)
  local list = {}
  for unit = 0, (g.nk - 1) // 2 do
    for i = 0, 1 do add(list, "ds_write_b128 %%[qw], %s offset:%d", (plan.q_landing(g, b, unit, i)), 1024 * i) end
    for h = 0, math.min(1, g.nk - 1 - 2 * unit) do
      local at_reg = (b * g.nk + 2 * unit + h) * 4
      add(list, "ds_read_b128 a[%d:%d], %%[qr%d]", at_reg, at_reg + 3, h)
    end
  end
  return list
end

return copy
