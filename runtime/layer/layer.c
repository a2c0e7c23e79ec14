/* The public functions of a layer. */
#include "mlaforge/layer.h"

#include "layer/inside.h"

/* --- create and destroy --- */

static mlaf_status report(mlaf_shared *shared, mlaf_status st, mlaf_err *err) {
  err->status = st;
  return st ? mlaf_shared_report(shared, err) : MLAF_OK;
}

static mlaf_status check_table(const layer_shape *s, mlaf_err *err) {
  const mlaf_layer_desc *d = &s->d;
  if (!layer_rotates(s)) return MLAF_OK;
  if (!d->cos || (uintptr_t)d->cos % 16 || (uintptr_t)d->sin % 16)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_desc: cos is %p, sin %p: tables of rotations are wanted, 16-byte aligned; sin "
                     "may be NULL", d->cos, d->sin);
  const int64_t least = d->sin ? d->rope / 2 : d->rope, multiple = d->flags & MLAF_LAYER_TABLE_16 ? 8 : 4;
  if (d->table_rows < 1 || (d->table_row_stride && (d->table_row_stride < least || d->table_row_stride % multiple)))
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_desc: table_rows is %lld, must be 1 or more; table_row_stride is %lld, must be "
                     "0 or a multiple of %lld from %lld on", (long long)d->table_rows, (long long)d->table_row_stride,
                     (long long)multiple, (long long)least);
  const bool dense = !d->sin && !(d->flags & MLAF_LAYER_TABLE_16) && (!d->table_row_stride || d->table_row_stride == d->rope);
  if (layer_rotates_on_read(s) && (!dense || d->table_rows > INT32_MAX))
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_desc: with MLAF_LAYER_ROPE_ON_READ sin must be NULL and cos a dense table in "
                     "fp32, P/2 cosines and P/2 sines a row, of at most 2^31-1 rows");
  return MLAF_OK;
}

static mlaf_status take(mlaf_layer *layer, const mlaf_layer_desc *desc, const mlaf_layer_weight *weights, size_t n,
                        mlaf_err *err) {
  mlaf_status st = layer_shape_take(desc, JOIN_A, &layer->shape, err);
  const layer_join join = st ? JOIN_A : layer_weights_join(&layer->shape.d, weights, n);
  if (!st && join != JOIN_A) st = layer_shape_take(desc, join, &layer->shape, err);
  if (!st) st = check_table(&layer->shape, err);
  return st ? st : layer_weights_take(&layer->shape, weights, n, &layer->weights, err);
}

static void clear(mlaf_layer *layer) {
  layer_alternative_clear(layer);
  layer_plans_clear(&layer->plans);
  layer->plans = (layer_plans){.prefill = NULL};
}

static mlaf_status make_plans(mlaf_ctx *ctx, const mlaf_plan_opts *plan, mlaf_layer *layer) {
  mlaf_status st = layer_plans_make(ctx, &layer->shape, &layer->plans);
  return st ? st : layer_alternative_make(ctx, plan, layer);
}

/* Stored choices that cannot be planned (a bundle has not their kernels) are skipped, and defaults serve. */
static mlaf_status make_chosen(mlaf_ctx *ctx, const mlaf_plan_opts *plan, mlaf_layer *layer, const layer_choice *forced) {
  layer_choices_by_default(&layer->shape, mlaf_info(mlaf_ctx_device(ctx))->target);
  if (forced) layer_choices_force(&layer->shape, *forced);
  else layer_choices_read(ctx, &layer->shape);
  layer_keep(ctx, plan, layer);
  mlaf_status st = make_plans(ctx, plan, layer);
  if (st && layer->shape.keeps) { /* a bundle has the kernels that make the copies, and none that multiply by them */
    clear(layer);
    layer_keep_clear(layer);
    layer_shape_set_absorb(&layer->shape, false);
    st = make_plans(ctx, plan, layer);
  }
  if (!st || forced || !layer_choices_forget(&layer->shape)) return st;
  char why[MLAF_ERR_MAX];
  mlaf_ctx_last_message(ctx, why, sizeof why);
  mlaf_log_line(&ctx->log, MLAF_LOG_WARN, "stored choices of a layer are skipped: %s", why);
  clear(layer);
  layer_shape_set_absorb(&layer->shape, false);
  return make_plans(ctx, plan, layer);
}

mlaf_status layer_create_as(mlaf_ctx *ctx, const mlaf_layer_desc *desc, const mlaf_layer_weight *weights, size_t n_weights,
                            const layer_choice *forced, mlaf_layer **out) {
  mlaf_err err;
  if (!ctx) return MLAF_E_ARG;
  if (!desc || !out || (n_weights && !weights)) return mlaf_plan_refuse(ctx, MLAF_E_ARG, "mlaf_layer_create: a pointer is NULL");
  mlaf_layer *layer = calloc(1, sizeof *layer);
  if (!layer) return mlaf_plan_refuse(ctx, MLAF_E_NOMEM, "no memory for a layer");
  mlaf_status st = report(ctx->shared, take(layer, desc, weights, n_weights, &err), &err);
  layer->shared = ctx->shared;
  if (!st) st = make_chosen(ctx, desc->plan, layer, forced);
  layer->shape.d.plan = NULL; /* the caller's, and done with */
  if (st) {
    clear(layer);
    layer_keep_clear(layer);
    free(layer);
    return st;
  }
  atomic_fetch_add_explicit(&ctx->shared->refs, 1, memory_order_relaxed);
  *out = layer;
  return MLAF_OK;
}

mlaf_status mlaf_layer_create(mlaf_ctx *ctx, const mlaf_layer_desc *desc, const mlaf_layer_weight *weights, size_t n_weights,
                              mlaf_layer **out) {
  return layer_create_as(ctx, desc, weights, n_weights, NULL, out);
}

void mlaf_layer_destroy(mlaf_layer *layer) {
  if (!layer) return;
  clear(layer);
  layer_keep_clear(layer);
  mlaf_shared_release(layer->shared);
  free(layer);
}

/* --- workspace --- */

/* Numbers of tokens around copies that are kept, where other kernels serve: right before them, and the most that they serve. */
enum { KEPT_ENDS = 2 * (LAYER_ALTERNATIVES - ALT_KEPT_A) };
static int list_kept_ends(const layer_shape *s, int64_t ends[KEPT_ENDS]) {
  int n = 0;
  for (int alt = ALT_KEPT_A; alt < LAYER_ALTERNATIVES; alt++) {
    if (!(s->keeps >> alt & 1)) continue;
    ends[n++] = s->choices.by_default[alt].from - 1;
    ends[n++] = s->choices.by_default[alt].to;
  }
  return n;
}

/* The largest workspace of calls with these sizes: with all tokens, and with as few as each end has. */
static size_t workspace_decode(const mlaf_layer *layer, mlaf_layer_args a) {
  size_t most = layer_workspace(layer, &a);
  int64_t ends[KEPT_ENDS];
  const int n = list_kept_ends(&layer->shape, ends);
  for (int i = 0; i < n; i++) {
    if (ends[i] < 1 || ends[i] >= (int64_t)a.batch * a.q_len) continue;
    a.tokens = ends[i];
    const size_t size = layer_workspace(layer, &a);
    if (size > most) most = size;
  }
  return most;
}

static size_t workspace_of_prefill(const mlaf_layer *layer, int32_t tokens) {
  const chunked_head head = chunked_most(layer->plans.prefill, tokens);
  mlaf_layer_args a = MLAF_LAYER_ARGS_INIT;
  a.schedule = (const int32_t *)(const void *)&head;
  return layer_workspace(layer, &a);
}

static size_t workspace_prefill(const mlaf_layer *layer) {
  size_t most = workspace_of_prefill(layer, layer->shape.d.prefill_tokens);
  int64_t ends[KEPT_ENDS];
  const int n = list_kept_ends(&layer->shape, ends);
  for (int i = 0; i < n; i++) {
    if (ends[i] < 1 || ends[i] >= layer->shape.d.prefill_tokens) continue;
    const size_t size = workspace_of_prefill(layer, (int32_t)ends[i]);
    if (size > most) most = size;
  }
  return most;
}

/* The largest of all calls in range, each with a block table. */
static size_t workspace_most(const mlaf_layer *layer) {
  const layer_shape *s = &layer->shape;
  const layer_plans *p = &layer->plans;
  size_t most = 0;
  mlaf_layer_args a = MLAF_LAYER_ARGS_INIT;
  a.block_table = (const int32_t *)(uintptr_t)sizeof(int32_t); /* only sizes are looked at */
  a.block_table_width = s->d.table_width;
  for (int q = 1; q <= LAYER_Q_LENS; q++)
    for (int i = 0; p->decode[q - 1] && i < p->n_ctxs * p->n_batches; i++) {
      const int32_t batch = p->batches[i % p->n_batches];
      a.q_len = q;
      a.ctx = p->ctxs[i / p->n_batches];
      a.batch = batch < layer_decode_batch_most(s) ? batch : layer_decode_batch_most(s);
      const size_t size = workspace_decode(layer, a);
      if (size > most) most = size;
    }
  const size_t many = s->n[FORM_PREFILL] ? workspace_prefill(layer) : 0;
  return many > most ? many : most;
}

size_t mlaf_layer_workspace_size(const mlaf_layer *layer, const mlaf_layer_args *args) {
  mlaf_err err;
  mlaf_whole_args whole;
  if (!layer) return 0;
  if (!args) {
    const size_t own = workspace_most(layer), other = layer->alternative ? workspace_most(layer->alternative) : 0;
    return own > other ? own : other;
  }
  const mlaf_layer_args *a = layer_args_take(args, &whole, &err);
  if (!a || layer_check_sizes(&layer->shape, a, &err)) return SIZE_MAX;
  const layer_sizes z = layer_sizes_of(&layer->shape, a);
  return z.tokens ? layer_workspace(layer_serving(layer, &z), a) : 0;
}

/* --- a prefill's schedule --- */

size_t mlaf_layer_prefill_words(const mlaf_layer *layer, int32_t batch, const int32_t *new_tokens,
                                const int32_t *context_tokens) {
  return layer ? mlaf_chunked_prefill_words(layer->plans.prefill, batch, new_tokens, context_tokens) : 0;
}

mlaf_status mlaf_layer_prefill_schedule(const mlaf_layer *layer, int32_t batch, const int32_t *new_tokens,
                                        const int32_t *context_tokens, int32_t *out, size_t words) {
  mlaf_err err;
  if (!layer) return MLAF_E_ARG;
  if (layer->plans.prefill)
    return mlaf_chunked_prefill_schedule(layer->plans.prefill, batch, new_tokens, context_tokens, out, words);
  return report(layer->shared, mlaf_fail(&err, MLAF_E_ARG, "the layer has no prefill: its prefill_tokens is 0"), &err);
}

const mlaf_chunked_prefill *layer_prefill_of(const mlaf_layer *layer) { return layer->plans.prefill; }

int64_t mlaf_layer_prefill_crossover(const mlaf_layer *layer, int64_t context_tokens) {
  if (!layer || !layer->plans.prefill) return INT64_MAX;
  return mlaf_chunked_prefill_crossover(layer->plans.prefill, context_tokens);
}

/* --- launches --- */

static mlaf_status run_prefill(const mlaf_layer *layer, const mlaf_layer_args *a, void *stream) {
  mlaf_chunked_prefill_args args;
  layer_fill_prefill(layer, a, &args);
  return mlaf_chunked_prefill_execute(layer->plans.prefill, &args, stream);
}

static mlaf_status run_launch(const mlaf_layer *layer, layer_kind kind, const mlaf_layer_args *a, mlaf_series *to,
                              void *stream) {
  layer_stage_args args;
  const layer_sizes z = layer_sizes_of(&layer->shape, a);
  const mlaf_plan *plan = layer_plan_of(&layer->shape, &layer->plans, kind, &z);
  if (kind == STAGE_PREFILL) return run_prefill(layer, a, stream);
  if (kind == STAGE_V_OUT && layer_fuses_v_out(&layer->shape, &layer->plans, &z)) return MLAF_OK;
  layer_fill(layer, kind, a, &args);
  mlaf_status st = MLAF_OK;
  if (kind == STAGE_DECODE && z.lists) st = mlaf_plan_make(plan, &args, a->workspace, true, to, stream);
  return st ? st : mlaf_plan_run_into(plan, mlaf_plan_op(plan), &args, to, stream);
}

static mlaf_status run_stage(const mlaf_layer *layer, layer_kind kind, const mlaf_layer_args *a, mlaf_series *to, void *stream) {
  layer_kind parts[LAYER_PARTS];
  const int n = layer_parts_of(&layer->shape, kind, layer_sizes_of(&layer->shape, a).tokens, parts);
  mlaf_status st = MLAF_OK;
  for (int i = 0; !st && i < n; i++) st = run_launch(layer, parts[i], a, to, stream);
  return st;
}

/* Makes page lists of a block table ahead of all stages: nothing stands between decode's kernel and its neighbours, and the first
 * stage's weights are loaded meanwhile. */
static mlaf_status make_lists(const mlaf_layer *layer, const mlaf_layer_args *a, mlaf_series *to, void *stream) {
  layer_stage_args args;
  const layer_sizes z = layer_sizes_of(&layer->shape, a);
  if (!z.lists || a->flags & MLAF_LAYER_SAME_TABLES) return MLAF_OK;
  layer_fill(layer, STAGE_DECODE, a, &args);
  const mlaf_plan *plan = layer_plan_of(&layer->shape, &layer->plans, STAGE_DECODE, &z);
  return mlaf_plan_make(plan, &args, a->workspace, false, to, stream);
}

/* One stage, or EVERY one. What a stage finds wrong it reports itself. */
enum { EVERY = -1 };
static mlaf_status no_stage(const layer_shape *s, size_t i, layer_form form, mlaf_err *err) {
  return mlaf_fail(err, MLAF_E_ARG, "stage %zu of a layer of %d", i, s->n[form]);
}

/* Runs all stages of a call with few tokens as one chain of launches. */
static mlaf_status run_together(const mlaf_layer *layer, const mlaf_layer_args *a, void *stream) {
  mlaf_err err;
  mlaf_series together;
  const layer_shape *s = &layer->shape;
  mlaf_series_begin(&together, layer->shared->dev, stream);
  mlaf_status st = make_lists(layer, a, &together, stream);
  for (int i = 0; !st && i < s->n[FORM_ABSORBED]; i++) st = run_stage(layer, s->kinds[FORM_ABSORBED][i], a, &together, stream);
  return st ? st : report(layer->shared, mlaf_series_end(&together, layer->plans.chains, &err), &err);
}

static mlaf_status run_stages(const mlaf_layer *layer, int64_t one, const mlaf_layer_args *a, void *stream) {
  mlaf_err err;
  const layer_shape *s = &layer->shape;
  const layer_form form = layer_sizes_of(s, a).form;
  mlaf_status st = MLAF_OK;
  if (one >= s->n[form]) return report(layer->shared, no_stage(s, (size_t)one, form, &err), &err);
  if (one == EVERY && form == FORM_ABSORBED && layer->plans.chains) return run_together(layer, a, stream);
  /* Lists are made with the first stage, never right before decode: that may read lists ahead of its wait. */
  if (form == FORM_ABSORBED && one <= 0) st = make_lists(layer, a, NULL, stream);
  for (int i = 0; !st && i < s->n[form]; i++)
    if (one == EVERY || one == i) st = run_stage(layer, s->kinds[form][i], a, NULL, stream);
  return st;
}

/* Runs a call that leaves its workspace out. */
static mlaf_status run_borrowing(const mlaf_layer *layer, int64_t one, const mlaf_layer_args *args, void *stream) {
  mlaf_err err;
  mlaf_borrowed b;
  mlaf_layer_args a = *args;
  mlaf_status st = mlaf_workspace_borrow(layer->shared, stream, layer_workspace(layer, args), &b, &err);
  if (st) return report(layer->shared, st, &err);
  a.workspace = b.memory, a.workspace_size = b.size;
  st = run_stages(layer, one, &a, stream);
  mlaf_workspace_give_back(&b);
  return st;
}

static mlaf_status run(const mlaf_layer *layer, int64_t one, const mlaf_layer_args *args, void *stream) {
  mlaf_err err; /* 4 KB that only a failure writes to */
  mlaf_whole_args whole;
  const mlaf_layer_args *a = layer_args_take(args, &whole, &err);
  mlaf_status st = a ? layer_check_sizes(&layer->shape, a, &err) : MLAF_E_ARG;
  if (st) return report(layer->shared, st, &err);
  const layer_sizes z = layer_sizes_of(&layer->shape, a);
  if (!z.tokens) return MLAF_OK;
  layer = layer_serving(layer, &z);
  if ((st = layer_check_args(layer, a, &err))) return report(layer->shared, st, &err);
  return layer_leaves_workspace_out(a) ? run_borrowing(layer, one, a, stream) : run_stages(layer, one, a, stream);
}

mlaf_status mlaf_layer_execute(const mlaf_layer *layer, const mlaf_layer_args *args, void *stream) {
  return layer ? run(layer, EVERY, args, stream) : MLAF_E_ARG;
}

/* --- looking inside --- */

const layer_shape *layer_shape_of(const mlaf_layer *layer) { return &layer->shape; }

layer_choice layer_choice_of_call(const mlaf_layer *layer, const mlaf_layer_args *args) {
  const layer_sizes z = layer_sizes_of(&layer->shape, args);
  const mlaf_layer *l = layer_serving(layer, &z);
  layer_choice choice = layer_choice_for(&l->shape, z.tokens) & (1 << ALT_Q_B_APPEND);
  if (l->shape.absorbs && layer_takes(&l->shape, ALT_Q_B_APPEND_ABSORB, z.tokens)) choice |= 1 << ALT_Q_B_APPEND_ABSORB;
  if (layer_fuses_v_out(&l->shape, &l->plans, &z)) choice |= 1 << ALT_DECODE_V_OUT;
  if (layer_dequantises_weights(&l->shape, z.tokens)) choice |= 1 << ALT_DEQUANT_WEIGHTS;
  return choice;
}

size_t mlaf_layer_stages(const mlaf_layer *layer) {
  if (!layer) return 0;
  const int own = layer->shape.n[FORM_ABSORBED], other = layer->alternative ? layer->alternative->shape.n[FORM_ABSORBED] : 0;
  return (size_t)(own > other ? own : other);
}

mlaf_status mlaf_layer_execute_stage(const mlaf_layer *layer, size_t i, const mlaf_layer_args *args, void *stream) {
  return layer ? run(layer, i < INT64_MAX ? (int64_t)i : INT64_MAX, args, stream) : MLAF_E_ARG;
}

static void say_output(const layer_shape *s, layer_kind kind, const layer_sizes *z, mlaf_layer_stage *out) {
  const layer_places p = layer_places_of(s, z);
  const size_t row = LAYER_ELEMENT * (size_t)z->tokens, heads = row * (size_t)s->heads;
  const struct {
    size_t at, bytes;
  } of[LAYER_VALUES] = {
      [TENSOR_Q_LOW] = {p.c, row * (size_t)layer_c_row(s)},
      [TENSOR_Q] = {p.q, heads * (size_t)layer_q_row(s)},
      [TENSOR_Q_LATENT] = {p.qout, heads * (size_t)layer_kv_row(s)},
      [TENSOR_SUMS] = {p.u, heads * (size_t)s->d.rank},
      [TENSOR_KV_B] = {p.kv_b, LAYER_ELEMENT * (size_t)(layer_kv_b_rows(s) * s->d.rank)},
      [TENSOR_KEYS] = {p.kv, heads * (size_t)(s->d.nope + s->d.v)},
      [TENSOR_VALUES] = {p.o, heads * (size_t)s->d.v},
      [TENSOR_INDEX_K] = {p.index_k, row * LAYER_INDEX_COLUMNS},
      [TENSOR_INDEX_W] = {p.index_w, row * (size_t)s->d.index_heads},
      [TENSOR_INDEX_Q] = {p.index_q, row * LAYER_INDEX_COLUMNS * (size_t)s->d.index_heads},
      [TENSOR_INDEX_Q8] = {p.q8, row / LAYER_ELEMENT * LAYER_INDEX_COLUMNS * (size_t)s->d.index_heads},
      [TENSOR_LISTS] = {p.chosen, (size_t)z->tokens * sizeof(int32_t) * (size_t)s->d.index_topk},
  };
  out->output_at = of[layer_output_of(kind)].at;
  out->output_bytes = of[layer_output_of(kind)].bytes;
}

/* Added to *out. cached: tokens that a prefill attends to beside the new ones; its requests are taken as alike. */
static mlaf_status say_work(const layer_shape *s, layer_kind kind, const layer_sizes *z, int64_t cached, mlaf_layer_stage *out,
                            mlaf_err *err) {
  mlaf_point p;
  mlaf_work expands = {.bytes = 0};
  mlaf_status st = kind == STAGE_PREFILL ? layer_point(s, STAGE_GATHER, 1, &p, err) : MLAF_OK;
  if (!st && kind == STAGE_PREFILL && cached) {
    layer_point_size(&p, "tokens", cached);
    expands = p.op->calls->work(&p);
  }
  if (!st) st = layer_point(s, kind, z->q_len, &p, err);
  if (st) return st;
  if (kind == STAGE_PREFILL) {
    layer_point_size(&p, "batch", z->batch);
    layer_point_size(&p, "tokens", (z->tokens + z->batch - 1) / z->batch);
    layer_point_size(&p, "ctx", (z->tokens + cached + z->batch - 1) / z->batch);
  } else if (kind == STAGE_DECODE) {
    layer_point_size(&p, "batch", layer_lists(s) ? z->tokens : z->batch);
    layer_point_size(&p, "ctx", layer_lists(s) ? s->d.index_topk : z->ctx);
  } else if (kind == STAGE_INDEX) {
    layer_point_size(&p, "tokens", z->tokens);
    layer_point_size(&p, "ctx", z->ctx);
  } else layer_point_size(&p, "tokens", z->tokens);
  const mlaf_work w = p.op->calls->work(&p);
  out->bytes += w.bytes + expands.bytes;
  out->flops += w.flops + expands.flops;
  return MLAF_OK;
}

mlaf_status mlaf_layer_stage_at(const mlaf_layer *layer, size_t i, const mlaf_layer_args *args, mlaf_layer_stage *out) {
  mlaf_err err;
  mlaf_whole_args whole;
  if (!layer) return MLAF_E_ARG;
  const mlaf_layer_args *a = layer_args_take(args, &whole, &err);
  mlaf_status st = a ? layer_check_sizes(&layer->shape, a, &err) : MLAF_E_ARG;
  if (!st && (!out || out->struct_size < sizeof *out || !layer_sizes_of(&layer->shape, a).tokens))
    st = mlaf_fail(&err, MLAF_E_ARG, "mlaf_layer_stage_at: a call of 1 token or more, and MLAF_LAYER_STAGE_INIT, are wanted");
  if (st) return report(layer->shared, st, &err);
  const layer_sizes z = layer_sizes_of(&layer->shape, a);
  layer = layer_serving(layer, &z);
  const layer_shape *s = &layer->shape;
  if (i >= (size_t)s->n[z.form]) return report(layer->shared, no_stage(s, i, z.form, &err), &err);
  const layer_kind kind = s->kinds[z.form][i];
  const bool on = layer_fuses_v_out(s, &layer->plans, &z), idle = on && kind == STAGE_V_OUT;
  mlaf_layer_stage said = {.struct_size = out->struct_size, .name = layer_stage_name(kind), .operation = layer_operation(kind),
                           .plan = layer_plan_of(s, &layer->plans, idle ? STAGE_DECODE : kind, &z)};
  say_output(s, on && kind == STAGE_DECODE ? STAGE_V_OUT : kind, &z, &said);
  if (kind == STAGE_INDEX && a->indices) said.output_bytes = 0; /* the caller's tensor */
  if (!idle) st = say_work(s, kind, &z, z.form == FORM_PREFILL ? chunked_keys(a->schedule) : 0, &said, &err);
  if (!st && on && kind == STAGE_DECODE) st = say_work(s, STAGE_V_OUT, &z, 0, &said, &err);
  if (!st) *out = said;
  return report(layer->shared, st, &err);
}
