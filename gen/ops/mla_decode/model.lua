-- Closed-form estimate of a variant's time in ns: for ranking candidates and for planning without measurements. It is
-- never called measured, and it is judged by the order it gives, not by its microseconds.
--
--   T = launch + first loads + max(compute, memory) + a part of the smaller + Q, O and partials + combine
--   compute  rounds of workgroups x rounds of tiles x the largest of MFMA, issue slots and LDS per tile and a part of the
--            second, barriers and stalls
--   memory   unique cache bytes from HBM, reads repeated by sibling workgroups from the L2 they share where the arch names
--            its rate (templates/mla_decode/lib/grid.h puts them on one XCD), else from the last-level cache; the bandwidth is
--            what the loads in flight on the busy CUs can draw (Little's law), at most the device's
--   edges    Q before the loop, O or the split's partials behind it: nothing hides them
--   clock    falls from boost towards the sustained MFMA clock as the run gets long and MFMA-heavy
--
-- The shares below were set so that the order agrees with the emulator's timing model on the demo's problems.
local budget = require("budget")
local partials = require("ops/mla_decode/partials")
local shape = require("ops/mla_decode/shape")
local times = require("ops/mla_decode/times")
local model = {}

local LSE_BYTES = 4
local CACHE_POLICY = 1.01
local OVERLAP_LOSS = 0.1 -- share of the smaller of compute and memory that does not hide behind the larger
local SECOND_LOSS = 0.35 -- the same of the second largest of MFMA, issue and LDS in a tile

local ceil_div = require("whole").ceil_div

-- Clocks of one round of a workgroup, alone on its CU, and its MFMA part.
local function round_clocks(cost, arch)
  local m, waves = arch.model, cost.threads // arch.isa.wave
  local per_simd = ceil_div(waves, arch.isa.simds)
  local mfma = per_simd * cost.wave.mfma * (cost.mfma_clk or m.mfma_clk)
  local issue = per_simd * m.issue_clk * (cost.wave.mfma + cost.wave.issue)
  local lds = (waves * cost.wave.lds_read + cost.wg.lds_write) / m.lds_bytes_per_clk
  local most = math.max(mfma, issue, lds)
  local least = math.min(mfma, issue, lds)
  local busy = most + SECOND_LOSS * (mfma + issue + lds - most - least)
  return busy, (cost.stall_clk or m.stall_clk) / per_simd + cost.wg.barriers * m.barrier_clk, mfma
end

-- Bytes of partials all splits write and the combine kernel reads back.
local function partial_bytes(p, cost, splits)
  local rows = splits * p.q_len * p.heads * p.batch
  return splits > 1 and rows * (partials.row_bytes(p.rank, cost.partials or 32) + LSE_BYTES) or 0
end

-- Time of the cache's bytes, and of what comes before and behind the loop.
local function memory_ns(p, cost, arch, groups_x, splits, wgs)
  local m = arch.model
  local waves = cost.threads // arch.isa.wave
  local resident = math.min(budget.resident(cost, arch), math.max(1, wgs // arch.device.cus))
  local busy_cus = math.min(arch.device.cus, wgs)
  local draw = busy_cus * resident * waves * cost.inflight / m.hbm_latency_ns * 1000 -- bytes per us
  local l1 = busy_cus * m.l1_bytes_per_clk * m.clock_mhz
  local rate = math.min(m.hbm_bytes_per_us, draw, l1)
  local near = math.min(m.llc_bytes_per_us, draw, l1)
  local siblings = m.l2_bytes_per_us and math.min(m.l2_bytes_per_us, draw, l1) or near
  local kv = p.batch * p.ctx * shape.token_bytes(p)
  local rows = p.batch * p.q_len * p.heads
  local q, o = rows * (p.rank + p.rope) * 2, splits > 1 and partial_bytes(p, cost, splits) or rows * p.rank * 2
  -- A cache that fits the last-level cache may still be there from the last step: streaming loads would give that away.
  -- One that does not fit only displaces what could stay. A tie-breaker, not a measured factor.
  if cost.streaming ~= nil and cost.streaming == (kv <= m.llc_bytes) then kv = kv * CACHE_POLICY end
  local edges = q / rate + (splits - 1) * q / near + o / math.min(m.llc_bytes_per_us, l1)
  return 1000 * (kv / rate + (groups_x - 1) * kv / siblings), 1000 * edges
end

-- Clock of a run of `clk` clocks and `memory` ns that keeps `share` of the matrix pipes busy on `part` of the device. Power goes
-- with the cube of the clock: where the arch says how busy the pipes were (mfma_busy) that drew all of it at clock_mfma_mhz,
-- fewer sustain more, and the run's start is faster; else the clock falls with their share and the run's length in proportion.
local function clock_mhz(m, clk, memory, share, part)
  if m.mfma_busy then
    local ns = clk * 1000 / m.clock_mhz
    local busy = share * part * math.min(1, ns / math.max(memory, 1))
    local sustained = math.min(m.clock_mhz, m.clock_mfma_mhz / (busy / m.mfma_busy) ^ (1 / 3))
    ns = math.max(ns, memory)
    return m.clock_mhz - (m.clock_mhz - sustained) * ns / (ns + m.throttle_from_us * 1000)
  end
  local sustained_ns = clk * 1000 / m.clock_mfma_mhz
  local busy = share * part * math.min(1, sustained_ns / math.max(memory, 1))
  local length = math.min(1, math.max(sustained_ns, memory) / (m.throttle_from_us * 1000))
  return m.clock_mhz - (m.clock_mhz - m.clock_mfma_mhz) * busy * length
end

local function decode_ns(p, cost, arch, splits)
  if cost.ns then return cost.ns(splits) end
  local m = arch.model
  local groups_x = ceil_div(p.q_len * p.heads, cost.rows_per_wg)
  local wgs = groups_x * splits * p.batch
  local rounds = ceil_div(ceil_div(p.ctx, cost.step), splits)
  local busy, stall, mfma = round_clocks(cost, arch)
  local resident = budget.resident(cost, arch)
  local full, rest = wgs // (arch.device.cus * resident), wgs % (arch.device.cus * resident)
  -- A CU with r workgroups needs max(r x busy, busy + stall) per round of each.
  local function batch_clk(r) return rounds * math.max(r * busy, busy + stall) + cost.wg.tail_clk end
  local clk = full * batch_clk(resident)
  if rest > 0 then clk = clk + batch_clk(ceil_div(rest, arch.device.cus)) end
  local memory, edges = memory_ns(p, cost, arch, groups_x, splits, wgs)
  local compute = clk * 1000 / clock_mhz(m, clk, memory, mfma / (busy + stall), math.min(1, wgs / arch.device.cus))
  local loss = cost.overlap_loss or m.overlap_loss or OVERLAP_LOSS
  return m.wg_start_ns + math.max(compute, memory) + loss * math.min(compute, memory) + edges
end

-- Turns of workgroups that so many rows of a cut batch take, as many as run at once in each; the last one may be short. More rows
-- a workgroup than BEHIND_ONE has save whole turns alone.
local BEHIND_ONE_ROWS = 4
local function turns(rows, cost, arch)
  local at_once = arch.device.cus * 32 // (cost.threads // arch.isa.wave)
  local usual = rows / (at_once * BEHIND_ONE_ROWS)
  local n = rows / (at_once * cost.rows_per_wg)
  return n < usual and math.max(n, math.min(usual, 1)) or n
end

-- Turns saved by more rows a workgroup, of a batch that is cut since its lengths differ.
local function turns_saved(p, decode, cost, arch)
  local rows = times.measured.uneven.cut * decode.most_parts * p.q_len * p.heads
  return turns(rows, { threads = cost.threads, rows_per_wg = BEHIND_ONE_ROWS }, arch) - turns(rows, cost, arch)
end

-- The extra time that the combine kernel is expected to take for different lengths: half of the parts have a piece of the longest
-- request, and a warp adds up those of its group one round after the other. Where all warps of a workgroup share such a request's
-- rows, those of a few pieces are left to its teams, and so is each request of a batch that is cut though its requests are alike.
-- One of the kernels whose blocks end early has more rows, and so fewer turns.
local function uneven_ns(p, decode, cost, arch, splits)
  if p.batch == 1 or not decode.most_parts or decode.nothing then return 0 end
  local uneven, longest = times.measured.uneven, decode.most_parts / 2
  if not cost.far then return uneven.round * longest / (cost.team * cost.depth) end
  local parts = decode.parts_at and decode.parts_at(splits)
  local few = math.max(math.min(uneven.few, longest, cost.apart or uneven.few), parts and parts / p.batch or 0)
  local trips = (longest / cost.far + few / cost.team) / cost.depth
  if cost.early and not parts then trips = trips - uneven.turn * turns_saved(p, decode, cost, arch) end
  return uneven.round * trips
end

-- Time of the combine kernel alone for equal lengths: rounds of workgroups, each a few latencies long, or the bytes.
local function equal_ns(p, decode, cost, arch, splits)
  local m, parts = arch.model, decode.parts_at and decode.parts_at(splits)
  local apart = decode.behind_one
  if parts then
    local rows = math.min(parts, p.batch) * p.q_len * p.heads
    local early = times.measured.early
    return apart.cut + apart.round * turns(rows, cost, arch)
      + (cost.early and (decode.nothing and early.cut_clusters or early.cut) or 0)
  end
  if splits == 1 and decode.nothing then return decode.nothing end
  if splits == 1 and apart then -- for cut batches
    local none = decode.may_combine and times.measured.sm90_few.none or apart.none
    local early = times.measured.early
    return cost.early and none + (decode.places_at(splits) and early.places or early.full) or none
  end
  -- Fitted with BEHIND_ONE behind every kernel. What a batch that is cut saves by another one is not counted.
  if splits == 1 and decode.behind then cost = setmetatable({ rows_per_wg = BEHIND_ONE_ROWS, team = 2 }, { __index = cost }) end
  splits = math.max(2, splits)
  local wgs = ceil_div(p.batch * p.q_len * p.heads, cost.rows_per_wg)
  local slots = arch.device.cus * budget.resident(cost, arch)
  local trips = 2 + ceil_div(splits, cost.team * cost.depth) + (cost.team > 1 and 0.25 or 0)
  local latency = ceil_div(wgs, slots) * trips * m.hbm_latency_ns
  local bytes = partial_bytes(p, decode, splits)
  local rate = bytes > m.llc_bytes and m.hbm_bytes_per_us or m.llc_bytes_per_us
  local fixed = m.combine_launch_ns + (apart and apart.splits or 0) + 10 * (cost.threads // arch.isa.wave)
  return fixed + math.max(latency, 1000 * bytes / rate)
end

-- Time of the combine kernel, and what of it is expected for lengths that differ.
function model.combine_ns(p, decode, cost, arch, splits)
  if splits == 1 and decode.lists then return 0, 0 end
  local values = 1000 * (cost.weight_bytes or 0) / arch.model.hbm_bytes_per_us -- W_UV of one that goes on
  local uneven = uneven_ns(p, decode, cost, arch, splits)
  return values + equal_ns(p, decode, cost, arch, splits) + uneven, uneven
end

-- The time of an in-kernel split merge where a request lies in many of them: one adds up three at each level of a tree of
-- radix 4 (templates/mla_decode/lib/meet.h), one after the other, and the first of all is counted elsewhere.
local function meeting_ns(p, decode, splits)
  local parts = decode.parts_at and decode.parts_at(splits) or 0
  return times.measured.sm90_few.meet * math.max(0, 3 * math.log(math.max(1, parts / p.batch), 4) - 1)
end

-- The list kernels ahead of a kernel that does not read index lists itself: of a Hopper GPU, where others of the space do.
local function list_kernels_ns(p, arch, decode)
  return arch.isa.family == "hopper" and not decode.lists and shape.may_be_lists(p) and times.measured.list_kernels or 0
end

-- Whole estimate, and what of it is expected for lengths that differ: the rest is the time of equal ones. `combine_ns` and
-- `combine_uneven` are the same two of the combine kernel; 0 when there is none.
function model.estimate(p, arch, decode, splits, combine_ns, combine_uneven)
  local uneven, more = times.measured.uneven, combine_uneven or 0
  local ns = arch.model.launch_ns + list_kernels_ns(p, arch, decode) + decode_ns(p, decode, arch, splits) + combine_ns
  if combine_ns > 0 or splits > 1 or not decode.may_combine or p.batch == 1 or decode.lists then return ns, more end
  local short = uneven.short
  local copies = decode.copies
  local few = p.batch <= short.requests and p.ctx <= short.tokens and not (copies and p.batch * p.ctx > short.all_rows)
  if (decode.width or 1) > 2 and few then return ns, more end
  -- Parts meet among themselves, the more of them the more requests there are.
  local first = uneven.first * math.min(1, p.batch / (copies and uneven.batch_rows or uneven.batch))
  local meet = ns * uneven.meet + first
  return ns + meet + meeting_ns(p, decode, splits), more + meet
end

return model
