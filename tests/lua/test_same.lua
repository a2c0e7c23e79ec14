-- The comparisons behind tools/same-code.lua: what counts as the same program, and what must not.
local same = dofile(T.root .. "/tools/same.lua")

test("bare text: comments, blank lines and the kernel's name go, strings and code stay", function()
  local a = same.bare('// top\nint f() {\n\n  /* two\n lines */ g("a // b"); // why\n  mlaf_x_1();\n}\n', "mlaf_x_1")
  eq(a, 'int f() {\ng("a // b");\nmlaf_same_kernel();\n}\n')
  eq(same.bare('static_assert(A == 1, "why");\n#ifndef A\n#error "A"\n#endif\nb();\n', "mlaf_x_1"), "b();\n")
  eq(same.bare('#ifndef A\n#define A 1\n#endif\n', "mlaf_x_1"), "#ifndef A\n#define A 1\n#endif\n")
  ok(a ~= same.bare('int f() {\ng("a // c");\nmlaf_x_1();\n}\n', "mlaf_x_1"), "a changed string is the same text")
end)

test("names changed one to one are the same program", function()
  local changed = same.renamed("int rank = P + 1;\nuse(rank);\n", "int place = ROPE + 1;\nuse(place);\n")
  eq(table.concat(changed or {}, " "), "rank -> place P -> ROPE")
end)

test("two names become one, one becomes two, or a number changes: not the same program", function()
  eq(same.renamed("a = b;", "c = c;"), nil, "two become one")
  eq(same.renamed("a = a;", "b = c;"), nil, "one becomes two")
  eq(same.renamed("a = 1;", "a = 2;"), nil, "a number")
  eq(same.renamed("a = b;", "a = b; c = a;"), nil, "more at the end")
  eq(same.renamed("a = b; c = a;", "a = b;"), nil, "less at the end")
  eq(same.renamed("a + b;", "a - b;"), nil, "an operator")
end)

-- Else a user's choices that are carried over stand on a hash that nothing has, and are lost. tools/known-hashes.lua mends it; a
-- template whose kernels are other text drops out.
test("known hashes lead to those of today's templates", function()
  local loader, n = T.loader(), 0
  for _, line in ipairs(T.lines("tuning/known-hashes.txt")) do
    local name, target, now = line:match("^(%S+)\t(%S+)\t(%x+)\t[%x ]+$")
    ok(name, "no row: %s", line)
    eq(loader.template_hash(name, target), now, name .. " of " .. target)
    n = n + 1
  end
  ok(n > 0)
end)
