/* A layer with random weights, its cache and its calls, on a device. */
#include "rig/rig.h"

mlaf_status layer_failed(rig_env *env, mlaf_status st) {
  char text[MLAF_ERR_MAX];
  if (!st || env->err->status) return st;
  mlaf_ctx_last_message(env->ctx, text, sizeof text);
  return mlaf_fail(env->err, st, "%s", text);
}

mlaf_status rig_go_on(rig_env *env) {
  return env->cancel && atomic_load(env->cancel) ? mlaf_fail(env->err, MLAF_E_CANCELLED, "stopped on request") : MLAF_OK;
}

static mlaf_status no_memory(rig_env *env) { return mlaf_fail(env->err, MLAF_E_NOMEM, "no memory for a layer's data"); }

mlaf_status layer_alloc(layer_rig *r, size_t bytes, void **out) {
  if (!mlaf_room(&r->held, r->n_held, sizeof *r->held)) return no_memory(r->env);
  mlaf_status st = mlaf_ops(r->dev)->mem_alloc(r->dev, bytes, out, r->env->err);
  if (!st) r->held[r->n_held++] = *out;
  return st;
}

static mlaf_status write_to(layer_rig *r, void *to, const void *from, size_t bytes) {
  return bytes ? mlaf_ops(r->dev)->mem_write(r->dev, to, from, bytes, r->env->err) : MLAF_OK;
}

static mlaf_status to_device(layer_rig *r, const void *data, size_t bytes, void **out) {
  mlaf_status st = layer_alloc(r, bytes + 16, out);
  return st ? st : write_to(r, *out, data, bytes);
}

/* --- random numbers --- */

void layer_numbers(const layer_rig *r, int64_t first, int64_t n, uint16_t *out) {
  for (int64_t at = first % LAYER_NUMBERS; n > 0; at = 0) {
    const int64_t part = n < LAYER_NUMBERS - at ? n : LAYER_NUMBERS - at;
    memcpy(out, r->weights->numbers + at, (size_t)part * sizeof *out);
    out += part;
    n -= part;
  }
}

/* --- what the layer is --- */

static const char *const names[LAYER_TENSORS] = {"q_a_proj.weight",          "q_a_layernorm.weight", "q_b_proj.weight",
                                                 "kv_a_proj_with_mqa.weight", "kv_a_layernorm.weight", "kv_b_proj.weight",
                                                 "o_proj.weight"};
static const char *const scale_names[LAYER_TENSORS] = {
    "q_a_proj.weight_scale_inv", NULL, "q_b_proj.weight_scale_inv", "kv_a_proj_with_mqa.weight_scale_inv", NULL,
    "kv_b_proj.weight_scale_inv", "o_proj.weight_scale_inv"};
typedef struct extent {
  int64_t rows, cols;
} extent;

static extent extent_of(const mlaf_form_layer *l, int tensor) {
  const extent list[LAYER_TENSORS] = {{l->q_rank, l->hidden},
                                      {1, l->q_rank},
                                      {(int64_t)l->heads * (l->nope + l->rope), l->q_rank ? l->q_rank : l->hidden},
                                      {l->rank + l->rope, l->hidden},
                                      {1, l->rank},
                                      {(int64_t)l->heads * (l->nope + l->v), l->rank},
                                      {l->hidden, (int64_t)l->heads * l->v}};
  return list[tensor];
}

static bool is_norm(int tensor) { return tensor == 1 || tensor == 4; }

/* A tensor that this layer has. */
static bool has(const layer_rig *r, int tensor) {
  if (is_norm(tensor) && r->setup.flags & MLAF_FORM_NO_NORMS) return false;
  return r->form.q_rank || tensor > 1;
}

static mlaf_rope rotation_of(const layer_setup *s) {
  mlaf_rope rope = s->model->rotation;
  if (!s->plain) return rope;
  rope.factor = 0;
  rope.style = MLAF_ROPE_HALVES;
  return rope;
}

static int32_t longest(const layer_setup *s) {
  int32_t most = 1;
  for (int32_t i = 0; i < s->batch; i++)
    if (s->requests[i].past + s->requests[i].fresh > most) most = s->requests[i].past + s->requests[i].fresh;
  return most;
}

static int32_t most_fresh(const layer_setup *s) {
  int32_t most = 1;
  for (int32_t i = 0; i < s->batch; i++) most = s->requests[i].fresh > most ? s->requests[i].fresh : most;
  return most;
}

void layer_describe(const layer_setup *s, mlaf_layer_desc *d) {
  const mlaf_model *m = s->model;
  const mlaf_rope rope = rotation_of(s);
  const int32_t window = s->prefill ? 1 : s->window < most_fresh(s) ? s->window : most_fresh(s);
  int32_t parts = 0;
  for (int32_t i = 0; i < s->batch; i++) parts += s->prefill ? 1 : (s->requests[i].fresh + s->window - 1) / s->window;
  *d = (mlaf_layer_desc)MLAF_LAYER_DESC_INIT;
  d->hidden = m->hidden, d->heads = m->heads, d->q_rank = m->q_lora_rank, d->rank = m->rank, d->rope = m->rope;
  d->nope = m->qk_nope, d->v = m->v_head, d->rope_style = rope.style, d->tp_size = s->tp;
  d->page_size = s->page_size, d->batch_max = parts, d->q_lens = 1u << (window - 1), d->ctx_max = longest(s);
  d->eps = (float)m->eps, d->scale = (float)mlaf_softmax_scale(m->qk_nope, &rope);
  d->weights = s->encoding;
  d->q_scale_beta = (float)m->q_scale_beta, d->q_scale_original = m->q_scale_original;
  if (s->indexed && m->index_heads && !s->prefill) {
    d->index_heads = m->index_heads, d->index_topk = m->index_topk, d->index_style = m->index_style;
    d->flags |= MLAF_LAYER_INDEX_16;
  }
  for (int32_t i = 0; i < s->batch && s->prefill; i++) d->prefill_tokens += s->requests[i].fresh;
  d->flags |= (s->flags & MLAF_FORM_NO_NORMS ? MLAF_LAYER_NO_NORMS : 0) |
             (s->flags & MLAF_FORM_ROPE_ON_READ ? MLAF_LAYER_ROPE_ON_READ : 0);
}

static void describe(layer_rig *r) {
  const layer_setup *s = &r->setup;
  const mlaf_model *m = s->model;
  layer_describe(s, &r->desc);
  r->row = m->rank + m->rope;
  r->form = (mlaf_form_layer){.flags = s->flags, .hidden = m->hidden, .heads = m->heads / s->tp, .q_rank = m->q_lora_rank,
                              .rank = m->rank, .rope = m->rope, .nope = m->qk_nope, .v = m->v_head,
                              .rope_style = r->desc.rope_style, .eps = m->eps, .scale = r->desc.scale,
                              .q_beta = r->desc.q_scale_beta, .q_original = r->desc.q_scale_original};
}

static mlaf_status make_weights(layer_rig *r) {
  mlaf_rng rng = {r->env->seed};
  mlaf_form_layer *l = &r->form;
  layer_weights *w = r->weights = r->setup.weights ? r->setup.weights : &r->own;
  const bool made = w->model == r->setup.model && w->tp == r->setup.tp && w->encoding == r->setup.encoding;
  if (!made) layer_weights_free(w);
  if (!made) w->numbers = layer_draw(&rng, LAYER_NUMBERS, 0, 1);
  w->encoding = r->setup.encoding;
  for (int i = 0; i < LAYER_TENSORS && !made; i++) {
    const extent e = extent_of(l, i);
    const double in = i == LAYER_TENSORS - 1 ? (double)e.cols * r->setup.tp : (double)e.cols, by = in > 0 ? 1 / sqrt(in) : 0;
    if (is_norm(i)) w->tensors[i] = layer_draw(&rng, e.cols, 1, 0.1);
    else if (w->encoding) layer_draw_8(w, i, e.rows, e.cols, by, &rng);
    else w->tensors[i] = layer_draw(&rng, e.rows * e.cols, 0, by);
    if (!w->tensors[i] || (w->encoding && !is_norm(i) && !w->scales[i])) return no_memory(r->env);
  }
  if (!w->numbers) return no_memory(r->env);
  w->model = r->setup.model;
  w->tp = r->setup.tp;
  l->q_a = w->tensors[0], l->q_norm = w->tensors[1], l->q_b = w->tensors[2], l->kv_a = w->tensors[3];
  l->kv_norm = w->tensors[4], l->kv_b = w->tensors[5], l->o = w->tensors[6];
  return MLAF_OK;
}

static mlaf_status make_table(layer_rig *r) {
  char why[200];
  const mlaf_rope rope = rotation_of(&r->setup);
  const int64_t positions = r->desc.ctx_max;
  const size_t bytes = (size_t)(positions * rope.columns) * sizeof *r->table;
  void *on_device = NULL;
  r->table = malloc(bytes + 1);
  if (!r->table) return no_memory(r->env);
  const bool chain = r->setup.flags & MLAF_FORM_BF16_TURN;
  mlaf_status st = (chain ? mlaf_rope_table_bf16 : mlaf_rope_table)(&rope, positions, r->table, bytes, why, sizeof why);
  if (st) return mlaf_fail(r->env->err, st, "%s", why);
  st = to_device(r, r->table, bytes, &on_device);
  r->form.table = r->table, r->desc.cos = on_device;
  r->form.table_rows = r->desc.table_rows = positions;
  return st;
}

/* --- the cache --- */

static mlaf_status make_pages(layer_rig *r) {
  const layer_setup *s = &r->setup;
  mlaf_rng rng = {r->env->seed + 17};
  r->first_page = malloc((size_t)(s->batch + 1) * sizeof *r->first_page);
  if (!r->first_page) return no_memory(r->env);
  r->first_page[0] = 0;
  for (int32_t i = 0; i < s->batch; i++)
    r->first_page[i + 1] = r->first_page[i] + (s->requests[i].past + s->requests[i].fresh + s->page_size - 1) / s->page_size;
  r->set_pages = r->first_page[s->batch] + 1; /* one that nobody has */
  r->pages = malloc((size_t)r->set_pages * sizeof *r->pages);
  if (!r->pages) return no_memory(r->env);
  for (int64_t i = 0; i < r->set_pages; i++) r->pages[i] = (int32_t)i;
  for (int64_t i = r->set_pages - 1; i > 0 && !s->in_order; i--) {
    const uint32_t k = mlaf_rng_below(&rng, (uint32_t)i + 1);
    const int32_t page = r->pages[i];
    r->pages[i] = r->pages[k];
    r->pages[k] = page;
  }
  return MLAF_OK;
}

int64_t layer_slot(const layer_rig *r, int32_t request, int64_t token) {
  const int32_t page = r->setup.page_size;
  return (int64_t)r->pages[r->first_page[request] + token / page] * page + token % page;
}

mlaf_status layer_rig_refill(layer_rig *r) {
  const int64_t total = r->sets * r->set_pages * r->setup.page_size * r->row;
  mlaf_status st = MLAF_OK;
  for (int64_t at = 0; !st && at < total; at += LAYER_NUMBERS) {
    const int64_t n = total - at < LAYER_NUMBERS ? total - at : LAYER_NUMBERS;
    st = write_to(r, r->cache + at, r->weights->numbers, (size_t)n * sizeof *r->cache);
  }
  return st ? st : layer_index_refill(r);
}

/* --- weights and layers --- */

/* Tensors of one kind, bytes[i] each (0: there is none). q_a and kv_a lie behind each other: one product of both; `more` bytes
 * behind them are left free. */
static mlaf_status copy_all(layer_rig *r, const void *const from[LAYER_TENSORS], const size_t bytes[LAYER_TENSORS],
                            size_t more, char *to[LAYER_TENSORS]) {
  void *joined = NULL;
  mlaf_status st = layer_alloc(r, bytes[0] + bytes[3] + more + 16, &joined);
  for (int i = 0; !st && i < LAYER_TENSORS; i++) {
    void *own = (char *)joined + (i == 3 ? bytes[0] : 0);
    if (!bytes[i]) continue;
    if (i != 0 && i != 3) st = layer_alloc(r, bytes[i], &own);
    if (!st) st = write_to(r, own, from[i], bytes[i]);
    to[i] = own;
  }
  return st;
}

static mlaf_status copy_weights(layer_rig *r, int set) {
  const layer_weights *w = r->weights;
  const void *tensors[LAYER_TENSORS] = {NULL}, *scales[LAYER_TENSORS] = {NULL};
  size_t bytes[LAYER_TENSORS] = {0}, scale_bytes[LAYER_TENSORS] = {0};
  for (int i = 0; i < LAYER_TENSORS; i++) {
    const extent e = extent_of(&r->form, i);
    const bool codes = w->encoding && !is_norm(i);
    if (!has(r, i)) continue;
    tensors[i] = codes ? (const void *)w->codes[i] : w->tensors[i], scales[i] = w->scales[i];
    bytes[i] = (size_t)(e.rows * e.cols) * (codes ? 1 : 2);
    scale_bytes[i] = codes ? (size_t)(layer_blocks(e.rows) * layer_blocks(e.cols)) * sizeof(float) : 0;
  }
  mlaf_status st = copy_all(r, tensors, bytes, layer_index_joined(r), r->device_weights[set]);
  if (!st && layer_index_joined(r)) r->index.behind[set] = r->device_weights[set][3] + bytes[3];
  return st || !w->encoding ? st : copy_all(r, scales, scale_bytes, 0, r->device_scales[set]);
}

mlaf_status layer_rig_make(layer_rig *r, int set, const layer_choice *forced, mlaf_layer **out) {
  mlaf_layer_weight list[2 * LAYER_TENSORS + LAYER_INDEX_TENSORS];
  size_t n = layer_index_list(r, set, list);
  for (int i = 0; i < LAYER_TENSORS; i++) {
    const extent e = extent_of(&r->form, i);
    const bool q_proj = i == 2 && !r->form.q_rank, scaled = r->weights->encoding && !is_norm(i);
    const char *name = q_proj ? "q_proj.weight" : names[i], *scale_name = q_proj ? "q_proj.weight_scale_inv" : scale_names[i];
    if (has(r, i)) list[n++] = (mlaf_layer_weight){name, r->device_weights[set][i], e.rows, e.cols, 0};
    if (has(r, i) && scaled)
      list[n++] = (mlaf_layer_weight){scale_name, r->device_scales[set][i], layer_blocks(e.rows), layer_blocks(e.cols), 0};
  }
  mlaf_plan_opts opts = MLAF_PLAN_OPTS_INIT;
  opts.flags |= r->env->plan_flags;
  mlaf_layer_desc desc = r->desc;
  desc.plan = &opts;
  return layer_failed(r->env, layer_create_as(r->env->ctx, &desc, list, n, forced, out));
}

static mlaf_status make_layer(layer_rig *r, int set) {
  mlaf_status st = copy_weights(r, set);
  if (!st) st = layer_index_copy(r, set);
  return st ? st : layer_rig_make(r, set, NULL, &r->layer[set]);
}

/* --- calls --- */

/* A request's new tokens in parts of a window; of part `k` how many there are, 0: it is behind the last. */
static int32_t share(const layer_setup *s, int32_t request, int k) {
  const int32_t left = s->requests[request].fresh - k * s->window;
  if (s->prefill) return k ? 0 : s->requests[request].fresh;
  return left < 0 ? 0 : left < s->window ? left : s->window;
}

typedef struct lists {
  int32_t batch, q_len;
  int64_t tokens, n_pages;
  int64_t *positions, *slots;
  int32_t *qo, *kv, *pages, *last, *fresh, *past; /* fresh, past: tokens of each request */
  uint16_t *x;
} lists;

static void lists_free(lists *l) {
  void *const all[] = {l->positions, l->slots, l->qo, l->kv, l->pages, l->last, l->fresh, l->past, l->x};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static bool lists_room(const layer_rig *r, lists *l) {
  int64_t n_pages = 0;
  for (int32_t i = 0; i < r->setup.batch; i++)
    for (int32_t k = 0, n; (n = share(&r->setup, i, k)) > 0; k++) {
      l->tokens += n;
      l->batch++;
      n_pages += r->first_page[i + 1] - r->first_page[i];
      if (n > l->q_len) l->q_len = n;
    }
  const size_t tokens = (size_t)l->tokens + 1, batch = (size_t)l->batch + 1;
  l->positions = malloc(tokens * sizeof(int64_t)), l->slots = malloc(tokens * sizeof(int64_t));
  l->qo = malloc(batch * 4), l->kv = malloc(batch * 4), l->last = malloc(batch * 4);
  l->fresh = malloc(batch * 4), l->past = malloc(batch * 4);
  l->pages = malloc((size_t)(n_pages + 1) * 4), l->x = malloc(tokens * (size_t)r->form.hidden * 2);
  return l->positions && l->slots && l->qo && l->kv && l->last && l->fresh && l->past && l->pages && l->x;
}

/* One more part of a request, as a request of the call. */
static void lists_add(const layer_rig *r, int set, int part, int32_t request, lists *l, layer_call *out, int32_t at) {
  const layer_setup *s = &r->setup;
  const int32_t n = share(s, request, part), before = s->requests[request].past + part * s->window, tokens = before + n;
  const int64_t pages = (tokens + s->page_size - 1) / s->page_size;
  for (int64_t k = 0; k < pages; k++)
    l->pages[l->n_pages + k] = (int32_t)(set * r->set_pages) + r->pages[r->first_page[request] + k];
  l->n_pages += pages;
  l->last[at] = tokens - (int32_t)(pages - 1) * s->page_size;
  l->kv[at + 1] = (int32_t)l->n_pages;
  l->fresh[at] = n, l->past[at] = before;
  l->qo[at + 1] = l->qo[at] + n;
  for (int32_t k = 0; k < n; k++) {
    const int64_t t = l->qo[at] + k;
    l->positions[t] = before + k;
    l->slots[t] = set * r->set_pages * s->page_size + layer_slot(r, request, before + k);
    out->request[t] = request;
    out->fresh[t] = part * s->window + k;
    layer_numbers(r, layer_x_at(request, out->fresh[t]), r->form.hidden, l->x + t * r->form.hidden);
  }
}

/* A prefill has a schedule in place of lengths. */
static mlaf_status make_schedule(layer_rig *r, const lists *l, layer_call *out) {
  mlaf_layer_args *a = &out->args;
  void *at = NULL;
  const size_t words = mlaf_layer_prefill_words(r->layer[0], l->batch, l->fresh, l->past);
  out->schedule = malloc((words + 1) * 4);
  if (!out->schedule) return no_memory(r->env);
  mlaf_status st = mlaf_layer_prefill_schedule(r->layer[0], l->batch, l->fresh, l->past, out->schedule, words);
  layer_failed(r->env, st);
  if (!st) st = to_device(r, out->schedule, words * 4, &at);
  a->schedule = out->schedule, a->schedule_device = at;
  a->kv_last_page_lens = NULL;
  a->q_len = 1;
  return st;
}

/* A block table in place of lists, which a layer with an indexer wants. */
static mlaf_status send_table(layer_rig *r, const lists *l, mlaf_layer_args *a) {
  int32_t width = 1;
  void *at[2] = {NULL};
  for (int32_t i = 0; i < l->batch; i++) width = l->kv[i + 1] - l->kv[i] > width ? l->kv[i + 1] - l->kv[i] : width;
  int32_t *table = calloc((size_t)l->batch * (size_t)(width + 1), sizeof *table), *lens = table ? table + l->batch * width : NULL;
  if (!table) return no_memory(r->env);
  for (int32_t i = 0; i < l->batch; i++) {
    memcpy(table + i * width, l->pages + l->kv[i], (size_t)(l->kv[i + 1] - l->kv[i]) * sizeof *table);
    lens[i] = l->past[i] + l->fresh[i];
  }
  mlaf_status st = to_device(r, table, (size_t)l->batch * (size_t)width * sizeof *table, &at[0]);
  if (!st) st = to_device(r, lens, (size_t)l->batch * sizeof *lens, &at[1]);
  a->block_table = at[0], a->block_table_width = width, a->seq_lens = at[1];
  a->kv_indptr = a->kv_indices = a->kv_last_page_lens = a->qo_indptr = NULL;
  a->kv_indices_size = 0;
  a->index_cache = r->index.cache;
  a->index_page_stride = r->index.page_bytes;
  free(table);
  return st;
}

static mlaf_status send(layer_rig *r, const lists *l, layer_call *out) {
  const size_t tokens = (size_t)l->tokens, batch = (size_t)l->batch;
  mlaf_layer_args *a = &out->args;
  void *at[8] = {NULL};
  mlaf_status st = to_device(r, l->positions, tokens * 8, &at[0]);
  if (!st) st = to_device(r, l->slots, tokens * 8, &at[1]);
  if (!st) st = to_device(r, l->qo, (batch + 1) * 4, &at[2]);
  if (!st) st = to_device(r, l->kv, (batch + 1) * 4, &at[3]);
  if (!st) st = to_device(r, l->pages, (size_t)l->n_pages * 4, &at[4]);
  if (!st) st = to_device(r, l->last, batch * 4, &at[5]);
  if (!st) st = to_device(r, l->x, tokens * (size_t)r->form.hidden * 2, &at[6]);
  if (!st) st = layer_alloc(r, tokens * (size_t)r->form.hidden * 2, &at[7]);
  *a = (mlaf_layer_args)MLAF_LAYER_ARGS_INIT;
  a->positions = at[0], a->slots = at[1], a->qo_indptr = at[2], a->kv_indptr = at[3], a->kv_indices = at[4];
  a->kv_last_page_lens = at[5], a->hidden = at[6], a->out = at[7];
  a->kv_indices_size = l->n_pages, a->tokens = l->tokens, a->batch = l->batch, a->q_len = l->q_len;
  a->cache = r->cache, a->num_pages = (int32_t)(r->sets * r->set_pages);
  if (!st && r->index.cache) st = send_table(r, l, a);
  return !st && r->setup.prefill ? make_schedule(r, l, out) : st;
}

static mlaf_status make_call(layer_rig *r, int set) {
  layer_call *out = &r->call[set];
  lists l = {.batch = 0};
  mlaf_status st = lists_room(r, &l) ? MLAF_OK : no_memory(r->env);
  out->request = malloc((size_t)(l.tokens + 1) * sizeof *out->request);
  out->fresh = malloc((size_t)(l.tokens + 1) * sizeof *out->fresh);
  if (!st && (!out->request || !out->fresh)) st = no_memory(r->env);
  if (!st) l.qo[0] = l.kv[0] = 0;
  for (int32_t i = 0, at = 0; !st && i < r->setup.batch; i++)
    for (int k = 0; share(&r->setup, i, k); k++) lists_add(r, set, k, i, &l, out, at++);
  if (!st) st = send(r, &l, out);
  lists_free(&l);
  return st;
}

mlaf_status layer_rig_workspace(layer_rig *r, size_t size) {
  const mlaf_status st = r->workspace && size <= r->workspace_size ? MLAF_OK : layer_alloc(r, size + 256, &r->workspace);
  if (size > r->workspace_size) r->workspace_size = size;
  for (int i = 0; !st && i < r->sets; i++) {
    r->call[i].args.workspace = r->workspace;
    r->call[i].args.workspace_size = r->workspace_size;
  }
  return st;
}

static mlaf_status make_calls(layer_rig *r) {
  mlaf_status st = MLAF_OK;
  r->call = calloc((size_t)r->sets, sizeof *r->call);
  if (!r->call) return no_memory(r->env);
  for (int i = 0; !st && i < r->sets; i++) {
    mlaf_layer_args *a = &r->call[i].args;
    st = make_call(r, i);
    const size_t size = st ? 0 : mlaf_layer_workspace_size(r->layer[0], a);
    if (size == SIZE_MAX) st = mlaf_fail(r->env->err, MLAF_E_INTERNAL, "the layer refuses the sizes of a call");
    else if (size > r->workspace_size) r->workspace_size = size;
  }
  return st ? st : layer_rig_workspace(r, r->workspace_size);
}

mlaf_status layer_rig_open(rig_env *env, const layer_setup *s, int sets, layer_rig *r) {
  const double start = mlaf_now();
  void *cache = NULL;
  *r = (layer_rig){.env = env, .setup = *s, .dev = mlaf_ctx_device(env->ctx), .sets = sets};
  r->modelled = mlaf_ops(r->dev)->features & MLAF_DEVICE_MODELLED;
  describe(r);
  mlaf_status st = make_pages(r);
  if (!st) st = make_weights(r);
  if (!st) st = make_table(r);
  if (!st) st = layer_alloc(r, (size_t)(sets * r->set_pages * s->page_size * r->row) * 2, &cache);
  r->cache = cache;
  if (!st) st = layer_index_open(r);
  for (int i = 0; !st && i < sets; i++) st = make_layer(r, i);
  if (!st) st = layer_rig_refill(r);
  if (!st) st = make_calls(r);
  r->setup_s = mlaf_now() - start;
  return st;
}

void layer_rig_close(layer_rig *r) {
  mlaf_err ignored;
  for (int i = 0; i < LAYER_SETS; i++) mlaf_layer_destroy(r->layer[i]);
  for (size_t i = 0; i < r->n_held; i++) mlaf_ops(r->dev)->mem_free(r->dev, r->held[i], &ignored);
  layer_weights_free(&r->own);
  layer_index_close(r);
  for (int i = 0; r->call && i < r->sets; i++) {
    free(r->call[i].request), free(r->call[i].fresh), free(r->call[i].schedule);
  }
  free(r->held), free(r->call), free(r->table), free(r->pages), free(r->first_page);
  *r = (layer_rig){.env = NULL};
}

/* Every byte that the call writes is NaN before it. */
mlaf_status layer_rig_run(layer_rig *r) {
  const mlaf_device_ops *ops = mlaf_ops(r->dev);
  const mlaf_layer_args *a = &r->call[0].args;
  mlaf_status st = ops->mem_fill(r->dev, r->workspace, 0xff, r->workspace_size, r->env->err);
  if (!st) st = ops->mem_fill(r->dev, a->out, 0xff, (size_t)(a->tokens * r->form.hidden) * 2, r->env->err);
  if (!st) st = layer_failed(r->env, mlaf_layer_execute(r->layer[0], a, NULL));
  return st ? st : ops->sync(r->dev, NULL, r->env->err);
}
