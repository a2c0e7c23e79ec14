-- The numbers of the model's estimates, by where they come from and by family. Only the order of candidates matters, so no number
-- stands for one cause alone. In ns unless said otherwise; clk: clocks. What all families share is in model.lua, what is a
-- target's in gen/arch/.
return {
  -- Fitted by tools/fit-model.lua to what one NVIDIA H200 measured (docs/lab/search.md).
  fitted = {
    sm90_many = {
      tile = 1377, tile_pair = 1261, -- a tile of 64 tokens at 512/64, one block or two that share its slices
      loss = 0.1456,                 -- share of the smaller of memory and work that the larger does not hide
      wave = 3009, wave_pair = 5739, -- a piece's begin and end where a block takes turns
      fixed = 1344, fixed_pair = 1195, -- the launch
      heat = 0.1134,                  -- share that a long run's tiles take longer: the card is at its power limit
      cut = -6371,                  -- what cutting the batch costs, beside what plans/schedule.lua says in tokens
    },
    sm90_mid = {
      tile = 728.1, slope = 0.2731, heat = 0.09134, loss = 0.1683, -- slope: of a row
      wave = 783.8, fixed = 900.8, row = 43.36, cut = -8314,
    },
    sm90_few = {
      tile = 610.5, soft_clk = 120.7, row_clk = 31.25, loss = 0.1203,
      wave = 3670, fixed = -723.6, block = 14.61, cut = -8677,
      merge = 81.76, merge_row = 13.39, -- in shared memory of a cluster: once, and for each row of each block
      beside = 0.1126,              -- share of the smaller of products and softmax that the larger does not hide
    },
    l2 = { bytes_per_us = 6.953e+06 },
    combine = {
      none = 5228,         -- behind one split, nothing to do
      splits = -1008,      -- behind several, beside what model.lua counts
      cut = -9.27, round = 2428, -- behind a cut batch, and for each round of rows
      write = 0.0003,      -- a byte of partial results, on their way out while other blocks go on
    },
  },

  -- Read off single series of one NVIDIA H200 by hand (docs/lab/perf-log.md): not knobs of the fit.
  measured = {
    sm90_many = {
      wave_splits = 6100, wave_splits_pair = 7300, fixed_splits = 1600, -- the same as above where each split has its own block
      tile_clk = 2176,  -- clocks of a tile's products at 512/64, which `tile` is the time of,
      beside_clk = 500, -- and beside them
    },
    sm90_few = {
      clk_mhz = 1770, -- what its loop runs at
      none = 2400,    -- a combine kernel behind one split that finds nothing to do
      meet = 0.05,    -- share of the time that different lengths cost more where parts meet among themselves
    },
    sm90_small_rank = {
      wave = 4500, fixed = 4500,
      clk_percent = 111, clk_mhz = 1600, -- beside the products, which run at 1.6 GHz under this load
    },
  },

  -- By count of instructions, never measured.
  counted = {
    scattered = 1.06, -- rows copied one by one: what a tile takes of the time with boxes
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
      overlap_loss = 0.5,   -- waves meet at every tile: whoever waits for memory makes all wait
    },
  },
}
