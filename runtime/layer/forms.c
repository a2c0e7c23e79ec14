/* The forms of a layer, in double precision (forms.h). */
#include "layer/forms.h"

#include "op/numeric.h"
#include "op/sums.h"

const char *const mlaf_form_names[MLAF_FORMS] = {"cd", "cc", "acc", "acc_me"};

typedef const mlaf_form_layer *layer_t;

/* Everything that one step works with; row sizes by name. */
typedef struct step {
  layer_t l;
  const mlaf_form_cache *cache;
  const double *q; /* [H, N+P] */
  double *o;       /* [H, V] */
  const int64_t *list; /* positions that the token attends to; NULL: the first ones */
  double *qa, *u, *key, *value, *scores; /* of one head */
} step;

static int64_t key_columns(layer_t l) { return l->nope + l->rope; }
static int64_t row_columns(layer_t l) { return l->rank + l->rope; }
static int64_t kv_b_rows(layer_t l) { return l->nope + l->v; }
static int64_t cached_columns(layer_t l, mlaf_form form) {
  return form == MLAF_FORM_CD ? l->heads * (key_columns(l) + l->v) + l->rope : row_columns(l);
}

mlaf_form_cost mlaf_form_costs(layer_t l, mlaf_form form) {
  const double heads = l->heads, expanded = 2 * heads * (double)(key_columns(l) + l->v);
  switch (form) {
    case MLAF_FORM_CD: return (mlaf_form_cost){expanded, expanded};
    case MLAF_FORM_CC:
      return (mlaf_form_cost){2.0 * (double)row_columns(l), expanded + 2 * heads * l->rank * (double)kv_b_rows(l)};
    default: return (mlaf_form_cost){2.0 * (double)row_columns(l), 2 * heads * (double)(row_columns(l) + l->rank)};
  }
}

/* The factor that queries at a position are multiplied by. */
static double factor_at(layer_t l, int64_t position) {
  return l->q_beta > 0 ? 1 + l->q_beta * log(1 + (double)(position / l->q_original)) : 1;
}

/* --- the error of 16 bits --- */

/* A rounding moves a number by ROUND of itself, root mean square over mantissas that are spread as logarithms are: 2^-8 / sqrt(3)
 * times the root of the mean of 1/x^2 over 1..2, 3 / (8 ln 2).
 *
 * VALUES roundings lie on the way from what is cached to y: c, P, u (or K and V), o, y. KEYS lie on the way to a score: c, the
 * normed row, Q, Qout of the query; c and K of the key. Each moves a score by ROUND times the scores' deviation s, so weights by
 * as much, so the sum over independent rows by as much of itself. Products keep relative errors; errors of different roundings
 * add in squares. s = scale sqrt(N+P) for queries and keys of variance 1.
 *
 * Queries that are scaled by their position are rounded once more, and their scores' deviation is larger by the factor: at most
 * that of the table's last position.
 *
 * That is the middle. The part of the scores is a mean over heads, of which few are unlike: 3 deviations, sqrt(2/H) each. That
 * is one output's bound. In exact arithmetic one of 1400 outputs of layers with one or two heads passes it
 * (tests/python/layer_roundings.py): who looks at hundreds has to count. */
double mlaf_form_bound(layer_t l) {
  enum { VALUES = 5, KEYS = 6 };
  const double round = 0x1p-8 * sqrt(3 / (8 * log(2)) / 3), most = 1e-2;
  const double by = l->table_rows ? factor_at(l, l->table_rows - 1) : 1, scale = by * l->scale;
  const double scores = (KEYS + (l->q_beta > 0)) * scale * scale * (l->nope + l->rope);
  return fmin(round * sqrt(VALUES + scores * (1 + 3 * sqrt(2.0 / l->heads))), most);
}

/* --- arithmetic --- */

static double weight(uint16_t w) { return (double)mlaf_bf16_decode(w); }

static void multiply(double *y, const uint16_t *w, int64_t rows, const double *x, int64_t n) {
  for (int64_t r = 0; r < rows; r++) y[r] = mlaf_dot_bf16(x, w + r * n, n);
}

static void norm(layer_t l, double *x, int64_t n, const uint16_t *g) {
  double sum = 0;
  if (l->flags & MLAF_FORM_NO_NORMS) return;
  for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
  const double by = 1 / sqrt(sum / (double)n + l->eps);
  for (int64_t i = 0; i < n; i++) x[i] *= by * weight(g[i]);
}

static double bf16(double x) { return (double)mlaf_bf16_decode(mlaf_bf16_encode((float)x)); }

/* A product or a sum of a rotation. */
static double of_turn(layer_t l, double x) { return l->flags & MLAF_FORM_BF16_TURN ? bf16(x) : x; }

static void turn_as(layer_t l, int32_t style, double *x, int64_t position) {
  const int pairs = l->rope / 2;
  const float *at = l->table + position * l->rope;
  if (style == MLAF_ROPE_UNROTATED) return;
  for (int i = 0; i < pairs; i++) {
    const bool half = style == MLAF_ROPE_HALVES;
    double *a = &x[half ? i : 2 * i], *b = &x[half ? i + pairs : 2 * i + 1];
    if (l->flags & MLAF_FORM_BF16_TURN) *a = bf16(*a), *b = bf16(*b);
    const double cosine = at[i], sine = at[pairs + i], was = *a;
    *a = of_turn(l, of_turn(l, was * cosine) - of_turn(l, *b * sine));
    *b = of_turn(l, of_turn(l, *b * cosine) + of_turn(l, was * sine));
  }
}

static void turn(layer_t l, double *x, int64_t position) { turn_as(l, l->rope_style, x, position); }

/* --- the cache --- */

mlaf_status mlaf_form_cache_open(layer_t l, mlaf_form form, int64_t capacity, mlaf_form_cache *out, mlaf_err *err) {
  *out = (mlaf_form_cache){.form = form, .capacity = capacity};
  out->rows = malloc((size_t)(capacity * cached_columns(l, form) + 1) * sizeof *out->rows);
  if (out->rows) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a reference cache of %lld tokens", (long long)capacity);
}

void mlaf_form_cache_free(mlaf_form_cache *cache) { free(cache->rows); }

/* K [N] (without the rope columns) and V of head h of a latent row. */
static void expand(layer_t l, int64_t h, const double *latent, double *key, double *value) {
  const uint16_t *w = l->kv_b + h * kv_b_rows(l) * l->rank;
  multiply(key, w, l->nope, latent, l->rank);
  multiply(value, w + l->nope * (int64_t)l->rank, l->v, latent, l->rank);
}

/* A latent row goes in as its form keeps it. */
static mlaf_status keep(layer_t l, mlaf_form_cache *cache, const double *row, mlaf_err *err) {
  if (cache->tokens >= cache->capacity)
    return mlaf_fail(err, MLAF_E_ARG, "the reference cache holds %lld tokens: one more does not fit", (long long)cache->capacity);
  double *to = cache->rows + cache->tokens++ * cached_columns(l, cache->form);
  if (cache->form != MLAF_FORM_CD) {
    memcpy(to, row, (size_t)row_columns(l) * sizeof *to);
    return MLAF_OK;
  }
  for (int64_t h = 0; h < l->heads; h++, to += key_columns(l) + l->v) {
    expand(l, h, row, to, to + key_columns(l));
    memcpy(to + l->nope, row + l->rank, (size_t)l->rope * sizeof *to);
  }
  memcpy(to, row + l->rank, (size_t)l->rope * sizeof *to);
  return MLAF_OK;
}

mlaf_status mlaf_form_fill(layer_t l, mlaf_form_cache *cache, const uint16_t *rows, int64_t n, mlaf_err *err) {
  double *row = malloc((size_t)row_columns(l) * sizeof *row);
  mlaf_status st = row ? MLAF_OK : mlaf_fail(err, MLAF_E_NOMEM, "no memory for a row");
  for (int64_t t = 0; !st && t < n; t++) {
    for (int64_t i = 0; i < row_columns(l); i++) row[i] = weight(rows[t * row_columns(l) + i]);
    st = keep(l, cache, row, err);
  }
  free(row);
  return st;
}

/* --- a step --- */

static mlaf_status in_table(layer_t l, int64_t position, mlaf_err *err) {
  if (position >= 0 && position < l->table_rows) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "position %lld: the table has %lld", (long long)position, (long long)l->table_rows);
}

static void widen(const uint16_t *x, int64_t n, double *to) {
  for (int64_t i = 0; i < n; i++) to[i] = weight(x[i]);
}

static void latent_row(layer_t l, const double *x, int64_t position, double *row) {
  multiply(row, l->kv_a, row_columns(l), x, l->hidden);
  norm(l, row, l->rank, l->kv_norm);
  if (!(l->flags & MLAF_FORM_ROPE_ON_READ)) turn(l, row + l->rank, position);
}

mlaf_status mlaf_form_row(layer_t l, const uint16_t *x, int64_t position, double *row, mlaf_err *err) {
  mlaf_status st = in_table(l, position, err);
  double *wide = st ? NULL : malloc((size_t)l->hidden * sizeof *wide);
  if (!st && !wide) st = mlaf_fail(err, MLAF_E_NOMEM, "no memory for a row");
  if (st) return st;
  widen(x, l->hidden, wide);
  latent_row(l, wide, position, row);
  free(wide);
  return MLAF_OK;
}

/* Hidden states, and behind them low-rank queries, normed; to be freed. NULL: an error. */
static double *low_rank(layer_t l, const uint16_t *x, int64_t position, mlaf_err *err) {
  if (in_table(l, position, err)) return NULL;
  double *wide = malloc((size_t)(l->hidden + l->q_rank) * sizeof *wide);
  if (!wide) {
    mlaf_fail(err, MLAF_E_NOMEM, "no memory for a token");
    return NULL;
  }
  widen(x, l->hidden, wide);
  if (!l->q_rank) return wide;
  multiply(wide + l->hidden, l->q_a, l->q_rank, wide, l->hidden);
  norm(l, wide + l->hidden, l->q_rank, l->q_norm);
  return wide;
}

mlaf_status mlaf_form_queries(layer_t l, const uint16_t *x, int64_t position, double *q, mlaf_err *err) {
  double *wide = low_rank(l, x, position, err);
  if (!wide) return err->status;
  const double *const low = wide + l->hidden;
  multiply(q, l->q_b, l->heads * key_columns(l), l->q_rank ? low : wide, l->q_rank ? l->q_rank : l->hidden);
  for (int64_t h = 0; h < l->heads; h++) turn(l, q + h * key_columns(l) + l->nope, position);
  for (int64_t i = 0; l->q_beta > 0 && i < l->heads * key_columns(l); i++) q[i] *= factor_at(l, position);
  free(wide);
  return MLAF_OK;
}

mlaf_status mlaf_form_index_key(layer_t l, const mlaf_form_index *index, const uint16_t *x, int64_t position,
                                double key[MLAF_FORM_INDEX_COLUMNS], mlaf_err *err) {
  enum { N = MLAF_FORM_INDEX_COLUMNS };
  mlaf_status st = in_table(l, position, err);
  double *wide = st ? NULL : malloc((size_t)l->hidden * sizeof *wide), mean = 0, squares = 0;
  if (!st && !wide) st = mlaf_fail(err, MLAF_E_NOMEM, "no memory for a key");
  if (st) return st;
  widen(x, l->hidden, wide);
  multiply(key, index->k, N, wide, l->hidden);
  for (int i = 0; i < N; i++) mean += key[i] / N;
  for (int i = 0; i < N; i++) squares += (key[i] - mean) * (key[i] - mean);
  const double by = 1 / sqrt(squares / N + index->eps);
  for (int i = 0; i < N; i++) key[i] = (key[i] - mean) * by * (double)index->norm[i] + (double)index->bias[i];
  turn_as(l, index->rope_style, key, position);
  free(wide);
  return MLAF_OK;
}

mlaf_status mlaf_form_index_queries(layer_t l, const mlaf_form_index *index, const uint16_t *x, int64_t position, double *q,
                                    double *w, mlaf_err *err) {
  enum { N = MLAF_FORM_INDEX_COLUMNS };
  double *wide = low_rank(l, x, position, err);
  if (!wide) return err->status;
  multiply(q, index->q, index->heads * (int64_t)N, wide + l->hidden, l->q_rank);
  multiply(w, index->w, index->heads, wide, l->hidden);
  for (int64_t h = 0; h < index->heads; h++) {
    turn_as(l, index->rope_style, q + h * N, position);
    w[h] /= sqrt((double)N * index->heads);
  }
  free(wide);
  return MLAF_OK;
}

/* The rope columns of a key that was cached as `columns`, in `out`. */
static void rope_of_key(layer_t l, const double *columns, int64_t position, double *out) {
  memcpy(out, columns, (size_t)l->rope * sizeof *out);
  if (l->flags & MLAF_FORM_ROPE_ON_READ) turn(l, out, position);
}

static void softmax(double *s, int64_t n) {
  double most = s[0], sum = 0;
  for (int64_t j = 1; j < n; j++) most = fmax(most, s[j]);
  for (int64_t j = 0; j < n; j++) sum += s[j] = exp(s[j] - most);
  for (int64_t j = 0; j < n; j++) s[j] /= sum;
}

/* cd and cc: attention of head h over keys and values of its own. n keys are visible. */
static void attend_expanded(const step *s, int64_t h, int64_t n) {
  layer_t l = s->l;
  const bool kept = s->cache->form == MLAF_FORM_CD;
  const int64_t columns = cached_columns(l, s->cache->form), per_head = key_columns(l) + l->v;
  const double *q = s->q + h * key_columns(l);
  double *out = s->o + h * l->v;
  double *values = kept ? NULL : s->value; /* [n, V] of cc, made on the way over the keys */
  for (int64_t j = 0; j < n; j++) {
    const double *row = s->cache->rows + j * columns;
    if (kept) memcpy(s->key, row + h * per_head, (size_t)key_columns(l) * sizeof *row);
    else expand(l, h, row, s->key, values + j * l->v);
    rope_of_key(l, kept ? row + l->heads * per_head : row + l->rank, j, s->key + l->nope);
    s->scores[j] = l->scale * mlaf_dot(q, s->key, key_columns(l));
  }
  softmax(s->scores, n);
  memset(out, 0, (size_t)l->v * sizeof *out);
  for (int64_t j = 0; j < n; j++) {
    const double *value = kept ? s->cache->rows + j * columns + h * per_head + key_columns(l) : values + j * l->v;
    mlaf_add_scaled(out, s->scores[j], value, l->v);
  }
}

/* acc and acc_me: the query is absorbed, the sum is of latent rows. */
static void attend_absorbed(const step *s, int64_t h, int64_t n) {
  layer_t l = s->l;
  const uint16_t *uk = l->kv_b + h * kv_b_rows(l) * l->rank, *uv = uk + l->nope * (int64_t)l->rank;
  const double *q = s->q + h * key_columns(l);
  memset(s->qa, 0, (size_t)row_columns(l) * sizeof *s->qa);
  for (int64_t i = 0; i < l->nope; i++)
    for (int64_t r = 0; r < l->rank; r++) s->qa[r] += q[i] * weight(uk[i * l->rank + r]);
  memcpy(s->qa + l->rank, q + l->nope, (size_t)l->rope * sizeof *q);
  for (int64_t j = 0; j < n; j++) {
    const int64_t at = s->list ? s->list[j] : j;
    const double *row = s->cache->rows + at * row_columns(l);
    memcpy(s->key, row, (size_t)l->rank * sizeof *row);
    rope_of_key(l, row + l->rank, at, s->key + l->rank);
    s->scores[j] = s->cache->form == MLAF_FORM_ACC
                       ? l->scale * mlaf_dot(s->qa, s->key, row_columns(l))
                       : l->scale * (mlaf_dot(q + l->nope, s->key + l->rank, l->rope) + mlaf_dot(s->qa, row, l->rank));
  }
  softmax(s->scores, n);
  memset(s->u, 0, (size_t)l->rank * sizeof *s->u);
  for (int64_t j = 0; j < n; j++)
    mlaf_add_scaled(s->u, s->scores[j], s->cache->rows + (s->list ? s->list[j] : j) * row_columns(l), l->rank);
  multiply(s->o + h * l->v, uv, l->v, s->u, l->rank);
}

static mlaf_status make_room(step *s, int64_t keys, mlaf_err *err) {
  layer_t l = s->l;
  const int64_t widest = key_columns(l) > row_columns(l) ? key_columns(l) : row_columns(l);
  const bool expands = s->cache->form == MLAF_FORM_CC;
  const struct {
    double **at;
    int64_t n;
  } parts[] = {{&s->qa, row_columns(l)}, {&s->u, l->rank}, {&s->key, widest}, {&s->value, expands ? keys * l->v : 0},
               {&s->scores, keys}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    *parts[i].at = malloc((size_t)(parts[i].n + 1) * sizeof(double));
    if (!*parts[i].at) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a reference step over %lld tokens", (long long)keys);
  }
  return MLAF_OK;
}

static void clear(step *s) {
  double *const parts[] = {s->qa, s->u, s->key, s->value, s->scores};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) free(parts[i]);
}

mlaf_status mlaf_form_append(layer_t l, mlaf_form_cache *cache, const uint16_t *x, int64_t n, bool rounded, mlaf_err *err) {
  double *row = malloc((size_t)row_columns(l) * sizeof *row);
  mlaf_status st = row ? MLAF_OK : mlaf_fail(err, MLAF_E_NOMEM, "no memory for a row");
  for (int64_t t = 0; !st && t < n; t++) {
    st = mlaf_form_row(l, x + t * l->hidden, cache->tokens, row, err);
    for (int64_t i = 0; rounded && !st && i < row_columns(l); i++) row[i] = bf16(row[i]);
    if (!st) st = keep(l, cache, row, err);
  }
  free(row);
  return st;
}

mlaf_status mlaf_form_heads(layer_t l, const mlaf_form_cache *cache, const double *q, int64_t position, int32_t first, int32_t n,
                            double *o, mlaf_err *err) {
  step s = {.l = l, .cache = cache, .q = q, .o = o};
  if (position >= cache->tokens) return mlaf_fail(err, MLAF_E_ARG, "position %lld is not cached yet", (long long)position);
  mlaf_status st = make_room(&s, position + 1, err);
  for (int64_t h = first; !st && h < first + n; h++)
    (cache->form <= MLAF_FORM_CC ? attend_expanded : attend_absorbed)(&s, h, position + 1);
  clear(&s);
  return st;
}

mlaf_status mlaf_form_heads_over(layer_t l, const mlaf_form_cache *cache, const double *q, const int64_t *list, int64_t n_list,
                                 int32_t first, int32_t n, double *o, mlaf_err *err) {
  step s = {.l = l, .cache = cache, .q = q, .o = o, .list = list};
  for (int64_t i = 0; i < n_list; i++)
    if (list[i] < 0 || list[i] >= cache->tokens)
      return mlaf_fail(err, MLAF_E_ARG, "position %lld is not cached", (long long)list[i]);
  mlaf_status st = make_room(&s, n_list, err);
  for (int64_t h = first; !st && h < first + n; h++) attend_absorbed(&s, h, n_list);
  clear(&s);
  return st;
}

void mlaf_form_output(layer_t l, const double *o, double *y) { multiply(y, l->o, l->hidden, o, l->heads * (int64_t)l->v); }

mlaf_status mlaf_form_attend(layer_t l, const mlaf_form_cache *cache, const uint16_t *x, int64_t position, double *y,
                             mlaf_err *err) {
  const int64_t queries = l->heads * key_columns(l), outputs = l->heads * (int64_t)l->v;
  double *q = malloc((size_t)(queries + outputs) * sizeof *q);
  mlaf_status st = q ? MLAF_OK : mlaf_fail(err, MLAF_E_NOMEM, "no memory for a token");
  if (!st) st = mlaf_form_queries(l, x, position, q, err);
  if (!st) st = mlaf_form_heads(l, cache, q, position, 0, l->heads, q + queries, err);
  if (!st) mlaf_form_output(l, q + queries, y);
  free(q);
  return st;
}

mlaf_status mlaf_form_step(layer_t l, mlaf_form_cache *cache, const uint16_t *x, int64_t n, bool rounded, double *y,
                           mlaf_err *err) {
  const int64_t first = cache->tokens;
  mlaf_status st = mlaf_form_append(l, cache, x, n, rounded, err);
  for (int64_t t = 0; !st && t < n; t++) st = mlaf_form_attend(l, cache, x + t * l->hidden, first + t, y + t * l->hidden, err);
  return st;
}
