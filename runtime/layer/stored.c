/* Choices of a layer's alternatives that were stored for the device. They are choices of the database like any others, of a
 * problem "mla_layer:..." for each class of tokens; nothing plans that as one problem. */
#include "layer/inside.h"

mlaf_status layer_choice_point(const layer_shape *s, int64_t tokens, int32_t ctx, mlaf_point *out, mlaf_err *err) {
  static const char *const encodings[] = {"", ",e4m3fn", ",e4m3fnuz"};
  const mlaf_layer_desc *d = &s->d;
  char text[MLAF_POINT_TEXT_MAX], why[256] = "";
  snprintf(text, sizeof text, "mla_layer:d%d,h%d,l%d,r%d,p%d,n%d,v%d,%s%s%s%s%s%s%s%s,t%lld,s%d", d->hidden, s->heads, d->q_rank,
           d->rank, d->rope, d->nope, d->v, d->dtype == MLAF_F16 ? "f16" : "bf16", encodings[d->weights],
           d->weights && layer_kv_b_bytes(s) == LAYER_ELEMENT ? ",kv_b_16" : "", layer_rotates_on_read(s) ? ",rope_on_read" : "",
           layer_scales(s) ? ",q_scale" : "", d->cache_format ? ",cache_" : "",
           d->cache_format ? layer_format(s)->name : "", layer_indexes(s) ? ",indexer" : "", 1LL << layer_class_of(tokens), ctx);
  const mlaf_status st = mlaf_point_stored(text, out, why, sizeof why);
  return st ? mlaf_fail(err, st, "%s: %s", text, why) : MLAF_OK;
}

mlaf_status layer_choice_point_of(const mlaf_layer_desc *d, int64_t tokens, mlaf_point *out, mlaf_err *err) {
  layer_shape s;
  const mlaf_status st = layer_shape_take(d, d->index_heads ? JOIN_A_INDEX : JOIN_A, &s, err);
  return st ? st : layer_choice_point(&s, tokens, s.d.ctx_max, out, err);
}

typedef struct reading {
  mlaf_ctx *ctx;
  layer_shape *s;
} reading;

/* Takes none, so that the search goes on through all there are, of each class the nearest context first. */
static bool remember(void *user, const mlaf_choice *choice) {
  const reading *r = user;
  char why[128];
  layer_choice found;
  layer_choice *to = &r->s->choices.stored[layer_class_of(mlaf_point_value(&choice->at, "tokens", 1))];
  if (*to) return false;
  if (layer_choice_parse(r->s, choice->variant, &found, why, sizeof why)) *to = found | LAYER_CHOSEN;
  else mlaf_log_line(&r->ctx->log, MLAF_LOG_INFO, "the choice '%s' of %s is skipped: %s", choice->variant, choice->problem, why);
  return false;
}

/* A layer with an indexer takes what was found without one where nothing else is stored for a class. */
void layer_choices_read(mlaf_ctx *ctx, layer_shape *s) {
  mlaf_err err;
  mlaf_point p;
  reading r = {ctx, s};
  layer_shape dense = *s;
  dense.d.index_heads = 0;
  if (!s->invariant && !layer_choice_point(s, 1, s->d.ctx_max, &p, &err)) layer_look(ctx, &p, remember, &r);
  if (!s->invariant && layer_indexes(s) && !layer_choice_point(&dense, 1, s->d.ctx_max, &p, &err))
    layer_look(ctx, &p, remember, &r);
}
