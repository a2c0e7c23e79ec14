/* Profile of a launch: where its cycles went, by the timing model. Off unless asked for: a plain launch or `time` pays nothing.
 *
 * Counts come from all sampled workgroups; clocks from the replay of one of them, the one of median work among those that have
 * something to do, with its co-residents on one compute unit. Everything is modelled. */
#pragma once

#include "emu/cu_log.h"
#include "emu/timing.h"

/* States of a SIMD in a clock: the first of these that holds. While no wave issues and no pipe is busy, the clock is split
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

enum { EMU_USE_MFMA, EMU_USE_LDS, EMU_USE_L1, EMU_USE_L2, EMU_USE_MALL, EMU_USE_HBM, EMU_USE_COUNT };

/* Calls of the vtable (device/profile.h): NULL in that of a device without a timing model the first, the second in none. */
mlaf_status emu_profile_run(mlaf_device *dev, const mlaf_launch *launches, size_t n, mlaf_profile *out, mlaf_timing *timing,
                            mlaf_err *err);
mlaf_status emu_profile_count(mlaf_device *dev, const mlaf_launch *launch, mlaf_profile *out, mlaf_err *err);
