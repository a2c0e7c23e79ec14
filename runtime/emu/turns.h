/* Workgroups that wait for each other: locks, tickets, barriers of the whole grid, one workgroup's result taken by another.
 *
 * A kernel communicates when its code holds a global atomic, a load, store or fence of device scope. Its workgroups run on one
 * host thread: as many as the device holds are resident, and each makes progress in turn, in dispatch order; when one ends the
 * next of the grid starts. So nothing depends on the number of host threads, and a wait for a resident workgroup ends, as on
 * the device. Any other kernel's workgroups run to their end one after another, on all host threads. */
#pragma once

#include "emu/emu_launch.h"

enum {
  EMU_TURN_POLLS = 4,     /* looks at memory, none of which changed it, that end a wave's turn */
  EMU_STUCK_POLLS = 2048  /* looks without any change of memory by anybody: this wave waits for what does not come */
};

/* After decoding: emu_inst.shared and emu_kernel.communicates. */
void emu_turns_bind(emu_code *code);

/* A wave looked at memory that others may write. True: its turn is over. */
static inline bool emu_turns_polled(emu_wave *w) {
  const emu_turns *t = w->group->turns;
  if (!t) return false;
  if (w->poll_seen != t->changes) w->poll_seen = t->changes, w->polls = w->turn_polls = 0;
  w->polls++;
  return ++w->turn_polls >= EMU_TURN_POLLS;
}

/* Workgroups that the device holds at once. *limit: what keeps more from it. */
uint64_t emu_turns_residents(const emu_dispatch *d, int waves, const char **limit);

/* Run n_groups workgroups in turns; `done` is called for each that ended. False with *err after a fault, a deadlock or a
 * cancel. */
typedef struct emu_turns_how {
  void *user;
  void (*id)(void *user, uint64_t linear, uint32_t id[3]);
  void (*done)(void *user, const uint32_t id[3], const emu_counts *counts);
  uint64_t n_groups, max_bytes; /* max_bytes: host memory for all residents */
} emu_turns_how;
bool emu_turns_run(emu_dispatch *d, const emu_turns_how *how, mlaf_err *err);
