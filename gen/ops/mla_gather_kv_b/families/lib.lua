-- Rows gathered by a kernel of ours, products by a vendor's library (cuBLASLt, hipBLASLt): nothing is compiled of `lib`, a text
-- says what the library is asked for (templates/lib/projection/library.h, runtime/device/matmul.h). Its heads are a batch that
-- shares the rows, K and V one product each, the same but for where W and the outputs begin: so any strides will do, and N must
-- be V. Which way it goes about it is one of those that it proposes itself; the tuner times them.
local formats = require("formats")
local shape = require("ops/mla_gather_kv_b/shape")

local WAYS = 16
local EVERY = { cdna2 = true, cdna3 = true, cdna4 = true, ampere = true, ada = true, hopper = true, blackwell = true }

local function scaled_before(p)
  if formats.get(p.layout).scale == "launch" then
    return ("rows of %s have one scale, which belongs behind the product; no library is asked for that"):format(p.layout)
  end
end

local ways = {}
for i = 1, WAYS do ways[i] = i - 1 end

return { families = {
  lib = {
    library = true,
    template = "mla_gather_kv_b/lib",
    arch = EVERY,
    problem = { "heads", "nope", "rank", "dtype", "tokens" },
    params = { way = ways },
    rules = {
      shape.columns_rule,
      function(p)
        if p.nope ~= p.vdim then
          return ("a library makes K and V by one product each, of as many columns: %d and %d differ"):format(p.nope, p.vdim)
        end
      end,
      scaled_before,
    },
    -- The library decides what is launched. The rest is for the model, whose answer counts for nothing here.
    cost = function(p, _, arch)
      return { threads = arch.isa.wave, rows_per_wg = 16, lds_bytes = 0, regs = { { "all", 32 } }, outputs = p.nope,
        gather_clk = 0, tile_clk = 1, aside = true }
    end,
  },
  aside = {
    stage = "aside",
    template = "mla_gather_kv_b/aside",
    arch = EVERY,
    problem = { "heads", "rope", "rank", "dtype", "layout", "rotate" },
    params = { rows = { 8, 32 } }, -- tokens of a block
    rules = { shape.columns_rule, scaled_before },
    cost = function(_, v)
      return { threads = shape.ASIDE_THREADS, rows_per_wg = v.rows, lds_bytes = 8 * v.rows,
        regs = { { "chunks", 16 }, { "rest", 48 } }, slack = 64 }
    end,
  },
} }
