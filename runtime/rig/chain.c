/* Forms of execution as a chain of operations: projections and append of the layer, and o_proj. Between them cd and cc multiply
 * cached rows by kv_b (cc all of them, cd the new ones, whose K and V stay), and each head attends to K and V of its own; acc is
 * in acc.c. */
#include "rig/chain.h"
#include "mlaforge/mla_append.h"
#include "mlaforge/mla_prefill.h"
#include "mlaforge/projection.h"

#define LEAST_LIMIT 24e9 /* of bytes of keys: where a device does not say what it has, or is emulated */

static int64_t key_columns(const chain *x) { return x->r->form.nope + x->r->form.rope; }
static int64_t kv_row(const chain *x) { return (int64_t)x->r->form.heads * (x->r->form.nope + x->r->form.v); }
static bool expands(mlaf_form form) { return form != MLAF_FORM_ACC; }

double chain_key_bytes(const chain *x) {
  return 2.0 * (double)x->rows * (double)(expands(x->form) ? kv_row(x) : x->r->form.heads * x->r->row);
}

/* Half of the memory. */
static double limit_of(const chain *x) {
  const double half = 0.5 * (double)mlaf_info(x->r->dev)->mem_bytes;
  return x->r->modelled || half < LEAST_LIMIT ? LEAST_LIMIT : half;
}

static bool alike(const layer_rig *r) {
  const layer_setup *s = &r->setup;
  for (int32_t i = 0; i < s->batch; i++) {
    const layer_request q = s->requests[i];
    if (q.past + q.fresh != r->desc.ctx_max || q.fresh != s->requests[0].fresh) return false;
  }
  return r->desc.ctx_max % s->page_size == 0;
}

/* NULL, or why there is no such chain. */
static const char *cannot(const chain *x) {
  const layer_setup *s = &x->r->setup;
  const mlaf_form_layer *l = &x->r->form;
  if (!s->in_order) return "pages must lie in order";
  if (x->form != MLAF_FORM_CC && (!x->tokens || s->requests[0].fresh != 1))
    return "requests alike, with one new token, are wanted";
  if (s->flags & MLAF_FORM_ROPE_ON_READ) return "no operation turns keys of each head on read";
  if (l->q_beta > 0) return "the model's queries are scaled by their position, and nothing of this chain does it";
  const int32_t n = l->nope + l->v - l->rope;
  if (expands(x->form) && (n < 32 || n > 256 || n % 32))
    return "mla_q_b, which multiplies by kv_b here, has no heads of so many columns";
  if (chain_key_bytes(x) > limit_of(x)) return "keys of all tokens take more than half of the memory, or than 24 GB";
  return NULL;
}

/* --- plans --- */

static bool planned(mlaf_form form, int which) {
  return which <= CHAIN_TURN || expands(form) == (which <= CHAIN_PREFILL);
}

/* Problem `which` of a chain over `rows` cached rows. */
static void print_problem(const layer_setup *s, mlaf_form form, bool together, int64_t rows, int which, char *out, size_t size) {
  static const char *const styles[] = {"pairs", "halves", "unrotated"};
  mlaf_layer_desc d;
  layer_describe(s, &d);
  const int heads = d.heads / d.tp_size, fresh = 32 - __builtin_clz(d.q_lens), batch = s->batch;
  const int64_t expanded = form == MLAF_FORM_CD ? batch : rows;
  switch (which) {
    case CHAIN_Q_B: /* the layer's may append beside it, and turning the queries appends, too */
      snprintf(out, size, "mla_q_b:l%d,h%d,n%d,p%d%s,bf16,t%d", d.q_rank ? d.q_rank : d.hidden, heads, d.nope, d.rope,
               d.q_rank && !(s->flags & MLAF_FORM_NO_NORMS) ? ",norm" : "", batch * fresh);
      return;
    case CHAIN_TURN:
      snprintf(out, size, "mla_append:h%d,r%d,p%d,bf16,paged,%s%s,t%d", heads, d.rank, d.rope, styles[d.rope_style],
               s->flags & MLAF_FORM_NO_NORMS ? "" : ",norm", batch * fresh);
      return;
    case CHAIN_EXPAND:
      snprintf(out, size, "mla_q_b:l%d,h%d,n%d,p%d,bf16,t%lld", d.rank, heads, d.nope + d.v - d.rope, d.rope,
               (long long)(expanded < 65536 ? expanded : 65536));
      return;
    case CHAIN_PREFILL:
      snprintf(out, size, "mla_prefill:h%d,n%d,p%d,v%d,bf16,causal,b%d,t%d,s%d", heads, d.nope, d.rope, d.v,
               together ? batch : 1, fresh, d.ctx_max);
      return;
    case CHAIN_ABSORB: /* of queries that are turned */
      snprintf(out, size, "mla_q_absorb:h%d,n%d,p%d,r%d,bf16,unrotated,t%d", heads, d.nope, d.rope, d.rank, batch);
      return;
    case CHAIN_DECODE:
      snprintf(out, size, "mla_decode:h1,r%d,p%d,q1,bf16,page%d,b%d,s%d", d.rank, d.rope, s->page_size, batch * heads, d.ctx_max);
      return;
    default: snprintf(out, size, "mla_v_out:h%d,r%d,v%d,bf16,t%d", heads, d.rank, d.v, batch);
  }
}

bool layer_chain_problem(const layer_setup *s, mlaf_form form, int i, char out[MLAF_PROBLEM_TEXT_MAX]) {
  int64_t rows = 0;
  out[0] = 0;
  if (i >= CHAIN_PLANS) return false;
  for (int32_t k = 0; k < s->batch; k++) rows += s->requests[k].past + s->requests[k].fresh;
  if (planned(form, i)) print_problem(s, form, true, rows, i, out, MLAF_PROBLEM_TEXT_MAX);
  return true;
}

static mlaf_status make_plans(chain *x) {
  static const mlaf_registry_how how = {.quiet = true};
  mlaf_plan_opts opts = MLAF_PLAN_OPTS_INIT; /* no library: its products want a workspace, and the chain has none */
  opts.flags |= x->r->env->plan_flags;
  mlaf_status st = MLAF_OK;
  for (int i = 0; !st && i < CHAIN_PLANS; i++) {
    char text[MLAF_PROBLEM_TEXT_MAX], why[512] = "";
    mlaf_point p;
    if (!planned(x->form, i)) continue;
    print_problem(&x->r->setup, x->form, x->tokens, x->rows, i, text, sizeof text);
    st = mlaf_point_parse(NULL, text, &p, why, sizeof why);
    if (st) return mlaf_fail(x->r->env->err, MLAF_E_ARG, "%s: %s", text, why);
    st = layer_failed(x->r->env, mlaf_registry_get(x->r->env->ctx, &p, &opts, &how, &x->plan[i]));
  }
  return st;
}

/* Finds where the layer's stages leave the tensors that the chain reads. */
static mlaf_status find_places(chain *x) {
  const mlaf_layer *layer = x->r->layer[0];
  mlaf_status st = MLAF_OK;
  for (size_t i = 0; !st && i < mlaf_layer_stages(layer); i++) {
    mlaf_layer_stage s = MLAF_LAYER_STAGE_INIT;
    st = layer_failed(x->r->env, mlaf_layer_stage_at(layer, i, &x->r->call[0].args, &s));
    if (st) break;
    if (!strcmp(s.name, "q_b")) x->q_at = s.output_at, x->before = i;
    else if (!strcmp(s.name, "v_out")) x->o_at = s.output_at;
    else if (!strcmp(s.name, "o_proj")) x->o_proj = i;
    else if (i == 0) x->c_at = s.output_at;
  }
  return st;
}

static mlaf_status send_lengths(chain *x) {
  const layer_setup *s = &x->r->setup;
  const size_t bytes = (size_t)(s->batch + 1) * 16;
  int32_t *cu = calloc(1, bytes);
  void *at = NULL;
  if (!cu) return mlaf_fail(x->r->env->err, MLAF_E_NOMEM, "no memory for a chain");
  for (int32_t i = 0; i <= s->batch && x->tokens; i++) {
    cu[i] = i * s->requests[0].fresh;
    cu[s->batch + 1 + i] = i * (int32_t)x->tokens;
  }
  for (int32_t i = 0; i < s->batch && !x->tokens; i++) {
    cu[4 * i + 1] = s->requests[i].fresh;
    cu[4 * i + 3] = s->requests[i].past + s->requests[i].fresh;
  }
  mlaf_status st = layer_alloc(x->r, bytes, &at);
  if (!st) st = mlaf_ops(x->r->dev)->mem_write(x->r->dev, at, cu, bytes, x->r->env->err);
  x->lists = at;
  free(cu);
  return st;
}

static mlaf_status make_buffers(chain *x) {
  const double bytes = chain_key_bytes(x);
  void *at = NULL;
  mlaf_status st = MLAF_OK;
  for (int i = 0; !st && i < x->r->sets; i++) { /* one for all where they are large: no cache holds it */
    if (i == 0 || bytes * x->r->sets <= LEAST_LIMIT) st = layer_alloc(x->r, (size_t)bytes, &at);
    x->keys[i] = at;
  }
  if (st) return st;
  return expands(x->form) ? send_lengths(x) : chain_acc_open(x);
}

/* --- launches --- */

int64_t chain_first_row(const chain *x, int set, int32_t request) {
  return (set * x->r->set_pages + x->r->first_page[request]) * x->r->setup.page_size;
}

static mlaf_status queries(const chain *x, int set, const mlaf_layer_args *a) {
  const mlaf_form_layer *l = &x->r->form;
  mlaf_projection_args p = MLAF_PROJECTION_ARGS_INIT;
  p.tokens = a->tokens;
  p.x = l->q_rank ? (char *)a->workspace + x->c_at : a->hidden;
  p.x_token_stride = l->q_rank ? l->q_rank + l->rank + l->rope : a->hidden_token_stride;
  p.w = x->r->device_weights[set][2];
  p.y = (char *)a->workspace + x->q_at;
  p.norm_weight = l->q_rank && !(l->flags & MLAF_FORM_NO_NORMS) ? x->r->device_weights[set][1] : NULL;
  p.eps = (float)l->eps;
  return mlaf_run(x->plan[CHAIN_Q_B], "mla_q_b", &p, NULL);
}

static mlaf_status turn(const chain *x, int set, const mlaf_layer_args *a) {
  const mlaf_form_layer *l = &x->r->form;
  uint16_t *const c = (uint16_t *)((char *)a->workspace + x->c_at), *const q = (uint16_t *)((char *)a->workspace + x->q_at);
  mlaf_append_args p = MLAF_APPEND_ARGS_INIT;
  p.tokens = a->tokens;
  p.ckv = c + l->q_rank, p.kpe = c + l->q_rank + l->rank;
  p.ckv_row_stride = p.kpe_row_stride = l->q_rank + l->rank + l->rope;
  p.norm_weight = l->flags & MLAF_FORM_NO_NORMS ? NULL : x->r->device_weights[set][4];
  p.eps = (float)l->eps;
  p.slots = a->slots, p.positions = a->positions, p.cos = x->r->desc.cos, p.table_rows = l->table_rows;
  p.cache = a->cache, p.cache_row_stride = x->r->row;
  p.num_slots = (int64_t)a->num_pages * x->r->setup.page_size;
  p.q_pe = p.q_pe_out = q + l->nope;
  p.q_pe_token_stride = p.q_pe_out_token_stride = l->heads * key_columns(x);
  p.q_pe_head_stride = p.q_pe_out_head_stride = key_columns(x);
  return mlaf_run(x->plan[CHAIN_TURN], "mla_append", &p, NULL);
}

/* K and V of all cached tokens, or of each request's last. */
static mlaf_status expand(const chain *x, int set, bool all) {
  const mlaf_form_layer *l = &x->r->form;
  const int64_t last = all ? 0 : x->tokens - 1, by = all ? 1 : x->tokens;
  mlaf_projection_args p = MLAF_PROJECTION_ARGS_INIT;
  p.tokens = all ? x->rows : x->r->setup.batch;
  p.x = x->r->cache + (chain_first_row(x, set, 0) + last) * x->r->row;
  p.x_token_stride = by * x->r->row;
  p.w = x->r->device_weights[set][5];
  p.w_row_stride = l->rank;
  p.y = x->keys[set] + last * kv_row(x);
  p.y_token_stride = by * kv_row(x);
  return mlaf_run(x->plan[CHAIN_EXPAND], "mla_q_b", &p, NULL);
}

/* Requests first .. first + n - 1, whose new tokens begin at q. */
static mlaf_status attend(const chain *x, int set, const mlaf_layer_args *a, int32_t first, int32_t n, int64_t q, int64_t tokens,
                          int64_t keys, const int32_t *cu_q, const int32_t *cu_k) {
  const mlaf_form_layer *l = &x->r->form;
  const int64_t row = chain_first_row(x, set, first), own = row - chain_first_row(x, set, 0);
  mlaf_prefill_args p = MLAF_PREFILL_ARGS_INIT;
  p.batch = n;
  p.scale = (float)l->scale;
  p.total_q = tokens, p.total_k = keys;
  p.q = (uint16_t *)((char *)a->workspace + x->q_at) + q * l->heads * key_columns(x);
  p.k = x->keys[set] + own * kv_row(x), p.v = x->keys[set] + own * kv_row(x) + l->nope;
  p.k_token_stride = p.v_token_stride = kv_row(x);
  p.k_head_stride = p.v_head_stride = l->nope + l->v;
  p.k_pe = x->r->cache + row * x->r->row + l->rank;
  p.k_pe_token_stride = x->r->row;
  p.cu_seqlens_q = cu_q, p.cu_seqlens_k = cu_k;
  p.o = (uint16_t *)((char *)a->workspace + x->o_at) + q * l->heads * l->v;
  return mlaf_run(x->plan[CHAIN_PREFILL], "mla_prefill", &p, NULL);
}

static mlaf_status attend_all(const chain *x, int set, const mlaf_layer_args *a) {
  const layer_setup *s = &x->r->setup;
  mlaf_status st = MLAF_OK;
  int64_t q = 0;
  if (x->tokens) return attend(x, set, a, 0, s->batch, 0, a->tokens, s->batch * x->tokens, x->lists, x->lists + s->batch + 1);
  for (int32_t i = 0; !st && i < s->batch; i++) {
    const int32_t n = s->requests[i].fresh, *cu = x->lists + 4 * (size_t)i;
    if (n) st = attend(x, set, a, i, 1, q, n, s->requests[i].past + n, cu, cu + 2);
    q += n;
  }
  return st;
}

static mlaf_status step(const chain *x, int set) {
  const mlaf_layer_args *a = &x->r->call[set].args;
  mlaf_status st = MLAF_OK;
  for (size_t i = 0; !st && i < x->before; i++) st = mlaf_layer_execute_stage(x->r->layer[set], i, a, NULL);
  if (!st) st = queries(x, set, a);
  if (!st) st = turn(x, set, a);
  if (!st && !expands(x->form)) st = chain_acc_attend(x, set, a);
  if (!st && expands(x->form)) st = expand(x, set, x->form == MLAF_FORM_CC);
  if (!st && expands(x->form)) st = attend_all(x, set, a);
  return st ? st : mlaf_layer_execute_stage(x->r->layer[set], x->o_proj, a, NULL);
}

/* Every set once: what is timed then finds everything written. cd has its K and V of earlier tokens first. */
static mlaf_status run_all(chain *x) {
  const mlaf_device_ops *ops = mlaf_ops(x->r->dev);
  const mlaf_layer_args *a = &x->r->call[0].args;
  mlaf_status st = layer_rig_refill(x->r);
  if (!st) st = ops->mem_fill(x->r->dev, a->out, 0xff, (size_t)(a->tokens * x->r->form.hidden) * 2, x->r->env->err);
  for (int i = 0; !st && i < x->r->sets; i++) {
    if (x->form == MLAF_FORM_CD) st = layer_failed(x->r->env, expand(x, i, true));
    if (!st) st = layer_failed(x->r->env, step(x, i));
  }
  return st ? st : ops->sync(x->r->dev, NULL, x->r->env->err);
}

static mlaf_status time_all(chain *x, mlaf_timing *out) {
  mlaf_record record = {.n = 0};
  mlaf_status st = MLAF_OK;
  mlaf_record_begin(x->r->dev, &record);
  for (int i = 0; !st && i < x->r->sets; i++) st = step(x, i);
  mlaf_record_end(&record);
  st = st ? layer_failed(x->r->env, st) : layer_time_recorded(x->r, &record, out);
  mlaf_record_free(&record);
  return st;
}

mlaf_status layer_chain(layer_rig *r, mlaf_form form, const layer_tolerance *t, layer_checked *checked, mlaf_timing *timing) {
  chain x = {.r = r, .form = form, .tokens = alike(r) ? r->desc.ctx_max : 0};
  x.rows = r->first_page[r->setup.batch] * r->setup.page_size;
  const char *why = cannot(&x);
  if (why) return mlaf_fail(r->env->err, MLAF_E_ARG, "%s", why);
  mlaf_status st = make_plans(&x);
  if (!st) st = find_places(&x);
  if (!st) st = make_buffers(&x);
  if (!st) st = run_all(&x);
  if (!st) st = layer_check(r, t, checked);
  if (!st && timing) st = time_all(&x, timing);
  chain_acc_close(&x);
  for (int i = 0; i < CHAIN_PLANS; i++) mlaf_plan_release(x.plan[i]);
  return st;
}
