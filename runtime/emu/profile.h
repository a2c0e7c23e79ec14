/* Where the cycles of a launch went, by the timing model. Off unless asked for: a plain launch or `time` pays nothing.
 *
 * Counts come from all sampled workgroups; clocks from the replay of one of them, the one of median length, with its
 * co-residents on one compute unit. Everything is modelled. */
#ifndef MLAF_EMU_PROFILE_H
#define MLAF_EMU_PROFILE_H

#include "emu/cu_log.h"
#include "emu/timing.h"

/* What a SIMD does in a clock: the first of these that holds. While no wave issues and no pipe is busy, the clock is split
 * evenly over what the waves there wait for. */
typedef enum emu_state {
  EMU_S_MFMA,  /* matrix pipe busy */
  EMU_S_VALU,  /* vector ALU busy, matrix pipe not */
  EMU_S_ISSUE, /* a wave issues something else: scalar, memory, waits, branches */
  EMU_S_VMCNT, EMU_S_LGKM /* and scalar loads */, EMU_S_CONFLICT, EMU_S_BARRIER, EMU_S_HAZARD, EMU_S_QUEUE,
  EMU_S_FETCH, EMU_S_BRANCH, EMU_S_SLEEP,
  EMU_S_IDLE,  /* no wave left, or none was there */
  EMU_S_COUNT
} emu_state;
extern const char *const emu_state_names[EMU_S_COUNT];
extern const char *const emu_why_names[EMU_WHY_COUNT];

typedef struct emu_profile_inst {
  const emu_inst *inst;         /* lives as long as the module */
  uint64_t executed;            /* by the waves of all sampled workgroups */
  uint64_t on_cu;               /* by the waves of the replayed CU */
  double clk[EMU_WHY_COUNT];    /* wave clocks of the replayed CU */
  bool hot;                     /* executed at least half as often as the most executed MFMA (or, without one, instruction) */
} emu_profile_inst;

/* What a resource did of what it could. */
typedef struct emu_use {
  const char *name, *unit;
  double bytes;           /* of the whole launch; 0 where bytes say nothing */
  double achieved, limit; /* in `unit` */
} emu_use;
enum { EMU_USE_MFMA, EMU_USE_LDS, EMU_USE_L1, EMU_USE_L2, EMU_USE_MALL, EMU_USE_HBM, EMU_USE_COUNT };

typedef struct emu_profile {
  const char *kernel;
  uint32_t grid[3], block[3];
  uint64_t groups;
  size_t samples;
  int waves, residents;       /* waves of a workgroup; workgroups on a CU while the chip is full */
  const char *limit;          /* what keeps more of them from it: registers, LDS, waves, workgroups, grid */
  uint32_t vgprs, lds_bytes;
  double clock_mhz, kernel_ns, launch_ns;
  emu_use use[EMU_USE_COUNT];
  double lds_conflict_clk, lds_clk;       /* of the replayed CU's port */
  uint64_t sample_id, clk;                /* the replayed workgroup; clocks to the end of its last co-resident */
  int simds;
  double state[4][EMU_S_COUNT];           /* clocks of each SIMD: they add up to clk */
  double valu_hidden[4];                  /* vector ALU busy under the matrix pipe: part of EMU_S_MFMA */
  uint64_t base;                          /* executions of the most executed MFMA: "rounds" of the hot path */
  emu_profile_inst *inst;                 /* all of the code object, in order */
  size_t n_insts;
  emu_cu_log log;                         /* for the trace */
} emu_profile;

bool emu_profile_can(const mlaf_device *dev);
/* Profile each launch of a sequence; out[n] is zeroed first and filled launch by launch. */
mlaf_status emu_profile_run(mlaf_device *dev, const mlaf_launch *launches, size_t n, emu_profile *out, mlaf_timing *timing,
                            mlaf_err *err);
/* Only how often each instruction was executed (inst, n_insts, base, samples): no replay. */
mlaf_status emu_profile_count(mlaf_device *dev, const mlaf_launch *launch, emu_profile *out, mlaf_err *err);
void emu_profile_clear(emu_profile *p);

#endif
