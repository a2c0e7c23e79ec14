-- Combine kernel of the balanced schedule (templates/lib/schedule.h) for NVIDIA's targets. Fields: gen/families.lua.
local ceil_div = require("families/shape").ceil_div

-- Merges the pieces of each row through their LSE: `team` warps per row, `rows` rows per workgroup. fixed: gen/schedule.lua.
return function(fixed)
  return {
    template = "mla_combine_balanced",
    arch = { ampere = true, hopper = true, blackwell = true },
    problem = { "dtype", "heads", "page_size", "q_len", "rank" },
    fixed = { fixed = fixed },
    params = { rows = { 1, 2, 4, 8 }, team = { 1, 4, 16 } },
    rules = {
      function(_, v)
        if v.rows * v.team > 16 then return ("%d warps > 16"):format(v.rows * v.team) end
      end,
    },
    cost = function(p, v)
      local vectors = ceil_div(p.rank, 128)
      local many = v.team == 1 and v.rows >= 4 -- 64 registers, and all the warps an SM can hold
      return {
        threads = 32 * v.rows * v.team,
        rows_per_wg = v.rows,
        lds_bytes = v.team > 1 and 4 * p.rank * v.rows * v.team or 0,
        regs = many and { { "all, at launch", 64 } } or { { "loads", 64 }, { "o", 4 * vectors }, { "rest", 48 } },
        slack = many and 0 or 24,
        team = v.team, depth = many and 4 // vectors or math.min(6, 16 // vectors), -- pieces a warp has in flight
      }
    end,
  }
end
