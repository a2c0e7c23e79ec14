/* Loading a variant and filling its launches. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/loaded.h"

enum { WORKSPACE_ALIGN = 256, POINTER_ALIGN = 16, STRIDE_MULTIPLE = 8, MAX_BATCH = 65536 };

typedef struct kernel {
  mlaf_module *module;
  mlaf_function *fn;
  uint32_t threads, rows_per_wg;
} kernel;

struct mlaf_loaded {
  mlaf_device *dev;
  mlaf_problem problem;
  kernel decode, combine; /* combine.fn NULL: none */
  uint32_t splits;
  char name[256];
};

static mlaf_status load(mlaf_device *dev, const mlaf_kernel_ref *ref, mlaf_code code, kernel *out, mlaf_err *err) {
  const mlaf_device_info *info = mlaf_info(dev);
  if (!code.bytes || !code.size) return mlaf_fail(err, MLAF_E_ARG, "kernel %s: no code object", ref->symbol);
  if (!ref->threads || ref->threads > (uint32_t)info->max_threads || !ref->rows_per_wg)
    return mlaf_fail(err, MLAF_E_ARG, "kernel %s: %u threads (1..%d on %s), %u rows per workgroup", ref->symbol,
                     ref->threads, info->max_threads, info->name, ref->rows_per_wg);
  out->threads = ref->threads;
  out->rows_per_wg = ref->rows_per_wg;
  mlaf_status st = mlaf_ops(dev)->module_load(dev, code.bytes, code.size, &out->module, err);
  if (!st) st = mlaf_ops(dev)->function_get(dev, out->module, ref->symbol, &out->fn, err);
  return st ? mlaf_fail_prefix(err, st, "kernel %s", ref->symbol) : MLAF_OK;
}

mlaf_status mlaf_loaded_open(mlaf_device *dev, const mlaf_problem *problem, const mlaf_loaded_desc *desc,
                             mlaf_loaded **out, mlaf_err *err) {
  const bool has_combine = desc->combine && desc->combine->template_name[0];
  if (!desc->splits || (desc->splits > 1 && !has_combine))
    return mlaf_fail(err, MLAF_E_ARG, "variant %s: %u splits %s a combine kernel", desc->name, desc->splits,
                     has_combine ? "with" : "without");
  mlaf_loaded *l = calloc(1, sizeof *l);
  if (!l) return mlaf_fail(err, MLAF_E_NOMEM, "no memory to load variant %s", desc->name);
  l->dev = dev;
  l->problem = *problem;
  l->splits = desc->splits;
  strncpy(l->name, desc->name ? desc->name : "", sizeof l->name - 1);
  mlaf_status st = load(dev, desc->decode, desc->decode_code, &l->decode, err);
  if (!st && has_combine) st = load(dev, desc->combine, desc->combine_code, &l->combine, err);
  if (st) {
    mlaf_loaded_close(l);
    return st;
  }
  *out = l;
  return MLAF_OK;
}

void mlaf_loaded_close(mlaf_loaded *l) {
  if (!l) return;
  if (l->decode.module) mlaf_ops(l->dev)->module_unload(l->dev, l->decode.module);
  if (l->combine.module) mlaf_ops(l->dev)->module_unload(l->dev, l->combine.module);
  free(l);
}

mlaf_device *mlaf_loaded_device(const mlaf_loaded *l) { return l->dev; }
const mlaf_problem *mlaf_loaded_problem(const mlaf_loaded *l) { return &l->problem; }
const char *mlaf_loaded_name(const mlaf_loaded *l) { return l->name; }
uint32_t mlaf_loaded_splits(const mlaf_loaded *l) { return l->splits; }
bool mlaf_loaded_has_combine(const mlaf_loaded *l) { return l->combine.fn != NULL; }

/* Byte offset of part_lse behind part_o; false when it does not fit. */
static bool part_lse_offset(const mlaf_problem *p, uint32_t splits, int64_t total_q, size_t *offset) {
  size_t bytes;
  if (total_q < 0 || __builtin_mul_overflow((size_t)total_q, (size_t)splits, &bytes) ||
      __builtin_mul_overflow(bytes, (size_t)p->heads * (size_t)p->rank * sizeof(float), &bytes) || bytes > SIZE_MAX / 2)
    return false;
  *offset = (bytes + WORKSPACE_ALIGN - 1) / WORKSPACE_ALIGN * WORKSPACE_ALIGN;
  return true;
}

size_t mlaf_workspace_size(const mlaf_problem *p, uint32_t splits, int64_t total_q) {
  size_t offset;
  if (splits <= 1 || total_q <= 0) return 0;
  if (!part_lse_offset(p, splits, total_q, &offset)) return SIZE_MAX;
  return offset + splits * (size_t)total_q * (size_t)p->heads * sizeof(float); /* rank >= 32 times less: fits */
}

static mlaf_status check_pointers(const mlaf_problem *p, const mlaf_execute_args *a, mlaf_err *err) {
  const struct {
    const char *name;
    const void *ptr;
    uintptr_t align;
  } needed[] = {
      {"q", a->q, POINTER_ALIGN},
      {"ckv", a->num_pages ? a->ckv : (const void *)POINTER_ALIGN, POINTER_ALIGN},
      {"o", a->o, POINTER_ALIGN},
      {"qo_indptr", a->qo_indptr, sizeof(int32_t)},
      {"kv_indptr", a->kv_indptr, sizeof(int32_t)},
      {"kv_indices", a->num_pages ? a->kv_indices : (const void *)POINTER_ALIGN, sizeof(int32_t)},
      {"kv_last_page_lens", a->kv_last_page_lens, sizeof(int32_t)},
  };
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
    if (!needed[i].ptr) return mlaf_fail(err, MLAF_E_ARG, "%s is NULL", needed[i].name);
    if ((uintptr_t)needed[i].ptr % needed[i].align)
      return mlaf_fail(err, MLAF_E_ARG, "%s is %p, must be %d-byte aligned", needed[i].name, needed[i].ptr,
                       (int)needed[i].align);
  }
  if (a->kpe && p->rope && (uintptr_t)a->kpe % POINTER_ALIGN)
    return mlaf_fail(err, MLAF_E_ARG, "kpe is %p, must be %d-byte aligned", a->kpe, POINTER_ALIGN);
  if ((uintptr_t)a->lse % sizeof(float))
    return mlaf_fail(err, MLAF_E_ARG, "lse is %p, must be 4-byte aligned", (void *)a->lse);
  return MLAF_OK;
}

static int64_t ckv_stride(const mlaf_problem *p, const mlaf_execute_args *a) {
  return a->ckv_row_stride ? a->ckv_row_stride : p->rank + (a->kpe ? 0 : p->rope);
}
static int64_t kpe_stride(const mlaf_problem *p, const mlaf_execute_args *a) {
  if (!a->kpe) return ckv_stride(p, a);
  return a->kpe_row_stride ? a->kpe_row_stride : p->rope;
}

static mlaf_status check_strides(const mlaf_problem *p, const mlaf_execute_args *a, mlaf_err *err) {
  const int64_t rows = (int64_t)a->num_pages * p->page_size;
  if (rows >= MLAF_CACHE_ROWS_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "num_pages is %d: with %d tokens a page that is %lld rows, 2^32 or more", a->num_pages,
                     p->page_size, (long long)rows);
  const struct {
    const char *name;
    int64_t value, min;
  } strides[] = {
      {"ckv_row_stride", ckv_stride(p, a), p->rank + (a->kpe ? 0 : p->rope)},
      {"kpe_row_stride", a->kpe ? kpe_stride(p, a) : p->rope, p->rope},
  };
  for (size_t i = 0; i < 2; i++)
    if (strides[i].value < strides[i].min || strides[i].value % STRIDE_MULTIPLE ||
        strides[i].value > MLAF_ROW_STRIDE_MAX)
      return mlaf_fail(err, MLAF_E_ARG, "%s is %lld, must be a multiple of %d in %lld..%lld", strides[i].name,
                       (long long)strides[i].value, STRIDE_MULTIPLE, (long long)strides[i].min,
                       (long long)MLAF_ROW_STRIDE_MAX);
  return MLAF_OK;
}

static mlaf_status check_workspace(const mlaf_problem *p, uint32_t splits, const mlaf_execute_args *a, mlaf_err *err) {
  size_t need = mlaf_workspace_size(p, splits, a->total_q);
  if (!need) return MLAF_OK;
  if (!a->workspace || (uintptr_t)a->workspace % WORKSPACE_ALIGN)
    return mlaf_fail(err, MLAF_E_ARG, "workspace is %p, must be a %d-byte aligned buffer of %zu bytes", a->workspace,
                     WORKSPACE_ALIGN, need);
  if (a->workspace_size < need)
    return mlaf_fail(err, MLAF_E_ARG, "workspace_size is %zu, %u splits of %lld tokens need %zu", a->workspace_size,
                     splits, (long long)a->total_q, need);
  return MLAF_OK;
}

/* A caller built against a newer header may pass a longer struct if it asks for nothing unknown. */
static mlaf_status check_struct(const mlaf_execute_args *a, mlaf_err *err) {
  if (a->struct_size == sizeof *a) return MLAF_OK;
  if (a->struct_size < sizeof *a || a->struct_size > 4096)
    return mlaf_fail(err, MLAF_E_ARG,
                     "mlaf_execute_args: struct_size is %u, must be %zu: start from MLAF_EXECUTE_ARGS_INIT",
                     a->struct_size, sizeof *a);
  for (const char *s = (const char *)(a + 1), *end = (const char *)a + a->struct_size; s < end; s++)
    if (*s) return mlaf_fail(err, MLAF_E_ARG, "mlaf_execute_args: a field this library does not know is set");
  return MLAF_OK;
}

mlaf_status mlaf_args_check(const mlaf_problem *p, uint32_t splits, const mlaf_execute_args *a, mlaf_err *err) {
  mlaf_status st = check_struct(a, err);
  if (st) return st;
  if (a->batch < 0 || a->batch > MAX_BATCH)
    return mlaf_fail(err, MLAF_E_ARG, "batch is %d, must be 0..%d", a->batch, MAX_BATCH);
  if (a->total_q < 0 || a->total_q > (int64_t)a->batch * p->q_len)
    return mlaf_fail(err, MLAF_E_ARG, "total_q is %lld, must be 0..%lld (batch %d x q_len %d)", (long long)a->total_q,
                     (long long)a->batch * p->q_len, a->batch, p->q_len);
  if (a->num_pages < 0) return mlaf_fail(err, MLAF_E_ARG, "num_pages is %d, must not be negative", a->num_pages);
  if (!isfinite(a->scale)) return mlaf_fail(err, MLAF_E_ARG, "scale is %g, must be finite", (double)a->scale);
  if (!a->total_q) return MLAF_OK;
  st = check_pointers(p, a, err);
  if (!st) st = check_strides(p, a, err);
  return st ? st : check_workspace(p, splits, a, err);
}

static uint32_t groups(int64_t rows, uint32_t per_group) { return (uint32_t)((rows + per_group - 1) / per_group); }

static void fill_decode(const mlaf_loaded *l, uint32_t splits, const mlaf_execute_args *a, mlaf_decode_args *d) {
  const mlaf_problem *p = &l->problem;
  size_t lse_offset = 0;
  *d = (mlaf_decode_args){
      .q = a->q,
      .ckv = a->ckv,
      .kpe = a->kpe   ? a->kpe
             : a->ckv ? (const uint16_t *)a->ckv + p->rank
                      : NULL,
      .qo_indptr = a->qo_indptr,
      .kv_indptr = a->kv_indptr,
      .kv_indices = a->kv_indices,
      .kv_last_page_lens = a->kv_last_page_lens,
      .o = a->o,
      .lse = a->lse,
      .ckv_row_stride = ckv_stride(p, a),
      .kpe_row_stride = kpe_stride(p, a),
      .total_q = a->total_q,
      .num_pages = a->num_pages,
      .splits = (int32_t)splits,
      .scale_log2e = (float)((double)a->scale * M_LOG2E),
      .batch = a->batch,
  };
  if (splits > 1 && part_lse_offset(p, splits, a->total_q, &lse_offset)) {
    d->part_o = a->workspace;
    d->part_lse = (float *)((char *)a->workspace + lse_offset);
  }
}

void mlaf_loaded_prepare(const mlaf_loaded *l, uint32_t splits, const mlaf_execute_args *a, mlaf_prepared *out) {
  const mlaf_problem *p = &l->problem;
  out->n = 0;
  if (!a->total_q) return;
  fill_decode(l, splits, a, &out->decode);
  out->launches[out->n++] = (mlaf_launch){
      .fn = l->decode.fn,
      .grid = {groups((int64_t)p->q_len * p->heads, l->decode.rows_per_wg), splits, (uint32_t)a->batch},
      .block = {l->decode.threads, 1, 1},
      .args = &out->decode,
      .args_size = sizeof out->decode,
  };
  if (splits == 1) return;
  const int64_t rows = a->total_q * p->heads;
  out->combine = (mlaf_combine_args){out->decode.part_o, out->decode.part_lse, a->o, a->lse, rows, (int32_t)splits, 0};
  out->launches[out->n++] = (mlaf_launch){
      .fn = l->combine.fn,
      .grid = {groups(rows, l->combine.rows_per_wg), 1, 1},
      .block = {l->combine.threads, 1, 1},
      .args = &out->combine,
      .args_size = sizeof out->combine,
  };
}

mlaf_status mlaf_loaded_launch(const mlaf_loaded *l, uint32_t splits, const mlaf_execute_args *a, void *stream,
                               mlaf_err *err) {
  mlaf_prepared prepared;
  if (!splits || (splits > 1 && !l->combine.fn))
    return mlaf_fail(err, MLAF_E_ARG, "%u splits without a combine kernel", splits);
  mlaf_status st = mlaf_args_check(&l->problem, splits, a, err);
  if (st) return st;
  mlaf_loaded_prepare(l, splits, a, &prepared);
  for (size_t i = 0; !st && i < prepared.n; i++)
    st = mlaf_ops(l->dev)->launch(l->dev, stream, &prepared.launches[i], err);
  return st;
}
