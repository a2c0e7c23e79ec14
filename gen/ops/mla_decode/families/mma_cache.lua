-- mma for 8-bit caches: its warps decode each tile in shared memory to 16-bit numbers. Fields: gen/ops.lua.
local formats = require("formats")
local mma = require("ops/mla_decode/families/mma")
local shape = require("ops/mla_decode/shape")

-- Bytes of a token in shared memory: its rows begin where 16-byte copies do.
local function stored_bytes(p) return shape.ceil_div(shape.token_bytes(p), 16) * 16 end
-- Its scales multiply scores and probabilities; powers of two multiply the decoded tile. Where rope columns lie apart, one scale
-- multiplies the latent's scores.
local function is_scaled(p)
  local scales = formats.stream(shape.cache(p), "scales")
  return scales ~= nil and scales.type == "fp32"
end

-- Bytes of shared memory less than mma has: stages of stored rows and one decoded tile, and P in fp32 where tokens hold scales.
local function saved(p, v, rows)
  local pitch = 2 * (p.rank + p.rope) + 16
  local own = v.stages * v.tile * stored_bytes(p) + v.tile * pitch
  return v.stages * v.tile * pitch - own - (is_scaled(p) and rows * (2 * v.tile + 16) or 0)
end

return {
  template = "mla_decode/mma_cache",
  body = "mla_decode/mma",
  arch = mma.arch,
  problem = shape.CACHE_FIELDS,
  optional = shape.knows("shared", "fp8_q"),
  combine = mma.combine,
  params = mma.params,
  rules = shape.decoding(mma.rules, { shape.columns_rule }),
  cost = function(p, v)
    local cost, scaled = mma.cost(p, v), is_scaled(p)
    local units = v.tile * (p.rank + p.rope) // 8 // cost.threads -- of eight codes, that a thread decodes
    cost.lds_bytes = cost.lds_bytes - saved(p, v, cost.rows_per_wg)
    cost.wave.issue = cost.wave.issue + 20 * units
    cost.wave.lds_read = cost.wave.lds_read + 32 * 8 * units
    cost.wg.lds_write = v.tile * (shape.token_bytes(p) + 2 * (p.rank + p.rope))
    cost.wg.barriers = cost.wg.barriers + 1
    cost.inflight = (v.stages - 1) * v.tile * shape.token_bytes(p) // (v.cols * v.teams)
    if scaled then
      local groups, tokens = shape.ceil_div(p.rank, 128), v.tile // v.cols
      cost.regs[#cost.regs + 1] = { "scales", tokens // 8 * 8 + 16 + 20 * v.blocks }
      cost.wave.issue = cost.wave.issue + groups * v.blocks * (4 * tokens // 8 + 36 * v.tile // 16)
      cost.wave.mfma = cost.wave.mfma + v.tile // 16 * shape.ceil_div(p.rank // 16, v.cols) * 2 * v.blocks
    end
    return cost
  end,
}
