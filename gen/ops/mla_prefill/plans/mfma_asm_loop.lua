-- Instruction streams of mla_prefill/mfma_asm and how they are laid over each other. Positions count matrix instructions.
--
--   round t, first half    O += P(t-1) V(t-1), and under it: scores X = S(t) scale, the maximum, sums of P as packed; what was
--                          fetched goes to LDS: K of round t+2, V of t+1; first fragments of K(t+1)
--   border                 compiled code, seldom needed: mask, rescale
--   round t, second half   S(t+1) = K(t+1) Q - m/scale, and under it: P(t) = exp2(X), packed, and its sum; K of round t+3 and V
--                          of t+2 are asked for; first groups of V(t)
local weave = require("weave")
local plan = require("ops/mla_prefill/plans/mfma_asm")

local loop = {}

local UNIT = weave.UNIT
local SLACK = 8 -- m may lag behind a score by so much, in base 2

local function op(format, ...) return { asm = format:format(...) } end

local function weight(o) return o.asm:find("^v_exp") and 4 or 1 end -- issue slots

-- Spread over positions [from, to) by weight.
local function lay(ops, from, to)
  local total, sum = 0, 0
  for _, o in ipairs(ops) do total = total + weight(o) end
  for _, o in ipairs(ops) do
    o.at = math.floor(UNIT * (from + (to - from) * (sum + weight(o) / 2) / total))
    sum = sum + weight(o)
  end
  return ops
end

-- ---- products -----------------------------------------------------------------------------------
local function mfma(g, d, a, b, c)
  return op("%s %s, %s, %s, %s", g.isa.mfma.m32n32k8[g.f16 and "f16" or "bf16"], d, a, b, c)
end

local function qk(g)
  local main = {}
  for f = 0, g.nk - 1 do
    for h = 0, 1 do
      for b = g.from, g.blocks - 1 do
        local s = plan.s(g, b)
        main[#main + 1] = mfma(g, s, plan.quad(g, f, h), plan.q(g, b, f, h), f + h == 0 and plan.c(g, b) or s)
        main[#main].need = { "K" .. f }
      end
    end
  end
  return main
end

-- Group m: keys 8m .. 8m+7 of the round, all columns.
local GROUPS = plan.KEYS // 8
local KEPT = 2 -- are read in the half before
local function pv(g)
  local main = {}
  for m = 0, GROUPS - 1 do
    for c = 0, 3 do
      for b = g.from, g.blocks - 1 do
        local o, a = plan.o(g, b, c), plan.v_at(g, m, c // 2) + 2 * (c % 2)
        main[#main + 1] = mfma(g, o, ("v[%d:%d]"):format(a, a + 1), plan.p(g, b, m), o)
        if m >= KEPT then main[#main].need = { ("V%d.%d"):format(m, c // 2) } end
      end
    end
  end
  return main
end

-- ---- what feeds them ----------------------------------------------------------------------------
local function read_k(g, f)
  local o = op("ds_read_b128 %s, %%[ka] offset:%d", plan.quad(g, f), 32 * f)
  o.give = "K" .. f
  return o
end

local function read_v(g, m)
  local list = {}
  for h = 0, 1 do
    local at = plan.v_at(g, m, h)
    list[#list + 1] = op("ds_read_b128 v[%d:%d], %%[va] offset:%d", at, at + 3, 1024 * m + g.v_bytes // 2 * h)
    list[#list].give = ("V%d.%d"):format(m, h)
  end
  return list
end

-- ---- softmax ------------------------------------------------------------------------------------
local function score_ops(g)
  local list = {}
  for b = g.from, g.blocks - 1 do
    for r = 16 * b, 16 * b + 15 do
      list[#list + 1] = op("v_mul_f32 v%d, %%[scale], v%d", g.x + r, g.s + r)
    end
  end
  return list
end

-- True if any score exceeds its m by more than the slack (which is divided by the scale).
local function test_ops(g)
  local list, x, last = {}, g.s + 16 * g.from, 16 * (g.blocks - g.from) - 1
  local top = { g.tmp, g.tmp + 1 }
  for i = 1, 2 do -- two chains
    local from = x + (i - 1) * (last + 1) // 2
    list[#list + 1] = op("v_max3_f32 v%d, v%d, v%d, v%d", top[i], from, from + 1, from + 2)
  end
  local half = (last + 1) // 2
  for k = 3, half - 1, 2 do
    for i = 1, 2 do
      local from = x + (i - 1) * half + k
      if k + 1 < half then list[#list + 1] = op("v_max3_f32 v%d, v%d, v%d, v%d", top[i], top[i], from, from + 1)
      else list[#list + 1] = op("v_max_f32 v%d, v%d, v%d", top[i], top[i], from) end
    end
  end
  list[#list + 1] = op("v_max_f32 v%d, v%d, v%d", top[1], top[1], top[2])
  list[#list + 1] = op("v_cmp_lt_f32 %%[rise], %%[slack], v%d", top[1])
  return list
end

-- P = exp2(X) packed, and sums. What uses a result comes four exponentials later.
local function softmax_ops(g)
  local list, behind = {}, {}
  for b = g.from, g.blocks - 1 do
    for k = 0, 7 do
      local x = g.x + 16 * b + 2 * k
      local rest = { op("v_add_f32 v%d, v%d, v%d", g.l + b, g.l + b, x), op("v_add_f32 v%d, v%d, v%d", g.l + b, g.l + b, x + 1) }
      local to = g.p + 8 * b + k
      if g.cvt_bf16 then rest[#rest + 1] = op("v_cvt_pk_bf16_f32 v%d, v%d, v%d", to, x, x + 1)
      elseif g.f16 then
        for i = x, x + 1 do rest[#rest + 1] = op("v_cvt_f16_f32 v%d, v%d", i, i) end
        rest[#rest + 1] = op("v_pack_b32_f16 v%d, v%d, v%d", to, x, x + 1)
      else -- to nearest, ties up: no value is negative
        for i = x, x + 1 do rest[#rest + 1] = op("v_add_u32 v%d, %%[half], v%d", i, i) end
        rest[#rest + 1] = op("v_perm_b32 v%d, v%d, v%d, %%[hi]", to, x + 1, x)
      end
      list[#list + 1] = op("v_exp_f32 v%d, v%d", x, x)
      list[#list + 1] = op("v_exp_f32 v%d, v%d", x + 1, x + 1)
      for _, o in ipairs(behind) do list[#list + 1] = o end
      behind = rest
    end
  end
  for _, o in ipairs(behind) do list[#list + 1] = o end
  return list
end

-- Sums of P as packed: O is divided by them, so that the rounding of a heavy weight cancels. A product of ones and P in which a
-- lane has a column of its own: the sum of its four keys.
local SUM = { bf16 = "v_mfma_f32_4x4x4_16b_bf16", f16 = "v_mfma_f32_4x4x4_16b_f16" }
local function packed_ops(g)
  local list = {}
  for m = 0, GROUPS - 1 do
    for b = g.from, g.blocks - 1 do
      local n = ("v[%d:%d]"):format(g.n + 4 * b, g.n + 4 * b + 3)
      list[#list + 1] = op("%s %s, v[%d:%d], %s, %s", SUM[g.f16 and "f16" or "bf16"], n, g.ones, g.ones + 1, plan.p(g, b, m), n)
    end
  end
  return list
end

-- ---- copies -------------------------------------------------------------------------------------
local function place(g, u) -- unit of K -> which columns, number in them
  if u < g.units_k then return "k", u end
  return "p", u - g.units_k
end

-- Loads from global memory to registers; addresses step to the next round. `to`: where else.
local function load_k(g, to)
  local list = {}
  for u = 0, g.units - 1 do
    local kind, i = place(g, u)
    local at = (to or g.staged) + 4 * u
    list[#list + 1] = op("global_load_dwordx4 v[%d:%d], %%[a%s%d], off", at, at + 3, kind, i)
    list[#list + 1] = op("v_lshl_add_u64 %%[a%s%d], %%[a%s%d], 0, %%[step_%s]", kind, i, kind, i, kind)
  end
  return list
end
local function load_v(g)
  local list = {}
  for r = 0, 3 do
    local at = g.staged_v + 2 * r
    list[#list + 1] = op("global_load_dwordx2 v[%d:%d], %%[av%d], off", at, at + 1, r)
    list[#list + 1] = op("v_lshl_add_u64 %%[av%d], %%[av%d], 0, %%[step_v]", r, r)
  end
  return list
end

-- Stores to LDS, and moves on to the next place there; V transposed: four keys of a column beside each other.
local function store_k(g, from)
  local list = {}
  for u = 0, g.units - 1 do
    local kind, i = place(g, u)
    local rows, at = plan.THREADS // ((kind == "k" and g.nope or g.rope) // 8), (from or g.staged) + 4 * u -- rows of a unit
    list[#list + 1] = op("ds_write_b128 %%[w%s], v[%d:%d] offset:%d", kind, at, at + 3, i * rows * g.pitch_k)
  end
  if from then return list end
  list[#list + 1] = op("v_subrev_u32 %%[wk], %%[kd], %%[wk]")
  if g.units_pe > 0 then list[#list + 1] = op("v_subrev_u32 %%[wp], %%[kd], %%[wp]") end
  return list
end
local function store_v(g)
  local list = {}
  for h = 0, 1 do
    local to = g.turned + 4 * h
    for i = 0, 3 do
      local first = g.staged_v + 4 * (i % 2) + h
      list[#list + 1] = op("v_perm_b32 v%d, v%d, v%d, %%[%s]", to + i, first + 2, first, i < 2 and "lo" or "hi")
    end
    list[#list + 1] = op("ds_write_b128 %%[wv], v[%d:%d] offset:%d", to, to + 3, g.v_bytes // 2 * h)
  end
  list[#list + 1] = op("v_add_u32 %%[wv], %%[vd2], %%[wv]")
  return list
end

-- ---- blocks -------------------------------------------------------------------------------------
local SCALARS = { "scale", "slack", "rise", "lo", "hi", "half", "step_k", "step_p", "step_v", "kd", "vd", "vd1", "vd2", "vt" }
local VECTOR = { qw = true, ka = true, va = true, wk = true, wp = true, wv = true }

local function operand(name, lines)
  local kind, index = name:match("^([aq][kpvr])(%d)$")
  local expr = kind and ("%s[%s]"):format(kind, index) or name
  local out = false
  for _, line in ipairs(lines) do
    if line:match("^%S+ ([^,]*)") == "%[" .. name .. "]" and not line:find("^ds_write") then out = true end
  end
  local class = (kind or VECTOR[name]) and "v" or "s"
  return ('[%s] "%s%s"(%s)'):format(name, out and ((name == "rise" or name == "vt") and "=&" or "+") or "", class, expr), out
end

-- Our own statements claim these: registers from 129 on are out of the compiler's reach (docs/lab/kernels-lds.md).
local REACH = 128
function loop.claimed(g)
  local list = {}
  for i = g.frame, math.min(g.vgprs - 1, REACH) do list[#list + 1] = ('"v%d"'):format(i) end
  for i = 0, math.min(g.agprs - 1, REACH) do list[#list + 1] = ('"a%d"'):format(i) end
  return table.concat(list, ", ")
end

local function state_of(g)
  local state = weave.state(g.isa)
  local passes = g.isa.mfma.m32n32k8.passes
  state.xdl_to_other, state.xdl_to_srcc = g.isa.hazard.xdl_to_valu[passes], g.isa.hazard.xdl_to_other_srcc[passes]
  return state
end

local function block(g, ops, state)
  local lines, count = weave.listing(ops, state, SCALARS)
  local seen, outs, ins = {}, {}, {}
  for _, line in ipairs(lines) do
    for name in line:gmatch("%%%[([%w_]+)%]") do
      if not seen[name] then
        seen[name] = true
        local text, out = operand(name, lines)
        local list = out and outs or ins
        list[#list + 1] = text
      end
    end
  end
  return { lines = lines, count = count, outs = table.concat(outs, ", "), ins = table.concat(ins, ", "),
    clobbers = '"memory", "vcc", "scc", ' .. loop.claimed(g) }
end

local function join(...)
  local list = {}
  for _, l in ipairs({ ... }) do table.move(l, 1, #l, #list + 1, list) end
  return list
end

local function at(position, ops)
  for _, o in ipairs(ops) do o.at = math.floor(position * UNIT) end
  return ops
end

local function entry() return { op("s_waitcnt lgkmcnt(0)"), op("s_barrier") } end

local function stores(g) return join({ op("s_waitcnt vmcnt(0)") }, store_k(g), store_v(g)) end
local function loads(g) return join(load_k(g), load_v(g)) end

-- Groups of V that the next first half begins with.
local function kept_ops(g)
  local list = {}
  for m = 0, KEPT - 1 do list = join(list, read_v(g, m)) end
  return { op("v_add_u32 %%[va], %%[vd], %%[va]") }, list
end

-- Moves to the next places in LDS.
local function turn_ops()
  return { op("v_add_u32 %%[ka], %%[kd], %%[ka]"), op("s_sub_u32 %%[kd], 0, %%[kd]"), op("s_mov_b32 %%[vt], %%[vd]"),
    op("s_mov_b32 %%[vd], %%[vd1]"), op("s_mov_b32 %%[vd1], %%[vd2]"), op("s_mov_b32 %%[vd2], %%[vt]") }
end

-- First half. copies: of a round that is not the last. The barrier stands where a product just began.
local BARRIER = 1.2
local function first_half(g, copies)
  local main, streams = pv(g), {}
  local group = 4 * (g.blocks - g.from)
  local n = #main
  for m = KEPT, GROUPS - 1 do
    local free = group * (m - plan.GROUPS + 1)
    streams[#streams + 1] = lay(read_v(g, m), math.max(BARRIER + 0.1, free), math.max(free, 0) + group - 1)
  end
  streams[#streams + 1] = lay(packed_ops(g), 0, n - 2)
  if copies then
    streams[#streams + 1] = at(BARRIER, entry())
    streams[#streams + 1] = lay(score_ops(g), 2, n - 2)
    streams[#streams + 1] = lay(test_ops(g), 2, n - 2)
    streams[#streams + 1] = lay(stores(g), n // 4, n * 3 // 4)
    local ahead = {}
    for f = 0, plan.RING - 1 do ahead[#ahead + 1] = read_k(g, f) end
    streams[#streams + 1] = lay(ahead, n * 5 // 8, n)
  end
  return weave.merge(main, streams)
end

local function second_half(g)
  local main, streams = qk(g), {}
  local active = g.blocks - g.from
  local n, of_f = #main, 2 * active
  local fragments = {}
  for f = plan.RING, g.nk - 1 do fragments[#fragments + 1] = at(of_f * (f - plan.RING + 1) - 0.5, { read_k(g, f) })[1] end
  streams[#streams + 1] = fragments
  streams[#streams + 1] = lay(softmax_ops(g), 0, n - 1)
  streams[#streams + 1] = lay(loads(g), 1, n * 3 // 8)
  local step, reads = kept_ops(g)
  streams[#streams + 1] = at(0, step)
  streams[#streams + 1] = lay(reads, n - 8 * active, n - 4 * active)
  streams[#streams + 1] = lay(turn_ops(), n - 3, n)
  return weave.merge(main, streams)
end

-- Q of block b to LDS and back: 64 columns at a time, each lane then has its token's.
local function q_turn(g, b)
  local list = {}
  for j = 0, g.qk // 64 - 1 do
    for i = 0, 3 do
      local from = plan.landing(g, b, i, j)
      list[#list + 1] = op("ds_write_b128 %%[qw], v[%d:%d] offset:%d", from, from + 3, 1024 * i)
    end
    for f = 0, 3 do
      local to = plan.q_at(g, b, 4 * j + f)
      list[#list + 1] = op("ds_read_b128 a[%d:%d], %%[qr%d]", to, to + 3, f)
    end
  end
  return list
end

-- All blocks of a kernel. `from`: the first of the wave's blocks of tokens that still sees keys.
function loop.build(g)
  local out = {}
  g.from = 0
  local function alone(ops) return block(g, ops, state_of(g)) end
  out.q_turn = {}
  for b = 0, g.blocks - 1 do out.q_turn[b] = alone(q_turn(g, b)) end
  out.load_k, out.load_v, out.load_k_aside = alone(load_k(g)), alone(load_v(g)), alone(load_k(g, g.groups))
  out.store_all = alone(join(stores(g), store_k(g, g.groups)))
  local first = {}
  for f = 0, g.nk - 1 do
    first[#first + 1] = read_k(g, f)
    for _, o in ipairs(qk(g)) do
      if o.need[1] == "K" .. f then first[#first + 1] = o end
    end
  end
  out.first_product = alone(first)
  local ahead = {}
  for f = 0, plan.RING - 1 do ahead[#ahead + 1] = read_k(g, f) end
  out.first = alone(join(entry(), score_ops(g), test_ops(g), stores(g), ahead))
  -- The round from its second half on, for the blocks from `from` on.
  local function rounds(from)
    local part = setmetatable({ from = from }, { __index = g })
    local state, made = state_of(g), nil
    for _ = 1, 2 do -- the loop, so that it also holds behind itself
      state.given = {}
      made = { first_half = block(g, first_half(part, true), state) }
      made.second_half = block(g, second_half(part), state)
    end
    local step, reads = kept_ops(g)
    made.softmax = alone(join(step, reads, softmax_ops(part)))
    made.final = alone(join({ op("s_waitcnt lgkmcnt(0)") }, first_half(part, false)))
    return made
  end
  out.rounds = {}
  for from = 0, g.blocks - 1 do out.rounds[from] = rounds(from) end
  out.copy = alone(join(entry(), stores(g), loads(g)))
  out.load = alone(loads(g))
  return out
end

loop.SLACK = SLACK

return loop
