/* Rules whose breach MLAF_EMU_STRICT can turn from an error into a counted warning. */
#pragma once

#include "emu/emu_launch.h"

typedef enum emu_rule {
  EMU_RULE_REGISTERS,     /* a register that nothing wrote is read; a VGPR where the descriptor puts AGPRs */
  EMU_RULE_LDS_UNWRITTEN, /* an LDS byte that nothing wrote is read */
  EMU_RULE_LDS_ORDER,     /* LDS accesses of two waves conflict and only time orders them */
  EMU_RULE_WAITCNT,       /* data of a load is used without an s_waitcnt, after the time the load takes */
  EMU_RULE_WAIT_STATES,   /* an s_nop is missing */
  EMU_RULE_SCALAR_ALIGN,  /* a scalar load's address is no multiple of 4: the hardware drops the low bits */
  /* Only where asked for, by + or "all": no harm by itself. */
  EMU_RULE_LDS_SAME_VALUE,   /* two waves write the same value to one LDS byte, and no barrier lies between */
  EMU_RULE_GLOBAL_UNWRITTEN, /* global memory that nothing wrote is read, in any allocation */
  /* Forgiven only by name: its breach is a wrong result waiting to happen. */
  EMU_RULE_LDS_RACE,      /* LDS accesses of two waves conflict and nothing orders them */
  EMU_RULE_COUNT
} emu_rule;

/* Breaches of rules that one launch was forgiven. */
struct emu_warnings {
  pthread_mutex_t lock;
  uint64_t count[EMU_RULE_COUNT];
  char first[EMU_RULE_COUNT][1024];
};

/* MLAF_EMU_STRICT's value (NULL: unset) to masks of forgiven rules, and of those checked beside the usual ones. E_ARG with the
 * accepted words otherwise. */
mlaf_status emu_strict_parse(const char *text, uint32_t *forgiven, uint32_t *extra, mlaf_err *err);
/* A rule was broken: emu_fault (false), or count it (true). */
bool emu_broken(emu_wave *w, emu_rule rule, int lane, const char *fmt, ...) MLAF_PRINTF(4, 5);
/* The rules that need the waves' clocks. */
static inline bool emu_strict_timed(const emu_device *d) { return d->forgiven >> EMU_RULE_LDS_ORDER & 3; }
void emu_warnings_log(const emu_warnings *all, const emu_kernel *k, const mlaf_log *log);
