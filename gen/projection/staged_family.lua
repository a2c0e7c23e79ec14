-- The family of projections whose operands go through LDS, for many tokens (templates/lib/projection/staged.h), and whose weights
-- lie by outputs. Fields: gen/ops.lua.
local staged = require("projection/staged")
local ceil_div = require("whole").ceil_div

local CDNA = { cdna2 = true, cdna3 = true, cdna4 = true }
local LEAST = 33   -- tokens; passes of 32 were no faster than mfma's where memory binds (docs/lab/projections.md)
local LONG = 1024 -- values of a sum: blocks of 16 outputs have rounds of 128
-- gfx942, modelled: clk of LDS for 1 KB in or out, of a wave for each load of a round, and for a round's lines times the norm's
-- weights; ns of 16 sums through LDS; of x, which comes from an XCD's L2, what counts at the rate of the cache
-- behind it; of each block of a compute unit beyond its first, for its begin and end.
local BLOCK_NS = 2000
local LDS_CLK, ASK_CLK, GAIN_CLK, SUM_NS, L2_X = 8, 8, 160, 2.4, 0.16
local TRIP_CLK, LATE_CLK = 1050, 200 -- of a load, which has `depth` rounds for it, with a norm one less; of those that come late

-- The least number of tokens that a launch's blocks take at once.
local function class(tokens, most)
  return tokens <= 64 and 64 or tokens <= 128 and 128 or most
end

return function(of, fields)
  return {
    arch = CDNA,
    problem = fields,
    params = {
      blocks = { 1, 2, 4, 6 },            -- 16 outputs each
      depth = { 2, 4 },                   -- rounds in flight
      parts = { 1, 2 },                   -- blocks that share a tile's passes
      pass = { 64, 128 },                 -- tokens that are multiplied at once
    },
    rules = {
      function(p)
        if p.weights ~= 0 then return "weights have 8 bits, and lines go to LDS as they are" end
        if of(p).norm == 1 and p.dtype ~= "bf16" then return "weights times the norm's may be too small for " .. p.dtype end
        if p.tokens < LEAST then return ("up to %d tokens: mfma serves them better"):format(LEAST - 1) end
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
        if v.blocks == 1 and inner < LONG then
          return ("16 outputs of a block are for long sums, and this has %d values"):format(inner)
        end
      end,
      function(p, v)
        local inner, made = of(p).inner, staged.make({ blocks = v.blocks, pass = v.pass, norm = of(p).norm })
        if not made.refused and inner % (made.values * v.depth) ~= 0 then
          return ("%d values of a sum are no rounds of %d, %d together"):format(inner, made.values, v.depth)
        end
      end,
    },
    cost = function(p, v, arch)
      local product = of(p)
      local made = staged.make({ blocks = v.blocks, pass = v.pass, norm = product.norm })
      if made.refused then return made end
      local groups, gain, rounds, kb = v.pass // 16, product.norm, product.inner // made.values, made.stage / 1024
      local loads, read = kb // staged.waves, staged.waves * made.read -- read: KB
      local products = 4 * made.lines * arch.model.mfma_clk * (made.blocks + gain) * made.groups // made.ways
      local clk = math.max((kb + read) * LDS_CLK, ceil_div(products * staged.waves, arch.isa.simds)) + loads * ASK_CLK
        + gain * GAIN_CLK
      clk = math.max(clk, TRIP_CLK / (v.depth - gain)) + LATE_CLK / (v.depth - gain)
      return {
        threads = 64 * staged.waves, rows_per_wg = made.tile // v.parts, lds_bytes = made.lds,
        regs = { { "sums", 4 * (made.blocks + gain) * made.groups }, { "lines", 4 * v.depth * (loads + gain) },
          { "operands", 8 * made.read }, { "rows", 2 * (loads + gain) }, { "rest", 40 } },
        slack = 112, -- the compiler loads ahead where there is room
        inflight = v.depth * 2048 * v.blocks * made.lines, pass = v.pass, parts = v.parts,
        x_bytes = L2_X * 2 * v.pass * product.inner,
        clk = 16 / 512 * groups * arch.model.mfma_clk / 4, -- of a CU for 16 bytes, as of mfma
        line_clk = rounds * kb * 16, wave_clk = rounds * clk,
        chain_ns = 1000 * rounds * clk / arch.model.clock_mhz,
        begin_ns = SUM_NS * made.ways * v.pass * v.blocks, block_ns = BLOCK_NS,
      }
    end,
  }
end
