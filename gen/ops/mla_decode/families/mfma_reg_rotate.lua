-- mfma_reg for caches whose rope columns are not rotated: its waves rotate each tile in registers. Fields: gen/ops.lua.
local mfma_reg = require("ops/mla_decode/families/mfma_reg")
local shape = require("ops/mla_decode/shape")

-- Loads of 16 bytes that bring a lane its cosines and sines for 16 tokens: those of eight pairs, or of four.
local function loads_of(p) return p.rotate == 1 and p.rope == 32 and 2 or 4 end

return {
  template = "mla_decode/mfma_reg_rotate",
  body = "mla_decode/mfma_reg",
  arch = mfma_reg.arch,
  problem = shape.ROTATE_FIELDS,
  combine = mfma_reg.combine,
  params = mfma_reg.params,
  rules = shape.rotating(mfma_reg.rules, {
    function(_, v)
      if v.schedule == "fitted" and v.blocks == 2 and v.tile == 32 then
        return "schedule=fitted: with two blocks and 32 tokens the walk spills scalar registers (2 to 6, seen)"
      end
    end,
    function(p, v, arch)
      local loads = v.tile // 16 * ((p.rank + p.rope) // 32 + 4 * shape.ceil_div(p.rank, 128) + 2 + loads_of(p))
      if loads > arch.isa.vmcnt_max then
        return ("%d loads in flight > %d that vmcnt counts"):format(loads, arch.isa.vmcnt_max)
      end
    end,
  }),
  cost = function(p, v, arch)
    local subs, loads = v.tile // 16, loads_of(p)
    local cost = mfma_reg.cost(p, v, arch, { { "angles", 4 * loads * subs }, { "columns while they turn", 48 } })
    cost.slack = cost.slack + 16
    cost.wave.issue = cost.wave.issue + 28 * loads * subs -- of a quad of pairs: to unpack, turn and pack; of 32 in halves more
    cost.inflight = cost.inflight + 1024 * loads * subs
    return cost
  end,
}
