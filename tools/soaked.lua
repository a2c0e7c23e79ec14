-- lua5.4 tools/soaked.lua LEAST TUNING.tsv REPORT.jsonl...: which choices of a tuning text were soaked. Reports are the output of
-- `mlaforge verify --soak N --json`. A choice counts as soaked when reports of its device, problem, variant, knob and
-- kernel sources (src_hash) say together LEAST launches or more and no report of the same kernels says a wrong one.
-- Prints a line for each choice that is not, and a summary; exit code 1 when there is one. Choices without hashes name a variant
-- only and are modelled: no device ran them, so there is nothing to soak; they are counted apart.
local least = tonumber(arg[1] or "")
if not least or #arg < 2 then
  io.stderr:write("usage: lua5.4 tools/soaked.lua LEAST TUNING.tsv REPORT.jsonl...\n")
  os.exit(2)
end

local reports = dofile((arg[0]:match("^(.*)/[^/]*$") or ".") .. "/soak_reports.lua")
local function need(value, why)
  if value then return value end
  io.stderr:write("cannot read ", why, "\n")
  os.exit(2)
end
local soaked = need(reports.read({ table.unpack(arg, 3) }))
need(io.open(arg[2], "r")):close()

local at, choices, modelled, bad, fewest = nil, 0, 0, 0, math.huge
local function complain(row, what)
  bad = bad + 1
  print(("%s %s: %s"):format(row[at.problem], row[at.variant], what))
end
for line in io.lines(arg[2]) do
  if line ~= "" and line:sub(1, 1) ~= "#" then
    local row = {}
    for field in (line .. "\t"):gmatch("([^\t]*)\t") do row[#row + 1] = field end
    if not at then
      at = {}
      for i, name in ipairs(row) do at[name] = i end
      if not at.stage then
        io.stderr:write(arg[2], " is not of today's format: import it and export it again\n")
        os.exit(2)
      end
    else
      choices = choices + 1
      local list = {}
      for i = at.src_hash, #row, at.rows_per_wg - at.stage + 1 do list[#list + 1] = row[i] end
      local kernels = table.concat(list, " ")
      local key = reports.key(row[at.device], row[at.problem], row[at.variant], row[at.knob], kernels)
      local n, wrong = soaked.launches[key] or 0, soaked.wrong
      if row[at.src_hash] == "-" and row[at.source] == "modelled" then modelled = modelled + 1
      elseif wrong[kernels] then complain(row, "a soak of these kernels found a wrong launch (" .. wrong[kernels] .. ")")
      elseif n < least then complain(row, ("%d launches soaked with these very kernels, %d wanted"):format(n, least))
      elseif n < fewest then fewest = n // 1 | 0 end
    end
  end
end
if not at then
  io.stderr:write(arg[2], " is no tuning text\n")
  os.exit(2)
end
print(("%d choices, %d modelled; of the others %d not soaked%s; %d reports"):format(choices, modelled, bad,
  fewest < math.huge and (", the rest with at least %d launches each and none wrong"):format(fewest) or "", soaked.n))
os.exit(bad == 0)
