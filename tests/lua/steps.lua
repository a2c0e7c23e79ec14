-- Steps left out of a protocol's model: all of a kind at one barrier that an agent takes. What follows from each has a finding.
--   model()      a fresh model
--   agents       those whose steps are left out
--   counts(op)   true for arrivals, copies and waits that are tried
--   everywhere   the agent whose waits are left out of all agents from it on; nil: none
--   least        kinds of steps that there are at least
return function(T, protocol, sorted, x)
  local OPS, tried = protocol.ops, 0
  local function kind(op)
    local may = op[1] == OPS.ARRIVE or op[1] == OPS.COPY or op[1] == OPS.WAIT
    return may and x.counts(op) and op[1] .. " " .. op[2].name:gsub("%[%d%]", "") or nil
  end
  for _, who in ipairs(x.agents) do
    local kinds = {}
    for _, op in ipairs(x.model().agents[who].ops) do
      if kind(op) then kinds[kind(op)] = op end
    end
    for name, op in sorted(kinds) do
      local m = x.model()
      for i = who, op[1] == OPS.WAIT and who == x.everywhere and #m.agents or who do
        local ops = m.agents[i].ops
        for at = #ops, 1, -1 do
          if kind(ops[at]) == name then table.remove(ops, at) end
        end
      end
      tried = tried + 1
      T.ok(#protocol.check(m, 1) > 0, "%s without '%s' and its like is as good", m.agents[who].name, protocol.describe(op))
    end
  end
  T.ok(tried >= x.least, "only %d kinds of steps", tried)
end
