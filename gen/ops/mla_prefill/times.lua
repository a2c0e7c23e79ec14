-- The numbers of the model's estimates, by where they come from and by family. Clocks, unless said otherwise; only the order of
-- candidates matters.
return {
  -- Fitted to the H200's times of 1024 and 16384 tokens: docs/lab/prefill.md.
  measured = {
    sm90 = {
      round_clk = 110,   -- beside the products: waits, what of the softmax no product covers
      tail_clk = 4100,   -- of a tile: first and last product alone, O out
      pair_clk = 500,    -- of a tile of a pair: they wait for each other, and a request's last one has rows to spare
      l2_bytes_clk = 31, -- that an SM reads while all of them do
    },
    sm90_fp8 = {
      round_clk = 560,
      tail_clk = 4400,
      l2_bytes_clk = 31,
    },
  },
  -- Estimates by count of instructions, never measured.
  counted = {
    mma = {
      mma_clk = 16,    -- m16n8k16 and sub-partition: 8 at Ampere's full rate, twice that on Hopper and with half the units
      load_clk = 4,    -- ldmatrix.x4: 512 bytes at 128 a clock, for all four sub-partitions
      round_clk = 300, -- barrier, maxima over lanes, exponentials
      wait_clk = 800,  -- of one round in shared memory: its copies are waited for
      tail_clk = 3000, -- Q in, O out
    },
    mfma = {
      issue_share = 2.4, -- of other instructions' slots: with moves between files that nobody counted, and waits (emu:gfx942)
      wait_clk = 400,
      tail_clk = 4000,
    },
  },
  -- Figures from emu:gfx942's profiles.
  modelled = {
    mfma_asm = {
      -- Indexed by blocks.
      round_clk = { 316, 292 },     -- beside the products: barrier, waits, work that no product covers
      tail_clk = { 12000, 16000 },  -- Q in, masks, waves that have fewer rounds than the others, O out
    },
  },
}
