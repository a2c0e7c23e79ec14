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

-- A 32-bit rotation is a shift of the word written twice: x | x << 32. Bits above 32 are dropped at each sum.
local function block(h, w, text, at)
  w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13], w[14], w[15], w[16] =
    string.unpack(">I4I4I4I4I4I4I4I4I4I4I4I4I4I4I4I4", text, at)
  for i = 17, 64 do
    local a, b = w[i - 15], w[i - 2]
    local aa, bb = a | a << 32, b | b << 32
    w[i] = w[i - 16] + w[i - 7] + ((aa >> 7 ~ aa >> 18 ~ a >> 3) & 0xffffffff) + ((bb >> 17 ~ bb >> 19 ~ b >> 10) & 0xffffffff)
      & 0xffffffff
  end
  local a, b, c, d, e, f, g, hh = h[1], h[2], h[3], h[4], h[5], h[6], h[7], h[8]
  for i = 1, 64 do
    local ee, aa = e | e << 32, a | a << 32
    local t = hh + ((ee >> 6 ~ ee >> 11 ~ ee >> 25) & 0xffffffff) + (g ~ e & (f ~ g)) + K[i] + w[i]
    hh, g, f, e = g, f, e, d + t & 0xffffffff
    d, c, b, a = c, b, a, t + ((aa >> 2 ~ aa >> 13 ~ aa >> 22) & 0xffffffff) + (a & b ~ a & c ~ b & c) & 0xffffffff
  end
  h[1], h[2], h[3], h[4] = h[1] + a & 0xffffffff, h[2] + b & 0xffffffff, h[3] + c & 0xffffffff, h[4] + d & 0xffffffff
  h[5], h[6], h[7], h[8] = h[5] + e & 0xffffffff, h[6] + f & 0xffffffff, h[7] + g & 0xffffffff, h[8] + hh & 0xffffffff
end

return function(text)
  local length = #text
  text = text .. "\128" .. ("\0"):rep((55 - length) % 64) .. string.pack(">I8", length * 8)
  local h, w = { table.unpack(H0) }, {}
  for at = 1, #text, 64 do block(h, w, text, at) end
  return (("%08x"):rep(8)):format(table.unpack(h))
end
