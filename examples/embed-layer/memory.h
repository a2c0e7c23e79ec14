/* Device memory from the driver that the loader uses; a real program has its own (hipMalloc, cudaMalloc, a tensor library). */
#ifndef EMBED_LAYER_MEMORY_H
#define EMBED_LAYER_MEMORY_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int (*device_alloc)(void **, size_t);
static int (*hip_copy)(void *, const void *, size_t, int);
static int (*cuda_up)(uint64_t, const void *, size_t), (*cuda_down)(void *, uint64_t, size_t);

static void find(void *handle, const char *name, void *to) {
  void *f = dlsym(handle, name);
  memcpy(to, &f, sizeof f);
}

static void open_memory(const char *target) {
  const int cuda = !strncmp(target, "sm_", 3);
  const char *named = getenv(cuda ? "MLAF_CUDA_LIBRARY" : "MLAF_HIP_LIBRARY");
  void *driver = dlopen(named ? named : cuda ? "libcuda.so.1" : "libamdhip64.so", RTLD_NOW), *context = NULL;
  if (!driver) exit((fprintf(stderr, "%s\n", dlerror()), 1));
  find(driver, cuda ? "cuMemAlloc_v2" : "hipMalloc", &device_alloc);
  if (!cuda) {
    find(driver, "hipMemcpy", &hip_copy);
    return;
  }
  int (*retain)(void **, int), (*set_current)(void *);
  find(driver, "cuDevicePrimaryCtxRetain", &retain);
  find(driver, "cuCtxSetCurrent", &set_current);
  retain(&context, 0);
  set_current(context);
  find(driver, "cuMemcpyHtoD_v2", &cuda_up);
  find(driver, "cuMemcpyDtoH_v2", &cuda_down);
}

static void up(void *p, const void *data, size_t size) {
  const int bad = hip_copy ? hip_copy(p, data, size, 1) : cuda_up((uint64_t)(uintptr_t)p, data, size);
  if (bad) exit((fprintf(stderr, "copy to the device: driver error %d\n", bad), 1));
}

/* Waits for the default stream. */
static void down(void *data, const void *p, size_t size) {
  const int bad = hip_copy ? hip_copy(data, p, size, 2) : cuda_down(data, (uint64_t)(uintptr_t)p, size);
  if (bad) exit((fprintf(stderr, "copy from the device: driver error %d\n", bad), 1));
}

static void *to_device(const void *data, size_t size) {
  void *p = NULL;
  const int bad = device_alloc(&p, size ? size : 256);
  if (bad) exit((fprintf(stderr, "device memory: driver error %d\n", bad), 1));
  if (data) up(p, data, size);
  return p;
}

#endif
