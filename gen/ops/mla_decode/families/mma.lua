-- Decode with warp-wide matrix instructions, for every NVIDIA GPU since Ampere. Fields: gen/ops.lua.
local shape = require("ops/mla_decode/shape")
local ceil_div = shape.ceil_div
local counted = require("ops/mla_decode/times").counted.mma

-- Bytes of a row in shared memory; the template has the same.
local function pitch(p) return 2 * (p.rank + p.rope) + 16 end

return {
  template = "mla_decode/mma",
  arch = { ampere = true, hopper = true, blackwell = true },
  problem = shape.DECODE_FIELDS,
  optional = shape.knows("shared"),
  combine = require("ops/mla_decode/partials").merge("mma"),
  params = {
    blocks = { 1, 2 },        -- 16-row blocks per warp
    cols = { 2, 4 },          -- warps that share a team's rows: tokens in QK, columns in PV
    stages = { 2, 3, 4 },     -- tiles in shared memory
    teams = { 1, 2, 4 },      -- groups of warps with rows of their own
    tile = { 16, 32, 64 },    -- tokens
  },
  rules = {
    shape.plain_rule,
    function(_, v)
      if v.tile % (8 * v.cols) ~= 0 then return ("%d tokens do not go to %d warps by eights"):format(v.tile, v.cols) end
      if v.tile % (v.cols * v.teams) ~= 0 then
        return ("%d tokens are not copied in whole rows by %d warps"):format(v.tile, v.cols * v.teams)
      end
    end,
  },
  cost = function(p, v)
    local cols, rows, warps = p.rank + p.rope, 16 * v.blocks * v.teams, v.cols * v.teams
    local units, tokens = ceil_div(p.rank // 16, v.cols), v.tile // v.cols
    local copies = v.tile // warps * ceil_div(cols // 8, 32)
    local lds = rows * pitch(p) + v.stages * v.tile * pitch(p) + rows * (2 * v.tile + 16) + 4 * rows * v.cols
    local qk, pv = cols // 16 * (tokens // 8) * v.blocks, v.tile // 16 * units * 2 * v.blocks
    return {
      threads = 32 * warps,
      rows_per_wg = rows,
      lds_bytes = lds,
      regs = { { "o", 8 * units * v.blocks }, { "s", 8 * (tokens // 8) * v.blocks }, { "q", 8 * v.blocks }, { "rest", 72 } },
      slack = 64,
      step = v.tile,
      wave = {
        mfma = qk + pv,
        issue = cols // 16 * v.blocks + cols // 32 * (tokens // 8) + v.tile // 16 * (units + v.blocks) + 6 * copies
          + v.blocks * (8 * units + 60),
        lds_read = 32 * (cols // 2 * v.blocks + cols // 2 * (tokens // 8)) + v.tile // 16 * 512 * (units + v.blocks),
      },
      wg = { lds_write = v.tile * 2 * cols, barriers = counted.barriers, tail_clk = counted.tail_clk },
      inflight = (v.stages - 1) * v.tile * 2 * cols // warps,
      overlap_loss = counted.overlap_loss,
    }
  end,
}
