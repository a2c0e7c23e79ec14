-- tuning/layer-stages.tsv as a C table: what tools/layer-stages.lua makes of it, and which lines it refuses, by their number.

local HEAD = "target\talternative\theads\tfrom\tto\tmargin\tdevice\tdate\tmethod\n"

local function content(path)
  local f = assert(io.open(path))
  local text = f:read("a")
  f:close()
  return text
end

-- The tool's output, or what it says before it exits with 1.
local function made(text)
  local from, to = os.tmpname(), os.tmpname()
  local f = assert(io.open(from, "w"))
  f:write(text)
  f:close()
  local p = assert(io.popen(("lua5.4 '%s/tools/layer-stages.lua' '%s' '%s' 2>&1"):format(T.root, from, to)))
  local said = p:read("a")
  local done = p:close()
  local out = done and content(to) or said:gsub(from:gsub("%p", "%%%0"), "FILE")
  os.remove(from)
  os.remove(to)
  return out, done
end

test("defaults of a layer become a table", function()
  local out, done = made("# about\n" .. HEAD .. "*\tq_b+append\t1\t1\t128\t-\tH200\t2026-11-23\tturns\n" ..
    "sm_90a\tdecode+v_out\t96\t9\t40\t-\tH200\t2026-11-23\tturns\n*\tcopies\t1\t129\t-\t0.92\tH200\t2026-11-29\tturns\n" ..
    "sm_90a\tkept_a\t1\t225\t-\t-\tH200\t2026-11-30\tturns\nsm_90a\tkept_q_b\t64\t1\t0\t-\tH200\t2026-11-30\tturns\n")
  ok(done, out)
  ok(out:find('{"*", ALT_Q_B_APPEND, 1, 1, 128, 0},', 1, true), out)
  ok(out:find('{"sm_90a", ALT_DECODE_V_OUT, 96, 9, 40, 0},', 1, true), out)
  ok(out:find('{"*", ALT_COPIES_16, 1, 129, INT64_MAX, 0.92},', 1, true), out)
  ok(out:find('{"sm_90a", ALT_KEPT_A, 1, 225, INT64_MAX, 0},', 1, true), out)
  ok(out:find('{"sm_90a", ALT_KEPT_Q_B, 64, 1, 0, 0},', 1, true), out)
end)

test("wrong lines of a layer's defaults are refused", function()
  local good = { "*", "q_b+append", "1", "1", "128", "-", "H200", "2026-11-23", "turns" }
  local function line(column, value)
    local row = table.move(good, 1, #good, 1, {})
    row[column] = value
    return HEAD .. table.concat(row, "\t") .. "\n"
  end
  for _, x in ipairs { { 2, "q_b+warp", "no alternative of a layer: 'q_b+warp'" },
    { 3, "0", "heads is no number from 1 on: '0'" }, { 3, "99999999999", "heads is more than 256: '99999999999'" },
    { 4, "16", "from must be 1 or one more than a power of two: '16'" },
    { 5, "100", "to must be a power of two: '100'" },
    { 6, "x", "margin is no number: 'x'" }, { 8, "November", "date is not YYYY-MM-DD: 'November'" },
    { 9, "", "device and method are wanted:" }, { 1, "a b", "no target: 'a b'" },
    { 1, "sm_90z", "no target: 'sm_90z'" }, { 1, "*a", "no target: '*a'" } } do
    local said, done = made(line(x[1], x[2]))
    ok(not done)
    ok(said:find("FILE:2: " .. x[3], 1, true), said)
  end
  local said, done = made(HEAD .. "sm_90a\tkept_o\t1\t150\t200\t-\tH200\t2026-11-30\tturns\n")
  ok(not done and said:find("FILE:2: to must be a power of two: '200'", 1, true), said)
  said, done = made("target\n")
  ok(not done and said:find("FILE:1: the first line must name the columns", 1, true), said)
  said, done = made(HEAD .. "*\tq_b+append\n")
  ok(not done and said:find("FILE:2: columns are missing, there are 9", 1, true), said)
end)

test("shipped defaults of a layer are made into a table", function()
  local out, done = made(T.read("tuning/layer-stages.tsv"))
  ok(done, out)
  eq(select(2, out:gsub("ALT_", "")), 24) -- twenty-three rows and the end
end)
