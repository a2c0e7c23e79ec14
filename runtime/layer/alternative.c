/* Matrices of 8 bits are for few tokens: kernels that read them go over all of a matrix once for every 128 tokens or fewer, and
 * bytes become numbers of 16 bits each time. So a layer of such matrices has a second one beside it: with MLAF_LAYER_KEEP_16 by
 * copies of 16 bits that are made once, else one that dequantises each matrix before its product. A stored choice tells which one
 * serves how many tokens, else the plans' estimates. */
#include "layer/inside.h"

static int64_t most_tokens(const layer_shape *s, layer_form form) {
  return form == FORM_ABSORBED ? (int64_t)s->d.batch_max * layer_q_len_most(s) : s->d.prefill_tokens;
}

bool layer_has_alternative(const layer_shape *s) {
  if (s->d.weights && s->d.flags & MLAF_LAYER_KEEP_16) return true;
  for (int form = 0; form < LAYER_FORMS; form++)
    for (int k = 0; most_tokens(s, form) && k <= layer_class_of(most_tokens(s, form)); k++) {
      const int64_t tokens = INT64_C(1) << k < most_tokens(s, form) ? INT64_C(1) << k : most_tokens(s, form);
      if (layer_takes(s, ALT_DEQUANT_WEIGHTS, tokens)) return true;
    }
  return false;
}

mlaf_status layer_alternative_shape(const layer_shape *s, layer_shape *out, mlaf_err *err) {
  mlaf_layer_desc d = s->d;
  d.flags &= ~(uint32_t)MLAF_LAYER_KEEP_16;
  if (s->d.flags & MLAF_LAYER_KEEP_16) {
    d.flags &= ~(uint32_t)MLAF_LAYER_KV_B_16;
    d.weights = MLAF_LAYER_WEIGHTS_16;
  }
  const mlaf_status st = layer_shape_take(&d, s->joined ? JOIN_A : JOIN_NONE, out, err);
  out->dequantises = !st && out->d.weights;
  out->index_weights = s->index_weights; /* an indexer's matrices are read as they are */
  return st;
}

/* --- copies --- */

typedef struct copy {
  layer_kind kind; /* of the launch that makes it */
  const layer_tensor *from;
  layer_tensor *to;
  layer_extent size;
} copy;

static copy copy_of_kv_b(const mlaf_layer *l, layer_tensor *to) {
  return (copy){STAGE_DEQUANT_KV_B, &l->weights.kv_b, to, {layer_kv_b_rows(&l->shape), l->shape.d.rank}};
}

static void add_copy(const mlaf_layer *l, int i, layer_tensor *to, copy *list, int *n) {
  const layer_shape *s = &l->shape;
  list[(*n)++] = (copy){(layer_kind)(STAGE_DEQUANT_WEIGHTS + i), &l->weights.matrices[i], &to[i],
                        layer_matrix(s, layer_matrices[i].product)};
}

static int list_copies(const mlaf_layer *l, layer_weights *to, copy list[LAYER_COPIES]) {
  const layer_shape *s = &l->shape;
  int n = 0;
  for (int i = 0; i < LAYER_MATRICES; i++)
    if (layer_has_matrix(s, i)) add_copy(l, i, to->matrices, list, &n);
  if (layer_kv_b_bytes(s) == 1) list[n++] = copy_of_kv_b(l, &to->kv_b);
  return n;
}

static size_t bytes_of(const copy *c) {
  const size_t bytes = LAYER_ELEMENT * (size_t)(c->size.rows * c->size.columns);
  return (bytes + LAYER_ALIGN - 1) / LAYER_ALIGN * LAYER_ALIGN;
}

static mlaf_status make_copy(mlaf_ctx *ctx, const layer_shape *s, const mlaf_plan_opts *opts, const copy *c, void *y,
                             layer_copies *to) {
  mlaf_point p;
  mlaf_err err;
  const mlaf_registry_how how = {.quiet = true};
  mlaf_status st = err.status = layer_point(s, c->kind, 1, &p, &err);
  if (st) return mlaf_shared_report(ctx->shared, &err);
  st = mlaf_registry_get(ctx, &p, opts, &how, &to->made[to->n].plan);
  if (st) return st;
  mlaf_dequant_args *args = &to->made[to->n++].args;
  layer_fill_dequant(c->from, c->size.rows, y, args);
  *c->to = (layer_tensor){.data = y, .stride = c->size.columns};
  return MLAF_OK;
}

/* The launches wait for all that is before them on the stream: that may be what wrote the weights. */
static mlaf_status run_copies(const layer_copies *copies, void *stream) {
  mlaf_status st = MLAF_OK;
  for (int i = 0; !st && i < copies->n; i++)
    st = mlaf_plan_run_behind(copies->made[i].plan, &copies->made[i].args, stream);
  return st;
}

static mlaf_status make_copies(mlaf_ctx *ctx, const mlaf_plan_opts *opts, const layer_shape *s, const copy *list, int n,
                               layer_copies *to) {
  for (int i = 0; i < n; i++) to->bytes += bytes_of(&list[i]);
  mlaf_status st = mlaf_mem_alloc(ctx, to->bytes, &to->memory);
  char *at = to->memory;
  for (int i = 0; !st && i < n; i++) {
    st = make_copy(ctx, s, opts, &list[i], at, to);
    at += bytes_of(&list[i]);
  }
  if (!st) st = run_copies(to, NULL);
  return st ? st : mlaf_sync(ctx, NULL);
}

static void free_copies(const mlaf_layer *layer, layer_copies *copies) {
  if (copies->memory)
    mlaf_ops(layer->shared->dev)->mem_free(layer->shared->dev, copies->memory, &(mlaf_err){MLAF_OK, ""});
  for (int i = 0; i < copies->n; i++) mlaf_plan_release(copies->made[i].plan);
  *copies = (layer_copies){.memory = NULL};
}

size_t mlaf_layer_copies_size(const mlaf_layer *layer) {
  size_t bytes = layer->copies.bytes;
  for (int alt = 0; alt < LAYER_ALTERNATIVES; alt++) bytes += layer->kept[alt].bytes;
  return bytes;
}

mlaf_status mlaf_layer_weights_changed(const mlaf_layer *layer, void *stream) {
  mlaf_status st = run_copies(&layer->copies, stream);
  for (int alt = 0; !st && alt < LAYER_ALTERNATIVES; alt++) st = run_copies(&layer->kept[alt], stream);
  return st;
}

/* Prefills take the copies where there are any, and none are made for them alone: there the other matrices are dequantised in
 * each call, too. */
static bool may_keep(const layer_shape *s, layer_alternative alt) {
  return s->choices.by_default[alt].from <= most_tokens(s, FORM_ABSORBED) && s->choices.by_default[alt].to > 0;
}

void layer_keep(mlaf_ctx *ctx, const mlaf_plan_opts *plan, mlaf_layer *layer) {
  layer_shape *s = &layer->shape;
  for (int alt = ALT_KEPT_A; alt < LAYER_ALTERNATIVES; alt++) {
    copy list[LAYER_COPIES];
    int n = 0;
    if (!may_keep(s, (layer_alternative)alt)) continue;
    for (int i = 0; i < LAYER_MATRICES; i++)
      if ((int)layer_matrices[i].kept == alt && layer_has_matrix(s, i)) add_copy(layer, i, layer->weights.copies, list, &n);
    if (alt == ALT_KEPT_KV_B) list[n++] = copy_of_kv_b(layer, &layer->weights.kv_b_copy);
    if (!make_copies(ctx, plan, s, list, n, &layer->kept[alt])) s->keeps |= (uint16_t)(1 << alt);
    else free_copies(layer, &layer->kept[alt]);
  }
}

void layer_keep_clear(mlaf_layer *layer) {
  layer->shape.keeps = 0;
  for (int alt = 0; alt < LAYER_ALTERNATIVES; alt++) free_copies(layer, &layer->kept[alt]);
}

/* --- which serves --- */

/* ns of all launches but attention's, which are the same; 0: of one it is not known (bundles do not say). */
static double estimate(const mlaf_layer *l, layer_form form, int64_t tokens) {
  const layer_shape *s = &l->shape;
  const layer_sizes z = {.tokens = tokens, .batch = 1, .q_len = 1, .ctx = s->d.ctx_max, .form = form};
  double sum = 0;
  for (int i = 0; i < s->n[form]; i++) {
    layer_kind parts[LAYER_PARTS];
    const layer_kind kind = s->kinds[form][i];
    const int n = kind == STAGE_DECODE || kind == STAGE_PREFILL ? 0 : layer_parts_of(s, kind, tokens, parts);
    for (int k = 0; k < n; k++) {
      mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
      if (mlaf_plan_query(layer_plan_of(s, &l->plans, parts[k], &z), &info) || !(info.ns > 0)) return 0;
      sum += info.ns;
    }
  }
  return sum;
}

/* Copies serve the tokens that tuning/layer-stages.tsv says where estimates are missing or not asked; nothing is dequantised
 * then. */
static bool is_better(const mlaf_layer *layer, layer_form form, int64_t tokens) {
  const layer_alternative alt = layer->copies.memory ? ALT_COPIES_16 : ALT_DEQUANT_WEIGHTS;
  const double own = estimate(layer, form, tokens), other = estimate(layer->alternative, form, tokens);
  const double margin = layer->shape.choices.by_default[alt].margin;
  if (alt == ALT_DEQUANT_WEIGHTS && !layer_takes(&layer->alternative->shape, alt, tokens)) return false;
  if (margin > 0 && own > 0 && other > 0) return own > margin * other;
  return layer->copies.memory && tokens >= layer->shape.choices.by_default[alt].from;
}

/* Batch-invariant: one of the two serves all calls, and copies were asked for. */
static bool serves(const mlaf_layer *layer, layer_form form, int64_t tokens) {
  const layer_choice stored = layer->shape.choices.stored[layer_class_of(tokens)];
  if (layer->shape.invariant) return true;
  return stored && !layer->copies.memory ? stored >> ALT_DEQUANT_WEIGHTS & 1 : is_better(layer, form, tokens);
}

void layer_alternative_choose(mlaf_layer *layer) {
  const layer_shape *s = &layer->shape;
  for (int form = 0; form < LAYER_FORMS; form++) {
    const int64_t most = most_tokens(s, (layer_form)form);
    for (int k = 0; s->n[form] && k <= layer_class_of(most); k++)
      layer->by_alternative[form][k] = serves(layer, (layer_form)form, INT64_C(1) << k < most ? INT64_C(1) << k : most);
  }
}

const mlaf_layer *layer_serving(const mlaf_layer *layer, const layer_sizes *z) {
  return layer->by_alternative[z->form][layer_class_of(z->tokens)] ? layer->alternative : layer;
}

/* --- making --- */

static mlaf_status make(mlaf_ctx *ctx, const mlaf_plan_opts *plan, mlaf_layer *layer) {
  mlaf_err err;
  mlaf_layer *other = layer->alternative = calloc(1, sizeof *other);
  if (!other) return mlaf_plan_refuse(ctx, MLAF_E_NOMEM, "no memory for a layer by 16 bits");
  mlaf_status st = err.status = layer_alternative_shape(&layer->shape, &other->shape, &err);
  if (st) return mlaf_shared_report(ctx->shared, &err);
  other->shape.d.plan = plan;
  other->shared = ctx->shared; /* the layer's reference */
  other->weights = layer->weights;
  layer_choices_by_default(&other->shape, mlaf_info(mlaf_ctx_device(ctx))->target);
  other->shape.keeps = layer->shape.keeps;
  if (layer->shape.d.flags & MLAF_LAYER_KEEP_16) layer_choices_read(ctx, &other->shape);
  else memcpy(other->shape.choices.stored, layer->shape.choices.stored, sizeof layer->shape.choices.stored);
  st = layer_plans_make(ctx, &other->shape, &other->plans);
  if (!st && layer->shape.d.flags & MLAF_LAYER_KEEP_16) {
    copy list[LAYER_COPIES];
    const int n = list_copies(layer, &other->weights, list);
    st = make_copies(ctx, plan, &layer->shape, list, n, &layer->copies);
  }
  other->shape.d.plan = NULL; /* the caller's, and done with */
  if (!st) layer_alternative_choose(layer);
  return st;
}

mlaf_status layer_alternative_make(mlaf_ctx *ctx, const mlaf_plan_opts *plan, mlaf_layer *layer) {
  if (!layer_has_alternative(&layer->shape)) return MLAF_OK;
  const mlaf_status st = make(ctx, plan, layer);
  if (!st || layer->shape.d.flags & MLAF_LAYER_KEEP_16) return st;
  layer_alternative_clear(layer); /* 8 bits do without */
  return MLAF_OK;
}

void layer_alternative_clear(mlaf_layer *layer) {
  if (layer->alternative) layer_plans_clear(&layer->alternative->plans);
  free(layer->alternative);
  layer->alternative = NULL;
  memset(layer->by_alternative, 0, sizeof layer->by_alternative);
  free_copies(layer, &layer->copies);
}
