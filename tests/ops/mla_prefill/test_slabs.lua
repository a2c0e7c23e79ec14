-- Where mla_prefill's Hopper kernel has columns of Q and K: each once, in slabs that a tensor map's box can fill.
local T = ...
local test, eq, ok = T.test, T.eq, T.ok
local slabs = T.loader().require("ops/mla_prefill/plans/sm90").slabs

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
