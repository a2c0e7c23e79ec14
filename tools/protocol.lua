-- lua5.4 tools/protocol.lua known                     gen/ops/mla_decode/protocol/known.lua anew, on stdout
-- lua5.4 tools/protocol.lua KERNEL name=value ...     what the check says of a kernel, and how the first finding happens
--   Example: sm90_few boxes=9 ring=20 places=1 wgs=2 rope=64 cluster=1 schedule=splits load=tma ordered=0
local root = arg[0]:match("^(.*)/tools/[^/]*$") or "."
local loader = dofile(root .. "/tests/models/loader.lua")(root)
local protocol = loader.require("protocol")

local DEFAULTS = {
  sm90_few = { boxes = 9, ring = 18, places = 1, wgs = 1, rope = 64, cluster = 1, schedule = "splits", load = "tma",
    ordered = true,
    rounds = 2, raises = 0, warps = 2 },
  sm90_mid = { boxes = 9, ring = 15, rope = 64, schedule = "splits", gather = false, pairs = false, warps = 2 },
  sm90_many = { buffers = 2, rope = 64, cluster = 1, shared = true, many = true, gather = false, warps = 2 },
  sm90_small_rank = { buffers = 4, schedule = "splits", warps = 2 },
  sm90_raw = { boxes = 1, ring = 4, places = 1, wgs = 2, cluster = 1, schedule = "splits", rounds = 2, raises = 0, warps = 2 },
  sm90_raw_mid = { boxes = 1, ring = 3, ps = 2, schedule = "fitted", raises = 1, warps = 2, scored = true, teams = 1 },
}

local function parameters(name, words)
  local v = {}
  for key, value in pairs(DEFAULTS[name]) do v[key] = value end
  for _, word in ipairs(words) do
    local key, value = word:match("^(%w+)=(%w+)$")
    if v[key or ""] == nil then error(("'%s' is no parameter of %s"):format(word, name), 0) end
    if type(v[key]) == "boolean" then v[key] = value == "1" or value == "true"
    else v[key] = math.tointeger(tonumber(value)) or value end
  end
  if v.teams == 1 then v.teams = nil end -- as models have it
  return v
end

local function show(name, words)
  if not DEFAULTS[name] then
    error(("no kernel '%s': sm90_few, sm90_many, sm90_mid, sm90_raw, sm90_raw_mid or sm90_small_rank"):format(name), 0)
  end
  local kernel, v = loader.require("ops/mla_decode/protocol/" .. name), parameters(name, words)
  local wrong = 0
  for i, case in ipairs(kernel.cases(v, true)) do
    local m = kernel.model(v, case)
    local findings = protocol.check(m)
    for _, found in ipairs(findings) do print(("case %d: %s"):format(i, found.text)) end
    if wrong == 0 and findings[1] then print("goes wrong when\n" .. protocol.witness(m, findings[1])) end
    wrong = wrong + #findings
  end
  print(wrong == 0 and "nothing found" or wrong .. " found")
end

-- Rings of a kernel that the check refuses, by boxes of a tile.
local function refused(name, tiles, of)
  local out = {}
  for boxes = 1, 9 do
    local list = {}
    for ring = boxes + 1, tiles * boxes do
      local v = of(boxes, ring)
      if protocol.first(loader.require("ops/mla_decode/protocol/" .. name), v) then list[#list + 1] = ring end
    end
    out[boxes] = ('"%s"'):format(table.concat(list, " "))
  end
  return ("{ %s,\n        %s },"):format(table.concat(out, ", ", 1, 6), table.concat(out, ", ", 7))
end

local function write_known()
  print("-- The check's answers for rings, for rules.lua beside. Written by tools/protocol.lua known: do not edit.")
  print("-- Each kind of kernel has, for tiles of 1, 2, ... 9 boxes: rings of boxes + 1 to tiles * boxes that are refused;")
  print("-- and numbers of buffers that are right, where they are the ring.")
  print("return {\n  sm90_few = {\n    tiles = 4,")
  for _, load in ipairs({ "gather", "tma" }) do
    for rope = 0, 1 do
      for wgs = 1, 2 do
        print(('    ["%s,rope=%d,wgs=%d"] =\n      %s'):format(load, rope, wgs, refused("sm90_few", 4, function(boxes, ring)
          return parameters("sm90_few", { "load=" .. load, "rope=" .. 64 * rope, "wgs=" .. wgs, "boxes=" .. boxes,
            "ring=" .. ring })
        end)))
      end
    end
  end
  print("  },\n  sm90_mid = {\n    tiles = 3,")
  for _, kind in ipairs({ { "boxes" }, { "gather", "gather=1" }, { "pairs", "gather=1", "pairs=1" } }) do
    for rope = 0, 1 do
      print(('    ["%s,rope=%d"] =\n      %s'):format(kind[1], rope, refused("sm90_mid", 3, function(boxes, ring)
        return parameters("sm90_mid", { "rope=" .. 64 * rope, "boxes=" .. boxes, "ring=" .. ring, kind[2], kind[3] })
      end)))
    end
  end
  print("  },")
  for _, name in ipairs({ "sm90_many", "sm90_small_rank" }) do
    local list = {}
    for buffers = 2, 8, name == "sm90_many" and 2 or 1 do
      local v = parameters(name, { "buffers=" .. buffers })
      local right = not protocol.first(loader.require("ops/mla_decode/protocol/" .. name), v)
      if name == "sm90_many" then
        v.gather = true
        right = right and not protocol.first(loader.require("ops/mla_decode/protocol/" .. name), v)
      end
      if right then list[#list + 1] = ("[%d] = true"):format(buffers) end
    end
    print(("  %s = { %s },"):format(name, table.concat(list, ", ")))
  end
  local list = {}
  for ring = 2, 6 do
    local right = true
    for _, change in ipairs({ {}, { "cluster=2" }, { "schedule=fitted" }, { "schedule=fitted", "cluster=2" } }) do
      local v = parameters("sm90_raw", { "ring=" .. ring, table.unpack(change) })
      for _, o_boxes in ipairs(v.schedule == "fitted" and { 0, 1 } or { 0 }) do
        v.o_boxes = o_boxes > 0 and o_boxes or nil
        right = right and not protocol.first(loader.require("ops/mla_decode/protocol/sm90_raw"), v)
      end
    end
    if right then list[#list + 1] = ("[%d] = true"):format(ring) end
  end
  print(("  sm90_raw = { %s },"):format(table.concat(list, ", ")))
  list = {}
  for ring = 2, 6 do
    local right = true
    for _, schedule in ipairs({ "splits", "fitted" }) do
      for _, of in ipairs({ { "ps=1" }, { "ps=2" }, { "scored=0", "teams=2" } }) do
        local v = parameters("sm90_raw_mid", { "ring=" .. ring, "schedule=" .. schedule, table.unpack(of) })
        right = right and not protocol.first(loader.require("ops/mla_decode/protocol/sm90_raw_mid"), v)
      end
    end
    if right then list[#list + 1] = ("[%d] = true"):format(ring) end
  end
  print(("  sm90_raw_mid = { %s },"):format(table.concat(list, ", ")))
  print("}")
end

local ok, why = pcall(function()
  if arg[1] == "known" then write_known()
  elseif arg[1] then show(arg[1], table.move(arg, 2, #arg, 1, {}))
  else error("lua5.4 tools/protocol.lua known | KERNEL name=value ...", 0) end
end)
if not ok then
  io.stderr:write("error: ", why, "\n")
  os.exit(1)
end
