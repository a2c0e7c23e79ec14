-- Build-time tool: tuning/layer-stages.tsv -> a C table of runtime/layer (choice.h). A line that is wrong stops the build.
--   lua5.4 tools/layer-stages.lua IN.tsv OUT.c
local path, out_path = assert(arg[1], "usage: lua5.4 layer-stages.lua IN.tsv OUT.c"), assert(arg[2], "no OUT.c")
local COLUMNS = { "target", "alternative", "heads", "from", "to", "margin", "device", "date", "method" }
local ALTERNATIVES = { ["q_b+append"] = "ALT_Q_B_APPEND", ["q_b+append+q_absorb"] = "ALT_Q_B_APPEND_ABSORB",
  ["decode+v_out"] = "ALT_DECODE_V_OUT", dequant = "ALT_DEQUANT_WEIGHTS", copies = "ALT_COPIES_16",
  kept_a = "ALT_KEPT_A", kept_q_b = "ALT_KEPT_Q_B", kept_o = "ALT_KEPT_O", kept_kv_b = "ALT_KEPT_KV_B" }

local here = arg[0]:match("^.*/") or ""
local measured = dofile(here .. "measured.lua")
local refuse, whole = measured.refuse, measured.whole

local HEADS_MOST = 256 -- of a rank, as operations take them
local function heads_of(row)
  local heads = whole(row, "heads")
  if heads > HEADS_MOST then refuse("heads is more than " .. HEADS_MOST, row.heads) end
  return heads
end

local function is_power(x) return x & (x - 1) == 0 end

local gen = here .. "../gen/"
local function is_target(name)
  local f = name:match("^[%w_]+$") and io.open(gen .. "arch/" .. name .. ".lua")
  return f and f:close()
end

local MOST = "INT64_MAX"
local function row_of(row)
  local alternative = ALTERNATIVES[row.alternative] or refuse("no alternative of a layer", row.alternative)
  local from, to = whole(row, "from", 1), row.to == "0" and 0 or whole(row, "to", MOST)
  if to ~= MOST and to ~= 0 and to < from then refuse("to is less than from", row.to) end
  if alternative ~= "ALT_DECODE_V_OUT" then -- a class of tokens has plans for what its first and its last number launch
    if not alternative:find("^ALT_KEPT") and not is_power(from - 1) then
      refuse("from must be 1 or one more than a power of two", row.from)
    end
    if to ~= MOST and not is_power(to) then refuse("to must be a power of two", row.to) end
  end
  local margin = row.margin == "-" and "0" or row.margin:match("^%d+%.?%d*$") or refuse("margin is no number", row.margin)
  if row.target ~= "*" and not is_target(row.target) then refuse("no target", row.target) end
  return ('    {"%s", %s, %d, %s, %s, %s},'):format(row.target, alternative, heads_of(row), from, to, margin)
end

local rows = measured.read(path, COLUMNS, row_of)
local f = assert(io.open(out_path, "w"))
f:write("/* Made of ", path:match("[^/]*$"), " by tools/layer-stages.lua. */\n#include \"layer/choice.h\"\n\n",
  "const layer_default layer_defaults[] = {\n", table.concat(rows, "\n"), "\n    {NULL, ALT_Q_B_APPEND, 0, 0, 0, 0},\n};\n")
assert(f:close())
