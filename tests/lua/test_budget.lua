-- Budgets: register limits by waves per SIMD, LDS, and reasons with numbers.
local loader = T.loader()
local budget, arch = loader.require("budget"), loader.require("arch/gfx942")

local function cost(t)
  return { threads = t.threads or 64, lds_bytes = t.lds or 0, regs = { { "o", t.regs or 100 } }, rows_per_wg = 16 }
end

test("register limit by workgroup size", function()
  for threads, limit in pairs({ [64] = 512, [128] = 512, [256] = 512, [320] = 256, [512] = 256, [768] = 168, [1024] = 128 }) do
    eq(budget.register_limit(threads, arch), limit, threads .. " threads")
  end
end)

test("registers are rounded to the granule", function()
  eq(budget.registers(cost({ regs = 100 }), arch), 104)
  eq(budget.registers(cost({ regs = 104 }), arch), 104)
end)

test("reasons carry the numbers, and the edge fits", function()
  eq(budget.reject(cost({ lds = 65536 }), arch), nil)
  eq(budget.reject(cost({ lds = 73728 }), arch), "LDS 73728 > 65536")
  eq(budget.reject(cost({ regs = 512 }), arch), nil)
  eq(budget.reject(cost({ regs = 612 }), arch), "registers 616 > 512 (o 612; 1 waves per SIMD)")
  eq(budget.reject(cost({ regs = 256, threads = 512 }), arch), nil)
  eq(budget.reject(cost({ regs = 257, threads = 512 }), arch), "registers 264 > 256 (o 257; 2 waves per SIMD)")
  eq(budget.reject(cost({ threads = 1088 }), arch), "threads 1088 > 1024")
end)

test("workgroups per CU: by registers and by LDS", function()
  eq(budget.resident(cost({ regs = 500, threads = 256 }), arch), 1)
  eq(budget.resident(cost({ regs = 500, threads = 64 }), arch), 4)
  eq(budget.resident(cost({ regs = 250, threads = 256 }), arch), 2)
  eq(budget.resident(cost({ regs = 250, threads = 256, lds = 40000 }), arch), 1)
  eq(budget.resident(cost({ regs = 64, threads = 256, lds = 16384 }), arch), 4)
  ok(budget.resident(cost({ regs = 500, threads = 512 }), arch) == 1, "never less than one")
end)
