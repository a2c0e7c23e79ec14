-- Random small models, and whether the protocol check (tests/models/protocol.lua) says of each what a search of all interleavings
-- does (explore.lua).
--
-- small_models(loader, root, seed, most, see) -> how many were compared, and what differs of the last one (nil: nothing). see: is
-- given the findings of each.
return function(loader, root, seed, most, see)
  local protocol = loader.require("protocol")
  local OPS, explore = protocol.ops, dofile(root .. "/tests/lua/explore.lua")

  local function random(n)
    seed = seed * 6364136223846793005 + 1442695040888963407
    return (seed >> 33) % n + 1
  end
  local function one_in(n) return random(n) == 1 end

  -- A few agents that do anything.
  local function any_model()
    local m, agents, bars, places, made = protocol.new(), {}, {}, {}, {}
    for i = 1, random(2) + 1 do agents[i] = m:agent("agent " .. i, one_in(5) and 2 or 1) end
    for i = 1, random(2) do
      bars[i] = one_in(4) and m:named("named " .. i, random(2)) or m:barrier("barrier " .. i, random(2), 1)
      if not bars[i].exact then made[#made + 1] = bars[i] end
    end
    for i = 1, random(2) do places[i] = m:place("place " .. i) end
    if not one_in(8) then agents[1]:make(made, "") end
    for i, a in ipairs(agents) do
      local at = {}
      for k = 1, random(4) + 1 do
        local b, what = bars[random(#bars)], random(8)
        local n, place = at[b] or 0, places[random(#places)]
        if what == 1 then a:read(place, nil, "")
        elseif what == 2 then a:write(place, k + 10 * i, "")
        elseif b.exact then
          if what == 3 then a:pass(b, "") else a:sync(b, "") end
        elseif what == 3 then a:hint(b, n, "")
        elseif what <= 5 then a:wait(b, math.max(-1, n - random(2) + random(2) - 1), "")
        else
          a:arrive(b, n, "", what == 8 and 1 or 0)
          if what == 8 then a:copy(b, n, "", place, k + 10 * i) end
          at[b] = n + 1
        end
      end
    end
    return m
  end

  -- A ring as sm90_few has it, smaller: producers deal out the boxes, warpgroups take turns on tiles, the last box is given back
  -- first.
  local function ring_model()
    local m, full, empty, slot, list = protocol.new(), {}, {}, {}, {}
    local ring, boxes, wgs, producers, tiles = random(5) + 1, random(3), random(2), random(2), random(3)
    for s = 0, ring - 1 do
      full[s], empty[s], slot[s] = m:barrier("full " .. s, 1), m:barrier("empty " .. s, 1), m:place("slot " .. s)
      list[#list + 1], list[#list + 2] = full[s], empty[s]
    end
    local order, begin = { m:named("order 1", 2), m:named("order 2", 2) }, m:named("begin", producers + wgs)
    local ordered, makers, takers = wgs == 2 and one_in(2), {}, {}
    for w = 1, producers do makers[w] = m:agent("producer " .. w) end
    for g = 1, wgs do takers[g] = m:agent("math " .. g) end
    makers[1]:make(list, "")
    for _, a in ipairs(m.agents) do a:sync(begin, "") end
    for i = 0, tiles * boxes - 1 do
      local a, s, n = makers[i % boxes % producers + 1], i % ring, i // ring
      a:wait(empty[s], n - 1, "")
      a:arrive(full[s], n, "", 1)
      a:copy(full[s], n, "", slot[s], i)
    end
    for t = 0, tiles - 1 do
      local g, i = t % wgs + 1, t * boxes
      local a = takers[g]
      if ordered and t > 0 then a:sync(order[g], "") end
      for k = i, i + boxes - 1 do
        a:wait(full[k % ring], k // ring, "")
        a:read(slot[k % ring], k, "")
      end
      if ordered and t + 1 < tiles then a:pass(order[3 - g], "") end
      for k = 1, boxes do
        local box = i + (k == 1 and boxes or k - 1) - 1
        a:arrive(empty[box % ring], box // ring, "")
      end
    end
    return m
  end

  local function mutate(m)
    local ops = m.agents[random(#m.agents)].ops
    if #ops == 0 then return end
    local k, how = random(#ops), random(3)
    if how == 1 then table.remove(ops, k)
    elseif how == 2 and k < #ops then ops[k], ops[k + 1] = ops[k + 1], ops[k]
    else table.insert(ops, k, ops[k]) end
  end

  -- The search's first finding must be among the findings; where a phase has too many arrivals, or a hint waits for ever,
  -- which of them goes wrong is a matter of choice, and only that something does is compared.
  local function compare(m, found, all)
    local have, kinds, hints = {}, {}, false
    for _, f in ipairs(found) do
      kinds[f.kind] = true
      have[f.place and ("%s at %s"):format(f.kind, f.place.name) or f.kind == "deadlock" and f.kind
        or ("%s %d %d"):format(f.kind, f.agent, f.at)] = true
    end
    for _, a in ipairs(m.agents) do
      for _, op in ipairs(a.ops) do hints = hints or op[1] == OPS.HINT end
    end
    if (#found == 0) ~= (next(all.first) == nil) then return "one of them finds nothing" end
    if kinds.count or kinds.deadlock and hints then return nil end
    for what in pairs(all.first) do
      if not have[what] and not have[what:gsub("^stale", "race")] then return "only the search finds " .. what end
    end
  end

  local compared = 0
  while compared < most do
    local m = compared % 3 == 0 and any_model() or ring_model()
    if compared % 3 == 1 then mutate(m) end
    local all = explore(m, OPS, 500)
    if all then
      local found = protocol.check(m)
      compared = compared + 1
      if see then see(found) end
      local why = compare(m, found, all)
      if why then return compared, ("%s; the check: %s"):format(why, found[1] and found[1].text or "nothing") end
    end
  end
  return compared
end
