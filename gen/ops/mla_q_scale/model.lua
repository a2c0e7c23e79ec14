-- Closed-form estimate of a launch in ns, for ranking candidates and for planning without measurements; never called measured.
--
--   T = launch + latency + what a thread does one behind the other, or bytes / bandwidth, or blocks x their time
--
-- Where there are more workgroups than fit the device, what those that do have in flight decides how much of the bandwidth is
-- drawn. CHUNK_NS and BLOCK_NS are mla_append's, whose kernel moves rows the same way.
local budget = require("budget")
local shape = require("ops/mla_q_scale/shape")
local model = {}

local LATENCIES = 3 -- of memory: positions, queries, the stores
local CHUNK_NS = 70
local BLOCK_NS = 160

-- Workgroups of a launch.
function model.blocks(p, cost) return -(-p.tokens * p.heads // cost.rows_per_wg) end

function model.estimate(p, arch, cost)
  local m = arch.model
  local blocks, bytes = model.blocks(p, cost), shape.bytes(p)
  local held = arch.device.cus * budget.resident(cost, arch)
  local rate = bytes > m.llc_bytes and m.hbm_bytes_per_us or m.llc_bytes_per_us
  if blocks > held then rate = math.min(rate, held * cost.inflight / m.hbm_latency_ns * 1000) end -- bytes per us
  local alone = LATENCIES * m.hbm_latency_ns + (cost.depth - 1) * CHUNK_NS
  return m.launch_ns + m.wg_start_ns + alone + math.max(1000 * bytes / rate, blocks / arch.device.cus * BLOCK_NS)
end

return model
