-- A40, RTX 30 (Ampere, compute capability 8.6). Tags: gen/nvidia.lua; spec: NVIDIA A40 data sheet. Not measured by this project.
return require("nvidia")({
  target = "sm_86",
  name = "A40",
  isa = {
    family = "ampere",
    sm = 86,
    lds_bytes = 101376,     -- ptx; 99 KiB
    lds_cu_bytes = 102400,  -- ptx; 100 KiB
    max_waves_simd = 12,    -- ptx; 48 warps
  },
  device = { cus = 84 },    -- spec
  model = {
    mfma_clk = 16,          -- wp; 256 dense flop per clock and sub-partition with fp32 accumulation
    clock_mhz = 1740, clock_mfma_mhz = 1500, -- spec; sustained is an assumption
    flops_per_us = 149700000, -- spec
    hbm_bytes_per_us = 626000, -- spec 696 GB/s, nine tenths of it
    llc_bytes = 6 << 20,    -- wp
    llc_bytes_per_us = 2000000,
  },
})
