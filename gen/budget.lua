-- The cost of a set of parameters in registers, LDS and threads, and the stated reason when that does not fit.
local budget = {}

local limits = setmetatable({}, { __mode = "k" }) -- arch -> threads -> both answers: spaces ask for thousands of points

local function compute_limit(threads, arch)
  local waves = -(-threads // arch.isa.wave)
  local per_simd = -(-waves // arch.isa.simds)
  local limit = 0
  for _, row in ipairs(arch.occupancy) do
    if row[2] >= per_simd then limit = math.max(limit, row[1]) end
  end
  return { limit, per_simd }
end

-- Registers per lane that each wave of a workgroup may use, and waves of it that share a SIMD.
function budget.register_limit(threads, arch)
  local of = limits[arch]
  if not of then
    of = {}
    limits[arch] = of
  end
  of[threads] = of[threads] or compute_limit(threads, arch)
  return of[threads][1], of[threads][2]
end

local function round_up(a, b) return -(-a // b) * b end

-- Total registers per lane of a cost, in the granule the hardware allocates.
function budget.registers(cost, arch)
  local total = 0
  for _, part in ipairs(cost.regs) do total = total + part[2] end
  return round_up(total, arch.isa.vgpr_granule)
end

local function parts_text(cost)
  local out = {}
  for _, part in ipairs(cost.regs) do
    if part[2] > 0 then out[#out + 1] = part[1] .. " " .. part[2] end
  end
  return table.concat(out, " + ")
end

-- nil when the cost fits the target, else the reason with its numbers.
function budget.reject(cost, arch)
  local isa = arch.isa
  if cost.threads > isa.max_threads then return ("threads %d > %d"):format(cost.threads, isa.max_threads) end
  if cost.lds_bytes > isa.lds_bytes then return ("LDS %d > %d"):format(cost.lds_bytes, isa.lds_bytes) end
  local limit, per_simd = budget.register_limit(cost.threads, arch)
  local need = budget.registers(cost, arch)
  if need > limit then
    return ("registers %d > %d (%s; %d waves per SIMD)"):format(need, limit, parts_text(cost), per_simd)
  end
end

-- Workgroups one CU holds at a time. Kept in the cost: the model asks for every split count.
function budget.resident(cost, arch)
  if cost.resident then return cost.resident end
  local isa, waves = arch.isa, cost.threads // arch.isa.wave
  local regs, per_simd = budget.registers(cost, arch), 1
  for _, row in ipairs(arch.occupancy) do
    if regs <= row[1] then per_simd = row[2] break end
  end
  local by_regs = math.max(1, per_simd * isa.simds // waves)
  local by_lds = cost.lds_bytes > 0 and isa.lds_cu_bytes // (cost.lds_bytes + isa.lds_reserved) or by_regs
  cost.resident = math.max(1, math.min(by_regs, by_lds))
  return cost.resident
end

return budget
