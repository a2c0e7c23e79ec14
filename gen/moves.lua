-- Closed-form estimate of a launch in ns whose kernel moves rows by chunks of 16 bytes, for ranking candidates and for planning
-- without measurements; never called measured.
--
--   T = launch + latencies + what a thread does one behind the other, or bytes / bandwidth, or blocks x their time
--
-- If there are more workgroups than fit the device, the bytes in flight of those that do decide how much of the bandwidth is
-- drawn.
local budget = require("budget")
local moves = { CHUNK_NS = 70, BLOCK_NS = 160 } -- mla_append's, whose kernel moves rows the same way

-- A model from an operation's bytes(p), and its rows(p), of which a workgroup has cost.rows_per_wg; latencies: trips to memory
-- one after the other.
local function model_of(bytes_of, latencies, rows_of)
  local model = {}

  -- Workgroups of a launch.
  function model.blocks(p, cost) return -(-rows_of(p) // cost.rows_per_wg) end

  function model.estimate(p, arch, cost)
    local m = arch.model
    local blocks, bytes = model.blocks(p, cost), bytes_of(p)
    local held = arch.device.cus * budget.resident(cost, arch)
    local rate = bytes > m.llc_bytes and m.hbm_bytes_per_us or m.llc_bytes_per_us
    if blocks > held then rate = math.min(rate, held * cost.inflight / m.hbm_latency_ns * 1000) end -- bytes per us
    local alone = latencies * m.hbm_latency_ns + (cost.depth - 1) * moves.CHUNK_NS
    return m.launch_ns + m.wg_start_ns + alone + math.max(1000 * bytes / rate, blocks / arch.device.cus * moves.BLOCK_NS)
  end

  return model
end

-- An operation whose one kernel moves rows so: its record (gen/ops.lua), with that model. Of a family's cost it asks, beside what
-- gen/ops.lua says, depth and inflight: chunks that a thread copies, and bytes that a workgroup has in flight.
-- stage, baseline: its name, and the baseline's parameters.
function moves.op(stage, baseline, bytes_of, latencies, rows_of)
  local model = model_of(bytes_of, latencies, rows_of)
  return {
    stages = { stage },
    baselines = { { family = "rows", params = baseline } },
    model = model,
    rows = rows_of,
    invariant = { any = true }, -- no row looks at another
    -- The model's error depends on the number of blocks.
    launch = function(p, v) return { blocks = model.blocks(p, v[stage].cost) } end,
    unlike = function(a, b) return math.abs(math.log(a.blocks / b.blocks, 2)) end,
  }
end

moves.EVERY = { cdna2 = true, cdna3 = true, cdna4 = true, ampere = true, ada = true, hopper = true, blackwell = true }

-- A family of one kernel whose threads have `depth` chunks of 16 bytes of a head's row each, on every target.
-- fields: of a problem that its source depends on; columns: the field with a row's; regs(p, v): as gen/ops.lua says; reads(p):
-- chunks that a thread has in flight for each of depth; rules: more of them.
function moves.heads_family(template, fields, columns, regs, reads, rules)
  local function rows(p, v) return v.threads * v.depth // (p[columns] // 8) end
  local function few_rows(p, v)
    if v.depth > 1 and rows(p, v) >= 2 * p.tokens * p.heads then
      return ("a workgroup has %d rows, and there are %d"):format(rows(p, v), p.tokens * p.heads)
    end
  end
  return {
    template = template,
    arch = moves.EVERY,
    problem = fields,
    params = {
      depth = { 1, 2, 4 },        -- chunks of 16 bytes that a thread has in flight, of each row that it reads
      threads = { 64, 128, 256 }, -- of a workgroup
    },
    rules = table.move({ few_rows }, 1, 1, #rules + 1, rules),
    cost = function(p, v)
      return { threads = v.threads, rows_per_wg = rows(p, v), lds_bytes = 0, regs = regs(p, v), slack = 48, depth = v.depth,
        inflight = v.threads * 16 * reads(p) * v.depth, any_lengths = true }
    end,
  }
end

-- A rule for rows that may be longer than what a workgroup has at a time.
function moves.long_rows(p, v)
  if v.threads * v.depth < p.vdim // 8 then
    return ("%d chunks of a workgroup are less than a row of %d columns"):format(v.threads * v.depth, p.vdim)
  end
end

return moves
