-- python/mlaforge/OP.py, made of an operation's arguments (tools/args_model.lua) and kept in the tree. The table's `python` has
--   about    the module's docstring; doc: the function's
--   name     of the function; left out: the operation's
--   call     its parameters, with defaults, all but ctx and stream: names of tensors, of scalars and of flags in lower case
--   names    { tensor = parameter }: tensors that are called otherwise; else a tensor's "." becomes "_"
--   shape    the tensor that gives the sizes
--   returns  what it returns, an expression; nil: nothing
-- A tensor of bytes names the field that its type decides (kind): "e4m3fn" is float8_e4m3fn.
local CTYPES = { int64_t = "I64", int32_t = "I32", float = "ctypes.c_float" }

local function camel(name) return (name:gsub("^%l", string.upper):gsub("_(%l)", function(c) return c:upper() end)) end

local function parameter(m, t) return (m.raw.python.names or {})[t.name] or (t.name:gsub("%.", "_")) end

-- Dimensions in Python's order: of any strides the dense one, whose first axis is the innermost.
local function dimensions(t)
  local axes, names = {}, {}
  for i, a in ipairs(t.axes) do
    local at = t.strides == "any" and #t.axes - i + 1 or i
    axes[at], names[at] = a.size.symbol, a.name
  end
  if t.columns.at > 0 then axes[#axes + 1] = t.columns.symbol end
  return axes, names
end

local function tuple(list) return "(" .. table.concat(list, ", ") .. (#list == 1 and "," or "") .. ")" end
local function strings(list)
  local out = {}
  for i, s in ipairs(list) do out[i] = '"' .. s .. '"' end
  return tuple(out)
end

local function type_of(t)
  if t.kind == "16" then return "dtype" elseif t.kind == "8" then return "kind" end
  return t.kind == "i64" and '"int64"' or '"float32"'
end

-- The members that a tensor fills.
local function members_of(m, t)
  local axes, names = dimensions(t)
  local name, member = parameter(m, t), t.name:match("[^.]+$")
  if t.strides == "any" then
    return ('any_of("%s", "%s", %s, %s, %s)'):format(name, member, name, tuple(axes), strings(names))
  end
  return ('rows_of("%s", "%s", %s, %s, %s, %s)'):format(name, member, name, type_of(t), tuple(axes),
    strings(t.strides and names or {}))
end

local function struct_fields(m, list)
  local out = {}
  local function add(name, kind) out[#out + 1] = ('("%s", %s)'):format(name, kind) end
  local function tensor(t)
    add(t.name:match("[^.]+$"), "PTR")
    for _, a in ipairs(t.axes) do
      if a.stride then add(a.stride:match("[^.]+$"), "I64") end
    end
  end
  for _, a in ipairs(list) do
    if a.struct then
      for _, name in ipairs(a.names) do add(name, camel(m.short) .. camel(a.struct)) end
    elseif m.scalar[a[1]] then add(a[1], CTYPES[a[2]])
    else tensor(m.tensor[(list.prefix or "") .. a[1]]) end
  end
  return out
end

-- Lines of at most 120 columns.
local function wrapped(list, indent)
  local lines, line = {}, nil
  for i, text in ipairs(list) do
    text = text .. (i < #list and "," or "")
    if line and #indent + #line + 1 + #text > 120 then lines[#lines + 1], line = line, nil end
    line = line and line .. " " .. text or text
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n" .. indent)
end

local function class(add, name, c_name, m, fields)
  add(('class %s(ctypes.Structure):\n    """%s of include/mlaforge/%s.h."""\n    _fields_ = [%s]\n\n'):format(name, c_name, m.op,
    wrapped(fields, (" "):rep(16))))
end

local function in_call(m, name) return (" " .. m.raw.python.call):find("[ ]" .. name .. "%f[ =\0]") ~= nil end

-- A size in Python: symbols stay, scalars that a caller cannot give are 0.
local function expression(m, text)
  text = text:gsub("%a[%w_]*", function(name) return m.scalar[name] and not in_call(m, name) and "0" or name end)
  return (text:gsub("%f[%w]0 %+ ", ""))
end

-- The same in messages: "R/128".
local function shown(m, symbol)
  for _, s in ipairs(m.raw.sizes) do
    local of, step = expression(m, s[2]):match("^up%((.-), (%d+)%)$")
    if s[1] == symbol and of then return of .. "/" .. step end
  end
  return symbol
end

local function read_shape(m, add)
  local t = m.tensor[m.raw.python.shape]
  local axes, name = dimensions(t), parameter(m, t)
  local word, known = t.kind == "8" and "kind" or "dtype", t.kind == "8" and "ENCODINGS" or "DTYPES"
  add(('    %s, shape = dtype_name(%s, "%s"), tuple(%s.shape)'):format(word, name, name, name))
  add(("    if %s not in %s or len(shape) != %d:"):format(word, known, #axes))
  add(('        fail(f"%s is {%s} of the shape {shape}; accepted are {\', \'.join(%s)} [%s]")'):format(name, word, known,
    table.concat(axes, ", ")))
  add(("    %s = shape"):format(table.concat(axes, ", ")))
  if t.kind ~= "8" then return end
  for _, other in ipairs(m.tensors) do
    if other.kind == "16" then
      local its = parameter(m, other)
      add(('    dtype = dtype_name(%s, "%s")\n    if dtype not in DTYPES:'):format(its, its))
      add(('        fail(f"%s is {dtype}; accepted are {\', \'.join(DTYPES)}")'):format(its))
      return
    end
  end
end

local function fill_args(m, add)
  local raw, list, later, flags = m.raw, {}, {}, {}
  local count = m.count.name
  for _, s in ipairs(m.sizes) do
    if s.symbol and s.c == "a->" .. count then list[1] = ('"%s": %s'):format(count, s.symbol) end
  end
  for i, f in ipairs(raw.flags or {}) do
    if in_call(m, f[1]:lower()) then flags[#flags + 1] = ("(%d if %s else 0)"):format(1 << i - 1, f[1]:lower()) end
  end
  if #flags > 0 then list[#list + 1] = '"flags": ' .. table.concat(flags, " | ") end
  for _, a in ipairs(raw.args) do
    local t = m.tensor[a[1]]
    if a.struct then
      for _, name in ipairs(a.names) do
        local parts = {}
        for i, x in ipairs(a) do parts[i] = "**" .. members_of(m, m.tensor[name .. "." .. x[1]]) end
        local call = ('"%s": %s%s('):format(name, camel(m.short), camel(a.struct))
        list[#list + 1] = call .. table.concat(parts, ",\n" .. (" "):rep(12 + #call)) .. ")"
      end
    elseif t and (t.raw.optional or (t.in_place >= 0 and not raw.in_place_flag)) then later[#later + 1] = t
    elseif t then list[#list + 1] = "**" .. members_of(m, t)
    elseif in_call(m, a[1]) then list[#list + 1] = ('"%s": %s'):format(a[1], a[1]) end
  end
  add("    args = {" .. wrapped(list, (" "):rep(12)) .. "}")
  for _, t in ipairs(later) do
    local name, over = parameter(m, t), not t.raw.optional and t.in_place >= 0 and parameter(m, m.tensors[t.in_place + 1])
    add(("    if %s is not None%s:"):format(name, over and (" and not same_place(%s, %s)"):format(name, over) or ""))
    add(("        args.update(%s)"):format(members_of(m, t)))
  end
end

-- "mla_q_scale:h{H},n{N},{DTYPES[dtype]},t{tuned(T, 1048576)}"
local function problem(m)
  local out = {}
  for i, f in ipairs(m.fields) do
    local symbol
    for _, s in ipairs(m.sizes) do
      local of = f.field == m.count.field and "a->" .. m.count.name or ("f[%s]"):format(m.field[f.field])
      if s.c == of then symbol = s.symbol end
    end
    if f.size then out[i] = ("%s{tuned(%s, %d)}"):format(f.key, symbol, f.most)
    elseif f.key then out[i] = ("%s{%s}"):format(f.key, symbol)
    else out[i] = f.field == "dtype" and "{DTYPES[dtype]}" or "{ENCODINGS[kind]}" end
  end
  return m.op .. ":" .. table.concat(out, ",")
end

local function encodings(m)
  for _, f in ipairs(m.fields) do
    for _, t in ipairs(m.tensors) do
      if t.raw.kind == f.field then
        local out = {}
        for i, word in ipairs(f.words) do out[i] = ('"float8_%s": "%s"'):format(word, word) end
        return "ENCODINGS = {" .. table.concat(out, ", ") .. "}"
      end
    end
  end
end

local function entry_kinds(m)
  local out = {}
  for name in m.raw.python.call:gmatch("[%a_][%w_]*") do
    for _, t in ipairs(m.tensors) do
      local axes = {}
      for i, symbol in ipairs((dimensions(t))) do axes[i] = shown(m, symbol) end
      if parameter(m, t) == name then out[#out + 1] = ('%s="[%s]"'):format(name, table.concat(axes, ", ")) end
    end
  end
  return wrapped(out, (" "):rep(7))
end

-- Those of `names` that a text uses.
local function used(text, names)
  local out = {}
  for name in names:gmatch("[%w_]+") do
    if text:find("%f[%w_]" .. name .. "%f[^%w_]") then out[#out + 1] = name end
  end
  return table.concat(out, ", ")
end

local function classes(m, add)
  for _, a in ipairs(m.raw.args) do
    if a.struct then
      local list = table.move(a, 1, #a, 1, { prefix = a.names[1] .. "." })
      class(add, camel(m.short) .. camel(a.struct), ("mlaf_%s_%s"):format(m.short, a.struct), m, struct_fields(m, list))
    end
  end
  class(add, camel(m.short) .. "Args", m.struct, m, table.move(struct_fields(m, m.raw.args), 1, 99, 4,
    { '("struct_size", U32)', '("flags", U32)', ('("%s", I64)'):format(m.count.name) }))
end

local function entry_point(m, add)
  local p = m.raw.python
  local parameters = {}
  for name in (p.call .. (p.call:find("*", 1, true) and "" or " *") .. " ctx=None stream=None"):gmatch("%S+") do
    parameters[#parameters + 1] = name
  end
  local name = p.name or m.op
  add(("@entry(%s)\ndef %s(%s):"):format(entry_kinds(m), name, wrapped(parameters, (" "):rep(5 + #name))))
  add(('    """%s"""\n    ctx = context.of_call(ctx)'):format(p.doc:gsub("\n", "\n    "):gsub(" +\n", "\n")))
  read_shape(m, add)
  for _, s in ipairs(m.raw.sizes) do
    if s[2]:find("up(", 1, true) then add(("    %s = %s"):format(s[1], expression(m, s[2]))) end
  end
  fill_args(m, add)
  add(('    run(ctx, f"%s", _struct(%sArgs, **args), %s, stream)'):format(problem(m), camel(m.short),
    parameter(m, m.tensor[p.shape])))
  if p.returns then add("    return " .. p.returns) end
end

return function(m)
  local out, p, codes = {}, m.raw.python, encodings(m)
  local function add(text) out[#out + 1] = text end
  classes(m, add)
  entry_point(m, add)
  local body = table.concat(out, "\n") .. "\n"
  return ([[
"""%s

Made by tools/args.lua of gen/ops/%s/args.lua."""
import ctypes

from . import context
from .context import _struct
from .entry import entry
from .library import %s
from .made import %s
from .tensors import dtype_name, fail

__all__ = ["%s"]
%s

%s]]):format(p.about, m.op, used(body, "I32 I64 PTR U32"), used(body, "DTYPES any_of rows_of run same_place tuned up"),
    p.name or m.op, codes and "\n" .. codes .. "\n" or "", body)
end
