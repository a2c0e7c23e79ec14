-- Weights of 8 bits that stay where they are multiplied: what templates/lib/projection/stationary_fp8.h and its family agree on.
-- For products whose sums are short (queries into the latent space), with layout=inputs.
local stationary = {}

local SM_BYTES, SM_RESERVED = 233472, 1024 -- shared memory of a Hopper SM, and of it for each block
local PLACES = 2                           -- passes of x in flight
local MOST = 64                            -- tokens of a pass
-- h200, 2026-11-30: tokens and blocks that stationary_fp8 serves better, of direct_fp8 (docs/lab/projections.md).
local DIRECT_TOKENS, DIRECT_BLOCKS = 64, 264
local REGS_MOST = 232                      -- of a thread, as counted below: from 252 on it spills (seen)
-- h200: its begin, beside what the model counts (docs/lab/projections.md).
local BEGIN_NS = 300
-- h200: with more blocks than SMs, what it takes longer where an SM has one of them at a time: 2.8 us of 16 tokens, 3.1 of 32.
-- A rule for few blocks: in a layer, passes of 64 tokens are 0.1 to 0.4 us slower with 64 outputs than with 128 and two
-- warpgroups.
local SMS, ALONE_NS, FEW_NS = 132, 2800, 35

local ceil_div = require("whole").ceil_div

local function refuse(fmt, ...) return { refused = fmt:format(...) } end

-- s: inner, outer, layout, tokens of a pass, rows (outputs of a block), ways (warpgroups that share out the values of a sum),
-- turn (columns that turn, which have two warps of their own), per_sm; direct: 1 where lanes write their sums, load and turn.
function stationary.plan(s)
  if s.layout ~= "inputs" then return refuse("outputs of a value are not side by side") end
  if s.inner % (32 * s.ways) ~= 0 then return refuse("%d values of a sum are no %d shares of chunks of 32", s.inner, s.ways) end
  if s.direct == 1 and s.ways > 1 then return refuse("sums of %d ways have to meet", s.ways) end
  if s.inner > 256 then return refuse("%d values of a sum are more than registers hold", s.inner) end
  local values, x = s.inner // s.ways, ceil_div(s.inner, 64) * 128 * s.tokens -- of a way; bytes of a pass
  local x_at = s.inner * s.rows
  local sums_at = x_at + PLACES * x
  local barriers_at = sums_at + (s.direct == 1 and 0 or 4 * s.ways * s.tokens * (s.rows + 4))
  local lds = ceil_div(barriers_at + 8 * (1 + 2 * PLACES), 128) * 128
  if s.per_sm * (lds + SM_RESERVED) > SM_BYTES then return refuse("%d blocks of an SM take %d bytes each", s.per_sm, lds) end
  local threads = 128 * s.ways + (s.direct == 1 and 0 or 32 + (s.turn > 0 and 64 or 0))
  local tiles = s.rows // 64
  local regs = { { "sums", tiles * s.tokens // 2 + s.tokens // 2 }, { "weights", values // 16 * tiles * 4 }, { "rest", 28 } }
  local need = 0
  for _, part in ipairs(regs) do need = need + part[2] end
  if need > REGS_MOST then return refuse("%d registers of a thread: some would spill", need) end
  if s.per_sm * threads * ceil_div(need, 8) * 8 > 65536 then
    return refuse("%d blocks of an SM, %d threads, want %d registers each", s.per_sm, threads, need)
  end
  return { values = values, places = PLACES, x = x, x_at = x_at, sums_at = sums_at, barriers_at = barriers_at, lds = lds,
    threads = threads, regs = regs }
end

local function sixteen_bits(p)
  if p.weights == 0 then return "weights have 16 bits: ring and walk serve them" end
end

-- A block's plan, or why there is none.
local function block(product, p, v, direct)
  local made = stationary.plan({ inner = product.inner, outer = product.outer, layout = product.layout, tokens = v.pass,
    rows = v.rows, ways = v.ways, turn = p.rope, per_sm = v.per_sm, direct = direct })
  if made.refused then return made end
  if v.rows > 64 and v.rows >= 2 * product.outer then
    return { refused = ("tiles of %d outputs, and a head has %d"):format(v.rows, product.outer) }
  end
  return made
end

-- of, fields: as in projection/families.lua. clk_of(p, arch): of a unit for 16 bytes' way to 16-bit numbers.
function stationary.family(of, fields, clk_of)
  local family = {
    arch = { hopper = true },
    problem = { table.unpack(fields) },
    params = {
      rows = of.stationary_rows, -- outputs of a block
      ways = { 1, 2, 4 },        -- warpgroups that share out the values of a sum
      pass = { 16, 32, 64 },     -- tokens that are multiplied at once
      per_sm = { 1, 2 },         -- blocks that an SM has room for
    },
    rules = {
      sixteen_bits,
      function(p, v)
        local n = 16
        while n < p.tokens and n < MOST do n = 2 * n end
        if v.pass ~= n then return ("%d tokens in a pass, and %d are launched: %d"):format(v.pass, p.tokens, n) end
      end,
      function(p, v)
        if v.rows > 64 and v.per_sm == 1 and not (v.ways == 2 and v.pass == 64) then
          return "tiles of 128 outputs, one block an SM: 64 tokens and two warpgroups were launched often enough, others not"
        end
        if v.per_sm > 1 and of.product(p).inner > 128 then
          return "sums of more than 128 values, two blocks an SM: not launched on a device yet"
        end
      end,
    },
    cost = function(p, v, arch)
      local product = of.product(p)
      local made = block(product, p, v, 0)
      if made.refused then return made end
      local blocks = product.heads * ceil_div(product.outer, v.rows)
      return {
        threads = made.threads, rows_per_wg = v.rows, lds_bytes = made.lds, regs = made.regs, bounded = v.per_sm,
        inflight = product.inner * v.rows, pass = v.pass, ahead = true, pace = 0.9,
        begin_ns = BEGIN_NS + (blocks > SMS and v.per_sm == 1 and ALONE_NS or 0)
          + (blocks <= SMS and v.pass == 64 and v.rows == 64 and FEW_NS or 0),
        x_bytes = 2 * v.pass * product.inner,
        clk = 16 * v.pass / 1024 + clk_of(p, arch) / 2, -- once for all passes
      }
    end,
  }
  family.problem[#family.problem + 1] = "weights"
  return family
end

-- The family for more tokens of many heads, whose sums do not go through shared memory.
function stationary.direct(of, fields, clk_of)
  local family = {
    arch = { hopper = true },
    problem = { table.unpack(fields) },
    params = { rows = { 64 }, ways = { 1 }, pass = { MOST }, per_sm = { 4 } },
    rules = {
      sixteen_bits,
      function(p)
        if p.tokens <= DIRECT_TOKENS then return ("up to %d tokens: stationary_fp8 serves them"):format(DIRECT_TOKENS) end
        local product = of.product(p)
        if product.inner > 128 then return "sums of more than 128 values: not launched on a device yet" end
        local blocks = product.heads * ceil_div(product.outer, 64)
        if blocks <= DIRECT_BLOCKS then return ("%d blocks: stationary_fp8 takes 20 %% less"):format(blocks) end
      end,
    },
    cost = function(p, v, arch)
      local product = of.product(p)
      local made = block(product, p, v, 1)
      if made.refused then return made end
      return {
        threads = made.threads, rows_per_wg = v.rows, lds_bytes = made.lds, regs = made.regs, bounded = v.per_sm,
        inflight = product.inner * v.rows, pass = v.pass, ahead = true, pace = 0.9,
        x_bytes = 2 * v.pass * product.inner, clk = 16 * v.pass / 2048 + clk_of(p, arch) / 4,
      }
    end,
  }
  family.problem[#family.problem + 1] = "weights"
  return family
end

return stationary
