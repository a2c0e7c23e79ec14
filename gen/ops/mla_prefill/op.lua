-- Prefill: attention of many new tokens over keys and values that are expanded for each head. The record: gen/ops.lua. Of a
-- family's cost its model asks, beside what gen/ops.lua says:
--
--   rows_per_wg  query tokens of one head that a workgroup owns;  step: keys of a round
--   team         compute units that work on a workgroup together, if not one;  unfilled: share of a round that a causal
--                workgroup makes in vain, if not a half
--   round_clk    clocks of one round of a workgroup, alone on its compute unit;  tail_clk: what a workgroup takes beside
local model = require("ops/mla_prefill/model")
local shape = require("ops/mla_prefill/shape")

local op = {
  stages = { "prefill" },
  baselines = {
    { family = "mma", params = { keys = 32, stages = 2, warps = 4 } },
    { family = "mma_fp8", params = { keys = 32, warps = 4 } },
    { family = "mfma", params = { keys = 32, stages = 1, waves = 4 } },
    { family = "mfma_fp8", params = { keys = 32, stages = 1, waves = 4 } },
  },
  model = model,
  invariant = require("ops/mla_prefill/invariant"),
}

-- Workgroups share the new tokens of one head among themselves, whatever the number of heads. Of few tokens a tile may stay
-- mostly empty: all families' tiles are large, and some must serve.
local LEAST_ROWS = 32
function op.rows(p) return math.max(p.tokens, LEAST_ROWS) end

-- The model's error depends on workgroups, and on rounds of the longest.
function op.launch(p, v)
  local cost = v.prefill
  return { blocks = model.blocks(p, cost), rounds = model.rounds(p, cost) }
end

-- Bytes of e4m3 are for matrix cores that take them as they are.
local ENCODINGS = { cdna3 = { [2] = true }, cdna4 = { [1] = true } }
function op.absent(p, arch)
  if p.inputs == 0 then return end
  local isa = arch.isa
  local encodings = isa.wave == 32 and (isa.sm >= 89 and { true } or {}) or ENCODINGS[isa.family] or {}
  if encodings[p.inputs] then return end
  local takes = encodings[1] and "e4m3fn" or encodings[2] and "e4m3fnuz"
  return takes and ("its matrix instructions take bytes of %s, not of %s"):format(takes, shape.encoding(p.inputs))
    or "it has no matrix instructions for bytes: inputs of 16 bits are what it takes"
end

local function doublings(a, b) return math.abs(math.log(a / b, 2)) end

function op.unlike(a, b) return doublings(a.rounds, b.rounds) / 2 + doublings(a.blocks, b.blocks) end

return op
