-- The C that is made of an operation's arguments (tools/args_model.lua):
--   args.h              for the file of the operation that is written by hand: places of tensors, a case's options
--   record.c, launch.h  the table that checks and fills (op/args_check.h), and the operation's record: all that launches need
--   calls.c             its cases, and the functions of its record
local make = {}

-- $name in a text becomes values.name, else m.name; of $name_more, where that is neither, the front.
local function fill(m, text, values)
  return (text:gsub("%$([%a_]+)", function(name)
    local front, rest = name, ""
    while true do
      local value = values and values[front]
      if value == nil then value = m[front] end
      if value ~= nil then return tostring(value) .. rest end
      local shorter = front:match("^(.+)_[^_]*$") or error("no $" .. name, 0)
      front, rest = shorter, name:sub(#shorter + 1)
    end
  end))
end

local function lines_of(list, make_one)
  local out = {}
  for i, x in ipairs(list) do out[#out + 1] = make_one(x, i) end
  return table.concat(out, "\n")
end

local function quoted(text) return text and '"' .. text .. '"' or "NULL" end
local function yes(value) return tostring(value or false) end
local function offset(m, member) return ("offsetof(%s, %s)"):format(m.struct, member) end
local function numbers(list) return "{" .. table.concat(list, ", ") .. "}" end

-- --- args.h ---
function make.args(m)
  local options = #m.options == 0 and "" or fill(m, [[
/* A case's own options; 0: not given. */
typedef struct $x_options {
  double $list;
} $x_options;
]], { list = table.concat(m.options, ", ") })
  return fill(m, [[
/* Made by tools/args.lua of gen/ops/$op/args.lua. */
#ifndef $OP_ARGS_H
#define $OP_ARGS_H

#include "mlaforge/$op.h"
#include "op/table.h"
#include "ops/$op/launch.h"

$options
extern const mlaf_table_hooks $x_hooks; /* written by hand */

#endif
]], { options = options })
end

-- --- launch.h ---
local function member(m, w)
  local pointer = w.kind == "pointer" and ("%s%s *"):format(w.of.raw.out and "" or "const ", w.of.element.c or "void")
  local copied = w.kind == "copy" and (w.of.c or "uint32_t") .. " "
  local c = pointer or copied or w.c or (w.kind == "reserved" and "uint32_t " or "int64_t ")
  return ("  %s%s;"):format(c, w.member)
end

-- Functions of runtime/ops/OP/relations.c.
local RELATIONS = [[

/* relations.c: the sizes that args.lua has no expression for; numbers, checked before the rest and even where there is nothing to
 * launch; what relates checked arguments to each other; the block's members that the table does not fill, and the grid. */
void $x_sizes(const int32_t *f, const $struct *a, int64_t *n);
mlaf_status $x_numbers(const int32_t *f, const $struct *a, mlaf_err *err);
mlaf_status $x_related(const mlaf_bound *b, const $struct *a, const int64_t *n, mlaf_err *err);
mlaf_status $x_complete(const mlaf_bound *b, const $struct *a, const int64_t *n, mlaf_$x_kernel_args *k, mlaf_launch *launch,
                        mlaf_err *err);
]]

-- Relations of a table that operations share, whose C is in runtime/op.
local SHARED_RELATIONS = [[

/* Relations of checked arguments to each other. */
mlaf_status mlaf_$short_related(const mlaf_bound *b, const $struct *a, const int64_t *n, mlaf_err *err);
]]
local FUNCTIONS = [[
extern const mlaf_args_table $x_arguments;
extern const mlaf_calls mlaf_$x_calls;
int64_t $x_rows(const void *args);
int64_t $x_rows_of(const mlaf_point *p);
uint32_t $x_parameter_bytes(int stage, const mlaf_kernel_launch *launch);
mlaf_work $x_work(const mlaf_point *p);
]]

function make.launch(m)
  return fill(m, [[
/* Made by tools/args.lua of gen/$room/args.lua. */
#ifndef $OP_LAUNCH_H
#define $OP_LAUNCH_H

#include "mlaforge/$op.h"
#include "op/args_launch.h"
$fields
/* Tensors, in the order of the table. */
enum {
$tensors
};
/* Sizes. */
enum {
$sizes
};

/* The kernel's parameter block. */
typedef struct mlaf_$x_kernel_args {
$block
} mlaf_$x_kernel_args;
$relations$functions
#endif
]], {
    room = m.raw.shared or "ops/" .. m.op, fields = m.raw.shared and "" or fill(m, '#include "ops/$op/fields.h"\n'),
    functions = m.raw.shared and "" or fill(m, FUNCTIONS),
    tensors = lines_of(m.tensors, function(t) return ("  %s_%s,"):format(m.SHORT, t.name:gsub("%.", "_"):upper()) end),
    sizes = lines_of(m.sizes, function(s)
      return s.at > 0 and s.symbol and ("  %s_SIZE_%s = %d,"):format(m.SHORT, s.symbol:upper(), s.at) or nil
    end),
    relations = m.raw.relations and fill(m, m.raw.shared and SHARED_RELATIONS or RELATIONS) or "",
    block = lines_of(m.words, function(w) return member(m, w) end),
  })
end

-- --- record.c ---
local function axis_row(m, a)
  return ('{"%s", %d, %d, %s}'):format(a.name, a.size.at, a.dense, a.stride and offset(m, a.stride) or "0")
end

local function over_text(m, t, i)
  local other = t.over[i] and m.tensors[t.over[i] + 1].name
  local of = other and other:match("^([^.]+)%.")
  return other and ("%s lies over %s with other strides"):format(t.name, of and "the " .. of .. "'s" or other)
end

local function tensor_row(m, t)
  local raw, axes = t.raw, {}
  for i, a in ipairs(t.axes) do axes[i] = axis_row(m, a) end
  return fill(m, [[
    {.name = "$name", .stem = "$stem", .wanted = $wanted, .not_itself = $not_itself, .over_text = {$over_first, $over_second},
     .element = MLAF_ELEMENT_$element, .layout = MLAF_LAYOUT_$layout, .at = $at, .align = $align, .multiple = $multiple,
     .unit = $unit, .has = $has, .needed = $needed, .nested = $nested, .n_axes = $n_axes, .axes = {$axes},
     .columns = $columns, .least = $least, .out = $out, .optional = $optional, .rows_apart = $rows_apart, .unlike = $unlike,
     .in_place = $in_place, .over = {$first, $second}},]], {
    name = t.name, stem = raw.stem or t.name, wanted = quoted(raw.wanted), unit = t.unit, has = t.has or 0,
    needed = t.needed or t.has or 0, nested = yes(raw.nested), least = t.least or t.columns.at,
    not_itself = quoted(raw.unlike and raw.unlike[2]),
    over_first = quoted(over_text(m, t, 1)), over_second = quoted(over_text(m, t, 2)), element = t.element.enum,
    layout = t.strides == "any" and "ANY" or "ROWS", at = offset(m, t.name), align = t.align, multiple = raw.multiple or 1,
    n_axes = #axes, axes = #axes > 0 and table.concat(axes, ",\n              ") or "{NULL, 0, 0, 0}", columns = t.columns.at,
    out = yes(raw.out), optional = yes(raw.optional), rows_apart = yes(raw.rows_apart), unlike = t.unlike, in_place = t.in_place,
    first = t.over[1] or -1, second = t.over[2] or -1,
  })
end

local function bound_text(number)
  for bits = 10, 62 do
    if number == 1 << bits then return "2^" .. bits end
  end
  return tostring(number)
end

-- "in -1e+06..1e+06", "1 or more", "0..2^40", "0 or a multiple of 8 up to 2^40"
local function must(raw)
  if raw.must then return raw.must end
  if raw.above then return ("above %g, at most %g"):format(raw.above, raw.within) end
  if raw[2] == "float" then return (raw.least and "in %g..%g" or "in -%g..%g"):format(raw.least or raw.within, raw.within) end
  if raw.multiple then return ("0 or a multiple of %d up to %s"):format(raw.multiple, bound_text(raw.most)) end
  return raw.most and ("%d..%s"):format(raw.least, bound_text(raw.most)) or ("%d or more"):format(raw.least)
end

local function scalar_row(m, s)
  local raw = s.raw
  local function bound(number, otherwise) return number and ("INT64_C(%d)"):format(number) or otherwise end
  return fill(m, [[
    {.name = "$name", .must = $must, .kind = MLAF_NUMBER_$kind, .at = $at, .least = $least,
     .most = $most, .multiple = $multiple, .within = $within, .above = $above},]], {
    name = s.name, must = quoted((raw.within or raw.least) and must(raw)), kind = s.number.enum,
    at = offset(m, s.name), least = bound(raw.least, "INT64_MIN"),
    most = bound(raw.most, "INT64_MAX"), multiple = raw.multiple or 1, within = ("%g"):format(raw.within or 0),
    above = raw.above and ("%g"):format(raw.above) or "-INFINITY",
  })
end

-- A member of the block, from the tensors' places x.
local function fill_line(m, w)
  local from = {
    pointer = function() return ("(%s)(uintptr_t)x[%d].at"):format(w.of.raw.out and "void *" or "const void *", w.of.at) end,
    stride = function()
      local unit = w.unit > 0 and tostring(w.unit) or ("n[%d]"):format(w.of.unit)
      return ("%s * x[%d].stride[%d]"):format(unit, w.of.at, w.axis)
    end,
    size = function() return ("n[%d]"):format(w.of.at) end,
    copy = function() return "a->" .. w.of.name end,
  }
  return from[w.kind] and ("  k->%s = %s;"):format(w.member, from[w.kind]()) or nil
end

-- A tensor's place: what is given, else dense; in place that of another.
local function place_line(m, t)
  local lines, at, any = { ("  x[%d].at = a->%s;"):format(t.at, t.name) }, t.at, {}
  for i, a in ipairs(t.axes) do any[i] = a.stride and "a->" .. a.stride or "0" end
  for i = #t.axes, 1, -1 do
    local a, inner = t.axes[i], t.axes[i + 1]
    local dense = t.raw.nested and inner and ("mlaf_step_over(n[%d], x[%d].stride[%d])"):format(inner.size.at, at, i)
      or ("n[%d]"):format(a.dense)
    local given = t.strides == "any" and table.concat(any, " | ") or a.stride and "a->" .. a.stride or "0"
    lines[#lines + 1] = ("  x[%d].stride[%d] = a->%s && (%s) ? %s : %s;"):format(at, i - 1, t.name, given, any[i], dense)
  end
  if t.in_place >= 0 then
    local flag = m.raw.in_place_flag
    lines[#lines + 1] = ("  if (%s) x[%d] = x[%d];"):format(flag and ("a->flags & %d"):format(m.flag[flag]) or "!a->" .. t.name,
      at, t.in_place)
  end
  return table.concat(lines, "\n")
end

local function in_place_fault(m)
  local names, of = {}, nil
  for _, t in ipairs(m.tensors) do
    if t.in_place >= 0 then names[#names + 1], of = t.name, of or m.tensors[t.in_place + 1].name:match("^[^.]+") end
  end
  return ("%s is set beside MLAF_%s_%s, which means the %s's: NULL"):format(table.concat(names, " or "), m.SHORT,
    m.raw.in_place_flag, of)
end

-- The operation's functions, as the table calls them.
local RELATED = [[

static mlaf_status numbers(const int32_t *f, const void *args, mlaf_err *err) { return $x_numbers(f, args, err); }
static mlaf_status related(const mlaf_bound *b, const void *args, const int64_t *n, mlaf_err *err) {
  return $x_related(b, args, n, err);
}
static mlaf_status complete(const mlaf_bound *b, const void *args, const int64_t *n, void *block, mlaf_launch *launch,
                            mlaf_err *err) {
  return $x_complete(b, args, n, block, launch, err);
}
]]

local WORK = [[
int64_t $x_rows_of(const mlaf_point *p) { return p->v[$count_field]; }

mlaf_work $x_work(const mlaf_point *p) {
  const $struct a = {.struct_size = sizeof a, .$count_name = p->v[$count_field]};
  int64_t n[MLAF_ARG_SIZES];
  fill_sizes(p->v, &a, n);
  return (mlaf_work){.bytes = (double)($bytes), .flops = (double)($flops)};
}
]]

local SHARED_RELATED = [[

static mlaf_status related(const mlaf_bound *b, const void *args, const int64_t *n, mlaf_err *err) {
  return mlaf_$short_related(b, args, n, err);
}
]]

local CALLED = [[

int64_t $x_rows(const void *args) { return ((const $struct *)args)->$count_name; }
uint32_t $x_parameter_bytes(int stage, const mlaf_kernel_launch *launch) {
  return mlaf_arguments_parameter_bytes(&$x_arguments, launch);
}
]]

-- Calls of an operation that shares its table: alone, and where other problems may follow.
local SHARED_CALLS = "static const mlaf_calls calls = MLAF_$SHORT(&$x_arguments, $OP_DTYPE);\n"
local JOINT_CALLS = "const mlaf_calls $x_alone = MLAF_$SHORT(&$x_arguments, $OP_DTYPE);\n"

function make.record(m, stages)
  local relations, sizes, together = m.raw.relations, {}, false
  local function add_sizes(products) -- of which the operation's own may be factors
    for _, s in ipairs(m.sizes) do
      if s.c and not s.symbol == products then sizes[#sizes + 1] = ("  n[%d] = %s;"):format(s.at, s.c) end
    end
  end
  add_sizes(false)
  local shared, joint = m.raw.shared, m.raw.joint
  if relations and not shared then sizes[#sizes + 1] = ("  %s_sizes(f, a, n);"):format(m.x) end
  add_sizes(true)
  for _, t in ipairs(m.tensors) do together = together or t.raw.rows_apart or #t.over > 0 or t.raw.unlike ~= nil end
  local flags, place = 0, m.raw.in_place_flag
  for _, bit in pairs(m.flag) do flags = flags | bit end
  local scalars = #m.scalars > 0 and ("static const mlaf_arg_scalar scalars[] = {\n%s\n};\n"):format(
    lines_of(m.scalars, function(s) return scalar_row(m, s) end)) or ""
  return fill(m, [[
/* Made by tools/args.lua of gen/ops/$op/args.lua. */
#include "$launch"

#include <math.h>
$declared
static void fill_sizes(const int32_t *f, const void *args, int64_t *n) {
  const $struct *a = (const $struct *)args;
$sizes
  (void)f, (void)a;
}
$relations
static const mlaf_arg_tensor tensors[] = {
$tensors
};

$scalars
static void fill_places(const void *args, const int64_t *n, mlaf_arg_place *x) {
  const $struct *a = (const $struct *)args;
$places
}

static void fill_block(const void *args, const int64_t *n, const mlaf_arg_place *x, void *block) {
  const $struct *a = (const $struct *)args;
  mlaf_$short_kernel_args *k = (mlaf_$short_kernel_args *)block;
$block
  (void)a, (void)n;
}

const mlaf_args_table $x_arguments = {
    .count_name = "$count_name", .count_at = $count_at, .flags_at = $flags_at,
    .count_most = $most, .count_field = $count_field, .also_at = $also, .together = $together, .strict = $strict,
    .flags = $flags, .flags_must = "$must", .in_place_flag = $in_place_flag, .in_place_fault = $in_place_fault,
    .too_many = "$too_many", .sizes = fill_sizes, .places = fill_places, .fill = fill_block,
    .n_tensors = $n_tensors, .n_scalars = $n_scalars, .tensors = tensors, .scalars = $list, .rows = $rows_at,
    .block_bytes = $block_bytes, .short_bytes = $short_bytes,$functions
};
$called$work
static const mlaf_field fields[] = {$OP_ROWS};
static const char *const stages[MLAF_STAGES_MAX + 1] = {$stages};
const mlaf_op mlaf_op_$op = {.name = "$op",
                             .example = $OP_EXAMPLE,
                             .fields = fields,
                             .n_fields = $OP_FIELDS,
                             .stages = stages,$follows
                             .calls = &$table};
]], {
    launch = shared and fill(m, joint and "ops/$op/$x.h" or "op/$short_calls.h") or fill(m, "ops/$op/launch.h"),
    declared = shared and fill(m, '#include "ops/$op/fields.h"\n\nextern const mlaf_args_table $x_arguments;\n') or "",
    called = shared and "" or fill(m, CALLED, { count_name = m.count.name }), strict = yes(m.raw.strict),
    count_field = m.field[m.count.field] or -1,
    follows = joint and fill(m, "\n                             .joint = &$x_joint,") or "",
    table = fill(m, not shared and "mlaf_$x_calls" or joint and "$x_calls" or "calls"),
    sizes = table.concat(sizes, "\n"), relations = relations and fill(m, shared and SHARED_RELATED or RELATED) or "",
    functions = shared and "\n    .related = related,"
      or relations and "\n    .numbers = numbers, .related = related, .complete = complete," or "",
    most = m.count.most, also = m.count.also and offset(m, m.count.also) or 0, together = yes(together),
    short_bytes = m.short_bytes or m.block_bytes,
    tensors = lines_of(m.tensors, function(t) return tensor_row(m, t) end), scalars = scalars,
    places = lines_of(m.tensors, function(t) return place_line(m, t) end),
    block = lines_of(m.words, function(w) return fill_line(m, w) end),
    count_name = m.count.name, count_at = offset(m, m.count.name), flags_at = offset(m, "flags"), flags = flags,
    must = m.raw.known_flags and ("known are %#x"):format(flags) or flags == 0 and "must be 0"
      or ("must be MLAF_%s_*"):format(m.SHORT), in_place_flag = place and m.flag[place] or 0,
    in_place_fault = quoted(place and in_place_fault(m)),
    too_many = m.rows.c == "a->" .. m.count.name and "more than" or "more rows than", -- a launch may have more than the caller
    n_tensors = #m.tensors, n_scalars = #m.scalars,
    list = #m.scalars > 0 and "scalars" or "NULL", rows_at = m.rows.at,
    work = shared and fill(m, joint and JOINT_CALLS or SHARED_CALLS)
      or m.raw.work and fill(m, WORK, { count_name = m.count.name, count_field = m.field[m.count.field] }) or "",
    stages = '"' .. table.concat(stages, '", "') .. '"',
  })
end

-- --- calls.c ---
local function scalars_of(m, case)
  local list = {}
  for i, s in ipairs(m.scalars) do list[i] = ("%.17g"):format(case[s.name] or s.raw.usual or s.raw.least or 0) end
  return #list > 0 and "(const double[])" .. numbers(list) or "NULL"
end

local function case_row(m, case)
  local straight, without, flags, options = 0, 0, 0, {}
  for _, name in ipairs(case.without or {}) do without = without | 1 << m.tensor[name].at end
  for _, name in ipairs(case.straight or {}) do straight = straight | 1 << m.tensor[name].at end
  for _, name in ipairs(case.flags or {}) do flags = flags | m.flag[name] end
  for i, name in ipairs(m.options) do options[i] = ("%.17g"):format(case[name] == true and 1 or case[name] or 0) end
  return fill(m, [[
    {.name = "$name", .gaps = $gaps, .in_place = $in_place, .spare = $spare, .flags = $flags,
     .straight = $straight, .without = $without, .count = $rows, .scalars = $scalars, .options = $options},]], {
    name = case[1] or "timing", gaps = yes(case.gaps), in_place = yes(case.in_place), spare = yes(case.spare), flags = flags,
    straight = straight, without = without, rows = case[m.count.name] or 0, scalars = scalars_of(m, case),
    options = #options > 0 and ("&(const %s_options)%s"):format(m.short, numbers(options)) or "NULL",
  })
end

-- Members of mlaf_calls that an operation's table may say otherwise; %s: the operation.
local CALLS = {
  args_first = "sizeof(mlaf_%s_args)", rows = "%s_rows", rows_of = "%s_rows_of", parameter_bytes = "%s_parameter_bytes",
  work = "%s_work", n_mapped = "1",
  check_stages = "mlaf_arguments_check_stages", check_args = "mlaf_arguments_check_launch", prepare = "mlaf_arguments_prepare",
}
for _, name in ipairs({ "make_case", "free_case", "case_buffers", "compare", "same", "bound", "data_open", "data_close",
  "data_args", "data_check", "data_error", "data_row" }) do
  CALLS[name] = "mlaf_table_" .. name
end

local function calls_of(m)
  local list, own = {}, {}
  for name, c in pairs(m.raw.calls or {}) do own[name] = c end -- each once: in any order
  for name, c in pairs(CALLS) do list[#list + 1] = ("    .%s = %s,"):format(name, own[name] or c:format(m.x)) end
  for name, c in pairs(own) do list[#list + 1] = not CALLS[name] and ("    .%s = %s,"):format(name, c) or nil end
  table.sort(list)
  return table.concat(list, "\n")
end

local CALLS_C = [[
/* Made by tools/args.lua of gen/ops/$op/args.lua. */
#include "op/table_calls.h"
#include "ops/$op/args.h"
$header
_Static_assert(sizeof($struct) <= MLAF_ARGS_MAX, "arguments fit");
_Static_assert($block_bytes <= MLAF_PARAMETERS_MAX, "a prepared launch holds the block");

static const mlaf_table_case cases[] = {
$cases
};

$timed
static const mlaf_table table = {
    .args = &$x_arguments, .args_size = sizeof($struct), .hooks = &$x_hooks, .cases = cases, .dtype_field = $dtype,
    .case_rows = $case_rows,
    .case_least = $case_least, .walk = {$walk}, .more = $more, .ulps = $ulps, .timing = $timing, .cold = $cold,
    .relative = $relative, .lengths = $lengths,
};

const mlaf_calls mlaf_$x_calls = {
    .args_name = "$struct", .args_init = "MLAF_$X_ARGS_INIT", .args_size = sizeof($struct), .n_cases = $n_cases,
    .error_about = "$error_about", .arguments = &$x_arguments, .table = &table,
$calls
};
]]

function make.calls(m)
  local raw = m.raw
  return fill(m, CALLS_C, {
    cases = lines_of(raw.cases, function(case) return case_row(m, case) end), dtype = m.field.dtype or -1,
    case_rows = raw.case_rows and raw.case_rows[1] or 0, case_least = raw.case_rows and raw.case_rows.least or 0,
    ulps = ("%g"):format(raw.ulps or 0), timing = raw.timing and "&timing" or "NULL", cold = yes((raw.timing or {}).cold),
    timed = raw.timing and ("static const mlaf_table_case timing =\n%s;\n"):format(case_row(m, raw.timing):gsub(",$", "")) or "",
    relative = yes(raw.relative), lengths = yes((raw.timing or {}).lengths),
    walk = #m.walk > 0 and table.concat(m.walk, ", ") or "0", more = m.more, n_cases = #raw.cases, error_about = raw.error_about,
    calls = calls_of(m), header = raw.header and ('#include "%s"\n'):format(raw.header) or "",
  })
end

return make
