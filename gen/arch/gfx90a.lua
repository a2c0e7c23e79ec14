-- MI250X, MI250, MI210 (CDNA2, gfx90a). A device is one die: half an MI250X. Data only; every number has its source. Verified on
-- emu:gfx90a, not measured on a device: times that follow from this table are estimates. What is not here is MI300X's, by the
-- same sources or for want of a published figure (gen/cdna.lua). Tags as in gfx942.lua, and
--   spec  ROCm documentation, "AMD GPU specifications" and "MI250 microarchitecture"; AMD's data sheets: clock, memory
--   wp2   AMD CDNA 2 architecture white paper    isa2  AMD Instinct MI200 ISA reference
return require("cdna")({
  target = "gfx90a",
  name = "MI250X, one die",
  isa = {
    family = "cdna2",
    xcds = 1,              -- wp2; one die
    dma = { name = "global_load_dword", flag = " lds" }, -- llvm; the offset is added to both addresses, as on gfx942
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
  device = { cus = 110, xccs = 1 }, -- spec; MI250 and MI210 104
  model = {
    mfma_clk = 32,            -- llvm; one 16x16x16
    flops_per_us = 191488000, -- wp2; 256 flop per clock and SIMD x 4 x 110 x 1700 MHz
    clock_mhz = 1700,         -- spec
    clock_mfma_mhz = 1500,    -- an assumption: this die is less limited by power than MI300X's
    hbm_bytes_per_us = 1300000, -- spec 1638 GB/s, and of that the share that an MI300X reaches
    llc_bytes = 8 << 20,      -- spec; L2, there is no Infinity Cache
    llc_bytes_per_us = 3480000, -- wp2; half of 4 KB per clk at 1700 MHz, as for gfx942's L2
  },
})
