-- MI300X (CDNA3, gfx942). Data only; every number has its source. What CDNA's targets share: gen/cdna.lua. Sources, by tag:
--   wp    AMD CDNA 3 white paper               isa   AMD Instinct MI300 ISA reference
--   llvm  LLVM AMDGPUUsage, GCNSubtarget,      maf   AMD blog "Measuring max achievable FLOPs", part 2
--         SISchedule.td (SIDPGFX940FullSpeedModel), GCNHazardRecognizer (gfx940 functions)
--   mic   ROCm/amd_matrix_instruction_calculator (cdna3)
--   ubm   carlushuang/gcnasm microbenchmarks (MI308X, same HBM)
--   lds   AMD blog "LDS bank conflicts"        pr2039 ROCm/aiter pull request 2039 (dispatch floor)
return require("cdna")({
  target = "gfx942",
  name = "MI300X",
  isa = {
    family = "cdna3",
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
  device = { cus = 304, xccs = 8 }, -- wp
  model = {
    flops_per_us = 1307443200, -- wp; 512 flop per clock and SIMD x 4 x 304 x 2100 MHz
    clock_mhz = 2100,         -- wp; boost
    clock_mfma_mhz = 1207,    -- maf; sustained under dense bf16 MFMA at 750 W
    hbm_bytes_per_us = 4200000, -- ubm 4.31-4.56, membench 4.17, origami 4.0 TB/s
    llc_bytes = 256 << 20,    -- wp; Infinity Cache
    l2_bytes_per_us = 17000000, -- origami; half of wp's 2 KB per clk and XCD
    llc_bytes_per_us = 5500000, -- as the emulator's timing model: fitted on AITER's times in TileLang's figure
  },
})
