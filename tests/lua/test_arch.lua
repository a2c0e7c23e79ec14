-- Arch tables: every target has every fact, and the facts agree with each other.
local T = ...
local test, eq, ok = T.test, T.eq, T.ok
local loader = T.loader()

local function same_keys(a, b, path)
  for k, v in pairs(a) do
    ok(b[k] ~= nil, "%s.%s is missing", path, k)
    if type(v) == "table" and type(k) == "string" and #v == 0 then same_keys(v, b[k], path .. "." .. k) end
  end
end

test("gfx942 is there, and every target has the same fields", function()
  local reference, seen = loader.require("arch/gfx942"), 0
  for _, target in ipairs(loader.targets()) do
    local arch = loader.require("arch/" .. target)
    eq(arch.target, target, "target field")
    same_keys(reference, arch, target)
    seen = seen + 1
  end
  ok(seen >= 1, "no targets")
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
      ok(row[1] > regs and row[2] < waves, "row %d,%d", row[1], row[2])
      eq(row[1] % arch.isa.vgpr_granule, 0, "granule")
      ok(row[1] * row[2] <= arch.isa.vgprs, "%d waves of %d registers", row[2], row[1])
      regs, waves = row[1], row[2]
    end
    eq(regs, arch.isa.vgprs, "last row")
  end
end)
