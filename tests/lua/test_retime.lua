-- tools/retime.lua over a program that says times at once: which rows it finds off, what it writes, and which files it refuses.

local HEAD = "# mlaforge tuning text 3\ndevice\tproblem\tvariant\tknob\tsource\tns\tmargin\t...\n# Made by hand.\n"
local STAMP = "# Times of 2020-01-01's emulator: checked by tools/retime.lua.\n"

local function row(problem, ns, margin)
  return ("arch:gfx942\t%s\tv\t1\tmodelled\t%s\t%s\tmore\tand more\n"):format(problem, ns, margin)
end

local function write(path, text)
  local f = assert(io.open(path, "w"))
  f:write(text)
  f:close()
end

-- The tool's words about a tuning text, its exit code, and the text behind it. The program knows times of problems a and b.
local function retimed(text, options)
  local file, program = os.tmpname(), os.tmpname()
  write(file, text)
  write(program, [[case $2 in a) ns=1000;; b) ns=2000;; *) echo "no problem $2"; exit 1;; esac
echo '{"timing":{"source":"modelled","ns":'$ns'}}']])
  os.execute(("chmod +x '%s'"):format(program))
  local command = ("'%s' '%s/tools/retime.lua' '%s' '%s' %s 2>&1"):format(T.lua, T.root, program, file, options or "")
  local pipe = assert(io.popen(command))
  local said = pipe:read("a")
  local _, _, code = pipe:close()
  local f = assert(io.open(file))
  local now = f:read("a")
  f:close()
  os.remove(file)
  os.remove(program)
  return said, code, now
end

test("modelled rows that are off are found", function()
  local far = HEAD .. row("a", "1060", "0.1") .. row("b", "2000", "0.1")
  eq(select(2, retimed((far:gsub("1060", "1040")), "--within 5")), 0)
  local said, code, now = retimed(far, "--within 5")
  eq(code, 1)
  eq(now, far)
  ok(said:find("a v: 1.06 us, today 1.00\n2 rows timed, 1 of them off by more than 5 %", 1, true), said)
  eq(select(2, retimed(far, "--within 5 --from 2")), 0)
  eq(select(2, retimed(far, "--within 5 --from 1 --every 2")), 1)
end)

test("new times are written, and the day where all rows have one", function()
  local text = HEAD .. STAMP .. row("a", "1060", "0.1") .. row("b", "2040", "0.1")
  local _, code, now = retimed(text, "--write")
  eq(code, 0)
  eq(now:gsub("# Times of %S+", "# Times of D"),
    HEAD .. STAMP:gsub("of %S+", "of D") .. row("a", "1000", "0") .. row("b", "2000", "0.1"))
  ok(not now:find("2020-01-01", 1, true), "the day")
  _, code, now = retimed(text, "--write --from 2")
  eq(code, 0)
  eq(now, HEAD .. STAMP .. row("a", "1060", "0.1") .. row("b", "2000", "0.1"))
  _, code, now = retimed(text .. row("c", "3000", "0.1"), "--write") -- which cannot be timed
  eq(code, 1)
  eq(now, HEAD .. STAMP .. row("a", "1000", "0") .. row("b", "2000", "0.1") .. row("c", "3000", "0.1"))
end)

test("options and files that are no tuning text are refused in a line", function()
  local good = HEAD .. row("a", "1000", "0")
  for _, options in ipairs { "--every 0", "--every 1.5", "--from x", "--within", "--more" } do
    local said, code = retimed(good, options)
    ok(code == 2 and said:find("^usage: "), said)
  end
  local bad = {
    ["has no modelled row that was asked for"] = "",
    ["has no column ns"] = good:gsub("\tns", "\tus"),
    ["row 1 has 4 columns of 8 and more"] = good:gsub("\tmodelled.*", "\n"),
    ["row 1 has the time 'some'"] = HEAD .. row("a", "some", "0"),
  }
  for want, text in pairs(bad) do
    local said, code, now = retimed(text, "--write")
    ok(code == 2 and said:find(want, 1, true) and not said:find("traceback"), said)
    eq(now, text)
  end
end)
