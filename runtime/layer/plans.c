/* The plans of a layer: made for its whole range at once, found by size without a lock. */
#include "layer/inside.h"

/* --- sizes that plans are made for --- */

static const mlaf_field *field(const mlaf_op *op, const char *name) {
  for (int i = 0; i < op->n_fields; i++)
    if (!strcmp(op->fields[i].name, name)) return &op->fields[i];
  return NULL;
}

/* Batches as decode's plans round them. */
static mlaf_status list_batches(const mlaf_op *op, int32_t most, layer_plans *out, mlaf_err *err) {
  const mlaf_field *f = field(op, "batch");
  const int32_t last = mlaf_field_round(f, most);
  int n = 0;
  for (int32_t b = mlaf_field_round(f, 1); b <= last; b = mlaf_field_round(f, b + 1)) n++;
  out->batches = calloc((size_t)n, sizeof *out->batches);
  if (!out->batches) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a layer's plans");
  for (int32_t b = mlaf_field_round(f, 1); b <= last; b = mlaf_field_round(f, b + 1)) out->batches[out->n_batches++] = b;
  return MLAF_OK;
}

static void list_ctxs(const layer_shape *s, layer_plans *out) {
  int n = 1;
  while (n < LAYER_CTXS && layer_decode_ctx_most(s) >> n >= layer_decode_ctx_least(s)) n++;
  out->n_ctxs = n;
  for (int i = 0; i < n; i++) out->ctxs[i] = layer_decode_ctx_most(s) >> (n - 1 - i);
}

/* --- making --- */

static mlaf_status report(mlaf_ctx *ctx, mlaf_status st, mlaf_err *err) {
  err->status = st;
  return st ? mlaf_shared_report(ctx->shared, err) : MLAF_OK;
}

static size_t n_decode(const layer_plans *p) { return (size_t)p->n_ctxs * (size_t)p->n_batches; }

/* Plans that are wanted: their problems, how each is asked for, and where it goes. */
typedef struct wanted {
  mlaf_plan_opts rows, decode; /* options */
  mlaf_plan_request *list;
  mlaf_plan ***to;
  size_t n;
} wanted;

static void want(wanted *w, const mlaf_point *p, const mlaf_plan_opts *opts, mlaf_plan_inside inside, mlaf_plan **to) {
  w->list[w->n] = (mlaf_plan_request){*p, opts, inside};
  w->to[w->n++] = to;
}

static mlaf_status want_by_rows(const layer_shape *s, layer_kind kind, layer_plans *out, wanted *w, mlaf_err *err) {
  const int64_t most = layer_rows_most(s, kind);
  const int first = layer_class_of(layer_rows_least(s, kind)), last = layer_class_of(most);
  mlaf_point p;
  mlaf_status st = layer_point(s, kind, 1, &p, err);
  for (int k = first; !st && k <= last; k++) {
    const int64_t begin = k ? (INT64_C(1) << (k - 1)) + 1 : 1, end = INT64_C(1) << k < most ? INT64_C(1) << k : most;
    if (!layer_is_dequant(kind) && !layer_launches(s, kind, begin) && !layer_launches(s, kind, end)) continue;
    layer_point_rows(&p, INT64_C(1) << k);
    want(w, &p, &w->rows, (mlaf_plan_inside){.ahead = false}, &out->by_rows[kind][k]);
  }
  return st;
}

static mlaf_status want_decode(const layer_shape *s, int q_len, layer_plans *out, wanted *w, mlaf_err *err) {
  const bool ahead = !(s->d.flags & MLAF_LAYER_ROWS_ANYWHERE) && !layer_lists(s); /* a list's kernel comes right before */
  mlaf_point p, v_out;
  if (!out->decode[q_len - 1]) out->decode[q_len - 1] = calloc(n_decode(out), sizeof **out->decode);
  mlaf_plan **plans = out->decode[q_len - 1];
  if (!plans) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a layer's plans");
  mlaf_status st = layer_point(s, STAGE_DECODE, q_len, &p, err);
  if (!st) st = layer_point(s, STAGE_V_OUT, q_len, &v_out, err);
  for (size_t i = 0; !st && i < n_decode(out); i++) {
    layer_point_size(&p, "ctx", out->ctxs[i / (size_t)out->n_batches]);
    const int32_t batch = out->batches[i % (size_t)out->n_batches];
    layer_point_size(&p, "batch", batch);
    mlaf_plan_inside inside = {.ahead = ahead};
    if (layer_may_fuse_v_out(s, (int64_t)batch * q_len)) inside.next = v_out;
    want(w, &p, &w->decode, inside, &plans[i]);
  }
  return st;
}

static mlaf_status begin_wanted(const layer_shape *s, const layer_plans *out, wanted *w, mlaf_err *err) {
  const size_t most = (size_t)LAYER_STAGES * LAYER_CLASSES + LAYER_Q_LENS * n_decode(out) + CHUNKED_PARTS;
  *w = (wanted){.n = 0};
  mlaf_status st = mlaf_plan_read_opts(s->d.plan, &w->rows, err);
  if (st) return st;
  w->decode = w->rows;
  w->rows.flags |= MLAF_PLAN_LIBRARY; /* its workspace has room for what such a plan wants */
  w->decode.flags |= layer_lists(s) ? MLAF_PLAN_LISTS : MLAF_PLAN_TABLES;
  w->list = calloc(most, sizeof *w->list);
  w->to = calloc(most, sizeof *w->to);
  return w->list && w->to ? MLAF_OK : mlaf_fail(err, MLAF_E_NOMEM, "no memory for a layer's plans");
}

static void free_wanted(wanted *w) {
  free(w->list);
  free(w->to);
}

/* Makes the plans one after the other; their kernels were compiled together before. Frees what is wanted. */
static mlaf_status make_wanted(mlaf_ctx *ctx, wanted *w, mlaf_status st) {
  for (size_t i = 0; !st && i < w->n; i++) {
    const mlaf_registry_how how = {.quiet = true, .inside = &w->list[i].inside};
    st = mlaf_registry_get(ctx, &w->list[i].at, w->list[i].opts, &how, w->to[i]);
  }
  free_wanted(w);
  return st;
}

/* All plans but a prefill's and those of STAGE_Q_B_APPEND_ABSORB. */
static mlaf_status want_all(const layer_shape *s, layer_plans *out, wanted *w, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  for (int k = 0; !st && k < LAYER_STAGES; k++)
    if (k != STAGE_Q_B_APPEND_ABSORB && k != STAGE_DECODE && k != STAGE_PREFILL && layer_rows_most(s, k))
      st = want_by_rows(s, k, out, w, err);
  for (int q = 1; !st && q <= LAYER_Q_LENS; q++)
    if (layer_plans_decode(s, q)) st = want_decode(s, q, out, w, err);
  return st;
}

static mlaf_status want_prefill(const layer_shape *s, wanted *w, mlaf_err *err) {
  const mlaf_chunked_prefill_desc d = layer_chunked(s);
  const mlaf_status st = chunked_requests(&d, &w->rows, w->list + w->n, err);
  if (!st) w->n += CHUNKED_PARTS;
  return st;
}

static mlaf_status make_all(mlaf_ctx *ctx, const layer_shape *s, layer_plans *out) {
  wanted w;
  mlaf_err err;
  mlaf_status st = begin_wanted(s, out, &w, &err);
  if (!st) st = want_all(s, out, &w, &err);
  return make_wanted(ctx, &w, report(ctx, st, &err));
}

/* Compiles everything that will be planned together. A failure is ignored: it comes again when plans are made. */
static void compile_all(mlaf_ctx *ctx, const layer_shape *shape, layer_plans *out) {
  wanted w;
  mlaf_err ignored;
  layer_shape s = *shape;
  if (layer_shape_may_absorb(&s)) layer_shape_set_absorb(&s, true);
  mlaf_status st = begin_wanted(&s, out, &w, &ignored);
  if (!st && s.absorbs && layer_rows_most(&s, STAGE_Q_B_APPEND_ABSORB))
    st = want_by_rows(&s, STAGE_Q_B_APPEND_ABSORB, out, &w, &ignored);
  if (!st) st = want_all(&s, out, &w, &ignored);
  if (!st && layer_rows_most(&s, STAGE_PREFILL)) st = want_prefill(&s, &w, &ignored);
  if (!st) mlaf_plan_compile_together(ctx, w.list, w.n);
  free_wanted(&w);
}

static mlaf_status make_sizes(mlaf_ctx *ctx, const layer_shape *s, layer_plans *out) {
  mlaf_err err;
  mlaf_point p;
  mlaf_status st = layer_point(s, STAGE_DECODE, layer_q_len_most(s), &p, &err);
  if (!st) st = list_batches(p.op, layer_decode_batch_most(s), out, &err);
  if (!st) list_ctxs(s, out);
  return report(ctx, st, &err);
}

/* Plans q_b's kernel with append and q_absorb, where it is chosen and there are such kernels on the device or in the bundle. */
static void try_absorb(mlaf_ctx *ctx, layer_shape *s, layer_plans *out) {
  if (!layer_shape_may_absorb(s)) return;
  layer_shape_set_absorb(s, true);
  if (layer_rows_most(s, STAGE_Q_B_APPEND_ABSORB)) {
    wanted w;
    mlaf_err err;
    mlaf_status st = begin_wanted(s, out, &w, &err);
    if (!st) st = want_by_rows(s, STAGE_Q_B_APPEND_ABSORB, out, &w, &err);
    if (!make_wanted(ctx, &w, st)) return;
  }
  for (int c = 0; c < LAYER_CLASSES; c++) {
    mlaf_plan_release(out->by_rows[STAGE_Q_B_APPEND_ABSORB][c]);
    out->by_rows[STAGE_Q_B_APPEND_ABSORB][c] = NULL;
  }
  layer_shape_set_absorb(s, false);
}

mlaf_status layer_plans_make(mlaf_ctx *ctx, layer_shape *s, layer_plans *out) {
  out->chains = mlaf_series_chains_new(mlaf_ctx_device(ctx));
  mlaf_status st = make_sizes(ctx, s, out);
  if (!st) compile_all(ctx, s, out);
  if (!st) try_absorb(ctx, s, out);
  if (!st) st = make_all(ctx, s, out);
  if (!st && layer_rows_most(s, STAGE_PREFILL)) {
    mlaf_chunked_prefill_desc d = layer_chunked(s);
    d.plan = s->d.plan;
    st = mlaf_chunked_prefill_create(ctx, &d, &out->prefill);
  }
  return st;
}

void layer_plans_clear(layer_plans *p) {
  const size_t n = n_decode(p);
  mlaf_series_chains_free(p->chains);
  mlaf_chunked_prefill_destroy(p->prefill);
  for (int k = 0; k < LAYER_STAGES; k++)
    for (int c = 0; c < LAYER_CLASSES; c++) mlaf_plan_release(p->by_rows[k][c]);
  for (int q = 0; q < LAYER_Q_LENS; q++) {
    for (size_t i = 0; p->decode[q] && i < n; i++) mlaf_plan_release(p->decode[q][i]);
    free(p->decode[q]);
  }
  free(p->batches);
}

/* --- finding --- */

/* The first of rising values that holds x; the last where none does. */
static int first_from(const int32_t *list, int n, int32_t x) {
  int low = 0, high = n - 1;
  while (low < high) {
    const int mid = (low + high) / 2;
    if (list[mid] < x) low = mid + 1;
    else high = mid;
  }
  return low;
}

/* The nearest by ratio of rising values: a request of one token more than a size is no reason for the plan of twice as many. */
static int nearest_of(const int32_t *list, int n, int32_t x) {
  const int i = first_from(list, n, x);
  return i > 0 && (int64_t)x * x < (int64_t)list[i - 1] * list[i] ? i - 1 : i;
}

mlaf_plan *layer_plan_of(const layer_shape *s, const layer_plans *p, layer_kind kind, const layer_sizes *z) {
  if (kind == STAGE_PREFILL) return p->prefill->fresh;
  layer_kind parts[LAYER_PARTS];
  layer_parts_of(s, kind, z->tokens, parts);
  kind = parts[0];
  if (layer_is_dequant(kind)) return p->by_rows[kind][0];
  if (kind != STAGE_DECODE) return p->by_rows[kind][layer_class_of(z->tokens)];
  if (layer_lists(s)) return p->decode[0][first_from(p->batches, p->n_batches, (int32_t)z->tokens)];
  int q = s->invariant ? layer_q_len_most(s) : z->q_len; /* how a request is computed does not follow the longest one's tokens */
  while (!p->decode[q - 1]) q++;
  return p->decode[q - 1][nearest_of(p->ctxs, p->n_ctxs, z->ctx) * p->n_batches + first_from(p->batches, p->n_batches, z->batch)];
}

bool layer_fuses_v_out(const layer_shape *s, const layer_plans *p, const layer_sizes *z) {
  return z->form == FORM_ABSORBED && mlaf_plan_serves_next(layer_plan_of(s, p, STAGE_DECODE, z));
}
