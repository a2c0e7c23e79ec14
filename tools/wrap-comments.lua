-- lua5.4 tools/wrap-comments.lua FILE...: wraps anew the paragraphs of comments that have a line of more than 130 columns.
-- C block comments, and whole-line comments by //, -- and #. A paragraph is a run of lines with the same prefix and no further
-- indentation, so tables, examples and lists stay as they are; so does each paragraph without a line that is too long.
local COLUMNS = 130

-- The parts of a comment line that a wrap keeps: what stands before the words on the first and on the other lines, and the words.
-- nil: no line of a comment. `inside`: in a block comment that began on an earlier line.
local function parse(line, inside)
  if inside then
    local prefix, rest = line:match("^(%s*%*) ?(.*)$")
    if prefix and not rest:find("^/") then return prefix .. " ", prefix .. " ", rest end
    return nil
  end
  local indent, rest = line:match("^(%s*)/%* (.*)$")
  if indent then return indent .. "/* ", indent .. " * ", rest end
  for _, mark in ipairs { "//", "%-%-", "#" } do
    local prefix
    prefix, rest = line:match("^(%s*" .. mark .. " )(.*)$")
    if prefix then return prefix, prefix, rest end
  end
end

local function wrapped(first, other, text)
  local out, line = {}, first:gsub("%s+$", "")
  for word in text:gmatch("%S+") do
    if utf8.len(line) + 1 + utf8.len(word) > COLUMNS then
      out[#out + 1], line = line, other:gsub("%s+$", "")
    end
    line = line .. " " .. word
  end
  out[#out + 1] = line
  return out
end

-- Joins "*/" to the last word, so that it never stands alone on a line.
local function wrap(lines)
  local out, i, inside = {}, 1, false
  while i <= #lines do
    local first, other, text = parse(lines[i], inside)
    local block = first and (inside or first:find("/%*"))
    local from, long = i, utf8.len(lines[i]) and utf8.len(lines[i]) > COLUMNS
    local words = text
    if first and text:find("^%S") then
      while not (block and lines[i]:find("%*/")) and lines[i + 1] do -- a paragraph goes on
        local prefix, _, more = parse(lines[i + 1], block)
        if prefix ~= other or not more:find("^%S") then break end
        i, words = i + 1, words .. " " .. more
        long = long or (utf8.len(lines[i]) or 0) > COLUMNS
      end
    end
    if first and long and text:find("^%S") then
      for _, line in ipairs(wrapped(first, other, (words:gsub("%s+%*/%s*$", "\1*/")))) do
        out[#out + 1] = (line:gsub("\1", " "))
      end
    else
      for k = from, i do out[#out + 1] = lines[k] end
    end
    inside = block and not lines[i]:find("%*/") or false
    i = i + 1
  end
  return out
end

for _, path in ipairs(arg) do
  local lines = {}
  for line in io.lines(path) do lines[#lines + 1] = line end
  local out = table.concat(wrap(lines), "\n") .. "\n"
  if out ~= table.concat(lines, "\n") .. "\n" then
    local f = assert(io.open(path, "wb"))
    f:write(out)
    f:close()
    print(path)
  end
end
