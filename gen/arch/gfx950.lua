-- MI355X, MI350X (CDNA4, gfx950). Data only; every number has its source. Verified on emu:gfx950, not measured on a device: times
-- that follow from this table are estimates. What is not here is MI300X's, by the same sources or for want of a published figure
-- (gen/cdna.lua). Tags as in gfx942.lua, and
--   spec  ROCm documentation, "AMD GPU specifications"; the MI355X's data sheet: clock, memory
--   wp4   AMD CDNA 4 architecture white paper    isa4  AMD Instinct CDNA4 ISA reference
--   was   MI300X's figure, changed in proportion
return require("cdna")({
  target = "gfx950",
  name = "MI355X",
  isa = {
    family = "cdna4",
    lds_bytes = 163840,    -- spec, llvm (FeatureAddressableLocalMemorySize163840); of a workgroup
    lds_cu_bytes = 163840, -- spec; of all workgroups of a CU
    lds_banks = 64,        -- wp4; 4 bytes each
    dma_lds_bytes = 16,    -- llvm; global_load_lds_dwordx4. The kernels here copy dwords
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
  device = { cus = 256, xccs = 8 }, -- spec
  model = {
    flops_per_us = 2516582400, -- wp4; 1024 flop per clock and SIMD x 4 x 256 x 2400 MHz
    clock_mhz = 2400,         -- spec; boost. MI350X: 2200
    clock_mfma_mhz = 1540,    -- was: the same share of its boost clock, an assumption
    hbm_bytes_per_us = 6340000, -- spec 8 TB/s, and of that the share that an MI300X reaches
    lds_bytes_per_clk = 256,  -- wp4: twice CDNA 3's read bandwidth
    llc_bytes = 256 << 20,    -- spec
    l2_bytes_per_us = 16350000, -- was: half of 2 KB per clk and XCD, at 2400 MHz and 256 of 304 CUs
    llc_bytes_per_us = 8300000, -- was: as the MI300X's to its HBM, an assumption
  },
})
