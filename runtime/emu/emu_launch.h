/* The emulator's device from inside, and how a launch runs: shared by launch.c, device.c, memory.c and timing.c. */
#pragma once

#include <pthread.h>

#include "compile/compile.h"
#include "emu/emu.h"

typedef struct emu_memory emu_memory; /* memory.c */
typedef struct emu_warnings emu_warnings; /* strict.h */

struct emu_device {
  mlaf_device_base base; /* first: a mlaf_device is one of these */
  const emu_isa *isa;
  mlaf_log log;
  emu_memory *memory;
  pthread_mutex_t lock;     /* guards lazy decoding and the compiler handle */
  mlaf_compiler *compiler;  /* opened at the first decode: only its disassembler is used */
  int threads;              /* MLAF_EMU_THREADS, else online CPUs */
  uint64_t max_insts;       /* MLAF_EMU_MAX_INSTS: of a wave, else 2^33 */
  uint64_t max_bytes;       /* MLAF_EMU_MAX_MEMORY: of the host, for a recording or for workgroups that take turns, else 4 GiB */
  bool tracking;            /* some allocation knows which of its bytes were written */
  uint32_t forgiven, extra; /* MLAF_EMU_STRICT: bit per emu_rule that is counted only; checked beside the usual ones */
};

/* A loaded code object. Decoded at its first launch. */
struct mlaf_module {
  emu_device *dev;
  emu_code *code;
  mlaf_function *functions; /* one per kernel, same order as code->kernels */
  mlaf_kernel_meta *meta;   /* of those that the metadata names, in its order */
  void *image;              /* the loadable segments in device memory */
  bool decoded;
};
struct mlaf_function {
  mlaf_module *module;
  const emu_kernel *kernel;
  const mlaf_kernel_meta *meta; /* NULL: no metadata that can be read */
};

/* --- memory.c: the allocations of one device. All are safe to call from several threads; reads of the table by running
 * workgroups (emu_mem_at) never overlap alloc/free, because a launch runs to its end before returning. --- */
mlaf_status emu_memory_open(emu_device *dev, mlaf_err *err);
void emu_memory_close(emu_device *dev);
mlaf_status emu_mem_alloc(emu_device *dev, size_t bytes, void **ptr, mlaf_err *err);
mlaf_status emu_mem_free(emu_device *dev, void *ptr, mlaf_err *err);
mlaf_status emu_mem_write(emu_device *dev, void *dst, const void *src, size_t bytes, mlaf_err *err);
mlaf_status emu_mem_read(emu_device *dev, void *dst, const void *src, size_t bytes, mlaf_err *err);
mlaf_status emu_mem_fill(emu_device *dev, void *dst, int byte, size_t bytes, mlaf_err *err);
mlaf_status emu_mem_undefine(emu_device *dev, void *at, size_t bytes, mlaf_err *err);
mlaf_status emu_mem_register(emu_device *dev, void *host, size_t bytes, bool read_only, mlaf_err *err);
mlaf_status emu_mem_unregister(emu_device *dev, void *host, size_t bytes, mlaf_err *err);

/* --- device.c --- */
/* Disassemble and decode a module once; safe to call from several threads. */
mlaf_status emu_module_decode(mlaf_module *module, mlaf_err *err);

/* --- launch.c --- */
/* Which workgroups of a grid to run: NULL runs all. Called on the worker threads. */
typedef bool (*emu_launch_filter)(void *ctx, const uint32_t id[3]);
/* Called on a worker thread after each finished workgroup with that workgroup's counts; may be NULL. Calls do not overlap. */
typedef void (*emu_launch_done)(void *ctx, const uint32_t id[3], const emu_counts *counts);
/* Decode if needed, run the (filtered) grid over dev->threads host threads. The first fault stops every thread and is
 * returned as MLAF_E_FAULT. `total` (may be NULL) gets the sum over the workgroups run; `ran` their number. */
typedef struct emu_launch_opts {
  emu_launch_filter filter;
  emu_launch_done done;
  void *ctx;
  int threads;        /* 0: dev->threads */
  uint64_t max_insts; /* per wave; 0: dev->max_insts */
  void *recorder;     /* timing.c's, becomes emu_group.timing */
} emu_launch_opts;
mlaf_status emu_launch_run(emu_device *dev, const mlaf_launch *launch, const emu_launch_opts *opts, emu_counts *total,
                           uint64_t *ran, mlaf_err *err);
void emu_counts_add(emu_counts *sum, const emu_counts *part);

/* --- timing.c: the device's `time` --- */
mlaf_status emu_time(emu_device *dev, const mlaf_launch *launches, size_t n, const mlaf_time_opts *opts,
                     mlaf_timing *out, mlaf_err *err);
