-- The tables of arguments, gen/ops/OP/args.lua: the kernel's block in them is the one that templates declare, and the headers and
-- Python that are kept in the tree are made of them.
local model = dofile(T.root .. "/tools/args_model.lua")

local function operations()
  local out = {}
  for _, path in ipairs(T.loader().host.list("gen/ops/")) do
    local op = path:match("^gen/ops/([%w_]+)/args%.lua$")
    if op and not T.read(path):find("\n  given = ") then out[#out + 1] = op end -- else optional tensors alone
  end
  return out
end

-- Members of the struct in a template: { name, bytes, pointer }, and its bytes.
local BYTES = { i64 = 8, u64 = 8, i32 = 4, u32 = 4, int = 4, float = 4, int32_t = 4, uint32_t = 4, unsigned = 4, mlaf_narrow = 4 }
local function declared(text, struct)
  local body, out = text:match("struct " .. (struct or "mlaf_[%w_]+") .. " {\n(.-)\n}[%w_ ]*;"), {}
  body = body:gsub("/%*.-%*/", ""):gsub("union {%s*([^;]+;).-};", "%1") -- as its first member
  for kind, names in body:gsub("//[^\n]*", ""):gsub(" *%*", "* "):gmatch("([%w_ ]+%*?) +([%w_, ]+);") do
    for name in names:gmatch("[%w_]+") do
      out[#out + 1] = { name = name, bytes = BYTES[kind:match("[%w_]+$")] or 8, pointer = kind:find("*", 1, true) ~= nil }
    end
  end
  return out, math.tointeger(tonumber(text:match("sizeof%([%w_]+%) == (%d+)")))
end

local function same_block(m, text)
  local have, bytes = declared(text)
  local short = m.raw.scales_from and #have < #m.words -- such a template has the block of kernels without scales
  eq(short and m.words[#have + 1].member or #have, short and m.raw.scales_from or #m.words, m.op .. ": members")
  for i = 1, #have do
    local w = m.words[i]
    eq(w.member, have[i].name, ("%s: member %d"):format(m.op, i))
    eq(w.bytes, have[i].pointer and 8 or have[i].bytes, ("%s: bytes of %s"):format(m.op, w.member))
    eq(w.pointer or false, have[i].pointer, ("%s: %s is a pointer"):format(m.op, w.member))
  end
  eq(short and m.short_bytes or m.block_bytes, bytes, m.op .. ": bytes")
end

test("args: a kernel's block is what its templates declare", function()
  ok(#operations() >= 3, "there are tables")
  for _, op in ipairs(operations()) do
    local m = model(T.root, op)
    same_block(m, T.read(("templates/%s/lib/args.h"):format(op)) or T.read(("templates/lib/%s/args.h"):format(m.raw.shared))
      or T.read("templates/" .. op .. "/rows.cu.in"))
  end
end)

-- Names and bytes, which give all offsets.
local function listed(members)
  local out = {}
  for i, m in ipairs(members) do out[i] = ("%s:%s"):format(m.name, m.pointer and "pointer" or m.bytes) end
  return table.concat(out, " ")
end

test("args: the blocks of mla_decode are what its templates declare", function()
  local launch, raw = T.read("runtime/ops/mla_decode/launch.h"), dofile(T.root .. "/gen/ops/mla_decode/args.lua")
  local pipe = assert(io.popen(("%s %s/tools/args.lua args:mla_decode %s"):format(T.lua, T.root, T.root)))
  local made = pipe:read("a")
  pipe:close()
  local wide = "    struct {\n(.-)\n    };"
  local function block(words) -- with these members in place of 64-bit strides and total_q
    return listed(declared((launch:gsub("  union {\n.-\n  };", words)), "mlaf_decode_args"))
  end
  eq(listed(declared(T.read("templates/mla_decode/lib/args.h"), "mlaf_decode_args")), block(launch:match(wide)))
  local blocks = { pools = block(launch:match("struct mlaf_pool_words {\n(.-)\n}")):gsub("kpe:", "extra_ckv:") }
  for _, w in ipairs(raw.words) do blocks[w[1]] = block(made:match("struct mlaf_" .. w[1] .. "_words {\n(.-)\n}")) end
  local loader = T.loader()
  for words, want in pairs(blocks) do
    local text = loader.require("engine").render(loader, "mla_decode/lib/args_words.h", { words = words }, {}, {})
    eq(listed(declared(text, "mlaf_decode_args")), want, words)
  end
  eq(listed(declared(T.read("templates/mla_decode/lib/args.h"), "mlaf_combine_args")),
    listed(declared(launch, "mlaf_combine_args")), "of the combine kernel")
end)

test("args: what is kept in the tree is what they make", function()
  for _, op in ipairs(operations()) do
    for kind, path in pairs({ header = "include/mlaforge/%s.h", python = "python/mlaforge/%s.py" }) do
      local m = model(T.root, op)
      local by_hand = kind == "header" and not m.raw.head or kind == "python" and not m.raw.python
      local made = not by_hand and dofile(("%s/tools/args_%s.lua"):format(T.root, kind))(m)
      local kept = T.read(path:format(op))
      ok(by_hand or made == kept, "%s is not what is made of the table: lua5.4 tools/args.lua kept:%s\n%s", path:format(op), op,
        made and made ~= kept and T.diff(kept or "", made, op .. "." .. kind) or "")
    end
  end
end)

-- fn of a folder that has these two files of an operation.
local function with_files(op, files, fn)
  local folder = os.tmpname()
  os.remove(folder)
  assert(os.execute(("mkdir -p '%s/gen/ops/%s'"):format(folder, op)))
  for name, text in pairs(files) do
    local f = assert(io.open(("%s/gen/ops/%s/%s"):format(folder, op, name), "wb"))
    f:write(text)
    f:close()
  end
  local done, why = pcall(fn, folder)
  os.execute("rm -r '" .. folder .. "'")
  if not done then error(why, 0) end
end

-- docs/extend.md shows a whole operation.
test("args: the page's example is a table that fits its kernel", function()
  local page, blocks = T.read("docs/extend.md"), {}
  page = page:sub(page:find("## Add an operation", 1, true), -1)
  for text in page:gmatch("```[%l]+\n(.-)```") do
    blocks[text:match("^%-%- gen/ops/mla_rows_scale/([%w_]+%.lua)") or #blocks + 1] = text
  end
  local kernel
  for _, text in ipairs(blocks) do kernel = text:find("mlaf_rows_scale_kernel_args {", 1, true) and text or kernel end
  with_files("mla_rows_scale", { ["fields.lua"] = blocks["fields.lua"], ["args.lua"] = blocks["args.lua"] }, function(folder)
    local m = model(folder, "mla_rows_scale")
    same_block(m, kernel)
    for _, kind in ipairs({ "header", "python" }) do
      ok(#dofile(("%s/tools/args_%s.lua"):format(T.root, kind))(m) > 1000, "%s is written", kind)
    end
  end)
end)

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
    local text = T.read("gen/ops/mla_q_scale/args.lua")
    local at, last = text:find(case[1], 1, true)
    local wrong = text:sub(1, at - 1) .. case[2] .. text:sub(last + 1)
    local fields = T.read("gen/ops/mla_q_scale/fields.lua")
    with_files("mla_q_scale", { ["fields.lua"] = fields, ["args.lua"] = wrong }, function(folder)
      raises(function() model(folder, "mla_q_scale") end, case[3])
    end)
  end
end)

test("args: a number that must be above 0 says so", function()
  local text = T.read("gen/ops/mla_q_scale/args.lua"):gsub('"float", within = 1e6,', '"float", within = 1e6, above = 0,')
  with_files("mla_q_scale", { ["fields.lua"] = T.read("gen/ops/mla_q_scale/fields.lua"), ["args.lua"] = text }, function(folder)
    local c = dofile(T.root .. "/tools/args_c.lua").record(model(folder, "mla_q_scale"), { "scale" })
    ok(c:find('.must = "above 0, at most 1e+06"', 1, true) and c:find(".above = 0}", 1, true), "the bound is written")
  end)
end)
