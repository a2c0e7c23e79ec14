-- Transposed decode on Hopper for rows that fill 64 badly: all in one block, scores and values by warpgroups of their own.
-- Fields: gen/families.lua.
local shape = require("families/shape")
local hopp_plan = require("hopp_plan")
local ceil_div = shape.ceil_div

local OVERLAP_LOSS = 0.03 -- share of the smaller of memory and work in a block that the larger does not hide
local MOST_GROUPS = 2     -- row groups that read the same tokens through L2

-- Nanoseconds of a launch, from what was measured on one H200 (docs/perf-log.md): a fixed part, and per wave of blocks the tiles
-- one after the other, each at the pace of memory, of the L2 that feeds all row groups, or of the block itself, at 1.7 GHz.
local function nanoseconds(p, v, arch)
  local m, cols, groups, slots = arch.model, p.rank + p.rope, ceil_div(p.heads * p.q_len, v.rows), arch.device.cus
  local tile_bytes, mmas = 128 * cols, ceil_div(cols, 16) + p.rank // 16
  local block_ns = (1200 + v.rows * mmas * 3 // 5) * 10 // 17
  return function(splits)
    local balanced = v.schedule == "balanced"
    local blocks = groups * splits * (balanced and 1 or p.batch)
    local tiles = balanced and ceil_div(p.batch * ceil_div(p.ctx, 64), splits) or ceil_div(ceil_div(p.ctx, 64), splits)
    local ns, left = 4000 + 50 * v.rows + (balanced and 6000 or 0), blocks
    while left > 0 do
      local now = math.min(left, slots)
      local memory = tile_bytes * math.max(now / groups / m.hbm_bytes_per_us, now / m.llc_bytes_per_us) * 1000
      ns = ns + tiles * (math.max(memory, block_ns) + OVERLAP_LOSS * math.min(memory, block_ns))
      left = left - now
    end
    return ns
  end
end

return {
  template = "mla_decode_hopp",
  arch = { hopper = true },
  problem = shape.DECODE_FIELDS,
  combine = "merge",
  params = {
    rows = { 32, 48, 64, 80, 96 },       -- query rows of a block, N of its matrix products: 72 take as long as 80
    schedule = { "balanced", "splits" }, -- a part of the whole batch, or of one request
  },
  rules = {
    function(p)
      if p.rank ~= 256 and p.rank ~= 512 then return ("rank %d is not 256 or 512"):format(p.rank) end
      if p.heads * p.q_len <= 16 then return ("%d rows: family hopt serves so few"):format(p.heads * p.q_len) end
      if p.page_size % 8 ~= 0 then return ("tensor copies take 8 rows of a page at a time: page size %d"):format(p.page_size) end
    end,
    function(p, v)
      local rows = p.heads * p.q_len
      local groups = ceil_div(rows, v.rows)
      local need = ceil_div(ceil_div(rows, groups), 16) * 16
      if groups > MOST_GROUPS then return ("%d groups of %d rows would read every token"):format(groups, v.rows) end
      if need < v.rows then return ("%d rows go into %d blocks of %d, not %d"):format(rows, groups, need, v.rows) end
    end,
  },
  cost = function(p, v, arch)
    local g = hopp_plan.make({ rank = p.rank, rope = p.rope, rows = v.rows, schedule = v.schedule }, arch.isa)
    if g.refused then return { refused = g.refused } end
    return {
      threads = 512,
      rows_per_wg = v.rows,
      lds_bytes = g.bytes,
      regs = { { "all, at launch", 128 } }, -- setmaxnreg deals them out: gen/hopp_plan.lua
      step = 64,
      wave = { mfma = 0, issue = 0, lds_read = 0 },
      wg = { lds_write = 0, barriers = 0, tail_clk = 0 },
      inflight = (g.ring - g.boxes) * 8192 // 16,
      schedule = v.schedule == "balanced" and "balanced" or nil,
      combine = v.schedule == "balanced" and "merge_balanced" or nil,
      ns = nanoseconds(p, v, arch),
    }
  end,
}
