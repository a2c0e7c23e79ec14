/* The timing model's constants, each with its source. clk = shader clock.
 *   wp      AMD CDNA 3 white paper              isa     AMD Instinct MI300 ISA reference
 *   llvm    LLVM SISchedule.td, GCNSubtarget    maf     AMD blog "Measuring max achievable FLOPs", part 2
 *   ubench  carlushuang/gcnasm (MI308X, the same CU and HBM; 1420 MHz)
 *   cc      chipsandcheese.com, MI300X          lds     AMD blog "LDS bank conflicts"
 *   pr2039  ROCm/aiter PR 2039: decode and reduce kernels at ctx 21, B = 1: 12.5 to 15.5 us together
 *   clrx    CLRX wiki, GcnTimings: code in 32-byte blocks, two-dword instructions past the third dword take 4 clk more
 *   assumed no public figure: chosen, and only the order of results may lean on it */
#include "emu/arch_gfx942.h"

const emu_arch emu_gfx942 = {
    .cus = 304, .xccs = 8, .simds = 4,           /* wp */
    .waves_per_simd = 8, .lds_bytes = 65536,     /* wp */
    .vgprs = 512, .vgpr_granule = 8,             /* llvm: one file of v and a registers per lane */
    .max_wgs_per_cu = 32,                        /* llvm: getMaxWorkGroupsPerCU bound by waves */

    .boost_mhz = 2100,                           /* wp */
    .mfma_mhz = 1207,                            /* maf: dense bf16, random data, 750 W */
    .mfma_busy = 0.94,                           /* maf: 708 TF at 1207 MHz is 94 % of the peak at that clock */
    .mfma_power = 0.9, .valu_power = 0.35,       /* assumed: shares of the 750 W that full matrix and vector pipes draw at
                                                    mfma_mhz; VALU alone then sustains 1.7 GHz */
    .throttle_ns = 60e3,                         /* maf: 20-60 us kernels still see 1.7 to 2.1 GHz */

    .issue_clk = 4,                              /* isa: a wave issues at most every 4 clk; a wave64 VALU takes 4 */
    .long_clk = 4,                               /* clrx: the rule is GCN 1's; nothing is published for CDNA 3. Kept because the
                                                    points it was judged on came nearer: gpuaidev 1K-4K from 0.77 to 0.84 of
                                                    the published time, pr2039 batch 1 from 0.81 to 0.96 */
    .trans_clk = 16,                             /* llvm: WriteTrans32, a quarter of the rate */
    .branch_clk = 16,                            /* assumed: a taken branch refills the instruction buffer */
    .barrier_clk = 32,                           /* assumed: beside the skew of the waves, which is simulated */
    .sleep_clk = 64,                             /* isa: s_sleep n is about 64 n clk */
    .smem_latency_clk = 200,                     /* assumed: scalar cache miss that hits L2; arguments and page tables */
    .vmem_backlog_clk = 128,                     /* assumed: address work queued before issue stalls */

    .lds_read_bpc = 44, .lds_write_bpc = 33,     /* ubench: what one SIMD's waves draw with b128 (23 and 31 clk each) */
    .lds_latency_read = {32, 44, 48},            /* ubench: b32, b64, b128 */
    .lds_latency_write = {39, 48, 60},           /* ubench */
    .lds_crossbar_latency = 32,                  /* ubench b32: swizzle and permute use the same path */

    .l1_line = 128, .l1_sets = 4, .l1_ways = 64, /* wp: 32 KB, 128-byte lines; set from address bits 7-8 (wave-lang) */
    .l1_latency_clk = 100,                       /* ubench */
    .l2_latency_clk = 291,                       /* ubench */
    .store_latency_clk = 300,                    /* assumed: acknowledged by L2 */
    .l1_fill_bpc = 64,                           /* wp: L2 to L1, per CU */
    .l2_bpc_xcd = 2048, .l2_bytes = 4 << 20,     /* wp: per XCD */

    .mall_bytes = 256 << 20,                     /* wp */
    .mall_bps = 5.5e12,                          /* fitted on TileLang's figure, AITER batch 128, whose 8 head groups read the
                                                    cache through it; HBM's lines pass it too. A stream from it alone does
                                                    better: cc 11.9, AMD origami 7.3 */
    .mall_latency_ns = 218,                      /* cc */
    .hbm_bps = 4.2e12,                           /* ubench 4.31-4.56, membench 4.17, origami 4.0 TB/s of 5.3 */
    .hbm_latency_ns = 438,                       /* ubench: 622 clk at 1420 MHz, idle; queueing is simulated */
    .burst_clk = 1500,                           /* assumed: CUs burst at different times, so one that asked for less than its
                                                    share of HBM or Infinity Cache lately may take more, this far back */

    .launch_ns = 4000, .next_launch_ns = 3000,   /* assumed: packet to first wave, end of kernel to the next; pr2039 has
                                                    kernel durations only, and the replay of its stage 1 gives 11 of 15 us */
    .wg_start_clk = 500,                         /* assumed: dispatch, register initialisation, first instruction fetch */
};
