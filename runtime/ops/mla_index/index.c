/* mla_index in fp64, and its cases. Everything else of it follows from gen/ops/mla_index/args.lua. */
#include "op/e4m3.h"
#include "op/sums.h"
#include "ops/mla_index/args.h"
#include "ops/mla_index/index.h"

#define FP32_OFF 0x1p-19 /* of the sum of all terms' sizes: what some hundred roundings in fp32 come to, and more */
enum { SPARE_PAGES = 3, LARGEST = 8, CODES = 2 * LARGEST + 1, WEIGHTS = 16, DRAWS = 50, STALE = 0x5a };

/* A size of the table. */
#define N(h, size) ((h)->n[INDEX_SIZE_##size])

static mlaf_index_args *args_of(const mlaf_host *h) { return (void *)(uintptr_t)h->args.bytes; }
static const index_options *options_of(const mlaf_host *h) { return h->options; }
static int32_t *lengths(const mlaf_host *h) { return (void *)h->t[INDEX_LENGTHS].data; }
static int32_t *table_of(const mlaf_host *h, int64_t t) {
  return mlaf_host_at(h, INDEX_BLOCK_TABLE, t / args_of(h)->q_tokens, 0);
}
/* Positions in the order of their logits. */
static int64_t *order_of(const mlaf_host *h) { return h->more; }

static int64_t length_of(const mlaf_host *h, int64_t t) {
  const int64_t n = lengths(h)[t], paged = N(h, WIDTH) * args_of(h)->page_tokens, most = paged < N(h, N) ? paged : N(h, N);
  return n < 0 ? 0 : n < most ? n : most;
}

/* --- where tensors lie --- */

static void arguments(mlaf_host *h) {
  mlaf_index_args *a = args_of(h);
  if (options_of(h)->timed != 0) a->max_length = mlaf_up(h->point.v[MLA_INDEX_CTX], 4) * 4;
  a->table_width = (int32_t)mlaf_up(a->max_length, a->page_tokens);
  a->num_pages = a->tokens / a->q_tokens * a->table_width + (options_of(h)->timed != 0 ? 0 : SPARE_PAGES);
}

static void arrange(mlaf_host *h) { /* pages begin at multiples of 16 bytes */
  mlaf_host_tensor *cache = &h->t[INDEX_CACHE];
  cache->stride[0] = mlaf_up(cache->stride[0], 16) * 16;
  cache->count = N(h, PAGES) * cache->stride[0];
}

/* --- contents --- */

/* Codes of whole numbers. */
static void list_codes(uint8_t codes[CODES]) {
  for (int i = 0; i < CODES; i++) codes[i] = mlaf_e4m3_encode(false, i - LARGEST);
}

/* Random bytes of a key or a query: whole numbers, or, where sums are rounded, any that are not NaN. sign: 1 or -1 where all have
 * it, else 0. */
static void fill_bytes(const mlaf_host *h, uint8_t *to, int sign, mlaf_rng *rng) {
  uint8_t codes[CODES];
  list_codes(codes);
  for (int i = 0; i < INDEX_COLUMNS; i++) {
    const uint32_t any = mlaf_rng_below(rng, 0x60), code = mlaf_rng_below(rng, sign ? LARGEST : CODES);
    if (options_of(h)->rounded != 0) to[i] = (uint8_t)(any | mlaf_rng_below(rng, 2) << 7);
    else to[i] = codes[sign < 0 ? code : sign > 0 ? CODES - 1 - code : code];
  }
}

static float draw_scale(const mlaf_host *h, mlaf_rng *rng) {
  static const float special[] = {INFINITY, -INFINITY, NAN, 0, -0.0f};
  if (options_of(h)->special != 0 && mlaf_rng_below(rng, 8) == 0) return special[mlaf_rng_below(rng, 5)];
  if (options_of(h)->rounded != 0) return 0.01f + (float)mlaf_rng_below(rng, 1 << 20) / (1 << 22);
  if (options_of(h)->shut != 0 && mlaf_rng_below(rng, 2)) return -1; /* logits are -0, too */
  if (options_of(h)->few != 0) return 1 + (float)mlaf_rng_below(rng, 40) / (1 << 20); /* they differ in their last bits */
  return ldexpf(1, -(int)mlaf_rng_below(rng, 4));
}

static uint8_t *key_at(const mlaf_host *h, int64_t page, int64_t slot) {
  return (uint8_t *)mlaf_host_at(h, INDEX_CACHE, page, 0) + INDEX_COLUMNS * slot;
}
static uint8_t *scale_at(const mlaf_host *h, int64_t page, int64_t slot) {
  return key_at(h, page, args_of(h)->page_tokens) + sizeof(float) * (size_t)slot;
}

static void fill_page(const mlaf_host *h, int64_t page, int64_t slots, mlaf_rng *rng) {
  const int few = (int)options_of(h)->few;
  for (int64_t slot = 0; slot < slots; slot++) {
    mlaf_rng own = {few ? mlaf_rng_below(rng, (uint32_t)few) : mlaf_rng_next(rng)};
    const float scale = draw_scale(h, rng);
    fill_bytes(h, key_at(h, page, slot), options_of(h)->shut != 0, &own);
    memcpy(scale_at(h, page, slot), &scale, sizeof scale);
  }
}

static void fill_query(const mlaf_host *h, int64_t t, mlaf_rng *rng) {
  for (int64_t head = 0; head < N(h, H); head++) {
    float *w = (float *)mlaf_host_at(h, INDEX_W, t, 0) + head;
    fill_bytes(h, mlaf_host_at(h, INDEX_Q, t, head), options_of(h)->shut != 0 ? -1 : 0, rng);
    *w = options_of(h)->rounded != 0 ? mlaf_rng_normal(rng) : (float)((int)mlaf_rng_below(rng, WEIGHTS) - WEIGHTS / 4);
  }
}

/* Pages of a request, in random order all over the cache: only what its tokens see is there. */
static void fill_request(const mlaf_host *h, int64_t request, const int64_t *pages, mlaf_rng *rng) {
  static const int32_t outside[] = {-1, INT32_MIN, INT32_MAX};
  const int64_t q = args_of(h)->q_tokens, page_tokens = args_of(h)->page_tokens;
  int64_t most = 0;
  for (int64_t t = request * q; t < (request + 1) * q; t++)
    if (length_of(h, t) > most) most = length_of(h, t);
  for (int64_t i = 0; i * page_tokens < most; i++) {
    const int64_t page = pages[request * N(h, WIDTH) + i], left = most - i * page_tokens;
    table_of(h, request * q)[i] = (int32_t)page;
    fill_page(h, page, left < page_tokens ? left : page_tokens, rng);
    const uint32_t kind = options_of(h)->absent != 0 ? mlaf_rng_below(rng, 12) : 12;
    if (kind < 4) table_of(h, request * q)[i] = kind < 3 ? outside[kind] : (int32_t)N(h, PAGES);
  }
}

/* No token, one, few, all but one, those beyond what there is, and some. */
static void fill_lengths(const mlaf_host *h, mlaf_rng *rng) {
  const int32_t most = (int32_t)N(h, N), k = (int32_t)N(h, K), edges[] = {most, 0, k, k + 1, most + 9, k - 1, 1, most - 1, -5};
  for (int64_t t = 0; t < N(h, T); t++) {
    const bool edge = t < (int64_t)(sizeof edges / sizeof *edges);
    lengths(h)[t] = edge ? edges[t] : 1 + (int32_t)mlaf_rng_below(rng, (uint32_t)most);
    if (options_of(h)->timed != 0) lengths(h)[t] = h->point.v[MLA_INDEX_CTX];
  }
}

static void fill(mlaf_host *h, mlaf_rng *rng) {
  int64_t *pages = h->more;
  mlaf_host_deal(h, N(h, PAGES), rng);
  fill_lengths(h, rng);
  for (int64_t t = 0; t < N(h, T); t++) fill_query(h, t, rng);
  for (int64_t i = 0; i < N(h, B); i++) fill_request(h, i, pages, rng);
}

/* --- what must come out --- */

typedef struct scores {
  double *value, *slack; /* of each position; NaN where there is no token */
} scores;

/* The row of the cache at a position; -1: its page is outside. */
static int64_t row_at(const mlaf_host *h, int64_t t, int64_t position) {
  const int64_t page_tokens = args_of(h)->page_tokens, page = table_of(h, t)[position / page_tokens];
  return page < 0 || page >= N(h, PAGES) ? -1 : page * page_tokens + position % page_tokens;
}

/* Adds some heads' scores of a row. q: the heads' queries, decoded. */
static void add_scores(const float *w, int64_t heads, double (*q)[INDEX_COLUMNS], const double *key, double *value,
                       double *slack) {
  for (int64_t head = 0; head < heads; head++) {
    const mlaf_sum product = mlaf_dot_sizes(q[head], key, INDEX_COLUMNS); /* exact in any order */
    *value += (double)w[head] * (product.sum < 0 ? 0 : product.sum);      /* NaN stays */
    *slack += fabs((double)w[head]) * product.size;
  }
}

/* Sums over all heads become logits, as a kernel rounds exact ones. */
static void scale_scores(const mlaf_host *h, int64_t row, double *value, double *slack) {
  float scale;
  memcpy(&scale, scale_at(h, row / args_of(h)->page_tokens, row % args_of(h)->page_tokens), sizeof scale);
  *value = (double)(float)((double)scale * *value);
  *slack = FP32_OFF * fabs((double)scale) * *slack + 0x1p-120;
}

/* Keys are decoded once for every so many heads, queries once. */
static void score_all(const mlaf_host *h, int64_t t, scores s) {
  enum { HEADS = 16 };
  const float *w = mlaf_host_at(h, INDEX_W, t, 0);
  const int64_t n = length_of(h, t), page = args_of(h)->page_tokens;
  double codes[256], q[HEADS][INDEX_COLUMNS], key[INDEX_COLUMNS];
  for (int i = 0; i < 256; i++) codes[i] = mlaf_e4m3_decode(false, (uint8_t)i);
  for (int64_t first = 0; first < N(h, H); first += HEADS) {
    const int64_t heads = N(h, H) - first < HEADS ? N(h, H) - first : HEADS;
    for (int64_t i = 0; i < heads; i++) mlaf_widen8(codes, mlaf_host_at(h, INDEX_Q, t, first + i), INDEX_COLUMNS, 1, q[i]);
    for (int64_t i = 0; i < n; i++) {
      const int64_t row = row_at(h, t, i);
      if (row < 0) continue;
      if (first == 0) s.value[i] = s.slack[i] = 0;
      mlaf_widen8(codes, key_at(h, row / page, row % page), INDEX_COLUMNS, 1, key);
      add_scores(w + first, heads, q, key, &s.value[i], &s.slack[i]);
    }
  }
  for (int64_t i = 0; i < n; i++) {
    const int64_t row = row_at(h, t, i);
    if (row >= 0) scale_scores(h, row, &s.value[i], &s.slack[i]);
    else s.value[i] = NAN;
  }
}

/* True if position i stands before j. */
static bool before(const double *value, int64_t i, int64_t j) {
  if (isnan(value[i]) || isnan(value[j])) return isnan(value[i]) == isnan(value[j]) ? i < j : isnan(value[j]);
  return value[i] != value[j] ? value[i] > value[j] : i < j;
}

/* The positions that there are, in their order; their number. */
static int64_t sort(const mlaf_host *h, int64_t t, const double *value) {
  int64_t *order = order_of(h), n = 0;
  for (int64_t i = 0; i < length_of(h, t); i++)
    if (row_at(h, t, i) >= 0) order[n++] = i;
  for (int64_t gap = n / 2; gap; gap = gap == 2 ? 1 : gap * 5 / 11) /* shell sort */
    for (int64_t i = gap; i < n; i++) {
      const int64_t x = order[i];
      int64_t j = i;
      for (; j >= gap && before(value, x, order[j - gap]); j -= gap) order[j] = order[j - gap];
      order[j] = x;
    }
  return n;
}

static void refer_indices(const mlaf_host *h, int64_t t, const double *value, double *out) {
  const int64_t n = sort(h, t, value), k = N(h, K), last = n > k ? order_of(h)[k - 1] : -1;
  int64_t at = 0;
  for (int64_t i = 0; i < length_of(h, t); i++) {
    const int64_t row = row_at(h, t, i);
    if (row >= 0 && (last < 0 || i == last || before(value, i, last))) out[at++] = (double)row;
  }
  while (at < k) out[at++] = -1;
}

/* Logits behind the length of a case are what was there before. */
static void reference(mlaf_rows *r) {
  const mlaf_host *h = r->h;
  mlaf_want_row *logits = mlaf_rows_want(r, INDEX_LOGITS);
  score_all(h, r->i, (scores){logits->value, logits->slack});
  refer_indices(h, r->i, logits->value, mlaf_rows_want(r, INDEX_INDICES)->value);
  float stale;
  memset(&stale, STALE, sizeof stale);
  for (int64_t i = length_of(h, r->i); i < N(h, N); i++) {
    logits->value[i] = (double)stale;
    logits->slack[i] = options_of(h)->timed != 0 ? INFINITY : 0x1p-120;
  }
  if (r->note) mlaf_snprintf(r->note, MLAF_NOTE, "of %lld cached tokens", (long long)length_of(h, r->i));
}

/* An entry of indices: equal, or wrong. */
static double off(mlaf_rows *r, int k, const void *got, int *column, double *is) {
  double worst = -1;
  if (r->h->outputs[k] != INDEX_INDICES) return worst;
  for (int64_t c = 0; c < mlaf_host_columns(r->h, r->h->outputs[k]); c++) {
    const double x = (double)((const int32_t *)got)[c], error = x == r->want[k].value[c] ? 0 : INFINITY;
    if (error > worst) worst = error, *column = (int)c, *is = x;
    r->compared++;
  }
  return worst;
}

/* --- cases --- */

/* True if rounding could swap the last logit that is taken and the first that is not. */
static bool is_close(const mlaf_host *h, int64_t t, scores s) {
  const int64_t k = N(h, K);
  score_all(h, t, s);
  if (sort(h, t, s.value) <= k) return false;
  const int64_t last = order_of(h)[k - 1], next = order_of(h)[k];
  return s.value[last] - s.value[next] <= s.slack[last] + s.slack[next];
}

static void draw(mlaf_host *h, mlaf_rng *rng) {
  scores s = {calloc((size_t)N(h, N), sizeof(double)), calloc((size_t)N(h, N), sizeof(double))};
  bool close = true;
  for (int i = 0; close && i < DRAWS && s.value && s.slack; i++) {
    close = false;
    fill(h, rng);
    for (int64_t t = 0; options_of(h)->rounded != 0 && t < N(h, T); t++) close |= is_close(h, t, s);
  }
  free(s.value);
  free(s.slack);
}

/* A NaN in a query; a page that is outside. */
static mlaf_status inject(mlaf_host *h, mlaf_inject inject, mlaf_rng *rng, mlaf_err *err) {
  if (inject == MLAF_INJECT_OOB_PAGE) {
    table_of(h, 0)[0] = mlaf_rng_below(rng, 2) ? (int32_t)N(h, PAGES) : -7;
    return MLAF_OK;
  }
  uint8_t *q = mlaf_host_at(h, INDEX_Q, 0, mlaf_rng_below(rng, (uint32_t)N(h, H)));
  q[mlaf_rng_below(rng, INDEX_COLUMNS)] = mlaf_rng_below(rng, 2) ? 0x7f : 0xff;
  return MLAF_OK;
}

const mlaf_table_hooks index_hooks = {.reference = reference, .draw = draw, .inject = inject, .draw_timing = fill,
                                      .arguments = arguments, .arrange = arrange, .off = off};
