-- MI355X, MI350X (CDNA4, gfx950). Data only; every number has its source. Verified on emu:gfx950, not measured on a device: times
-- that follow from this table are estimates. Tags as in gfx942.lua, and
--   spec  ROCm documentation, "AMD GPU specifications"; the MI355X's data sheet: clock, memory
--   wp4   AMD CDNA 4 architecture white paper    isa4  AMD Instinct CDNA4 ISA reference
--   was   MI300X's figure, for want of a published one
return {
  target = "gfx950",
  name = "MI355X",

  isa = {
    family = "cdna4",
    wave = 64,             -- isa4
    lds_bytes = 163840,    -- spec, llvm (FeatureAddressableLocalMemorySize163840); of a workgroup
    lds_cu_bytes = 163840, -- spec; of all workgroups of a CU
    lds_reserved = 0,
    lds_banks = 64,        -- wp4; 4 bytes each
    vgprs = 512,           -- llvm; as gfx942
    vgpr_file = 512,       -- spec: 512 KiB a CU
    vgpr_granule = 8,      -- llvm
    vgpr_addressable = 256, -- llvm
    sgprs = 102,           -- llvm
    max_threads = 1024,    -- isa4
    max_waves_simd = 8,    -- llvm
    simds = 4,             -- wp4
    xcds = 8,              -- spec
    vmcnt_max = 63,        -- isa4
    lgkmcnt_max = 15,      -- isa4
    dma_lds_bytes = 16,    -- llvm; global_load_lds_dwordx4. The kernels here copy dwords
    dma = { name = "global_load_lds_dword", flag = "" }, -- llvm
    dma_reach = 65536,     -- isa4; M0[15:0]
    has_tr_read = 1,       -- llvm; ds_read_b64_tr_b16. No kernel here uses it
    has_cvt_pk_bf16 = 1,   -- llvm; v_cvt_pk_bf16_f32
    -- llvm (SIDPGFX950FullSpeedModel): 16x16x32 takes the passes of 16x16x16 and computes twice as much, which is wp4's rate.
    mfma = {
      m16n16k16 = { bf16 = "v_mfma_f32_16x16x16_bf16", f16 = "v_mfma_f32_16x16x16_f16", passes = 4 },
      m16n16k32 = { bf16 = "v_mfma_f32_16x16x32_bf16", f16 = "v_mfma_f32_16x16x32_f16", passes = 4 },
      m32n32k8 = { bf16 = "v_mfma_f32_32x32x8_bf16", f16 = "v_mfma_f32_32x32x8_f16", passes = 8 },
    },
    -- llvm: one wait state more than gfx942, but for 2 passes.
    hazard = {
      xdl_to_valu = { [4] = 8, [8] = 12, [16] = 20 },
      xdl_to_other_srcc = { [4] = 6, [8] = 10, [16] = 18 },
    },
  },

  -- llvm: as gfx942.
  occupancy = { { 64, 8 }, { 72, 7 }, { 80, 6 }, { 96, 5 }, { 128, 4 }, { 168, 3 }, { 256, 2 }, { 512, 1 } },

  device = { cus = 256, xccs = 8 }, -- spec

  options = { "-O3", "-std=c++17" },

  model = {
    mfma_clk = 16,            -- llvm; one 16x16x16 or 16x16x32
    issue_clk = 4,            -- isa4
    flops_per_us = 2516582400, -- wp4; 1024 flop per clock and SIMD x 4 x 256 x 2400 MHz
    stall_clk = 260,          -- was
    combine_launch_ns = 3000, -- was
    clock_mhz = 2400,         -- spec; boost. MI350X: 2200
    clock_mfma_mhz = 1540,    -- was: the same share of its boost clock, an assumption
    mfma_busy = 0.94,         -- was
    throttle_from_us = 60,    -- was
    hbm_bytes_per_us = 6340000, -- spec 8 TB/s, and of that the share that an MI300X reaches
    l1_bytes_per_clk = 64,    -- was
    lds_bytes_per_clk = 256,  -- wp4: twice CDNA 3's read bandwidth
    lds_wave_bytes_per_clk = 44, -- was
    llc_bytes = 256 << 20,    -- spec
    l2_bytes_per_us = 16350000, -- was: half of 2 KB per clk and XCD, at 2400 MHz and 256 of 304 CUs
    overlap_loss = 0.3,       -- was
    llc_bytes_per_us = 8300000, -- was: as the MI300X's to its HBM, an assumption
    hbm_latency_ns = 800,     -- was
    launch_ns = 4000,         -- was
    barrier_clk = 120,        -- was
    wg_start_ns = 1500,       -- was
  },
}
