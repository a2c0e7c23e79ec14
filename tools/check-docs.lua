-- lua5.4 tools/check-docs.lua FILE...: are the pages for people easy to read, and does what is linked exist? FILE: every file of
-- the tree, relative to the root, where it runs. Called by tools/check-style.sh; prints FILE:LINE or FILE and what is wrong.
--
-- README.md, CONTRIBUTING.md, CHANGELOG.md and docs/*.md: half of the sentences have at most 16 words, nine in ten at most 30.
-- Code, tables and headings do not count; pages of fewer than 10 sentences are left alone. docs/lab/ is the notebook: any
-- sentence will do there. Lines of all these have at most 130 columns, but for rows of tables.
local MEDIAN, MOST, COLUMNS, FEW = 16, 30, 130, 10
local bad = false

local function complain(fmt, ...)
  bad = true
  print(fmt:format(...))
end

local function slurp(path)
  local f = io.open(path, "rb")
  if not f then return nil end
  local text = f:read("a")
  f:close()
  return text
end

local function exists(path)
  local f = io.open(path, "rb") -- folders open, too
  if f then f:close() end
  return f ~= nil
end

local function is_page(path)
  return path:find("^%u+%.md$") or path:find("^docs/[^/]+%.md$")
end

-- Words of each sentence. A sentence ends at . ! or ? before a blank, at an empty line, and where a list's next item begins.
local function sentences(text)
  local counts, words, in_code = {}, 0, false
  local function close()
    if words > 2 then counts[#counts + 1] = words end -- less is a label or a number
    words = 0
  end
  for line in (text .. "\n"):gmatch("(.-)\n") do
    local fence = line:find("^```")
    if fence then in_code = not in_code end
    if fence or in_code or line:find("^[|#]") or not line:find("%S") then
      close()
    else
      if line:find("^%s*%- ") then close() end
      for word in line:gmatch("%S+") do
        words = words + 1
        if word:find("[.!?]$") then close() end
      end
    end
  end
  close()
  table.sort(counts)
  return counts
end

local function check_sentences(path, text)
  local counts = sentences(text)
  if #counts < FEW then return end
  local median, most = counts[#counts // 2 + 1], counts[#counts * 9 // 10 + 1]
  if median > MEDIAN or most > MOST then
    complain("%s: hard to read: half of the sentences have %d words or less, nine in ten %d; wanted are %d and %d", path, median,
      most, MEDIAN, MOST)
  end
end

local function check_columns(path, text)
  local n = 0
  for line in (text .. "\n"):gmatch("(.-)\n") do
    n = n + 1
    if not line:find("^|") and utf8.len(line) and utf8.len(line) > COLUMNS then
      complain("%s:%d: longer than %d columns", path, n, COLUMNS)
    end
  end
end

-- Headings of a page as links name them: lower case, blanks as "-", no punctuation but "-" and "_", links as their text.
local headings = {}
local function headings_of(path)
  if not headings[path] then
    local found, in_code = {}, false
    for line in ((slurp(path) or "") .. "\n"):gmatch("(.-)\n") do
      if line:find("^```") then in_code = not in_code end
      local title = not in_code and line:match("^#+ (.*)$")
      if title then
        title = title:gsub("%[([^%]]*)%]%([^)]*%)", "%1"):lower():gsub("[^%w%s_-]", ""):gsub(" ", "-")
        found[title] = true
      end
    end
    headings[path] = found
  end
  return headings[path]
end

-- "docs/lab/../layer.md" as "docs/layer.md"
local function straight(path)
  local times
  repeat path, times = path:gsub("[^/]+/%.%./", "", 1) until times == 0
  return path
end

-- [text](target): relative to the page. A page elsewhere is not looked at.
local function check_links(path, text)
  local folder = path:match("^(.*/)") or ""
  for target in text:gmatch("%]%(([^)%s]+)%)") do
    local file, place = target:match("^([^#]*)#?(.*)$")
    local page = straight(file == "" and path or folder .. file)
    if not file:find("^%a+:") then
      if file ~= "" and not exists(folder .. file) then
        complain("%s: links to %s, which is not there", path, target)
      elseif place ~= "" and page:find("%.md$") and not headings_of(page)[place] then
        complain("%s: links to %s, a heading that is not there", path, target)
      end
    end
  end
end

-- Texts that choices are hashed with (templates/, gen/) keep the name that a page had before it moved to docs/lab/ or its
-- archive.
local function moved(name)
  return exists((name:gsub("^docs/", "docs/lab/"))) or exists((name:gsub("^docs/lab/", "docs/lab/archive/")))
end

-- Sources name pages by their path.
local function check_names(path, text)
  local hashed = path:find("^templates/") or path:find("^gen/")
  for before, name in text:gmatch("([%w_./-]?)(docs/[%w_./-]+)") do
    name = name:match("^(.*%.md)") or name:match("^(.*%.tsv)")
    if name and before == "" and not exists(name) and not (hashed and moved(name)) then
      complain("%s: names %s, which is not there", path, name)
    end
  end
end

if #arg == 0 then
  io.stderr:write("lua5.4 tools/check-docs.lua FILE...: no file, so nothing is checked (tools/check-style.sh names all)\n")
  os.exit(2)
end
for _, path in ipairs(arg) do
  local text = slurp(path)
  if text and not text:find("\0", 1, true) then
    if is_page(path) then check_sentences(path, text) end
    if is_page(path) or path:find("^docs/.*%.md$") then check_columns(path, text) end
    if path:find("%.md$") then check_links(path, text) end
    check_names(path, text)
  end
end
os.exit(bad and 1 or 0)
