/* A case's output against fp64: relative error of the case and of each row of a token and head; NaN where it has to be and
 * nowhere else; what lies between rows as it was. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/numbers.h"
#include "op/projection_case.h"

/* One rounding to bf16 moves a number by ROUND of itself, root mean square over mantissas spread as logarithms are:
 * 2^-8 / sqrt(3) times the root of 3 / (8 ln 2). Outputs are rounded; where there is a norm matrix instructions get x times its
 * weights rounded, too, and squares add: 1.66e-3, 2.35e-3. f16 has 3 bits more.
 *
 * That is the mean over many numbers. Of few, a sum of n squares of normal numbers passes its mean by more than
 * 2 sqrt(n x) + 2 x parts with a chance of exp(-x) (Laurent and Massart 2000). n are the outputs; what rounding x adds has no
 * more sources than a token has columns. CHANCE is one in a million, as verify looks at so many. Never below USUAL, mla_decode's,
 * which many outputs are held to.
 *
 * x that another product wrote is rounded once more: three roundings, 2.88e-3. */
double mlaf_product_bound(const mlaf_product *p, int64_t tokens) {
  static const double ROUND = 0x1p-8 * 0.42466, USUAL = 2.5e-3, CHANCE = 13.8;
  const int64_t outputs = (int64_t)p->heads * (p->outer + p->rope);
  const int64_t sources = p->behind ? p->behind : (int64_t)p->heads * p->inner;
  const int roundings = p->behind ? 3 : p->norm ? 2 : 1;
  const double n = (double)tokens * (double)(roundings > 1 && sources < outputs ? sources : outputs);
  const double few = n > 0 ? ROUND * sqrt(roundings * (1 + 2 * sqrt(CHANCE / n) + 2 * CHANCE / n)) : 0;
  return (few > USUAL ? few : USUAL) / (p->dtype == MLAF_F16 ? 8 : 1);
}

double mlaf_projection_bound(const mlaf_point *point) {
  const mlaf_product p = mlaf_product_of(point);
  return mlaf_product_bound(&p, p.tokens);
}

typedef struct sums {
  double off, all; /* squares */
} sums;

typedef struct walk {
  const mlaf_projection_case *c;
  const uint16_t *y;
  double bound;
  sums whole;
  mlaf_verify_result *out;
  bool good;
  int64_t t;
  int h;
} walk;

static void fault(walk *w, int column, double got, double want, const char *why) {
  if (!w->good) return;
  char text[300];
  w->good = false;
  mlaf_snprintf(text, sizeof text, "y is %g, reference %g: %s", got, want, why);
  snprintf(w->out->detail, sizeof w->out->detail, "case %s: token %lld of %lld, head %d, column %d: %s", w->c->spec.name,
           (long long)w->t, (long long)w->c->a.tokens, w->h, column, text);
}

/* INFINITY for NaN, so that comparisons with bounds work. */
static double root(const sums *s) {
  const double e = s->all > 0 ? sqrt(s->off / s->all) : s->off > 0 ? INFINITY : 0;
  return isnan(e) ? INFINITY : e;
}

static void see_row(walk *w) {
  const mlaf_projection_case *c = w->c;
  const int columns = c->p.outer + c->p.rope;
  const uint16_t *got = w->y + w->t * c->a.y_token_stride + w->h * c->a.y_head_stride;
  sums row = {0, 0};
  int worst = 0;
  double most = -1;
  mlaf_projection_reference(c, w->t, w->h, c->want);
  for (int i = 0; i < columns; i++) {
    const double x = (double)mlaf_decode16(c->p.dtype, got[i]), want = c->want[i];
    if (!mlaf_projection_compared(c, w->t, i)) continue;
    if (isnan(want) != isnan(x)) {
      w->out->error = w->out->row_error = INFINITY;
      fault(w, i, x, want, isnan(want) ? "it must be NaN" : "no number was due");
    }
    if (isnan(want) || isnan(x)) continue;
    const double off = (x - want) * (x - want);
    row.off += off;
    row.all += want * want;
    if (off > most) most = off, worst = i;
  }
  const double e = root(&row);
  w->whole.off += row.off;
  w->whole.all += row.all;
  w->out->rows++;
  if (e > w->out->row_error) w->out->row_error = e;
  if (!(e <= 2 * w->bound)) {
    char why[100];
    mlaf_snprintf(why, sizeof why, "relative error of the row %.3g, bound %.3g", e, 2 * w->bound);
    fault(w, worst, (double)mlaf_decode16(c->p.dtype, got[worst]), c->want[worst], why);
  }
}

/* Between rows is what was there before: verify fills the first launch's outputs with ones. */
static void see_gaps(walk *w) {
  const mlaf_projection_args *a = &w->c->a;
  const int64_t columns = w->c->p.outer + w->c->p.rope, n = a->tokens * a->y_token_stride;
  for (int64_t i = 0; w->good && i < n; i++) {
    const int64_t in = i % a->y_token_stride, h = in / a->y_head_stride;
    if ((h < w->c->p.heads && in % a->y_head_stride < columns) || w->y[i] == MLAF_NAN16) continue;
    w->out->error = INFINITY;
    w->t = i / a->y_token_stride, w->h = (int)h;
    fault(w, (int)(in % a->y_head_stride), (double)mlaf_decode16(w->c->p.dtype, w->y[i]), NAN, "written between rows");
  }
}

bool mlaf_projection_compare(const mlaf_case *head, void *const *outputs, mlaf_verify_result *out) {
  const mlaf_projection_case *c = (const mlaf_projection_case *)head;
  walk w = {.c = c, .y = outputs[0], .bound = mlaf_product_bound(&c->p, c->a.tokens), .out = out, .good = true};
  for (w.t = 0; w.t < c->a.tokens; w.t++)
    for (w.h = 0; w.h < c->p.heads; w.h++)
      if (mlaf_projection_head_compared(c, w.t, w.h)) see_row(&w);
  const double e = root(&w.whole);
  if (e > out->error) out->error = e;
  if (w.good && !(e <= w.bound)) {
    char why[100];
    mlaf_snprintf(why, sizeof why, "relative error of the case %.3g, bound %.3g", e, w.bound);
    w.t = w.h = 0;
    fault(&w, 0, (double)mlaf_decode16(c->p.dtype, w.y[0]), c->want[0], why);
  }
  see_gaps(&w);
  return w.good;
}

bool mlaf_projection_same(const mlaf_case *head, void *const *a, void *const *b, mlaf_verify_result *out) {
  const mlaf_projection_case *c = (const mlaf_projection_case *)head;
  const size_t bytes = (size_t)(c->p.outer + c->p.rope) * 2;
  for (int64_t t = 0; t < c->a.tokens; t++)
    for (int h = 0; h < c->p.heads; h++) {
      const int64_t at = t * c->a.y_token_stride + h * c->a.y_head_stride;
      if (!memcmp((const uint16_t *)a[0] + at, (const uint16_t *)b[0] + at, bytes)) continue;
      snprintf(out->detail, sizeof out->detail, "case %s: two runs differ in token %lld, head %d", c->spec.name, (long long)t, h);
      return false;
    }
  return true;
}
