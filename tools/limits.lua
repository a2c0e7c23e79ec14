-- lua5.4 tools/limits.lua header|doc ROOT [FILE]: what is made of gen/limits.lua. header: the C header of the build; doc:
-- docs/limits.md.
local what, root, file = arg[1], arg[2], arg[3]
local limits = dofile(root .. "/gen/limits.lua")

-- "1..128", "a multiple of 32 up to 512", "0, 32 or 64"
local function range(f)
  if f.multiple == 1 then return ("%d..%d"):format(f.least, f.most) end
  if (f.most - f.least) // f.multiple > 3 then
    return ("a multiple of %d up to %d"):format(f.multiple, f.most)
  end
  local list = {}
  for v = f.least, f.most - f.multiple, f.multiple do list[#list + 1] = v end
  return table.concat(list, ", ") .. " or " .. f.most
end

local make = {}

function make.header()
  local out = { "/* Made by tools/limits.lua of gen/limits.lua. */", "#ifndef MLAF_LIMITS_H", "#define MLAF_LIMITS_H", "",
    "/* X(key, word, field, least, most, multiple), in print order */", "#define MLAF_PROBLEM_FIELDS(X) \\" }
  for i, f in ipairs(limits.problem) do
    out[#out + 1] = ('  X("%s", "%s", %s, %d, %d, %d)%s'):format(f.key, f.word, f.field, f.least, f.most, f.multiple,
      i < #limits.problem and " \\" or "")
  end
  out[#out + 1] = "enum {"
  for _, f in ipairs(limits.problem) do out[#out + 1] = ("  MLAF_%s_MAX = %d,"):format(f.field:upper(), f.most) end
  out[#out + 1] = ("  MLAF_SPLITS_MAX = %d\n};"):format(limits.splits)
  out[#out + 1] = "/* For help texts. */"
  for _, f in ipairs(limits.problem) do out[#out + 1] = ('#define MLAF_%s_RANGE "%s"'):format(f.field:upper(), range(f)) end
  out[#out + 1] = "\n#endif\n"
  return table.concat(out, "\n")
end

function make.doc()
  local out = { [[
# Limits: what a problem may be

One table has the limits: `gen/limits.lua`. The grammar, the checks, the help texts and this page come from it
(`lua5.4 tools/limits.lua doc . docs/limits.md`).

| key | field | values | default | what it is |
|---|---|---|---|---|]] }
  for _, f in ipairs(limits.problem) do
    out[#out + 1] = ("| `%s` | %s | %s | %s | %s |"):format(f.key, f.word, range(f), f.default or "must be given", f.about)
  end
  out[#out + 1] = ([[

A request is cut into at most %d splits. The cache types are bf16 and f16. A call may name more tokens than the problem it was
planned for: `ctx` and `batch` say what to tune for.

Not every family serves every problem. `mlaforge tune --dry-run` prints each variant, and the reason where one does not fit.

## Raise a limit
1. Change its number in `gen/limits.lua` and write this page again.
2. Run `ctest -R lua/`. `tests/lua/test_limits.lua` renders every kernel at the edges, and fails where a contract refuses one.
3. Verify at the new edge with `mlaforge verify`, on a device or an emulator. Rendering proves nothing about numbers.
]]):format(limits.splits)
  return table.concat(out, "\n")
end

local text = assert(make[what], "header or doc?")()
local to = file and assert(io.open(file, "wb")) or io.stdout
assert(to:write(text))
assert(to:flush())
