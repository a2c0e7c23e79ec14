-- A radix selection over a token's logits, one workgroup a token. Fields: gen/ops.lua.
local shape = require("ops/mla_index/shape")

return {
  stage = "select",
  template = "mla_index/select",
  arch = shape.EVERY,
  problem = {},
  params = { threads = { 256, 1024 } }, -- of a workgroup
  rules = {},
  cost = function(_, v, arch)
    return {
      threads = v.threads,
      rows_per_wg = 1,
      lds_bytes = 4 * (2048 + 2 * (v.threads // arch.isa.wave) + 4),
      regs = { { "all", 48 } },
      slack = 16,
    }
  end,
}
