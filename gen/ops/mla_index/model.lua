-- Closed-form estimate of both launches in ns, for ranking candidates and for planning without measurements; never called
-- measured.
--
--   logits  launch + the largest of bytes / bandwidth, of math, where its rate is known, and of waves of blocks x the time of one
--   select  launch + passes over a row of logits, which lie in the cache
local budget = require("budget")
local ceil_div = require("whole").ceil_div
local shape = require("ops/mla_index/shape")
local model = {}

local START_CLK = 3000 -- of a block, until its queries are in shared memory
local PASSES = 4       -- over the logits: three digits, then what is taken
local SYNC_CLK = 80    -- of a step in which all threads of a block meet

function model.blocks(p, cost) return p.tokens * ceil_div(p.ctx, cost.rows_per_wg) end

function model.estimate(p, arch, cost, _, second_ns)
  local m = arch.model
  local blocks, bytes = model.blocks(p, cost), p.tokens * p.ctx * shape.TOKEN_BYTES
  local rate = bytes > m.llc_bytes and m.hbm_bytes_per_us or m.llc_bytes_per_us
  local held = arch.device.cus * budget.resident(cost, arch)
  rate = math.min(rate, math.min(held, blocks) * cost.inflight / m.hbm_latency_ns * 1000)
  local starts = ceil_div(blocks, held) * START_CLK * 1000 / m.clock_mfma_mhz
  local alone = ceil_div(cost.rows_per_wg * shape.TOKEN_BYTES, cost.inflight) * m.hbm_latency_ns
  local tiles = ceil_div(blocks, arch.device.cus) * ceil_div(math.min(p.ctx, cost.rows_per_wg), 64)
  local of_math = tiles * (cost.tile_clk or 0) * 1000 / m.clock_mfma_mhz
  return m.launch_ns + m.wg_start_ns + math.max(1000 * bytes / rate, of_math, alone) + starts + second_ns
end

-- The block of a token has its row to itself.
function model.second_ns(p, _, cost, arch)
  local m = arch.model
  local steps = PASSES * ceil_div(p.ctx, 4 * cost.threads)
  local waves = ceil_div(p.tokens, arch.device.cus * budget.resident(cost, arch))
  local clk = steps * (SYNC_CLK + cost.threads // 8)
  return m.launch_ns + waves * (m.hbm_latency_ns * (PASSES + 2) + 1000 * clk / m.clock_mfma_mhz)
end

return model
