-- All interleavings of a small model (tests/models/protocol.lua), step by step as the hardware takes them: a wait sees one bit of
-- the phase's number, an arrival counts for the phase under way, a copy lands when it likes.
--
-- explore(model, ops, limit, on) -> { first = set of "kind agent at" or "race at place", consequences = set of kinds }, nil
-- when there are more than `limit` states. `first`: wrong steps of interleavings that were right until then, by what the model
-- means. `consequences`: races, stale reads and deadlocks, with `on` also behind wrong steps, where nobody asks who means what.
--
-- A state is one list of numbers: 1 when all was right so far; how far each agent is; phase under way, arrivals and copies it
-- awaits and whether it exists, of each barrier; what lies in each place; which copies are under way.
return function(model, ops, limit, on)
  local WAIT, HINT, ARRIVE, COPY, READ, WRITE, MAKE = ops.WAIT, ops.HINT, ops.ARRIVE, ops.COPY, ops.READ, ops.WRITE, ops.MAKE
  local agents, copies, at_of = model.agents, {}, {}
  local size = 1 + #agents
  for _, b in ipairs(model.barriers) do at_of[b], size = size + 1, size + 4 end
  for _, p in ipairs(model.places) do at_of[p], size = size + 1, size + 1 end
  for i, a in ipairs(agents) do
    for at, op in ipairs(a.ops) do
      if op[1] == COPY then
        copies[#copies + 1] = { flag = size + 1, agent = i, at = at, barrier = op[2], n = op[3], place = op[5], version = op[6] }
        at_of[op], size = size + 1, size + 1
      end
    end
  end
  local PHASE, LEFT, UNITS, MADE = 0, 1, 2, 3

  local first, consequences, stepped_over = {}, {}, false -- stepped_over: a wait of this state has missed its phase
  -- s: the state of the step, t: the one it leads to.
  local function wrong(s, t, kind, a, at)
    if s[1] == 1 then first[kind .. " " .. a .. " " .. at] = true end
    t[1] = 0
  end
  -- Phases of barrier b end while they have all they await.
  local function settle(t, b)
    local i = at_of[b]
    while t[i + LEFT] <= 0 and t[i + UNITS] == 0 do
      t[i + PHASE] = t[i + PHASE] + 1
      t[i + LEFT] = t[i + LEFT] + b.count
    end
  end
  local function exited(s, block)
    for i, a in ipairs(agents) do
      if a.block == block and s[1 + i] < #a.ops then return false end
    end
    return true
  end
  -- Tells whether a wait for n passes at a barrier, and what is wrong with that.
  local function try(s, b, n, parity)
    local k = s[at_of[b] + PHASE]
    if b.exact then return k > n end
    local passes = (k & 1) ~= (parity or n & 1)
    if passes and k < n + 1 then return true, "alias" end
    if k > n + 1 then return passes, "lapped" end
    return passes, parity and parity ~= n & 1 and "parity" or nil
  end
  local function signal(s, t, a, at, b, n)
    local i = at_of[b]
    local why = s[i + PHASE] < n and "early" or s[i + PHASE] > n and "count"
    if not b.exact then
      if s[i + MADE] == 0 then wrong(s, t, "unmade", a, at) end
      if exited(s, b.block) then wrong(s, t, "exited", a, at) end
    end
    if why then wrong(s, t, why, a, at) end
    return i
  end
  -- True if a copy into the place is under way, or another agent is about to access it: then they are not ordered.
  local function racy(s, a, place, is_write)
    for _, f in ipairs(copies) do
      if f.place == place and s[f.flag] == 1 then return true end
    end
    for i, other in ipairs(agents) do
      local op = i ~= a and other.ops[s[1 + i] + 1]
      if op and (op[1] == COPY and op[5] or op[2]) == place and
          (op[1] == WRITE or op[1] == COPY or op[1] == READ and is_write) then return true end
    end
    return false
  end
  local function access(s, t, a, place, is_write, version)
    local kind = racy(s, a, place, is_write) and "race"
      or not is_write and version ~= nil and s[at_of[place]] ~= version and "stale"
    if not kind then return end
    wrong(s, t, kind, "at", place.name)
    consequences[kind] = true
  end

  local step = {}
  step[WAIT] = function(s, t, a, at, op)
    local b = op[2]
    local passes, why = try(s, b, op[3], op[5])
    if not b.exact and s[at_of[b] + MADE] == 0 then wrong(s, t, "unmade", a, at) end
    if why == "alias" and op[1] == HINT then why = nil end
    if why then wrong(s, t, why, a, at) end
    stepped_over = stepped_over or why == "lapped"
    return passes
  end
  step[HINT] = step[WAIT]
  step[ARRIVE] = function(s, t, a, at, op)
    local was = t[1]
    local i = signal(s, t, a, at, op[2], op[3])
    t[i + LEFT], t[i + UNITS] = t[i + LEFT] - 1, t[i + UNITS] + op[5]
    if t[1] == was and (t[i + LEFT] < 0 or t[i + LEFT] == 0 and t[i + UNITS] < 0) then wrong(s, t, "count", a, at) end
    settle(t, op[2])
    return true
  end
  step[COPY] = function(s, t, a, at, op)
    access(s, t, a, op[5], true)
    if s[at_of[op[2]] + MADE] == 0 then wrong(s, t, "unmade", a, at) end
    t[at_of[op]] = 1
    return true
  end
  step[READ] = function(s, t, a, _, op)
    access(s, t, a, op[2], false, op[3])
    return true
  end
  step[WRITE] = function(s, t, a, _, op)
    access(s, t, a, op[2], true)
    t[at_of[op[2]]] = op[3]
    return true
  end
  step[MAKE] = function(_, t, _, _, op)
    for _, b in ipairs(op[2]) do t[at_of[b] + MADE] = 1 end
    return true
  end
  local function land(s, t, f)
    t[f.flag] = 0
    local i = signal(s, t, f.agent, f.at, f.barrier, f.n)
    t[i + UNITS] = t[i + UNITS] - 1
    t[at_of[f.place]] = f.version
    settle(t, f.barrier)
  end

  local begin = {}
  for i = 1, size do begin[i] = 0 end
  begin[1] = 1
  for _, b in ipairs(model.barriers) do begin[at_of[b] + LEFT] = b.count end
  for _, p in ipairs(model.places) do begin[at_of[p]] = -1 end
  local seen, todo, states = { [table.concat(begin, ",")] = true }, { begin }, 0
  local function go_to(t)
    if t[1] == 0 and not on then return end
    local name = table.concat(t, ",")
    if not seen[name] then
      seen[name] = true
      todo[#todo + 1] = t
    end
  end
  while #todo > 0 do
    local s = table.remove(todo)
    states = states + 1
    if states > limit then return nil end
    local moves, ended = 0, true
    stepped_over = false
    for i, a in ipairs(agents) do
      local at = s[1 + i] + 1
      local op = a.ops[at]
      if op then
        ended = false
        local t = table.move(s, 1, size, 1, {})
        t[1 + i] = at
        if step[op[1]](s, t, i, at, op) then
          moves = moves + 1
          go_to(t)
        end
      end
    end
    for _, f in ipairs(copies) do
      if s[f.flag] == 1 then
        local t = table.move(s, 1, size, 1, {})
        land(s, t, f)
        moves = moves + 1
        go_to(t)
      end
    end
    if moves == 0 and not ended then
      consequences.deadlock = true
      if s[1] == 1 and not stepped_over then first.deadlock = true end
    end
  end
  return { first = first, consequences = consequences, states = states }
end
