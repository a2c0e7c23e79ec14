-- What the families for Hopper share: rules on pages and groups of rows, and the time of a launch by waves of blocks.
local shape = require("families/shape")
local partials = require("partials")
local fixed_costs = require("schedule").fixed
local ceil_div = shape.ceil_div

local hopper = {}

local WALK_NS = 12000 -- what a walk of the whole batch adds to a launch

-- A part of the whole batch, or of one request.
hopper.SCHEDULES = { "balanced", "splits" }

function hopper.page_rule(p)
  if p.page_size % 8 ~= 0 then return ("tensor copies take 8 rows of a page at a time: page size %d"):format(p.page_size) end
end

function hopper.schedule_rule(p, v)
  if p.batch == 1 and v.schedule == "fitted" then return "schedule=fitted: one request has no other beside it" end
end

-- Rows copied one by one: what a tile takes of the time with boxes, by count of instructions (not measured).
hopper.SCATTERED = 1.06
function hopper.scattered_rule(p)
  if p.page_size % 32 == 0 then return ("boxes serve pages of %d tokens better"):format(p.page_size) end
end

-- Blocks of v.rows rows in steps of `step`: no more than `most` that read the same tokens, none larger than the rows need.
function hopper.groups_rule(p, v, step, most)
  local rows = p.heads * p.q_len
  local groups = ceil_div(rows, v.rows)
  local need = ceil_div(ceil_div(rows, groups), step) * step
  if groups > most then return ("%d groups of %d rows would read every token"):format(groups, v.rows) end
  if need < v.rows then return ("%d rows go into %d blocks of %d, not %d"):format(rows, groups, need, v.rows) end
end

-- `cost` with the kernels that the variant's schedule adds. Its `ns` says all about time: nothing is
-- counted by wave or workgroup.
function hopper.cost(cost, v, family)
  cost.wave, cost.wg = { mfma = 0, issue = 0, lds_read = 0 }, { lds_write = 0, barriers = 0, tail_clk = 0 }
  cost.any_lengths = v.schedule == "balanced" or v.schedule == "fitted"
  if v.schedule == "balanced" then
    cost.schedule = "balanced"
    cost.combine = "merge_balanced_" .. fixed_costs[family]
  end
  -- hopt's parts meet among themselves (templates/lib/meet.h).
  cost.always_combines = v.schedule == "fitted" and family ~= "hopt"
  if v.schedule == "fitted" then cost.combine = partials.merge(family, fixed_costs[family]) end
  cost.partials = partials.bits(family, v.schedule)
  return cost
end

-- Nanoseconds of a launch for a number of splits (of parts, when balanced): a fixed part, and per wave of blocks its tiles of 64
-- tokens one after the other. Of t: groups (of rows), slots (blocks resident at once), width (blocks that share a split's tokens,
-- default 1), piece (tiles that starting a request costs a walk, default 0),
-- fixed(blocks) and wave in ns, tile(blocks) in ns.
function hopper.launch(p, v, t)
  local balanced, width = v.schedule == "balanced", t.width or 1
  local tiles = ceil_div(p.ctx, 64)
  return function(splits)
    local left = t.groups * splits * width * (balanced and 1 or p.batch)
    local each = balanced and ceil_div(p.batch * (tiles + (t.piece or 0)), splits) or ceil_div(tiles, splits * width)
    local ns = t.fixed(left) + (balanced and WALK_NS or 0)
    while left > 0 do
      local now = math.min(left, t.slots)
      ns = ns + (t.wave or 0) + each * t.tile(now)
      left = left - now
    end
    return ns
  end
end

-- Nanoseconds of a tile when so many blocks run: at the pace of memory, of the L2 that feeds all groups of rows, or of the block
-- itself; `loss` is the share of the smaller that the larger does not hide.
function hopper.tile(p, arch, groups, block_ns, loss)
  local m, bytes = arch.model, 128 * (p.rank + p.rope)
  return function(now)
    local memory = bytes * math.max(now / groups / m.hbm_bytes_per_us, now / m.llc_bytes_per_us) * 1000
    return math.max(memory, block_ns) + loss * math.min(memory, block_ns)
  end
end

return hopper
