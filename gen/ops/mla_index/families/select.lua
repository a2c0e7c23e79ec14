-- A radix selection over a token's logits, one workgroup a token. Fields: gen/ops.lua.
local shape = require("ops/mla_index/shape")

return {
  stage = "select",
  template = "mla_index/select",
  arch = shape.EVERY,
  problem = {},
  params = { threads = { 512, 1024 } }, -- of a workgroup
  rules = {},
  cost = function(_, v, arch)
    return {
      threads = v.threads,
      rows_per_wg = 1,
      lds_bytes = shape.select_bytes(v.threads, arch.isa.wave),
      regs = { { "all", arch.isa.wave == 64 and 80 or 48 } },
      slack = 16,
    }
  end,
}
