-- H100, H200 (Hopper, compute capability 9.0, with the instructions of sm_90a). Tags: gen/nvidia.lua.
return require("nvidia")({
  target = "sm_90a",
  name = "H200",
  isa = {
    family = "hopper",
    sm = 90,
    lds_bytes = 232448,     -- ptx; 227 KiB a block may ask for
    lds_cu_bytes = 233472,  -- ptx; 228 KiB
    has_pdl = 1, has_tma = 1, has_wgmma = 1,
  },
  -- h200; clusters of this many blocks that are resident at once, one block an SM
  device = { cus = 132, clusters = { [1] = 132, [2] = 66, [4] = 30, [6] = 17, [8] = 15, [16] = 7 } },
  model = {
    clock_mhz = 1980,       -- h200; boost
    clock_mfma_mhz = 1467,  -- h200: 793 TFLOP/s of bf16 over 132 x 4096 flop per clock
    flops_per_us = 793000000, -- h200; bf16 matmul 8192^3, 20 ms burst
    hbm_bytes_per_us = 4573000, -- h200; read only, 8.6 GB
    llc_bytes = 60 << 20,   -- h200; L2
    llc_bytes_per_us = 7000000, -- about 1.5 times HBM; not measured
    doubts = { kernel = 0.02, unknown = 0.02 }, -- gen/nearby.lua: the model is fitted to this device's times
  },
})
