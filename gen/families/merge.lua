-- Combine kernel for NVIDIA's targets. Fields: gen/families.lua.
local ceil_div = require("families/shape").ceil_div

-- Merges the splits of each row through their LSE: `team` warps per row, `rows` rows per workgroup. partials: gen/partials.lua.
return function(partials)
  return {
    template = "mla_combine_warp",
    arch = { ampere = true, hopper = true, blackwell = true },
    problem = { "dtype", "rank" },
    fixed = { partials = partials },
    params = { rows = { 1, 2, 4, 8 }, team = partials == 16 and { 1, 2, 4, 8, 16 } or { 1, 2, 4, 8 } },
    rules = {
      function(_, v)
        if v.rows * v.team > 16 then return ("%d warps > 16"):format(v.rows * v.team) end
      end,
    },
    cost = function(p, v)
      local vectors = ceil_div(p.rank * partials, 4096)
      return {
        threads = 32 * v.rows * v.team,
        rows_per_wg = v.rows,
        lds_bytes = v.team > 1 and 16384 // partials * vectors * v.rows * v.team or 0,
        regs = { { "loads", 64 }, { "o", 128 // partials * vectors }, { "rest", 40 } },
        slack = 24,
        team = v.team, depth = partials // 2 // vectors, -- splits a warp has in flight
      }
    end,
  }
end
