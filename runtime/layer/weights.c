/* A layer's weights by their names in a checkpoint: found, checked, and cut to this rank by pointers and strides alone. */
#include "layer/inside.h"

enum { ALIGN = 16, BLOCK = 128, PART_ROWS = 32, PART_COLUMNS = 64 }; /* of scales; where a part may begin (projection.h) */
static const int64_t STRIDE_MOST = INT64_C(1) << 40;                     /* elements */

/* --- names --- */

enum { Q_A, Q_A_NORM, Q_B, Q_PROJ, KV_A, KV_A_NORM, KV_B, O_PROJ, FUSED, INDEX_Q, INDEX_K, INDEX_W, INDEX_NORM, MODULES };
static const char *const modules[MODULES] = {"q_a_proj",  "q_a_layernorm", "q_b_proj", "q_proj", "kv_a_proj_with_mqa",
                                             "kv_a_layernorm", "kv_b_proj", "o_proj", "fused_qkv_a_proj_with_mqa",
                                             "wq_b", "wk", "weights_proj", "k_norm"};

/* The last two words of a name; what they are of it, or NULL. */
static const char *last_words(const char *name) {
  const char *dot = strrchr(name, '.'), *first = dot;
  while (first && first > name && first[-1] != '.') first--;
  return first;
}

typedef enum what { WEIGHT, SCALE, BIAS, OTHER } what; /* BIAS: of the indexer's norm; OTHER: another one, or another scale */

/* Which module a name is of, -1: none of a layer's; what of it. */
static int module_of(const mlaf_layer_desc *d, const char *name, what *of) {
  const char *words = last_words(name);
  for (int i = 0; words && i < (d->index_heads ? MODULES : INDEX_Q); i++) {
    const size_t n = strlen(modules[i]);
    if (strncmp(words, modules[i], n) || words[n] != '.') continue;
    *of = !strcmp(words + n, ".weight") ? WEIGHT : !strcmp(words + n, ".weight_scale_inv") ? SCALE : OTHER;
    if (i == INDEX_NORM && !strcmp(words + n, ".bias")) *of = BIAS;
    return i;
  }
  return -1;
}

typedef struct named {
  const mlaf_layer_weight *of[MODULES], *scale[MODULES], *bias; /* bias: of k_norm */
} named;

static mlaf_status find(const mlaf_layer_desc *d, const mlaf_layer_weight *list, size_t n, named *out, mlaf_err *err) {
  *out = (named){{NULL}, {NULL}, NULL};
  for (size_t i = 0; i < n; i++) {
    what of = OTHER;
    if (!list[i].name) return mlaf_fail(err, MLAF_E_ARG, "weight %zu has no name", i);
    const int m = module_of(d, list[i].name, &of);
    if (m < 0) continue;
    if (of == OTHER)
      return mlaf_fail(err, MLAF_E_ARG, "%.200s: only weights without bias are served, and scales called weight_scale_inv, one "
                       "for 128 x 128: dequantise, leave biases to another implementation", list[i].name);
    if (of == SCALE && !d->weights)
      return mlaf_fail(err, MLAF_E_ARG, "%.200s: the layer's weights have 16 bits: set mlaf_layer_desc's weights to "
                       "MLAF_LAYER_E4M3FN or MLAF_LAYER_E4M3FNUZ, or dequantise", list[i].name);
    const mlaf_layer_weight **at = of == BIAS ? &out->bias : of == SCALE ? &out->scale[m] : &out->of[m];
    if (*at) return mlaf_fail(err, MLAF_E_ARG, "%.200s and %.200s are the same weight", (*at)->name, list[i].name);
    *at = &list[i];
  }
  return MLAF_OK;
}

/* --- shapes --- */

static int64_t stride_of(const mlaf_layer_weight *w) { return w->row_stride ? w->row_stride : w->cols; }

/* Bytes of a module's elements. */
static int bytes_of(const layer_shape *s, int module) {
  if (module == Q_A_NORM || module == KV_A_NORM || module == INDEX_W) return LAYER_ELEMENT;
  if (module == INDEX_Q || module == INDEX_K) return s->index_weights ? 1 : LAYER_ELEMENT;
  return module == KV_B ? layer_kv_b_bytes(s) : layer_matrix_bytes(s);
}

static mlaf_status check_place(const mlaf_layer_weight *w, int bytes, mlaf_err *err) {
  if (!w->data || (uintptr_t)w->data % ALIGN)
    return mlaf_fail(err, MLAF_E_ARG, "%.200s is at %p, must be %d-byte aligned", w->name, w->data, ALIGN);
  if (w->rows > 1 && (stride_of(w) < w->cols || stride_of(w) > STRIDE_MOST || stride_of(w) % (ALIGN / bytes)))
    return mlaf_fail(err, MLAF_E_ARG, "%.200s has the row stride %lld, must be 0 or a multiple of %d from %lld on", w->name,
                     (long long)w->row_stride, ALIGN / bytes, (long long)w->cols);
  return MLAF_OK;
}

static int64_t blocks(int64_t n) { return (n + BLOCK - 1) / BLOCK; }

/* A matrix from element `row`, `column` of its tensor on, with its scales where it has 8 bits. */
static mlaf_status place(const layer_shape *s, const named *l, int module, int64_t row, int64_t column, layer_tensor *out,
                         mlaf_err *err) {
  const mlaf_layer_weight *w = l->of[module], *scale = l->scale[module];
  const int bytes = bytes_of(s, module);
  const mlaf_status st = check_place(w, bytes, err);
  if (st) return st;
  const uintptr_t first = (uintptr_t)row * (uintptr_t)stride_of(w) + (uintptr_t)column;
  *out = (layer_tensor){.data = (const void *)((uintptr_t)w->data + (uintptr_t)bytes * first), .stride = stride_of(w)};
  if (bytes == 1 && !scale)
    return mlaf_fail(err, MLAF_E_ARG, "%s.weight_scale_inv is missing among the layer's weights", modules[module]);
  if (!scale) return MLAF_OK;
  if (bytes != 1)
    return mlaf_fail(err, MLAF_E_ARG, "%.200s is given, and with %s %.200s has none", scale->name,
                     module == KV_B ? "MLAF_LAYER_KV_B_16" : module == INDEX_W ? "an indexer" : "MLAF_LAYER_INDEX_16", w->name);
  if (scale->rows != blocks(w->rows) || scale->cols != blocks(w->cols))
    return mlaf_fail(err, MLAF_E_ARG, "%.200s is [%lld, %lld], must be [%lld, %lld], one for 128 x 128", scale->name,
                     (long long)scale->rows, (long long)scale->cols, (long long)blocks(w->rows), (long long)blocks(w->cols));
  if (!scale->data || (uintptr_t)scale->data % sizeof(float) || stride_of(scale) < scale->cols)
    return mlaf_fail(err, MLAF_E_ARG, "%.200s is at %p with the row stride %lld: %d-byte alignment, and 0 or %lld and up are "
                     "wanted", scale->name, scale->data, (long long)scale->row_stride, (int)sizeof(float),
                     (long long)scale->cols);
  if (row % PART_ROWS || column % PART_COLUMNS)
    return mlaf_fail(err, MLAF_E_ARG, "%.200s: this rank's part begins at row %lld, column %lld, within a scale's block, must be "
                     "a multiple of %d and %d: give the part, with scales of its own", w->name, (long long)row, (long long)column,
                     PART_ROWS, PART_COLUMNS);
  out->scale = scale->data;
  out->scale_stride = stride_of(scale);
  out->scale_row = row;
  out->scale_column = column;
  return MLAF_OK;
}

static mlaf_status missing(int module, mlaf_err *err) {
  return mlaf_fail(err, MLAF_E_ARG, "%s.weight is missing among the layer's weights", modules[module]);
}

/* A matrix of this shape. */
static mlaf_status take(const layer_shape *s, const named *l, int module, int64_t rows, int64_t cols, layer_tensor *out,
                        mlaf_err *err) {
  const mlaf_layer_weight *w = l->of[module];
  if (!w) return missing(module, err);
  if (w->rows != rows || w->cols != cols)
    return mlaf_fail(err, MLAF_E_ARG, "%.200s is [%lld, %lld], must be [%lld, %lld]", w->name, (long long)w->rows,
                     (long long)w->cols, (long long)rows, (long long)cols);
  return place(s, l, module, 0, 0, out, err);
}

static mlaf_status check_vector(const mlaf_layer_weight *w, int64_t size, const void **out, mlaf_err *err) {
  if (!(w->rows == 1 && w->cols == size) && !(w->rows == size && w->cols == 1 && stride_of(w) == 1))
    return mlaf_fail(err, MLAF_E_ARG, "%.200s is [%lld, %lld], must be [1, %lld]", w->name, (long long)w->rows,
                     (long long)w->cols, (long long)size);
  *out = w->data;
  return w->data && (uintptr_t)w->data % ALIGN == 0 ? MLAF_OK : check_place(w, LAYER_ELEMENT, err);
}

static mlaf_status take_vector(const named *l, int module, int64_t size, const void **out, mlaf_err *err) {
  const mlaf_layer_weight *w = l->of[module];
  return w ? check_vector(w, size, out, err) : missing(module, err);
}

/* The indexer's matrices are whole on every rank. */
static mlaf_status take_index(const layer_shape *s, const named *l, layer_weights *out, mlaf_err *err) {
  const mlaf_layer_desc *d = &s->d;
  const void *norm = NULL, *bias = NULL;
  mlaf_status st = take(s, l, INDEX_Q, (int64_t)LAYER_INDEX_COLUMNS * d->index_heads, d->q_rank, &out->index_q, err);
  if (!st) st = take(s, l, INDEX_K, LAYER_INDEX_COLUMNS, d->hidden, &out->index_k, err);
  if (!st) st = take(s, l, INDEX_W, d->index_heads, d->hidden, &out->index_w, err);
  if (!st) st = take_vector(l, INDEX_NORM, LAYER_INDEX_COLUMNS, &norm, err);
  if (!st && !l->bias) st = mlaf_fail(err, MLAF_E_ARG, "k_norm.bias is missing among the layer's weights");
  if (!st) st = check_vector(l->bias, LAYER_INDEX_COLUMNS, &bias, err);
  out->index_norm = norm, out->index_bias = bias;
  return st;
}

/* Rows (or, of o_proj, columns) of all heads, or of this rank's, `each` a head and `other` across. */
static mlaf_status take_heads(const layer_shape *s, const named *l, int module, int64_t each, int64_t other, layer_tensor *out,
                              mlaf_err *err) {
  const mlaf_layer_weight *w = l->of[module];
  const bool columns = module == O_PROJ;
  const int64_t whole = each * s->d.heads, part = each * s->heads;
  if (!w) return missing(module, err);
  const int64_t have = columns ? w->cols : w->rows, across = columns ? w->rows : w->cols;
  if (across != other || (have != whole && have != part))
    return mlaf_fail(err, MLAF_E_ARG, "%.200s is [%lld, %lld], must be [%lld, %lld], or [%lld, %lld] of this rank alone", w->name,
                     (long long)w->rows, (long long)w->cols, (long long)(columns ? other : whole),
                     (long long)(columns ? whole : other), (long long)(columns ? other : part),
                     (long long)(columns ? part : other));
  const int64_t first = have == whole ? part * s->d.tp_rank : 0;
  return place(s, l, module, columns ? 0 : first, columns ? first : 0, out, err);
}

/* --- the layer's --- */

/* Takes numbers that nobody checked yet. */
static bool touch(const mlaf_layer_weight *q, const mlaf_layer_weight *kv, size_t bytes) {
  const uintptr_t behind = (uintptr_t)q->data + bytes * (uintptr_t)q->rows * (uintptr_t)stride_of(q);
  return stride_of(q) == stride_of(kv) && behind == (uintptr_t)kv->data;
}

/* One tensor, and where it has scales, one tensor of those, too. */
static bool touch_all(const mlaf_layer_desc *d, const named *l) {
  if (!d->weights) return touch(l->of[Q_A], l->of[KV_A], LAYER_ELEMENT);
  return touch(l->of[Q_A], l->of[KV_A], 1) && l->scale[Q_A] && l->scale[KV_A] && d->q_rank % BLOCK == 0 &&
         touch(l->scale[Q_A], l->scale[KV_A], sizeof(float));
}

/* The indexer's matrices lie behind the latent's, one after another. All have 16 bits. */
static bool index_touches(const mlaf_layer_desc *d, const named *l) {
  const mlaf_layer_weight *latent = l->of[FUSED] ? l->of[FUSED] : l->of[KV_A], *k = l->of[INDEX_K], *w = l->of[INDEX_W];
  return d->index_heads && !d->weights && latent && k && w && touch(latent, k, LAYER_ELEMENT) && touch(k, w, LAYER_ELEMENT);
}

layer_join layer_weights_join(const mlaf_layer_desc *desc, const mlaf_layer_weight *list, size_t n) {
  named l;
  if (!desc->q_rank || find(desc, list, n, &l, NULL)) return JOIN_A;
  if (!l.of[FUSED] && l.of[Q_A] && l.of[KV_A] && !touch_all(desc, &l)) return JOIN_NONE;
  return index_touches(desc, &l) ? JOIN_A_INDEX : JOIN_A;
}

static mlaf_status take_a(const layer_shape *s, const named *l, layer_weights *out, mlaf_err *err) {
  const mlaf_layer_desc *d = &s->d;
  const int64_t latent = d->rank + d->rope;
  if (l->of[FUSED] && (l->of[Q_A] || l->of[KV_A]))
    return mlaf_fail(err, MLAF_E_ARG, "%.200s is given beside %.200s: one or the other is wanted", l->of[FUSED]->name,
                     (l->of[Q_A] ? l->of[Q_A] : l->of[KV_A])->name);
  if (l->of[FUSED]) {
    const mlaf_status st = take(s, l, FUSED, d->q_rank + latent, d->hidden, &out->matrices[MATRIX_QKV_A], err);
    out->matrices[MATRIX_KV_A] = out->matrices[MATRIX_QKV_A]; /* without q_lora it is that alone */
    return st;
  }
  mlaf_status st = d->q_rank ? take(s, l, Q_A, d->q_rank, d->hidden, &out->matrices[MATRIX_Q_A], err) : MLAF_OK;
  if (!st) st = take(s, l, KV_A, latent, d->hidden, &out->matrices[MATRIX_KV_A], err);
  out->matrices[MATRIX_QKV_A] = out->matrices[MATRIX_Q_A];
  return st;
}

mlaf_status layer_weights_take(const layer_shape *s, const mlaf_layer_weight *list, size_t n, layer_weights *out, mlaf_err *err) {
  const mlaf_layer_desc *d = &s->d;
  const bool norms = !(d->flags & MLAF_LAYER_NO_NORMS);
  named l;
  *out = (layer_weights){.q_norm = NULL};
  mlaf_status st = find(d, list, n, &l, err);
  if (!st) st = take_a(s, &l, out, err);
  if (!st && d->q_rank && norms) st = take_vector(&l, Q_A_NORM, d->q_rank, &out->q_norm, err);
  if (!st) st = take_heads(s, &l, d->q_rank ? Q_B : Q_PROJ, d->nope + d->rope, d->q_rank ? d->q_rank : d->hidden,
                           &out->matrices[MATRIX_Q_B], err);
  if (!st && norms) st = take_vector(&l, KV_A_NORM, d->rank, &out->kv_norm, err);
  if (!st) st = take_heads(s, &l, KV_B, d->nope + d->v, d->rank, &out->kv_b, err);
  if (!st) st = take_heads(s, &l, O_PROJ, d->v, d->hidden, &out->matrices[MATRIX_O], err);
  return st || !layer_indexes(s) ? st : take_index(s, &l, out, err);
}
