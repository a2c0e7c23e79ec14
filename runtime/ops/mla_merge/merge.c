/* mla_merge in fp64, and the logs of its cases. Everything else of it follows from gen/ops/mla_merge/args.lua. */
#include "ops/mla_merge/args.h"

/* fp32 keeps a term but for some sixteen roundings, and its weight's exponent but for one of what it is far from 0. */
#define FP32_OFF 0x1p-20
#define EXPONENT_OFF 0x1p-22

static const mlaf_merge_args *args_of(const mlaf_host *h) { return (const void *)h->args.bytes; }

/* Two parts' logs, and what they weigh. */
typedef struct weights {
  double a, b, wa, wb, off_a, off_b, lse;
  bool no_prefix, no_suffix, lost;
} weights;

static weights weigh(const mlaf_rows *r) {
  const double a = (double)*(const float *)r->row[MERGE_PREFIX_LSE], b = (double)*(const float *)r->row[MERGE_SUFFIX_LSE];
  const double e = args_of(r->h)->flags & MLAF_MERGE_BASE_2 ? M_LN2 : 1;
  weights w = {.a = a, .b = b, .no_prefix = isinf(a), .no_suffix = isinf(b), .lost = isnan(a) || isnan(b)};
  const double m = w.no_prefix ? b : w.no_suffix ? a : fmax(a, b);
  const double wa = w.no_prefix ? 0 : exp((a - m) * e), wb = w.no_suffix ? 0 : exp((b - m) * e), sum = wa + wb;
  w.wa = wa / sum, w.wb = wb / sum;
  w.off_a = FP32_OFF + EXPONENT_OFF * fabs(a - m), w.off_b = FP32_OFF + EXPONENT_OFF * fabs(b - m);
  w.lse = w.no_prefix && w.no_suffix ? -INFINITY : w.lost ? NAN : m + log(sum) / e;
  return w;
}

static void reference(mlaf_rows *r) {
  const weights w = weigh(r);
  const uint16_t *prefix = r->row[MERGE_PREFIX_O], *suffix = r->row[MERGE_SUFFIX_O];
  mlaf_want_row *o = &r->want[0], *lse = &r->want[1];
  lse->value[0] = w.lse;
  lse->slack[0] = FP32_OFF * (1 + fabs(w.lse));
  for (int64_t c = 0; c < r->h->n[MERGE_SIZE_V]; c++) {
    const double x = w.no_prefix ? 0 : w.wa * (double)mlaf_decode16(r->h->dtype, prefix[c]);
    const double y = w.no_suffix ? 0 : w.wb * (double)mlaf_decode16(r->h->dtype, suffix[c]);
    o->value[c] = w.lost ? NAN : x + y;
    /* A part alone comes out as it is. */
    o->slack[c] = w.no_prefix || w.no_suffix ? 0 : w.off_a * fabs(x) + w.off_b * fabs(y);
  }
  if (r->note) mlaf_snprintf(r->note, MLAF_NOTE, "logs %g and %g", w.a, w.b);
}

/* --- inputs --- */

/* Logs that a softmax over many keys has, some equal, some far apart; every tenth pair beyond what e^x of fp32 holds. */
static void draw_logs(const merge_options *o, int64_t row, float lse[2], mlaf_rng *rng) {
  lse[0] = 7 * mlaf_rng_normal(rng);
  lse[1] = lse[0] + (float)o->far * mlaf_rng_normal(rng);
  if (row % 10 == 3) lse[1] = lse[0];
  if (row % 10 == 7) lse[mlaf_rng_below(rng, 2)] += 300;
  for (int i = 0; o->empty != 0 && i < 2; i++)
    if (mlaf_rng_below(rng, 3) == 0) lse[i] = mlaf_rng_below(rng, 2) ? INFINITY : -INFINITY;
}

/* An empty part's row is NaN, but for one in four. */
static void put_log(mlaf_host *h, int o, int lse, int64_t t, int64_t head, float log, mlaf_rng *rng) {
  *(float *)mlaf_host_at(h, lse, t, head) = log;
  if (isinf(log) && mlaf_rng_below(rng, 4)) memset(mlaf_host_at(h, o, t, head), 0xff, 2 * (size_t)h->n[MERGE_SIZE_V]);
}

static void draw(mlaf_host *h, mlaf_rng *rng) {
  for (int64_t t = 0; t < h->n[MERGE_SIZE_T]; t++)
    for (int64_t head = 0; head < h->n[MERGE_SIZE_H]; head++) {
      float lse[2];
      draw_logs(h->options, t * h->n[MERGE_SIZE_H] + head, lse, rng);
      put_log(h, MERGE_PREFIX_O, MERGE_PREFIX_LSE, t, head, lse[0], rng);
      put_log(h, MERGE_SUFFIX_O, MERGE_SUFFIX_LSE, t, head, lse[1], rng);
    }
}

static void draw_timing(mlaf_host *h, mlaf_rng *rng) {
  static const int both[] = {MERGE_PREFIX_LSE, MERGE_SUFFIX_LSE};
  for (int k = 0; k < 2; k++)
    for (int64_t i = 0; i < h->n[MERGE_SIZE_ROWS]; i++) ((float *)(void *)h->t[both[k]].data)[i] = 8 + 2 * mlaf_rng_normal(rng);
}

/* A NaN in a row where both parts have a say. There are no pages: a log that is no number, of bits that rounding to 16 would
 * carry out of, comes nearest. */
static mlaf_status inject(mlaf_host *h, mlaf_inject inject, mlaf_rng *rng, mlaf_err *err) {
  for (int tries = 0; tries < 1000; tries++) {
    const int64_t t = mlaf_rng_below(rng, (uint32_t)h->n[MERGE_SIZE_T]), head = mlaf_rng_below(rng, (uint32_t)h->n[MERGE_SIZE_H]);
    const float *prefix = mlaf_host_at(h, MERGE_PREFIX_LSE, t, head);
    float *suffix = mlaf_host_at(h, MERGE_SUFFIX_LSE, t, head);
    if (isinf(*prefix) || isinf(*suffix)) continue;
    uint16_t *o = mlaf_host_at(h, MERGE_PREFIX_O, t, head);
    if (inject == MLAF_INJECT_OOB_PAGE) *suffix = mlaf_bits_float(0x7fffffffu);
    else o[mlaf_rng_below(rng, (uint32_t)h->n[MERGE_SIZE_V])] = MLAF_NAN16;
    return MLAF_OK;
  }
  return mlaf_fail(err, MLAF_E_ARG, "no row can carry an injection");
}

const mlaf_table_hooks merge_hooks = {.reference = reference, .draw = draw, .inject = inject, .draw_timing = draw_timing};
