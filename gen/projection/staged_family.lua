-- The family of projections whose operands go through LDS, for many tokens (templates/lib/projection/staged.h). It is for large
-- products: mla_qkv_a has outputs for too few blocks, sums of mla_v_out are over before its rounds pay. Fields: gen/ops.lua.
local staged = require("projection/staged")
local ceil_div = require("whole").ceil_div

local CDNA = { cdna2 = true, cdna3 = true, cdna4 = true }
local LEAST, LEAST_WITH_NORM = 33, 65 -- tokens; with fewer what a norm makes of weights takes longer than their way through L1
-- gfx942, modelled: clk of LDS for 1 KB in or out, of a wave for each load of a round, and for a round's lines times the norm's
-- weights; ns of 16 sums on their way through LDS; of x, which comes from an XCD's L2, what counts at the rate of the cache
-- behind it.
local LDS_CLK, ASK_CLK, GAIN_CLK, SUM_NS, L2_X = 8, 8, 160, 2.4, 0.16

-- How many tokens a launch's blocks take at once at least.
local function class(tokens, most)
  return tokens <= 64 and 64 or tokens <= 128 and 128 or most
end

return function(of, fields)
  return {
    arch = CDNA,
    problem = fields,
    params = {
      blocks = { 2, 4 },                  -- 16 outputs each
      depth = { 2, 4 },                   -- rounds that are on their way
      parts = { 1, 2 },                   -- blocks that share a tile's passes
      pass = { 64, 128 },                 -- tokens that are multiplied at once
    },
    rules = {
      function(p)
        if p.weights ~= 0 then return "weights have 8 bits, and lines go to LDS as they are" end
        if of(p).norm == 1 and p.dtype ~= "bf16" then return "weights times the norm's may be too small for " .. p.dtype end
        local least = of(p).norm == 1 and LEAST_WITH_NORM or LEAST
        if p.tokens < least then return ("up to %d tokens: mfma serves them better"):format(least - 1) end
      end,
      function(p, v)
        local outer, tile = of(p).outer, 16 * v.blocks
        if v.pass * v.parts ~= class(p.tokens, 128 * v.parts) then
          return ("%d blocks of %d tokens, and %d are launched"):format(v.parts, v.pass, p.tokens)
        end
        if tile > 32 and tile >= 2 * outer then return ("tiles of %d outputs, and there are %d"):format(tile, outer) end
        if v.parts > 1 and outer % tile ~= 0 then
          return ("%d outputs are no tiles of %d, which %d blocks share"):format(outer, tile, v.parts)
        end
      end,
      function(p, v)
        local inner = of(p).inner
        if inner % (64 * v.depth) ~= 0 then
          return ("%d values of a sum are no rounds of 64, %d together"):format(inner, v.depth)
        end
      end,
    },
    cost = function(p, v, arch)
      local product = of(p)
      local made = staged.make({ blocks = v.blocks, pass = v.pass, norm = product.norm })
      if made.refused then return made end
      local groups, gain, rounds, kb = v.pass // 16, product.norm, product.inner // 64, made.stage / 1024
      local loads, read = 2 * (v.blocks + groups) // staged.waves, staged.waves * 2 * (made.blocks + made.groups) -- read: KB
      local products = 4 * arch.model.mfma_clk * (made.blocks + gain) * made.groups
      local clk = math.max((kb + read) * LDS_CLK, ceil_div(products * staged.waves, arch.isa.simds)) + loads * ASK_CLK
        + gain * GAIN_CLK
      return {
        threads = 64 * staged.waves, rows_per_wg = made.tile // v.parts, lds_bytes = made.lds,
        regs = { { "sums", 4 * (made.blocks + gain) * made.groups }, { "lines", 4 * v.depth * (loads + gain) },
          { "operands", 16 * (made.blocks + made.groups) }, { "rows", 2 * (loads + gain) }, { "rest", 40 } },
        slack = 112, -- the compiler loads ahead where there is room
        inflight = v.depth * 2048 * v.blocks, pass = v.pass, parts = v.parts,
        x_bytes = L2_X * 2 * v.pass * product.inner,
        clk = 16 / 512 * groups * arch.model.mfma_clk / 4, -- of a CU for 16 bytes, as of mfma
        line_clk = rounds * kb * 16, wave_clk = rounds * clk,
        chain_ns = 1000 * rounds * clk / arch.model.clock_mhz,
        begin_ns = SUM_NS * v.pass * v.blocks,
      }
    end,
  }
end
