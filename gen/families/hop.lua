-- Many rows on Hopper: 64 query rows a block, wgmma, O split by columns over two warpgroups. Fields: gen/families.lua.
local shape = require("families/shape")
local hopper = require("families/hopper")
local hop_plan = require("hop_plan")

local ROWS = 64

return {
  template = "mla_decode_hop",
  arch = { hopper = true },
  problem = shape.DECODE_FIELDS,
  combine = "merge",
  params = {
    cluster = { 1, 2 },                       -- 2: two blocks share what they load, by multicast
    schedule = hopper.SCHEDULES,
  },
  rules = {
    function(p)
      if p.rank ~= 256 and p.rank ~= 512 then return ("rank %d is not 256 or 512"):format(p.rank) end
      if p.heads * p.q_len <= 32 then return ("%d rows fill less than half of %d"):format(p.heads * p.q_len, ROWS) end
    end,
    hopper.page_rule,
    function(p, v)
      if v.schedule == "balanced" and p.dtype == "f16" then return "schedule=balanced with f16 spills registers" end
      if v.cluster == 2 and p.dtype == "f16" then return "cluster=2 with f16 spills registers" end
      if v.cluster == 2 and p.heads * p.q_len <= ROWS then return "cluster=2 needs more than 64 rows" end
    end,
  },
  cost = function(p, v)
    local tile = 64 * 2 * (p.rank + p.rope)
    return hopper.with_schedule({
      threads = 384,
      rows_per_wg = ROWS,
      lds_bytes = hop_plan.make(p.rank, p.rope).bytes,
      regs = { { "all, at launch", 168 } }, -- the math warps take 240, the loaders leave 24
      step = 64,
      -- One unit: 64 x 8 x 16 on all four tensor cores, 4 clocks; 12 warps, 8 of which multiply.
      mfma_clk = 4,
      wave = {
        mfma = 8 * ((p.rank + p.rope) // 16 + p.rank // 16) // 3,
        issue = 400,
        lds_read = (tile + 2 * 64 * 64 * (p.rank + p.rope) // 64 + 64 * 2 * p.rank) // 12,
      },
      wg = { lds_write = tile, barriers = 2, tail_clk = 5000 },
      stall_clk = 900, -- softmax and refilling that the other warpgroup does not cover
      inflight = tile // 12,
      overlap_loss = 0.15,
    }, v)
  end,
}
