/* mla_prefill in fp64. */
#include <math.h>

#include "op/numeric.h"
#include "ops/mla_prefill/case.h"

/* The request whose new tokens hold this one: the last one that begins at or before it and is not empty. */
static int64_t request_of(const prefill_view *x, int64_t q_token) {
  int64_t low = 0, high = x->batch - 1;
  while (low < high) {
    const int64_t middle = (low + high + 1) / 2;
    if (x->cu_q[middle] <= q_token) low = middle;
    else
      high = middle - 1;
  }
  return low;
}

prefill_row prefill_row_of(const prefill_view *x, int64_t q_token) {
  prefill_row r = {.request = request_of(x, q_token)};
  const int64_t first = x->cu_k[r.request], last = x->cu_k[r.request + 1];
  r.token = q_token - x->cu_q[r.request];
  r.keys = last - first;
  r.first_key = first;
  r.visible = first < 0 || last < first || last > x->total_k
                  ? -1
                  : prefill_visible(&x->s, r.keys, r.token, x->cu_q[r.request + 1] - x->cu_q[r.request]);
  return r;
}

static void add_dot(int dtype, const uint16_t *a, const uint16_t *b, int n, double *sum, double *size) {
  for (int i = 0; i < n; i++) {
    const double x = (double)mlaf_decode16(dtype, a[i]) * (double)mlaf_decode16(dtype, b[i]);
    *sum += x;
    *size += fabs(x);
  }
}

void prefill_reference(const prefill_view *x, const prefill_row *row, int64_t q_token, int head, double *scores, double *o,
                       double *lse, double *magnitude) {
  const prefill_shape *s = &x->s;
  const uint16_t *q = x->q + q_token * x->q_token + head * x->q_head;
  double max = -INFINITY, sum = 0;
  *magnitude = 0;
  *lse = row->visible < 0 ? NAN : -INFINITY;
  for (int c = 0; c < s->vdim; c++) o[c] = row->visible < 0 ? NAN : 0;
  if (row->visible <= 0) return;
  for (int64_t j = 0; j < row->visible; j++) {
    const int64_t key = row->first_key + j;
    double score = 0, size = 0;
    add_dot(s->dtype, q, x->k + key * x->k_token + head * x->k_head, s->nope, &score, &size);
    if (s->rope) add_dot(s->dtype, q + s->nope, x->k_pe + key * x->k_pe_token + head * x->k_pe_head, s->rope, &score, &size);
    scores[j] = x->scale * score;
    if (scores[j] > max) max = scores[j]; /* NaN never wins; it comes back through the sum */
    if (x->scale * size > *magnitude) *magnitude = x->scale * size;
  }
  for (int64_t j = 0; j < row->visible; j++) {
    const uint16_t *v = x->v + (row->first_key + j) * x->v_token + head * x->v_head;
    const double w = exp(scores[j] - max);
    sum += w;
    for (int c = 0; c < s->vdim; c++) o[c] += w * (double)mlaf_decode16(s->dtype, v[c]);
  }
  for (int c = 0; c < s->vdim; c++) o[c] /= sum;
  *lse = max + log(sum);
}
