-- Facts that CDNA's targets have in common, and MI300X's figures for what is published of it alone. An arch table calls this with
-- what is its own; every number has its source, by the tags of gen/arch/gfx942.lua.
return function(t)
  local function with(defaults, own)
    for key, value in sorted(own) do defaults[key] = value end
    return defaults
  end
  return {
    target = t.target,
    name = t.name,
    -- The facts that templates see, as `arch`. Part of every template_hash by value.
    isa = with({
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
    }, t.isa),
    -- llvm: registers per lane (unified) up to which this many waves fit a SIMD.
    occupancy = { { 64, 8 }, { 72, 7 }, { 80, 6 }, { 96, 5 }, { 128, 4 }, { 168, 3 }, { 256, 2 }, { 512, 1 } },
    -- The device a build machine plans for when it is told nothing else.
    device = t.device,
    -- Compiler options, in order; part of the code-object key.
    options = { "-O3", "-std=c++17" },
    -- Constants of gen/ops/mla_decode/model.lua. Not part of any template_hash: recalibrating them invalidates no choice.
    model = with({
      mfma_clk = 16,         -- mic; one 16x16x16 MFMA
      issue_clk = 4,         -- isa; one instruction of a wave
      stall_clk = 260,       -- per tile: QK chain tail, max over lanes, exp, with one wave per SIMD and nothing to hide it
      combine_launch_ns = 3000, -- as in the emulator's timing model
      mfma_busy = 0.94,      -- maf; 708 TF at clock_mfma_mhz is this share of its peak
      throttle_from_us = 60, -- maf; shorter runs stay above the sustained clock
      l1_bytes_per_clk = 64, -- wp; per CU
      lds_bytes_per_clk = 128, -- wp; per CU
      lds_wave_bytes_per_clk = 44, -- ubm; what one wave alone draws with b128 reads
      overlap_loss = 0.3,    -- fitted on tests/lua/emulator_times.tsv, and H=128 at batch 128
      hbm_latency_ns = 800,  -- ubm 438 idle; loaded up to 1300 (guide 1.2)
      launch_ns = 4000,      -- as in the emulator's timing model (runtime/emu/arch_gfx942.h)
      barrier_clk = 120,     -- guide 5.3: 100-150
      wg_start_ns = 1500,    -- guide 5.3: prologue about 2 us with its first loads
    }, t.model),
  }
end
