/* mla_index_append in fp64, its cases, and how codes and scales are compared. Everything else of it follows from
 * gen/ops/mla_index_append/args.lua. */
#include "ops/mla_index_append/index_append.h"

#include "op/e4m3.h"
#include "ops/mla_index_append/args.h"

#define FP32_OFF 0x1p-20  /* of a number or of the terms of its sum: what some twenty roundings in fp32 come to */
#define SCALE_OFF 0x1p-19 /* relative, of a scale */
#define LEAST 1e-4        /* largest number of a row, as its scale has it */
enum { COLUMNS = INDEX_APPEND_COLUMNS, ROPE = INDEX_APPEND_ROPE };

/* A size of the table. */
#define N(h, size) ((h)->n[INDEX_APPEND_SIZE_##size])

static mlaf_index_append_args *args_of(const mlaf_host *h) { return (void *)(uintptr_t)h->args.bytes; }
static const index_append_options *options_of(const mlaf_host *h) { return h->options; }
static int64_t *slots(const mlaf_host *h) { return (void *)h->t[INDEX_APPEND_SLOTS].data; }
static int64_t *positions(const mlaf_host *h) { return (void *)h->t[INDEX_APPEND_POSITIONS].data; }
static bool is_live(const mlaf_host *h, int64_t t) { return slots(h)[t] >= 0 && slots(h)[t] < N(h, SLOTS); }
static bool has_heads(const mlaf_host *h) { return h->point.v[MLA_INDEX_APPEND_HEADS]; }

/* --- where rows lie --- */

/* Three slots and more stay free. */
static void arguments(mlaf_host *h) {
  mlaf_index_append_args *a = args_of(h);
  a->num_pages = mlaf_up(options_of(h)->timed != 0 ? a->tokens : a->tokens + 3, a->page_tokens);
}

static void arrange(mlaf_host *h) {
  mlaf_host_tensor *sin = &h->t[INDEX_APPEND_SIN], *cos = &h->t[INDEX_APPEND_COS];
  if (!sin->absent) sin->stride[0] = cos->stride[0], sin->count = cos->count;
}

static int64_t place(const mlaf_host *h, int tensor, int64_t t, int64_t head) {
  const int64_t slot = slots(h)[t], page = args_of(h)->page_tokens, *stride = h->t[tensor].stride;
  const bool cache = tensor == INDEX_APPEND_KEYS || tensor == INDEX_APPEND_SCALES;
  if (cache) return head || !is_live(h, t) ? -1 : slot / page * stride[0] + slot % page * stride[1];
  if (tensor == INDEX_APPEND_LENGTHS) return head ? -1 : t;
  if (tensor == INDEX_APPEND_W8) return head ? -1 : mlaf_host_row(h, tensor, t, 0);
  return mlaf_host_row(h, tensor, t, head);
}

static void find(const mlaf_host *h, int tensor, int64_t row, int64_t *t, int64_t *head) {
  if (tensor == INDEX_APPEND_KEYS || tensor == INDEX_APPEND_SCALES) *t = h->more[row], *head = 0;
}

/* --- contents --- */

/* Some tokens have no slot, and positions far outside. */
static void deal_positions(mlaf_host *h, mlaf_rng *rng) {
  const int64_t rows = N(h, TABLE), edge[] = {0, rows - 1}, bad[] = {-1, N(h, SLOTS), INT64_MAX, INT64_MIN};
  for (int64_t t = 0; t < N(h, T); t++) {
    positions(h)[t] = t < 2 ? edge[t] : mlaf_rng_below(rng, (uint32_t)rows);
    if (options_of(h)->bad == 0 || t % 4 != 1) continue;
    slots(h)[t] = bad[t / 4 % 4];
    if (t % 8 == 1) positions(h)[t] = t % 16 == 1 ? -7 : INT64_C(1) << 40;
  }
}

static void draw_timing(mlaf_host *h, mlaf_rng *rng) {
  mlaf_host_deal_slots(h, INDEX_APPEND_SLOTS, N(h, SLOTS), rng);
  deal_positions(h, rng);
  mlaf_host_fill_angles(h, INDEX_APPEND_COS, INDEX_APPEND_COS, 2, rng);
  for (int i = 0; i < COLUMNS; i++) {
    ((float *)(void *)h->t[INDEX_APPEND_NORM_WEIGHT].data)[i] = 1 + mlaf_rng_normal(rng) / 4;
    ((float *)(void *)h->t[INDEX_APPEND_NORM_BIAS].data)[i] = mlaf_rng_normal(rng) / 4;
  }
}

/* One row in five of extreme cases is large, small, or zero. */
static void change_row(const mlaf_host *h, int tensor, int64_t t, int64_t head) {
  static const float times[] = {3e3f, 1e-5f, 0, 1, 1};
  uint16_t *row = mlaf_host_at(h, tensor, t, head);
  const float by = times[(t + head) % 5];
  for (int i = 0; i < COLUMNS; i++) row[i] = mlaf_encode16(h->dtype, by * mlaf_decode16(h->dtype, row[i]));
}

static void draw(mlaf_host *h, mlaf_rng *rng) {
  static const int32_t edges[] = {0, 1, 2, 3, INT32_MAX, -5, INT32_MIN, 4};
  draw_timing(h, rng);
  mlaf_host_fill_angles(h, INDEX_APPEND_SIN, INDEX_APPEND_COS, 2, rng);
  for (int64_t t = 0; options_of(h)->extreme != 0 && t < N(h, T); t++) {
    change_row(h, INDEX_APPEND_K, t, 0);
    for (int64_t head = 0; head < N(h, H); head++) change_row(h, INDEX_APPEND_Q, t, head);
  }
  for (int64_t i = 0; !h->t[INDEX_APPEND_SEQ_LENS].absent && i < N(h, B); i++)
    ((int32_t *)(void *)h->t[INDEX_APPEND_SEQ_LENS].data)[i] = edges[i % 8];
}

/* A NaN in a query or a key; a slot outside of the cache, or a position outside of the table. */
static mlaf_status inject(mlaf_host *h, mlaf_inject inject, mlaf_rng *rng, mlaf_err *err) {
  const int64_t outside[] = {N(h, SLOTS), -1, INT64_MAX}, t = mlaf_rng_below(rng, (uint32_t)N(h, T));
  const bool query = has_heads(h) && mlaf_rng_below(rng, 2);
  if (inject == MLAF_INJECT_NAN_Q) mlaf_host_break(h, query ? INDEX_APPEND_Q : INDEX_APPEND_K, rng);
  else if (mlaf_rng_below(rng, 2)) positions(h)[t] = mlaf_rng_below(rng, 2) ? N(h, TABLE) : -1;
  else slots(h)[t] = outside[mlaf_rng_below(rng, 3)];
  return MLAF_OK;
}

/* --- what must come out --- */

/* A row before it is quantised; slack: what fp32 may be off by. */
typedef struct numbers {
  double value[COLUMNS], slack[COLUMNS];
} numbers;

static void read_row(const mlaf_host *h, const uint16_t *row, numbers *x) {
  for (int i = 0; i < COLUMNS; i++) x->value[i] = (double)mlaf_decode16(h->dtype, row[i]), x->slack[i] = 0;
}

static void norm(const mlaf_host *h, numbers *x) {
  const float *gain = (const void *)h->t[INDEX_APPEND_NORM_WEIGHT].data, *bias = (const void *)h->t[INDEX_APPEND_NORM_BIAS].data;
  double sum = 0, sizes = 0, squares = 0;
  for (int i = 0; i < COLUMNS; i++) sum += x->value[i], sizes += fabs(x->value[i]);
  const double mean = sum / COLUMNS;
  for (int i = 0; i < COLUMNS; i++) squares += (x->value[i] - mean) * (x->value[i] - mean);
  const double factor = 1 / sqrt(squares / COLUMNS + (double)args_of(h)->eps);
  for (int i = 0; i < COLUMNS; i++) {
    const double g = (double)gain[i] * factor, y = (x->value[i] - mean) * g;
    x->slack[i] = FP32_OFF * (fabs(y) + fabs(g) * (fabs(x->value[i]) + sizes / COLUMNS) + fabs((double)bias[i]));
    x->value[i] = y + (double)bias[i];
  }
}

static void rotate(const mlaf_host *h, int64_t position, numbers *x) {
  const bool there = position >= 0 && position < N(h, TABLE), apart = !h->t[INDEX_APPEND_SIN].absent;
  const bool halves = h->point.v[MLA_INDEX_APPEND_STYLE] == INDEX_APPEND_HALVES;
  for (int i = 0; i < ROPE / 2; i++) {
    const int a = halves ? i : 2 * i, b = halves ? i + ROPE / 2 : 2 * i + 1;
    const int sines = apart ? INDEX_APPEND_SIN : INDEX_APPEND_COS, at = apart ? i : ROPE / 2 + i;
    const double c = there ? mlaf_host_angle(h, INDEX_APPEND_COS, INDEX_APPEND_COS, position, i) : (double)NAN;
    const double d = there ? mlaf_host_angle(h, sines, INDEX_APPEND_COS, position, at) : (double)NAN;
    const double p = x->value[a], q = x->value[b], p_slack = x->slack[a], q_slack = x->slack[b];
    x->value[a] = p * c - q * d;
    x->slack[a] = FP32_OFF * (fabs(p * c) + fabs(q * d)) + p_slack * fabs(c) + q_slack * fabs(d);
    x->value[b] = q * c + p * d;
    x->slack[b] = FP32_OFF * (fabs(q * c) + fabs(p * d)) + q_slack * fabs(c) + p_slack * fabs(d);
  }
}

/* Times the Hadamard matrix, element by element: -1 where the numbers of row and column share an odd number of bits. */
static void transform(numbers *x) {
  numbers y;
  double sizes = 0;
  for (int i = 0; i < COLUMNS; i++) sizes += FP32_OFF * fabs(x->value[i]) + x->slack[i];
  for (int i = 0; i < COLUMNS; i++) {
    double sum = 0;
    for (int k = 0; k < COLUMNS; k++) sum += __builtin_parity((unsigned)(i & k)) ? -x->value[k] : x->value[k];
    y.value[i] = sum / sqrt(COLUMNS), y.slack[i] = sizes / sqrt(COLUMNS);
  }
  *x = y;
}

static void make_row(const mlaf_rows *r, const uint16_t *row, bool key, numbers *x) {
  read_row(r->h, row, x);
  if (key) norm(r->h, x);
  rotate(r->h, positions(r->h)[r->i], x);
  if (r->h->point.v[MLA_INDEX_APPEND_HADAMARD]) transform(x);
}

/* A row's scale before it may become a power of two. NaN is passed over, as a kernel does. */
static double plain_scale(const double *value) {
  double most = LEAST;
  for (int i = 0; i < COLUMNS; i++) most = fmax(most, fabs(value[i]));
  return most / mlaf_e4m3_most(false);
}

static bool takes_powers(const mlaf_host *h) { return args_of(h)->flags & MLAF_INDEX_APPEND_POWER_OF_TWO; }

static double power_from(double x) {
  int exponent;
  return frexp(x, &exponent) == 0.5 ? x : ldexp(1, exponent);
}

/* The two scales that a row may have; they differ where fp32 decides which power of two it is. */
static void scales_of(const mlaf_host *h, const double *value, double out[2]) {
  const double x = plain_scale(value);
  out[0] = takes_powers(h) ? power_from(x * (1 - SCALE_OFF)) : x;
  out[1] = takes_powers(h) ? power_from(x * (1 + SCALE_OFF)) : x;
}

static void refer_row(const numbers *x, mlaf_want_row *w) {
  memcpy(w->value, x->value, sizeof x->value);
  memcpy(w->slack, x->slack, sizeof x->slack);
}

/* All weights of a token: of each head's row the scale. */
static void refer_weights(const mlaf_rows *r, mlaf_want_row *w) {
  const mlaf_host *h = r->h;
  for (int64_t head = 0; head < N(h, H); head++) {
    uint16_t row[COLUMNS];
    numbers x;
    mlaf_rows_read(r, INDEX_APPEND_Q, mlaf_host_row(h, INDEX_APPEND_Q, r->i, head), COLUMNS, row);
    make_row(r, row, false, &x);
    double scales[2];
    scales_of(h, x.value, scales);
    const double w8 = (double)mlaf_decode16(h->dtype, ((const uint16_t *)r->row[INDEX_APPEND_W])[head]);
    const double by = w8 * (double)args_of(h)->w_scale;
    w->value[head] = by * scales[0];
    w->slack[head] = fabs(by) * (SCALE_OFF * scales[1] + scales[1] - scales[0]) + 0x1p-126;
  }
}

static void reference(mlaf_rows *r) {
  const mlaf_host *h = r->h;
  mlaf_want_row *q8 = mlaf_rows_want(r, INDEX_APPEND_Q8), *lengths = mlaf_rows_want(r, INDEX_APPEND_LENGTHS);
  numbers x;
  if (r->note)
    mlaf_snprintf(r->note, MLAF_NOTE, "slot %lld, position %lld", (long long)slots(h)[r->i], (long long)positions(h)[r->i]);
  if (q8) {
    make_row(r, r->row[INDEX_APPEND_Q], false, &x);
    refer_row(&x, q8);
  }
  if (r->j) return;
  make_row(r, r->row[INDEX_APPEND_K], true, &x);
  refer_row(&x, mlaf_rows_want(r, INDEX_APPEND_KEYS));
  mlaf_rows_want(r, INDEX_APPEND_SCALES)->value[0] = plain_scale(x.value);
  if (has_heads(h)) refer_weights(r, mlaf_rows_want(r, INDEX_APPEND_W8));
  if (!lengths) return;
  const int64_t q = args_of(h)->q_tokens, all = ((const int32_t *)(const void *)h->t[INDEX_APPEND_SEQ_LENS].data)[r->i / q];
  lengths->value[0] = (double)(all - (q - 1 - r->i % q) > 0 ? all - (q - 1 - r->i % q) : 0);
}

/* --- beside the reference --- */

/* The error of a code for value / scale, in units of its last place; an infinity is NaN. */
static double off_code(uint8_t got, double want, double slack) {
  const double held = isfinite(want) ? fmax(-448, fmin(448, want)) : (double)NAN, is = mlaf_e4m3_decode(false, got);
  if (isnan(held) || isnan(is)) return isnan(held) && isnan(is) ? 0 : INFINITY;
  return fmax(0, fabs(is - held) - fmin(slack + SCALE_OFF * fabs(held), FP32_OFF * 2 * 448)) / mlaf_e4m3_ulp(false, held);
}

static double off_codes(const mlaf_rows *r, const mlaf_want_row *w, const uint8_t *got, int *column, double *is) {
  double scales[2], best = INFINITY;
  scales_of(r->h, w->value, scales);
  for (int s = 0; s < 2; s++) {
    double worst = -1;
    int at = 0;
    for (int c = 0; c < COLUMNS; c++) {
      const double off = off_code(got[c], w->value[c] / scales[s], w->slack[c] / scales[s]);
      if (off > worst) worst = off, at = c;
    }
    if (s == 0 || worst < best) best = worst, *column = at, *is = mlaf_e4m3_decode(false, got[at]) * scales[s];
  }
  return best;
}

static double off_scale(const mlaf_host *h, double want, double got) {
  if (!takes_powers(h)) return fabs(got - want) <= SCALE_OFF * want ? 0 : INFINITY;
  return got == power_from(want * (1 - SCALE_OFF)) || got == power_from(want * (1 + SCALE_OFF)) ? 0 : INFINITY;
}

static double off(mlaf_rows *r, int k, const void *got, int *column, double *is) {
  const mlaf_want_row *w = &r->want[k];
  const bool codes = r->h->outputs[k] == INDEX_APPEND_KEYS || r->h->outputs[k] == INDEX_APPEND_Q8;
  const bool one = r->h->outputs[k] == INDEX_APPEND_SCALES || r->h->outputs[k] == INDEX_APPEND_LENGTHS;
  for (int c = 0; c < (codes ? COLUMNS : one); c++) r->compared += !isnan(w->value[c]);
  switch (r->h->outputs[k]) {
    case INDEX_APPEND_KEYS:
    case INDEX_APPEND_Q8: return off_codes(r, w, got, column, is);
    case INDEX_APPEND_SCALES:
      *is = (double)*(const float *)got;
      return off_scale(r->h, w->value[0], *is);
    case INDEX_APPEND_LENGTHS:
      *is = (double)*(const int32_t *)got;
      return *is == w->value[0] ? 0 : INFINITY;
    default: return -1;
  }
}

const mlaf_table_hooks index_append_hooks = {.reference = reference, .draw = draw, .inject = inject,
                                             .draw_timing = draw_timing, .arguments = arguments, .arrange = arrange,
                                             .place = place, .find = find, .off = off};
