/* Vector memory from inside: where the lanes of one instruction access, shared by ops_vmem.c (addresses, memory), ops_apart.c
 * (private memory, and flat addresses inside the LDS or private aperture) and ops_format.c (typed buffers). */
#pragma once

#include "emu/emu.h"

typedef enum emu_space { EMU_GLOBAL, EMU_FLAT, EMU_BUFFER, EMU_SCRATCH } emu_space;
typedef enum emu_conv {
  EMU_RAW, EMU_U8, EMU_I8, EMU_U16, EMU_I16, EMU_U8_LO, EMU_U8_HI, EMU_I8_LO, EMU_I8_HI, EMU_U16_LO, EMU_U16_HI, EMU_ST8,
  EMU_ST16, EMU_ST8_HI, EMU_ST16_HI
} emu_conv;

typedef struct emu_vm_op {
  uint8_t space, conv, bytes;
  bool lds; /* global_load_lds_*, scratch_load_lds_*: always; buffer_load_*: by its lds flag */
} emu_vm_op;

typedef struct emu_place {
  uint64_t addr[EMU_LANES]; /* host addresses; offsets for the lanes of lds and priv */
  uint64_t lanes; /* active, in memory */
  uint64_t whole; /* of these, completely in range */
  uint64_t lds, priv; /* active, in the workgroup's LDS and in the lane's private memory */
  uint32_t room[EMU_LANES]; /* bytes in range, for lanes that are active and not whole */
} emu_place;

/* --- ops_vmem.c --- */
bool emu_locate(emu_wave *w, const emu_inst *in, const emu_vm_op *op, const emu_operand *vaddr, const emu_operand *rest,
                unsigned bytes, emu_place *p);
/* Every byte inside one live allocation and, when looked at, written; false after emu_fault. `what`: "load", "store",
 * "atomic". */
bool emu_place_check(emu_wave *w, const emu_place *p, unsigned bytes, const char *what);
/* Counters, and the register a load goes to must not be the target of an LDS load in flight. */
bool emu_vm_begin(emu_wave *w, const emu_vm_op *op, const emu_operand *dst, unsigned n);
void emu_vm_in_flight(emu_wave *w, const emu_vm_op *op, unsigned reg, unsigned n, uint64_t lanes);
/* One lane's data of a load, extended or merged with the register's old contents. */
uint32_t emu_narrow(emu_conv c, uint32_t x, uint32_t old);
/* 1, 3 or 4 dwords per lane, from M0 on, lane after lane; `data` has been checked and read. */
bool emu_to_lds(emu_wave *w, const emu_inst *in, const emu_vm_op *op, uint64_t lanes, uint32_t (*data)[EMU_LANES],
                unsigned words);

/* --- ops_apart.c: loads, stores and atomics with lanes in LDS or private memory; the place is located, nothing is checked --- */
bool emu_apart_load(emu_wave *w, const emu_inst *in, const emu_vm_op *op, const emu_place *p);
bool emu_apart_store(emu_wave *w, const emu_inst *in, const emu_vm_op *op, const emu_place *p, unsigned src);
bool emu_apart_atomic(emu_wave *w, const emu_inst *in, const emu_vm_op *op, const emu_place *p, const emu_operand *data,
                      bool rtn);
/* The private memory of a workgroup's waves, as the kernel's descriptor sizes it. */
bool emu_private_init(emu_group *g);
size_t emu_private_bytes(const emu_kernel *k); /* of host memory a wave */
void emu_private_free(emu_group *g);

/* --- ops_format.c: typed buffer loads and stores; emu_ops_format is their table --- */
extern const emu_op emu_ops_format[];
