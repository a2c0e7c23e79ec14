-- The family of a projection whose product is a vendor's library's (cuBLASLt, hipBLASLt): nothing is compiled, a text says what
-- the library is asked for (templates/lib/projection/library.h, runtime/device/matmul.h). Which way it goes about it is one of
-- those that it proposes itself, best first, for this number of tokens; the tuner times them.
local ops = require("ops")

-- The products for which a library is known to do better than any kernel here, though nobody tuned: large flat products on
-- Hopper. One H200, 2048 tokens: 83 us for 258 (hidden states to low-rank columns), 32 for 183 (norm, low-rank columns to query
-- heads), 78 for 185 (values to hidden states, tp 8). At 128 tokens it is 0.70 to 0.93 of the time at tp 8, but 1.1 of it for
-- values to hidden states at tp 1 (docs/lab/projections.md).
local KNOWN_FROM, KNOWN_SHARE, KNOWN_BEGIN_NS = 256, 0.75, 5000 -- tokens; of the matrix rate; fitted to those
local WAYS = 16 -- that are asked for: its first is often not its fastest at few tokens
local EVERY = { cdna2 = true, cdna3 = true, cdna4 = true, ampere = true, ada = true, hopper = true, blackwell = true }
-- Fields that are thought of here. One that comes later is refused where it asks for anything.
local KNOWN = {}
for _, field in ipairs({ "hidden", "q_rank", "rank", "rope", "heads", "nope", "v", "norm", "residual", "dtype", "style",
  "tokens" }) do KNOWN[field] = true end

local function unknown(p)
  for _, f in ipairs(ops.of(p).fields) do
    local usual = f.words and (f.words[1] == "" and 0 or f.words[1]) or f.default
    if not KNOWN[f.field] and p[f.field] ~= usual then return ("no library is asked for %s"):format(f.word) end
  end
end

local library = {}

-- of, fields: as families.make has them; aside: the columns behind are to be turned and written, too.
function library.product(of, fields, aside)
  local problem, ways, has = { "tokens" }, {}, { tokens = true, heads = false }
  for _, field in ipairs(fields) do
    if KNOWN[field] and field ~= "style" then problem[#problem + 1] = field end
    has[field] = true
  end
  if not has.heads and not has.hidden then problem[#problem + 1] = "heads" end -- a kernel is for any number of them
  for i = 1, WAYS do ways[i] = i - 1 end
  return {
    library = true,
    arch = EVERY,
    problem = problem,
    params = { way = ways },
    rules = { unknown },
    -- The library decides what is launched. The rest is for the model, whose answer counts only where known_ns says so.
    cost = function(p, v, arch)
      local product = of(p)
      local flops = 2.0 * p.tokens * product.heads * product.inner * product.outer
      local known = arch.isa.family == "hopper" and product.heads == 1 and p.tokens >= KNOWN_FROM and v.way == 0
      return { threads = arch.isa.wave, rows_per_wg = 16, lds_bytes = 0, regs = { { "all", 32 } }, inflight = 16384,
        pass = p.tokens, clk = 1,
        known_ns = known and KNOWN_BEGIN_NS + 1000 * flops / (KNOWN_SHARE * arch.model.flops_per_us) or 0,
        aside = product.norm == 1 or aside and p.rope > 0 }
    end,
  }
end

-- A kernel of ours, launched before a library's product, does what that leaves undone: RMSNorm of its input, into the workspace;
-- rope columns, turned and written where they belong.
function library.aside(of, fields, word)
  return {
    stage = "aside",
    arch = EVERY,
    problem = fields,
    params = { threads = { 128, 256 } },
    rules = {
      function(p)
        if word == "norm" and of(p).norm == 0 then return "the problem has no norm" end
        if word == "rope" and p.rope == 0 then return "the problem has no rope columns" end
      end,
    },
    cost = function(_, v)
      return { threads = v.threads, rows_per_wg = word == "norm" and 1 or v.threads // 8, lds_bytes = word == "norm" and 64 or 0,
        regs = { { "a row", word == "norm" and 48 or 24 }, { "rest", 40 } }, slack = 64 }
    end,
  }
end

-- The kernel that makes each token's norm factor, once for all blocks of a product of ours that takes it (fp8.lua: normed_fp8).
function library.factors(of, fields)
  return {
    stage = "aside",
    arch = { hopper = true },
    problem = fields,
    params = { threads = { 128 } },
    rules = {
      function(p)
        if of(p).norm == 0 then return "the problem has no norm" end
      end,
    },
    cost = function(p, v)
      return { threads = v.threads, rows_per_wg = v.threads // 32, lds_bytes = 0,
        regs = { { "a row", 4 * -(-of(p).inner // 256) }, { "rest", 32 } }, slack = 64 }
    end,
  }
end

return library
