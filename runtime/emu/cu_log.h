/* Log of a replay: what it did with every clock of every wave, for the profile; filled by timing_cu.c when emu_cu_env.log is
 * set. */
#pragma once

#include "device/profile.h"

/* Activities of a wave: what it does or waits for. A wave's clocks from its start to its end are booked on exactly one each. */
typedef enum emu_why {
  EMU_WHY_ISSUE = MLAF_PROFILE_ISSUE, /* the instruction's own issue slot */
  EMU_WHY_MFMA,     /* the matrix pipe of its SIMD is taken */
  EMU_WHY_VALU,     /* the vector ALU of its SIMD is taken */
  EMU_WHY_SALU,     /* the scalar unit is taken */
  EMU_WHY_VMCNT, EMU_WHY_LGKM, EMU_WHY_SMEM, /* s_waitcnt: vector memory, LDS, scalar memory */
  EMU_WHY_CONFLICT, /* the part of an LDS wait that would not be there without bank conflicts */
  EMU_WHY_BARRIER,
  EMU_WHY_HAZARD,   /* s_nop: wait states that a dependency demands */
  EMU_WHY_QUEUE,    /* memory instruction held back: address queue or counter full */
  EMU_WHY_FETCH,    /* an instruction of two dwords late in its 32-byte block */
  EMU_WHY_BRANCH,   /* a taken branch refills the instruction buffer */
  EMU_WHY_SLEEP, EMU_WHY_COUNT
} emu_why;

typedef struct emu_cu_wave {
  mlaf_profile_span *span;
  size_t n;
  int simd, group;
  uint32_t inst; /* being executed */
  bool failed;   /* out of memory, or longer than 2^32 clk */
} emu_cu_wave;

/* Which pipe an instruction takes when it issues, and for how long. */
typedef struct emu_cu_pipe {
  uint16_t mfma_clk, valu_clk;
} emu_cu_pipe;

typedef struct emu_cu_log {
  emu_cu_wave *wave;
  int n_waves;
  emu_cu_pipe *pipe;                    /* [code->n_insts] */
  double lds_clk, lds_conflict_clk;     /* of the CU's LDS port */
  double address_clk;                   /* of the CU's address unit (L1 tags) */
} emu_cu_log;

bool emu_cu_log_open(emu_cu_log *log, int n_waves, size_t n_insts); /* false: out of memory */
void emu_cu_log_close(emu_cu_log *log);
void emu_cu_log_add(emu_cu_wave *w, uint64_t until, emu_why why);
