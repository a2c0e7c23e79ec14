-- A100 (Ampere, compute capability 8.0). Tags: gen/nvidia.lua; spec: NVIDIA A100 80 GB data sheet. Not measured by this project.
return require("nvidia")({
  target = "sm_80",
  name = "A100",
  isa = {
    family = "ampere",
    sm = 80,
    lds_bytes = 166912,     -- ptx; 163 KiB
    lds_cu_bytes = 167936,  -- ptx; 164 KiB
  },
  device = { cus = 108 },   -- wp
  model = {
    mfma_clk = 8,           -- wp; 512 dense flop per clock and sub-partition
    clock_mhz = 1410, clock_mfma_mhz = 1200, -- spec; sustained is an assumption
    flops_per_us = 312000000, -- spec
    hbm_bytes_per_us = 1800000, -- spec 2039 GB/s, nine tenths of it
    llc_bytes = 40 << 20,   -- wp
    llc_bytes_per_us = 3500000,
  },
})
