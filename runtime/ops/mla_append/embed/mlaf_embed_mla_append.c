/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* mla_append over mlaf_embed.c: checks and launch, as mlaforge's runtime/ops/mla_append/args.c, prepare.c and launch.h. */
#include "mlaf_embed_mla_append.h"

#include <math.h>
#include <string.h>

#include "mlaf_embed_inside.h"
#include "mlaf_embed_mla_append_inside.h"

/* A kernel's parameters; strides in bytes. */
typedef struct kernel_args {
  const void *ckv, *kpe, *weight;
  const int64_t *slots, *positions;
  const void *cos, *sin;
  const float *scale_at; /* NULL: scale */
  void *latent, *rope;   /* first row's columns in the cache */
  void *kpe_out;         /* NULL: not wanted */
  const void *q_nope, *q_pe;
  void *q_out, *q_pe_out;
  int64_t ckv_stride, kpe_stride, kpe_out_stride, table_stride;
  int64_t latent_page, rope_page; /* from page to page */
  int64_t latent_row, rope_row;
  int64_t q_nope_token, q_nope_head, q_pe_token, q_pe_head, q_out_token, q_out_head, q_pe_out_token, q_pe_out_head;
  int64_t tokens, table_rows;
  uint64_t page_inverse;           /* 2^64 / page_tokens, rounded up; 0: pages follow each other */
  uint32_t num_slots, page_tokens;
  uint32_t token_blocks, flags;    /* MLAF_EMBED_APPEND_* */
  float eps, scale;
} kernel_args;
_Static_assert(sizeof(kernel_args) == MLAF_EMBED_APPEND_BLOCK, "not the kernels' layout");
_Static_assert(sizeof(mlaf_embed_append_problem) <= MLAF_EMBED_FIELDS * sizeof(int32_t), "more fields than a row has");

enum { PAGED, SPLIT, DS_MLA, E4M3FN };      /* layouts */
enum { UNROTATED = 2, SCALES = 4, ALIGN = 16 }; /* a style; scales of a row of DS_MLA; bytes */
enum { SPREAD = 64 }; /* blocks that tokens are spread over before a block takes a second one */
static const int64_t STRIDE_MOST = INT64_C(1) << 40; /* bytes */

typedef struct shape {
  int heads, rank, rope, dtype, layout, style, norm, turned; /* turned: positions and table count */
} shape;

static shape shaped(const mlaf_embed_append_problem *p) {
  return (shape){p->heads, p->rank, p->rope, p->dtype, p->layout, p->style, p->norm, p->rope && p->style != UNROTATED};
}
static shape shape_of(const mlaf_embed_plan *x) {
  mlaf_embed_append_problem p;
  memcpy(&p, x->row->values, sizeof p);
  return shaped(&p);
}

static int is_flat(const shape *s) { return s->layout >= E4M3FN; }
/* Bytes of a unit of a cache row's stride. */
static int64_t unit_of(const shape *s) { return s->layout <= SPLIT ? 2 : 1; }
static int64_t rope_bytes(const shape *s) { return is_flat(s) ? s->rope : 2 * (int64_t)s->rope; }
static int64_t rope_at(const shape *s) {
  return s->layout == PAGED ? 2 * (int64_t)s->rank : s->layout == SPLIT ? 0 : s->rank + (s->layout == DS_MLA ? SCALES * 4 : 0);
}
static int64_t row_bytes(const shape *s) { return s->layout == SPLIT ? 2 * (int64_t)s->rank : rope_at(s) + rope_bytes(s); }

/* --- arguments --- */

typedef struct reason { char *why; size_t size; } reason;
#define refuse(err, ...) mlaf_embed_fail((err)->why, (err)->size, MLAF_EMBED_ARG, __VA_ARGS__)

typedef struct wanted {
  const char *name;
  const void *at;
  uintptr_t align;
  int needed;
} wanted;

static mlaf_embed_status check_pointers(const shape *s, const mlaf_embed_append_args *a, reason *err) {
  const int q = s->heads && (a->q_nope || a->q_pe || a->q_out || a->q_pe_out);
  const wanted list[] = {
      {"ckv", a->ckv, ALIGN, 1},
      {"kpe", a->kpe, ALIGN, s->rope},
      {"norm_weight", a->norm_weight, ALIGN, s->norm},
      {"slots", a->slots, sizeof(int64_t), 1},
      {"positions", a->positions, sizeof(int64_t), s->turned},
      {"cos", a->cos, ALIGN, s->turned},
      {"sin", a->sin, ALIGN, 0},
      {"scale_at", a->scale_at, sizeof(float), 0},
      {"cache", a->cache, ALIGN, a->num_slots > 0},
      {"cache_kpe", a->cache_kpe, ALIGN, a->num_slots > 0 && s->layout == SPLIT && s->rope},
      {"kpe_out", a->kpe_out, ALIGN, 0},
      {"q_nope", a->q_nope, ALIGN, q && !a->q_pe_out},
      {"q_pe", a->q_pe, ALIGN, q && s->rope},
      {"q_out", a->q_out, ALIGN, q && (a->q_nope || !a->q_pe_out)},
      {"q_pe_out", a->q_pe_out, ALIGN, 0},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    if (!list[i].at && list[i].needed) return refuse(err, "%s is NULL", list[i].name);
    if ((uintptr_t)list[i].at % list[i].align)
      return refuse(err, "%s is %p, must be %d-byte aligned", list[i].name, list[i].at, (int)list[i].align);
  }
  return MLAF_EMBED_OK;
}

/* A stride in units of `unit` bytes, at least `least` bytes of which a row has; 0 is dense. Of what is NULL it says nothing. */
typedef struct wanted_stride {
  const char *name;
  const void *of;
  int64_t value, least, unit;
} wanted_stride;

static mlaf_embed_status check_stride(const wanted_stride *x, reason *err) {
  if (!x->of || !x->value) return MLAF_EMBED_OK;
  if (x->value >= x->least / x->unit && x->value <= STRIDE_MOST && x->value * x->unit % ALIGN == 0) return MLAF_EMBED_OK;
  return refuse(err, "%s is %lld, must be 0 or a multiple of %d from %lld on", x->name, (long long)x->value,
                   (int)(ALIGN / x->unit), (long long)(x->least / x->unit));
}

/* The stride of an absent tensor is ignored. */
static int64_t stride_of(const void *tensor, int64_t stride, int64_t dense) { return tensor && stride ? stride : dense; }
static int is_paged(const mlaf_embed_append_args *a) {
  return (a->cache && a->cache_page_stride) || (a->cache_kpe && a->cache_kpe_page_stride);
}

static mlaf_embed_status check_page(const shape *s, const mlaf_embed_append_args *a, reason *err) {
  const int64_t unit = unit_of(s), latent = stride_of(a->cache, a->cache_row_stride, row_bytes(s) / unit);
  const int64_t rope = stride_of(a->cache_kpe, a->cache_kpe_row_stride, rope_bytes(s) / unit);
  const int64_t row = latent > rope ? latent : rope;
  if (a->page_tokens < 1) return refuse(err, "page_tokens is %d, and pages lie apart: it must be 1 or more", a->page_tokens);
  if (a->page_tokens <= STRIDE_MOST / row) return MLAF_EMBED_OK;
  return refuse(err, "page_tokens is %d, and rows lie %lld apart: a page may be 2^40 long", a->page_tokens, (long long)row);
}

static mlaf_embed_status check_strides(const shape *s, const mlaf_embed_append_args *a, reason *err) {
  const int64_t latent = 2 * (int64_t)s->rank, rope = 2 * (int64_t)s->rope, unit = unit_of(s);
  const int64_t number = a->flags & MLAF_EMBED_APPEND_TABLE_16 ? 2 : 4;
  const wanted_stride list[] = {
      {"ckv_row_stride", a->ckv, a->ckv_row_stride, latent, 2},
      {"kpe_row_stride", a->kpe, a->kpe_row_stride, rope, 2},
      {"kpe_out_row_stride", a->kpe_out, a->kpe_out_row_stride, rope, 2},
      {"table_row_stride", s->turned ? a->cos : NULL, a->table_row_stride, number * s->rope / (a->sin ? 2 : 1), number},
      {"cache_row_stride", a->cache, a->cache_row_stride, row_bytes(s), unit},
      {"cache_kpe_row_stride", a->cache_kpe, a->cache_kpe_row_stride, rope, unit},
      {"cache_page_stride", a->cache, a->cache_page_stride, row_bytes(s), unit},
      {"cache_kpe_page_stride", a->cache_kpe, a->cache_kpe_page_stride, rope, unit},
      {"q_nope_token_stride", a->q_nope, a->q_nope_token_stride, latent, 2},
      {"q_nope_head_stride", a->q_nope, a->q_nope_head_stride, latent, 2},
      {"q_pe_token_stride", a->q_pe, a->q_pe_token_stride, rope, 2},
      {"q_pe_head_stride", a->q_pe, a->q_pe_head_stride, rope, 2},
      {"q_out_token_stride", a->q_out, a->q_out_token_stride, latent, 2},
      {"q_out_head_stride", a->q_out, a->q_out_head_stride, latent, 2},
      {"q_pe_out_token_stride", a->q_pe_out, a->q_pe_out_token_stride, rope, 2},
      {"q_pe_out_head_stride", a->q_pe_out, a->q_pe_out_head_stride, rope, 2},
  };
  mlaf_embed_status st = MLAF_EMBED_OK;
  for (size_t i = 0; !st && i < sizeof list / sizeof *list; i++) st = check_stride(&list[i], err);
  if (st) return st;
  return is_paged(a) ? check_page(s, a, err) : MLAF_EMBED_OK;
}

static mlaf_embed_status check_numbers(const shape *s, const mlaf_embed_append_args *a, reason *err) {
  const uint32_t known = MLAF_EMBED_APPEND_ALL_Q | MLAF_EMBED_APPEND_POWER_OF_TWO | MLAF_EMBED_APPEND_TABLE_16;
  if (a->flags & ~known) return refuse(err, "flags is %#x, known are %#x", a->flags, known);
  if (a->tokens < 0) return refuse(err, "tokens is %lld, must not be negative", (long long)a->tokens);
  if (a->num_slots < 0 || a->num_slots > UINT32_MAX)
    return refuse(err, "num_slots is %lld, must be 0..2^32-1", (long long)a->num_slots);
  if (a->table_rows < 0) return refuse(err, "table_rows is %lld, must not be negative", (long long)a->table_rows);
  if (s->norm && !(isfinite(a->eps) && a->eps >= 0))
    return refuse(err, "eps is %g, must be finite and not negative", (double)a->eps);
  if (is_flat(s) && !a->scale_at && !(isnormal(a->scale) && a->scale > 0))
    return refuse(err, "scale is %g, must be a positive number", (double)a->scale);
  return MLAF_EMBED_OK;
}

static mlaf_embed_status check_size(const shape *s, const mlaf_embed_kernel *k, const mlaf_embed_append_args *a, reason *err) {
  const uint64_t blocks = 1 + (uint64_t)(s->heads ? ((uint32_t)s->heads + k->rows_per_wg - 1) / k->rows_per_wg : 0);
  const uint64_t most = UINT32_MAX / (blocks * k->threads);
  if ((uint64_t)a->tokens <= most) return MLAF_EMBED_OK;
  return refuse(err, "tokens is %lld, and a launch of this kernel takes at most %llu: launch fewer at once", (long long)a->tokens,
                (unsigned long long)most);
}

static mlaf_embed_status check(const shape *s, const mlaf_embed_kernel *k, const mlaf_embed_append_args *a, reason *err) {
  mlaf_embed_status st = check_numbers(s, a, err);
  if (st || !a->tokens) return st;
  st = check_pointers(s, a, err);
  if (!st) st = check_strides(s, a, err);
  return st ? st : check_size(s, k, a, err);
}

/* --- a launch --- */

/* No pointer arithmetic on NULL. */
static void *behind(const void *p, int64_t bytes) { return p ? (void *)((uintptr_t)p + (uintptr_t)bytes) : NULL; }

static void fill_cache(const shape *s, const mlaf_embed_append_args *a, kernel_args *k) {
  const int64_t unit = unit_of(s), tokens = is_paged(a) ? a->page_tokens : 0;
  k->latent_row = unit * stride_of(a->cache, a->cache_row_stride, row_bytes(s) / unit);
  k->latent_page = unit * stride_of(a->cache, a->cache_page_stride, tokens * (k->latent_row / unit));
  k->latent = a->cache;
  if (s->layout == SPLIT) {
    k->rope_row = unit * stride_of(a->cache_kpe, a->cache_kpe_row_stride, rope_bytes(s) / unit);
    k->rope_page = unit * stride_of(a->cache_kpe, a->cache_kpe_page_stride, tokens * (k->rope_row / unit));
    k->rope = a->cache_kpe;
  } else {
    k->rope_row = k->latent_row;
    k->rope_page = k->latent_page;
    k->rope = behind(a->cache, rope_at(s));
  }
  k->num_slots = (uint32_t)a->num_slots;
  if (!is_paged(a)) return;
  if (a->page_tokens == 1) { /* whose inverse is too large: pages are rows, then */
    k->latent_row = k->latent_page;
    k->rope_row = k->rope_page;
    return;
  }
  k->page_tokens = (uint32_t)a->page_tokens;
  k->page_inverse = UINT64_MAX / k->page_tokens + 1;
}

static void fill_queries(const shape *s, const mlaf_embed_append_args *a, kernel_args *k) {
  const int64_t heads = s->heads, rank = s->rank, rope = s->rope, row = rank + rope;
  k->q_nope = a->q_nope;
  k->q_pe = a->q_pe;
  k->q_nope_head = 2 * stride_of(a->q_nope, a->q_nope_head_stride, rank);
  k->q_nope_token = 2 * stride_of(a->q_nope, a->q_nope_token_stride, heads * rank);
  k->q_pe_head = 2 * stride_of(a->q_pe, a->q_pe_head_stride, rope);
  k->q_pe_token = 2 * stride_of(a->q_pe, a->q_pe_token_stride, heads * rope);
  k->q_out = a->q_out;
  k->q_out_head = 2 * stride_of(a->q_out, a->q_out_head_stride, row);
  k->q_out_token = 2 * stride_of(a->q_out, a->q_out_token_stride, heads * row);
  k->q_pe_out = a->q_pe_out ? a->q_pe_out : behind(a->q_out, 2 * rank);
  k->q_pe_out_head = a->q_pe_out ? 2 * stride_of(a->q_pe_out, a->q_pe_out_head_stride, rope) : k->q_out_head;
  k->q_pe_out_token = a->q_pe_out ? 2 * stride_of(a->q_pe_out, a->q_pe_out_token_stride, heads * rope) : k->q_out_token;
}

static void fill_all(const shape *s, const mlaf_embed_append_args *a, uint32_t threads, uint32_t wave, uint32_t group,
                 kernel_args *out, uint64_t *blocks) {
  const int q = s->heads && (a->q_nope || a->q_pe);
  const int64_t number = a->flags & MLAF_EMBED_APPEND_TABLE_16 ? 2 : 4, teams = threads / wave;
  const int64_t full = (a->tokens + teams - 1) / teams, spread = a->tokens < SPREAD ? a->tokens : SPREAD;
  *out = (kernel_args){
      .ckv = a->ckv,
      .kpe = a->kpe,
      .weight = a->norm_weight,
      .slots = a->slots,
      .positions = a->positions,
      .cos = a->cos,
      .sin = a->sin ? a->sin : behind(a->cos, number * s->rope / 2),
      .scale_at = a->scale_at,
      .kpe_out = a->kpe_out,
      .ckv_stride = 2 * stride_of(a->ckv, a->ckv_row_stride, s->rank),
      .kpe_stride = 2 * stride_of(a->kpe, a->kpe_row_stride, s->rope),
      .kpe_out_stride = 2 * stride_of(a->kpe_out, a->kpe_out_row_stride, s->rope),
      .table_stride = number * stride_of(s->turned ? a->cos : NULL, a->table_row_stride, a->sin ? s->rope / 2 : s->rope),
      .tokens = a->tokens,
      .table_rows = a->table_rows,
      .token_blocks = (uint32_t)(full > spread ? full : spread),
      .flags = a->flags,
      .eps = a->eps,
      .scale = a->scale,
  };
  fill_cache(s, a, out);
  if (q) fill_queries(s, a, out);
  *blocks = out->token_blocks + (q ? (uint64_t)a->tokens * (((uint32_t)s->heads + group - 1) / group) : 0);
}

mlaf_embed_status mlaf_embed_append_fill(const mlaf_embed_append_problem *p, uint32_t threads, uint32_t wave,
                                         const mlaf_embed_append_args *a, void *block, char *why, size_t size) {
  const mlaf_embed_kernel k = {.threads = threads, .rows_per_wg = 1};
  const shape s = shaped(p);
  reason err = {why, size};
  kernel_args made;
  uint64_t blocks;
  const mlaf_embed_status bad = check(&s, &k, a, &err);
  memset(block, 0, sizeof made);
  if (bad || !a->tokens) return bad;
  fill_all(&s, a, threads, wave, 1, &made, &blocks);
  memcpy(block, &made, sizeof made);
  return MLAF_EMBED_OK;
}

static const mlaf_embed_rules rules = {"mla_append", NULL, NULL, NULL, 0};

mlaf_embed_status mlaf_embed_append_plan(mlaf_embed *e, const mlaf_embed_append_problem *p, const mlaf_embed_plan **out,
                                         char *why, size_t size) {
  return mlaf_embed_plan_for(e, &rules, (const int32_t *)p, out, why, size);
}

mlaf_embed_status mlaf_embed_append_execute(const mlaf_embed_plan *x, const mlaf_embed_append_args *a, void *stream, char *why,
                                            size_t size) {
  reason err = {why, size};
  mlaf_embed_status st = mlaf_embed_expect(x, a, &rules, why, size);
  if (st) return st;
  const mlaf_embed_kernel *k = x->kernels[0];
  const shape s = shape_of(x);
  struct { _Alignas(64) kernel_args a; } block;
  uint64_t blocks;
  int previous = 0;
  st = check(&s, k, a, &err);
  if (st || !a->tokens) return st;
  fill_all(&s, a, k->threads, mlaf_embed_wave(x->owner), k->rows_per_wg, &block.a, &blocks);
  if ((st = mlaf_embed_begin(x->owner, &previous, why, size))) return st;
  const uint32_t grid[] = {(uint32_t)blocks, 1, 1};
  const int code = mlaf_embed_launch(x->owner, k, x->functions[0], grid, &block.a, sizeof block.a, stream);
  return mlaf_embed_end(x->owner, previous, code, why, size);
}
