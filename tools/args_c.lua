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

/* Tensors, in the order of the table. */
enum {
$tensors
};
/* Sizes. */
enum {
$sizes
};
$options
extern const mlaf_table_hooks $x_hooks; /* written by hand */

#endif
]], { options = options,
    tensors = lines_of(m.tensors, function(t) return ("  %s_%s,"):format(m.SHORT, t.name:gsub("%.", "_"):upper()) end),
    sizes = lines_of(m.sizes, function(s)
      return s.at > 0 and s.symbol and ("  %s_SIZE_%s = %d,"):format(m.SHORT, s.symbol:upper(), s.at) or nil
    end) })
end

-- --- launch.h ---
function make.launch(m)
  return fill(m, [[
/* Made by tools/args.lua of gen/ops/$op/args.lua. */
#ifndef $OP_LAUNCH_H
#define $OP_LAUNCH_H

#include "mlaforge/$op.h"
#include "op/args_launch.h"
#include "ops/$op/fields.h"

extern const mlaf_args_table $x_arguments;
extern const mlaf_calls mlaf_$x_calls;
int64_t $x_rows(const void *args);
int64_t $x_rows_of(const mlaf_point *p);
uint32_t $x_parameter_bytes(int stage, const mlaf_kernel_launch *launch);
mlaf_work $x_work(const mlaf_point *p);

#endif
]])
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
    {.name = "$name", .wanted = $wanted, .not_itself = $not_itself, .over_text = {$over_first, $over_second},
     .element = MLAF_ELEMENT_$element, .layout = MLAF_LAYOUT_$layout, .at = $at, .align = $align, .multiple = $multiple,
     .n_axes = $n_axes, .axes = {$axes},
     .columns = $columns, .out = $out, .optional = $optional, .rows_apart = $rows_apart, .unlike = $unlike,
     .in_place = $in_place, .over = {$first, $second}},]], {
    name = t.name, wanted = quoted(raw.wanted),
    not_itself = quoted(raw.unlike and ("%s is %s: %s"):format(t.name, raw.unlike[1], raw.unlike[2])),
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
  if raw[2] == "float" then return (raw.least and "in %g..%g" or "in -%g..%g"):format(raw.least or raw.within, raw.within) end
  if raw.multiple then return ("0 or a multiple of %d up to %s"):format(raw.multiple, bound_text(raw.most)) end
  return raw.most and ("%d..%s"):format(raw.least, bound_text(raw.most)) or ("%d or more"):format(raw.least)
end

local function scalar_row(m, s)
  local raw = s.raw
  local function bound(number, otherwise) return number and ("INT64_C(%d)"):format(number) or otherwise end
  return fill(m, [[
    {.name = "$name", .must = "$must", .kind = MLAF_NUMBER_$kind, .at = $at, .least = $least,
     .most = $most, .multiple = $multiple, .within = $within},]], {
    name = s.name, must = must(raw), kind = s.number.enum, at = offset(m, s.name), least = bound(raw.least, "INT64_MIN"),
    most = bound(raw.most, "INT64_MAX"), multiple = raw.multiple or 1, within = ("%g"):format(raw.within or 0),
  })
end

local function word_row(m, w)
  if w.kind == "reserved" then return nil end
  if w.kind == "pointer" then return ("    {.to = %d, .kind = MLAF_WORD_POINTER, .of = %d},"):format(w.to, w.of.at) end
  if w.kind == "size" then return ("    {.to = %d, .kind = MLAF_WORD_SIZE, .of = %d},"):format(w.to, w.of.at) end
  if w.kind == "stride" then
    return ("    {.to = %d, .kind = MLAF_WORD_STRIDE, .of = %d, .axis = %d, .bytes = %d},"):format(w.to, w.of.at, w.axis, w.unit)
  end
  return ("    {.to = %d, .kind = MLAF_WORD_COPY_%d, .from = %s},"):format(w.to, 8 * w.bytes, offset(m, w.of.name))
end

local function in_place_fault(m)
  local names, of = {}, nil
  for _, t in ipairs(m.tensors) do
    if t.in_place >= 0 then names[#names + 1], of = t.name, of or m.tensors[t.in_place + 1].name:match("^[^.]+") end
  end
  return ("%s is set beside MLAF_%s_%s, which means the %s's: NULL"):format(table.concat(names, " or "), m.SHORT,
    m.raw.in_place_flag, of)
end

function make.record(m, stages)
  local flags, place, words = 0, m.raw.in_place_flag, lines_of(m.words, function(w) return word_row(m, w) end)
  for _, bit in pairs(m.flag) do flags = flags | bit end
  local scalars = #m.scalars > 0 and ("static const mlaf_arg_scalar scalars[] = {\n%s\n};\n"):format(
    lines_of(m.scalars, function(s) return scalar_row(m, s) end)) or ""
  return fill(m, [[
/* Made by tools/args.lua of gen/ops/$op/args.lua. */
#include "ops/$op/launch.h"

static void fill_sizes(const int32_t *f, const void *args, int64_t *n) {
  const $struct *a = (const $struct *)args;
$sizes
  (void)f, (void)a;
}

static const mlaf_arg_tensor tensors[] = {
$tensors
};

$scalars
static const mlaf_arg_word words[] = {
$words
};

const mlaf_args_table $x_arguments = {
    .count_name = "$count_name", .count_at = $count_at, .flags_at = $flags_at,
    .flags = $flags, .flags_must = "$must", .in_place_flag = $in_place_flag, .in_place_fault = $in_place_fault,
    .too_many = "$too_many", .sizes = fill_sizes, .n_tensors = $n_tensors, .n_scalars = $n_scalars, .n_words = $n_words,
    .tensors = tensors, .scalars = $list, .words = words, .rows = $rows_at, .block_bytes = $block_bytes,
};

int64_t $x_rows(const void *args) { return ((const $struct *)args)->$count_name; }
int64_t $x_rows_of(const mlaf_point *p) { return p->v[$count_field]; }
uint32_t $x_parameter_bytes(int stage, const mlaf_kernel_launch *launch) {
  return mlaf_arguments_parameter_bytes(&$x_arguments, launch);
}

mlaf_work $x_work(const mlaf_point *p) {
  const $struct a = {.struct_size = sizeof a, .$count_name = p->v[$count_field]};
  int64_t n[MLAF_ARG_SIZES];
  fill_sizes(p->v, &a, n);
  return (mlaf_work){.bytes = (double)($bytes), .flops = (double)($flops)};
}

static const mlaf_field fields[] = {$OP_ROWS};
static const char *const stages[MLAF_STAGES_MAX + 1] = {$stages};
const mlaf_op mlaf_op_$op = {.name = "$op",
                             .example = $OP_EXAMPLE,
                             .fields = fields,
                             .n_fields = $OP_FIELDS,
                             .stages = stages,
                             .calls = &mlaf_$x_calls};
]], {
    sizes = lines_of(m.sizes, function(s) return ("  n[%d] = %s;"):format(s.at, s.c) end),
    tensors = lines_of(m.tensors, function(t) return tensor_row(m, t) end), scalars = scalars, words = words,
    count_name = m.count.name, count_at = offset(m, m.count.name), flags_at = offset(m, "flags"), flags = flags,
    must = flags == 0 and "0" or ("MLAF_%s_*"):format(m.SHORT), in_place_flag = place and m.flag[place] or 0,
    in_place_fault = quoted(place and in_place_fault(m)),
    too_many = m.rows.c == "a->" .. m.count.name and "more than" or "more rows than", -- a launch may have more than the caller
    n_tensors = #m.tensors, n_scalars = #m.scalars, n_words = select(2, words:gsub("\n", "")) + 1,
    list = #m.scalars > 0 and "scalars" or "NULL", rows_at = m.rows.at, count_field = m.field[m.count.field],
    stages = '"' .. table.concat(stages, '", "') .. '"',
  })
end

-- --- calls.c ---
local function scalars_of(m, case)
  local list = {}
  for i, s in ipairs(m.scalars) do list[i] = ("%.17g"):format(case[s.name] or s.raw.least or 0) end
  return #list > 0 and "(const double[])" .. numbers(list) or "NULL"
end

local function case_row(m, case)
  local straight, flags, options = 0, 0, {}
  for _, name in ipairs(case.straight or {}) do straight = straight | 1 << m.tensor[name].at end
  for _, name in ipairs(case.flags or {}) do flags = flags | m.flag[name] end
  for i, name in ipairs(m.options) do options[i] = ("%.17g"):format(case[name] == true and 1 or case[name] or 0) end
  return fill(m, [[
    {.name = "$name", .gaps = $gaps, .in_place = $in_place, .spare = $spare, .flags = $flags, .straight = $straight,
     .count = $rows, .scalars = $scalars, .options = $options},]], {
    name = case[1], gaps = yes(case.gaps), in_place = yes(case.in_place), spare = yes(case.spare), flags = flags,
    straight = straight, rows = case[m.count.name] or 0, scalars = scalars_of(m, case),
    options = #options > 0 and ("&(const %s_options)%s"):format(m.short, numbers(options)) or "NULL",
  })
end

function make.calls(m)
  local raw = m.raw
  return fill(m, [[
/* Made by tools/args.lua of gen/ops/$op/args.lua. */
#include "op/table_calls.h"
#include "ops/$op/args.h"

_Static_assert(sizeof($struct) <= MLAF_ARGS_MAX, "arguments fit");
_Static_assert($block_bytes <= MLAF_PARAMETERS_MAX, "a prepared launch holds the block");

static const mlaf_table_case cases[] = {
$cases
};

static const mlaf_table table = {
    .args = &$x_arguments, .hooks = &$x_hooks, .cases = cases, .dtype_field = $dtype, .case_rows = $case_rows,
    .case_least = $case_least, .ulps = $ulps, .timing = $timing, .cold = $cold,
};

const mlaf_calls mlaf_$x_calls = {
    .args_name = "$struct", .args_init = "MLAF_$X_ARGS_INIT", .args_size = sizeof($struct),
    .args_first = sizeof($struct), .rows = $x_rows, .rows_of = $x_rows_of,
    .parameter_bytes = $x_parameter_bytes, .work = $x_work, .n_cases = $n_cases,
    .error_about = "$error_about", .arguments = &$x_arguments, .table = &table, MLAF_TABLE_CALLS,
};
]], {
    cases = lines_of(raw.cases, function(case) return case_row(m, case) end), dtype = m.field.dtype or -1,
    case_rows = raw.case_rows and raw.case_rows[1] or 0, case_least = raw.case_rows and raw.case_rows.least or 0,
    ulps = ("%g"):format(raw.ulps), timing = scalars_of(m, raw.timing), cold = yes(raw.timing.cold), n_cases = #raw.cases,
    error_about = raw.error_about,
  })
end

return make
