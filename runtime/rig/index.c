/* The indexer of a rig's layer: random weights of 16 bits, and a cache of random keys. */
#include "op/e4m3.h"
#include "rig/rig.h"

enum { COLUMNS = MLAF_FORM_INDEX_COLUMNS, TOKEN = COLUMNS + 4, SIZE = 32 /* of codes: the largest is well within e4m3fn */ };
enum { PAGES_ALIGN = 16 };

static mlaf_status no_memory(const layer_rig *r) { return mlaf_fail(r->env->err, MLAF_E_NOMEM, "no memory for an indexer"); }

/* [rows, cols] of each tensor; those with one row are of fp32. */
static void extents(const layer_rig *r, int64_t out[LAYER_INDEX_TENSORS][2]) {
  const int64_t heads = r->desc.index_heads;
  const int64_t list[LAYER_INDEX_TENSORS][2] = {
      {COLUMNS * heads, r->form.q_rank}, {COLUMNS, r->form.hidden}, {heads, r->form.hidden}, {1, COLUMNS}, {1, COLUMNS}};
  memcpy(out, list, sizeof list);
}

static mlaf_status make_weights(layer_rig *r) {
  layer_indexer *x = &r->index;
  mlaf_rng rng = {r->env->seed + 29};
  int64_t e[LAYER_INDEX_TENSORS][2];
  extents(r, e);
  for (int i = 0; i < LAYER_INDEX_TENSORS; i++) {
    if (e[i][0] > 1) {
      x->tensors[i] = layer_draw(&rng, e[i][0] * e[i][1], 0, 1 / sqrt((double)e[i][1]));
    } else if ((x->tensors[i] = malloc(COLUMNS * sizeof(float)))) {
      for (int k = 0; k < COLUMNS; k++) ((float *)x->tensors[i])[k] = (float)(i == 3) + mlaf_rng_normal(&rng) / 10;
    }
    if (!x->tensors[i]) return no_memory(r);
  }
  x->form = (mlaf_form_index){.heads = r->desc.index_heads, .topk = r->desc.index_topk, .rope_style = r->desc.index_style,
                              .eps = 1e-6, .q = x->tensors[0], .k = x->tensors[1], .w = x->tensors[2], .norm = x->tensors[3],
                              .bias = x->tensors[4]};
  return MLAF_OK;
}

/* Keys of a set: normal numbers, scales that are powers of two. */
static mlaf_status make_keys(layer_rig *r) {
  layer_indexer *x = &r->index;
  const int64_t page = r->setup.page_size;
  mlaf_rng rng = {r->env->seed + 31};
  uint8_t codes[4096];
  x->page_bytes = (page * TOKEN + PAGES_ALIGN - 1) / PAGES_ALIGN * PAGES_ALIGN;
  x->set_bytes = (size_t)(r->set_pages * x->page_bytes);
  if (!(x->keys = calloc(x->set_bytes, 1))) return no_memory(r);
  for (size_t i = 0; i < sizeof codes; i++) codes[i] = mlaf_e4m3_encode(false, SIZE * (double)mlaf_rng_normal(&rng));
  for (int64_t p = 0; p < r->set_pages; p++) {
    uint8_t *at = x->keys + p * x->page_bytes;
    for (int64_t i = 0; i < page * COLUMNS; i++) at[i] = codes[mlaf_rng_below(&rng, sizeof codes)];
    for (int64_t i = 0; i < page; i++) {
      const float scale = ldexpf(1, -5 - (int)mlaf_rng_below(&rng, 2));
      memcpy(at + page * COLUMNS + 4 * i, &scale, sizeof scale);
    }
  }
  return MLAF_OK;
}

mlaf_status layer_index_open(layer_rig *r) {
  void *cache = NULL;
  if (!r->desc.index_heads) return MLAF_OK;
  mlaf_status st = make_weights(r);
  if (!st) st = make_keys(r);
  if (!st) st = layer_alloc(r, r->index.set_bytes * (size_t)r->sets, &cache);
  r->index.cache = cache;
  return st;
}

mlaf_status layer_index_refill(layer_rig *r) {
  const layer_indexer *x = &r->index;
  mlaf_status st = MLAF_OK;
  for (int i = 0; !st && x->cache && i < r->sets; i++)
    st = mlaf_ops(r->dev)->mem_write(r->dev, x->cache + x->set_bytes * (size_t)i, x->keys, x->set_bytes, r->env->err);
  return st;
}

size_t layer_index_joined(const layer_rig *r) {
  return r->desc.index_heads && !r->desc.weights ? (size_t)((COLUMNS + r->desc.index_heads) * (int64_t)r->form.hidden) * 2 : 0;
}

mlaf_status layer_index_copy(layer_rig *r, int set) {
  int64_t e[LAYER_INDEX_TENSORS][2];
  char *behind = r->index.behind[set];
  mlaf_status st = MLAF_OK;
  extents(r, e);
  for (int i = 0; !st && r->desc.index_heads && i < LAYER_INDEX_TENSORS; i++) {
    const size_t bytes = (size_t)(e[i][0] * e[i][1]) * (e[i][0] > 1 ? sizeof(uint16_t) : sizeof(float));
    if (behind && (i == 1 || i == 2)) r->index.device[set][i] = behind, behind += bytes;
    else st = layer_alloc(r, bytes, &r->index.device[set][i]);
    if (!st) st = mlaf_ops(r->dev)->mem_write(r->dev, r->index.device[set][i], r->index.tensors[i], bytes, r->env->err);
  }
  return st;
}

size_t layer_index_list(const layer_rig *r, int set, mlaf_layer_weight out[LAYER_INDEX_TENSORS]) {
  static const char *const names[LAYER_INDEX_TENSORS] = {"indexer.wq_b.weight", "indexer.wk.weight",
                                                         "indexer.weights_proj.weight", "indexer.k_norm.weight",
                                                         "indexer.k_norm.bias"};
  int64_t e[LAYER_INDEX_TENSORS][2];
  extents(r, e);
  for (int i = 0; r->desc.index_heads && i < LAYER_INDEX_TENSORS; i++)
    out[i] = (mlaf_layer_weight){names[i], r->index.device[set][i], e[i][0], e[i][1], 0};
  return r->desc.index_heads ? LAYER_INDEX_TENSORS : 0;
}

void layer_index_close(layer_rig *r) {
  for (int i = 0; i < LAYER_INDEX_TENSORS; i++) free(r->index.tensors[i]);
  free(r->index.keys);
}
