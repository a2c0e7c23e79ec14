/* Outputs of a layer and the rows it appended against acc_me in fp64, and that no other row of the cache changed. */
#include <pthread.h>
#include <unistd.h>

#include "rig/rig.h"

/* --- tasks on all processors --- */

typedef struct crowd {
  void (*work)(void *user, size_t i);
  void *user;
  size_t n;
  atomic_size_t next;
  const atomic_bool *cancel;
} crowd;

static void *work(void *of) {
  crowd *c = of;
  for (size_t i; (i = atomic_fetch_add(&c->next, 1)) < c->n && !(c->cancel && *c->cancel);) c->work(c->user, i);
  return NULL;
}

static void share_out(const rig_env *env, size_t n, void (*task)(void *, size_t), void *user) {
  enum { MOST = 64 };
  pthread_t threads[MOST];
  crowd c = {.work = task, .user = user, .n = n, .cancel = env->cancel};
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  size_t started = 0, want = cpus > MOST ? MOST : cpus > 1 ? (size_t)cpus : 1;
  while (started + 1 < want && started + 1 < n && !pthread_create(&threads[started], NULL, work, &c)) started++;
  work(&c);
  for (size_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
}

/* --- what is compared --- */

typedef struct sample { /* an output */
  int64_t token;
  int32_t request, fresh;
  const uint16_t *x, *y; /* of the call's host copies */
  int64_t *list, n_list; /* positions that it attends to, with an indexer */
  double beyond_list;
  double *q, *o;         /* [H, N+P], [H, V] */
  double off, size;      /* sums of squares */
  int64_t beyond;
} sample;

typedef struct row_sample { /* an appended row */
  const uint16_t *x, *found;
  int64_t position, token;
  double key;            /* error of the indexer's */
  double off, size;
  int64_t beyond;
} row_sample;

typedef struct check {
  layer_rig *r;
  const layer_tolerance *t;
  sample *list;
  size_t n;
  row_sample *rows;
  size_t n_rows;
  mlaf_form_cache *caches; /* [batch], of requests that are looked at */
  bool *looked_at;
  uint16_t *x, *y; /* [tokens, d] */
  layer_index_left index; /* with an indexer */
  uint16_t *cache;
  size_t cache_bytes;
  mlaf_err err; /* of a task */
  pthread_mutex_t lock;
} check;

static void note(check *k, const mlaf_err *err) {
  pthread_mutex_lock(&k->lock);
  if (!k->err.status) k->err = *err;
  pthread_mutex_unlock(&k->lock);
}

static bool is_beyond(const layer_tolerance *t, double found, double right) {
  return (t->rtol || t->atol) && !(fabs(found - right) <= t->atol + t->rtol * fabs(right));
}

static void compare(const layer_tolerance *t, const uint16_t *found, const double *right, int64_t n, double *off, double *size,
                    int64_t *beyond) {
  for (int64_t i = 0; i < n; i++) {
    const double x = (double)mlaf_bf16_decode(found[i]), d = x - right[i];
    *off += d * d;
    *size += right[i] * right[i];
    *beyond += is_beyond(t, x, right[i]);
  }
}

/* A request's cache as the reference has it: the rows that were there, then its new tokens'. */
static void fill_one(void *of, size_t i) {
  check *k = of;
  layer_rig *r = k->r;
  const layer_request q = r->setup.requests[i];
  mlaf_err err = {0};
  if (!k->looked_at[i]) return;
  mlaf_status st = mlaf_form_cache_open(&r->form, MLAF_FORM_ACC_ME, q.past + q.fresh, &k->caches[i], &err);
  uint16_t *row = malloc((size_t)(r->row > r->form.hidden ? r->row : r->form.hidden) * sizeof *row);
  if (!row) st = mlaf_fail(&err, MLAF_E_NOMEM, "no memory for a row");
  for (int64_t t = 0; !st && t < q.past; t++) {
    layer_numbers(r, layer_slot(r, (int32_t)i, t) * r->row, r->row, row);
    st = mlaf_form_fill(&r->form, &k->caches[i], row, 1, &err);
  }
  for (int32_t t = 0; !st && t < q.fresh; t++) {
    layer_numbers(r, layer_x_at((int32_t)i, t), r->form.hidden, row);
    st = mlaf_form_append(&r->form, &k->caches[i], row, 1, true, &err);
  }
  if (st) note(k, &err);
  free(row);
}

static void query_one(void *of, size_t i) {
  check *k = of;
  sample *s = &k->list[i];
  const mlaf_form_layer *l = &k->r->form;
  mlaf_err err = {0};
  s->q = malloc((size_t)l->heads * (size_t)(l->nope + l->rope) * sizeof *s->q);
  s->o = malloc((size_t)l->heads * (size_t)l->v * sizeof *s->o);
  mlaf_status st = s->q && s->o ? MLAF_OK : mlaf_fail(&err, MLAF_E_NOMEM, "no memory for an output");
  if (!st) st = mlaf_form_queries(l, s->x, k->r->setup.requests[s->request].past + s->fresh, s->q, &err);
  if (!st && k->index.keys) {
    s->list = malloc((size_t)k->r->desc.index_topk * sizeof *s->list);
    if (!s->list) st = mlaf_fail(&err, MLAF_E_NOMEM, "no memory for a list");
    else st = layer_index_check_list(k->r, &k->index, s->token, s->x, s->list, &s->n_list, &s->beyond_list, &err);
  }
  if (st) note(k, &err);
}

enum { HEADS = 8 /* of a task */ };
static size_t groups(const check *k) { return ((size_t)k->r->form.heads + HEADS - 1) / HEADS; }

static void attend_some(void *of, size_t task) {
  check *k = of;
  const sample *s = &k->list[task / groups(k)];
  const mlaf_form_layer *l = &k->r->form;
  const int32_t first = (int32_t)(task % groups(k)) * HEADS, n = l->heads - first < HEADS ? l->heads - first : HEADS;
  mlaf_err err = {0};
  const mlaf_form_cache *cache = &k->caches[s->request];
  mlaf_status st;
  if (s->list) st = mlaf_form_heads_over(l, cache, s->q, s->list, s->n_list, first, n, s->o, &err);
  else st = mlaf_form_heads(l, cache, s->q, k->r->setup.requests[s->request].past + s->fresh, first, n, s->o, &err);
  if (st) note(k, &err);
}

static void compare_one(void *of, size_t i) {
  check *k = of;
  sample *s = &k->list[i];
  const mlaf_form_layer *l = &k->r->form;
  mlaf_err err = {0};
  double *y = malloc((size_t)l->hidden * sizeof *y);
  if (y) {
    mlaf_form_output(l, s->o, y);
    compare(k->t, s->y, y, l->hidden, &s->off, &s->size, &s->beyond);
  } else {
    mlaf_fail(&err, MLAF_E_NOMEM, "no memory for an output");
    note(k, &err);
  }
  free(y);
}

static void compare_row(void *of, size_t i) {
  check *k = of;
  row_sample *s = &k->rows[i];
  const mlaf_form_layer *l = &k->r->form;
  mlaf_err err = {0};
  double *row = malloc((size_t)(l->rank + l->rope) * sizeof *row);
  mlaf_status st = row ? MLAF_OK : mlaf_fail(&err, MLAF_E_NOMEM, "no memory for a row");
  if (!st) st = mlaf_form_row(l, s->x, s->position, row, &err);
  if (!st) compare(k->t, s->found, row, l->rank + l->rope, &s->off, &s->size, &s->beyond);
  if (!st && k->index.keys) st = layer_index_check_key(k->r, &k->index, s->token, s->x, &s->key, &err);
  if (st) note(k, &err);
  free(row);
}

/* --- reading back --- */

static mlaf_status read_outputs(check *k) {
  layer_rig *r = k->r;
  const mlaf_device_ops *ops = mlaf_ops(r->dev);
  const mlaf_layer_args *a = &r->call[0].args;
  const int64_t tokens = a->tokens;
  const size_t bytes = (size_t)(tokens * r->form.hidden) * 2;
  k->x = malloc(bytes), k->y = malloc(bytes);
  k->rows = calloc((size_t)tokens, sizeof *k->rows);
  k->list = calloc((size_t)tokens, sizeof *k->list);
  k->caches = calloc((size_t)r->setup.batch, sizeof *k->caches);
  k->looked_at = calloc((size_t)r->setup.batch, sizeof *k->looked_at);
  k->cache_bytes = (size_t)(r->set_pages * r->setup.page_size * r->row) * 2;
  k->cache = malloc(k->cache_bytes);
  if (!k->x || !k->y || !k->rows || !k->list || !k->caches || !k->looked_at || !k->cache)
    return mlaf_fail(r->env->err, MLAF_E_NOMEM, "no memory for the reference");
  mlaf_status st = ops->mem_read(r->dev, k->x, a->hidden, bytes, r->env->err);
  if (!st) st = ops->mem_read(r->dev, k->y, a->out, bytes, r->env->err);
  if (!st && r->index.cache) st = layer_index_read(r, &k->index);
  return st ? st : ops->mem_read(r->dev, k->cache, r->cache, k->cache_bytes, r->env->err);
}

/* Which outputs: the first and last token of requests all over the batch, then tokens between. */
static bool wanted(const layer_rig *r, int64_t token, int64_t tokens) {
  const int64_t most = r->setup.checked;
  return tokens <= most || (most && (token == tokens - 1 || token % ((tokens + most - 1) / most) == 0));
}

static void choose(check *k) {
  layer_rig *r = k->r;
  const int64_t tokens = r->call[0].args.tokens;
  for (int64_t t = 0; t < tokens; t++) {
    const int32_t request = r->call[0].request[t], fresh = r->call[0].fresh[t];
    const int64_t position = r->setup.requests[request].past + fresh;
    const uint16_t *x = k->x + t * r->form.hidden;
    k->rows[k->n_rows++] =
        (row_sample){.x = x, .position = position, .token = t, .found = k->cache + layer_slot(r, request, position) * r->row};
    if (!wanted(r, t, tokens)) continue;
    k->list[k->n++] = (sample){.token = t, .request = request, .fresh = fresh, .x = x, .y = k->y + t * r->form.hidden};
    k->looked_at[request] = true;
  }
}

/* Rows that no token was appended to have the bits they had. */
static mlaf_status check_untouched(check *k, int64_t *untouched) {
  layer_rig *r = k->r;
  const int64_t rows = r->set_pages * r->setup.page_size;
  bool *fresh = calloc((size_t)rows, sizeof *fresh);
  uint16_t *right = malloc((size_t)r->row * sizeof *right);
  mlaf_status st = fresh && right ? MLAF_OK : mlaf_fail(r->env->err, MLAF_E_NOMEM, "no memory for the check of the cache");
  for (size_t i = 0; !st && i < k->n_rows; i++) fresh[(k->rows[i].found - k->cache) / r->row] = true;
  for (int64_t i = 0; !st && i < rows; i++) {
    if (fresh[i]) continue;
    layer_numbers(r, i * r->row, r->row, right);
    if (memcmp(right, k->cache + i * r->row, (size_t)r->row * 2))
      st = mlaf_fail(r->env->err, MLAF_E_INCORRECT, "row %lld of the cache changed, and no token was appended there",
                     (long long)i);
    ++*untouched;
  }
  free(fresh), free(right);
  return st;
}

/* --- the verdict --- */

static double root(double off, double size) { return size > 0 ? sqrt(off / size) : off > 0 || isnan(off) ? INFINITY : 0; }
/* NaN counts as the worst. */
static double worse(double a, double b) { return isnan(b) ? INFINITY : fmax(a, b); }

static void sum_up(const check *k, layer_checked *out) {
  double off = 0, size = 0;
  int64_t beyond = 0;
  out->tokens = (int64_t)k->n, out->rows = (int64_t)k->n_rows;
  for (size_t i = 0; i < k->n; i++) {
    out->worst = worse(out->worst, root(k->list[i].off, k->list[i].size));
    out->list_worst = worse(out->list_worst, k->list[i].beyond_list);
    off += k->list[i].off, size += k->list[i].size, beyond += k->list[i].beyond;
  }
  out->rms = isnan(off) ? INFINITY : root(off, size);
  for (size_t i = 0; i < k->n_rows; i++) {
    out->row_worst = worse(out->row_worst, root(k->rows[i].off, k->rows[i].size));
    out->key_worst = worse(out->key_worst, k->rows[i].key);
    beyond += k->rows[i].beyond;
  }
  const double elements = (double)k->n * k->r->form.hidden + (double)k->n_rows * (double)k->r->row;
  out->beyond = elements > 0 ? (double)beyond / elements : 0;
}

static mlaf_status judge(rig_env *env, const layer_tolerance *t, const layer_checked *x) {
  if (!(x->worst <= t->worst))
    return mlaf_fail(env->err, MLAF_E_INCORRECT, "outputs are %.3g off the reference, the bound is %.3g", x->worst, t->worst);
  if (!(x->row_worst <= t->row))
    return mlaf_fail(env->err, MLAF_E_INCORRECT, "an appended row is %.3g off the reference, the bound is %.3g", x->row_worst,
                     t->row);
  if (!(x->key_worst <= LAYER_KEY_BOUND))
    return mlaf_fail(env->err, MLAF_E_INCORRECT, "an appended key of the indexer is %.3g off the reference, the bound is %.3g",
                     x->key_worst, LAYER_KEY_BOUND);
  if (!(x->list_worst <= LAYER_LIST_BOUND))
    return mlaf_fail(env->err, MLAF_E_INCORRECT, "a list has tokens that are %.3g deviations of the scores on the wrong side, "
                     "the bound is %.3g", x->list_worst, LAYER_LIST_BOUND);
  if (x->beyond > 0)
    return mlaf_fail(env->err, MLAF_E_INCORRECT, "%.3g %% of the elements are beyond rtol %g, atol %g", 100 * x->beyond, t->rtol,
                     t->atol);
  return MLAF_OK;
}

mlaf_status layer_check(layer_rig *r, const layer_tolerance *t, layer_checked *out) {
  const double start = mlaf_now();
  check k = {.r = r, .t = t, .lock = PTHREAD_MUTEX_INITIALIZER};
  *out = (layer_checked){.tokens = 0};
  mlaf_status st = read_outputs(&k);
  if (!st) {
    choose(&k);
    share_out(r->env, k.n_rows, compare_row, &k);
    share_out(r->env, (size_t)r->setup.batch, fill_one, &k);
    if (!k.err.status) share_out(r->env, k.n, query_one, &k);
    if (!k.err.status) share_out(r->env, k.n * groups(&k), attend_some, &k);
    if (!k.err.status) share_out(r->env, k.n, compare_one, &k);
    if (k.err.status) *r->env->err = k.err, st = k.err.status;
  }
  if (!st) st = rig_go_on(r->env);
  if (!st) {
    sum_up(&k, out);
    st = judge(r->env, t, out);
  }
  if (!st) st = check_untouched(&k, &out->untouched);
  if (!st && k.index.keys) st = layer_index_check_rest(r, &k.index);
  out->seconds = mlaf_now() - start;
  for (int32_t i = 0; k.caches && i < r->setup.batch; i++) mlaf_form_cache_free(&k.caches[i]);
  for (size_t i = 0; i < k.n; i++) free(k.list[i].q), free(k.list[i].o), free(k.list[i].list);
  layer_index_free(&k.index);
  free(k.x), free(k.y), free(k.rows), free(k.list), free(k.caches), free(k.looked_at), free(k.cache);
  return st;
}
