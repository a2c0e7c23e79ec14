-- mfma_lds for 8-bit caches with scales for all or inside rows: its tiles become f16 before LDS. Fields: gen/ops.lua.
local lds = require("ops/mla_decode/families/mfma_lds")
local shape = require("ops/mla_decode/shape")

local params = require("params")
local parts = require("parts")

return {
  template = "mla_decode/mfma_lds_cache",
  body = "mla_decode/mfma_lds",
  arch = { cdna3 = true, cdna4 = true },
  problem = shape.CACHE_FIELDS,
  optional = shape.knows("lds"),
  params = params.merge(lds.params, { load = { "vgpr" }, waves = { 1, 2, 4 } }),
  rules = shape.decoding(lds.rules, {
    function(p)
      local f = parts.of("mla_decode", p.cache)
      if f.bits ~= 8 or f.own or f.rope.place ~= "row" or f.scales and f.scales.place ~= "row" then
        return ("cache is %s: what lies beside its rows is not read here"):format(f.name)
      end
      if f.tiles and p.dtype ~= "bf16" then return ("cache is %s: values times scales are rounded to f16"):format(f.name) end
      if p.fp8_q == 1 then return "fp8_q: queries are of 16 bits" end
      if p.rope ~= 64 then return ("rope %d is not 64"):format(p.rope) end
    end,
    function(p, v)
      if p.cache == 3 and v.order == "columns" and p.page_size % 16 == 0 and v.schedule ~= "splits" then
        return ("order=columns, fp8_ds_mla: pages of %d lack scalar registers beside schedule=%s"):format(p.page_size, v.schedule)
      end
      local f = parts.of("mla_decode", p.cache)
      if f.tiles and v.blocks > 1 then
        return ("cache is %s: sums for each group of columns leave registers for one block"):format(f.name)
      end
    end,
  }),
  cost = function(p, v, arch)
    local cost = lds.cost(p, v, arch)
    if cost.refused then return cost end
    local f = parts.of("mla_decode", p.cache)
    local dwords = 4 * (p.rank + p.rope) // (64 * v.waves) -- of bytes, that a lane decodes
    cost.wave.issue = cost.wave.issue + (f.fnuz and 10 or 9) * dwords
    cost.inflight = cost.inflight // 2
    if f.tiles then cost.wave.issue = cost.wave.issue + 20 * p.rank // 128 + 24 end -- scales: of V's operands, of S
    return cost
  end,
}
