/* mla_merge_parts in fp64, and the logs of its cases. Everything else of it follows from gen/ops/mla_merge_parts/args.lua. */
#include "ops/mla_merge_parts/args.h"

/* fp32 keeps a term but for some thirty roundings, and its weight's exponent but for one of its distance from 0. */
#define FP32_OFF 0x1p-19
#define EXPONENT_OFF 0x1p-22

enum { PARTS_MOST = 16, COLUMNS_MOST = 512 };

static const mlaf_merge_parts_args *args_of(const mlaf_host *h) { return (const void *)h->args.bytes; }

/* The element that the row of part i of a token's head begins with. */
static int64_t element_of(const mlaf_host *h, int tensor, int64_t i, int64_t t, int64_t head) {
  const int64_t *stride = h->t[tensor].stride;
  return i * stride[0] + t * stride[1] + head * stride[2];
}

/* Logs of all parts, and what they weigh. */
typedef struct weights {
  double log[PARTS_MOST], weight[PARTS_MOST], slack[PARTS_MOST], lse;
  int n, last; /* parts that are not empty; the last of them */
  bool lost;   /* some log is a NaN */
} weights;

static weights weigh(const mlaf_rows *r) {
  const uint32_t flags = args_of(r->h)->flags;
  const double e = flags & MLAF_MERGE_PARTS_IN_BASE_2 ? M_LN2 : 1, to = flags & MLAF_MERGE_PARTS_OUT_BASE_2 ? M_LN2 : 1;
  const int parts = (int)r->h->n[MERGE_PARTS_SIZE_N];
  weights w = {.last = -1};
  double m = -INFINITY, sum = 0;
  for (int i = 0; i < parts; i++) {
    float log;
    mlaf_rows_read(r, MERGE_PARTS_PARTS_LSE, element_of(r->h, MERGE_PARTS_PARTS_LSE, i, r->i, r->j), 1, &log);
    w.log[i] = (double)log;
    w.lost |= isnan(w.log[i]);
    if (isinf(w.log[i])) continue;
    w.n++, w.last = i, m = fmax(m, w.log[i]);
  }
  for (int i = 0; i < parts; i++) sum += w.weight[i] = isinf(w.log[i]) ? 0 : exp((w.log[i] - m) * e);
  for (int i = 0; i < parts; i++) w.weight[i] /= sum, w.slack[i] = FP32_OFF + EXPONENT_OFF * fabs(w.log[i] - m);
  w.lse = w.lost ? NAN : !w.n ? -INFINITY : (m * e + log(sum)) / to;
  return w;
}

static float *log_at(const mlaf_host *h, int64_t i, int64_t t, int64_t head) {
  return (float *)(void *)h->t[MERGE_PARTS_PARTS_LSE].data + element_of(h, MERGE_PARTS_PARTS_LSE, i, t, head);
}

static uint16_t *part_at(const mlaf_host *h, int64_t i, int64_t t, int64_t head) {
  return (uint16_t *)(void *)h->t[MERGE_PARTS_PARTS].data + element_of(h, MERGE_PARTS_PARTS, i, t, head);
}

static void reference(mlaf_rows *r) {
  const weights w = weigh(r);
  const int64_t columns = r->h->n[MERGE_PARTS_SIZE_V];
  mlaf_want_row *o = &r->want[0], *lse = &r->want[1];
  uint16_t part[COLUMNS_MOST];
  lse->value[0] = w.lse;
  lse->slack[0] = FP32_OFF * (1 + fabs(w.lse));
  for (int64_t c = 0; c < columns; c++) o->value[c] = w.lost ? NAN : 0;
  for (int i = 0; i < r->h->n[MERGE_PARTS_SIZE_N] && !w.lost; i++) {
    if (isinf(w.log[i])) continue;
    mlaf_rows_read(r, MERGE_PARTS_PARTS, element_of(r->h, MERGE_PARTS_PARTS, i, r->i, r->j), columns, part);
    for (int64_t c = 0; c < columns; c++) {
      const double x = w.weight[i] * (double)mlaf_decode16(r->h->dtype, part[c]);
      o->value[c] += x;
      if (w.n > 1) o->slack[c] += w.slack[i] * fabs(x);
    }
    /* A part alone comes out as it is, zeros of either sign included. */
    if (w.n == 1 && !r->h->t[MERGE_PARTS_PARTS].pooled) o->bits = part_at(r->h, i, r->i, r->j);
  }
  if (r->note) mlaf_snprintf(r->note, MLAF_NOTE, "%d parts that are not empty, the last %d of log %g", w.n, w.last,
                             w.last < 0 ? 0 : w.log[w.last]);
}

/* --- inputs --- */

/* Draws logs as a softmax over many keys has them: apart by `far`; one row of ten has equal ones, one a part beyond what e^x of
 * fp32 holds. One row of eight has no part that counts, one a single part. */
static void draw_logs(const mlaf_host *h, int64_t row, float *log, mlaf_rng *rng) {
  const merge_parts_options *o = h->options;
  const uint32_t parts = (uint32_t)h->n[MERGE_PARTS_SIZE_N];
  const float all = 7 * mlaf_rng_normal(rng);
  for (uint32_t i = 0; i < parts; i++) log[i] = all + (row % 10 == 3 ? 0 : (float)o->far * mlaf_rng_normal(rng));
  if (row % 10 == 7) log[mlaf_rng_below(rng, parts)] += 300;
  const uint32_t alone = mlaf_rng_below(rng, parts);
  for (uint32_t i = 0; o->empty != 0 && i < parts; i++)
    if (row % 8 == 1 || (row % 8 == 5 && i != alone) || mlaf_rng_below(rng, 3) == 0)
      log[i] = mlaf_rng_below(rng, 2) ? INFINITY : -INFINITY;
}

static void draw(mlaf_host *h, mlaf_rng *rng) {
  const int64_t heads = h->n[MERGE_PARTS_SIZE_H];
  for (int64_t row = 0; row < h->n[MERGE_PARTS_SIZE_ROWS]; row++) {
    float log[PARTS_MOST];
    draw_logs(h, row, log, rng);
    for (int64_t i = 0; i < h->n[MERGE_PARTS_SIZE_N]; i++) {
      uint16_t *part = part_at(h, i, row / heads, row % heads);
      *log_at(h, i, row / heads, row % heads) = log[i];
      part[row % h->n[MERGE_PARTS_SIZE_V]] = 0x8000; /* -0 */
      if (isinf(log[i]) && mlaf_rng_below(rng, 4)) /* an empty part's row is NaN, but for one in four */
        memset(part, 0xff, 2 * (size_t)h->n[MERGE_PARTS_SIZE_V]);
    }
  }
}

static void draw_timing(mlaf_host *h, mlaf_rng *rng) {
  float *log = (float *)(void *)h->t[MERGE_PARTS_PARTS_LSE].data;
  for (int64_t i = 0; i < h->t[MERGE_PARTS_PARTS_LSE].count; i++) log[i] = 8 + 2 * mlaf_rng_normal(rng);
}

/* A NaN in a part that has a say. There are no pages: a log that is no number, of bits that rounding to 16 would carry out of,
 * comes nearest. */
static mlaf_status inject(mlaf_host *h, mlaf_inject inject, mlaf_rng *rng, mlaf_err *err) {
  for (int tries = 0; tries < 1000; tries++) {
    const int64_t i = mlaf_rng_below(rng, (uint32_t)h->n[MERGE_PARTS_SIZE_N]),
                  t = mlaf_rng_below(rng, (uint32_t)h->n[MERGE_PARTS_SIZE_T]),
                  head = mlaf_rng_below(rng, (uint32_t)h->n[MERGE_PARTS_SIZE_H]);
    if (isinf(*log_at(h, i, t, head))) continue;
    if (inject == MLAF_INJECT_OOB_PAGE) *log_at(h, i, t, head) = mlaf_bits_float(0x7fffffffu);
    else part_at(h, i, t, head)[mlaf_rng_below(rng, (uint32_t)h->n[MERGE_PARTS_SIZE_V])] = MLAF_NAN16;
    return MLAF_OK;
  }
  return mlaf_fail(err, MLAF_E_ARG, "no row can carry an injection");
}

const mlaf_table_hooks merge_parts_hooks = {.reference = reference, .draw = draw, .inject = inject, .draw_timing = draw_timing};
