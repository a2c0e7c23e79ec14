-- The numbers of the model's estimates, by where they come from and by family. Only the order of candidates matters, so no number
-- stands for one cause alone. In ns unless said otherwise; clk: clocks. What all families share is in model.lua, what is a
-- target's in gen/arch/.
return {
  -- Fitted by tools/fit-model.lua to what one NVIDIA H200 measured (docs/lab/search.md).
  fitted = {
    sm90_many = {
      tile = 1377, tile_pair = 1261, -- a tile of 64 tokens at 512/64, one block or two that share its slices
      loss = 0.1457,                 -- share of the smaller of memory and work that the larger does not hide
      wave = 3009, wave_pair = 5739, -- a piece's begin and end where a block takes turns
      fixed = 1253, fixed_pair = 1195, -- the launch
      heat = 0.1135,                  -- share that a long run's tiles take longer: the card is at its power limit
      cut = -5984,                  -- what cutting the batch costs, beside what plans/schedule.lua says in tokens: small pages
    },
    sm90_mid = {
      tile = 728.1, slope = 0.2731, heat = 0.08953, loss = 0.1748, -- slope: of a row
      wave = 789.9, fixed = 900.8, row = 43.64, cut = -8314,
    },
    sm90_few = {
      tile = 610.5, soft_clk = 83.52, row_clk = 31.25, loss = 0.1203,
      wave = 3670, fixed = -723.6, block = 14.61, cut = -9541,
      merge = 66.93, merge_row = 13.39, -- in shared memory of a cluster: once, and for each row of each block
      beside = 0.1375,              -- share of the smaller of products and softmax that the larger does not hide
    },
    l2 = { bytes_per_us = 6.793e+06 },
    combine = {
      none = 5228,         -- behind one split, nothing to do
      splits = -1008,      -- behind several, beside what model.lua counts
      cut = -9.385, round = 2269, -- behind a cut batch, and for each round of rows
      write = 0.0003,      -- a byte of partial results, written while other blocks go on
    },
  },

  -- Read off single series of one NVIDIA H200 by hand (docs/lab/archive): not knobs of the fit.
  measured = {
    sm90_many = {
      wave_splits = 6100, wave_splits_pair = 7300, fixed_splits = 1600, -- the same as above where each split has its own block
      -- A tile out of memory at 512/64, of a block whose tokens no other one reads: it draws no more (docs/lab/bench.md).
      alone = 1950,
      tile_clk = 2176,  -- clocks of a tile's products at 512/64, which `tile` is the time of,
      beside_clk = 500, -- and beside them
      -- From so many groups of rows on single blocks ask L2 for half as much: neighbours read the same tokens. Three and four
      -- groups gain as much by the tuned choices, but with it lost to pairs that are not cut (docs/lab/perf-log/offgrid.md).
      groups = 5, sharing = 2,
      merge = 1500,     -- O of a cluster's two blocks added up: 27 batches, one NVIDIA H200, 2026-11-30 (docs/lab/bench.md)
      again = 1500,     -- a turn of whole requests on the same places, beside its wave (docs/lab/perf-log/offgrid.md)
      -- Index lists that it reads itself: 24 launches, one NVIDIA H200, 2026-11-30 (docs/lab/kernels-hopper.md, "Index lists").
      list_fixed = 3000, list_wave = 5000, list_again = -500, list_splits = -3000, list_splits_again = 9000,
      -- A launch that reads page lists made of them takes so much longer than modelled: 7 of these.
      list_tables = 8000,
    },
    sm90_mid = {
      again = 100, from = 32, -- the same, of each row but the first ones; and of a part's further requests
      -- A launch that decides itself, of more requests than that, beside the fit: 143 short batches (docs/lab/perf-log/tail.md).
      fitted = -800, requests = 8,
      -- Several splits, behind boxes: 14 short batches, one NVIDIA H200, 2026-11-30 (docs/lab/bench.md).
      several = 1000,
      list_wave = 3300, -- whole index lists of four tiles and more, a turn: 30 launches of that day (docs/lab/kernels-hopper.md)
      -- O of a cluster's blocks added up, by blocks: fixed, of a row. From 15 batches, one NVIDIA H200, 2026-11-30.
      merge = { [2] = { 1000, 10 }, [4] = { -1900, 70 } },
    },
    sm90_few = {
      -- A launch is crowded when more groups of rows than that read more requests than that: 96 heads, 15 requests of 326
      -- tokens by Zipf, took 31 us where 13 were modelled. Up to eight requests are this family's best
      -- (docs/lab/perf-log/tail.md).
      crowded = 14000, groups = 2, requests = 8,
      -- Clusters of more than two, with more than `requests` requests: 8 heads, 12 requests of 3536 tokens, lognormal, took
      -- 25.1 us in clusters of eight, 18.3 in those of four and of two, 16.6 in single blocks, all modelled at 22.1 to 22.4.
      wide = 1000,
      clk_mhz = 1770, -- what its loop runs at
      none = 2400,    -- a combine kernel behind one split that finds nothing to do
      again = 5000,   -- a further turn of clusters, beside its wave
      -- Index lists, by rows; several splits, whose merge kernel short lists pay for, too. 49 batches, of 32 and 40 rows 30 short
      -- ones, one NVIDIA H200, 2026-11-30 (docs/lab/served.md, "16-bit lists of few rows").
      list_rows = { [16] = 700, [24] = 700, [32] = 2500, [40] = 2500 }, list_splits = 500,
      meet = 2200,    -- a part's piece added to another's (docs/lab/perf-log/offgrid.md)
      -- Shares that launches take longer than fitted, half of the batches of one length: 24 rows and more a block, and of each
      -- row beyond 8 of a block whose cluster leaves a cut batch to a merge kernel. 110 default plans of two draws and 44
      -- variants of another batch set, one NVIDIA H200, 2026-11-30 (docs/lab/bench.md, "Regret of planning").
      rows_24 = { few = 0.1, more = 0.06 }, clusters_row = 0.004, -- few: up to two blocks a cluster
    },
    -- The cost of cutting a batch in pages of a multiple of 64 tokens: of the launch, and of each request of a part. From 496
    -- launches that were cut, of 206 drawn batches, one NVIDIA H200, 2026-11-29: the others cost what plans/schedule.lua says.
    -- sm90_mid's from 5 of these since its pieces end beside the next one's begin, with partial results of 16 bits (2026-11-30).
    part = {
      sm90_many = { launch = 5824, request = 6113 }, sm90_many_pair = { launch = 6095, request = 7582 },
      sm90_mid = { launch = 4800, request = 1100 }, sm90_few = { launch = 5285, request = 233 },
    },
    -- From 12 shapes, flat and with scales, of 1 to 128 requests: tiles out of L2 for `tile`, `row` (each one above 16) and
    -- `scales_row` (docs/lab/kernels-hopper.md).
    -- `pools_row`: of a row beside that, of fp8_v4 with more than 16 rows, by the drawn batches of four groups.
    sm90_raw = {
      tile = 980, row = 28, scales_row = 12, pools_row = 60, scattered = 1.03, loss = 0.12, wave = 3400, fixed = 900, merge = 90,
      -- Lists that the kernel reads itself, of tokens that hold scales: the same numbers from the same 90 lists.
      lists = { tile = 326, row = 28, scales_row = 71.6, pools_row = 31, scattered = 1.03, loss = 0.12, wave = 3175, fixed = 0,
        merge = 284 },
    },
    -- Five shapes at 64 rows, flat and with scales; `tile` from 32 x 8192 since m rises less often
    -- (docs/lab/kernels-hopper.md).
    sm90_raw_mid = { tile = 1060, row = 15, scales = 250, scattered = 1.03, loss = 0.05, wave = 3400, fixed = 3000,
      -- Lists that the kernel reads itself, by scales of a token and query rows of a block: a tile, and what a further turn of
      -- blocks costs. Begin and end of the first turn: a number, of a row, of a block. Fitted to 90 drawn lists with 3 to 8
      -- variants each, one NVIDIA H200, 2026-11-30 (docs/lab/kernels-hopper.md, "Estimates of lists"); 48 and 64 rows of fp8_v4
      -- by 70 lists of that day.
      lists = {
        tile = { [4] = { [32] = 1815, [48] = 2020, [64] = 2400 }, [7] = { [32] = 1945, [48] = 2250, [64] = 2160 } },
        wave = { [4] = { [32] = 2775, [48] = 4700, [64] = 1790 }, [7] = { [32] = 4335, [48] = 4900, [64] = 9500 } },
        fixed = 2700, row = 58, block = 14.4, loss = 0.05,
      } },
    sm90_raw_two = {
      lists = {
        tile = { [4] = { [32] = 1495 }, [7] = { [32] = 1495 } }, wave = { [4] = { [32] = 5685 }, [7] = { [32] = 4420 } },
        fixed = 3800, row = 58, block = 0, loss = 0.05,
      } },
    -- The time of a merge kernel whose blocks end early, against the other one: where nothing is cut and places are free before
    -- the decode kernel's end, where it is full to its end, and where the batch is cut (docs/lab/perf-log/ragged.md).
    -- cut_clusters: behind clusters, 12 batches, one NVIDIA H200, 2026-11-30 (docs/lab/bench.md).
    early = { places = -1500, full = 600, cut = 200, cut_clusters = 1000 },
    -- The extra cost of requests of different lengths, weighed by how often they come: nobody knows the lengths of several
    -- requests. Not in the times of equal ones: tools/fit-model.lua leaves it out.
    uneven = {
      round = 400,               -- a warp's trip for more pieces of the longest request
      few = 16,                  -- pieces of the requests behind it
      cut = 0.6, turn = 3,       -- requests that are cut, a part; trips that a turn of blocks takes
      meet = 0.05, first = 7000, batch = 48, -- where parts meet among themselves: share, and fixed from so many requests on
      -- Requests in place of `batch` where rows are copied one by one, whose clusters no merge kernel comes behind: 24 heads, 11
      -- requests of 252 tokens by Zipf took 14.4 us, 48 heads, eight of 395 with empty ones 20.5, modelled at 9 (one NVIDIA H200,
      -- 2026-11-30).
      batch_rows = 12,
      -- Both are nothing in clusters of more than two of so few requests of so few tokens: 20 such batches, 13 of one length,
      -- took 0.966 of their time in sm90_few_clusters, which end later. Seven of 910 tokens, some empty, took 1.84 of it (one
      -- NVIDIA H200, 2026-11-30).
      -- Rows copied one by one have it up to so many tokens of all requests: seven batches of 732 to 2532 took 0.88 of the time
      -- of shares, four of 2772 to 3160 took 1.27 to 1.56 of it (one NVIDIA H200, 2026-11-30).
      short = { requests = 13, tokens = 640, all_rows = 2560 },
    },
    -- A merge kernel behind clusters, where it finds nothing to do, and what different lengths cost such a launch: 44 batches,
    -- one NVIDIA H200, 2026-11-30 (docs/lab/bench.md).
    nothing = { sm90_few_clusters = 500, sm90_mid_clusters = 4500, sm90_many_clusters = 4500 },
    -- Pages of 1 token and requests of at most so many are reckoned as index lists: models select at most 2048 tokens. The list
    -- kernels ahead of a kernel that does not read them itself (docs/lab/kernels-hopper.md, "Index lists").
    lists = 2048, list_kernels = 4000,
    -- Share that memory's bytes take longer where more splits had found places in the launch's one turn, times the square of the
    -- share of those that stay empty (docs/lab/perf-log/ragged.md).
    room = 1.1,
    -- Blocks of a launch behind several splits that come when its batch is already cut among those before them.
    late = 2000,
    -- Share that several splits take longer which stay whole where the family of shares cuts, by the sizes of the plan: 4 heads q
    -- 2, 46 requests of 2838 tokens in two splits took 1.10 of FlashMLA's time, 32 heads, 37 of 9996 in three 1.05 (one NVIDIA
    -- H200, 2026-11-30).
    stays = 0.04,
    -- Share that a batch of one split takes longer which is cut where all its requests run at once, and need not be
    -- (docs/lab/perf-log/ragged.md).
    once = 0.09,
    -- The factor of a tile's time against boxes of 64 tokens: rows copied one by one, small boxes (docs/lab/perf-log/pages.md).
    scattered = { sm90_many_gather = 1.05, sm90_mid_gather = 1.04, sm90_few = 1.06,
      -- The factor of sm90_mid_gather where no index lists may come, by rows of a block: of 10 batches of 229 to 3338 tokens it
      -- took 1.05 to 1.5 times as long beside sm90_many_gather as modelled with 1.04. From 48 rows on by 45 batches of both
      -- families and the cuts of plans/schedule.lua (docs/lab/bench.md, "Cut or whole decides"). 96 as 80. One NVIDIA H200,
      -- 2026-11-30.
      no_lists = { [32] = 1.14, [48] = 1.2, [64] = 1.2, [80] = 1.22, [96] = 1.22 } },
    small_boxes = { sm90_many = 1.05 },
    -- A batch that is cut, in pages of no multiple of 64 tokens: share of the estimate, up to so many pieces of a request. By the
    -- cases of docs/lab/perf-log/pages.md, 48 requests; where more pieces meet, or with pages of 64, it chose worse.
    small_pages = { cut = 0.88, pieces = 4 },
    sm90_small_rank = {
      wave = 4500, fixed = 4500,
      clk_percent = 111, clk_mhz = 1600, -- beside the products, which run at 1.6 GHz under this load
    },
  },

  -- Estimates by count of instructions, never measured.
  counted = {
    sm90_few = { mma_clk = 16, mma_clk_4_rows = 1 }, -- of shared memory: A's 2 KB, and B's N/8 x 256 bytes, at 128 a clock
    mma = { tail_clk = 2000, barriers = 3, overlap_loss = 0.6 }, -- three barriers a tile
  },

  -- Judged by the emulator's timing model, which is modelled itself (tests/lua/test_model.lua holds the order to it).
  modelled = {
    mfma_reg = {
      stall_clk = 600, stall_q_clk = 120, -- one tile of each form in flight: loads are waited for; Q read from LDS on top
      tail_clk = 400, tail_row_clk = 8,   -- the waves merge: fixed, and by 128 columns of a row
    },
    mfma_lds = {
      stall_ahead_clk = 80, -- QK of the next tile hides the rest
      stall_columns_clk = 0, -- 1340 clk a tile of 64 rows, modelled 2026-11-30, which is what the counts alone give
      overlap_loss = 0.5,   -- waves meet at every tile: whoever waits for memory makes all wait
      overlap_loss_columns = 0.1, -- loads are under way for a whole interval
    },
  },
}
