-- The barriers between the threads of templates/mla_decode/sm90_many.cu.in (templates/sm90_many/), for
-- tests/models/protocol.lua. Functions here are named as those of the templates that they stand for; two warps stand for four
-- (sm90_few.lua beside).
--
-- Buffers are the ring: A's blocks lie in buffers 0, 2, ..., B's in 1, 3, ...; a buffer is `GROUPS` quarters and the rope slice,
-- each with a full barrier of its own and one to give it back.
local protocol = require("protocol")

local sm90_many = {}

-- A kernel of a plan (gen/ops/mla_decode/plans/sm90_many.lua) with its parameters. Turns and the two ways of a fitted launch are
-- one program: pieces one after the other, of which some are all of their request and some are not.
function sm90_many.of(plan, v)
  return { buffers = plan.buffers, rope = v.rope, cluster = v.cluster, shared = v.rank > 256, many = v.schedule ~= "splits",
    gather = v.gather or false, rotate = v.rotate, ahead = v.ahead, warps = 2, lists = v.lists }
end

local ASK, ROPE, TABLES = 4, 4, 2 -- blocks before the end; the rope slice's group; gather.h's

-- v: buffers, rope (0: none), cluster, many (several pieces a block), warps; lists: pieces are index lists; ahead: it is
-- sm90_many_ahead, whose first Q math brings; shared: a pair deals a quarter's two slices out to
-- both blocks (rank 512; else one block sends its one slice).
local function block(m, v, id, pair, parties)
  local x = { v = v, id = id, pair = pair, turns = v.buffers // 2 }
  local function name(text, ...) return ("block %d: "):format(id) .. text:format(...) end
  local math = 2 * v.warps
  x.full, x.empty, x.slices = {}, {}, {}
  for b = 0, v.buffers - 1 do
    x.full[b], x.empty[b], x.slices[b] = {}, {}, {}
    for g = 0, v.rope > 0 and ROPE or ROPE - 1 do
      x.full[b][g] = m:barrier(name("full[%d][%d]", b, g), v.gather and g ~= ROPE and v.warps or 1, id)
      x.empty[b][g] = m:barrier(name("empty[%d][%d]", b, g), v.warps * v.cluster, id)
      x.slices[b][g] = { m:place(name("buffer %d, quarter %d", b, g)), m:place(name("buffer %d, quarter %d, right", b, g)) }
    end
  end
  x.table_full, x.table_empty, x.tables = {}, {}, {}
  for i = 0, v.gather and TABLES - 1 or -1 do -- read by the copiers and by two warps that copy rope
    x.table_full[i] = m:barrier(name("TABLE_FULL %d", i), 1, id)
    x.table_empty[i] = m:barrier(name("TABLE_EMPTY %d", i), v.warps + (v.rope > 0 and 2 or 0), id)
    x.tables[i] = m:place(name("table %d", i))
  end
  x.q_full, x.q_empty = m:barrier(name("Q_FULL"), 1, id), m:barrier(name("Q_EMPTY"), math, id)
  x.last_empty, x.checked = m:barrier(name("LAST_EMPTY"), math, id), m:barrier(name("CHECKED"), 1, id)
  x.near_end = m:barrier(name("NEAR_END"), 1, id)
  x.begin, x.close, x.cluster = m:named(name("begin"), parties), m:named(name("close"), parties), pair.cluster
  x.both, x.counted = m:named(name("BOTH"), math), m:named(name("COUNTED"), v.warps + 1)
  x.counts, x.sinks = {}, m:place(name("sinks"))
  for w = 0, v.warps - 1 do x.counts[w] = m:place(name("count of warp %d", w)) end
  x.first, x.issued = m:named(name("FIRST_ISSUED"), math), m:named(name("SCORES_ISSUED"), math)
  x.own, x.m_ready, x.p_ready = {}, {}, {}
  x.m, x.p, x.sums, x.tops, x.zeros, x.stage, x.brought, x.cleared = {}, {}, {}, {}, {}, {}, {}, {}
  for wg = 0, 1 do x.own[wg] = m:named(name("named %d", 1 + wg), v.warps) end
  for b = 0, v.buffers - 1 do
    x.m_ready[b], x.p_ready[b] = m:named(name("M_READY + %d", b), math), m:named(name("P_READY + %d", b), math)
    x.m[b], x.p[b] = {}, {}
    for w = 0, v.warps - 1 do
      x.m[b][w], x.p[b][w] = m:place(name("M %d, rows of warp %d", b, w)), m:place(name("P %d, %d", b, w))
    end
  end
  for a = 0, math - 1 do
    if v.ahead then x.brought[a] = m:place(name("Q 0 of math warp %d", a)) end
    x.cleared[a] = m:place(name("rows of Q that are not there, of math warp %d", a))
    for _, what in ipairs({ "sums", "tops", "zeros", "stage" }) do
      x[what][a] = m:place(name("%s of math warp %d", what, a))
    end
  end
  x.q, x.facts, x.ahead, x.copies, x.bad = m:place(name("Q")), m:place(name("facts")), m:place(name("facts ahead")), {}, {}
  for k = 0, 1 do x.copies[k], x.bad[k] = m:place(name("facts' copy %d", k)), m:place(name("BAD of copy %d", k)) end
  return x
end

local function peer(x) return x.pair[x.id == x.pair.first and 2 or 1] end

-- The begin of a kernel that reads ahead, where the others have it in the kernel itself.
local function begin_together(x, a)
  a:sync(x.begin, "begin_together()")
  if x.v.cluster == 2 then a:sync(x.pair.cluster, "begin_together()") end
end

-- ---- Loaders ------------------------------------------------------------------------------------------------------------
local function next_turn(x, used, j)
  local n = used[j & 1]
  used[j & 1] = n + 1
  return j % 2 + 2 * (n % x.turns), n // x.turns
end

local function load_slices(x, a, b, use, j, group)
  local rope, rank = group == ROPE, x.id - x.pair.first
  if use > 0 then a:wait(x.empty[b][group], use - 1, "load_slices()") end
  local dealt = x.v.cluster == 2 and x.v.shared and not rope
  a:arrive(x.full[b][group], use, "load_slices()", dealt and 2 or 1)
  local version = j .. "/" .. use
  if x.v.cluster == 1 then return a:copy(x.full[b][group], use, "load_slices()", x.slices[b][group][1], version) end
  local odd = ((rope and use or group) ~ rank) & 1
  if not dealt and odd == 1 then return end
  for _, to in ipairs(x.pair) do
    a:copy(to.full[b][group], use, "load_slices()", to.slices[b][group][dealt and 1 + odd or 1], version)
  end
end

local function load_block(x, a, half, j, b, use)
  if half == 2 then return load_slices(x, a, b, use, j, ROPE) end
  for q = 2 * half, 2 * half + 1 do load_slices(x, a, b, use, j, q) end
end

-- The thread that says when a piece's end is near has waited for its Q; the other loaders do not count on it.
local function await_q(x, a, half, k)
  if half == 0 then a:wait(x.q_full, k, "load_piece()") else a:hint(x.q_full, k, "load_piece()") end
end

-- ahead: the first piece's blocks are asked for before there is a Q, and its end is near behind such a block.
local function load_cache(x, a, half, pieces)
  local used = { [0] = 0, 0 }
  if x.v.ahead then begin_together(x, a) end
  for k, piece in ipairs(pieces) do
    local blocks = piece.blocks
    local near_end = (not x.v.many or half > 0) and -1 or math.max(1, blocks - ASK)
    for j = 0, blocks - 1 do
      local b, use = next_turn(x, used, j)
      if j == 1 and not (x.v.ahead and k == 1) then await_q(x, a, half, k - 1) end
      if j == near_end and not x.v.ahead then a:arrive(x.near_end, k - 1, "load_piece()") end
      load_block(x, a, half, j, b, use)
      if j == near_end and x.v.ahead then
        await_q(x, a, half, k - 1)
        a:arrive(x.near_end, k - 1, "load_piece()")
      end
    end
    if x.v.many and half == 0 and blocks < 2 then
      a:wait(x.q_full, k - 1, "load_piece()")
      a:arrive(x.near_end, k - 1, "load_piece()")
    end
    if not x.v.many then return end
  end
end

-- ---- Loaders that copy rows one by one (gather.h) -----------------------------------------------------------------------
local function publish(x, a, n, what)
  a:wait(x.table_empty[n % TABLES], n // TABLES - 1, "publish()")
  a:write(x.tables[n % TABLES], what, "publish()")
  a:arrive(x.table_full[n % TABLES], n // TABLES, "publish()")
end

-- One warp lists the blocks of all pieces, and behind them that there are no more.
local function list_blocks(x, a, pieces)
  local n = 0
  for k, piece in ipairs(pieces) do
    local blocks = piece.blocks
    local near_end = x.v.many and math.max(1, blocks - ASK) or -1
    for j = 0, blocks - 1 do
      if j == 1 then a:wait(x.q_full, k - 1, "list_piece()") end
      if j == near_end then a:arrive(x.near_end, k - 1, "list_piece()") end
      publish(x, a, n, k .. "." .. j)
      n = n + 1
    end
    if x.v.many and blocks < 2 then
      a:wait(x.q_full, k - 1, "list_piece()")
      a:arrive(x.near_end, k - 1, "list_piece()")
    end
    if not x.v.many then break end
  end
  publish(x, a, n, "end")
end

-- The same of index lists, whose tables are filled as entries are found: the next one is given back before it is begun.
local function list_rows(x, a, pieces)
  local n = 0
  for k, piece in ipairs(pieces) do
    for j = 0, piece.blocks - 1 do
      a:write(x.tables[n % TABLES], k .. "." .. j, "list_rows()")
      a:arrive(x.table_full[n % TABLES], n // TABLES, "list_rows()")
      n = n + 1
      a:wait(x.table_empty[n % TABLES], n // TABLES - 1, "list_rows()")
    end
    if not x.v.many then break end
  end
  publish(x, a, n, "end")
end

local function count_list(x, a, w)
  a:write(x.counts[w], 0, "count_list()")
  a:pass(x.counted, "count_list()")
end

local function read_table(x, a, n, what, read)
  a:wait(x.table_full[n % TABLES], n // TABLES, "read_table()")
  read()
  a:read(x.tables[n % TABLES], what, "read_table()")
  a:arrive(x.table_empty[n % TABLES], n // TABLES, "read_table()")
end

-- Calls, for each block that is listed, read(j, buffer, use) while its table is held, and then visit(buffer, use, j).
local function read_tables(x, a, pieces, read, visit)
  local used, n = { [0] = 0, 0 }, 0
  for k, piece in ipairs(pieces) do
    for j = 0, piece.blocks - 1 do
      local b, use = next_turn(x, used, j)
      read_table(x, a, n, k .. "." .. j, function() read(j, b, use) end)
      n = n + 1
      visit(j, b, use)
    end
    if not x.v.many then break end
  end
  read_table(x, a, n, "end", function() end)
end

local function copy_group(x, a, where, j, b, use, group, place)
  if use > 0 then a:wait(x.empty[b][group], use - 1, where) end
  a:arrive(x.full[b][group], use, where, 1)
  a:copy(x.full[b][group], use, where, x.slices[b][group][place], j .. "/" .. use)
end

-- Rope of the blocks that are odd, or not, in one piece.
local function copy_rope(x, a, odd, pieces)
  read_tables(x, a, pieces, function(j, b, use)
    if j & 1 == odd then copy_group(x, a, "copy_rope()", j, b, use, ROPE, 1) end
  end, function() end)
end

-- Copier w: its rows of every quarter, in the order in which QK takes them.
local function copy_quarters(x, a, w, pieces)
  if x.v.lists then count_list(x, a, w) end
  read_tables(x, a, pieces, function() end, function(j, b, use)
    for i = 0, 3 do copy_group(x, a, "copy_quarters()", j, b, use, i ~ 2, 1 + w) end
  end)
end

-- ---- Q ------------------------------------------------------------------------------------------------------------------
local function load_last(x, a, k, more)
  for w = 0, more and x.v.warps - 1 or -1 do a:copy(x.q_full, k, "load_last()", x.p[0][w], "Q " .. k) end
  a:arrive(x.q_full, k, "load_last()", more and 1 + x.v.warps or 0)
end

-- more: there is such a piece, else the facts say that there is none.
local function tell(x, a, k, more)
  a:write(x.facts, k, "tell()")
  if more then a:write(x.copies[k & 1], k, "tell()") end
end

local function say_checked(x, a, k)
  local where = x.v.gather and "say_checked()" or "load_queries()"
  a:write(x.bad[k & 1], k, where)
  a:arrive(x.checked, k, where)
end

local function say_piece(x, a, k)
  tell(x, a, k, true)
  a:write(x.bad[k & 1], k, "say_piece()")
  a:arrive(x.checked, k, "say_piece()")
  load_last(x, a, k, true)
end

local function say_lists(x, a, pieces)
  a:copy(x.q_full, 0, "load_q()", x.q, 0)
  a:write(x.sinks, 0, "say_lists()")
  a:sync(x.counted, "say_lists()")
  for w = 0, x.v.warps - 1 do a:read(x.counts[w], 0, "say_lists()") end
  say_piece(x, a, 0)
  for k = 0, x.v.many and #pieces - 1 or -1 do
    local more = k + 1 < #pieces
    a:wait(x.q_empty, k, "say_lists()")
    if more then a:copy(x.q_full, k + 1, "load_q()", x.q, k + 1) end
    a:wait(x.last_empty, k, "say_lists()")
    if more then say_piece(x, a, k + 1)
    else
      tell(x, a, k + 1, false)
      load_last(x, a, k + 1, false)
    end
  end
end

local function load_queries(x, a, pieces)
  if x.v.ahead then begin_together(x, a) end
  if #pieces > 0 and not x.v.ahead then a:copy(x.q_full, 0, "load_q()", x.q, 0) end
  tell(x, a, 0, #pieces > 0)
  if x.v.ahead then a:arrive(x.q_full, 0, "load_queries()") else load_last(x, a, 0, #pieces > 0) end
  if #pieces == 0 then return end
  say_checked(x, a, 0)
  if not x.v.many then return end
  for k = 0, #pieces - 1 do
    local more = k + 1 < #pieces
    if more then a:write(x.ahead, k + 1, "load_queries()") end
    a:wait(x.near_end, k, "load_queries()")
    a:wait(x.q_empty, k, "load_queries()")
    if more then a:copy(x.q_full, k + 1, "load_q()", x.q, k + 1) end
    a:wait(x.last_empty, k, "load_queries()")
    if more then a:read(x.ahead, k + 1, "load_queries()") end
    tell(x, a, k + 1, more)
    if more and not x.v.gather then a:write(x.bad[k + 1 & 1], k + 1, "load_queries()") end
    load_last(x, a, k + 1, more)
    if not x.v.gather then a:arrive(x.checked, k + 1, "load_queries()")
    elseif more then say_checked(x, a, k + 1) end
  end
end

-- ---- Math ---------------------------------------------------------------------------------------------------------------
-- c: a warp of a math warpgroup: x, a (the agent), wg, w, id among the block's math warps, k, used.
local function turn_of(c, who, i)
  local n = c.used[who] + i
  return who + 2 * (n % c.x.turns), n // c.x.turns
end
local function version_of(c, who, i)
  local _, use = turn_of(c, who, i)
  return (2 * i + who) .. "/" .. use
end
local function of_p(c, who, i) return ("%d.%d"):format(c.k, 2 * i + who) end

local function give_back(c, b, use, group)
  c.a:arrive(c.x.empty[b][group], use, "give_back()")
  if c.x.v.cluster == 2 then c.a:arrive(peer(c.x).empty[b][group], use, "give_back()") end
end

local function read_slices(c, b, group, version, what)
  local x = c.x
  c.a:read(x.slices[b][group][1], version, what)
  if (x.v.gather or x.v.cluster == 2 and x.v.shared) and group ~= ROPE then c.a:read(x.slices[b][group][2], version, what) end
end

-- Each warp brings a share of the first Q. One of the warps that bring a math warp's rows of the last slice is one whose rows
-- they are not.
local function take_q(c)
  local w = c.id // 2
  c.a:write(c.x.brought[c.id], 0, "take_q()")
  if c.id == 0 then c.a:write(c.x.q, 0, "take_q()") end
  if c.id % 2 == (w == 0 and 1 or 0) then c.a:write(c.x.p[0][w], "Q 0", "take_q()") end
  c.a:sync(c.x.both, "take_q()")
end
local function read_q(c, what)
  c.a:read(c.x.q, c.k, what)
  for id = 0, 2 * c.x.v.warps - 1 do
    if not c.x.v.ahead then c.a:read(c.x.cleared[id], 0, what)
    elseif c.k == 0 then c.a:read(c.x.brought[id], 0, what) end
  end
end

local function multiply_group(c, i, group, what)
  local b, use = turn_of(c, c.wg, i)
  c.a:wait(c.x.full[b][group], use, what)
  read_slices(c, b, group, version_of(c, c.wg, i), what)
end
local function quarter(c, i) return c.wg == 0 and not c.x.v.gather and (i & 1) * 2 + i // 2 or i ~ 2 end
local function multiply_first(c, i) multiply_group(c, i, c.x.v.rope > 0 and ROPE or quarter(c, 0), "multiply_first()") end
local function multiply_rest(c, i)
  for n = c.x.v.rope > 0 and 0 or 1, 3 do multiply_group(c, i, quarter(c, n), "multiply_rest()") end
  if c.x.v.rope == 0 then read_q(c, "multiply_rest()") end
end

-- rotate: the rope slice is turned in place, by all warps of the warpgroup, before any multiplies it.
local function rotate(c, i)
  if not c.x.v.rotate then return end
  c.a:read(c.x.facts, c.k, "rotate_block()")
  multiply_group(c, i, ROPE, "rotate_block()")
  c.a:sync(c.x.own[c.wg], "rotate_block()")
end

-- Half h of P V of block i of `who`; P of the other warpgroup lies in shared memory.
local function finish_half(c, who, i, h)
  local b, use = turn_of(c, who, i)
  read_slices(c, b, 2 * c.wg + h, version_of(c, who, i), "finish_v()")
  if who ~= c.wg and h == 1 then
    for w = 0, c.x.v.warps - 1 do c.a:read(c.x.p[b][w], of_p(c, who, i), "finish_v()") end
  end
  give_back(c, b, use, 2 * c.wg + h)
end

local function clear_tail(c, last, name)
  if not last then return end
  c.a:read(c.x.facts, c.k, "clear_tail()")
  c.a:sync(c.x.own[c.wg], "clear_tail()")
  c.a:write(c.x.zeros[c.id], name, "clear_tail()")
  c.a:sync(c.x.own[c.wg], "clear_tail()")
  for w = 0, c.x.v.warps - 1 do c.a:read(c.x.zeros[c.wg * c.x.v.warps + w], name, "multiply_v()") end
end

local function bring_to_block(c, who, i)
  local b = turn_of(c, who, i)
  c.a:sync(c.x.m_ready[b], "bring_to_block()")
  c.a:read(c.x.m[b][c.w], of_p(c, who, i), "bring_to_block()")
end
local function reference(c, i, mine)
  local b, use = turn_of(c, c.wg, i)
  if c.x.v.rope > 0 then give_back(c, b, use, ROPE) end
  if i == mine - 1 then -- q_done()
    read_q(c, "S")
    c.a:arrive(c.x.q_empty, c.k, "q_done()")
    c.a:read(c.x.facts, c.k, "find_reference()")
  end
  c.a:write(c.x.m[b][c.w], of_p(c, c.wg, i), "publish_reference()")
  c.a:pass(c.x.m_ready[b], "publish_reference()")
end
local function make_p(c, i) c.a:write(c.x.p[turn_of(c, c.wg, i)][c.w], of_p(c, c.wg, i), "make_p()") end
local function publish_p(c, i) c.a:pass(c.x.p_ready[turn_of(c, c.wg, i)], "publish_p()") end
local function wait_p(c, who, i) c.a:sync(c.x.p_ready[turn_of(c, who, i)], "P_READY") end
local function load_reference(c, i) c.a:read(c.x.m[turn_of(c, c.wg, i)][c.w], of_p(c, c.wg, i), "load_reference()") end

local function own_as_a(c, i, mine, blocks, other)
  reference(c, i, mine)
  if other >= 0 then
    wait_p(c, 1, other)
    load_reference(c, i)
  end
  make_p(c, i)
  if other >= 0 then finish_half(c, 1, other, 0) end
  publish_p(c, i)
  if other >= 0 then finish_half(c, 1, other, 1) end
  clear_tail(c, 2 * i == blocks - 1, of_p(c, 0, i))
  finish_half(c, 0, i, 0)
  load_reference(c, i) -- add_sums()
  finish_half(c, 0, i, 1)
end

local function blocks_as_a(c, blocks)
  local mine, others = (blocks + 1) // 2, blocks // 2
  if mine == 0 then return c.a:arrive(c.x.q_empty, c.k, "q_done()") end
  rotate(c, 0)
  multiply_first(c, 0)
  multiply_rest(c, 0)
  if others > 0 then c.a:pass(c.x.first, "FIRST_ISSUED") end
  own_as_a(c, 0, mine, blocks, -1)
  for i = 1, mine - 1 do
    rotate(c, i)
    c.a:sync(c.x.issued, "SCORES_ISSUED")
    multiply_first(c, i)
    multiply_rest(c, i)
    bring_to_block(c, 1, i - 1)
    own_as_a(c, i, mine, blocks, i - 1)
  end
  if others ~= mine then return end
  c.a:sync(c.x.issued, "SCORES_ISSUED")
  bring_to_block(c, 1, others - 1)
  wait_p(c, 1, others - 1)
  clear_tail(c, true, of_p(c, 1, others - 1))
  for h = 0, 1 do finish_half(c, 1, others - 1, h) end
end

local function own_as_b(c, i, mine, blocks)
  reference(c, i, mine)
  make_p(c, i)
  clear_tail(c, 2 * i + 1 == blocks - 1, of_p(c, 1, i))
  publish_p(c, i)
  finish_half(c, 1, i, 0)
  load_reference(c, i)
  finish_half(c, 1, i, 1)
end

local function blocks_as_b(c, blocks)
  local mine, others = blocks // 2, (blocks + 1) // 2
  if mine == 0 then c.a:arrive(c.x.q_empty, c.k, "q_done()") end
  for i = 0, mine - 1 do
    rotate(c, i)
    if i == 0 then
      c.a:sync(c.x.first, "FIRST_ISSUED")
      multiply_first(c, 0)
      multiply_rest(c, 0)
      c.a:pass(c.x.issued, "SCORES_ISSUED")
    end
    bring_to_block(c, 0, i)
    wait_p(c, 0, i)
    if i > 0 then multiply_first(c, i) end
    for h = 0, 1 do finish_half(c, 0, i, h) end
    if i > 0 then
      multiply_rest(c, i)
      c.a:pass(c.x.issued, "SCORES_ISSUED")
    end
    own_as_b(c, i, mine, blocks)
  end
  if others == mine then return end
  bring_to_block(c, 0, mine)
  wait_p(c, 0, mine)
  clear_tail(c, true, of_p(c, 0, mine))
  for h = 0, 1 do finish_half(c, 0, mine, h) end
end

-- A piece that is not all of its request goes to the partial results, for the combine kernel.
local function finish(c, piece)
  local x, a, k, math = c.x, c.a, c.k, 2 * c.x.v.warps
  if x.v.many then a:arrive(x.last_empty, k, "finish()") end
  a:read(x.copies[k & 1], k, "finish()")
  if piece.cut then a:write(x.tops[c.id], k, "find_tops()") end
  a:write(x.sums[c.id], k, "finish()")
  a:sync(x.both, "finish()")
  local other = (c.id + x.v.warps) % math
  a:read(x.bad[k & 1], k, "finish()")
  if x.v.lists then a:read(x.sinks, 0, "finish()") end
  a:read(x.sums[other], k, "finish()")
  a:read(x.copies[k & 1], k, "finish()")
  if piece.cut then
    a:read(x.tops[other], k, "write_narrow()")
    return
  end
  a:write(x.stage[c.id], k, "write_columns()") -- in the second P's place
  if c.wg == 0 then a:write(x.p[1][c.w], "O " .. k, "write_columns()") end
  a:read(x.stage[c.id], k, "write_columns()")
end

local function work_on_blocks(c, pieces)
  local x, a = c.x, c.a
  if x.v.ahead then begin_together(x, a) else a:write(x.cleared[c.id], 0, "clear_q()") end
  for k = 0, #pieces do
    c.k = k
    a:wait(x.q_full, k, "work_on_blocks()")
    a:read(x.facts, k, "work_on_blocks()")
    local piece = pieces[k + 1]
    if not piece then return end
    if x.v.ahead and k == 0 then take_q(c) end
    a:read(x.p[0][c.w], "Q " .. k, "load_matrices()")
    a:sync(x.both, "work_on_blocks()")
    local blocks = piece.blocks
    if c.wg == 0 then blocks_as_a(c, blocks) else blocks_as_b(c, blocks) end
    c.used[0], c.used[1] = c.used[0] + (blocks + 1) // 2, c.used[1] + blocks // 2
    a:wait(x.checked, k, "work_on_blocks()")
    finish(c, piece)
    if not x.v.many then return end
  end
end

-- ---- The kernel ---------------------------------------------------------------------------------------------------------
-- The barriers that the first, second and third warp makes.
local function made(x)
  local full, empty, list = {}, {}, { x.q_full, x.q_empty, x.last_empty, x.checked, x.near_end }
  for b = 0, x.v.buffers - 1 do
    for g = 0, x.v.rope > 0 and ROPE or ROPE - 1 do full[#full + 1], empty[#empty + 1] = x.full[b][g], x.empty[b][g] end
  end
  for i = 0, x.v.gather and TABLES - 1 or -1 do table.move({ x.table_full[i], x.table_empty[i] }, 1, 2, #list + 1, list) end
  return { full, empty, list }
end

local function agents_of(m, x, pieces)
  local v, list = x.v, {}
  local function add(name, body) list[#list + 1] = { m:agent(("block %d %s"):format(x.id, name), x.id), body } end
  if v.gather then
    add("lister", function(a) if v.lists then list_rows(x, a, pieces) else list_blocks(x, a, pieces) end end)
    for odd = 0, 1 do
      add("copier of rope " .. odd, function(a) if v.rope > 0 then copy_rope(x, a, odd, pieces) end end)
    end
    for w = 0, v.warps - 1 do add("copier " .. w, function(a) copy_quarters(x, a, w, pieces) end) end
  else
    for half = 0, v.rope > 0 and 2 or 1 do add("loader " .. half, function(a) load_cache(x, a, half, pieces) end) end
    if v.rope == 0 then add("idle loader", function(a) if v.ahead then begin_together(x, a) end end) end
  end
  add("loader of Q", function(a) if v.lists then say_lists(x, a, pieces) else load_queries(x, a, pieces) end end)
  for id = 0, 2 * v.warps - 1 do
    local wg, w = id // v.warps, id % v.warps
    add(("%s.%d"):format(wg == 0 and "A" or "B", w), function(a)
      work_on_blocks({ x = x, a = a, wg = wg, w = w, id = id, used = { [0] = 0, 0 } }, pieces)
    end)
  end
  local maker = v.ahead and #list - 2 * v.warps + 1 -- of math the first warp makes them all
  for i, one in ipairs(list) do
    local a, body = one[1], one[2]
    for n, barriers in ipairs(made(x)) do
      if i == (maker or n) then a:make(barriers, "kernel") end
    end
    if not v.ahead then
      a:sync(x.begin, "kernel")
      if v.cluster == 2 then a:sync(x.cluster, "kernel, begin") end
    end
    body(a)
    if v.cluster == 2 then
      a:sync(x.close, "kernel")
      a:sync(x.cluster, "kernel, end")
    end
  end
end

-- pieces: of a block, or of both of a pair, which walk alike, each { blocks, cut }.
function sm90_many.model(v, pieces)
  local m = protocol.new()
  local parties = 2 * v.warps + 4 + (v.gather and v.warps or 0)
  local pair = { first = 1, cluster = m:named("cluster", parties * v.cluster) }
  for id = 1, v.cluster do pair[id] = block(m, v, id, pair, parties) end
  for _, x in ipairs(pair) do agents_of(m, x, pieces) end
  return m
end

-- The part of a kernel that is run: the arguments of sm90_few.lua beside hold, with buffers in place of a
-- ring of boxes; the order of a piece's products has a first block, a last one, and is even or odd. Of several pieces some are
-- cut: a walk's first and last, in turns with splits all of them; every pair of neighbours is there.
function sm90_many.cases(v, all)
  if not v.many then
    local out, most = { not v.lists and {} or nil }, v.buffers + 3
    for blocks = all and 0 or most, most do
      for _, cut in ipairs({ false, true }) do out[#out + 1] = { { blocks = blocks, cut = cut } } end
    end
    return out
  end
  local pieces = {}
  for i, blocks in ipairs(all and protocol.WALK or protocol.QUICK) do pieces[i] = { blocks = blocks, cut = i & 2 > 0 } end
  return { pieces, all and not v.lists and {} or nil }
end

return sm90_many
