-- Draws the pictures of the pages: docs/pictures/NAME.txt becomes docs/pictures/NAME.svg.
--   lua5.4 tools/draw.lua [--check] [NAME...]     --check: write nothing, exit 1 where an SVG is not what its text makes
-- The first word of a text says which kind of picture it is; each kind's lines are explained above its function. Lines that
-- begin with "#" are comments. tools/check-style.sh runs --check. Output is a function of the text, and of tools/rooms.lua for
-- the house.
local ROOT = arg[0]:match("^(.*)/tools/[^/]*$") or "."
local WIDTH = 880
local FILLS = { "#e8f0fb", "#fdf0e1", "#e9f5ea", "#f3ebf8", "#fbe9e9", "#e6f4f4", "#f6f3dc", "#eeeeee" }
local EDGES = { "#3569b0", "#b3701f", "#3f8a48", "#7d4fa0", "#b04545", "#2f8585", "#8a7d1f", "#777777" }

local function escaped(s) return (s:gsub("&", "&amp;"):gsub("<", "&lt;"):gsub(">", "&gt;")) end

-- An SVG under construction: lines of text, appended by the functions below.
local function new_picture() return { lines = {}, height = 0 } end
local function put(picture, fmt, ...) picture.lines[#picture.lines + 1] = fmt:format(...) end

local function box(picture, x, y, w, h, color)
  put(picture, '<rect x="%d" y="%d" width="%d" height="%d" rx="5" fill="%s" stroke="%s"/>', x, y, w, h, FILLS[color],
    EDGES[color])
end

local function text(picture, x, y, size, s, more)
  put(picture, '<text x="%d" y="%d" font-size="%d"%s>%s</text>', x, y, size, more or "", escaped(s))
end

local MIDDLE, BOLD = ' text-anchor="middle"', ' font-weight="bold"'

local function arrow(picture, points)
  put(picture, '<polyline points="%s" fill="none" stroke="#444" stroke-width="1.5" marker-end="url(#tip)"/>', points)
end

local function svg(picture, title)
  local head = ([[
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">
<title>%s</title>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">]] ..
    [[<path d="M0 0 L8 4 L0 8 z" fill="#444"/></marker></defs>
<rect width="%d" height="%d" fill="#ffffff"/>
<g font-family="Helvetica, Arial, sans-serif" fill="#222222">
]]):format(WIDTH, picture.height, WIDTH, picture.height, escaped(title), WIDTH, picture.height)
  return head .. table.concat(picture.lines, "\n") .. "\n</g>\n</svg>\n"
end

local function fields(s)
  local out = {}
  for field in (s .. "|"):gmatch("%s*(.-)%s*|") do out[#out + 1] = field end
  return out
end

-- ---- flow: rows of boxes, each with an arrow to the next -------------------------------------------------------------------
-- row TITLE | REMARK                       a band
-- box TITLE | LINE | LINE ...              a box in it
local BAND, BAND_GAP, BOX_H, BOX_GAP, LEFT = 102, 16, 60, 26, 14

local function read_flow(lines)
  local rows = {}
  for _, line in ipairs(lines) do
    local word, rest = line:match("^(%S+)%s+(.*)$")
    local f = fields(rest)
    if word == "row" then
      rows[#rows + 1] = { title = f[1], remark = f[2] or "", boxes = {} }
    elseif word == "box" then
      table.insert(rows[#rows].boxes, f)
    else
      error("a flow has no line '" .. word .. "'")
    end
  end
  return rows
end

-- Draws one band and its boxes; returns the places of its first and last box.
local function draw_band(picture, row, i, y)
  local n = #row.boxes
  local w = (WIDTH - 2 * LEFT - 20 - (n - 1) * BOX_GAP) // n
  box(picture, LEFT, y, WIDTH - 2 * LEFT, BAND, i)
  text(picture, LEFT + 12, y + 22, 15, row.title, BOLD)
  text(picture, WIDTH - LEFT - 12, y + 22, 13, row.remark, ' text-anchor="end"')
  for j, f in ipairs(row.boxes) do
    local x, top = LEFT + 10 + (j - 1) * (w + BOX_GAP), y + 32
    put(picture, '<rect x="%d" y="%d" width="%d" height="%d" rx="5" fill="#ffffff" stroke="%s"/>', x, top, w, BOX_H, EDGES[i])
    text(picture, x + w // 2, top + 18, 14, f[1], MIDDLE .. BOLD)
    for k = 2, #f do text(picture, x + w // 2, top + 18 + 16 * (k - 1), 12, f[k], MIDDLE) end
    if j > 1 then arrow(picture, ("%d,%d %d,%d"):format(x - BOX_GAP + 1, top + BOX_H // 2, x - 1, top + BOX_H // 2)) end
  end
  local last = LEFT + 10 + (n - 1) * (w + BOX_GAP)
  return LEFT + 10 + w - 24, last + w - 24 -- arrows end and begin near the right ends, where no title stands
end

local function draw_flow(lines)
  local picture, from = new_picture(), nil
  for i, row in ipairs(read_flow(lines)) do
    local y = 10 + (i - 1) * (BAND + BAND_GAP)
    local first, last = draw_band(picture, row, i, y)
    if from then -- between the bands, then down
      arrow(picture, ("%d,%d %d,%d %d,%d %d,%d"):format(from, y - BAND_GAP - 9, from, y - 8, first, y - 8, first, y + 31))
    end
    from, picture.height = last, y + BAND + 10
  end
  return picture
end

-- ---- house: the floors of tools/rooms.lua, the ground at the bottom ---------------------------------------------------------
-- room NAME | WHAT       what is in it; a room without a line is drawn by its name alone
-- note TEXT              a line below the house
local function draw_house(lines)
  local what, notes = {}, {}
  for _, line in ipairs(lines) do
    local word, rest = line:match("^(%S+)%s+(.*)$")
    if word == "room" then
      local f = fields(rest)
      what[f[1]] = f[2]
    elseif word == "note" then
      notes[#notes + 1] = rest
    else
      error("a house has no line '" .. word .. "'")
    end
  end
  local picture, floors = new_picture(), {}
  local p = assert(io.popen(("lua5.4 '%s/tools/rooms.lua' --floors"):format(ROOT)))
  for line in p:lines() do table.insert(floors, 1, line) end
  assert(p:close(), "tools/rooms.lua --floors failed")
  local HEIGHT, GAP = 42, 8
  for i, line in ipairs(floors) do
    local names = {}
    for name in line:gmatch("%S+") do names[#names + 1] = name end
    local w = (WIDTH - 2 * LEFT - (#names - 1) * GAP) // #names
    for j, name in ipairs(names) do
      local x, y = LEFT + (j - 1) * (w + GAP), 10 + (i - 1) * (HEIGHT + GAP)
      box(picture, x, y, w, HEIGHT, (#floors - i) % 6 + 1)
      text(picture, x + w // 2, y + 18, 14, name, MIDDLE .. BOLD)
      text(picture, x + w // 2, y + 34, 12, what[name] or "", MIDDLE)
    end
  end
  local y = 10 + #floors * (HEIGHT + GAP)
  for k, note in ipairs(notes) do text(picture, LEFT, y + 16 * k - 2, 13, note) end
  picture.height = y + 16 * #notes + 10
  return picture
end

-- ---- tiles: grids whose cells are coloured by their owner -------------------------------------------------------------------
-- grid TITLE                       a grid; grids stand side by side until a "break"
-- size COLUMNS ROWS WIDTH HEIGHT   cells, and how large each is
-- axes ROWS | COLUMNS              what goes down and what goes across
-- label EXPRESSION                 a cell's text; Lua, of row and col, which count from 0
-- color EXPRESSION                 a number; equal ones have equal colours
-- note TEXT                        a line below the grid
local function cell_function(source)
  local env = {}
  local f = assert(load("return " .. source, source, "t", env))
  return function(row, col)
    env.row, env.col = row, col
    return f()
  end
end

local function read_tiles(lines)
  local grids = {}
  for _, line in ipairs(lines) do
    local word, rest = line:match("^(%S+)%s*(.*)$")
    local grid = grids[#grids]
    if word == "grid" then
      grids[#grids + 1] = { title = rest, notes = {} }
    elseif word == "break" then
      grid.last = true
    elseif word == "size" then
      grid.columns, grid.rows, grid.w, grid.h = rest:match("(%d+) (%d+) (%d+) (%d+)")
      for _, k in ipairs { "columns", "rows", "w", "h" } do grid[k] = math.tointeger(grid[k]) end
    elseif word == "axes" then
      grid.axes = fields(rest)
    elseif word == "label" or word == "color" then
      grid[word] = cell_function(rest)
    elseif word == "note" then
      table.insert(grid.notes, rest)
    else
      error("tiles have no line '" .. word .. "'")
    end
  end
  return grids
end

local function draw_grid(picture, grid, x, y)
  text(picture, x, y + 14, 14, grid.title, BOLD)
  text(picture, x, y + 32, 12, ("down: %s; across: %s"):format(grid.axes[1], grid.axes[2]))
  local top = y + 40
  put(picture, '<g font-size="10" text-anchor="middle" stroke-width="0.6">')
  for row = 0, grid.rows - 1 do
    local cells, names = {}, {}
    for col = 0, grid.columns - 1 do
      local color, name = grid.color(row, col) % #FILLS + 1, escaped(tostring(grid.label(row, col)))
      local cx, cy = x + col * grid.w, top + row * grid.h
      cells[#cells + 1] = ('<path d="M%d %dh%dv%dh-%dz" fill="%s" stroke="%s"/>'):format(cx, cy, grid.w, grid.h, grid.w,
        FILLS[color], EDGES[color])
      names[#names + 1] = ('<text x="%d" y="%d">%s</text>'):format(cx + grid.w // 2, cy + grid.h - 4, name)
    end
    put(picture, "%s%s", table.concat(cells), table.concat(names))
  end
  put(picture, "</g>")
  local bottom = top + grid.rows * grid.h
  for k, note in ipairs(grid.notes) do text(picture, x, bottom + 16 * k, 12, note) end
  return bottom + 16 * #grid.notes + 14
end

local function draw_tiles(lines)
  local picture, x, y, bottom = new_picture(), 14, 8, 0
  for _, grid in ipairs(read_tiles(lines)) do
    bottom = math.max(bottom, draw_grid(picture, grid, x, y))
    x = x + grid.columns * grid.w + 24
    if grid.last then x, y = 14, bottom end
  end
  picture.height = bottom
  return picture
end

-- ---- texts and files ---------------------------------------------------------------------------------------------------------
local KINDS = { flow = draw_flow, house = draw_house, tiles = draw_tiles }

local function draw(path)
  local lines, kind, title = {}, nil, nil
  for line in io.lines(path) do
    if line:find("%S") and not line:find("^#") then
      if kind then lines[#lines + 1] = line else kind, title = line:match("^(%S+)%s+(.*)$") end
    end
  end
  local ok, picture = pcall(assert(KINDS[kind], path .. ": its first word is no kind of picture"), lines)
  if not ok then error(path .. ": " .. tostring(picture), 0) end
  return svg(picture, title)
end

local function slurp(path)
  local f = io.open(path, "rb")
  if not f then return nil end
  local s = f:read("a")
  f:close()
  return s
end

local check, names = false, {}
for _, a in ipairs(arg) do
  if a == "--check" then check = true else names[#names + 1] = a end
end
if #names == 0 then
  local p = assert(io.popen(("cd '%s/docs/pictures' && ls *.txt"):format(ROOT)))
  for name in p:lines() do names[#names + 1] = name:sub(1, -5) end
  p:close()
end
local stale = false
for _, name in ipairs(names) do
  local base = ("%s/docs/pictures/%s"):format(ROOT, name)
  local wanted = draw(base .. ".txt")
  if check and slurp(base .. ".svg") ~= wanted then
    stale = true
    print(("docs/pictures/%s.svg is not what %s.txt makes: run lua5.4 tools/draw.lua"):format(name, name))
  elseif not check then
    local f = assert(io.open(base .. ".svg", "wb"))
    f:write(wanted)
    f:close()
  end
end
os.exit(stale and 1 or 0)
