/* The indexer of a layer, or the lists of another one's: their part of the description and of a call, an indexer's tensors in the
 * workspace, its stages' arguments. */
#include "layer/inside.h"

enum { ALIGN = 16, SCORED_MOST = 1 << 24, SCORED_MULTIPLE = 4 };
static const uint32_t INDEX_FLAGS = MLAF_LAYER_INDEX_16 | MLAF_LAYER_INDEX_HADAMARD | MLAF_LAYER_INDEX_FP32_SCALES;

/* --- checks --- */

/* The rest of the layer is as lists want it. */
static mlaf_status check_layer(const mlaf_layer_desc *d, mlaf_err *err) {
  if (d->flags & MLAF_LAYER_ROPE_ON_READ)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_desc: flags is %#x, has MLAF_LAYER_ROPE_ON_READ: with index_topk %d rope "
                     "columns are wanted that are rotated before they are cached", d->flags, d->index_topk);
  if (d->prefill_tokens)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_desc: prefill_tokens is %d, must be 0 with index_topk %d: prompts of such "
                     "layers are calls of up to 16 query tokens a request", d->prefill_tokens, d->index_topk);
  return MLAF_OK;
}

/* And as an indexer of its own wants it. */
static mlaf_status check_indexed(const mlaf_layer_desc *d, mlaf_err *err) {
  if (!(isfinite(d->index_eps) && d->index_eps >= 0))
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_desc: index_eps is %g, must be finite and not negative",
                     (double)d->index_eps);
  if (!d->q_rank)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_desc: q_rank is 0, and index_heads %d: an indexer's queries are made of "
                     "low-rank ones", d->index_heads);
  if (d->rope != LAYER_INDEX_ROPE || d->rope_style == MLAF_LAYER_UNROTATED)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_desc: rope is %d and rope_style %d: with index_heads %d %d rope columns are "
                     "wanted that are rotated", d->rope, d->rope_style, d->index_heads, LAYER_INDEX_ROPE);
  return MLAF_OK;
}

mlaf_status layer_index_check_desc(const mlaf_layer_desc *d, int32_t q_len_most, mlaf_err *err) {
  const bool indexed = d->index_heads || d->flags & INDEX_FLAGS;
  if (!indexed && !d->index_topk) return MLAF_OK;
  if (indexed && d->index_heads != 32 && d->index_heads != 64)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_desc: index_heads is %d, must be 32 or 64, or 0 where lists are another "
                     "layer's, without MLAF_LAYER_INDEX_ flags then (they are %#x)", d->index_heads, d->flags & INDEX_FLAGS);
  if (d->index_topk < 1)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_desc: index_topk is %d, must be 1 or more with index_heads %d and "
                     "MLAF_LAYER_INDEX_ flags %#x", d->index_topk, d->index_heads, d->flags & INDEX_FLAGS);
  if ((int64_t)d->batch_max * q_len_most * d->index_topk > INT32_MAX || (int64_t)d->batch_max * q_len_most > UINT16_MAX + 1)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_desc: batch_max is %d: with %d query tokens a request and index_topk %d that "
                     "is more than 65536 lists, or 2^31 entries of lists", d->batch_max, q_len_most, d->index_topk);
  const mlaf_status st = indexed ? check_indexed(d, err) : MLAF_OK;
  return st ? st : check_layer(d, err);
}

static int64_t page_bytes(const layer_shape *s) { return (int64_t)LAYER_INDEX_TOKEN * s->d.page_size; }

mlaf_status layer_index_check_sizes(const layer_shape *s, const mlaf_layer_args *a, mlaf_err *err) {
  const int64_t stride = a->index_page_stride ? a->index_page_stride : page_bytes(s);
  if (!layer_indexes(s) && a->index_page_stride)
    return mlaf_fail(err, MLAF_E_ARG, "index_page_stride is %lld, and the layer has no indexer: it must be 0",
                     (long long)a->index_page_stride);
  if (!layer_lists(s)) return MLAF_OK;
  if (layer_indexes(s) && (stride < page_bytes(s) || stride > (INT64_C(1) << 40) || (stride % ALIGN && a->num_pages > 1)))
    return mlaf_fail(err, MLAF_E_ARG, "index_page_stride is %lld: pages of %d tokens must begin at multiples of %d, %lld bytes "
                     "apart or more", (long long)a->index_page_stride, s->d.page_size, ALIGN, (long long)page_bytes(s));
  if ((int64_t)a->num_pages * s->d.page_size > INT32_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "num_pages is %d: with %d tokens a page and lists of rows the cache must have less than "
                     "2^31 rows", a->num_pages, s->d.page_size);
  return MLAF_OK;
}

int64_t layer_index_scored(const layer_shape *s, const mlaf_layer_args *a) {
  const int64_t paged = (int64_t)a->block_table_width * s->d.page_size, most = paged < SCORED_MOST ? paged : SCORED_MOST;
  return most < 1 ? SCORED_MULTIPLE : (most + SCORED_MULTIPLE - 1) / SCORED_MULTIPLE * SCORED_MULTIPLE;
}

/* --- the workspace --- */

void layer_index_place(const layer_shape *s, const layer_sizes *z, size_t *at, layer_places *p) {
  const int64_t heads = s->d.index_heads, words = sizeof(float) / LAYER_ELEMENT;
  p->index_k = layer_place(at, s->index_joined ? 0 : z->tokens, LAYER_INDEX_COLUMNS);
  p->index_w = layer_place(at, s->index_joined ? 0 : z->tokens, heads);
  p->index_q = layer_place(at, z->tokens * heads, LAYER_INDEX_COLUMNS);
  p->q8 = layer_place(at, z->tokens * heads, LAYER_INDEX_COLUMNS / LAYER_ELEMENT);
  p->w8 = layer_place(at, z->tokens * heads, words);
  p->lengths = layer_place(at, z->tokens, words);
  p->chosen = layer_place(at, z->tokens * s->d.index_topk, words);
  p->logits = layer_place(at, z->tokens * z->scored, words);
}

/* --- stages --- */

static void *behind(const void *p, size_t bytes) { return p ? (void *)((uintptr_t)p + bytes) : NULL; }

static void fill_product(const mlaf_layer *l, layer_kind kind, const mlaf_layer_args *a, const layer_places *p,
                         mlaf_projection_args *out) {
  const layer_shape *s = &l->shape;
  const layer_weights *w = &l->weights;
  const bool low = kind == STAGE_INDEX_Q;
  layer_fill_w(low ? &w->index_q : kind == STAGE_INDEX_K ? &w->index_k : &w->index_w, out);
  out->x = low ? behind(a->workspace, p->c) : a->hidden;
  out->x_token_stride = low ? layer_c_row(s) : a->hidden_token_stride ? a->hidden_token_stride : s->d.hidden;
  out->y = behind(a->workspace, low ? p->index_q : kind == STAGE_INDEX_K ? p->index_k : p->index_w);
  out->norm_weight = low ? w->q_norm : NULL;
  out->eps = low ? s->d.eps : 0;
}

static int64_t page_stride(const layer_shape *s, const mlaf_layer_args *a) {
  const int64_t dense = (page_bytes(s) + ALIGN - 1) / ALIGN * ALIGN; /* rounded up only where there is one page */
  return a->index_page_stride ? a->index_page_stride : dense;
}

static int32_t *lists_at(const mlaf_layer_args *a, const layer_places *p) {
  return a->indices ? a->indices : behind(a->workspace, p->chosen);
}

static int32_t q_tokens(const layer_sizes *z) { return (int32_t)(z->tokens / z->batch); }

static void fill_append(const mlaf_layer *l, const mlaf_layer_args *a, const layer_sizes *z, const layer_places *p,
                        mlaf_index_append_args *out) {
  const mlaf_layer_desc *d = &l->shape.d;
  const bool joined = l->shape.index_joined;
  const size_t c = p->c + (size_t)layer_latent_end(&l->shape) * LAYER_ELEMENT;
  out->k = behind(a->workspace, joined ? c : p->index_k);
  out->k_token_stride = joined ? layer_c_row(&l->shape) : 0;
  out->norm_weight = l->weights.index_norm, out->norm_bias = l->weights.index_bias;
  out->eps = d->index_eps;
  out->slots = a->slots, out->positions = a->positions;
  out->cos = d->cos, out->sin = d->sin;
  out->table_row_stride = d->table_row_stride, out->table_rows = d->table_rows;
  out->q = behind(a->workspace, p->index_q);
  out->w = behind(a->workspace, joined ? c + (size_t)LAYER_INDEX_COLUMNS * LAYER_ELEMENT : p->index_w);
  out->w_token_stride = joined ? layer_c_row(&l->shape) : 0;
  out->w_scale = (float)(1 / sqrt((double)LAYER_INDEX_COLUMNS * d->index_heads));
  out->seq_lens = a->seq_lens;
  out->keys = a->index_cache;
  out->scales = behind(a->index_cache, (size_t)LAYER_INDEX_COLUMNS * (size_t)d->page_size);
  out->keys_page_stride = page_stride(&l->shape, a);
  out->scales_page_stride = page_stride(&l->shape, a) / (int64_t)sizeof(float);
  out->num_pages = a->num_pages, out->page_tokens = d->page_size, out->q_tokens = q_tokens(z);
  out->q8 = behind(a->workspace, p->q8);
  out->w8 = behind(a->workspace, p->w8);
  out->lengths = behind(a->workspace, p->lengths);
  out->flags = (d->flags & MLAF_LAYER_TABLE_16 ? MLAF_INDEX_APPEND_TABLE_16 : 0) |
               (d->flags & MLAF_LAYER_INDEX_FP32_SCALES ? 0 : MLAF_INDEX_APPEND_POWER_OF_TWO);
}

static void fill_select(const mlaf_layer *l, const mlaf_layer_args *a, const layer_sizes *z, const layer_places *p,
                        mlaf_index_args *out) {
  const mlaf_layer_desc *d = &l->shape.d;
  out->q = behind(a->workspace, p->q8);
  out->w = behind(a->workspace, p->w8);
  out->cache = a->index_cache;
  out->cache_page_stride = page_stride(&l->shape, a);
  out->block_table = a->block_table;
  out->block_table_request_stride = a->block_table_stride ? a->block_table_stride : a->block_table_width;
  out->table_width = a->block_table_width;
  out->lengths = behind(a->workspace, p->lengths);
  out->indices = lists_at(a, p);
  out->logits = behind(a->workspace, p->logits);
  out->num_pages = a->num_pages, out->page_tokens = d->page_size, out->q_tokens = q_tokens(z);
  out->max_length = z->scored;
  out->topk = d->index_topk;
}

void layer_index_fill(const mlaf_layer *l, layer_kind kind, const mlaf_layer_args *a, const layer_sizes *z, const layer_places *p,
                      layer_stage_args *out) {
  if (kind == STAGE_INDEX_APPEND) {
    out->index_append = (mlaf_index_append_args)MLAF_INDEX_APPEND_ARGS_INIT;
    out->index_append.tokens = z->tokens;
    fill_append(l, a, z, p, &out->index_append);
  } else if (kind == STAGE_INDEX) {
    out->index = (mlaf_index_args)MLAF_INDEX_ARGS_INIT;
    out->index.tokens = z->tokens;
    fill_select(l, a, z, p, &out->index);
  } else {
    out->projection = (mlaf_projection_args)MLAF_PROJECTION_ARGS_INIT;
    out->projection.tokens = z->tokens;
    fill_product(l, kind, a, p, &out->projection);
  }
}

void layer_index_fill_decode(const mlaf_layer *l, const mlaf_layer_args *a, const layer_sizes *z, const layer_places *p,
                             mlaf_execute_args *out) {
  out->batch = (int32_t)z->tokens;
  out->block_table = out->seq_lens = NULL;
  out->block_table_width = 0, out->block_table_stride = 0;
  out->indices = lists_at(a, p);
  out->topk = l->shape.d.index_topk;
  out->page_tokens = l->shape.d.page_size;
}
