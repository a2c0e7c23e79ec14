-- Loaders of Q in decode kernels: a row of LOADERS for each way to bring it. A problem's fields say how Q lies in memory: one
-- dense tensor [T, H, R+P], or with q_parts two, of R and of P columns, whose tokens and heads lie at strides of their own. A
-- kernel's template names its loader and includes templates/mla_decode/q/, which has all text that goes by those fields; here is
-- what of it stands elsewhere: the fields that a loader knows, and the tensor maps that it wants.
local args = require("ops/mla_decode/args")
local q = {}

q.FLAG = 16384 -- MLAF_KERNEL_Q_WORDS (runtime/device/kernel_launch.h): mlaf_q_words follow the kernel's arguments

local function gcd(a, b)
  while b > 0 do a, b = b, a % b end
  return a
end

-- Rows of a box of one of two tensors: rows of one token, or all rows of some tokens, since heads and tokens lie at strides of
-- their own; runtime/ops/mla_decode/prepare.c makes its map by the same rule. rows: of a block, whose first row is a multiple of
-- them; few: rows of a request's last block, where fewer are copied, or 0.
local function unit(rows, few, heads)
  local most = few > 0 and gcd(rows, few) or rows
  return most % heads == 0 and most or gcd(most, heads)
end

local function box(of, cols, rows, swizzle) return { of = of, cols = cols, rows = rows, swizzle = swizzle } end

-- Each loader: `reads`, fields that its kernels know; cols, columns of a box; maps(x), which returns those in front of the
-- cache's maps and those behind them. x: rows, heads, rope, few and unit as above; parts: Q is two tensors.
q.LOADERS = {
  -- Boxes of 64 columns, rope columns in the last: sm90_few, sm90_mid; halves, where boxes of rope columns are asked for ahead
  -- alone, as threads load them: sm90_small_rank.
  boxes = { reads = { "q_parts" }, cols = 64, maps = function(x)
    if x.parts then return { box("q_nope", 64, x.unit, 128) }, { box("q_pe", 64, x.unit, 128) } end
    return { box("q", 64, x.rows, 128) }, {}
  end },
  -- Boxes of 64 columns and one of the rope columns; a request's last block may have fewer rows: sm90_many.
  slices = { reads = { "q_parts" }, cols = 64, maps = function(x)
    if x.parts then return { box("q_nope", 64, x.unit, 128), box("q_pe", x.rope, x.unit, 2 * x.rope) }, {} end
    return { box("q", 64, x.rows, 128), x.rope > 0 and box("q", x.rope, x.rows, 2 * x.rope) or nil },
      { x.few > 0 and box("q", 64, x.few, 128) or nil }
  end },
  -- All rows in one copy of bytes, or boxes of 256 columns side by side: sm90_raw; sm90_raw_mid asks for them ahead, and loads.
  bytes = { reads = { "q_parts" }, cols = 256, maps = function(x)
    if x.parts then return { box("q_nope", 256, x.unit, 0), box("q_pe", x.rope, x.unit, 0) }, {} end
    return {}, {}
  end },
  -- Loads by threads: mma; mfma_lds; mfma_reg and mfma_reg_cache.
  shared = { reads = { "q_parts" } },
  lds = { reads = { "q_parts" } },
  fragments = { reads = { "q_parts" } },
}

q.LOADERS.halves = { reads = { "q_parts" }, cols = 64, maps = q.LOADERS.boxes.maps }

-- Declarations of mlaf_q_words' members in a kernel.
local function members()
  local list, is, bytes = {}, {}, 64
  for _, given in ipairs(args.given) do is[given[1]] = true end
  for name in args.q_words.pointers:gmatch("%S+") do
    list[#list + 1], bytes = ("const %s* %s"):format(is[name] and "float" or "char", name), bytes - 8
  end
  local words, n = args.q_words.words:gsub(" ", ", ")
  list[#list + 1], list[#list + 2] = "unsigned " .. words, ("unsigned more[%d]"):format(bytes // 4 - n - 1)
  return list
end

-- Fields that a loader's family lists as `optional`, and others of its own.
function q.optional(loader, ...)
  local fields = { ... }
  for _, field in ipairs(q.LOADERS[loader].reads) do fields[#fields + 1] = field end
  return fields
end

-- True where Q lies in two tensors.
function q.in_two(p) return p.q_parts == 1 end

-- A reason where the loaders of sm90_many have too few registers to walk a batch in blocks of `rows` rows; nil: they have enough.
function q.spills(p, rows)
  if q.in_two(p) and p.heads * p.q_len < rows then
    return ("Q in two tensors, %d rows: loaders have no registers for their boxes"):format(p.heads * p.q_len)
  end
end

-- Q of a kernel. optional: the template's function; x: as LOADERS has it, and `cache`, maps of the cache. Returns
--   parts         Q is two tensors
--   words, flags  1 and q.FLAG where mlaf_q_words follow its arguments, else 0
--   maps          all maps of the kernel; pe: place of that of rope columns, of two tensors; unit, cols: of its boxes
--   hint          registers are left to ask for the next piece's Q ahead. x.paired: two blocks share what they load
--   one_lane      in front of a call of fetch_q() (templates/mla_decode/q/ahead.h)
function q.of(loader, optional, x)
  local row, parts = q.LOADERS[loader], optional("q_parts") == 1
  local words = 0
  for _, field in ipairs(row.reads) do words = optional(field) ~= 0 and 1 or words end
  local made = { parts = parts, words = words, flags = words * q.FLAG, cols = row.cols, maps = {},
    one_lane = parts and "" or "if (lane == 0) ", members = members }
  if not row.maps then return made end
  x.parts, x.unit = parts, parts and unit(x.rows, x.few or 0, x.heads)
  local first, last = row.maps(x)
  for _, list in ipairs({ first, x.cache or {}, last }) do table.move(list, 1, #list, #made.maps + 1, made.maps) end
  for i, map in ipairs(made.maps) do made.pe = map.of == "q_pe" and i - 1 or made.pe end
  made.unit, made.hint = x.unit, not parts or x.paired and x.unit == x.rows
  return made
end

return q
