-- Facts that NVIDIA's targets have in common. An arch table calls this with what is its own; every number has its source:
--   ptx  PTX ISA 8.x / CUDA C++ Programming Guide, "Compute Capabilities" (limits per SM, block and thread)
--   wp   the architecture's white paper        h200  measured on one NVIDIA H200 with this project's own kernels
return function(t)
  local function with(defaults, own)
    for key, value in sorted(own) do defaults[key] = value end
    return defaults
  end
  -- ptx: registers per thread up to which this many warps fit a sub-partition.
  local occupancy, most = {}, t.isa.max_waves_simd or 16
  for _, row in ipairs({ { 32, 16 }, { 40, 12 }, { 48, 10 }, { 56, 9 }, { 64, 8 }, { 72, 7 }, { 80, 6 }, { 96, 5 }, { 128, 4 },
    { 168, 3 }, { 256, 2 } }) do
    if row[2] <= most then occupancy[#occupancy + 1] = row end
  end
  return {
    target = t.target,
    name = t.name,
    isa = with({
      wave = 32,              -- ptx
      lds_reserved = 1024,    -- ptx; shared memory the system takes of every block
      lds_banks = 32,         -- ptx; 4 bytes each
      vgprs = 256,            -- ptx; registers of a thread, of which ptxas uses 255
      vgpr_file = 512,        -- ptx; 64 K registers of an SM, four files, 32 lanes
      vgpr_granule = 8,       -- ptx
      max_threads = 1024,     -- ptx; block
      max_waves_simd = 16,    -- ptx; 64 warps of an SM; an arch with fewer says so
      simds = 4,              -- wp; sub-partitions of an SM
      has_pdl = 0, has_tma = 0, has_wgmma = 0, -- programmatic dependent launch, bulk tensor copies, warpgroup MMA
    }, t.isa),
    occupancy = occupancy,
    device = with({ xccs = 1 }, t.device),
    options = t.options or { "--std=c++17" },
    model = with({
      mfma_clk = 8,           -- mma.sync m16n8k16: 4 at the full rate; Hopper's is for wgmma, mma.sync gets about half
      issue_clk = 1,          -- ptx; one warp instruction a clock and sub-partition
      stall_clk = 300,        -- per tile: copy wait, barrier, max and sum over lanes, exp
      combine_launch_ns = 800, -- h200: empty kernel, node to node in a graph 0.7-0.8 us
      throttle_from_us = 100,
      l1_bytes_per_clk = 64,  -- wp; L2 to SM
      lds_bytes_per_clk = 128, -- ptx; 32 banks
      lds_wave_bytes_per_clk = 128,
      hbm_latency_ns = 700,
      launch_ns = 1500,
      barrier_clk = 30,
      wg_start_ns = 1200,
    }, t.model),
  }
end
