/* Verification data by seed: everything poisoned first, then what a launch may read. */
#include "ops/mla_append/case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/numeric.h"

enum { PAGE = 5, PAGE_GAP = 48, ROW_GAP = 32, SLICE = 24, TABLE_ROWS = 19, TILE_OF_ZEROS = 128, POISON = 0xff };

/* --- sizes --- */

static void lay_out(append_case *c) {
  const append_shape *s = &c->s;
  const int64_t gap = c->spec.apart ? SLICE : 0, heads = s->heads, T = c->spec.tokens;
  c->num_slots = 2 * T + 3;
  c->table_rows = TABLE_ROWS;
  c->page_tokens = c->spec.apart ? PAGE : 0;
  c->ckv_stride = s->rank + (c->spec.apart ? s->rope + SLICE : 0);
  c->kpe_stride = s->rope + (c->spec.apart ? s->rank : 0) + gap;
  c->q_nope_head = s->rank + gap;
  c->q_nope_token = heads * c->q_nope_head + gap;
  c->q_pe_head = s->rope + (c->spec.apart ? s->rank / 4 : 0);
  c->q_pe_token = heads * c->q_pe_head + gap;
  c->q_out_head = s->rank + s->rope;
  c->q_out_token = heads * c->q_out_head + gap;
  c->table_stride = (c->spec.one_table ? s->rope : s->rope / 2) + (c->spec.apart ? 16 : 0);
  c->latent_row = append_row_bytes(s) + (c->spec.apart ? ROW_GAP : 0);
  c->rope_row = s->format->split ? append_rope_bytes(s) + (c->spec.apart ? ROW_GAP : 0) : c->latent_row;
  c->latent_page = PAGE * c->latent_row + PAGE_GAP;
  c->rope_page = s->format->split ? PAGE * c->rope_row + PAGE_GAP : c->latent_page;
}

int64_t append_case_row(const append_case *c, int64_t slot, int64_t row, int64_t page) {
  return c->page_tokens ? slot / c->page_tokens * page + slot % c->page_tokens * row : slot * row;
}

static size_t cache_bytes(const append_case *c, int64_t row, int64_t page) {
  return (size_t)append_case_row(c, c->num_slots - 1, row, page) + (size_t)row;
}

/* --- memory --- */

static void *poisoned(size_t bytes) {
  void *p = malloc(bytes + 16);
  if (p) memset(p, POISON, bytes);
  return p;
}

static mlaf_status allocate(append_case *c, mlaf_err *err) {
  const append_shape *s = &c->s;
  const size_t T = (size_t)c->spec.tokens, number = c->spec.table_16 ? 2 : 4;
  c->ckv_bytes = T * (size_t)c->ckv_stride * 2;
  c->kpe_bytes = T * (size_t)c->kpe_stride * 2;
  c->weight_bytes = (size_t)s->rank * 2;
  c->table_bytes = (size_t)(c->table_rows * c->table_stride) * number;
  c->cache_bytes = cache_bytes(c, c->latent_row, c->latent_page);
  c->cache_kpe_bytes = s->format->split && s->rope ? cache_bytes(c, c->rope_row, c->rope_page) : 0;
  c->q_nope_bytes = c->spec.turned_out ? 0 : T * (size_t)c->q_nope_token * 2;
  c->q_pe_bytes = T * (size_t)c->q_pe_token * 2;
  c->q_out_bytes = c->spec.turned_out ? 0 : T * (size_t)c->q_out_token * 2;
  c->q_pe_out_bytes = c->spec.turned_out ? T * (size_t)(s->heads * s->rope) * 2 : 0;
  c->kpe_out_bytes = c->spec.turned_out ? T * (size_t)s->rope * 2 : 0;
  const struct {
    void **at;
    size_t bytes;
  } all[] = {{(void **)&c->ckv, c->ckv_bytes},       {(void **)&c->kpe, c->kpe_bytes},
             {(void **)&c->weight, c->weight_bytes}, {(void **)&c->slots, T * sizeof(int64_t)},
             {(void **)&c->positions, T * sizeof(int64_t)}, {&c->cos, c->table_bytes},
             {&c->sin, c->table_bytes},              {(void **)&c->cache, c->cache_bytes},
             {(void **)&c->cache_kpe, c->cache_kpe_bytes}, {(void **)&c->q_nope, c->q_nope_bytes},
             {(void **)&c->q_pe, c->q_pe_bytes},     {(void **)&c->q_out, c->q_out_bytes},
             {(void **)&c->q_pe_out, c->q_pe_out_bytes}, {(void **)&c->kpe_out, c->kpe_out_bytes}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (!(*all[i].at = poisoned(all[i].bytes)))
      return mlaf_fail(err, MLAF_E_NOMEM, "case %s: no memory for %zu bytes", c->spec.name, all[i].bytes);
  return MLAF_OK;
}

void append_case_free(append_case *c) {
  if (!c) return;
  void *all[] = {c->ckv, c->kpe,       c->weight, c->slots, c->positions, c->cos,      c->sin,
                 c->cache, c->cache_kpe, c->q_nope, c->q_pe,  c->q_out,     c->q_pe_out, c->kpe_out};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
  free(c);
}

/* --- contents --- */

/* A permutation of the slots is dealt out; no two tokens share one. Positions of tokens without a slot are far outside. */
static mlaf_status deal_slots(append_case *c, mlaf_rng *rng, mlaf_err *err) {
  const int64_t n = c->num_slots;
  int64_t *order = malloc((size_t)n * sizeof *order);
  if (!order) return mlaf_fail(err, MLAF_E_NOMEM, "case %s: no memory for %lld slots", c->spec.name, (long long)n);
  for (int64_t i = 0; i < n; i++) order[i] = i;
  for (int64_t i = n - 1; i > 0; i--) {
    const int64_t j = mlaf_rng_below(rng, (uint32_t)i + 1), held = order[i];
    order[i] = order[j];
    order[j] = held;
  }
  const int64_t bad[] = {-1, n, INT64_MAX, -1};
  for (int64_t t = 0; t < c->spec.tokens; t++) {
    c->slots[t] = c->spec.bad_slots && t % 4 == 1 ? bad[t / 4 % 4] : order[t];
    const int64_t edge[] = {0, c->table_rows - 1};
    c->positions[t] = t < 2 ? edge[t] : mlaf_rng_below(rng, (uint32_t)c->table_rows);
    if (!append_case_live(c, t) && !c->spec.all_q) c->positions[t] = t % 8 == 1 ? -7 : INT64_C(1) << 40;
  }
  free(order);
  return MLAF_OK;
}

/* Of a token's row: all rows are standard normal; of extreme cases one in five is large, small, zero, or has a tile of zeros. */
static void fill_row(const append_case *c, uint16_t *to, int n, int64_t kind, mlaf_rng *rng) {
  static const float times[] = {3e3f, 1e-4f, 0, 1, 1};
  for (int i = 0; i < n; i++) {
    float x = mlaf_rng_normal(rng) * (c->spec.extreme ? times[kind % 5] : 1);
    if (c->spec.extreme && kind % 5 == 3 && i < TILE_OF_ZEROS) x = 0;
    to[i] = mlaf_encode16(c->s.dtype, x);
  }
}

/* An infinity each among the latent and the rope columns of a token, of one in five. */
static void place_infinities(append_case *c, int64_t t) {
  const append_shape *s = &c->s;
  if (!c->spec.extreme || t % 5 != 4) return;
  const uint16_t infinity = mlaf_encode16(s->dtype, t % 2 ? INFINITY : -INFINITY);
  c->ckv[t * c->ckv_stride + s->rank / 2 + 1] = infinity;
  if (s->rope) c->kpe[t * c->kpe_stride + s->rope - 1] = infinity;
}

static void fill_tokens(append_case *c, mlaf_rng *rng) {
  const append_shape *s = &c->s;
  for (int64_t t = 0; t < c->spec.tokens; t++) {
    const bool live = append_case_live(c, t);
    if (live) {
      fill_row(c, c->ckv + t * c->ckv_stride, s->rank, t, rng);
      fill_row(c, c->kpe + t * c->kpe_stride, s->rope, t, rng);
      place_infinities(c, t);
    }
    for (int h = 0; (live || c->spec.all_q) && h < s->heads; h++) {
      if (c->q_nope_bytes) fill_row(c, c->q_nope + t * c->q_nope_token + h * c->q_nope_head, s->rank, 4, rng);
      fill_row(c, c->q_pe + t * c->q_pe_token + h * c->q_pe_head, s->rope, t, rng);
    }
  }
  for (int i = 0; i < s->rank; i++) c->weight[i] = mlaf_encode16(s->dtype, 1 + mlaf_rng_normal(rng) / 4);
}

static void *table_of_sines(const append_case *c) { return c->spec.one_table ? c->cos : c->sin; }

/* Where the sine of angle i of a row stands in its table. */
static int64_t sine_at(const append_case *c, int64_t row, int i) {
  return row * c->table_stride + (c->spec.one_table ? c->s.rope / 2 : 0) + i;
}

static void set_number(const append_case *c, void *table, int64_t at, float x) {
  if (c->spec.table_16) ((uint16_t *)table)[at] = mlaf_encode16(c->s.dtype, x);
  else
    ((float *)table)[at] = x;
}

static double number(const append_case *c, const void *table, int64_t at) {
  return c->spec.table_16 ? (double)mlaf_decode16(c->s.dtype, ((const uint16_t *)table)[at]) : (double)((const float *)table)[at];
}

/* Any numbers will do for cosines and sines: those of no angle show a mistake all the better. */
static void fill_table(append_case *c, mlaf_rng *rng) {
  for (int64_t row = 0; row < c->table_rows; row++)
    for (int i = 0; i < c->s.rope / 2; i++) {
      set_number(c, c->cos, row * c->table_stride + i, mlaf_rng_normal(rng) / 6);
      set_number(c, table_of_sines(c), sine_at(c, row, i), mlaf_rng_normal(rng) / 6);
    }
}

void append_case_angles(const append_case *c, int64_t position, double *cos, double *sin) {
  for (int i = 0; i < c->s.rope / 2; i++) {
    cos[i] = number(c, c->cos, position * c->table_stride + i);
    sin[i] = number(c, table_of_sines(c), sine_at(c, position, i));
  }
}

static void noise(void *to, size_t bytes, mlaf_rng *rng) {
  for (size_t i = 0; i < bytes; i++) ((unsigned char *)to)[i] = (unsigned char)mlaf_rng_next(rng);
}

/* What the launch finds where it writes: not the inputs' poison, which a stray copy would leave as it was. */
static void fill_outputs(append_case *c, mlaf_rng *rng) {
  noise(c->cache, c->cache_bytes, rng);
  noise(c->cache_kpe, c->cache_kpe_bytes, rng);
  noise(c->q_out, c->q_out_bytes, rng);
  noise(c->q_pe_out, c->q_pe_out_bytes, rng);
  noise(c->kpe_out, c->kpe_out_bytes, rng);
}

/* A token that has a slot. */
static int64_t some_token(const append_case *c, mlaf_rng *rng) {
  int64_t t = mlaf_rng_below(rng, (uint32_t)c->spec.tokens);
  while (!append_case_live(c, t)) t = (t + 1) % c->spec.tokens;
  return t;
}

/* A NaN in one element of the latent; a slot outside the cache, or a position outside the table. */
static void inject_fault(append_case *c, mlaf_inject inject, mlaf_rng *rng) {
  if (inject == MLAF_INJECT_NONE) return;
  const int64_t t = some_token(c, rng), outside[] = {c->num_slots, -1, INT64_MAX};
  if (inject == MLAF_INJECT_NAN_Q) c->ckv[t * c->ckv_stride + mlaf_rng_below(rng, (uint32_t)c->s.rank)] = MLAF_NAN16;
  else if (c->s.turned && mlaf_rng_below(rng, 2)) c->positions[t] = mlaf_rng_below(rng, 2) ? c->table_rows : -1;
  else
    c->slots[t] = outside[mlaf_rng_below(rng, 3)];
}

mlaf_status append_case_make(const mlaf_point *p, const append_spec *spec, uint64_t seed, mlaf_inject inject, append_case **out,
                             mlaf_err *err) {
  append_case *c = calloc(1, sizeof *c);
  if (!c) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for case %s", spec->name);
  *c = (append_case){.head = {.name = spec->name}, .spec = *spec, .s = append_shape_of(p), .eps = 1e-6f};
  c->scale = spec->extreme ? 0.004f : 0.0371f;
  lay_out(c);
  mlaf_rng rng = {seed};
  mlaf_status st = allocate(c, err);
  if (!st) st = deal_slots(c, &rng, err);
  if (st) {
    append_case_free(c);
    return st;
  }
  fill_tokens(c, &rng);
  fill_table(c, &rng);
  fill_outputs(c, &rng);
  inject_fault(c, inject, &rng);
  *out = c;
  return MLAF_OK;
}
