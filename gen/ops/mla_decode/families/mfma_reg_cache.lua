-- Register-only decode over caches of 8 bits for CDNA: mfma_reg for rows of bytes. Fields: gen/ops.lua.
local plan = require("ops/mla_decode/plans/mfma_reg_cache")
local shape = require("ops/mla_decode/shape")

local modelled = require("ops/mla_decode/times").modelled.mfma_reg

-- Tenths of an instruction that a conversion takes: most are of eight bytes, whose fetch is not hidden (modelled: a sixth of all
-- clocks).
local LONG = 14

return {
  template = "mla_decode/mfma_reg_cache",
  arch = shape.CDNA,
  problem = shape.CACHE_FIELDS,
  optional = shape.knows("fragments", "fp8_q"),
  params = {
    blocks = { 1, 2 },                  -- 16-row blocks per wave, which share a tile's conversions
    qsrc = { "reg", "lds" },
    rescale = { "always", "lazy" },
    schedule = shape.SCHEDULES,
    waves = { 1, 2, 4, 8 },
  },
  rules = {
    shape.cache_rule,
    shape.columns_rule,
    shape.schedule_rule,
    function(p, v, arch)
      local g = plan.make(p, v, arch.isa)
      if g.loads > arch.isa.vmcnt_max then
        return ("%d loads in flight > %d that vmcnt counts"):format(g.loads, arch.isa.vmcnt_max)
      end
      if v.waves > 4 * g.occupancy then
        return ("%d waves do not fit a compute unit at %d registers"):format(v.waves, g.held)
      end
    end,
  },
  cost = function(p, v, arch)
    local g = plan.make(p, v, arch.isa)
    local k32 = arch.isa.mfma.m16n16k32
    local rescale = v.rescale == "always" and 5 * g.o_regs // 2 or 4 -- O lives in accumulators: out, times, in
    return shape.scheduled({
      threads = 64 * v.waves,
      rows_per_wg = 16 * v.blocks,
      lds_bytes = g.lds_bytes,
      regs = { { "q", g.q_regs }, { "o", g.o_regs }, { "k and v", g.kv_regs }, { "s", g.s_regs }, { "p", g.p_regs },
        { "rest", g.rest } },
      slack = v.blocks == 2 and 56 or 16,
      step = 16 * v.waves,
      wave = {
        mfma = v.blocks * ((p.rank + p.rope) // (k32 and 32 or 16) + g.terms * g.v_bytes * g.nj),
        issue = LONG * g.valu // 10 + g.loads + (40 + g.p_valu) * v.blocks + rescale + (v.qsrc == "lds" and g.nq * v.blocks or 0),
        lds_read = v.qsrc == "lds" and 1024 * g.nq * v.blocks or 0,
      },
      wg = { lds_write = 0, barriers = 0,
        tail_clk = modelled.tail_clk + modelled.tail_row_clk * shape.ceil_div(p.rank, 128) * v.waves * v.blocks * 16 },
      inflight = 64 * (4 * g.kv_regs),
      stall_clk = modelled.stall_clk + (v.qsrc == "lds" and modelled.stall_q_clk or 0),
    }, v)
  end,
}
