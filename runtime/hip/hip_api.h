/* The part of the HIP runtime API that is used here, found at run time. Declared by hand because HIP headers are not
 * there when this is built; numbers and layouts are those of HIP 5 to 7, which keep them for binary compatibility. */
#pragma once

#include "base/base.h"

/* hipError_t values that mean something to us. */
enum { HIP_OK = 0, HIP_INVALID_VALUE = 1, HIP_OUT_OF_MEMORY = 2, HIP_NO_DEVICE = 100, HIP_INVALID_DEVICE = 101,
       HIP_NO_BINARY_FOR_GPU = 209,
       HIP_NOT_READY = 600, HIP_LAUNCH_TIMEOUT = 702, HIP_CAPTURE_IMPLICIT = 906 };
enum { HIP_HOST_TO_DEVICE = 1, HIP_DEVICE_TO_HOST = 2 };
enum { HIP_STREAM_NON_BLOCKING = 1, HIP_CAPTURE_THREAD_LOCAL = 1 };
/* hipDeviceAttribute_t: the CUDA-compatible block is frozen (removed entries left placeholders). */
enum {
  HIP_ATTR_CLOCK_KHZ = 5, HIP_ATTR_L2_BYTES = 19, HIP_ATTR_MAX_THREADS = 56, HIP_ATTR_MEM_CLOCK_KHZ = 60,
  HIP_ATTR_CU_COUNT = 63, HIP_ATTR_LDS_BYTES = 74, HIP_ATTR_WAVE_SIZE = 87,
  HIP_ATTR_XCC_COUNT = 10018 /* since ROCm 7; an error before */
};
/* hipPointerAttribute_t. `type` changed its numbers with ROCm 6; what is not the runtime's has no address for kernels. */
typedef struct mlaf_hip_pointer {
  int type, device;
  void *for_kernels, *for_host;
  char rest[32];
} mlaf_hip_pointer;
/* Kernel arguments as one block: the `extra` array of hipModuleLaunchKernel. */
#define HIP_PARAM_POINTER ((void *)1)
#define HIP_PARAM_SIZE ((void *)2)
#define HIP_PARAM_END ((void *)3)

/* X(name, (parameters)): every entry returns hipError_t (int) and must exist, or the library is not used. */
#define MLAF_HIP_FUNCTIONS(X)                                                                                        \
  X(hipInit, (unsigned flags))                                                                                       \
  X(hipGetDeviceCount, (int *count))                                                                                 \
  X(hipGetDevice, (int *device))                                                                                     \
  X(hipSetDevice, (int device))                                                                                      \
  X(hipDeviceGetName, (char *name, int size, int device))                                                            \
  X(hipDeviceGetAttribute, (int *value, int attribute, int device))                                                  \
  X(hipDeviceGetPCIBusId, (char *id, int size, int device))                                                          \
  X(hipDeviceTotalMem, (size_t *bytes, int device))                                                                  \
  X(hipDeviceSynchronize, (void))                                                                                    \
  X(hipDriverGetVersion, (int *version))                                                                             \
  X(hipRuntimeGetVersion, (int *version))                                                                            \
  X(hipMalloc, (void **ptr, size_t bytes))                                                                           \
  X(hipFree, (void *ptr))                                                                                            \
  X(hipMemcpy, (void *dst, const void *src, size_t bytes, int kind))                                                 \
  X(hipMemset, (void *dst, int value, size_t bytes))                                                                 \
  X(hipModuleLoadData, (void **module, const void *image))                                                           \
  X(hipModuleUnload, (void *module))                                                                                 \
  X(hipModuleGetFunction, (void **function, void *module, const char *name))                                         \
  X(hipModuleLaunchKernel, (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,    \
                            unsigned bz, unsigned lds, void *stream, void **params, void **extra))                   \
  X(hipStreamCreateWithFlags, (void **stream, unsigned flags))                                                       \
  X(hipStreamDestroy, (void *stream))                                                                                \
  X(hipStreamSynchronize, (void *stream))                                                                            \
  X(hipStreamIsCapturing, (void *stream, int *status))                                                               \
  X(hipPointerGetAttributes, (mlaf_hip_pointer * attributes, const void *ptr))                                       \
  X(hipEventCreate, (void **event))                                                                                  \
  X(hipEventDestroy, (void *event))                                                                                  \
  X(hipEventRecord, (void *event, void *stream))                                                                     \
  X(hipEventSynchronize, (void *event))                                                                              \
  X(hipEventElapsedTime, (float *ms, void *start, void *stop))

/* Graphs, for timing: all of them, or all NULL and launches are timed one by one. */
#define MLAF_HIP_GRAPH_FUNCTIONS(X)                                                                                  \
  X(hipStreamBeginCapture, (void *stream, int mode))                                                                 \
  X(hipStreamEndCapture, (void *stream, void **graph))                                                               \
  X(hipGraphInstantiate, (void **exec, void *graph, void **node, char *log, size_t log_size))                        \
  X(hipGraphLaunch, (void *exec, void *stream))                                                                      \
  X(hipGraphExecDestroy, (void *exec))                                                                               \
  X(hipGraphDestroy, (void *graph))

typedef struct mlaf_hip_api {
#define X(name, parameters) int(*name) parameters;
  MLAF_HIP_FUNCTIONS(X)
  MLAF_HIP_GRAPH_FUNCTIONS(X)
#undef X
  const char *(*hipGetErrorName)(int error);
  const char *(*hipGetErrorString)(int error);
  /* The properties struct has two layouts, told apart by the symbol; one of the two is there. */
  int (*properties_r0600)(void *props, int device);
  int (*properties_r0000)(void *props, int device);
  char library[256]; /* what was loaded */
} mlaf_hip_api;

/* Names of everything above that must exist, NULL-terminated (a test looks them up in a real library). */
extern const char *const mlaf_hip_symbols[];

/* $MLAF_HIP_LIBRARY (a path; nothing else is tried then), else libamdhip64.so.7, .6, .5 and .so by the loader's search
 * path, else the same in /opt/rocm/lib. E_NO_DEVICE says what was tried. The library is never unloaded: the HIP
 * runtime does not survive being unloaded. */
mlaf_status mlaf_hip_load(mlaf_hip_api *out, mlaf_err *err);
/* "hipMalloc: hipErrorOutOfMemory (2): out of memory", behind a status that fits the code. OK for HIP_OK. */
mlaf_status mlaf_hip_check(const mlaf_hip_api *api, int code, const char *call, mlaf_err *err);
