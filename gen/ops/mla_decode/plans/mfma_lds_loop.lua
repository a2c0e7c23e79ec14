-- Instruction streams of mla_decode/mfma_lds and how they are laid over each other. Positions count matrix instructions.
--
-- order=plain   one tile:   [ QK(t) + copies of a later tile ] border [ softmax(t), PV(t) ]
-- order=ahead   one tile:   [ rest of PV(t-1), QK(t+1) begins + copies ] border [ QK(t+1) ends + softmax(t), PV(t) but its rest ]
--
-- order=columns: gen/ops/mla_decode/plans/mfma_lds_columns.lua.
--
-- The border is where compiled code stands that is seldom needed: masking and rescaling. What crosses an iteration in ahead: S
-- (scores of the next tile), P and the V rows of the rest (the last 128 columns), which keep the matrix pipe busy behind the
-- barrier.
local weave = require("weave")
local plan = require("ops/mla_decode/plans/mfma_lds")
local compute = require("ops/mla_decode/plans/mfma_lds_compute")
local copy = require("ops/mla_decode/plans/mfma_lds_copy")
local bytes = require("ops/mla_decode/plans/mfma_lds_cache")
local columns = require("ops/mla_decode/plans/mfma_lds_columns")

local loop = { magic = copy.magic }

local UNIT = weave.UNIT

local function op(format, ...) return { asm = format:format(...) } end

-- ---- blocks -------------------------------------------------------------------------------------
local SCALARS = { "scale", "slack", "rise", "lo", "hi", "half", "ones", "pgo", "pages", "maxid", "pos", "cs", "ks",
  "ckl", "ckh", "kpl", "kph", "tok", "tokn", "last", "magic", "page", "ckv", "kd", "vd", "wd", "ws", "bytelo", "bytehi",
  "bytekeep", "bytelow", "byteone", "bytesign", "at", "allsee", "limit", "always", "lasttile" }
local function scalars(g)
  local list = {}
  for _, n in ipairs(SCALARS) do list[#list + 1] = n end
  for u = 0, 7 do
    list[#list + 1] = "ml" .. u
    list[#list + 1] = "mr" .. u
  end
  if g.whole then list[#list + 1] = "bad" end
  return list
end

-- Addresses step to the next stage; K, V and the copies stand in different ones.
local function step(list, name, delta, unit)
  list[#list + 1] = op("%s_add_u32 %%[%s], %%[%s], %%[%s]", unit, name, delta, name)
end
local function k_steps(g)
  local list = {}
  step(list, "ka0", "kd", "v")
  step(list, "ka1", "kd", "v")
  if g.rope > 0 then step(list, "kr0", "kd", "v") end
  if g.rope > 32 then step(list, "kr1", "kd", "v") end
  if g.inside then step(list, "ssa", "kd", "v") end
  return list
end
local function v_steps(g)
  local list = {}
  if g.inside then step(list, "vsa", "vd", "v") end
  for r = 0, 3 do step(list, "va" .. r, "vd", "v") end
  return list
end
local function copy_steps(g)
  local list = {}
  if g.dma then
    for u = 0, g.units - 1 do -- a spare place stays where it is
      local delta = g.spare > 0 and u == g.units - 1 and "ws" or "wd"
      step(list, "ml" .. u, delta, "s")
      if g.rope > 0 then step(list, "mr" .. u, delta, "s") end
    end
  else
    step(list, "wa", "wd", "v")
    if g.rope > 0 then step(list, "wr", "wd", "v") end
    if g.inside then
      step(list, "wsa", "wd", "v")
      step(list, "wha", "wd", "v")
    end
  end
  return list
end

-- One iteration in two parts, on either side of the border.
--   qk: scores of a tile; copy: fetches a later tile, steps the addresses
--   pv: P V of a tile, all of it or (rest) without the last columns, which come first (tail) in the next iteration
local function iteration(g, what)
  local main, use, last = {}, { k = {}, v = {} }, g.nj - 1
  if what.tail then compute.add_pv(g, main, use, last, true) end
  local tail = #main
  if what.qk then compute.add_qk(g, main, use) end
  local scores_end, border = #main, #main
  if what.tail and what.qk then border = tail + g.per_fragment * g.blocks * (g.nk // 3) end
  if what.pv then
    -- plain: joins wait for the softmax, the quads of K for the scores.
    local floor = not what.tail and border * UNIT - 1 or nil
    for j = 0, what.rest and last - 1 or last do compute.add_pv(g, main, use, j, false, floor) end
  end
  local from = what.tail and 0 or -64 * UNIT -- where the barrier stands
  local keep = what.rest and last or nil
  local fetch = compute.reads(g, main, use, from, keep)
  local streams = { fetch, compute.joins(g, use, #main, keep) }
  local function stream(ops, first, behind) streams[#streams + 1] = weave.spread(ops, first, behind) end
  local function exactly(ops, position)
    for _, o in ipairs(ops) do o.at = position end
    streams[#streams + 1] = ops
  end
  local cut = border * UNIT - 2
  if g.inside then streams[#streams + 1] = compute.scale_reads(g, what, from, tail) end
  if what.tail then
    stream(compute.scale_ops(g), 0, tail - 1)
    if what.qk then stream(compute.test_ops(g), tail, border) else exactly(compute.test_ops(g), cut - 1) end
  elseif what.pv then
    exactly(compute.scale_ops(g), cut - 1)
    exactly(compute.test_ops(g), cut - 1)
  end
  if what.pv then
    if what.tail and what.qk then stream(compute.softmax_ops(g), border, scores_end - 1)
    else exactly(compute.softmax_ops(g), cut) end
    stream(compute.packed_sum_ops(g), scores_end, math.max(scores_end + 1, #main))
  end
  if what.copy then
    local stored, fetched = border // 3, border - 3 * g.blocks
    if g.cache then stored, fetched = scores_end // 2, 3 * scores_end // 4 end -- stores decode
    if not g.dma then stream(copy.store_ops(g), 0, stored) end
    stream(copy.tile_ops(g), g.dma and 0 or stored, fetched)
  end
  if what.step then
    local last_read = 0
    for _, o in ipairs(streams[1]) do last_read = math.max(last_read, o.at) end
    stream(k_steps(g), scores_end, #main)
    stream(copy_steps(g), scores_end, #main)
    stream(v_steps(g), math.min(#main, last_read // UNIT + 1), #main)
  end
  local first, second = {}, {}
  for _, o in ipairs(weave.merge(main, streams)) do
    local part = o.at and o.at >= cut and second or not o.at and o.position >= border and second or first
    part[#part + 1] = o
  end
  return first, second, from
end

-- A block of assembly for the template: its lines, operands and clobbers.
local ARRAYS = { ka = 1, kr = 1, va = 1, la = 1, lr = 1, row = 1, kp = 1, ml = 1, mr = 1, qa = 1, qt = 1, qr = 1, qm = 1, qf = 1,
  sv = 1, pr = 1 }
local VECTORS = { ka = 1, kr = 1, va = 1, la = 1, lr = 1, row = 1, kp = 1, wa = 1, wr = 1, vcs = 1, vks = 1, cka = 1,
  wsa = 1, wha = 1, ssa = 1, vsa = 1, kpa = 1, qa = 1, qt = 1, qr = 1, qw = 1, qm = 1, qf = 1, sv = 1,
  pr = 1, pw = 1, fl = 1 }

-- First operands that name one of the block's, but for stores, whose first operand is read.
local function written(lines)
  local set = {}
  for _, line in ipairs(lines) do
    local name, behind = line:match("^%S+ %%%[([%w_]+)%](.?)")
    local reads = line:find("^ds_write") or line:find("^global")
    if name and not reads and (behind == "," or behind == "") then set[name] = true end
  end
  return set
end

local function operand(g, name, outputs)
  local base, index = name:match("^(%a+)(%d+)$")
  local expr = base and ARRAYS[base] and ("%s[%s]"):format(base, index) or name
  local class = (VECTORS[base or name] or name == "bad" and not g.whole) and "v" or "s"
  local out = outputs[name] or false
  return ('[%s] "%s%s"(%s)'):format(name, out and (name == "rise" and "=" or "+") or "", class, expr), out
end

-- Every block claims the registers that live across it besides its own, so that nothing of the compiler's can be there:
-- what does not fit is spilled, and a kernel that spills is never offered. phase: "prologue" (ids, staged loads, Q, O,
-- m, l, n), "loop" (all) or "epilogue" (O, m, l, n). Registers from 129 on are out of the compiler's reach: with one
-- wave per SIMD, and LDS allows no more, LLVM takes amdgpu_num_vgpr for at least half of 257.
local REACH = plan.REACH
local KEY, TEXT = {}, {} -- of each register of a file, made once
for _, file in ipairs({ "v", "a", "s" }) do
  KEY[file], TEXT[file] = {}, {}
  for i = 0, REACH do KEY[file][i], TEXT[file][i] = ("%s%03d"):format(file, i), ('"%s%d"'):format(file, i) end
end
local function claim(set, file, from, count)
  local key, text = KEY[file], TEXT[file]
  for i = from, math.min(REACH, from + count - 1) do set[key[i]] = text[i] end
end

local function live(g, phase)
  local set = {}
  if phase == "loop" then
    claim(set, "v", g.frame, g.vgprs - g.frame)
    claim(set, "a", 0, g.agprs)
    return set
  end
  claim(set, "v", g.o_v, 4 * g.o_in_v)
  for _, at in ipairs({ g.m, g.l }) do claim(set, "v", at, g.blocks) end
  claim(set, "v", g.n, g.n_each * g.blocks)
  claim(set, "a", g.o_a, g.agprs - g.o_a)
  if g.bad then claim(set, "v", g.bad, 1) end
  if phase == "prologue" then
    claim(set, "v", g.idx, g.n_idx)
    claim(set, "v", g.staged, g.units * g.stage_unit)
    claim(set, "a", 0, g.q_regs)
    if g.columns then claim(set, "v", g.landing, g.landing_regs) end
  end
  return set
end

local function names(set)
  local list = {}
  for _, text in sorted(set) do list[#list + 1] = text end
  return table.concat(list, ", ")
end
-- The same as text, for the template's own statements.
function loop.claimed(g, phase) return names(live(g, phase)) end

local function clobbers(g, lines, phase)
  local set = live(g, phase)
  for _, line in ipairs(lines) do
    for file, first, last in line:gmatch("%f[%w]([vas])%[(%d+):(%d+)%]") do
      claim(set, file, tonumber(first) // 1, last - first + 1)
    end
    for file, at in line:gmatch("%f[%w]([vas])(%d+)%f[%W]") do claim(set, file, tonumber(at) // 1, 1) end
  end
  return '"memory", "vcc", "scc", ' .. names(set)
end

local function block(g, ops, state, phase)
  local lines, count = weave.listing(ops, state, scalars(g))
  local seen, outs, ins, outputs = {}, {}, {}, written(lines)
  for _, line in ipairs(lines) do
    for name in line:gmatch("%%%[([%w_]+)%]") do
      if not seen[name] then
        seen[name] = true
        local text, out = operand(g, name, outputs)
        local list = out and outs or ins
        list[#list + 1] = text
      end
    end
  end
  return { lines = lines, count = count, outs = table.concat(outs, ", "), ins = table.concat(ins, ", "),
    clobbers = clobbers(g, lines, phase) }
end

-- The state in front of an iteration: everything this wave fetched or wrote is there, then everything all waves did.
local function entry(vmcnt)
  return { op("s_waitcnt vmcnt(%d) lgkmcnt(0)", vmcnt), op("s_barrier") }
end

-- Blocks of an iteration. The loop's are listed twice and taken the second time, so that they also hold behind
-- themselves.
local function iteration_blocks(g, what, vmcnt, passes)
  local result
  local state = weave.state(g.isa)
  for _ = 1, passes do
    state.given = {}
    local first, second, from = iteration(g, what)
    local head, wait = {}, entry(vmcnt)
    local placed = false
    for _, o in ipairs(first) do
      if not placed and not (o.at and o.at < from) then
        for _, w in ipairs(wait) do head[#head + 1] = w end
        placed = true
      end
      head[#head + 1] = o
    end
    result = { block(g, head, state, "loop"), block(g, second, state, "loop") }
  end
  return result
end

local function plain_block(g, ops)
  return block(g, ops, weave.state(g.isa), "prologue")
end

local function loads(listed)
  local n = 0
  for _, line in ipairs(listed.lines) do
    if line:find("^global_load") then n = n + 1 end
  end
  return n
end

local function build(g)
  local _, behind = copy.tile_ops(g)
  -- Copies that may stay under way at the barrier; the instruction has 6 bits.
  local leave = g.dma and not g.ahead and g.stages == 3 and math.min(behind, 63) or 0
  local out = { leave = leave }
  out.ids = plain_block(g, copy.id_ops(g))
  out.copy = plain_block(g, (copy.tile_ops(g)))
  if not g.dma then out.store = plain_block(g, copy.store_ops(g)) end
  out.q_load, out.q_turn, out.q_most, out.q_narrow = {}, {}, {}, {}
  for b = 0, g.blocks - 1 do
    out.q_load[b], out.q_turn[b] = plain_block(g, copy.q_load_ops(g, b)), plain_block(g, copy.q_turn_ops(g, b))
    if g.cache then
      out.q_most[b], out.q_narrow[b] = plain_block(g, bytes.q_most_ops(g, b)), plain_block(g, bytes.q_narrow_ops(g, b))
    end
  end
  local _, all = plan.q_landing(g, 0, 0, 0)
  out.q_at_once = all
  -- Columns: loads of Q, which come behind the first page ids, and of the first tile, which leave before Q is waited for.
  out.q_loads, out.copy_loads = loads(out.q_load[0]), loads(out.copy)
  if g.columns then
    columns.add_blocks(g, out, function(ops, state) return block(g, ops, state, "loop") end)
  elseif g.ahead then
    out.first = iteration_blocks(g, { qk = true }, 0, 1)
    local body = { tail = true, qk = true, pv = true, rest = true, copy = true, step = true }
    out.body = iteration_blocks(g, body, leave, 2)
    out.final = iteration_blocks(g, { tail = true, pv = true }, 0, 1)
  else
    out.body = iteration_blocks(g, { qk = true, pv = true, copy = true, step = true }, leave, 2)
  end
  return out
end

-- A plan as text. Tables are told apart by their addresses, which no other one has as long as the plan is kept.
local function text_of(g)
  local items = {}
  for key, value in sorted(g) do items[#items + 1] = key .. "=" .. tostring(value) end
  return table.concat(items, " ")
end

local KEPT = 24 -- plans between two kernels of a space that differ only in what a listing knows nothing of (schedule, rescale)
local kept, n_kept = {}, 0

-- All blocks of a kernel, which nobody writes to: kernels of one plan have one listing.
function loop.build(g)
  local text = text_of(g)
  if not kept[text] then
    if n_kept == KEPT then kept, n_kept = {}, 0 end
    kept[text], n_kept = { plan = g, code = build(g) }, n_kept + 1
  end
  return kept[text].code
end

return loop
