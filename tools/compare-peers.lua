-- lua5.4 tools/compare-peers.lua [--set A,B] [--pass idle] PEERS.csv OURS.csv...
-- Sets other kernels' figures beside ours: for each problem our time (the median of the files that have it, and how far apart
-- they are), the best peer's, the roofline of our own run and the ratios. All files have the columns of `mlaforge bench --csv`.
-- A problem is what the columns set, B, ctx, var, H, q, dtype, rank, rope say. Exit code 1: no row of ours has a peer.
local COLUMNS = { "set", "B", "ctx", "var", "H", "q", "dtype", "rank", "rope" }

local function die(...)
  io.stderr:write("compare-peers: ", string.format(...), "\n")
  os.exit(2)
end

-- Fields of a CSV line; quoted ones may hold commas.
local function fields(line)
  local out, at = {}, 1
  while at <= #line + 1 do
    local quoted, behind = line:match('^"([^"]*)"()', at)
    if quoted then
      out[#out + 1], at = quoted, behind + 1
    else
      local stop = line:find(",", at, true) or #line + 1
      out[#out + 1], at = line:sub(at, stop - 1), stop + 1
    end
  end
  return out
end

local function read(path)
  local f = io.open(path) or die("cannot read '%s'", path)
  local head, rows = nil, {}
  for line in f:lines() do
    local got = fields((line:gsub("\r$", "")))
    if not head then
      head = got
    else
      local row = {}
      for i, name in ipairs(head) do row[name] = got[i] or "" end
      rows[#rows + 1] = row
    end
  end
  f:close()
  if not head or #head < 12 then die("'%s' has no head of columns", path) end
  return rows
end

local function key(row)
  local parts = {}
  for i, name in ipairs(COLUMNS) do parts[i] = row[name] end
  return table.concat(parts, ",")
end

-- A row that may stand beside a decode call: its whole time, correct. Kernels taken apart and wrong results may not.
local function whole(row)
  local error = tonumber(row.relerr)
  return tonumber(row.us) and row.variant ~= "main only" and not row.variant:find("metadata") and not row.variant:find("plan")
    and not (error and error > 0.02) and not row.note:upper():find("WRONG")
end

local function median(list)
  table.sort(list)
  local n = #list
  return n % 2 == 1 and list[(n + 1) // 2] or (list[n // 2] + list[n // 2 + 1]) / 2
end

-- The passes of the peers' file: b and d rested before each measurement as our "idle" does, a and c did not.
local PASS = { a = "hot", b = "idle", c = "hot", d = "idle" }

local function peers_of(rows, pass)
  local best = {}
  for _, row in ipairs(rows) do
    local p = PASS[row.pass] or row.pass
    if p == pass and whole(row) then
      local k, us = key(row), tonumber(row.us)
      if not best[k] or us < best[k].us then best[k] = { us = us, peer = row.peer, variant = row.variant } end
    end
  end
  return best
end

local function ours_of(paths, pass, sets)
  local order, by = {}, {}
  for _, path in ipairs(paths) do
    for _, row in ipairs(read(path)) do
      if row.pass == pass and (not sets or sets[row.set]) and tonumber(row.us) then
        local k = key(row)
        if not by[k] then
          by[k] = { row = row, us = {}, roof = {} }
          order[#order + 1] = k
        end
        table.insert(by[k].us, tonumber(row.us))
        table.insert(by[k].roof, tonumber(row.roof_us))
        by[k].row = row
      end
    end
  end
  return order, by
end

local sets, pass, paths = nil, "idle", {}
local i = 1
while arg[i] do
  if arg[i] == "--set" or arg[i] == "--pass" then
    local value = arg[i + 1] or die("%s wants a value", arg[i])
    if arg[i] == "--pass" then
      pass = value
    else
      sets = {}
      for name in value:gmatch("[^,]+") do sets[name] = true end
    end
    i = i + 2
  else
    paths[#paths + 1], i = arg[i], i + 1
  end
end
if #paths < 2 then die("usage: lua5.4 tools/compare-peers.lua [--set A,B] [--pass idle|hot] PEERS.csv OURS.csv...") end

local best = peers_of(read(table.remove(paths, 1)), pass)
local order, by = ours_of(paths, pass, sets)
print("| set | B | ctx | H | q | dims | ours us | spread | roof us | x roof | best peer us | | peer x roof | ours / peer |")
print("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
local ratios, faster, missing = {}, 0, 0
for _, k in ipairs(order) do
  local x, peer = by[k], best[k]
  local row, us, roof = x.row, median(x.us), median(x.roof)
  local spread = #x.us > 1 and ("%.1f %%"):format(100 * (x.us[#x.us] - x.us[1]) / us) or "-"
  local beside = { "-", "-", "-", "-" }
  if peer then
    beside = { ("%.2f"):format(peer.us), peer.peer, ("%.2f"):format(peer.us / roof), ("**%.3f**"):format(us / peer.us) }
    ratios[#ratios + 1] = us / peer.us
    if us < peer.us then faster = faster + 1 end
  else
    missing = missing + 1
  end
  print(("| %s | %s | %s%s | %s | %s | %s/%s | %.2f | %s | %.2f %s | %.2f | %s |"):format(row.set, row.B, row.ctx,
    row.var == "1" and " var" or "", row.H, row.q, row.rank, row.rope, us, spread, roof, row.bound, us / roof,
    table.concat(beside, " | ")))
end
if #ratios == 0 then
  io.stderr:write("compare-peers: no problem of ours has a figure of a peer's in pass '", pass, "'\n")
  os.exit(1)
end
local product = 0
for _, r in ipairs(ratios) do product = product + math.log(r) end
local summary = "\n%d problems beside a peer: faster on %d; ours / best peer: geometric mean %.3f, median %.3f, best %.3f, "
  .. "worst %.3f; %d without a peer"
print(summary:format(#ratios, faster, math.exp(product / #ratios), median(ratios), ratios[1], ratios[#ratios], missing))
