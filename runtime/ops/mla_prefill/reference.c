/* mla_prefill in fp64. */
#include <math.h>

#include "op/e4m3.h"
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

void prefill_decode_codes(prefill_view *x) {
  for (int i = 0; i < 256; i++) x->codes[i] = mlaf_e4m3_decode(x->s.inputs == PREFILL_E4M3FNUZ, (uint8_t)i);
}

/* Sizes rise with the code. */
uint8_t prefill_code(const prefill_view *x, float value) {
  const double size = fabs((double)value);
  int low = 0, high = x->s.inputs == PREFILL_E4M3FNUZ ? 0x7f : 0x7e;
  while (low + 1 < high) {
    const int middle = (low + high) / 2;
    if (x->codes[middle] <= size) low = middle;
    else
      high = middle;
  }
  const int code = size - x->codes[low] <= x->codes[high] - size ? low : high;
  return (uint8_t)(value < 0 && code ? code | 0x80 : code);
}

/* A score, term by term. size: the sum of |terms|. Of e4m3fn the largest of all terms and sums on the way instead: matrix cores
 * cut those off at 13 bits behind the largest of them. */
typedef struct score_sum {
  double sum, size;
} score_sum;

static void add_dot(const prefill_view *x, const void *a, int64_t a_at, const void *b, int64_t b_at, int n, score_sum *s) {
  const bool cut = x->s.inputs == PREFILL_E4M3FN;
  for (int i = 0; i < n; i++) {
    const double term = prefill_number(x, a, a_at + i) * prefill_number(x, b, b_at + i);
    s->sum += term;
    s->size = cut ? fmax(s->size, fmax(fabs(term), fabs(s->sum))) : s->size + fabs(term);
  }
}

void prefill_reference(const prefill_view *x, const prefill_row *row, int64_t q_token, int head, double *scores, double *o,
                       double *lse, double *magnitude) {
  const prefill_shape *s = &x->s;
  const int64_t q_at = q_token * x->q_token + head * x->q_head;
  const double v_scale = s->inputs ? (double)x->tensor_scale[2] : 1;
  const double scale = s->inputs ? x->scale * (double)x->tensor_scale[0] * (double)x->tensor_scale[1] : x->scale;
  double max = -INFINITY, sum = 0;
  *magnitude = 0;
  *lse = row->visible < 0 ? NAN : -INFINITY;
  for (int c = 0; c < s->vdim; c++) o[c] = row->visible < 0 ? NAN : 0;
  if (row->visible <= 0) return;
  for (int64_t j = 0; j < row->visible; j++) {
    const int64_t key = row->first_key + j;
    score_sum score = {0, 0};
    add_dot(x, x->q, q_at, x->k, key * x->k_token + head * x->k_head, s->nope, &score);
    if (s->rope) add_dot(x, x->q, q_at + s->nope, x->k_pe, key * x->k_pe_token + head * x->k_pe_head, s->rope, &score);
    scores[j] = scale * score.sum;
    if (scores[j] > max) max = scores[j]; /* NaN never wins; it comes back through the sum */
    if (scale * score.size > *magnitude) *magnitude = scale * score.size;
  }
  for (int64_t j = 0; j < row->visible; j++) {
    const int64_t v_at = (row->first_key + j) * x->v_token + head * x->v_head;
    const double w = exp(scores[j] - max);
    sum += w;
    for (int c = 0; c < s->vdim; c++) o[c] += w * prefill_number(x, x->v, v_at + c);
  }
  for (int c = 0; c < s->vdim; c++) o[c] *= v_scale / sum;
  *lse = max + log(sum);
}
