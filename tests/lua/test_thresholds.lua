-- tuning/thresholds.tsv as constants: what tools/thresholds.lua makes of it, and which lines it refuses.

local HEAD = "threshold\tvalue\tdevice\tdate\tmethod\n"

-- The header, or what the tool says before it exits with 1.
local function made(text)
  local from, to = os.tmpname(), os.tmpname()
  local f = assert(io.open(from, "w"))
  f:write(text)
  f:close()
  local p = assert(io.popen(("lua5.4 '%s/tools/thresholds.lua' '%s' '%s' 2>&1"):format(T.root, from, to)))
  local said = p:read("a")
  local done = p:close()
  local out = assert(io.open(to)):read("a")
  os.remove(from)
  os.remove(to)
  return done and out or said, done
end

test("shipped thresholds become constants", function()
  local out, done = made(T.read("tuning/thresholds.tsv"))
  ok(done, out)
  ok(out:find("MLAF_LISTS_BUSY = 80, /* NVIDIA H200, 2026-11-29 */", 1, true), out)
end)

test("wrong thresholds are refused", function()
  local row = "graph_launches\t4\tH200\t2026-11-29\tbursts\n"
  for _, x in ipairs { { "Graph\t4\tH200\t2026-11-29\tbursts\n", "2: a threshold is called by small letters: 'Graph'" },
    { "graph\t0\tH200\t2026-11-29\tbursts\n", "2: value is no number from 1 on: '0'" },
    { "graph\t4\t\t2026-11-29\tbursts\n", "2: device and method are wanted" },
    { "graph\t4\tH200\ttoday\tbursts\n", "2: date is not YYYY-MM-DD: 'today'" },
    { row .. row, "3: the threshold was there already: 'graph_launches'" } } do
    local said, done = made(HEAD .. x[1])
    ok(not done)
    ok(said:find(":" .. x[2], 1, true), said)
  end
end)
