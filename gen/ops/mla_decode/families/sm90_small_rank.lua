-- Many rows on Hopper at small ranks: 128 query rows a block, wgmma, the whole O in registers. Fields: gen/ops.lua.
local shape = require("ops/mla_decode/shape")
local hopper = require("ops/mla_decode/hopper")
local partials = require("ops/mla_decode/partials")
local protocol = require("ops/mla_decode/protocol/rules")
local hopw_plan = require("ops/mla_decode/plans/sm90_small_rank")
local ceil_div = shape.ceil_div

local measured = require("ops/mla_decode/times").measured.sm90_small_rank

local ROWS = 128

-- Nanoseconds of a launch, as one H200 measured it (docs/lab/archive): a fixed part, and per wave of blocks its tiles
-- one after the other, at the pace of the tensor cores (1.6 GHz under this load, 11 % beside the products) or of memory.
local function nanoseconds(p, v, arch)
  local groups = ceil_div(p.heads * p.q_len, ROWS)
  local tile_bytes = 128 * (p.rank + p.rope)
  local products = 2 * (2 * (p.rank + p.rope) + 2 * p.rank) -- clocks
  local tile_ns = products * measured.clk_percent * 10 // measured.clk_mhz
  return hopper.launch(p, v, arch, {
    family = "sm90_small_rank", cut = 0, bits = partials.bits("sm90_small_rank", v.schedule), turns = v.schedule == "fitted",
    groups = groups, slots = arch.device.cus, wave = measured.wave,
    fixed = function() return measured.fixed end,
    tile = function(now) return math.max(tile_ns, tile_bytes * now * 1000 // groups // arch.model.hbm_bytes_per_us) end,
  })
end

return {
  template = "mla_decode/sm90_small_rank",
  arch = { hopper = true },
  problem = shape.DECODE_FIELDS,
  optional = shape.knows("halves"),
  combine = partials.merge("sm90_small_rank"),
  params = {
    schedule = hopper.SCHEDULES,
  },
  rules = {
    shape.plain_rule,
    hopper.schedule_rule,
    function(p)
      if p.rank ~= 128 and p.rank ~= 192 and p.rank ~= 256 then return ("rank %d is not 128, 192 or 256"):format(p.rank) end
      if p.heads * p.q_len <= ROWS // 2 then return ("%d rows fill no more than half of %d"):format(p.heads * p.q_len, ROWS) end
    end,
    hopper.page_rule,
  },
  cost = function(p, v, arch)
    local plan = hopw_plan.make(p.rank, p.rope)
    local why = protocol.sm90_small_rank(plan, p, v)
    if why then return { refused = why } end
    return hopper.cost({
      threads = 384,
      rows_per_wg = ROWS,
      lds_bytes = plan.bytes,
      regs = { { "all, at launch", 168 } }, -- the math warps take 232, the loaders keep 40
      step = 64,
      inflight = 2 * 128 * (p.rank + p.rope) // 12,
      launch = nanoseconds(p, v, arch),
    }, v, "sm90_small_rank")
  end,
}
