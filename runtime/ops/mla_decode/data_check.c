/* Compares what was computed on timing data with the fp64 reference: a query token at a time, so that short requests with their
 * larger O do not hide long ones. */
#include "op/numeric.h"
#include "op/pattern.h"
#include "ops/mla_decode/compare.h"
#include "ops/mla_decode/data.h"
#include "ops/mla_decode/values.h"

enum { HEADS_MOST = 3, REQUESTS_LEAST = 3, TOKENS_LEAST = 2 };

/* --- the reference of one token --- */

/* Outputs of one query token: all of its heads, or the picked ones. */
typedef struct token_at {
  int set, request, token, n_heads;
  const int *heads;
} token_at;

/* Tokens of a request that its query token sees. */
static int visible_at(const mlaf_decode_data *d, const token_at *at) {
  const int unseen = d->problem.causal ? d->problem.q_len - 1 - at->token : 0;
  return d->lengths[at->request] > unseen ? d->lengths[at->request] - unseen : 0;
}

static size_t row_of(const mlaf_decode_data *d, const token_at *at, int h) {
  const mlaf_problem *p = &d->problem;
  return ((size_t)at->request * (size_t)p->q_len + (size_t)at->token) * (size_t)p->heads + (size_t)at->heads[h];
}

/* `count` elements of the pool's pattern from element `at` on. */
static void pattern(const mlaf_decode_data *d, size_t at, size_t count, uint16_t *out) {
  mlaf_pattern_read((mlaf_pattern){mlaf_pool_block(d->pool), 2 * MLAF_POOL_BLOCK}, 2 * at, 2 * count, out);
}

/* As mlaf_compare takes it: a batch of one request with one query token and a cache of its own, in one page. */
typedef struct wanted {
  mlaf_expected want;
  mlaf_testcase data;
  int32_t qo[2], kv[2], last, index;
} wanted;

static void free_wanted(wanted *w) {
  free(w->want.o);
  free(w->want.lse);
  free(w->want.magnitude);
  free(w->data.q);
  free(w->data.ckv);
  free(w->data.kpe);
}

static void gather(const mlaf_decode_data *d, const token_at *at, wanted *w) {
  const mlaf_problem *p = &d->problem;
  const size_t width = (size_t)(p->rank + p->rope), n = (size_t)p->batch;
  const size_t bytes = (size_t)mlaf_decode_ckv_bytes(p), kpe = (size_t)mlaf_decode_kpe_bytes(p);
  const mlaf_cache_format *f = mlaf_decode_format(p, false);
  const int32_t *pages = d->host + 3 * n + 2 + at->set * d->pages + d->host[n + 1 + (size_t)at->request];
  for (int h = 0; h < at->n_heads; h++) {
    uint16_t *q = w->data.q + (size_t)h * width;
    pattern(d, mlaf_decode_q_first(p) + row_of(d, at, h) * width, width, q);
    if (p->fp8_q) mlaf_decode_q_codes(p, q, width, (unsigned char *)w->data.q + (size_t)h * width);
  }
  for (int t = 0; t < w->last; t++) {
    const size_t row = (size_t)pages[t / p->page_size] * (size_t)p->page_size + (size_t)(t % p->page_size);
    if (p->cache) {
      const mlaf_stored_token of = mlaf_decode_data_token(d, pages[t / p->page_size], t % p->page_size);
      const mlaf_stored_page rows = {.rows = w->data.ckv, .row = (int64_t)bytes, .second = w->data.kpe,
                                     .second_row = (int64_t)kpe, .tokens = w->last};
      const mlaf_stored_token to = mlaf_stored_token_of(f, p->rank, p->rope, &rows, t);
      memcpy(to.latent, of.latent, bytes);
      memcpy(to.scales, of.scales, (size_t)f->aside);
      memcpy(to.rope, of.rope, (size_t)(f->rope_aside * p->rope));
      if (kpe) memcpy(to.second, of.second, kpe);
    } else
      pattern(d, row * width, width, w->data.ckv + (size_t)t * width);
  }
}

/* Values in place of attention's rows, by the heads' parts of W_UV. */
static mlaf_status go_on(const mlaf_decode_data *d, const token_at *at, mlaf_expected *want, mlaf_err *err) {
  const size_t head = (size_t)d->values * (size_t)d->problem.rank, n = (size_t)at->n_heads;
  uint16_t *w = malloc(n * head * sizeof *w);
  if (!w) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for W_UV");
  for (size_t h = 0; h < n; h++)
    pattern(d, mlaf_decode_w_first(&d->problem) + (size_t)at->heads[h] * head, head, w + h * head);
  const mlaf_w_v all = {w, d->problem.rank, (int64_t)head, d->values};
  mlaf_expected values;
  mlaf_status st = mlaf_expect_values(want, n, at->n_heads, &all, &values, err);
  free(w);
  if (st) return st;
  free(want->o);
  *want = values;
  return MLAF_OK;
}

static void name_token(const token_at *at, int all, char *out, size_t size) {
  int n = snprintf(out, size, "page table %d, request %d, token %d%s", at->set, at->request, at->token,
                   at->n_heads < all ? ", heads" : "");
  for (int h = 0; at->n_heads < all && h < at->n_heads && n < (int)size; h++)
    n += snprintf(out + n, size - (size_t)n, " %d", at->heads[h]);
}

static mlaf_status make_wanted(const mlaf_decode_data *d, const token_at *at, wanted *w, mlaf_err *err) {
  const mlaf_problem *p = &d->problem;
  const int visible = visible_at(d, at);
  const size_t n = (size_t)at->n_heads, width = (size_t)(p->rank + p->rope), kpe = (size_t)mlaf_decode_kpe_bytes(p);
  *w = (wanted){.qo = {0, 1}, .kv = {0, visible > 0}, .last = visible};
  w->want = (mlaf_expected){.data = &w->data, .o = malloc(n * (size_t)p->rank * sizeof(double)),
                            .lse = malloc(n * sizeof(double)), .magnitude = malloc(n * sizeof(double))};
  w->data.q = malloc(n * width * sizeof *w->data.q);
  const int64_t token = mlaf_decode_ckv_bytes(p) + mlaf_format_behind(mlaf_decode_format(p, false), p->rope);
  w->data.ckv = malloc((size_t)visible * (size_t)token + 1);
  w->data.kpe = malloc((size_t)visible * kpe + 1);
  name_token(at, p->heads, w->data.name, sizeof w->data.name);
  if (!w->want.o || !w->want.lse || !w->want.magnitude || !w->data.q || !w->data.ckv || !w->data.kpe)
    return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a reference of %d tokens", visible);
  gather(d, at, w);
  mlaf_batch *x = &w->data.batch;
  *x = (mlaf_batch){.problem = *p, .batch = 1, .num_pages = 1, .total_q = 1, .q = w->data.q, .ckv = w->data.ckv,
                    .kpe = kpe ? w->data.kpe : w->data.ckv + mlaf_decode_bytes(p, mlaf_decode_format(p, false)->rope_at) / 2,
                    .ckv_row_stride = mlaf_decode_row(p, false),
                    .kpe_row_stride = kpe ? mlaf_decode_kpe_row(p) : mlaf_decode_row(p, false),
                    .qo_indptr = w->qo, .kv_indptr = w->kv, .kv_indices = &w->index, .kv_last_page_lens = &w->last,
                    .scale = d->args.scale, .rope_rows = d->args.rope_rows};
  for (int i = 0; i < MLAF_GIVEN; i++) x->given[i] = d->given[i];
  x->problem.heads = at->n_heads;
  x->problem.q_len = 1;
  x->problem.causal = 0;
  x->problem.page_size = visible > 0 ? visible : 1;
  mlaf_status st = mlaf_reference(x, w->want.o, w->want.lse, w->want.magnitude, err);
  return st || !d->values ? st : go_on(d, at, &w->want, err);
}

/* --- outputs --- */

static mlaf_status read_rows(const mlaf_decode_data *d, void *const outputs[], const token_at *at, uint16_t *o, float *lse,
                             mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(d->dev);
  const size_t bytes = d->head.outputs[MLAF_DECODE_O].row_bytes;
  const char *all_o = outputs[MLAF_DECODE_O], *all_lse = d->values ? NULL : outputs[MLAF_DECODE_LSE];
  mlaf_status st = MLAF_OK;
  for (int h = 0; !st && h < at->n_heads; h++) {
    const size_t row = row_of(d, at, h);
    st = ops->mem_read(d->dev, (char *)o + (size_t)h * bytes, all_o + row * bytes, bytes, err);
    if (!st && !d->values) st = ops->mem_read(d->dev, &lse[h], all_lse + row * sizeof *lse, sizeof *lse, err);
  }
  return st;
}

static mlaf_status check_token(const mlaf_decode_data *d, void *const outputs[], const token_at *at, mlaf_verify_result *r,
                               mlaf_err *err) {
  wanted w = {.last = 0};
  uint16_t *o = malloc((size_t)at->n_heads * d->head.outputs[MLAF_DECODE_O].row_bytes);
  float *lse = malloc((size_t)at->n_heads * sizeof *lse);
  mlaf_status st = o && lse ? make_wanted(d, at, &w, err) : mlaf_fail(err, MLAF_E_NOMEM, "no memory to check rows");
  if (!st) st = read_rows(d, outputs, at, o, lse, err);
  if (!st && !mlaf_compare(&w.want, o, d->values ? NULL : lse, r)) st = mlaf_fail(err, MLAF_E_INCORRECT, "%s", r->detail);
  free_wanted(&w);
  free(o);
  free(lse);
  return st;
}

/* --- how many of them --- */

/* A sample to look at: the first n_requests of an order, so many of their query tokens, and heads. */
typedef struct sample {
  int *order, *heads, n_requests, n_heads, n_tokens;
} sample;

static int common_divisor(int a, int b) { return b ? common_divisor(b, a % b) : a; }

/* The shortest, the longest (of equal ones the first and the last), the middle one, then evenly spread. */
static void order_requests(const mlaf_decode_data *d, int *out) {
  const int n = d->problem.batch;
  int least = 0, most = 0, count = 0;
  for (int i = 1; i < n; i++) {
    if (d->lengths[i] < d->lengths[least]) least = i;
    if (d->lengths[i] > d->lengths[most]) most = i;
  }
  if (d->lengths[least] == d->lengths[most]) most = n - 1;
  out[count++] = least;
  if (most != least) out[count++] = most;
  int step = n / 2;
  while (step > 1 && common_divisor(step, n) > 1) step--; /* so that every request comes once */
  if (step < 1) step = 1;
  for (int i = 0, at = n / 2; i < n; i++, at = (at + step) % n)
    if (at != least && at != most) out[count++] = at;
}

/* First, last and middle of n, as far as they differ. */
static int edges(int n, int *out) {
  const int edge[] = {0, n - 1, n / 2};
  int count = 0;
  for (int i = 0; i < HEADS_MOST; i++) {
    bool known = false;
    for (int k = 0; k < count; k++) known = known || out[k] == edge[i];
    if (!known) out[count++] = edge[i];
  }
  return count;
}

static double work_of(const mlaf_decode_data *d, int request, const sample *s) {
  const mlaf_problem *p = &d->problem;
  return (double)d->lengths[request] * s->n_tokens * s->n_heads * (2 * p->rank + p->rope);
}

/* Whole requests, as many as there is time for; where that is too few, some heads of REQUESTS_LEAST, and where these are too
 * many, of the first and the last query token alone. */
static void choose(const mlaf_decode_data *d, double most_work, sample *s) {
  const mlaf_problem *p = &d->problem;
  double work = 0;
  order_requests(d, s->order);
  s->n_tokens = p->q_len;
  s->n_heads = p->heads;
  for (int h = 0; h < p->heads; h++) s->heads[h] = h;
  while (s->n_requests < p->batch && (work += work_of(d, s->order[s->n_requests], s)) <= most_work) s->n_requests++;
  if (s->n_requests >= REQUESTS_LEAST || s->n_requests == p->batch) return;
  s->n_requests = p->batch < REQUESTS_LEAST ? p->batch : REQUESTS_LEAST;
  s->n_heads = p->heads <= HEADS_MOST ? p->heads : edges(p->heads, s->heads);
  work = 0;
  for (int i = 0; i < s->n_requests; i++) work += work_of(d, s->order[i], s);
  if (work > most_work && p->q_len > TOKENS_LEAST) s->n_tokens = TOKENS_LEAST;
}

static void say_which(const mlaf_decode_data *d, int set, const sample *s, char *to, size_t size) {
  const mlaf_problem *p = &d->problem;
  const bool all_tokens = s->n_tokens == p->q_len;
  if (s->n_requests == p->batch && s->n_heads == p->heads && all_tokens)
    snprintf(to, size, "the whole output of page table %d", set);
  else if (s->n_heads == p->heads)
    snprintf(to, size, "%d of %d requests, shortest and longest among them, %s, page table %d", s->n_requests, p->batch,
             all_tokens ? "all rows" : "first and last token", set);
  else
    snprintf(to, size, "heads %d, %d and %d of %d of %d requests%s, page table %d", s->heads[0],
             s->heads[s->n_heads > 2 ? 2 : 0], s->heads[s->n_heads > 1 ? 1 : 0], s->n_requests, p->batch,
             all_tokens ? "" : ", first and last token", set);
}

mlaf_status mlaf_decode_data_check(const mlaf_data *data, int set, void *const outputs[], double most_work,
                                   mlaf_data_checked *out, mlaf_err *err) {
  const mlaf_decode_data *d = mlaf_decode_data_of(data);
  const mlaf_problem *p = &d->problem;
  sample s = {malloc((size_t)p->batch * sizeof(int)), malloc((size_t)p->heads * sizeof(int)), 0, 0, 0};
  mlaf_verify_result r = {.error = 0};
  mlaf_status st = s.order && s.heads ? MLAF_OK : mlaf_fail(err, MLAF_E_NOMEM, "no memory to choose requests");
  int64_t compared = 0;
  *out = (mlaf_data_checked){.rows = 0};
  if (!st) choose(d, most_work, &s);
  if (!st) say_which(d, set, &s, out->which, sizeof out->which);
  for (int i = 0; !st && i < s.n_requests; i++)
    for (int t = 0; !st && t < s.n_tokens; t++) {
      if (d->cancel && atomic_load(d->cancel)) break;
      const int token = t == s.n_tokens - 1 ? p->q_len - 1 : t;
      const token_at at = {set, s.order[i], token, s.n_heads, s.heads};
      st = check_token(d, outputs, &at, &r, err);
      compared += r.compared;
    }
  if (!st && r.rows && !compared)
    st = mlaf_fail(err, MLAF_E_INCORRECT, "nothing was compared: the reference of %s is NaN throughout", out->which);
  out->error = r.error;
  out->row_error = r.row_error;
  out->lse_ratio = r.lse_ratio;
  out->rows = r.rows;
  free(s.order);
  free(s.heads);
  return st;
}

/* --- one row --- */

static int width(const mlaf_decode_data *d) { return d->values ? d->values : d->problem.rank; }

static double relative(const mlaf_decode_data *d, const uint16_t *got, const double *want) {
  double off = 0, all = 0;
  for (int c = 0; c < width(d); c++) {
    const double e = mlaf_decode16(d->problem.dtype, got[c]) - want[c];
    off += e * e;
    all += want[c] * want[c];
  }
  return off == 0 ? 0 : sqrt(off / all);
}

static double absolute(double got, double want) { return got == want ? 0 : fabs(got - want); }

mlaf_status mlaf_decode_data_error(const mlaf_data *data, int set, int output, size_t row, const void *got, const void *want,
                                   double *error, mlaf_err *err) {
  const mlaf_decode_data *d = mlaf_decode_data_of(data);
  const mlaf_problem *p = &d->problem;
  const size_t token = row / (size_t)p->heads;
  const int head = (int)(row % (size_t)p->heads);
  const token_at at = {set, (int)(token / (size_t)p->q_len), (int)(token % (size_t)p->q_len), 1, &head};
  const bool lse = output == MLAF_DECODE_LSE;
  wanted w = {.last = 0};
  mlaf_status st = MLAF_OK;
  double *o = NULL;
  if (!want) st = make_wanted(d, &at, &w, err);
  else if (!lse && !(o = malloc((size_t)width(d) * sizeof *o))) st = mlaf_fail(err, MLAF_E_NOMEM, "no memory to compare a row");
  for (int c = 0; o && c < width(d); c++) o[c] = mlaf_decode16(p->dtype, ((const uint16_t *)want)[c]);
  if (!st && lse) *error = absolute(*(const float *)got, want ? *(const float *)want : w.want.lse[0]);
  if (!st && !lse) *error = relative(d, got, want ? o : w.want.o);
  if (!st && isnan(*error)) *error = INFINITY;
  free_wanted(&w);
  free(o);
  return st;
}
