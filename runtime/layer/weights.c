/* A layer's weights by their names in a checkpoint: found, checked, and cut to this rank by pointers and strides alone. */
#include <string.h>

#include "layer/inside.h"

enum { ALIGN = 16 };

/* --- names --- */

enum { Q_A, Q_A_NORM, Q_B, Q_PROJ, KV_A, KV_A_NORM, KV_B, O_PROJ, FUSED, MODULES };
static const char *const modules[MODULES] = {"q_a_proj",  "q_a_layernorm", "q_b_proj", "q_proj", "kv_a_proj_with_mqa",
                                             "kv_a_layernorm", "kv_b_proj", "o_proj", "fused_qkv_a_proj_with_mqa"};

/* The last two words of a name; what they are of it, or NULL. */
static const char *last_words(const char *name) {
  const char *dot = strrchr(name, '.'), *first = dot;
  while (first && first > name && first[-1] != '.') first--;
  return first;
}

/* Which module a name is of, -1: none of a layer's; *weight: its weight, not a bias or a scale. */
static int module_of(const char *name, bool *weight) {
  const char *words = last_words(name);
  for (int i = 0; words && i < MODULES; i++) {
    const size_t n = strlen(modules[i]);
    if (strncmp(words, modules[i], n) || words[n] != '.') continue;
    *weight = !strcmp(words + n, ".weight");
    return i;
  }
  return -1;
}

typedef struct named {
  const mlaf_layer_weight *of[MODULES];
} named;

static mlaf_status find(const mlaf_layer_weight *list, size_t n, named *out, mlaf_err *err) {
  *out = (named){{NULL}};
  for (size_t i = 0; i < n; i++) {
    bool weight = false;
    if (!list[i].name) return mlaf_fail(err, MLAF_E_ARG, "weight %zu has no name", i);
    const int m = module_of(list[i].name, &weight);
    if (m < 0) continue;
    if (!weight)
      return mlaf_fail(err, MLAF_E_ARG, "%.200s: only weights of 16 bits without bias are served: dequantise, leave biases to "
                       "another implementation", list[i].name);
    if (out->of[m]) return mlaf_fail(err, MLAF_E_ARG, "%.200s and %.200s are the same weight", out->of[m]->name, list[i].name);
    out->of[m] = &list[i];
  }
  return MLAF_OK;
}

/* --- shapes --- */

static int64_t stride_of(const mlaf_layer_weight *w) { return w->row_stride ? w->row_stride : w->cols; }

static mlaf_status check_place(const mlaf_layer_weight *w, mlaf_err *err) {
  if (!w->data || (uintptr_t)w->data % ALIGN)
    return mlaf_fail(err, MLAF_E_ARG, "%.200s is at %p, must be %d-byte aligned", w->name, w->data, ALIGN);
  if (w->rows > 1 && (stride_of(w) < w->cols || stride_of(w) % (ALIGN / LAYER_ELEMENT)))
    return mlaf_fail(err, MLAF_E_ARG, "%.200s has the row stride %lld, must be 0 or a multiple of %d from %lld on", w->name,
                     (long long)w->row_stride, ALIGN / LAYER_ELEMENT, (long long)w->cols);
  return MLAF_OK;
}

static mlaf_status missing(int module, mlaf_err *err) {
  return mlaf_fail(err, MLAF_E_ARG, "%s.weight is missing among the layer's weights", modules[module]);
}

/* A matrix of this shape. */
static mlaf_status take(const named *l, int module, int64_t rows, int64_t cols, layer_tensor *out, mlaf_err *err) {
  const mlaf_layer_weight *w = l->of[module];
  if (!w) return missing(module, err);
  if (w->rows != rows || w->cols != cols)
    return mlaf_fail(err, MLAF_E_ARG, "%.200s is [%lld, %lld], must be [%lld, %lld]", w->name, (long long)w->rows,
                     (long long)w->cols, (long long)rows, (long long)cols);
  *out = (layer_tensor){w->data, stride_of(w)};
  return check_place(w, err);
}

static mlaf_status take_vector(const named *l, int module, int64_t size, const void **out, mlaf_err *err) {
  const mlaf_layer_weight *w = l->of[module];
  if (!w) return missing(module, err);
  if (!(w->rows == 1 && w->cols == size) && !(w->rows == size && w->cols == 1 && stride_of(w) == 1))
    return mlaf_fail(err, MLAF_E_ARG, "%.200s is [%lld, %lld], must be [1, %lld]", w->name, (long long)w->rows,
                     (long long)w->cols, (long long)size);
  *out = w->data;
  return w->data && (uintptr_t)w->data % ALIGN == 0 ? MLAF_OK : check_place(w, err);
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
  mlaf_status st = check_place(w, err);
  if (st) return st;
  const int64_t first = have == whole ? part * s->d.tp_rank * (columns ? 1 : stride_of(w)) : 0;
  *out = (layer_tensor){(const void *)((uintptr_t)w->data + LAYER_ELEMENT * (uintptr_t)first), stride_of(w)};
  return MLAF_OK;
}

/* --- the layer's --- */

static bool touch(const mlaf_layer_weight *q, const mlaf_layer_weight *kv) {
  const uintptr_t behind = (uintptr_t)q->data + LAYER_ELEMENT * (uintptr_t)(q->rows * stride_of(q));
  return stride_of(q) == stride_of(kv) && behind == (uintptr_t)kv->data;
}

bool layer_weights_joined(const mlaf_layer_desc *desc, const mlaf_layer_weight *list, size_t n) {
  named l;
  if (!desc->q_rank || find(list, n, &l, NULL)) return true;
  return l.of[FUSED] || !l.of[Q_A] || !l.of[KV_A] || touch(l.of[Q_A], l.of[KV_A]);
}

static mlaf_status take_a(const layer_shape *s, const named *l, layer_weights *out, mlaf_err *err) {
  const mlaf_layer_desc *d = &s->d;
  const int64_t latent = d->rank + d->rope;
  if (l->of[FUSED] && (l->of[Q_A] || l->of[KV_A]))
    return mlaf_fail(err, MLAF_E_ARG, "%.200s is given beside %.200s: one or the other is wanted", l->of[FUSED]->name,
                     (l->of[Q_A] ? l->of[Q_A] : l->of[KV_A])->name);
  if (l->of[FUSED]) {
    const mlaf_status st = take(l, FUSED, d->q_rank + latent, d->hidden, &out->qkv_a, err);
    out->kv_a = out->qkv_a; /* without q_lora it is that alone */
    return st;
  }
  mlaf_status st = d->q_rank ? take(l, Q_A, d->q_rank, d->hidden, &out->q_a, err) : MLAF_OK;
  if (!st) st = take(l, KV_A, latent, d->hidden, &out->kv_a, err);
  out->qkv_a = out->q_a;
  return st;
}

mlaf_status layer_weights_take(const layer_shape *s, const mlaf_layer_weight *list, size_t n, layer_weights *out, mlaf_err *err) {
  const mlaf_layer_desc *d = &s->d;
  const bool norms = !(d->flags & MLAF_LAYER_NO_NORMS);
  named l;
  *out = (layer_weights){.q_norm = NULL};
  mlaf_status st = find(list, n, &l, err);
  if (!st) st = take_a(s, &l, out, err);
  if (!st && d->q_rank && norms) st = take_vector(&l, Q_A_NORM, d->q_rank, &out->q_norm, err);
  if (!st) st = take_heads(s, &l, d->q_rank ? Q_B : Q_PROJ, d->nope + d->rope, d->q_rank ? d->q_rank : d->hidden, &out->q_b, err);
  if (!st && norms) st = take_vector(&l, KV_A_NORM, d->rank, &out->kv_norm, err);
  if (!st) st = take_heads(s, &l, KV_B, d->nope + d->v, d->rank, &out->kv_b, err);
  return st ? st : take_heads(s, &l, O_PROJ, d->v, d->hidden, &out->o, err);
}
