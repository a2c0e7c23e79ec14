-- The formats of latent caches: how a cache holds a token. From this table come the words that problems have for them, the bytes
-- that models count, the rows that C checks, writes and reads (runtime/op/cache_format.h; tools/limits.lua makes its rows), the
-- names in Python (python/mlaforge/formats.py) and the table in docs/append.md. No template may require it: one more format must
-- not change the identity of kernels that exist. tests/lua/test_formats.lua compares what kernels write with it.
--
--   name     its word in problems and in Python; token: what a token holds, in words; models: whose caches are written so
--   takes    operations that write or read it, each with its number there: the one that the word has in the problem's field and
--            that bundles and embedded loaders store. An operation that is not named refuses the format by its name
--   streams  what is stored of a token, in this order:
--     of       "latent", "scales" or "rope"
--     type     of its numbers: "dtype" (the problem's 16-bit type) or a key of BYTES
--     columns  how many: "rank", "rope", or a number where they do not follow the problem. Where they do not, all columns are K
--              and V: a problem of mla_decode has them as its rank, without a rope dim, and bf16
--     group    of scales: columns of the latent that one is for
--     pad      bytes behind them that mean nothing
--     place    nil: in the token's row, behind the stream before. "page": behind the rows of a page, those of all its tokens.
--              "tensor": rows of the second tensor, where one stream may lie. It is `kpe`, `cache_kpe` or the second of a pair in
--              arguments; row n of it has the rest of the token of row n of the first
--   scale    what makes a value of a stored number. nil: nothing. "launch": one factor for all, an argument of the launch, as a
--            number or on the device. "stored": the token's own scales. Readers take any fp32 factor, writers may be asked for
--            powers of two; ue8m0 is 2^(e-127), 255 is NaN
--   plain    targets where a tensor of bytes without a type holds this encoding: what servers there write
--   page     bytes that a page is padded to a multiple of, "row": those of a row; nil: pages may lie anywhere, in steps of ALIGN
--   pools    true: index lists may be of two pools of such pages
--   why      of a format that nothing takes: what stands against it
local formats = {}

formats.ALIGN = 16 -- bytes: of a cache's address, of the strides of its rows and pages
formats.operations = { "mla_append", "mla_gather_kv_b", "mla_decode" } -- that have caches
formats.BYTES = { dtype = 2, e4m3fn = 1, e4m3fnuz = 1, fp32 = 4, ue8m0 = 1 }
formats.WORDS = { rope = "rope columns", scales = "scales" } -- streams that may lie in the second tensor, as messages call them

local function latent(type) return { of = "latent", type = type, columns = "rank" } end
local function rope(type, place) return { of = "rope", type = type, columns = "rope", place = place } end

formats.list = {
  { name = "paged", takes = { mla_append = 0, mla_gather_kv_b = 0, mla_decode = 0 },
    token = "latent and rope columns, 16 bits each",
    streams = { latent("dtype"), rope("dtype") } },
  { name = "split", takes = { mla_append = 1, mla_gather_kv_b = 4, mla_decode = 1 },
    token = "the same in two tensors",
    streams = { latent("dtype"), rope("dtype", "tensor") } },
  { name = "fp8_ds_mla", takes = { mla_append = 2, mla_gather_kv_b = 1, mla_decode = 4 },
    token = "latent as e4m3fn, a float32 scale for every 128 columns, rope columns of 16 bits",
    models = "DeepSeek-V3.2 and GLM-5",
    streams = { latent("e4m3fn"), { of = "scales", type = "fp32", columns = 4, group = 128 }, rope("dtype") },
    scale = "stored" },
  { name = "e4m3fn", takes = { mla_append = 3, mla_gather_kv_b = 2, mla_decode = 2 },
    token = "all columns as fp8, with one scale for all: stored is value / scale",
    streams = { latent("e4m3fn"), rope("e4m3fn") },
    scale = "launch" },
  { name = "e4m3fnuz", takes = { mla_append = 4, mla_gather_kv_b = 3, mla_decode = 3 },
    token = "the same in AMD's encoding, on MI300X",
    streams = { latent("e4m3fnuz"), rope("e4m3fnuz") },
    scale = "launch", plain = { "gfx942" } },
  { name = "fp8_v4", takes = { mla_append = 5, mla_gather_kv_b = 5, mla_decode = 5 },
    token = "448 columns as e4m3fn, 64 of bf16, and behind the page's rows a scale for every 64 columns, a power of two",
    models = "DeepSeek-V4",
    streams = { { of = "latent", type = "e4m3fn", columns = 448 }, { of = "rope", type = "dtype", columns = 64 },
      { of = "scales", type = "ue8m0", columns = 7, group = 64, pad = 1, place = "page" } },
    scale = "stored", page = 576, pools = true },
  { name = "fp8_planar", takes = { mla_append = 8, mla_gather_kv_b = 8, mla_decode = 8 },
    token = "the numbers of fp8_ds_mla, but a page has all its tokens' codes, then all scales, then all rope columns",
    models = "AITER's kernels for DeepSeek-V3.2",
    streams = { latent("e4m3fn"), { of = "scales", type = "fp32", columns = 4, group = 128, place = "page" },
      rope("dtype", "page") },
    scale = "stored", page = "row" },
  { name = "kpe16", takes = { mla_append = 6, mla_gather_kv_b = 6, mla_decode = 6 },
    token = "latent as e4m3fn with one scale for all; rope columns of 16 bits in another tensor",
    streams = { latent("e4m3fn"), rope("dtype", "tensor") },
    scale = "launch" },
  { name = "fp8_scales", takes = { mla_append = 7, mla_gather_kv_b = 7, mla_decode = 7 },
    token = "latent as e4m3fn, and in another tensor a float32 scale for every 128 columns; no rope columns",
    models = "layers without positions",
    streams = { latent("e4m3fn"), { of = "scales", type = "fp32", columns = 4, group = 128, place = "tensor" },
      { of = "rope", type = "dtype", columns = 0 } },
    scale = "stored" },
  { name = "fp8_planar_fnuz", takes = { mla_append = 9, mla_gather_kv_b = 9, mla_decode = 9 },
    token = "fp8_planar in AMD's encoding, on MI300X",
    models = "AITER's kernels on gfx942",
    streams = { latent("e4m3fnuz"), { of = "scales", type = "fp32", columns = 4, group = 128, place = "page" },
      rope("dtype", "page") },
    scale = "stored", page = "row" },
}

local by_name = {}
for i, f in ipairs(formats.list) do
  by_name[f.name], f.index = f, i - 1
end

function formats.get(name) return by_name[name] end

-- Those that an operation takes, in the order of their numbers there.
function formats.of(op)
  local out = {}
  for _, f in ipairs(formats.list) do
    if f.takes[op] then out[f.takes[op] + 1] = f end
  end
  return out
end

-- Their names: the words of the operation's field.
function formats.words(op)
  local out = {}
  for i, f in ipairs(formats.of(op)) do out[i] = f.name end
  return out
end

-- --- bytes, as { rank, rope, fixed }: rank * R + rope * P + fixed ---

local function stream_bytes(s)
  local size = formats.BYTES[s.type]
  if s.columns == "rank" then return { size, 0, s.pad or 0 } end
  if s.columns == "rope" then return { 0, size, s.pad or 0 } end
  return { 0, 0, size * s.columns + (s.pad or 0) }
end

local function plus(a, b) return { a[1] + b[1], a[2] + b[2], a[3] + b[3] } end

function formats.bytes(extent, rank, rope_columns) return extent[1] * rank + extent[2] * rope_columns + extent[3] end

-- A token's row (in the cache's tensor), token (in all), handed (what a row of that tensor has as callers shape it: with what
-- lies behind the page's rows), and of each stream its bytes, NAME, and where they begin, NAME_at: in the row, in a page's part
-- behind its rows, or in the row of a tensor of its own.
function formats.extents(f)
  local out = { row = { 0, 0, 0 }, token = { 0, 0, 0 } }
  local behind = { 0, 0, 0 }
  for _, s in ipairs(f.streams) do
    local bytes = stream_bytes(s)
    out[s.of], out[s.of .. "_at"] = bytes, { 0, 0, 0 }
    out.token = plus(out.token, bytes)
    if not s.place then out[s.of .. "_at"], out.row = out.row, plus(out.row, bytes) end
    if s.place == "page" then out[s.of .. "_at"], behind = behind, plus(behind, bytes) end
  end
  out.handed = plus(out.row, behind)
  return out
end

function formats.stream(f, of)
  for _, s in ipairs(f.streams) do
    if s.of == of then return s end
  end
end

-- The stream that lies in the second tensor; nil: there is one tensor.
function formats.second(f)
  for _, s in ipairs(f.streams) do
    if s.place == "tensor" then return s end
  end
end

-- Columns of the latent and rope columns that a format has whatever the problem says; nil: they follow the problem.
function formats.own_columns(f)
  local latent, rope = formats.stream(f, "latent").columns, formats.stream(f, "rope").columns
  if latent ~= "rank" then return latent, rope end
end

-- The fault of a problem with so many rope columns over a cache whose tokens have none; nil: there is no fault.
function formats.rope_fault(f, columns)
  if formats.stream(f, "rope").columns == 0 and columns ~= 0 then
    return ("the cache is %s, whose tokens have no rope columns: the problem needs p0"):format(f.name)
  end
end

-- Why a problem of latent and rope columns cannot have a cache whose format has columns of its own; nil: it can. more: what else
-- it must not have, in words, or nil.
function formats.columns_fault(p, more)
  local latent, rope = formats.own_columns(by_name[p.layout])
  local fault = formats.rope_fault(by_name[p.layout], p.rope)
  if fault then return fault end
  if latent and (p.rank ~= latent or p.rope ~= rope or p.dtype ~= "bf16" or more) then
    return ("the cache is %s, whose tokens have %d columns as codes and %d of bf16: the problem needs r%d,p%d,bf16%s"):format(
      p.layout, latent, rope, latent, rope, more and ", and " .. more or "")
  end
end

-- Bytes of a token in a problem's cache.
function formats.token_bytes(p)
  return formats.bytes(formats.extents(by_name[p.layout]).token, p.rank, p.rope)
end

-- Bytes of a page of `tokens`, what lies in tensors of their own left out.
function formats.page_bytes(f, tokens, rank, rope_columns)
  local apart = { 0, 0, 0 }
  for _, s in ipairs(f.streams) do
    if s.place == "tensor" then apart = plus(apart, stream_bytes(s)) end
  end
  local bytes = tokens * (formats.bytes(formats.extents(f).token, rank, rope_columns) - formats.bytes(apart, rank, rope_columns))
  local unit = f.page == "row" and formats.bytes(formats.extents(f).row, rank, rope_columns) or f.page
  return unit and (bytes + unit - 1) // unit * unit or bytes
end

-- Rows from one page to the next that a page's bytes come to: a page is padded to whole ones.
function formats.page_rows(f, tokens, rank, rope_columns)
  return formats.page_bytes(f, tokens, rank, rope_columns) // formats.bytes(formats.extents(f).row, rank, rope_columns)
end

-- Bytes of what the strides of its rows count: 16-bit elements where there is nothing else.
function formats.unit(f)
  for _, s in ipairs(f.streams) do
    if s.type ~= "dtype" then return 1 end
  end
  return 2
end

-- --- what is refused ---

formats.USUAL = { rank = 512, rope = 64 } -- of the bytes that messages and pages name

-- Why an operation cannot have a cache of that format, nil: it has, or it has nothing to do with caches.
function formats.refusal(op, name)
  local f, own, others = by_name[name], formats.words(op), {}
  if not f or f.takes[op] or #own == 0 then return nil end
  for _, other in ipairs(formats.operations) do
    if f.takes[other] then others[#others + 1] = other end
  end
  local bytes = formats.bytes(formats.extents(f).token, formats.USUAL.rank, formats.USUAL.rope)
  local latent, rope = formats.own_columns(f)
  return ("%s does not take %s caches (%d bytes a token of %d + %d columns%s): it takes %s%s"):format(op, name, bytes,
    latent or formats.USUAL.rank, rope or formats.USUAL.rope, f.models and ", as those of " .. f.models or "",
    table.concat(own, " or "),
    #others > 0 and ("; %s %s %s"):format(table.concat(others, " and "), #others == 1 and "takes" or "take", name)
      or (", and no operation takes %s yet: %s"):format(name, f.why))
end

return formats
