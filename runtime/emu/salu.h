/* Between the scalar ALU's files. */
#pragma once

#include "emu/emu.h"

/* Write a scalar destination; false after emu_fault(). */
bool emu_swrite32(emu_wave *w, const emu_operand *o, uint32_t v);
bool emu_swrite64(emu_wave *w, const emu_operand *o, uint64_t v);

/* SCC was written; false after emu_fault(). */
static inline bool emu_scc_check(emu_wave *w) { return w->scc <= 1 || emu_scc_bad(w); }

/* ops_sopp.c: program control */
bool emu_s_branch(emu_wave *w, const emu_inst *in);
bool emu_s_cbranch(emu_wave *w, const emu_inst *in); /* dtype: what decides */
bool emu_s_endpgm(emu_wave *w, const emu_inst *in);
bool emu_s_barrier(emu_wave *w, const emu_inst *in);
bool emu_s_waitcnt(emu_wave *w, const emu_inst *in);
bool emu_s_nothing(emu_wave *w, const emu_inst *in);
bool emu_s_trap(emu_wave *w, const emu_inst *in);
bool emu_s_getpc(emu_wave *w, const emu_inst *in);
bool emu_s_setpc(emu_wave *w, const emu_inst *in);
bool emu_s_swappc(emu_wave *w, const emu_inst *in);
bool emu_s_call(emu_wave *w, const emu_inst *in);
bool emu_s_getreg(emu_wave *w, const emu_inst *in);
bool emu_s_setreg(emu_wave *w, const emu_inst *in);
bool emu_s_sendmsg(emu_wave *w, const emu_inst *in);

bool emu_s_setvskip(emu_wave *w, const emu_inst *in);
bool emu_s_set_gpr_idx(emu_wave *w, const emu_inst *in); /* mode.c; dtype: which of the four */

enum { EMU_GPR_IDX_ON, EMU_GPR_IDX_OFF, EMU_GPR_IDX_MODE, EMU_GPR_IDX_IDX };
enum { EMU_CB_SCC0, EMU_CB_SCC1, EMU_CB_VCCZ, EMU_CB_VCCNZ, EMU_CB_EXECZ, EMU_CB_EXECNZ };
