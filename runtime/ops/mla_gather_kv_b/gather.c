/* mla_gather_kv_b in fp64, and the requests and pages of its cases. Everything else of it follows from
 * gen/ops/mla_gather_kv_b/args.lua. */
#include "ops/mla_gather_kv_b/gather.h"

#include "op/stored.h"
#include "op/sums.h"
#include "ops/mla_gather_kv_b/args.h"

enum { POISON = 0xff, POISON_FNUZ = 0x80, SPARE_PAGES = 3, SPARE_TOKENS = 5, TABLE_GAP = 3, HEAD_GAP = 24 };
enum { FEW_OUTPUTS = 1024, MOST_REQUESTS = 64, REQUEST = 1024, PAGES_MOST = 4096 }; /* the last two of timing data */
static const float SCALE = 0.37f;

/* A field of the problem, and a size of the table. */
#define F(h, field) ((h)->point.v[MLA_GATHER_KV_B_##field])
#define N(h, size) ((h)->n[GATHER_KV_B_SIZE_##size])

static const mlaf_gather_kv_b_args *args_of(const mlaf_host *h) { return (const void *)h->args.bytes; }
static const gather_kv_b_options *options_of(const mlaf_host *h) { return h->options; }
static const mlaf_cache_format *format_of(const mlaf_host *h) { return gather_format(h->point.v); }
static int32_t *words(const mlaf_host *h, int tensor) { return (void *)h->t[tensor].data; }

/* --- requests: of many outputs shorter ones, as each is a sum over the rank --- */

typedef struct requests {
  int n;
  int32_t start[MOST_REQUESTS], length[MOST_REQUESTS];
} requests;

static void add(requests *s, int32_t start, int32_t length) {
  s->start[s->n] = start;
  s->length[s->n++] = length;
}

static requests requests_of(const mlaf_point *p, const gather_kv_b_options *o) {
  static const int32_t chunks[][2] = {{7, 33}, {0, 0}, {16, 16}, {5, 1}, {0, 0}, {0, 47}, {63, 2}, {31, 34}};
  const int32_t *v = p->v, outputs = v[MLA_GATHER_KV_B_HEADS] * (v[MLA_GATHER_KV_B_NOPE] + v[MLA_GATHER_KV_B_VDIM]);
  const bool few = outputs <= FEW_OUTPUTS;
  requests s = {.n = 0};
  /* Requests without tokens, chunks that begin and end within pages, the first page left out. */
  for (int i = 0; o->chunks != 0 && i < (few ? 8 : 4); i++) add(&s, chunks[i][0], chunks[i][1]);
  if (o->longer != 0) { /* than any tile of tokens */
    add(&s, 0, few ? 261 : 19);
    add(&s, 0, few ? 12 : 3);
  }
  if (o->crowd != 0) { /* so many that finding one's own takes several steps */
    for (int i = 0; i < (few ? 41 : 20); i++) add(&s, i % 5, i * 7 % 4);
    add(&s, 3, 2);
  }
  return s;
}

static int64_t tokens_of(const requests *s) {
  int64_t n = 0;
  for (int r = 0; r < s->n; r++) n += s->length[r];
  return n;
}

static int64_t pages_of(const requests *s, int r, int64_t page) {
  return s->length[r] ? mlaf_up(s->start[r] + s->length[r], page) : 0;
}

/* --- where rows lie --- */

/* Rows of the outputs, of which nobody writes the last ones. */
static int64_t count(const mlaf_point *p, const mlaf_table_case *c) {
  const requests s = requests_of(p, c->options);
  return tokens_of(&s) + (c->gaps ? SPARE_TOKENS : 0);
}

static void arguments_timed(mlaf_host *h, mlaf_gather_kv_b_args *a) {
  const int64_t pages = mlaf_up(a->tokens, a->page_tokens);
  a->batch = (int32_t)mlaf_up(a->tokens, REQUEST);
  a->num_pages = pages < PAGES_MOST ? pages : PAGES_MOST;
  a->rope_rows = F(h, ROTATE) ? REQUEST : 0;
}

static void arguments(mlaf_host *h) {
  mlaf_gather_kv_b_args *a = (void *)h->args.bytes;
  const requests s = requests_of(&h->point, options_of(h));
  int64_t most = 1;
  if (options_of(h)->timed != 0) {
    arguments_timed(h, a);
    return;
  }
  a->batch = s.n;
  a->num_pages = SPARE_PAGES;
  for (int r = 0; r < s.n; r++) {
    const int64_t n = pages_of(&s, r, a->page_tokens), end = s.start[r] + s.length[r];
    a->num_pages += n;
    if (n > most) most = n;
    if (F(h, ROTATE) && end > a->rope_rows) a->rope_rows = end;
  }
  if (a->rope_rows > 1) a->rope_rows--; /* the table ends before the last position */
  if (options_of(h)->list == 0) a->table_stride = most + (options_of(h)->apart != 0 ? TABLE_GAP : 0);
}

static void arrange(mlaf_host *h) {
  mlaf_gather_kv_b_args *a = (void *)h->args.bytes;
  mlaf_host_tensor *cache = &h->t[GATHER_KV_B_CACHE], *kpe = &h->t[GATHER_KV_B_CACHE_KPE], *pe = &h->t[GATHER_KV_B_K_PE];
  if (format_of(h)->second.of) { /* pages are whole rows */
    cache->stride[0] = mlaf_up(cache->stride[0], cache->stride[1]) * cache->stride[1];
    cache->count = N(h, PAGES) * cache->stride[0];
  }
  if (format_of(h)->aside) { /* rows follow each other, and so do pages but for a row */
    cache->stride[1] = N(h, ROW);
    const int64_t rows = mlaf_format_page_rows(format_of(h), N(h, PAGE), (int)N(h, R), (int)N(h, P));
    cache->stride[0] = (rows + (options_of(h)->apart != 0)) * N(h, ROW);
    cache->count = N(h, PAGES) * cache->stride[0];
  }
  kpe->count = cache->count / cache->stride[1] * kpe->stride[0];
  const int64_t listed = options_of(h)->timed != 0 ? mlaf_up(a->tokens, a->page_tokens) : N(h, PAGES);
  h->t[GATHER_KV_B_TABLE].count = a->table_stride ? a->batch * a->table_stride : listed;
  if (pe->absent || options_of(h)->copies == 0) return;
  a->k_pe_head_stride = N(h, P) + HEAD_GAP;
  pe->stride[0] = N(h, H) * a->k_pe_head_stride + HEAD_GAP;
  pe->count = N(h, T) * pe->stride[0];
}

static int64_t place(const mlaf_host *h, int tensor, int64_t t, int64_t head) {
  if (h->t[GATHER_KV_B_CU_SEQLENS].data && t >= words(h, GATHER_KV_B_CU_SEQLENS)[args_of(h)->batch]) return -1;
  if (tensor != GATHER_KV_B_K_PE) return mlaf_host_row(h, tensor, t, head);
  if (head && !args_of(h)->k_pe_head_stride) return -1;
  return t * h->t[tensor].stride[0] + head * args_of(h)->k_pe_head_stride;
}

/* A token's place: its request, its position, and the cache's row; row < 0: its page or position is outside. */
typedef struct spot {
  int64_t request, position, row;
} spot;

static spot spot_of(const mlaf_host *h, int64_t t) {
  const int32_t *cu = words(h, GATHER_KV_B_CU_SEQLENS), *starts = words(h, GATHER_KV_B_SEQ_STARTS),
                *indptr = words(h, GATHER_KV_B_TABLE_INDPTR);
  const int64_t page_tokens = args_of(h)->page_tokens, stride = args_of(h)->table_stride;
  spot s = {.request = 0, .row = -1};
  while (cu[s.request + 1] <= t) s.request++;
  s.position = t - cu[s.request] + (starts ? starts[s.request] : 0);
  const int64_t in = s.position / page_tokens, first = indptr ? indptr[s.request] : s.request * stride;
  const int64_t width = indptr ? indptr[s.request + 1] - first : stride;
  if (s.position < 0 || in >= width) return s;
  const int64_t page = words(h, GATHER_KV_B_TABLE)[first + in];
  const mlaf_host_tensor *cache = &h->t[GATHER_KV_B_CACHE];
  if (page >= 0 && page < N(h, PAGES)) s.row = page * (cache->stride[0] / cache->stride[1]) + s.position % page_tokens;
  if (s.row >= 0 && !format_of(h)->second.of) s.row = page * cache->stride[0] + s.position % page_tokens * cache->stride[1];
  return s;
}

/* --- contents --- */

/* Pages in random order, each once. h->more: that order. */
static void fill_tables(mlaf_host *h, mlaf_rng *rng) {
  const requests s = requests_of(&h->point, options_of(h));
  int32_t *cu = words(h, GATHER_KV_B_CU_SEQLENS), *indptr = words(h, GATHER_KV_B_TABLE_INDPTR),
          *starts = words(h, GATHER_KV_B_SEQ_STARTS), *order = (void *)h->more;
  int64_t next = 0;
  mlaf_rng_deal(rng, order, N(h, PAGES));
  cu[0] = 0;
  if (indptr) indptr[0] = 0;
  for (int r = 0; r < s.n; r++) {
    const int64_t first = indptr ? indptr[r] : r * args_of(h)->table_stride, n = pages_of(&s, r, args_of(h)->page_tokens);
    for (int64_t i = 0; i < n; i++) words(h, GATHER_KV_B_TABLE)[first + i] = order[next++];
    if (indptr) indptr[r + 1] = (int32_t)next;
    if (starts) starts[r] = s.start[r];
    cu[r + 1] = cu[r] + s.length[r];
  }
}

static uint8_t some_code(const mlaf_host *h, mlaf_rng *rng) {
  for (;;) {
    const uint8_t sign = mlaf_rng_below(rng, 2) ? 0x80 : 0;
    /* Exponents within 16 of each other, or subnormals and the two powers beyond. */
    const uint32_t size = options_of(h)->small != 0 ? mlaf_rng_below(rng, 24) : 32 + mlaf_rng_below(rng, 48);
    if (!isnan(mlaf_e4m3_decode(mlaf_stored_fnuz(format_of(h)->latent), (uint8_t)(sign | size)))) return (uint8_t)(sign | size);
  }
}

static void fill_columns(const mlaf_host *h, mlaf_stored type, unsigned char *to, int64_t n, mlaf_rng *rng) {
  for (int64_t i = 0; i < n; i++) {
    if (mlaf_stored_in_16(type)) ((uint16_t *)(void *)to)[i] = mlaf_encode16(h->dtype, mlaf_rng_normal(rng));
    else to[i] = some_code(h, rng);
  }
}

/* The parts of a token. row: the element of the cache where its row begins; beside a second tensor the number of its row. */
static mlaf_stored_token token_at(const mlaf_host *h, int64_t row) {
  const mlaf_host_tensor *cache = &h->t[GATHER_KV_B_CACHE], *kpe = &h->t[GATHER_KV_B_CACHE_KPE];
  const mlaf_cache_format *format = format_of(h);
  const int64_t unit = N(h, UNIT), step = cache->stride[1], slot = format->aside ? row % cache->stride[0] / step : 0;
  const mlaf_stored_page page = {.rows = cache->data + (format->second.of ? row * step : row - slot * step) * unit,
                                 .second = N(h, SPLIT) ? kpe->data + row * kpe->stride[0] * unit : NULL,
                                 .row = step * unit, .tokens = N(h, PAGE)};
  return mlaf_stored_token_of(format, (int)N(h, R), (int)N(h, P), &page, slot);
}

static void fill_token(const mlaf_host *h, mlaf_stored_token at, mlaf_rng *rng) {
  const mlaf_cache_format *format = format_of(h);
  fill_columns(h, format->latent, at.latent, N(h, R), rng);
  for (int i = 0; format->powers && i < format->scales; i++) at.scales[i] = (unsigned char)(127 - mlaf_rng_below(rng, 6));
  for (int i = 0; !format->powers && i < format->scales; i++) {
    /* Powers of two as writers since V3.2 have them, and others. */
    const bool power = options_of(h)->list != 0;
    const float scale = power ? ldexpf(1, -(int)mlaf_rng_below(rng, 6)) : 0.2f + (float)mlaf_rng_below(rng, 1000) / 777;
    memcpy(at.scales + 4 * i, &scale, sizeof scale);
  }
  fill_columns(h, format->rope, at.rope, N(h, P), rng);
}

static void put_scale(mlaf_host *h) {
  if (!h->t[GATHER_KV_B_SCALE_AT].absent) memcpy(h->t[GATHER_KV_B_SCALE_AT].data, &SCALE, sizeof SCALE);
}

static void draw(mlaf_host *h, mlaf_rng *rng) {
  const int poison = mlaf_stored_fnuz(format_of(h)->latent) ? POISON_FNUZ : POISON;
  memset(h->t[GATHER_KV_B_CACHE].data, poison, mlaf_host_bytes(h, GATHER_KV_B_CACHE));
  fill_tables(h, rng);
  for (int64_t t = 0; t < words(h, GATHER_KV_B_CU_SEQLENS)[args_of(h)->batch]; t++)
    fill_token(h, token_at(h, spot_of(h, t).row), rng);
  for (int64_t i = 0; i < N(h, H) * N(h, OUT); i++) {
    uint16_t *w = mlaf_host_at(h, GATHER_KV_B_W, i / N(h, OUT), i % N(h, OUT));
    for (int64_t k = 0; k < N(h, R); k++) w[k] = mlaf_encode16(h->dtype, mlaf_decode16(h->dtype, w[k]) / 16);
  }
  mlaf_rng_angles(rng, (void *)h->t[GATHER_KV_B_ROPE_TABLE].data, N(h, POSITIONS), N(h, P) / 2);
  put_scale(h);
}

/* Requests of REQUEST tokens, the last one of what is left. Rows of 8 bits; those of 16 are in the pool. */
static void draw_timing(mlaf_host *h, mlaf_rng *rng) {
  int32_t *cu = words(h, GATHER_KV_B_CU_SEQLENS), *indptr = words(h, GATHER_KV_B_TABLE_INDPTR);
  const int64_t pages = mlaf_up(N(h, T), N(h, PAGE));
  for (int64_t r = 0; r <= N(h, B); r++) {
    cu[r] = (int32_t)(r < N(h, B) ? r * REQUEST : N(h, T));
    indptr[r] = (int32_t)(r < N(h, B) ? r * (REQUEST / N(h, PAGE)) : pages);
  }
  mlaf_rng_deal(rng, words(h, GATHER_KV_B_TABLE), pages);
  for (int64_t i = 0; i < pages; i++) words(h, GATHER_KV_B_TABLE)[i] %= (int32_t)N(h, PAGES);
  for (int64_t i = 0; !h->t[GATHER_KV_B_CACHE].pooled && i < N(h, PAGES) * N(h, PAGE); i++)
    fill_token(h, token_at(h, format_of(h)->second.of ? i : i * h->t[GATHER_KV_B_CACHE].stride[1]), rng);
  mlaf_rng_angles(rng, (void *)h->t[GATHER_KV_B_ROPE_TABLE].data, N(h, POSITIONS), N(h, P) / 2);
}

/* The entry of a request's last page in a table of rows. */
static int32_t *last_page(mlaf_host *h, int32_t request) {
  const spot s = spot_of(h, words(h, GATHER_KV_B_CU_SEQLENS)[request + 1] - 1);
  return &words(h, GATHER_KV_B_TABLE)[request * args_of(h)->table_stride + s.position / args_of(h)->page_tokens];
}

/* A NaN in one column of the last request's last row; or pages and positions outside, on either side. */
static mlaf_status inject(mlaf_host *h, mlaf_inject inject, mlaf_rng *rng, mlaf_err *err) {
  const int32_t last = args_of(h)->batch - 1, above[] = {(int32_t)N(h, PAGES), INT32_MAX}, below[] = {-1, INT32_MIN};
  const spot s = spot_of(h, words(h, GATHER_KV_B_CU_SEQLENS)[last + 1] - 1);
  const uint32_t column = mlaf_rng_below(rng, (uint32_t)N(h, R));
  const mlaf_stored_token at = token_at(h, s.row);
  if (inject == MLAF_INJECT_OOB_PAGE) {
    *last_page(h, last) = above[mlaf_rng_below(rng, 2)];
    *last_page(h, 0) = below[mlaf_rng_below(rng, 2)];
    words(h, GATHER_KV_B_SEQ_STARTS)[0] = -2; /* the first two positions lie before the first page */
  } else if (mlaf_stored_in_16(format_of(h)->latent)) {
    memset(at.latent + 2 * column, 0xff, 2);
  } else if (format_of(h)->powers && mlaf_rng_below(rng, 2)) {
    at.scales[column / (uint32_t)format_of(h)->group] = 0xff;
  } else {
    at.latent[column] = mlaf_stored_fnuz(format_of(h)->latent) ? 0x80 : 0x7f;
  }
  return MLAF_OK;
}

/* --- what must come out --- */

/* A token: operands of the product as a kernel has them (rounded to the problem's type where they are scaled first),
 * and rope columns. */
typedef struct numbers {
  double latent[MLA_GATHER_KV_B_RANK_MAX], rope[MLA_GATHER_KV_B_ROPE_MAX + 1], slack[MLA_GATHER_KV_B_ROPE_MAX + 1];
  double behind; /* the product: a scale */
} numbers;

enum { ASIDE_MOST = 16 + 2 * MLA_GATHER_KV_B_ROPE_MAX };
enum { ROW_MOST = 2 * (MLA_GATHER_KV_B_RANK_MAX + MLA_GATHER_KV_B_ROPE_MAX) + MLAF_FORMAT_FIXED_MAX };

/* A token's parts in two rows of memory, which are those of the cache's tensors at `at`; -1: there are none. */
static mlaf_stored_token read_token(const mlaf_rows *r, int64_t at, unsigned char *row, unsigned char *second) {
  const mlaf_host *h = r->h;
  const mlaf_host_tensor *cache = &h->t[GATHER_KV_B_CACHE];
  const mlaf_cache_format *format = format_of(h);
  const mlaf_stored_page one = {.rows = row, .second = second, .row = N(h, ROW) * N(h, UNIT), .tokens = 1};
  const mlaf_stored_token t = mlaf_stored_token_of(format, (int)N(h, R), (int)N(h, P), &one, 0);
  if (at < 0) return t;
  mlaf_rows_read(r, GATHER_KV_B_CACHE, format->second.of ? at * cache->stride[1] : at, N(h, ROW), row);
  if (N(h, SPLIT)) mlaf_rows_read(r, GATHER_KV_B_CACHE_KPE, at * h->t[GATHER_KV_B_CACHE_KPE].stride[0], N(h, KPEROW), second);
  if (format->aside) mlaf_rows_read(r, GATHER_KV_B_CACHE, token_at(h, at).scales - cache->data, format->aside, t.scales);
  if (format->rope_aside)
    mlaf_rows_read(r, GATHER_KV_B_CACHE, token_at(h, at).rope - cache->data, format->rope_aside * N(h, P), t.rope);
  return t;
}

static void decode_row(const mlaf_rows *r, int64_t at, numbers *x) {
  const mlaf_host *h = r->h;
  const mlaf_cache_format *format = format_of(h);
  const double scale = N(h, SCALED) ? (double)(h->t[GATHER_KV_B_SCALE_AT].absent ? args_of(h)->scale : SCALE) : 1;
  _Alignas(16) unsigned char row[ROW_MOST + ASIDE_MOST], second[ROW_MOST];
  const mlaf_stored_token t = read_token(r, at, row, second);
  x->behind = scale;
  for (int64_t c = 0; c < N(h, R); c++) {
    x->latent[c] = at < 0 ? (double)NAN : mlaf_stored_number(format->latent, h->dtype, t.latent, c);
    if (at < 0 || format->scale != MLAF_SCALE_STORED) continue;
    const float tile = mlaf_stored_factor(format, t.scales, (int)c);
    x->latent[c] = (double)mlaf_decode16(h->dtype, mlaf_encode16(h->dtype, (float)x->latent[c] * tile));
  }
  for (int64_t c = 0; c < N(h, P); c++) {
    const double unit_of_rope = mlaf_stored_in_16(format->rope) ? 1 : scale;
    x->rope[c] = at < 0 ? (double)NAN : mlaf_stored_number(format->rope, h->dtype, t.rope, c) * unit_of_rope;
    x->slack[c] = fabs(x->rope[c]) * 0x1p-22;
  }
}

/* Rotates rope columns as a problem with rope on read does, which rounds them to the problem's type first. slack: the error of
 * fp32 before it rounds. */
static void rotate(const mlaf_host *h, int64_t position, numbers *x) {
  const int64_t half = N(h, P) / 2;
  const bool there = position >= 0 && position < N(h, POSITIONS);
  const float *table = (const float *)(const void *)h->t[GATHER_KV_B_ROPE_TABLE].data + (there ? position : 0) * 2 * half;
  for (int64_t i = 0; i < 2 * half; i++)
    x->rope[i] = (double)mlaf_decode16(h->dtype, mlaf_encode16(h->dtype, (float)x->rope[i]));
  for (int64_t i = 0; i < half; i++) {
    const int64_t a = F(h, ROTATE) == GATHER_PAIRS ? 2 * i : i, b = F(h, ROTATE) == GATHER_PAIRS ? 2 * i + 1 : i + half;
    const double p = x->rope[a], q = x->rope[b], c = there ? (double)table[i] : NAN, s = there ? (double)table[half + i] : NAN;
    x->rope[a] = p * c - q * s, x->rope[b] = q * c + p * s;
    x->slack[a] = (fabs(p * c) + fabs(q * s)) * 0x1p-22, x->slack[b] = (fabs(q * c) + fabs(p * s)) * 0x1p-22;
  }
}

/* Output `f` of [N+V] of a head. u = 2^-24; rounding errors of a sum of n terms stay below 8 sqrt(n) u times the sum of
 * magnitudes but for a chance of 2 exp(-32) (Higham and Mary 2019); one more for the scale. */
static void refer_output(const mlaf_rows *r, const numbers *x, int64_t f, double *value, double *slack) {
  const mlaf_host_tensor *w = &r->h->t[GATHER_KV_B_W];
  const int64_t rank = N(r->h, R);
  uint16_t row[MLA_GATHER_KV_B_RANK_MAX];
  double weights[MLA_GATHER_KV_B_RANK_MAX];
  mlaf_rows_read(r, GATHER_KV_B_W, r->j * w->stride[0] + f * w->stride[1], rank, row);
  mlaf_widen16(r->h->dtype, row, rank, weights);
  const mlaf_sum product = mlaf_dot_sizes(weights, x->latent, rank);
  *value = product.sum * x->behind;
  *slack = 8 * sqrt((double)(rank + 1)) * 0x1p-24 * product.size * x->behind;
}

static void reference(mlaf_rows *r) {
  const spot s = spot_of(r->h, r->i);
  const int64_t columns = N(r->h, KCOLUMNS);
  mlaf_want_row *k = mlaf_rows_want(r, GATHER_KV_B_K), *v = mlaf_rows_want(r, GATHER_KV_B_V),
                *pe = mlaf_rows_want(r, GATHER_KV_B_K_PE);
  numbers x;
  decode_row(r, s.row, &x);
  if (N(r->h, ROTATE)) rotate(r->h, s.position, &x);
  for (int64_t f = 0; f < columns; f++) refer_output(r, &x, f, &k->value[f], &k->slack[f]);
  for (int64_t f = 0; v && f < N(r->h, V); f++) refer_output(r, &x, columns + f, &v->value[f], &v->slack[f]);
  for (int64_t i = 0; pe && i < N(r->h, P); i++) pe->value[i] = x.rope[i], pe->slack[i] = x.slack[i];
  if (r->note) mlaf_snprintf(r->note, MLAF_NOTE, "request %lld, position %lld", (long long)s.request, (long long)s.position);
}

/* A library writes all rows there are, and wants room for those that it multiplies. */
static int suit(const mlaf_host *h, const mlaf_bound *b, void *args, int n, mlaf_case_buffer *out) {
  const int64_t tokens = words(h, GATHER_KV_B_CU_SEQLENS)[args_of(h)->batch];
  const size_t workspace = gather_kv_b_workspace(b, 1, tokens);
  mlaf_gather_kv_b_args *a = args;
  if (gather_is_library(b)) a->tokens = tokens;
  a->workspace_size = workspace;
  out[n] = (mlaf_case_buffer){"workspace", workspace ? MLAF_USE_WORKSPACE : MLAF_USE_NONE, workspace,
                              offsetof(mlaf_gather_kv_b_args, workspace), NULL};
  return n + 1;
}

const mlaf_table_hooks gather_kv_b_hooks = {.reference = reference, .draw = draw, .inject = inject, .draw_timing = draw_timing,
                                            .count = count, .suit = suit, .arguments = arguments, .arrange = arrange,
                                            .place = place};
