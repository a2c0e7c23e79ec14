-- Texts without comments (gen/bare.lua): what hashes of kernels cover. What is equal there has to be one program.
local loader = T.loader()
local bare = loader.require("bare")

test("kernel text: comments, blank lines and indentation go", function()
  eq(bare.kernel("// top\n\nint f() {\n  /* two\n lines */ g();  // why\n\n}\n"), "int f() {\ng();\n}\n")
  eq(bare.kernel("f(a, /* first */ b /* last */);\n"), "f(a, b );\n", "a comment is a blank")
  eq(bare.kernel("int a /* why */ ;\nint b; /* end */\n"), "int a ;\nint b;\n")
  eq(bare.kernel("/* all */\n// of it"), "")
  eq(bare.kernel("a\n// no line end"), "a\n")
  eq(bare.kernel("int/**/x;\n"), bare.kernel("int x;\n"))
  ok(bare.kernel("int x;\n") ~= bare.kernel("intx;\n"), "names are told apart")
  eq(bare.kernel("a / b; a /= b; a = b /*c*/ / d;\n"), "a / b; a /= b; a = b / d;\n")
end)

test("kernel text: literals are kept to the byte", function()
  for _, text in ipairs({
    'g("a // b", "/* c */");\n', 'g("a \\" // b");\n', "g('\"'); h(\"x // y\");\n", "g('\\''); h('//');\n", 'g("\\\\");\n',
    'asm volatile("s_waitcnt vmcnt(0) // 1\\n\\t" "  v_nop ; /* 2 */");\n', '#include "a//b.h"\n', "int n = 1'000'000;\n",
    "g(L'/', u8\"//\");\n", "${x}\n",
  }) do eq(bare.kernel(text), text) end
  ok(bare.kernel('g("a  b");\n') ~= bare.kernel('g("a b");\n'), "blanks of a literal count")
  eq(bare.kernel("n = 1'0; /* don't */ m = '1'; // it's\n"), "n = 1'0; m = '1';\n", "an apostrophe in a number, in a comment")
  eq(bare.kernel("#error it's so // why\nint x; // y\n"), "#error it's so // why\nint x;\n", "a literal ends with its line")
end)

test("kernel text: lines of the preprocessor stay apart", function()
  eq(bare.kernel("#define A 1 // one\n#define B \\\n  2 /* two */\nint x;\n"), "#define A 1\n#define B \\\n2\nint x;\n")
  ok(bare.kernel("#define A 1\nint x;\n") ~= bare.kernel("#define A 1 int x;\n"), "a line end is a blank")
  ok(bare.kernel("#define A f() \\\n\nint x;\n") ~= bare.kernel("#define A f() \\\nint x;\n"), "a blank line ends a macro")
  ok(bare.kernel("#define A f() \\\n// c\nint x;\n") ~= bare.kernel("#define A f() \\\nint x;\n"), "so does a comment")
  eq(bare.kernel("// goes on \\\n int y;\nint x;\n"), "int x;\n")
  ok(bare.kernel("#define F (x)\n") ~= bare.kernel("#define F(x)\n"), "a blank before the bracket")
end)

test("kernel text: what may depend on lines, or is not understood, is kept whole", function()
  for _, text in ipairs({
    "// c\ncheck(__LINE__);\n", "// c\n#line 5\n", "// c\n# 5 \"x\"\n",
    "// c\n#  line 5\n", "// c\n  #\tline 5\n", "// c\nf(__builtin_LINE());\n", "// c\nassert(x);\n",
    "// a \\ \nx = 1;\n", "// a \\\r\nx = 1;\n", "/\\\n/ a /* b\nx = 1;\n/* c */\n", "/* a *\\\n/ x = 1; /* b */\n",
    "// a ??/\nx = 1;\n",
    'x = R"(// no comment)"; // c\n', 'x = u8R"ab(//)ab"; // c\n', "int x; /* open // c\n", 'x = "a \\\n  b"; // c\n',
  }) do eq(bare.kernel(text), text) end
  eq(bare.kernel("static_assert(x); // c\n"), "static_assert(x);\n", "an assertion of the compiler's tells no line")
  eq(bare.kernel('needs("R", "H"); // c\n'), 'needs("R", "H");\n', "a letter is no raw string")
end)

test("Lua: comments and blank lines go, strings and their line ends stay", function()
  eq(bare.module("-- a\nlocal x = 1 -- b\n\n--[[ c\n d ]]\n  return x\n"), "local x = 1\nreturn x\n")
  eq(bare.module('f("-- no", \'--\', a - -b, t[u[1]])\n'), 'f("-- no", \'--\', a - -b, t[u[1]])\n')
  eq(bare.module("f([[ -- no ]]) -- yes\n"), "f([[ -- no ]])\n")
  eq(bare.module("x = --[==[ a ]] ]==] 1\n"), "x = 1\n")
  local long = "-- c\nx = [[\n  -- no\n]]\n"
  eq(bare.module(long), long, "a string of several lines")
  for _, open in ipairs({ '-- c\nx = "a\\z\n  b -- 1"\n', '-- c\nx = "a \\"\n' }) do
    eq(bare.module(open), open, "a literal whose line ends before it does")
  end
end)

test("templates: Lua lines, expressions and a comment around them", function()
  eq(bare.template("// a\n//@ local n = 4 // 2 -- b\nint x = ${n // 2}; // c ${n}\n"),
    "//@ local n = 4 // 2\nint x = ${n // 2};\n")
  eq(bare.template('g("${a .. "//"}", ${f("}")}); // c\n'), 'g("${a .. "//"}", ${f("}")});\n')
  eq(bare.template("/* a\n//@ if x then\n b */ c;\n  //@ end\nd; // e\n"), "//@ if x then\nc;\n//@ end\nd;\n")
  eq(bare.template("//@ if x then -- a\n\n// b\n//@ -- c\n//@\n//@ end"), "//@ if x then\n//@ end\n")
  ok(bare.template("//@ f(1)\n") ~= bare.template("//@ f(2)\n"), "a Lua line unseen")
  for _, open in ipairs({ '//@ x = "a\\\n//@ -- 1"\n', "// a \\\n//@ if x then\ny = 1;\n//@ end\n" }) do
    eq(bare.template(open), open, "a literal or a comment that goes on behind its line of Lua")
  end
  ok(bare.template("int x = ${n // 2};\n") ~= bare.template("int x = ${n // 3};\n"), "an expression unseen")
end)

-- A literal to a template's scanner must be one: else a // in it would be taken for a comment.
test("no kernel text of a template has a literal without an end, or is kept whole", function()
  for _, path in ipairs(loader.list("templates/")) do
    local text = loader.host.read(path)
    ok(bare.template(text) ~= text, "%s is kept whole: a comment in it voids choices", path)
    for line in bare.template(text):gmatch("[^\n]+") do
      local quotes = line:gsub("%${.-}", ""):gsub("\\.", ""):gsub("'\"'", ""):gsub('[^"]', "")
      ok(line:find("^//@") or #quotes % 2 == 0, "%s: a literal has no end: %s", path, line)
    end
  end
end)

-- tools/same-code.lua compiles such texts. Here: nothing is left to strip.
-- Kernels of one template differ little in what stripping sees: one in 16 of the manifests with --full, a minute less than all.
T.sampled(64, "rendered kernels: stripping twice changes nothing, and no comment is left", function(mine)
  local golden, emit = dofile(T.root .. "/tools/golden.lua"), T.quick_loader(2048).require("emit")
  for i, k in ipairs(golden.kernels_of({ root = T.root, loader = T.loader() })) do
    if i % 16 == 0 and mine(i) then
      local source = emit.render(k.template, k.params, k.target)
      local code = bare.kernel(source)
      eq(bare.kernel(code), code, k.template .. " " .. k.params)
      ok(#code < #source and not code:find("\n//", 1, true) and not code:find("\n/*", 1, true), "%s: a comment is left",
        k.template)
    end
  end
end)
