-- The numbers of the model's estimates, by where they come from and by family. Only the order of candidates matters, so no number
-- stands for one cause alone. In ns unless said otherwise; clk: clocks. What all families share is in model.lua, what is a
-- target's in gen/arch/.
return {
  -- Fitted by tools/fit-model.lua to what one NVIDIA H200 measured (docs/lab/search.md).
  fitted = {
    sm90_many = {
      tile = 1518, tile_pair = 1411, -- a tile of 64 tokens at 512/64, one block or two that share its slices
      loss = 0.0692,                 -- share of the smaller of memory and work that the larger does not hide
      wave = 2679, wave_pair = 5406, -- a piece's begin and end where a block takes turns
      fixed = 1768, fixed_pair = 790, -- the launch
      cut = -3190,                  -- what cutting the batch costs, beside what plans/schedule.lua says in tokens
    },
    sm90_mid = { tile = 526, slope = 0.315, loss = 0.158, wave = 599, fixed = 814, row = 42, cut = -3437 }, -- slope: of a row
    sm90_few = {
      tile = 663, soft_clk = 121, row_clk = 50, loss = 0.0539,
      wave = 4123, fixed = -963, block = 23, merge = 186, cut = -3930,
    },
    combine = {
      none = 6139,         -- behind one split, nothing to do
      cut = -8.05, round = 1160, -- behind a cut batch, and for each round of rows
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
      merge_row = 8, -- merging in shared memory of a cluster, for each row of each block
      clk_mhz = 1770, -- what its loop runs at
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
