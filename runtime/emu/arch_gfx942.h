/* What the timing model knows of the MI300X. */
#ifndef MLAF_EMU_ARCH_GFX942_H
#define MLAF_EMU_ARCH_GFX942_H

typedef struct emu_arch {
  int cus, xccs, simds, waves_per_simd, lds_bytes, vgprs, vgpr_granule, max_wgs_per_cu;
  double boost_mhz, mfma_mhz, mfma_busy, mfma_power, valu_power, throttle_ns;
  int issue_clk, long_clk, trans_clk, branch_clk, barrier_clk, sleep_clk, smem_latency_clk, vmem_backlog_clk;
  double lds_read_bpc, lds_write_bpc;
  int lds_latency_read[3], lds_latency_write[3], lds_crossbar_latency;
  int l1_line, l1_sets, l1_ways, l1_latency_clk, l2_latency_clk, store_latency_clk;
  double l1_fill_bpc, l2_bpc_xcd, l2_bytes;
  double mall_bytes, mall_bps, mall_latency_ns, hbm_bps, hbm_latency_ns, burst_clk;
  double launch_ns, next_launch_ns, wg_start_clk;
} emu_arch;

extern const emu_arch emu_gfx942;

#endif
