-- Families of weights of 8 bits with scales: those of 16 bits (families.lua) with other loads. A sum's products are made of the
-- bytes alone; a block's scale comes in behind them. The cost of converting a byte for a product is in `clk`.
local plan = require("projection/plan")
local stationary = require("projection/stationary")
local models = require("projection/model")
local fp8 = {}

local SMS, STREAM_NS, MMA_NS = 132, 80, 250 -- as families.lua has them
local STREAM_STEPS, STREAM_STEP_NS = 8, 34 -- h200; steps of a warp from which each takes so long for each token beyond 8
local STREAM_MOST, RING_MOST = 64, 128      -- tokens: of a launch; of a pass
-- h200; of ring_fp8: its begin, a step of 128 values of a way, each of its tokens; of x, which all blocks take from L2 at a time.
-- A further turn of all SMs; of a way's steps, what the others do not hide.
local RING_NS, RING_STEP_NS, RING_TOKEN_NS, RING_X, RING_TURN_NS = 900, 380, 1.4, 0.6, 2000
local RING_WAY = { [0] = 0.1, 0.25 } -- without and with a norm
-- h200, 2026-11-29; times the estimate, of several passes over a matrix: with 200 tokens o_proj, q_b and qkv_a of DeepSeek-V3
-- took 1.54, 1.49 and 1.45 of it at tp 1, 1.37, 1.46 and 1.45 at tp 8 (docs/lab/layer.md).
local RING_AGAIN = 1.5
-- h200, 2026-11-29; of wide_fp8 and parts_fp8: a step of 64 values, without and with a norm, each of its tokens; times the
-- estimate of several passes (docs/lab/projections.md). most: tokens; with more a layer dequantises, and estimates of 16-bit
-- products by a library are too high to tell that from faster kernels.
local WIDE = { step_ns = { [0] = 155, 435 }, token_ns = 2.3, again = 1.1 }
local PARTS = { step_ns = { [0] = 183, 490 }, token_ns = 1.81, again = 1.1, parts = { 1, 2 }, most = 512,
  fine = true }
-- h200, 2026-11-30; normed_fp8: parts_fp8 that squares nothing, since a kernel before it does. That kernel, in a layer: with it
-- layers of tp 8 gained nothing, those of tp 1 9 to 30 us.
local NORMED = { step_ns = { 240 }, token_ns = PARTS.token_ns, again = PARTS.again, parts = PARTS.parts, most = PARTS.most,
  fine = true }
local FACTORS_NS = 3500
-- Tokens of a pass, of tiles of more outputs than a warpgroup's.
local TALL = { [128] = { [128] = true }, [192] = { [32] = true, [64] = true } }
-- h200; of ring_fp8: values of 16 bits that a SM multiplies a clock; what a byte's way to them takes of what other families take,
-- and nothing runs beside products (docs/lab/projections.md).
local RING_MACS, RING_CLK = 2048, 1.6
local CLUSTERS_OF_4 = 30 -- that find room at once on 132 SMs
-- h200; of mma_fp8, fitted (docs/lab/projections.md): what a further pass takes, and each of its steps, which wait for bytes.
local FURTHER_NS, STEP_NS = 600, 500

-- The cost of a ring. With a norm, what was fitted before holds.
local function ring_clk(product, v, numbers)
  if product.norm == 1 then return 16 * v.pass / 1024 * math.max(1, 64 / v.rows) + numbers end
  return (16 * v.pass / RING_MACS + RING_CLK * numbers) * math.max(1, 64 / v.rows) -- a warpgroup's 64 outputs are all made
end

local function with(product, v, weights)
  local s = { inner = product.inner, outer = product.outer, layout = product.layout, norm = product.norm, weights = weights or 1 }
  for key, value in sorted(v) do s[key] = value end
  s.tokens = v.pass
  return s
end

-- Clocks of a unit for 16 bytes' way to 16-bit numbers. CUDA: cvt.rn.f16x2.e4m3x2, to two floats, to a pair: 8 pairs of a lane,
-- 128 lanes a clock. CDNA: two conversions and a permutation a pair by instructions, about 14 operations without; 64 lanes a
-- clock.
local function clk_of(p, arch)
  local family = arch.isa.family
  if arch.isa.wave == 32 then return 8 * (p.weights == 1 and 6 or 14) / 128 end
  local instruction = family == "cdna3" and p.weights == 2 or family == "cdna4" and p.weights == 1
  return 8 * (instruction and 3 or 14) / 64
end

-- A family of 16 bits for 8: cost(product, v, arch, p) says what of its cost is other.
local function derive(base, of, fields, name, cost)
  local family = { body = base.template, arch = base.arch, params = base.params, rules = {}, problem = { table.unpack(fields) } }
  family.problem[#family.problem + 1] = "weights"
  for i, rule in ipairs(base.rules) do family.rules[i] = rule end
  table.insert(family.rules, 1, function(p)
    if p.weights == 0 then return ("weights have 16 bits: %s serves them"):format(name) end
  end)
  family.cost = function(p, v, arch)
    local made = base.cost(p, v, arch)
    if made.refused then return made end
    for key, value in sorted(cost(of(p), v, arch, p)) do made[key] = value end
    made.clk = 2 * made.clk + clk_of(p, arch)
    return made
  end
  table.insert(base.rules, 1, function(p)
    if p.weights ~= 0 then return ("weights have 8 bits: %s_fp8 serves them"):format(name) end
  end)
  return family
end

local function dot(product, v)
  if product.layout == "outputs" then
    local loads = v.cols * v.depth
    return { regs = { { "weights", 5 * loads }, { "x", 8 * v.pass }, { "sums", 2 * v.pass * v.cols },
      { "norm", product.norm == 1 and 16 + 8 * v.pass or 0 }, { "rest", 64 } } }
  end
  return { inflight = v.threads * 8 * v.depth }
end

local function mma(product, v, arch, p)
  if v.pass == 128 then return { refused = "sums of 128 tokens, and those of a step apart, spill (5 of 12 kernels, seen)" } end
  local made = plan.mma(with(product, v))
  local steps, further = -(-product.inner // made.step), -(-p.tokens // v.pass) - 1
  local begin_ns = MMA_NS * v.pass + further * (FURTHER_NS + steps * STEP_NS)
  return { begin_ns = arch.isa.family == "hopper" and begin_ns or 0, lds_bytes = made.lds,
    inflight = (v.stages - 1) * made.tile * made.step,
    regs = { { "sums", v.pass + (product.norm == 1 and v.pass // 8 + 8 or 0) }, { "operands", 24 }, { "rest", 64 } } }
end

local function mfma(product, v)
  local groups, outputs = v.pass // 16, product.layout == "outputs"
  local parts = outputs and plan.mfma(with(product, v)).values // 8 or 1
  local loads = outputs and 2 * parts * v.blocks or v.blocks
  return { inflight = v.waves * v.depth * loads * 256,
    regs = { { "sums", 4 * v.blocks * groups + 4 * groups }, { "weights", v.depth * (loads + (outputs and v.blocks or 1)) },
      { "operands", outputs and 4 * parts or 8 }, { "x", v.depth * groups * (outputs and 4 * parts or 2) + 2 * groups },
      { "norm", product.norm == 1 and 4 * parts * v.depth + groups or 0 }, { "rest", 60 + 4 * v.blocks } } }
end

-- The family of the most bandwidth: it is not derived, since its chunks are others.
local function stream(base, of, fields)
  local family = derive(base, of.product, fields, "stream", function() end)
  family.params = {}
  for key, values in sorted(base.params) do family.params[key] = values end
  family.params.land, family.params.per_sm = nil, nil -- half as many bytes find room in L1
  family.params.rows = of.layout == "outputs" and { 16, 32, 64 } or { 64 }
  table.remove(family.rules) -- which says how many tokens
  family.rules[#family.rules + 1] = function(p)
    if p.tokens > STREAM_MOST then return ("streams of 8 bits are for up to %d tokens"):format(STREAM_MOST) end
  end
  if of.layout == "inputs" then family.params.depth = { 1, 2, 4 } end -- of 8 bytes
  family.cost = function(p, v, arch)
    local product = of.product(p)
    local made = plan.stream_fp8(with(product, v, p.weights))
    if made.refused then return made end
    if made.depth < v.depth then
      return { refused = ("%d chunks on their way, and a warp has %d"):format(v.depth, made.steps) }
    end
    local tiles = product.heads * product.outer // v.rows
    if v.split > 1 and tiles >= SMS then
      return { refused = ("%d tiles are enough without a share of the sum each"):format(tiles) }
    end
    return {
      threads = 32 * v.warps, rows_per_wg = v.rows, lds_bytes = made.lds, regs = made.regs, bounded = made.blocks,
      inflight = made.inflight, pass = v.pass, split = v.split, ahead = true, pace = 0.9,
      begin_ns = (STREAM_NS + STREAM_STEP_NS * math.max(0, made.steps - STREAM_STEPS)) * (v.pass - 8),
      x_bytes = 2 * v.pass * product.inner // v.split,
      clk = 16 / 128 * v.pass / 8 * 2 + clk_of(p, arch),
    }
  end
  return family
end

-- A ring for more tokens, whose weights become 16-bit numbers as they leave shared memory.
local function ring(of, fields)
  local family = {
    arch = { hopper = true },
    problem = { table.unpack(fields) },
    params = {
      rows = of.ring_fp8_rows,             -- outputs of a block
      per_sm = { 1, 2 },                   -- blocks that an SM has room for
      pass = { 16, 32, 64, 128 },          -- tokens that are multiplied at once
      ways = { 1, 2, 3 },                  -- warpgroups that take the steps of a sum in turns; of more than 64 outputs 1
      split = of.ring_fp8_splits or { 1, 2 }, -- blocks that share a sum
    },
    rules = {
      function(p)
        if p.weights == 0 then return "weights have 16 bits: ring serves them" end
      end,
      function(p)
        if of.product(p).norm == 1 and p.dtype == "f16" then return "a weight times a norm's may be more than a f16" end
      end,
      function(p, v)
        local alone = v.ways == 1 and v.rows <= 64 -- a warpgroup
        if alone and of.product(p).norm == 1 then return "with a norm one warpgroup alone does not keep up" end
        if v.ways == 3 and v.pass >= 64 then return "of 64 tokens three warpgroups want too many registers" end
        if v.ways == 3 and v.pass == 32 and v.split > 1 and of.product(p).norm == 1 then
          return "with a norm and shares of a sum three warpgroups spill 8 bytes (2 kernels, seen)"
        end
        if alone and v.pass > 64 then return "of 128 tokens one warpgroup alone is slower than two of 64" end
        local tall = TALL[v.rows]
        local folded = v.rows == 192 and v.pass == 128 and of.product(p).norm == 1
        if tall and (not tall[v.pass] and not folded or p.tokens > v.pass) then
          return ("tiles of %d outputs are for one pass, of %s tokens: else they are not faster"):format(v.rows,
            v.rows == 128 and "128" or "32 or 64")
        end
        local n = 16
        while n < p.tokens and n < RING_MOST do n = 2 * n end
        if v.pass ~= n and not (n == 128 and v.pass == 64) then
          return ("%d tokens in a pass, and %d are launched: %d"):format(v.pass, p.tokens, n)
        end
      end,
    },
    cost = function(p, v, arch)
      local product = of.product(p)
      local made = plan.ring_fp8(with(product, v, p.weights))
      if made.refused then return made end
      -- A way waits for its next place before it gives back the one it has: with one alone it would wait for ever.
      if made.stages < 2 * v.ways and made.stages < -(-product.inner // (128 * v.split)) then
        return { refused = ("%d stages for %d ways"):format(made.stages, v.ways) }
      end
      local tiles = product.heads * -(-product.outer // v.rows)
      if v.rows > 16 and v.rows >= 2 * product.outer then
        return { refused = ("tiles of %d outputs, and a head has %d"):format(v.rows, product.outer) }
      end
      if v.split == 4 and tiles > CLUSTERS_OF_4 then return { refused = ("%d clusters of 4 take turns"):format(tiles) } end
      if v.split > 1 and tiles * v.split > SMS then
        return { refused = ("%d shares of sums are more than a turn"):format(tiles * v.split) }
      end
      local halves = 2 * -(-product.outer // 48) -- blocks, were a sum of 48 outputs shared by two
      if product.norm == 1 and v.pass == 32 and v.ways == 3 and v.split == 1 and halves <= SMS and halves >= 0.9 * SMS then
        return { refused = ("%d blocks of 48 outputs and half a sum are faster (h200: 5.7 us for 6.2)"):format(halves) }
      end
      local use = tiles * v.split / (-(-tiles * v.split // SMS) * SMS)
      if v.split > 1 and use < 0.7 then return { refused = ("%d blocks use %.0f %% of the SMs"):format(tiles, 100 * use) } end
      local chain_ns = (RING_STEP_NS + RING_TOKEN_NS * v.pass) * product.inner / (128 * v.split * v.ways)
      local turns = -(-tiles * v.split // (SMS * v.per_sm))
      return {
        threads = made.threads, rows_per_wg = v.rows, lds_bytes = made.lds, regs = made.regs, bounded = made.blocks,
        inflight = made.stages * v.rows * 128, pass = v.pass, split = v.split, ahead = true, pace = 0.9,
        begin_ns = RING_NS + RING_TURN_NS * (turns - 1) + RING_WAY[product.norm] * chain_ns, sums = 4 * v.pass * v.rows,
        chain_ns = chain_ns, again = RING_AGAIN,
        x_bytes = RING_X * 2 * v.pass * product.inner / v.split,
        clk = ring_clk(product, v, clk_of(p, arch)),
      }
    end,
  }
  family.problem[#family.problem + 1] = "weights"
  return family
end

-- The families for more tokens than a pass of a ring has: a matrix is read, and its bytes become numbers, once for up to 256.
-- measured: what its kernels take, and their knobs.
local function wide(of, fields, measured)
  local family = {
    many = true,
    arch = { hopper = true },
    problem = { table.unpack(fields) },
    -- Blocks that share a sum; that share a tile's passes.
    params = { split = { 1, 2, 3, 4, 6 }, parts = measured.parts },
    rules = {
      function(p)
        if p.weights == 0 then return "weights have 16 bits: ring and libraries serve them" end
      end,
      function(p)
        if p.dtype == "f16" then return "a weight times its scale may be more than a f16" end
      end,
      function(p)
        if p.tokens <= RING_MOST then return ("up to %d tokens: ring_fp8 serves them"):format(RING_MOST) end
        if measured.most and p.tokens > measured.most then
          return ("more than %d tokens: wide_fp8 serves them"):format(measured.most)
        end
      end,
    },
    cost = function(p, v, arch)
      local product, parts = of.product(p), v.parts or 1
      local made = plan.wide_fp8({ inner = product.inner, outer = product.outer, layout = product.layout, norm = product.norm,
        split = v.split, parts = parts, fine = measured.fine })
      if made.refused then return made end
      if made.tile >= 2 * product.outer then
        return { refused = ("tiles of %d outputs, and a head has %d"):format(made.tile, product.outer) }
      end
      if parts > 1 and p.tokens <= made.tokens then return { refused = ("%d tokens are one pass"):format(p.tokens) } end
      local blocks = product.heads * -(-product.outer // made.tile) * v.split * parts
      if v.split > 1 and blocks > SMS then return { refused = ("%d shares of sums are more than a turn"):format(blocks) } end
      local passes = -(-p.tokens // made.tokens)
      local at = 1
      while made.widths[at] * passes < p.tokens and made.widths[at + 1] do at = at + 1 end
      local width = made.widths[at]
      local step_ns = measured.step_ns[product.norm] + measured.token_ns * width
      return {
        threads = made.threads, rows_per_wg = made.rows_per_wg, lds_bytes = made.lds, regs = made.regs, bounded = 1,
        inflight = made.stages * made.tile * 64, pass = made.tokens, split = v.split, parts = parts, ahead = true, pace = 0.9,
        chain_ns = product.inner / (64 * v.split) * step_ns, again = passes > parts and measured.again or nil,
        sums = 4 * width * made.tile, x_bytes = RING_X * 2 * width * product.inner / v.split, clk = 16 * width / RING_MACS,
      }
    end,
  }
  family.problem[#family.problem + 1] = "weights"
  return family
end

-- A kernel of ours makes each token's factor, into workspace, and no block squares x. Known to be better where the model says so.
local function normed(of, fields)
  local family, base = wide(of, fields, NORMED), wide(of, fields, PARTS)
  local estimate, cost = models.of(of.product).estimate, family.cost
  local function best_inside(p, arch)
    local best = math.huge
    for _, split in ipairs(base.params.split) do
      for _, parts in ipairs(base.params.parts) do
        local made = base.cost(p, { split = split, parts = parts }, arch)
        if not made.refused then best = math.min(best, estimate(p, arch, made)) end
      end
    end
    return best
  end
  family.library = true
  table.insert(family.rules, 1, function(p)
    if of.product(p).norm == 0 then return "the problem has no norm: parts_fp8 serves it" end
  end)
  family.cost = function(p, v, arch)
    local made = cost(p, v, arch)
    if made.refused then return made end
    made.aside, made.factors = true, true
    local ns = estimate(p, arch, made) + FACTORS_NS
    made.known_ns = ns < best_inside(p, arch) and ns or 0
    return made
  end
  return family
end

-- The families of 8 bits, by name, of those of 16, which leave such problems to them.
function fp8.derived(list, of, fields)
  local made, costs = {}, { dot = dot, mma = mma, mfma = mfma }
  for name, cost in sorted(costs) do made[name .. "_fp8"] = derive(list[name], of.product, fields, name, cost) end
  made.stream_fp8 = stream(list.stream, of, fields)
  if of.ring_fp8_rows then made.ring_fp8, made.wide_fp8 = ring(of, fields), wide(of, fields, WIDE) end
  if of.ring_fp8_rows then made.parts_fp8 = wide(of, fields, PARTS) end
  if of.ring_fp8_rows and of.aside == "norm" then made.normed_fp8 = normed(of, fields) end
  if of.stationary_rows then
    made.stationary_fp8, made.direct_fp8 = stationary.family(of, fields, clk_of), stationary.direct(of, fields, clk_of)
  end
  for _, name in ipairs({ "ring", "walk" }) do
    if list[name] then
      table.insert(list[name].rules, 1, function(p)
        if p.weights ~= 0 then return "weights have 8 bits, and rings take 16" end
      end)
    end
  end
  return made
end

return fp8
