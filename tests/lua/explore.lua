-- All interleavings of a small model (gen/protocol.lua), step by step as the hardware takes them: a wait sees one bit of the
-- phase's number, an arrival counts for the phase under way, a copy lands when it likes.
--
-- explore(model, ops, limit, on) -> { first = set of "kind agent at" or "race at place", consequences = set of kinds, states = number }, nil when there
-- are more than `limit` states. `first`: wrong steps of interleavings that were right until then, by what the model means.
-- `consequences`: races, stale reads and deadlocks, with `on` also behind wrong steps, where nobody asks who means what.
return function(model, ops, limit, on)
  local WAIT, HINT, ARRIVE, COPY, READ, WRITE, MAKE = ops.WAIT, ops.HINT, ops.ARRIVE, ops.COPY, ops.READ, ops.WRITE, ops.MAKE
  local agents, index = model.agents, {}
  for i, b in ipairs(model.barriers) do index[b] = i end
  for i, p in ipairs(model.places) do index[p] = i end

  local function copy_of(s)
    local t = { clean = s.clean }
    for _, field in ipairs({ "at", "phase", "left", "units", "made", "version", "flight" }) do
      t[field] = table.move(s[field], 1, #s[field], 1, {})
    end
    return t
  end
  local function key(s)
    local out = { s.clean and "c" or "d" }
    for _, field in ipairs({ "at", "phase", "left", "units", "made" }) do out[#out + 1] = table.concat(s[field], ",") end
    for _, v in ipairs(s.version) do out[#out + 1] = tostring(v) end
    for _, f in ipairs(s.flight) do out[#out + 1] = f.name end
    return table.concat(out, ";")
  end

  local first, consequences, stepped_over = {}, {}, false -- stepped_over: a wait of this state has missed its phase
  local function wrong(s, kind, a, at)
    if s.clean then first[kind .. " " .. a .. " " .. at] = true end
  end
  -- The phase of barrier i ends when it has all it awaits.
  local function settle(s, i)
    while s.left[i] <= 0 and s.units[i] == 0 do
      s.phase[i] = s.phase[i] + 1
      s.left[i] = s.left[i] + model.barriers[i].count
    end
  end
  local function busy(s, place)
    for _, f in ipairs(s.flight) do if f.place == place then return true end end
    return false
  end
  local function exited(s, block)
    for i, a in ipairs(agents) do if a.block == block and s.at[i] < #a.ops then return false end end
    return true
  end
  -- How barrier b in state s takes a wait for n: true passes, false blocks; and what is wrong with that.
  local function try(s, b, n, parity)
    local k = s.phase[index[b]]
    if b.exact then return k > n end
    local passes = (k & 1) ~= (parity or n & 1)
    if passes and k < n + 1 then return true, "alias" end
    if k > n + 1 then return passes, "lapped" end
    return passes, parity and parity ~= n & 1 and "parity" or nil
  end
  local function signal(s, t, a, at, b, n)
    local i = index[b]
    local why = s.phase[i] < n and "early" or s.phase[i] > n and "count"
    if not b.exact then
      if s.made[i] == 0 then wrong(s, "unmade", a, at) t.clean = false end
      if exited(s, b.block) then wrong(s, "exited", a, at) t.clean = false end
    end
    if why then wrong(s, why, a, at) t.clean = false end
    return i
  end
  local function access(s, t, a, at, place, is_write, version)
    local racy = busy(s, place)
    for i, other in ipairs(agents) do -- another agent that is about to: they are not ordered
      local op = i ~= a and other.ops[s.at[i] + 1]
      if op then
        local same = (op[1] == COPY and op[5] or op[2]) == place
        if same and (op[1] == WRITE or op[1] == COPY or op[1] == READ and is_write) then racy = true end
      end
    end
    if racy then
      wrong(s, "race", "at", place.name)
      consequences.race, t.clean = true, false
    elseif not is_write and version ~= nil and s.version[index[place]] ~= version then
      wrong(s, "stale", "at", place.name)
      consequences.stale, t.clean = true, false
    end
  end

  -- The state after agent a's next step, nil when it blocks.
  local function step(s, a)
    local at = s.at[a] + 1
    local op = agents[a].ops[at]
    local kind, x, n = op[1], op[2], op[3]
    local t = copy_of(s)
    t.at[a] = at
    if kind == WAIT or kind == HINT then
      local passes, why = try(s, x, n, op[5])
      if not x.exact and s.made[index[x]] == 0 then wrong(s, "unmade", a, at) t.clean = false end
      if why == "alias" and kind == HINT then why = nil end
      if why then wrong(s, why, a, at) t.clean = false end
      stepped_over = stepped_over or why == "lapped"
      return passes and t or nil
    elseif kind == ARRIVE then
      local i = signal(s, t, a, at, x, n)
      t.left[i], t.units[i] = t.left[i] - 1, t.units[i] + op[5]
      if t.clean and (t.left[i] < 0 or t.left[i] == 0 and t.units[i] < 0) then
        wrong(s, "count", a, at)
        t.clean = false
      end
      settle(t, i)
    elseif kind == COPY then
      access(s, t, a, at, op[5], true)
      if s.made[index[x]] == 0 then wrong(s, "unmade", a, at) t.clean = false end
      t.flight[#t.flight + 1] = { name = a .. "@" .. at, agent = a, at = at, barrier = x, n = n, place = op[5], version = op[6] }
      table.sort(t.flight, function(p, q) return p.name < q.name end)
    elseif kind == READ or kind == WRITE then
      access(s, t, a, at, x, kind == WRITE, n)
      if kind == WRITE then t.version[index[x]] = n end
    elseif kind == MAKE then
      for _, b in ipairs(x) do t.made[index[b]] = 1 end
    end
    return t
  end
  local function land(s, k)
    local t, f = copy_of(s), s.flight[k]
    table.remove(t.flight, k)
    local i = signal(s, t, f.agent, f.at, f.barrier, f.n)
    t.units[i] = t.units[i] - 1
    t.version[index[f.place]] = f.version
    settle(t, i)
    return t
  end

  local s = { clean = true, at = {}, phase = {}, left = {}, units = {}, made = {}, version = {}, flight = {} }
  for i in ipairs(agents) do s.at[i] = 0 end
  for i, b in ipairs(model.barriers) do s.phase[i], s.left[i], s.units[i], s.made[i] = 0, b.count, 0, 0 end
  for i in ipairs(model.places) do s.version[i] = false end
  local seen, todo, states = { [key(s)] = true }, { s }, 0
  while #todo > 0 do
    s = table.remove(todo)
    states = states + 1
    if states > limit then return nil end
    local next_states, ended = {}, true
    stepped_over = false
    for a in ipairs(agents) do
      if s.at[a] < #agents[a].ops then
        ended = false
        next_states[#next_states + 1] = step(s, a)
      end
    end
    for k in ipairs(s.flight) do next_states[#next_states + 1] = land(s, k) end
    if #next_states == 0 and not ended then
      consequences.deadlock = true
      if s.clean and not stepped_over then first.deadlock = true end
    end
    for _, t in ipairs(next_states) do
      local name = key(t)
      if not seen[name] and (on or t.clean) then
        seen[name] = true
        todo[#todo + 1] = t
      end
    end
  end
  return { first = first, consequences = consequences, states = states }
end
