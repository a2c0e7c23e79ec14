-- Many rows on Hopper at small ranks: 128 query rows a block, wgmma, the whole O in registers. Fields: gen/families.lua.
local shape = require("families/shape")
local hopw_plan = require("hopw_plan")
local ceil_div = shape.ceil_div

local ROWS = 128

-- Nanoseconds of a launch: a fixed part, and per wave of blocks its tiles one after the other, at the pace of the tensor cores or
-- of memory. The clock under this load is 1.7 GHz.
local function nanoseconds(p, v, arch)
  local m, groups = arch.model, ceil_div(p.heads * p.q_len, ROWS)
  local tile_bytes = 128 * (p.rank + p.rope)
  local tile_clk = 2 * (2 * (p.rank + p.rope) + 2 * p.rank) * 115 // 100
  return function(splits)
    local balanced = v.schedule == "balanced"
    local left = groups * splits * (balanced and 1 or p.batch)
    local tiles = balanced and ceil_div(p.batch * (ceil_div(p.ctx, 64) + 5), splits) or ceil_div(ceil_div(p.ctx, 64), splits)
    local ns = 4500 + (balanced and 1500 or 0)
    while left > 0 do
      local now = math.min(left, arch.device.cus)
      ns = ns + 1500 + tiles * math.max(tile_clk * 10 // 17, tile_bytes * now * 1000 // groups // m.hbm_bytes_per_us)
      left = left - now
    end
    return ns
  end
end

return {
  template = "mla_decode_hopw",
  arch = { hopper = true },
  problem = shape.DECODE_FIELDS,
  combine = "merge",
  params = {
    schedule = { "balanced", "splits" }, -- a part of the whole batch, or of one request
  },
  rules = {
    function(p)
      if p.rank % 64 ~= 0 or p.rank > 256 then return ("rank %d is not a multiple of 64 up to 256"):format(p.rank) end
      if p.heads * p.q_len <= ROWS // 2 then return ("%d rows fill no more than half of %d"):format(p.heads * p.q_len, ROWS) end
      if p.page_size % 8 ~= 0 then return ("tensor copies take 8 rows of a page at a time: page size %d"):format(p.page_size) end
    end,
  },
  cost = function(p, v, arch)
    local balanced = v.schedule == "balanced"
    return {
      threads = 384,
      rows_per_wg = ROWS,
      lds_bytes = hopw_plan.make(p.rank, p.rope).bytes,
      regs = { { "all, at launch", 168 } }, -- the math warps take 232, the loaders keep 40
      schedule = balanced and "balanced" or nil,
      combine = balanced and "merge_balanced" or nil,
      step = 64,
      wave = { mfma = 0, issue = 0, lds_read = 0 },
      wg = { lds_write = 0, barriers = 0, tail_clk = 0 },
      inflight = 2 * 128 * (p.rank + p.rope) // 12,
      ns = nanoseconds(p, v, arch),
    }
  end,
}
