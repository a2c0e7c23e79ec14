-- lua5.4 tools/embed-files.lua ROOT GENERATED OUT: writes the files that `mlaforge embed` ships into folder OUT, and
-- OUT/index.txt, a line each: the file's name and the operations that want it ("*": all). With --sources in OUT's place it prints
-- the names of the C files. They are
--   the loader's own files, as they are: runtime/embed and runtime/ops/OP/embed
--   a header and a C file of each operation, made here of runtime/ops/OP/embed.lua, the library's header and the fields. An
--   operation whose arguments are a table (gen/ops/OP/args.lua) needs no embed.lua
--   the library's files: CORE below, those that an embed.lua lists, and whatever headers these include
-- A file of the library keeps its text but for three things: the licence and mlaf_embed_inside.h go in front, includes become
-- names in one folder, and the prefix mlaf_ becomes mlaf_embed_, so that a program may have both.
--
-- An operation's embed.lua returns a table:
--   name      of its functions: "append" is for mlaf_embed_append_plan and mlaf_embed_append_execute
--   about     the comment of its problem struct
--   files     C files: "args.c" is of its folder of runtime/ops, "op/projection.c" of another room
--   with      other operations whose files these want
--   inside    headers of the library that declare what `calls` names
--   calls     the operation's table of functions, as the loader has it (mlaf_calls in mlaf_embed_inside.h); `table` is its name.
--             Left out: one of `files` defines it
--   header    the library's public header of its arguments (mlaforge/OP.h), which the operation's own takes in; of another name
--             it is included. args: their struct (mlaf_NAME_args); alias: another name of it, for programs
--   takes     these structs of that header, and no more; comment: the first comment then
--   execute   false: a C file of runtime/ops/OP/embed has that function
--   stem      how the names of its functions begin that have no prefix ("append_")
--   rename    functions of the library whose names would be those of functions for programs
--   also      headers of runtime/ops/OP/embed that programs need, too
local root, generated, out = arg[1], arg[2], arg[3]
package.path = root .. "/gen/?.lua" -- fields have the formats of caches

local CORE = { "op/compare.c", "op/offer.c", "op/point.c" }
-- Headers that are not shipped, and what has as much of them as is needed.
local INSTEAD = { ["base/base.h"] = "mlaf_embed_inside.h", ["device/device.h"] = "mlaf_embed_inside.h",
  ["op/calls.h"] = "mlaf_embed_inside.h", ["mlaforge/status.h"] = "mlaf_embed.h", ["mlaforge/operation.h"] = "mlaf_embed.h" }
local NOTICE = [[
/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
]]

local function slurp(path)
  local f = io.open(path, "rb")
  local text = f and f:read("a")
  if f then f:close() end
  return text
end

local function lines_of(command)
  local list, pipe = {}, assert(io.popen(command))
  for line in pipe:lines() do list[#list + 1] = line end
  pipe:close()
  return list
end
local function files_of(folder, pattern)
  return lines_of(("cd '%s' && find %s -type f 2>/dev/null | LC_ALL=C sort"):format(folder, pattern))
end

-- "ops/mla_append/args.c": mlaf_embed_mla_append_args.c
local function flat(path)
  return "mlaf_embed_" .. path:gsub("^ops/", ""):gsub("^mlaforge/", ""):gsub("^mlaf_", ""):gsub("/", "_")
end

-- --- what there is ---

-- The embed.lua of an operation whose arguments are a table, gen/ops/OP/args.lua.
local function by_table(op)
  local name, raw = op:gsub("^mla_", ""), dofile(("%s/gen/ops/%s/args.lua"):format(root, op))
  local own = raw.calls or {}
  local out = {
    name = name,
    stem = name .. "_",
    about = ("%s selects the kernel tuned for the nearest size; a plan serves any number of them."):format(
      raw.count.field or raw.count[1]),
    files = { "record.c", "op/args_check.c", "op/args_launch.c", raw.relations and "relations.c" },
    inside = { ("ops/%s/launch.h"):format(op), raw.header },
    calls = { table = ("mlaf_%s_calls"):format(name), arguments = ("&%s_arguments"):format(name),
      check_stages = own.check_stages or "mlaf_arguments_check_stages", check_args = "mlaf_arguments_check_launch",
      parameter_bytes = own.parameter_bytes or name .. "_parameter_bytes", prepare = own.prepare or "mlaf_arguments_prepare" },
  }
  for key, value in pairs(raw.embed or {}) do out[key] = value end -- each once: in any order
  return out
end

-- Operations in order; by name in OUT the paths of the loader's own files, and of the library's.
local ops, own, library = {}, {}, {}
local function know_op(name, op)
  op.op = name
  op.header = op.header or ("mlaforge/%s.h"):format(op.op)
  op.args = op.args or ("mlaf_%s_args"):format(op.name)
  op.public = ("mlaf_embed_%s.h"):format(op.op)
  if op.takes then INSTEAD[op.header] = op.public end
  ops[#ops + 1], ops[op.op] = op, op
end
for _, path in ipairs(files_of(root, "runtime/ops -name embed.lua")) do
  know_op(path:match("ops/([%w_]+)/"), dofile(root .. "/" .. path))
end
for _, path in ipairs(files_of(root, "gen/ops -name args.lua")) do
  local op = path:match("ops/([%w_]+)/")
  if not ops[op] then know_op(op, by_table(op)) end
end
table.sort(ops, function(a, b) return a.op < b.op end)
for _, path in ipairs(files_of(root, "runtime -path '*embed/*.[ch]'")) do own[path:match("[^/]+$")] = path end
local function know(folder, pattern)
  for _, path in ipairs(files_of(folder, pattern)) do library[flat(path)] = folder .. "/" .. path end
end
know(root .. "/runtime", "base device op ops -name '*.[ch]' -not -path '*/embed/*'")
know(root .. "/include", "mlaforge -name '*.h'")
know(generated, "* -name '*.[ch]'")

-- --- the library's text ---

-- Names outside of strings. `op`: whose file it is.
local function renamed(text, op)
  local stem = op and op.stem and "%f[%w_]" .. op.stem
  local parts, at = {}, 1
  while at do
    local from, to = text:find('"[^"\n]*"', at)
    local code = text:sub(at, (from or 0) - 1)
    for name, new in pairs(op and op.rename or {}) do code = code:gsub("%f[%w_]" .. name .. "%f[^%w_]", new) end
    code = code:gsub("%f[%w_]MLAF_", "MLAF_EMBED_"):gsub("%f[%w_]mlaf_", "mlaf_embed_"):gsub("mlaf_embed_embed_", "mlaf_embed_")
    code = code:gsub("%f[%w_]MLAFORGE_", "MLAFORGE_EMBED_")
    parts[#parts + 1] = stem and code:gsub(stem, "mlaf_embed_" .. op.stem) or code
    parts[#parts + 1] = from and text:sub(from, to)
    at = to and to + 1
  end
  return table.concat(parts)
end

-- A public header without functions, be they inline or the library's, and the comments before them.
local function without_functions(text)
  for _, how in ipairs({ { "\nstatic inline ", "\n}\n" }, { "\nMLAF_API ", ";\n" } }) do
    local from = text:find(how[1], 1, true)
    while from do
      local _, to = text:find(how[2], from, true)
      local comment = text:sub(1, from):match(".*()\n/%*[^/]-%*/\n$")
      text = text:sub(1, comment or from) .. text:sub(to + 1)
      from = text:find(how[1], 1, true)
    end
  end
  return (text:gsub(" %(mlaf_plan_for%)", ""):gsub("\n\n\n+", "\n\n"))
end

-- Takes these structs out of a header, each with the comment before it and the initialiser behind it.
local function structs_of(text, names)
  local list = {}
  for _, name in ipairs(names) do
    local first, last = nil, assert(select(2, text:find("\n} " .. name .. ";\n", 1, true)), "there is no struct " .. name)
    for at in text:sub(1, last):gmatch("\n()typedef struct [%w_]+ {") do first = at end
    first = text:sub(1, first - 1):match(".*\n()/%*[^/]-%*/\n$") or first
    local rest = text:sub(last + 1)
    list[#list + 1] = text:sub(first, last) .. (rest:match("^#define [^\n]-_INIT .-[^\\]\n") or "")
  end
  return table.concat(list, "\n")
end

local function library_text(path, op)
  local text = assert(slurp(path), path)
  if path:find("/include/mlaforge/", 1, true) then text = without_functions(text) end
  text = text:gsub('#include "([^"\n]+)"', function(header) return ('#include "%s"'):format(INSTEAD[header] or flat(header)) end)
  if path:find("%.c$") then text = '#include "mlaf_embed_inside.h"\n' .. text end
  return NOTICE .. renamed(text, op)
end

-- --- what is made of an operation's embed.lua ---

local HEAD = [[
#ifndef GUARD
#define GUARD

#include "INCLUDED"

#ifdef __cplusplus
extern "C" {
#endif

]]
local PLAN = [[
/* The plan of the nearest shape; loads its kernels at first use, so not inside a graph capture. */
mlaf_embed_status mlaf_embed_NAME_plan(mlaf_embed *e, const mlaf_embed_NAME_problem *problem, const mlaf_embed_plan **out,
                                       char *why, size_t why_size);
]]
local EXECUTE = [[
/* Launch on `stream` (hipStream_t or CUstream; NULL: the default stream) and return without waiting. Never allocates, locks or
 * synchronises: legal inside graph capture. struct_size is not looked at; a workspace is always the caller's. */
mlaf_embed_status mlaf_embed_NAME_execute(const mlaf_embed_plan *plan, const ARGS *args, void *stream,
                                          char *why, size_t why_size);
]]
local PLAN_C = [[
extern const mlaf_embed_op mlaf_embed_op_OPERATION;

mlaf_embed_status mlaf_embed_NAME_plan(mlaf_embed *e, const mlaf_embed_NAME_problem *problem, const mlaf_embed_plan **out,
                                       char *why, size_t size) {
  static const mlaf_embed_NAME_problem none;
  const mlaf_embed_NAME_problem *p = problem ? problem : &none;
  const int32_t values[] = {VALUES};
  return mlaf_embed_plan_for(e, &mlaf_embed_op_OPERATION, problem ? values : NULL, out, why, size);
}
]]
local EXECUTE_C = [[

mlaf_embed_status mlaf_embed_NAME_execute(const mlaf_embed_plan *x, const ARGS *a, void *stream,
                                          char *why, size_t size) {
  return mlaf_embed_run(x, &mlaf_embed_op_OPERATION, a, stream, why, size);
}
]]

local function filled(text, op, more)
  local words = { NAME = op.name, OPERATION = op.op, ARGS = renamed(op.args) }
  return (text:gsub("%u+", function(word) return more and more[word] or words[word] end))
end

-- The struct of a problem; tools/limits.lua has its members.
local function problem_of(op)
  local members = lines_of(("'%s' '%s/tools/limits.lua' embed:%s '%s'"):format(arg[-1], root, op.op, root))
  return ("/* %s */\ntypedef struct mlaf_embed_%s_problem {\n%s\n} mlaf_embed_%s_problem;\n"):format(op.about, op.name,
    table.concat(members, "\n"), op.name)
end

local function header_of(op)
  local text, first, body = slurp(("%s/include/%s"):format(root, op.header)), nil, ""
  local same = flat(op.header) == op.public
  if op.takes then body = structs_of(text, op.takes) .. "\n"
  elseif same then
    first, body = without_functions(text):match("^(/%*.-%*/\n)#ifndef [^\n]+\n#define [^\n]+\n(.*)#endif\n$")
    body = body:gsub("#include [^\n]*\n", ""):gsub("^\n+", "")
  end
  local parts = { NOTICE, op.comment and ("/* %s */\n"):format(op.comment) or renamed(first),
    filled(HEAD, op, { GUARD = ("MLAF_EMBED_%s_H"):format(op.op:upper()),
      INCLUDED = (same or op.takes) and "mlaf_embed.h" or flat(op.header) }), renamed(body),
    op.alias and ("typedef %s %s;\n\n"):format(renamed(op.args), op.alias) or "", problem_of(op), "\n", filled(PLAN, op),
    op.execute ~= false and filled(EXECUTE, op) or "", "\n#ifdef __cplusplus\n}\n#endif\n" }
  for _, header in ipairs(op.also or {}) do parts[#parts + 1] = ('\n#include "%s"\n'):format(header) end
  parts[#parts + 1] = "#endif\n"
  return table.concat(parts)
end

local function calls_of(op)
  local names, rows = {}, {}
  for name in pairs(op.calls) do if name ~= "table" then names[#names + 1] = name end end
  table.sort(names)
  for i, name in ipairs(names) do rows[i] = ("    .%s = %s,\n"):format(name, renamed(op.calls[name], op)) end
  return ("const mlaf_embed_calls %s = {\n%s};\n"):format(renamed(op.calls.table), table.concat(rows))
end

local function source_of(op)
  local values, row = {}, ""
  local members = assert(slurp(("%s/ops/%s/fields.h"):format(generated, op.op))):match("_MEMBERS%(X%)(.-)\n\n")
  for field in members:gmatch("X%(([%w_]+)%)") do -- in the record's order
    local value = (row == "" and "" or ", ") .. "p->" .. field
    if #row + #value > 90 then values[#values + 1], row, value = row .. ",", "", "p->" .. field end
    row = row .. value
  end
  values[#values + 1] = row
  local headers = {}
  for i, header in ipairs(op.inside or {}) do headers[i] = ('#include "%s"\n'):format(flat(header)) end
  return table.concat({ NOTICE, ("/* %s: plans and launches, by the library's own functions. */\n"):format(op.op),
    ('#include "%s"\n\n#include "mlaf_embed_inside.h"\n'):format(op.public), table.concat(headers), "\n",
    op.calls and calls_of(op) or "", filled(PLAN_C, op, { VALUES = table.concat(values, "\n" .. (" "):rep(28)) }),
    op.execute ~= false and filled(EXECUTE_C, op) or "" })
end

-- --- what is shipped: from the C files on whatever is included ---

local made, texts, wanted, order = {}, {}, {}, {} -- by name in OUT: texts made here, all texts, who wants it
for _, op in ipairs(ops) do
  made[op.public], made[(op.public:gsub("h$", "c"))] = header_of(op), source_of(op)
end

local function add(name, op)
  if not texts[name] then
    local path = library[name]
    assert(made[name] or own[name] or path, ("%s is included, and no file of the library is that"):format(name))
    texts[name] = made[name] or (own[name] and slurp(root .. "/" .. own[name])) or
      library_text(path, ops[path:match("/ops/([%w_]+)/")])
    wanted[name], order[#order + 1] = {}, name
  end
  if wanted[name][op] then return end
  wanted[name][op] = true
  for header in texts[name]:gmatch('#include "([^"\n]+)"') do add(header, op) end
end
for name, path in pairs(own) do
  if path:find("^runtime/embed/") then add(name, "*") end
end
for _, path in ipairs(CORE) do add(flat(path), "*") end
-- The files of `op`, for operation `who`.
local function add_all(op, who)
  add((op.public:gsub("h$", "c")), who)
  for _, path in ipairs(op.files) do add(flat(path:find("/") and path or ("ops/%s/%s"):format(op.op, path)), who) end
  for name, path in pairs(own) do
    if path:find(("^runtime/ops/%s/embed/.*%%.c$"):format(op.op)) then add(name, who) end
  end
  for _, other in ipairs(op.with or {}) do add_all(ops[other], who) end
end
for _, op in ipairs(ops) do add_all(op, op.op) end
table.sort(order)

if out == "--sources" then
  for _, name in ipairs(order) do if name:find("%.c$") then print(name) end end
  return
end
local function write(name, text)
  local f = assert(io.open(out .. "/" .. name, "wb"))
  assert(f:write(text))
  assert(f:close())
end
for name in (slurp(out .. "/index.txt") or ""):gmatch("([^\n ]+) [^\n]+\n") do -- what is shipped no more
  if not texts[name] then os.remove(out .. "/" .. name) end
end
local index = {}
for _, name in ipairs(order) do
  local list = {}
  for op in pairs(wanted[name]) do list[#list + 1] = op end
  table.sort(list)
  index[#index + 1] = ("%s %s\n"):format(name, wanted[name]["*"] and "*" or table.concat(list, " "))
  if slurp(out .. "/" .. name) ~= texts[name] then write(name, texts[name]) end
end
write("index.txt", table.concat(index))
