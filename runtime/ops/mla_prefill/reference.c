/* mla_prefill in fp64. */
#include "ops/mla_prefill/reference.h"

#include "op/e4m3.h"
#include "op/sums.h"

/* A field of the problem, and a size of the table. */
#define F(p, field) ((p)->v[MLA_PREFILL_##field])
#define N(h, size) ((h)->n[PREFILL_SIZE_##size])

enum { COLUMNS_MOST = MLA_PREFILL_VDIM_MAX };
_Static_assert(MLA_PREFILL_NOPE_MAX + MLA_PREFILL_ROPE_MAX <= COLUMNS_MOST, "a row of Q or K fits where one of V does");

/* --- rows --- */

/* Keys that new token t of n sees, of a request with so many. */
static int64_t visible_of(const mlaf_point *p, int64_t keys, int64_t t, int64_t n) {
  const int64_t seen = F(p, CAUSAL) ? keys - (n - 1 - t) : keys;
  return seen > 0 ? seen : 0;
}

/* A row of O: whose, how many keys it sees (-1: its request's keys lie outside, and the row is NaN), the first of them. */
typedef struct row_facts {
  int64_t request, keys, visible, first_key;
} row_facts;

/* The request is the last one that begins at or before the token and is not empty. */
static row_facts facts_of(const mlaf_host *h, int64_t q_token) {
  const int32_t *q = prefill_ends(h, PREFILL_CU_SEQLENS_Q), *k = prefill_ends(h, PREFILL_CU_SEQLENS_K);
  int64_t low = 0, high = prefill_args_of(h)->batch - 1;
  while (low < high) {
    const int64_t middle = (low + high + 1) / 2;
    if (q[middle] <= q_token) low = middle;
    else high = middle - 1;
  }
  const int64_t first = k[low], last = k[low + 1];
  row_facts row = {.request = low, .keys = last - first, .visible = -1, .first_key = first};
  if (first >= 0 && last >= first && last <= N(h, TK))
    row.visible = visible_of(&h->point, row.keys, q_token - q[low], q[low + 1] - q[low]);
  return row;
}

/* A launch's numbers as they are stored, and what bytes say. */
typedef struct reader {
  const mlaf_rows *r;
  double codes[256], scale[3]; /* of Q, K and V */
} reader;

static reader reader_of(const mlaf_rows *r) {
  static const int scales[] = {PREFILL_Q_SCALE, PREFILL_K_SCALE, PREFILL_V_SCALE};
  const int inputs = F(&r->h->point, INPUTS);
  reader x = {.r = r, .scale = {1, 1, 1}};
  for (int i = 0; inputs && i < 256; i++) x.codes[i] = mlaf_e4m3_decode(inputs == PREFILL_E4M3FNUZ, (uint8_t)i);
  for (int i = 0; inputs && i < 3; i++) x.scale[i] = (double)*(const float *)(const void *)r->h->t[scales[i]].data;
  return x;
}

static void take(const reader *x, int tensor, int64_t at, int64_t n, double *out) {
  uint16_t raw[COLUMNS_MOST];
  const int32_t dtype = x->r->h->dtype;
  const bool bytes = F(&x->r->h->point, INPUTS);
  mlaf_rows_read(x->r, tensor, at, n, raw);
  if (bytes) mlaf_widen8(x->codes, (const uint8_t *)raw, n, 1, out);
  else mlaf_widen16(dtype, raw, n, out);
}

static int64_t place_of(const mlaf_rows *r, int tensor, int64_t row) {
  return row * r->h->t[tensor].stride[0] + r->j * r->h->t[tensor].stride[1];
}

/* A key of a head: its columns without and with positions. */
static void take_key(const reader *x, int64_t key, double *out) {
  const mlaf_host *h = x->r->h;
  const int64_t nope = N(h, N), at = place_of(x->r, PREFILL_K, key);
  take(x, PREFILL_K, at, nope, out);
  if (!N(h, P)) return;
  if (h->t[PREFILL_K_PE].absent) take(x, PREFILL_K, at + nope, N(h, P), out + nope);
  else take(x, PREFILL_K_PE, key * h->t[PREFILL_K_PE].stride[0], N(h, P), out + nope);
}

/* A score, term by term. size: the sum of |terms|. Of e4m3fn the largest of all terms and sums on the way instead: matrix cores
 * cut those off at 13 bits behind the largest of them. */
static mlaf_sum dot(bool cut, const double *a, const double *b, int64_t n) {
  mlaf_sum s = {0, 0};
  if (!cut) return mlaf_dot_sizes(a, b, n);
  for (int64_t i = 0; i < n; i++) {
    const double term = a[i] * b[i];
    s.sum += term;
    s.size = fmax(s.size, fmax(fabs(term), fabs(s.sum)));
  }
  return s;
}

/* magnitude: of its scores the largest that their rounding errors go by (lse_bound). h->more: the scores. */
static void refer(const mlaf_rows *r, const row_facts *row, double *o, double *lse, double *magnitude) {
  const mlaf_host *h = r->h;
  const reader x = reader_of(r);
  const double scale = (double)prefill_args_of(h)->scale * x.scale[0] * x.scale[1];
  double q[COLUMNS_MOST], key[COLUMNS_MOST], max = -INFINITY, sum = 0, *scores = (double *)(void *)h->more;
  *magnitude = 0;
  *lse = row->visible < 0 ? NAN : -INFINITY;
  for (int64_t c = 0; c < N(h, V); c++) o[c] = row->visible < 0 ? NAN : 0;
  if (row->visible <= 0) return;
  take(&x, PREFILL_Q, place_of(r, PREFILL_Q, r->i), N(h, QK), q);
  for (int64_t j = 0; j < row->visible; j++) {
    take_key(&x, row->first_key + j, key);
    const mlaf_sum score = dot(F(&h->point, INPUTS) == PREFILL_E4M3FN, q, key, N(h, QK));
    scores[j] = scale * score.sum;
    if (scores[j] > max) max = scores[j]; /* NaN never wins; it comes back through the sum */
    if (scale * score.size > *magnitude) *magnitude = scale * score.size;
  }
  for (int64_t j = 0; j < row->visible; j++) {
    const double w = exp(scores[j] - max);
    take(&x, PREFILL_V, place_of(r, PREFILL_V, row->first_key + j), N(h, V), key);
    sum += w;
    mlaf_add_scaled(o, w, key, N(h, V));
  }
  for (int64_t c = 0; c < N(h, V); c++) o[c] *= x.scale[2] / sum;
  *lse = max + log(sum);
}

/* u = 2^-24; rounding errors of a sum of k terms stay below 8 sqrt(k) u times the sum of magnitudes but for a chance of
 * 2 exp(-32) (Higham and Mary 2019). Scores: N+P additions and the scale; sum: a term, a rescale and an exp2 for each key.
 * Matrix cores may add products of e4m3fn and the sum before, 32 at a time, all cut off 13 bits behind the largest (Hopper's
 * wgmma does): each term is an addition whose error is at most 2^-13 of that. */
static double lse_bound(const mlaf_host *h, int64_t visible, double magnitude, double lse) {
  const double u = 0x1p-24, unit = F(&h->point, INPUTS) == PREFILL_E4M3FN ? 0x1p-13 : u;
  return 8 * sqrt((double)N(h, QK) + 4) * unit * magnitude + (16 * sqrt((double)visible) + 16) * u + 8 * u * fabs(lse);
}

void prefill_refer(mlaf_rows *r) {
  const row_facts row = facts_of(r->h, r->i);
  mlaf_want_row *lse = mlaf_rows_want(r, PREFILL_LSE);
  double magnitude;
  refer(r, &row, mlaf_rows_want(r, PREFILL_O)->value, lse->value, &magnitude);
  lse->slack[0] = lse_bound(r->h, row.visible, magnitude, lse->value[0]);
  if (r->note)
    mlaf_snprintf(r->note, MLAF_NOTE, "request %lld, %lld keys, %lld visible", (long long)row.request, (long long)row.keys,
                  (long long)row.visible);
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

/* INFINITY for NaN, so that comparisons with bounds work. */
static double measured(double e) { return isnan(e) ? INFINITY : e; }

/* Error of a row of O relative to its reference. */
static double row_error(mlaf_rows *r, const double *want, const uint16_t *got, int n, int *column) {
  double diff = 0, ref = 0, worst = -1;
  for (int c = 0; c < n; c++) {
    const double e = (double)mlaf_decode16(r->h->dtype, got[c]) - want[c];
    diff += e * e;
    ref += want[c] * want[c];
    if (measured(fabs(e)) > worst) worst = measured(fabs(e)), *column = c;
  }
  r->diff2 += measured(diff);
  r->ref2 += ref;
  return measured(sqrt(diff / ref));
}

/* Rows whose reference is NaN must be NaN throughout, rows that see no key exactly 0, all others are measured. */
double prefill_off(mlaf_rows *r, int k, const void *got, int *column, double *is) {
  const int dtype = r->h->dtype, n = (int)N(r->h, V);
  const double *want = r->want[k].value, lse = mlaf_rows_want(r, PREFILL_LSE)->value[0];
  const uint16_t *o = got;
  if (r->h->outputs[k] != PREFILL_O) return -1;
  for (int i = 0; !isfinite(lse) && i < n; i++) {
    *column = i, *is = (double)mlaf_decode16(dtype, o[i]);
    if (isnan(want[i]) ? !isnan(*is) : *is != 0) return INFINITY;
    r->compared += !isnan(want[i]);
  }
  if (!isfinite(lse)) return 0;
  const double error = row_error(r, want, o, n, column);
  r->compared += n;
  *is = (double)mlaf_decode16(dtype, o[*column]);
  return error;
}

/* --- what follows from the fields --- */

int64_t prefill_rows_of(const mlaf_point *p) { return (int64_t)F(p, BATCH) * F(p, TOKENS); }

/* Q, K with k_pe once for all heads, V, O and LSE; two products of the scores that are seen. rows: of O; keys: of all
 * requests. */
static mlaf_work work_of(const mlaf_point *p, double rows, double keys, double seen) {
  const double qk = F(p, NOPE) + F(p, ROPE), vdim = F(p, VDIM);
  const double inputs = rows * qk + keys * (F(p, HEADS) * (F(p, NOPE) + vdim) + F(p, ROPE));
  return (mlaf_work){.bytes = (F(p, INPUTS) ? 1 : 2) * inputs + rows * (2 * vdim + 4), .flops = 2 * seen * (qk + vdim)};
}

mlaf_work prefill_work(const mlaf_point *p) {
  const double batch = F(p, BATCH), tokens = F(p, TOKENS), ctx = F(p, CTX), rows = batch * tokens * F(p, HEADS);
  const double n = tokens < ctx ? tokens : ctx, seen = F(p, HEADS) * batch * n * (ctx - (n - 1) / 2);
  return work_of(p, rows, batch * ctx, F(p, CAUSAL) ? seen : rows * ctx);
}

mlaf_work prefill_work_over(const mlaf_host *h) {
  const mlaf_point *p = &h->point;
  double seen = 0;
  for (int64_t i = 0; i < h->n_lengths; i++) {
    const int64_t n = prefill_new_tokens(p, h->lengths[i]);
    for (int64_t t = 0; t < n; t++) seen += (double)visible_of(p, h->lengths[i], t, n);
  }
  return work_of(p, (double)(N(h, TQ) * N(h, H)), (double)N(h, TK), seen * (double)N(h, H));
}
