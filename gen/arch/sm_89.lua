-- L40S, RTX 40 (Ada, compute capability 8.9). Tags: gen/nvidia.lua; spec: NVIDIA L40S data sheet. Not measured by this project.
return require("nvidia")({
  target = "sm_89",
  name = "L40S",
  isa = {
    family = "ampere",      -- the same instructions as far as kernels here use them
    sm = 89,
    lds_bytes = 101376,     -- ptx; 99 KiB
    lds_cu_bytes = 102400,  -- ptx; 100 KiB
    max_waves_simd = 12,    -- ptx; 48 warps
  },
  device = { cus = 142 },   -- spec
  model = {
    mfma_clk = 8,
    clock_mhz = 2520, clock_mfma_mhz = 2200, -- spec; sustained is an assumption
    flops_per_us = 362000000, -- spec
    hbm_bytes_per_us = 777000, -- spec 864 GB/s, nine tenths of it
    llc_bytes = 96 << 20,   -- wp
    llc_bytes_per_us = 4000000,
  },
})
