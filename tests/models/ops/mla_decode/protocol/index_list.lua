-- Index lists that producers read themselves (templates/mla_decode/lib/index_list.h), for the kernels' models beside. A model x
-- has `made`, the producers' named barrier, and v.lists: the table is filled anew at each so manieth tile.
local index_list = {}

-- The places of producers' tables; place(name) makes one.
function index_list.add_places(x, producers, place)
  x.front, x.table, x.counts = place("front of the table"), {}, {}
  for k = 1, producers do x.table[k], x.counts[k] = place("table"), place("counts") end
end

local function keep_entries(x, a, who, version)
  a:write(x.counts[who], version, "keep_entries()")
  a:sync(x.made, "keep_entries()")
  for k = 1, #x.table do a:read(x.counts[k], version, "keep_entries()") end
  a:write(x.table[who], version, "keep_entries()")
  a:sync(x.made, "keep_entries()")
end

function index_list.begin(x, a, who)
  if who == 1 then a:write(x.front, 0, "keep_entries()") end
  keep_entries(x, a, who, 0)
end

-- The table for tile t of a list, and what a tile reads of it.
function index_list.refill(x, a, who, t)
  local function read_all(version, what)
    a:read(x.front, version, what)
    for k = 1, #x.table do a:read(x.table[k], version, what) end
  end
  local version = t // x.v.lists
  if t > 0 and t % x.v.lists == 0 then
    if who == 1 then read_all(version - 1, "refill_list(), what is left") end
    a:sync(x.made, "refill_list()")
    if who == 1 then a:write(x.front, version, "refill_list()") end
    keep_entries(x, a, who, version)
  end
  read_all(version, "produce_list()")
end

return index_list
