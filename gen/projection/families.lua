-- The families of a projection, made once for all of them: an operation says what its product is.
--
--   make(op, of, fields)   of.layout: of its weights W[h]; of.product(p): what a problem is: heads (tensors W[h] of a launch),
--                          inner, outer (values of a sum, outputs of a head), layout and norm, as in templates/lib/projection;
--                          of.stream_warps, of.ring_rows: parameters of stream and ring that are worth trying: rows such as make
--                          one turn of all SMs of the usual problems; of.walk_tiles, of.walk_rows: the same of walk, where it
--                          serves; of.aside, of.aside_fields: what a library leaves undone, "norm" or "rope", and the fields
--                          that it depends on; of.appends: it may have the blocks of side.lua beside it; of.absorbs: and go on
--                          into the latent space; fields: of the problem, that kernels depend on
local plan = require("projection/plan")
local products = require("projection/products")
local library = require("projection/library")
local fp8 = require("projection/fp8")
local lines = require("projection/lines")
local side = require("projection/side")
local staged = require("projection/staged_family")
local stay = require("projection/stay_family")
local invariant = require("projection/invariant")
local budget = require("budget")
local families = {}

local CDNA = { cdna2 = true, cdna3 = true, cdna4 = true }
local NVIDIA = { ampere = true, ada = true, hopper = true, blackwell = true }
local HOPPER = { hopper = true }
local EVERY = { cdna2 = true, cdna3 = true, cdna4 = true, ampere = true, ada = true, hopper = true, blackwell = true }
local SMS = 132    -- of a Hopper GPU: shares of a sum are for those that have no block without
local STREAM_MOST = 32 -- tokens
-- h200; what the model does not count, fitted (docs/lab/projections.md): ns for each token of x beyond 8 that goes through
-- registers, and that for each step of a warp; of a ring's begin and end, also with a norm; of a step of a ring with a norm, for
-- one warpgroup, and for each of its tokens; of the older families, and their share of the bandwidth.
local STREAM_NS, STREAM_STEP_NS = 40, 17
local RING_NS, RING_NORM_NS, NORM_NS, NORM_TOKEN_NS = 900, 700, 90, 1.6
-- h200, 2026-11-30, layers of 20, 32 and 64 heads with 16 to 64 tokens: a step of a ring with a norm whose one warpgroup has up
-- to so many outputs, in passes of up to so many tokens; two that take the steps in turns hide it (docs/lab/projections.md).
local ONE_WAY_NS, ONE_WAY_ROWS, ONE_WAY_PASS = 80, 96, 64
local STREAM_INPUTS_NS = 60 -- the same of layout=inputs, whose words are put together first
local STREAM_PASS_NS, STREAM_WARP_NS = 700, 2 -- of a further pass; of a warp, so that of equals the one with fewer is taken
local WALK_NS = 100    -- of a ring that takes several tiles, each
-- h200, 2026-11-30, layers of 64 heads with 2 to 64 tokens: of a walk where two blocks an SM, a tile of TWO_TILE outputs each, do
-- everything. There rings of such blocks, and streams up to 8 tokens, are faster, attention behind them included. ONE_NS: of a
-- ring of tiles of twice as many outputs, a block an SM.
local TWO_TILE, TWO_NS, ONE_NS = 128, 900, 300
-- h200, by whole layers: with a norm, what half the shared memory saves where there is a block an SM; what a block of a small
-- launch takes from the one behind it, whose weights could be in flight (v_out), or its tiles (q_absorb, of which less than
-- half of the SMs lose more than they give; with more than EVEN tokens a block of attention is on each SM, which gains nothing
-- where half of them begin before the others); of weights that no cache holds, how much less fewer SMs draw.
local NORM_HALF_NS, SMALL_BYTES, SMALL_BLOCK_NS, EVEN = 200, 4 << 20, 11, 64
local LARGE_BYTES, LARGE_DRAW = 64 << 20, 0.4
-- h200, 2026-11-30 (docs/lab/projections.md): tokens of the widest pass of a ring; of further passes where weights lie by inputs;
-- turns of all SMs from which on blocks of one tile each are slower there than a walk.
local WIDE_PASS, INPUTS_AGAIN_NS, INPUTS_TURNS = 256, 1700, 2
local RING_X = 0.6     -- of x, which all blocks take from L2 at about the same time
local CLUSTERS_OF_4 = 30 -- that find room at once on 132 SMs
local NORM_LEAST = 104 -- registers of a ring with a norm and 16 tokens: 4 of 8 kernels of 96 spill (NVRTC 13.0, sm_90a)
local DOT_NS, MMA_NS, OLDER_PACE = 1000, 250, 0.9
-- gfx942, modelled, fitted: of whole lines (templates/lib/projection/mfma.h), of 16 rows each: clk to put them in order, by
-- halves, to ask for them, to multiply them by the norm's weights; of a round of loads, the trip to memory; of 16 sums that go
-- through LDS; of each token of a block beyond a unit's first. By inputs: of a pass, of a trip to memory, of a step, of such a
-- token.
local TURN_CLK, ASK_CLK, GAIN_CLK, LINE_TRIP_NS, SUM_NS, LINES_BLOCK_NS = 44, 24, 520, 450, 2.4, 47
local INPUTS_NS, INPUTS_TRIP_NS, INPUTS_STEP_NS, INPUTS_BLOCK_NS = 500, 500, 250, 16
-- gfx942, modelled: of a dot product whose weights lie by inputs, by outputs of each token beyond the first; of a wave's step:
-- the trip to memory, what each load takes beyond, and what it takes with a norm; clk of a compute unit of a value of x with a
-- norm; of x, which comes from an XCD's L2, what counts at the rate of the cache behind it.
local DOT_INPUTS_NS, DOT_TOKEN_NS, TRIP_NS, LOAD_NS, NORM_LOAD_NS, NORM_CLK, L2_X = 2300, 2300, 700, 25, 69, 0.07, 0.16
-- gfx942, modelled, fitted: of q_b with q_absorb, what a block takes for each ns of L1, less what of it is counted as latencies.
local ABSORB_LINES, ABSORB_NS = 2.4, 2600
local PARTS_MOST = 256 -- tokens that blocks of one tile share, a pass each
local DOT_MOST = 4 -- tokens that dot products are meant for: from there on matrix instructions do more with a byte

local ceil_div = require("whole").ceil_div

-- The class of a launch: kernels take 1, 2, 4, 8, .. 128 tokens in a pass, and more tokens in several.
local function class(tokens, least, most)
  local n = least
  while n < tokens and n < most do n = 2 * n end
  return n
end

-- A pass of the class' tokens, or of half as many (registers and shared memory are less then, and what is read twice is in L2),
-- or of the least, which serves where no larger one fits.
local function passes(least, most)
  return function(p, v)
    local n = class(p.tokens, least, most)
    if v.pass ~= n and v.pass ~= n // 2 and v.pass ~= least and (v.parts or 1) == 1 then
      return ("%d tokens in a pass, and %d are launched: %d, or half as many"):format(v.pass, p.tokens, n)
    end
  end
end

-- Rings without a norm: 129 to 256 tokens at once, too. Of more tokens such passes were not timed.
local function ring_passes(of)
  local usual = passes(16, 128)
  return function(p, v)
    if v.pass < WIDE_PASS then return usual(p, v) end
    if p.tokens <= WIDE_PASS // 2 or p.tokens > WIDE_PASS then
      return ("%d tokens in a pass, and %d are launched"):format(v.pass, p.tokens)
    end
    if of(p).norm == 1 then return "with a norm there are no registers for more than 128 tokens" end
  end
end

-- Tokens of a pass of a ring that are multiplied: warpgroups behind the last one idle.
local function multiplied(p, v) return v.pass < WIDE_PASS and v.pass or math.min(v.pass, ceil_div(p.tokens, 64) * 64) end

-- More blocks than there are outputs for, or a block beyond the head's outputs.
local function narrow(product, tile, least)
  if tile > least and tile >= 2 * product.outer then
    return ("tiles of %d outputs, and a head has %d"):format(tile, product.outer)
  end
end

local function with(product, v)
  local s = { inner = product.inner, outer = product.outer, layout = product.layout, norm = product.norm, weights = 0 }
  for key, value in sorted(v) do s[key] = value end
  s.tokens = v.pass
  return s
end

local function dot(of, fields, layout)
  return {
    arch = EVERY,
    problem = fields,
    params = layout == "outputs" and {
      cols = { 1, 2, 4 },          -- outputs of a warp
      depth = { 2, 4 },            -- rounds of loads in flight
      threads = { 256, 512 },
      pass = { 1, 2, 4 },          -- tokens that are multiplied at once
    } or {
      cols = { 4, 8, 16 },         -- threads side by side, 8 outputs each: lines of 64, 128, 256 bytes
      depth = { 4, 8 },
      threads = { 128, 256 },
      pass = { 1, 2, 4 },
    },
    rules = {
      function(p, v)
        if p.tokens > DOT_MOST then return ("dot products are for up to %d tokens"):format(DOT_MOST) end
        if v.pass ~= class(p.tokens, 1, DOT_MOST) then
          return ("%d tokens in a pass, and %d are launched"):format(v.pass, p.tokens)
        end
      end,
    },
    cost = function(p, v, arch)
      local product = of(p)
      local made = plan.dot(with(product, v), arch.isa.wave)
      local why = made.refused or narrow(product, made.tile, 64)
      if why then return { refused = why } end
      local outputs = product.layout == "outputs"
      local loads = outputs and v.cols * v.depth or v.depth
      return {
        threads = v.threads, rows_per_wg = made.tile, lds_bytes = made.lds,
        regs = { { "weights", 4 * loads }, { "x", outputs and 8 * v.pass or 0 },
          { "sums", v.pass * (outputs and v.cols or 8) }, { "norm", product.norm == 1 and 16 + 8 * v.pass or 0 },
          { "rest", 48 } },
        slack = 64, bounded = NVIDIA[arch.isa.family] and 1 or nil,
        inflight = v.threads * 16 * loads, pass = v.pass,
        begin_ns = HOPPER[arch.isa.family] and DOT_NS
          or CDNA[arch.isa.family] and (outputs and DOT_TOKEN_NS * (v.pass - 1) or DOT_INPUTS_NS) or 0,
        pace = HOPPER[arch.isa.family] and OLDER_PACE or 1,
        clk = 16 * v.pass / 128, -- of a CU for 16 bytes of weights: 8 unpacked, 8 products a token, 128 lanes a clock
      }
    end,
  }
end

local function mma(of, fields)
  return {
    arch = NVIDIA,
    problem = fields,
    params = {
      cols = { 1, 2, 4 },                  -- warps side by side, 16 outputs each
      stages = { 3, 4, 6 },                -- steps in shared memory
      pass = { 8, 16, 32, 64, 128 },       -- tokens that are multiplied at once
      ways = { 1, 2, 4, 8 },               -- warps that share a sum
    },
    rules = {
      passes(8, 128),
      function(_, v)
        local warps = v.cols * v.ways
        if warps < 2 or warps > 16 then return ("%d warps of a block are not 2 to 16"):format(warps) end
      end,
      function(p, v)
        local inner = of(p).inner
        if v.ways > 1 and 32 * v.ways > inner then return ("%d ways of 32 values, and a sum has %d"):format(v.ways, inner) end
        local steps = ceil_div(inner, 32 * v.ways)
        if of(p).norm == 1 and v.pass == 128 then
          return "with a norm, sums and squares of 128 tokens spill (6 of 24 kernels, seen)"
        end
        if v.stages > 3 and v.stages > steps + 1 then return ("%d stages, and a sum has %d steps"):format(v.stages, steps) end
      end,
    },
    cost = function(p, v, arch)
      local product = of(p)
      local made = plan.mma(with(product, v))
      local why = narrow(product, made.tile, 16)
      if why then return { refused = why } end
      return {
        threads = made.threads, rows_per_wg = made.tile, lds_bytes = made.lds,
        regs = { { "sums", v.pass // 2 + (product.norm == 1 and v.pass // 8 or 0) }, { "operands", 12 }, { "rest", 56 } },
        bounded = 1,
        inflight = (v.stages - 1) * made.tile * 2 * made.step, pass = v.pass,
        x_bytes = 2 * v.pass * product.inner, -- that a block takes from L2 beside its weights
        begin_ns = HOPPER[arch.isa.family] and MMA_NS * v.pass or 0, pace = HOPPER[arch.isa.family] and OLDER_PACE or 1,
        clk = 16 / 256 * v.pass / 8 * 2,      -- of an SM for 16 bytes: a product of 16 x 8 x 16 is 8 clocks of a fourth of it
      }
    end,
  }
end

-- Blocks of a cluster share a sum where fewer would leave SMs without work: more only cost.
local function shared(tiles, split)
  if split > 1 and tiles >= SMS then return ("%d tiles are enough without a share of the sum each"):format(tiles) end
end

-- A stream with a norm whose warps have many steps each: compilers ask for the weights of up to four steps at once, and spill
-- where those do not fit (NVRTC 13.0, sm_90a, rank 1536: 35 of 65 kernels that this refuses, 15 of 960 others).
local HELD_STEPS, HELD_DEPTH, HELD_PASS, HELD_BESIDE = 12, 4, 16, 32 -- least steps, depth, tokens; registers of a row beside it
local function norm_spills(p, v, made, arch)
  if made.steps < HELD_STEPS or v.depth < HELD_DEPTH or v.pass < HELD_PASS then return end
  local need = (p.append or 0) ~= 0 and HELD_BESIDE or 0
  for _, part in ipairs(made.regs) do
    need = need + part[2] * (part[1] == "weights" and v.land == "shared" and HELD_DEPTH or 1)
  end
  local limit = budget.register_limit(32 * v.warps * made.blocks, arch)
  local left = math.min(255, limit)
  if need >= left - 2 then return ("%d registers of a thread and a norm, and there are %d: some spill"):format(need, left) end
end

local function stream(of, fields, layout)
  local product_of = of.product
  return {
    arch = HOPPER,
    problem = fields,
    params = {
      rows = of.stream_rows or layout == "outputs" and { 16, 32, 64 } or { 64 }, -- outputs of a block
      warps = of.stream_warps,             -- that share a sum
      depth = layout == "outputs" and { 2, 4, 8 } or { 1, 2 }, -- chunks of 32 values in flight
      pass = { 8, 16, 32 },                -- tokens that are multiplied at once
      split = layout == "outputs" and { 1, 2 } or { 1 }, -- blocks that share a sum
      land = of.stream_lands or { "registers" }, -- where weights come to
      per_sm = of.stream_lands and { 1, 2, 3 } or { 3 }, -- blocks that an SM has room for, where they come to shared memory
    },
    rules = {
      passes(8, 32),
      function(_, v)
        if v.land == "registers" and v.per_sm ~= plan.PER_SM_MOST then
          return "registers leave room for as many blocks of an SM as they may"
        end
      end,
      function(p)
        if p.tokens > STREAM_MOST then return ("streams are for up to %d tokens"):format(STREAM_MOST) end
      end,
    },
    cost = function(p, v, arch)
      local product = product_of(p)
      local made = plan.stream(with(product, v))
      if made.refused then return made end
      if made.depth < v.depth and made.depth ~= v.depth - 1 then
        return { refused = ("%d chunks on their way, and a warp has %d"):format(v.depth, made.steps) }
      end
      local why = shared(product.heads * product.outer // v.rows, v.split)
        or product.norm == 1 and norm_spills(p, v, made, arch)
      if why then return { refused = why } end
      return {
        threads = 32 * v.warps, rows_per_wg = v.rows, lds_bytes = made.lds, regs = made.regs,
        bounded = made.blocks,
        inflight = made.inflight, pass = v.pass, split = v.split,
        ahead = true, pace = 0.9,
        begin_ns = (STREAM_NS + STREAM_STEP_NS * made.steps + (layout == "inputs" and STREAM_INPUTS_NS or 0)) * (v.pass - 8)
          + STREAM_PASS_NS * (ceil_div(p.tokens, v.pass) - 1) + STREAM_WARP_NS * v.warps,
        x_bytes = 2 * v.pass * product.inner // v.split,
        clk = 16 / 256 * v.pass / 8 * 2,
      }
    end,
  }
end

local function ring(of, fields, layout)
  local product_of = of.product
  return {
    arch = HOPPER,
    problem = fields,
    params = {
      rows = of.ring_rows,                 -- outputs of a block
      per_sm = { 1, 2, 3 },                -- blocks that an SM has room for: the fewer, the more steps of a sum are in flight
      pass = { 16, 32, 64, 128, 256 },     -- tokens that are multiplied at once
      ways = of.ring_ways or { 1 },        -- warpgroups that take the steps of a sum in turns
      split = of.ring_splits or layout == "outputs" and { 1, 2 } or { 1 }, -- blocks that share a sum
    },
    rules = {
      ring_passes(product_of),
      function(p, v)
        local norm = product_of(p).norm
        if v.ways > 1 and norm == 0 then return "without a norm a warpgroup keeps up with its loads" end
        if norm == 1 and v.pass ~= class(p.tokens, 16, 128) then return "with a norm each pass is a chain of its own" end
      end,
    },
    cost = function(p, v, arch)
      local product = product_of(p)
      local s = with(product, v)
      s.turn = layout == "inputs" and p.rope or 0
      local made = plan.ring(s)
      if made.refused then return made end
      local tiles = product.heads * ceil_div(product.outer, v.rows)
      local why = narrow(product, v.rows, layout == "outputs" and 16 or 64) or shared(tiles, v.split)
      if why then return { refused = why } end
      local even = p.tokens > EVEN and p.tokens <= SMS
      local room = SMS // (layout == "outputs" and 4 or even and 1 or 2) -- blocks that a small launch has at no cost
      -- Blocks that leave a third of the SMs idle in the last turn, or outputs in the last tile: another tile does better.
      local blocks, weights = tiles * v.split, 2 * product.heads * product.inner * product.outer
      if v.split > 1 and blocks > SMS then return { refused = ("%d shares of sums are more than a turn"):format(blocks) } end
      if v.split == 4 and tiles > CLUSTERS_OF_4 then return { refused = ("%d clusters of 4 take turns"):format(tiles) } end
      local use = blocks / (ceil_div(blocks, SMS) * SMS) * product.heads * product.outer / (tiles * v.rows)
      if v.rows ~= 64 and blocks < 4 * SMS and use < (layout == "inputs" and 0.4 or 0.7) then
        return { refused = ("%d blocks use %.0f %% of the SMs"):format(blocks, 100 * use) }
      end
      if v.pass == WIDE_PASS and layout == "inputs" and blocks > INPUTS_TURNS * SMS then
        return { refused = ("%d blocks are more than %d turns: a walk is faster"):format(blocks, INPUTS_TURNS) }
      end
      if product.norm == 1 and v.pass == 16 and budget.register_limit(made.threads * made.blocks, arch) < NORM_LEAST then
        return { refused = ("%d blocks of an SM: a norm spills"):format(made.blocks) }
      end
      local tokens = multiplied(p, v)
      local one_way = product.norm == 1 and v.ways == 1 and v.rows <= ONE_WAY_ROWS and v.pass <= ONE_WAY_PASS
      return {
        threads = made.threads, rows_per_wg = v.rows, lds_bytes = made.lds, regs = made.regs,
        bounded = made.blocks,
        inflight = made.stages * v.rows * 128, pass = v.pass, split = v.split,
        ahead = true, pace = weights < LARGE_BYTES and 1 or math.min(1, blocks / (0.95 * SMS)) ^ LARGE_DRAW,
        begin_ns = RING_NS + (product.norm == 1 and RING_NORM_NS - (v.per_sm == 2 and blocks <= SMS and NORM_HALF_NS or 0) or 0)
          + (weights < SMALL_BYTES and SMALL_BLOCK_NS * math.max(0, blocks - room) or 0)
          + (one_way and ONE_WAY_NS * product.inner / (64 * v.split) or 0)
          + (layout == "inputs" and p.tokens > v.pass and INPUTS_AGAIN_NS or 0)
          + (layout == "inputs" and v.rows > TWO_TILE and ONE_NS or 0),
        sums = 4 * tokens * v.rows,
        chain_ns = product.norm == 1 and (NORM_NS + NORM_TOKEN_NS * v.pass) * product.inner / (64 * v.split * v.ways) or 0,
        x_bytes = RING_X * 2 * tokens * product.inner / v.split,
        clk = 16 * math.max(64, tokens) / 2 / 2048, -- of an SM for 16 bytes
      }
    end,
  }
end

-- The rules of kernels that fuse mla_q_b with the q absorb.
local function absorb_rules(product_of)
  return function(p)
    if p[side.ABSORB] == 0 then return "queries do not go on into the latent space" end
    if product_of(p).norm == 0 then return "written for a norm ahead of it" end
    if p.weights ~= 0 then return "weights have 8 bits" end
  end
end

-- The fields of a problem that such kernels depend on.
local function absorb_fields(fields)
  local problem = { table.unpack(fields) }
  table.move(side.FIELDS, 1, #side.FIELDS, #problem + 1, problem)
  problem[#problem + 1] = side.ABSORB
  return problem
end

-- mla_q_b fused with the q absorb: query heads, a block each.
local function ring_absorb(of, fields)
  local product_of = of.product
  return {
    arch = HOPPER,
    problem = absorb_fields(fields),
    params = { pass = { 16, 32, 64, 128 } }, -- tokens that are multiplied at once
    rules = {
      absorb_rules(product_of),
      function(p, v)
        if v.pass ~= 16 and v.pass ~= class(p.tokens, 16, 128) then
          return ("%d tokens in a pass, and %d are launched"):format(v.pass, p.tokens)
        end
      end,
    },
    cost = function(p, v)
      local product = product_of(p)
      local made = plan.ring_absorb({ inner = product.inner, nope = p.nope, rope = p.rope, rank = p.rank, tokens = v.pass })
      if made.refused then return made end
      return {
        threads = made.threads, rows_per_wg = p.nope + p.rope, lds_bytes = made.lds, regs = made.regs,
        bounded = 1,
        inflight = made.stages * (p.nope + p.rope) * 128, pass = v.pass,
        ahead = true, pace = 1, begin_ns = RING_NS + RING_NORM_NS,
        chain_ns = (NORM_NS + NORM_TOKEN_NS * v.pass) * product.inner / 64,
        x_bytes = RING_X * 2 * v.pass * product.inner,
        clk = 16 * math.max(64, v.pass) / 2 / 2048, -- of an SM for 16 bytes
      }
    end,
  }
end

-- On CDNA: blocks that share a head's tokens and latent columns make its queries anew, each for itself.
local function mfma_absorb(of, fields)
  return {
    arch = CDNA,
    problem = absorb_fields(fields),
    params = {
      each = { 8, 16 },                    -- tokens of a block
      shares = { 1, 2, 4, 8 },             -- blocks of so many tokens
      columns = { 2, 4, 8, 16 },           -- blocks of latent columns
    },
    rules = {
      absorb_rules(of.product),
      function(p, v)
        if v.each * v.shares ~= class(p.tokens, v.each, 128) then
          return ("%d blocks of %d tokens, and %d are launched"):format(v.shares, v.each, p.tokens)
        end
      end,
    },
    cost = function(p, v, arch)
      local product = of.product(p)
      if p.heads % arch.isa.xcds ~= 0 then
        return { refused = ("%d heads are not dealt out evenly over %d dies"):format(p.heads, arch.isa.xcds) }
      end
      local made = plan.mfma_absorb({ inner = product.inner, nope = p.nope, rope = p.rope, rank = p.rank, each = v.each,
        shares = v.shares, columns = v.columns })
      if made.refused then return made end
      local rows = p.nope + 16 * made.turned + v.each -- of W and x that a block takes
      local line_clk = rows * 2 * product.inner / 64 + p.nope * made.outs * 2 / (16 * made.lane_columns)
      return {
        threads = made.threads, rows_per_wg = made.rows, lds_bytes = made.lds, regs = made.regs, slack = 48,
        inflight = made.waves * made.ahead * 8192, pass = v.each * v.shares,
        x_bytes = L2_X * 2 * v.each * product.inner, clk = 16 / 512 * arch.model.mfma_clk / 4,
        chain_ns = math.max(0, ABSORB_LINES * line_clk * 1000 / arch.model.clock_mhz - ABSORB_NS),
      }
    end,
  }
end

-- A ring for many heads with short sums, whose blocks take several tiles of a head, so that one turn of all SMs does the launch.
local function walk(of, fields, layout)
  local product_of = of.product
  return {
    arch = HOPPER,
    problem = fields,
    params = {
      rows = of.walk_rows,                 -- outputs of a tile
      tiles = of.walk_tiles,               -- that a block takes one after the other
      per_sm = { 1, 2 },                   -- blocks that an SM has room for
      pass = { 16, 32, 64, 128, 256 },     -- tokens that are multiplied at once
    },
    rules = { ring_passes(product_of) },
    cost = function(p, v)
      local product = product_of(p)
      local s = with(product, v)
      s.split, s.turn = 1, layout == "inputs" and p.rope or 0
      local made = plan.ring(s)
      if made.refused then return made end
      if product.outer % (v.rows * v.tiles) ~= 0 then
        return { refused = ("%d outputs are no %d tiles of %d"):format(product.outer, v.tiles, v.rows) }
      end
      local blocks, slots = product.heads * product.outer // (v.rows * v.tiles), SMS * v.per_sm
      if blocks > slots or blocks < 0.7 * slots then
        return { refused = ("%d blocks, and a turn of all SMs has %d"):format(blocks, slots) }
      end
      local tokens = multiplied(p, v)
      local all = product.heads * product.outer // TWO_TILE
      local two = p.tokens <= EVEN and all > SMS and all <= 2 * SMS
      return {
        threads = made.threads, rows_per_wg = v.rows * v.tiles, lds_bytes = made.lds, regs = made.regs,
        bounded = made.blocks,
        inflight = made.stages * v.rows * 128, pass = v.pass,
        ahead = true, pace = 1,
        begin_ns = WALK_NS * v.tiles + (two and TWO_NS or 0) + (p.tokens > v.pass and INPUTS_AGAIN_NS or 0),
        x_bytes = RING_X * 2 * tokens * product.inner * (v.pass > 64 and 1 or v.tiles),
        clk = 16 * math.max(64, tokens) / 2 / 2048, -- of an SM for 16 bytes
      }
    end,
  }
end

-- The time of a pass of whole lines: of L1, of a SIMD, and of a wave, one thing after the other.
local function lines_cost(cost, product, v, arch)
  local groups, all = v.pass // 16, product.inner // 64
  local rows, each = v.blocks + groups, ceil_div(all, v.waves) -- of 16; lines of a wave
  local l1, rounds, left = 0, 0, each
  for turn = v.depth, 1, -1 do
    if turn ~= 3 then
      local n = left // turn
      l1, rounds, left = l1 + n * turn * rows * 2 * 64 / turn, rounds + n, left % turn
    end
  end
  local order = TURN_CLK * math.log(v.depth, 2)
  local gain = product.norm == 1 and GAIN_CLK * math.min(v.blocks, groups) or 0
  local products = 4 * arch.model.mfma_clk * (v.blocks * groups + (product.norm == 1 and groups or 0))
  local wave = each * (rows * (order + ASK_CLK) + gain + products)
  cost.line_clk = v.waves * l1
  cost.wave_clk, cost.block_ns = wave, LINES_BLOCK_NS * v.pass
  cost.chain_ns = rounds * LINE_TRIP_NS + 1000 * (wave + l1) / arch.model.clock_mhz
  local last = wave * math.max(1, v.waves / arch.isa.simds) / rounds -- nothing is loaded beside the last round
  cost.begin_ns = SUM_NS * v.waves * v.pass * v.blocks + 1000 * last / arch.model.clock_mhz
  return cost
end

local function mfma(of, fields, layout)
  return {
    arch = CDNA,
    problem = fields,
    params = {
      blocks = layout == "outputs" and { 1, 2, 4 } or { 4, 8 }, -- 16 outputs each
      depth = { 1, 2, 4 },                -- steps in flight
      parts = { 1, 2, 4 },                -- blocks that share a tile's passes
      pass = { 16, 32, 64 },              -- tokens that are multiplied at once: of 128 the sums leave no room for loads
      waves = { 1, 2, 4, 8 },             -- that share a sum
    },
    rules = {
      passes(16, 64),
      function(p, v)
        local outer, tile = of(p).outer, 16 * v.blocks
        if v.parts == 1 then return end
        if v.waves == 1 or layout == "outputs" and v.depth == 1 then
          return "blocks that share a tile's tokens have little to do: a wave or a step at a time is slow"
        end
        if v.pass * v.parts ~= class(p.tokens, 16, PARTS_MOST) then
          return ("%d blocks of %d tokens, and %d are launched"):format(v.parts, v.pass, p.tokens)
        end
        if outer % tile ~= 0 then
          return ("%d outputs are no tiles of %d, which %d blocks share"):format(outer, tile, v.parts)
        end
      end,
      function(p, v)
        local inner = of(p).inner
        local shape = { layout = layout, weights = p.weights, inner = inner }
        local steps = inner // lines.step(shape, layout == "outputs" and 32 or 16)
        if v.waves * v.depth > steps and v.waves * v.depth > 1 then
          return ("%d waves with %d steps each on their way, and a sum has %d"):format(v.waves, v.depth, steps)
        end
      end,
    },
    cost = function(p, v, arch)
      local product = of(p)
      local made = plan.mfma(with(product, v))
      local why = narrow(product, made.tile, layout == "outputs" and 16 or 64)
      if why then return { refused = why } end
      local groups, outputs = v.pass // 16, layout == "outputs"
      local shape = { layout = layout, weights = p.weights, inner = product.inner }
      local whole = lines.whole(shape) and 2 or 1 -- loads of a step
      local loads = whole * (outputs and 4 * v.blocks or 2 * v.blocks)
      local cost = {
        threads = 64 * (v.waves + lines.turning(outputs and 0 or p.rope)), rows_per_wg = made.tile // v.parts,
        lds_bytes = select(2, lines.together(v.pass, made.lds)),
        regs = { { "sums", 4 * v.blocks * groups }, { "weights", v.depth * loads },
          { "x", whole * (v.depth * groups * (outputs and 4 or 2) + 2 * groups) },
          { "norm", product.norm == 1 and 4 * v.depth * whole + groups + 16 or 0 }, { "rest", 56 + 2 * v.blocks * whole },
          { "order", whole == 2 and 2 * v.blocks * v.blocks + (v.depth == 4 and 48 or 0) or 0 } },
        slack = 112, -- the compiler loads ahead where there is room
        inflight = v.waves * v.depth * loads * 256, pass = v.pass, parts = v.parts,
        x_bytes = L2_X * 2 * v.pass * product.inner,
        clk = 16 / 512 * groups * arch.model.mfma_clk / 4, -- of a CU for 16 bytes: one product is of 512 bytes of weights
      }
      if whole == 2 then return lines_cost(cost, product, v, arch) end
      -- 1 KB of a load takes 64 clk where four lanes ask for four rows. With a norm x goes through vector instructions, too.
      cost.line_clk = outputs and 2 * product.inner * (made.tile + v.pass) / 1024 * 64
        + (product.norm == 1 and NORM_CLK * v.pass * product.inner or 0) or nil
      cost.chain_ns = outputs and product.inner / (32 * v.waves * v.depth) * (TRIP_NS
        + v.depth * (LOAD_NS * (v.blocks + groups) + (product.norm == 1 and NORM_LOAD_NS or 0) * groups))
        or INPUTS_NS + SUM_NS * v.waves * v.pass * v.blocks + product.inner / (16 * v.waves)
          * (INPUTS_TRIP_NS / v.depth + INPUTS_STEP_NS * (1 + groups))
      cost.block_ns = not outputs and INPUTS_BLOCK_NS * v.pass or nil
      return cost
    end,
  }
end

function families.make(op, of, fields)
  local layout = of.layout
  local list = { dot = dot(of.product, fields, layout), mma = mma(of.product, fields), mfma = mfma(of.product, fields, layout),
    stream = stream(of, fields, layout), ring = ring(of, fields, layout),
    lib = library.product(of.product, fields, of.aside == "rope") }
  if layout == "outputs" then
    list.staged = staged(of.product, fields)
    if op ~= products.shown then list.staged.body = products.shown .. "/staged" end
  end
  if layout == "inputs" then list.stay = stay(of.product, fields) end
  if of.walk_tiles then list.walk = walk(of, fields, layout) end
  if of.aside then list.aside = library.aside(of.product, of.aside_fields, of.aside) end
  if of.aside == "norm" then list.factors = library.factors(of.product, of.aside_fields) end
  for name, family in sorted(list) do family.template = op .. "/" .. name end
  for name, family in sorted(fp8.derived(list, of, fields)) do
    family.template, list[name] = op .. "/" .. name, family
  end
  for _, name in ipairs({ "parts_fp8", "ring_fp8", "wide_fp8" }) do -- as of staged
    if list[name] and op ~= products.shown then list[name].body = products.shown .. "/" .. name end
  end
  if list.normed_fp8 then list.normed_fp8.body = products.shown .. "/parts_fp8" end
  if of.appends then
    for name, family in sorted(side.derived(list, op)) do list[name] = family end
  end
  for name, family in sorted(invariant.derived(list, of)) do list[name] = family end
  if of.absorbs then
    for _, family in sorted(list) do
      table.insert(family.rules, 1, function(p)
        if p[side.ABSORB] ~= 0 then return "queries go on into the latent space: kernels that absorb do it" end
      end)
    end
    local ring_name, mfma_name = "ring_absorb" .. side.SUFFIX, "mfma_absorb" .. side.SUFFIX
    list[ring_name], list[mfma_name] = ring_absorb(of, fields), mfma_absorb(of, fields)
    list[ring_name].body = op .. "/ring" -- by which the manifest shows its passes
    for _, name in ipairs({ ring_name, mfma_name }) do list[name].template = op .. "/" .. name end
  end
  return { families = list }
end

return families
