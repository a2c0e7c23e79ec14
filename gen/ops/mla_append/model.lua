-- Closed-form estimate of a launch in ns, for ranking candidates and for planning without measurements; never called measured.
--
--   T = launch + rounds of workgroups x (start + latencies of the slot, the position and the data) or bytes / bandwidth
--
-- Bytes are those that have to move: inputs once, outputs once. What a workgroup has in flight decides how much of the bandwidth
-- a launch that does not fill the device draws.
local budget = require("budget")
local shape = require("ops/mla_append/shape")
local model = {}

local LATENCIES = 3     -- slot or data, then position and table, then the stores
local BLOCK_NS = 40     -- what each further round of workgroups on a compute unit costs beyond its bytes

local function ceil_div(a, b) return -(-a // b) end

-- Workgroups of a launch.
function model.blocks(p, cost)
  return ceil_div(p.tokens, cost.tokens_per_wg) + (p.heads > 0 and p.tokens * ceil_div(p.heads, cost.rows_per_wg) or 0)
end

function model.estimate(p, arch, cost)
  local m = arch.model
  local blocks, bytes = model.blocks(p, cost), shape.bytes(p)
  local held = arch.device.cus * budget.resident(cost, arch)
  local busy = math.min(blocks, held)
  local draw = busy * cost.inflight / m.hbm_latency_ns * 1000 -- bytes per us
  local rate = math.min(bytes > m.llc_bytes and m.hbm_bytes_per_us or m.llc_bytes_per_us, draw)
  local rounds = ceil_div(blocks, held)
  return m.launch_ns + m.wg_start_ns + LATENCIES * m.hbm_latency_ns + 1000 * bytes / rate + (rounds - 1) * BLOCK_NS
end

return model
