/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* mla_gather_kv_b over mlaf_embed.c: checks and launch, as mlaforge's runtime/ops/mla_gather_kv_b/args.c, prepare.c, launch.h. */
#include "mlaf_embed_mla_gather_kv_b.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "mlaf_embed_inside.h"

/* A kernel's parameters; strides in bytes, the table's in entries. With a tensor map that of W stands behind, aligned to 64. */
typedef struct kernel_args {
  const void *cache;
  union {
    const float *scale_at;
    const void *kpe; /* of a split cache */
  };
  const int32_t *table, *table_indptr, *cu_seqlens, *seq_starts;
  const void *w;
  void *k, *v, *k_pe;
  int64_t cache_row, cache_page, num_pages, table_stride;
  int64_t w_row, w_head;
  int64_t k_token, k_head, v_token, v_head, k_pe_token, k_pe_head;
  int64_t tokens;
  int32_t batch, table_width;
  uint32_t page_tokens, shares;
  float scale;
  uint32_t kpe_row; /* of a split cache */
  const float *rope_table; /* from here on: of a problem that rotates */
  int64_t rope_rows;
} kernel_args;
typedef struct parameters {
  kernel_args args;
  _Alignas(64) unsigned char w[128];
} parameters;
_Static_assert(sizeof(kernel_args) == 224, "not the kernels' layout");
_Static_assert(sizeof(mlaf_embed_gather_problem) <= MLAF_EMBED_FIELDS * sizeof(int32_t), "more fields than a row has");

enum { PAGED, DS_MLA, E4M3FN, E4M3FNUZ, SPLIT }; /* layouts */
enum { ALIGN = 16, ELEMENTS = 8, SCALES = 16 }; /* SCALES: bytes of a row's scales */
enum { PART = 128 };
static const int64_t STRIDE_MOST = INT64_C(1) << 40, KPE_STRIDE_MOST = INT64_C(1) << 30; /* elements */
static const uint64_t BLOCKS_MOST = INT32_MAX, THREADS_MOST = UINT32_MAX;

typedef struct shape {
  int heads, nope, rope, vdim, rank, layout, rotate, out;
} shape;

static shape shape_of(const mlaf_embed_plan *x) {
  mlaf_embed_gather_problem p;
  memcpy(&p, x->row->values, sizeof p);
  return (shape){p.heads, p.nope, p.rope, p.vdim, p.rank, p.layout, p.rotate, p.nope + p.vdim};
}

/* Of the cache: bytes of what strides count, and of a row. */
static int64_t unit_of(const shape *s) { return s->layout == PAGED || s->layout == SPLIT ? 2 : 1; }
static int64_t row_bytes(const shape *s) {
  const int64_t latent = unit_of(s) == 2 ? 2 * s->rank : s->layout == DS_MLA ? s->rank + SCALES : s->rank;
  return s->layout == SPLIT ? latent : latent + (s->layout == PAGED || s->layout == DS_MLA ? 2 : 1) * s->rope;
}

typedef struct reason { char *why; size_t size; } reason;
#define refuse(err, ...) mlaf_embed_fail((err)->why, (err)->size, MLAF_EMBED_ARG, __VA_ARGS__)

/* --- arguments --- */

static mlaf_embed_status check_numbers(const shape *s, const mlaf_embed_gather_args *a, reason *err) {
  const int flat = s->layout == E4M3FN || s->layout == E4M3FNUZ;
  if (a->flags) return refuse(err, "flags is %#x, must be 0", a->flags);
  if (a->batch < 0) return refuse(err, "batch is %d, must not be negative", a->batch);
  if (a->tokens < 0 || a->tokens > INT32_MAX)
    return refuse(err, "tokens is %lld, must be 0..2^31-1", (long long)a->tokens);
  if (!a->tokens || !a->batch) return MLAF_EMBED_OK;
  if (a->page_tokens < 1) return refuse(err, "page_tokens is %d, must be positive", a->page_tokens);
  if (a->num_pages < 0 || a->num_pages > INT32_MAX)
    return refuse(err, "num_pages is %lld, must be 0..2^31-1", (long long)a->num_pages);
  if (flat && !a->scale_at && !(isfinite(a->scale) && a->scale > 0))
    return refuse(err, "scale is %g, must be finite and positive, or scale_at be set", (double)a->scale);
  if (a->table_stride < 0 || a->table_stride > STRIDE_MOST)
    return refuse(err, "table_stride is %lld, must not be negative", (long long)a->table_stride);
  if (a->table_width < 0 || (!a->table_indptr && a->batch > 1 && a->table_width > a->table_stride))
    return refuse(err, "table_width is %d, and a row of the table has %lld entries", a->table_width,
                     (long long)a->table_stride);
  if (!a->table_indptr && !a->table_width && !a->table_stride)
    return refuse(err, "table_width and table_stride are 0: the table has no entries");
  return MLAF_EMBED_OK;
}

static mlaf_embed_status check_pointers(const shape *s, const mlaf_embed_gather_args *a, reason *err) {
  const struct {
    const char *name;
    const void *at;
    uintptr_t align;
    int needed;
  } list[] = {
      {"cache", a->cache, ALIGN, a->num_pages > 0},
      {"cache_kpe", a->cache_kpe, ALIGN, s->layout == SPLIT && s->rope && a->num_pages > 0},
      {"scale_at", a->scale_at, sizeof(float), 0},
      {"table", a->table, sizeof(int32_t), 1},
      {"table_indptr", a->table_indptr, sizeof(int32_t), 0},
      {"cu_seqlens", a->cu_seqlens, sizeof(int32_t), 1},
      {"seq_starts", a->seq_starts, sizeof(int32_t), 0},
      {"w", a->w, ALIGN, 1},
      {"k", a->k, ALIGN, 1},
      {"v", a->v, ALIGN, 0},
      {"k_pe", a->k_pe, ALIGN, 0},
      {"rope_table", a->rope_table, ALIGN, s->rotate},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    if (!list[i].at && list[i].needed) return refuse(err, "%s is NULL", list[i].name);
    if ((uintptr_t)list[i].at % list[i].align)
      return refuse(err, "%s is %p, must be %d-byte aligned", list[i].name, list[i].at, (int)list[i].align);
  }
  if (a->cache_kpe && !(s->layout == SPLIT && s->rope))
    return refuse(err, "cache_kpe is set, and the problem's cache is %s: NULL",
                  s->layout == SPLIT ? "without rope columns" : "not split");
  if (!s->rotate && (a->rope_table || a->rope_rows))
    return refuse(err, "rope_table is %p of %lld rows, and the problem's cache is rotated: plan with rope_pairs "
                  "or rope_halves, or leave the table out", (const void *)a->rope_table, (long long)a->rope_rows);
  if (s->rotate && a->rope_rows < 1)
    return refuse(err, "rope_rows is %lld, must be 1 or more: a row for each position", (long long)a->rope_rows);
  if (a->k_pe && !s->rope) return refuse(err, "k_pe is set, and the problem has no rope columns: NULL");
  return MLAF_EMBED_OK;
}

/* Units from a row of the cache to the next. */
static int64_t cache_row_of(const shape *s, const mlaf_embed_gather_args *a) {
  return a->cache_row_stride ? a->cache_row_stride : row_bytes(s) / unit_of(s);
}

static mlaf_embed_status check_strides(const shape *s, const mlaf_embed_gather_args *a, reason *err) {
  const int64_t row = row_bytes(s) / unit_of(s), k_row = a->v ? s->nope : s->out, cache = ALIGN / unit_of(s);
  const struct {
    const char *name;
    int64_t value, least, multiple;
  } list[] = {
      {"cache_row_stride", a->cache_row_stride, row, cache},
      {"cache_page_stride", a->cache_page_stride, row, cache},
      {"w_row_stride", a->w_row_stride, s->rank, ELEMENTS},
      {"w_head_stride", a->w_head_stride, s->rank, ELEMENTS},
      {"k_token_stride", a->k_token_stride, k_row, ELEMENTS},
      {"k_head_stride", a->k_head_stride, k_row, ELEMENTS},
      {"v_token_stride", a->v_token_stride, s->vdim, ELEMENTS},
      {"v_head_stride", a->v_head_stride, s->vdim, ELEMENTS},
      {"k_pe_token_stride", a->k_pe_token_stride, s->rope, ELEMENTS},
      {"k_pe_head_stride", a->k_pe_head_stride, s->rope, ELEMENTS},
      {"cache_kpe_row_stride", a->cache_kpe_row_stride, s->rope, ELEMENTS},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    if (list[i].value && (list[i].value < list[i].least || list[i].value > STRIDE_MOST || list[i].value % list[i].multiple))
      return refuse(err, "%s is %lld, must be 0 or a multiple of %lld from %lld on", list[i].name,
                       (long long)list[i].value, (long long)list[i].multiple, (long long)list[i].least);
  const int64_t cache_row = cache_row_of(s, a);
  if (!a->cache_page_stride && a->page_tokens > STRIDE_MOST / cache_row)
    return refuse(err, "page_tokens is %d, and rows lie %lld apart: a page may be 2^40 long", a->page_tokens,
                  (long long)cache_row);
  if (s->layout != SPLIT) return MLAF_EMBED_OK;
  if (a->cache_kpe_row_stride > KPE_STRIDE_MOST)
    return refuse(err, "cache_kpe_row_stride is %lld, must be at most %lld", (long long)a->cache_kpe_row_stride,
                  (long long)KPE_STRIDE_MOST);
  if (a->cache_page_stride % cache_row)
    return refuse(err, "cache_page_stride is %lld, must be whole rows of %lld: cache_kpe has pages of as many",
                  (long long)a->cache_page_stride, (long long)cache_row);
  return MLAF_EMBED_OK;
}

/* The longest length below this one that shares of as many parts as can be have; 0: there is none. */
static uint32_t shorter(uint32_t parts, uint32_t length) {
  if (length <= 1) return 0;
  const uint32_t shares = (parts + length - 2) / (length - 1);
  return (parts + shares - 1) / shares;
}

/* In how many shares the outputs go, so that all units work: PART outputs at least. */
static uint32_t shares_of(const shape *s, uint64_t tiles, uint32_t units) {
  const uint32_t parts = (uint32_t)((s->heads * s->out + PART - 1) / PART);
  uint64_t least = UINT64_MAX;
  uint32_t best = 1;
  if (!units) units = 1;
  /* The fewest shares of each length, from one share that has all parts down to shares of one. */
  for (uint32_t length = parts; length; length = shorter(parts, length)) {
    const uint32_t shares = (parts + length - 1) / length;
    const uint64_t takes = (tiles * shares + units - 1) / units * (length + 1);
    if (takes < least) least = takes, best = shares;
  }
  return best;
}

static mlaf_embed_status check_size(const mlaf_embed_kernel *k, const shape *s, const mlaf_embed_gather_args *a, reason *err) {
  const uint64_t tiles = ((uint64_t)a->tokens + k->rows_per_wg - 1) / k->rows_per_wg;
  const uint64_t blocks = tiles * shares_of(s, tiles, UINT32_MAX), by_threads = THREADS_MOST / k->threads;
  if (blocks <= (by_threads < BLOCKS_MOST ? by_threads : BLOCKS_MOST)) return MLAF_EMBED_OK;
  return refuse(err, "tokens is %lld: more blocks than a launch has; gather fewer at once", (long long)a->tokens);
}

static mlaf_embed_status check(const shape *s, const mlaf_embed_kernel *k, const mlaf_embed_gather_args *a, reason *err) {
  mlaf_embed_status st = check_numbers(s, a, err);
  if (st || !a->tokens || !a->batch) return st;
  st = check_pointers(s, a, err);
  if (!st) st = check_strides(s, a, err);
  return st ? st : check_size(k, s, a, err);
}

/* --- a launch --- */

static void *behind(const void *p, int64_t bytes) { return (void *)((uintptr_t)p + (uintptr_t)bytes); }
static int64_t or_else(int64_t stride, int64_t dense) { return stride ? stride : dense; }

static void fill(const shape *s, const mlaf_embed_gather_args *a, kernel_args *out) {
  const int64_t unit = unit_of(s), heads = s->heads, k_row = a->v ? s->nope : s->out;
  *out = (kernel_args){
      .cache = a->cache,
      .table = a->table,
      .table_indptr = a->table_indptr,
      .cu_seqlens = a->cu_seqlens,
      .seq_starts = a->seq_starts,
      .w = a->w,
      .k = a->k,
      .v = a->v ? a->v : behind(a->k, 2 * (int64_t)s->nope),
      .k_pe = a->k_pe,
      .cache_row = unit * cache_row_of(s, a),
      .num_pages = a->num_pages,
      .table_stride = a->table_stride,
      .w_row = 2 * or_else(a->w_row_stride, s->rank),
      .k_head = 2 * or_else(a->k_head_stride, k_row),
      .k_pe_token = 2 * or_else(a->k_pe_token_stride, s->rope),
      .k_pe_head = 2 * a->k_pe_head_stride,
      .tokens = a->tokens,
      .batch = a->batch,
      .table_width = a->table_width ? a->table_width : (int32_t)(a->table_stride > INT32_MAX ? INT32_MAX : a->table_stride),
      .page_tokens = (uint32_t)a->page_tokens,
      .scale = a->scale,
      .rope_table = a->rope_table,
      .rope_rows = a->rope_rows,
  };
  if (s->layout == SPLIT) out->kpe = a->cache_kpe, out->kpe_row = (uint32_t)(2 * or_else(a->cache_kpe_row_stride, s->rope));
  else out->scale_at = a->scale_at;
  out->cache_page = a->cache_page_stride ? unit * a->cache_page_stride : a->page_tokens * out->cache_row;
  out->w_head = a->w_head_stride ? 2 * a->w_head_stride : s->out * out->w_row;
  out->k_token = a->k_token_stride ? 2 * a->k_token_stride : heads * out->k_head;
  out->v_head = a->v ? 2 * or_else(a->v_head_stride, s->vdim) : out->k_head;
  out->v_token = !a->v ? out->k_token : a->v_token_stride ? 2 * a->v_token_stride : heads * out->v_head;
}

/* All of a launch but the map: its blocks. */
static uint64_t fill_all(const shape *s, const mlaf_embed_kernel *k, uint32_t units, const mlaf_embed_gather_args *a,
                         kernel_args *out) {
  const uint32_t cluster = k->cluster[0] > 1 ? k->cluster[0] : 1;
  const uint64_t each = ((uint64_t)a->tokens + k->rows_per_wg - 1) / k->rows_per_wg;
  const uint64_t tiles = (each + cluster - 1) / cluster * cluster;
  fill(s, a, out);
  out->shares = shares_of(s, tiles, units);
  return tiles * out->shares;
}

static size_t block_bytes(const shape *s, const mlaf_embed_kernel *k) {
  return k->n_maps ? sizeof(parameters) : s->rotate ? sizeof(kernel_args) : offsetof(kernel_args, rope_table);
}

static const mlaf_embed_rules rules = {"mla_gather_kv_b", NULL, NULL, NULL, 0};

mlaf_embed_status mlaf_embed_gather_plan(mlaf_embed *e, const mlaf_embed_gather_problem *p, const mlaf_embed_plan **out,
                                         char *why, size_t size) {
  return mlaf_embed_plan_for(e, &rules, (const int32_t *)p, out, why, size);
}

mlaf_embed_status mlaf_embed_gather_execute(const mlaf_embed_plan *x, const mlaf_embed_gather_args *a, void *stream, char *why,
                                            size_t size) {
  reason err = {why, size};
  mlaf_embed_status st = mlaf_embed_expect(x, a, &rules, why, size);
  if (st) return st;
  const mlaf_embed_kernel *k = x->kernels[0];
  const shape s = shape_of(x);
  parameters block;
  st = check(&s, k, a, &err);
  if (st || !a->tokens || !a->batch) return st;
  const uint32_t grid[] = {(uint32_t)fill_all(&s, k, mlaf_embed_units(x->owner), a, &block.args), 1, 1};
  const int64_t columns = (s.heads - 1) * (block.args.w_head / 2) + s.rank; /* all heads of W beside each other */
  if (k->n_maps && columns > INT32_MAX)
    return refuse(&err, "w_head_stride is %lld: the last of %d heads begins more than 2^31 elements behind the first",
                  (long long)block.args.w_head / 2, s.heads);
  int previous = 0, code = 0;
  if ((st = mlaf_embed_begin(x->owner, &previous, why, size))) return st;
  if (k->n_maps)
    code = mlaf_embed_encode(x->owner, &k->maps[0], a->w, (uint64_t)columns, (uint64_t)s.out, (uint64_t)block.args.w_row,
                             block.w);
  if (!code)
    code = mlaf_embed_launch(x->owner, k, x->functions[0], grid, &block, block_bytes(&s, k), stream);
  return mlaf_embed_end(x->owner, previous, code, why, size);
}
