-- lua5.4 tools/man.lua MLAFORGE OUT.1: the man page, from what the command says of itself.
local program, out_path = arg[1], arg[2]
assert(program and out_path, "usage: lua5.4 man.lua MLAFORGE OUT.1")

local function run(arguments)
  local pipe = assert(io.popen(("'%s' %s 2>&1"):format(program, arguments)))
  local text = pipe:read("a")
  assert(pipe:close(), "mlaforge " .. arguments .. " failed: " .. text)
  return text
end

-- Text as roff takes it: backslashes and hyphens as they are, no line that looks like a request.
local function roff(text)
  text = text:gsub("\\", "\\e"):gsub("%-", "\\-")
  return (text:gsub("^[.']", "\\&%0"))
end

local out = {}
local function put(...) out[#out + 1] = table.concat({ ... }) end

local function paragraphs(lines)
  local open = false
  for _, line in ipairs(lines) do
    local left, right = line:match("^  (%-%-%S.-)%s%s+(.*)$")
    if left then
      put(".TP\n.B ", roff(left))
      put(roff(right))
      open = false
    elseif line == "" then open = false
    else
      if not open then put(".PP") end
      put(roff(line))
      open = true
    end
  end
end

local function lines_of(text)
  local list = {}
  for line in text:gmatch("([^\n]*)\n") do list[#list + 1] = line end
  return list
end

local overview = lines_of(run("--help"))
local version = run("--version"):match("mlaforge (%S+)")
put('.TH MLAFORGE 1 "" "mlaforge ', version, '" "User Commands"')
put(".SH NAME\nmlaforge \\- specialised Multi\\-head Latent Attention decode kernels")
put(".SH SYNOPSIS\n.B mlaforge\n.I COMMAND\n.RI [ OPTIONS ]\n.SH DESCRIPTION")
put("Generates, compiles, verifies, tunes and serves the attention kernels of DeepSeek\\-V2/V3/R1, Kimi and their like.")
put(".SH COMMANDS")
local commands, exits = {}, ""
for _, line in ipairs(overview) do
  local name, summary = line:match("^  (%l+)%s+(.*)$")
  if name then
    commands[#commands + 1] = name
    put(".TP\n.B ", name, "\n", roff(summary))
  end
  exits = line:match("^exit codes: (.*)$") or exits
end
for _, name in ipairs(commands) do
  put(".SH ", name:upper())
  local lines, body = lines_of(run(name .. " --help")), {}
  put(".B mlaforge\n", roff((lines[1]:gsub("^usage: mlaforge ", ""))))
  for i = 2, #lines do
    if not lines[i]:find("^exit codes:") and lines[i] ~= "options:" then body[#body + 1] = lines[i] end
  end
  paragraphs(body)
end
put(".SH EXIT STATUS\n", roff(exits))
put(".SH COPYING\nMIT licence. What embed writes carries it.")
put(".SH SEE ALSO\nThe documents of the source tree: docs/offline.md, docs/embedding.md, docs/emulator.md; ",
  "the C API is described in mlaforge/*.h.")

local f = assert(io.open(out_path, "wb"))
assert(f:write(table.concat(out, "\n"), "\n"))
assert(f:close())
