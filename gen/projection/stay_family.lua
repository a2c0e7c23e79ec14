-- The family of projections whose weights stay in registers (templates/lib/projection/stay.h): they lie by inputs, and sums are
-- short. Fields: gen/ops.lua.
local stay = require("projection/stay")
local ceil_div = require("whole").ceil_div

local CDNA = { cdna2 = true, cdna3 = true, cdna4 = true }
local LEAST = 33 -- tokens; with fewer few waves would work
local MOST = 128 -- values of a sum, of which a lane has as many registers
-- gfx942, modelled, fitted: until weights are put together, of 16 tokens of a wave, of each further block that reads a tile, of
-- each block of a compute unit beyond its first; of x, which comes from an XCD's L2, what counts at the rate of the cache behind
-- it.
local BEGIN_NS, GROUP_NS, PART_NS, BLOCK_NS, L2_X = 1400, 1000, 600, 800, 0.16

return function(of, fields)
  return {
    arch = CDNA,
    problem = fields,
    params = {
      parts = { 1, 2, 4 },                -- blocks that share a tile's tokens
      waves = { 2, 4 },                   -- of a block, which share them, too
    },
    rules = {
      function(p)
        if p.weights ~= 0 then return "weights have 8 bits, and operands are joined of 16" end
        if p.tokens < LEAST then return ("up to %d tokens: mfma serves them better"):format(LEAST - 1) end
        local inner = of(p).inner
        if inner % 32 ~= 0 or inner > MOST then
          return ("%d values of a sum are no multiple of 32 up to %d"):format(inner, MOST)
        end
      end,
      function(p, v)
        local product = of(p)
        if v.waves * v.parts > ceil_div(p.tokens, 16) then
          return ("%d waves in all, and %d tokens are 16 for each of fewer"):format(v.waves * v.parts, p.tokens)
        end
        if v.parts > 1 and product.outer % stay.TILE ~= 0 then
          return ("%d outputs are no tiles of %d, which %d blocks share"):format(product.outer, stay.TILE, v.parts)
        end
        if stay.TILE >= 2 * product.outer then
          return ("tiles of %d outputs, and there are %d"):format(stay.TILE, product.outer)
        end
      end,
    },
    cost = function(p, v, arch)
      local product = of(p)
      local pass, weights = 16 * v.waves, product.inner
      local groups = ceil_div(ceil_div(p.tokens, 16), v.waves * v.parts) -- of a wave
      return {
        threads = 64 * v.waves, rows_per_wg = stay.TILE // v.parts, lds_bytes = stay.PATCH * v.waves,
        regs = { { "weights", weights }, { "sums", 32 }, { "x", product.inner // 4 }, { "rest", 40 } },
        slack = 24,
        inflight = v.waves * 64 * weights * 4, pass = pass * groups, parts = v.parts,
        x_bytes = L2_X * 2 * pass * product.inner,
        clk = 0,
        begin_ns = BEGIN_NS + GROUP_NS * groups + PART_NS * (v.parts - 1), block_ns = BLOCK_NS,
      }
    end,
  }
end
