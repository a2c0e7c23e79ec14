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
      -- floor(cbrt(n) * 2^32) by bisection with exact integer comparison in two 64-bit halves is overkill: the double
      -- cube root refined by Newton is exact to 2^-50, far below 2^-32, and the digests below are tested.
      local r = n ^ (1 / 3)
      r = r - (r * r * r - n) / (3 * r * r)
      count = count + 1
      K[count] = math.floor((r - math.floor(r)) * 4294967296.0)
    end
    n = n + 1
  end
end
local H0 = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 }

local function rotr(x, n) return (x >> n | x << (32 - n)) & 0xffffffff end

local function block(h, w, text, at)
  for i = 1, 16 do w[i] = string.unpack(">I4", text, at + 4 * (i - 1)) end
  for i = 17, 64 do
    local a, b = w[i - 15], w[i - 2]
    w[i] = w[i - 16] + (rotr(a, 7) ~ rotr(a, 18) ~ a >> 3) + w[i - 7] + (rotr(b, 17) ~ rotr(b, 19) ~ b >> 10) & 0xffffffff
  end
  local a, b, c, d, e, f, g, hh = table.unpack(h)
  for i = 1, 64 do
    local t1 = hh + (rotr(e, 6) ~ rotr(e, 11) ~ rotr(e, 25)) + (e & f ~ (~e & g)) + K[i] + w[i]
    local t2 = (rotr(a, 2) ~ rotr(a, 13) ~ rotr(a, 22)) + (a & b ~ a & c ~ b & c)
    hh, g, f, e, d, c, b, a = g, f, e, d + t1 & 0xffffffff, c, b, a, t1 + t2 & 0xffffffff
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
