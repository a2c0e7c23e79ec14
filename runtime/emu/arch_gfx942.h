/* Constants of the MI300X for the timing model: one list, each with its source.
 *   wp      AMD CDNA 3 white paper              isa     AMD Instinct MI300 ISA reference
 *   llvm    LLVM SISchedule.td (gfx940 model; latencies in units of 4 clk), GCNSubtarget
 *   maf     AMD blog "Measuring max achievable FLOPs", part 2
 *   ubench  carlushuang/gcnasm (MI308X, the same CU and HBM; 1420 MHz)
 *   cc      chipsandcheese.com, MI300X          lds     AMD blog "LDS bank conflicts"
 *   clrx    CLRX-mirror doc/GcnTimings: code in 32-byte blocks, two-dword instructions past the third dword take 4 clk more
 *   gem5    gem5's GPU model, which AMD maintains: configs/common/GPUTLBOptions.py
 * SOURCED: the figure stands in the source, or follows from it by the arithmetic given. FITTED: chosen so that the named fit
 * points of docs/lab/published-mi300x.tsv come out; docs/lab/timing-model.md says how far it moves when that is 30 % off. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* X(type, name, basis, source, value), A(type, name, count, basis, source, values...). clk = shader clock, bpc = bytes per clk,
 * bps = bytes per second. */
#define EMU_ARCH_CONSTANTS(X, A) \
  X(int, cus, SOURCED, "wp", 304) \
  X(int, xccs, SOURCED, "wp", 8) \
  X(int, simds, SOURCED, "wp: per CU", 4) \
  X(int, waves_per_simd, SOURCED, "wp", 8) \
  X(int, lds_bytes, SOURCED, "wp: per CU", 65536) \
  X(int, vgprs, SOURCED, "llvm: one file of v and a registers per lane", 512) \
  X(int, vgpr_granule, SOURCED, "llvm", 8) \
  X(int, max_wgs_per_cu, SOURCED, "llvm: getMaxWorkGroupsPerCU, bound by waves", 32) \
  \
  X(double, boost_mhz, SOURCED, "wp", 2100) \
  X(double, mfma_mhz, SOURCED, "maf: dense bf16, random data, 750 W", 1207) \
  X(double, mfma_busy, SOURCED, "maf: 708 TF at 1207 MHz is 94 % of the peak at that clock", 0.94) \
  X(double, mfma_power, SOURCED, "maf: the GEMM that keeps the matrix pipes mfma_busy draws all of 750 W at mfma_mhz; its VALU," \
    " LDS and HBM are in that", 1) \
  X(double, valu_power, FITTED, "gpuaidev-1k-4k: the same of full vector pipes; VALU alone then sustains 1.7 GHz", 0.35) \
  X(double, throttle_ns, SOURCED, "maf: 20-60 us kernels still see 1.7 to 2.1 GHz", 60e3) \
  \
  X(int, issue_clk, SOURCED, "isa: a wave issues at most every 4 clk; a wave64 VALU instruction takes 4", 4) \
  X(int, long_clk, FITTED, "gpuaidev-1k-4k, pr2039-b1: clrx's rule is GCN 1's, nothing is published for CDNA 3", 4) \
  X(int, trans_clk, SOURCED, "llvm: WriteTrans32 4", 16) \
  X(int, branch_clk, FITTED, "maf-bf16: a taken branch refills the instruction buffer; llvm's nominal WriteBranch is 32", 16) \
  X(int, barrier_clk, FITTED, "tl-b128, gpuaidev-1k-4k: beside the skew of the waves, which is simulated", 32) \
  X(int, sleep_clk, SOURCED, "isa: s_sleep n is about 64 n clk", 64) \
  X(int, smem_latency_clk, FITTED, "pr2039-b1: a scalar load, hit or miss; arguments and page tables", 200) \
  X(int, vmem_backlog_clk, FITTED, "tl-b128: address work queued before issue stalls", 128) \
  \
  X(double, lds_read_bpc, SOURCED, "ubench: b128, 23 clk an instruction of one SIMD's waves", 44) \
  X(double, lds_write_bpc, SOURCED, "ubench: b128, 31 clk", 33) \
  A(int, lds_latency_read, 3, SOURCED, "ubench: b32, b64, b128", 32, 44, 48) \
  A(int, lds_latency_write, 3, SOURCED, "ubench: b32, b64, b128", 39, 48, 60) \
  X(int, lds_crossbar_latency, SOURCED, "ubench: b32 read; swizzle and permute use the same path", 32) \
  \
  X(int, icache_bytes, SOURCED, "wp: 64 KB shared by two CUs, which run the same kernel", 65536) \
  X(int, icache_line, SOURCED, "llvm: getInstCacheLineSize, 64 before gfx10", 64) \
  X(int, tlb_entries, SOURCED, "gem5: L1TLBentries, fully associative, per CU", 32) \
  X(int, tlb_page, SOURCED, "Linux amdgpu: page-table fragments of 2 MB in large allocations", 2 << 20) \
  X(int, tlb_miss_clk, SOURCED, "gem5: L2AccessLatency 69; its 4096 entries of 2 MB hold 8 GB", 69) \
  \
  X(int, l1_line, SOURCED, "wp", 128) \
  X(int, l1_sets, SOURCED, "wave-lang documentation: set from address bits 7-8", 4) \
  X(int, l1_ways, SOURCED, "wp: 32 KB", 64) \
  X(int, l1_latency_clk, SOURCED, "ubench", 100) \
  X(int, l2_latency_clk, SOURCED, "ubench", 291) \
  X(int, store_latency_clk, SOURCED, "llvm: WriteVMEM 80; acknowledged by L2", 320) \
  X(double, l1_fill_bpc, SOURCED, "wp: L2 to L1, per CU", 64) \
  X(double, l2_bpc_xcd, SOURCED, "wp: per XCD", 2048) \
  X(double, l2_bytes, SOURCED, "wp: per XCD", 4 << 20) \
  \
  X(double, mall_bytes, SOURCED, "wp", 256 << 20) \
  X(double, mall_bps, FITTED, "tl-b128: 8 head groups read the cache through it, and HBM's lines pass it. A stream from it" \
    " alone does better: cc 11.9, origami 7.3 TB/s", 5.5e12) \
  X(double, mall_latency_ns, SOURCED, "cc", 218) \
  X(double, hbm_bps, SOURCED, "ubench 4.31-4.56, membench 4.17, origami 4.0 TB/s of 5.3", 4.2e12) \
  X(double, hbm_latency_ns, SOURCED, "ubench: 622 clk at 1420 MHz, idle; queueing is simulated", 438) \
  X(double, burst_clk, FITTED, "tl-b128: CUs burst at different times, so one that asked for less than its share of HBM or" \
    " Infinity Cache lately may take more, this far back", 1500) \
  \
  X(double, launch_ns, FITTED, "tl-b128-1k: packet to first wave", 4000) \
  X(double, next_launch_ns, FITTED, "tl-b128-1k: end of a kernel to the first wave of the next", 3000) \
  X(double, wg_start_clk, FITTED, "pr2039-b1: dispatch of a workgroup, register initialisation, first instruction fetch", 500)

#define EMU_ARCH_FIELD(type, name, basis, source, value) type name;
#define EMU_ARCH_ARRAY(type, name, count, basis, source, ...) type name[count];
typedef struct emu_arch {
  EMU_ARCH_CONSTANTS(EMU_ARCH_FIELD, EMU_ARCH_ARRAY)
} emu_arch;
#undef EMU_ARCH_FIELD
#undef EMU_ARCH_ARRAY

/* Read-only but for emu_arch_scale. */
extern emu_arch emu_gfx942;

typedef enum emu_arch_basis { EMU_ARCH_SOURCED, EMU_ARCH_FITTED } emu_arch_basis;
typedef struct emu_arch_constant {
  const char *name, *source;
  emu_arch_basis basis;
  bool real;            /* double, else int */
  size_t offset, count; /* in emu_arch */
} emu_arch_constant;
extern const emu_arch_constant emu_arch_constants[];
extern const size_t emu_arch_n_constants;

/* Multiply a constant of emu_gfx942, whole ones rounded, or set all back with name NULL: for tools that calibrate the model.
 * Not for use while anything is timed. False when there is no such constant. */
bool emu_arch_scale(const char *name, double factor);
