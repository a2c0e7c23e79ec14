/* The cuda back end from inside. */
#ifndef MLAF_CUDA_DEVICE_H
#define MLAF_CUDA_DEVICE_H

#include "cuda/cuda_api.h"
#include "device/device.h"

typedef struct mlaf_cuda {
  mlaf_device_base base; /* first: mlaf_device points here */
  mlaf_cuda_api api;
  int device;    /* CUdevice */
  void *context; /* the primary context: the one the application's runtime API uses */
} mlaf_cuda;

/* Dynamic shared memory is a launch parameter in CUDA. Here it belongs to the code object, like LDS on AMD: a kernel K
 * that wants some is accompanied by `extern "C" __device__ const unsigned K_dynamic_shared = BYTES;`, which is read from
 * the cubin's symbol table (compilers make it a local symbol, and no driver promises to look those up). */
#define MLAF_CUDA_SHARED_SUFFIX "_dynamic_shared"

struct mlaf_function {
  void *raw; /* CUfunction */
  uint32_t dynamic_shared;
  struct mlaf_function *next;
};
typedef struct mlaf_cuda_want {
  char kernel[128];
  uint32_t bytes;
} mlaf_cuda_want;
struct mlaf_module {
  void *raw;                /* CUmodule */
  mlaf_cuda_want *wants;    /* kernels with dynamic shared memory */
  size_t n_wants;
  mlaf_function *functions; /* handed out, freed with the module */
};

static inline mlaf_cuda *mlaf_cuda_of(mlaf_device *dev) { return (mlaf_cuda *)dev; }

/* CUDA's current context is a property of the calling thread, and the thread is the application's: every operation
 * enters our context and leaves the thread as it found it. No lock, no allocation; legal during capture. */
mlaf_status mlaf_cuda_enter(mlaf_cuda *c, bool *pushed, mlaf_err *err);
void mlaf_cuda_leave(mlaf_cuda *c, bool pushed);

/* Fill base.info; `sysfs` ("/sys"; tests use a copy) tells the kernel module's version. The id is compute capability,
 * SMs, L2 and memory bus: what tells an H100 from an H200 and a MIG slice from a whole GPU. */
mlaf_status mlaf_cuda_identify(mlaf_cuda *c, const char *sysfs, mlaf_err *err);

mlaf_status mlaf_cuda_module_load(mlaf_device *dev, const void *code, size_t size, mlaf_module **out, mlaf_err *err);
void mlaf_cuda_module_unload(mlaf_device *dev, mlaf_module *module);
mlaf_status mlaf_cuda_function_get(mlaf_device *dev, mlaf_module *module, const char *symbol, mlaf_function **out,
                                   mlaf_err *err);
mlaf_status mlaf_cuda_launch(mlaf_device *dev, void *stream, const mlaf_launch *launch, mlaf_err *err);
mlaf_status mlaf_cuda_time(mlaf_device *dev, const mlaf_launch *launches, size_t n, const mlaf_time_opts *opts,
                           mlaf_timing *out, mlaf_err *err);

#endif
