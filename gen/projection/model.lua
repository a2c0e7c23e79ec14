-- Closed-form estimate of a projection's launch in ns, for ranking candidates and for planning without measurements; never called
-- measured.
--
--   T = launch + start + latencies + the most of { weights from memory, weights and x from L2, products, lines of L1 }
--
-- x counts once for each block, since each reads all of it. What a block has in flight decides how much of the bandwidth a launch
-- draws; the last round of blocks takes as long as a whole one. Sources of the numbers: gen/arch/TARGET.lua, and
-- shared with mla_append's: three latencies of memory, of the first weights, of x behind them, of the stores. Weights that a
-- kernel asks for ahead of its turn are there by then. Blocks that share a sum meet once more.
local budget = require("budget")
local model = {}

local LATENCIES = 3
local SLACK = 5        -- h200; bytes in flight help beyond what the bandwidth asks for: fitted
-- h200; of a cluster's blocks that add up, and of each byte of a block's sums: fitted, docs/lab/projections.md
local SHARED_NS, SHARED_BYTE_NS = 1000, 0.035

-- gfx942, modelled; of what binds a launch of lines the largest counts, and the others as far as they are near it: fitted.
local NEAR = 4

local ceil_div = require("whole").ceil_div

-- Blocks of a launch.
function model.blocks(product, cost) return product.heads * ceil_div(product.outer, cost.rows_per_wg) * (cost.split or 1) end

-- An op's model: of(p) as in families.lua.
function model.of(of)
  local function estimate(p, arch, cost)
    local product, m = of(p), arch.model
    local blocks = model.blocks(product, cost)
    local slots = arch.device.cus * budget.resident(cost, arch)
    local busy, rounds = math.min(blocks, slots), ceil_div(blocks, slots)
    local passes = ceil_div(p.tokens, cost.pass)
    local mine = ceil_div(passes, cost.parts or 1) -- of a block
    local weights = (p.weights == 0 and 2.0 or 1.0) * product.heads * product.inner * product.outer
    local io = 2.0 * p.tokens * product.heads * (product.inner + product.outer)
    local draw = busy * cost.inflight / m.hbm_latency_ns * 1000 -- bytes per us
    local uneven = rounds * slots / blocks
    if rounds == 1 then uneven = math.max(1, ceil_div(blocks, arch.device.cus) * arch.device.cus / blocks / 2) end
    local rate = math.min(m.hbm_bytes_per_us, draw) * (cost.pace or 1)
    if cost.ahead then rate = 1 / (1 / (cost.pace * m.hbm_bytes_per_us) + 1 / (SLACK * draw)) end
    local memory = (weights + io) / rate * uneven
    local shared = (passes * weights + blocks * mine * (cost.x_bytes or 2 * cost.pass * product.inner)) / m.llc_bytes_per_us
    local products = passes * weights / 16 * cost.clk / (math.min(blocks, arch.device.cus) * m.clock_mhz)
    local trips = LATENCIES + (cost.ahead and passes - 2 or 0) -- a further pass begins anew
    local latencies = trips * m.hbm_latency_ns + ((cost.split or 1) > 1 and SHARED_NS + SHARED_BYTE_NS * (cost.sums or 0) or 0)
        local full = blocks / arch.device.cus
    local share = full <= 2 and math.ceil(full) or full + 0.5 -- of a compute unit
    local each = share * mine -- passes of it
    local lines = cost.line_clk and each * cost.line_clk / m.clock_mhz or 0
    local chain = rounds * mine * (cost.chain_ns or 0)
    local work = math.max(1000 * math.max(memory, shared, products, lines), chain)
    if cost.wave_clk then
      local at_once = math.min(budget.resident(cost, arch), math.ceil(full)) * cost.threads // arch.isa.wave -- waves of a unit
      local vector, sum = rounds * mine * ceil_div(at_once, arch.isa.simds) * cost.wave_clk / m.clock_mhz, 0
      for _, x in ipairs({ math.max(memory, shared), lines, vector, chain / 1000 }) do sum = sum + x ^ NEAR end
      work = 1000 * sum ^ (1 / NEAR)
    end
    work = (work + (cost.block_ns or 0) * (share - 1)) * (passes > 1 and cost.again or 1)
    return m.launch_ns + m.wg_start_ns + latencies + (cost.begin_ns or 0) + work
  end
  return { estimate = estimate, second_ns = function(_, _, _, arch) return arch.model.launch_ns end }
end

return model
