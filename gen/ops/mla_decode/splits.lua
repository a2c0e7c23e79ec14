-- The knob of mla_decode: how many splits each request's cache is cut into. Fields: gen/ops.lua.
local limits = require("limits")
local MAX_SPLITS = limits.splits
local own = require("ops/mla_decode/plans/invariant")
local MAX_TURNS = 2 -- of a launch that may cut its batch, with more than one split
local FILLS = { 1, 2, 4 } -- how many times the device is to be full

local splits = { word = "splits" }

local ceil_div = require("whole").ceil_div

function splits.most() return MAX_SPLITS end

function splits.refuse(p, cost, n)
  local most = cost.own and own.most(p.heads * p.q_len)
  if most then return n ~= most and ("a request is cut into %d parts at most"):format(most) or nil end
  if n == 1 and cost.several then return "one split: its requests have no shares" end
  if n > 1 and cost.once then return ("%d splits: a kernel for one"):format(n) end
  local rounds = ceil_div(p.ctx, cost.step)
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

-- Split counts to try: powers of two, and those that fill the CUs.
function splits.counts(p, cost, arch)
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
  local out = {}
  for m in sorted(set) do out[#out + 1] = m end
  return out
end

return splits
