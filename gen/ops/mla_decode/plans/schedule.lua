-- The constants of schedules that walk the whole batch, by family, in tokens' worth of time (templates/mla_decode/lib/schedule.h,
-- mla_decode/lib/fit.h).
local SHORT = 1024 -- tokens
local COUNTED = 500
local DIFFER = 500
local schedule

-- once() as a template has it, where `most` is the longest request's pages, and `less` of it.
local function once_text(rows, less)
  local short, long = schedule.once(rows, SHORT) - less, schedule.once(rows, SHORT + 1) - less
  if short == long then return tostring(long) end
  return ("(most * page_size <= %d ? %d : %d)"):format(SHORT, short, long)
end

-- A cost of a cut as a template has it, of families whose `cut` is that of lengths that are alike: with others it pays off later.
local function alike_text(cut, less)
  return ("((float)most * (float)a->batch <= 1.125f * (float)a->kv_indptr[a->batch] ? %d : %d)"):format(cut - less, DIFFER - less)
end

schedule = {
  once_text = once_text,
  alike_text = alike_text,
  -- The cost of a request for a block, whatever its length (Q, O), a multiple of 64. A decode kernel and the combine kernel
  -- behind it must agree on it. Measured on one NVIDIA H200 (docs/lab/archive); sm90_small_rank and sm90_many_gather have
  -- sm90_many's, sm90_mid_gather sm90_mid's.
  fixed = { sm90_many = 320, sm90_many_gather = 320, sm90_mid = 128, sm90_mid_gather = 128, sm90_few = 128,
    sm90_small_rank = 320, sm90_many_shares = 320, sm90_mid_shares = 128, sm90_few_shares = 128,
    sm90_many_gather_shares = 320, sm90_mid_gather_shares = 128,
    sm90_many_whole = 320, sm90_many_gather_whole = 320, sm90_few_clusters = 128, sm90_mid_clusters = 128,
    sm90_many_clusters = 320,
    sm90_raw = 256, sm90_raw_mid = 256, sm90_raw_two = 256 },
  -- The cost of a cut beyond a request's own begin and end: from 100 and 128 equal requests of 1024 to 16384 tokens, whole
  -- and cut, on the same device (docs/lab/perf-log/ragged.md).
  cut = { sm90_many = 500, sm90_many_gather = 500, sm90_mid = 500, sm90_mid_gather = 500, sm90_small_rank = 500,
    -- The point from which batches of up to 16 rows take as long cut as whole, or less: 14 took 0.95 to 1.02 of the time cut,
    -- seven below it 1.01 to 1.11, one NVIDIA H200, 2026-11-30 (docs/lab/bench.md, "Cut or whole of one split"). Not measured:
    -- clusters, and rows copied one by one, whose parts meet without a merge kernel.
    -- Lengths that differ keep 500: three uniform batches took 1.01 to 1.15 of their time cut from 330 on.
    sm90_few = 330, sm90_few_meets = 500,
    -- The same for several splits, where the comparison takes the fixed cost once a share, and partial results and a merge are
    -- paid for anyway: from 30 small batches, whole and cut, on the same device.
    sm90_many_shares = 420, sm90_mid_shares = 250, sm90_few_shares = 380,
    -- Rows copied one by one: 55 launches of 28 batches in pages of 1, whole and cut, one NVIDIA H200, 2026-11-30
    -- (docs/lab/bench.md, "Cut or whole decides").
    sm90_many_gather_shares = 340, sm90_mid_gather_shares = 170,
    sm90_many_whole = 500, sm90_many_gather_whole = 500,
    -- Clusters pay the fixed cost once a block, too: 13 batches, whole and cut, one NVIDIA H200, 2026-11-30 (docs/lab/bench.md).
    sm90_few_clusters = 360, sm90_mid_clusters = 400, sm90_many_clusters = 500,
    -- Tokens of 8 bits take half as long, cuts do not.
    sm90_raw = 1000, sm90_raw_mid = 1000, sm90_raw_two = 1000 },
  alike = { sm90_few = true }, -- families whose number is that of lengths that are alike
  -- The cost of a cut in estimates, whose numbers were fitted with no smaller one.
  counted = function(family) return math.max(COUNTED, schedule.cut[family]) end,
  -- The same for one split where all requests run at once, by rows of a request: only a cut gives blocks a second piece then,
  -- whose begin and end they would not have; up to 64 rows whole requests bring memory to its limit, too. From 31 shapes, whole
  -- and cut, on the same device.
  -- Where the longest request has no more than SHORT tokens a cut is cheaper since cut requests are listed ahead of the wait:
  -- 7 batches of 62 to 560 tokens and 192 rows, 7 to 24 % faster cut, one NVIDIA H200, 2026-11-30 (docs/lab/bench.md).
  once = function(rows, tokens) return rows <= 64 and 900 or tokens <= SHORT and 450 or 740 end,
  -- The families that do so, and whose kernel theirs is but for that.
  whole = { sm90_many_whole = "sm90_many", sm90_many_gather_whole = "sm90_many_gather" },
  -- The families whose blocks share a request in clusters, so that each pays the fixed cost, and the usual ones.
  clusters = { sm90_few_clusters = "sm90_few", sm90_mid_clusters = "sm90_mid", sm90_many_clusters = "sm90_many" },
  cluster_blocks = { sm90_few_clusters = { 2, 4, 6, 8 }, sm90_mid_clusters = { 2, 4 }, sm90_many_clusters = { 2 } },
  other = { sm90_many = "sm90_many_whole", sm90_many_gather = "sm90_many_gather_whole" },
  shares = { sm90_many_shares = "sm90_many", sm90_mid_shares = "sm90_mid", sm90_few_shares = "sm90_few",
    sm90_many_gather_shares = "sm90_many_gather", sm90_mid_gather_shares = "sm90_mid_gather" },
}

return schedule
