-- The kernel families of the space, as data. A family names its template, the architecture families it is written for
-- (arch.isa.family), the parameters it may take with their values, which fields of the problem its source depends on, and
-- what one choice of parameters costs.
--
-- cost(p, v), asked only when no rule objects, returns { refused = reason } or
--   threads, rows_per_wg, lds_bytes   how it is launched; the template declares the same, a test compares
--   regs     list of { what, registers per lane }; the sum is the budget
--   slack    registers the compiler takes beyond the sum where the limit leaves room
--   step     cached tokens one round of a workgroup covers
--   wave     per wave and round: mfma and other instructions, LDS bytes read
--   wg       per workgroup and round: LDS bytes written, barriers; tail_clk once at the end
--   stall_clk, overlap_loss  when better or worse than the model's defaults
--   inflight bytes of loads outstanding per wave; streaming: the cache's loads ask not to be kept
local lds_plan = require("lds_plan")

local families = {}

-- Fields of the problem in every decode kernel's source.
local DECODE_FIELDS = { "causal", "dtype", "heads", "page_size", "q_len", "rank", "rope" }

local function ceil_div(a, b) return -(-a // b) end

-- 16x16x16 MFMA of one 16-row block and 16 tokens: QK over rank + rope columns, PV over rank.
local function mfma_per_tile(p, psplit) return (p.rank + p.rope) // 16 + psplit * ceil_div(p.rank, 128) * 8 end
-- bf16 Q of a block in registers per lane (16 x cols over 64 lanes, two per register); fp32 O in groups of 128 columns.
local function q_regs(p) return (p.rank + p.rope) // 8 end
local function o_regs(p) return ceil_div(p.rank, 128) * 32 end

local REG_STALL = 600

-- Register-only: a wave takes `tile` tokens x all columns from global memory, no LDS and no barrier in the loop. The waves
-- of a workgroup take turns on the tokens of the same rows and merge their O through LDS at the end.
families.reg = {
  template = "mla_decode_reg",
  arch = { cdna3 = true },
  problem = DECODE_FIELDS,
  params = {
    blocks = { 1, 2 },                  -- 16-row blocks per wave
    kvload = { "temporal", "nt" },      -- cache policy of the cache's loads
    psplit = { 1, 2 },                  -- 2: the rounding error of P goes through a second MFMA
    qsrc = { "reg", "lds" },            -- where Q lives during the loop
    rescale = { "always", "lazy" },     -- rescale O each tile, or only when the maximum grew by more than 8
    tile = { 16, 32 },                  -- tokens of a wave's step
    waves = { 1, 2, 4, 8 },             -- waves per workgroup, each with its own tokens
  },
  rules = {
    function(p, v)
      if v.psplit == 2 and p.dtype ~= "bf16" then return "psplit 2 recovers bf16 rounding: no use for " .. p.dtype end
    end,
    function(p, v, arch)
      local loads = v.tile // 16 * ((p.rank + p.rope) // 32 + 4 * ceil_div(p.rank, 128) + 2)
      if loads > arch.isa.vmcnt_max then
        return ("%d loads in flight > %d that vmcnt counts"):format(loads, arch.isa.vmcnt_max)
      end
    end,
  },
  cost = function(p, v)
    local nk, nj, subs = (p.rank + p.rope) // 32, ceil_div(p.rank, 128), v.tile // 16
    local piece = v.waves <= 4 and 4 or 2 -- registers of an O block that one merge step takes
    local merge = 4 * v.waves * 16 * (32 * piece + 4) + 12 * v.waves * 16 * v.blocks
    local rescale = v.rescale == "always" and 5 * o_regs(p) * v.blocks // 2 or 4 -- O lives in accumulators: out, times, in
    return {
      threads = 64 * v.waves,
      rows_per_wg = 16 * v.blocks,
      lds_bytes = math.max(merge, v.qsrc == "lds" and 1024 * nk * v.blocks or 0),
      regs = { { "q", v.qsrc == "reg" and q_regs(p) * v.blocks or 16 }, { "o", o_regs(p) * v.blocks },
        { "k and v", subs * (4 * nk + 16 * nj) }, { "s", 4 * subs * v.blocks }, { "rest", 64 } },
      slack = v.blocks * subs == 4 and 24 or 0, -- four S tiles at once: seen up to 16 above the sum
      step = v.tile * v.waves,
      wave = {
        mfma = subs * v.blocks * mfma_per_tile(p, v.psplit),
        issue = subs * (64 * nj // 4 + nk + 4 * nj + (40 + 8 * v.psplit) * v.blocks) + rescale
          + (v.qsrc == "lds" and nk * v.blocks or 0),
        lds_read = v.qsrc == "lds" and 1024 * nk * v.blocks or 0,
      },
      wg = { lds_write = 0, barriers = 0, tail_clk = 400 + 8 * nj * v.waves * v.blocks * 16 },
      inflight = subs * (nk + 4 * nj) * 1024,
      streaming = v.kvload == "nt",
      stall_clk = REG_STALL + (v.qsrc == "lds" and 120 or 0), -- one tile of each form in flight: loads are waited for
    }
  end,
}

-- Shared tile: one row-major tile of 16 tokens in LDS serves K and V^T of all waves; each wave owns its own rows. Registers
-- and LDS are laid out by gen/lds_plan.lua, for the template and for this table alike.
families.lds = {
  template = "mla_decode_lds",
  arch = { cdna3 = true },
  problem = DECODE_FIELDS,
  params = {
    blocks = { 1, 2, 4 },               -- 16-row blocks per wave
    load = { "dma", "vgpr" },           -- direct-to-LDS copies, or through registers
    order = { "plain", "ahead" },       -- ahead: QK of the next tile before PV of this one
    rescale = { "always", "lazy" },
    stages = { 2, 3 },                  -- tiles in the LDS ring
    waves = { 1, 2, 3, 4, 5, 6, 8 },
  },
  rules = {
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
      if v.order == "plain" and v.load == "vgpr" and v.stages ~= 2 then
        return ("order=plain with load=vgpr uses 2 stages, not %d"):format(v.stages)
      end
    end,
  },
  cost = function(p, v)
    local g, why = lds_plan.make(p, v)
    if not g then return { refused = why } end
    local cols, nj, tile = p.rank + p.rope, p.rank // 128, 32 * (p.rank + p.rope)
    local rescale = v.rescale == "always" and o_regs(p) * v.blocks or 4
    return {
      threads = 64 * v.waves,
      rows_per_wg = g.rows,
      lds_bytes = g.lds_bytes,
      regs = { { "v", ceil_div(g.vgprs, 4) * 4 }, { "a", g.agprs } },
      step = 16,
      wave = {
        mfma = mfma_per_tile(p, 1) * v.blocks,
        issue = 16 * nj + g.nk + 4 * nj + 40 * v.blocks + rescale + 30
          + 3 * tile // (v.waves * (v.load == "dma" and 256 or 1024)),
        lds_read = (cols + p.rank) * 32,
      },
      wg = { lds_write = tile, barriers = 1, tail_clk = 0 },
      stall_clk = v.order == "ahead" and 80 or nil,
      overlap_loss = 0.5, -- waves meet at every tile: whoever waits for memory makes all wait
      inflight = (v.load == "dma" and v.stages - 1 or 1) * tile // v.waves,
    }
  end,
}

-- Merges the splits of each row through their LSE: `team` waves per row, `rows` rows per workgroup.
families.combine = {
  template = "mla_combine",
  arch = { cdna3 = true },
  problem = { "dtype", "rank" },
  params = { rows = { 1, 2, 4, 8 }, team = { 1, 2, 4, 8 } },
  rules = {
    function(_, v)
      if v.rows * v.team > 16 then return ("%d waves > 16"):format(v.rows * v.team) end
    end,
  },
  cost = function(p, v)
    local vectors = ceil_div(p.rank, 256)
    return {
      threads = 64 * v.rows * v.team,
      rows_per_wg = v.rows,
      lds_bytes = v.team > 1 and 4 * p.rank * v.rows * v.team or 0,
      regs = { { "loads", 64 }, { "o", 4 * vectors }, { "rest", 40 } },
      team = v.team, depth = 16 // vectors, -- splits a wave has in flight
    }
  end,
}

-- Families a decode kernel may come from, in the order they are listed.
families.decode = { "reg", "lds" }

-- The variant that works for every supported problem of every target here.
families.baseline = { family = "reg", params = { blocks = 1, kvload = "temporal", psplit = 1, qsrc = "reg",
  rescale = "always", tile = 16, waves = 4 } }

return families
