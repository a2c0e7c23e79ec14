-- SHA-256 in plain Lua 5.4, for runs without the C host (gen/cli.lua, tests). Same digests, only slower.
local K = {}
do -- fractional parts of the cube roots of the first 64 primes, by integer search: no table of magic numbers
  local n, count = 2, 0
  while count < 64 do
    local prime = true
    for d = 2, n do
      if d * d > n then break end
      if n % d == 0 then prime = false break end
    end
    if prime then
      -- A double cube root refined by Newton is exact to 2^-50, far below the 2^-32 needed; the digests are tested.
      local r = n ^ (1 / 3)
      r = r - (r * r * r - n) / (3 * r * r)
      count = count + 1
      K[count] = math.floor((r - math.floor(r)) * 4294967296.0)
    end
    n = n + 1
  end
end
local H0 = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 }

-- One block's 64 rounds are written out: words and state are locals and keep their places, constants are in the text. A 32-bit
-- rotation is a shift of the word written twice, x | x << 32. Sums carry upwards only, so what rotations leave above bit 32 is
-- dropped once, at the end of a sum.
local function rounds()
  local lines = {}
  local function line(format, ...) lines[#lines + 1] = format:format(...) end
  local function word(i) return "w" .. (i - 1) % 16 end -- a round needs no word older than 16 rounds
  line("local h, text, at = ...")
  line("local w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15 = unpack(%q, text, at)", ">" .. ("I4"):rep(16))
  line("local a, b, c, d, e, f, g, h0 = h[1], h[2], h[3], h[4], h[5], h[6], h[7], h[8]")
  line("local x, y")
  local s = { "a", "b", "c", "d", "e", "f", "g", "h0" }
  for i = 1, 64 do
    if i > 16 then
      local a, b = word(i - 15), word(i - 2)
      line("x, y = %s | %s << 32, %s | %s << 32", a, a, b, b)
      line("%s = %s + %s + (x >> 7 ~ x >> 18 ~ %s >> 3) + (y >> 17 ~ y >> 19 ~ %s >> 10) & 0xffffffff",
        word(i), word(i), word(i - 7), a, b)
    end
    local a, b, c, d, e, f, g, h = table.unpack(s)
    line("x, y = %s | %s << 32, %s | %s << 32", e, e, a, a)
    line("x = %s + (x >> 6 ~ x >> 11 ~ x >> 25) + (%s ~ %s & (%s ~ %s)) + %d + %s", h, g, e, f, g, K[i], word(i))
    line("%s = %s + x & 0xffffffff", d, d)
    line("%s = x + (y >> 2 ~ y >> 13 ~ y >> 22) + (%s & %s ~ %s & (%s ~ %s)) & 0xffffffff", h, a, b, c, a, b)
    s = { h, a, b, c, d, e, f, g }
  end
  line("h[1], h[2], h[3], h[4] = h[1] + a & 0xffffffff, h[2] + b & 0xffffffff, h[3] + c & 0xffffffff, h[4] + d & 0xffffffff")
  line("h[5], h[6], h[7], h[8] = h[5] + e & 0xffffffff, h[6] + f & 0xffffffff, h[7] + g & 0xffffffff, h[8] + h0 & 0xffffffff")
  return table.concat(lines, "\n")
end
local block = assert(load(rounds(), "=sha256", "t", { unpack = string.unpack }))

return function(text)
  local length = #text
  text = text .. "\128" .. ("\0"):rep((55 - length) % 64) .. string.pack(">I8", length * 8)
  local h = { table.unpack(H0) }
  for at = 1, #text, 64 do block(h, text, at) end
  return (("%08x"):rep(8)):format(table.unpack(h))
end
