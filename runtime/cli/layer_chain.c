/* The forms that expand the latent, as a chain of operations: projections and append of the layer, kv_b over cached rows (all of
 * them for cc, the new ones for cd, whose K and V stay), attention of each head over K and V of its own, o_proj. */
#include <stdlib.h>
#include <string.h>

#include "cli/layer.h"
#include "mlaforge/mla_append.h"
#include "mlaforge/mla_prefill.h"
#include "mlaforge/projection.h"

#define MOST_BYTES 24e9 /* of K and V */

typedef struct chain {
  layer_rig *r;
  mlaf_form form;
  int64_t tokens; /* of a request; all have as many */
  mlaf_plan *turn, *expand, *attend;
  size_t c_at, q_at, o_at;         /* in the workspace */
  size_t before, o_proj;           /* stages up to before; the last */
  uint16_t *kv[LAYER_SETS];        /* [batch * tokens, H, N+V] */
  int32_t *cu_q, *cu_k;
} chain;

static int64_t key_columns(const chain *x) { return x->r->form.nope + x->r->form.rope; }
static int64_t kv_row(const chain *x) { return (int64_t)x->r->form.heads * (x->r->form.nope + x->r->form.v); }

/* NULL, or why there is no such chain. */
static const char *cannot(const chain *x) {
  const layer_setup *s = &x->r->setup;
  const mlaf_form_layer *l = &x->r->form;
  if (x->r->calls != 1 || s->window != 1) return "one new token a request is wanted";
  if (!s->in_order || x->tokens % s->page_size) return "requests must fill whole pages that lie in order";
  for (int32_t i = 0; i < s->batch; i++)
    if (s->requests[i].past + s->requests[i].fresh != x->tokens) return "requests differ in length";
  if (s->flags & MLAF_FORM_ROPE_ON_READ) return "no operation turns keys of each head on read";
  const int32_t n = l->nope + l->v - l->rope;
  if (n < 32 || n > 256 || n % 32) return "mla_q_b, which multiplies by kv_b here, has no heads of so many columns";
  if ((double)(s->batch * x->tokens) * (double)kv_row(x) * 2 > MOST_BYTES) return "K and V of all tokens take more than 24 GB";
  return NULL;
}

/* --- plans --- */

static mlaf_status plan(chain *x, mlaf_plan **out, const char *fmt, ...) MLAF_PRINTF(3, 4);
static mlaf_status plan(chain *x, mlaf_plan **out, const char *fmt, ...) {
  char text[MLAF_PROBLEM_TEXT_MAX];
  const mlaf_plan_opts opts = mlaf_cli_plan_opts(x->r->c);
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  return layer_failed(x->r->c, mlaf_plan_for(x->r->c->ctx, text, &opts, out));
}

static mlaf_status make_plans(chain *x) {
  static const char *const styles[] = {"pairs", "halves", "unrotated"};
  const mlaf_form_layer *l = &x->r->form;
  const int32_t batch = x->r->setup.batch;
  const int64_t expanded = x->form == MLAF_FORM_CD ? batch : batch * x->tokens;
  mlaf_status st = plan(x, &x->turn, "mla_append:h%d,r%d,p%d,bf16,paged,%s%s,t%d", l->heads, l->rank, l->rope,
                        styles[l->rope_style], l->flags & MLAF_FORM_NO_NORMS ? "" : ",norm", batch);
  if (!st)
    st = plan(x, &x->expand, "mla_q_b:l%d,h%d,n%d,p%d,bf16,t%lld", l->rank, l->heads, l->nope + l->v - l->rope, l->rope,
              (long long)(expanded < 65536 ? expanded : 65536));
  if (!st)
    st = plan(x, &x->attend, "mla_prefill:h%d,n%d,p%d,v%d,bf16,causal,b%d,t1,s%lld", l->heads, l->nope, l->rope, l->v, batch,
              (long long)x->tokens);
  return st;
}

/* Where the layer's stages leave what the chain goes on with. */
static mlaf_status find_places(chain *x) {
  const mlaf_layer *layer = x->r->layer[0];
  mlaf_status st = MLAF_OK;
  for (size_t i = 0; !st && i < mlaf_layer_stages(layer); i++) {
    mlaf_layer_stage s = MLAF_LAYER_STAGE_INIT;
    st = layer_failed(x->r->c, mlaf_layer_stage_at(layer, i, &x->r->call[0].args, &s));
    if (st) break;
    if (!strcmp(s.name, "append")) x->before = i;
    else if (!strcmp(s.name, "q_b")) x->q_at = s.output_at;
    else if (!strcmp(s.name, "v_out")) x->o_at = s.output_at;
    else if (!strcmp(s.name, "o_proj")) x->o_proj = i;
    else if (i == 0) x->c_at = s.output_at;
  }
  return st;
}

static mlaf_status make_buffers(chain *x) {
  const int32_t batch = x->r->setup.batch;
  const size_t bytes = (size_t)(batch * x->tokens * kv_row(x)) * 2, lists = (size_t)(batch + 1) * 4;
  const mlaf_device_ops *ops = mlaf_ops(x->r->dev);
  void *at = NULL;
  mlaf_status st = MLAF_OK;
  for (int i = 0; !st && i < x->r->sets; i++) { /* one for all where they are large: no cache holds it */
    if (i == 0 || (double)bytes * x->r->sets <= MOST_BYTES) st = layer_alloc(x->r, bytes, &at);
    x->kv[i] = at;
  }
  int32_t *cu = malloc(lists);
  if (!cu && !st) st = mlaf_fail(&x->r->c->err, MLAF_E_NOMEM, "no memory for a chain");
  for (int k = 0; !st && k < 2; k++) {
    for (int32_t i = 0; i <= batch; i++) cu[i] = (int32_t)(i * (k ? x->tokens : 1));
    st = layer_alloc(x->r, lists, &at);
    if (!st) st = ops->mem_write(x->r->dev, at, cu, lists, &x->r->c->err);
    *(k ? &x->cu_k : &x->cu_q) = at;
  }
  free(cu);
  return st;
}

/* --- launches --- */

static mlaf_status turn(const chain *x, int set) {
  const mlaf_layer_args *a = &x->r->call[set].args;
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
  return mlaf_run(x->turn, "mla_append", &p, NULL);
}

/* K and V of all cached tokens, or of each request's last. */
static mlaf_status expand(const chain *x, int set, bool all) {
  const mlaf_form_layer *l = &x->r->form;
  const int64_t first = set * x->r->set_pages * x->r->setup.page_size + (all ? 0 : x->tokens - 1), by = all ? 1 : x->tokens;
  mlaf_projection_args p = MLAF_PROJECTION_ARGS_INIT;
  p.tokens = x->r->setup.batch * (all ? x->tokens : 1);
  p.x = x->r->cache + first * x->r->row;
  p.x_token_stride = by * x->r->row;
  p.w = x->r->device_weights[set][5];
  p.w_row_stride = l->rank;
  p.y = x->kv[set] + (all ? 0 : x->tokens - 1) * kv_row(x);
  p.y_token_stride = by * kv_row(x);
  return mlaf_run(x->expand, "mla_q_b", &p, NULL);
}

static mlaf_status attend(const chain *x, int set) {
  const mlaf_layer_args *a = &x->r->call[set].args;
  const mlaf_form_layer *l = &x->r->form;
  mlaf_prefill_args p = MLAF_PREFILL_ARGS_INIT;
  p.batch = x->r->setup.batch;
  p.scale = (float)l->scale;
  p.total_q = a->tokens, p.total_k = p.batch * x->tokens;
  p.q = (char *)a->workspace + x->q_at;
  p.k = x->kv[set], p.v = x->kv[set] + l->nope;
  p.k_token_stride = p.v_token_stride = kv_row(x);
  p.k_head_stride = p.v_head_stride = l->nope + l->v;
  p.k_pe = x->r->cache + set * x->r->set_pages * x->r->setup.page_size * x->r->row + l->rank;
  p.k_pe_token_stride = x->r->row;
  p.cu_seqlens_q = x->cu_q, p.cu_seqlens_k = x->cu_k;
  p.o = (char *)a->workspace + x->o_at;
  return mlaf_run(x->attend, "mla_prefill", &p, NULL);
}

static mlaf_status step(const chain *x, int set) {
  mlaf_status st = MLAF_OK;
  const mlaf_layer_args *a = &x->r->call[set].args;
  for (size_t i = 0; !st && i < x->before; i++) st = mlaf_layer_execute_stage(x->r->layer[set], i, a, NULL);
  if (!st) st = turn(x, set);
  if (!st) st = expand(x, set, x->form == MLAF_FORM_CC);
  if (!st) st = attend(x, set);
  return st ? st : mlaf_layer_execute_stage(x->r->layer[set], x->o_proj, a, NULL);
}

/* Every set once: what is timed then finds everything written. cd has its K and V of earlier tokens first. */
static mlaf_status run_all(chain *x) {
  const mlaf_layer_args *a = &x->r->call[0].args;
  const mlaf_device_ops *ops = mlaf_ops(x->r->dev);
  mlaf_status st = layer_rig_refill(x->r);
  if (!st) st = ops->mem_fill(x->r->dev, a->out, 0xff, (size_t)(a->tokens * x->r->form.hidden) * 2, &x->r->c->err);
  for (int i = 0; !st && i < x->r->sets; i++) {
    if (x->form == MLAF_FORM_CD) st = layer_failed(x->r->c, expand(x, i, true));
    if (!st) st = layer_failed(x->r->c, step(x, i));
  }
  return st ? st : ops->sync(x->r->dev, NULL, &x->r->c->err);
}

static mlaf_status time_all(chain *x, mlaf_timing *out) {
  mlaf_record record = {.n = 0};
  mlaf_status st = MLAF_OK;
  mlaf_record_begin(x->r->dev, &record);
  for (int i = 0; !st && i < x->r->sets; i++) st = step(x, i);
  mlaf_record_end(&record);
  st = st ? layer_failed(x->r->c, st) : layer_time_recorded(x->r, &record, out);
  mlaf_record_free(&record);
  return st;
}

mlaf_status layer_chain(layer_rig *r, mlaf_form form, const layer_tolerance *t, layer_checked *checked, mlaf_timing *timing) {
  chain x = {.r = r, .form = form, .tokens = r->desc.ctx_max};
  const char *why = cannot(&x);
  if (why) return mlaf_fail(&r->c->err, MLAF_E_ARG, "%s", why);
  mlaf_status st = make_plans(&x);
  if (!st) st = find_places(&x);
  if (!st) st = make_buffers(&x);
  if (!st) st = run_all(&x);
  if (!st) st = layer_check(r, t, checked);
  if (!st) st = time_all(&x, timing);
  mlaf_plan_release(x.turn), mlaf_plan_release(x.expand), mlaf_plan_release(x.attend);
  return st;
}
