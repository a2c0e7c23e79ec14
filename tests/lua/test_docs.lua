-- tools/check-docs.lua sees what it is for: each fault alone on a page of a folder of its own.
local T = ...
local test, eq = T.test, T.eq
local D = "docs/" -- apart, since this file is checked, too

local EASY = ("Words are short.\n"):rep(12)

-- Runs the check on these files: what it prints, and whether it is content.
local function check(files)
  local folder = os.tmpname()
  os.remove(folder)
  os.execute(("mkdir -p '%s/docs/lab' '%s/gen'"):format(folder, folder))
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

test("pages that are linked or named have to be there", function()
  refused({ [D .. "a.md"] = "[b](b.md) [c](https://example.org/c.md) [here](#here)" },
    D .. "a.md: links to b.md, which is not there")
  local name = D .. "gone.md"
  refused({ ["gen/a.lua"] = "-- " .. name .. " says more" }, "gen/a.lua: names " .. name .. ", which is not there")
  eq(check({ ["gen/a.lua"] = "-- " .. name, [D .. "lab/gone.md"] = EASY }), "", "a page that moved, in a hashed text")
end)
