-- lua5.4 tools/retime.lua MLAFORGE TUNING.tsv [--within PERCENT] [--from ROW] [--every N] [--write]: times modelled choices anew.
-- Each row of source `modelled` is timed by `MLAFORGE bench` on the emulator of its target. Rows whose time differs by more than
-- PERCENT (1) are printed; exit code 1 when there is one. Times depend on the emulator's model and on the compiler, so after a
-- change of either a file's times, its margins and perhaps its choices are no longer those that a search would find today.
--   --from, --every   row ROW (1) and each N-th behind it
--   --write           put the new times into the file instead, and the day into its header where all rows were timed. The margin
--                     of a row that is off by more than 5 % becomes 0: whom it led is not known any more. A row that has no time
--                     today keeps its own, and the exit code is 1
local mlaforge, file = arg[1], arg[2]
local within, from, every, write = 1, 1, 1, false
local i = 3
while i <= #arg do
  local word, value = arg[i], tonumber(arg[i + 1])
  if word == "--write" then write = true
  elseif word == "--within" and value then within, i = value, i + 1
  elseif word == "--from" and math.tointeger(value) then from, i = math.tointeger(value), i + 1
  elseif word == "--every" and (math.tointeger(value) or 0) > 0 then every, i = math.tointeger(value), i + 1
  else file = nil end
  i = i + 1
end
if not mlaforge or not file then
  io.stderr:write("usage: lua5.4 tools/retime.lua MLAFORGE TUNING.tsv [--within PERCENT] [--from ROW] [--every N] [--write]\n")
  os.exit(2)
end

local function stop(text, ...)
  io.stderr:write(text:format(...), "\n")
  os.exit(2)
end

local function quoted(word) return "'" .. word:gsub("'", "'\\''") .. "'" end

-- The modelled time of a row in ns; nil and what was said instead.
local function time_of(target, problem, variant)
  local command = ("%s bench %s --variant %s --device emu:%s --json 2>&1"):format(quoted(mlaforge), quoted(problem),
    quoted(variant), target)
  local pipe = assert(io.popen(command))
  local said = pipe:read("a")
  pipe:close()
  local ns = said:match('"timing":{"source":"modelled","ns":([%d.e+]+)')
  return tonumber(ns), said
end

local STAMP, MOVED, COLUMNS = "# Times of ", 0.05, { "device", "problem", "variant", "source", "ns", "margin" }
local at, lines, row, off, timed, untimed = nil, {}, 0, 0, 0, 0
local function judge(fields)
  row = row + 1
  if #fields < at.columns then stop("%s: row %d has %d columns of %d and more", file, row, #fields, at.columns) end
  local target = fields[at.device]:match("^arch:(.*)")
  if fields[at.source] ~= "modelled" or not target or row < from or (row - from) % every ~= 0 then return end
  timed = timed + 1
  local ns, said = time_of(target, fields[at.problem], fields[at.variant])
  local was = tonumber(fields[at.ns]) or stop("%s: row %d has the time '%s'", file, row, fields[at.ns])
  if not ns then untimed = untimed + 1 end
  if ns and math.abs(ns / was - 1) <= within / 100 then return end
  off = off + 1
  print(("%s %s: %.2f us, today %s"):format(fields[at.problem], fields[at.variant], was / 1000,
    ns and ("%.2f"):format(ns / 1000) or "none: " .. said:gsub("\n.*", "")))
  if not write or not ns then return end
  fields[at.ns] = ("%.6g"):format(ns)
  if math.abs(ns / was - 1) > MOVED then fields[at.margin] = "0" end
end
local input, why = io.open(file)
if not input then stop("%s", why) end
for line in input:lines() do
  if line:sub(1, 1) ~= "#" and line ~= "" then
    local fields = {}
    for field in (line .. "\t"):gmatch("([^\t]*)\t") do fields[#fields + 1] = field end
    if at then judge(fields)
    else
      at = { columns = #fields }
      for k, name in ipairs(fields) do at[name] = k end
      for _, name in ipairs(COLUMNS) do
        if not at[name] then stop("%s has no column %s", file, name) end
      end
    end
    line = table.concat(fields, "\t")
  end
  lines[#lines + 1] = line
end
input:close()
if timed == 0 then stop("%s has no modelled row that was asked for", file) end
print(("%d rows timed, %d of them off by more than %g %%"):format(timed, off, within))
if not write then os.exit(off == 0) end
if from == 1 and every == 1 and untimed == 0 then
  for k = #lines, 1, -1 do
    if lines[k]:sub(1, #STAMP) == STAMP then table.remove(lines, k) end
  end
  for k = 3, #lines - 1 do
    if lines[k]:sub(1, 1) == "#" and lines[k + 1]:sub(1, 1) ~= "#" then
      table.insert(lines, k + 1, STAMP .. os.date("!%Y-%m-%d") .. "'s emulator: checked by tools/retime.lua.")
      break
    end
  end
end
local out, refused = io.open(file .. ".new", "w")
local done = out and out:write(table.concat(lines, "\n"), "\n") and out:close()
if done then done, refused = os.rename(file .. ".new", file) end
if not done then stop("%s is as it was: %s", file, refused or "no room") end
os.exit(untimed == 0)
