/* The hip back end from inside. */
#pragma once

#include <pthread.h>

#include "device/device.h"
#include "device/matmul.h"
#include "hip/hip_api.h"

typedef struct mlaf_hip {
  mlaf_device_base base; /* first: mlaf_device points here */
  mlaf_hip_api api;
  int ordinal;
  pthread_mutex_t lock;            /* of what follows */
  struct mlaf_hip_module *modules; /* those that are loaded */
  mlaf_matmul_library *library;    /* hipBLASLt, from the first product on */
} mlaf_hip;

/* The module that mlaf_module points to. A kernel's function is HIP's own object; a library's product is its own function
 * (MLAF_LAUNCH_LIBRARY tells them apart). */
typedef struct mlaf_hip_module {
  void *raw;            /* hipModule_t */
  mlaf_matmul *product; /* instead: a library's */
  void *code;           /* a copy: plans that bring the same share it */
  size_t size;
  int users;
  struct mlaf_hip_module *next;
} mlaf_hip_module;
extern const mlaf_matmul_dialect mlaf_hipblaslt;

static inline mlaf_hip *mlaf_hip_of(mlaf_device *dev) { return (mlaf_hip *)dev; }

/* HIP's current device is a property of the calling thread, and the thread is the application's: every operation enters
 * our device and leaves the thread as it found it. No lock, no allocation; legal during capture. */
mlaf_status mlaf_hip_enter(mlaf_hip *h, int *previous, mlaf_err *err);
void mlaf_hip_leave(mlaf_hip *h, int previous);

/* Fill base.info from the runtime and, for what it does not tell (partitions, XCC count, last-level cache), from the
 * kernel's files under `sysfs` ("/sys"; tests use a copy). What cannot be read is "?" in the id and 0 elsewhere. */
mlaf_status mlaf_hip_identify(mlaf_hip *h, const char *sysfs, mlaf_err *err);

/* Facts from sysfs of the GPU at a PCI address such as "0000:c1:00.0". */
typedef struct mlaf_hip_sysfs {
  char compute[16], memory[16]; /* "SPX", "NPS1"; "?" when not readable */
  int xcc;                      /* 0: unknown */
  int64_t llc_bytes;            /* 0: unknown */
  char driver[32];              /* amdgpu module version, "" unknown */
} mlaf_hip_sysfs;
void mlaf_hip_read_sysfs(const char *sysfs, const char *pci, mlaf_hip_sysfs *out);

/* --- module.c --- */
mlaf_status mlaf_hip_module_load(mlaf_device *dev, const void *code, size_t size, mlaf_module **out, mlaf_err *err);
void mlaf_hip_module_unload(mlaf_device *dev, mlaf_module *module);
mlaf_status mlaf_hip_function_get(mlaf_device *dev, mlaf_module *module, const char *symbol, mlaf_function **out, mlaf_err *err);

/* --- library.c --- */
mlaf_status mlaf_hip_library_open(mlaf_device *dev, mlaf_err *err);
void mlaf_hip_library_close(mlaf_hip *h);
/* Loads a library's product. Called with the lock held. */
mlaf_status mlaf_hip_product_load(mlaf_hip *h, const void *code, size_t size, mlaf_matmul **out, mlaf_err *err);
size_t mlaf_hip_library_workspace(const mlaf_function *fn);
mlaf_status mlaf_hip_product_launch(mlaf_hip *h, void *stream, const mlaf_launch *launch, mlaf_err *err);

mlaf_status mlaf_hip_launch(mlaf_device *dev, void *stream, const mlaf_launch *launch, mlaf_err *err);
mlaf_status mlaf_hip_time(mlaf_device *dev, const mlaf_launch *launches, size_t n, const mlaf_time_opts *opts,
                          mlaf_timing *out, mlaf_err *err);
