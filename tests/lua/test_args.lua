-- The tables of arguments, gen/ops/OP/args.lua: the kernel's block in them is the one that templates declare, and the headers and
-- Python that are kept in the tree are made of them.
local T = ...
local test, eq, ok, raises = T.test, T.eq, T.ok, T.raises
local model = dofile(T.root .. "/tools/args_model.lua")

local function operations()
  local out = {}
  for _, path in ipairs(T.loader().host.list("gen/ops/")) do
    out[#out + 1] = path:match("^gen/ops/([%w_]+)/args%.lua$")
  end
  return out
end

-- Members of the struct in templates/OP/lib/args.h, or in the one kernel there is: { name, bytes, pointer }.
local BYTES = { i64 = 8, u64 = 8, i32 = 4, u32 = 4, float = 4 }
local function declared(op)
  local text = T.read("templates/" .. op .. "/lib/args.h") or T.read("templates/" .. op .. "/rows.cu.in")
  local body, out = text:match("struct mlaf_[%w_]+ {\n(.-)\n};"), {}
  for kind, names in body:gsub("//[^\n]*", ""):gmatch("([%w_ ]+%*?) ([%w_, ]+);") do
    for name in names:gmatch("[%w_]+") do
      out[#out + 1] = { name = name, bytes = BYTES[kind:match("[%w_]+$")] or 8, pointer = kind:find("*", 1, true) ~= nil }
    end
  end
  return out, math.tointeger(tonumber(text:match("sizeof%([%w_]+%) == (%d+)")))
end

test("args: a kernel's block is what its templates declare", function()
  ok(#operations() >= 3, "there are tables")
  for _, op in ipairs(operations()) do
    local m, have, bytes = model(T.root, op), declared(op)
    eq(#m.words, #have, op .. ": members")
    for i, w in ipairs(m.words) do
      eq(w.member, have[i].name, ("%s: member %d"):format(op, i))
      eq(w.bytes, have[i].pointer and 8 or have[i].bytes, ("%s: bytes of %s"):format(op, w.member))
      eq(w.kind == "pointer", have[i].pointer, ("%s: %s is a pointer"):format(op, w.member))
    end
    eq(m.block_bytes, bytes, op .. ": bytes")
  end
end)

test("args: what is kept in the tree is what they make", function()
  for _, op in ipairs(operations()) do
    for kind, path in pairs({ header = "include/mlaforge/%s.h", python = "python/mlaforge/%s.py" }) do
      local made = dofile(("%s/tools/args_%s.lua"):format(T.root, kind))(model(T.root, op))
      local kept = T.read(path:format(op))
      ok(made == kept, "%s is not what is made of the table: lua5.4 tools/args.lua kept:%s\n%s", path:format(op), op,
        made ~= kept and T.diff(kept or "", made, op .. "." .. kind) or "")
    end
  end
end)

-- A copy of a table with one text replaced.
local function with_mistake(op, from, to)
  local folder = os.tmpname()
  os.remove(folder)
  assert(os.execute(("mkdir -p '%s/gen/ops/%s'"):format(folder, op)))
  for _, name in ipairs({ "fields.lua", "args.lua" }) do
    local text = T.read(("gen/ops/%s/%s"):format(op, name))
    local at, last = text:find(name == "args.lua" and from or "", 1, true)
    assert(at, "no " .. from)
    local f = assert(io.open(("%s/gen/ops/%s/%s"):format(folder, op, name), "wb"))
    f:write(name == "args.lua" and text:sub(1, at - 1) .. to .. text:sub(last + 1) or text)
    f:close()
  end
  return folder
end

test("args: a mistake in a table is named", function()
  for _, case in ipairs({
    { 'block = "x y', 'block = "z y', "block: z is no tensor" }, { "x.token", "x.page", "block: x has no axis page" },
    { '"T * H"', '"T * K"', "size rows: no size, field or scalar is called K" },
    { 'axes = "T H | N"', 'axes = "T K | N"', "x has an axis K, which is no size" },
    { 'in_place = "x", rows', 'in_place = "positions", rows', "y may lie in positions, which must stand before it" },
    { "multiple = 8", "multiple = 24", "x: multiple is 24, must be a power of two" },
    { '"tokens", "T, 0 and up"', '"pages", "T, 0 and up"', "count's field pages" },
    { 'rows = "rows"', 'rows = "R"', "rows: R is no size" }, { 'x", "16"', 'x", "17"', "x is of type 17" },
  }) do
    local folder = with_mistake("mla_q_scale", case[1], case[2])
    raises(function() model(folder, "mla_q_scale") end, case[3])
    os.execute("rm -r '" .. folder .. "'")
  end
end)
