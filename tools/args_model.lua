-- Reads gen/ops/OP/args.lua, the arguments of an operation's launch, and spells it out for the writers of C, headers and Python
-- (tools/args.lua). A table of arguments has
--
--   head, about, call_about  the header's comments: what is computed; what holds for all arguments; what a caller must heed. No
--             head: the header is written by hand
--   count     { name, about, field =, most =, also = }: rows of input, an int64_t; `field` of the problem, where its name
--             differs; most = "any": more than 2^31-1, too; also: an int32_t that is 0 where there is nothing to launch
--   flags     { { NAME, about } }: bits that a caller may set; none: flags must be 0. known_flags: true: messages say which
--   in_place_flag  the flag by which outputs take the memory of the tensor their in_place names; left out: NULL does
--   sizes     { symbol, expression, each = }: named lengths. Expressions hold + - * ( ), numbers, up(x, n) (x / n rounded up),
--             names of fields, of the count, of scalars and of sizes before, flags, and names of tensors, which are 1 where
--             the caller gives one, else 0; each: an axis of that size in names ("token")
--             No expression: the operation's C knows it (relations)
--   args      in the order of the public struct, each a tensor, a scalar, or { struct =, names =, about =, tensors... }: a struct
--             of tensors that occurs under each of the names
--   block     the kernel's parameter block, in order, each [member=]source: a tensor's address, TENSOR.AXIS (a stride in bytes),
--             TENSOR:AXIS (in elements), a size, a scalar, `flags`, or `reserved`; no member: the source with _ for . and :.
--             MEMBER!TYPE: of that C type ("ptr": an address), and filled by the operation's C
--   scales_from  the block's member from which on only kernels have it that say MLAF_KERNEL_SCALES
--   rows      the size that workgroups share out, rows_per_wg each
--   relations true: runtime/ops/OP/relations.c says what relates arguments to each other, in the functions that OP/launch.h
--             declares; then rows is what is 0 where nothing is launched, and no more
--   walk      sizes of the two axes that rows are counted by; left out: those of the first output
--   more      a size: so many numbers are at hand for the C that draws and finds rows (mlaf_host.more)
--   calls     members of mlaf_calls that are not what they are by the table: C, declared in `header`
--   embed     what is otherwise in the embedded loader (tools/embed-files.lua)
--   strict    true: a tensor that the problem has not must be NULL
--   shared    the name of what several operations share: struct of arguments, block, functions, cases and timing data
--   work      { bytes =, flops = }: the least that a launch has to do, expressions. None: OP_work and OP_rows_of are C
--   ulps      largest error of a 16-bit output, in units in its last place; error_about says what that counts. relative = true:
--             the operation measures rows, and their errors are relative; then `bound` of `calls` says how large
--   case_rows { n, least = }: tokens of a case times the second axis are about n, an odd number. Else a case gives the count
--   cases     { name, ... }: gaps (between rows), in_place, spare (the second run without optional outputs), straight (tensors
--             with `any` strides whose second axis is the inner one), without (tensors that are NULL), flags, the count (fewer
--             where that are more rows than case_rows), scalars, and options of the operation's own, numbers or true, which
--             its C reads as struct OP_options
--   timing    a case of timed launches; cold = true: in so many sets of inputs that each launch finds its own cold. lengths =
--             true: they are `batch` requests of lengths about `ctx`, in the proportion of the problem's fields
--   python    see tools/args_python.lua
--
-- A tensor is { name, element, ... }: "16" (the problem's dtype), "f32", "i64", "i32", "8" (bytes), or a size, of so many bytes;
--   axes      symbols of sizes, behind "|" the columns; left out behind "|": rows are single elements. SIZE:NAME: an axis of
--             another name than the size's
--   strides   "rows": the caller may give one of each axis but the columns, 0 (dense), or a multiple of `multiple` from a row on;
--             "any": of each axis, all positive or all 0, which is dense with the first axis innermost; nil: none
--   nested    true: a stride that is not given is that of what lies inside, which may be given
--   least     the size that a stride has at least, where that is not the columns; stem: what names of strides begin with
--   align     bytes; left out: its element's. wanted: the text of what is wrong, where NULL and alignment have one
--   has, needed  sizes: 0 where the problem has no such tensor; where it may be NULL (left out: where the problem has none)
--   out, optional (NULL: not wanted), rows_apart (its rows must not overlap), in_place (tensor), over (tensors it may lie over),
--   unlike    { tensor, why it must have another address }
--   about, stride_about  comments
--
-- A scalar is { name, "float", within =, least =, above = } or { name, "int32_t" or "int64_t", least =, most =, multiple = }; one
-- without bounds is not checked. must: the text of the bounds. usual: what cases have that do not say it.
local ELEMENTS = {
  ["16"] = { bytes = 2, c = "void", enum = "16" }, f32 = { bytes = 4, c = "float", enum = "F32" },
  i64 = { bytes = 8, c = "int64_t", enum = "I64" }, ["8"] = { bytes = 1, c = "void", enum = "8" },
  i32 = { bytes = 4, c = "int32_t", enum = "I32" },
}
local NUMBERS = {
  float = { bytes = 4, enum = "F32" }, int32_t = { bytes = 4, enum = "I32" }, int64_t = { bytes = 8, enum = "I64" },
}
-- Members of a block that the operation's C fills.
local BY_HAND = {
  ptr = { bytes = 8, c = "const void *" }, i64 = { bytes = 8, c = "int64_t " }, u64 = { bytes = 8, c = "uint64_t " },
  u32 = { bytes = 4, c = "uint32_t " }, i32 = { bytes = 4, c = "int32_t " }, float = { bytes = 4, c = "float " },
}

local function fail(op, ...) error(("gen/ops/%s/args.lua: "):format(op) .. string.format(...), 0) end

-- Symbols of sizes and fields in an expression become C.
local function to_c(m, text, what)
  local wide = text:find("[-+*]") and "(int64_t)" or "" -- a caller may give any number
  return (text:gsub("%a[%w_]*", function(name)
    if m.size[name] then return ("n[%d]"):format(m.size[name].at) end
    if name == m.count.name then return "a->" .. name end
    if m.scalar[name] then return wide .. "a->" .. name end
    if m.field[name] then return ("f[%s]"):format(m.field[name]) end
    if m.given[name] then return ("(a->%s != NULL)"):format(name) end
    if name == "flags" then return "(int64_t)a->flags" end
    if name == "up" then return "mlaf_up" end
    fail(m.op, "%s: no size, field or scalar is called %s", what, name)
  end))
end

local function read_sizes(m, raw)
  m.sizes, m.size = { { symbol = "1", c = "1", at = 0 } }, {}
  for _, s in ipairs(raw.sizes) do
    local size = { symbol = s[1], at = #m.sizes, each = s.each }
    size.c = s[2] and to_c(m, s[2], "size " .. s[1])
    m.sizes[#m.sizes + 1], m.size[s[1]] = size, size
  end
end

-- The place of a product of sizes in the list, added where it is not there yet.
local function product(m, sizes)
  local c = {}
  for i, s in ipairs(sizes) do c[i] = ("n[%d]"):format(s.at) end
  local text = table.concat(c, " * ")
  if #sizes == 0 then return 0 end
  if #sizes == 1 then return sizes[1].at end
  for _, s in ipairs(m.sizes) do
    if s.c == text then return s.at end
  end
  m.sizes[#m.sizes + 1] = { c = text, at = #m.sizes }
  return #m.sizes - 1
end

local function size_of(m, name, symbol) return m.size[symbol] or fail(m.op, "%s: %s is no size", name, symbol) end

local function read_axes(m, t, raw)
  local rows, columns = raw.axes:match("^([^|]*)|?%s*(%a*)%s*$")
  t.axes, t.columns = {}, columns ~= "" and size_of(m, t.name, columns) or m.sizes[1]
  for symbol, name in rows:gmatch("(%a+):?(%l*)") do
    local size = m.size[symbol] or fail(m.op, "%s has an axis %s, which is no size", t.name, symbol)
    t.axes[#t.axes + 1] = { size = size, name = name ~= "" and name or size.each or symbol:lower() }
  end
  for i, a in ipairs(t.axes) do -- sizes that lie within a step of it
    local within = {}
    if t.strides == "any" then
      for k = 1, i - 1 do within[#within + 1] = t.axes[k].size end
    else
      for k = i + 1, #t.axes do within[#within + 1] = t.axes[k].size end
      if t.columns.at > 0 then within[#within + 1] = t.columns end
    end
    a.dense = product(m, within)
    if t.strides then a.stride = ("%s_%s_stride"):format(raw.stem or t.name, a.name) end
  end
end

local function power_of_two(m, name, what, number)
  if number < 1 or number & (number - 1) ~= 0 then fail(m.op, "%s: %s is %d, must be a power of two", name, what, number) end
end

local function read_tensor(m, raw, prefix)
  local unit = m.size[raw[2]]
  local sized = unit and { enum = "SIZED", c = "void" }
  local element = ELEMENTS[raw[2]] or sized or fail(m.op, "%s is of type %s", raw[1], tostring(raw[2]))
  local t = { name = prefix .. raw[1], at = #m.tensors, element = element, kind = raw[2], strides = raw.strides, raw = raw,
    align = raw.align or element.bytes, unit = unit and unit.at or 0 }
  for _, key in ipairs({ "has", "needed", "least" }) do t[key] = raw[key] and size_of(m, t.name, raw[key]).at end
  power_of_two(m, t.name, "multiple", raw.multiple or 1)
  power_of_two(m, t.name, "align", t.align)
  read_axes(m, t, raw)
  m.tensors[#m.tensors + 1], m.tensor[t.name] = t, t
  return t
end

local function read_scalar(m, raw)
  local number = NUMBERS[raw[2]]
  local s = { name = raw[1], at = #m.scalars, c = raw[2], number = number, raw = raw, bytes = number.bytes }
  power_of_two(m, s.name, "multiple", raw.multiple or 1)
  m.scalars[#m.scalars + 1], m.scalar[s.name] = s, s
end

-- Tensors may be named before they are read: places, once all are.
local function resolve(m)
  local function at(name) return name and (m.tensor[name] or fail(m.op, "no tensor is called %s", name)).at or -1 end
  for _, t in ipairs(m.tensors) do
    t.in_place, t.over, t.unlike = at(t.raw.in_place), {}, at(t.raw.unlike and t.raw.unlike[1])
    if t.in_place >= t.at then fail(m.op, "%s may lie in %s, which must stand before it", t.name, t.raw.in_place) end
    for i, name in ipairs(t.raw.over or {}) do t.over[i] = at(name) end
  end
end

-- { member, kind = "pointer" "stride" "size" "copy" "reserved", ... }, with offsets as C lays them out.
local function read_word(m, text)
  local by_hand, kind = text:match("^([%w_]+)!(%w+)$")
  if by_hand then
    local type = BY_HAND[kind] or fail(m.op, "block: %s is of type %s", by_hand, kind)
    return { member = by_hand, kind = "hand", bytes = type.bytes, c = type.c, pointer = kind == "ptr" }
  end
  local member, source = text:match("^([%w_]+)=(.+)$")
  source = source or text
  local w = { member = member or source:gsub("[.:]", "_"), bytes = 8 }
  local tensor, unit, axis = source:match("^(.+)([.:])([%a_]+)$")
  local of = tensor and m.tensor[tensor]
  if m.tensor[source] then w.kind, w.of, w.pointer = "pointer", m.tensor[source], true
  elseif of then
    w.kind, w.of, w.unit = "stride", of, unit == "." and (of.element.bytes or 0) or 1
    for i, a in ipairs(of.axes) do w.axis = a.name == axis and i - 1 or w.axis end
    if not w.axis then fail(m.op, "block: %s has no axis %s", tensor, axis) end
  elseif m.scalar[source] then w.kind, w.of, w.bytes = "copy", m.scalar[source], m.scalar[source].bytes
  elseif source == "flags" then w.kind, w.of, w.bytes = "copy", { name = "flags" }, 4
  elseif source == "reserved" then w.kind, w.bytes = "reserved", 4
  elseif m.size[source] then w.kind, w.of = "size", m.size[source]
  else fail(m.op, "block: %s is no tensor, stride, size or scalar", source) end
  return w
end

local function read_block(m, raw)
  m.words, m.block_bytes = {}, 0
  for text in raw.block:gmatch("%S+") do
    local w = read_word(m, text)
    if w.member == raw.scales_from then m.short_bytes = m.block_bytes end
    w.to = (m.block_bytes + w.bytes - 1) // w.bytes * w.bytes
    m.block_bytes = w.to + w.bytes
    m.words[#m.words + 1] = w
  end
  m.block_bytes = (m.block_bytes + 7) // 8 * 8
end

local CASE_KEYS = { gaps = true, in_place = true, spare = true, straight = true, flags = true, without = true, cold = true,
  lengths = true }

-- Names of the operation's own options, sorted.
local function options_of(m, cases)
  local seen, out = {}, {}
  local all = { table.unpack(cases) }
  all[#all + 1] = m.raw.timing
  for _, c in ipairs(all) do
    for key in pairs(c) do
      if type(key) == "string" and not CASE_KEYS[key] and not m.scalar[key] and key ~= m.count.name and not seen[key] then
        seen[key], out[#out + 1] = true, key
      end
    end
  end
  table.sort(out)
  return out
end

-- The table and the fields of an operation; of what operations share the table without expressions.
local function read(root, op)
  local path, raw, fields = package.path, nil, {}
  package.path = root .. "/gen/?.lua;" .. path -- fields have the formats of caches
  if op:find("^mla_") then
    raw, fields = dofile(("%s/gen/ops/%s/args.lua"):format(root, op)), dofile(("%s/gen/ops/%s/fields.lua"):format(root, op))
  else
    raw = dofile(("%s/gen/%s/args.lua"):format(root, op))()
  end
  package.path = path
  return raw, fields
end

return function(root, op)
  local raw, fields = read(root, op)
  local m = { op = op, OP = op:upper(), short = op:gsub("^mla_", ""), raw = raw, fields = fields, field = {}, scalar = {},
    scalars = {}, tensor = {}, tensors = {}, flag = {}, given = {}, cases = raw.cases }
  m.x, m.short = m.short, raw.shared or m.short
  m.SHORT, m.struct = m.short:upper(), ("mlaf_%s_args"):format(m.short)
  m.X = m.x:upper()
  m.count = { name = raw.count[1], about = raw.count[2], field = raw.count.field or raw.count[1], also = raw.count.also,
    most = raw.count.most == "any" and "INT64_MAX" or "INT32_MAX" }
  for _, f in ipairs(fields) do m.field[f.field] = ("%s_%s"):format(m.OP, f.field:upper()) end
  if raw.work and not m.field[m.count.field] then fail(op, "the count's field %s is none of the problem", m.count.field) end
  for i, f in ipairs(raw.flags or {}) do m.flag[f[1]] = 1 << i - 1 end
  for _, a in ipairs(raw.args) do
    if NUMBERS[a[2]] then read_scalar(m, a) elseif not a.struct then m.given[a[1]] = true end
  end
  read_sizes(m, raw)
  for _, a in ipairs(raw.args) do
    if a.struct then
      for _, name in ipairs(a.names) do
        for _, t in ipairs(a) do read_tensor(m, t, name .. ".") end
      end
    elseif not NUMBERS[a[2]] then
      read_tensor(m, a, "")
    end
  end
  resolve(m)
  read_block(m, raw)
  m.rows = m.size[raw.rows] or fail(op, "rows: %s is no size", tostring(raw.rows))
  m.walk = {}
  m.more = raw.more and size_of(m, "more", raw.more).at or 0
  for symbol in (raw.walk or ""):gmatch("%a+") do m.walk[#m.walk + 1] = size_of(m, "walk", symbol).at end
  m.options = options_of(m, raw.cases)
  if raw.work then m.bytes, m.flops = to_c(m, raw.work.bytes, "work.bytes"), to_c(m, raw.work.flops, "work.flops") end
  return m
end
