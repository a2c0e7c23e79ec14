-- Shared-tile decode for CDNA. Fields: gen/ops.lua.
local lds_plan = require("ops/mla_decode/plans/mfma_lds")
local shape = require("ops/mla_decode/shape")
local modelled = require("ops/mla_decode/times").modelled.mfma_lds
local ceil_div, o_regs, mfma_per_tile = shape.ceil_div, shape.o_regs, shape.mfma_per_tile

-- Heads from which order=columns is worth its partial results of 16 bits: with fewer they save nothing, and cost accuracy (4
-- heads through vLLM, drafts: errors of log p 1.1 to 1.2 times those of fp32).
local FEW = 16

-- Combine kernels behind order=columns.
local NARROW = { splits = "combine_16", fitted = "combine_fitted_16" }
-- The merge behind one split of order=columns: a batch that is cut has many rows of few pieces each. 128 heads, modelled, us by
-- rows=4,team=2 and by this: 128 x 4096 248.4, 245.0; uniform, 128 x 1024 95.7, 93.2; 48 x 1024 52.5, 51.5; 64 heads, 128 x
-- 1024 71.1, 71.1.
local BEHIND = "rows=8,team=1"

-- Shared tile: one row-major tile of 16 tokens in LDS serves K and V^T of all waves; each wave owns its own rows. Registers
-- and LDS are laid out by gen/ops/mla_decode/plans/mfma_lds.lua, for the template and for this table alike.
return {
  template = "mla_decode/mfma_lds",
  arch = shape.CDNA,
  problem = shape.DECODE_FIELDS,
  optional = shape.knows("lds"),
  params = {
    blocks = { 1, 2, 4 },               -- 16-row blocks per wave
    load = { "dma", "vgpr" },           -- direct-to-LDS copies, or through registers
    -- ahead: QK of the next tile before PV of this one; columns: a wave makes scores of its rows, and 128 columns of O of all
    order = { "plain", "ahead", "columns" },
    rescale = { "always", "lazy" },
    schedule = shape.SCHEDULES,
    stages = { 2, 3 },                  -- tiles in the LDS ring
    waves = { 1, 2, 3, 4, 5, 6, 8 },
  },
  rules = {
    shape.plain_rule,
    shape.schedule_rule,
    function(p)
      if p.rank % 128 ~= 0 then return ("rank %d is not a multiple of 128"):format(p.rank) end
    end,
    function(p, v)
      if v.load == "vgpr" and v.waves ~= 8 and 4 % v.waves ~= 0 then
        return ("load=vgpr deals rows to 1, 2, 4 or 8 waves, not %d"):format(v.waves)
      end
      if v.load == "vgpr" and v.waves == 8 and (p.rank % 256 ~= 0 or p.rope == 32) then
        return ("load=vgpr halves rows for 8 waves: rank %d must be a multiple of 256 and rope %d not 32"):format(p.rank, p.rope)
      end
    end,
    function(p, v)
      if v.load == "dma" and v.waves == 1 then return "load=dma: the 16 copy addresses of 1 wave exceed its scalar registers" end
      if v.load == "dma" and v.order == "plain" and v.stages == 3 and 8 % v.waves ~= 0 then
        return ("order=plain keeps 2 copies in flight: %d waves copy into spare places"):format(v.waves)
      end
    end,
    function(p, v)
      if v.order == "ahead" and p.rank < 256 then
        return ("order=ahead keeps the last 128 columns for the next round: rank %d"):format(p.rank)
      end
      if v.order == "ahead" and v.stages ~= 3 then return ("order=ahead needs 3 stages, not %d"):format(v.stages) end
      if v.order == "columns" then
        if p.heads < FEW then return ("order=columns: partial results of 16 bits gain nothing with %d heads"):format(p.heads) end
        if v.waves ~= 4 or p.rank ~= 512 then
          return ("order=columns: 4 waves have 128 columns of rank 512 each: waves %d, rank %d"):format(v.waves, p.rank)
        end
        if v.load ~= "vgpr" or v.stages ~= 3 or v.rescale ~= "lazy" then
          return "order=columns: load=vgpr, 3 stages, rescale=lazy"
        end
      end
      if v.order == "plain" and v.load == "vgpr" and v.stages ~= 2 then
        return ("order=plain with load=vgpr uses 2 stages, not %d"):format(v.stages)
      end
    end,
  },
  cost = function(p, v, arch)
    local g, why = lds_plan.make(p, v, arch.isa)
    if not g then return { refused = why } end
    if g.dma and g.lds_bytes > arch.isa.dma_reach then
      return { refused = ("load=dma: LDS %d > %d that M0 reaches"):format(g.lds_bytes, arch.isa.dma_reach) }
    end
    local cols, nj, tile = p.rank + p.rope, p.rank // 128, 32 * (p.rank + p.rope)
    local rescale = v.rescale == "always" and o_regs(p) * v.blocks or 4
    local mfma = mfma_per_tile(p, 1, arch.isa) * v.blocks
    local issue = 16 * nj + g.nk + 4 * nj + 40 * v.blocks + rescale + 30
      + 3 * tile // (v.waves * (v.load == "dma" and 256 or 1024))
    local lds_read, lds_write, stall_clk = (cols + p.rank) * 32, tile, nil
    if g.columns then -- V once a workgroup; P comes from the other waves; its sums are a product
      mfma = mfma + v.blocks
      issue = 16 + g.nk + 4 + g.waves + 24 * v.blocks + 26 + 3 * tile // (v.waves * 1024)
      lds_read, lds_write = cols * 32 + 4096 + g.p_bytes * (g.waves - 1), tile + g.p_bytes * g.waves
      stall_clk = modelled.stall_columns_clk
    elseif v.order == "ahead" then
      stall_clk = modelled.stall_ahead_clk
    end
    local cost = shape.scheduled({
      threads = 64 * v.waves,
      rows_per_wg = g.rows,
      lds_bytes = g.lds_bytes,
      regs = { { "v", ceil_div(g.vgprs, 4) * 4 }, { "a", g.agprs } },
      step = 16,
      wave = {
        mfma = mfma,
        issue = issue,
        lds_read = lds_read,
      },
      wg = { lds_write = lds_write, barriers = 1, tail_clk = 0 },
      stall_clk = stall_clk,
      overlap_loss = g.columns and modelled.overlap_loss_columns or modelled.overlap_loss,
      inflight = (v.load == "dma" and v.stages - 1 or 1) * tile // v.waves,
    }, v)
    if g.columns then -- partial results of 16 bits (templates/mla_decode/lib/narrow_wave.h)
      cost.partials, cost.combine, cost.values = 16, NARROW[v.schedule], cost.values .. "_16"
      cost.combine_invariant = "combine_invariant_16"
      cost.behind = BEHIND
    end
    return cost
  end,
}
