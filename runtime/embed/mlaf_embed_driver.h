/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* For mlaf_embed.c alone: the calls it makes of the HIP or CUDA driver library, found by dlopen. */
#ifndef MLAF_EMBED_DRIVER_H
#define MLAF_EMBED_DRIVER_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* uselocale; the first header that is included */
#endif
#include <dlfcn.h>
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Both drivers' calls; those with the same shape share a member. */
typedef struct driver {
  int cuda;
  int (*init)(unsigned), (*count)(int *);
  int (*module_unload)(void *), (*get_function)(void **, void *, const char *), (*module_load)(void **, const void *);
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
  int (*get_device)(int *), (*set_device)(int);                                   /* HIP */
  int (*attribute)(int *, int, int);
  int (*device_get)(int *, int);                                                  /* CUDA from here on */
  int (*retain)(void **, int), (*release)(int), (*push)(void *), (*pop)(void **);
  int (*set_attribute)(void *, int, int);
  int (*launch_ex)(const void *, void *, void **, void **);
  int (*encode)(void *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *, const uint32_t *, int, int,
                int, int);
} driver;
typedef union launch_value { char bytes[64]; unsigned cluster[3]; int overlap; } launch_value;
typedef struct launch_attribute { int id; char pad[4]; launch_value value; } launch_attribute;
typedef struct config { unsigned grid[3], block[3], shared; void *stream; launch_attribute *list; unsigned n; } launch_config;
enum { CUDA_UNITS = 16, CUDA_CC_MAJOR = 75, CUDA_CC_MINOR = 76, CUDA_CLUSTER = 4, CUDA_OVERLAP = 6, HIP_UNITS = 63 };
enum { CUDA_MAX_DYNAMIC_SHARED = 8, CUDA_SHARED_PERCENT = 9, CUDA_WIDE_CLUSTER = 14 }; /* a function's */

typedef struct wanted { const char *name; void *to; int optional; } wanted;

/* The library is never unloaded: drivers do not survive being unloaded. */
static int open_driver(const char *variable, const char *const *names, const wanted *list, size_t n) {
  const char *named = getenv(variable);
  void *handle = named && *named ? dlopen(named, RTLD_NOW | RTLD_LOCAL) : NULL;
  for (; !handle && !(named && *named) && *names; names++) handle = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
  for (size_t i = 0; handle && i < n; i++) {
    void *f = dlsym(handle, list[i].name);
    if (!f && !list[i].optional) return 0;
    memcpy(list[i].to, &f, sizeof f);
  }
  return handle != NULL;
}

static int load_hip(driver *d) {
  static const char *const names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so",
                                      "/opt/rocm/lib/libamdhip64.so", NULL};
  *d = (driver){0};
  const wanted list[] = {{"hipInit", &d->init, 0}, {"hipGetDeviceCount", &d->count, 0}, {"hipModuleLoadData", &d->module_load, 0},
                         {"hipModuleUnload", &d->module_unload, 0}, {"hipModuleGetFunction", &d->get_function, 0},
                         {"hipModuleLaunchKernel", &d->launch, 0}, {"hipGetDevice", &d->get_device, 0},
                         {"hipSetDevice", &d->set_device, 0}, {"hipDeviceGetAttribute", &d->attribute, 0}};
  return open_driver("MLAF_HIP_LIBRARY", names, list, sizeof list / sizeof *list);
}

static int load_cuda(driver *d) {
  static const char *const names[] = {"libcuda.so.1", "libcuda.so", "/usr/lib/wsl/lib/libcuda.so.1", NULL};
  *d = (driver){.cuda = 1};
  const wanted list[] = {{"cuInit", &d->init, 0}, {"cuDeviceGetCount", &d->count, 0}, {"cuModuleLoadData", &d->module_load, 0},
                         {"cuModuleUnload", &d->module_unload, 0}, {"cuModuleGetFunction", &d->get_function, 0},
                         {"cuLaunchKernel", &d->launch, 0}, {"cuDeviceGet", &d->device_get, 0},
                         {"cuDeviceGetAttribute", &d->attribute, 0}, {"cuDevicePrimaryCtxRetain", &d->retain, 0},
                         {"cuDevicePrimaryCtxRelease_v2", &d->release, 0}, {"cuCtxPushCurrent_v2", &d->push, 0},
                         {"cuCtxPopCurrent_v2", &d->pop, 0}, {"cuFuncSetAttribute", &d->set_attribute, 0},
                         {"cuLaunchKernelEx", &d->launch_ex, 1}, {"cuTensorMapEncodeTiled", &d->encode, 1}};
  return open_driver("MLAF_CUDA_LIBRARY", names, list, sizeof list / sizeof *list);
}

#endif
