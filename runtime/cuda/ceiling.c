/* Measures what the tensor cores reach: a large matrix product by cuBLASLt. */
#include "cuda/cuda_device.h"
#include "device/matmul_library.h"
#include "device/measure.h"

enum { WORKSPACE = 32 << 20 };

typedef struct matmul {
  mlaf_cuda *c;
  const mlaf_matmul_library *lib;
  void *desc, *layout, *preference; /* one layout: all matrices are n x n */
  _Alignas(16) unsigned char best[MLAF_MATMUL_RESULT_MAX];
  const void *a, *b;
  void *product;
  cuda_ptr workspace;
  void *stream, *start, *stop;
} matmul;

static mlaf_status driver(const matmul *m, int code, const char *call, mlaf_err *err) {
  return mlaf_cuda_check(&m->c->api, code, call, err);
}

/* C = A^T B, all column-major: rows of K are contiguous in both, as attention has them. */
static mlaf_status describe(matmul *m, int n, mlaf_err *err) {
  const mlaf_matmul_library *lib = m->lib;
  const mlaf_matmul_dialect *d = lib->d;
  const uint64_t size = (uint64_t)n;
  mlaf_status st = mlaf_matmul_failed(lib, "MatmulDescCreate", lib->desc_create(&m->desc, d->compute_32f, d->real_32f), err);
  if (!st)
    st = mlaf_matmul_failed(lib, "MatmulDescSetAttribute", lib->desc_set(m->desc, d->transa, &d->op_t, sizeof d->op_t), err);
  if (!st)
    st = mlaf_matmul_failed(lib, "MatrixLayoutCreate", lib->layout_create(&m->layout, d->real_16bf, size, size, n), err);
  return st;
}

/* The library's first proposal. */
static mlaf_status choose(matmul *m, int n, mlaf_err *err) {
  const mlaf_matmul_library *lib = m->lib;
  const uint64_t workspace = WORKSPACE;
  int found = 0;
  mlaf_status st = mlaf_matmul_failed(lib, "MatmulPreferenceCreate", lib->preference_create(&m->preference), err);
  if (!st)
    st = mlaf_matmul_failed(lib, "MatmulPreferenceSetAttribute",
                            lib->preference_set(m->preference, lib->d->most_workspace, &workspace, sizeof workspace), err);
  if (!st)
    st = mlaf_matmul_failed(lib, "MatmulAlgoGetHeuristic",
                            lib->propose(lib->handle, m->desc, m->layout, m->layout, m->layout, m->layout, m->preference, 1,
                                         m->best, &found), err);
  if (!st && !found) st = mlaf_fail(err, MLAF_E_DEVICE, "%s knows no way to multiply %d x %d matrices of bf16", lib->path, n, n);
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
  if (m->preference) m->lib->preference_destroy(m->preference);
  if (m->layout) m->lib->layout_destroy(m->layout);
  if (m->desc) m->lib->desc_destroy(m->desc);
  if (m->start) api->cuEventDestroy_v2(m->start);
  if (m->stop) api->cuEventDestroy_v2(m->stop);
  if (m->stream) api->cuStreamDestroy_v2(m->stream);
  if (m->workspace) api->cuMemFree_v2(m->workspace);
}

static mlaf_status multiply(matmul *m, int times, mlaf_err *err) {
  const float one = 1, zero = 0;
  int code = 0;
  for (int i = 0; !code && i < times; i++)
    code = m->lib->matmul(m->lib->handle, m->desc, &one, m->a, m->layout, m->b, m->layout, &zero, m->product, m->layout,
                          m->product, m->layout, m->best, (void *)(uintptr_t)m->workspace, WORKSPACE, m->stream);
  return mlaf_matmul_failed(m->lib, "Matmul", code, err);
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
  mlaf_status st = mlaf_cuda_library_open(dev, err);
  if (st) return st;
  m.lib = m.c->library; /* no other is put there as long as the device is open */
  st = mlaf_cuda_enter(m.c, &pushed, err);
  if (st) return st;
  st = describe(&m, n, err);
  if (!st) st = choose(&m, n, err);
  if (!st) st = prepare(&m, err);
  if (!st) st = multiply(&m, opts->warmup, err);
  if (!st) st = driver(&m, m.c->api.cuStreamSynchronize(m.stream), "cuStreamSynchronize", err);
  if (!st) st = mlaf_measure(sample, &m, opts, &timing, err);
  finish(&m);
  mlaf_cuda_leave(m.c, pushed);
  if (st) return st;
  const char *name = strrchr(m.lib->path, '/');
  snprintf(timing.detail, sizeof timing.detail, "%.100s", name ? name + 1 : m.lib->path);
  *out = timing;
  return MLAF_OK;
}
