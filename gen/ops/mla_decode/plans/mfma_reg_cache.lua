-- Operands that mfma_reg_cache makes of an 8-bit cache's bytes, and what a lane holds and loads for 16 tokens. The template and
-- its family's table both ask here. `p` is the problem, `v` the point, `isa` the target's facts.
local ceil_div = require("whole").ceil_div
local parts = require("parts")
local plan = {}

-- The encoding that v_cvt_pk_f32_fp8 reads, by architecture; gfx90a has no such instruction.
local CVT = { cdna3 = "e4m3fnuz", cdna4 = "e4m3fn" }

-- VALU instructions for four bytes of K, and for a dword of each of V's four tokens, by the way to operands.
local K_VALU = { cvt = 4, bits = 8, powers = 8 } -- bits and powers: the test for NaN as well
local V_VALU = { cvt = 16, bits = 24, halved = 32 }

-- FIT_PACE of one group of rows (plans/fit_wave.lua): bytes halve what a token takes among others, and decoding them takes a
-- workgroup alone as long as ever. Modelled on gfx942: 1.45, 1.9 and 2.5 us for 64 tokens alone, 2.7 and 3.0 at 4.2 TB/s.
local PACE = { cvt = 50, bits = 70, inside = 85, powers = 85 }

-- Ways to operands (templates/mla_decode/mfma_reg_cache/bytes.h) and their types.
local function types(p, isa)
  local f = parts.of("mla_decode", p.cache)
  local fnuz, inside = f.fnuz, f.tiles
  local cvt = CVT[isa.family] == (fnuz and "e4m3fnuz" or "e4m3fn")
  local lifts = isa.family == "cdna2" -- its MFMA takes subnormals for 0
  local size = fnuz and 128 or 256    -- a byte's value over that of its bits
  local other = CVT[isa.family] == "e4m3fnuz" and "halved" or "bits" -- of e4m3fn where that instruction doubles it
  local g = { how = cvt and "cvt" or "bits", lifts = lifts, score = cvt and p.dtype or "f16" }
  g.k_unit = (cvt or lifts) and 1 or size
  g.value, g.how_v, g.v_unit, g.terms = g.score, g.how, g.k_unit, 1
  if inside then -- P times a scale takes bf16's range
    g.value, g.how_v, g.terms = "bf16", cvt and "cvt" or other, 2
    g.v_unit = g.how_v == "halved" and 2 or g.how_v == "bits" and size or 1
  end
  if f.powers then -- bytes times their token's powers of two as bf16
    g.how, g.score, g.value, g.k_unit = "powers", "bf16", "bf16", 1
    g.how_v = cvt and "cvt" or other
    g.v_unit = g.how_v == "halved" and 2 or g.how_v == "bits" and size or 1 -- of Q's columns and O's
  end
  -- P's rounding: towards zero where f16's is far below that of O
  g.pack = g.value == "f16" and p.dtype == "bf16" and "exact_f16" or "round_" .. g.value
  return g
end

function plan.make(p, v, isa)
  local f, g = parts.of("mla_decode", p.cache), types(p, isa)
  local inside, powers, apart = f.tiles, f.powers, f.one_scale and f.rope.place == "tensor"
  local wide = inside or apart -- rope columns of 16 bits
  g.bytes = powers and f.own.latent or wide and p.rank or p.rank + p.rope -- of a row that are K
  g.half = g.bytes % 64 == 32
  g.nq_bytes = g.bytes // 32
  g.nq = (p.rank + p.rope) // 32
  g.v_bytes = not inside and not powers and p.rank % 256 == 0 and 16 or 8
  g.nj = ceil_div(p.rank, 16 * g.v_bytes)
  local k_loads = ceil_div(g.bytes, 64) + (wide and p.rope // 32 or 0) + (inside and 4 or 0) + (powers and 7 or 0)
  g.loads = k_loads + 4 * g.nj + 2
  g.o_regs = 4 * g.v_bytes * g.nj * v.blocks
  g.groups = inside and ceil_div(p.rank, 128) or 1 -- of columns that share a scale
  g.s_regs = (wide and 4 + 4 * g.groups or 4) * v.blocks
  g.p_regs = 2 * g.terms * g.groups * v.blocks
  g.kv_regs = g.bytes // 16 + (wide and p.rope // 8 or 0) + (inside and 32 or 0) + g.v_bytes * g.nj + (powers and 26 or 0)
  if f.rope.place == "page" then g.kv_regs = g.kv_regs + 8 -- addresses of what lies elsewhere
  elseif apart or inside and f.scales.place == "tensor" then g.kv_regs = g.kv_regs + 4 end
  g.q_regs = v.qsrc == "reg" and 4 * g.nq * v.blocks or 16
  g.valu = K_VALU[g.how] * g.bytes // 16 + V_VALU[g.how_v] * g.v_bytes // 4 * g.nj
  if powers then g.valu = g.valu + 280 end -- products, scales, and V's last columns in both types
  g.p_valu = inside and 20 * g.groups or 0 -- beside what a row's softmax takes
  g.held = g.q_regs + g.o_regs + g.s_regs + g.p_regs + g.kv_regs
  g.scores_in_v = g.o_regs + g.s_regs > 256 -- S does not fit beside O in the accumulators
  g.rest = v.schedule == "splits" and 64 or 80 -- addresses and temporaries
  g.pace = math.min(100, PACE[inside and "inside" or g.how] * ceil_div(p.heads * p.q_len, 16 * v.blocks))
  g.occupancy = g.held + g.rest + 16 <= 256 and 2 or 1 -- 16: of Q, as it is scaled (7 spilled, seen)
  g.strip = (v.waves <= 4 and 32 or 16) // g.v_bytes -- registers of an O block that one merge step takes
  g.strip_cols = 4 * g.strip * g.v_bytes
  local merge = 4 * v.waves * 16 * (g.strip_cols + 4) + 16 * v.waves * 16 * v.blocks
  g.lds_bytes = math.max(merge, v.qsrc == "lds" and 1024 * g.nq * v.blocks or 0)
  return g
end

return plan
