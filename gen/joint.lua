-- Joint kernels: a variant that serves a list of problems at once. gen/ops/joint/OP.lua lists the problems that may follow one of
-- operation OP; its rows have
--
--   op      the operation of the problem that follows
--   same    its fields that the first problem says already: field = the first one's field
--   is      its fields that must have one value: field = value
--
-- and, where such a list is planned as one problem, "FIRST:...+NEXT:...", each with what is not said already:
--
--   name    what messages call it, and the field that says whether it follows
--   own     its other fields, in the order of the string; of the first the words say that it follows, too
--   behind  another one's name: it follows only where that one does
--   about   of its fields where the operation's own text does not do: field = text
--
-- The list has its fields as numbers, under NAME_FIELD and with words NAME_WORD, which strings of before had among the first's.
-- C has the same of tables that tools/limits.lua makes (runtime/op/joint.h).
local loader = ...
local joint = {}

-- The problems that may follow one of an operation; none: an empty list.
function joint.rows(op)
  local there = loader.host.read("gen/ops/joint/" .. op .. ".lua")
  return there and loader.require("ops/joint/" .. op) or {}
end

-- True if problem `next` may follow p.
function joint.follows(p, next)
  for _, row in ipairs(joint.rows(p.op)) do
    local fits = row.op == next.op
    for field, of in sorted(row.same) do fits = fits and next[field] == p[of] end
    for field, value in sorted(row.is or {}) do fits = fits and next[field] == value end
    if fits then return true end
  end
  return false
end

local function copy(t)
  local out = {}
  for k, v in sorted(t) do out[k] = v end
  return out
end

-- The field of that name.
function joint.named(fields, name)
  for _, f in ipairs(fields) do
    if f.field == name then return f end
  end
  error("joint: there is no field " .. name, 0)
end

-- Those names in the order of the fields.
function joint.in_order(fields, names)
  local out, set = {}, {}
  for _, name in ipairs(names) do set[name] = true end
  for _, f in ipairs(fields) do
    if set[f.field] then out[#out + 1] = f.field end
  end
  return out
end

-- A field of a row's operation as the list has it. of: its name there; less: what its number is less there.
local function field_of(row, f, first)
  local out = copy(f)
  out.part, out.of, out.less = row.op, f.field, first and f.words[1] ~= "" and 1 or 0
  out.about = row.about and row.about[f.field] or f.about
  out.moot = { field = first and row.behind or row.name, at = 0 }
  if first and not row.behind then out.moot = nil end
  if not f.words then return out end
  out.field = first and row.name or row.name .. "_" .. f.field
  out.word = first and row.name or row.name .. "'s " .. f.word
  out.words = { "" }
  for i = 2 - out.less, #f.words do out.words[#out.words + 1] = row.name .. "_" .. f.words[i] end
  return out
end

-- The fields of an operation's problems, those that may follow included: its own of shape, theirs, its sizes.
function joint.fields(op)
  local own = loader.require("ops/" .. op .. "/fields")
  local rows, out, sizes = {}, { example = own.example }, {}
  for _, row in ipairs(joint.rows(op)) do
    if row.own then rows[#rows + 1] = row end
  end
  if #rows == 0 then return own end
  for _, f in ipairs(own) do
    local to = f.size and sizes or out
    to[#to + 1] = f
  end
  for nth, row in ipairs(rows) do
    local fields = loader.require("ops/" .. row.op .. "/fields")
    for i, name in ipairs(row.own) do
      out[#out + 1] = field_of(row, joint.named(fields, name), i == 1)
      out[#out].nth = nth
    end
  end
  return table.move(sizes, 1, #sizes, #out + 1, out)
end

return joint
