-- Register-only decode for CDNA. Fields: gen/ops.lua.
local plan = require("ops/mla_decode/plans/mfma_reg")
local shape = require("ops/mla_decode/shape")
local ceil_div, q_regs, o_regs, mfma_per_tile = shape.ceil_div, shape.q_regs, shape.o_regs, shape.mfma_per_tile

local modelled = require("ops/mla_decode/times").modelled.mfma_reg

-- Register-only: a wave takes `tile` tokens x all columns from global memory, no LDS and no barrier in the loop. The waves
-- of a workgroup take turns on the tokens of the same rows and merge their O through LDS at the end.
return {
  template = "mla_decode/mfma_reg",
  arch = shape.CDNA,
  problem = shape.DECODE_FIELDS,
  optional = shape.knows("fragments"),
  params = {
    blocks = { 1, 2 },                  -- 16-row blocks per wave
    kvload = { "temporal", "nt" },      -- cache policy of the cache's loads
    psplit = { 1, 2 },                  -- 2: the rounding error of P goes through a second MFMA
    qsrc = { "reg", "lds" },            -- where Q lives during the loop
    rescale = { "always", "lazy" },     -- rescale O each tile, or only when the maximum grew by more than 8
    schedule = shape.SCHEDULES,
    tile = { 16, 32 },                  -- tokens of a wave's step
    waves = { 1, 2, 4, 8 },             -- waves per workgroup, each with its own tokens
  },
  rules = {
    shape.plain_rule,
    shape.schedule_rule,
    function(p, v)
      if v.psplit == 2 and p.dtype ~= "bf16" then return "psplit 2 recovers bf16 rounding: no use for " .. p.dtype end
    end,
    function(p, v)
      if v.schedule == "fitted" and v.qsrc == "lds" and p.rope == 0 and p.rank > 256 then
        return "schedule=fitted: with Q in LDS and no rope the walk spills scalar registers (15 at 512, seen)"
      end
    end,
    function(p, v, arch)
      local loads = v.tile // 16 * ((p.rank + p.rope) // 32 + 4 * ceil_div(p.rank, 128) + 2)
      if loads > arch.isa.vmcnt_max then
        return ("%d loads in flight > %d that vmcnt counts"):format(loads, arch.isa.vmcnt_max)
      end
    end,
  },
  -- `more`: parts that a family of the same body holds beside these.
  cost = function(p, v, arch, more)
    local nk, nj, subs = (p.rank + p.rope) // 32, ceil_div(p.rank, 128), v.tile // 16
    local piece = v.waves <= 4 and 4 or 2 -- registers of an O block that one merge step takes
    local merge = 4 * v.waves * 16 * (32 * piece + 4) + 16 * v.waves * 16 * v.blocks
    local rescale = v.rescale == "always" and 5 * o_regs(p) * v.blocks // 2 or 4 -- O lives in accumulators: out, times, in
    local held = { { "q", v.qsrc == "reg" and q_regs(p) * v.blocks or 16 }, { "o", o_regs(p) * v.blocks },
      { "k and v", subs * (4 * nk + 16 * nj) }, { "s", 4 * subs * v.blocks } }
    for _, part in ipairs(more or {}) do held[#held + 1] = part end
    return shape.scheduled({
      threads = 64 * v.waves,
      rows_per_wg = 16 * v.blocks,
      lds_bytes = math.max(merge, v.qsrc == "lds" and 1024 * nk * v.blocks or 0),
      regs = plan.regs(held, p, v, arch.isa),
      slack = plan.slack(p, v, arch.isa),
      step = v.tile * v.waves,
      wave = {
        mfma = subs * v.blocks * mfma_per_tile(p, v.psplit, arch.isa, v.tile == 32),
        issue = subs * (64 * nj // 4 + nk + 4 * nj + (40 + 8 * v.psplit) * v.blocks) + rescale
          + (v.qsrc == "lds" and nk * v.blocks or 0),
        lds_read = v.qsrc == "lds" and 1024 * nk * v.blocks or 0,
      },
      wg = { lds_write = 0, barriers = 0, tail_clk = modelled.tail_clk + modelled.tail_row_clk * nj * v.waves * v.blocks * 16 },
      inflight = subs * (nk + 4 * nj) * 1024,
      streaming = v.kvload == "nt",
      stall_clk = modelled.stall_clk + (v.qsrc == "lds" and modelled.stall_q_clk or 0),
    }, v)
  end,
}
