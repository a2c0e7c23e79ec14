-- The arrows of the house, from its includes: a room of runtime/ may include rooms below it, never one above or beside it.
--   lua5.4 tools/rooms.lua [--print]      exit 1 and a line for each arrow that goes up; --print: all arrows, with counts
--   lua5.4 tools/rooms.lua --floors       the floors alone, from the ground up: what tools/draw.lua draws
-- A test (T0) runs it. Files named by both are found by folder, so a new operation needs no line here.
local ROOT = arg[0]:match("^(.*)/tools/[^/]*$") or "."

-- The floors, from the ground up. Rooms of a floor do not know each other; so no two operations do.
local FLOORS = {
  { "base" },
  { "device" },
  { "compile", "gen" },
  { "hip", "cuda", "emu" },
  { "op" },
  { "ops/*" },
  { "db" },
  { "run" },
  { "check" },
  { "tune", "bundle" },
  { "plan" },
  { "ops/*/face" }, -- public functions that take an operation's typed structs
  { "layer" }, -- a plan of plans
  { "report", "rig" }, -- pages; layers and kernels put on a device to be checked, timed and counted
  { "embed", "op/embed", "ops/*/embed" },
  { "cli" },
}
if arg[1] == "--floors" then
  for _, rooms in ipairs(FLOORS) do print(table.concat(rooms, " ")) end
  os.exit(0)
end
-- Devices are reached by the calls of runtime/device, never by their headers.
local CLOSED = { hip = true, cuda = true, emu = true }
-- Arrows that still go the wrong way, "room -> room": why. One that is gone must leave this list.
local KNOWN = {
}

local floor = {}
for i, rooms in ipairs(FLOORS) do
  for _, room in ipairs(rooms) do floor[room] = i end
end
local function floor_of(room) return floor[room] or floor[room:gsub("^([^/]*)/[^/]*", "%1/*")] end

local function lines_of(command)
  local p = assert(io.popen(command))
  local out = {}
  for line in p:lines() do out[#out + 1] = line end
  p:close()
  return out
end

-- { "a -> b" = { "file -> header", ... } }, and the rooms seen
local function arrows()
  local found, rooms = {}, {}
  local files = lines_of(("cd '%s/runtime' && find . -name '*.[ch]' | sort"):format(ROOT))
  for _, path in ipairs(files) do rooms[path:match("^%./(.*)/[^/]*$")] = true end
  for _, path in ipairs(files) do
    local from = path:match("^%./(.*)/[^/]*$")
    for line in io.lines(ROOT .. "/runtime/" .. path) do
      local header = line:match('^#include "([^"]+)"')
      local to = header and header:match("^(.*)/[^/]*$")
      if to and rooms[to] and to ~= from then
        local name = from .. " -> " .. to
        found[name] = found[name] or { from = from, to = to }
        table.insert(found[name], path:sub(3) .. " -> " .. header)
      end
    end
  end
  return found, rooms
end

local found, rooms = arrows()
local faults, names = {}, {}
for name in pairs(found) do names[#names + 1] = name end
table.sort(names)
for room in pairs(rooms) do
  if not floor_of(room) then faults[#faults + 1] = ("runtime/%s stands on no floor: name it in tools/rooms.lua"):format(room) end
end
for _, name in ipairs(names) do
  local a = found[name]
  local from, to = floor_of(a.from), floor_of(a.to)
  local wrong = from and to and (to >= from or CLOSED[a.to])
  if arg[1] == "--print" then
    print(("%-32s %3d%s"):format(name, #a, wrong and "  up" or ""))
  end
  if wrong and not KNOWN[name] then
    for _, include in ipairs(a) do faults[#faults + 1] = ("upward arrow %s: %s"):format(name, include) end
  end
  if KNOWN[name] and not wrong then faults[#faults + 1] = name .. " goes down now: take it out of KNOWN" end
end
for name in pairs(KNOWN) do
  if not found[name] then faults[#faults + 1] = name .. " is gone: take it out of KNOWN" end
end
table.sort(faults)
for _, fault in ipairs(faults) do io.stderr:write("rooms: ", fault, "\n") end
local n, known = 0, 0
for _ in pairs(rooms) do n = n + 1 end
for _ in pairs(KNOWN) do known = known + 1 end
print(("rooms: %d rooms, %d arrows, %d of them still up, %d faults"):format(n, #names, known, #faults))
os.exit(#faults == 0 and 0 or 1)
