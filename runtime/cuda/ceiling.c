/* What the GPU's tensor cores can do: a large matrix product by cuBLASLt, found at run time. Declared by hand, like the driver's
 * API: the library's headers are not there when this is built. */
#include <stdio.h>
#include <string.h>

#include "base/library.h"
#include "cuda/cuda_device.h"
#include "device/measure.h"

/* cublasLt.h, cublas_api.h, library_types.h */
enum { COMPUTE_32F = 68, REAL_32F = 0, REAL_16BF = 14, DESC_TRANSA = 3, OP_T = 1, PREF_WORKSPACE = 1 };
enum { WORKSPACE = 32 << 20 };

typedef struct heuristic_result {
  uint64_t algo[8];
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
} heuristic_result;

/* X(name, (parameters)): every entry returns cublasStatus_t (int). */
#define FUNCTIONS(X)                                                                                                     \
  X(cublasLtCreate, (void **handle))                                                                                     \
  X(cublasLtDestroy, (void *handle))                                                                                     \
  X(cublasLtMatmulDescCreate, (void **desc, int compute, int scale))                                                     \
  X(cublasLtMatmulDescDestroy, (void *desc))                                                                             \
  X(cublasLtMatmulDescSetAttribute, (void *desc, int attribute, const void *value, size_t size))                         \
  X(cublasLtMatrixLayoutCreate, (void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld))                     \
  X(cublasLtMatrixLayoutDestroy, (void *layout))                                                                         \
  X(cublasLtMatmulPreferenceCreate, (void **preference))                                                                 \
  X(cublasLtMatmulPreferenceDestroy, (void *preference))                                                                 \
  X(cublasLtMatmulPreferenceSetAttribute, (void *preference, int attribute, const void *value, size_t size))             \
  X(cublasLtMatmulAlgoGetHeuristic, (void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference,     \
                                     int wanted, heuristic_result *results, int *found))                                 \
  X(cublasLtMatmul, (void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b,          \
                     void *b_layout, const void *beta, const void *c, void *c_layout, void *d, void *d_layout,           \
                     const void *algo, void *workspace, size_t workspace_size, void *stream))

typedef struct matmul {
  mlaf_cuda *c;
#define X(name, parameters) int(*name) parameters;
  FUNCTIONS(X)
#undef X
  char library[256];
  void *handle, *desc, *layout, *preference; /* one layout: all matrices are n x n */
  heuristic_result best;
  const void *a, *b;
  void *product;
  cuda_ptr workspace;
  void *stream, *start, *stop;
} matmul;

static const char *const candidates[] = {
    "libcublasLt.so.13",
    "libcublasLt.so.12",
    "/usr/local/cuda/lib64/libcublasLt.so.13",
    "/usr/local/cuda/lib64/libcublasLt.so.12",
    NULL,
};

static mlaf_status load(matmul *m, mlaf_err *err) {
  void *handle = mlaf_library_open("MLAF_CUBLASLT_LIBRARY", candidates, "libcublasLt.so",
                                   "set MLAF_CUBLASLT_LIBRARY", m->library, sizeof m->library, err);
  if (!handle) return MLAF_E_NO_DEVICE;
  const char *missing = NULL;
#define X(name, parameters) \
  if (!mlaf_library_find(handle, #name, &m->name)) missing = #name;
  FUNCTIONS(X)
#undef X
  return missing ? mlaf_fail(err, MLAF_E_NO_DEVICE, "%s has no function %s", m->library, missing) : MLAF_OK;
}

static mlaf_status check(int code, const char *call, mlaf_err *err) {
  return code ? mlaf_fail(err, MLAF_E_DEVICE, "%s: cublasStatus_t %d", call, code) : MLAF_OK;
}
static mlaf_status driver(const matmul *m, int code, const char *call, mlaf_err *err) {
  return mlaf_cuda_check(&m->c->api, code, call, err);
}

/* C = A^T B, all column-major: rows of K are contiguous in both, as attention has them. */
static mlaf_status describe(matmul *m, int n, mlaf_err *err) {
  const int transpose = OP_T;
  const size_t workspace = WORKSPACE;
  int found = 0;
  mlaf_status st = check(m->cublasLtCreate(&m->handle), "cublasLtCreate", err);
  if (!st) st = check(m->cublasLtMatmulDescCreate(&m->desc, COMPUTE_32F, REAL_32F), "cublasLtMatmulDescCreate", err);
  if (!st)
    st = check(m->cublasLtMatmulDescSetAttribute(m->desc, DESC_TRANSA, &transpose, sizeof transpose),
               "cublasLtMatmulDescSetAttribute", err);
  if (!st)
    st = check(m->cublasLtMatrixLayoutCreate(&m->layout, REAL_16BF, (uint64_t)n, (uint64_t)n, n), "cublasLtMatrixLayoutCreate",
               err);
  if (!st) st = check(m->cublasLtMatmulPreferenceCreate(&m->preference), "cublasLtMatmulPreferenceCreate", err);
  if (!st)
    st = check(m->cublasLtMatmulPreferenceSetAttribute(m->preference, PREF_WORKSPACE, &workspace, sizeof workspace),
               "cublasLtMatmulPreferenceSetAttribute", err);
  if (!st)
    st = check(m->cublasLtMatmulAlgoGetHeuristic(m->handle, m->desc, m->layout, m->layout, m->layout, m->layout, m->preference,
                                                 1, &m->best, &found),
               "cublasLtMatmulAlgoGetHeuristic", err);
  if (!st && !found) st = mlaf_fail(err, MLAF_E_DEVICE, "%s knows no way to multiply %d x %d matrices of bf16", m->library, n, n);
  return st;
}

static mlaf_status prepare(matmul *m, mlaf_err *err) {
  const mlaf_cuda_api *api = &m->c->api;
  mlaf_status st = driver(m, api->cuMemAlloc_v2(&m->workspace, WORKSPACE), "cuMemAlloc", err);
  if (!st) st = driver(m, api->cuStreamCreate(&m->stream, CUDA_STREAM_NON_BLOCKING), "cuStreamCreate", err);
  if (!st) st = driver(m, api->cuEventCreate(&m->start, 0), "cuEventCreate", err);
  if (!st) st = driver(m, api->cuEventCreate(&m->stop, 0), "cuEventCreate", err);
  return st;
}

static void finish(matmul *m) {
  const mlaf_cuda_api *api = &m->c->api;
  if (m->stream) api->cuStreamSynchronize(m->stream);
  if (m->preference) m->cublasLtMatmulPreferenceDestroy(m->preference);
  if (m->layout) m->cublasLtMatrixLayoutDestroy(m->layout);
  if (m->desc) m->cublasLtMatmulDescDestroy(m->desc);
  if (m->handle) m->cublasLtDestroy(m->handle);
  if (m->start) api->cuEventDestroy_v2(m->start);
  if (m->stop) api->cuEventDestroy_v2(m->stop);
  if (m->stream) api->cuStreamDestroy_v2(m->stream);
  if (m->workspace) api->cuMemFree_v2(m->workspace);
}

static mlaf_status multiply(matmul *m, int times, mlaf_err *err) {
  const float one = 1, zero = 0;
  mlaf_status st = MLAF_OK;
  for (int i = 0; !st && i < times; i++)
    st = check(m->cublasLtMatmul(m->handle, m->desc, &one, m->a, m->layout, m->b, m->layout, &zero, m->product, m->layout,
                                 m->product, m->layout, m->best.algo, (void *)(uintptr_t)m->workspace, WORKSPACE, m->stream),
               "cublasLtMatmul", err);
  return st;
}

static mlaf_status sample(void *user, int first, int repeats, double *ns, mlaf_err *err) {
  matmul *m = user;
  const mlaf_cuda_api *api = &m->c->api;
  float ms = 0;
  mlaf_status st = driver(m, api->cuEventRecord(m->start, m->stream), "cuEventRecord", err);
  if (!st) st = multiply(m, repeats, err);
  if (!st) st = driver(m, api->cuEventRecord(m->stop, m->stream), "cuEventRecord", err);
  if (!st) st = driver(m, api->cuEventSynchronize(m->stop), "cuEventSynchronize", err);
  if (!st) st = driver(m, api->cuEventElapsedTime(&ms, m->start, m->stop), "cuEventElapsedTime", err);
  if (!st) *ns = (double)ms * 1e6;
  return st;
}

mlaf_status mlaf_cuda_time_matmul(mlaf_device *dev, int n, const void *a, const void *b, void *product,
                                  const mlaf_time_opts *opts, mlaf_timing *out, mlaf_err *err) {
  matmul m = {.c = mlaf_cuda_of(dev), .a = a, .b = b, .product = product};
  mlaf_timing timing = {.source = MLAF_TIME_MEASURED, .clock_mhz = m.c->base.info.clock_mhz};
  bool pushed;
  mlaf_status st = load(&m, err);
  if (st) return st;
  st = mlaf_cuda_enter(m.c, &pushed, err);
  if (st) return st;
  st = describe(&m, n, err);
  if (!st) st = prepare(&m, err);
  if (!st) st = multiply(&m, opts->warmup, err);
  if (!st) st = driver(&m, m.c->api.cuStreamSynchronize(m.stream), "cuStreamSynchronize", err);
  if (!st) st = mlaf_measure(sample, &m, opts, &timing, err);
  finish(&m);
  mlaf_cuda_leave(m.c, pushed);
  if (st) return st;
  snprintf(timing.detail, sizeof timing.detail, "%.100s", m.library);
  *out = timing;
  return MLAF_OK;
}
