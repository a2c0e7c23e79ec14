-- The template engine: what it translates, and each strictness rule with the template line it must name.

-- Body of a rendered one-file template, without the preamble.
local function body(text, params, others)
  local files = { ["x.hip.in"] = text }
  for k, v in pairs(others or {}) do files[k] = v end
  local loader = T.loader(files)
  local out = loader.require("emit").render("x", params or "", "gfx942")
  return (out:gsub("^.-// regenerate:[^\n]*\n", "", 1))
end

local function fails_at(line, text, ...)
  local pieces = { ... }
  raises(function() body(text) end, "templates/x.hip.in:" .. line .. ":", table.unpack(pieces))
end

test("text passes unchanged", function()
  local text = 'int a = 1; // "quotes" \\ back % percent $ {dollar}\n\n  asm("v_mov %0, %1");\n'
  eq(body(text), text)
end)

test("control bytes and long lines pass unchanged", function()
  local text = "a\1b\0c\127d\255\n" .. ("x"):rep(5000) .. "\n"
  eq(body(text), text)
end)

test("last line without a newline gets one", function() eq(body("a"), "a\n") end)
test("empty template", function() eq(body(""), "") end)

test("expressions", function()
  eq(body("${1 + 2} ${'s'} ${true}${\"}\"}${({a = {b = 7}}).a.b}\n"), "3 s true}7\n")
end)

test("loops, conditions and functions over text lines", function()
  eq(body([[
//@ local function twice(x)
  f(${x});
//@ end
//@ for i = 0, 2 do
  //@ if i ~= 1 then
//@ twice(i)
  //@ end
//@ end
]]), "  f(0);\n  f(2);\n")
end)

test("a Lua statement over several lines", function()
  eq(body("//@ local t = {\n//@   1,\n//@   2,\n//@ }\n${#t}\n"), "2\n")
end)

test("parameters are names, integers stay integers", function()
  eq(body("${a + 1} ${b}\n", "a=41,b=lazy"), "42 lazy\n")
end)

test("emit writes a line", function() eq(body('//@ emit(fmt("%02d", 7))\n'), "07\n") end)

test("include, with arguments and a return value", function()
  eq(body('//@ local m = include("lib/y.h", { n = 3 })\n${m.v}\n', "", { ["lib/y.h"] = "n is ${n}\n//@ return { v = n * 2 }\n" }),
    "n is 3\n6\n")
end)

test("helpers", function()
  eq(body('${ceil_div(7, 2)} ${round_up(9, 8)} ${is_pow2(64)} ${is_pow2(48)} ${log2(64)} ${min(3, 1, 2)} ${max(3, 1)} '
    .. '${join(range(0, 6, 2), "+")} ${f32(0.5)} ${f32(8)}\n'), "4 16 true false 6 1 3 0+2+4+6 0.5f 8.0f\n")
end)

test("sorted iteration: integers, then strings", function()
  eq(body("//@ for k, v in sorted({ b = 1, a = 2, [10] = 3, [9] = 4 }) do\n${k}=${v}\n//@ end\n"), "9=4\n10=3\na=2\nb=1\n")
end)

-- Strictness. The error is on line 3 each time, so that a wrong count cannot pass.
local rules = {
  { "undefined name in text", "${nope}", "undefined name 'nope'" },
  { "undefined name in Lua", "//@ local y = nope + 1", "undefined name 'nope'" },
  { "nil", "${({}).x}", "${({}).x} is nil" },
  { "global write", "//@ y = 1", "write to global 'y'" },
  { "global function", "//@ function f() end", "write to global 'f'" },
  { "float from division", "${64 / 2}", "is the float 32.0" },
  { "float literal", "${0.5}", "is the float 0.5" },
  { "float to emit", "//@ emit(1.5)", "emit: argument is the float 1.5" },
  { "table", "${{}}", "is a table" },
  { "function", "${fmt}", "is a function" },
  { "table through fmt", '${fmt("%s", {})}', "fmt: argument 2 is a table" },
  { "table through a string method", '${("%s"):format({})}', "fmt: argument 2 is a table" },
  { "table through tostring", "${tostring({})}", "is a table" },
  { "table through table.concat", "${table.concat({ {} })}", "join: element 1 is a table" },
  { "float through fmt %s", '${fmt("%s", 0.5)}', "float in a format with %s" },
  { "float through join", "${join({ 1.5 })}", "is the float 1.5" },
  { "float to ceil_div", "${ceil_div(7.0, 2)}", "ceil_div: argument 1 is float" },
  { "nan literal", "${f32(0 / 0)}", "f32: finite number expected" },
  { "unclosed expression", "int a = ${1 + 2", "unclosed ${" },
  { "empty expression", "${ }", "bad expression" },
  { "syntax in expression", "${1 +}", "bad expression ${1 +}" },
  { "expression that leaves its braces", "${1) or (2}", "bad expression" },
  { "assignment in expression", "${x = 1}", "bad expression" },
  { "Lua syntax", "//@ local = 3", "near '='" },
  { "arithmetic on nil", "//@ local z = ({}).q + 1", "arithmetic on a nil value" },
  { "pairs", "//@ for k in pairs({}) do end", "use sorted(t)" },
  { "next", "//@ local k = next({})", "use sorted(t)" },
  { "marker inside text", "int a; //@ end", "must be the first thing" },
  { "marker without blank", "//@if true then", "put a space after //@" },
  { "long bracket", "//@ local s = [[", "long brackets" },
  { "leveled long bracket", "//@ local s = [==[", "long brackets" },
  { "carriage return", "int a;\r", "carriage return" },
  { "contract", '//@ contract(1 > 2, "%d is not above %d", 1, 2)', "contract: 1 is not above 2" },
  { "error()", '//@ error("on purpose")', "on purpose" },
  { "io", "//@ io.write('x')", "undefined name 'io'" },
  { "os", "${os.time()}", "undefined name 'os'" },
  { "random numbers", "${math.random(5)}", "a nil value (field 'random')" },
  { "load", "//@ load('x')", "undefined name 'load'" },
  { "pcall, which could hide errors", "//@ pcall(error)", "undefined name 'pcall'" },
  { "declares with a float", "//@ declares{ threads = 64 / 1 }", "argument 1 is float" },
  { "missing partial", '//@ include("lib/none.h")', "" },
}
for _, rule in ipairs(rules) do
  if rule[3] ~= "" then
    test("rule: " .. rule[1], function() fails_at(3, "// one\n//@ local two = 2\n" .. rule[2] .. "\n${two}\n", rule[3]) end)
  end
end

test("rule: unclosed block names the line that opened it", function()
  fails_at(3, "a\n//@ for i = 1, 2 do\nb\n", "at line 2")
end)

test("rule: text between the lines of a statement", function()
  fails_at(2, "//@ local t = {\ntext\n//@ }\n")
end)

test("rule: a parameter nobody reads", function()
  raises(function() body("text\n", "a=1") end, "templates/x.hip.in", "parameter 'a' is never read")
end)

test("rule: a parameter that hides an engine name", function()
  raises(function() body("text\n", "include=1") end, "parameter 'include' hides")
end)

test("rule: a missing parameter", function() fails_at(1, "${waves}\n", "undefined name 'waves'") end)

test("rule: parameters and helpers cannot be assigned", function()
  raises(function() body("${a}\n//@ a = 2\n", "a=1") end, "x.hip.in:2:", "write to global 'a'")
  fails_at(1, "//@ fmt = 2\n", "write to global 'fmt'")
end)

test("error in a partial names the partial's line", function()
  raises(function() body('//@ include("lib/y.h")\n', "", { ["lib/y.h"] = "ok\n${nope}\n" }) end,
    "templates/lib/y.h:2:", "undefined name 'nope'")
end)

test("error in a helper called from a template names the template's line", function()
  fails_at(2, "a\n//@ join(5)\n")
end)

test("a partial does not see its includer's locals", function()
  raises(function() body('//@ local n = 3\n//@ include("lib/y.h")\n', "", { ["lib/y.h"] = "${n}\n" }) end,
    "lib/y.h:1:", "undefined name 'n'")
end)

test("include of itself", function()
  raises(function() body('//@ include("lib/y.h")\n', "", { ["lib/y.h"] = '//@ include("lib/y.h")\n' }) end, "inside itself")
end)

test("missing partial is named with its template", function()
  raises(function() body('//@ include("lib/none.h")\n') end, "templates/lib/none.h", "x")
end)

test("endless output is stopped", function()
  fails_at(2, "//@ while true do\n" .. ("y"):rep(1000) .. "\n//@ end\n", "bytes of output")
end)

test("strings behave normally again after a failed render", function()
  pcall(body, "${nope}\n")
  eq(("%s"):format("x"), "x")
  T.ok(pcall(function() return ("%s"):format({}) end), "string.format is still the strict one")
end)
