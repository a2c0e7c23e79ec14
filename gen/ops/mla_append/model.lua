-- Closed-form estimate of a launch in ns, for ranking candidates and for planning without measurements; never called measured.
--
--   T = launch + latencies + what a thread does one behind the other, or bytes / bandwidth, or blocks x their time
--
-- Bytes are those that have to move: inputs once, outputs once. Where there are more workgroups than fit the device, what those
-- that do have in flight decides how much of the bandwidth is drawn.
local budget = require("budget")
local shape = require("ops/mla_append/shape")
local model = {}

local LATENCIES = 2    -- of memory: slot, position and data, then the table; that is there already where it was loaded ahead
-- H200, 8192 tokens of 128 heads: 578 us with 4 heads a block, 591 with 16; 587 with 4 where each block loads ahead.
local AHEAD_LOSS, HEAD_LOSS = 0.015, 0.0018 -- of the bandwidth, and for each head of a block
-- H200, one launch behind the other in a graph: 1.26 us with one chunk for each thread, 1.41 with four, 1.83 with eight;
-- workgroups of few bytes end at 0.8 a nanosecond, 128 heads of 8192 tokens one by one in 1270 us.
local CHUNK_NS = 70    -- each further chunk of a thread
local BLOCK_NS = 160   -- a workgroup takes on its compute unit, however little it does

local ceil_div = require("whole").ceil_div

local SPREAD = 64 -- workgroups that tokens are spread over before one takes a second token: runtime/ops/mla_append/relations.c

-- Workgroups of a launch.
function model.blocks(p, cost)
  local of_tokens = math.max(ceil_div(p.tokens, cost.tokens_per_wg), math.min(p.tokens, SPREAD))
  return of_tokens + (p.heads > 0 and p.tokens * ceil_div(p.heads, cost.rows_per_wg) or 0)
end

function model.estimate(p, arch, cost)
  local m = arch.model
  local blocks, bytes = model.blocks(p, cost), shape.bytes(p)
  local held = arch.device.cus * budget.resident(cost, arch)
  local rate = bytes > m.llc_bytes and m.hbm_bytes_per_us or m.llc_bytes_per_us
  if blocks > held then -- bytes per us
    rate = math.min(rate, held * cost.inflight / m.hbm_latency_ns * 1000)
    rate = rate * (1 - (cost.ahead and AHEAD_LOSS or 0) - HEAD_LOSS * cost.rows_per_wg)
  end
  local alone = (cost.ahead and LATENCIES - 1 or LATENCIES) * m.hbm_latency_ns + (cost.depth - 1) * CHUNK_NS
  return m.launch_ns + m.wg_start_ns + alone + math.max(1000 * bytes / rate, blocks / arch.device.cus * BLOCK_NS)
end

return model
