/* Matrices of 8 bits are for few tokens: kernels that read them go over all of a matrix once for every 128 tokens or fewer, and
 * bytes become numbers of 16 bits each time. So a layer of such matrices has a second one beside it, by 16 bits: with
 * MLAF_LAYER_KEEP_16 of copies that are made once, else as MLAF_LAYER_DEQUANT_MANY says. Which one serves how many tokens the
 * plans' estimates tell. */
#include "layer/inside.h"

#include <stdlib.h>

/* Estimates of kernels by 8 and by 16 bits are off by so much of each other. Where copies are kept, those serve in doubt. */
static const double MARGIN = 0.92;

bool layer_alternative_desc(const layer_shape *s, mlaf_layer_desc *out) {
  const uint32_t keep = MLAF_LAYER_KEEP_16, fixed = MLAF_LAYER_DEQUANT_MANY | MLAF_LAYER_DEQUANT_NEVER;
  *out = s->d;
  if (!s->d.weights || (s->d.flags & fixed && !(s->d.flags & keep))) return false;
  out->flags &= ~(keep | fixed);
  if (s->d.flags & keep) {
    out->flags &= ~(uint32_t)MLAF_LAYER_KV_B_16;
    out->weights = MLAF_LAYER_WEIGHTS_16;
    return true;
  }
  if (s->invariant) return false; /* DEQUANT_MANY rounds once more in some calls alone */
  const int64_t few = (int64_t)s->d.batch_max * layer_q_len_most(s);
  out->flags |= MLAF_LAYER_DEQUANT_MANY;
  return (few > s->d.prefill_tokens ? few : s->d.prefill_tokens) > LAYER_BESIDE_MOST;
}

/* --- copies --- */

typedef struct copy {
  layer_kind kind; /* of the launch that makes it */
  const layer_tensor *from;
  layer_tensor *to;
  layer_extent size;
} copy;
enum { COPIES = LAYER_MATRICES + 1 };

static void add_copy(const layer_shape *s, layer_kind stage, const layer_tensor *from, layer_tensor *to, copy *list, int *n) {
  const int i = stage == LAYER_O_PROJ ? LAYER_MATRICES - 1 : (int)stage;
  list[(*n)++] = (copy){(layer_kind)(LAYER_TO_16 + i), from, to, layer_matrix(s, stage)};
}

static int list_copies(const mlaf_layer *l, layer_weights *to, copy list[COPIES]) {
  const layer_shape *s = &l->shape;
  const layer_weights *w = &l->weights;
  int n = 0;
  if (s->d.q_rank && s->joined) {
    add_copy(s, LAYER_QKV_A, &w->qkv_a, &to->qkv_a, list, &n);
  } else {
    if (s->d.q_rank) add_copy(s, LAYER_Q_A, &w->q_a, &to->q_a, list, &n);
    add_copy(s, LAYER_KV_A, &w->kv_a, &to->kv_a, list, &n);
  }
  add_copy(s, LAYER_Q_B, &w->q_b, &to->q_b, list, &n);
  add_copy(s, LAYER_O_PROJ, &w->o, &to->o, list, &n);
  if (layer_kv_b_bytes(s) == 1)
    list[n++] = (copy){LAYER_DEQUANT, &w->kv_b, &to->kv_b, {layer_kv_b_rows(s), s->d.rank}};
  return n;
}

static size_t bytes_of(const copy *c) {
  const size_t bytes = LAYER_ELEMENT * (size_t)(c->size.rows * c->size.columns);
  return (bytes + LAYER_ALIGN - 1) / LAYER_ALIGN * LAYER_ALIGN;
}

static mlaf_status make_copy(mlaf_ctx *ctx, const layer_shape *s, const mlaf_plan_opts *opts, const copy *c, void *y) {
  mlaf_point p;
  mlaf_err err;
  mlaf_plan *plan = NULL;
  mlaf_dequant_args args;
  const mlaf_registry_how how = {.quiet = true};
  mlaf_status st = err.status = layer_point(s, c->kind, 1, &p, &err);
  if (st) return mlaf_shared_report(ctx->shared, &err);
  st = mlaf_registry_get(ctx, &p, opts, &how, &plan);
  if (st) return st;
  layer_fill_dequant(c->from, c->size.rows, y, &args);
  st = mlaf_plan_run(plan, mlaf_plan_op(plan), &args, NULL);
  mlaf_plan_release(plan);
  *c->to = (layer_tensor){.data = y, .stride = c->size.columns};
  return st;
}

static mlaf_status make_copies(mlaf_ctx *ctx, const mlaf_plan_opts *opts, mlaf_layer *layer, layer_weights *out) {
  copy list[COPIES];
  const int n = list_copies(layer, out, list);
  size_t bytes = 0;
  for (int i = 0; i < n; i++) bytes += bytes_of(&list[i]);
  mlaf_status st = mlaf_mem_alloc(ctx, bytes, &layer->copies);
  char *at = layer->copies;
  for (int i = 0; !st && i < n; i++) {
    st = make_copy(ctx, &layer->shape, opts, &list[i], at);
    at += bytes_of(&list[i]);
  }
  return st ? st : mlaf_sync(ctx, NULL);
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
    const int n = kind == LAYER_DECODE || kind == LAYER_PREFILL ? 0 : layer_parts_of(s, kind, tokens, parts);
    for (int k = 0; k < n; k++) {
      mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
      if (mlaf_plan_query(layer_plan_of(s, &l->plans, parts[k], &z), &info) || !(info.ns > 0)) return 0;
      sum += info.ns;
    }
  }
  return sum;
}

static bool is_better(const mlaf_layer *layer, layer_form form, int64_t tokens) {
  const double own = estimate(layer, form, tokens), other = estimate(layer->alternative, form, tokens);
  const bool known = own > 0 && other > 0, keeps = layer->copies != NULL;
  if (!known) return keeps && tokens > LAYER_BESIDE_MOST;
  return keeps ? own > MARGIN * other : own > other;
}

/* Batch-invariant: one of the two serves all calls, and copies were asked for. */
static void choose(mlaf_layer *layer) {
  const layer_shape *s = &layer->shape;
  const int64_t most[LAYER_FORMS] = {[LAYER_FEW] = (int64_t)s->d.batch_max * layer_q_len_most(s),
                                     [LAYER_MANY] = s->d.prefill_tokens};
  for (int form = 0; form < LAYER_FORMS; form++)
    for (int k = 0; s->n[form] && k <= layer_class_of(most[form]); k++) {
      const int64_t tokens = INT64_C(1) << k < most[form] ? INT64_C(1) << k : most[form];
      layer->by_alternative[form][k] = s->invariant || is_better(layer, (layer_form)form, tokens);
    }
}

const mlaf_layer *layer_serving(const mlaf_layer *layer, const layer_sizes *z) {
  return layer->by_alternative[z->form][layer_class_of(z->tokens)] ? layer->alternative : layer;
}

/* --- making --- */

static mlaf_status make(mlaf_ctx *ctx, const mlaf_layer_desc *d, mlaf_layer *layer) {
  mlaf_err err;
  mlaf_layer *other = layer->alternative = calloc(1, sizeof *other);
  if (!other) return mlaf_plan_refuse(ctx, MLAF_E_NOMEM, "no memory for a layer by 16 bits");
  mlaf_status st = err.status = layer_shape_take(d, layer->shape.joined, &other->shape, &err);
  if (st) return mlaf_shared_report(ctx->shared, &err);
  other->shared = ctx->shared; /* the layer's reference */
  other->weights = layer->weights;
  st = layer_plans_make(ctx, &other->shape, &other->plans);
  if (!st && layer->shape.d.flags & MLAF_LAYER_KEEP_16) st = make_copies(ctx, d->plan, layer, &other->weights);
  other->shape.d.plan = NULL; /* the caller's, and done with */
  if (!st) choose(layer);
  return st;
}

mlaf_status layer_alternative_make(mlaf_ctx *ctx, const mlaf_plan_opts *plan, mlaf_layer *layer) {
  mlaf_layer_desc d;
  if (!layer_alternative_desc(&layer->shape, &d)) return MLAF_OK;
  d.plan = plan;
  const mlaf_status st = make(ctx, &d, layer);
  if (!st || layer->shape.d.flags & MLAF_LAYER_KEEP_16) return st;
  layer_alternative_clear(layer); /* 8 bits do without */
  return MLAF_OK;
}

void layer_alternative_clear(mlaf_layer *layer) {
  if (layer->alternative) layer_plans_clear(&layer->alternative->plans);
  free(layer->alternative);
  layer->alternative = NULL;
  if (layer->copies) mlaf_ops(layer->shared->dev)->mem_free(layer->shared->dev, layer->copies, &(mlaf_err){MLAF_OK, ""});
  layer->copies = NULL;
}
