/* A case's outputs against fp64: every row that was to be written within a rounding, every other byte as it was. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "op/numeric.h"
#include "ops/mla_append/case.h"
#include "ops/mla_append/fp8.h"

#define FP32_OFF 0x1p-20       /* of a value or of the terms of its sum: what some twenty roundings in fp32 come to */
#define SCALE_OFF 0x1p-19      /* relative, of a tile's scale */
#define LEAST_SCALE 0x1p-126   /* of a tile of zeros, and that where scales are powers of two */
#define LEAST_POWER 1e-4

/* --- how far off --- */

static double ulp16(int dtype, double x) {
  int exponent;
  frexp(x, &exponent);
  const int least = dtype == MLAF_F16 ? -14 : -126, bits = dtype == MLAF_F16 ? 10 : 7;
  return ldexp(1, (x == 0 || exponent - 1 < least ? least : exponent - 1) - bits);
}

static double units(double got, double want, double size, double ulp) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : INFINITY;
  if (isinf(want)) return got == want ? 0 : INFINITY;
  return fmax(0, fabs(got - want) - FP32_OFF * size) / ulp;
}

double append_off16(int dtype, uint16_t got, double want, double size) {
  return units((double)mlaf_decode16(dtype, got), want, size, ulp16(dtype, want));
}

double append_off8(bool fnuz, uint8_t got, double want, double size) {
  const double most = append_fp8_most(fnuz), held = isfinite(want) ? fmax(-most, fmin(most, want)) : (double)NAN;
  return units(append_fp8_decode(fnuz, got), held, fmin(size, 2 * most), append_fp8_ulp(fnuz, held));
}

/* --- what was found --- */

typedef struct walk {
  const append_case *c;
  mlaf_verify_result *out;
  bool good;
} walk;

static void fault(walk *w, int64_t t, const char *what, int column, double got, double want, double off) {
  if (!w->good) return;
  w->good = false;
  char text[300];
  mlaf_snprintf(text, sizeof text, "%s column %d is %g, reference %g: off by %.3g units in the last place, at most %g", what,
                column, got, want, off, APPEND_ULPS);
  snprintf(w->out->detail, sizeof w->out->detail, "case %s: token %lld (slot %lld, position %lld): %s", w->c->spec.name,
           (long long)t, (long long)w->c->slots[t], (long long)w->c->positions[t], text);
}

static void see(walk *w, int64_t t, const char *what, int column, double got, double want, double off) {
  if (off > w->out->error) w->out->error = off;
  if (off > w->out->row_error) w->out->row_error = off;
  if (!(off <= APPEND_ULPS)) fault(w, t, what, column, got, want, off);
}

static void see_row16(walk *w, int64_t t, const char *what, const uint16_t *got, const double *want, const double *size, int n) {
  const int dtype = w->c->s.dtype;
  for (int i = 0; i < n; i++)
    see(w, t, what, i, (double)mlaf_decode16(dtype, got[i]), want[i],
        append_off16(dtype, got[i], want[i], size ? size[i] : fabs(want[i])));
}

static void see_row8(walk *w, int64_t t, const char *what, const uint8_t *got, const double *want, const double *size, int n,
                     double scale) {
  const bool fnuz = mlaf_stored_fnuz(w->c->s.format->latent);
  for (int i = 0; i < n; i++) {
    const double x = isinf(scale) ? (double)NAN : want[i] / scale;
    see(w, t, what, i, append_fp8_decode(fnuz, got[i]) * scale, want[i],
        append_off8(fnuz, got[i], x, size ? size[i] / scale : fabs(x)));
  }
}

/* --- tiles with scales --- */

bool append_scale_fits(bool fnuz, bool power_of_two, double most, double got) {
  const double x = most / append_fp8_most(fnuz);
  if (isinf(most)) return isinf(got) && got > 0;
  if (!power_of_two) {
    const double want = fmax(x, LEAST_SCALE);
    return fabs(got - want) <= SCALE_OFF * want;
  }
  const double least = fmax(x, LEAST_POWER);
  int exponent;
  return frexp(got, &exponent) == 0.5 && got >= least * (1 - SCALE_OFF) && got / 2 < least * (1 + SCALE_OFF);
}

static void see_tiles(walk *w, int64_t t, const unsigned char *row, const double *want) {
  const append_shape *s = &w->c->s;
  const bool fnuz = mlaf_stored_fnuz(s->format->latent);
  for (int tile = 0; tile < s->format->scales; tile++) {
    const int first = tile * s->format->group, n = append_columns(s, first);
    float scale;
    double most = 0;
    memcpy(&scale, row + append_bytes(s, s->format->scales_at) + 4 * tile, sizeof scale);
    for (int i = 0; i < n; i++)
      if (fabs(want[first + i]) > most) most = fabs(want[first + i]);
    if (n <= 0 ? scale != 0 : !append_scale_fits(fnuz, w->c->spec.extreme, most, (double)scale)) {
      fault(w, t, n <= 0 ? "scale without columns" : "scale of the tile at", first, (double)scale, most / append_fp8_most(fnuz),
            INFINITY);
      w->out->error = INFINITY;
    } else if (n > 0) {
      see_row8(w, t, "latent", row + first, want + first, NULL, n, (double)scale);
    }
  }
}

/* --- a token --- */

static void see_cache(walk *w, int64_t t, const unsigned char *cache, const unsigned char *cache_kpe, const double *latent,
                      const double *rope, const double *size) {
  const append_case *c = w->c;
  const append_shape *s = &c->s;
  const unsigned char *row = cache + append_case_row(c, c->slots[t], c->latent_row, c->latent_page);
  const unsigned char *rope_row = s->format->split && s->rope
                                      ? cache_kpe + append_case_row(c, c->slots[t], c->rope_row, c->rope_page)
                                      : row + append_bytes(s, s->format->rope_at);
  if (s->format->scale == MLAF_SCALE_STORED) see_tiles(w, t, row, latent);
  else if (append_has_scale(s)) see_row8(w, t, "latent", row, latent, NULL, s->rank, (double)c->scale);
  else
    see_row16(w, t, "latent", (const uint16_t *)(const void *)row, latent, NULL, s->rank);
  if (!mlaf_stored_in_16(s->format->rope)) see_row8(w, t, "rope", rope_row, rope, size, s->rope, (double)c->scale);
  else
    see_row16(w, t, "rope", (const uint16_t *)(const void *)rope_row, rope, size, s->rope);
}

/* The buffers that a launch writes, before and after, in the order of the case's list. */
typedef struct written {
  const char *name;
  const void *before;
  const void *after;
  size_t bytes;
  unsigned char *expected; /* before, with the rows that were to be written as they are after */
} written;
enum { CACHE, CACHE_KPE, Q_OUT, Q_PE_OUT, KPE_OUT, WRITTEN };

static void expect_row(written *b, int64_t at, int64_t bytes) {
  if (b->expected && b->after) memcpy(b->expected + at, (const char *)b->after + at, (size_t)bytes);
}

static void see_queries(walk *w, int64_t t, written *b, const double *cos, const double *sin) {
  const append_case *c = w->c;
  const append_shape *s = &c->s;
  double want[MLA_APPEND_RANK_MAX], size[MLA_APPEND_ROPE_MAX + 1];
  for (int h = 0; h < s->heads; h++) {
    const int64_t at = t * c->q_out_token + h * c->q_out_head, pe_at = ((int64_t)t * s->heads + h) * s->rope;
    const uint16_t *rope = c->spec.turned_out ? (const uint16_t *)b[Q_PE_OUT].after + pe_at
                                              : (const uint16_t *)b[Q_OUT].after + at + s->rank;
    if (!c->spec.turned_out) {
      const uint16_t *nope = c->q_nope + t * c->q_nope_token + h * c->q_nope_head;
      const uint16_t *got = (const uint16_t *)b[Q_OUT].after + at;
      for (int i = 0; i < s->rank; i++)
        if (got[i] != nope[i])
          see(w, t, "q", i, (double)mlaf_decode16(s->dtype, got[i]), (double)mlaf_decode16(s->dtype, nope[i]), INFINITY);
      expect_row(&b[Q_OUT], 2 * at, 2 * (s->rank + s->rope));
    }
    append_reference_rope(s, c->q_pe + t * c->q_pe_token + h * c->q_pe_head, cos, sin, want, size);
    see_row16(w, t, "q's rope", rope, want, size, s->rope);
    if (c->spec.turned_out) expect_row(&b[Q_PE_OUT], 2 * pe_at, 2 * s->rope);
    w->out->rows++;
  }
}

static void see_token(walk *w, int64_t t, written *b) {
  const append_case *c = w->c;
  const append_shape *s = &c->s;
  double latent[MLA_APPEND_RANK_MAX], rope[MLA_APPEND_ROPE_MAX + 1], size[MLA_APPEND_ROPE_MAX + 1];
  double cos[MLA_APPEND_ROPE_MAX + 1], sin[MLA_APPEND_ROPE_MAX + 1];
  const bool there = c->positions[t] >= 0 && c->positions[t] < c->table_rows;
  if (there) append_case_angles(c, c->positions[t], cos, sin);
  if (append_case_live(c, t)) {
    append_reference_latent(s, c->ckv + t * c->ckv_stride, c->weight, (double)c->eps, latent);
    append_reference_rope(s, c->kpe + t * c->kpe_stride, there ? cos : NULL, there ? sin : NULL, rope, size);
    see_cache(w, t, b[CACHE].after, b[CACHE_KPE].after, latent, rope, size);
    expect_row(&b[CACHE], append_case_row(c, c->slots[t], c->latent_row, c->latent_page), append_row_bytes(s));
    if (b[CACHE_KPE].bytes)
      expect_row(&b[CACHE_KPE], append_case_row(c, c->slots[t], c->rope_row, c->rope_page), append_rope_bytes(s));
    if (c->spec.turned_out && s->rope) {
      see_row16(w, t, "k's rope", (const uint16_t *)b[KPE_OUT].after + t * s->rope, rope, size, s->rope);
      expect_row(&b[KPE_OUT], 2 * t * s->rope, 2 * s->rope);
    }
    w->out->rows++;
  }
  if (append_case_live(c, t) || c->spec.all_q) see_queries(w, t, b, there ? cos : NULL, there ? sin : NULL);
}

/* --- a whole case --- */

/* The second names are for cases that have no use for the first: one table, no q_out, no second tensor. */
enum { AT_CKV, AT_KPE, AT_WEIGHT, AT_SLOTS, AT_POSITIONS, AT_COS, AT_SIN, AT_KPE_OUT = AT_SIN, AT_CACHE, AT_CACHE_KPE,
       AT_SCALE = AT_CACHE_KPE, AT_Q_NOPE, AT_Q_PE, AT_Q_OUT, AT_Q_PE_OUT = AT_Q_OUT, BUFFERS };
_Static_assert((int)BUFFERS <= (int)MLAF_CASE_BUFFERS, "a case's list holds them");

int append_case_buffers(const mlaf_case *head, const mlaf_bound *b, uint32_t knob, void *args,
                        mlaf_case_buffer out[MLAF_CASE_BUFFERS]) {
  const append_case *c = (const append_case *)head;
  const append_shape *s = &c->s;
  const int64_t unit = s->format->unit;
  mlaf_append_args *a = args;
  *a = (mlaf_append_args)MLAF_APPEND_ARGS_INIT;
  a->flags = (c->spec.table_16 ? MLAF_APPEND_TABLE_16 : 0) | (c->spec.all_q ? MLAF_APPEND_ALL_Q : 0) |
             (c->spec.extreme ? MLAF_APPEND_POWER_OF_TWO : 0);
  a->tokens = c->spec.tokens;
  a->ckv_row_stride = c->ckv_stride;
  a->kpe_row_stride = c->kpe_stride;
  a->eps = c->eps;
  a->scale = c->spec.extreme ? 3 : c->scale; /* not looked at where it lies on the device */
  a->table_row_stride = c->table_stride;
  a->table_rows = c->table_rows;
  a->num_slots = c->num_slots;
  a->cache_row_stride = c->latent_row / unit;
  a->cache_kpe_row_stride = s->format->split ? c->rope_row / unit : 0;
  a->page_tokens = c->page_tokens;
  a->cache_page_stride = c->page_tokens ? c->latent_page / unit : 0;
  a->cache_kpe_page_stride = c->page_tokens && s->format->split ? c->rope_page / unit : 0;
  a->q_nope_token_stride = c->q_nope_token;
  a->q_nope_head_stride = c->q_nope_head;
  a->q_pe_token_stride = c->q_pe_token;
  a->q_pe_head_stride = c->q_pe_head;
  a->q_out_token_stride = c->q_out_token;
  a->q_out_head_stride = c->q_out_head;
  const mlaf_use turned = s->turned ? MLAF_USE_INPUT : MLAF_USE_NONE, rope = s->rope ? MLAF_USE_INPUT : MLAF_USE_NONE;
  const bool q = s->heads > 0, apart = c->spec.turned_out;
  const size_t tokens = (size_t)c->spec.tokens * sizeof(int64_t);
#define ARG(name) offsetof(mlaf_append_args, name)
  const mlaf_case_buffer all[BUFFERS] = {
      [AT_CKV] = {"ckv", MLAF_USE_INPUT, c->ckv_bytes, ARG(ckv), c->ckv},
      [AT_KPE] = {"kpe", rope, c->kpe_bytes, ARG(kpe), c->kpe},
      [AT_WEIGHT] = {"norm_weight", s->norm ? MLAF_USE_INPUT : MLAF_USE_NONE, c->weight_bytes, ARG(norm_weight), c->weight},
      [AT_SLOTS] = {"slots", MLAF_USE_INPUT, tokens, ARG(slots), c->slots},
      [AT_POSITIONS] = {"positions", turned, tokens, ARG(positions), c->positions},
      [AT_COS] = {"cos", turned, c->table_bytes, ARG(cos), c->cos},
      [AT_SIN] = {"sin", c->spec.one_table ? MLAF_USE_NONE : turned, c->table_bytes, ARG(sin), c->sin},
      [AT_CACHE] = {"cache", MLAF_USE_INOUT, c->cache_bytes, ARG(cache), c->cache},
      [AT_CACHE_KPE] = {"cache_kpe", c->cache_kpe_bytes ? MLAF_USE_INOUT : MLAF_USE_NONE, c->cache_kpe_bytes, ARG(cache_kpe),
                        c->cache_kpe},
      [AT_Q_NOPE] = {"q_nope", q && !apart ? MLAF_USE_INPUT : MLAF_USE_NONE, c->q_nope_bytes, ARG(q_nope), c->q_nope},
      [AT_Q_PE] = {"q_pe", q ? rope : MLAF_USE_NONE, c->q_pe_bytes, ARG(q_pe), c->q_pe},
      [AT_Q_OUT] = {"q_out", q && !apart ? MLAF_USE_INOUT : MLAF_USE_NONE, c->q_out_bytes, ARG(q_out), c->q_out},
  };
  memcpy(out, all, sizeof all);
  if (apart && s->rope) { /* such a case has its table in one piece */
    out[AT_KPE_OUT] = (mlaf_case_buffer){"kpe_out", MLAF_USE_INOUT, c->kpe_out_bytes, ARG(kpe_out), c->kpe_out};
    if (q) out[AT_Q_PE_OUT] = (mlaf_case_buffer){"q_pe_out", MLAF_USE_INOUT, c->q_pe_out_bytes, ARG(q_pe_out), c->q_pe_out};
  }
  if (c->spec.extreme && append_has_scale(s))
    out[AT_SCALE] = (mlaf_case_buffer){"scale_at", MLAF_USE_INPUT, sizeof c->scale, ARG(scale_at), &c->scale};
#undef ARG
  return BUFFERS;
}

static void list_written(const append_case *c, void *const *outputs, written list[WRITTEN]) {
  const bool apart = c->spec.turned_out;
  const written all[WRITTEN] = {
      [CACHE] = {"cache", c->cache, outputs[AT_CACHE], c->cache_bytes, NULL},
      [CACHE_KPE] = {"cache_kpe", c->cache_kpe, c->cache_kpe_bytes ? outputs[AT_CACHE_KPE] : NULL, c->cache_kpe_bytes, NULL},
      [Q_OUT] = {"q_out", c->q_out, apart ? NULL : outputs[AT_Q_OUT], c->q_out_bytes, NULL},
      [Q_PE_OUT] = {"q_pe_out", c->q_pe_out, apart ? outputs[AT_Q_PE_OUT] : NULL, c->q_pe_out_bytes, NULL},
      [KPE_OUT] = {"kpe_out", c->kpe_out, apart ? outputs[AT_KPE_OUT] : NULL, c->kpe_out_bytes, NULL},
  };
  memcpy(list, all, sizeof all);
}

/* Every byte that no row covers. */
static void see_rest(walk *w, const written *b) {
  if (!b->after || !memcmp(b->after, b->expected, b->bytes)) return;
  size_t at = 0;
  while (((const unsigned char *)b->after)[at] == b->expected[at]) at++;
  w->out->error = INFINITY;
  if (w->good)
    snprintf(w->out->detail, sizeof w->out->detail, "case %s: %s was changed at byte %zu, which no token names", w->c->spec.name,
             b->name, at);
  w->good = false;
}

bool append_compare(const mlaf_case *head, void *const *outputs, mlaf_verify_result *out) {
  walk w = {(const append_case *)head, out, true};
  written list[WRITTEN];
  list_written(w.c, outputs, list);
  for (int i = 0; i < WRITTEN; i++) {
    if (!list[i].after) continue;
    list[i].expected = malloc(list[i].bytes + 1);
    if (!list[i].expected) {
      snprintf(out->detail, sizeof out->detail, "case %s: no memory to compare %s", w.c->spec.name, list[i].name);
      w.good = false;
    } else {
      memcpy(list[i].expected, list[i].before, list[i].bytes);
    }
  }
  for (int64_t t = 0; w.good && t < w.c->spec.tokens; t++) see_token(&w, t, list);
  for (int i = 0; i < WRITTEN; i++) {
    if (w.good) see_rest(&w, &list[i]);
    free(list[i].expected);
  }
  return w.good;
}

bool append_same(const mlaf_case *head, void *const *a, void *const *b, mlaf_verify_result *out) {
  const append_case *c = (const append_case *)head;
  written one[WRITTEN], two[WRITTEN];
  list_written(c, a, one);
  list_written(c, b, two);
  for (int i = 0; i < WRITTEN; i++)
    if (one[i].after && memcmp(one[i].after, two[i].after, one[i].bytes)) {
      snprintf(out->detail, sizeof out->detail, "case %s: two runs differ in %s", c->spec.name, one[i].name);
      return false;
    }
  return true;
}
