/* The emulated devices from inside: instructions, waves, workgroups, and the rules every instruction's implementation keeps.
 *
 * Rooms: elf.c (code object -> kernels) · parse.c (disassembly text -> emu_inst) · ops_*.c (what instructions do, a table of
 * {mnemonic, exec} per file; ops_apart.c: private memory, flat apertures) · wave.c (run waves and barriers of a workgroup) ·
 * launch.c (grid over threads) · turns.c (workgroups that wait for each other) · memory.c (allocations) · lds.c (LDS and its
 * race detector) · lanes.c (loops over 64 addresses) · hazard.c (wait states) ·
 * mode.c (VGPR indexing, vector skip) · strict.c (rules that MLAF_EMU_STRICT relaxes) · clock.c (time, for those) ·
 * timing.c + arch_gfx942.c (model) · isa.c (targets) · device.c (the mlaf_device_ops).
 *
 * Strict by design: reading what was never written, before its s_waitcnt, outside an allocation, or inside a
 * hazard window is an error that names pc, instruction, wave and lane (emu_fault), never a wrong number. */
#pragma once

#include <stdatomic.h>

#include "base/base.h"
#include "device/device.h"
#include "emu/isa.h"

enum { EMU_LANES = 64, EMU_VREGS = 512, EMU_AGPR0 = 256, EMU_SREGS = 128, EMU_LDS_MAX = 163840, EMU_MAX_WAVES = 16 };
/* Bases at which flat addresses see LDS and scratch (src_shared_base, src_private_base). */
#define EMU_SHARED_BASE (UINT64_C(1) << 48)
#define EMU_PRIVATE_BASE (UINT64_C(2) << 48)
/* Address in the buffer descriptor of private memory (before architected flat scratch): none of the host's. */
#define EMU_PRIVATE_BUFFER (UINT64_C(0xe0) << 40)
/* Scalar register numbers with a name (ISA encoding). Pairs are little-endian. SCC lives in its own field. */
enum { EMU_VCC = 106, EMU_M0 = 124, EMU_EXEC = 126, EMU_FLAT_SCRATCH = 102, EMU_XNACK = 104 };

typedef struct emu_inst emu_inst;
typedef struct emu_wave emu_wave;
typedef struct emu_group emu_group;
typedef struct emu_device emu_device;
typedef struct emu_code emu_code;

/* Returns true when the wave may go on; false after emu_fault() or when the wave ended/blocked (w->state says which).
 * The default next pc is in + 1; branches set w->next. */
typedef bool (*emu_exec)(emu_wave *w, const emu_inst *in);

typedef enum emu_class {
  EMU_C_SALU, EMU_C_SMEM, EMU_C_VALU, EMU_C_TRANS, EMU_C_MFMA, EMU_C_VMEM_LOAD, EMU_C_VMEM_STORE, EMU_C_VMEM_ATOMIC,
  EMU_C_DS_READ, EMU_C_DS_WRITE, EMU_C_DS_OTHER, EMU_C_WAITCNT, EMU_C_BARRIER, EMU_C_BRANCH, EMU_C_NOP, EMU_C_END,
  EMU_C_COUNT
} emu_class;

typedef enum emu_operand_kind {
  EMU_O_NONE, EMU_O_VREG /* reg 0..511, >= EMU_AGPR0 is an AGPR */, EMU_O_SREG /* reg 0..127 */, EMU_O_CONST, EMU_O_SCC, EMU_O_OFF
} emu_operand_kind;

typedef struct emu_operand {
  uint8_t kind;
  uint8_t count;   /* dwords as written in the text: v[0:3] -> 4 */
  uint8_t neg, abs, sext;
  uint16_t reg;
  uint64_t value;  /* CONST: 32-bit pattern (inline floats already converted); ops of 64-bit type widen by their type */
  bool is_literal; /* CONST from a literal dword rather than an inline constant */
  bool is_float;   /* CONST written as a float, e.g. 1.0: 16-bit and 64-bit ops need to re-encode it */
  double fvalue;   /* the float as written, when is_float */
} emu_operand;

/* Per-instruction flags set by the parser from trailing words. */
enum {
  EMU_F_SC0 = 1u << 0, EMU_F_SC1 = 1u << 1, EMU_F_NT = 1u << 2, EMU_F_LDS = 1u << 3, EMU_F_OFFEN = 1u << 4,
  EMU_F_IDXEN = 1u << 5, EMU_F_CLAMP = 1u << 6, EMU_F_DPP = 1u << 7, EMU_F_SDWA = 1u << 8, EMU_F_GDS = 1u << 9,
  EMU_F_BOUND_CTRL = 1u << 10, EMU_F_OP_SEL_HI = 1u << 11 /* op_sel_hi was written */
};

struct emu_inst {
  emu_exec exec;
  const char *mnemonic;      /* interned, without _e32/_e64/_dpp/_sdwa suffix */
  const char *text;          /* the whole line, for messages */
  uint32_t pc;               /* byte offset in .text */
  uint8_t size;              /* bytes */
  uint8_t cls;               /* emu_class */
  uint8_t n_src, n_dst;
  emu_operand dst[2];        /* vdst, and sdst/vcc of carry and div_scale ops */
  emu_operand src[5];        /* as written; memory ops: address, data, base/descriptor, soffset in text order */
  int32_t offset;            /* memory immediate offset; s_waitcnt: unused */
  int32_t offset2;           /* ds_read2/write2 offset1 */
  uint32_t imm;              /* SOPP/SOPK immediate, waitcnt fields, swizzle pattern, sleep length */
  int32_t target;            /* branch: index of the target instruction */
  uint32_t flags;
  /* bit i = source i; op_sel bit 3 = destination half; op_sel_hi is 7 where nothing is written */
  uint8_t op_sel, op_sel_hi, neg_lo, neg_hi;
  uint8_t omod;              /* 0 none, 1 *2, 2 *4, 3 /2 */
  uint8_t cbsz, abid, blgp;  /* MFMA */
  uint16_t dpp_ctrl; uint8_t row_mask, bank_mask;
  uint8_t sdwa_dst, sdwa_src0, sdwa_src1, sdwa_unused;
  uint8_t vmcnt, lgkmcnt, expcnt; /* s_waitcnt: counts, 0xff = not waited */
  uint8_t passes;            /* MFMA: 4-clk passes, 0 otherwise; filled by emu_mfma_bind */
  uint8_t dtype;             /* private to the op's file */
  uint8_t shared;            /* emu_shared: other workgroups may answer (turns.c) */
  bool lds_poll;             /* it waits for another wave's write to LDS (polls.c) */
  uint16_t dwords;           /* memory: dwords (or, for sub-dword, 1) per lane; private to the op's file */
  const void *aux;           /* emu_op.aux */
  emu_exec behind;           /* what exec runs once it has checked the allocation; NULL: exec is the operation */
  uint32_t hazard;           /* hazard.c: what kind of producer and consumer this is */
};

/* MODE bits that arithmetic looks at. */
enum {
  EMU_MODE_ROUND = 0xf, EMU_MODE_DENORM32 = 0x30, EMU_MODE_DENORM16_64 = 0xc0, EMU_MODE_DX10_CLAMP = 0x100,
  EMU_MODE_IEEE = 0x200, EMU_MODE_FP16_OVFL = 1 << 23, EMU_MODE_GPR_IDX = 1 << 27, EMU_MODE_VSKIP = 1 << 28
};

typedef enum emu_wave_state { EMU_RUNNING, EMU_AT_BARRIER, EMU_ENDED, EMU_FAULTED } emu_wave_state;

/* Counts for the timing model and the profile. One per wave, summed per workgroup and launch. */
typedef struct emu_counts {
  uint64_t issued[EMU_C_COUNT];
  uint64_t lds_clk;          /* LDS port clocks including bank conflicts, from actual addresses */
  uint64_t barriers;
} emu_counts;

struct emu_wave {
  uint32_t (*v)[EMU_LANES];        /* [EMU_VREGS][64] */
  uint64_t v_init[EMU_VREGS];      /* lane mask: written since launch */
  /* [EMU_VREGS][64] of lanes not in v_init: the bits that are defined all the same; NULL: none */
  uint32_t (*v_def)[EMU_LANES];
  uint32_t v_vm[EMU_VREGS];        /* sequence number of the vector-memory load in flight to this register, 0 none */
  uint32_t v_lgkm[EMU_VREGS];      /* same for LDS (and flat) */
  uint32_t s[EMU_SREGS];
  bool s_init[EMU_SREGS];
  uint32_t s_def[EMU_SREGS];       /* while not s_init: the bits that are defined all the same (ops_salu.c) */
  uint32_t s_lgkm[EMU_SREGS];      /* SMEM load in flight */
  uint32_t scc;                    /* 0, 1; 2 before the first write */
  uint32_t vm_issued, vm_done;     /* vmcnt: loads, stores and LDS-DMA in issue order; outstanding = issued - done */
  uint32_t lgkm_issued, lgkm_done; /* in-order part (LDS) */
  uint32_t smem_issued, smem_done; /* SMEM and messages: out of order, only lgkmcnt(0) proves them */
  uint32_t mode;                   /* MODE: [1:0] rounding of f32, [3:2] of f64 and f16, [7:4] denormals, 8 dx10_clamp, 9 ieee */
  uint64_t wait_states;            /* issue clock for hazards: +1 per instruction, + n+1 for s_nop n */
  uint64_t executed;               /* instructions */
  uint64_t poll_seen, idle_seen;   /* turns.c: changes of memory at the last poll, at the last look */
  uint64_t idle_from, idle_barriers; /* executed and counts.barriers when memory last changed */
  uint32_t polls, turn_polls;      /* since memory last changed; of them in this turn */
  emu_wave_state state;
  int32_t index;                   /* wave in the workgroup */
  const emu_inst *inst;            /* current */
  const emu_inst *next;
  emu_group *group;
  emu_counts counts;
  void *hazard;                    /* hazard.c */
  void *timing;                    /* timing.c */
  struct emu_clock *clock;         /* clock.h; NULL: time forgives nothing */
  emu_inst *indexed;               /* mode.c: instructions with M0 added to their registers, NULL before the first */
  uint32_t n_indexed;
  uint8_t *priv, *priv_valid;      /* private memory of the lanes, interleaved, and which of its bits are defined: ops_apart.c */
  uint32_t priv_bytes;             /* a lane */
};

struct emu_group {
  emu_device *dev;
  const struct emu_code *code;
  const struct emu_kernel *kernel;
  uint32_t id[3];
  uint64_t linear_id;     /* dispatch order: x fastest */
  int32_t n_waves;
  emu_wave *waves;
  uint8_t *lds;
  uint32_t lds_bytes;
  uint8_t *priv;          /* of all waves; NULL: the kernel has none */
  struct emu_lds *lds_shadow; /* lds.h */
  uint32_t epoch;         /* barriers passed */
  const emu_inst *split[2]; /* the first barrier that waves passed at two different instructions, NULL: none did */
  int32_t split_wave[2];
  const uint8_t *kernarg; /* guest address = host address of this buffer */
  void *timing;           /* emu_dispatch.recorder */
  struct emu_warnings *warnings; /* strict.h; NULL: nobody counts */
  struct emu_turns *turns; /* turns.h; NULL: it runs to its end in one go */
  mlaf_err *err;          /* first fault of the launch goes here */
};

/* Kernels that wait for other workgroups: what all residents of a launch share. One host thread runs them. */
typedef struct emu_turns {
  uint64_t changes; /* of global memory: stores, and atomics that wrote something else than was there */
} emu_turns;
static inline void emu_changed(emu_wave *w) {
  if (w->group->turns) w->group->turns->changes++;
}
/* After an atomic on `words` dwords of global memory: one that wrote what was there changed nothing. */
static inline void emu_atomic_changed(emu_wave *w, uint64_t addr, unsigned words, uint64_t old) {
  uint64_t now = 0;
  if (!w->group->turns) return;
  memcpy(&now, (const void *)(uintptr_t)addr, 4 * words);
  if (now != old) w->group->turns->changes++;
}
/* emu_inst.shared: not; makes its kernel one that takes turns; is also a poll, which ends a turn when repeated. */
typedef enum emu_shared { EMU_OWN, EMU_SHARED, EMU_POLL } emu_shared;

/* EXEC as one 64-bit mask. */
static inline uint64_t emu_exec_mask(const emu_wave *w) { return (uint64_t)w->s[EMU_EXEC + 1] << 32 | w->s[EMU_EXEC]; }

/* Report: "<what> (kernel K, pc 0x1c40: 'text', workgroup (x,y,z), wave w, lane l)". lane < 0: whole wave. Sets the
 * wave's state and returns false, so that `return emu_fault(...)` is the idiom. */
bool emu_fault(emu_wave *w, int lane, const char *fmt, ...) MLAF_PRINTF(3, 4);

/* One more operation under vmcnt or lgkmcnt. Counters of 6 and 4 bits: an instruction that would take one past its
 * maximum is not issued before the oldest operation is done, and LLVM counts on that (it emits no wait for a load with
 * 63 younger ones). LDS operations return in order among themselves, whatever scalar loads are under way. */
enum { EMU_VMCNT_MAX = 63, EMU_LGKMCNT_MAX = 15 };
static inline void emu_vm_issue(emu_wave *w) {
  w->vm_issued++;
  if (w->vm_issued - w->vm_done > EMU_VMCNT_MAX) w->vm_done = w->vm_issued - EMU_VMCNT_MAX;
}
static inline void emu_lgkm_issue(emu_wave *w) {
  w->lgkm_issued++;
  if (w->lgkm_issued - w->lgkm_done > EMU_LGKMCNT_MAX) w->lgkm_done = w->lgkm_issued - EMU_LGKMCNT_MAX;
}

/* Slow path of the checks below: works out which rule was broken and reports it. True when it is to be forgiven. */
bool emu_vreg_bad(emu_wave *w, unsigned reg, uint64_t lanes);
/* Every read of a vector register by any instruction goes through this (n consecutive registers, lanes = EXEC, or ~0 for
 * MFMA): initialised, no load in flight. */
static inline bool emu_vreg_check(emu_wave *w, unsigned reg, unsigned n, uint64_t lanes) {
  for (unsigned i = reg; i < reg + n; i++)
    if ((w->v_init[i] & lanes) != lanes || w->v_vm[i] > w->vm_done || w->v_lgkm[i] > w->lgkm_done)
      if (!emu_vreg_bad(w, i, lanes)) return false;
  return true;
}
/* Every write by VALU/MFMA: a load still in flight to the register would overwrite it later (WAW). */
static inline bool emu_vreg_written(emu_wave *w, unsigned reg, unsigned n, uint64_t lanes) {
  for (unsigned i = reg; i < reg + n; i++) {
    if (w->v_vm[i] > w->vm_done || w->v_lgkm[i] > w->lgkm_done)
      if (!emu_vreg_bad(w, i, 0)) return false;
    w->v_init[i] |= lanes;
  }
  return true;
}
/* Marks a register as undefined, wholly or in some bits. Values that are moved, saved or restored may be that (lane masks of
 * which some lanes never got a value, kept in a lane of a vector register): fault.c. `def`: a dword a lane, NULL: no bit is
 * defined. False after emu_fault. */
bool emu_vreg_undefine(emu_wave *w, unsigned reg, uint64_t lanes, const uint32_t *def);
static inline uint32_t emu_vreg_def(const emu_wave *w, unsigned reg, unsigned lane) {
  return w->v_init[reg] >> lane & 1 ? ~0u : w->v_def ? w->v_def[reg][lane] : 0;
}
static inline uint32_t emu_sreg_def(const emu_wave *w, unsigned reg) { return w->s_init[reg] ? ~0u : w->s_def[reg]; }
/* Written, with these bits defined. */
static inline void emu_sreg_set_def(emu_wave *w, unsigned reg, uint32_t def) {
  w->s_init[reg] = def == ~0u;
  w->s_def[reg] = def;
}
/* Scalar operands of any instruction: written since launch, no scalar load in flight. */
bool emu_sreg_bad(emu_wave *w, unsigned reg);
bool emu_scc_bad(emu_wave *w);
static inline bool emu_sreg_check(emu_wave *w, unsigned reg, unsigned n) {
  for (unsigned i = reg; i < reg + n; i++)
    if (!w->s_init[i] || w->s_lgkm[i] > w->smem_done)
      if (!emu_sreg_bad(w, i)) return false;
  return true;
}
/* A scalar write by anything but the load itself. */
static inline bool emu_sreg_write(emu_wave *w, unsigned reg, uint32_t value) {
  if (w->s_lgkm[reg] > w->smem_done && !emu_sreg_bad(w, reg)) return false;
  w->s[reg] = value;
  w->s_init[reg] = true;
  return true;
}
/* Scalar operand as 32 or 64 bits: SREG, CONST or SCC; false after emu_fault(). */
bool emu_sread32(emu_wave *w, const emu_operand *o, uint32_t *out);
bool emu_sread64(emu_wave *w, const emu_operand *o, uint64_t *out);

/* --- tables: each ops_*.c exports one --- */
typedef struct emu_op {
  const char *mnemonic; /* without suffix */
  emu_exec exec;
  uint8_t cls;
  uint8_t dtype;        /* private to the file */
  uint16_t dwords;      /* private */
  const void *aux;      /* private: a descriptor with more than fits above; may be left out */
} emu_op;
/* Each ends with a NULL mnemonic. */
extern const emu_op emu_ops_salu[], emu_ops_smem[], emu_ops_convert[], emu_ops_mfma[], emu_ops_vmem[], emu_ops_ds[];
/* The vector ALU is compiled once per host instruction set: the best table this CPU can run. */
const emu_op *emu_ops_valu(void);
/* After parsing an MFMA: fill passes, check operand widths and even alignment. */
bool emu_mfma_bind(emu_inst *in, mlaf_err *err);

/* --- mode.c: what MODE.gpr_idx_en and MODE.vskip make of an instruction: M0 added to its registers, or nothing. NULL after
 * emu_fault. Good for the next 64 instructions of the wave. */
const emu_inst *emu_mode_changed(emu_wave *w, const emu_inst *in);

/* --- hazard.c: the parser calls bind on every instruction it understood --- */
void emu_hazard_bind(emu_inst *in, const emu_isa *isa);
/* --- hazard.c: called by wave.c around every instruction; it owns w->wait_states. wave.c counts counts.issued. --- */
bool emu_hazard_before(emu_wave *w, const emu_inst *in); /* false after emu_fault */
void emu_hazard_after(emu_wave *w, const emu_inst *in);
bool emu_hazard_wave_init(emu_wave *w);
void emu_hazard_wave_free(emu_wave *w);

/* --- polls.c: after decoding, emu_inst.lds_poll; whether there is one --- */
bool emu_polls_bind(emu_code *code);

/* --- memory.c --- */
/* Host pointer for a guest access of n bytes, or NULL after describing the nearest allocation in `why`.
 * Guest addresses are host addresses of allocations made by the device, the kernarg and nothing else. */
uint8_t *emu_mem_at(emu_device *dev, uint64_t addr, uint32_t n, char *why, size_t why_size);

/* --- lds.c --- */
bool emu_lds_group_init(emu_group *g);
void emu_lds_group_free(emu_group *g);
void emu_lds_barrier(emu_group *g); /* all waves arrived: new epoch */

/* --- timing.c: called by wave.c after every executed instruction; memory ops leave their addresses' cost in w->counts --- */
bool emu_timing_wave_init(emu_wave *w);
void emu_timing_wave_free(emu_wave *w);
bool emu_timing_step(emu_wave *w, const emu_inst *in); /* only when w->timing; false after emu_fault */
void emu_timing_barrier(emu_group *g);

/* --- elf.c, parse.c --- */
typedef struct emu_kernel {
  char symbol[128];
  uint32_t entry;         /* byte offset in .text */
  uint32_t code_bytes;    /* of its function symbol; 0: the symbol has no size */
  uint32_t lds_bytes, scratch_bytes, kernarg_bytes;
  bool kernarg_open;      /* neither descriptor nor metadata says how large: it is what a launch passes */
  uint32_t vgprs, accum_offset; /* accum_offset: first AGPR in the unified file */
  uint32_t user_sgprs;
  bool sgpr_private_buffer, sgpr_dispatch_ptr, sgpr_queue_ptr, sgpr_kernarg_ptr, sgpr_dispatch_id, sgpr_flat_scratch,
      sgpr_private_size;
  bool sgpr_wg[3], sgpr_wg_info, sgpr_wave_offset /* before architected flat scratch */;
  bool dynamic_stack;     /* the compiler could not bound scratch_bytes: calls it cannot see through, alloca */
  uint32_t kernarg_preload_len, kernarg_preload_offset;
  bool communicates;      /* turns.c: it may wait for other workgroups; set by decoding */
  bool lds_flags;         /* polls.c: its waves may wait for each other by flags in LDS; set by decoding */
  uint8_t vgpr_workitem; /* 0 x, 1 xy, 2 xyz: packed in v0 on gfx90a and later */
  uint32_t rsrc1, rsrc2, rsrc3;
} emu_kernel;

struct emu_code {
  uint8_t *image;   /* copy of the ELF */
  size_t size;
  const emu_isa *isa; /* the target it is for; NULL until known, then gfx942 */
  uint64_t text_addr; /* virtual address of .text */
  uint64_t text_size;
  uint64_t guest_base; /* where virtual address 0 lies in device memory, 0 before emu_code_place */
  emu_kernel *kernels;
  size_t n_kernels;
  emu_inst *insts;  /* all of .text in order; built at first launch */
  size_t n_insts;   /* without the guard instruction behind the last one */
  int32_t *index_of; /* pc / 4 -> index into insts, -1 inside an instruction */
  char *disasm;     /* backing store of the texts */
};
mlaf_status emu_code_open(const void *elf, size_t size, emu_code **out, mlaf_err *err);
/* Parse disassembly text (compile.h's format) into code->insts. Unimplemented mnemonics parse; executing one faults. */
mlaf_status emu_code_decode(emu_code *code, char *disasm, mlaf_err *err);
/* The loadable image (constants, variables) in device memory, so that pc-relative addresses mean something. */
size_t emu_code_span(const emu_code *code);
mlaf_status emu_code_place(emu_code *code, void *at, size_t span, mlaf_err *err);
void emu_code_close(emu_code *code);
const emu_inst *emu_code_at(const emu_code *code, uint32_t pc);

/* --- occupancy.c: how many workgroups of a kernel a compute unit holds, at least 1; *limit: what keeps more from it --- */
int emu_resident_groups(const emu_isa *isa, const emu_kernel *k, int waves, uint32_t lds_bytes, const char **limit);

/* --- wave.c: one workgroup --- */
typedef struct emu_grid {
  uint32_t grid[3], block[3];
} emu_grid;
/* State that all workgroups of a launch share. */
typedef struct emu_dispatch {
  emu_device *dev;
  const emu_code *code;
  const emu_kernel *kernel;
  const emu_grid *grid;
  uint32_t lds_bytes;         /* static and dynamic */
  const uint8_t *kernarg;     /* in device memory, kernel->kernarg_bytes long */
  uint64_t packet;            /* device address of the AQL dispatch packet */
  uint64_t max_insts;         /* per wave; more is "does not terminate" */
  const atomic_uint_fast64_t *stop; /* workgroups from this number on give up quietly: an earlier one faulted. May be NULL */
  const atomic_bool *cancel;  /* the caller's: E_CANCELLED. May be NULL */
  void *recorder;             /* timing.c, NULL: nobody is timing */
  struct emu_warnings *warnings; /* strict.h */
  emu_turns *turns;           /* NULL: each workgroup runs to its end */
} emu_dispatch;
/* Registers and LDS of one workgroup of a launch, reused from group to group. NULL: no memory. */
typedef struct emu_arena emu_arena;
emu_arena *emu_arena_new(const emu_dispatch *d);
void emu_arena_free(emu_arena *arena);
size_t emu_arena_bytes(const emu_dispatch *d); /* of host memory, about */
/* Waves at their first instruction; false after a fault (err, kept until the end of the group, holds it). */
bool emu_group_begin(emu_arena *arena, const emu_dispatch *d, const uint32_t id[3], mlaf_err *err);
/* Run on: to the end, or with d->turns until its waves wait for others or had their share. */
typedef enum emu_turn { EMU_TURN_ENDED, EMU_TURN_OVER, EMU_TURN_FAILED /* fault, stop or cancel */ } emu_turn;
emu_turn emu_group_turn(emu_arena *arena, const emu_dispatch *d);
/* Frees what begin took, also after a failure. */
void emu_group_end(emu_arena *arena);
emu_group *emu_arena_group(emu_arena *arena);
/* begin, one turn, end: false after a fault, a stop or a cancel; counts are added to. */
bool emu_group_run(emu_arena *arena, const emu_dispatch *d, const uint32_t id[3], emu_counts *counts, mlaf_err *err);
void emu_group_counts(const emu_arena *arena, emu_counts *counts); /* added to */
