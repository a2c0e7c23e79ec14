-- lua5.4 tools/api-filter.lua HEADER: a public header on stdout as Doxygen reads it, its plain comments made documentation.
-- tools/api-reference.sh names it as Doxygen's filter; tests load it with dofile.
--   /* ... */ on lines of its own belongs to what follows; the first one of a file, to the file; behind code, to that code
--   on the lines below code, with an empty line below itself: to that code, too
--   /* --- name --- ... */ begins a group of functions, up to the next one or the end of the file
-- Text keeps its words. Lines that are indented (code, tables, formulas) stay as they are. "Errors:" begins a paragraph of that
-- name.
local M = {}

-- Escapes what Doxygen or Markdown would take for markup, or a brief's end; text in `...` is code already.
local function escaped(text)
  local out, code = {}, false
  for part, tick in (text .. "\0"):gmatch("([^`%z]*)(.)") do
    if not code then part = part:gsub("[\\@#<>*_%%&]", "\\%0"):gsub("\\_(%w)", "_%1"):gsub("e%.g%. ", "e.g.\\ ") end
    out[#out + 1] = part .. (tick == "`" and tick or "")
    if tick == "`" then code = not code end
  end
  return table.concat(out)
end

-- Lines of a comment without its frame.
local function inside(comment)
  local lines = {}
  for line in (comment:gsub("^/%*%s?", ""):gsub("%s*%*/$", "") .. "\n"):gmatch("(.-)\n") do
    lines[#lines + 1] = #lines == 0 and line or line:gsub("^%s*%* ?", "")
  end
  return lines
end

-- Documentation text: paragraphs, and what is indented by two blanks and more left alone.
local function documented(lines)
  local out, verbatim = {}, false
  for _, line in ipairs(lines) do
    local indented = line:find("^%s%s+%S") ~= nil and not line:find("^%s+%- ")
    if indented ~= verbatim and line:find("%S") then
      out[#out + 1] = indented and "@verbatim" or "@endverbatim"
      verbatim = indented
    end
    local text = verbatim and line or escaped(line)
    out[#out + 1] = (text:gsub("^Errors: ", "@par Errors\n"):gsub("^Thread%-safe", "@par\nThread-safe"))
  end
  if verbatim then out[#out + 1] = "@endverbatim" end
  return table.concat(out, "\n")
end

local function one_line(comment)
  return escaped((table.concat(inside(comment), " "):gsub("%s+", " ")))
end

function M.filter(source)
  local out, at, first, group = {}, 1, true, false
  while true do
    local from, to = source:find("/%*.-%*/", at)
    if not from then break end
    local before, comment = source:sub(at, from - 1), source:sub(from, to)
    out[#out + 1] = before
    local line_start = source:sub(1, from - 1):match("[^\n]*$")
    local rest_of_line = source:match("^[^\n]*", to + 1)
    local name, more = comment:match("^/%* %-%-%- (.-) %-%-%-%s*(.*)%*/$")
    if line_start:find("%S") then
      out[#out + 1] = rest_of_line:find("%S") and comment or "/**< " .. one_line(comment) .. " */"
    elseif not first and before:find("[;}][^\n]*\n$") and source:find("^%s*\n%s*\n", to + 1) then
      -- More about what stands before it.
      local owner = before:match("}%s*([%w_]+);%s*$")
      out[#out + 1] = (owner and "/** @struct " .. owner .. "\n@details\n" or "/**<\n") .. documented(inside(comment)) .. "\n */"
    elseif first then
      out[#out + 1] = "/** @file\n" .. documented(inside(comment)) .. "\n */"
    elseif name then
      local text = documented(inside("/* " .. more:gsub("^%*%s*", "") .. "*/"))
      out[#out + 1] = (group and "/**@}*/\n" or "") .. "/** @name " .. escaped(name) .. "\n" .. text .. " */\n/**@{*/"
      group = true
    else
      out[#out + 1] = "/**\n" .. documented(inside(comment)) .. "\n */"
    end
    first, at = false, to + 1
  end
  local rest = source:sub(at)
  if group then rest = rest:gsub("\n#endif%s*$", "\n/**@}*/%0") end
  out[#out + 1] = rest
  return table.concat(out)
end

if arg and arg[0] and arg[0]:find("api%-filter%.lua$") then
  local f = assert(io.open(arg[1], "rb"))
  io.stdout:write(M.filter(f:read("a")))
end
return M
