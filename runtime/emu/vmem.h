/* Atomic read-modify-write operations, the same for LDS and memory: ops_atomic.c. */
#pragma once

#include <stdint.h>

typedef enum emu_atomic {
  EMU_SWAP, EMU_CMPSWAP, EMU_FCMPSWAP, EMU_ADD, EMU_SUB, EMU_RSUB, EMU_SMIN, EMU_UMIN, EMU_SMAX, EMU_UMAX, EMU_AND, EMU_OR,
  EMU_XOR, EMU_INC, EMU_DEC, EMU_FADD, EMU_FMIN, EMU_FMAX, EMU_PK_ADD_F16, EMU_PK_ADD_BF16,
  EMU_MSKOR, EMU_WRAP, EMU_CONDXCHG /* LDS only */
} emu_atomic;

/* Data operands: 2 for compare-and-swap and what LDS has like it, else 1. */
unsigned emu_atomic_operands(emu_atomic op);
/* The new memory value; `cmp` is used by operations with two operands only (mskor: the mask, wrap: the limit). words is 1 or
 * 2 dwords. */
uint64_t emu_atomic_apply(emu_atomic op, unsigned words, uint64_t mem, uint64_t data, uint64_t cmp);
/* Apply it to memory, atomically among the host's threads; the old value. `addr` is aligned. */
uint64_t emu_atomic_memory(emu_atomic op, unsigned words, uint64_t addr, uint64_t data, uint64_t cmp);
