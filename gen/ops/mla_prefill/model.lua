-- Closed-form estimate of a launch in ns, for ranking candidates and for planning without measurements; never called measured.
--
--   T = launch + the larger of (all workgroups' clocks shared out over the compute units, the longest workgroup's) and bytes
--
-- A workgroup owns rows_per_wg new tokens of one head; a causal one goes through the keys that its last token sees. Workgroups
-- come longest first, so that what is left over at the end is about half of the longest one.
local budget = require("budget")
local shape = require("ops/mla_prefill/shape")
local model = {}

local ceil_div = shape.ceil_div

-- Workgroups of a launch.
function model.blocks(p, cost) return p.batch * p.heads * ceil_div(p.tokens, cost.rows_per_wg) end

-- Rounds of the longest workgroup.
function model.rounds(p, cost) return ceil_div(p.ctx, cost.step) end

-- Rounds of the workgroups of one head of one request, all together.
local function rounds_of_request(p, cost)
  local blocks, total = ceil_div(p.tokens, cost.rows_per_wg), 0
  if p.causal == 0 then return blocks * model.rounds(p, cost) end
  -- Workgroup i's last token sees `first` + i * rows keys, each a part of a round more than the one before.
  local rows = cost.rows_per_wg // (cost.team or 1) -- a team's have an equal share of its rows' keys each
  local first, last = p.ctx - p.tokens + math.min(rows, p.tokens), p.ctx
  total = blocks * (math.max(0, first) + last) / 2 / cost.step + blocks * (cost.unfilled or 0.5)
  return math.max(blocks, total)
end

function model.estimate(p, arch, cost)
  local m = arch.model
  local blocks, slots = model.blocks(p, cost), arch.device.cus // (cost.team or 1)
  local resident = budget.resident(cost, arch)
  local clk = p.batch * p.heads * rounds_of_request(p, cost) * cost.round_clk + blocks * cost.tail_clk
  local longest = model.rounds(p, cost) * cost.round_clk + cost.tail_clk
  -- Workgroups beside each other on a compute unit hide each other's waits, of which `alone` is the share.
  local shared = clk * (1 - (cost.alone or 0.25) * (1 - 1 / resident))
  local work = math.max(shared / math.min(slots, blocks) + longest / 2, longest)
  local compute = 1000 * work / m.clock_mfma_mhz
  local memory = 1000 * shape.bytes(p) / m.hbm_bytes_per_us
  return m.launch_ns + m.wg_start_ns + math.max(compute, memory)
end

return model
