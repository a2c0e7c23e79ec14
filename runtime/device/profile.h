/* Profile of a launch: where its cycles go, told by a back end whose times are modelled. What there is to wait
 * for and which resources there are differs between machines: the profile carries the names. */
#pragma once

#include "device/device.h"

enum { MLAF_PROFILE_STATES = 16, MLAF_PROFILE_WHYS = 16, MLAF_PROFILE_USES = 8, MLAF_PROFILE_SIMDS = 4 };
/* Index of the first reason everywhere: no wait, the instruction's own issue slot. */
enum { MLAF_PROFILE_ISSUE = 0 };

typedef struct mlaf_profile_inst {
  const char *text;               /* lives as long as the module */
  uint32_t pc;                    /* byte offset in the code */
  uint32_t bytes;
  uint64_t executed;              /* by the waves of all sampled workgroups */
  uint64_t on_cu;                 /* by the waves of the replayed compute unit */
  double clk[MLAF_PROFILE_WHYS];  /* wave clocks of the replayed compute unit, by reason */
  bool hot;                       /* executed at least half as often as the most executed matrix instruction (or, without one,
                                     instruction) */
} mlaf_profile_inst;

/* Use of a resource: what it did of what it could. */
typedef struct mlaf_profile_use {
  const char *name, *unit;
  double bytes;           /* of the whole launch; 0 where bytes say nothing */
  double achieved, limit; /* in `unit` */
} mlaf_profile_use;

typedef struct mlaf_profile_span {
  uint32_t end;  /* clk; it begins where the span before ended, the first at 0 */
  uint32_t inst; /* index in inst */
  uint32_t why;
} mlaf_profile_span;

typedef struct mlaf_profile_wave {
  mlaf_profile_span *span;
  size_t n;
  int simd, group;
} mlaf_profile_wave;

typedef struct mlaf_profile {
  const char *const *state_names, *const *why_names;
  int n_states, n_whys, n_uses;
  const char *kernel;
  uint32_t grid[3], block[3];
  uint64_t groups;
  uint64_t idle;              /* of them with nothing to do, as far as the sample tells: they execute nothing of the hot path */
  size_t samples;
  int waves, residents;       /* waves of a workgroup; workgroups on a compute unit while the chip is full */
  const char *limit;          /* what keeps more of them from it: registers, LDS, waves, workgroups, grid */
  uint32_t vgprs, lds_bytes, icache_bytes; /* icache_bytes: of the instruction cache */
  double clock_mhz, kernel_ns, launch_ns;
  mlaf_profile_use use[MLAF_PROFILE_USES];
  double lds_conflict_clk, lds_clk;       /* of the replayed compute unit's port */
  uint64_t sample_id, clk;                /* the replayed workgroup; clocks to the end of its last co-resident */
  int simds;
  double state[MLAF_PROFILE_SIMDS][MLAF_PROFILE_STATES]; /* clocks of each SIMD: they add up to clk */
  double valu_hidden[MLAF_PROFILE_SIMDS]; /* vector ALU busy under the matrix pipe: part of the first state */
  uint64_t base;                          /* executions of the most executed matrix instruction: "rounds" of the hot path */
  mlaf_profile_inst *inst;                /* all of the code object, in order */
  size_t n_insts;
  mlaf_profile_wave *wave;                /* of the replayed compute unit, for a trace */
  int n_waves;
} mlaf_profile;

/* Profile each launch of a sequence and time it as a whole; out[n] is zeroed first and filled launch by launch. E_ARG where the
 * device cannot. */
mlaf_status mlaf_profile_run(mlaf_device *dev, const mlaf_launch *launches, size_t n, mlaf_profile *out, mlaf_timing *timing,
                             mlaf_err *err);
/* Only how often each instruction was executed (inst, n_insts, base, samples): no replay. */
mlaf_status mlaf_profile_count(mlaf_device *dev, const mlaf_launch *launch, mlaf_profile *out, mlaf_err *err);
void mlaf_profile_clear(mlaf_profile *p);
