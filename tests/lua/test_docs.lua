-- tools/check-docs.lua and tools/check-words.lua see what they are for: each fault alone in a file of a new folder.
local D = "docs/" -- apart, since this file is checked, too

local EASY = ("Words are short.\n"):rep(12)

-- Runs the check on these files: what it prints, and whether it is content.
local function check(files)
  local folder = os.tmpname()
  os.remove(folder)
  os.execute(("mkdir -p '%s/docs/lab/archive' '%s/gen'"):format(folder, folder))
  local names = {}
  for name, text in pairs(files) do
    local f = assert(io.open(folder .. "/" .. name, "wb"))
    f:write(text)
    f:close()
    names[#names + 1] = name
  end
  table.sort(names)
  local root = T.root:sub(1, 1) == "/" and T.root or (io.popen("pwd"):read("l") .. "/" .. T.root)
  local pipe = io.popen(("cd '%s' && lua5.4 '%s/tools/check-docs.lua' %s 2>&1"):format(folder, root, table.concat(names, " ")))
  local text = pipe:read("a")
  local good = pipe:close() or false
  os.execute(("rm -r '%s'"):format(folder))
  return text, good
end

local function refused(files, want)
  local text, good = check(files)
  eq(good, false, "content with what is wrong; it said '" .. text .. "'")
  eq(text, want .. "\n")
end

-- Sentences of n words, one a line or two.
local function sentences(count, n)
  local half = n // 2
  return (("word "):rep(half) .. "\n" .. ("word "):rep(n - half - 1) .. "end.\n"):rep(count)
end

test("an easy page, code, tables and the notebook's sentences pass", function()
  local text, good = check({
    ["README.md"] = EASY .. "\n```sh\n" .. sentences(30, 40) .. "```\n|" .. ("x"):rep(140) .. "|\n[a](" .. D .. "a.md)\n",
    [D .. "a.md"] = EASY, [D .. "lab/b.md"] = sentences(20, 40) })
  eq(text, "")
  eq(good, true)
end)

test("long sentences are refused: in the middle, and in the longest tenth", function()
  refused({ [D .. "a.md"] = sentences(12, 17) },
    D .. "a.md: hard to read: half of the sentences have 17 words or less, nine in ten 17; wanted are 16 and 30")
  refused({ ["README.md"] = sentences(17, 4) .. sentences(3, 31) },
    "README.md: hard to read: half of the sentences have 4 words or less, nine in ten 31; wanted are 16 and 30")
end)

test("long lines are refused, in the notebook too", function()
  refused({ [D .. "lab/a.md"] = "short\n" .. ("x"):rep(131) .. "\n|" .. ("x"):rep(140) },
    D .. "lab/a.md:2: longer than 130 columns")
end)

test("headings that are linked have to be there", function()
  local page = EASY .. "\n## One of `two`, it's a [link](a.md)\n[a](#one-of-two-its-a-link)\n"
  eq(check({ [D .. "a.md"] = page, [D .. "lab/b.md"] = "[b](../a.md#one-of-two-its-a-link)" }), "")
  refused({ [D .. "a.md"] = page, [D .. "lab/b.md"] = "[b](../a.md#two)" },
    D .. "lab/b.md: links to ../a.md#two, a heading that is not there")
end)

test("pages that are linked or named have to be there", function()
  refused({ [D .. "a.md"] = "[b](b.md) [c](https://example.org/c.md) [here](#here)\n# Here\n" },
    D .. "a.md: links to b.md, which is not there")
  local name = D .. "gone.md"
  refused({ ["gen/a.lua"] = "-- " .. name .. " says more" }, "gen/a.lua: names " .. name .. ", which is not there")
  eq(check({ ["gen/a.lua"] = "-- " .. name, [D .. "lab/gone.md"] = EASY }), "", "a page that moved, in a hashed text")
  eq(check({ ["gen/a.lua"] = "-- " .. D .. "lab/gone.md", [D .. "lab/archive/gone.md"] = EASY }), "", "one in the archive now")
end)

-- ---- Words: tools/check-words.lua, tools/wrap-comments.lua ----
local root = T.root:sub(1, 1) == "/" and T.root or (io.popen("pwd"):read("l") .. "/" .. T.root)

-- Runs a tool in a new folder over one file; returns what it prints, whether it is content, and the file afterwards.
local function run(tool, name, text)
  local folder = os.tmpname()
  os.remove(folder)
  os.execute(("mkdir -p '%s/docs'"):format(folder))
  local f = assert(io.open(folder .. "/" .. name, "wb"))
  f:write(text)
  f:close()
  local pipe = io.popen(("cd '%s' && lua5.4 '%s/tools/%s' '%s' 2>&1"):format(folder, root, tool, name))
  local said = pipe:read("a")
  local good = pipe:close() or false
  f = assert(io.open(folder .. "/" .. name, "rb"))
  local after = f:read("a")
  f:close()
  os.execute(("rm -r '%s'"):format(folder))
  return said, good, after
end

local function word_accepted(name, text)
  local said, good = run("check-words.lua", name, text)
  eq(said, "")
  eq(good, true)
end

local function word_refused(name, text, want)
  local said, good = run("check-words.lua", name, text)
  eq(good, false, "content with what is wrong; it said '" .. said .. "'")
  ok(said:find(want, 1, true), "it said '%s', not '%s'", said, want)
end

test("comments that begin with a subject pass, in every language", function()
  word_accepted("a.c", '/* A plan of one problem. */\nint x; /* its size */\nconst char *s = "/* Of a text */";\n')
  word_accepted("a.lua", "-- The plan.\n-- What follows is the second line.\nlocal x = 1\n")
  word_accepted("a.py", '"""The plan."""\nx = 1  # its size\n')
end)

test("comments without a subject are refused", function()
  word_refused("a.c", "int x;\n/* Of a plan. */\nint y;\n", "a.c:2: a comment begins with 'Of'")
  word_refused("a.c", "int x; /* What a plan needs */\n", "a.c:1: a comment begins with 'What'")
  word_refused("a.c", "// Whether it is one.\nint x;\n", "a.c:1: a comment begins with 'Whether'")
  word_refused("a.lua", "local x = 1\n-- Where it lies.\n", "a.lua:2: a comment begins with 'Where'")
  word_refused("a.py", 'def f():\n    """With a lock."""\n', "a.py:2: a comment begins with 'With'")
end)

test("a line of two words within a paragraph is refused, at its end it is not", function()
  word_refused("a.c", "/* A sentence that goes on\n * here with\n * some more words. */\n",
    "a.c:2: a line of fewer than three words")
  word_accepted("a.c", "/* A sentence that ends\n * right here. */\n")
  word_accepted("a.c", "/* A list of words follows\n *   one\n *   two\n * and this is its end. */\n")
end)

test("our own words are refused in comments and pages, not in code", function()
  word_refused("a.c", "/* The twin of a kernel. */\n", "a.c:1: 'twin': alternative variant")
  word_refused(D .. "a.md", "It is a launch of its own.\n", D .. "a.md:1: 'launch of its own': separate kernel")
  word_accepted("a.c", 'int twin; /* A kernel */\nconst char *s = "twin";\n')
end)

test("comments are wrapped where a line is too long, and only there", function()
  local long = "/* " .. ("word "):rep(30) .. "end. */\nint x;\n"
  local _, good, after = run("wrap-comments.lua", "a.c", long)
  eq(good, true)
  eq(after, "/*" .. (" word"):rep(25) .. "\n *" .. (" word"):rep(5) .. " end. */\nint x;\n")
  local short = "/* A line.\n * Another one.\n *   a table of\n *   two lines */\n"
  _, _, after = run("wrap-comments.lua", "a.c", short)
  eq(after, short)
end)

test("each constant of the timing model has a row of published figures, or one that says that none was found", function()
  local page, n = T.read("docs/lab/timing-constants.md"), 0
  for name in T.read("runtime/emu/arch_gfx942.h"):gmatch("\n  [XA]%([%a]+, ([%w_]+), ") do
    ok(page:find("`" .. name .. "`", 1, true), "%s is not in docs/lab/timing-constants.md", name)
    n = n + 1
  end
  ok(n >= 50, "%d constants found", n)
end)
