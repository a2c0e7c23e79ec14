-- lua5.4 tools/limits.lua WHAT ROOT [FILE]: what is made of gen/limits.lua, gen/formats.lua and of the operations' fields.
--   header      of gen/limits.lua, a C header (the build)
--   formats     of gen/formats.lua, a C header (the build); formats_python: python/mlaforge/formats.py
--   q_parts_python  python/mlaforge/q_parts.py, of tuning/q-parts.tsv
--   formats_doc  docs/append.md, with the table between "<!-- cache formats -->" and "<!-- end of formats -->" made anew
--   fields:OP   of gen/ops/OP/fields.lua, the C table of the record (the build)
--   doc:OP      the page of docs/ that has "<!-- fields of OP -->", with the table made anew
--   python      python/mlaforge/fields.py: those of mla_decode, whose problem is a struct of the library, and the members of
--               its other structs (tools/structs.lua)
--   embed:OP    the members of mlaf_embed_..._problem, the struct of its problem in embedded files (the build)
local what, root, file = arg[1], arg[2], arg[3]
package.path = root .. "/gen/?.lua"
local limits, formats = require("limits"), require("formats")

-- The generator's modules as this script needs them.
local files, modules = {}, {}
function files.read(path)
  local f = io.open(root .. "/" .. path, "rb")
  local text = f and f:read("a")
  if f then f:close() end
  return text
end
function modules.require(name) return dofile(root .. "/gen/" .. name .. ".lua") end
modules.host = files
local function sorted(t)
  local keys, i = {}, 0
  for k in pairs(t) do keys[#keys + 1] = k end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  return function()
    i = i + 1
    return keys[i], t[keys[i]]
  end
end
local joint = assert(loadfile(root .. "/gen/joint.lua", "t", setmetatable({ sorted = sorted }, { __index = _G })))(modules)

-- Fields of an operation, with those of problems that may follow.
local function fields_of(op) return joint.fields(op) end

-- Fields in the order of the typed struct, where those that were added later stand last.
local function as_struct(fields)
  local out, added = {}, {}
  for _, f in ipairs(fields) do
    local to = f.added and added or out
    to[#to + 1] = f
  end
  return table.move(added, 1, #added, #out + 1, out)
end

-- "1..128", "a multiple of 32 up to 512", "0, 32 or 64", "bf16 or f16"
local function range(f)
  if f.words and f.words[1] == "" and #f.words > 2 then return table.concat(f.words, ", ", 2) .. " or none" end
  if f.words then return f.words[1] == "" and "given or not" or table.concat(f.words, " or ") end
  if f.multiple == 1 then return ("%d..%d"):format(f.least, f.most) end
  if (f.most - f.least) // f.multiple > 3 then
    return ("a multiple of %d up to %d"):format(f.multiple, f.most)
  end
  local list = {}
  for v = f.least, f.most - f.multiple, f.multiple do list[#list + 1] = v end
  return table.concat(list, ", ") .. " or " .. f.most
end

-- A page with what stands between two of its lines made anew.
local function between(page, first, last, lines)
  local f = assert(io.open(root .. "/" .. page, "rb"))
  local text = f:read("a")
  f:close()
  local _, from = text:find(first .. "\n", 1, true)
  local to = assert(text:find("\n" .. last, assert(from, page .. " has no " .. first), true), page .. " has no " .. last)
  return text:sub(1, from) .. table.concat(lines, "\n") .. text:sub(to)
end

local make = {}

function make.header()
  return ([[
/* Made by tools/limits.lua of gen/limits.lua. */
#ifndef MLAF_LIMITS_H
#define MLAF_LIMITS_H

enum { MLAF_SPLITS_MAX = %d };

#endif
]]):format(limits.splits)
end

-- --- formats of caches (runtime/op/cache_format.h) ---

local function extent(x) return ("{%d, %d, %d}"):format(x[1], x[2], x[3]) end
local function number(type) return "MLAF_STORED_" .. type:upper() end

-- The second tensor's row of mlaf_second_tensor. e: the format's extents.
local function second(f, e)
  local s = formats.second(f)
  if not s then return "{0}" end
  return ("{MLAF_PART_%s, %d, %s}"):format(s.of:upper(), formats.BYTES[s.type], extent(e[s.of]))
end

-- One row of mlaf_cache_format.
local function format_row(f)
  local e, scales, rope = formats.extents(f), formats.stream(f, "scales"), formats.stream(f, "rope")
  local latent_columns, rope_columns = formats.own_columns(f)
  local aside = scales and scales.place == "page" and next(f.takes) ~= nil -- of one that is refused only the name counts
  local whole = f.page == "row" or f.page and f.page % formats.bytes(e.row, 0, 0) == 0
  assert(not aside or whole, f.name .. ": pages are no whole rows apart")
  local rope_aside = aside and rope.place == "page" and formats.BYTES[rope.type] or 0
  return ([[{.name = "%s", .latent = %s, .rope = %s, .unit = %d, .scale = MLAF_SCALE_%s, .group = %d, \
     .scales = %d, .powers = %s, .aside = %d, .rope_aside = %d, .pools = %s, .columns = {%d, %d}, \
     .row = %s, .scales_at = %s, .rope_at = %s, \
     .second = %s, .handed = %s, .token = %s}]]):format(f.name,
    number(formats.stream(f, "latent").type), number(rope.type), formats.unit(f),
    (f.scale or "none"):upper(), scales and scales.group or 0, scales and scales.columns or 0,
    tostring(scales ~= nil and scales.type == "ue8m0"), aside and e.scales[3] or 0, rope_aside, tostring(f.pools or false),
    latent_columns or 0, rope_columns or 0,
    extent(e.row), extent(e.scales_at or { 0, 0, 0 }), extent(e.rope_at), second(f, e), extent(e.handed), extent(e.token))
end

function make.formats()
  local out, rows, refused, fixed = {}, {}, {}, 0
  local function add(...) out[#out + 1] = string.format(...) end
  add("/* Made by tools/limits.lua of gen/formats.lua. */\n#ifndef MLAF_FORMATS_H\n#define MLAF_FORMATS_H\n\nenum {")
  for i, f in ipairs(formats.list) do
    add("  MLAF_FORMAT_%s = %d,", f.name:upper(), i - 1)
    rows[i] = "    " .. format_row(f)
    fixed = math.max(fixed, formats.extents(f).row[3])
  end
  add("  MLAF_FORMATS = %d,\n  MLAF_FORMAT_ALIGN = %d,\n  MLAF_FORMAT_FIXED_MAX = %d, /* of a row */\n};", #formats.list,
    formats.ALIGN, fixed)
  add("/* Rows of mlaf_cache_format. */\n#define MLAF_FORMAT_ROWS \\\n%s\n", table.concat(rows, ", \\\n"))
  for _, op in ipairs(formats.operations) do
    local numbers = {}
    for i, f in ipairs(formats.of(op)) do numbers[i] = "MLAF_FORMAT_" .. f.name:upper() end
    add("/* %s's, by their numbers there. */\n#define %s_FORMATS %s", op, op:upper(), table.concat(numbers, ", "))
    for _, f in ipairs(formats.list) do
      local why = formats.refusal(op, f.name)
      if why then refused[#refused + 1] = ('    {"%s", "%s", \\\n     "%s"}'):format(op, f.name, why) end
    end
  end
  local caches = {}
  for i, name in ipairs(formats.words("mla_decode")) do caches[i] = i > 2 and (', "cache_%s"'):format(name) or "" end
  add("/* Caches of a layer, by numbers of mlaf_kv_format. */\nenum { MLAF_LAYER_CACHE_LAST = %d };", #caches - 2)
  add("#define MLAF_LAYER_CACHES \"\"%s", table.concat(caches))
  if #refused == 0 then refused[1] = '    {"", "", ""}' end -- C has no empty list
  add("/* Operation, format, and why the one cannot have the other. */\n#define MLAF_FORMAT_REFUSALS \\\n%s\n\n#endif\n",
    table.concat(refused, ", \\\n"))
  return table.concat(out, "\n")
end

local function tuple(list)
  return ("(%s%s)"):format(table.concat(list, ", "), #list == 1 and "," or "")
end

function make.formats_python()
  local out, refused = {}, {}
  for i, f in ipairs(formats.list) do
    local e, taken, plain = formats.extents(f), {}, {}
    for _, op in ipairs(formats.operations) do
      if f.takes[op] then taken[#taken + 1] = ('"%s": %d'):format(op, f.takes[op]) end
    end
    for k, target in ipairs(f.plain or {}) do plain[k] = ('"%s"'):format(target) end
    local s = formats.second(f)
    local second = s and ('("%s", "%s", %s)'):format(formats.WORDS[s.of], s.type, tuple(e[s.of])) or "None"
    local behind = formats.bytes(e.handed, 1, 1) ~= formats.bytes(e.row, 1, 1) and "True" or "False"
    out[i] = ('    ("%s", "%s", "%s", %s, %d, %s, %s, {%s}, %s, %s),'):format(f.name, formats.stream(f, "latent").type,
      f.scale or "none", second, formats.unit(f), tuple(e.handed), tuple(e.token), table.concat(taken, ", "), tuple(plain),
      behind)
  end
  for _, op in ipairs(formats.operations) do
    for _, f in ipairs(formats.list) do
      local why = formats.refusal(op, f.name)
      if why then refused[#refused + 1] = ('    ("%s", "%s"):\n        "%s",'):format(op, f.name, why) end
    end
  end
  return ([[
"""Made by tools/limits.lua of gen/formats.lua: the formats of latent caches. Do not edit."""

FORMATS = (  # cache_format.Format
%s
)

REFUSED = {  # (operation, format): why
%s
}
]]):format(table.concat(out, "\n"), table.concat(refused, "\n"))
end

-- Times are added up over the shapes of a number of heads.
function make.q_parts_python()
  local columns, sums, out = {"target", "heads", "batch", "context", "two", "joined", "device", "date"}, {}, {}
  for line in assert(files.read("tuning/q-parts.tsv")):gmatch("[^\n]+") do
    local row, i = {}, 0
    for field in line:gmatch("[^\t]+") do
      i = i + 1
      row[columns[i] or error("tuning/q-parts.tsv: more than " .. #columns .. " columns: " .. line)] = field
    end
    local heads, two, joined = tonumber(row.heads), tonumber(row.two), tonumber(row.joined)
    if line:sub(1, 1) ~= "#" and row.heads ~= "heads" then
      assert(row.date and heads and two and joined, "tuning/q-parts.tsv: " .. line)
      local by = sums[row.target] or {}
      sums[row.target], by[heads] = by, (by[heads] or 0) + two - joined
    end
  end
  for target, by in sorted(sums) do
    local faster = {}
    for heads, won in pairs(by) do faster[#faster + 1] = won > 0 and heads or nil end
    table.sort(faster)
    out[#out + 1] = ('    "%s": %s,'):format(target, tuple(faster))
  end
  return ([[
"""Made by tools/limits.lua of tuning/q-parts.tsv, measured times. Do not edit."""

JOINED = {  # heads for which a launch that joins Q's two tensors is faster than kernels that read both, by target
%s
}
]]):format(table.concat(out, "\n"))
end

function make.formats_doc()
  local usual, out = formats.USUAL, {}
  out[1] = ("| format | bytes of a token, rank %d, rope %d | what a token holds | caches of | taken by |"):format(usual.rank,
    usual.rope)
  out[2] = "|---|---|---|---|---|"
  for _, f in ipairs(formats.list) do
    local e, taken = formats.extents(f), {}
    local s = formats.second(f)
    local second = s and formats.bytes(e[s.of], usual.rank, usual.rope)
    for _, op in ipairs(formats.operations) do
      if f.takes[op] then taken[#taken + 1] = ("`%s`"):format(op) end
    end
    local all = formats.bytes(e.token, usual.rank, usual.rope)
    out[#out + 1] = ("| `%s` | %s | %s | %s | %s |"):format(f.name,
      second and ("%d and %d"):format(all - second, second) or all, f.token,
      f.models or "any model", #taken > 0 and table.concat(taken, ", ") or "nothing yet")
  end
  return between("docs/append.md", "<!-- cache formats -->", "<!-- end of formats -->", out)
end

-- One row of mlaf_field (runtime/op/op.h); `index`: of the fields so far.
local function field_row(f, index)
  local function member(name, value) return (".%s = %s, "):format(name, value) end
  local row = member("name", ('"%s"'):format(f.field)) .. member("label", ('"%s"'):format(f.word))
  if f.option then row = row .. member("option", ('"%s"'):format(f.option)) end
  if f.words then
    local words = {}
    for i, word in ipairs(f.words) do words[i] = ('"%s"'):format(word) end
    row = row .. member("words", ("(const char *const[]){%s}"):format(table.concat(words, ", "))) .. member("max", #f.words - 1)
  else
    row = row .. member("key", ('"%s"'):format(f.key)) .. member("min", f.least) .. member("max", f.most)
    row = row .. (f.default and member("otherwise", f.default) or member("required", "true"))
  end
  row = row .. member("multiple", f.multiple or 1) .. member("role", f.size and "MLAF_SIZE" or "MLAF_SHAPE")
  row = row .. member("moot_by", f.moot and index[f.moot.field] or -1)
  if f.size then row = row .. member("steps", f.steps) .. member("first", f.first or 1) end
  if f.also then row = row .. member("also", ("(const int32_t[]){%s, 0}"):format(table.concat(f.also, ", "))) end
  if f.moot then row = row .. member("moot_at", f.moot.at) end
  if f.apart then
    local with = 0
    for _, value in ipairs(f.apart.of or { 0 }) do with = with | 1 << value end
    row = row .. member("apart", index[f.apart.field]) .. member("apart_but", with)
    row = row .. ('\\\n     .apart_why = "%s", '):format(f.apart.why)
  end
  if f.like then row = row .. member("like", "true") end
  if f.part then row = row .. member("part", f.nth) end
  return row .. ('\\\n     .range = "%s", .about = "%s"'):format(range(f), f.about)
end

-- Tables of the problems that may follow one of the operation: rows of mlaf_joint_field (runtime/op/joint.h).
local function add_parts(op, add)
  local NAME = op:upper()
  for _, row in ipairs(joint.rows(op)) do
    local fields, items = fields_of(row.op), {}
    for _, f in ipairs(fields_of(op)) do
      if f.part == row.op then
        local own = joint.named(fields, f.of)
        local text = own.key and ('"%s", NULL'):format(own.key) or ('NULL, (const char *const[]){"%s"}'):format(
          table.concat(own.words, '", "'))
        items[f.of] = ("%s_%s, %d, %s"):format(NAME, f.field:upper(), f.less, text)
      end
    end
    for field, of in sorted(row.same) do items[field] = ("%s_%s, 0, NULL, NULL"):format(NAME, of:upper()) end
    local list = {}
    for i, f in ipairs(fields) do
      if items[f.field] then list[#list + 1] = ("{%d, %s}"):format(i - 1, items[f.field]) end
    end
    if row.own then
      add("/* The fields of a problem of %s that follows. */\n#define %s_%s_FIELDS %s, {-1, 0, 0, NULL, NULL}", row.op, NAME,
        row.op:upper(), table.concat(list, ", "))
    end
  end
end

function make.fields(op)
  local fields, index, out = fields_of(op), {}, {}
  local NAME = op:upper()
  local function add(...) out[#out + 1] = string.format(...) end
  add("/* Made by tools/limits.lua of gen/ops/%s/fields.lua. */\n#ifndef %s_FIELDS_H\n#define %s_FIELDS_H\n", op, NAME, NAME)
  add('#define %s_EXAMPLE "%s:%s"\n', NAME, op, fields.example)
  add("/* X(member), in the order of the record and of the typed struct */\n#define %s_MEMBERS(X) \\", NAME)
  for i, f in ipairs(fields) do add("  X(%s)%s", f.field, i < #fields and " \\" or "\n") end
  add("/* Rows of mlaf_field. */\n#define %s_ROWS \\", NAME)
  for i, f in ipairs(fields) do
    add("    {%s}%s", field_row(f, index), i < #fields and ", \\" or "\n")
    index[f.field] = i - 1
  end
  add("enum {")
  for i, f in ipairs(fields) do add("  %s_%s = %d,", NAME, f.field:upper(), i - 1) end
  add("  %s_FIELDS = %d,", NAME, #fields)
  for _, f in ipairs(fields) do
    if f.key then add("  %s_%s_MAX = %d,", NAME, f.field:upper(), f.most) end
    if f.words then add("  %s_%s_LAST = %d,", NAME, f.field:upper(), #f.words - 1) end
  end
  add("};")
  add_parts(op, add)
  add("/* For help texts. */")
  for _, f in ipairs(fields) do add('#define %s_%s_RANGE "%s"', NAME, f.field:upper(), range(f)) end
  add("\n#endif\n")
  return table.concat(out, "\n")
end

-- The page that holds an operation's fields, with the table between its marks made anew.
function make.doc(op)
  local out = { "| key | field | values | default | what it is |", "|---|---|---|---|---|" }
  for _, f in ipairs(modules.require("ops/" .. op .. "/fields")) do
    local written = f.key or table.concat(f.words, "` `"):gsub("^` `", "")
    out[#out + 1] = ("| `%s` | %s | %s | %s | %s |"):format(written, f.word, range(f),
      f.words and (f.words[1] == "" and "not" or f.words[1]) or f.default or "must be given", f.about)
  end
  local first = ("<!-- fields of %s -->"):format(op)
  local pages = io.popen(("cd '%s' && grep -lF '%s' docs/*.md"):format(root, first))
  local page = assert(pages:read("l"), "no page of docs has " .. first)
  pages:close()
  return between(page, first, "<!-- end of fields -->", out)
end

function make.python()
  local names, page, scales, structs = {}, nil, {}, dofile(root .. "/tools/structs.lua")
  for _, g in ipairs(dofile(root .. "/gen/ops/mla_decode/args.lua").given) do
    if not g.shape then scales[#scales + 1] = ('"%s"'):format(g[1]) end
  end
  for i, f in ipairs(as_struct(fields_of("mla_decode"))) do
    names[i] = ('"%s"'):format(f.field)
    page = f.field == "page_size" and f or page
  end
  return ([[
"""Made by tools/limits.lua: of gen/ops/*/fields.lua the fields of problems, as the C structs have them; of the public headers
structs; of gen/ops/mla_decode/args.lua what the compiled module reads. Do not edit."""
MLA_DECODE = (%s)
PAGE_SIZE = (%d, %d)  # from .. to
SCALES = (%s)  # a decode call's tensors of one number
STRUCTS = {  # of the public headers: members in order, behind the letter of their type (library.py)
%s
}
]]):format(table.concat(names, ", "), page.least, page.most, table.concat(scales, ", "), structs(files.read))
end

-- Members of the struct of a problem in the files that other projects compile (tools/embed-files.lua).
function make.embed(op)
  local out = {}
  for i, f in ipairs(as_struct(fields_of(op))) do
    local values = {}
    for k, word in ipairs(f.words or {}) do values[k] = ("%d: %s"):format(k - 1, word == "" and "not" or word) end
    out[i] = ("  int32_t %s;%s /* %s (%s) */\n"):format(f.field, (" "):rep(9 - #f.field), f.about,
      f.words and table.concat(values, ", ") or range(f))
    if #out[i] > 130 then out[i] = out[i]:gsub(" %(0:", "\n" .. (" "):rep(24) .. "(0:") end
  end
  return table.concat(out)
end

local name, op = what:match("^([%l_]+):?([%l%d_]*)$")
local text = assert(make[name], "header, formats, formats_python, q_parts_python, formats_doc, fields:OPERATION, doc:OPERATION, "
  .. "python or embed:OPERATION?")(op)
local to = file and assert(io.open(file, "wb")) or io.stdout
assert(to:write(text))
assert(to:flush())
