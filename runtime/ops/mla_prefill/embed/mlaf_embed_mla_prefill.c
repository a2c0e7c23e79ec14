/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* mla_prefill over mlaf_embed.c: checks and launch, as mlaforge's runtime/ops/mla_prefill/args.c, prepare.c and launch.h. */
#include "mlaf_embed_mla_prefill.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "mlaf_embed_inside.h"

/* A kernel's parameters; strides in bytes, lse's in floats. Tensor maps stand behind them, aligned to 64. */
typedef struct kernel_args {
  const void *q, *k, *k_pe, *v; /* k_pe: of key 0, head 0 */
  const int32_t *cu_seqlens_q, *cu_seqlens_k;
  void *o;
  float *lse;
  int64_t q_token, q_head, k_token, k_head, k_pe_token, k_pe_head, v_token, v_head, o_token, o_head;
  int64_t lse_token, lse_head;
  int64_t total_q, total_k;
  int32_t batch;
  float scale_log2e;
  const float *q_scale, *k_scale, *v_scale; /* from here on: only of kernels of bytes */
} kernel_args;
enum { MAP_Q = 1, MAP_K, MAP_K_PE, MAP_V };
enum { MAP_BYTES = 128, MAP_ALIGN = 64, ARGS_MOST = 256, CREWS = 4 };
typedef struct parameters {
  _Alignas(MAP_ALIGN) unsigned char bytes[ARGS_MOST + MLAF_EMBED_MAPS * MAP_BYTES];
} parameters;
_Static_assert(offsetof(kernel_args, q_scale) == 184 && sizeof(kernel_args) == 208, "not the kernels' layout");
_Static_assert(sizeof(mlaf_embed_prefill_problem) <= MLAF_EMBED_FIELDS * sizeof(int32_t), "more fields than a row has");

enum { ALIGN = 16 };
static const int64_t STRIDE_MOST = INT64_C(1) << 40; /* elements */
static const uint64_t BLOCKS_MOST = INT32_MAX, THREADS_MOST = UINT32_MAX;
static const double LOG2E = 1.4426950408889634;

typedef struct shape {
  int heads, nope, rope, qk, vdim, bytes; /* qk: nope + rope; bytes: of an element of Q, K and V */
} shape;

static shape shape_of(const mlaf_embed_plan *x) {
  mlaf_embed_prefill_problem p;
  memcpy(&p, x->row->values, sizeof p);
  return (shape){p.heads, p.nope, p.rope, p.nope + p.rope, p.vdim, p.inputs ? 1 : 2};
}

typedef mlaf_embed_prefill_args arguments;
typedef struct reason { char *why; size_t size; } reason;
#define refuse(err, ...) mlaf_embed_fail((err)->why, (err)->size, MLAF_EMBED_ARG, __VA_ARGS__)

/* --- arguments --- */

static mlaf_embed_status check_pointers(const shape *s, const arguments *a, reason *err) {
  const struct {
    const char *name;
    const void *at;
    uintptr_t align;
    int needed;
  } list[] = {
      {"q", a->q, ALIGN, 1},
      {"k", a->k, ALIGN, a->total_k > 0},
      {"k_pe", a->k_pe, ALIGN, 0},
      {"v", a->v, ALIGN, a->total_k > 0},
      {"o", a->o, ALIGN, 1},
      {"lse", a->lse, sizeof(float), 0},
      {"cu_seqlens_q", a->cu_seqlens_q, sizeof(int32_t), 1},
      {"cu_seqlens_k", a->cu_seqlens_k, sizeof(int32_t), 1},
      {"q_scale", a->q_scale, sizeof(float), 0},
      {"k_scale", a->k_scale, sizeof(float), 0},
      {"v_scale", a->v_scale, sizeof(float), 0},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    if (!list[i].at && list[i].needed) return refuse(err, "%s is NULL", list[i].name);
    if ((uintptr_t)list[i].at % list[i].align)
      return refuse(err, "%s is %p, must be %d-byte aligned", list[i].name, list[i].at, (int)list[i].align);
  }
  if (a->k_pe && !s->rope) return refuse(err, "k_pe is set, and the problem has no rope columns: NULL");
  if (s->bytes == 2 && (a->q_scale || a->k_scale || a->v_scale))
    return refuse(err, "q_scale, k_scale or v_scale is set, and the problem has no inputs of 8 bits: NULL");
  return MLAF_EMBED_OK;
}

static mlaf_embed_status check_strides(const shape *s, const arguments *a, reason *err) {
  const int64_t k_row = a->k_pe ? s->nope : s->qk;
  const struct {
    const char *name;
    int64_t value, least;
    int elements; /* that it is a multiple of: 16 bytes */
  } list[] = {
      {"q_token_stride", a->q_token_stride, s->qk, ALIGN / s->bytes},
      {"q_head_stride", a->q_head_stride, s->qk, ALIGN / s->bytes},
      {"k_token_stride", a->k_token_stride, k_row, ALIGN / s->bytes},
      {"k_head_stride", a->k_head_stride, k_row, ALIGN / s->bytes},
      {"k_pe_token_stride", a->k_pe_token_stride, s->rope, ALIGN / s->bytes},
      {"v_token_stride", a->v_token_stride, s->vdim, ALIGN / s->bytes},
      {"v_head_stride", a->v_head_stride, s->vdim, ALIGN / s->bytes},
      {"o_token_stride", a->o_token_stride, s->vdim, ALIGN / 2},
      {"o_head_stride", a->o_head_stride, s->vdim, ALIGN / 2},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    if (list[i].value && (list[i].value < list[i].least || list[i].value > STRIDE_MOST || list[i].value % list[i].elements))
      return refuse(err, "%s is %lld, must be 0 or a multiple of %d from %lld on", list[i].name, (long long)list[i].value,
                    list[i].elements, (long long)list[i].least);
  const int64_t t = a->lse_token_stride, h = a->lse_head_stride;
  const int meet = (!t && a->total_q > 1) || (!h && s->heads > 1); /* rows would lie on each other */
  if (t < 0 || h < 0 || t > STRIDE_MOST || h > STRIDE_MOST || (a->lse && t + h > 0 && meet))
    return refuse(err, "lse_token_stride and lse_head_stride are %lld and %lld, must be positive, or both 0", (long long)t,
                  (long long)h);
  return MLAF_EMBED_OK;
}

static mlaf_embed_status check_numbers(const arguments *a, reason *err) {
  if (a->flags) return refuse(err, "flags is %#x, must be 0", a->flags);
  if (a->batch < 0) return refuse(err, "batch is %d, must not be negative", a->batch);
  if (a->total_q < 0 || a->total_q > INT32_MAX)
    return refuse(err, "total_q is %lld, must be 0..2^31-1", (long long)a->total_q);
  if (a->total_k < 0 || a->total_k > INT32_MAX)
    return refuse(err, "total_k is %lld, must be 0..2^31-1", (long long)a->total_k);
  if (!(isnormal(a->scale) && a->scale > 0)) /* the bound, FLT_MIN, as text: the host's locale may write a comma */
    return refuse(err, "scale is %g, must be finite and positive, from 1.17549e-38 on", (double)a->scale);
  return MLAF_EMBED_OK;
}

/* Request r's blocks begin at (cu_seqlens_q[r] / rows_per_wg + r) * H; UINT64_MAX: more than any launch has. */
static uint64_t blocks_of(const shape *s, const mlaf_embed_kernel *k, const arguments *a) {
  const uint64_t tiles = (uint64_t)a->total_q / k->rows_per_wg + (uint64_t)a->batch;
  return tiles > UINT32_MAX ? UINT64_MAX : tiles * (uint64_t)s->heads;
}

static mlaf_embed_status check_size(const mlaf_embed_kernel *k, const shape *s, const arguments *a, reason *err) {
  const uint64_t by_threads = THREADS_MOST / k->threads, most = by_threads < BLOCKS_MOST ? by_threads : BLOCKS_MOST;
  if (blocks_of(s, k, a) <= most) return MLAF_EMBED_OK;
  return refuse(err, "total_q is %lld and batch %d: more blocks than the %llu of a launch; launch fewer requests at once",
                (long long)a->total_q, a->batch, (unsigned long long)most);
}

static mlaf_embed_status check(const shape *s, const mlaf_embed_kernel *k, const arguments *a, reason *err) {
  mlaf_embed_status st = check_numbers(a, err);
  if (st || !a->total_q || !a->batch) return st;
  st = check_pointers(s, a, err);
  if (!st) st = check_strides(s, a, err);
  return st ? st : check_size(k, s, a, err);
}

/* --- a launch --- */

/* No pointer arithmetic on NULL. */
static const void *behind(const void *p, int64_t bytes) { return p ? (const void *)((uintptr_t)p + (uintptr_t)bytes) : NULL; }
static int64_t or_else(int64_t stride, int64_t dense) { return stride ? stride : dense; }

static void fill(const shape *s, const arguments *a, kernel_args *out) {
  const int64_t heads = s->heads, k_row = a->k_pe ? s->nope : s->qk, bytes = s->bytes;
  const int lse_dense = !a->lse_token_stride && !a->lse_head_stride;
  *out = (kernel_args){
      .q = a->q,
      .k = a->k,
      .v = a->v,
      .cu_seqlens_q = a->cu_seqlens_q,
      .cu_seqlens_k = a->cu_seqlens_k,
      .o = a->o,
      .lse = a->lse,
      .q_head = bytes * or_else(a->q_head_stride, s->qk),
      .k_head = bytes * or_else(a->k_head_stride, k_row),
      .v_head = bytes * or_else(a->v_head_stride, s->vdim),
      .o_head = 2 * or_else(a->o_head_stride, s->vdim),
      .q_token = bytes * or_else(a->q_token_stride, heads * s->qk),
      .k_token = bytes * or_else(a->k_token_stride, heads * k_row),
      .v_token = bytes * or_else(a->v_token_stride, heads * s->vdim),
      .o_token = 2 * or_else(a->o_token_stride, heads * s->vdim),
      .lse_token = lse_dense ? 1 : a->lse_token_stride,
      .lse_head = lse_dense ? a->total_q : a->lse_head_stride,
      .total_q = a->total_q,
      .total_k = a->total_k,
      .batch = a->batch,
      .scale_log2e = (float)((double)a->scale * LOG2E),
      .q_scale = a->q_scale,
      .k_scale = a->k_scale,
      .v_scale = a->v_scale,
  };
  out->k_pe = a->k_pe ? a->k_pe : behind(a->k, bytes * s->nope);
  out->k_pe_token = a->k_pe ? bytes * or_else(a->k_pe_token_stride, s->rope) : out->k_token;
  out->k_pe_head = a->k_pe ? 0 : out->k_head;
}

/* The tensor that a map is of, all heads of a token beside each other; no columns: there is nothing to copy. Maps count in
 * columns of 16 bits, which may be two of 8. */
typedef struct tensor { const void *data; uint64_t cols, rows, stride; } tensor;
static tensor tensor_of(const shape *s, const kernel_args *a, uint32_t of) {
  const struct {
    const void *data;
    int64_t head, columns, rows, token;
  } all[] = {
      {NULL, 0, 0, 0, 0},
      [MAP_Q] = {a->q, a->q_head, s->qk, a->total_q, a->q_token},
      [MAP_K] = {a->k, a->k_head, s->nope, a->total_k, a->k_token},
      [MAP_K_PE] = {a->k_pe, a->k_pe_head, s->rope, a->total_k, a->k_pe_token},
      [MAP_V] = {a->v, a->v_head, s->vdim, a->total_k, a->v_token},
  }, *t = &all[of <= MAP_V ? of : 0];
  if (!t->data || !t->rows || !t->columns) return (tensor){NULL, 0, 0, 0};
  const int64_t row_bytes = (s->heads - 1) * t->head + t->columns * s->bytes;
  return (tensor){t->data, (uint64_t)row_bytes / 2, (uint64_t)t->rows, (uint64_t)t->token};
}

/* Blocks of a launch: of a kernel that takes turns no more than run at once, and one for each of its crews (mlaforge's
 * runtime/ops/mla_prefill/launch.h). With clusters a cluster's blocks are one here. */
static uint32_t grid_of(const shape *s, const mlaf_embed_kernel *k, uint32_t units, const arguments *a) {
  const uint32_t team = k->cluster[0] > 1 ? k->cluster[0] : 1, at_once = units / team;
  uint32_t blocks = (uint32_t)blocks_of(s, k, a);
  if (k->flags & EMBED_TURNS && blocks < CREWS) blocks = CREWS;
  if (k->flags & EMBED_TURNS && at_once && blocks > at_once) blocks = at_once;
  return blocks * team;
}

static size_t args_bytes(const mlaf_embed_kernel *k) {
  return k->flags & EMBED_SCALES ? sizeof(kernel_args) : offsetof(kernel_args, q_scale);
}
static size_t maps_at(const mlaf_embed_kernel *k) { return (args_bytes(k) + MAP_ALIGN - 1) / MAP_ALIGN * MAP_ALIGN; }
static size_t parameter_bytes(const mlaf_embed_kernel *k) {
  return k->n_maps ? maps_at(k) + k->n_maps * (size_t)MAP_BYTES : args_bytes(k);
}

/* Fill the block and launch it, with the device current: a driver error. */
static int launch(const mlaf_embed_plan *x, const shape *s, const arguments *a, void *stream) {
  const mlaf_embed_kernel *k = x->kernels[0];
  const uint32_t grid[] = {grid_of(s, k, mlaf_embed_units(x->owner), a), 1, 1};
  kernel_args args;
  parameters block;
  int code = 0;
  fill(s, a, &args);
  memcpy(block.bytes, &args, args_bytes(k));
  for (uint32_t i = 0; i < k->n_maps && !code; i++) {
    const tensor t = tensor_of(s, &args, k->maps[i].of);
    code = mlaf_embed_encode(x->owner, &k->maps[i], t.data, t.cols, t.rows, t.stride, block.bytes + maps_at(k) + i * MAP_BYTES);
  }
  return code ? code : mlaf_embed_launch(x->owner, k, x->functions[0], grid, &block, parameter_bytes(k), stream);
}

static const mlaf_embed_rules rules = {"mla_prefill", NULL, NULL, NULL, 0};

mlaf_embed_status mlaf_embed_prefill_plan(mlaf_embed *e, const mlaf_embed_prefill_problem *p, const mlaf_embed_plan **out,
                                          char *why, size_t size) {
  return mlaf_embed_plan_for(e, &rules, (const int32_t *)p, out, why, size);
}

mlaf_embed_status mlaf_embed_prefill_execute(const mlaf_embed_plan *x, const mlaf_embed_prefill_args *a, void *stream, char *why,
                                             size_t size) {
  reason err = {why, size};
  mlaf_embed_status st = mlaf_embed_expect(x, a, &rules, why, size);
  if (st) return st;
  const shape s = shape_of(x);
  st = check(&s, x->kernels[0], a, &err);
  if (st || !a->total_q || !a->batch) return st;
  int previous = 0;
  if ((st = mlaf_embed_begin(x->owner, &previous, why, size))) return st;
  const int code = launch(x, &s, a, stream);
  return mlaf_embed_end(x->owner, previous, code, why, size);
}
