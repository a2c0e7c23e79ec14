/* The plans of a layer: made for its whole range at once, found by size without a lock. */
#include <stdlib.h>
#include <string.h>

#include "layer/inside.h"

/* --- sizes that plans are made for --- */

/* The smallest power of two that holds n; its exponent. */
static int class_of(int64_t n) {
  int k = 0;
  while (k < LAYER_CLASSES - 1 && INT64_C(1) << k < n) k++;
  return k;
}

static const mlaf_field *field(const mlaf_op *op, const char *name) {
  for (int i = 0; i < op->n_fields; i++)
    if (!strcmp(op->fields[i].name, name)) return &op->fields[i];
  return NULL;
}

/* Batches as decode's plans round them. */
static mlaf_status list_batches(const mlaf_op *op, int32_t most, layer_plans *out, mlaf_err *err) {
  const mlaf_field *f = field(op, "batch");
  const int32_t last = mlaf_field_round(f, most);
  int n = 0;
  for (int32_t b = mlaf_field_round(f, 1); b <= last; b = mlaf_field_round(f, b + 1)) n++;
  out->batches = calloc((size_t)n, sizeof *out->batches);
  if (!out->batches) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a layer's plans");
  for (int32_t b = mlaf_field_round(f, 1); b <= last; b = mlaf_field_round(f, b + 1)) out->batches[out->n_batches++] = b;
  return MLAF_OK;
}

static void list_ctxs(const layer_shape *s, layer_plans *out) {
  int n = 1;
  while (n < LAYER_CTXS && s->d.ctx_max >> n >= s->d.ctx_min) n++;
  out->n_ctxs = n;
  for (int i = 0; i < n; i++) out->ctxs[i] = s->d.ctx_max >> (n - 1 - i);
}

/* --- making --- */

static mlaf_status report(mlaf_ctx *ctx, mlaf_status st, mlaf_err *err) {
  err->status = st;
  return st ? mlaf_shared_report(ctx->shared, err) : MLAF_OK;
}

static const mlaf_plan_opts *opts_of(const layer_shape *s) {
  static const mlaf_plan_opts none = MLAF_PLAN_OPTS_INIT;
  return s->d.plan ? s->d.plan : &none;
}

static mlaf_status make_by_rows(mlaf_ctx *ctx, const layer_shape *s, layer_kind kind, layer_plans *out) {
  const mlaf_registry_how how = {.quiet = true};
  const int first = class_of(layer_rows_least(s, kind)), last = class_of(layer_rows_most(s, kind));
  mlaf_plan_opts opts = *opts_of(s);
  mlaf_err err;
  mlaf_point p;
  opts.flags |= MLAF_PLAN_LIBRARY; /* its workspace has room for what such a plan wants */
  mlaf_status st = report(ctx, layer_point(s, kind, 1, &p, &err), &err);
  for (int k = first; !st && k <= last; k++) {
    layer_point_rows(&p, INT64_C(1) << k);
    st = mlaf_registry_get(ctx, &p, &opts, &how, &out->by_rows[kind][k]);
  }
  return st;
}

static mlaf_status make_decode(mlaf_ctx *ctx, const layer_shape *s, int q_len, layer_plans *out) {
  const mlaf_registry_how how = {.quiet = true, .ahead = !(s->d.flags & MLAF_LAYER_ROWS_ANYWHERE)};
  const size_t n = (size_t)out->n_ctxs * (size_t)out->n_batches;
  mlaf_plan_opts opts = *opts_of(s);
  mlaf_err err;
  mlaf_point p;
  opts.flags |= MLAF_PLAN_TABLES;
  mlaf_plan **plans = out->decode[q_len - 1] = calloc(n, sizeof *plans);
  if (!plans) return report(ctx, mlaf_fail(&err, MLAF_E_NOMEM, "no memory for a layer's plans"), &err);
  mlaf_status st = report(ctx, layer_point(s, LAYER_DECODE, q_len, &p, &err), &err);
  for (size_t i = 0; !st && i < n; i++) {
    layer_point_size(&p, "ctx", out->ctxs[i / (size_t)out->n_batches]);
    layer_point_size(&p, "batch", out->batches[i % (size_t)out->n_batches]);
    st = mlaf_registry_get(ctx, &p, &opts, &how, &plans[i]);
  }
  return st;
}

static mlaf_status make_sizes(mlaf_ctx *ctx, const layer_shape *s, layer_plans *out) {
  mlaf_err err;
  mlaf_point p;
  mlaf_status st = layer_point(s, LAYER_DECODE, layer_q_len_most(s), &p, &err);
  if (!st) st = list_batches(p.op, s->d.batch_max, out, &err);
  if (!st) list_ctxs(s, out);
  return report(ctx, st, &err);
}

mlaf_status layer_plans_make(mlaf_ctx *ctx, const layer_shape *s, layer_plans *out) {
  mlaf_status st = make_sizes(ctx, s, out);
  for (int k = 0; !st && k < LAYER_KINDS; k++)
    if (k != LAYER_DECODE && k != LAYER_PREFILL && layer_rows_most(s, k)) st = make_by_rows(ctx, s, k, out);
  if (!st && layer_rows_most(s, LAYER_PREFILL)) {
    mlaf_chunked_prefill_desc d = layer_chunked(s);
    d.plan = opts_of(s);
    st = mlaf_chunked_prefill_create(ctx, &d, &out->prefill);
  }
  for (int q = 1; !st && q <= LAYER_Q_LENS; q++)
    if (layer_plans_q_len(s, q)) st = make_decode(ctx, s, q, out);
  return st;
}

void layer_plans_clear(layer_plans *p) {
  const size_t n = (size_t)p->n_ctxs * (size_t)p->n_batches;
  mlaf_chunked_prefill_destroy(p->prefill);
  for (int k = 0; k < LAYER_KINDS; k++)
    for (int c = 0; c < LAYER_CLASSES; c++) mlaf_plan_release(p->by_rows[k][c]);
  for (int q = 0; q < LAYER_Q_LENS; q++) {
    for (size_t i = 0; p->decode[q] && i < n; i++) mlaf_plan_release(p->decode[q][i]);
    free(p->decode[q]);
  }
  free(p->batches);
}

/* --- finding --- */

/* The first of rising values that holds x; the last where none does. */
static int first_from(const int32_t *list, int n, int32_t x) {
  int low = 0, high = n - 1;
  while (low < high) {
    const int mid = (low + high) / 2;
    if (list[mid] < x) low = mid + 1;
    else high = mid;
  }
  return low;
}

mlaf_plan *layer_plan_of(const layer_shape *s, const layer_plans *p, layer_kind kind, const layer_sizes *z) {
  if (kind == LAYER_PREFILL) return p->prefill->fresh;
  if (kind == LAYER_BESIDE && !layer_is_beside(z)) kind = LAYER_Q_B;
  if (kind != LAYER_DECODE) return p->by_rows[kind][class_of(z->tokens)];
  int q = z->q_len;
  while (!p->decode[q - 1]) q++;
  return p->decode[q - 1][first_from(p->ctxs, p->n_ctxs, z->ctx) * p->n_batches + first_from(p->batches, p->n_batches, z->batch)];
}
