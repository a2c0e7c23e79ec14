-- 32x32x8 matrix instructions of CDNA in assembly, 32 or 64 query tokens a wave. Fields: gen/ops.lua.
local plan = require("ops/mla_prefill/plans/mfma_asm")
local shape = require("ops/mla_prefill/shape")
local times = require("ops/mla_prefill/times").modelled.mfma_asm

return {
  template = "mla_prefill/mfma_asm",
  arch = { cdna3 = true, cdna4 = true },
  problem = shape.FIELDS,
  params = {
    blocks = { 1, 2 },        -- of 32 query tokens of a wave
  },
  rules = {
    shape.words_only,
    function(p)
      if p.nope ~= 64 and p.nope ~= 128 then return ("nope dim %d is not 64 or 128"):format(p.nope) end
      if p.rope % 64 ~= 0 then return ("rope dim %d is not 0 or 64"):format(p.rope) end
      if p.vdim ~= 128 then return ("value dim %d is not 128"):format(p.vdim) end
      if shape.qk(p) < 128 then return ("%d columns of K are fewer than 128"):format(shape.qk(p)) end
    end,
  },
  cost = function(p, v, arch)
    local g = plan.make(p, v, arch.isa)
    return {
      threads = plan.THREADS,
      rows_per_wg = g.rows,
      lds_bytes = g.lds_bytes,
      regs = { { "v", g.vgprs }, { "a", g.agprs } },
      step = plan.KEYS,
      round_clk = 32 * v.blocks * (g.qk // 8 + g.v // 8) + times.round_clk[v.blocks],
      tail_clk = times.tail_clk[v.blocks],
      any_lengths = true,
    }
  end,
}
