-- Arch tables: every target has every fact, and the facts agree with each other.
local loader = T.loader()

-- Facts that budget, model and space read of every target. Templates of one architecture's families may read more.
local FIELDS = {
  [""] = { "target", "name", "isa", "occupancy", "device", "options", "model" },
  isa = { "family", "wave", "lds_bytes", "lds_cu_bytes", "lds_reserved", "lds_banks", "vgprs", "vgpr_file", "vgpr_granule",
    "max_threads", "max_waves_simd", "simds" },
  device = { "cus", "xccs" },
  model = { "mfma_clk", "issue_clk", "stall_clk", "combine_launch_ns", "flops_per_us", "clock_mhz", "clock_mfma_mhz",
    "throttle_from_us", "hbm_bytes_per_us", "l1_bytes_per_clk", "lds_bytes_per_clk", "lds_wave_bytes_per_clk", "llc_bytes",
    "llc_bytes_per_us", "hbm_latency_ns", "launch_ns", "barrier_clk", "wg_start_ns" },
}

test("the promised targets are there, and every target has the common fields", function()
  local seen = {}
  for _, target in ipairs(loader.targets()) do
    local arch = loader.require("arch/" .. target)
    eq(arch.target, target, "target field")
    for part, names in pairs(FIELDS) do
      for _, name in ipairs(names) do
        ok((part == "" and arch or arch[part])[name] ~= nil, "%s: %s.%s is missing", target, part, name)
      end
    end
    seen[target] = true
  end
  for _, target in ipairs(T.targets) do ok(seen[target], "%s is gone", target) end
end)

test("targets of one architecture family know the same facts", function()
  local of = {}
  for _, target in ipairs(loader.targets()) do
    local isa = loader.require("arch/" .. target).isa
    local first = of[isa.family] or isa
    of[isa.family] = first
    for name in pairs(first) do ok(isa[name] ~= nil, "%s: isa.%s is missing", target, name) end
    for name in pairs(isa) do ok(first[name] ~= nil, "%s: isa.%s is new in its family", target, name) end
  end
end)

test("numbers are finite and positive, sizes are integers", function()
  local function walk(t, path)
    for k, v in pairs(t) do
      if type(v) == "table" then walk(v, path .. "." .. k)
      elseif type(v) == "number" then ok(v == v and v >= 0 and v < math.huge, "%s.%s", path, k) end
      if type(v) == "number" and path == "isa" then eq(math.type(v), "integer", k) end
    end
  end
  for _, target in ipairs(loader.targets()) do
    local arch = loader.require("arch/" .. target)
    walk(arch.isa, "isa")
    walk(arch.model, "model")
    walk(arch.device, "device")
  end
end)

test("occupancy table: rising registers, falling waves, ends at the whole file", function()
  for _, target in ipairs(loader.targets()) do
    local arch = loader.require("arch/" .. target)
    local regs, waves = 0, arch.isa.max_waves_simd + 1
    for _, row in ipairs(arch.occupancy) do
      ok(row[1] > regs and row[2] < waves, "%s: row %d,%d", target, row[1], row[2])
      eq(row[1] % arch.isa.vgpr_granule, 0, "granule")
      ok(row[1] * row[2] <= arch.isa.vgpr_file, "%d waves of %d registers", row[2], row[1])
      regs, waves = row[1], row[2]
    end
    eq(regs, arch.isa.vgprs, "last row of " .. target)
  end
end)
