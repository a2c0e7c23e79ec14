-- Constants of the estimates for Hopper's kernels, in ns unless said otherwise, fitted to what one NVIDIA H200 measured
-- (tools/fit-model.lua; docs/lab/search.md). Only the order of candidates matters, so no number stands for one cause alone.
return {
  hop = {
    tile = 1518, tile_pair = 1411, -- a tile of 64 tokens at 512/64, one block or two that share its slices
    loss = 0.0692,                 -- share of the smaller of memory and work that the larger does not hide
    wave = 2679, wave_pair = 5406, -- a piece's begin and end where a block takes turns
    fixed = 1768, fixed_pair = 790, -- the launch
    cut = -3190,                  -- what cutting the batch costs, beside what gen/schedule.lua says in tokens
  },
  hopp = { tile = 526, slope = 0.315, loss = 0.158, wave = 599, fixed = 814, row = 42, cut = -3437 }, -- slope: a row's product
  hopt = {
    tile = 663, soft_clk = 121, row_clk = 50, loss = 0.0539,
    wave = 4123, fixed = -963, block = 23, merge = 186, cut = -3930,
  },
  combine = {
    none = 6139,         -- behind one split, nothing to do
    cut = -8.05, round = 1160, -- behind a cut batch, and for each round of rows
    write = 0.0003,      -- a byte of partial results, on their way out while other blocks go on
  },
}
