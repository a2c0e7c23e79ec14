/* mla_append in fp64, its cases, and how a cache's row is compared. Everything else of it follows from
 * gen/ops/mla_append/args.lua. */
#include "ops/mla_append/append.h"

#include "op/e4m3.h"
#include "op/ulp.h"
#include "ops/mla_append/args.h"

#define FP32_OFF 0x1p-20       /* of a value or of the terms of its sum: what some twenty roundings in fp32 come to */
#define SCALE_OFF 0x1p-19      /* relative, of a tile's scale */
#define LEAST_SCALE 0x1p-126   /* of a tile of zeros, and that where scales are powers of two */
#define LEAST_POWER 1e-4
#define LEAST_IN_TILE 1e-4     /* of largest values, where scales are bytes */
enum { PAGE = 5, TILE_OF_ZEROS = 128 };
static const float SCALE_ON_DEVICE = 0.004f;

static const mlaf_append_args *args_of(const mlaf_host *h) { return (const void *)h->args.bytes; }
static const append_options *options_of(const mlaf_host *h) { return h->options; }
static const mlaf_cache_format *format_of(const mlaf_host *h) { return append_format(h->point.v); }
static int64_t *slots(const mlaf_host *h) { return (void *)h->t[APPEND_SLOTS].data; }
static int64_t *positions(const mlaf_host *h) { return (void *)h->t[APPEND_POSITIONS].data; }

static bool is_live(const mlaf_host *h, int64_t t) { return slots(h)[t] >= 0 && slots(h)[t] < h->n[APPEND_SIZE_SLOTS]; }
static bool has_query(const mlaf_host *h, int64_t t) { return is_live(h, t) || args_of(h)->flags & MLAF_APPEND_ALL_Q; }

/* --- where rows lie --- */

static void arguments(mlaf_host *h) {
  mlaf_append_args *a = (void *)h->args.bytes;
  a->num_slots = options_of(h)->timed != 0 ? a->tokens : 2 * a->tokens + 3;
  a->page_tokens = options_of(h)->apart != 0 ? PAGE : 0;
  a->cache_page_stride = a->page_tokens; /* pages lie apart, how far is not known yet */
  if (format_of(h)->aside && !a->page_tokens) a->page_tokens = (int32_t)a->num_slots; /* one page has all */
}

/* Pages of rows that follow each other, with room for their scales; but these lie in a dense tensor of their own here, where
 * nothing else does. */
static void arrange_aside(mlaf_host *h) {
  const int64_t row = h->n[APPEND_SIZE_ROW], page = h->n[APPEND_SIZE_PAGE];
  mlaf_host_tensor *cache = &h->t[APPEND_CACHE], *scales = &h->t[APPEND_CACHE_KPE];
  cache->stride[0] = mlaf_format_page_rows(format_of(h), page, (int)h->n[APPEND_SIZE_R], (int)h->n[APPEND_SIZE_P]) * row;
  cache->stride[1] = row;
  cache->count = h->n[APPEND_SIZE_PAGES] * cache->stride[0];
  scales->stride[0] = scales->stride[1] = 0;
  scales->count = h->n[APPEND_SIZE_PAGES] * page * h->n[APPEND_SIZE_ROPEROW];
}

static void arrange(mlaf_host *h) {
  mlaf_host_tensor *sin = &h->t[APPEND_SIN], *cos = &h->t[APPEND_COS];
  if (!sin->absent) sin->stride[0] = cos->stride[0], sin->count = cos->count;
  if (format_of(h)->aside) arrange_aside(h);
  else if (options_of(h)->apart == 0) h->t[APPEND_CACHE].stride[0] = h->t[APPEND_CACHE_KPE].stride[0] = 0; /* one page has all */
}

static int64_t place(const mlaf_host *h, int tensor, int64_t t, int64_t head) {
  const int64_t slot = slots(h)[t], page = h->n[APPEND_SIZE_PAGE], *stride = h->t[tensor].stride;
  const bool cache = tensor == APPEND_CACHE || tensor == APPEND_CACHE_KPE;
  if (cache || tensor == APPEND_KPE_OUT ? head || !is_live(h, t) : !has_query(h, t)) return -1;
  if (tensor == APPEND_CACHE_KPE && format_of(h)->aside) return slot * h->n[APPEND_SIZE_ROPEROW];
  return cache ? slot / page * stride[0] + slot % page * stride[1] : mlaf_host_row(h, tensor, t, head);
}

static void find(const mlaf_host *h, int tensor, int64_t row, int64_t *t, int64_t *head) {
  if (tensor == APPEND_CACHE || tensor == APPEND_CACHE_KPE) *t = h->more[row], *head = 0;
}

/* --- contents --- */

/* Some tokens have no slot; their positions are far outside. */
static void deal_positions(mlaf_host *h, mlaf_rng *rng) {
  const int64_t n = h->n[APPEND_SIZE_SLOTS], rows = h->n[APPEND_SIZE_TABLE];
  const int64_t edge[] = {0, rows - 1}, bad[] = {-1, n, INT64_MAX, -1};
  for (int64_t t = 0; t < h->n[APPEND_SIZE_T]; t++) {
    if (options_of(h)->bad != 0 && t % 4 == 1) slots(h)[t] = bad[t / 4 % 4];
    if (!positions(h)) continue;
    positions(h)[t] = t < 2 ? edge[t] : mlaf_rng_below(rng, (uint32_t)rows);
    if (!has_query(h, t)) positions(h)[t] = t % 8 == 1 ? -7 : INT64_C(1) << 40;
  }
}

/* Rows are standard normal; of extreme cases one in five is large, small, zero, has a tile of zeros, or an infinity. What no
 * kernel may read is NaN. */
static void change_row(const mlaf_host *h, int tensor, int64_t t, int64_t head, bool read) {
  static const float times[] = {3e3f, 1e-4f, 0, 1, 1};
  if (h->t[tensor].absent) return;
  uint16_t *row = mlaf_host_at(h, tensor, t, head);
  const int64_t n = mlaf_host_columns(h, tensor), kind = tensor == APPEND_Q_NOPE ? 4 : t % 5;
  for (int64_t i = 0; i < n; i++) {
    const float x = mlaf_decode16(h->dtype, row[i]) * (kind == 3 && i < TILE_OF_ZEROS ? 0 : times[kind]);
    if (!read) row[i] = MLAF_NAN16;
    else if (options_of(h)->extreme != 0) row[i] = mlaf_encode16(h->dtype, x);
  }
  if (!read || options_of(h)->extreme == 0 || t % 5 != 4 || head || tensor > APPEND_KPE) return;
  row[tensor == APPEND_CKV ? n / 2 + 1 : n - 1] = mlaf_encode16(h->dtype, t % 2 ? INFINITY : -INFINITY);
}

static void draw_timing(mlaf_host *h, mlaf_rng *rng) {
  mlaf_host_deal_slots(h, APPEND_SLOTS, h->n[APPEND_SIZE_SLOTS], rng);
  deal_positions(h, rng);
  mlaf_host_fill_angles(h, APPEND_COS, APPEND_COS, 6, rng);
}

static void draw(mlaf_host *h, mlaf_rng *rng) {
  draw_timing(h, rng);
  mlaf_host_fill_angles(h, APPEND_SIN, APPEND_COS, 6, rng);
  for (int64_t t = 0; t < h->n[APPEND_SIZE_T]; t++) {
    for (int i = APPEND_CKV; i <= APPEND_KPE; i++) change_row(h, i, t, 0, is_live(h, t));
    for (int64_t head = 0; head < h->n[APPEND_SIZE_H]; head++)
      for (int i = APPEND_Q_NOPE; i <= APPEND_Q_PE; i++) change_row(h, i, t, head, has_query(h, t));
  }
  for (int64_t i = 0; !h->t[APPEND_NORM_WEIGHT].absent && i < h->n[APPEND_SIZE_R]; i++) {
    uint16_t *w = (uint16_t *)(void *)h->t[APPEND_NORM_WEIGHT].data + i;
    *w = mlaf_encode16(h->dtype, 1 + mlaf_decode16(h->dtype, *w) / 4);
  }
  if (!h->t[APPEND_SCALE_AT].absent) memcpy(h->t[APPEND_SCALE_AT].data, &SCALE_ON_DEVICE, sizeof SCALE_ON_DEVICE);
}

/* A NaN in one element of the latent; a slot outside the cache, or a position outside the table. */
static mlaf_status inject(mlaf_host *h, mlaf_inject inject, mlaf_rng *rng, mlaf_err *err) {
  const int64_t outside[] = {h->n[APPEND_SIZE_SLOTS], -1, INT64_MAX}, tokens = h->n[APPEND_SIZE_T];
  int64_t t = mlaf_rng_below(rng, (uint32_t)tokens);
  while (!is_live(h, t)) t = (t + 1) % tokens;
  if (inject == MLAF_INJECT_NAN_Q) {
    uint16_t *row = mlaf_host_at(h, APPEND_CKV, t, 0);
    row[mlaf_rng_below(rng, (uint32_t)h->n[APPEND_SIZE_R])] = MLAF_NAN16;
  } else if (positions(h) && mlaf_rng_below(rng, 2)) {
    positions(h)[t] = mlaf_rng_below(rng, 2) ? h->n[APPEND_SIZE_TABLE] : -1;
  } else {
    slots(h)[t] = outside[mlaf_rng_below(rng, 3)];
  }
  return MLAF_OK;
}

/* --- what must come out --- */

/* Rope columns, rotated where the problem does so, NaN where the position is outside. slack: by the terms of the sums. */
static void rotate(const mlaf_rows *r, const uint16_t *row, double *out, double *slack) {
  const mlaf_host *h = r->h;
  const int64_t n = h->n[APPEND_SIZE_P], half = n / 2, at = positions(h) ? positions(h)[r->i] : 0;
  const bool there = at >= 0 && at < h->n[APPEND_SIZE_TABLE], apart = !h->t[APPEND_SIN].absent;
  for (int64_t i = 0; i < n; i++) {
    out[i] = (double)mlaf_decode16(h->dtype, row[i]);
    slack[i] = FP32_OFF * fabs(out[i]);
  }
  for (int64_t i = 0; h->n[APPEND_SIZE_TURNED] && i < half; i++) {
    const bool halves = h->point.v[MLA_APPEND_STYLE] == APPEND_HALVES;
    const int64_t a = halves ? i : 2 * i, b = halves ? i + half : 2 * i + 1;
    const int sines = apart ? APPEND_SIN : APPEND_COS;
    const double c = there ? mlaf_host_angle(h, APPEND_COS, APPEND_COS, at, i) : (double)NAN;
    const double d = there ? mlaf_host_angle(h, sines, APPEND_COS, at, apart ? i : half + i) : (double)NAN;
    const double x = out[a], y = out[b];
    out[a] = x * c - y * d;
    slack[a] = FP32_OFF * (fabs(x * c) + fabs(y * d));
    out[b] = y * c + x * d;
    slack[b] = FP32_OFF * (fabs(y * c) + fabs(x * d));
  }
  for (int64_t i = 0; i < n; i++) slack[i] = isfinite(out[i]) ? slack[i] : 0;
}

static void refer_latent(const mlaf_rows *r, mlaf_want_row *w) {
  const mlaf_host *h = r->h;
  const uint16_t *row = r->row[APPEND_CKV], *weight = r->row[APPEND_NORM_WEIGHT];
  const int64_t n = h->n[APPEND_SIZE_R];
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    w->value[i] = (double)mlaf_decode16(h->dtype, row[i]);
    sum += w->value[i] * w->value[i];
  }
  const double factor = 1 / sqrt(sum / (double)n + (double)args_of(h)->eps);
  for (int64_t i = 0; i < n; i++) {
    if (weight) w->value[i] *= factor * (double)mlaf_decode16(h->dtype, weight[i]);
    w->slack[i] = isfinite(w->value[i]) ? FP32_OFF * fabs(w->value[i]) : 0;
  }
}

/* The query of a head: its columns as they are, those with positions rotated. */
static void refer_query(mlaf_rows *r) {
  const int64_t n = r->h->n[APPEND_SIZE_R];
  const uint16_t *nope = r->row[APPEND_Q_NOPE];
  mlaf_want_row *q = mlaf_rows_want(r, APPEND_Q_OUT), *pe = mlaf_rows_want(r, APPEND_Q_PE_OUT);
  for (int64_t i = 0; q && i < n; i++) q->value[i] = (double)mlaf_decode16(r->h->dtype, nope[i]);
  if (q && r->row[APPEND_Q_PE]) rotate(r, r->row[APPEND_Q_PE], q->value + n, q->slack + n);
  if (pe) rotate(r, r->row[APPEND_Q_PE], pe->value, pe->slack);
}

/* The power of two that a tile's values are divided by: from the largest / 448 on, that one no less than 1e-4; infinite for an
 * infinity. */
static double power_of_tile(const mlaf_cache_format *format, const mlaf_want_row *w, int64_t tile) {
  double most = LEAST_IN_TILE;
  int exponent;
  for (int64_t i = tile * format->group; i < (tile + 1) * format->group; i++) most = fmax(most, fabs(w->value[i]));
  const double of_one = frexp(most / mlaf_e4m3_most(mlaf_stored_fnuz(format->latent)), &exponent);
  return isinf(most) ? most : ldexp(1, of_one == 0.5 ? exponent - 1 : exponent);
}

/* The bytes of a token's powers of two, and behind them zeros. */
static void refer_powers(const mlaf_rows *r, const mlaf_want_row *w, mlaf_want_row *out) {
  const mlaf_cache_format *format = format_of(r->h);
  for (int64_t i = 0; out && i < format->aside; i++) {
    const double power = i < format->scales ? power_of_tile(format, w, i) : 0;
    out->value[i] = isinf(power) ? 255 : power > 0 ? 127 + ilogb(power) : 0;
  }
}

/* True if a tile's scale is no part of its row. */
static bool scales_apart(const mlaf_cache_format *format) {
  return format->second.of == MLAF_PART_SCALES || (format->aside && !format->powers);
}

static int64_t tile_end(const mlaf_rows *r, int64_t tile) {
  const int64_t rank = r->h->n[APPEND_SIZE_R], end = (tile + 1) * format_of(r->h)->group;
  return end < rank ? end : rank;
}

/* The largest value of each tile, whose scales are rows of their own; -1: it has no columns. */
static void refer_tiles(const mlaf_rows *r, const mlaf_want_row *w, mlaf_want_row *out) {
  const mlaf_cache_format *format = format_of(r->h);
  for (int64_t tile = 0; out && tile < format->scales; tile++) {
    out->value[tile] = tile * format->group < tile_end(r, tile) ? 0 : -1;
    for (int64_t i = tile * format->group; i < tile_end(r, tile); i++)
      out->value[tile] = fmax(out->value[tile], fabs(w->value[i]));
  }
}

static void reference(mlaf_rows *r) {
  const int64_t rope = r->h->n[APPEND_SIZE_P], rank = r->h->n[APPEND_SIZE_R];
  mlaf_want_row *cache = mlaf_rows_want(r, APPEND_CACHE), *kpe = mlaf_rows_want(r, APPEND_CACHE_KPE),
                *out = mlaf_rows_want(r, APPEND_KPE_OUT);
  if (r->note)
    mlaf_snprintf(r->note, MLAF_NOTE, "slot %lld, position %lld", (long long)slots(r->h)[r->i],
                  positions(r->h) ? (long long)positions(r->h)[r->i] : 0);
  refer_query(r);
  if (r->j) return;
  refer_latent(r, cache);
  const mlaf_cache_format *format = format_of(r->h);
  if (format->aside && format->powers) refer_powers(r, cache, kpe);
  if (scales_apart(format)) refer_tiles(r, cache, kpe);
  mlaf_want_row *const with_rope = format->rope_aside || (format->second.of == MLAF_PART_ROPE && kpe) ? kpe : cache;
  const int64_t at = format->rope_aside ? format->scales : with_rope == kpe ? 0 : rank;
  if (rope && with_rope) rotate(r, r->row[APPEND_KPE], with_rope->value + at, with_rope->slack + at);
  if (out) rotate(r, r->row[APPEND_KPE], out->value, out->slack);
}

/* --- a row of the cache --- */

/* The error in units of the last place, where an infinity is NaN. */
static double off8(bool fnuz, uint8_t got, double want, double slack) {
  const double most = mlaf_e4m3_most(fnuz), held = isfinite(want) ? fmax(-most, fmin(most, want)) : (double)NAN;
  const double is = mlaf_e4m3_decode(fnuz, got);
  if (isnan(held) || isnan(is)) return isnan(held) && isnan(is) ? 0 : INFINITY;
  return fmax(0, fabs(is - held) - fmin(slack, FP32_OFF * 2 * most)) / mlaf_e4m3_ulp(fnuz, held);
}

/* True if a tile's scale is right for its largest value; infinite for an infinite one. */
static bool scale_fits(bool fnuz, bool power_of_two, double most, double got) {
  const double x = most / mlaf_e4m3_most(fnuz);
  if (isinf(most)) return isinf(got) && got > 0;
  if (!power_of_two) {
    const double want = fmax(x, LEAST_SCALE);
    return fabs(got - want) <= SCALE_OFF * want;
  }
  const double least = fmax(x, LEAST_POWER);
  int exponent;
  return frexp(got, &exponent) == 0.5 && got >= least * (1 - SCALE_OFF) && got / 2 < least * (1 + SCALE_OFF);
}

/* The scale of a column's tile; NAN: a scale is wrong, of the tile or of one without columns. */
static double tile_scale(const mlaf_rows *r, const mlaf_want_row *w, const unsigned char *row, int64_t column) {
  const mlaf_cache_format *format = format_of(r->h);
  const int64_t rank = r->h->n[APPEND_SIZE_R];
  double scale = NAN;
  for (int64_t tile = 0; tile < format->scales; tile++) {
    const int64_t first = tile * format->group, last = first + format->group < rank ? first + format->group : rank;
    const bool own = column >= first && column < last;
    float is;
    double most = 0;
    memcpy(&is, row + append_bytes(r->h->point.v, format->scales_at) + 4 * tile, sizeof is);
    if (last <= first && is != 0) return NAN;
    for (int64_t i = first; own && i < last; i++) most = fmax(most, fabs(w->value[i]));
    if (own && scale_fits(mlaf_stored_fnuz(format->latent), args_of(r->h)->flags & MLAF_APPEND_POWER_OF_TWO, most, (double)is))
      scale = (double)is;
  }
  return scale;
}

/* The error of a code whose tile's scale lies elsewhere: by the scale that it must have, of two where rounding decides. */
static double off_apart(const mlaf_rows *r, const mlaf_want_row *w, uint8_t code, int64_t column, double *is) {
  const mlaf_cache_format *format = format_of(r->h);
  const bool fnuz = mlaf_stored_fnuz(format->latent), power = args_of(r->h)->flags & MLAF_APPEND_POWER_OF_TWO;
  double most = 0, least = INFINITY;
  *is = NAN;
  for (int64_t i = column / format->group * format->group; i < tile_end(r, column / format->group); i++)
    most = fmax(most, fabs(w->value[i]));
  const double exact = fmax(most / mlaf_e4m3_most(fnuz), power ? LEAST_POWER : LEAST_SCALE);
  for (int i = power ? -1 : 0; i <= (power ? 1 : 0); i++) {
    const double scale = power && isfinite(exact) ? ldexp(1, (int)ceil(log2(exact)) + i) : exact;
    if (!scale_fits(fnuz, power, most, scale)) continue;
    const double want = isinf(scale) ? (double)NAN : w->value[column] / scale;
    const double off = off8(fnuz, code, want, w->slack[column] / scale + SCALE_OFF * fabs(want));
    if (off < least) least = off, *is = mlaf_e4m3_decode(fnuz, code) * scale;
  }
  return least;
}

static double off_at(const mlaf_rows *r, int k, const void *got, int64_t column, double *is) {
  const mlaf_host *h = r->h;
  const mlaf_cache_format *format = format_of(h);
  const mlaf_want_row *w = &r->want[k];
  const int64_t rank = h->n[APPEND_SIZE_R];
  if (h->outputs[k] == APPEND_CACHE_KPE && format->aside && format->powers) {
    *is = ((const unsigned char *)got)[column];
    return *is == w->value[column] ? 0 : INFINITY;
  }
  if (h->outputs[k] == APPEND_CACHE_KPE && scales_apart(format) && column >= format->scales) { /* rope columns behind them */
    const uint16_t x = ((const uint16_t *)(const void *)((const char *)got + format->aside))[column - format->scales];
    *is = (double)mlaf_decode16(h->dtype, x);
    return mlaf_off16(h->dtype, x, w->value[column], w->slack[column]);
  }
  if (h->outputs[k] == APPEND_CACHE_KPE && scales_apart(format)) {
    float scale;
    memcpy(&scale, (const unsigned char *)got + 4 * column, sizeof scale);
    *is = (double)scale;
    if (w->value[column] < 0) return scale == 0 ? 0 : INFINITY;
    return scale_fits(mlaf_stored_fnuz(format->latent), args_of(h)->flags & MLAF_APPEND_POWER_OF_TWO, w->value[column], *is)
               ? 0 : INFINITY;
  }
  if (scales_apart(format)) return off_apart(r, w, ((const unsigned char *)got)[column], column, is);
  const bool rope = h->outputs[k] == APPEND_CACHE_KPE || column >= rank;
  const mlaf_stored type = rope ? format->rope : format->latent;
  const unsigned char *part = got;
  int64_t c = column;
  if (rope && h->outputs[k] == APPEND_CACHE) part += append_bytes(h->point.v, format->rope_at), c -= rank;
  if (mlaf_stored_in_16(type)) {
    const uint16_t x = ((const uint16_t *)(const void *)part)[c];
    *is = (double)mlaf_decode16(h->dtype, x);
    return mlaf_off16(h->dtype, x, w->value[column], w->slack[column]);
  }
  const double on_device = h->t[APPEND_SCALE_AT].absent ? (double)args_of(h)->scale : (double)SCALE_ON_DEVICE;
  const double scale = format->aside ? power_of_tile(format, w, column / format->group)
                       : format->scale == MLAF_SCALE_STORED ? tile_scale(r, w, got, column)
                                                            : on_device;
  const bool fnuz = mlaf_stored_fnuz(type);
  *is = mlaf_e4m3_decode(fnuz, part[c]) * scale;
  if (isnan(scale)) return INFINITY;
  return off8(fnuz, part[c], isinf(scale) ? (double)NAN : w->value[column] / scale, w->slack[column] / scale);
}

static double off(mlaf_rows *r, int k, const void *got, int *column, double *is) {
  const mlaf_cache_format *format = format_of(r->h);
  const int64_t rope = r->h->n[APPEND_SIZE_P];
  const int64_t columns = r->h->n[APPEND_SIZE_R] + (r->h->n[APPEND_SIZE_SPLIT] || format->rope_aside ? 0 : rope);
  const int64_t own = scales_apart(format) ? format->scales + (format->rope_aside ? rope : 0) : rope;
  const int64_t second = format->aside && format->powers ? format->aside : own; /* columns */
  double worst = -1, value;
  if (r->h->outputs[k] != APPEND_CACHE && r->h->outputs[k] != APPEND_CACHE_KPE) return -1;
  for (int64_t c = 0; c < (r->h->outputs[k] == APPEND_CACHE ? columns : second); c++) {
    const double is_off = off_at(r, k, got, c, &value);
    if (is_off > worst) worst = is_off, *column = (int)c, *is = value;
    r->compared += !isnan(r->want[k].value[c]);
  }
  return worst;
}

const mlaf_table_hooks append_hooks = {.reference = reference, .draw = draw, .inject = inject, .draw_timing = draw_timing,
                                       .arguments = arguments, .arrange = arrange, .place = place, .find = find, .off = off};
