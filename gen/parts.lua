-- The parts of a cached token as templates see them: a row of gen/formats.lua by value. No closure has that table, so that one
-- more format does not change the identity of kernels that exist. What templates see of a format never changes, since caches are
-- written by it: tests/lua/test_formats.lua keeps it.
local loader = ...
local formats = loader.require("formats")
local parts = {}

-- Bytes of a token that lie before a stream, in the latent's columns R and the rope columns P, as { R, P, 1 }: in the row, or in
-- a page, whose rows come first.
local function before(f, stream)
  local size, at = formats.BYTES, { 0, 0, 0 }
  for _, s in ipairs(f.streams) do
    if s == stream then break end
    if s.place == stream.place or not s.place and stream.place == "page" then
      local bytes = size[s.type]
      if s.of == "latent" then at[1] = at[1] + bytes
      elseif s.of == "rope" then at[2] = at[2] + bytes
      else at[3] = at[3] + bytes * s.columns end
      at[3] = at[3] + (s.pad or 0)
    end
  end
  return at
end

-- "R + 16": a multiple of R and a number; nil: rope columns, too.
local function text(at)
  if at[2] ~= 0 then return nil end
  local r = at[1] == 1 and "R" or at[1] .. " * R"
  return at[1] == 0 and tostring(at[3]) or at[3] == 0 and r or r .. " + " .. at[3]
end

-- A stream: where it lies ("row", "page" behind the rows of all tokens, "tensor" of its own), bytes of a number, and where it
-- begins: at(rank, rope) bytes, or text where no rope columns come before it.
local function part(f, of)
  local s = formats.stream(f, of)
  if not s then return nil end
  local begin = before(f, s)
  return { place = s.place or "row", size = formats.BYTES[s.type], text = text(begin),
    at = function(rank, rope) return formats.bytes(begin, rank, rope) end }
end

-- The format that `word`, a name or a number, means in an operation's problems:
--   name; bits: of the latent's numbers, 8 or 16; fnuz: its bytes are e4m3fnuz
--   one_scale  one factor for all tokens, a launch's argument; tiles: tokens hold fp32 scales; powers: powers of two (ue8m0)
--   rope       a stream as above; none: tokens have no rope columns
--   scales     the same, nil where tokens hold none; group: columns of one; count: numbers of a token; slots: with empty ones;
--              bytes: of all
--   paged      some of it lies behind a page's rows; pools: lists may be of two pools
--   own        columns { latent, rope } that tokens have whatever the problem says
local function describe(operation, word)
  local f = formats.get(word) or formats.of(operation)[operation == "mla_decode" and word + 2 or word + 1]
  if not f or not f.takes[operation] then error(("%s has no format %s"):format(operation, tostring(word)), 0) end
  local latent, scales = formats.stream(f, "latent"), part(f, "scales")
  local out = { name = f.name, bits = 8 * formats.BYTES[latent.type], fnuz = latent.type == "e4m3fnuz", pools = f.pools or false,
    one_scale = f.scale == "launch", rope = part(f, "rope"), scales = scales }
  out.powers = scales ~= nil and formats.stream(f, "scales").type == "ue8m0"
  out.tiles = scales ~= nil and not out.powers
  out.rope.none = formats.stream(f, "rope").columns == 0
  out.paged = out.rope.place == "page" or scales ~= nil and scales.place == "page"
  local own_latent, own_rope = formats.own_columns(f)
  out.own = own_latent and { latent = own_latent, rope = own_rope }
  if scales then
    local s = formats.stream(f, "scales")
    scales.group, scales.count = s.group, s.columns
    scales.bytes = scales.count * scales.size + (s.pad or 0)
    scales.slots = scales.bytes // scales.size
  end
  return out
end

local known = {}

function parts.of(operation, word)
  local key = operation .. ":" .. word
  known[key] = known[key] or describe(operation, word)
  return known[key]
end

return parts
