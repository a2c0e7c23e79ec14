-- Dims of mla_prefill: multiples of 16 have kernels on every target, and what has none is refused with what would have.
local loader = T.loader()
loader.host.sha256 = function(text) return ("%064x"):format(#text) end -- hashes are not looked at here
local space, problem = loader.require("space"), loader.require("problem")
local slabs = loader.require("ops/mla_prefill/plans/sm90").slabs

local BYTES = { gfx942 = "e4m3fnuz", gfx950 = "e4m3fn", sm_89 = "e4m3fn", sm_90a = "e4m3fn", sm_100a = "e4m3fn",
  sm_120a = "e4m3fn" }

test("prefill: every value dim has kernels on every target, the baseline among them", function()
  for _, target in ipairs(loader.targets()) do
    for vdim = 16, 256, 16 do
      local words, bytes = "mla_prefill:h16,n%d,p%d,v%d,bf16,causal", BYTES[target]
      for _, text in ipairs({ words:format(192, 64, vdim), bytes and words:format(80, 48, vdim) .. "," .. bytes }) do
        eq(space.baseline(problem.parse(text), target).rejected, nil)
      end
    end
  end
end)

test("prefill: bytes that a target does not multiply are refused by name", function()
  for target, why in pairs({ gfx942 = "take bytes of e4m3fnuz, not of e4m3fn", sm_80 = "inputs of 16 bits are what it takes" }) do
    local fine, what = pcall(space.baseline, problem.parse("mla_prefill:h16,n64,p0,v64,bf16,e4m3fn"), target)
    ok(not fine and tostring(what):find(why, 1, true), "%s: %s", target, tostring(what))
  end
end)

-- Slabs of Hopper's kernel: each column once, in slabs that a tensor map's box can fill.
test("prefill: slabs hold every column once, by 8 tensor maps at most", function()
  for nope = 16, 192, 16 do
    for rope = 0, 64, 16 do
      local ends, column, maps, n = { 0, 0 }, 0, {}, 1 -- V's
      for _, s in ipairs(slabs(nope, rope)) do
        eq(s.from, ends[s.source])
        eq(s.column, column)
        ok(s.width == 64 or s.width == 32 or s.width == 16, "%d columns", s.width)
        ends[s.source], column = s.from + s.width, column + s.width
        for _, map in ipairs({ "q" .. s.width, "k" .. s.source .. "," .. s.width }) do
          n = n + (maps[map] and 0 or 1)
          maps[map] = true
        end
      end
      eq(ends[1], nope)
      eq(ends[2], rope)
      ok(n <= 8, "%d tensor maps for %d and %d columns", n, nope, rope)
    end
  end
end)

-- Tiles of Hopper's kernel for bytes: where V is wider than what has room, two tiles have a half of its columns each.
test("prefill of bytes: tiles hold every column of V, and fit", function()
  local make = loader.require("ops/mla_prefill/plans/sm90_fp8").make
  for vdim = 16, 256, 16 do
    for nope = 32, 192, 32 do
      for rope = 0, 64, 32 do
        local p = make(nope, rope, vdim, 128)
        local second = vdim - p.vdim -- its first column
        ok(not p.refused, "%d, %d, %d: %s", nope, rope, vdim, p.refused)
        ok(p.vdim <= 128 and p.vdim % 16 == 0 and second % 16 == 0 and second <= p.vdim, "%d of %d columns", p.vdim, vdim)
        eq(p.halves, vdim > 128 and 2 or 1)
        eq(second > 0, p.halves == 2)
      end
    end
  end
end)
