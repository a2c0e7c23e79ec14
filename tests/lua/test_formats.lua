-- gen/formats.lua: bytes as others publish them, and as kernels write and read them, which cannot require the table.
local loader = T.quick_loader()
local sorted = loader.sorted
local formats, problem = loader.require("formats"), loader.require("problem")
local space, emit, ops = loader.require("space"), loader.require("emit"), loader.require("ops")

local function bytes(f, what, rank, rope) return formats.bytes(formats.extents(f)[what], rank, rope) end

test("tokens and pages are as long as their writers publish", function()
  for name, token in sorted({ paged = 1152, split = 1152, fp8_ds_mla = 656, e4m3fn = 576, e4m3fnuz = 576, fp8_v4 = 584,
    kpe16 = 640, fp8_planar = 656, fp8_planar_fnuz = 656 }) do
    eq(bytes(formats.get(name), "token", 512, 64), token, name)
  end
  -- FlashMLA's tests of DeepSeek-V4: pages padded to a multiple of 576 bytes, scales behind the rows.
  local v4 = formats.get("fp8_v4")
  for tokens, page in sorted({ [2] = 1728, [64] = 37440, [128] = 74880, [256] = 149760 }) do
    eq(formats.page_bytes(v4, tokens, 512, 64), page, tokens .. " tokens of fp8_v4")
  end
  eq(bytes(v4, "row", 512, 64), 576)
  for tokens, rows in sorted({ [1] = 2, [2] = 3, [64] = 65, [128] = 130, [256] = 260 }) do
    eq(formats.page_rows(v4, tokens, 512, 64), rows, tokens .. " tokens of fp8_v4")
  end
  eq(formats.page_bytes(formats.get("fp8_ds_mla"), 64, 512, 64), 64 * 656)
  -- AITER's pages of 64 tokens; those of no whole rows are padded to such.
  for tokens, page in sorted({ [64] = 64 * 656, [32] = 32 * 656, [16] = 21 * 512, [1] = 2 * 512 }) do
    eq(formats.page_bytes(formats.get("fp8_planar"), tokens, 512, 64), page, tokens .. " tokens of fp8_planar")
  end
  eq(formats.page_bytes(formats.get("split"), 64, 512, 64), 64 * 1024, "rope columns lie elsewhere")
end)

test("an operation's formats are its field's words, by numbers without gaps", function()
  for _, op in ipairs(formats.operations) do
    local named = 0
    for _, f in ipairs(formats.list) do
      local n = f.takes[op]
      named = named + (n and 1 or 0)
      ok(not n or formats.of(op)[n + 1] == f, "%s: two formats have the number %s", op, tostring(n))
    end
    eq(#formats.of(op), named, op .. "'s numbers")
    for _, field in ipairs(ops.get(op).fields) do
      if field.field == "layout" then eq(table.concat(field.words, " "), table.concat(formats.words(op), " "), op) end
      if field.field == "cache" then -- the first two are one word, which is none
        eq(table.concat(field.words, " "), " " .. table.concat(formats.words(op), " ", 3), op)
      end
    end
  end
  -- No block beside a projection of a layer appends formats with columns of their own.
  local beside = loader.require("projection/side").layout
  for i, f in ipairs(formats.of("mla_append")) do
    eq(beside(i), not formats.own_columns(f) and f.name or nil, "what blocks beside a projection append")
  end
  for _, f in ipairs(formats.list) do
    for op in sorted(f.takes) do ok(#formats.words(op) > 0, "%s is taken by %s, which has no formats", f.name, op) end
    for _, s in ipairs(f.streams) do ok(formats.BYTES[s.type], "%s: numbers of type %s", f.name, s.type) end
  end
end)

test("what an operation does not take is refused by its name", function()
  eq(problem.parse("mla_decode:h16,fp8_ds_mla").cache, 3)
  eq(problem.parse("mla_decode:h16,r512,p0,fp8_v4").cache, 4)
  local more, row = T.quick_loader(), [[
  { name = "nvfp4", takes = {}, token = "numbers of 4 bits", streams = { latent("e4m3fn"), rope("dtype") }, scale = "stored",
    why = "no kernel reads numbers of 4 bits" },
]]
  local read = more.host.read
  more.host.read = function(path)
    local text = read(path)
    return path == "gen/formats.lua" and text:gsub("\n}\n\nlocal by_name", "\n" .. row .. "}\n\nlocal by_name", 1) or text
  end
  for op in sorted({ mla_append = 1, mla_gather_kv_b = 1, mla_decode = 1 }) do
    raises(function() more.require("problem").parse(op .. ":h16,nvfp4") end, op .. " does not take nvfp4",
      "and no operation takes nvfp4 yet: ", "no kernel reads numbers of 4 bits")
  end
  eq(problem.parse("mla_decode:h16,kpe16").cache, 5)
  eq(problem.parse("mla_decode:h16,p0,fp8_scales").cache, 6)
  eq(problem.parse("mla_decode:h16,fp8_planar").cache, 7)
  eq(problem.parse("mla_decode:h16,fp8_planar_fnuz").cache, 8)
  eq(bytes(formats.get("fp8_scales"), "token", 512, 0), 528)
  for _, text in ipairs({ "mla_decode:h16,fp8_scales", "mla_append:fp8_scales", "mla_gather_kv_b:h16,fp8_scales",
    "mla_q_b:h16,append_fp8_scales" }) do
    for _, item in ipairs(space.kernels(problem.parse(text), "gfx942")) do
      ok(item.rejected, "%s: %s serves rope columns that no token has", text, item.name)
    end
  end
  eq(problem.parse("mla_gather_kv_b:h16,r448,p64,fp8_v4").layout, "fp8_v4")
  eq(problem.parse("mla_append:r448,p64,fp8_v4").layout, "fp8_v4")
  raises(function() problem.parse("mla_q_scale:h16,fp8_v4") end, "bad field 'fp8_v4'")
  eq(problem.parse("mla_append:fp8_ds_mla").layout, "fp8_ds_mla")
end)

-- A row more: fp8_ds_mla in AMD's encoding.
local ROW = [[
  { name = "ds_mla_fnuz", takes = { mla_append = 10, mla_gather_kv_b = 10, mla_decode = 10 },
    token = "fp8_ds_mla in AMD's encoding",
    streams = { latent("e4m3fnuz"), { of = "scales", type = "fp32", columns = 4, group = 128 }, rope("dtype") },
    scale = "stored" },
]]
local FORMATS = "gen/formats.lua"

test("one more format of a known kind is a row, and kernels that exist keep their identity", function()
  local more = T.quick_loader()
  local read = more.host.read
  more.host.read = function(path)
    local text = read(path)
    return path == FORMATS and text:gsub("\n}\n\nlocal by_name", "\n" .. ROW .. "}\n\nlocal by_name", 1) or text
  end
  local problem, space, emit = more.require("problem"), more.require("space"), more.require("emit")
  for text, families in sorted({ ["mla_append:%s"] = 1, ["mla_gather_kv_b:h16,%s"] = 1, ["mla_decode:h16,%s"] = 1,
    ["mla_decode:h64,%s"] = 1, ["mla_q_b:h16,append_%s"] = 1 }) do
    for _, target in ipairs({ "gfx942", "gfx950", "sm_90a" }) do
      local seen, n = {}, 0
      for _, item in ipairs(space.kernels(problem.parse(text:format("ds_mla_fnuz")), target)) do
        local k = item.kernel
        if not item.rejected and not seen[k.template] then
          seen[k.template], n = true, n + 1
          local source = more.suffix(k.template) ~= ".lib" and emit.render(k.template, k.params, target)
          -- Only gfx942's instruction reads e4m3fnuz: elsewhere bytes of it are no e4m3fn at twice their value.
          ok(not source or not source:find("without_minus_zero", 1, true), "%s reads e4m3fnuz as e4m3fn", target)
          eq(more.template_hash(k.template, target), loader.template_hash(k.template, target), k.template)
        end
      end
      ok(n >= families, "%s on %s: kernels of %d templates serve it", text, target, n)
      local tiles = text:find("h64", 1, true) and target ~= "sm_90a" -- in LDS, where rows hold all of a token
      ok(not tiles or seen["mla_decode/mfma_lds_cache"], "%s on %s: no kernel with tiles in LDS serves it", text, target)
    end
  end
end)

test("what templates see of a format stays", function()
  local parts = loader.require("parts")
  local seen = {}
  for _, op in ipairs(formats.operations) do
    for _, f in ipairs(formats.of(op)) do
      local p = parts.of(op, f.name)
      local s = p.scales
      local words = { p.bits, p.fnuz and "fnuz" or "", p.one_scale and "one_scale" or "", p.tiles and "tiles" or "",
        p.powers and "powers" or "", p.paged and "paged" or "", p.pools and "pools" or "", p.own and "own" or "",
        p.rope.none and "none" or p.rope.place .. " " .. p.rope.size .. " " .. p.rope.text,
        s and ("%s %d x %d of %d at %s"):format(s.place, s.count, s.size, s.group, tostring(s.text)) or "" }
      seen[f.name] = table.concat(words, " "):gsub(" +", " "):gsub(" $", "")
    end
  end
  for name, words in sorted({
    paged = "16 row 2 2 * R", split = "16 tensor 2 0",
    fp8_ds_mla = "8 tiles row 2 R + 16 row 4 x 4 of 128 at R",
    e4m3fn = "8 one_scale row 1 R", e4m3fnuz = "8 fnuz one_scale row 1 R", kpe16 = "8 one_scale tensor 2 0",
    fp8_v4 = "8 powers paged pools own row 2 R page 7 x 1 of 64 at nil",
    fp8_planar = "8 tiles paged page 2 R + 16 page 4 x 4 of 128 at R",
    fp8_planar_fnuz = "8 fnuz tiles paged page 2 R + 16 page 4 x 4 of 128 at R",
    fp8_scales = "8 tiles none tensor 4 x 4 of 128 at 0",
  }) do
    eq(seen[name], words, name)
  end
end)

-- The first kernel that serves a problem, as text.
local function source(text, family)
  for _, item in ipairs(space.kernels(problem.parse(text), "sm_90a")) do
    if not item.rejected and item.name:match("^[%w_]+") == family then
      return (emit.render(item.kernel.template, item.kernel.params, "sm_90a"))
    end
  end
  error(text .. " has no kernel of " .. family)
end

-- Bytes that an expression of a kernel comes to: its names R and ROPE, the lane's part left out.
local function value(expression, rank)
  return load("return " .. expression:gsub("R", tostring(rank)), "=expression", "t", {})()
end

test("kernels write and read where the table says", function()
  for rank, rope in sorted({ [512] = 64, [256] = 32 }) do
    for _, f in ipairs(formats.of("mla_append")) do
      local own, own_rope = formats.own_columns(f)
      local rank, rope = own or rank, own_rope or formats.stream(f, "rope").columns == 0 and 0 or rope
      local text = source(("mla_append:r%d,p%d,%s"):format(rank, rope, f.name), "rows")
      local at = text:match("char%* const rope = to%.latent %+ (%d+);")
      local split = text:find("char* const rope = to.rope;", 1, true) ~= nil
      local behind = text:find("char* const rope = to.columns;", 1, true) ~= nil
      eq(split, formats.stream(f, "rope").place == "tensor", f.name)
      eq(behind, formats.stream(f, "rope").place == "page", f.name)
      if not split and not behind and rope > 0 then
        eq(tonumber(at), bytes(f, "rope_at", rank, rope), f.name .. "'s rope columns")
      end
      local scale = text:match("store%(to%.latent %+ ([^,]-) %+ chunk / 4, there %? scale")
      local aside = formats.stream(f, "scales") and formats.stream(f, "scales").place
      eq(scale ~= nil, f.scale == "stored" and not aside, f.name .. ": scales of its own in the row")
      local powers = aside == "page" and formats.stream(f, "scales").type == "ue8m0"
      eq(text:find("store(to.scales + chunk / 8, ", 1, true) ~= nil, powers, f.name .. ": powers behind a page's rows")
      local other = aside ~= nil and not powers
      eq(text:find("store(to.rope + chunk / 4, ", 1, true) ~= nil, other, f.name .. ": scales in another place")
      if scale then eq(value(scale, rank), bytes(f, "scales_at", rank, rope), f.name .. "'s scales") end
    end
    for _, f in ipairs(formats.of("mla_gather_kv_b")) do
      local own, own_rope = formats.own_columns(f)
      local rank, rope = own or rank, own_rope or formats.stream(f, "rope").columns == 0 and 0 or rope
      local text = source(("mla_gather_kv_b:h16,r%d,p%d,%s"):format(rank, rope, f.name), "mma")
      local body = text:match("word4 rope8%(.-\n}")
      local at = body and body:match("a%.cache %+ a?d?d?r?e?s?s?_?o?f?%(?row%)? %+ (.-) %+ %d+ %* c%)")
      local place = formats.stream(f, "rope").place
      eq(at == nil, rope == 0 or place ~= nil, f.name)
      local before = body and body:match("part_of%(a, row, (.-), %d+%)")
      eq(before ~= nil, place == "page", f.name .. ": rope columns behind a page's rows")
      if before then -- bytes a token of the parts before
        eq(value(before, rank), bytes(f, "row", rank, rope) + bytes(f, "rope_at", rank, rope), f.name .. "'s rope columns")
      end
      if at then eq(value(at, rank), bytes(f, "rope_at", rank, rope), f.name .. "'s rope columns") end
      local scale = text:match("tidy%(load<float>%(a%.cache %+ row %+ (.-) %+ 4 %* %(c / 16%)")
      local aside = formats.stream(f, "scales") and formats.stream(f, "scales").place
      eq(scale ~= nil, f.scale == "stored" and not aside, f.name .. ": scales of its own in the row")
      local powers = aside == "page" and formats.stream(f, "scales").type == "ue8m0"
      eq(text:find("load<unsigned char>(a.cache + scales + c / 8)", 1, true) ~= nil, powers, f.name .. ": powers behind rows")
      local behind = aside == "page" and not powers
      eq(text:find("part_of(a, row, R, 16) + 4 * (c / 16)", 1, true) ~= nil, behind, f.name .. ": scales behind rows")
      eq(text:find("a.kpe_row) + c / 16)", 1, true) ~= nil, aside == "tensor", f.name .. ": scales in the second tensor")
      if scale then eq(value(scale, rank), bytes(f, "scales_at", rank, rope), f.name .. "'s scales") end
    end
  end
end)
