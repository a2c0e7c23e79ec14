-- MI300X (CDNA3, gfx942). Data only; every number has its source. Sources, by tag:
--   wp    AMD CDNA 3 white paper               isa   AMD Instinct MI300 ISA reference
--   llvm  LLVM AMDGPUUsage, GCNSubtarget,      maf   AMD blog "Measuring max achievable FLOPs", part 2
--         SISchedule.td (SIDPGFX940FullSpeedModel), GCNHazardRecognizer (gfx940 functions)
--   mic   ROCm/amd_matrix_instruction_calculator (cdna3)
--   ubm   carlushuang/gcnasm microbenchmarks (MI308X, same HBM)
--   lds   AMD blog "LDS bank conflicts"        pr2039 ROCm/aiter pull request 2039 (dispatch floor)
return {
  target = "gfx942",
  name = "MI300X",

  -- The facts that templates see, as `arch`. Part of every template_hash by value.
  isa = {
    family = "cdna3",
    wave = 64,             -- wp
    lds_bytes = 65536,     -- wp; of a workgroup: static LDS beyond it is a compile error
    lds_cu_bytes = 65536,  -- wp; of all workgroups of a CU
    lds_reserved = 0,      -- bytes a workgroup takes beyond its own
    lds_banks = 32,        -- lds; 4 bytes each
    vgprs = 512,           -- llvm; per lane, one file: 256 addressable as v, 256 as a
    vgpr_file = 512,       -- llvm; registers per lane that the waves of a SIMD share
    vgpr_granule = 8,      -- llvm
    vgpr_addressable = 256, -- llvm; of each kind
    sgprs = 102,           -- llvm
    max_threads = 1024,    -- isa; workgroup
    max_waves_simd = 8,    -- wp
    simds = 4,             -- wp; per CU
    xcds = 8,              -- wp; dies that workgroups are dealt out over in turn
    vmcnt_max = 63,        -- isa
    lgkmcnt_max = 15,      -- isa
    dma_lds_bytes = 4,     -- llvm; widest direct-to-LDS load per lane (16 came with gfx950)
    dma = { name = "global_load_lds_dword", flag = "" }, -- llvm; how that load is written
    dma_reach = 65536,     -- isa; LDS bytes that M0[15:0] addresses
    has_tr_read = 0,       -- llvm; ds_read_b64_tr_b16 came with gfx950
    has_cvt_pk_bf16 = 0,   -- llvm; v_cvt_pk_bf16_f32 came with gfx950
    -- mic, llvm: one 16x16x16 takes 4 passes of 4 clocks and computes 512 flop per clock and SIMD.
    mfma = {
      m16n16k16 = { bf16 = "v_mfma_f32_16x16x16_bf16", f16 = "v_mfma_f32_16x16x16_f16", passes = 4 },
      m32n32k8 = { bf16 = "v_mfma_f32_32x32x8_bf16", f16 = "v_mfma_f32_32x32x8_f16", passes = 8 },
    },
    -- llvm: wait states from an XDL result, indexed by passes of the producer.
    hazard = {
      xdl_to_valu = { [4] = 7, [8] = 11, [16] = 19 },      -- VALU, VMEM or DS read, or MFMA A/B
      xdl_to_other_srcc = { [4] = 5, [8] = 9, [16] = 17 }, -- overlapping but different SrcC; identical: 0
    },
  },

  -- llvm: registers per lane (unified) up to which this many waves fit a SIMD.
  occupancy = { { 64, 8 }, { 72, 7 }, { 80, 6 }, { 96, 5 }, { 128, 4 }, { 168, 3 }, { 256, 2 }, { 512, 1 } },

  -- The device a build machine plans for when it is told nothing else.
  device = { cus = 304, xccs = 8 }, -- wp

  -- Compiler options, in order; part of the code-object key.
  options = { "-O3", "-std=c++17" },

  -- Constants of gen/ops/mla_decode/model.lua. Not part of any template_hash: recalibrating them invalidates no choice.
  model = {
    mfma_clk = 16,            -- mic; one 16x16x16 MFMA
    issue_clk = 4,            -- isa; one instruction of a wave
    flops_per_us = 1307443200, -- wp; 512 flop per clock and SIMD x 4 x 304 x 2100 MHz
    stall_clk = 260,          -- per tile: QK chain tail, max over lanes, exp, with one wave per SIMD and nothing to hide it
    combine_launch_ns = 3000, -- as in the emulator's timing model
    clock_mhz = 2100,         -- wp; boost
    clock_mfma_mhz = 1207,    -- maf; sustained under dense bf16 MFMA at 750 W
    mfma_busy = 0.94,         -- maf; 708 TF at that clock is this share of its peak
    throttle_from_us = 60,    -- maf; shorter runs stay above the sustained clock
    hbm_bytes_per_us = 4200000, -- ubm 4.31-4.56, membench 4.17, origami 4.0 TB/s
    l1_bytes_per_clk = 64,    -- wp; per CU
    lds_bytes_per_clk = 128,  -- wp; per CU
    lds_wave_bytes_per_clk = 44, -- ubm; what one wave alone draws with b128 reads
    llc_bytes = 256 << 20,    -- wp; Infinity Cache
    l2_bytes_per_us = 17000000, -- origami; half of wp's 2 KB per clk and XCD
    overlap_loss = 0.3,       -- fitted on tests/lua/emulator_times.tsv, and H=128 at batch 128
    llc_bytes_per_us = 5500000, -- as the emulator's timing model: fitted on AITER's times in TileLang's figure
    hbm_latency_ns = 800,     -- ubm 438 idle; loaded up to 1300 (guide 1.2)
    launch_ns = 4000,         -- as in the emulator's timing model (runtime/emu/arch_gfx942.h)
    barrier_clk = 120,        -- guide 5.3: 100-150
    wg_start_ns = 1500,       -- guide 5.3: prologue about 2 us with its first loads
  },
}
