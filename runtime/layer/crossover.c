/* From how many new tokens on expanding what is cached is faster than attending to it absorbed: a knob of a chunked prefill. What
 * was timed is a choice of the database like any other, of a problem "mla_chunked_prefill:..."; below it stands counting. */
#include "layer/chunked.h"
#include "op/nearest.h"

/* --- counted --- */

int64_t mlaf_prefill_crossover(int32_t rank, int32_t nope, int32_t vdim, int64_t keys) {
  const double outputs = (double)rank * ((double)nope + vdim), saved = 2.0 * rank - nope - vdim;
  if (keys <= 0 || outputs <= 0) return 0;
  const double whole = (double)keys * saved + outputs;
  if (whole <= 0) return INT64_MAX;
  const double tokens = outputs * (double)keys / whole;
  return tokens < 9e18 ? (int64_t)tokens + (tokens > (double)(int64_t)tokens) : INT64_MAX;
}

int64_t crossover_counted(const mlaf_chunked_prefill *c, int64_t keys) {
  enum { TILES = 1 << 20 };
  const mlaf_chunked_prefill_desc *d = &c->d;
  const mlaf_bound *b = mlaf_plan_bound(c->context);
  const double units = fmax(1, mlaf_info(b->dev)->compute_units), rows = b->stage[0].rows_per_wg, n_keys = (double)keys;
  /* Multiplications of a unit: all keys expanded; a tile of rows over them; a new token absorbed. */
  const double share = d->heads / units, outputs = (double)d->rank * (d->nope + d->vdim);
  const double expand = share * n_keys * outputs, tile = rows * n_keys * (d->nope + d->rope + d->vdim);
  const double absorbed = share * (n_keys * (2.0 * d->rank + d->rope) + outputs);
  for (double tiles = 1; tiles < TILES; tiles++) {
    const double turns = ceil(share * tiles), tokens = (expand + turns * tile) / absorbed;
    if (tokens <= tiles * rows) return (int64_t)ceil(fmax(tokens, (tiles - 1) * rows + 1));
  }
  return INT64_MAX;
}

/* --- timed --- */

mlaf_status crossover_point(const mlaf_chunked_prefill *c, int32_t keys, mlaf_point *out, mlaf_err *err) {
  const mlaf_chunked_prefill_desc *d = &c->d;
  char text[MLAF_POINT_TEXT_MAX], why[256] = "";
  snprintf(text, sizeof text, "mla_chunked_prefill:h%d,n%d,p%d,v%d,r%d,%s,s%d", d->heads, d->nope, d->rope, d->vdim, d->rank,
           d->dtype == MLAF_F16 ? "f16" : "bf16", keys);
  const mlaf_status st = mlaf_point_stored(text, out, why, sizeof why);
  return st ? mlaf_fail(err, st, "%s: %s", text, why) : MLAF_OK;
}

/* Takes none, so that the search goes on through all there are, the better of equals first. HARD: the template of the kernel that
 * was timed, where the choice names it. */
static bool remember(void *user, const mlaf_choice *choice) {
  mlaf_chunked_prefill *c = user;
  const mlaf_kernel_ref *now = mlaf_plan_kernel(c->context), *then = &choice->kernels[0];
  const int32_t keys = mlaf_point_value(&choice->at, "ctx", 0);
  const bool same = !then->template_hash[0] || !now->template_name[0] ||
                    (!strcmp(then->template_name, now->template_name) && !strcmp(then->template_hash, now->template_hash));
  for (int i = 0; i < c->n_tuned; i++)
    if (c->tuned[i].keys == keys) return false;
  if (same && keys > 0 && c->n_tuned < CROSSOVERS)
    c->tuned[c->n_tuned++] = (crossover_tuned){keys, (int32_t)choice->knob, choice->source};
  return false;
}

void layer_look(mlaf_ctx *ctx, const mlaf_point *p, mlaf_db_accept_fn look, void *user) {
  mlaf_err err;
  mlaf_choice none;
  mlaf_rung rung;
  pthread_mutex_lock(&ctx->lock);
  if (ctx->db) mlaf_db_why(ctx->db, mlaf_info(mlaf_ctx_device(ctx)), NULL, p, look, user, NULL, NULL, &none, &rung, &err);
  pthread_mutex_unlock(&ctx->lock);
}

void crossover_read(mlaf_ctx *ctx, mlaf_chunked_prefill *c) {
  mlaf_err err;
  mlaf_point p;
  if (!c->d.crossover && !crossover_point(c, 8192, &p, &err)) layer_look(ctx, &p, remember, c);
}

const crossover_tuned *crossover_nearest(const mlaf_chunked_prefill *c, int64_t keys) {
  const crossover_tuned *best = NULL;
  double least = MLAF_REACH;
  for (int i = 0; i < c->n_tuned && keys > 0; i++) {
    const double far = fabs(log2((double)keys / c->tuned[i].keys));
    if (far > least || (best && far == least)) continue;
    least = far;
    best = &c->tuned[i];
  }
  return best;
}

int64_t mlaf_chunked_prefill_crossover(const mlaf_chunked_prefill *c, int64_t keys) {
  if (!c || keys <= 0) return 0;
  if (c->d.crossover) return c->d.crossover;
  const crossover_tuned *t = crossover_nearest(c, keys);
  const int64_t counted = crossover_counted(c, keys), there = t ? crossover_counted(c, t->keys) : INT64_MAX;
  if (!t) return counted;
  if (counted == INT64_MAX || there == INT64_MAX) return t->tokens;
  return (int64_t)ceil(t->tokens * (double)counted / (double)there);
}
