-- Many rows on Hopper at small ranks: 128 query rows a block, wgmma, the whole O in registers. Fields: gen/families.lua.
local shape = require("families/shape")
local hopw_plan = require("hopw_plan")
local ceil_div = shape.ceil_div

local ROWS = 128

-- Nanoseconds of a launch, from what was measured on one H200 (docs/perf-log.md): a fixed part, and per wave of blocks its tiles
-- one after the other, at the pace of the tensor cores (1.6 GHz under this load, 11 % beside the products) or of memory.
local function nanoseconds(p, v, arch)
  local m, groups = arch.model, ceil_div(p.heads * p.q_len, ROWS)
  local tile_bytes = 128 * (p.rank + p.rope)
  local tile_ns = 2 * (2 * (p.rank + p.rope) + 2 * p.rank) * 111 // 160
  return function(splits)
    local balanced = v.schedule == "balanced"
    local left = groups * splits * (balanced and 1 or p.batch)
    local tiles = balanced and ceil_div(p.batch * (ceil_div(p.ctx, 64) + 5), splits) or ceil_div(ceil_div(p.ctx, 64), splits)
    local ns = 4500 + (balanced and 6000 or 0)
    while left > 0 do
      local now = math.min(left, arch.device.cus)
      ns = ns + 4500 + tiles * math.max(tile_ns, tile_bytes * now * 1000 // groups // m.hbm_bytes_per_us)
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
      if p.rank ~= 128 and p.rank ~= 192 and p.rank ~= 256 then return ("rank %d is not 128, 192 or 256"):format(p.rank) end
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
