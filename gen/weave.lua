-- Weaves instruction streams into one in-order listing for inline assembly, and keeps the rules the compiler cannot
-- keep there: it does not see inside, so it neither waits for loads nor spaces dependent matrix instructions (guide
-- 1.6).
--
-- An op is a table { asm = text, at = position, need = {tags}, give = tag, note = text }. Registers are read from the
-- text: the first operand is written (but for stores, DMA, waits), the rest is read; %[name] counts as one register.
-- Added on the way:
--   s_waitcnt lgkmcnt(n)  before the first use of what a ds_read brings (LDS returns in order: n = younger ones)
--   s_nop n               where a producer stands closer than the hardware allows
-- Checked on the way: no use of a global load that no s_waitcnt vmcnt covers, no op in front of what it needs.
local weave = { UNIT = 1024 } -- positions count in 1/UNIT of an op of the main stream

-- Wait states from producer to consumer (LLVM GCNHazardRecognizer, gfx940); those behind an MFMA are in the target's table.
local VALU_TO_MFMA, TRANS_TO_VALU, DOT_TO_VALU = 2, 1, 3
local VALU_SGPR_TO_VMEM, VALU_SGPR_TO_VALU, VALU_TO_LANE, SALU_M0_TO_DMA = 5, 2, 1, 1
local MAX_LGKM = 15

local function kind_of(name)
  if name:find("^v_mfma") then return "mfma" end
  if name:find("^v_exp") or name:find("^v_log") or name:find("^v_rcp") then return "trans" end
  if name:find("^v_") then return "valu" end
  if name:find("^ds_") then return "ds" end
  if name:find("^global_") then return "vmem" end
  if name:find("^s_waitcnt") or name == "s_nop" then return "wait" end
  if name:find("^s_") then return "salu" end
  error("weave: unknown instruction " .. name)
end

-- Registers of one operand: "v[4:5]" -> {"v4", "v5"}; "%[x]" -> {"%x"}; constants and modifiers -> {}.
local function registers(operand)
  local file, first, last = operand:match("^%-?([vas])%[(%d+):(%d+)%]")
  if not file then
    file, first = operand:match("^%-?([vas])(%d+)")
    last = first
  end
  if file then
    local list = {}
    for i = math.tointeger(tonumber(first)), math.tointeger(tonumber(last)) do list[#list + 1] = file .. i end
    return list
  end
  local name = operand:match("^%-?%%%[([%w_]+)%]")
  if name then return { "%" .. name } end
  if operand:find("^m0") or operand:find("^vcc") then return { operand:match("^%w+") } end
  return {}
end

local function split_operands(text)
  local list = {}
  for item in (text .. ","):gmatch("%s*([^,]*),") do
    if item ~= "" then list[#list + 1] = item end
  end
  return list
end

-- The number of leading operands that an instruction writes.
local function written(name, kind)
  if kind == "wait" or name == "s_barrier" or name == "s_setprio" or name:find("^s_cmp") then return 0 end
  if name:find("^ds_write") or name:find("^global_store") then return 0 end
  return name:find("^v_mad_u64") and 2 or 1
end

local parsed = {}
local function parse(asm)
  if parsed[asm] then return parsed[asm] end
  local name, rest = asm:match("^([%w_]+)%s*(.*)$")
  local dma = name:find("^global_load_lds") ~= nil or asm:find(" lds$") ~= nil
  local p = { name = name, kind = kind_of(name), reads = {}, writes = {}, srcc = {}, dma = dma,
    lane = name:find("^v_read") ~= nil, dot = name:find("^v_dot") ~= nil } -- one dot product may add to another's at once
  if p.kind ~= "wait" then
    for i, operand in ipairs(split_operands(rest)) do
      local list = i <= (dma and 0 or written(name, p.kind)) and p.writes or (p.kind == "mfma" and i == 4) and p.srcc or p.reads
      for _, r in ipairs(registers(operand)) do list[#list + 1] = r end
    end
    if p.dma then p.reads[#p.reads + 1] = "m0" end
  end
  p.touches = {} -- all of them
  for _, list in ipairs({ p.reads, p.writes, p.srcc }) do table.move(list, 1, #list, #p.touches + 1, p.touches) end
  p.result = table.concat(p.writes, " ")
  p.in_place = table.concat(p.srcc, " ") == p.result
  p.vmcnt = math.tointeger(tonumber(asm:match("vmcnt%((%d+)%)")))
  p.lgkmcnt = math.tointeger(tonumber(asm:match("lgkmcnt%((%d+)%)")))
  p.nop = name == "s_nop" and math.tointeger(tonumber(rest)) or 0
  parsed[asm] = p
  return p
end

-- The facts known at a point of the listing: who wrote a register when, which tags exist; how many LDS operations and global
-- loads began (ds, vm), which of them brings a register (brought, loaded), how many are over (arrived, landed); how many LDS
-- operations are left outstanding when there is no place for another (full). `isa` of the target says how long an MFMA's result
-- is in the making; all here are 16x16, of the same passes.
function weave.state(isa)
  local passes = isa.mfma.m16n16k16.passes
  return { clock = 0, writer = {}, ds = 0, brought = {}, arrived = 0, vm = 0, loaded = {}, landed = 0, given = {},
    xdl_to_other = isa.hazard.xdl_to_valu[passes], xdl_to_srcc = isa.hazard.xdl_to_other_srcc[passes], full = MAX_LGKM - 1 }
end

local SCALAR = { s = true, m = true }
local function is_scalar(register, scalars) return SCALAR[register:sub(1, 1)] or scalars[register] end

-- Wait states that a result of `w` in register `r` must be old before `p` may read it. accumulates: nil where it is no C operand
-- of a matrix instruction, true where it is one's own sum.
local function states_behind(state, w, r, p, scalars, accumulates)
  if w.kind == "mfma" then
    return accumulates and 0 or accumulates == false and state.xdl_to_srcc or state.xdl_to_other
  elseif w.kind == "valu" or w.kind == "trans" then
    if is_scalar(r, scalars) then
      local vector = p.kind == "valu" or p.kind == "trans"
      return p.kind == "vmem" and VALU_SGPR_TO_VMEM or vector and VALU_SGPR_TO_VALU or 0
    elseif p.kind == "mfma" then return VALU_TO_MFMA
    elseif w.dot and not p.dot then return DOT_TO_VALU
    elseif w.kind == "trans" and p.kind == "valu" then return TRANS_TO_VALU
    elseif p.lane then return VALU_TO_LANE end
  elseif w.kind == "salu" and r == "m0" and p.dma then
    return SALU_M0_TO_DMA
  end
  return 0
end

-- Most wait states that any rule asks for.
local function longest_of(state) return math.max(state.xdl_to_other, state.xdl_to_srcc, VALU_SGPR_TO_VMEM) end

-- Wait states still missing before `p` may issue. Results older than any rule asks for are most, so their age is looked at first.
local function missing_states(state, p, scalars)
  local missing, writer, clock, oldest = 0, state.writer, state.clock, state.clock - longest_of(state)
  for _, r in ipairs(p.reads) do
    local w = writer[r]
    if w and w.clock >= oldest then
      local more = states_behind(state, w, r, p, scalars) - (clock - w.clock - 1)
      if more > missing then missing = more end
    end
  end
  if p.kind == "mfma" then
    for _, r in ipairs(p.srcc) do
      local w = writer[r]
      if w and w.clock >= oldest then
        local more = states_behind(state, w, r, p, scalars, w.kind == "mfma" and p.in_place and w.set == p.result)
          - (clock - w.clock - 1)
        if more > missing then missing = more end
      end
    end
  else
    for _, r in ipairs(p.writes) do
      local w = writer[r]
      if w and w.clock >= oldest and w.kind == "mfma" then
        local more = state.xdl_to_other - (clock - w.clock - 1)
        if more > missing then missing = more end
      end
    end
  end
  return missing
end

-- LDS operations that may stay outstanding while `p` issues, nil when none it touches is in flight.
local function lgkm_limit(state, p)
  local under_way = state.ds - state.arrived
  if under_way == 0 then return nil end
  local brought, last = state.brought, 0
  for _, r in ipairs(p.touches) do
    local n = brought[r]
    if n and n > last then last = n end
  end
  if last > state.arrived then return state.ds - last end
  return p.kind == "ds" and under_way >= MAX_LGKM and state.full or nil
end

local function check_vm(state, p, asm)
  if state.vm == state.landed then return end
  for _, r in ipairs(p.touches) do
    if (state.loaded[r] or 0) > state.landed then error("weave: " .. asm .. ": the load of " .. r .. " is not waited for") end
  end
end

-- Number of operations that are over when all but `keep` of the `n` that began are, `done` of which were before.
local function over(n, done, keep) return math.max(done, n - keep) end

local function issue(state, p)
  if p.kind == "ds" then
    state.ds = state.ds + 1
    for _, r in ipairs(p.writes) do state.brought[r] = state.ds end
  elseif p.kind == "vmem" then
    state.vm = state.vm + 1
    for _, r in ipairs(p.writes) do state.loaded[r] = state.vm end
  elseif p.kind == "wait" then
    if p.vmcnt then state.landed = over(state.vm, state.landed, p.vmcnt) end
    if p.lgkmcnt then state.arrived = over(state.ds, state.arrived, p.lgkmcnt) end
  end
  if p.kind ~= "wait" then
    for _, r in ipairs(p.writes) do
      state.writer[r] = { kind = p.kind, clock = state.clock, set = p.result, dot = p.dot }
    end
  end
  state.clock = state.clock + 1 + p.nop
end

-- The listing of `ops` in the order given, with waits and wait states put in. `scalars` names the %[operands] that are
-- scalar. Returns the lines and how many instructions of each kind they hold.
function weave.listing(ops, state, scalars)
  local lines, count = {}, { mfma = 0, valu = 0, trans = 0, ds = 0, vmem = 0, salu = 0, wait = 0 }
  local set = {}
  for _, name in ipairs(scalars or {}) do set["%" .. name] = true end
  local function put(asm, note)
    local p = parse(asm)
    lines[#lines + 1] = note and ("%-56s ; %s"):format(asm, note) or asm
    count[p.kind] = count[p.kind] + 1
    issue(state, p)
  end
  for _, op in ipairs(ops) do
    local p = parse(op.asm)
    for _, tag in ipairs(op.need or {}) do
      if not state.given[tag] then error("weave: " .. op.asm .. ": stands in front of " .. tag) end
    end
    local limit = lgkm_limit(state, p)
    if limit then put(("s_waitcnt lgkmcnt(%d)"):format(limit)) end
    check_vm(state, p, op.asm)
    local missing = missing_states(state, p, set)
    while missing > 0 do
      put(("s_nop %d"):format(math.min(missing, 8) - 1))
      missing = missing_states(state, p, set)
    end
    put(op.asm, op.note)
    if op.give then state.given[op.give] = true end
  end
  return lines, count
end

-- Spread a stream evenly over positions [from, to) of the main stream.
function weave.spread(ops, from, to)
  for i, op in ipairs(ops) do op.at = from * weave.UNIT + (2 * i - 1) * (to - from) * (weave.UNIT // 2) // #ops end
  return ops
end

-- Main stream (op i at position i, from 0) and others by position; on a tie the streams' own order.
function weave.merge(main, streams)
  local all = {}
  for i, op in ipairs(main) do
    all[#all + 1] = { at = (i - 1) * weave.UNIT, stream = 0, index = i, op = op }
  end
  for s, stream in ipairs(streams) do
    for i, op in ipairs(stream) do all[#all + 1] = { at = op.at, stream = s, index = i, op = op } end
  end
  table.sort(all, function(a, b)
    if a.at ~= b.at then return a.at < b.at end
    if a.stream ~= b.stream then return a.stream < b.stream end
    return a.index < b.index
  end)
  local out = {}
  for i, item in ipairs(all) do
    out[i] = item.op
    if item.stream == 0 then item.op.position = item.index - 1 end
  end
  return out
end

-- Clocks that an instruction takes of those between two matrix instructions: one of 8 bytes is fetched late every other time.
local LONG = { "^v_perm", "^v_fma_", "^v_max3", "^v_add3", "^v_bfe", "^v_mad", "^v_cmp", "^ds_", "^global_" }
local function cost_of(asm)
  if asm:find("^v_exp") then return 10 end
  for _, pattern in ipairs(LONG) do
    if asm:find(pattern) then return 6 end
  end
  return 4
end
-- Clocks of others that come to each op of the main stream.
function weave.share(main, streams)
  local sum = 0
  for _, stream in ipairs(streams) do
    for _, o in ipairs(stream) do sum = sum + cost_of(o.asm) end
  end
  return (sum + #main - 1) // #main
end
-- The flag must arrive; glue: no other op may come between.
local function glued(op, following)
  return following and (op.glue or op.asm:find("^s_cmp") or following.asm:find("^s_addc"))
end

-- Main stream and others, no more than `budget` clocks of others behind an op of the main stream: an op comes at its place or
-- later, but none after its `due`. Of those that could come, the one that is due first.
function weave.level(main, streams, budget)
  local out, heads = {}, {}
  for s in ipairs(streams) do heads[s] = 1 end
  for i, m in ipairs(main) do
    m.position = i - 1
    out[#out + 1] = m
    local left = i < #main and budget or math.huge
    while true do
      local best, due
      for s, stream in ipairs(streams) do
        local o = stream[heads[s]]
        if o and (o.at < i * weave.UNIT or i == #main) and (not best or o.due < due) then best, due = s, o.due end
      end
      if not best then break end
      local stream = streams[best]
      local o = stream[heads[best]]
      if cost_of(o.asm) > left and due > i * weave.UNIT then break end
      repeat
        o = stream[heads[best]]
        heads[best] = heads[best] + 1
        o.position = i - 1
        out[#out + 1] = o
        left = left - cost_of(o.asm)
      until not glued(o, stream[heads[best]])
    end
  end
  return out
end

return weave
