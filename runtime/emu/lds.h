/* LDS with its race detector, from inside: lds.c, ops_ds.c and the direct-to-LDS loads of ops_vmem.c.
 *
 * Shadow of every dword: who wrote it and who read it since the last barrier. Two accesses of different waves, at
 * least one a write, in the same epoch (interval between barriers) are a race. An operation still outstanding when its
 * wave arrives at a barrier is carried into the next epoch, as if it happened there: that is what a missing s_waitcnt
 * before s_barrier means. Bytes of sub-dword accesses have their own shadow, made when the first one happens. Kernels with flags
 * in LDS: lds_order.c. */
#pragma once

#include "emu/emu.h"
#include "emu/memory.h"

typedef enum emu_lds_kind { EMU_LDS_READ, EMU_LDS_WRITE, EMU_LDS_ATOMIC, EMU_LDS_DMA } emu_lds_kind;

enum { EMU_LDS_RING = 64, EMU_LDS_WAVES = 16 };

/* The latest LDS operations of a wave: what the barrier carries over and where messages find the other pc. */
typedef struct emu_lds_op {
  uint32_t seq; /* w->lgkm_issued (DS) or w->vm_issued (DMA) after its issue */
  uint8_t kind, bytes;
  bool by_byte;   /* narrower than a dword, or not at a dword's place */
  bool carried;   /* a barrier was passed before it was waited for */
  uint64_t at; /* on the wave's clock (clock.h): when it was issued */
  const emu_inst *inst;
  uint64_t lanes;
  uint32_t lo, hi; /* of the addresses below */
  uint32_t addr[EMU_LANES];
} emu_lds_op;

/* Rings of their own, because loads to LDS stay outstanding (vmcnt up to 63) over many DS operations (lgkmcnt up to 15). */
typedef struct emu_lds_ring {
  uint32_t n; /* op[(n - 1) % EMU_LDS_RING] is the latest */
  emu_lds_op *op;
} emu_lds_ring;
typedef struct emu_lds_wave {
  emu_lds_ring ds, dma;
} emu_lds_wave;

typedef struct emu_lds_order emu_lds_order; /* lds_order.c */
typedef struct emu_lds {
  uint32_t epoch;    /* 1..65535, wraps with a clean shadow */
  uint8_t *valid;    /* [bytes] 0xff once written */
  uint32_t *written; /* [dwords] epoch << 8 | wave of the last whole-dword write */
  uint32_t *read;    /* [dwords] epoch << 16 | mask of waves that read it whole in that epoch */
  uint32_t *atomic;  /* [dwords] same for atomics; NULL until the first */
  uint32_t *dma;     /* [dwords] wave << 28 | vm sequence of the last direct-to-LDS write; NULL until the first */
  uint32_t *written1, *read1; /* [bytes] as written and read, for sub-dword accesses; NULL until the first */
  uint32_t *same;    /* [bytes] epoch << 16 | waves that wrote this byte, all the same value; NULL until two did */
  emu_lds_order *order; /* the kernel has flags in LDS; then none of the tags above but valid and dma; else NULL */
  /* Data that the write being checked is going to store: rows of registers, shifted right. NULL: not known. */
  const uint32_t (*data)[EMU_LANES];
  const uint32_t *data_addr; /* and where: a byte address a lane */
  uint8_t data_shift, data_bytes;
  emu_lds_wave waves[EMU_LDS_WAVES];
  emu_span hit[4];   /* allocations that vector memory hit last */
  unsigned next_hit;
} emu_lds;

/* Check one wave-wide access and record it: bounds, alignment, initialised (reads), races. addr[l] valid for lanes set
 * in `lanes`. `bytes` 1, 2, 4, 8, 12 or 16 per lane. False after emu_fault. */
bool emu_lds_access(emu_wave *w, const emu_inst *in, emu_lds_kind kind, const uint32_t addr[EMU_LANES], unsigned bytes,
                    uint64_t lanes);

/* The same for a write of these registers: two waves that write the same value to one byte do each other no harm. */
bool emu_lds_write(emu_wave *w, const emu_inst *in, const uint32_t addr[EMU_LANES], unsigned bytes, uint64_t lanes,
                   const uint32_t (*data)[EMU_LANES], unsigned shift);

/* --- between lds.c and lds_order.c --- */
bool emu_lds_order_init(emu_lds *l, size_t bytes);
void emu_lds_order_free(emu_lds *l);
bool emu_lds_ordered(emu_wave *w, const emu_inst *in, emu_lds_kind kind, const uint32_t *addr, unsigned bytes, uint64_t lanes);
void emu_lds_order_barrier(emu_group *g);
/* Reports; true when it is to be forgiven. */
bool emu_lds_race(emu_wave *w, int lane, uint32_t byte, emu_lds_kind kind, int other, unsigned other_kinds);
bool emu_lds_unwritten(emu_wave *w, uint32_t byte, int lane, emu_lds_kind kind);
/* This wave's own load to LDS in flight to the byte is an error. */
bool emu_lds_own_dma(emu_wave *w, int lane, uint32_t byte, emu_lds_kind kind);
bool emu_lds_dma_in_flight(const emu_wave *w, uint32_t byte);
/* A write by two waves of one value, which no rule asks to report. */
bool emu_lds_same_value(emu_wave *w, emu_lds_kind kind, int lane, uint32_t byte, int other);
emu_lds_op *emu_lds_recent(const emu_lds_ring *r, uint32_t n);
bool emu_lds_op_done(const emu_wave *w, const emu_lds_op *op);

/* LDS port clocks of an access, from the phase rule of the bank table. */
unsigned emu_lds_clocks(emu_lds_kind kind, const uint32_t addr[EMU_LANES], unsigned bytes, uint64_t lanes);
