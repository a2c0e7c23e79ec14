-- The kernel families of the space: one file each in gen/families/, and here the lists. A family is a table:
--
--   template  the kernel's template
--   body      the template whose kernel it is but for the loaders, where there is one: that one's goldens show the parameters
--   arch      the architecture families it is written for (arch.isa.family), as a set
--   problem   fields of the problem its source depends on
--   params    parameters it may take, with their values
--   fixed     parameters that have one value, where there are any
--   rules     functions (p, v, arch) that return the stated reason why a point cannot serve a problem, or nil
--   combine   name of the combine family its splits are merged by ("combine" when left out)
--   cost      function (p, v, arch), asked only when no rule objects; returns { refused = reason } or
--     threads, rows_per_wg, lds_bytes   how it is launched; the template declares the same, a test compares
--     regs     list of { what, registers per lane }; the sum is the budget
--     slack    registers the compiler takes beyond the sum where the limit leaves room
--     step     cached tokens one round of a workgroup covers
--     wave     per wave and round: mfma and other instructions, LDS bytes read
--     wg       per workgroup and round: LDS bytes written, barriers; tail_clk once at the end
--     stall_clk, overlap_loss, mfma_clk  when better or worse than the model's or the target's defaults
--     inflight bytes of loads outstanding per wave; streaming: the cache's loads ask not to be kept
--     combine  name of another combine family than the family's
--     always_combines  its combine kernel comes also behind one split
--     any_lengths  it is as good for requests of different lengths (gen/space.lua)
--     partials bits of a value in a partial result (32; gen/partials.lua)
--     width    blocks that work on one split together (1), slots: blocks the device holds at once (its SMs)
--     ns       function (splits): nanoseconds of the decode kernel in place of the model's
local partials = require("partials")
local fixed_costs = require("schedule").fixed

local families = {
  reg = require("families/reg"),
  lds = require("families/lds"),
  mma = require("families/mma"),
  hopt = require("families/hopt"),
  hop = require("families/hop"),
  hopp = require("families/hopp"),
  hopw = require("families/hopw"),
  hopg = require("families/hopg"),
  hoppg = require("families/hoppg"),
  combine = require("families/combine")(0),
  combine_fitted = require("families/combine")(require("fit_wave").fixed),

  -- Families a decode kernel may come from, in the order they are listed.
  decode = { "reg", "lds", "mma", "hopt", "hop", "hopp", "hopw", "hopg", "hoppg" },
  -- Families of combine kernels; those of NVIDIA's decode families below.
  combines = { "combine", "combine_fitted" },

  tools = { "block_tables", "read_ceiling", "soak_compare" },

  -- Variants that work for every supported problem; the first whose family is there for the target is its baseline.
  baselines = {
    { family = "reg", params = { blocks = 1, kvload = "temporal", psplit = 1, qsrc = "reg", rescale = "always",
      schedule = "splits", tile = 16, waves = 4 } },
    { family = "mma", params = { blocks = 1, cols = 4, stages = 2, teams = 1, tile = 32 } },
  },
}

local function add_combine(name, make, ...)
  if families[name] then return end
  families[name] = require("families/" .. make)(...)
  table.insert(families.combines, name)
end

-- For splits one for each form of partial results, behind launches that may cut their batch also one for each fixed cost, in the
-- order of the decode families.
for _, name in ipairs(families.decode) do
  local combine, fixed = families[name].combine, fixed_costs[name]
  if combine then add_combine(combine, "merge", partials.bits(name, "splits"), 0) end
  if families[name].params.schedule and combine then
    for _, one in ipairs(families[name].params.schedule) do
      if one == "fitted" then add_combine(partials.merge(name, fixed), "merge", partials.bits(name, one), fixed) end
    end
  end
end

return families
