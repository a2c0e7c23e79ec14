/* The part of the CUDA driver API that is used here, found at run time. Declared by hand because CUDA headers are not
 * there when this is built; names carry the _v2 that cuda.h hides, numbers are frozen by the driver's ABI. */
#pragma once

#include "base/base.h"

/* CUresult values that mean something to us. */
enum { CUDA_OK = 0, CUDA_INVALID_VALUE = 1, CUDA_OUT_OF_MEMORY = 2, CUDA_STUB_LIBRARY = 34, CUDA_NO_DEVICE = 100,
       CUDA_INVALID_DEVICE = 101, CUDA_INVALID_IMAGE = 200, CUDA_NO_BINARY_FOR_GPU = 209, CUDA_ILLEGAL_ADDRESS = 700,
       CUDA_LAUNCH_TIMEOUT = 702, CUDA_ASSERT = 710, CUDA_HARDWARE_STACK = 714, CUDA_LAUNCH_FAILED = 719,
       CUDA_CAPTURE_IMPLICIT = 906 /* the default stream would wait for one that captures */ };
enum { CUDA_STREAM_NON_BLOCKING = 1, CUDA_CAPTURE_THREAD_LOCAL = 1, CUDA_CAPTURE_RELAXED = 2 };
/* CUdevice_attribute. */
enum {
  CUDA_ATTR_MAX_THREADS = 1, CUDA_ATTR_WARP_SIZE = 10, CUDA_ATTR_CLOCK_KHZ = 13, CUDA_ATTR_SM_COUNT = 16,
  CUDA_ATTR_MEM_CLOCK_KHZ = 36, CUDA_ATTR_BUS_BITS = 37, CUDA_ATTR_L2_BYTES = 38, CUDA_ATTR_CC_MAJOR = 75,
  CUDA_ATTR_CC_MINOR = 76, CUDA_ATTR_PAGEABLE_ACCESS = 88, CUDA_ATTR_SHARED_OPTIN = 97
};
enum { CUDA_POINTER_MEMORY_TYPE = 2 }; /* CUpointer_attribute */
/* CUfunction_attribute. */
enum { CUDA_FUNC_STATIC_SHARED = 1, CUDA_FUNC_MAX_DYNAMIC_SHARED = 8, CUDA_FUNC_SHARED_PERCENT = 9, CUDA_FUNC_WIDE_CLUSTER = 14 };
/* CUjit_option: where the driver writes what it thinks of a module. */
enum { CUDA_JIT_INFO_LOG = 3, CUDA_JIT_INFO_LOG_SIZE = 4, CUDA_JIT_ERROR_LOG = 5, CUDA_JIT_ERROR_LOG_SIZE = 6 };
typedef uint64_t cuda_ptr; /* CUdeviceptr */

/* CUlaunchAttribute and CUlaunchConfig. */
enum { CUDA_LAUNCH_CLUSTER = 4, CUDA_LAUNCH_OVERLAP = 6 /* PROGRAMMATIC_STREAM_SERIALIZATION */ };
typedef struct cuda_launch_attribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    unsigned cluster[3];
    int overlap;
  } value;
} cuda_launch_attribute;
typedef struct cuda_launch_config {
  unsigned grid[3], block[3], shared;
  void *stream;
  cuda_launch_attribute *attributes;
  unsigned n_attributes;
} cuda_launch_config;
_Static_assert(sizeof(cuda_launch_attribute) == 72 && sizeof(cuda_launch_config) == 56, "not the driver's layout");

/* CUDA_KERNEL_NODE_PARAMS_v2. */
typedef struct cuda_kernel_node {
  void *function;
  unsigned grid[3], block[3], shared;
  void **params, **extra;
  void *kernel, *context; /* in place of the function; of a kernel */
} cuda_kernel_node;
_Static_assert(sizeof(cuda_kernel_node) == 72, "not the driver's layout");

/* cuTensorMapEncodeTiled's enumerations. */
enum { CUDA_TENSOR_UINT16 = 1, CUDA_TENSOR_NO_INTERLEAVE = 0, CUDA_TENSOR_L2_PLAIN = 0, CUDA_TENSOR_OOB_ZEROS = 0 };

/* X(name, (parameters)): every entry returns CUresult (int) and must exist, or the library is not used. */
#define MLAF_CUDA_FUNCTIONS(X)                                                                                        \
  X(cuInit, (unsigned flags))                                                                                         \
  X(cuDriverGetVersion, (int *version))                                                                               \
  X(cuDeviceGetCount, (int *count))                                                                                   \
  X(cuDeviceGet, (int *device, int ordinal))                                                                          \
  X(cuDeviceGetName, (char *name, int size, int device))                                                              \
  X(cuDeviceGetPCIBusId, (char *id, int size, int device))                                                            \
  X(cuDeviceGetAttribute, (int *value, int attribute, int device))                                                    \
  X(cuDeviceTotalMem_v2, (size_t *bytes, int device))                                                                 \
  X(cuDevicePrimaryCtxRetain, (void **context, int device))                                                           \
  X(cuDevicePrimaryCtxRelease_v2, (int device))                                                                       \
  X(cuCtxGetCurrent, (void **context))                                                                                \
  X(cuCtxPushCurrent_v2, (void *context))                                                                             \
  X(cuCtxPopCurrent_v2, (void **context))                                                                             \
  X(cuMemAlloc_v2, (cuda_ptr *ptr, size_t bytes))                                                                     \
  X(cuMemFree_v2, (cuda_ptr ptr))                                                                                     \
  X(cuMemcpyHtoD_v2, (cuda_ptr dst, const void *src, size_t bytes))                                                   \
  X(cuMemcpyDtoH_v2, (void *dst, cuda_ptr src, size_t bytes))                                                         \
  X(cuMemsetD8_v2, (cuda_ptr dst, unsigned char value, size_t bytes))                                                 \
  X(cuModuleLoadDataEx, (void **module, const void *image, unsigned n, const int *options, void **values))            \
  X(cuModuleUnload, (void *module))                                                                                   \
  X(cuModuleGetFunction, (void **function, void *module, const char *name))                                           \
  X(cuFuncGetAttribute, (int *value, int attribute, void *function))                                                  \
  X(cuFuncSetAttribute, (void *function, int attribute, int value))                                                   \
  X(cuLaunchKernel, (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,    \
                     unsigned shared, void *stream, void **params, void **extra))                                     \
  X(cuStreamCreate, (void **stream, unsigned flags))                                                                  \
  X(cuStreamDestroy_v2, (void *stream))                                                                               \
  X(cuStreamSynchronize, (void *stream))                                                                              \
  X(cuStreamIsCapturing, (void *stream, int *status))                                                                 \
  X(cuStreamQuery, (void *stream))                                                                                    \
  X(cuThreadExchangeStreamCaptureMode, (int *mode))                                                                   \
  X(cuPointerGetAttribute, (void *data, int attribute, cuda_ptr ptr))                                                 \
  X(cuStreamBeginCapture_v2, (void *stream, int mode))                                                                \
  X(cuStreamEndCapture, (void *stream, void **graph))                                                                 \
  X(cuGraphGetNodes, (void *graph, void **nodes, size_t *n))                                                          \
  X(cuGraphInstantiateWithFlags, (void **exec, void *graph, unsigned long long flags))                                \
  X(cuGraphUpload, (void *exec, void *stream))                                                                        \
  X(cuGraphLaunch, (void *exec, void *stream))                                                                        \
  X(cuGraphExecDestroy, (void *exec))                                                                                 \
  X(cuGraphDestroy, (void *graph))                                                                                    \
  X(cuEventCreate, (void **event, unsigned flags))                                                                    \
  X(cuEventDestroy_v2, (void *event))                                                                                 \
  X(cuEventRecord, (void *event, void *stream))                                                                       \
  X(cuEventSynchronize, (void *event))                                                                                \
  X(cuEventElapsedTime, (float *ms, void *start, void *stop))

/* The same of a driver of 12.0 (cuFuncGetParamInfo: 12.4) or later; NULL with an older one. */
#define MLAF_CUDA_NEW_FUNCTIONS(X)                                                                                    \
  X(cuFuncGetParamInfo, (void *function, size_t index, size_t *offset, size_t *size))                                 \
  X(cuLaunchKernelEx, (const cuda_launch_config *config, void *function, void **params, void **extra))                \
  X(cuGraphKernelNodeGetParams_v2, (void *node, cuda_kernel_node *out))                                               \
  X(cuGraphExecKernelNodeSetParams_v2, (void *exec, void *node, const cuda_kernel_node *params))                      \
  X(cuTensorMapEncodeTiled, (void *map, int type, uint32_t rank, void *data, const uint64_t *dims,                    \
                             const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides,           \
                             int interleave, int swizzle, int l2, int oob))

typedef struct mlaf_cuda_api {
#define X(name, parameters) int(*name) parameters;
  MLAF_CUDA_FUNCTIONS(X)
  MLAF_CUDA_NEW_FUNCTIONS(X)
#undef X
  int (*cuGetErrorName)(int error, const char **text);
  int (*cuGetErrorString)(int error, const char **text);
  char library[256]; /* what was loaded */
} mlaf_cuda_api;

/* Names of everything above, NULL-terminated (a test looks them up in a real library). */
extern const char *const mlaf_cuda_symbols[];

/* $MLAF_CUDA_LIBRARY (a path; nothing else is tried then), else libcuda.so.1 by the loader's search path, else where
 * containers and WSL put it. E_NO_DEVICE says what was tried. The library is never unloaded: a driver does not
 * survive being unloaded. */
mlaf_status mlaf_cuda_load(mlaf_cuda_api *out, mlaf_err *err);
/* "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory", behind a status that fits the code. OK for CUDA_OK. */
mlaf_status mlaf_cuda_check(const mlaf_cuda_api *api, int code, const char *call, mlaf_err *err);
