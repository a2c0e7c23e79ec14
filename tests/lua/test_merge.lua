-- The split merge: how a team of warps shares a row's splits.
local splits = T.loader().require("ops/mla_decode/plans/combine_warp").splits

test("a team's warps have every column once, and as few as the team allows", function()
  for rank = 32, 512, 32 do
    for _, partials in ipairs({ 16, 32 }) do
      for _, team in ipairs({ 1, 2, 4, 8, 16 }) do
        local m, text = splits(rank, partials, 1, team), ("rank %d, %d bits, team %d"):format(rank, partials, team)
        local columns = 32 * 128 // partials -- of a warp's 16-byte loads
        eq(m.shares * m.groups, team, text)
        ok(m.shares * m.vectors * columns >= rank, "%s: columns are left over", text)
        ok((m.shares // 2) * m.vectors * columns < rank, "%s: half of the warps would do", text)
        ok(m.vectors == 1 or m.groups == 1, "%s: splits are shared before columns are", text)
        eq(32 % m.depth, 0, text) -- a round never reaches into the next 32 splits
        ok(m.depth * m.vectors <= partials // 4, "%s: %d loads", text, m.depth * m.vectors)
      end
    end
  end
end)

test("groups alone meet in shared memory: their sums, and two words each", function()
  eq(splits(512, 16, 1, 2).shared, 0)
  eq(splits(512, 16, 1, 4).shared, 2 * (512 * 4 + 8))
  eq(splits(512, 16, 2, 8).shared, 2 * 4 * (512 * 4 + 8))
  eq(splits(512, 32, 4, 4).shared, 0)
  eq(splits(512, 32, 1, 16).shared, 4 * (512 * 4 + 8))
  eq(splits(96, 32, 2, 2).shared, 2 * 2 * (128 * 4 + 8)) -- a warp's columns, wanted or not
end)
