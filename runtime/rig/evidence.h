/* Evidence: how many instructions of each kind one round of a kernel's hot loop has. */
#pragma once

#include <stdatomic.h>

#include "base/base.h"
#include "gen/gen.h"
#include "op/op.h"

/* --- evidence.c --- */
/* Instructions of one round of the hot loop: read from the disassembly, or counted while it ran in the emulator. */
typedef struct rig_evidence {
  unsigned mfma, valu, ds, vmem, smem, salu, waitcnt, nop, barrier, branch;
  unsigned instructions;      /* of the round: the sum of the above and a few others */
  unsigned loop_instructions; /* of the whole loop, seldom-taken paths included */
  unsigned loops;             /* in the kernel */
  unsigned start;             /* byte offset of the loop's header */
  unsigned load_bytes;        /* vector-memory loads of one wave in one round */
  double other_per_mfma;      /* instructions of the round that are no MFMA, over those that are; 0 without MFMA */
  bool executed;              /* counted by execution: averages, rounded */
} rig_evidence;
/* `text` is mlaf_disassemble's; `symbol` names no range there, so one kernel a code object is assumed. */
bool mlaf_evidence(const char *text, rig_evidence *out);
struct mlaf_profile;
/* The same from counts of executions: a round is what is executed at least half as often as the most executed MFMA. */
void mlaf_evidence_executed(const struct mlaf_profile *p, rig_evidence *out);

/* --- evidence_run.c --- */
typedef struct count_rig count_rig;
/* An emulator with a small case of the problem in it: one request of 1024 tokens. E_ARG when no emulator is like `target`.
 * `cancel` ends its launches. */
mlaf_status mlaf_count_rig_open(const mlaf_log *log, const atomic_bool *cancel, const mlaf_point *p, const char *target,
                                uint64_t seed, count_rig **out, mlaf_err *err);
void mlaf_count_rig_close(count_rig *rig);
/* Run a decode kernel once and count. */
mlaf_status mlaf_count_rig_count(count_rig *rig, const mlaf_kernel_desc *desc, const void *code, size_t size, rig_evidence *out,
                                 mlaf_err *err);
