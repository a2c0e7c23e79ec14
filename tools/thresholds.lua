-- Build-time tool: tuning/thresholds.tsv -> mlaf_thresholds.h, a constant a line. A line that is wrong stops the build.
--   lua5.4 tools/thresholds.lua IN.tsv OUT.h
local path, out_path = assert(arg[1], "usage: lua5.4 thresholds.lua IN.tsv OUT.h"), assert(arg[2], "no OUT.h")
local measured = dofile((arg[0]:match("^.*/") or "") .. "measured.lua")
local seen = {}

local lines = measured.read(path, { "threshold", "value", "device", "date", "method" }, function(row)
  local name = row.threshold:match("^[a-z][a-z_]*$")
  if not name then measured.refuse("a threshold is called by small letters", row.threshold) end
  if seen[name] then measured.refuse("the threshold was there already", name) end
  seen[name] = true
  return ("  MLAF_%s = %d, /* %s, %s */"):format(name:upper(), measured.whole(row, "value"), row.device, row.date)
end)
local f = assert(io.open(out_path, "w"))
f:write("/* Made of ", path:match("[^/]*$"), " by tools/thresholds.lua. */\n",
  "#ifndef MLAF_THRESHOLDS_H\n#define MLAF_THRESHOLDS_H\n\nenum {\n", table.concat(lines, "\n"), "\n};\n\n#endif\n")
assert(f:close())
