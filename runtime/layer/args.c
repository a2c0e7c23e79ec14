/* One call: its checks, its workspace, and each stage's arguments. */
#include "layer/inside.h"
#include "ops/mla_decode/block_tables.h"

enum { ALIGN = 16 };
static const int64_t STRIDE_MOST = INT64_C(1) << 39; /* elements */

static int64_t or_else(int64_t x, int64_t otherwise) { return x ? x : otherwise; }
/* No pointer arithmetic on what a caller may have got wrong. */
static void *behind(const void *p, size_t bytes) { return p ? (void *)((uintptr_t)p + bytes) : NULL; }

const mlaf_layer_args *layer_args_take(const mlaf_layer_args *args, mlaf_whole_args *whole, mlaf_err *err) {
  static const mlaf_calls as_args = {.args_name = "mlaf_layer_args",
                                     .args_init = "MLAF_LAYER_ARGS_INIT",
                                     .args_size = sizeof(mlaf_layer_args),
                                     .args_first = offsetof(mlaf_layer_args, schedule_words)};
  _Static_assert(sizeof(mlaf_layer_args) <= MLAF_ARGS_MAX && sizeof(mlaf_layer_desc) <= MLAF_ARGS_MAX, "a copy has room");
  if (args) return mlaf_args_take(&as_args, args, whole, err);
  mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_args is NULL");
  return NULL;
}

/* Bytes of lists that are made of a call's tables. */
static size_t lists_of(const layer_shape *s, const mlaf_layer_args *a) {
  const mlaf_problem p = {.page_size = s->d.page_size};
  const mlaf_execute_args tables = {.batch = a->batch,
                                    .block_table = a->block_table,
                                    .block_table_width = a->block_table_width,
                                    .kv_indices_size = a->kv_indices_size};
  return a->schedule || layer_lists(s) || !(a->block_table || a->page_rows) ? 0 : mlaf_block_tables_size(&p, &tables);
}

layer_sizes layer_sizes_of(const layer_shape *s, const mlaf_layer_args *a) {
  const chunked_head *many = chunked_head_of(a->schedule);
  return (layer_sizes){.form = many ? FORM_PREFILL : FORM_ABSORBED,
                       .tokens = many ? many->tokens : a->tokens ? a->tokens : (int64_t)a->batch * a->q_len,
                       .batch = many ? many->batch : a->batch,
                       .q_len = a->q_len,
                       .ctx = a->ctx ? a->ctx : s->d.ctx_max,
                       .lists = lists_of(s, a),
                       .scored = layer_indexes(s) ? layer_index_scored(s, a) : 0};
}

/* --- checks --- */

static mlaf_status check_many(const layer_shape *s, const mlaf_layer_args *a, mlaf_err *err) {
  const chunked_head *h = chunked_head_of(a->schedule);
  if (!chunked_is_whole(a->schedule, a->schedule_words) || h->most_keys > s->d.prefill_chunk)
    return mlaf_fail(err, MLAF_E_ARG, "schedule is none that mlaf_layer_prefill_schedule wrote for such a layer");
  if (h->tokens > s->d.prefill_tokens)
    return mlaf_fail(err, MLAF_E_ARG, "the schedule has %d new tokens, must be 0..%d, the layer's prefill_tokens", h->tokens,
                     s->d.prefill_tokens);
  if ((a->tokens && a->tokens != h->tokens) || (a->batch && a->batch != h->batch))
    return mlaf_fail(err, MLAF_E_ARG, "tokens is %lld and batch %d, must be 0 or as in the schedule, %d and %d",
                     (long long)a->tokens, a->batch, h->tokens, h->batch);
  return MLAF_OK;
}

static mlaf_status check_few(const layer_shape *s, const mlaf_layer_args *a, mlaf_err *err) {
  const int32_t most = layer_q_len_most(s);
  if (a->batch < 0 || a->batch > s->d.batch_max)
    return mlaf_fail(err, MLAF_E_ARG, "batch is %d, must be 0..%d, the layer's batch_max", a->batch, s->d.batch_max);
  if (a->q_len < 1 || a->q_len > most)
    return mlaf_fail(err, MLAF_E_ARG, "q_len is %d, must be 1..%d, the largest of the layer's q_lens", a->q_len, most);
  if (a->tokens < 0 || a->tokens > (int64_t)a->batch * a->q_len)
    return mlaf_fail(err, MLAF_E_ARG, "tokens is %lld, must be 0..%lld (batch %d x q_len %d)", (long long)a->tokens,
                     (long long)a->batch * a->q_len, a->batch, a->q_len);
  return MLAF_OK;
}

/* Pages that lie apart: where one begins is counted in numbers, too. */
static mlaf_status check_pages(const layer_shape *s, const mlaf_layer_args *a, int64_t row, mlaf_err *err) {
  const int64_t latent = or_else(a->cache_row_stride, row), rope = a->cache_kpe_row_stride, most = latent > rope ? latent : rope;
  const mlaf_cache_format *f = layer_format(s);
  if (f->aside) /* which has pages of so many rows and what lies behind them */
    return mlaf_format_check_pages(f, s->d.rank, s->d.rope, s->d.page_size, a->cache_row_stride, a->page_rows * row, err);
  if (a->page_rows && (a->page_rows < s->d.page_size || a->page_rows % s->d.page_size || a->page_rows > INT32_MAX))
    return mlaf_fail(err, MLAF_E_ARG, "page_rows is %lld, must be 0 or a multiple of page_size, %d", (long long)a->page_rows,
                     s->d.page_size);
  if (a->page_rows <= STRIDE_MOST / most) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "page_rows is %lld, and rows lie %lld apart: a page may be 2^39 long",
                   (long long)a->page_rows, (long long)most);
}

static mlaf_status check_strides(const layer_shape *s, const mlaf_layer_args *a, mlaf_err *err) {
  const mlaf_layer_desc *d = &s->d;
  const int64_t row = layer_cache_row(s);
  const struct {
    const char *name;
    int64_t value, least, multiple;
  } list[] = {
      {"hidden_token_stride", a->hidden_token_stride, d->hidden, ALIGN / LAYER_ELEMENT},
      {"out_token_stride", a->out_token_stride, d->hidden, ALIGN / LAYER_ELEMENT},
      {"residual_token_stride", a->residual_token_stride, d->hidden, ALIGN / LAYER_ELEMENT},
      {"cache_row_stride", a->cache_row_stride, row, ALIGN / layer_format(s)->unit},
      {"cache_kpe_row_stride", a->cache_kpe_row_stride, layer_kpe_row(s), ALIGN / layer_format(s)->unit},
      {"block_table_stride", a->block_table_stride, a->block_table_width, 1},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    const int64_t x = list[i].value;
    if (!x || (x >= list[i].least && x <= STRIDE_MOST && x % list[i].multiple == 0)) continue;
    return mlaf_fail(err, MLAF_E_ARG, "%s is %lld, must be 0 or a multiple of %lld from %lld on", list[i].name, (long long)x,
                     (long long)list[i].multiple, (long long)list[i].least);
  }
  return check_pages(s, a, row, err);
}

mlaf_status layer_check_sizes(const layer_shape *s, const mlaf_layer_args *a, mlaf_err *err) {
  if (a->flags & ~(uint32_t)MLAF_LAYER_SAME_TABLES || a->reserved)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_args: flags is %#x, must be 0 or MLAF_LAYER_SAME_TABLES; reserved is %d, must "
                     "be 0", a->flags, a->reserved);
  mlaf_status st = a->schedule ? check_many(s, a, err) : check_few(s, a, err);
  if (st) return st;
  if (a->num_pages < 0 || (int64_t)a->num_pages * s->d.page_size > UINT32_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "num_pages is %d: with %d tokens a page the cache must have less than 2^32 rows",
                     a->num_pages, s->d.page_size);
  if (a->ctx < 0) return mlaf_fail(err, MLAF_E_ARG, "ctx is %d, must not be negative", a->ctx);
  st = check_strides(s, a, err);
  return st ? st : layer_index_check_sizes(s, a, err);
}

typedef struct wanted {
  const char *name;
  const void *at;
  uintptr_t align;
  bool needed, known;
} wanted;

static mlaf_status check_pointers(const layer_shape *s, const mlaf_layer_args *a, mlaf_err *err) {
  const bool residual = s->d.flags & MLAF_LAYER_RESIDUAL, second = layer_kpe_row(s) > 0;
  const bool pages = a->num_pages, many = a->schedule, index = layer_indexes(s), lists = layer_lists(s);
  const bool table = a->block_table || lists;
  const wanted list[] = {
      {"hidden", a->hidden, ALIGN, true, true},
      {"out", a->out, ALIGN, true, true},
      {"residual", a->residual, ALIGN, residual, residual},
      {"positions", a->positions, sizeof(int64_t), layer_rotates(s) || layer_scales(s), true},
      {"slots", a->slots, sizeof(int64_t), true, true},
      {"cache", a->cache, ALIGN, pages, true},
      {"cache_kpe", a->cache_kpe, ALIGN, pages && second, second},
      {"block_table", a->block_table, sizeof(int32_t), index, true},
      {"seq_lens", a->seq_lens, sizeof(int32_t), table && !many && (index || !lists), table || many},
      {"kv_indptr", a->kv_indptr, sizeof(int32_t), !table, !table},
      {"kv_indices", a->kv_indices, sizeof(int32_t), !table && pages, !table},
      {"kv_last_page_lens", a->kv_last_page_lens, sizeof(int32_t), !table && !many, !table || many},
      {"qo_indptr", a->qo_indptr, sizeof(int32_t), !table && !many, !lists},
      {"schedule_device", a->schedule_device, sizeof(int32_t), many, many},
      {"index_cache", a->index_cache, ALIGN, index && pages, index},
      {"indices", a->indices, sizeof(int32_t), lists && !index, lists},
  };
  if (index && (!a->block_table || a->qo_indptr))
    return mlaf_fail(err, MLAF_E_ARG, "block_table is %p and qo_indptr %p: a layer with an indexer takes a block table and no "
                     "qo_indptr, requests have tokens / batch query tokens each", (const void *)a->block_table,
                     (const void *)a->qo_indptr);
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    if (!list[i].at && list[i].needed) return mlaf_fail(err, MLAF_E_ARG, "%s is NULL", list[i].name);
    if (list[i].at && !list[i].known)
      return mlaf_fail(err, MLAF_E_ARG, "%s is %p, and this call has none: it must be NULL", list[i].name, list[i].at);
    if ((uintptr_t)list[i].at % list[i].align)
      return mlaf_fail(err, MLAF_E_ARG, "%s is %p, must be %d-byte aligned", list[i].name, list[i].at, (int)list[i].align);
  }
  return MLAF_OK;
}

static mlaf_status check_tables(const layer_shape *s, const mlaf_layer_args *a, int64_t tokens, mlaf_err *err) {
  if (a->block_table && a->block_table_width < 1)
    return mlaf_fail(err, MLAF_E_ARG, "block_table_width is %d, must be 1 or more", a->block_table_width);
  if (!a->schedule && a->block_table && !a->qo_indptr && tokens % a->batch)
    return mlaf_fail(err, MLAF_E_ARG, "tokens is %lld, no multiple of batch, %d: %s", (long long)tokens, a->batch,
                     layer_indexes(s) ? "requests of a layer with an indexer have equally many query tokens"
                                      : "then qo_indptr is wanted");
  return MLAF_OK;
}

static mlaf_status check_workspace(const mlaf_layer *layer, const mlaf_layer_args *a, mlaf_err *err) {
  const size_t need = layer_workspace(layer, a);
  if (need == SIZE_MAX) return mlaf_fail(err, MLAF_E_ARG, "tables of %d requests name more pages than 32 bits count", a->batch);
  if (layer_leaves_workspace_out(a) && !(a->flags & MLAF_LAYER_SAME_TABLES)) return MLAF_OK;
  if (layer_leaves_workspace_out(a))
    return mlaf_fail(err, MLAF_E_ARG, "flags has MLAF_LAYER_SAME_TABLES, and the call no workspace of its own: hand over that of "
                     "the call before, as other calls use the stream's in between");
  if (a->workspace && (uintptr_t)a->workspace % LAYER_ALIGN == 0 && a->workspace_size >= need) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "workspace has %zu bytes at %p, this call needs %zu, %d-byte aligned: "
                   "mlaf_layer_workspace_size tells", a->workspace_size, a->workspace, need, LAYER_ALIGN);
}

mlaf_status layer_check_args(const mlaf_layer *layer, const mlaf_layer_args *a, mlaf_err *err) {
  const layer_shape *s = &layer->shape;
  mlaf_status st = check_pointers(s, a, err);
  if (!st) st = check_tables(s, a, layer_sizes_of(s, a).tokens, err);
  return st ? st : check_workspace(layer, a, err);
}

/* --- the workspace --- */

size_t layer_place(size_t *at, int64_t rows, int64_t row) {
  const size_t here = *at, bytes = (size_t)(rows * row * LAYER_ELEMENT);
  *at = (here + bytes + LAYER_ALIGN - 1) / LAYER_ALIGN * LAYER_ALIGN;
  return here;
}

/* Elements of the largest matrix that a call may make 16 bits. */
static int64_t largest_matrix(const layer_shape *s) {
  static const layer_kind stages[] = {STAGE_QKV_A, STAGE_Q_B, STAGE_O_PROJ}; /* qkv_a holds q_a and kv_a */
  int64_t most = 0;
  for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
    const layer_extent e = layer_matrix(s, stages[i]);
    if (e.rows * e.columns > most) most = e.rows * e.columns;
  }
  return most;
}

layer_places layer_places_of(const layer_shape *s, const layer_sizes *z) {
  const bool few = z->form == FORM_ABSORBED;
  const int64_t rows = z->tokens * s->heads, absorbed = few ? rows : 0, fresh = few ? 0 : z->tokens;
  layer_places p = {.index_k = 0};
  size_t at = z->lists == SIZE_MAX ? 0 : (z->lists + LAYER_ALIGN - 1) / LAYER_ALIGN * LAYER_ALIGN;
  p.c = layer_place(&at, z->tokens, layer_c_row(s));
  p.q = layer_place(&at, rows, layer_q_row(s));
  p.qout = layer_place(&at, absorbed, layer_kv_row(s));
  p.u = layer_place(&at, absorbed, s->d.rank);
  p.kv_b = layer_place(&at, !few && layer_dequantises_kv_b(s) ? layer_kv_b_rows(s) : 0, s->d.rank);
  p.kv = layer_place(&at, fresh * s->heads, s->d.nope + s->d.v);
  p.k_pe = layer_place(&at, fresh, s->d.rope);
  p.o = layer_place(&at, rows, s->d.v);
  if (layer_indexes(s)) layer_index_place(s, z, &at, &p);
  p.w = layer_place(&at, layer_dequantises_weights(s, z->tokens) ? largest_matrix(s) : 0, 1);
  p.scratch = at;
  return p;
}

/* Page lists in place of a block table: only sizes are looked at. */
static void first_form(mlaf_execute_args *a) {
  a->block_table = a->seq_lens = NULL;
  a->page_rows = 0;
}

static size_t workspace_of(const mlaf_layer *layer, layer_kind kind, const mlaf_layer_args *a, const layer_sizes *z) {
  layer_stage_args args;
  const mlaf_plan *plan = layer_plan_of(&layer->shape, &layer->plans, kind, z);
  if (kind == STAGE_PREFILL) return mlaf_chunked_prefill_workspace(layer->plans.prefill, a->schedule);
  layer_fill(layer, kind, a, &args);
  if (kind == STAGE_DECODE && !layer_lists(&layer->shape)) first_form(&args.decode);
  return mlaf_plan_run_workspace(plan, mlaf_plan_op(plan), &args);
}

size_t layer_workspace(const mlaf_layer *layer, const mlaf_layer_args *a) {
  const layer_shape *s = &layer->shape;
  const layer_sizes z = layer_sizes_of(s, a);
  size_t most = 0;
  if (z.lists == SIZE_MAX) return SIZE_MAX;
  for (int i = 0; i < s->n[z.form]; i++) {
    layer_kind parts[LAYER_PARTS];
    const int n = layer_parts_of(s, s->kinds[z.form][i], z.tokens, parts);
    for (int k = 0; k < n; k++) {
      const size_t size = workspace_of(layer, parts[k], a, &z);
      if (size > most) most = size;
    }
  }
  return most == SIZE_MAX ? most : layer_places_of(s, &z).scratch + most;
}

/* --- stages --- */

void layer_fill_w(const layer_tensor *w, mlaf_projection_args *out) {
  out->w = w->data;
  out->w_row_stride = w->stride;
  out->w_scale = w->scale;
  out->w_scale_row_stride = w->scale_stride;
  out->w_scale_row = w->scale_row;
  out->w_scale_column = w->scale_column;
}

static void fill_a(const mlaf_layer *l, layer_kind kind, const mlaf_layer_args *a, char *c, mlaf_projection_args *out) {
  const layer_shape *s = &l->shape;
  out->x = a->hidden;
  out->x_token_stride = or_else(a->hidden_token_stride, s->d.hidden);
  layer_fill_w(&l->weights.matrices[layer_matrix_of(kind)], out);
  out->y = kind == STAGE_KV_A ? behind(c, (size_t)s->d.q_rank * LAYER_ELEMENT) : c;
  out->y_token_stride = layer_c_row(s);
}

static void fill_q_b(const mlaf_layer *l, const mlaf_layer_args *a, const void *c, void *q, mlaf_projection_args *out) {
  const layer_shape *s = &l->shape;
  const bool low = s->d.q_rank;
  out->x = low ? c : a->hidden;
  out->x_token_stride = low ? layer_c_row(s) : or_else(a->hidden_token_stride, s->d.hidden);
  layer_fill_w(&l->weights.matrices[MATRIX_Q_B], out);
  out->y = q;
  out->norm_weight = l->weights.q_norm;
  out->eps = s->d.eps;
}

static void fill_append(const mlaf_layer *l, const mlaf_layer_args *a, const void *c, void *turned, mlaf_append_args *out) {
  const layer_shape *s = &l->shape;
  const mlaf_layer_desc *d = &s->d;
  const int64_t row = or_else(a->cache_row_stride, layer_cache_row(s));
  const int64_t kpe_row = layer_kpe_row(s) ? or_else(a->cache_kpe_row_stride, layer_kpe_row(s)) : 0;
  out->ckv = behind(c, (size_t)d->q_rank * LAYER_ELEMENT);
  out->kpe = d->rope ? behind(c, (size_t)(d->q_rank + d->rank) * LAYER_ELEMENT) : NULL;
  out->ckv_row_stride = out->kpe_row_stride = layer_c_row(s);
  out->norm_weight = l->weights.kv_norm;
  out->eps = d->eps;
  out->slots = a->slots;
  out->cache = a->cache;
  out->cache_row_stride = row;
  out->cache_kpe = kpe_row ? a->cache_kpe : NULL;
  out->cache_kpe_row_stride = kpe_row;
  out->num_slots = (int64_t)a->num_pages * d->page_size;
  if (a->page_rows || layer_format(s)->aside) {
    out->cache_page_stride = a->page_rows * row;
    out->cache_kpe_page_stride = a->page_rows * kpe_row;
    out->page_tokens = d->page_size;
  }
  if (turned) { /* rope columns of queries, in place */
    out->q_pe = out->q_pe_out = behind(turned, (size_t)d->nope * LAYER_ELEMENT);
    out->q_pe_head_stride = out->q_pe_out_head_stride = layer_q_row(s);
    out->q_pe_token_stride = out->q_pe_out_token_stride = (int64_t)s->heads * layer_q_row(s);
  }
  out->scale_at = d->cache_scale;
  out->flags = layer_format(s)->scale == MLAF_SCALE_STORED ? MLAF_APPEND_POWER_OF_TWO : 0;
  if (!layer_rotates(s) || (layer_rotates_on_read(s) && !turned)) return;
  out->flags |= d->flags & MLAF_LAYER_TABLE_16 ? MLAF_APPEND_TABLE_16 : 0;
  out->positions = a->positions;
  out->cos = d->cos;
  out->sin = d->sin;
  out->table_row_stride = d->table_row_stride;
  out->table_rows = d->table_rows;
}

static void fill_scale(const mlaf_layer *l, const mlaf_layer_args *a, void *q, mlaf_q_scale_args *out) {
  out->x = q;
  out->positions = a->positions;
  out->beta = l->shape.d.q_scale_beta;
  out->original = l->shape.d.q_scale_original;
}

void layer_fill_dequant(const layer_tensor *w, int64_t rows, void *y, mlaf_dequant_args *out) {
  *out = (mlaf_dequant_args)MLAF_DEQUANT_ARGS_INIT;
  out->rows = rows;
  out->w = w->data;
  out->w_row_stride = w->stride;
  out->w_scale = w->scale;
  out->w_scale_row_stride = w->scale_stride;
  out->w_scale_row = w->scale_row;
  out->w_scale_column = w->scale_column;
  out->y = y;
}

/* The rows from `first` on of each head of kv_b, or of its copy of 16 bits. */
static void fill_kv_b(const mlaf_layer *l, bool copy, int64_t first, mlaf_projection_args *out) {
  const layer_tensor *w = copy ? &l->weights.kv_b_copy : &l->weights.kv_b;
  layer_fill_w(w, out);
  out->w = behind(w->data, (size_t)(first * w->stride) * (size_t)(copy ? LAYER_ELEMENT : layer_kv_b_bytes(&l->shape)));
  out->w_scale_row = w->scale ? w->scale_row + first : 0;
  out->w_head_stride = (l->shape.d.nope + l->shape.d.v) * w->stride;
}

static void fill_absorb(const mlaf_layer *l, const mlaf_layer_args *a, bool copy, const void *q, void *qout,
                        mlaf_projection_args *out) {
  const mlaf_layer_desc *d = &l->shape.d;
  fill_kv_b(l, copy, 0, out);
  out->x = q;
  out->y = qout;
  if (!layer_rotates(&l->shape)) return;
  out->flags = d->flags & MLAF_LAYER_TABLE_16 ? MLAF_PROJECTION_TABLE_16 : 0;
  out->positions = a->positions;
  out->cos = d->cos;
  out->sin = d->sin;
  out->table_row_stride = d->table_row_stride;
  out->table_rows = d->table_rows;
}

static void fill_decode(const mlaf_layer *l, const mlaf_layer_args *a, const layer_sizes *z, mlaf_execute_args *out) {
  const mlaf_layer_desc *d = &l->shape.d;
  const bool second = layer_kpe_row(&l->shape) > 0;
  out->batch = z->batch;
  out->total_q = z->tokens;
  out->ckv = a->cache;
  out->kpe = second ? a->cache_kpe : NULL;
  out->ckv_row_stride = a->cache_row_stride;
  out->kpe_row_stride = second ? a->cache_kpe_row_stride : 0;
  out->kv_scale = d->cache_scale;
  out->num_pages = a->num_pages;
  out->scale = d->scale;
  out->qo_indptr = a->qo_indptr;
  if (layer_format(&l->shape)->aside) out->ckv_page_stride = a->page_rows * layer_cache_row(&l->shape);
  else out->page_rows = a->page_rows;
  out->rope_table = layer_rotates_on_read(&l->shape) ? d->cos : NULL;
  out->rope_rows = layer_rotates_on_read(&l->shape) ? (int32_t)d->table_rows : 0;
  if (a->block_table) {
    out->block_table = a->block_table;
    out->seq_lens = a->seq_lens;
    out->block_table_width = a->block_table_width;
    out->block_table_stride = or_else(a->block_table_stride, a->block_table_width);
    return;
  }
  out->kv_indptr = a->kv_indptr;
  out->kv_indices = a->kv_indices;
  out->kv_last_page_lens = a->kv_last_page_lens;
  out->kv_indices_size = a->kv_indices_size;
}

/* Attention that makes values, too: W_UV of each head, from kv_b. */
static void fill_values(const mlaf_layer *l, void *values, mlaf_execute_args *out) {
  mlaf_projection_args w;
  fill_kv_b(l, false, l->shape.d.nope, &w);
  out->w_v = w.w;
  out->w_v_row_stride = w.w_row_stride;
  out->w_v_head_stride = w.w_head_stride;
  out->values = values;
  out->o = NULL;
}

/* Cache, pages and W. kv_b: the copy of 16 bits, read where the layer's own has 8. */
static void fill_cached(const mlaf_layer *l, const mlaf_layer_args *a, const void *kv_b, mlaf_gather_kv_b_args *out) {
  const layer_shape *s = &l->shape;
  const mlaf_layer_desc *d = &s->d;
  const bool second = layer_kpe_row(s) > 0;
  const int64_t row = or_else(a->cache_row_stride, layer_cache_row(s));
  out->cache = a->cache;
  out->cache_kpe = second ? a->cache_kpe : NULL;
  out->cache_kpe_row_stride = second ? a->cache_kpe_row_stride : 0;
  out->cache_row_stride = row;
  out->scale_at = d->cache_scale;
  out->cache_page_stride = layer_format(s)->aside ? a->page_rows * row : or_else(a->page_rows, d->page_size) * row;
  out->num_pages = a->num_pages;
  out->table = a->block_table ? a->block_table : a->kv_indices;
  out->table_width = a->block_table ? a->block_table_width : 0;
  out->table_stride = a->block_table ? or_else(a->block_table_stride, a->block_table_width) : 0;
  out->table_indptr = a->block_table ? NULL : a->kv_indptr;
  out->w = layer_dequantises_kv_b(s) ? kv_b : l->weights.kv_b.data;
  out->w_row_stride = layer_dequantises_kv_b(s) ? d->rank : l->weights.kv_b.stride;
  out->w_head_stride = (d->nope + d->v) * out->w_row_stride;
  if (!layer_rotates_on_read(s)) return;
  out->rope_table = d->cos;
  out->rope_rows = d->table_rows;
}

static void fill_gather(const mlaf_layer *l, const mlaf_layer_args *a, const layer_places *p, mlaf_gather_kv_b_args *out) {
  const chunked_head *h = chunked_head_of(a->schedule);
  fill_cached(l, a, behind(a->workspace, p->kv_b), out);
  out->batch = h->batch;
  out->page_tokens = l->shape.d.page_size;
  out->tokens = h->tokens;
  out->cu_seqlens = behind(a->schedule_device, (size_t)h->cu_new * sizeof(int32_t));
  out->seq_starts = behind(a->schedule_device, (size_t)h->cached * sizeof(int32_t));
  out->k = behind(a->workspace, p->kv);
  out->k_pe = l->shape.d.rope ? behind(a->workspace, p->k_pe) : NULL;
}

void layer_fill_prefill(const mlaf_layer *l, const mlaf_layer_args *a, mlaf_chunked_prefill_args *out) {
  const mlaf_layer_desc *d = &l->shape.d;
  const layer_sizes z = layer_sizes_of(&l->shape, a);
  const layer_places p = layer_places_of(&l->shape, &z);
  const int64_t head = d->nope + d->v;
  *out = (mlaf_chunked_prefill_args)MLAF_CHUNKED_PREFILL_ARGS_INIT;
  out->schedule = a->schedule;
  out->schedule_words = a->schedule_words;
  out->schedule_device = a->schedule_device;
  mlaf_prefill_args *fresh = &out->fresh;
  fresh->scale = d->scale;
  fresh->q = behind(a->workspace, p.q);
  fresh->k = behind(a->workspace, p.kv);
  fresh->v = behind(fresh->k, (size_t)d->nope * LAYER_ELEMENT);
  fresh->k_head_stride = fresh->v_head_stride = head;
  fresh->k_token_stride = fresh->v_token_stride = l->shape.heads * head;
  fresh->k_pe = d->rope ? behind(a->workspace, p.k_pe) : NULL;
  fresh->o = behind(a->workspace, p.o);
  fill_cached(l, a, behind(a->workspace, p.kv_b), &out->cached);
  out->workspace = behind(a->workspace, p.scratch);
  out->workspace_size = a->workspace_size > p.scratch ? a->workspace_size - p.scratch : 0;
}

static void fill_o_proj(const mlaf_layer *l, const mlaf_layer_args *a, const void *o, mlaf_projection_args *out) {
  out->x = o;
  layer_fill_w(&l->weights.matrices[MATRIX_O], out);
  out->y = a->out;
  out->y_token_stride = a->out_token_stride;
  out->residual = a->residual;
  out->residual_token_stride = a->residual_token_stride;
}

/* Hands the scratch part of the workspace to an operation that takes a workspace. */
static void give_scratch(const mlaf_calls *calls, const mlaf_layer_args *a, size_t at, layer_stage_args *out) {
  void *const scratch = behind(a->workspace, at);
  const size_t size = a->workspace_size > at ? a->workspace_size - at : 0;
  if (calls->workspace_at == calls->workspace_size_at) return;
  memcpy((char *)out + calls->workspace_at, &scratch, sizeof scratch);
  memcpy((char *)out + calls->workspace_size_at, &size, sizeof size);
}

void layer_fill(const mlaf_layer *l, layer_kind kind, const mlaf_layer_args *a, layer_stage_args *out) {
  const layer_sizes z = layer_sizes_of(&l->shape, a);
  const layer_places p = layer_places_of(&l->shape, &z);
  char *const c = behind(a->workspace, p.c), *const q = behind(a->workspace, p.q), *const qout = behind(a->workspace, p.qout);
  char *const u = behind(a->workspace, p.u), *const o = behind(a->workspace, p.o);
  const layer_kind stage = layer_stage_of(kind);
  if (kind == STAGE_DECODE) {
    out->decode = (mlaf_execute_args)MLAF_EXECUTE_ARGS_INIT;
    out->decode.q = qout;
    out->decode.o = u;
    fill_decode(l, a, &z, &out->decode);
    if (layer_lists(&l->shape)) layer_index_fill_decode(l, a, &z, &p, &out->decode);
    if (layer_fuses_v_out(&l->shape, &l->plans, &z)) fill_values(l, o, &out->decode);
  } else if (layer_is_index(kind)) {
    layer_index_fill(l, kind, a, &z, &p, out);
  } else if (kind == STAGE_APPEND || kind == STAGE_APPEND_ROPE_Q) {
    out->append = (mlaf_append_args)MLAF_APPEND_ARGS_INIT;
    out->append.tokens = z.tokens;
    fill_append(l, a, c, kind == STAGE_APPEND_ROPE_Q ? q : NULL, &out->append);
  } else if (kind == STAGE_Q_SCALE) {
    out->scale = (mlaf_q_scale_args)MLAF_Q_SCALE_ARGS_INIT;
    out->scale.tokens = z.tokens;
    fill_scale(l, a, q, &out->scale);
  } else if (kind == STAGE_DEQUANT_KV_B) {
    layer_fill_dequant(&l->weights.kv_b, layer_kv_b_rows(&l->shape), behind(a->workspace, p.kv_b), &out->dequant);
  } else if (layer_is_dequant(kind)) {
    layer_fill_dequant(&l->weights.matrices[layer_matrix_of(stage)], layer_matrix(&l->shape, stage).rows,
                       behind(a->workspace, p.w), &out->dequant);
  } else if (kind == STAGE_GATHER) {
    out->gather = (mlaf_gather_kv_b_args)MLAF_GATHER_KV_B_ARGS_INIT;
    fill_gather(l, a, &p, &out->gather);
  } else {
    layer_kind parts[LAYER_PARTS];
    layer_parts_of(&l->shape, kind, z.tokens, parts);
    const bool beside = parts[0] == STAGE_Q_B_APPEND || parts[0] == STAGE_Q_B_APPEND_ABSORB;
    if (beside) out->q_b = (mlaf_q_b_args)MLAF_Q_B_ARGS_INIT;
    else out->projection = (mlaf_projection_args)MLAF_PROJECTION_ARGS_INIT;
    out->projection.tokens = z.tokens;
    if (beside) {
      out->q_b.append.tokens = z.tokens;
      fill_append(l, a, c, NULL, &out->q_b.append);
    }
    if (parts[0] == STAGE_Q_B_APPEND_ABSORB) {
      fill_q_b(l, a, c, NULL, &out->projection);
      out->q_b.absorb.tokens = z.tokens;
      fill_absorb(l, a, false, NULL, qout, &out->q_b.absorb);
    } else if (beside || layer_stage_of(parts[0]) == STAGE_Q_B) fill_q_b(l, a, c, q, &out->projection);
    else if (stage == STAGE_Q_ABSORB) fill_absorb(l, a, kind != stage, q, qout, &out->projection);
    else if (stage == STAGE_V_OUT) {
      fill_kv_b(l, kind != stage, l->shape.d.nope, &out->projection);
      out->projection.x = u;
      out->projection.y = o;
    } else if (stage == STAGE_O_PROJ) fill_o_proj(l, a, o, &out->projection);
    else fill_a(l, stage, a, c, &out->projection);
    if (kind >= STAGE_PRODUCT_16 && layer_has_matrix(&l->shape, layer_matrix_of(stage))) {
      const layer_tensor made = {.data = behind(a->workspace, p.w), .stride = layer_matrix(&l->shape, stage).columns};
      const int i = layer_matrix_of(stage);
      const bool kept = layer_keeps(&l->shape, layer_matrices[i].kept, z.tokens);
      layer_fill_w(kept ? &l->weights.copies[i] : &made, &out->projection);
    }
  }
  give_scratch(mlaf_plan_op(layer_plan_of(&l->shape, &l->plans, kind, &z))->calls, a, p.scratch, out);
}
