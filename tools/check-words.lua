-- lua5.4 tools/check-words.lua FILE...: is what people read written plainly? Called by tools/check-style.sh with every file of
-- the tree; prints FILE:LINE and what is wrong, exit 1 if anything is. CONTRIBUTING.md says how to write; this refuses
--   - comments that begin without a subject: "Of a plan ...", "What a plan needs", "Whether ...";
--   - lines of fewer than three words inside a paragraph of a comment, which a wrap by hand leaves behind;
--   - words of our own where the field has a term (WORDS), in comments and in pages for users;
--   - subjects of commits beyond 72 columns, from BASE on;
--   - versions that differ between CMakeLists.txt, the library and the changelog, or between docs/versions.md and the code.
local ROOT = arg[0]:match("^(.*)/tools/[^/]*$") or "."

local HEADLESS = { Of = true, What = true, Whose = true, Behind = true, Where = true, Whether = true, Whoever = true, How = true,
  With = true, In = true }

-- Ours, and the field's. Lower case; found as whole words.
local WORDS = {
  ["twin"] = "alternative variant, fused variant",
  ["twins"] = "alternative variants",
  ["launch of its own"] = "separate kernel",
  ["launch more"] = "one extra kernel",
  ["goes on into"] = "is fused with",
  ["go on into"] = "are fused with",
  ["made 16 bits"] = "dequantised to bf16",
  ["beside the product"] = "in a fused epilogue",
  ["parts that meet"] = "in-kernel split merge",
  ["tokens cached"] = "context length",
  ["on its way"] = "(leave out)",
  ["on their way"] = "(leave out), or in flight",
  ["for good"] = "(leave out)",
  ["awake"] = "loaded",
}

-- Folders and files that are not looked at. Comments of templates are in goldens: mend one, and run tools/golden-update.lua.
local NOT_YET = {
  "tests/golden/", -- made of templates/, with marks between that are none of a comment
  "tools/protocol.lua", -- prints comments of gen/
  "tools/check-words.lua",
}
-- Commits up to this one have longer subjects.
local BASE = "782e96497699f8ed95c5b2e6f4af4c06d5f0913d"
local SUBJECT = 72

local bad = false
local function complain(fmt, ...)
  bad = true
  print(fmt:format(...))
end

local function not_yet(path)
  for _, prefix in ipairs(NOT_YET) do
    if path:sub(1, #prefix) == prefix then return true end
  end
  return false
end

-- ---- comments ---------------------------------------------------------------------------------------------------------------
-- Each reader returns a list of comments; a comment is a list of { line = number, text = words without the marks }.

-- A C text with strings blanked out, so that what they hold is taken for no comment.
local function blanked(line) return (line:gsub('\\.', "  "):gsub('"[^"]*"', function(s) return (" "):rep(#s) end)) end

local function runs_of(lines, mark)
  local comments, run = {}, nil
  for n, line in ipairs(lines) do
    local whole = line:match("^%s*" .. mark .. "(.*)$")
    local text = whole or blanked(line):match("[%s;,{}()]" .. mark .. "(.*)$")
    if whole and run then
      run[#run + 1] = { line = n, text = text }
    elseif text then
      run = { { line = n, text = text } }
      comments[#comments + 1] = run
    end
    if not whole then run = nil end
  end
  return comments
end

local function c_comments(lines)
  local comments, block = runs_of(lines, "//"), nil
  for n, line in ipairs(lines) do
    local text = block and line:gsub("^%s*%*%f[ \0] ?", "", 1) or nil
    if not block then
      local at = blanked(line):find("/*", 1, true)
      if at then
        block, text = {}, line:sub(at + 2)
        comments[#comments + 1] = block
      end
    end
    if block then
      local ends = text:find("*/", 1, true)
      block[#block + 1] = { line = n, text = ends and text:sub(1, ends - 1) or text }
      if ends then block = nil end
    end
  end
  return comments
end

local function docstrings(lines)
  local comments = runs_of(lines, "#")
  for n, line in ipairs(lines) do
    local text = line:match('^%s*"""(.*)$')
    if text then comments[#comments + 1] = { { line = n, text = (text:gsub('"""', "")) } } end
  end
  return comments
end

local READERS = {
  c = c_comments, h = c_comments, cu = c_comments,
  lua = function(lines) return runs_of(lines, "%-%-") end,
  py = docstrings,
  sh = function(lines) return runs_of(lines, "#") end,
  cmake = function(lines) return runs_of(lines, "#") end,
}

-- ---- rules ------------------------------------------------------------------------------------------------------------------
local function check_opening(path, comment)
  local word = comment[1].text:match("^[%s%-=]*(%u%l*)[%s,]")
  if word and HEADLESS[word] then
    complain("%s:%d: a comment begins with '%s': begin with its subject", path, comment[1].line, word)
  end
end

local function words_in(text)
  local n = 0
  for _ in text:gmatch("%S+") do n = n + 1 end
  return n
end

-- Prose: a line that begins a word right behind the mark. What is indented further is a table, a list or an example.
local function is_prose(text) return text:find("^ ?[%a(]") ~= nil and not text:find("  ", 2, true) end

local function check_short_lines(path, comment)
  for i = 2, #comment - 1 do
    local before, here, after = comment[i - 1], comment[i], comment[i + 1]
    if words_in(here.text) < 3 and is_prose(before.text) and is_prose(here.text) and is_prose(after.text) and
       not before.text:find("[.:;]%s*$") and not here.text:find("[.:]%s*$") then
      complain("%s:%d: a line of fewer than three words within a paragraph: run lua5.4 tools/wrap-comments.lua, or join it", path,
        here.line)
    end
  end
end

local function check_terms(path, line, text)
  local padded = " " .. text:lower():gsub("[^%w_%-]+", " ") .. " "
  for ours, theirs in pairs(WORDS) do
    if padded:find(" " .. ours .. " ", 1, true) then complain("%s:%d: '%s': %s", path, line, ours, theirs) end
  end
end

local function is_page(path)
  return (path:find("^%u+%.md$") or path:find("^docs/[^/]+%.md$")) and path ~= "CONTRIBUTING.md" -- which lists the words
end

local function check_file(path)
  local reader, page = READERS[path:match("%.(%w+)$") or ""], is_page(path)
  if not (reader or page) or not_yet(path) then return end
  local lines = {}
  for line in io.lines(path) do lines[#lines + 1] = line end
  if page then
    local made = false -- tables that are made of gen/ops/OP/fields.lua
    for n, line in ipairs(lines) do
      made = line:find("^<!%-%- fields of") ~= nil or (made and not line:find("^<!%-%- end of fields"))
      if not made then check_terms(path, n, line) end
    end
    return
  end
  for _, comment in ipairs(reader(lines)) do
    check_opening(path, comment)
    check_short_lines(path, comment)
    for _, part in ipairs(comment) do check_terms(path, part.line, part.text) end
  end
end

local function check_commits()
  local command = ("git -C '%s' log --format='%%h %%s' %s..HEAD 2>/dev/null"):format(ROOT, BASE)
  local p = assert(io.popen(command))
  for line in p:lines() do -- none in a shallow clone or an unpacked archive, which have no BASE
    local hash, subject = line:match("^(%S+) (.*)$")
    if utf8.len(subject) and utf8.len(subject) > SUBJECT then
      complain("commit %s: its subject has %d columns; %d is the limit: %s", hash, utf8.len(subject), SUBJECT, subject)
    end
  end
  p:close()
end

local function find_in(path, pattern)
  local f = assert(io.open(ROOT .. "/" .. path, "rb"))
  local found = f:read("a"):match(pattern)
  f:close()
  return found
end

local function check_versions()
  local cmake = find_in("CMakeLists.txt", "project%(mlaforge VERSION ([%d.]+)")
  local library = find_in("runtime/plan/context.c", 'VERSION_TEXT "([%d.]+)"')
  local number = find_in("include/mlaforge/mlaforge.h", "MLAF_VERSION_NUMBER (%d+)")
  local changelog = find_in("CHANGELOG.md", "\n## (%d+[%d.]*) %- %d%d%d%d%-%d%d%-%d%d\n")
  local major, minor, patch = (cmake or ""):match("^(%d+)%.(%d+)%.(%d+)$")
  local wanted = major and ("%d"):format(major * 10000 + minor * 100 + patch)
  if not wanted or library ~= cmake or number ~= wanted or changelog ~= cmake then
    complain("versions differ: CMakeLists.txt %s, VERSION_TEXT %s, MLAF_VERSION_NUMBER %s, the changelog's newest %s", cmake,
      library, number, changelog)
  end
end

-- Versions of formats: where the code says it, and the cell of docs/versions.md that repeats it.
local FORMATS = {
  { "runtime/db/db_internal.h", "MLAF_DB_SCHEMA (%d+)", "| schema %s |" },
  { "runtime/db/text_row.h", "MLAF_TEXT_VERSION = (%d+)", "| version %s |" },
  { "runtime/db/db.h", "MLAF_DB_PROTOCOL (%d+)", "| measurement protocol | %s |" },
  { "runtime/bundle/bundle.h", '"# mlaforge bundle (%d+)\\n"', "| format %s |" },
  { "runtime/embed/mlaf_embed.h", "MLAF_EMBED_VERSION (%d+)", "| index %s |" },
}

local function check_formats()
  for _, f in ipairs(FORMATS) do
    local cell = f[3]:format(find_in(f[1], f[2]))
    if not find_in("docs/versions.md", (cell:gsub("%p", "%%%0"))) then
      complain("docs/versions.md: no cell '%s', as %s says", cell, f[1])
    end
  end
end

for _, path in ipairs(arg) do check_file(path) end
check_commits()
check_versions()
check_formats()
os.exit(bad and 1 or 0)
