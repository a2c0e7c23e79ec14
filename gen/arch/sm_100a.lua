-- B200 (Blackwell, compute capability 10.0). Tags: gen/nvidia.lua; spec: NVIDIA B200 data sheet. Not measured by this project.
return require("nvidia")({
  target = "sm_100a",
  name = "B200",
  isa = {
    family = "blackwell",
    sm = 100,
    lds_bytes = 232448,     -- ptx; 227 KiB
    lds_cu_bytes = 233472,  -- ptx; 228 KiB
    has_pdl = 1, has_tma = 1,
  },
  device = { cus = 148 },   -- spec
  model = {
    clock_mhz = 1965, clock_mfma_mhz = 1700, -- spec; sustained is an assumption
    flops_per_us = 2250000000, -- spec; tcgen05, which no kernel here uses yet
    hbm_bytes_per_us = 7200000, -- spec 8 TB/s, nine tenths of it
    llc_bytes = 126 << 20,  -- wp
    llc_bytes_per_us = 12000000,
  },
})
