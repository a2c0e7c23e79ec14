-- RTX PRO 6000, RTX 50 (Blackwell, compute capability 12.0). Tags: gen/nvidia.lua; spec: data sheet. Not measured here.
return require("nvidia")({
  target = "sm_120a",
  name = "RTX PRO 6000 Blackwell",
  isa = {
    family = "blackwell",
    sm = 120,
    lds_bytes = 101376,     -- ptx; 99 KiB
    lds_cu_bytes = 102400,  -- ptx; 100 KiB
    max_waves_simd = 12,    -- ptx; 48 warps
    has_pdl = 1, has_tma = 1,
  },
  device = { cus = 188 },   -- spec
  model = {
    mfma_clk = 8,
    clock_mhz = 2600, clock_mfma_mhz = 2200, -- spec; sustained is an assumption
    flops_per_us = 503000000, -- spec
    hbm_bytes_per_us = 1600000, -- spec 1792 GB/s, nine tenths of it
    llc_bytes = 128 << 20,  -- wp
    llc_bytes_per_us = 6000000,
  },
})
