-- The knob of mla_decode: how many splits each request's cache is cut into, or, of the balanced schedule, how many parts the
-- whole batch is. Fields: gen/ops.lua.
local limits = require("limits")
local MAX_SPLITS, MAX_PARTS = limits.splits, limits.parts
local MAX_TURNS = 2    -- of a launch that may cut its batch, with more than one split
local EVEN_PARTS = 0.8 -- share of the device that a count which cuts all requests alike must use
local FILLS = { 1, 2, 4 } -- how many times the device is to be full

local splits = { word = "splits" }

local function ceil_div(a, b) return -(-a // b) end

function splits.balanced(cost) return cost.schedule == "balanced" end

function splits.most(cost) return splits.balanced(cost) and MAX_PARTS or MAX_SPLITS end

function splits.refuse(p, cost, n)
  local rounds = ceil_div(p.ctx, cost.step)
  if splits.balanced(cost) then
    local tiles = p.batch * rounds
    return n > tiles and ("%d parts > %d tiles of %d tokens"):format(n, tiles, cost.step) or nil
  end
  if n > rounds then
    return ("%d splits > %d rounds of %d tokens"):format(n, rounds, cost.step)
  end
  local turns = n > 1 and cost.turns_at and cost.turns_at(n) or 1
  if turns > MAX_TURNS then
    return ("%d splits take %d turns of the device, and the launch shares out uneven turns itself"):format(n, turns)
  end
  local used = ceil_div(rounds, ceil_div(rounds, n))
  if used < n then
    return ("%d splits: %d of them would be empty (%d rounds of %d tokens)"):format(n, n - used, rounds, cost.step)
  end
end

local function keys(set)
  local out = {}
  for n in sorted(set) do out[#out + 1] = n end
  return out
end

-- Part counts to try: those that fill the CUs, with all row groups together.
local function part_counts(p, cost, arch)
  local groups, tiles = ceil_div(p.heads * p.q_len, cost.rows_per_wg), p.batch * ceil_div(p.ctx, cost.step)
  local set = {}
  for _, fill in ipairs(FILLS) do
    local most = math.max(1, math.min(MAX_PARTS, tiles, fill * arch.device.cus // groups))
    set[most] = true
    -- As many pieces of every request, when all have the same length: nothing is left over to combine unevenly.
    local even = most // p.batch * p.batch
    if even >= EVEN_PARTS * most then set[even] = true end
  end
  return keys(set)
end

-- Split counts to try: powers of two, and those that fill the CUs.
function splits.counts(p, cost, arch)
  if splits.balanced(cost) then return part_counts(p, cost, arch) end
  local set, slots = { [1] = true }, cost.slots or arch.device.cus
  local base = ceil_div(p.heads * p.q_len, cost.rows_per_wg) * p.batch * (cost.width or 1) -- workgroups of a split
  local most = math.max(1, math.min(MAX_SPLITS, ceil_div(p.ctx, cost.step)))
  local enough = math.max(1, 4 * slots // base)
  local n = 2
  while n <= most and n <= 2 * enough do
    set[n] = true
    n = 2 * n
  end
  local rounds = ceil_div(p.ctx, cost.step)
  for _, fill in ipairs(FILLS) do
    local fit = math.max(1, math.min(most, fill * slots // base))
    set[ceil_div(rounds, ceil_div(rounds, fit))] = true -- as many as get work
  end
  return keys(set)
end

return splits
