/* mla_q_scale in fp64, and the positions of its cases. Everything else of it follows from gen/ops/mla_q_scale/args.lua. */
#include "ops/mla_q_scale/args.h"

enum { STEPS = 40, TIMED_STEPS = 4 };
#define FP32_OFF 0x1p-20 /* some sixteen roundings */

static void reference(mlaf_rows *r) {
  const mlaf_q_scale_args *a = (const void *)r->h->args.bytes;
  const int64_t position = *(const int64_t *)r->row[Q_SCALE_POSITIONS];
  const int64_t at = position < 0 ? 0 : position > INT32_MAX ? INT32_MAX : position, k = at / a->original;
  const double more = (double)a->beta * log(1 + (double)k);
  const uint16_t *x = r->row[Q_SCALE_X];
  mlaf_want_row *y = &r->want[0];
  if (!k) y->bits = x;
  for (int64_t c = 0; c < r->h->n[Q_SCALE_SIZE_N]; c++) {
    const double value = (double)mlaf_decode16(r->h->dtype, x[c]);
    y->value[c] = (1 + more) * value;
    y->slack[c] = FP32_OFF * (1 + fabs(more)) * fabs(value);
  }
  if (r->note) mlaf_snprintf(r->note, MLAF_NOTE, "at position %lld, times %g", (long long)position, 1 + more);
}

/* Positions on both sides of steps, and between them. */
static int64_t draw_position(bool wild, int64_t step, int64_t t, mlaf_rng *rng) {
  const int64_t at = step * (1 + mlaf_rng_below(rng, STEPS));
  switch (t % 5) {
    case 0: return at;
    case 1: return at - 1;
    case 2: return mlaf_rng_below(rng, (uint32_t)step);
    case 3: return wild ? -1 - (int64_t)mlaf_rng_below(rng, 1u << 20) * step : at + mlaf_rng_below(rng, (uint32_t)step);
    default: return wild ? INT32_MAX + (int64_t)mlaf_rng_below(rng, 1u << 30) * 9 : at + step - 1;
  }
}

static int64_t *positions(mlaf_host *h) { return (void *)h->t[Q_SCALE_POSITIONS].data; }
static int64_t step_of(const mlaf_host *h) { return ((const mlaf_q_scale_args *)(const void *)h->args.bytes)->original; }

static void draw(mlaf_host *h, mlaf_rng *rng) {
  const bool wild = ((const q_scale_options *)h->options)->wild != 0;
  for (int64_t t = 0; t < h->n[Q_SCALE_SIZE_T]; t++) positions(h)[t] = draw_position(wild, step_of(h), t, rng);
}

/* Positions over four steps, so that one token in four keeps its bits. */
static void draw_timing(mlaf_host *h, mlaf_rng *rng) {
  for (int64_t t = 0; t < h->n[Q_SCALE_SIZE_T]; t++) positions(h)[t] = mlaf_rng_below(rng, (uint32_t)step_of(h) * TIMED_STEPS);
}

/* There are no pages: a position that no table has comes nearest. */
static mlaf_status inject(mlaf_host *h, mlaf_inject inject, mlaf_rng *rng, mlaf_err *err) {
  const int64_t t = mlaf_rng_below(rng, (uint32_t)h->n[Q_SCALE_SIZE_T]);
  if (inject == MLAF_INJECT_NAN_Q) mlaf_host_break(h, Q_SCALE_X, rng);
  else positions(h)[t] = INT64_MIN, positions(h)[0] = INT64_MAX;
  return MLAF_OK;
}

const mlaf_table_hooks q_scale_hooks = {.reference = reference, .draw = draw, .inject = inject, .draw_timing = draw_timing};
