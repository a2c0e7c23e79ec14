-- What the projections' templates (templates/lib/projection) and their families agree on: outputs of a block, shares of the
-- contraction, shared memory. `s`: inner (values of a sum), outer (outputs of a head), layout of W[h] (outputs: [outer][inner],
-- inputs: [inner][outer]), norm, and the family's parameters. `refused`: the stated reason why there is no such kernel.
local plan = {}

local STATIC_LDS = 49152

local function ceil_div(a, b) return -(-a // b) end

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
  local w = s.layout == "outputs" and tile * (2 * step + 16) or step * (2 * tile + 16)
  local stage = w + s.tokens * (2 * step + 16) + (s.norm == 1 and 2 * step or 0)
  return { tile = tile, step = step, threads = 32 * s.cols * s.ways, w = w, stage = stage,
    lds = math.max(s.stages * stage, sums(s.ways, s.tokens, tile) + squares(s, s.ways, s.tokens)) }
end

-- A block of `waves` waves, each with all outputs of the block and a share of the contraction: 16 outputs a matrix instruction
-- and `blocks` of them (layout=outputs), or 16 * blocks columns that a lane loads `blocks` at a time (inputs). Sums meet 16
-- tokens at a time.
function plan.mfma(s)
  local tile = 16 * s.blocks
  return { tile = tile, ways = s.waves, step = s.layout == "outputs" and 32 or 16,
    lds = sums(s.waves, 16, tile) + squares(s, s.waves, 16) }
end

return plan
