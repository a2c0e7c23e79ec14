-- Combine kernel for CDNA. Fields: gen/families.lua.
local shape = require("families/shape")
local ceil_div = shape.ceil_div

-- Merges the splits of each row through their LSE: `team` waves per row, `rows` rows per workgroup.
return {
  template = "mla_combine",
  arch = shape.CDNA,
  problem = { "dtype", "rank" },
  params = { rows = { 1, 2, 4, 8 }, team = { 1, 2, 4, 8 } },
  rules = {
    function(_, v)
      if v.rows * v.team > 16 then return ("%d waves > 16"):format(v.rows * v.team) end
    end,
  },
  cost = function(p, v)
    local vectors = ceil_div(p.rank, 256)
    return {
      threads = 64 * v.rows * v.team,
      rows_per_wg = v.rows,
      lds_bytes = v.team > 1 and 4 * p.rank * v.rows * v.team or 0,
      regs = { { "loads", 64 }, { "o", 4 * vectors }, { "rest", 40 } },
      team = v.team, depth = 16 // vectors, -- splits a wave has in flight
    }
  end,
}
