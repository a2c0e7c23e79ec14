-- ops/OP/args.h, which is made of gen/ops/OP/args.lua where an operation's record and checks are by hand, and the table has its
-- optional tensors alone. mla_decode's explains its keys.
local function each(list, between, make)
  local out = {}
  for _, x in ipairs(list) do out[#out + 1] = make(x) end
  return table.concat(out, between)
end

local function text(s) return s and '"' .. s .. '"' or "NULL" end
local function offset(struct, member) return member and ("offsetof(mlaf_%s, %s)"):format(struct, member) or "0" end

-- Bits of a field's values with which a problem has the tensor. Numbers of formats are those of `cache` and one more.
local function values(g, formats)
  local bits = g.scale and 0 or 0xfffffffe
  for i, f in ipairs(g.scale and formats.of("mla_decode") or {}) do
    bits = f.scale == g.scale and i > 2 and bits | 1 << i - 2 or bits
  end
  return bits
end

local function place(g)
  return ('.name = "%s", .at = %s, .rows_at = %s, .columns_at = %s'):format(g[1], offset("execute_args", g[1]),
    offset("execute_args", g.rows), offset("problem", g.columns))
end

-- Words of the kernel's block: their types, and what they are filled with, of the arguments and of what is at hand there.
local WORDS = { ckv_row_stride = { "uint32_t", "ckv" }, kpe_row_stride = { "uint32_t", "kpe" },
  total_q = { "int32_t", "total_q" }, reserved = { "int32_t", "0" } }

local TEXT = [[
/* Made by tools/args.lua of gen/ops/$op/args.lua. */
#ifndef $OP_ARGS_H
#define $OP_ARGS_H

#include <stdint.h>

/* Optional tensors that some problems have: places, something of each by name and by place, rows of mlaf_given. */
enum { $places, MLAF_GIVEN };
#define $OP_GIVEN(type) union { struct { $members }; type given[MLAF_GIVEN]; }
#define $OP_GIVEN_ROWS \
$rows

/* Optional tensors of mlaf_call; bytes of its earlier versions. */
#define $OP_CALL_ROWS \
$calls
#define $OP_CALL_BYTES $bytes

/* Words of the kernel's block, members of its union, and how they are filled. */
$structs
#define $OP_WORDS_UNION \
$unions
#define $OP_WORDS_FILL \
  $fills

/* Behind the block of a kernel that knows more of Q than one dense tensor; maps are 64-byte aligned. */
typedef struct mlaf_q_words {
$qmembers  int32_t more[$qmore];
} mlaf_q_words;
#define $OP_Q_POINTERS(a) $qfills

#endif
]]

return function(root, op)
  local path, raw = package.path, dofile(("%s/gen/ops/%s/args.lua"):format(root, op))
  package.path = root .. "/gen/?.lua;" .. path
  local formats, list, first, is = require("formats"), {}, {}, {}
  package.path = path
  for _, g in ipairs(raw.given) do list[#list + 1], is[g[1]] = g.has and g or nil, true end
  for name in raw.call_first:gmatch("%S+") do first[#first + 1] = name end
  local function words(w, make)
    return (w[3]:gsub("%S+ ?", function(name)
      name = name:match("%S+")
      return make(name, WORDS[name] or { is[name] and "const float *" or "int32_t", "a->" .. name })
    end))
  end
  local made = {
    op = op, OP = op:upper(),
    places = each(list, ", ", function(g) return "MLAF_GIVEN_" .. g[1]:upper() end),
    members = each(list, " ", function(g) return "type " .. g[1] .. ";" end),
    rows = each(list, ", \\\n", function(g)
      local row = "  {%s, .has_at = %s, .has = %#xu, \\\n   .without = %s, .otherwise = %s, .cases = {%s}, .timing = %af}"
      return row:format(place(g), offset("problem", g.has), values(g, formats), text(g.without), text(g.otherwise),
        each(raw.cases, ", ", function(case) return ("%af"):format(g.cases and g.cases[case] or 0) end), g.timing or 0)
    end),
    calls = each(raw.given, ", \\\n", function(g)
      return ("  {%s, .view_at = %s, .shape = %s}"):format(place(g), offset("call", g[1]), text(g.shape))
    end),
    bytes = each(first, ", ", function(name) return offset("call", name) end),
    structs = each(raw.words, "\n", function(w)
      return ("typedef struct mlaf_%s_words {\n%s} mlaf_%s_words;"):format(w[1],
        words(w, function(name, word) return ("  %s %s;\n"):format(word[1], name) end), w[1])
    end),
    unions = each(raw.words, " \\\n", function(w) return ("  mlaf_%s_words %s;"):format(w[1], w[1]) end),
    fills = each(raw.words, " \\\n  else ", function(w)
      return ("if (p->%s) d->%s = (mlaf_%s_words){%s};"):format(w[2], w[1], w[1],
        words(w, function(_, word) return word[2] .. ", " end):sub(1, -3))
    end),
  }
  local q, at = raw.q_words, 0
  made.qmembers = q.pointers:gsub("(%S+) ?", function(name)
    at = at + 2
    return ("  const %s *%s;\n"):format(is[name] and "float" or "void", name)
  end) .. q.words:gsub("(%S+) ?", function(name)
    at = at + 1
    return ("  uint32_t %s;\n"):format(name)
  end)
  made.qmore = tostring(16 - at)
  made.qfills = q.pointers:gsub("%S+", ".%0 = (a)->%0,")
  return (TEXT:gsub("%$(%l+)", made):gsub("%$OP", made.OP))
end
