/* Mutation tests of the emulator's checks: a correct kernel with one synchronisation instruction dropped or weakened in
 * its bytes, and a second opinion on whether that can matter (mutants_trace.c), computed from a trace of the correct kernel
 * without any of the emulator's bookkeeping. */
#pragma once

#include "emu/emu_launch.h"

typedef enum mutation {
  MU_WAIT_DROP,  /* s_waitcnt -> s_nop 0 */
  MU_WAIT_VM,    /* vmcnt(n) -> vmcnt(n + 1) */
  MU_WAIT_LGKM,  /* lgkmcnt(n) -> lgkmcnt(n + 1) */
  MU_BARRIER,    /* s_barrier -> s_nop 0 */
  MU_NOP_LESS,   /* s_nop n -> s_nop n - 1 */
  MU_NOP_NONE,   /* s_nop n -> s_nop 0, for n > 1 */
  MU_NOP_EARLY,  /* the s_nop changes places with the instruction before it: one hazard fewer it stands in */
  MU_KINDS
} mutation;

typedef struct mutant {
  mutation kind;
  uint32_t inst; /* index in code->insts of the instruction that is mutated */
  uint32_t pc;   /* of the first byte written */
  uint8_t size;
  uint8_t bytes[24];
} mutant;

const char *mutation_name(mutation kind);
/* Every mutant of a decoded code object, in code order; malloc'ed. */
size_t mutants_list(const emu_code *code, mutant **out);
/* The code object with the mutant's bytes; malloc'ed, `size` bytes. */
void *mutant_code(const void *elf, size_t size, const mutant *m);

/* --- mutants_trace.c --- */
/* One executed instruction; LDS operations have their addresses. */
typedef struct mu_event {
  uint32_t inst;
  uint32_t access; /* index in mu_wave.access, ~0 none */
  uint8_t n_access;
} mu_event;
typedef struct mu_access {
  uint32_t addr[EMU_LANES]; /* ~0: inactive lane */
  uint8_t bytes;
  bool write, dma;
} mu_access;
typedef struct mu_wave {
  uint64_t group;
  int32_t wave;
  mu_event *event;
  size_t n, cap;
  mu_access *access;
  size_t n_access, cap_access;
} mu_wave;
typedef struct mu_trace {
  const emu_code *code;
  emu_exec *exec; /* of code->insts, before the hooks */
  mu_wave *wave;  /* sorted by group as they ran */
  size_t n, cap;
  uint64_t *executed; /* per instruction of code */
} mu_trace;

/* Hook a decoded code object: every launch of it with one host thread is appended to the trace until unhooked. One trace
 * at a time. */
void mu_trace_start(mu_trace *t, emu_code *code);
void mu_trace_stop(mu_trace *t);
void mu_trace_free(mu_trace *t);

/* Says what goes wrong on silicon in this trace with the mutant (NULL: the kernel as it is); "" when nothing does. */
void mu_trace_judge(const mu_trace *t, const mutant *m, char why[256]);
/* The same for software wait states (mutants_states.c). */
void mu_states_judge(const mu_trace *t, const mutant *m, char why[256]);
/* Counts how often the instruction that the mutant weakens completed an operation that the mutant would not have. */
uint64_t mu_trace_effect(const mu_trace *t, const mutant *m);
