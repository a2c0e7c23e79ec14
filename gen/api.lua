-- What runtime/gen/ calls. Arguments and results are plain tables, strings and numbers.
local loader = ...
local api = {}

function api.space(problem, target) return require("space").variants(problem, target) end
function api.variant(problem, target, name) return require("space").variant(problem, target, name) end
function api.baseline(problem, target) return require("space").baseline(problem, target) end

-- Source text and its SHA-256.
function api.render(template, text, target)
  local source, hash = require("emit").render(template, text, target)
  return source, hash
end

function api.template_hash(template, target) return loader.template_hash(template, target) end
function api.options(target) return loader.require("arch/" .. target).options end
function api.targets() return loader.targets() end

-- Nanoseconds that moving `bytes` from HBM and computing `flops` with dense MFMA take at least, by the arch table.
function api.roofline(target, bytes, flops)
  local arch = loader.require("arch/" .. target)
  local flops_per_clk = 2 * 16 * 16 * 16 / (4 * arch.isa.mfma.m16n16k16.passes) * arch.isa.simds * arch.device.cus
  return bytes / arch.model.hbm_bytes_per_us * 1000, flops / (flops_per_clk * arch.model.clock_mhz) * 1000
end

return api
