-- The barriers between the threads of templates/mla_decode/sm90_raw_mid.cu.in, for tests/models/protocol.lua. Functions here are
-- named as those of the template that they stand for; two warps stand for four (sm90_few.lua beside).
local protocol = require("protocol")
local mid = require("ops/mla_decode/protocol/sm90_mid")
local index_list = require("ops/mla_decode/protocol/index_list")

local sm90_raw_mid = {}

local PRODUCERS = 2 -- both copy rows of every tile; the last one brings facts, too

-- A kernel of a plan (gen/ops/mla_decode/plans/sm90_raw_mid.lua) with its parameters. ps: places of P.
function sm90_raw_mid.of(plan, v)
  return { boxes = 1, ring = plan.ring, ps = plan.ps, schedule = v.schedule, raises = 1, warps = 2,
    lists = plan.list > 0 and 2 or nil, scored = plan.scored, wide = plan.shifts and 2 or nil,
    teams = plan.threads > 512 and 2 or nil }
end

-- v: boxes (1), ring, ps, schedule, raises (tiles of a piece, from the first on, where m is set anew), warps; lists: a block with
-- one piece has an index list, whose table is filled anew at each so manieth tile (nil: it has not); scored: values wait for the
-- next tile's scores; wide: so many P go over for each second tile, one after the other (nil: one for each tile); teams: two
-- warpgroups make scores, in turns (nil: one).
local function wide(v, i) return v.wide and i % 2 == 0 and v.wide or 1 end
local function number_of(v, i) return i + (v.wide and (v.wide - 1) * ((i + 1) // 2) or 0) end -- the first P of tile i

local function block(m, v)
  local x = { v = v, full = {}, empty = {}, slots = {}, bad = {} }
  for s = 0, v.ring - 1 do
    x.full[s], x.empty[s] = m:barrier(("full[%d]"):format(s), PRODUCERS), m:barrier(("empty[%d]"):format(s), 2 * v.warps)
    x.slots[s], x.bad[s] = {}, m:place(("BAD[%d]"):format(s))
    for w = 1, PRODUCERS do x.slots[s][w] = m:place(("slot %d, rows of producer %d"):format(s, w)) end
  end
  local teams = v.teams or 1
  local math = (2 + teams) * v.warps
  x.full_q, x.empty_q, x.ended = m:barrier("full_q", 1), m:barrier("empty_q", math), m:barrier("END", v.warps)
  index_list.add_places(x, PRODUCERS, function(name) return m:place(name) end)
  x.made, x.begun = m:named("MADE", PRODUCERS), m:named("BEGUN", PRODUCERS + math)
  x.owns, x.q_ready, x.half = { [0] = m:named("named 1", v.warps) }, m:named("Q_READY", math), {}
  x.p_full, x.p_empty, x.scored, x.p, x.raised, x.factors, x.scales = {}, {}, {}, {}, {}, {}, {}
  x.q, x.facts, x.refs, x.sums, x.inverse, x.zeros = { all = m:place("Q") }, m:place("facts"), {}, {}, {}, {}
  local function of_warps(name)
    local out = {}
    for w = 0, v.warps - 1 do out[w] = m:place(("%s of warp %d"):format(name, w)) end
    return out
  end
  for i = 0, v.ps - 1 do
    x.p_full[i], x.p_empty[i] = m:barrier(("P_FULL[%d]"):format(i), v.warps), m:barrier(("P_EMPTY[%d]"):format(i), 2 * v.warps)
    x.scored[i] = m:barrier(("SCORED[%d]"):format(i), v.warps)
    x.p[i], x.factors[i], x.scales[i] = of_warps("P " .. i), of_warps("factors " .. i), of_warps("scales " .. i)
    x.raised[i] = m:place("raised " .. i)
  end
  for g = 0, 1 do x.half[g], x.q[g] = m:named("named " .. 2 + g, v.warps), of_warps("Q of half " .. g) end
  x.refs, x.sums, x.inverse, x.zeros = of_warps("refs"), { [0] = of_warps("sums") }, of_warps("inverse"), of_warps("zeros")
  if v.teams then
    x.owns[1], x.sums[1] = m:named("OWN", v.warps), of_warps("sums of team 1")
    x.sum_refs = { [0] = of_warps("refs of sums"), of_warps("refs of sums of team 1") }
    x.turn, x.turns, x.both = m:place("turn"), {}, m:named("BOTH", 2 * v.warps)
    for g = 0, 1 do x.turns[g] = m:named("TURN of " .. g, 2 * v.warps) end
  end
  if v.wide then
    x.tops, x.shifts, x.shift_factors = of_warps("shift tops"), m:place("shifts"), {}
    for i = 0, v.ps - 1 do x.shift_factors[i] = m:place("shift factors " .. i) end
  end
  x.o = { [0] = of_warps("O of half 0"), of_warps("O of half 1") }
  return x
end

local function read_all(a, list, v, version, what)
  for w = 0, v.warps - 1 do a:read(list[w], version, what) end
end
local function read_tile(x, a, i, what)
  for _, place in ipairs(x.slots[i % x.v.ring]) do a:read(place, i, what) end
end

-- ---- Producer -----------------------------------------------------------------------------------------------------------
local function produce(x, a, who, pieces)
  local i, lists = 0, #pieces == 1 and x.v.lists
  if lists then index_list.begin(x, a, who) end
  for k = 0, #pieces do
    if who == PRODUCERS then
      a:wait(x.empty_q, k - 1, "announce()")
      a:write(x.facts, k, "announce()")
      a:arrive(x.full_q, k, "announce()")
    end
    for t = 0, (pieces[k + 1] or 0) - 1 do
      if lists then index_list.refill(x, a, who, t) end
      local s, n = i % x.v.ring, i // x.v.ring
      a:wait(x.empty[s], n - 1, "produce()")
      if who == 1 then a:write(x.bad[s], i, "produce()") end -- all who write it write the same
      a:arrive(x.full[s], n, "produce()", 1)
      a:copy(x.full[s], n, "bring()", x.slots[s][who], i)
      i = i + 1
    end
  end
end

-- ---- Scores -------------------------------------------------------------------------------------------------------------
local function raise(x, a, g, w, i, n)
  local v = x.v
  a:write(x.sums[g][w], "maxima " .. i, "raise()")
  a:sync(x.owns[g], "raise()")
  read_all(a, x.sums[g], v, "maxima " .. i, "raise()")
  a:write(x.refs[w], i, "raise()")
  if v.teams then a:write(x.sum_refs[g][w], i, "raise()") end
  a:write(x.factors[n % v.ps][w], n, "raise()")
  a:sync(x.owns[g], "raise()")
  read_all(a, x.factors[n % v.ps], v, n, "raise()")
end

-- Sums of a team of two become relative to what m is now, set by tile `set`, where they were relative to tile `own`'s.
local function refer_sums(x, a, g, w, own, set)
  read_all(a, x.sum_refs[g], x.v, own, "refer_sums()")
  a:sync(x.owns[g], "refer_sums()")
  a:read(x.refs[w], set, "refer_sums()")
  a:write(x.sum_refs[g][w], set, "refer_sums()")
end

-- The other P of a wide tile, the i-th of all, behind its scores; n: the first one's number. Returns the last one's.
local function hand_over_wide(x, a, g, w, i, n)
  local v = x.v
  a:write(x.tops[w], i, "refer()")
  a:sync(x.owns[g], "refer()")
  if w == 0 then
    for k = 0, v.warps - 1 do a:read(x.tops[k], i, "refer()") end
    a:write(x.shifts, i, "refer()")
    a:write(x.shift_factors[n % v.ps], n, "refer()")
  end
  a:sync(x.owns[g], "refer()")
  for m = n, n + v.wide - 1 do
    if w == 0 then a:write(x.raised[m % v.ps], m, "hand_over_wide()") end
    a:read(x.shifts, i, "store_wide()")
    read_tile(x, a, i, "store_wide()")
    a:write(x.scales[m % v.ps][w], m, "store_wide()")
    if m == n + v.wide - 1 then return m end
    a:write(x.p[m % v.ps][w], m, "store_wide()")
    a:arrive(x.p_full[m % v.ps], m // v.ps, "hand_over_wide()")
    if v.scored then a:arrive(x.scored[(m + 1) % v.ps], (m + 1) // v.ps, "hand_over_wide()") end
    a:wait(x.p_empty[(m + 1) % v.ps], (m + 1) // v.ps - 1, "hand_over_wide()")
  end
end

-- Tile t of piece k, the i-th of all, by team g; set: the tile that m was set by last; own: the one that its sums are relative
-- to m of. Returns both, as they are then.
local function score_tile(x, a, g, w, k, t, last, i, set, own)
  local v, s, n = x.v, i % x.v.ring, number_of(x.v, i)
  a:wait(x.full[s], i // v.ring, "work_on_scores()")
  if last then
    a:write(x.zeros[w], i, "clear_rows()")
    a:sync(x.owns[g], "clear_rows()")
    read_all(a, x.zeros, v, i, "store_scales()")
  end
  a:read(x.bad[s], i, "work_on_scores()")
  a:read(x.q.all, k, "scores()")
  for h = 0, 1 do read_all(a, x.q[h], v, k, "scores()") end
  read_tile(x, a, i, "scores()")
  if v.scored then a:arrive(x.scored[n % v.ps], n // v.ps, "work_on_scores()") end
  if v.teams then
    if t > 0 then a:sync(x.turns[g], "work_on_scores()") end
    a:read(x.turn, t > 0 and i or "begin " .. k, "work_on_scores()")
    if own ~= set then refer_sums(x, a, g, w, own, set) end
  end
  a:wait(x.p_empty[n % v.ps], n // v.ps - 1, "work_on_scores()")
  a:write(x.scales[n % v.ps][w], n, "store_scales()")
  read_all(a, x.refs, v, set, "relative()")
  a:sync(x.owns[g], "work_on_scores()")
  if w == 0 then a:write(x.raised[n % v.ps], n, "work_on_scores()") end
  if wide(v, i) > 1 then
    a:sync(x.owns[g], "work_on_scores()")
    read_tile(x, a, i, "wide_scores()")
    read_all(a, x.refs, v, set, "relative()")
    a:sync(x.owns[g], "work_on_scores()")
  end
  if t < v.raises then
    raise(x, a, g, w, i, n)
    read_all(a, x.refs, v, i, "relative()")
    set = i
  end
  if wide(v, i) > 1 then n = hand_over_wide(x, a, g, w, i, n) end
  if v.teams then
    if w == 0 then a:write(x.turn, i + 1, "pass_turn()") end
    if not last then a:pass(x.turns[1 - g], "pass_turn()") end
  end
  a:write(x.p[n % v.ps][w], n, "store_p()")
  a:arrive(x.p_full[n % v.ps], n // v.ps, "work_on_scores()")
  return set, set
end

local function work_on_scores(x, a, g, w, pieces)
  local v, i = x.v, 0
  for k = 0, #pieces do
    a:wait(x.full_q, k, "work_on_scores()")
    a:read(x.facts, k, "work_on_scores()")
    local tiles, begun = pieces[k + 1], "begin " .. k
    if not tiles then return end
    local set, own = begun, begun
    if g == 0 then a:write(x.refs[w], set, "work_on_scores()") end
    if v.wide and g == 0 and w == 0 then a:write(x.shifts, set, "work_on_scores()") end
    if v.teams then
      a:write(x.sum_refs[g][w], set, "work_on_scores()")
      if g == 0 and w == 0 then a:write(x.turn, set, "work_on_scores()") end
    end
    a:sync(x.q_ready, "work_on_scores()")
    for t = 0, tiles - 1 do
      if t % (v.teams or 1) == g then
        set, own = score_tile(x, a, g, w, k, t, t == tiles - 1, i + t, set, own)
      elseif t < v.raises then
        set = i + t
      end
    end
    i = i + tiles
    if v.teams then
      a:sync(x.both, "finish_rows()")
      a:read(x.turn, tiles > 0 and i or begun, "finish_rows()")
      if own ~= set then refer_sums(x, a, g, w, own, set) end
    end
    a:write(x.sums[g][w], "sums " .. k, "finish_rows()")
    a:sync(x.both or x.owns[g], "finish_rows()")
    if g == 0 then
      for h = 0, (v.teams or 1) - 1 do read_all(a, x.sums[h], v, "sums " .. k, "finish_rows()") end
      a:read(x.refs[w], set, "finish_rows()") -- of its own row
      a:write(x.inverse[w], k, "finish_rows()")
      a:read(x.facts, k, "finish_rows()")
      a:arrive(x.ended, k, "finish_rows()")
    end
    a:arrive(x.empty_q, k, "work_on_scores()")
  end
end

-- ---- Values -------------------------------------------------------------------------------------------------------------
local function multiply_tile(x, a, t, last, i)
  local v, first = x.v, number_of(x.v, i)
  for n = first, first + wide(v, i) - 1 do
    local more = n < first + wide(v, i) - 1
    a:wait(x.p_full[n % v.ps], n // v.ps, "work_on_values()")
    a:read(x.raised[n % v.ps], n, "work_on_values()")
    if n == first and t < v.raises then read_all(a, x.factors[n % v.ps], v, n, "rescale()") end
    if n == first and wide(v, i) > 1 then a:read(x.shift_factors[n % v.ps], n, "rescale_blocks()") end
    if last then read_all(a, x.zeros, v, i, "multiply_v()") end
    read_all(a, x.scales[n % v.ps], v, n, "multiply_v()")
    read_tile(x, a, i, "multiply_v()") -- its first operands; scores of the next tile are waited for behind them
    if v.scored and (more or not last) then a:wait(x.scored[(n + 1) % v.ps], (n + 1) // v.ps, "work_on_values()") end
    read_tile(x, a, i, "multiply_v()")
    read_all(a, x.p[n % v.ps], v, n, "multiply_v()")
    if not more then a:arrive(x.empty[i % v.ring], i // v.ring, "work_on_values()") end
    a:arrive(x.p_empty[n % v.ps], n // v.ps, "work_on_values()")
  end
end

local function work_on_values(x, a, g, w, pieces)
  local v, i = x.v, 0
  for k = 0, #pieces do
    a:wait(x.full_q, k, "work_on_values()")
    a:read(x.facts, k, "work_on_values()")
    local tiles = pieces[k + 1]
    if not tiles then return end
    a:write(x.q[g][w], k, "take_q()")
    if g == 0 and w == 0 then a:write(x.q.all, k, "take_q()") end -- one warp stands for all that O's rows lie across
    a:sync(x.q_ready, "work_on_values()")
    local shifts = "begin " .. k
    for t = 0, tiles - 1 do
      multiply_tile(x, a, t, t == tiles - 1, i + t)
      if wide(v, i + t) > 1 then shifts = i + t end
    end
    i = i + tiles
    a:wait(x.ended, k, "work_on_values()")
    if v.wide then a:read(x.shifts, shifts, "end_blocks()") end
    read_all(a, x.inverse, v, k, "write_o()")
    a:write(x.o[g][w], k, "write_o()")
    if g == 0 and w == 0 then a:write(x.q.all, "O " .. k, "write_o()") end
    a:sync(x.half[g], "write_o()")
    read_all(a, x.o[g], v, k, "write_o()")
    a:read(x.facts, k, "write_o()")
    a:arrive(x.empty_q, k, "work_on_values()")
  end
end

local function make_barriers(x, a, who)
  if who == 1 then
    local list = {}
    for s = 0, x.v.ring - 1 do list[2 * s + 1], list[2 * s + 2] = x.full[s], x.empty[s] end
    a:make(list, "make_barriers()")
  else
    local list = { x.full_q, x.empty_q, x.ended }
    for i = 0, x.v.ps - 1 do table.move({ x.p_full[i], x.p_empty[i], x.scored[i] }, 1, 3, #list + 1, list) end
    a:make(list, "make_barriers()")
  end
  a:sync(x.made, "kernel")
  a:pass(x.begun, "kernel")
end

-- pieces: the tiles of each.
function sm90_raw_mid.model(v, pieces)
  local m = protocol.new()
  local x = block(m, v)
  for who = 1, PRODUCERS do
    local a = m:agent("producer " .. who)
    make_barriers(x, a, who)
    produce(x, a, who, pieces)
  end
  for g = 0, (v.teams or 1) - 1 do
    for w = 0, v.warps - 1 do
      local a = m:agent("scores " .. (g > 0 and "of team 1, " or "") .. w)
      a:sync(x.begun, "kernel")
      work_on_scores(x, a, g, w, pieces)
    end
  end
  for g = 0, 1 do
    for w = 0, v.warps - 1 do
      local a = m:agent(("values %d.%d"):format(g, w))
      a:sync(x.begun, "kernel")
      work_on_values(x, a, g, w, pieces)
    end
  end
  return m
end

sm90_raw_mid.cases = mid.cases

return sm90_raw_mid
