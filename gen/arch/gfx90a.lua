-- MI250X, MI250, MI210 (CDNA2, gfx90a). A device is one die: half an MI250X. Data only; every number has its source. Verified on
-- emu:gfx90a, not measured on a device: times that follow from this table are estimates. Tags as in gfx942.lua, and
--   spec  ROCm documentation, "AMD GPU specifications" and "MI250 microarchitecture"; AMD's data sheets: clock, memory
--   wp2   AMD CDNA 2 architecture white paper    isa2  AMD Instinct MI200 ISA reference
--   was   MI300X's figure, for want of a published one
return {
  target = "gfx90a",
  name = "MI250X, one die",

  isa = {
    family = "cdna2",
    wave = 64,             -- isa2
    lds_bytes = 65536,     -- spec; of a workgroup
    lds_cu_bytes = 65536,  -- spec; of all workgroups of a CU
    lds_reserved = 0,
    lds_banks = 32,        -- isa2; 4 bytes each
    vgprs = 512,           -- llvm; one file since gfx90a
    vgpr_file = 512,       -- spec: 512 KiB a CU
    vgpr_granule = 8,      -- llvm
    vgpr_addressable = 256, -- llvm
    sgprs = 102,           -- llvm
    max_threads = 1024,    -- isa2
    max_waves_simd = 8,    -- llvm
    simds = 4,             -- wp2
    xcds = 1,              -- wp2; one die
    vmcnt_max = 63,        -- isa2
    lgkmcnt_max = 15,      -- isa2
    dma_lds_bytes = 4,     -- llvm
    dma = { name = "global_load_dword", flag = " lds" }, -- llvm; the offset is added to both addresses, as on gfx942
    dma_reach = 65536,     -- isa2; M0[15:0]
    has_tr_read = 0,       -- llvm
    has_cvt_pk_bf16 = 0,   -- llvm
    -- llvm (SIDPFullSpeedModel), wp2: 256 flop per clock and SIMD, half of gfx942's.
    mfma = {
      m16n16k16 = { bf16 = "v_mfma_f32_16x16x16bf16_1k", f16 = "v_mfma_f32_16x16x16f16", passes = 8 },
      m32n32k8 = { bf16 = "v_mfma_f32_32x32x8bf16_1k", f16 = "v_mfma_f32_32x32x8f16", passes = 16 },
    },
    hazard = { -- llvm
      xdl_to_valu = { [8] = 11, [16] = 19 },
      xdl_to_other_srcc = { [8] = 8, [16] = 16 },
    },
  },

  -- llvm: as gfx942.
  occupancy = { { 64, 8 }, { 72, 7 }, { 80, 6 }, { 96, 5 }, { 128, 4 }, { 168, 3 }, { 256, 2 }, { 512, 1 } },

  device = { cus = 110, xccs = 1 }, -- spec; MI250 and MI210 104

  options = { "-O3", "-std=c++17" },

  model = {
    mfma_clk = 32,            -- llvm; one 16x16x16
    issue_clk = 4,            -- isa2
    flops_per_us = 191488000, -- wp2; 256 flop per clock and SIMD x 4 x 110 x 1700 MHz
    stall_clk = 260,          -- was
    combine_launch_ns = 3000, -- was
    clock_mhz = 1700,         -- spec
    clock_mfma_mhz = 1500,    -- an assumption: this die is less limited by power than MI300X's
    mfma_busy = 0.94,         -- was
    throttle_from_us = 60,    -- was
    hbm_bytes_per_us = 1300000, -- spec 1638 GB/s, and of that the share that an MI300X reaches
    l1_bytes_per_clk = 64,    -- wp2; per CU
    lds_bytes_per_clk = 128,  -- wp2; per CU
    lds_wave_bytes_per_clk = 44, -- was
    llc_bytes = 8 << 20,      -- spec; L2, there is no Infinity Cache
    overlap_loss = 0.3,       -- was
    llc_bytes_per_us = 3480000, -- wp2; half of 4 KB per clk at 1700 MHz, as for gfx942's L2
    hbm_latency_ns = 800,     -- was
    launch_ns = 4000,         -- was
    barrier_clk = 120,        -- was
    wg_start_ns = 1500,       -- was
  },
}
