/* Verification data by seed: cache and page tables first (all NaN, random order), then the tokens that exist. */
#include "op/stored.h"
#include "ops/mla_decode/problem.h"
#include "ops/mla_decode/testcase.h"
#include "ops/mla_decode/tokens.h"

/* Poison: NaN in all types but one, which has its own; with a page outside the cache a small number, so that a kernel that reads
 * some other page in its place does not come by the right answer, NaN, by accident. */
enum { PAD_BYTES = 16, OOB_PAGE_STEP = 1000003, POISON = 0xff, POISON_FNUZ = 0x80, POISON_OOB = 0x3c };

static int64_t pages_of(const mlaf_case_spec *s, int32_t b) {
  return ((int64_t)s->kv_lens[b] + s->problem.page_size - 1) / s->problem.page_size;
}

static mlaf_status check_spec(const mlaf_case_spec *s, mlaf_err *err) {
  if (s->n < 0 || s->n > MLAF_CASE_REQUESTS)
    return mlaf_fail(err, MLAF_E_ARG, "case %s: %d requests, must be 0..%d", s->name, s->n, MLAF_CASE_REQUESTS);
  for (int32_t b = 0; b < s->n; b++)
    if (s->q_lens[b] < 0 || s->q_lens[b] > MLAF_CASE_Q_MOST || s->kv_lens[b] < 0 || s->kv_lens[b] > 1 << 20)
      return mlaf_fail(err, MLAF_E_ARG, "case %s: request %d has q %d (0..%d), kv %d (0..2^20)", s->name, b,
                       s->q_lens[b], MLAF_CASE_Q_MOST, s->kv_lens[b]);
  return MLAF_OK;
}

mlaf_status mlaf_given_draw(const mlaf_given *g, const mlaf_problem *p, const mlaf_execute_args *a, float value, float **out,
                            mlaf_err *err) {
  const size_t bytes = mlaf_given_bytes(g, p, a);
  if (value == 0 || !mlaf_given_wanted(g, p)) return MLAF_OK;
  if (!(*out = malloc(bytes))) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %s", g->name);
  for (size_t i = 0; i < bytes / sizeof **out; i++) (*out)[i] = value * (1 + (float)(i * 5 % 8) / 8); /* neighbours differ */
  return MLAF_OK;
}

static mlaf_status allocate(mlaf_testcase *t, const mlaf_case_spec *s, int poison, mlaf_err *err) {
  const mlaf_problem *p = &s->problem;
  const mlaf_cache_format *f = mlaf_decode_format(p, s->layout == MLAF_CACHE_SPLIT);
  const int pad = s->layout == MLAF_CACHE_SPLIT && !f->aside ? PAD_BYTES / f->unit : 0;
  const bool split = f->second.of && (mlaf_decode_bytes(p, f->second.row) || pad);
  mlaf_batch *x = &t->batch;
  *x = (mlaf_batch){.problem = *p, .batch = s->n};
  for (int32_t b = 0; b < s->n; b++) {
    x->total_q += s->q_lens[b];
    t->total_pages += pages_of(s, b);
    if (s->kv_lens[b] > t->max_kv_len) t->max_kv_len = s->kv_lens[b];
  }
  x->num_pages = (int32_t)(t->total_pages + s->unused_pages);
  x->ckv_row_stride = mlaf_format_row(f, p->rank, p->rope) + pad;
  x->kpe_row_stride = split ? mlaf_format_second(f, p->rank, p->rope) + pad : x->ckv_row_stride;
  if (f->aside) x->page_rows = mlaf_decode_page_rows(p) + (s->layout == MLAF_CACHE_SPLIT);
  int64_t rows = x->num_pages * (f->aside ? x->page_rows : p->page_size);
  t->q_count = (size_t)(x->total_q * p->heads * (p->rank + p->rope)) / (p->fp8_q ? 2 : 1);
  t->ckv_count = (size_t)(rows * x->ckv_row_stride * f->unit / 2);
  t->kpe_count = split ? (size_t)(rows * x->kpe_row_stride * f->unit / 2) : 0;
  t->q = malloc((t->q_count + 1) * sizeof *t->q);
  t->ckv = malloc((t->ckv_count + 1) * sizeof *t->ckv);
  t->kpe = split ? malloc((t->kpe_count + 1) * sizeof *t->kpe) : NULL;
  t->tables = calloc((size_t)(3 * s->n + 2 + t->total_pages), sizeof *t->tables);
  if (!t->q || !t->ckv || (split && !t->kpe) || !t->tables)
    return mlaf_fail(err, MLAF_E_NOMEM, "case %s: no memory for %lld cache rows", s->name, (long long)rows);
  memset(t->q, poison, t->q_count * sizeof *t->q);
  memset(t->ckv, poison == POISON && mlaf_stored_fnuz(f->latent) ? POISON_FNUZ : poison, t->ckv_count * sizeof *t->ckv);
  if (split) memset(t->kpe, poison, t->kpe_count * sizeof *t->kpe);
  x->q = t->q;
  x->ckv = t->ckv;
  x->kpe = split ? t->kpe : t->ckv + mlaf_decode_bytes(p, f->rope_at) / 2;
  mlaf_status st = MLAF_OK;
  const mlaf_execute_args counts = {.total_q = x->total_q};
  for (int i = 0; !st && i < MLAF_GIVEN; i++) {
    st = mlaf_given_draw(&mlaf_decode_given[i], p, &counts, s->given[i], &t->given[i], err);
    x->given[i] = t->given[i];
  }
  return st;
}

/* A random permutation of the cache's pages is dealt out in order: no two requests share a page. */
static mlaf_status make_tables(mlaf_testcase *t, const mlaf_case_spec *s, mlaf_rng *rng, mlaf_err *err) {
  mlaf_batch *x = &t->batch;
  int32_t *order = malloc(((size_t)x->num_pages + 1) * sizeof *order);
  if (!order) return mlaf_fail(err, MLAF_E_NOMEM, "case %s: no memory for %d pages", s->name, x->num_pages);
  for (int32_t i = 0; i < x->num_pages; i++) order[i] = i;
  for (int32_t i = x->num_pages - 1; i > 0; i--) {
    int32_t j = (int32_t)mlaf_rng_below(rng, (uint32_t)i + 1), held = order[i];
    order[i] = order[j];
    order[j] = held;
  }
  int32_t *qo = t->tables, *kv = qo + s->n + 1, *indices = kv + s->n + 1, *last = indices + t->total_pages;
  for (int32_t b = 0; b < s->n; b++) {
    qo[b + 1] = qo[b] + s->q_lens[b];
    kv[b + 1] = kv[b] + (int32_t)pages_of(s, b);
    /* The last page length of a request without pages means nothing: give it both a legal and an illegal value. */
    last[b] = s->kv_lens[b] ? (s->kv_lens[b] - 1) % s->problem.page_size + 1 : b % 2 ? s->problem.page_size : 0;
  }
  memcpy(indices, order, (size_t)t->total_pages * sizeof *indices);
  free(order);
  x->qo_indptr = qo;
  x->kv_indptr = kv;
  x->kv_indices = indices;
  x->kv_last_page_lens = last;
  return MLAF_OK;
}

static void random_row(uint16_t *to, int32_t dtype, int32_t n, mlaf_rng *rng) {
  for (int32_t i = 0; i < n; i++) to[i] = mlaf_encode16(dtype, mlaf_rng_normal(rng));
}

/* The power of two that a request's values are times: where tokens hold scales that may be so large and so small. */
static int shift_of(const mlaf_case_spec *s, const mlaf_cache_format *f, int32_t request) {
  return f && f->scales && !f->powers && s->problem.dtype == MLAF_BF16 ? s->shifts[request] : 0;
}

/* --- tokens of 8-bit caches --- */

/* Powers of two of a token, of which any have one in eight groups of 64 columns, however large or small. */
static void random_powers(const mlaf_case_spec *s, const mlaf_cache_format *f, unsigned char *at, mlaf_rng *rng) {
  for (int i = 0; i < f->scales; i++) {
    const bool any = s->any_scales && !mlaf_rng_below(rng, 8);
    at[i] = (unsigned char)(any ? mlaf_rng_below(rng, 255) : 114 + mlaf_rng_below(rng, 21));
  }
}

/* Scales of a token, times 2^shift: no two of its groups have to have the same. */
static void random_scales(const mlaf_case_spec *s, const mlaf_cache_format *f, int shift, unsigned char *at, mlaf_rng *rng) {
  if (f->powers) random_powers(s, f, at, rng);
  for (int i = 0; !f->powers && i < f->scales; i++) {
    const float factor = 1 + (float)mlaf_rng_below(rng, 1 << 23) * 0x1p-23f;
    const int power = (int)mlaf_rng_below(rng, 21) - 13;
    const float scale = s->any_scales ? ldexpf(factor, power / 2 + shift) : ldexpf(1, power + shift);
    memcpy(at + 4 * i, &scale, sizeof scale);
  }
}

/* Values are standard normal numbers as far as their scale lets them. */
static void random_codes(bool fnuz, float scale, unsigned char *to, int32_t n, mlaf_rng *rng) {
  for (int32_t i = 0; i < n; i++) to[i] = mlaf_e4m3_encode(fnuz, (double)(mlaf_rng_normal(rng) / scale));
}

/* The codes that decoders get wrong, one a token: each comes to all places of 16 bytes. */
static void place_code(bool fnuz, float scale, int64_t token, unsigned char *latent, int32_t rank) {
  static const uint8_t codes[] = {0x01, 0x08, 0x81, 0x88, 0x07, 0x7e, 0x80, 0x00};
  const uint8_t code = codes[token / 16 % 8];
  const bool large = code == 0x7e && scale > 0x1p-5f; /* which would be all that its token is */
  latent[(token * 17 + 5) % rank] = scale > 0x1p9f ? 0 : (fnuz && code == 0x80) || large ? 0x0f : code;
}

static void random_token(mlaf_testcase *t, const mlaf_case_spec *s, int32_t request, int64_t page, int64_t token,
                         mlaf_rng *rng) {
  const mlaf_batch *x = &t->batch;
  const mlaf_problem *p = &x->problem;
  const mlaf_cache_format *f = mlaf_decode_format(p, false);
  const bool fnuz = mlaf_stored_fnuz(f->latent);
  const int shift = shift_of(s, f, request);
  const float scale = (x->kv_scale ? *x->kv_scale : 1) * ldexpf(1, -shift);
  const int latent = mlaf_format_latent(f, p->rank), rope = mlaf_format_rope(f, p->rope), odd = (int)((token * 17 + 5) % latent);
  const mlaf_stored_token at = mlaf_batch_token(x, t->ckv, page, token % p->page_size);
  random_scales(s, f, shift, at.scales, rng);
  for (int c = 0; c < latent; c += 32) /* groups are of whole 32 columns */
    random_codes(fnuz, scale * mlaf_stored_factor(f, at.scales, c), at.latent + c, 32, rng);
  place_code(fnuz, scale * mlaf_stored_factor(f, at.scales, odd), token, at.latent, latent);
  if (mlaf_stored_in_16(f->rope)) random_row((uint16_t *)(void *)at.rope, p->dtype, rope, rng);
  else
    random_codes(fnuz, scale, at.rope, rope, rng);
}

/* One NaN code in a token that all rows of its request see, so that all of them must be NaN; or one scale where a byte can be
 * NaN. */
static void place_nan(mlaf_testcase *t, const mlaf_case_spec *s, mlaf_rng *rng) {
  const mlaf_batch *x = &t->batch;
  const mlaf_problem *p = &x->problem;
  const int32_t b = s->nan_code_in;
  if (!p->cache || b >= x->batch) return;
  const int64_t seen = b ? mlaf_batch_visible(x, mlaf_batch_kv_len(x, b), 0, x->qo_indptr[b + 1] - x->qo_indptr[b]) : 0;
  if (!seen) return;
  const int64_t k = mlaf_rng_below(rng, (uint32_t)seen);
  const mlaf_cache_format *f = mlaf_decode_format(p, false);
  const mlaf_stored_token at = mlaf_batch_token(x, t->ckv, x->kv_indices[x->kv_indptr[b] + k / p->page_size], k % p->page_size);
  const uint32_t column = mlaf_rng_below(rng, (uint32_t)mlaf_format_latent(f, p->rank));
  if (f->powers && mlaf_rng_below(rng, 2)) at.scales[column / (uint32_t)f->group] = 0xff;
  else
    at.latent[column] = mlaf_stored_fnuz(f->latent) ? 0x80 : mlaf_rng_below(rng, 2) ? 0x7f : 0xff;
}

static void fill_data(mlaf_testcase *t, const mlaf_case_spec *s, mlaf_rng *rng) {
  const mlaf_batch *x = &t->batch;
  const mlaf_problem *p = &x->problem;
  const int32_t d = p->rank + p->rope;
  const bool fnuz = mlaf_stored_fnuz(mlaf_decode_format(p, false)->latent);
  for (int64_t r = 0; r < x->total_q * p->heads; r++)
    if (p->fp8_q) random_codes(fnuz, x->q_scale ? *x->q_scale : 1, (unsigned char *)t->q + r * d, d, rng);
    else random_row(t->q + r * d, p->dtype, d, rng);
  for (int32_t b = 0; b < x->batch; b++) {
    const int shift = shift_of(s, mlaf_decode_format(p, false), b);
    for (int64_t r = x->qo_indptr[b] * (int64_t)p->heads; shift && r < x->qo_indptr[b + 1] * (int64_t)p->heads; r++)
      for (int32_t c = 0; c < p->rank; c++)
        t->q[r * d + c] = mlaf_encode16(p->dtype, ldexp((double)mlaf_decode16(p->dtype, t->q[r * d + c]), -shift));
  }
  uint16_t *kpe = t->kpe ? t->kpe : t->ckv + p->rank;
  for (int32_t b = 0; b < x->batch; b++)
    for (int64_t k = 0, n = mlaf_batch_kv_len(x, b); k < n; k++) {
      const int64_t page = x->kv_indices[x->kv_indptr[b] + k / p->page_size], row = page * p->page_size + k % p->page_size;
      if (p->cache) {
        random_token(t, s, b, page, k, rng);
        continue;
      }
      random_row(t->ckv + row * x->ckv_row_stride, p->dtype, p->rank, rng);
      random_row(kpe + row * x->kpe_row_stride, p->dtype, p->rope, rng);
    }
}

/* Numbers of their own, so that a problem that rotates has the other data of one that does not. No position has the angles of
 * another: that of a neighbour is as wrong as any. */
static mlaf_status fill_table(mlaf_testcase *t, const mlaf_case_spec *s, mlaf_err *err) {
  mlaf_batch *x = &t->batch;
  mlaf_rng rng = {s->seed ^ 0x726f7065};
  const int32_t half = x->problem.rope / 2;
  if (!x->problem.rotate) return MLAF_OK;
  x->rope_rows = t->max_kv_len - s->short_table < 1 ? 1 : (int32_t)t->max_kv_len - s->short_table;
  x->rope_table = t->rope_table = malloc((size_t)x->rope_rows * 2 * (size_t)half * sizeof *t->rope_table);
  if (!t->rope_table)
    return mlaf_fail(err, MLAF_E_NOMEM, "case %s: no memory for a table of %d positions", s->name, x->rope_rows);
  mlaf_rng_angles(&rng, t->rope_table, x->rope_rows, half);
  return MLAF_OK;
}

/* One NaN in one element of one Q row of a request that has something to attend to. */
static mlaf_status inject_nan_q(mlaf_testcase *t, mlaf_rng *rng, mlaf_err *err) {
  const mlaf_batch *x = &t->batch;
  const int32_t d = x->problem.rank + x->problem.rope;
  for (int32_t b = 0; b < x->batch; b++) {
    int32_t n = x->qo_indptr[b + 1] - x->qo_indptr[b];
    if (!n || !mlaf_batch_visible(x, mlaf_batch_kv_len(x, b), 0, n)) continue;
    int64_t row = (int64_t)x->qo_indptr[b] * x->problem.heads + mlaf_rng_below(rng, (uint32_t)(n * x->problem.heads));
    const int64_t at = row * d + mlaf_rng_below(rng, (uint32_t)d);
    if (x->problem.fp8_q) ((unsigned char *)t->q)[at] = x->problem.cache == MLAF_KV_E4M3FNUZ ? 0x80 : 0x7f;
    else t->q[at] = MLAF_NAN16;
    return MLAF_OK;
  }
  return mlaf_fail(err, MLAF_E_ARG, "case %s: no request can carry a NaN in Q", t->name);
}

/* One page id outside the cache, on a page that every row of its request sees, so that all of them must be NaN. */
static mlaf_status inject_oob_page(mlaf_testcase *t, mlaf_rng *rng, mlaf_err *err) {
  const mlaf_batch *x = &t->batch;
  for (int32_t b = 0; b < x->batch; b++) {
    int32_t n = x->qo_indptr[b + 1] - x->qo_indptr[b];
    int64_t all_see = n ? mlaf_batch_visible(x, mlaf_batch_kv_len(x, b), 0, n) : 0;
    if (!all_see) continue;
    uint32_t pages = (uint32_t)((all_see + x->problem.page_size - 1) / x->problem.page_size);
    int32_t *id = t->tables + 2 * (x->batch + 1) + x->kv_indptr[b] + mlaf_rng_below(rng, pages);
    /* Just outside, far outside and negative are different mistakes of a kernel: the seed picks one. */
    const int32_t outside[] = {x->num_pages, x->num_pages + OOB_PAGE_STEP, -1, INT32_MAX};
    *id = outside[mlaf_rng_below(rng, 4)];
    return MLAF_OK;
  }
  return mlaf_fail(err, MLAF_E_ARG, "case %s: no request can carry a page outside the cache", t->name);
}

/* Q in two tensors: the latent's columns of one head after the other, as a product by heads leaves them, the rope columns of one
 * token after the other; gaps between rows hold NaN. */
static mlaf_status part_q(mlaf_testcase *t, mlaf_err *err) {
  const mlaf_problem *p = &t->batch.problem;
  const int64_t tokens = t->batch.total_q, gap = PAD_BYTES / 2;
  if (!p->q_parts) return MLAF_OK;
  t->q_token = p->rank + gap, t->q_head = (tokens ? tokens : 1) * t->q_token;
  t->q_pe_head = p->rope + 2 * gap, t->q_pe_token = p->heads * t->q_pe_head;
  t->q_pe_at = (size_t)(p->heads * t->q_head);
  t->q_parts_count = t->q_pe_at + (size_t)(tokens * t->q_pe_token);
  t->q_parts = malloc((t->q_parts_count + 1) * sizeof *t->q_parts);
  if (!t->q_parts) return mlaf_fail(err, MLAF_E_NOMEM, "case %s: no memory for Q in two tensors", t->name);
  for (size_t i = 0; i < t->q_parts_count; i++) t->q_parts[i] = MLAF_NAN16;
  for (int64_t i = 0; i < tokens; i++)
    for (int64_t h = 0; h < p->heads; h++) {
      const uint16_t *const row = t->q + (i * p->heads + h) * (p->rank + p->rope);
      memcpy(t->q_parts + i * t->q_token + h * t->q_head, row, (size_t)p->rank * sizeof *row);
      memcpy(t->q_parts + (int64_t)t->q_pe_at + i * t->q_pe_token + h * t->q_pe_head, row + p->rank,
             (size_t)p->rope * sizeof *row);
    }
  return MLAF_OK;
}

/* One request of more query tokens than the plan's; and behind all others requests without any, as captured graphs have them,
 * until the total is one that the host takes. */
static mlaf_status lengthen(mlaf_case_spec *s, mlaf_rng *rng, mlaf_err *err) {
  const int32_t most = s->problem.q_len;
  int32_t total = 0;
  if (s->n > 0) s->q_lens[mlaf_rng_below(rng, (uint32_t)s->n)] = most + 1 + (int32_t)mlaf_rng_below(rng, 3);
  for (int32_t b = 0; b < s->n; b++) total += s->q_lens[b];
  if (s->n < 1 || total > MLAF_CASE_REQUESTS * most)
    return mlaf_fail(err, MLAF_E_ARG, "case %s: no request can be too long", s->name);
  for (; s->n * most < total; s->n++) s->q_lens[s->n] = s->kv_lens[s->n] = 0;
  return MLAF_OK;
}

/* The last request that has query tokens gets one more, which is behind all that the host was told of. */
static void reach_behind(mlaf_testcase *t) {
  const mlaf_batch *x = &t->batch;
  int32_t *qo = t->tables, b = x->batch;
  for (const int32_t total = qo[b]; b > 0 && qo[b] == total; b--) qo[b]++;
}

mlaf_status mlaf_testcase_make(const mlaf_case_spec *spec, mlaf_inject inject, mlaf_testcase **out, mlaf_err *err) {
  mlaf_case_spec copy = *spec, *const s = &copy;
  mlaf_rng rng = {s->seed};
  mlaf_status st = check_spec(s, err);
  if (!st && inject == MLAF_INJECT_LONG_Q) st = lengthen(s, &rng, err);
  if (st) return st;
  mlaf_testcase *t = calloc(1, sizeof *t);
  if (!t) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for case %s", s->name);
  snprintf(t->name, sizeof t->name, "%s", s->name);
  st = allocate(t, s, inject == MLAF_INJECT_OOB_PAGE ? POISON_OOB : POISON, err);
  if (!st) st = make_tables(t, s, &rng, err);
  if (!st) {
    /* q.k of two standard normal rows has the standard deviation sqrt(R+P). A float, as the kernels get it. */
    t->batch.scale = (float)(s->score_std / sqrt(s->problem.rank + s->problem.rope));
    fill_data(t, s, &rng);
    place_nan(t, s, &rng);
    st = fill_table(t, s, err);
  }
  if (!st && inject == MLAF_INJECT_NAN_Q) st = inject_nan_q(t, &rng, err);
  if (!st && inject == MLAF_INJECT_OOB_PAGE) st = inject_oob_page(t, &rng, err);
  if (!st && inject == MLAF_INJECT_LONG_Q) reach_behind(t);
  if (!st) st = part_q(t, err);
  if (st) {
    mlaf_testcase_free(t);
    return st;
  }
  *out = t;
  return MLAF_OK;
}

void mlaf_testcase_free(mlaf_testcase *t) {
  if (!t) return;
  free(t->q);
  free(t->q_parts);
  free(t->ckv);
  free(t->kpe);
  for (int i = 0; i < MLAF_GIVEN; i++) free(t->given[i]);
  free(t->tables);
  free(t);
}
