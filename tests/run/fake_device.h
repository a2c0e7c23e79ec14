/* A device for tests of what stands above devices: "kernels" are host functions that work as the real ones do (fp32
 * scores, softmax in base 2, P rounded to 16 bits, split-KV with a combine), and that can be given one bug at a time.
 */
#pragma once

#include "run/loaded.h"
#include "op/numeric.h"
#include "ops/mla_decode/execute.h"
#include "point.h"

typedef enum fake_bug {
  BUG_NONE,
  BUG_EXTRA_TOKEN,
  BUG_DROP_TOKEN,
  BUG_NO_CAUSAL,
  BUG_HEAD_ORDER,
  BUG_WRITE_BEHIND,
  BUG_WRITE_BEFORE,
  BUG_WRITE_INPUT,
  BUG_RANDOM,
  BUG_COARSE_P,
  BUG_LSE_BASE2,
  BUG_EMPTY_LSE,
  BUG_EMPTY_O,
  BUG_COMBINE_EMPTY,
  BUG_SWALLOW_NAN,
  BUG_CLAMP_PAGE,
  BUG_PAGE_STRIDE,
  BUG_UNWRITTEN,
  BUG_LAUNCH_FAILS,
  BUG_SPREAD_NAN,
  BUG_LSE_P16,
  BUG_COUNT
} fake_bug;

typedef struct fake_device {
  mlaf_device_base base;
  mlaf_problem problem;
  fake_bug bug;
  int launches, allocations;
  mlaf_decode_args timed; /* of the latest timing */
  size_t timed_launches;
  int timed_sets;
  const int32_t *timed_indices[128]; /* page table of each set */
  uint64_t noise;
} fake_device;

typedef struct fake_function {
  fake_device *dev;
  bool combine;
} fake_function;

/* --- the kernels --- */

typedef struct fake_row {
  float m, l; /* running maximum (base 2) and sum */
  float acc[512];
} fake_row;

/* Row of token t of request b, -1 for a page outside the cache. */
static int64_t fake_cache_row(const fake_device *f, const mlaf_decode_args *a, int32_t b, int64_t t) {
  const int32_t page = f->problem.page_size;
  int32_t id = a->kv_indices[a->kv_indptr[b] + t / page];
  if (id < 0 || id >= a->num_pages) {
    if (f->bug != BUG_CLAMP_PAGE) return -1;
    id = 0;
  }
  return (int64_t)id * page + (f->bug == BUG_PAGE_STRIDE ? 0 : t % page);
}

static float fake_score(const fake_device *f, const mlaf_decode_args *a, const uint16_t *q, int64_t row) {
  const int32_t r = f->problem.rank, p = f->problem.rope;
  const uint16_t *ckv = (const uint16_t *)a->ckv + row * a->ckv_row_stride,
                 *kpe = (const uint16_t *)a->kpe + row * a->kpe_row_stride;
  float s = 0;
  for (int32_t c = 0; c < r; c++) s += mlaf_decode16(f->problem.dtype, q[c]) * mlaf_decode16(f->problem.dtype, ckv[c]);
  for (int32_t c = 0; c < p; c++)
    s += mlaf_decode16(f->problem.dtype, q[r + c]) * mlaf_decode16(f->problem.dtype, kpe[c]);
  if (f->bug == BUG_SWALLOW_NAN && isnan(s)) s = 0;
  return s * a->scale_log2e;
}

static void fake_token(const fake_device *f, const mlaf_decode_args *a, fake_row *w, const uint16_t *q, int32_t b,
                       int64_t t) {
  const int32_t r = f->problem.rank;
  int64_t row = fake_cache_row(f, a, b, t);
  float s = row < 0 ? NAN : fake_score(f, a, q, row);
  float m = s > w->m ? s : w->m;
  float down = w->m == -INFINITY ? 0 : exp2f(w->m - m), e = exp2f(s - m);
  float p = mlaf_decode16(f->problem.dtype, mlaf_encode16(f->problem.dtype, e));
  if (f->bug == BUG_COARSE_P) p = ldexpf(rintf(ldexpf(e, 6)), -6);
  w->m = m;
  w->l = w->l * down + (f->bug == BUG_LSE_P16 ? p : e);
  for (int32_t c = 0; c < r; c++) {
    float v = row < 0 ? NAN : mlaf_decode16(f->problem.dtype, ((const uint16_t *)a->ckv)[row * a->ckv_row_stride + c]);
    w->acc[c] = w->acc[c] * down + p * v;
  }
}

static void fake_store(fake_device *f, const mlaf_decode_args *a, const fake_row *w, int64_t row, int32_t split,
                       bool nobody) {
  const int32_t r = f->problem.rank;
  const int64_t rows = a->total_q * f->problem.heads;
  const bool empty = w->m == -INFINITY && !isnan(w->l);
  float lse2 = empty ? -INFINITY : w->m + log2f(w->l);
  if (isnan(w->l)) lse2 = NAN;
  if (a->splits > 1) {
    a->part_lse[split * rows + row] = lse2;
    if (empty) return;
    for (int32_t c = 0; c < r; c++) a->part_o[(split * rows + row) * r + c] = w->acc[c] / w->l;
    return;
  }
  (void)nobody;
  uint16_t *o = (uint16_t *)a->o + row * r;
  for (int32_t c = 0; c < r; c++)
    o[c] = mlaf_encode16(f->problem.dtype, empty ? (f->bug == BUG_EMPTY_O ? 1e-6f : 0) : w->acc[c] / w->l);
  if (f->bug == BUG_RANDOM && row == 3) o[1] ^= (uint16_t)(f->noise++ & 1);
  if (f->bug == BUG_UNWRITTEN && row == 2) memset(o, 0x5a, 2);
  float lse =
      empty ? (f->bug == BUG_EMPTY_LSE ? -1e30f : -INFINITY) : lse2 * (f->bug == BUG_LSE_BASE2 ? 1 : (float)M_LN2);
  if (a->lse) a->lse[row] = lse;
}

static void fake_decode(fake_device *f, const mlaf_decode_args *a) {
  const int32_t heads = f->problem.heads, d = f->problem.rank + f->problem.rope;
  for (int32_t b = 0; b < a->batch; b++) {
    const int32_t n = a->qo_indptr[b + 1] - a->qo_indptr[b], pages = a->kv_indptr[b + 1] - a->kv_indptr[b];
    int64_t kv = pages ? (int64_t)(pages - 1) * f->problem.page_size + a->kv_last_page_lens[b] : 0;
    if (f->bug == BUG_EXTRA_TOKEN && kv && kv % f->problem.page_size) kv++;
    if (f->bug == BUG_DROP_TOKEN && kv > 1) kv--;
    const int64_t tiles = (kv + 15) / 16, per_split = (tiles + a->splits - 1) / a->splits * 16;
    for (int32_t r = 0; r < n * heads; r++)
      for (int32_t s = 0; s < a->splits; s++) {
        fake_row w = {.m = -INFINITY};
        const int64_t row = (int64_t)a->qo_indptr[b] * heads + r;
        int64_t visible = f->problem.causal && f->bug != BUG_NO_CAUSAL ? kv - (n - 1 - r / heads) : kv;
        int64_t from_row = f->bug == BUG_HEAD_ORDER && heads > 1 ? row - r % heads + (r + 1) % heads : row;
        for (int64_t t = s * per_split; t < (s + 1) * per_split && t < visible; t++)
          fake_token(f, a, &w, (const uint16_t *)a->q + from_row * d, b, t);
        fake_store(f, a, &w, row, s, false);
      }
  }
  const int64_t elements = a->total_q * heads * f->problem.rank;
  if (f->bug == BUG_WRITE_BEHIND) ((uint16_t *)a->o)[elements] = 0;
  if (f->bug == BUG_WRITE_BEFORE) ((uint16_t *)a->o)[-1] = 0;
  if (f->bug == BUG_WRITE_INPUT) ((uint16_t *)(uintptr_t)a->q)[5] ^= 1;
  if (f->bug == BUG_SPREAD_NAN)
    for (int64_t i = 0; i < elements - 1; i++)
      if (isnan(mlaf_decode16(f->problem.dtype, ((uint16_t *)a->o)[i]))) ((uint16_t *)a->o)[elements - 1] = MLAF_NAN16;
}

static void fake_combine(fake_device *f, const mlaf_combine_args *a) {
  const int32_t r = f->problem.rank;
  for (int64_t row = 0; row < a->rows; row++) {
    float m = -INFINITY, l = 0, acc[512] = {0};
    bool bad = false;
    for (int32_t s = 0; s < a->splits; s++) {
      float lse = a->part_lse[s * a->rows + row];
      bad |= isnan(lse);
      if (lse > m) m = lse;
    }
    for (int32_t s = 0; s < a->splits; s++) {
      float lse = a->part_lse[s * a->rows + row];
      if (lse == -INFINITY && f->bug != BUG_COMBINE_EMPTY) continue;
      float w = m == -INFINITY ? 0 : exp2f(lse - m);
      l += w;
      for (int32_t c = 0; c < r; c++) acc[c] += w * a->part_o[(s * a->rows + row) * r + c];
    }
    for (int32_t c = 0; c < r; c++)
      ((uint16_t *)a->o)[row * r + c] = mlaf_encode16(f->problem.dtype, bad ? NAN : m == -INFINITY ? 0 : acc[c] / l);
    if (a->lse) a->lse[row] = bad ? NAN : m == -INFINITY ? -INFINITY : (m + log2f(l)) * (float)M_LN2;
  }
}

/* --- the vtable --- */

static fake_device *fake_of(mlaf_device *d) { return (fake_device *)d; }
static void fake_close(mlaf_device *d) { (void)d; }
static mlaf_status fake_alloc(mlaf_device *d, size_t n, void **p, mlaf_err *err) {
  if (!(*p = aligned_alloc(256, (n + 256) / 256 * 256))) return mlaf_fail(err, MLAF_E_NOMEM, "fake");
  fake_of(d)->allocations++;
  return MLAF_OK;
}
static mlaf_status fake_free(mlaf_device *d, void *p, mlaf_err *err) {
  fake_of(d)->allocations--;
  free(p);
  return MLAF_OK;
}
static mlaf_status fake_copy(mlaf_device *d, void *dst, const void *src, size_t n, mlaf_err *err) {
  memcpy(dst, src, n);
  return MLAF_OK;
}
static mlaf_status fake_fill(mlaf_device *d, void *dst, int byte, size_t n, mlaf_err *err) {
  memset(dst, byte, n);
  return MLAF_OK;
}
static mlaf_status fake_module_load(mlaf_device *d, const void *code, size_t n, mlaf_module **out, mlaf_err *err) {
  *out = malloc(1);
  return MLAF_OK;
}
static void fake_module_unload(mlaf_device *d, mlaf_module *m) { free(m); }
static fake_function fake_functions[2];
static mlaf_status fake_function_get(mlaf_device *d, mlaf_module *m, const char *symbol, mlaf_function **out,
                                     mlaf_err *err) {
  fake_function *f = &fake_functions[!strcmp(symbol, "combine")];
  *f = (fake_function){fake_of(d), !strcmp(symbol, "combine")};
  *out = (mlaf_function *)f;
  return MLAF_OK;
}
static mlaf_status fake_launch(mlaf_device *d, void *stream, const mlaf_launch *l, mlaf_err *err) {
  const fake_function *f = (const fake_function *)l->fn;
  fake_of(d)->launches++;
  if (f->dev->bug == BUG_LAUNCH_FAILS) return mlaf_fail(err, MLAF_E_FAULT, "the fake refuses");
  if (f->combine) fake_combine(f->dev, l->args);
  else fake_decode(f->dev, l->args);
  return MLAF_OK;
}
static mlaf_status fake_sync(mlaf_device *d, void *stream, mlaf_err *err) { return MLAF_OK; }
static mlaf_status fake_time(mlaf_device *d, const mlaf_launch *l, size_t n, const mlaf_time_opts *o, mlaf_timing *out,
                             mlaf_err *err) {
  fake_of(d)->timed = *(const mlaf_decode_args *)l[0].args;
  fake_of(d)->timed_launches = n;
  fake_of(d)->timed_sets = o->sets;
  for (int s = 0; s < o->sets && s < 128; s++)
    fake_of(d)->timed_indices[s] = ((const mlaf_decode_args *)l[(size_t)s * n].args)->kv_indices;
  *out = (mlaf_timing){.source = MLAF_TIME_MODELLED, .ns = 1000.0 * (double)n, .samples = o->min_samples};
  return MLAF_OK;
}

static const mlaf_device_ops fake_ops = {.name = "fake",
                                         .close = fake_close,
                                         .mem_alloc = fake_alloc,
                                         .mem_free = fake_free,
                                         .mem_write = fake_copy,
                                         .mem_read = fake_copy,
                                         .mem_fill = fake_fill,
                                         .module_load = fake_module_load,
                                         .module_unload = fake_module_unload,
                                         .function_get = fake_function_get,
                                         .launch = fake_launch,
                                         .sync = fake_sync,
                                         .time = fake_time};

static inline fake_device fake_make(const mlaf_problem *p, fake_bug bug) {
  fake_device f = {.problem = *p, .bug = bug};
  f.base.ops = &fake_ops;
  f.base.info = (mlaf_device_info){
      .id = "fake|cu1", .name = "fake", .target = "gfx942", .max_threads = 1024, .mem_bytes = (int64_t)1 << 34};
  return f;
}

/* The fake's only variant, with `splits` splits. NULL when it does not load. */
static inline mlaf_loaded *fake_load(fake_device *f, uint32_t splits) {
  static const mlaf_kernel_ref decode = {.template_name = "t", .symbol = "decode", .threads = 256, .rows_per_wg = 16};
  static const mlaf_kernel_ref combine = {.template_name = "t", .symbol = "combine", .threads = 256, .rows_per_wg = 4};
  const mlaf_loaded_desc desc = {"fake/s", {{&decode, {"x", 1}}, {splits > 1 ? &combine : NULL, {"x", 1}}}, splits};
  mlaf_loaded *l = NULL;
  return mlaf_loaded_open((mlaf_device *)f, pt(&f->problem), &desc, &l, NULL) ? NULL : l;
}
