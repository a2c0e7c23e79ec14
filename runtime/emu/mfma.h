/* Matrix instructions from inside: ops_mfma.c computes, ops_mfma_table.c has the shapes and what the parser checks. */
#pragma once

#include "emu/emu.h"

typedef enum emu_mfma_type {
  EMU_IN_BF16, EMU_IN_F16, EMU_IN_F32, EMU_IN_XF32, EMU_IN_FP8, EMU_IN_BF8, EMU_IN_I8, EMU_IN_F64, EMU_IN_FP8_OCP, EMU_IN_BF8_OCP,
  EMU_IN_SMALL /* f8f6f4: cbsz and blgp say what A and B are */
} emu_mfma_type;

typedef struct emu_mfma {
  uint8_t m, k, blocks;
  uint8_t a, b;         /* emu_mfma_type */
  uint8_t ab_regs;      /* registers per lane of A and of B; sparse: of A */
  uint8_t d_regs;
  uint8_t passes;       /* 4 clk each: LLVM SISchedule.td SIDPGFX940FullSpeedModel */
  bool cbsz, blgp;      /* modifiers the instruction has (calculator); fp64 reads blgp as neg */
} emu_mfma;

/* The formats of f8f6f4 by cbsz and blgp: registers of an operand, 32 elements to a lane. */
enum { EMU_SMALL_FORMATS = 5 };
extern const uint8_t emu_small_regs[EMU_SMALL_FORMATS];

bool emu_mfma_dense(emu_wave *w, const emu_inst *in);
bool emu_mfma_f64(emu_wave *w, const emu_inst *in);
bool emu_mfma_sparse(emu_wave *w, const emu_inst *in);
bool emu_mfma_small(emu_wave *w, const emu_inst *in); /* with and without scales */
