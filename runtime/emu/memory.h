/* Device memory of the emulator: what ops_vmem.c and timing.c need beyond emu_mem_at. */
#pragma once

#include "emu/emu_launch.h"

/* One live allocation, [lo, hi) in guest = host addresses. */
typedef struct emu_span {
  uint64_t lo, hi;
  uint8_t *written; /* [hi - lo] 0 where nothing was written since it was declared undefined; NULL: nobody tracks it */
  bool host;        /* registered host memory, not the device's own */
  bool read_only;   /* host memory that kernels must not write */
} emu_span;

/* The allocation that holds [addr, addr + n) whole, NULL when none does. The pointer is good until the next
 * alloc or free; a launch makes neither and holds off those of other threads (pin). */
const emu_span *emu_mem_find(const emu_device *dev, uint64_t addr, uint64_t n);
/* "0x... is 16 bytes past the end of the 4096-byte allocation at 0x...": says where a bad access points. */
void emu_mem_describe(const emu_device *dev, uint64_t addr, uint64_t n, char *why, size_t why_size);
/* Between the two no allocation comes, goes or moves in the table: alloc and free wait. Any number of pins at once. */
void emu_mem_pin(emu_device *dev);
void emu_mem_unpin(emu_device *dev);
/* Reads of what nothing wrote: false after emu_fault (rule global-unwritten). `lane` as in emu_fault. The bytes lie in one
 * allocation. */
bool emu_global_written(emu_wave *w, int lane, uint64_t addr, uint64_t n, const char *what);
/* A kernel writes them: false after emu_fault, where they are host memory that was registered for reading. */
bool emu_global_write(emu_wave *w, int lane, uint64_t addr, uint64_t n);
/* All live allocations in address order. */
const emu_span *emu_mem_spans(const emu_device *dev, size_t *n);

/* Services behind hidden arguments that a real runtime has and the emulator has not: each has a page of addresses that no
 * allocation holds, so that a message can say what a kernel wanted. */
#define EMU_ABSENT_BASE (UINT64_C(3) << 48)
enum { EMU_ABSENT_BYTES = 1 << 20, EMU_ABSENT_COUNT = 6 };
typedef struct emu_absent_service {
  int hidden; /* mlaf_hidden */
  const char *what;
} emu_absent_service;
extern const emu_absent_service emu_absent[EMU_ABSENT_COUNT];
