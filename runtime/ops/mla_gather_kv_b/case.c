/* Verification data by seed: everything poisoned first, then what a launch may read. */
#include "ops/mla_gather_kv_b/case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/numeric.h"

enum { GAP = 24, CACHE_GAP = 48, POISON = 0xff, POISON_FNUZ = 0x80, STALE = 0x5a, SPARE_PAGES = 3, SPARE_TOKENS = 5 };

static int64_t pages_of(const gather_spec *s, int r) {
  const int64_t last = (int64_t)s->start[r] + s->length[r];
  return s->length[r] ? (last + s->page_tokens - 1) / s->page_tokens : 0;
}

/* --- sizes --- */

static void lay_out(gather_case *c) {
  const gather_shape *s = &c->s;
  const gather_spec *spec = &c->spec;
  const int64_t gap = spec->gaps ? GAP : 0, heads = s->heads;
  int64_t pages = 0, most = 0;
  for (int r = 0; r < spec->n; r++) {
    const int64_t n = pages_of(spec, r);
    c->tokens += spec->length[r];
    pages += n;
    if (n > most) most = n;
  }
  c->spare_tokens = spec->gaps ? SPARE_TOKENS : 0;
  c->num_pages = pages + SPARE_PAGES;
  c->cache_row = gather_row_bytes(s) + (spec->gaps ? CACHE_GAP : 0);
  c->cache_page = spec->page_tokens * c->cache_row + (!spec->gaps ? 0 : s->format->split ? c->cache_row : CACHE_GAP);
  c->kpe_row = s->format->split ? gather_rope_bytes(s) + (spec->gaps ? 2 * CACHE_GAP : 0) : 0;
  c->table_stride = most + (spec->gaps ? 3 : 0);
  if (!c->table_stride) c->table_stride = 1;
  c->table_count = spec->list ? pages : spec->n * c->table_stride;
  c->w_row = s->rank + gap;
  c->w_head = s->out * c->w_row + gap;
  c->k_head = (spec->joined ? s->out : s->nope) + gap;
  c->k_token = heads * c->k_head + gap;
  c->v_head = s->vdim + 2 * gap;
  c->v_token = heads * c->v_head + gap;
  c->k_pe_head = spec->copies ? s->rope + gap : 0;
  c->k_pe_token = (spec->copies ? heads * c->k_pe_head : s->rope) + gap;
  const int64_t rows = c->tokens + c->spare_tokens;
  c->cache_bytes = (size_t)(c->num_pages * c->cache_page);
  c->kpe_bytes = (size_t)(c->num_pages * c->cache_page / c->cache_row * c->kpe_row);
  c->w_count = (size_t)(heads * c->w_head);
  c->k_count = (size_t)(rows * c->k_token);
  c->v_count = spec->joined ? 0 : (size_t)(rows * c->v_token);
  c->rope_rows = 0;
  for (int r = 0; r < spec->n && s->rotate; r++) {
    const int64_t end = spec->start[r] + spec->length[r];
    if (end > c->rope_rows) c->rope_rows = end;
  }
  if (c->rope_rows > 1) c->rope_rows--;
  c->k_pe_count = s->rope ? (size_t)(rows * c->k_pe_token) : 0;
}

static void *filled(size_t bytes, int with) {
  void *p = malloc(bytes + 16);
  if (p) memset(p, with, bytes + 16);
  return p;
}

static mlaf_status allocate(gather_case *c, mlaf_err *err) {
  const size_t words = (size_t)c->spec.n + 1;
  c->cache = filled(c->cache_bytes, mlaf_stored_fnuz(c->s.format->latent) ? POISON_FNUZ : POISON);
  c->kpe = filled(c->kpe_bytes, POISON);
  c->w = filled(c->w_count * 2, POISON);
  c->k = filled(c->k_count * 2, STALE);
  c->v = filled(c->v_count * 2, STALE);
  c->k_pe = filled(c->k_pe_count * 2, STALE);
  c->table = filled((size_t)c->table_count * sizeof *c->table, POISON);
  c->indptr = filled(words * sizeof *c->indptr, 0);
  c->cu = filled(words * sizeof *c->cu, 0);
  c->starts = filled(words * sizeof *c->starts, POISON);
  c->rope_table = filled((size_t)(c->rope_rows * c->s.rope) * sizeof *c->rope_table, POISON);
  if (c->cache && c->kpe && c->w && c->k && c->v && c->k_pe && c->table && c->indptr && c->cu && c->starts &&
      c->rope_table)
    return MLAF_OK;
  return mlaf_fail(err, MLAF_E_NOMEM, "case %s: no memory for %lld tokens", c->head.name, (long long)c->tokens);
}

void gather_case_free(gather_case *c) {
  if (!c) return;
  void *const all[] = {c->cache, c->kpe, c->w, c->k, c->v, c->k_pe, c->table, c->indptr, c->cu, c->starts,
                       c->rope_table};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
  free(c);
}

/* --- contents --- */

/* Pages in random order, each once. */
static mlaf_status fill_tables(gather_case *c, mlaf_rng *rng, mlaf_err *err) {
  int32_t *order = malloc((size_t)c->num_pages * sizeof *order);
  if (!order) return mlaf_fail(err, MLAF_E_NOMEM, "case %s: no memory for %lld pages", c->head.name, (long long)c->num_pages);
  for (int64_t i = 0; i < c->num_pages; i++) { /* inside-out shuffle */
    const uint32_t j = mlaf_rng_below(rng, (uint32_t)i + 1);
    order[i] = order[j];
    order[j] = (int32_t)i;
  }
  int64_t next = 0;
  for (int r = 0; r < c->spec.n; r++) {
    const int64_t first = c->spec.list ? c->indptr[r] : r * c->table_stride, n = pages_of(&c->spec, r);
    for (int64_t i = 0; i < n; i++) c->table[first + i] = order[next++];
    c->indptr[r + 1] = (int32_t)next;
    c->cu[r + 1] = c->cu[r] + c->spec.length[r];
    c->starts[r] = c->spec.start[r];
  }
  free(order);
  return MLAF_OK;
}

static uint8_t some_code(const gather_case *c, mlaf_rng *rng) {
  for (;;) {
    const uint8_t sign = mlaf_rng_below(rng, 2) ? 0x80 : 0;
    /* Exponents within 16 of each other, or subnormals and the two powers beyond. */
    const uint8_t code = (uint8_t)(sign | (c->spec.small ? mlaf_rng_below(rng, 24) : 32 + mlaf_rng_below(rng, 48)));
    if (!isnan(gather_e4m3(mlaf_stored_fnuz(c->s.format->latent), code))) return code;
  }
}

static void put16(unsigned char *to, int dtype, float x) {
  const uint16_t h = mlaf_encode16(dtype, x);
  memcpy(to, &h, sizeof h);
}

static void fill_row(const gather_case *c, unsigned char *row, mlaf_rng *rng) {
  const gather_shape *s = &c->s;
  for (int i = 0; i < s->rank; i++) {
    if (mlaf_stored_in_16(s->format->latent)) put16(row + 2 * i, s->dtype, mlaf_rng_normal(rng));
    else
      row[i] = some_code(c, rng);
  }
  for (int i = 0; i < s->format->scales; i++) {
    /* Powers of two as writers since V3.2 have them, and others; the last tile may be none. */
    const float scale = c->spec.list ? ldexpf(1, -(int)mlaf_rng_below(rng, 6)) : 0.2f + (float)mlaf_rng_below(rng, 1000) / 777;
    memcpy(row + gather_bytes(s, s->format->scales_at) + 4 * i, &scale, sizeof scale);
  }
  for (int i = 0; i < s->rope; i++) {
    unsigned char *at = (unsigned char *)(uintptr_t)gather_case_rope(c, row);
    if (!mlaf_stored_in_16(s->format->rope)) at[i] = some_code(c, rng);
    else
      put16(at + 2 * i, s->dtype, mlaf_rng_normal(rng));
  }
}

const unsigned char *gather_case_row(const gather_case *c, int r, int64_t t) {
  const int64_t position = t - c->cu[r] + c->starts[r], in = position / c->spec.page_tokens;
  const int64_t first = c->spec.list ? c->indptr[r] : r * c->table_stride;
  const int64_t width = c->spec.list ? c->indptr[r + 1] - first : c->table_stride;
  if (position < 0 || in >= width) return NULL;
  const int64_t page = c->table[first + in];
  if (page < 0 || page >= c->num_pages) return NULL;
  return c->cache + page * c->cache_page + position % c->spec.page_tokens * c->cache_row;
}

const unsigned char *gather_case_rope(const gather_case *c, const unsigned char *row) {
  if (!row || !c->s.format->split) return row ? row + gather_bytes(&c->s, c->s.format->rope_at) : NULL;
  return c->kpe + (row - c->cache) / c->cache_row * c->kpe_row;
}

/* No position has the angles of another. */
static void fill_table(gather_case *c, mlaf_rng *rng) {
  const int half = c->s.rope / 2;
  for (int64_t i = 0; i < c->rope_rows * half; i++) {
    const double angle = mlaf_rng_normal(rng) * 8;
    float *row = c->rope_table + i / half * 2 * half;
    row[i % half] = (float)cos(angle), row[half + i % half] = (float)sin(angle);
  }
}

static void fill_data(gather_case *c, mlaf_rng *rng) {
  const gather_shape *s = &c->s;
  for (int r = 0; r < c->spec.n; r++)
    for (int64_t t = c->cu[r]; t < c->cu[r + 1]; t++)
      fill_row(c, (unsigned char *)(uintptr_t)gather_case_row(c, r, t), rng);
  for (int h = 0; h < s->heads; h++)
    for (int i = 0; i < s->out; i++)
      for (int k = 0; k < s->rank; k++)
        c->w[h * c->w_head + i * c->w_row + k] = mlaf_encode16(s->dtype, mlaf_rng_normal(rng) / 16);
}

/* A NaN in one column of the last request's last row; or pages and positions outside. */
static void inject_fault(gather_case *c, mlaf_inject inject, mlaf_rng *rng) {
  const int last = c->spec.n - 1;
  if (inject == MLAF_INJECT_NAN_Q) {
    unsigned char *row = (unsigned char *)(uintptr_t)gather_case_row(c, last, c->cu[last + 1] - 1);
    const uint32_t column = mlaf_rng_below(rng, (uint32_t)c->s.rank);
    if (mlaf_stored_in_16(c->s.format->latent)) memset(row + 2 * column, 0xff, 2);
    else
      row[column] = mlaf_stored_fnuz(c->s.format->latent) ? 0x80 : 0x7f;
  } else if (inject == MLAF_INJECT_OOB_PAGE) {
    const int64_t first = c->spec.list ? c->indptr[last] : last * c->table_stride, n = pages_of(&c->spec, last);
    const int32_t outside[] = {(int32_t)c->num_pages, -1, INT32_MAX, INT32_MIN};
    c->table[first + n - 1] = outside[mlaf_rng_below(rng, 4)];
    c->starts[0] = -2; /* the first two positions lie before the first page */
  }
}

mlaf_status gather_case_make(const mlaf_point *p, const gather_spec *spec, uint64_t seed, mlaf_inject inject, gather_case **out,
                             mlaf_err *err) {
  gather_case *c = calloc(1, sizeof *c);
  if (!c) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for case %s", spec->name);
  c->head = (mlaf_case){.name = spec->name, .spare = spec->spare};
  c->spec = *spec;
  c->s = gather_shape_of(p);
  c->scale = 0.37f;
  mlaf_rng rng = {seed};
  lay_out(c);
  mlaf_status st = allocate(c, err);
  if (!st) st = fill_tables(c, &rng, err);
  if (!st) {
    fill_data(c, &rng);
    fill_table(c, &rng); /* last, so that a problem that rotates has the other data of one that does not */
    inject_fault(c, inject, &rng);
    *out = c;
    return MLAF_OK;
  }
  gather_case_free(c);
  return st;
}
