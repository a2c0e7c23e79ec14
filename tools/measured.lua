-- Tables of what was measured on a device, for tools that make C of them: tab separated, `#` comments, one line that names the
-- columns; device, date and method on each line. A line that is wrong stops the build with its number.
local measured = {}
local path, line_number = nil, 0

function measured.refuse(what, value)
  io.stderr:write(("%s:%d: %s: '%s'\n"):format(path, line_number, what, value))
  os.exit(1)
end
local refuse = measured.refuse

-- A number from 1 on; "-" is `otherwise`, where there is one.
function measured.whole(row, column, otherwise)
  if row[column] == "-" and otherwise then return otherwise end
  local x = row[column]:match("^%d+$") and math.tointeger(tonumber(row[column]))
  if not x or x < 1 or x > 1 << 40 then refuse(column .. " is no number from 1 on", row[column]) end
  return x
end

local function columns_of(line, columns)
  local row, n = {}, 0
  for text in (line .. "\t"):gmatch("([^\t]*)\t") do
    n = n + 1
    row[columns[n] or refuse("a column too many", text)] = text
  end
  if n < #columns then refuse("columns are missing, there are " .. #columns, line) end
  if not row.date:match("^%d%d%d%d%-%d%d%-%d%d$") then refuse("date is not YYYY-MM-DD", row.date) end
  if row.device == "" or row.method == "" then refuse("device and method are wanted", line) end
  return row
end

-- The results of `take`, line by line.
function measured.read(from, columns, take)
  local out, seen_head = {}, false
  path = from
  for line in io.lines(path) do
    line_number = line_number + 1
    if line ~= "" and line:sub(1, 1) ~= "#" then
      if seen_head then out[#out + 1] = take(columns_of(line, columns))
      elseif line ~= table.concat(columns, "\t") then refuse("the first line must name the columns", line)
      else seen_head = true end
    end
  end
  return out
end

return measured
