/* A layer's indexer beside fp64: its lists against scores over the cached keys, the keys that it appended. */
#include "op/e4m3.h"
#include "op/sums.h"
#include "rig/rig.h"

enum { COLUMNS = MLAF_FORM_INDEX_COLUMNS };

/* --- reading back --- */

static mlaf_status find_lists(layer_rig *r, mlaf_layer_stage *out) {
  mlaf_status st = MLAF_OK;
  for (size_t i = 0; !st && i < mlaf_layer_stages(r->layer[0]); i++) {
    *out = (mlaf_layer_stage)MLAF_LAYER_STAGE_INIT;
    st = layer_failed(r->env, mlaf_layer_stage_at(r->layer[0], i, &r->call[0].args, out));
    if (!st && !strcmp(out->name, "index")) return MLAF_OK;
  }
  return st ? st : mlaf_fail(r->env->err, MLAF_E_INTERNAL, "the layer has no stage called index");
}

/* The request of a row, and the row's place in it. */
static void place_rows(const layer_rig *r, layer_index_left *out) {
  const int64_t rows = r->set_pages * r->setup.page_size;
  for (int64_t i = 0; i < rows; i++) out->owner[i] = -1;
  for (int32_t b = 0; b < r->setup.batch; b++)
    for (int64_t t = 0; t < r->setup.requests[b].past + r->setup.requests[b].fresh; t++) {
      const int64_t row = layer_slot(r, b, t);
      out->owner[row] = b, out->position[row] = t;
    }
}

mlaf_status layer_index_read(layer_rig *r, layer_index_left *out) {
  const mlaf_device_ops *ops = mlaf_ops(r->dev);
  const size_t rows = (size_t)(r->set_pages * r->setup.page_size);
  mlaf_layer_stage stage;
  mlaf_status st = find_lists(r, &stage);
  if (st) return st;
  *out = (layer_index_left){.keys = malloc(r->index.set_bytes), .lists = malloc(stage.output_bytes),
                            .position = calloc(rows, sizeof(int64_t)), .owner = malloc(rows * sizeof(int32_t))};
  if (!out->keys || !out->lists || !out->position || !out->owner)
    return mlaf_fail(r->env->err, MLAF_E_NOMEM, "no memory for the check of an indexer");
  place_rows(r, out);
  st = ops->mem_read(r->dev, out->keys, r->index.cache, r->index.set_bytes, r->env->err);
  if (st) return st;
  return ops->mem_read(r->dev, out->lists, (char *)r->workspace + stage.output_at, stage.output_bytes, r->env->err);
}

void layer_index_free(layer_index_left *left) { free(left->keys), free(left->lists), free(left->position), free(left->owner); }

/* --- keys --- */

static void key_of(const layer_rig *r, const layer_index_left *left, const double decoded[256], int64_t row,
                   double out[COLUMNS]) {
  const int64_t page = r->setup.page_size;
  const uint8_t *first = left->keys + row / page * r->index.page_bytes, *code = first + row % page * COLUMNS;
  float scale;
  memcpy(&scale, first + page * COLUMNS + row % page * 4, sizeof scale);
  for (int i = 0; i < COLUMNS; i++) out[i] = decoded[code[i]] * (double)scale;
}

static void decode_all(double out[256]) {
  for (int i = 0; i < 256; i++) out[i] = mlaf_e4m3_decode(false, (uint8_t)i);
}

static int64_t position_of(const layer_rig *r, int64_t token) {
  return r->setup.requests[r->call[0].request[token]].past + r->call[0].fresh[token];
}

mlaf_status layer_index_check_key(const layer_rig *r, const layer_index_left *left, int64_t token, const uint16_t *x, double *off,
                                  mlaf_err *err) {
  const int64_t position = position_of(r, token);
  double decoded[256], got[COLUMNS], want[COLUMNS], diff = 0, size = 0;
  decode_all(decoded);
  mlaf_status st = mlaf_form_index_key(&r->form, &r->index.form, x, position, want, err);
  if (st) return st;
  key_of(r, left, decoded, layer_slot(r, r->call[0].request[token], position), got);
  for (int i = 0; i < COLUMNS; i++) diff += (got[i] - want[i]) * (got[i] - want[i]), size += want[i] * want[i];
  *off = sqrt(diff / size);
  return MLAF_OK;
}

mlaf_status layer_index_check_rest(const layer_rig *r, const layer_index_left *left) {
  const int64_t page = r->setup.page_size, rows = r->set_pages * page;
  bool *fresh = calloc((size_t)rows, sizeof *fresh);
  mlaf_status st = fresh ? MLAF_OK : mlaf_fail(r->env->err, MLAF_E_NOMEM, "no memory for the check of an indexer");
  for (int64_t t = 0; !st && t < r->call[0].args.tokens; t++)
    fresh[layer_slot(r, r->call[0].request[t], position_of(r, t))] = true;
  for (int64_t i = 0; !st && i < rows; i++) {
    const int64_t first = i / page * r->index.page_bytes, code = first + i % page * COLUMNS;
    const int64_t scale = first + page * COLUMNS + i % page * 4;
    const uint8_t *is = left->keys, *was = r->index.keys;
    if (!fresh[i] && (memcmp(is + code, was + code, COLUMNS) || memcmp(is + scale, was + scale, 4)))
      st = mlaf_fail(r->env->err, MLAF_E_INCORRECT, "row %lld of the indexer's cache changed, and no token was appended there",
                     (long long)i);
  }
  free(fresh);
  return st;
}

/* --- lists --- */

/* Scores of the first n cached tokens of a request. */
static void score(const layer_rig *r, const layer_index_left *left, int32_t request, int64_t n, const double *q, const double *w,
                  double *out) {
  double decoded[256], key[COLUMNS];
  decode_all(decoded);
  for (int64_t i = 0; i < n; i++) {
    out[i] = 0;
    key_of(r, left, decoded, layer_slot(r, request, i), key);
    for (int64_t h = 0; h < r->index.form.heads; h++) out[i] += w[h] * fmax(mlaf_dot(q + h * COLUMNS, key, COLUMNS), 0);
  }
}

/* A list's rows as positions: ascending, of the request, as many as there are to take, -1 behind them. */
static mlaf_status read_list(const layer_rig *r, const layer_index_left *left, int64_t token, int64_t n, int64_t *out,
                             int64_t *taken, mlaf_err *err) {
  const int64_t topk = r->index.form.topk, rows = r->set_pages * r->setup.page_size;
  const int32_t *list = left->lists + token * topk, request = r->call[0].request[token];
  *taken = n < topk ? n : topk;
  for (int64_t i = 0; i < topk; i++) {
    const bool there = list[i] >= 0 && list[i] < rows && left->owner[list[i]] == request;
    if (i >= *taken ? list[i] != -1 : !there || left->position[list[i]] >= n || (i && left->position[list[i]] <= out[i - 1]))
      return mlaf_fail(err, MLAF_E_INCORRECT, "entry %lld of the list of token %lld is row %d: %s", (long long)i,
                       (long long)token, list[i],
                       i < *taken ? "none of its request's in ascending order" : "-1 must stand behind all rows");
    if (i < *taken) out[i] = left->position[list[i]];
  }
  return MLAF_OK;
}

static int compare_up(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* Distance by which scores are on the wrong side of the k-th largest; NaN is as far as can be. */
static double beyond_of(const double *scores, double *sorted, int64_t n, const int64_t *list, int64_t k) {
  double mean = 0, squares = 0, beyond = 0;
  memcpy(sorted, scores, (size_t)n * sizeof *sorted);
  qsort(sorted, (size_t)n, sizeof *sorted, compare_up);
  const double last = sorted[n - k];
  for (int64_t i = 0; i < n; i++) mean += scores[i] / (double)n;
  for (int64_t i = 0, at = 0; i < n; i++) {
    const bool taken = at < k && list[at] == i;
    at += taken;
    squares += (scores[i] - mean) * (scores[i] - mean);
    beyond = isnan(scores[i]) ? INFINITY : fmax(beyond, taken ? last - scores[i] : scores[i] - last);
  }
  return n > k ? beyond / sqrt(squares / (double)n) : 0;
}

mlaf_status layer_index_check_list(const layer_rig *r, const layer_index_left *left, int64_t token, const uint16_t *x,
                                   int64_t *out, int64_t *n, double *beyond, mlaf_err *err) {
  const int64_t position = position_of(r, token), seen = position + 1, heads = r->index.form.heads;
  double *q = malloc((size_t)(heads * (COLUMNS + 1) + 2 * seen) * sizeof *q), *w = q ? q + heads * COLUMNS : NULL;
  mlaf_status st = q ? MLAF_OK : mlaf_fail(err, MLAF_E_NOMEM, "no memory for scores");
  if (!st) st = read_list(r, left, token, seen, out, n, err);
  if (!st) st = mlaf_form_index_queries(&r->form, &r->index.form, x, position, q, w, err);
  if (!st) {
    double *scores = w + heads;
    score(r, left, r->call[0].request[token], seen, q, w, scores);
    *beyond = beyond_of(scores, scores + seen, seen, out, *n);
  }
  free(q);
  return st;
}
