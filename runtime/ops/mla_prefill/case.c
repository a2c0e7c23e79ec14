/* Verification data by seed: everything poisoned with NaN first, then what a launch may read. */
#include "ops/mla_prefill/case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/numeric.h"

enum { GAP = 32, POISON = 0xff, POISON_FNUZ = 0x80 }; /* NaN in all types, but for e4m3fnuz */

static void *poisoned(const prefill_shape *s, size_t count) {
  const size_t bytes = count * (size_t)s->bytes + 16;
  void *p = malloc(bytes);
  if (p) memset(p, s->inputs == PREFILL_E4M3FNUZ ? POISON_FNUZ : POISON, bytes);
  return p;
}

/* --- sizes --- */

static mlaf_status make_lengths(prefill_case *c, const prefill_spec *spec, mlaf_err *err) {
  const int n = spec->n;
  if (!(c->cu = calloc(2 * (size_t)(n + 1), sizeof *c->cu))) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %d requests", n);
  int32_t *q = c->cu, *k = c->cu + n + 1;
  for (int i = 0; i < n; i++) {
    q[i + 1] = q[i] + spec->q[i];
    k[i + 1] = k[i] + spec->k[i];
  }
  c->x.cu_q = q;
  c->x.cu_k = k;
  c->x.batch = n;
  c->x.total_q = q[n];
  c->x.total_k = k[n];
  return MLAF_OK;
}

static void lay_out(prefill_case *c, const prefill_spec *spec) {
  prefill_view *x = &c->x;
  const prefill_shape *s = &x->s;
  const int64_t gap = spec->gaps ? GAP : 0, heads = s->heads;
  const bool two = c->layout == PREFILL_TWO_SOURCES;
  x->q_head = s->qk + gap;
  x->q_token = heads * x->q_head + gap;
  x->k_head = two ? s->nope + s->vdim : s->qk + gap;
  x->k_token = heads * x->k_head + gap;
  x->v_head = two ? x->k_head : s->vdim + gap;
  x->v_token = heads * x->v_head + gap;
  x->k_pe_token = two ? s->rope + gap : x->k_token;
  x->k_pe_head = two ? 0 : x->k_head;
  c->o_head = s->vdim + gap;
  c->o_token = heads * c->o_head + gap;
  c->q_count = (size_t)(x->total_q * x->q_token);
  c->k_count = (size_t)(x->total_k * x->k_token);
  c->v_count = (size_t)(x->total_k * x->v_token);
  c->k_pe_count = two && s->rope ? (size_t)(x->total_k * x->k_pe_token) : 0;
  c->o_count = (size_t)(x->total_q * c->o_token);
}

static mlaf_status allocate(prefill_case *c, mlaf_err *err) {
  const size_t rows = (size_t)(c->x.total_q * c->x.s.heads), bytes = (size_t)c->x.s.bytes;
  c->q = poisoned(&c->x.s, c->q_count);
  c->k = poisoned(&c->x.s, c->k_count);
  c->v = poisoned(&c->x.s, c->v_count);
  c->k_pe = poisoned(&c->x.s, c->k_pe_count);
  c->o = calloc(rows * (size_t)c->x.s.vdim + 1, sizeof *c->o);
  c->lse = calloc(rows + 1, sizeof *c->lse);
  c->magnitude = calloc(rows + 1, sizeof *c->magnitude);
  if (!c->q || !c->k || !c->v || !c->k_pe || !c->o || !c->lse || !c->magnitude)
    return mlaf_fail(err, MLAF_E_NOMEM, "case %s: no memory for %zu rows", c->head.name, rows);
  c->x.q = c->q;
  c->x.k = c->k;
  c->x.v = c->v;
  c->x.k_pe = c->k_pe_count ? c->k_pe : (char *)c->k + bytes * (size_t)c->x.s.nope;
  return MLAF_OK;
}

void prefill_case_free(prefill_case *c) {
  if (!c) return;
  free(c->q);
  free(c->k);
  free(c->v);
  free(c->k_pe);
  free(c->cu);
  free(c->o);
  free(c->lse);
  free(c->magnitude);
  free(c);
}

/* --- contents --- */

enum { CODE_STD = 8 }; /* of what bytes say: most of their values occur, subnormals among them */

static void fill_row(const prefill_view *x, void *tensor, int64_t at, int n, mlaf_rng *rng) {
  for (int i = 0; i < n; i++) {
    const float value = mlaf_rng_normal(rng);
    if (x->s.inputs) ((uint8_t *)tensor)[at + i] = prefill_code(x, CODE_STD * value);
    else
      ((uint16_t *)tensor)[at + i] = mlaf_encode16(x->s.dtype, value);
  }
}

/* Scales of no round numbers, the softmax's so that scores come out as the case wants them. */
static void draw_scales(prefill_case *c, const prefill_spec *spec, mlaf_rng *rng) {
  prefill_view *x = &c->x;
  /* q.k of two standard normal rows has the standard deviation sqrt(N+P). A float, as the kernels get it. */
  double std = sqrt(x->s.qk);
  if (x->s.inputs) {
    for (int i = 0; i < 3; i++) x->tensor_scale[i] = 0.02f + (float)mlaf_rng_below(rng, 1000) / 7777;
    std *= (double)(CODE_STD * x->tensor_scale[0]) * (double)(CODE_STD * x->tensor_scale[1]);
    prefill_decode_codes(x);
  }
  x->scale = (double)(float)(spec->score_std / std);
  if (spec->zero_k) x->tensor_scale[1] = 0;
}

static void fill_data(prefill_case *c, mlaf_rng *rng) {
  const prefill_view *x = &c->x;
  const prefill_shape *s = &x->s;
  const bool two = c->layout == PREFILL_TWO_SOURCES;
  for (int64_t t = 0; t < x->total_q; t++)
    for (int h = 0; h < s->heads; h++) fill_row(x, c->q, t * x->q_token + h * x->q_head, s->qk, rng);
  for (int64_t t = 0; t < x->total_k; t++) {
    for (int h = 0; h < s->heads; h++) {
      fill_row(x, c->k, t * x->k_token + h * x->k_head, two ? s->nope : s->qk, rng);
      fill_row(x, c->v, t * x->v_token + h * x->v_head, s->vdim, rng);
    }
    if (c->k_pe_count) fill_row(x, c->k_pe, t * x->k_pe_token, s->rope, rng);
  }
}

/* A NaN in one element of one row of Q; or the last request's keys, which end behind the last one. Both need a request all of
 * whose new tokens see a key. */
static mlaf_status inject_fault(prefill_case *c, mlaf_inject inject, mlaf_rng *rng, mlaf_err *err) {
  const prefill_view *x = &c->x;
  if (inject == MLAF_INJECT_NONE) return MLAF_OK;
  const int64_t last = x->batch - 1, n = x->cu_q[last + 1] - x->cu_q[last], keys = x->cu_k[last + 1] - x->cu_k[last];
  if (n < 1 || keys < n) return mlaf_fail(err, MLAF_E_ARG, "case %s: its last request can carry no injection", c->head.name);
  if (inject == MLAF_INJECT_NAN_Q) {
    const int64_t token = x->cu_q[last] + mlaf_rng_below(rng, (uint32_t)n), head = mlaf_rng_below(rng, (uint32_t)x->s.heads);
    const int64_t at = token * x->q_token + head * x->q_head + mlaf_rng_below(rng, (uint32_t)x->s.qk);
    if (x->s.inputs) ((uint8_t *)c->q)[at] = x->s.inputs == PREFILL_E4M3FNUZ ? 0x80 : 0x7f;
    else
      ((uint16_t *)c->q)[at] = MLAF_NAN16;
  } else {
    const int32_t outside[] = {(int32_t)x->total_k + 1, (int32_t)x->total_k + 4096, -1, INT32_MAX};
    c->cu[2 * x->batch + 1] = outside[mlaf_rng_below(rng, 4)];
  }
  return MLAF_OK;
}

static mlaf_status refer(prefill_case *c, mlaf_err *err) {
  const prefill_view *x = &c->x;
  double *scores = calloc((size_t)x->total_k + 1, sizeof *scores);
  if (!scores) return mlaf_fail(err, MLAF_E_NOMEM, "case %s: no memory for %lld keys", c->head.name, (long long)x->total_k);
  for (int64_t t = 0; t < x->total_q; t++) {
    const prefill_row row = prefill_row_of(x, t);
    for (int h = 0; h < x->s.heads; h++) {
      const int64_t at = t * x->s.heads + h;
      prefill_reference(x, &row, t, h, scores, c->o + at * x->s.vdim, c->lse + at, c->magnitude + at);
    }
  }
  free(scores);
  return MLAF_OK;
}

mlaf_status prefill_case_make(const mlaf_point *p, const prefill_spec *spec, uint64_t seed, mlaf_inject inject,
                              prefill_case **out, mlaf_err *err) {
  prefill_case *c = calloc(1, sizeof *c);
  if (!c) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for case %s", spec->name);
  c->head = (mlaf_case){.name = spec->name, .spare = spec->spare};
  c->layout = spec->layout;
  c->lse_by_token = spec->lse_by_token;
  c->x.s = prefill_shape_of(p);
  mlaf_rng rng = {seed};
  mlaf_status st = make_lengths(c, spec, err);
  if (!st) {
    lay_out(c, spec);
    st = allocate(c, err);
  }
  if (!st) {
    draw_scales(c, spec, &rng);
    fill_data(c, &rng);
    st = inject_fault(c, inject, &rng, err);
  }
  if (!st) st = refer(c, err);
  if (st) {
    prefill_case_free(c);
    return st;
  }
  *out = c;
  return MLAF_OK;
}
