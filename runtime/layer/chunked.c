/* Prefill over a cached context: plans, workspace, launches. */
#include "layer/chunked.h"
#include "op/calls.h"

enum { ALIGN = 256, ELEMENT = 2 };
static const int64_t REACH_MOST = INT64_C(1) << 56; /* elements from the first row of a tensor to its last */

static mlaf_status report(mlaf_shared *shared, mlaf_status st, mlaf_err *err) {
  err->status = st;
  return st ? mlaf_shared_report(shared, err) : MLAF_OK;
}

/* --- create and destroy --- */

/* The first version of the struct ended before `crossover`. */
static mlaf_status take_desc(const mlaf_chunked_prefill_desc *in, mlaf_chunked_prefill_desc *out, mlaf_err *err) {
  static const mlaf_calls as_args = {.args_name = "mlaf_chunked_prefill_desc",
                                     .args_init = "MLAF_CHUNKED_PREFILL_DESC_INIT",
                                     .args_size = sizeof *in,
                                     .args_first = offsetof(mlaf_chunked_prefill_desc, crossover)};
  mlaf_whole_args whole;
  const mlaf_chunked_prefill_desc *d = mlaf_args_take(&as_args, in, &whole, err);
  if (!d) return err->status;
  *out = *d;
  return MLAF_OK;
}

static mlaf_status check_desc(const mlaf_chunked_prefill_desc *d, mlaf_err *err) {
  if (d->crossover < 0 || d->rotate < 0 || d->rotate > MLAF_CHUNKED_HALVES)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_chunked_prefill_desc: crossover is %d, must be 0 or more; rotate is %d, must be "
                     "0..%d", d->crossover, d->rotate, MLAF_CHUNKED_HALVES);
  if (d->flags) return mlaf_fail(err, MLAF_E_ARG, "mlaf_chunked_prefill_desc: flags is %#x, must be 0", d->flags);
  if (d->chunk_tokens < 1 || d->page_tokens < 1)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_chunked_prefill_desc: chunk_tokens is %d and page_tokens %d, must be positive",
                     d->chunk_tokens, d->page_tokens);
  if (d->batch < 1 || d->tokens < 1)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_chunked_prefill_desc: batch is %d and tokens %d, must be positive", d->batch,
                     d->tokens);
  if (d->dtype != MLAF_BF16 && d->dtype != MLAF_F16)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_chunked_prefill_desc: dtype is %d, must be MLAF_BF16 or MLAF_F16", d->dtype);
  return MLAF_OK;
}

static int32_t at_most(int64_t n, int32_t most) { return n > most ? most : (int32_t)n; }

void chunked_problem(const mlaf_chunked_prefill_desc *d, int part, char *out) {
  static const char *const turns[] = {"", ",rope_pairs", ",rope_halves"};
  const char *type = d->dtype == MLAF_F16 ? "f16" : "bf16", *layout = d->layout ? d->layout : "paged";
  const int32_t rows = at_most((int64_t)d->batch * d->tokens, 1 << 20), batch = at_most(d->batch, 1 << 16);
  const int32_t tokens = at_most(d->tokens, 1 << 20), keys = d->chunk_tokens / batch > 0 ? d->chunk_tokens / batch : 1;
  const size_t size = MLAF_PROBLEM_TEXT_MAX;
  switch (part) {
    case CHUNKED_FRESH:
    case CHUNKED_CONTEXT:
      snprintf(out, size, "mla_prefill:h%d,n%d,p%d,v%d,%s%s,b%d,t%d,s%d", d->heads, d->nope, d->rope, d->vdim, type,
               part == CHUNKED_FRESH ? ",causal" : "", batch, tokens, part == CHUNKED_FRESH ? tokens : at_most(keys, 1 << 24));
      break;
    case CHUNKED_GATHER:
      snprintf(out, size, "mla_gather_kv_b:h%d,n%d,p%d,v%d,r%d,%s,%s%s,t%d", d->heads, d->nope, d->rope, d->vdim, d->rank, type,
               layout, turns[d->rotate], at_most(d->chunk_tokens, 1 << 20));
      break;
    default: snprintf(out, size, "mla_merge:h%d,v%d,%s,t%d", d->heads, d->vdim, type, rows);
  }
}

mlaf_status chunked_requests(const mlaf_chunked_prefill_desc *d, const mlaf_plan_opts *opts, mlaf_plan_request out[CHUNKED_PARTS],
                           mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  for (int i = 0; !st && i < CHUNKED_PARTS; i++) {
    char problem[MLAF_PROBLEM_TEXT_MAX];
    chunked_problem(d, i, problem);
    out[i] = (mlaf_plan_request){.opts = opts};
    st = mlaf_point_parse(NULL, problem, &out[i].at, err->text, sizeof err->text);
  }
  return st;
}

/* No request waits for these plans. */
static mlaf_status plan_all(mlaf_ctx *ctx, mlaf_chunked_prefill *c) {
  mlaf_plan **const plans[CHUNKED_PARTS] = {&c->fresh, &c->context, &c->gather, &c->merge};
  mlaf_plan_request requests[CHUNKED_PARTS];
  mlaf_plan_opts opts;
  mlaf_err err;
  mlaf_status st = mlaf_plan_read_opts(c->d.plan, &opts, &err);
  c->invariant = opts.flags & MLAF_PLAN_BATCH_INVARIANT;
  opts.flags |= MLAF_PLAN_LIBRARY; /* the workspace has room for what gathering by one wants */
  if (!st) st = chunked_requests(&c->d, &opts, requests, &err);
  if (st) return report(ctx->shared, st, &err);
  mlaf_plan_compile_together(ctx, requests, CHUNKED_PARTS);
  for (int i = 0; !st && i < CHUNKED_PARTS; i++) {
    const mlaf_registry_how how = {.quiet = true};
    st = mlaf_registry_get(ctx, &requests[i].at, &opts, &how, plans[i]);
  }
  return st;
}

mlaf_status mlaf_chunked_prefill_create(mlaf_ctx *ctx, const mlaf_chunked_prefill_desc *desc, mlaf_chunked_prefill **out) {
  mlaf_err err;
  if (!ctx) return MLAF_E_ARG;
  if (!desc || !out) return mlaf_plan_refuse(ctx, MLAF_E_ARG, "mlaf_chunked_prefill_create: a pointer is NULL");
  mlaf_chunked_prefill_desc d;
  mlaf_status st = take_desc(desc, &d, &err);
  if (!st) st = check_desc(&d, &err);
  if (st) return report(ctx->shared, st, &err);
  mlaf_chunked_prefill *c = calloc(1, sizeof *c);
  if (!c) return mlaf_plan_refuse(ctx, MLAF_E_NOMEM, "no memory for plans of a chunked prefill");
  c->d = d;
  c->shared = ctx->shared;
  atomic_fetch_add_explicit(&c->shared->refs, 1, memory_order_relaxed);
  st = plan_all(ctx, c);
  if (!st) crossover_read(ctx, c);
  c->d.layout = NULL; /* the caller's, and done with */
  c->d.plan = NULL;
  if (st) mlaf_chunked_prefill_destroy(c);
  else *out = c;
  return st;
}

void mlaf_chunked_prefill_destroy(mlaf_chunked_prefill *c) {
  if (!c) return;
  mlaf_plan *const all[] = {c->fresh, c->context, c->gather, c->merge};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) mlaf_plan_release(all[i]);
  mlaf_shared_release(c->shared);
  free(c);
}

/* --- workspace --- */

/* Offsets; lse: of all new tokens, where the caller wants none. */
typedef struct places {
  size_t kv, k_pe, o, part_lse, lse, gather, gather_bytes, size;
} places;

static size_t place(size_t *size, double bytes) {
  const size_t at = *size;
  *size += ((size_t)bytes + ALIGN - 1) / ALIGN * ALIGN;
  return at;
}

static places places_of(const mlaf_chunked_prefill *c, const chunked_head *h) {
  const mlaf_chunked_prefill_desc *d = &c->d;
  const double keys = h->most_keys, rows = (double)h->most_rows * d->heads;
  places p = {.size = 0};
  p.kv = place(&p.size, keys * d->heads * (d->nope + d->vdim) * ELEMENT);
  p.k_pe = place(&p.size, keys * d->rope * ELEMENT);
  p.o = place(&p.size, rows * d->vdim * ELEMENT);
  p.part_lse = place(&p.size, rows * sizeof(float));
  p.lse = place(&p.size, h->chunks ? (double)h->tokens * d->heads * sizeof(float) : 0);
  const mlaf_gather_kv_b_args most = {.struct_size = sizeof most, .tokens = h->most_keys};
  p.gather_bytes = mlaf_run_workspace(c->gather, "mla_gather_kv_b", &most);
  p.gather = place(&p.size, (double)p.gather_bytes);
  return p;
}

size_t mlaf_chunked_prefill_workspace(const mlaf_chunked_prefill *c, const int32_t *schedule) {
  const chunked_head *h = chunked_head_of(schedule);
  return c && h && h->most_keys <= c->d.chunk_tokens ? places_of(c, h).size : SIZE_MAX;
}

/* --- launches --- */

/* A call, with every stride spelled out. */
typedef struct call {
  const mlaf_chunked_prefill *c;
  const chunked_head *h;
  const mlaf_chunked_prefill_args *a;
  mlaf_prefill_args fresh;
  char *workspace;
  places at;
  void *stream;
} call;

static int64_t or_else(int64_t stride, int64_t dense) { return stride ? stride : dense; }
static void *behind(const void *p, int64_t bytes) { return (void *)((uintptr_t)p + (uintptr_t)bytes); }

static void spell_out(call *x) {
  const mlaf_chunked_prefill_desc *d = &x->c->d;
  mlaf_prefill_args *f = &x->fresh;
  *f = x->a->fresh;
  f->q_head_stride = or_else(f->q_head_stride, d->nope + d->rope);
  f->q_token_stride = or_else(f->q_token_stride, (int64_t)d->heads * (d->nope + d->rope));
  f->o_head_stride = or_else(f->o_head_stride, d->vdim);
  f->o_token_stride = or_else(f->o_token_stride, (int64_t)d->heads * d->vdim);
  f->batch = x->h->batch;
  f->total_q = f->total_k = x->h->tokens;
  f->cu_seqlens_q = f->cu_seqlens_k = x->a->schedule_device + x->h->cu_new;
  if (!f->lse && x->h->chunks) {
    f->lse = (float *)(void *)(x->workspace + x->at.lse);
    f->lse_token_stride = f->lse_head_stride = 0;
  }
  if (!f->lse_token_stride && !f->lse_head_stride) {
    f->lse_token_stride = 1;
    f->lse_head_stride = x->h->tokens;
  }
}

static mlaf_status gather(const call *x, const chunked_part *p) {
  mlaf_gather_kv_b_args g = x->a->cached;
  g.batch = p->batch;
  g.tokens = p->keys;
  g.page_tokens = x->c->d.page_tokens;
  if (g.table_indptr) g.table_indptr += p->request;
  else g.table += p->request * g.table_stride;
  g.cu_seqlens = x->a->schedule_device + p->cu_k;
  g.seq_starts = x->a->schedule_device + p->starts;
  g.k = x->workspace + x->at.kv;
  g.k_pe = x->c->d.rope ? x->workspace + x->at.k_pe : NULL;
  g.workspace = x->workspace + x->at.gather;
  g.workspace_size = x->at.gather_bytes;
  return mlaf_run(x->c->gather, "mla_gather_kv_b", &g, x->stream);
}

/* The new tokens of the chunk's requests over its keys, into the workspace. */
static mlaf_status attend(const call *x, const chunked_part *p) {
  const mlaf_chunked_prefill_desc *d = &x->c->d;
  const int64_t row = d->nope + d->vdim;
  const mlaf_prefill_args a = {
      .struct_size = sizeof a,
      .batch = p->batch,
      .scale = x->fresh.scale,
      .total_q = p->rows,
      .total_k = p->keys,
      .q = behind(x->fresh.q, ELEMENT * p->row * x->fresh.q_token_stride),
      .q_token_stride = x->fresh.q_token_stride,
      .q_head_stride = x->fresh.q_head_stride,
      .k = x->workspace + x->at.kv,
      .k_token_stride = d->heads * row,
      .k_head_stride = row,
      .k_pe = d->rope ? x->workspace + x->at.k_pe : NULL,
      .v = x->workspace + x->at.kv + ELEMENT * d->nope,
      .v_token_stride = d->heads * row,
      .v_head_stride = row,
      .cu_seqlens_q = x->a->schedule_device + p->cu_q,
      .cu_seqlens_k = x->a->schedule_device + p->cu_k,
      .o = x->workspace + x->at.o,
      .lse = (float *)(void *)(x->workspace + x->at.part_lse),
  };
  return mlaf_run(x->c->context, "mla_prefill", &a, x->stream);
}

static mlaf_status merge(const call *x, const chunked_part *p) {
  const mlaf_prefill_args *f = &x->fresh;
  const mlaf_merge_args a = {
      .struct_size = sizeof a,
      .flags = MLAF_MERGE_IN_PLACE,
      .tokens = p->rows,
      .prefix = {behind(f->o, ELEMENT * p->row * f->o_token_stride), f->o_token_stride, f->o_head_stride,
                 f->lse + p->row * f->lse_token_stride, f->lse_token_stride, f->lse_head_stride},
      .suffix = {.o = x->workspace + x->at.o, .lse = (const float *)(const void *)(x->workspace + x->at.part_lse)},
  };
  return mlaf_run(x->c->merge, "mla_merge", &a, x->stream);
}

/* The stream's is meant. */
static bool leaves_workspace_out(const mlaf_chunked_prefill_args *a) { return !a->workspace && !a->workspace_size; }

/* Chunks begin rows and requests further on: what lies between is computed here, before the parts check their strides. */
static mlaf_status check_strides(const chunked_head *h, const mlaf_chunked_prefill_args *a, mlaf_err *err) {
  const struct {
    const char *name;
    int64_t stride, n;
  } list[] = {
      {"fresh.q_token_stride", a->fresh.q_token_stride, h->tokens},
      {"fresh.o_token_stride", a->fresh.o_token_stride, h->tokens},
      {"fresh.lse_token_stride", a->fresh.lse_token_stride, h->tokens},
      {"cached.table_stride", a->cached.table_stride, h->batch},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    if (list[i].n && (list[i].stride < 0 || list[i].stride > REACH_MOST / list[i].n))
      return mlaf_fail(err, MLAF_E_ARG, "%s is %lld, must be 0..%lld: there are %lld of them", list[i].name,
                       (long long)list[i].stride, (long long)(REACH_MOST / list[i].n), (long long)list[i].n);
  return MLAF_OK;
}

static mlaf_status check_args(const mlaf_chunked_prefill *c, const mlaf_chunked_prefill_args *a, mlaf_err *err) {
  const chunked_head *h = chunked_head_of(a->schedule);
  if (a->flags) return mlaf_fail(err, MLAF_E_ARG, "flags is %#x, must be 0", a->flags);
  if (!chunked_is_whole(a->schedule, a->schedule_words) || h->most_keys > c->d.chunk_tokens)
    return mlaf_fail(err, MLAF_E_ARG, "schedule is none that mlaf_chunked_prefill_schedule wrote for these plans");
  if (!a->schedule_device || (uintptr_t)a->schedule_device % sizeof(int32_t))
    return mlaf_fail(err, MLAF_E_ARG, "schedule_device is %p: the schedule's %d words on the device are wanted",
                     (const void *)a->schedule_device, h->words);
  const mlaf_prefill_args *f = &a->fresh;
  if (f->batch || f->total_q || f->total_k || f->cu_seqlens_q || f->cu_seqlens_k)
    return mlaf_fail(err, MLAF_E_ARG, "fresh: batch, total_q, total_k and cu_seqlens are the schedule's: 0 and NULL");
  const mlaf_gather_kv_b_args *g = &a->cached;
  if (g->batch || g->tokens || g->page_tokens || g->cu_seqlens || g->seq_starts || g->k || g->v || g->k_pe || g->workspace)
    return mlaf_fail(err, MLAF_E_ARG, "cached: batch, tokens, page_tokens, cu_seqlens, seq_starts, k, v, k_pe and workspace are "
                     "not for the caller: 0 and NULL");
  if (h->chunks && !g->table) return mlaf_fail(err, MLAF_E_ARG, "cached.table is NULL, and there are %d chunks", h->chunks);
  if (check_strides(h, a, err)) return MLAF_E_ARG;
  const size_t need = places_of(c, h).size;
  if (need && !leaves_workspace_out(a) && (!a->workspace || (uintptr_t)a->workspace % ALIGN || a->workspace_size < need))
    return mlaf_fail(err, MLAF_E_ARG, "workspace is %p of %zu bytes, must be %d-byte aligned and have %zu", a->workspace,
                     a->workspace_size, ALIGN, need);
  return MLAF_OK;
}

static const mlaf_chunked_prefill_args *take_args(const mlaf_chunked_prefill_args *args, mlaf_whole_args *whole, mlaf_err *err) {
  static const mlaf_calls as_args = {.args_name = "mlaf_chunked_prefill_args",
                                     .args_init = "MLAF_CHUNKED_PREFILL_ARGS_INIT",
                                     .args_size = sizeof *args,
                                     .args_first = offsetof(mlaf_chunked_prefill_args, schedule_words)};
  _Static_assert(sizeof *args <= MLAF_ARGS_MAX, "a copy has room");
  if (args) return mlaf_args_take(&as_args, args, whole, err);
  mlaf_fail(err, MLAF_E_ARG, "mlaf_chunked_prefill_args is NULL: start from MLAF_CHUNKED_PREFILL_ARGS_INIT");
  return NULL;
}

static mlaf_status launch(const mlaf_chunked_prefill *c, const mlaf_chunked_prefill_args *args, void *stream) {
  const chunked_head *h = chunked_head_of(args->schedule);
  call x = {.c = c, .h = h, .a = args, .workspace = args->workspace, .at = places_of(c, h), .stream = stream};
  spell_out(&x);
  mlaf_status st = mlaf_run(c->fresh, "mla_prefill", &x.fresh, stream);
  for (int32_t i = 0; !st && i < h->chunks; i++) {
    const chunked_part *p = chunked_part_at(args->schedule, i);
    st = gather(&x, p);
    if (!st) st = attend(&x, p);
    if (!st) st = merge(&x, p);
  }
  return st;
}

mlaf_status mlaf_chunked_prefill_execute(const mlaf_chunked_prefill *c, const mlaf_chunked_prefill_args *args, void *stream) {
  mlaf_err err; /* 4 KB that only a failure writes to */
  mlaf_whole_args whole;
  mlaf_borrowed b = {.lane = NULL};
  if (!c) return MLAF_E_ARG;
  args = take_args(args, &whole, &err);
  mlaf_status st = args ? check_args(c, args, &err) : MLAF_E_ARG;
  if (st) return report(c->shared, st, &err);
  mlaf_chunked_prefill_args a = *args;
  if (!chunked_head_of(a.schedule)->tokens) return MLAF_OK;
  const size_t need = places_of(c, chunked_head_of(a.schedule)).size;
  if (need && leaves_workspace_out(&a)) {
    st = mlaf_workspace_borrow(c->shared, stream, need, &b, &err);
    if (st) return report(c->shared, st, &err);
    a.workspace = b.memory, a.workspace_size = b.size;
  }
  st = launch(c, &a, stream);
  if (b.lane) mlaf_workspace_give_back(&b);
  return st;
}
