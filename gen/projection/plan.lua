-- The plans that the projections' templates (templates/lib/projection) and their families agree on: outputs of a block, shares of
-- the contraction, shared memory. `s`: inner (values of a sum), outer (outputs of a head), layout of W[h] (outputs:
-- [outer][inner], inputs: [inner][outer]), norm, weights (0: of 16 bits), and the family's parameters. `refused`: the stated
-- reason why there is no such kernel.
local plan = {}

local STATIC_LDS = 49152
local NARROW = 96          -- tokens that passes of 128 by weights of 8 bits multiply where there are no more
local SHORT, WIDE = 512, 64 -- values of a sum whose W is there before x is asked for; outputs of a tile
local SM_BYTES, SM_RESERVED, STAGES_MOST = 233472, 1024, 16 -- shared memory of a Hopper SM, and of it for each block
-- Registers of a thread: of three warpgroups at launch, and of the two that multiply once the third, of loaders, has kept
-- what it needs.
local LAUNCHED_REGS, LENT_REGS, KEPT_REGS = 168, 232, 40
-- The same by the number that multiply: two, three.
local LENDING = { [2] = { launched = LAUNCHED_REGS, lent = LENT_REGS, kept = KEPT_REGS },
  [3] = { launched = 128, lent = 160, kept = 32 } }
plan.PER_SM_MOST = 3 -- as many blocks of an SM as there is room for, at least 3

local ceil_div = require("whole").ceil_div

-- Bytes of partial sums: a token's are padded by 16 bytes.
local function sums(ways, tokens, tile) return 4 * ways * tokens * (tile + 4) end

-- Bytes of the sums of squares that a norm needs.
local function squares(s, ways, tokens) return s.norm == 1 and 4 * ways * tokens or 0 end

local function refuse(fmt, ...) return { refused = fmt:format(...) } end

function plan.dot(s, wave)
  if s.layout == "outputs" then
    local tile = s.cols * (s.threads // wave)
    if tile % 8 ~= 0 then return refuse("%d outputs of a block are not written in 16 bytes", tile) end
    return { tile = tile, ways = 1, lds = sums(1, s.tokens, tile) + squares(s, 1, s.tokens) }
  end
  local tile, ways = 8 * s.cols, s.threads // s.cols
  if s.inner % 2 ~= 0 then return refuse("%d values of a sum do not go in pairs", s.inner) end
  if s.norm == 1 then return refuse("a norm needs layout=outputs") end
  local lds = sums(ways, s.tokens, tile) + 4 * s.tokens * ceil_div(s.inner, ways) * ways
  if lds > STATIC_LDS then return refuse("%d bytes of shared memory > %d that a kernel has without asking", lds, STATIC_LDS) end
  return { tile = tile, ways = ways, lds = lds }
end

-- A block of cols * ways warps: each has 16 outputs and 32 values of every `step`; `step` values of W and x are a stage.
function plan.mma(s)
  local tile, step = 16 * s.cols, 32 * s.ways
  local outputs, bytes = s.layout == "outputs", s.weights == 0 and 2 or 1
  local pitch_w = bytes * (outputs and step or tile) + 16
  local pitch_x = 2 * step + (outputs and s.weights ~= 0 and 32 or 16) -- read in eights of a row, or in quarters of it
  local w = (outputs and tile or step) * pitch_w
  local stage = w + s.tokens * pitch_x + (s.norm == 1 and 2 * step or 0)
  return { tile = tile, step = step, threads = 32 * s.cols * s.ways, w = w, stage = stage, pitch_w = pitch_w, pitch_x = pitch_x,
    lds = math.max(s.stages * stage, sums(s.ways, s.tokens, tile) + squares(s, s.ways, s.tokens)) }
end

-- A block of `warps` warps, each with all outputs of the tile and every so-many-th chunk of 32 values; `split` blocks share a
-- sum.
-- run: chunks in a row of a warp; steps: chunks of a warp; depth, ahead: chunks of weights and of x in flight. land:
-- where weights come to, registers or shared memory, in which they are behind the sums.
function plan.stream(s)
  local outputs = s.layout == "outputs"
  local groups, all = s.tokens // 8, s.inner // 32
  if not outputs and s.rows ~= 64 then return refuse("tiles of %d outputs, and layout=inputs has 64", s.rows) end
  if outputs and s.outer % s.rows ~= 0 then return refuse("%d outputs are no tiles of %d", s.outer, s.rows) end
  if all % s.split ~= 0 then return refuse("%d chunks of a sum are not shared by %d blocks", all, s.split) end
  local chunks = all // s.split
  local run = outputs and chunks % 2 == 0 and 2 or 1
  local steps = run * ceil_div(chunks, run * s.warps)
  local depth = math.min(s.depth, steps)
  -- Whole rounds, where all of x may be as far ahead.
  if steps % depth ~= 0 and steps % (depth - 1) == 0 and depth - 1 <= 8 // groups then depth = depth - 1 end
  if chunks <= (s.warps - 1) * run then return refuse("%d warps, and a block has %d chunks", s.warps, chunks) end
  local ahead = depth
  local lands, loads = s.land == "shared", outputs and s.rows // 8 or 8
  while ahead > 1 and (depth % ahead ~= 0 or ahead * groups * 4 > math.max(lands and 64 or 32, 8 * groups)) do
    ahead = ahead - 1
  end
  local regs = { { "weights", 4 * (lands and 1 or depth) * loads }, { "x", 4 * groups * ahead },
    { "sums", s.rows // 4 * groups }, { "norm", s.norm == 1 and groups + 4 * ahead or 0 }, { "rest", 44 } }
  local need = 0
  for _, part in ipairs(regs) do need = need + part[2] end
  -- Blocks that an SM is to hold at once: as many as registers allow, so that the next launch's weights find room. For two the
  -- compiler can do without some.
  local function holds(blocks, regs) return 32 * s.warps * blocks * ceil_div(regs, 8) * 8 <= 65536 end
  local blocks = holds(2, need - 20) and 2 or 1
  while blocks < 4 and holds(blocks + 1, need) do blocks = blocks + 1 end
  local slots_at = ceil_div(sums(s.warps, s.tokens, s.rows) + squares(s, s.warps, s.tokens), 16) * 16
  local lds = lands and slots_at + 512 * s.warps * depth * loads or slots_at
  if lands then
    -- One block more shall not find room, as with a ring.
    if s.per_sm < plan.PER_SM_MOST then lds = math.max(lds, SM_BYTES // (s.per_sm + 1) // 128 * 128) end
    if s.per_sm * (lds + SM_RESERVED) > SM_BYTES then return refuse("%d blocks of an SM take %d bytes each", s.per_sm, lds) end
    if blocks < s.per_sm and s.per_sm < plan.PER_SM_MOST then return refuse("registers for %d blocks of an SM", blocks) end
    blocks = math.min(blocks, s.per_sm)
  end
  return { chunks = chunks, run = run, steps = steps, depth = depth, ahead = ahead, regs = regs, blocks = blocks,
    inflight = 512 * s.warps * depth * loads, lds = lds, slots_at = slots_at }
end

-- The same of weights of 8 bits: chunks of 64 values (layout=inputs: 32), whose scales lie behind the sums.
function plan.stream_fp8(s)
  local outputs, groups = s.layout == "outputs", s.tokens // 8
  local chunk = outputs and 64 or 32
  if s.inner % chunk ~= 0 then return refuse("%d values of a sum are not a multiple of %d", s.inner, chunk) end
  if not outputs and s.rows ~= 64 then return refuse("tiles of %d outputs, and layout=inputs has 64", s.rows) end
  if outputs and s.outer % s.rows ~= 0 then return refuse("%d outputs are no tiles of %d", s.outer, s.rows) end
  local all = s.inner // chunk
  if all % s.split ~= 0 then return refuse("%d chunks of a sum are not shared by %d blocks", all, s.split) end
  local chunks = all // s.split
  local run = outputs and chunks % 2 == 0 and chunks >= 2 * s.warps and 2 or 1
  local steps = run * ceil_div(chunks, run * s.warps)
  local depth, x = math.min(s.depth, steps), groups * chunk // 8 -- registers of a chunk of x
  if chunks <= (s.warps - 1) * run then return refuse("%d warps, and a block has %d chunks", s.warps, chunks) end
  local ahead = depth
  while ahead > 1 and (depth % ahead ~= 0 or ahead * x > math.max(32, 8 * groups)) do ahead = ahead - 1 end
  local regs = { { "weights", depth * (outputs and s.rows // 2 or 16) }, { "x", x * ahead }, { "operands", chunk // 4 },
    { "sums", s.rows // 4 * groups + 4 }, { "norm", s.norm == 1 and 10 * groups + 24 + chunk // 8 * ahead or 0 },
    { "rest", 48 + 10 * groups }, { "integers", s.weights == 2 and 48 or 0 } } -- e4m3fnuz: no instruction, more in flight
  local need = 0
  for _, part in ipairs(regs) do need = need + part[2] end
  local blocks = 1 -- that an SM is to hold at once
  while blocks < 4 and 32 * s.warps * (blocks + 1) * ceil_div(need, 8) * 8 <= 65536 do blocks = blocks + 1 end
  local at = sums(s.warps, s.tokens, s.rows) + squares(s, s.warps, s.tokens)
  return { chunk = chunk, chunks = chunks, run = run, steps = steps, depth = depth, ahead = ahead, regs = regs, blocks = blocks,
    inflight = 32 * s.warps * depth * (outputs and 2 * s.rows or 64), scales_at = at,
    lds = at + 4 * chunks * (outputs and s.rows // 16 or 1) }
end


-- A block of warpgroups of 64 tokens each, a warp that loads W and one that loads x. In shared memory: stages of 64 values, as
-- many as `per_sm` blocks of an SM have room for, where sums come later; barriers; the norm's weights. `split` blocks share a
-- sum. turn: columns that turn, which have two warps of their own. ways: warpgroups with the same tokens, which take the steps of
-- the sum in turns. tiles: that a block takes one after the other; sums are behind the ring then, and of more than 64 tokens x is
-- in front of it.
function plan.ring(s)
  local steps, groups, ways, tiles = s.inner // 64, ceil_div(s.tokens, 64), s.ways or 1, s.tiles or 1
  local walks = tiles > 1
  local once = walks and s.tokens > 64 -- x comes once for all tiles, and sums are rounded as they are laid
  local stage, x_once = 128 * (once and s.rows or s.tokens + s.rows), once and 128 * s.tokens * steps or 0
  if s.inner % 64 ~= 0 then return refuse("%d values of a sum are not a multiple of 64", s.inner) end
  if steps < s.split then return refuse("%d steps of a sum are not shared by %d blocks", steps, s.split) end
  if s.layout == "inputs" and (s.rows % 64 ~= 0 or s.outer % 64 ~= 0) then
    return refuse("tiles of %d outputs of %d, and layout=inputs has 64 side by side", s.rows, s.outer)
  end
  if s.rows % 8 ~= 0 or s.rows > 256 then return refuse("tiles of %d outputs are no multiple of 8 up to 256", s.rows) end
  local gain = s.norm == 1 and 2 * s.inner or 0
  if s.tokens > 128 and walks and s.rows > 64 then return refuse("%d sums of a thread, and 704 threads", s.rows // 2) end
  local function bytes(stages)
    -- A product has whole warpgroups' rows of x.
    local read = (once and 128 * s.tokens * (steps - 1) or (stages - 1) * stage) + 8192 * groups
    local added = once and s.tokens * (2 * s.rows + 16) or sums(ways, s.tokens, s.rows) + squares(s, ways, s.tokens)
    local ring = ceil_div(math.max(x_once + stages * stage, read), 128) * 128
    local at = walks and ceil_div(ring + added, 128) * 128 or math.max(ring, ceil_div(added, 128) * 128)
    return ceil_div(at + 16 * (stages + (once and 1 or 0)), 128) * 128 + gain, at, ring
  end
  local need, stages = math.min(ceil_div(steps, s.split) * tiles, STAGES_MOST), 1
  while stages < need and bytes(stages + 1) + SM_RESERVED <= SM_BYTES // s.per_sm do stages = stages + 1 end
  stages = stages // ways * ways -- a way has stages of its own
  -- If a block waits for x rather than for W, both lanes load, every second step each, from stages of their own. Wide tiles
  -- wait for W: mla_q_b of 128 heads costs a layer 1 us more so.
  local both = not walks and (s.norm == 1 or s.inner <= SHORT) and (s.rows <= WIDE or s.layout == "inputs")
  if both and stages < need and stages % 2 == 1 then stages = stages - ways end
  if stages < ways then return refuse("a way of %d has no stage of its own", ways) end
  local lds, at, sums_at = bytes(stages)
  if lds + SM_RESERVED > SM_BYTES // s.per_sm or stages < math.min(need, 2) then
    return refuse("%d bytes of a stage, %d blocks of an SM", stage, s.per_sm)
  end
  local gain_at = lds - gain
  -- One block more shall not find room: what comes early does not spread over the SMs evenly.
  if s.per_sm < plan.PER_SM_MOST then lds = math.max(lds, SM_BYTES // (s.per_sm + 1) // 128 * 128) end
  -- A norm's registers beside many sums: those of whole warpgroups of loaders are lent (setmaxnreg).
  local lends = s.norm == 1 and groups == 2 and tiles == 1 and ways * s.split == 1 and s.rows // 2 + 92 > LAUNCHED_REGS
  if lends and s.rows // 2 + 100 > LENT_REGS then return refuse("%d sums of a thread and a norm", s.rows // 2) end
  local workers = 128 * groups * ways + (lends and 128 or 64)
  if workers > 1024 then return refuse("%d threads of a block", workers) end
  local threads = workers + (s.turn > 0 and (tiles > 1 and 128 or 64) or 0) -- fewer blocks turn as many columns
  local regs = { { "sums", s.rows // 2 }, { "x", s.norm == 1 and 60 or 0 },
    { "rest", s.tokens > 128 and 24 or tiles > 1 and 32 or 48 } }
  if lends then regs = { { "all that a launch gives", LAUNCHED_REGS } } end
  local limit = 65536 // (threads * ceil_div(s.rows // 2 + (s.norm == 1 and 92 or tiles > 1 and 32 or 44), 8) * 8)
  return { stage = stage, stages = stages, threads = threads, workers = workers, barriers_at = at, gain_at = gain_at, lds = lds,
    lends = lends, lent = LENT_REGS, kept = KEPT_REGS, both = both, known = groups == 1 or s.per_sm == 1, sums_at = sums_at,
    regs = regs, blocks = math.max(1, math.min(SM_BYTES // (lds + SM_RESERVED), limit)) }
end

-- A ring that goes on from query heads into the latent space: a head a block. Behind a sum's steps come `outs` columns of W_UK a
-- stage, as many as fit one.
function plan.ring_absorb(s)
  local groups, tile = ceil_div(s.tokens, 64), s.nope + s.rope
  if s.inner % 128 ~= 0 then return refuse("%d values of a sum are not a multiple of 128", s.inner) end
  if s.nope % 16 ~= 0 or tile > 256 or s.rope % 32 ~= 0 then return refuse("heads of %d and %d columns", s.nope, s.rope) end
  if s.rank % 64 ~= 0 then return refuse("%d columns of a latent row are not a multiple of 64", s.rank) end
  local outs = s.rank % 128 == 0 and s.tokens >= 64 and 128 or 64
  local stage = ceil_div(math.max(128 * (s.tokens + tile), 2 * outs * s.nope), 1024) * 1024
  local steps, parts, gain = s.inner // 64, s.rank // outs, 2 * s.inner
  local room = 2048 * 4 * groups -- of a warp's 16 rows of 64 outputs, before they are stored
  local function bytes(stages)
    local at = (stages - 1) * stage + math.max(stage, 8192 * groups) -- a product has whole warpgroups' rows of x
    return ceil_div(at + 16 * stages, 128) * 128 + gain + room, at
  end
  local stages = 1
  while stages < math.min(steps, STAGES_MOST) and bytes(stages + 1) + SM_RESERVED <= SM_BYTES do stages = stages + 1 end
  local lds, at = bytes(stages)
  if lds + SM_RESERVED > SM_BYTES or stages < 2 then return refuse("%d bytes of a stage", stage) end
  local lends = groups == 2
  if lends and tile // 2 + 100 > LENT_REGS then return refuse("%d sums of a thread and a norm", tile // 2) end
  local threads = 128 * groups + (lends and 128 or 64)
  return { outs = outs, parts = parts, stage = stage, stages = stages, threads = threads, lds = lds, barriers_at = at,
    gain_at = lds - gain - room, room_at = lds - room, lends = lends, lent = LENT_REGS, kept = KEPT_REGS,
    regs = lends and { { "all that a launch gives", LAUNCHED_REGS } } or { { "sums", tile // 2 }, { "x and a norm", 108 } } }
end

-- Queries fused with the q absorb on CDNA (templates/lib/projection/mfma_absorb.h): a head's blocks are `shares` of `each`
-- tokens times `columns` of the latent columns. In LDS: x; in its place later sums of rope columns, and those of the second
-- product where waves share it; behind it queries and the tokens' factors.
function plan.mfma_absorb(s)
  local waves, ahead = s.nope // 16, 2 -- with three in flight L1's queue holds up the norm
  local parts, outs = s.shares * s.columns, s.rank // s.columns
  if s.nope ~= 128 then return refuse("%d columns without positions are not 128", s.nope) end
  if s.inner % 256 ~= 0 then return refuse("%d values of a sum are not a multiple of 256", s.inner) end
  if s.rope % 16 ~= 0 or (s.nope + s.rope) % parts ~= 0 then
    return refuse("%d columns of a head are not shared by %d blocks", s.nope + s.rope, parts)
  end
  if s.rank % s.columns ~= 0 or outs % 32 ~= 0 or outs > 64 and outs % 64 ~= 0 then
    return refuse("%d latent columns are not shared by %d blocks", s.rank, s.columns)
  end
  if outs > 256 then return refuse("%d latent columns of a block leave no registers", outs) end
  local lane = outs % 64 == 0 and 4 or 2
  local by_columns = outs // (16 * lane)
  if by_columns > waves or waves % by_columns ~= 0 then
    return refuse("%d latent columns of a block are not shared by %d waves", outs, waves)
  end
  local units, groups, ways = s.inner // 256, s.rope // 16, waves // by_columns
  if units < ahead then ahead = units end
  local turned = math.max(1, ceil_div(groups, s.columns))
  if groups > 0 and groups % turned ~= 0 then return refuse("%d groups of rope columns, %d blocks", groups, s.columns) end
  local sums_at = groups > 0 and turned * units * 16 * 80 or 0
  local ends = math.max(2 * s.each * s.inner, sums_at + (ways > 1 and ways * 16 * 4 * (outs + 4) or 0))
  local factors_at = ends + 16 * (2 * s.nope + 8)
  return { waves = waves, threads = 64 * waves, rows = (s.nope + s.rope) // parts, ahead = ahead, outs = outs,
    lane_columns = lane, ways = ways, turned = turned, turning = groups // turned,
    turned_units = ceil_div(turned * units, waves), sums_at = sums_at, q_at = ends, factors_at = factors_at,
    lds = factors_at + 64,
    regs = { { "weights", 32 * (ahead + 2) }, { "x and a norm", 4 * (s.each // 8 + 1) * ceil_div(s.inner, 512) },
      { "sums", 8 + 4 * lane }, { "keys", 2 * lane * (s.nope // 16 // ways) } } }
end

-- The same of weights of 8 bits: `ways` warpgroups with the same 64 outputs, of which `rows` are there, or as many as `rows` has
-- times 64, and stages of 128 values. Behind the ring and its barriers: scales of half steps, one for 16 outputs; the
-- norm's weights.
function plan.ring_fp8(s)
  local stage, steps = 256 * s.tokens + 128 * s.rows, s.inner // 128
  if s.layout == "inputs" then return refuse("values of an output are not side by side") end
  if s.inner % 128 ~= 0 then return refuse("%d values of a sum are not a multiple of 128", s.inner) end
  if steps < s.split * s.ways then return refuse("%d steps of a sum, %d blocks of %d ways", steps, s.split, s.ways) end
  if s.rows % 16 ~= 0 or s.rows > 64 and s.rows % 64 ~= 0 or s.rows > 192 then
    return refuse("tiles of %d outputs are no multiple of 16 up to 64, nor 128 or 192", s.rows)
  end
  local groups = ceil_div(s.rows, 64) -- warpgroups of a way
  local math_groups = groups * s.ways
  if groups > 1 and s.ways > 1 then return refuse("%d outputs and %d ways: too many warpgroups", s.rows, s.ways) end
  local gain = s.norm == 1 and 2 * s.inner or 0
  local each = ceil_div(steps, s.split) -- steps of a block
  local scales = 8 * each * ceil_div(s.rows, 16)
  local function bytes(stages)
    local read = (stages - 1) * stage + 256 * s.tokens + 8192 * groups -- a product has 64 rows
    local added = sums(s.ways, s.tokens, s.rows) + squares(s, s.ways, s.tokens) + (s.norm == 1 and 512 * math_groups or 0)
    local at = ceil_div(math.max(stages * stage, read, added), 128) * 128
    local behind = ceil_div(at + 24 * stages, 128) * 128
    return ceil_div(behind + gain + scales, 128) * 128, at, behind
  end
  local stages = 1
  local most = math.min(each, STAGES_MOST)
  while stages < most and bytes(stages + 1) + SM_RESERVED <= SM_BYTES // s.per_sm do stages = stages + 1 end
  stages = stages // s.ways * s.ways -- a way has stages of its own
  if stages < s.ways then return refuse("a way of %d has no stage of its own", s.ways) end
  local lds, at, behind = bytes(stages)
  if lds + SM_RESERVED > SM_BYTES // s.per_sm then return refuse("%d bytes of a stage, %d blocks of an SM", stage, s.per_sm) end
  if s.per_sm < plan.PER_SM_MOST then lds = math.max(lds, SM_BYTES // (s.per_sm + 1) // 128 * 128) end
  local lends = s.tokens > 64 and math_groups > 1 or s.tokens == 64 and groups == 3
  local folded = s.tokens > 64 and groups == 3 and s.norm == 1 -- no sums apart of a step, so that three have the registers
  if lends and (s.tokens > 64 and math_groups > 2 and not folded or s.per_sm > 1) then
    return refuse("%d tokens, %d warpgroups, %d blocks of an SM: loaders lend registers to two, of 64 tokens to three", s.tokens,
      math_groups, s.per_sm)
  end
  local threads = 128 * math_groups + (lends and 128 or 64)
  local regs = { { "sums", s.tokens }, { "weights", 32 },
    { "norm", s.norm == 0 and 0 or 16 },
    { "rest", s.per_sm > 1 and s.ways > 1 and s.norm == 0 and 32 or 48 } } -- where two blocks share an SM it makes do
  local lending = lends and LENDING[math_groups] or {}
  if lends then regs = { { "all that a launch gives", lending.launched } } end
  local limit = 65536 // (threads * ceil_div(s.tokens + 64 + (s.norm == 1 and 16 or 0), 8) * 8)
  return { groups = groups, stage = stage, stages = stages, threads = threads, lds = lds, barriers_at = at, gain_at = behind,
    folded = folded, narrow = lends and s.tokens > NARROW and NARROW or nil, lends = lends, lent = lending.lent,
    kept = lending.kept, scales_at = behind + gain, regs = regs,
    blocks = lends and 1 or math.max(1, math.min(SM_BYTES // (lds + SM_RESERVED), limit)) }
end

-- Many tokens and weights of 8 bits (templates/lib/projection/wide_fp8.h): tiles of 128 outputs, stages of 64 values, passes of
-- up to 256 tokens, compiled once for each of `widths`. Behind the ring and its barriers: the norm's weights; scales of a
-- block's steps, one for 16 outputs. rows_per_wg: so that a launch has `parts` blocks for each tile, which share its passes.
local WIDE_FP8 = { tile = 128, tokens = 256, rows = 32, widths = { 128, 160, 192, 224, 256 },
  fine = { 128, 144, 160, 176, 192, 224, 256 } } -- fine: where s.fine asks for it
function plan.wide_fp8(s)
  local w, lending, steps = WIDE_FP8, LENDING[2], s.inner // 128 -- steps: pairs of stages
  if s.layout == "inputs" then return refuse("values of an output are not side by side") end
  if s.inner % 128 ~= 0 then return refuse("%d values of a sum are not a multiple of 128", s.inner) end
  if steps < s.split then return refuse("%d pairs of steps of a sum are not shared by %d blocks", steps, s.split) end
  local blocks = ceil_div(s.outer, w.tile) * s.parts
  local rows_per_wg = s.parts == 1 and w.tile or ceil_div(s.outer, blocks)
  if ceil_div(s.outer, rows_per_wg) ~= blocks then return refuse("%d outputs are not shared by %d blocks", s.outer, blocks) end
  local stage, gain = 128 * w.tokens + 64 * w.tile, s.norm == 1 and 2 * s.inner or 0
  local each = 2 * ceil_div(steps, s.split)
  local scales = 4 * each * w.tile // 16
  local function bytes(stages)
    local at = ceil_div(math.max(stages * stage, sums(1, w.tokens, w.tile) + squares(s, 1, w.tokens)), 128) * 128
    local behind = ceil_div(at + 24 * stages, 128) * 128
    return ceil_div(behind + gain + scales, 128) * 128, at, behind
  end
  local stages = 1
  while stages < each and bytes(stages + 1) + SM_RESERVED <= SM_BYTES do stages = stages + 1 end
  local lds, at, behind = bytes(stages)
  if lds + SM_RESERVED > SM_BYTES then return refuse("%d bytes of shared memory", lds) end
  -- A stage's bytes are taken while the two before are in use.
  if stages < math.min(3, each) then return refuse("a stage of %d bytes, and there is room for %d", stage, stages) end
  local math_threads = w.tile * 2
  return { tile = w.tile, rows_per_wg = rows_per_wg, tokens = w.tokens, rows = w.rows, widths = s.fine and w.fine or w.widths,
    stage = stage, stages = stages, lds = lds,
    math = math_threads, threads = math_threads + 128, barriers_at = at, gain_at = behind, scales_at = behind + gain,
    lent = lending.lent, kept = lending.kept, regs = { { "all that a launch gives", lending.launched } } }
end

-- A block of `waves` waves, each with all outputs of the block and a share of the contraction: 16 outputs a matrix instruction
-- and `blocks` of them (layout=outputs), or 16 * blocks columns that a lane loads `blocks` at a time (inputs). Sums meet 16
-- tokens at a time.
function plan.mfma(s)
  local tile = 16 * s.blocks
  local values = s.weights ~= 0 and s.inner % 64 == 0 and 16 or 8 -- of a load, layout=outputs
  return { tile = tile, ways = s.waves, values = values, step = s.layout == "outputs" and 4 * values or 16,
    lds = sums(s.waves, 16, tile) + squares(s, s.waves, 16) }
end

return plan
