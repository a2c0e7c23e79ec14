-- Build-time tool: tuning/models.tsv -> a C table. A line that is wrong stops the build with its number.
--   lua5.4 tools/models-table.lua IN.tsv OUT.c
local path, out_path = assert(arg[1], "usage: lua5.4 models-table.lua IN.tsv OUT.c"), assert(arg[2], "no OUT.c")

-- Columns in the file's order: name, member of mlaf_model, kind.
local COLUMNS = {
  { "name", "name", "text" }, { "heads", "heads", "whole" }, { "kv_lora_rank", "rank", "whole" }, { "rope", "rope", "whole" },
  { "qk_nope", "qk_nope", "whole" }, { "v_head", "v_head", "whole" }, { "hidden", "hidden", "whole" },
  { "q_lora_rank", "q_lora_rank", "whole" }, { "eps", "eps", "real" }, { "rope_base", "rotation.base", "real" },
  { "rope_style", "rotation.style", "style" }, { "factor", "rotation.factor", "real" },
  { "beta_fast", "rotation.beta_fast", "real" }, { "beta_slow", "rotation.beta_slow", "real" },
  { "original", "rotation.original", "whole" }, { "mscale", "rotation.mscale", "real" },
  { "mscale_all_dim", "rotation.mscale_all_dim", "real" }, { "q_scale_beta", "q_scale_beta", "real" },
  { "q_scale_original", "q_scale_original", "whole" }, { "index_heads", "index_heads", "whole" },
  { "index_topk", "index_topk", "whole" }, { "index_style", "index_style", "style" }, { "unverified", "unverified", "text" },
  { "source", "source", "text" },
}
local STYLES = { pairs = "MLAF_ROPE_PAIRS", halves = "MLAF_ROPE_HALVES", unrotated = "MLAF_ROPE_UNROTATED" }

local number = 0
local function refuse(what, value)
  io.stderr:write(("%s:%d: %s: '%s'\n"):format(path, number, what, value))
  os.exit(1)
end

-- Each returns what C reads, or nil where a text is none of its kind. Numbers are such in C and in the file: 40, 0.707, 1e-6.
local C = {
  text = function(s) return ('"%s"'):format(s:gsub('["\\]', "\\%0")) end,
  whole = function(s) return #s <= 6 and s:find("^%d+$") and ("%d"):format(tonumber(s)) end,
  real = function(s) return s:find("^%d[%d.e-]*$") and not s:find("%.$") and tonumber(s) and s end,
  style = function(s) return STYLES[s] end,
}

-- Tells whether every name in the list of fields not confirmed is a column of numbers.
local function unverified_ok(list)
  local known = {}
  for i = 2, #COLUMNS - 2 do known[COLUMNS[i][1]] = true end
  for name in list:gmatch("[^,]+") do
    if not known[name] then return false end
  end
  return true
end

local function check(row, previous)
  if not row.name:find("^[%l%d.-]*$") then refuse("names are lower-case letters, digits, '.' and '-'", row.name) end
  for _, c in ipairs(COLUMNS) do
    if not C[c[3]](row[c[1]]) then refuse(c[1], row[c[1]]) end
  end
  if tonumber(row.rope) % 2 ~= 0 then refuse("rope columns are even", row.rope) end
  if tonumber(row.factor) > 1 and tonumber(row.original) == 0 then refuse("a factor wants original", row.name) end
  if tonumber(row.q_scale_beta) > 0 and tonumber(row.q_scale_original) == 0 then
    refuse("q_scale_beta wants q_scale_original", row.name)
  end
  if row.unverified ~= "-" and row.unverified ~= "all" and not unverified_ok(row.unverified) then
    refuse("unverified names no column", row.unverified)
  end
  if row.source == "" then refuse("source is missing", row.name) end
  if previous >= row.name then refuse("not sorted by name, or twice", row.name) end
end

local rows, previous = {}, ""
for line in io.lines(path) do
  number = number + 1
  if line:sub(1, 1) ~= "#" then
    local row, n = {}, 0
    for text in (line .. "\t"):gmatch("([^\t]*)\t") do
      n = n + 1
      row[(COLUMNS[n] or { n })[1]] = text
    end
    if n ~= #COLUMNS then refuse(("want %d tab separated columns"):format(#COLUMNS), line) end
    check(row, previous)
    previous = row.name
    if row.unverified == "-" then row.unverified = "" end
    local members = { (".rotation.struct_size = sizeof(mlaf_rope), .rotation.columns = %d"):format(tonumber(row.rope)) }
    for i, c in ipairs(COLUMNS) do members[i + 1] = (".%s = %s"):format(c[2], C[c[3]](row[c[1]])) end
    rows[#rows + 1] = ("    {%s},\n"):format(table.concat(members, ", "))
  end
end
local f = assert(io.open(out_path, "w"))
f:write("/* Made from tuning/models.tsv by tools/models-table.lua. Do not edit. */\n#include \"plan/models.h\"\n\n",
  "const mlaf_model mlaf_models[] = {\n", table.concat(rows), "    {.name = NULL},\n};\n")
assert(f:close())
