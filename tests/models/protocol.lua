-- A model of what a pipelined kernel's threads say to each other, and a check of all its interleavings.
--
-- A model is a set of agents (a warp, as a rule), each with a fixed program of operations on barriers and places:
--
--   arrive(b, n, what, units)  one arrival at phase n of barrier b, which then awaits `units` more copies in that phase
--   copy(b, n, what, place, version)  starts a copy into a place; it lands some time later, and phase n hears of it
--   wait(b, n, what)      until phase n is over, told by one bit of parity: it passes whenever the phase under way has another
--                         parity than n. Phase -1 is over at the start
--   hint(b, n, what)      the same wait where nothing depends on it but time
--   pass(b), meet(b), sync(b)  a named barrier or a cluster's: bar.arrive; the wait for what was passed last; both, bar.sync. Who
--                         waits there waits for the very round it arrived in; the k-th time of an agent is round k
--   read(place, version, what), write(place, version, what)  version: what must lie there, what lies there then
--   make(list)            the barriers of this list exist from now on
--
-- n is what the kernel's writer means. The hardware does not know it: an arrival counts for the phase under way, a wait sees
-- one bit.
--
-- Why one run finds what any interleaving can do. Call a step right when it does what n says. Programs are fixed, and no step
-- takes away what another one waits for. So while all steps are right a system's states are the sets of steps that are closed
-- under "must come before" (program order; all arrivals and landings of phase n before n's end; n's end before a wait for it),
-- and each such set is reached. The first wrong step of any interleaving happens in such a state, so it is enough to ask of
-- each step whether some closed set lets it go wrong, and that is a question about the order alone:
--
--   alias    a wait for n passes while phase n-1 is open, if the end of n-1 is not before it
--   lapped   a wait for n finds n+1 over, too, and waits on, if it is not before the end of n+1
--   early    an arrival or a landing for n counts for n-1, if the end of n-1 is not before it (a named barrier arrived at twice)
--   count    a phase gets more arrivals, or bytes, than it has room for
--   race     two accesses to a place, one of them a write, of which neither is before the other; a copy writes from its start
--            until the end of its phase is known
--   stale    the accesses have an order, but what is read is not what should be there
--   unmade   a barrier is used, and its making is not before that
--   exited   a signal to a block of which no agent's end comes after it; a block's own copies, too
--   deadlock the right run gets stuck
--   parity   a wait asks for the wrong bit
--
-- One right run with vector clocks answers all of it. A wait gives its agent what was before the phase's end; a hint gives
-- nothing. tests/lua/explore.lua walks all interleavings of small models, with the one bit and all that follows from it, and
-- agrees.
local protocol = {}

local WAIT, HINT, ARRIVE, COPY, READ, WRITE, MAKE = 1, 2, 3, 4, 5, 6, 7
protocol.ops = { WAIT = WAIT, HINT = HINT, ARRIVE = ARRIVE, COPY = COPY, READ = READ, WRITE = WRITE, MAKE = MAKE }
local VERB = { "wait for", "hint", "arrive at", "copy that tells", "read", "write", "make barriers" }

-- ---- The language -----------------------------------------------------------------------------------------------------
local model, agent = {}, {}
model.__index, agent.__index = model, agent

function protocol.new() return setmetatable({ agents = {}, barriers = {}, places = {} }, model) end

-- count: arrivals that end a phase. block: whose shared memory it lies in.
function model:barrier(name, count, block)
  local b = { name = name, count = count, block = block or 1 }
  self.barriers[#self.barriers + 1] = b
  return b
end
-- parties: agents that take part in a round.
function model:named(name, parties)
  local b = self:barrier(name, parties)
  b.exact = true
  return b
end
function model:place(name)
  local p = { name = name }
  self.places[#self.places + 1] = p
  return p
end
function model:agent(name, block)
  local a = setmetatable({ id = #self.agents + 1, name = name, block = block or 1, ops = {}, rounds = {} }, agent)
  self.agents[a.id] = a
  return a
end

function agent:wait(b, n, what, parity)
  local ops = self.ops
  ops[#ops + 1] = { WAIT, b, n, what, parity }
end
function agent:hint(b, n, what) self.ops[#self.ops + 1] = { HINT, b, n, what } end
function agent:arrive(b, n, what, units)
  local ops = self.ops
  ops[#ops + 1] = { ARRIVE, b, n, what, units or 0 }
end
function agent:copy(b, n, what, place, version) self.ops[#self.ops + 1] = { COPY, b, n, what, place, version } end
function agent:read(place, version, what)
  local ops = self.ops
  ops[#ops + 1] = { READ, place, version, what }
end
function agent:write(place, version, what)
  local ops = self.ops
  ops[#ops + 1] = { WRITE, place, version, what }
end
function agent:make(list, what) self.ops[#self.ops + 1] = { MAKE, list, 0, what } end
function agent:pass(b, what)
  local n = (self.rounds[b] or -1) + 1
  self.rounds[b] = n
  self.ops[#self.ops + 1] = { ARRIVE, b, n, what, 0 }
end
function agent:meet(b, what) self.ops[#self.ops + 1] = { WAIT, b, self.rounds[b], what } end
function agent:sync(b, what)
  self:pass(b, what)
  self:meet(b, what)
end

-- Waits for round 0 of a barrier in whose arrivals it takes no part: a word in memory that is published once.
function agent:meet_word(b, what) self.ops[#self.ops + 1] = { WAIT, b, 0, what } end

-- An operation in words.
function protocol.describe(op)
  local kind, x = op[1], op[2]
  if kind == MAKE then return VERB[kind] end
  if kind == READ or kind == WRITE then return ("%s %s (%s), %s"):format(VERB[kind], x.name, tostring(op[3]), op[4]) end
  return ("%s phase %d of %s, %s"):format(VERB[kind], op[3], x.name, op[4])
end

-- ---- The right run ----------------------------------------------------------------------------------------------------
local unpack = table.unpack

local function clock(width)
  local vc = {}
  for i = 1, width do vc[i] = 0 end
  return vc
end

local function join(into, from)
  for i = 1, #into do
    local x = from[i]
    if x > into[i] then into[i] = x end
  end
end

-- vc: of all that has arrived at it so far; nil when nothing has.
local function new_phase(b, vc)
  return { left = b.count, units = 0, copies = 0, vc = vc, waits = {}, hints = {}, arrivals = {} }
end

local function all_before(list, vc)
  for i = 1, #list, 2 do
    if vc[list[i]] < list[i + 1] then return false end
  end
  return true
end

-- True if the end of phase n of b is in the past that vc stands for: a wait for it, or for a later one, is, or all arrivals are
-- and nothing else was awaited.
local function over(b, n, vc)
  if n < 0 then return true end
  local phases = b.phases
  for k = n, b.done do
    local p = phases[k]
    local waits = p.waits
    for i = 1, #waits, 2 do
      if vc[waits[i]] >= waits[i + 1] then return true end
    end
    if p.copies == 0 and all_before(p.arrivals, vc) then return true end
  end
  return false
end

local run = {}
run.__index = run

function run:found(kind, a, at, text, ...)
  local op = a and a.ops[at]
  local place = kind == "race" or kind == "stale"
  local said = op and ("%s: %s: "):format(a.name, protocol.describe(op)) or ""
  self.findings[#self.findings + 1] = { kind = kind, agent = a and a.id, at = at, text = kind .. ": " .. said .. text:format(...),
    place = place and (op[1] == COPY and op[5] or op[2]) or nil, past = a and table.move(a.vc, 1, self.width, 1, {}) }
end

-- Waits for the phase before that the end of p, phase n, need not wait for.
function run:lapped(list, p, n)
  for i = 1, #list, 2 do
    if p.vc[list[i]] < list[i + 1] then
      self:found("lapped", self.model.agents[list[i]], list[i + 1], "phase %d may be over, too, and it waits on", n)
    end
  end
end

-- Ends all phases of b that have what they await.
function run:settle(b)
  local phases = b.phases
  local p = phases[b.done + 1]
  while p and p.left <= 0 and p.units <= 0 do
    local before = phases[b.done]
    b.done = b.done + 1
    if not b.exact then
      self:lapped(before.waits, p, b.done)
      self:lapped(before.hints, p, b.done)
    end
    p = phases[b.done + 1]
  end
end

function run:usable(a, at, b)
  if b.exact or (b.maker and a.vc[b.maker] >= b.made) then return end
  self:found("unmade", a, at, "nothing says that the barrier exists by then")
end

-- The possible faults of a wait as soon as it is reached, whether its phase ever ends or not.
function run:reach(a, at, op)
  local b, n = op[2], op[3]
  a.reached = at
  self:usable(a, at, b)
  if op[5] and op[5] ~= n & 1 then self:found("parity", a, at, "asks for parity %d", op[5]) end
  if op[1] == WAIT and not over(b, n - 1, a.vc) then
    self:found("alias", a, at, "phase %d may still be open, and its parity passes as that of phase %d", n - 1, n)
  end
end

function run:wait(a, at, op)
  local b, n, vc = op[2], op[3], a.vc
  if a.reached < at and not b.exact then self:reach(a, at, op) end
  if b.done < n then return false end
  if b.done > n and not b.exact then self:found("lapped", a, at, "phase %d may be over, too, and it waits on", n + 1) end
  local p = b.phases[n]
  vc[a.id] = at
  local list = op[1] == WAIT and p.waits or p.hints
  list[#list + 1], list[#list + 2] = a.id, at
  if op[1] == WAIT then join(vc, p.vc) end
  return true
end

-- Code shared by arrivals and copies.
function run:signal(a, at, b, n)
  if not b.exact then self:usable(a, at, b) end
  if not over(b, n - 1, a.vc) then self:found("early", a, at, "phase %d may still be open, and it counts for that", n - 1) end
  a.vc[a.id] = at
  local p = b.phases[n]
  if not p then
    p = new_phase(b)
    b.phases[n] = p
  end
  if p.vc then join(p.vc, a.vc) else p.vc = { unpack(a.vc) } end
  return p
end

function run:remember(a, at, b, n, copy)
  self.far[#self.far + 1] = { agent = a, at = at, barrier = b, n = n, copy = copy }
end

function run:arrive(a, at, op)
  local b, n = op[2], op[3]
  local p = self:signal(a, at, b, n)
  p.left, p.units = p.left - 1, p.units + op[5]
  p.arrivals[#p.arrivals + 1], p.arrivals[#p.arrivals + 2] = a.id, at
  if p.left < 0 then self:found("count", a, at, "the phase has only %d arrivals", b.count) end
  if p.left == 0 and p.units < 0 then self:found("count", a, at, "more copies than the phase awaits") end
  if a.block ~= b.block and not b.exact then self:remember(a, at, b, n, false) end
  self:settle(b)
end

local function written_before(place, vc)
  if place.bar then return over(place.bar, place.n, vc) end
  return not place.writer or vc[place.writer] >= place.at
end

function run:change(a, at, place, version)
  local vc = a.vc
  if not written_before(place, vc) then self:found("race", a, at, "%s may still be written", place.name) end
  local readers, reads = place.readers, place.reads
  for i = #readers, 1, -1 do
    local id = readers[i]
    if vc[id] < reads[id] then
      self:found("race", a, at, "%s may still read %s", self.model.agents[id].name, place.name)
    end
    reads[id], readers[i] = nil, nil
  end
  place.version = version
end

function run:copy(a, at, op)
  local b, n, place = op[2], op[3], op[5]
  self:change(a, at, place, op[6])
  place.bar, place.n, place.writer = b, n, nil
  local p = self:signal(a, at, b, n)
  p.units, p.copies = p.units - 1, p.copies + 1
  if p.left <= 0 and p.units < 0 then self:found("count", a, at, "nobody awaits this copy") end
  self:remember(a, at, b, n, true)
  self:settle(b)
end

function run:write(a, at, op)
  self:change(a, at, op[2], op[3])
  local place = op[2]
  place.bar, place.writer, place.at = nil, a.id, at
  a.vc[a.id] = at
end

function run:read(a, at, op)
  local place, id = op[2], a.id
  if not written_before(place, a.vc) then
    self:found("race", a, at, "%s may still be written", place.name)
  elseif op[3] ~= nil and place.version ~= op[3] then
    self:found("stale", a, at, "%s has %s", place.name, tostring(place.version))
  end
  a.vc[id] = at
  if not place.reads[id] then place.readers[#place.readers + 1] = id end
  place.reads[id] = at
end

local STEPS = {
  [WAIT] = run.wait, [HINT] = run.wait, [ARRIVE] = run.arrive, [COPY] = run.copy, [READ] = run.read, [WRITE] = run.write,
  [MAKE] = function(_, a, at, op)
    for _, b in ipairs(op[2]) do b.maker, b.made = a.id, at end
    a.vc[a.id] = at
  end,
}

local function start(m, width)
  for _, a in ipairs(m.agents) do a.at, a.reached, a.vc = 0, 0, clock(width) end
  for _, b in ipairs(m.barriers) do b.phases, b.done, b.maker = { [-1] = new_phase(b, clock(width)) }, -1, nil end
  for _, p in ipairs(m.places) do p.version, p.bar, p.writer, p.readers, p.reads = nil, nil, nil, {}, {} end
end

-- Each agent as far as it gets, in turns. Findings stop it when there are `most`.
function run:go(most)
  local findings, moved = self.findings, true
  while moved do
    moved = false
    for _, a in ipairs(self.model.agents) do
      local ops, at = a.ops, a.at
      local op = ops[at + 1]
      while op and STEPS[op[1]](self, a, at + 1, op) ~= false do
        at, moved = at + 1, true
        if #findings >= most then return end
        op = ops[at + 1]
      end
      a.at = at
    end
  end
end

function run:stuck()
  local out = {}
  for _, a in ipairs(self.model.agents) do
    if a.at < #a.ops then out[#out + 1] = a.name .. ": " .. protocol.describe(a.ops[a.at + 1]) end
  end
  return out
end

-- True if all that goes to a block's shared memory comes before the end of one of its agents.
function run:exits()
  for _, x in ipairs(self.far) do
    local heard = false
    for _, a in ipairs(self.model.agents) do
      if a.block == x.barrier.block and not heard then
        heard = a.at < #a.ops or x.copy and over(x.barrier, x.n, a.vc) or not x.copy and a.vc[x.agent.id] >= x.at
      end
    end
    if not heard then self:found("exited", x.agent, x.at, "block %d may have ended by then", x.barrier.block) end
  end
end

-- Findings of a model, at most `most` (all): list of { kind, text, agent, at, past = what of each agent must have been before }.
function protocol.check(m, most)
  local width = #m.agents
  local r = setmetatable({ model = m, width = width, findings = {}, far = {} }, run)
  start(m, width)
  r:go(most or math.huge)
  if most and #r.findings >= most then return r.findings end
  local stuck = r:stuck()
  if #stuck > 0 then r:found("deadlock", nil, nil, "%s", table.concat(stuck, "; ")) end
  r:exits()
  return r.findings
end

-- Tiles of ranges one after the other: every three of 0, 1 and 2 in a row, then longer ones; and fewer, for a quick look.
protocol.QUICK = { 1, 0, 2, 0, 0, 1, 1, 3, 5, 2, 4 }
protocol.WALK = { 0, 0, 0, 1, 0, 0, 2, 0, 1, 1, 0, 1, 2, 0, 2, 1, 0, 2, 2, 1, 1, 1, 2, 1, 2, 2, 2, 0, 0, 5, 4, 3, 7, 1, 3 }

-- The first finding of any of a kernel's cases, and the model it is of. kernel: a module of gen/protocol/, v: its parameters;
-- all: not only a few cases.
function protocol.first(kernel, v, all)
  for _, case in ipairs(kernel.cases(v, all)) do
    local m = kernel.model(v, case)
    local found = protocol.check(m, 1)[1]
    if found then return found, m end
  end
end

-- The interleaving of a finding: how far each agent must have come, at least, for the step to go wrong there.
function protocol.witness(m, finding)
  local out = {}
  for i, a in ipairs(m.agents) do
    local at = finding.past and finding.past[i] or 0
    out[#out + 1] = ("%-16s %s"):format(a.name, at == 0 and "has not begun" or "after " .. protocol.describe(a.ops[at]))
  end
  return table.concat(out, "\n")
end

return protocol
