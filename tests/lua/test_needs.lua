-- Headers say what they need of their includer: all of it, nothing else, and an includer without it is told so.
local loader = T.loader()

-- Text without comments, Lua and strings.
local function bare(text)
  local out = {}
  for line in text:gsub("/%*.-%*/", ""):gmatch("[^\n]+") do
    if not line:find("^%s*//@") then out[#out + 1] = line:gsub('"[^"]*"', '""'):gsub("%${.-}", "0"):gsub("//.*", "") end
  end
  return table.concat(out, "\n") .. "\n"
end

-- True if a header's code itself brings a name.
local function brings(code, name)
  local list = { "constexpr[^;]-%f[%w_]NAME%s*=", "enum[^{;]*{[^}]-%f[%w_]NAME%f[^%w_]", "#define%s+NAME%f[^%w_]",
    "template%s*<[^>]-%f[%w_]NAME%s*[,>=]", "const int NAME%s*=" }
  for _, pattern in ipairs(list) do
    if code:find((pattern:gsub("NAME", name))) then return true end
  end
  return false
end

-- The constants and macros that a header's code uses: by the project's style they alone are in capitals.
local function used(code)
  local set = {}
  for name in code:gmatch("%f[%w_]([A-Z][A-Z0-9_]*)%f[^%w_]") do
    if not name:find("^MLAF_") then set[name] = true end
  end
  return set
end

local function said(text)
  local set = {}
  for list in text:gmatch("//@[%w_ ]-needs(%b())") do -- needs(...), or: if scored then needs(...) end
    for name in list:gmatch('"([%w_]+)"') do set[name] = true end
  end
  return set
end

local headers = {}
for _, path in ipairs(loader.list("templates/")) do
  if path:find("^templates/[%w_]+/.*%.h$") and not path:find("^templates/lib/") then headers[#headers + 1] = path end
end

test("what a header uses and does not bring, it says that it needs, and nothing else", function()
  ok(#headers > 15, "%d headers", #headers)
  for _, path in ipairs(headers) do
    local text = T.read(path)
    local code, needs = bare(text), said(text)
    local own = code -- with what it includes
    for file in text:gmatch('//@%s*include%("([^"]+)"') do own = own .. bare(T.read("templates/" .. file)) end
    local uses = used(code)
    for name in loader.sorted(uses) do
      ok(needs[name] or brings(own, name), "%s uses %s: //@ needs(\"%s\")", path, name, name)
    end
    for name in loader.sorted(needs) do
      ok(uses[name], "%s says that it needs %s, and uses no such name", path, name)
      ok(not brings(code, name), "%s needs %s, which it brings itself", path, name)
    end
  end
end)

test("an includer that lacks a name is told which, with the header's line", function()
  local header = '// x\n//@ needs("ROWS", "STEP", "walk", "facts")\nint rows = ROWS;\n'
  local full = "#define ROWS 3\nconstexpr int STEP = 4;\nvoid walk() {}\nstruct facts {};\n"
  local function render(before)
    local l = T.loader({ ["x.hip.in"] = "void ${symbol}();\n" .. before .. '//@ include("lib/a.h")\n', ["lib/a.h"] = header })
    return (l.require("emit").render("x", "", "gfx942"))
  end
  ok(render(full):find("int rows = ROWS;", 1, true), "refused with all it needs")
  for name, line in pairs({ ROWS = "#define ROWS 3\n", STEP = "constexpr int STEP = 4;\n", walk = "void walk() {}\n",
    facts = "struct facts {};\n" }) do
    local at = full:find(line, 1, true)
    raises(function() render(full:sub(1, at - 1) .. full:sub(at + #line)) end, "templates/lib/a.h:2:", "needs " .. name)
  end
  raises(function() render(full:gsub("STEP", "STEPS")) end, "needs STEP,")
end)

test("a name counts as declared where it stands alone, behind #define and struct or before a declaration's next sign", function()
  local function declared(before)
    local l = T.loader({
      ["lib/a.h"] = '//@ needs("WORD")\n', ["x.hip.in"] = before .. '\n//@ include("lib/a.h")\n// ${symbol}\n',
    })
    return pcall(l.require("emit").render, "x", "", "gfx942")
  end
  for _, yes in ipairs({ "#define WORD", "#define  \tWORD 3", "#define WORD(x) x", "struct WORD;", "struct\nWORD;",
    "int WORD\n= 3;", "int WORD[2];", "WORD{}", "int XWORD = 2, WORDY, WORD = 1;", "use(WORD, WORD2); int WORD = 2;" }) do
    ok(declared(yes), "%s declares WORD", yes)
  end
  for _, no in ipairs({ "", "WORD", "int WORD;", "#define WORDS 3", "#define XWORD 3", "#defineWORD", "struct WORDS {};",
    "int XWORD = 3;", "#define X WORD", "union WORD;", "WORDWORD = 3;" }) do
    ok(not declared(no), "%s does not declare WORD", no)
  end
end)

test("a field of Q stands in its loaders' files alone", function()
  local q, fields = loader.require("ops/mla_decode/q"), {}
  for name in loader.sorted(q.LOADERS) do
    for _, field in ipairs(q.optional(name)) do fields[field] = true end
  end
  ok(fields.q_parts, "loaders know q_parts")
  for _, folder in ipairs({ "templates/mla_decode/", "gen/ops/mla_decode/" }) do
    for _, path in ipairs(loader.list(folder)) do
      local name = path:match("[^/]*$")
      local home = path:find("/q/") or name == "q.lua" or name == "args.lua" or name == "fields.lua"
      for field in loader.sorted(home and {} or fields) do
        ok(not T.read(path):find("%f[%w_]" .. field .. "%f[^%w_]"), "%s names %s: q/ and q.lua have what goes by it", path, field)
      end
    end
  end
end)
