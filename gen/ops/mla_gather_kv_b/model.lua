-- Closed-form estimate of a launch in ns, for ranking candidates and for planning without measurements; never called measured.
--
--   T = launch + the larger of bytes / bandwidth and rounds of workgroups x (gathering + output tiles of one)
--
-- A workgroup owns rows_per_wg tokens and a share of the outputs. In how many shares they go is decided at the launch: here the
-- same rule as in runtime/ops/mla_gather_kv_b/relations.c.
local shape = require("ops/mla_gather_kv_b/shape")
local budget = require("budget")
local formats = require("formats")
local model = {}

local ceil_div = shape.ceil_div
local PART = 128 -- outputs; gathering a tile's tokens takes as long as about as many

-- Shares of the outputs, on so many compute units.
function model.shares(p, rows, units)
  local tiles, parts = ceil_div(p.tokens, rows), ceil_div(shape.outputs(p), PART)
  local best, least, length = 1, math.huge, parts
  while length > 0 do -- the fewest shares of each length
    local shares = ceil_div(parts, length)
    local takes = ceil_div(tiles * shares, units) * (length + 1)
    if takes < least then best, least = shares, takes end
    length = length > 1 and ceil_div(parts, ceil_div(parts, length - 1)) or 0
  end
  return best
end

function model.blocks(p, cost, arch)
  return ceil_div(p.tokens, cost.rows_per_wg) * model.shares(p, cost.rows_per_wg, arch.device.cus)
end

-- The time of the kernel that gathers rows for a library's products, which nothing here knows the time of.
function model.second_ns(_, _, _, arch) return arch.model.launch_ns end

-- Bytes that a launch has to move: the cache's rows, W once, K, V and the columns with positions.
local function moved(p)
  return p.tokens * (formats.token_bytes(p) + 2 * (shape.outputs(p) + p.rope)) + 2 * p.rank * shape.outputs(p)
end

function model.estimate(p, arch, cost)
  local m = arch.model
  local shares = model.shares(p, cost.rows_per_wg, arch.device.cus)
  local blocks = ceil_div(p.tokens, cost.rows_per_wg) * shares
  local resident = budget.resident(cost, arch)
  local own = cost.gather_clk + ceil_div(ceil_div(shape.outputs(p), shares), cost.outputs) * cost.tile_clk
  -- Workgroups beside each other hide each other's waits, of which a quarter is the share.
  local together = math.min(resident, ceil_div(blocks, arch.device.cus))
  local rounds = ceil_div(blocks, arch.device.cus * together)
  local clk = rounds * own * (1 + (together - 1) * 0.75)
  return m.launch_ns + m.wg_start_ns + math.max(1000 * clk / m.clock_mfma_mhz, 1000 * moved(p) / m.hbm_bytes_per_us)
end

return model
