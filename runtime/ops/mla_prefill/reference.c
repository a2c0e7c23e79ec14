/* mla_prefill in fp64. */
#include <math.h>

#include "ops/mla_prefill/reference.h"

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

/* --- how far off a row may be --- */

double prefill_bound(const mlaf_point *p) {
  /* Weights of 8 bits: a weight in [1, 2) is rounded to an eighth, by 2^-3 / sqrt(12) in the mean square, which relative to
   * weights spread evenly over the logarithm is 2.7e-2; keys' errors are independent, as the keys' values are, so it is that of
   * a row, too. Half as much again is left to small samples and to weights that the last maximum makes lower than normal ones. Of
   * one row, twice this bound is 8e-2: a key that decides it alone may be off by 2^-4. */
  if (p->v[MLA_PREFILL_INPUTS]) return 4e-2;
  /* bf16: rounding P and O to 16 bits costs 1.9e-3; published kernels measure 2.2e-3 to 2.7e-3 on single rows. f16 keeps 3 bits
   * more in both. */
  return p->v[MLA_PREFILL_DTYPE] == MLAF_F16 ? 2.5e-3 / 8 : 2.5e-3;
}

/* u = 2^-24; rounding errors of a sum of k terms stay below 8 sqrt(k) u times the sum of magnitudes but for a chance of
 * 2 exp(-32) (Higham and Mary 2019). Scores: N+P additions and the scale; sum: a term, a rescale and an exp2 for each key.
 * Matrix cores may add products of e4m3fn and the sum before, 32 at a time, all cut off 13 bits behind the largest (Hopper's
 * wgmma does): each term is an addition whose error is at most 2^-13 of that. */
double prefill_lse_bound(const prefill_shape *s, int64_t visible, double magnitude, double lse) {
  const double u = 0x1p-24, unit = s->inputs == PREFILL_E4M3FN ? 0x1p-13 : u;
  return 8 * sqrt(s->qk + 4) * unit * magnitude + (16 * sqrt((double)visible) + 16) * u + 8 * u * fabs(lse);
}

/* INFINITY for NaN, so that comparisons with bounds work. */
static double measured(double e) { return isnan(e) ? INFINITY : e; }

double prefill_row_error(int dtype, const double *want, const uint16_t *got, int n, double *diff2, double *ref2, int *column) {
  double diff = 0, ref = 0, worst = -1;
  for (int c = 0; c < n; c++) {
    const double e = (double)mlaf_decode16(dtype, got[c]) - want[c];
    diff += e * e;
    ref += want[c] * want[c];
    if (measured(fabs(e)) > worst) worst = measured(fabs(e)), *column = c;
  }
  *diff2 += measured(diff);
  *ref2 += ref;
  return measured(sqrt(diff / ref));
}

/* --- what follows from the fields --- */

int64_t prefill_rows_of(const mlaf_point *p) { return (int64_t)p->v[MLA_PREFILL_BATCH] * p->v[MLA_PREFILL_TOKENS]; }

prefill_shape prefill_shape_of(const mlaf_point *p) {
  const int32_t *v = p->v;
  return (prefill_shape){
      .heads = v[MLA_PREFILL_HEADS],
      .nope = v[MLA_PREFILL_NOPE],
      .rope = v[MLA_PREFILL_ROPE],
      .qk = v[MLA_PREFILL_NOPE] + v[MLA_PREFILL_ROPE],
      .vdim = v[MLA_PREFILL_VDIM],
      .dtype = v[MLA_PREFILL_DTYPE],
      .inputs = v[MLA_PREFILL_INPUTS],
      .bytes = v[MLA_PREFILL_INPUTS] ? 1 : 2,
      .causal = v[MLA_PREFILL_CAUSAL],
      .batch = v[MLA_PREFILL_BATCH],
      .tokens = v[MLA_PREFILL_TOKENS],
      .ctx = v[MLA_PREFILL_CTX],
  };
}

/* Q, K with k_pe once for all heads, V, O and LSE; two products of the scores that are seen. */
mlaf_work prefill_work_of(const prefill_shape *s, double rows, double keys, double seen) {
  const double inputs = rows * s->qk + keys * (s->heads * (double)(s->nope + s->vdim) + s->rope);
  return (mlaf_work){.bytes = s->bytes * inputs + rows * (2 * s->vdim + 4), .flops = 2 * seen * (s->qk + s->vdim)};
}

mlaf_work prefill_work(const mlaf_point *p) {
  const prefill_shape s = prefill_shape_of(p);
  const double rows = (double)s.batch * (double)s.tokens * s.heads, n = (double)(s.tokens < s.ctx ? s.tokens : s.ctx);
  const double ctx = (double)s.ctx, seen = s.heads * (double)s.batch * n * (ctx - (n - 1) / 2);
  return prefill_work_of(&s, rows, (double)s.batch * ctx, s.causal ? seen : rows * ctx);
}
