-- Code shared by families: fields of the problem, and CDNA's counts of registers and matrix instructions.
local formats = require("formats")
local lists_most = require("ops/mla_decode/times").measured.lists
local shape = {}

-- Fields of the problem in every decode kernel's source.
shape.DECODE_FIELDS = { "causal", "dtype", "heads", "page_size", "q_len", "rank", "rope" }

-- The fields in one that rotates the rope columns of what it reads, of the family NAME_rotate.
shape.ROTATE_FIELDS = { "causal", "dtype", "heads", "page_size", "q_len", "rank", "rope", "rotate" }

-- The fields in one that reads a cache of 8 bits.
shape.CACHE_FIELDS = { "cache", "causal", "dtype", "heads", "page_size", "q_len", "rank", "rope" }

-- Fields that kernels with a loader of Q may leave out, and others of the family's own.
shape.knows = require("ops/mla_decode/q").optional

-- Format of an 8-bit cache by the field's number (gen/formats.lua); nil: 16 bits.
function shape.cache(p)
  local f = p.cache ~= 0 and formats.of("mla_decode")[p.cache + 2]
  return f or nil
end
-- Bytes of a token in the cache.
function shape.token_bytes(p)
  return formats.bytes(formats.extents(shape.cache(p) or formats.get("paged")).token, p.rank, p.rope)
end

-- Why a problem cannot have a cache whose format has columns of its own; nil: it can.
function shape.columns_rule(p)
  local format = shape.cache(p)
  local latent, rope = formats.own_columns(format or formats.get("paged"))
  local fault = format and formats.rope_fault(format, p.rope)
  if fault then return fault end
  if latent and (p.rank ~= latent + rope or p.rope ~= 0 or p.dtype ~= "bf16") then
    return ("the cache is %s, whose tokens have %d columns that are K and V alike, and Q is bf16: the problem needs r%d,p0,bf16")
      :format(format.name, latent + rope, latent + rope)
  end
end

-- True for what is reckoned as a launch of index lists, of which each query token is a request: where it is said to read them
-- (gen/api.lua), or nothing is said and they are no longer than models select.
function shape.may_be_lists(p)
  return p.page_size == 1 and p.q_len == 1 and (p.reads == "lists" or p.reads ~= "tables" and p.ctx <= lists_most)
end

-- A kernel either takes keys as they are, or rotates each, or decodes bytes.
function shape.plain_rule(p)
  local format = shape.cache(p)
  if format then return ("cache is %s: keys are taken as numbers of 16 bits"):format(format.name) end
end
function shape.rotate_rule(p)
  local format = shape.cache(p)
  if format then return ("cache is %s: keys are rotated as numbers of 16 bits"):format(format.name) end
  if p.rotate == 0 then return "rotate is 0: the cache's keys are rotated already" end
end

function shape.cache_rule(p)
  if p.cache == 0 then return "the cache is of 16 bits: there are no bytes to decode" end
end

-- The rules of a family's variant: its own with `first` in place of shape.plain_rule, and `more`.
local function variant_rules(first, rules, more)
  local list = { first }
  for _, rule in ipairs(rules) do
    if rule ~= shape.plain_rule then list[#list + 1] = rule end
  end
  return table.move(more, 1, #more, #list + 1, list)
end
function shape.rotating(rules, more) return variant_rules(shape.rotate_rule, rules, more) end
function shape.decoding(rules, more) return variant_rules(shape.cache_rule, rules, more or {}) end

shape.ceil_div = require("whole").ceil_div

-- The architecture families that have the MFMA the kernels are written with.
shape.CDNA = { cdna2 = true, cdna3 = true, cdna4 = true }

-- The schedules by which the decode kernels for them cut a launch. fitted: splits where lengths are alike, else parts of the
-- whole batch (templates/mla_decode/lib/fit_wave.h).
shape.SCHEDULES = { "fitted", "splits" }
function shape.schedule_rule(p, v)
  if p.batch == 1 and v.schedule == "fitted" then return "schedule=fitted: one request has no other beside it" end
end
-- `cost` with what the schedule adds to it.
function shape.scheduled(cost, v)
  if v.schedule == "fitted" then cost.any_lengths, cost.always_combines, cost.combine = true, true, "combine_fitted" end
  cost.values = v.schedule == "fitted" and "values_fitted" or "values"
  return cost
end

-- MFMA of one 16-row block and 16 tokens: QK over rank + rope columns, PV over rank. Where the target has k = 32, QK is made of
-- that, and PV when `wide` says that the kernel has 32 tokens at hand; counted here by the 16 tokens all the same.
function shape.mfma_per_tile(p, psplit, isa, wide)
  local k32 = isa.mfma.m16n16k32
  return (p.rank + p.rope) // (k32 and 32 or 16) + psplit * shape.ceil_div(p.rank, 128) * (k32 and wide and 4 or 8)
end
-- bf16 Q of a block in registers per lane (16 x cols over 64 lanes, two per register); fp32 O in groups of 128 columns.
function shape.q_regs(p) return (p.rank + p.rope) // 8 end
function shape.o_regs(p) return shape.ceil_div(p.rank, 128) * 32 end

return shape
