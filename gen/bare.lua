-- Texts without comments, blank lines and indentation: hashes of kernels cover these, so that mending a comment voids no tuned
-- choice.
--
--   bare.kernel(text)      C, C++, HIP and CUDA as a compiler sees it: texts that are equal here are the same tokens on the same
--                          preprocessor lines
--   bare.module(text)      Lua
--   bare.template(text)    kernel text with ${expressions}, and lines of Lua (//@) between
--
-- Literals are kept to the byte. A text that may depend on more than its tokens (__LINE__, #line, assert, raw strings, a literal
-- of two lines), or that is not understood (a comment or a literal of Lua without an end, a backslash before blanks at a line's
-- end, a comment's marks split by a line end), is kept whole: then a comment counts, and nothing is lost.
local bare = {}

local find, sub, byte = string.find, string.sub, string.byte
local NEWLINE, QUOTE, DOLLAR, APOSTROPHE, MINUS, SLASH, OPEN, BACKSLASH, BRACE = byte("\n\"$'-/[\\{", 1, -1)

-- Index of the } that closes the ${ whose expression starts at `from`, or of the line's last character.
local function expression_end(text, from)
  local depth, at = 1, from
  while true do
    local i = find(text, "[\"'{}\n]", at)
    local c = i and sub(text, i, i) or "\n"
    if c == "\n" then return (i or #text + 1) - 1 end
    if c == "{" then
      depth = depth + 1
    elseif c == "}" then
      depth = depth - 1
      if depth == 0 then return i end
    else
      i = find(text, "[\n" .. c .. "]", i + 1) or #text
      if byte(text, i) == NEWLINE then return i - 1 end
    end
    at = i + 1
  end
end

local STOPS = { [QUOTE] = '["\\\n$]', [APOSTROPHE] = "['\\\n$]" }

local ENDS = { [QUOTE] = '["\n$]', [APOSTROPHE] = "['\n$]" }

-- Index of the last character of the literal that begins at `at`: its quote, or what stands before the line's end; and whether it
-- is the quote.
local function literal_end(text, at, in_template)
  local quote = byte(text, at)
  local stop, i = STOPS[quote], find(text, ENDS[quote], at + 1)
  if i and byte(text, i) == quote and byte(text, i - 1) ~= BACKSLASH then return i, true end -- nearly all
  i = at + 1
  while true do
    i = find(text, stop, i)
    if not i then return #text, false end
    local c = byte(text, i)
    if c == NEWLINE then return i - 1, false end
    if c == BACKSLASH then
      i = i + 2
    elseif c == DOLLAR then
      i = in_template and byte(text, i + 1) == BRACE and expression_end(text, i + 2) + 1 or i + 1
    else
      return i, true
    end
  end
end

-- Index of the line end that ends a // comment: one behind a backslash does not.
local function line_comment_end(text, at)
  local i = find(text, "\n", at, true)
  while i and byte(text, i - 1) == BACKSLASH do i = find(text, "\n", i + 1, true) end
  return i or #text + 1
end

-- True if the ' at `at` separates digits: 1'000.
local function separates(text, at)
  local first = at
  while find(text, "^[%w_'.]", first - 1) and first > 1 do first = first - 1 end
  return first < at and find(text, "^%d", first) ~= nil
end

-- Appends text[from, last] to out without the blanks at its end.
local function add_trimmed(out, text, from, last)
  while last >= from and find(text, "^[ \t]", last) do last = last - 1 end
  if last >= from then out[#out + 1] = sub(text, from, last) end
end

-- Index of what follows a comment; between two things of one line it counts as a blank.
local function behind_comment(out, text, at)
  at = find(text, "[^ \t]", at) or #text + 1
  if at <= #text and byte(text, at) ~= NEWLINE then out[#out + 1] = " " end
  return at
end

-- Appends the code of a text, which begins inside a comment where `inside`. Returns whether it ends inside one, and whether a
-- literal has several lines.
local function strip(out, text, in_template, inside)
  local wanted, at, from, long = in_template and "[\"'/$]" or "[\"'/]", 1, 1, false
  if inside then
    local _, stop = find(text, "*/", 1, true)
    if not stop then return true, false end
    at = behind_comment(out, text, stop + 1)
    from = at
  end
  while true do
    local i = find(text, wanted, at)
    if not i then break end
    local c = byte(text, i)
    if c == SLASH then
      local two = sub(text, i, i + 1)
      if two == "//" then
        add_trimmed(out, text, from, i - 1)
        at = line_comment_end(text, i + 2)
        from = at
        long = long or at > #text and byte(text, -1) == BACKSLASH -- goes on behind a line of Lua
      elseif two == "/*" then
        local _, stop = find(text, "*/", i + 2, true)
        add_trimmed(out, text, from, i - 1)
        if not stop then return true, long end
        at = behind_comment(out, text, stop + 1)
        from = at
      else
        at = i + 1
      end
    elseif c == DOLLAR then
      at = byte(text, i + 1) == BRACE and expression_end(text, i + 2) + 1 or i + 1
    elseif c == APOSTROPHE and separates(text, i) then
      at = i + 1
    else
      local stop = literal_end(text, i, in_template)
      local line_end = find(text, "\n", i, true)
      long = long or line_end ~= nil and line_end <= stop
      at = stop + 1
    end
  end
  add_trimmed(out, text, from, #text)
  return false, long
end

-- Blank lines and indentation go. A blank line behind a backslash stays: it ends a macro.
local function joined(out)
  local text = table.concat(out) .. "\n"
  if not find(text, "\\\n", 1, true) then
    text = string.gsub(text, "\n[ \t\n]+", "\n")
    return (string.gsub(text, "^[ \t\n]+", ""))
  end
  local lines, n, continued = {}, 0, false
  for line in string.gmatch(text, "[ \t]*([^\n]*)\n") do
    if line ~= "" or continued then
      n = n + 1
      lines[n] = line
    end
    continued = byte(line, -1) == BACKSLASH
  end
  lines[n + 1] = ""
  return table.concat(lines, "\n")
end

-- True if what begins at one of a word's places in a text fits a pattern, and what stands before it is no part of a name, if
-- asked.
local function found_at(text, word, pattern, alone)
  local at = find(text, word, 1, true)
  while at do
    if find(text, pattern, at) and not (alone and at > 1 and find(text, "^[%w_]", at - 1)) then return true end
    at = find(text, word, at + 1, true)
  end
  return false
end

-- True if a line of a text begins with # and a number.
local function numbers_lines(text)
  local at = find(text, "#", 1, true)
  while at do
    if find(text, "^#[ \t]*%d", at) then
      local i = at - 1
      while i > 0 and find(text, "^[ \t]", i) do i = i - 1 end
      if i == 0 and at == 1 or i > 0 and byte(text, i) == NEWLINE then return true end
    end
    at = find(text, "#", at + 1, true)
  end
  return false
end

-- True if a text may depend on more than its tokens. Plain searches first: they cost a tenth.
local function tells_lines(text)
  return find(text, "__LINE__", 1, true) or find(text, "__builtin_LINE", 1, true) or find(text, "source_location", 1, true)
    or found_at(text, "assert", "^assert%s*%(", true) or found_at(text, "#", "^#[ \t]*line%f[%W]") or numbers_lines(text)
    or (find(text, " \n", 1, true) or find(text, "\t\n", 1, true) or find(text, "\r\n", 1, true)) and find(text, "\\[ \t\r]+\n")
    or find(text, "\\\n", 1, true) and find(text, "[/*]\\\n") or find(text, "??/", 1, true)
    or find(text, 'R"', 1, true) and find(text, "%f[%w_][uUL]?8?R\"[^%s()\\\"]*%(")
end

-- The comment that begins at the first // or /* from `at` on outside of literals: where it begins, or nil. `from` is where the
-- text behind the comment before begins. For texts without a backslash at a line's end: their literals end with their line.
local function next_comment(text, from, at)
  while true do
    local mark = find(text, "/[/*]", at)
    if not mark then return nil end
    local i = mark
    while i > from and byte(text, i - 1) ~= NEWLINE do i = i - 1 end
    repeat
      i = find(text, "[\"'/]", i)
      if i == mark then return mark end
      local c = byte(text, i)
      if c ~= SLASH and not (c == APOSTROPHE and separates(text, i)) then i = literal_end(text, i, false) end
      i = i + 1
    until i > mark
    at = i
  end
end

-- The answer of bare.kernel(), from the lines alone that have a comment's mark, which takes a third of the time; nil for texts
-- that want every character looked at: a backslash ends a line of theirs, or ends one without its comment.
local function strip_by_lines(text)
  if find(text, "\\\n", 1, true) or byte(text, -1) == BACKSLASH then return nil end
  local out, from = {}, 1
  local at = next_comment(text, 1, 1)
  while at do
    add_trimmed(out, text, from, at - 1)
    if #out > 0 and byte(out[#out], -1) == BACKSLASH then return nil end
    local line = byte(text, at + 1) == SLASH
    local _, stop = find(text, line and "\n" or "*/", at + 2, true)
    if line then from = stop or #text + 1
    elseif stop then from = behind_comment(out, text, stop + 1)
    else return text end
    at = next_comment(text, from, from)
  end
  add_trimmed(out, text, from, #text)
  return joined(out)
end

function bare.kernel(text)
  if tells_lines(text) then return text end
  local stripped = strip_by_lines(text)
  if stripped then return stripped end
  local out = {}
  local inside, long = strip(out, text, false, false)
  return inside and text or long and text or joined(out)
end

-- Index of the last character of the long bracket that opens at `at`, if one does.
local function long_end(text, at)
  local level = text:match("^%[(=*)%[", at)
  if not level then return nil end
  local _, stop = find(text, "]" .. level .. "]", at, true)
  return stop or #text
end

-- The same as strip() for Lua.
local function strip_lua(out, text)
  local at, from, long = 1, 1, false
  while true do
    local i = find(text, "[\"'%-%[]", at)
    if not i then break end
    local c = byte(text, i)
    if c == MINUS and byte(text, i + 1) == MINUS then
      local stop = long_end(text, i + 2)
      add_trimmed(out, text, from, i - 1)
      at = stop and behind_comment(out, text, stop + 1) or find(text, "\n", i, true) or #text + 1
      from = at
    else
      local stop, closed = i, true
      if c == QUOTE or c == APOSTROPHE then
        stop, closed = literal_end(text, i, false)
      elseif c == OPEN then
        stop = long_end(text, i) or i
      end
      long = long or not closed or stop > i and find(sub(text, i, stop), "\n", 1, true) ~= nil
      at = stop + 1
    end
  end
  add_trimmed(out, text, from, #text)
  return long
end

function bare.module(text)
  local out = {}
  return strip_lua(out, text) and text or joined(out)
end

-- Index of the line end before the next line of Lua, or of what is behind the text.
local function next_code_line(text, at)
  while true do
    at = find(text, "//@", at, true)
    if not at then return #text + 1 end
    local i = at - 1
    while i > 0 and find(text, "^[ \t]", i) do i = i - 1 end
    if byte(text, i) == NEWLINE then return i end
    at = at + 3
  end
end

function bare.template(text)
  if tells_lines(text) then return text end
  local out, at, inside, long = {}, 1, false, false
  local long_lines = find(text, "\\\n", 1, true) or byte(text, -1) == BACKSLASH
  while at <= #text do
    local code, last = text:match("^[ \t]*//@([^\n]*)()", at)
    local more
    if code then
      out[#out + 1] = "//@"
      local marked = #out
      more = strip_lua(out, code)
      if #out == marked then out[marked] = nil end -- a comment alone
    else
      last = next_code_line(text, at)
      local part = sub(text, at, last - 1)
      if inside or long_lines or find(part, "/[/*]") then inside, more = strip(out, part, true, inside)
      else add_trimmed(out, part, 1, #part) end -- no comment begins here, and no literal goes on behind its line
    end
    out[#out + 1] = "\n"
    long, at = long or more, last + 1
  end
  return inside and text or long and text or joined(out)
end

-- The text of one of the generator's files.
function bare.file(path, text)
  return find(path, "^templates/") and bare.template(text) or bare.module(text)
end

return bare
