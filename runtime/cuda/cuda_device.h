/* The cuda back end from inside. */
#pragma once

#include <pthread.h>

#include "cuda/cuda_api.h"
#include "device/device.h"
#include "device/matmul.h"

typedef struct mlaf_cuda {
  mlaf_device_base base; /* first: mlaf_device points here */
  mlaf_cuda_api api;
  int device;    /* CUdevice */
  void *context; /* the primary context: the one the application's runtime API uses */
  bool can_overlap; /* compute capability 9.0 or later: programmatic dependent launch */
  bool reaches_host; /* kernels may read any host memory (GH200) */
  bool graphs; /* some launches behind each other may be one graph (chain.c) */
  uint64_t serial; /* no two devices that were ever opened have one */
  pthread_mutex_t lock; /* of the lists below and the library */
  mlaf_module *modules; /* that are loaded: plans of one kernel share it */
  mlaf_chain *chains;   /* that are open: plans of the same kernels share one */
  mlaf_matmul_library *library; /* cuBLASLt, from the first product on */
} mlaf_cuda;

/* Dynamic shared memory is a launch parameter in CUDA. Here it belongs to the code object, like LDS on AMD: a kernel's
 * K_launch says it (device/kernel_launch.h). */
struct mlaf_function {
  void *raw; /* CUfunction */
  mlaf_matmul *product; /* instead: MLAF_KERNEL_LIBRARY */
  uint32_t dynamic_shared;
  size_t args_size; /* of its one parameter; 0 where the driver does not tell */
  struct mlaf_function *next;
  char symbol[]; /* its name */
};
struct mlaf_module {
  void *raw;                /* CUmodule */
  mlaf_matmul *product;     /* instead: a library's */
  void *code;               /* a copy: what a cubin's kernels want is read when they are asked for */
  size_t size;
  mlaf_function *functions; /* handed out, freed with the module: one for each kernel asked for */
  int users;
  mlaf_module *next;
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
extern const mlaf_matmul_dialect mlaf_cublaslt;
mlaf_status mlaf_cuda_library_open(mlaf_device *dev, mlaf_err *err);
size_t mlaf_cuda_library_workspace(const mlaf_function *fn);
mlaf_status mlaf_cuda_tensor_map(mlaf_device *dev, const mlaf_tensor *t, void *map, mlaf_err *err);
mlaf_status mlaf_cuda_launch(mlaf_device *dev, void *stream, const mlaf_launch *launch, mlaf_err *err);
mlaf_status mlaf_cuda_chain_open(mlaf_device *dev, const mlaf_launch *like, size_t n, mlaf_chain **out, mlaf_err *err);
void mlaf_cuda_chain_close(mlaf_device *dev, mlaf_chain *chain);
mlaf_status mlaf_cuda_chain_launch(mlaf_device *dev, void *stream, mlaf_chain *chain, const mlaf_launch *launches, size_t n,
                                   mlaf_err *err);
mlaf_status mlaf_cuda_time(mlaf_device *dev, const mlaf_launch *launches, size_t n, const mlaf_time_opts *opts,
                           mlaf_timing *out, mlaf_err *err);
/* By cuBLASLt, as compile/vendor.h finds it; device/device.h. */
mlaf_status mlaf_cuda_time_matmul(mlaf_device *dev, int n, const void *a, const void *b, void *product,
                                  const mlaf_time_opts *opts, mlaf_timing *out, mlaf_err *err);
