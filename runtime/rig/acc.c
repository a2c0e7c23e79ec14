/* The form `acc`: queries and sums are absorbed, as in the layer, but the keys of each head are concatenated first, as founding
 * document 002 has it. So each head of each request attends to rows of its own, which are all copies of the same. */
#include "rig/chain.h"
#include "mlaforge/projection.h"

enum { THREADS = 256, HEADS = 8, WORD = 16, BLOCKS_PER_CU = 8 };

/* templates/concat_keys declares the same. */
typedef struct concat_args {
  const void *from;
  void *to;
  uint64_t words;
  uint32_t heads, blocks;
} concat_args;

static int32_t pages_of_request(const chain *x) { return (int32_t)(x->tokens / x->r->setup.page_size); }
static int32_t pairs(const chain *x) { return x->r->setup.batch * x->r->form.heads; } /* of a request and a head */

/* For n pairs: query tokens [n + 1], pages [n + 1], tokens of the last one [n], page ids. */
static mlaf_status send_lists(chain *x) {
  const int32_t n = pairs(x), each = pages_of_request(x);
  const size_t bytes = (size_t)(3 * (int64_t)n + 2 + (int64_t)n * each) * sizeof(int32_t);
  int32_t *const list = malloc(bytes);
  void *at = NULL;
  if (!list) return mlaf_fail(x->r->env->err, MLAF_E_NOMEM, "no memory for the page lists of %d heads", n);
  for (int32_t i = 0; i <= n; i++) list[i] = i, list[n + 1 + i] = i * each;
  for (int32_t i = 0; i < n; i++) list[2 * n + 2 + i] = x->r->setup.page_size;
  for (int32_t i = 0; i < n * each; i++) list[3 * n + 2 + i] = i;
  mlaf_status st = layer_alloc(x->r, bytes, &at);
  if (!st) st = mlaf_ops(x->r->dev)->mem_write(x->r->dev, at, list, bytes, x->r->env->err);
  x->lists = at;
  free(list);
  return st;
}

static mlaf_status open_kernel(chain *x) {
  rig_env *env = x->r->env;
  mlaf_gen *gen = NULL;
  pthread_mutex_lock(&env->ctx->lock);
  mlaf_status st = mlaf_ctx_gen(env->ctx, &gen, env->err);
  const mlaf_tool_env tools = {x->r->dev, gen, env->ctx->compiler, mlaf_ctx_target(env->ctx)};
  if (!st) st = mlaf_tool_open(&tools, "concat_keys", "heads=8", &x->concat, env->err);
  pthread_mutex_unlock(&env->ctx->lock);
  return st;
}

mlaf_status chain_acc_open(chain *x) {
  const mlaf_form_layer *l = &x->r->form;
  const size_t rows = (size_t)pairs(x);
  void *absorbed = NULL, *latent = NULL;
  x->workspace_size = mlaf_plan_workspace_size(x->plan[CHAIN_DECODE], pairs(x));
  mlaf_status st = layer_alloc(x->r, rows * (size_t)x->r->row * 2, &absorbed);
  if (!st) st = layer_alloc(x->r, rows * (size_t)l->rank * 2, &latent);
  if (!st) st = layer_alloc(x->r, x->workspace_size + 256, &x->workspace);
  x->absorbed = absorbed, x->latent = latent;
  if (!st) st = send_lists(x);
  return st ? st : open_kernel(x);
}

void chain_acc_close(chain *x) {
  if (x->concat.module) mlaf_tool_close(&x->concat);
}

/* --- launches --- */

static mlaf_status absorb(const chain *x, int set, const mlaf_layer_args *a) {
  const mlaf_form_layer *l = &x->r->form;
  mlaf_projection_args p = MLAF_PROJECTION_ARGS_INIT;
  p.tokens = a->tokens;
  p.x = (char *)a->workspace + x->q_at;
  p.w = x->r->device_weights[set][5];
  p.w_row_stride = l->rank, p.w_head_stride = (int64_t)(l->nope + l->v) * l->rank;
  p.y = x->absorbed;
  return mlaf_run(x->plan[CHAIN_ABSORB], "mla_q_absorb", &p, NULL);
}

static mlaf_status concatenate(const chain *x, int set) {
  const layer_rig *r = x->r;
  const uint64_t words = (uint64_t)(x->tokens * r->row) * 2 / WORD, need = (words + THREADS - 1) / THREADS;
  const uint32_t most = BLOCKS_PER_CU * (uint32_t)mlaf_info(r->dev)->compute_units, heads = (uint32_t)r->form.heads;
  const concat_args args = {.from = r->cache + chain_first_row(x, set, 0) * r->row, .to = x->keys[set], .words = words,
                            .heads = heads, .blocks = need < most ? (uint32_t)need : most};
  const mlaf_launch launch = {.fn = x->concat.fn,
                              .grid = {args.blocks, (uint32_t)r->setup.batch, (heads + HEADS - 1) / HEADS},
                              .block = {THREADS, 1, 1},
                              .args = &args,
                              .args_size = sizeof args};
  return mlaf_ops(r->dev)->launch(r->dev, NULL, &launch, r->env->err);
}

static mlaf_status attend(const chain *x, int set) {
  const int32_t n = pairs(x);
  mlaf_execute_args p = MLAF_EXECUTE_ARGS_INIT;
  p.batch = n, p.total_q = n;
  p.q = x->absorbed, p.ckv = x->keys[set], p.o = x->latent;
  p.qo_indptr = x->lists, p.kv_indptr = x->lists + n + 1;
  p.kv_last_page_lens = x->lists + 2 * n + 2, p.kv_indices = x->lists + 3 * n + 2;
  p.num_pages = n * pages_of_request(x);
  p.scale = (float)x->r->form.scale;
  p.workspace = x->workspace_size ? x->workspace : NULL, p.workspace_size = x->workspace_size;
  return mlaf_run(x->plan[CHAIN_DECODE], "mla_decode", &p, NULL);
}

static mlaf_status values(const chain *x, int set, const mlaf_layer_args *a) {
  const mlaf_form_layer *l = &x->r->form;
  mlaf_projection_args p = MLAF_PROJECTION_ARGS_INIT;
  p.tokens = a->tokens;
  p.x = x->latent;
  p.w = (uint16_t *)x->r->device_weights[set][5] + (int64_t)l->nope * l->rank;
  p.w_row_stride = l->rank, p.w_head_stride = (int64_t)(l->nope + l->v) * l->rank;
  p.y = (char *)a->workspace + x->o_at;
  return mlaf_run(x->plan[CHAIN_VALUES], "mla_v_out", &p, NULL);
}

mlaf_status chain_acc_attend(const chain *x, int set, const mlaf_layer_args *a) {
  mlaf_status st = absorb(x, set, a);
  if (!st) st = concatenate(x, set);
  if (!st) st = attend(x, set);
  return st ? st : values(x, set, a);
}
