-- lua5.4 tools/rehash.lua OLD NEW TARGET FILE: after a change of templates that changes no machine code. OLD and NEW are the
-- mlaforge of two builds, FILE is tuning text. Every kernel of its choices is compiled by both; where the code objects are the
-- same to the byte the choice gets the new hashes, else it keeps the old ones and is named: it has to be tuned again. Writes
-- FILE; exit code 1 when a choice was left. Compiled kernels are in the cache ($MLAF_CACHE_DIR) for a second run.
local old, new, target, file = arg[1], arg[2], arg[3], arg[4]
assert(file, "usage: lua5.4 tools/rehash.lua OLD NEW TARGET FILE")
local scratch = os.tmpname()
os.remove(scratch)

local function run(command)
  local pipe = assert(io.popen(command .. " 2>/dev/null"))
  local text = pipe:read("a")
  return pipe:close() and text or error("failed: " .. command, 0)
end

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- symbol -> { key, code } of a choice's kernels
local function compiled(program, problem, variant, to)
  local found = {}
  local text = run(("rm -rf %s; %s compile %s --target %s --variant %s --json --out %s"):format(to, quoted(program),
    quoted(problem), target, quoted(variant), to))
  for line in text:gmatch("[^\n]+") do
    local symbol, key = line:match('"symbol":"([%w_]+)"'), line:match('"code_key":"(%x+)"')
    if symbol and key then found[symbol] = { key = key } end
  end
  for path in run("ls " .. to):gmatch("[^\n]+") do
    for symbol, k in pairs(found) do
      if path:find(symbol, 1, true) then k.code = run("sha256sum < " .. to .. "/" .. path) end
    end
  end
  return found
end

-- symbol -> template_hash, src_hash
local function hashes(program, problem, variant, to)
  local found = {}
  run(("rm -rf %s; %s generate %s --target %s --variant %s --out %s"):format(to, quoted(program), quoted(problem), target,
    quoted(variant), to))
  for line in io.lines(to .. "/manifest.tsv") do
    local symbol, template_hash, src_hash = line:match("^(mlaf_%w+_?[%w_]*)%.%w+\t.*\t(%x+)\t(%x+)$")
    if symbol then found[symbol] = { template_hash, src_hash } end
  end
  return found
end

local out, at, changed, left = {}, nil, 0, 0
for line in io.lines(file) do
  local fields = {}
  for field in (line .. "\t"):gmatch("([^\t]*)\t") do fields[#fields + 1] = field end
  if line:find("^device\t") then
    at = {}
    for i, name in ipairs(fields) do at[name] = i end
    assert(at.stage, "not the format of today: import it and export it again")
  elseif at and not line:find("^#") and line ~= "" then
    local problem, variant, good, touched = fields[at.problem], fields[at.variant], true, false
    local before, after = compiled(old, problem, variant, scratch .. ".a"), compiled(new, problem, variant, scratch .. ".b")
    local names = hashes(new, problem, variant, scratch .. ".c")
    for group = 0, #fields - at.stage, at.rows_per_wg - at.stage + 1 do -- the columns of each stage
      local symbol = fields[at.symbol + group]
      local a, b, h = before[symbol], after[symbol], names[symbol]
      good = good and a and b and h and a.code and a.code == b.code
      if good then
        local fresh = { template_hash = h[1], src_hash = h[2], code_key = b.key }
        for name, value in pairs(fresh) do
          local i = at[name] + group
          touched = touched or fields[i] ~= value
          if fields[i] ~= "-" then fields[i] = value end
        end
      end
    end
    if good then line = table.concat(fields, "\t")
    else left = left + 1; io.stderr:write("left: ", problem, " ", variant, "\n") end
    changed = changed + (good and touched and 1 or 0)
  end
  out[#out + 1] = line
end
run("rm -rf " .. scratch .. ".a " .. scratch .. ".b " .. scratch .. ".c")
local f = assert(io.open(file, "wb"))
assert(f:write(table.concat(out, "\n"), "\n"))
assert(f:close())
io.stderr:write(("%d choices have new hashes, %d were left\n"):format(changed, left))
os.exit(left == 0 and 0 or 1)
