/* Inside of matmul.h, for back ends that call a vendor's library themselves: its functions. */
#pragma once

#include "device/matmul.h"

/* X(member, NAME, (parameters)): PREFIX##NAME, each returns a status. */
#define MLAF_MATMUL_FUNCTIONS(X)                                                                                        \
  X(create, "Create", (void **handle))                                                                                  \
  X(destroy, "Destroy", (void *handle))                                                                                 \
  X(desc_create, "MatmulDescCreate", (void **desc, int compute, int scale))                                             \
  X(desc_destroy, "MatmulDescDestroy", (void *desc))                                                                    \
  X(desc_set, "MatmulDescSetAttribute", (void *desc, int attribute, const void *value, size_t size))                    \
  X(layout_create, "MatrixLayoutCreate", (void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld))           \
  X(layout_destroy, "MatrixLayoutDestroy", (void *layout))                                                              \
  X(layout_set, "MatrixLayoutSetAttribute", (void *layout, int attribute, const void *value, size_t size))              \
  X(preference_create, "MatmulPreferenceCreate", (void **preference))                                                   \
  X(preference_destroy, "MatmulPreferenceDestroy", (void *preference))                                                  \
  X(preference_set, "MatmulPreferenceSetAttribute", (void *preference, int attribute, const void *value, size_t size))  \
  X(propose, "MatmulAlgoGetHeuristic", (void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, \
                                        int wanted, void *results, int *found))                                         \
  X(matmul, "Matmul", (void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b,       \
                       void *b_layout, const void *beta, const void *c, void *c_layout, void *d, void *d_layout,        \
                       const void *algo, void *workspace, size_t workspace_size, void *stream))

struct mlaf_matmul_library {
  const mlaf_matmul_dialect *d;
  char path[4096];
  void *handle;
  long version;
#define X(member, name, parameters) int(*member) parameters;
  MLAF_MATMUL_FUNCTIONS(X)
#undef X
  int (*check)(void *handle, void *desc, void *a, void *b, void *c, void *d, const void *algo, void *result);
};

/* A proposal is algo_bytes of its dialect, and behind them size_t workspace, int status, float waves, int reserved[4]. */
enum { MLAF_MATMUL_RESULT_TAIL = 32, MLAF_MATMUL_RESULT_MAX = MLAF_MATMUL_ALGO_MAX + MLAF_MATMUL_RESULT_TAIL };

/* Fails with what a call answered: E_DEVICE names the call and its status. */
static inline mlaf_status mlaf_matmul_failed(const mlaf_matmul_library *lib, const char *call, int code, mlaf_err *err) {
  return code ? mlaf_fail(err, MLAF_E_DEVICE, "%s%s: status %d", lib->d->prefix, call, code) : MLAF_OK;
}
