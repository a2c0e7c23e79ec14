/* One output against its reference. Rows whose reference is NaN must be NaN throughout, rows that see no token must be
 * exactly (0, -inf), all others are measured. */
#include "ops/mla_decode/compare.h"
#include "op/numeric.h"

double mlaf_error_bound(mlaf_dtype dtype) {
  /* bf16: published kernels reach 1.7e-3 to 2.4e-3; 1.85e-3 is what rounding P and O costs. f16 keeps 3 bits more in P
   * and in O, the only two places that round to 16 bits, so its bound is 8 times tighter (rounding costs 2.3e-4). */
  return dtype == MLAF_F16 ? 2.5e-3 / 8 : 2.5e-3;
}

/* Values are made of rows that were rounded, and are rounded once more: by 2^-9 of a value in bf16 and 2^-12 in f16 at most, and
 * 1/sqrt(3) of that in the mean of squares. */
static double bound_of(const mlaf_expected *w) {
  const mlaf_dtype dtype = (mlaf_dtype)w->data->batch.problem.dtype;
  const double o = mlaf_error_bound(dtype), rounding = (dtype == MLAF_F16 ? 0x1p-12 : 0x1p-9) / sqrt(3);
  return w->columns ? sqrt(o * o + rounding * rounding) : o;
}

double mlaf_lse_bound(int32_t d, int64_t n, double magnitude, double lse) {
  const double u = 0x1p-24;
  return 8 * sqrt(d + 4) * u * magnitude + (16 * sqrt((double)n) + 16) * u + 8 * u * fabs(lse);
}

static int columns_of(const mlaf_expected *w) { return w->columns ? w->columns : w->data->batch.problem.rank; }

/* Place of a row, for messages. */
typedef struct place {
  int32_t request, token, head;
  int64_t kv_len, visible;
} place;

static place locate(const mlaf_batch *x, int64_t row) {
  place at = {.head = (int32_t)(row % x->problem.heads)};
  int64_t token = row / x->problem.heads;
  while (token >= x->qo_indptr[at.request + 1]) at.request++;
  at.token = (int32_t)(token - x->qo_indptr[at.request]);
  at.kv_len = mlaf_batch_kv_len(x, at.request);
  at.visible = mlaf_batch_visible(x, at.kv_len, at.token, x->qo_indptr[at.request + 1] - x->qo_indptr[at.request]);
  return at;
}

/* Kinds of errors of a row, each as error over bound: above 1 is a failure. The worst of a case is what gets reported, O
 * before LSE: when both are wrong, the element of O tells more. */
typedef enum kind { ROW_ERROR, WANT_NAN, WANT_ZERO, LSE_ERROR, WANT_LSE_NAN, WANT_LSE_EMPTY, CASE_ERROR } kind;
typedef struct finding {
  double ratio;
  kind kind;
  int64_t row;
  int column; /* of O; not used by the LSE kinds */
} finding;

typedef struct findings {
  finding o, lse;
} findings;

static void consider(finding *worst, double ratio, kind k, int64_t row, int column) {
  if (ratio > worst->ratio) *worst = (finding){ratio, k, row, column};
}

/* INFINITY for NaN, so that comparisons with bounds work. */
static double measured(double e) { return isnan(e) ? INFINITY : e; }
static void raise_to(double *worst, double e) {
  if (e > *worst) *worst = e;
}

/* Sums of one row, and its worst element. */
typedef struct row_sums {
  double diff2, ref2, worst;
  int column;
} row_sums;

static row_sums sum_row(int32_t dtype, const double *want, const uint16_t *got, int n) {
  row_sums s = {0, 0, -1, 0};
  for (int c = 0; c < n; c++) {
    double e = (double)mlaf_decode16(dtype, got[c]) - want[c];
    s.diff2 += e * e;
    s.ref2 += want[c] * want[c];
    if (measured(fabs(e)) > s.worst) s.worst = measured(fabs(e)), s.column = c;
  }
  return s;
}

/* Rows with an exact answer: NaN throughout, or empty. */
static void exact_row(const mlaf_expected *w, int64_t row, const uint16_t *o, const float *lse, findings *worst) {
  const mlaf_problem *p = &w->data->batch.problem;
  const bool nan_row = isnan(w->lse[row]);
  for (int c = 0; c < columns_of(w); c++) {
    float v = mlaf_decode16(p->dtype, o[c]);
    if (nan_row ? !isnan(v) : v != 0) consider(&worst->o, INFINITY, nan_row ? WANT_NAN : WANT_ZERO, row, c);
  }
  if (lse && (nan_row ? !isnan(lse[row]) : lse[row] != -INFINITY))
    consider(&worst->lse, INFINITY, nan_row ? WANT_LSE_NAN : WANT_LSE_EMPTY, row, 0);
}

static void lse_row(const mlaf_expected *w, int64_t row, float lse, mlaf_verify_result *out, findings *worst) {
  const mlaf_problem *p = &w->data->batch.problem;
  const double e = measured(fabs((double)lse - w->lse[row]));
  const double bound =
      mlaf_lse_bound(p->rank + p->rope, locate(&w->data->batch, row).visible, w->magnitude[row], w->lse[row]);
  raise_to(&out->lse_error, e);
  raise_to(&out->lse_ratio, e / bound);
  consider(&worst->lse, e / bound, LSE_ERROR, row, 0);
}

static void describe(const mlaf_expected *w, const uint16_t *o, const float *lse, const finding *f, double relative,
                     mlaf_verify_result *out) {
  const mlaf_problem *p = &w->data->batch.problem;
  const double bound = bound_of(w) * (f->kind == ROW_ERROR ? 2 : 1);
  const place at = locate(&w->data->batch, f->row);
  const int64_t element = f->row * columns_of(w) + f->column;
  const double o_got = mlaf_decode16(p->dtype, o[element]), o_want = w->o[element];
  char what[300];
  switch (f->kind) {
    case ROW_ERROR:
    case CASE_ERROR:
      mlaf_snprintf(what, sizeof what, "column %d: o is %g, reference %g; relative error of the %s %.3g, bound %.3g",
                    f->column, o_got, o_want, f->kind == ROW_ERROR ? "row" : "case",
                    f->kind == ROW_ERROR ? f->ratio * bound : relative, bound);
      break;
    case WANT_NAN: mlaf_snprintf(what, sizeof what, "column %d: o is %g, must be NaN", f->column, o_got); break;
    case WANT_ZERO:
      mlaf_snprintf(what, sizeof what, "column %d: o is %g, must be 0: no token is visible", f->column, o_got);
      break;
    case LSE_ERROR:
      mlaf_snprintf(what, sizeof what, "lse is %.9g, reference %.9g, %.3g times its bound", (double)lse[f->row],
                    w->lse[f->row], f->ratio);
      break;
    case WANT_LSE_NAN: mlaf_snprintf(what, sizeof what, "lse is %g, must be NaN", (double)lse[f->row]); break;
    case WANT_LSE_EMPTY:
      mlaf_snprintf(what, sizeof what, "lse is %g, must be -inf: no token is visible", (double)lse[f->row]);
      break;
  }
  snprintf(out->detail, sizeof out->detail, "case %s: request %d (kv %lld, %lld visible), token %d, head %d, %s",
           w->data->name, at.request, (long long)at.kv_len, (long long)at.visible, at.token, at.head, what);
}

bool mlaf_compare(const mlaf_expected *w, const uint16_t *o, const float *lse, mlaf_verify_result *out) {
  const mlaf_batch *x = &w->data->batch;
  const int n = columns_of(w);
  const double bound = bound_of(w);
  double diff2 = 0, ref2 = 0;
  findings worst = {{0, ROW_ERROR, 0, 0}, {0, LSE_ERROR, 0, 0}};
  finding worst_element = {-1, CASE_ERROR, 0, 0};
  out->compared = 0;
  for (int64_t row = 0; row < x->total_q * x->problem.heads; row++) {
    const uint16_t *got = o + row * n;
    out->rows++;
    if (!isnan(w->lse[row])) out->compared += n;
    if (isnan(w->lse[row]) || w->lse[row] == -INFINITY) {
      exact_row(w, row, got, lse, &worst);
      continue;
    }
    row_sums s = sum_row(x->problem.dtype, w->o + row * n, got, n);
    double relative = measured(sqrt(s.diff2 / s.ref2));
    diff2 += s.diff2;
    ref2 += s.ref2;
    raise_to(&out->row_error, relative);
    consider(&worst.o, relative / (2 * bound), ROW_ERROR, row, s.column);
    consider(&worst_element, s.worst, CASE_ERROR, row, s.column);
    if (lse) lse_row(w, row, lse[row], out, &worst);
  }
  double relative = ref2 > 0 ? measured(sqrt(diff2 / ref2)) : 0;
  /* A row that had to be exact and is not spoils the case as a whole. */
  raise_to(&out->error, worst.o.ratio == INFINITY ? INFINITY : relative);
  if (worst.o.ratio <= 1 && relative > bound) worst.o = worst_element, worst.o.ratio = INFINITY;
  if (worst.o.ratio <= 1 && worst.lse.ratio <= 1) return true;
  describe(w, o, lse, worst.o.ratio > 1 ? &worst.o : &worst.lse, relative, out);
  return false;
}
