/* A layer's description: checks, and its stages as problems of other operations. */
#include <float.h>

#include "layer/inside.h"

enum { CHUNK = 16384 }; /* the default */
static const float INDEX_EPS = 1e-6f;

int32_t layer_q_len_most(const layer_shape *s) {
  int32_t most = LAYER_Q_LENS;
  while (most > 1 && !layer_plans_q_len(s, most)) most--;
  return most;
}

/* --- stages as problems --- */

static const char *const styles[] = {"pairs", "halves", "unrotated"};

/* The rope style of rows as they are cached. With rope on read they are unrotated: STAGE_APPEND writes them again behind
 * STAGE_APPEND_ROPE_Q, which rotates the key with the queries. */
static const char *append_style(const layer_shape *s) {
  return styles[layer_rotates_on_read(s) ? MLAF_LAYER_UNROTATED : s->d.rope_style];
}

static int print(const layer_shape *s, layer_kind kind, int q_len, char *out, size_t size) {
  const mlaf_layer_desc *d = &s->d;
  const char *type = d->dtype == MLAF_F16 ? "f16" : "bf16", *style = styles[d->rope_style];
  const bool norms = !(d->flags & MLAF_LAYER_NO_NORMS);
  /* q_a alone: how its columns are shared out between "queries" and "latent" says nothing to a kernel. */
  const int some = d->q_rank < 512 ? d->q_rank : 512;
  static const char *const encodings[] = {"", ",e4m3fn", ",e4m3fnuz"};
  const char *cache = layer_format(s)->name;
  const char *w = kind >= STAGE_PRODUCT_16 ? "" : encodings[d->weights], *kv_b = layer_kv_b_bytes(s) == 1 ? w : "";
  if (kind >= STAGE_DEQUANT_WEIGHTS && kind < STAGE_PRODUCT_16) {
    const layer_extent e = layer_matrix(s, layer_stage_of(kind));
    return snprintf(out, size, "mla_dequant:c%lld,%s%s,t%lld", (long long)e.columns, type, w, (long long)e.rows);
  }
  switch (layer_stage_of(kind)) {
    case STAGE_QKV_A:
      return snprintf(out, size, "mla_qkv_a:d%d,l%d,r%d,p%d,%s%s", d->hidden, d->q_rank + layer_index_row(s), d->rank, d->rope,
                      type, w);
    case STAGE_Q_A: return snprintf(out, size, "mla_qkv_a:d%d,l%d,r%d,p0,%s%s", d->hidden, d->q_rank - some, some, type, w);
    case STAGE_KV_A: return snprintf(out, size, "mla_qkv_a:d%d,l0,r%d,p%d,%s%s", d->hidden, d->rank, d->rope, type, w);
    case STAGE_Q_B:
      return snprintf(out, size, "mla_q_b:l%d,h%d,n%d,p%d%s,%s%s", d->q_rank ? d->q_rank : d->hidden, s->heads, d->nope, d->rope,
                      d->q_rank && norms ? ",norm" : "", type, w);
    case STAGE_Q_B_APPEND: {
      const int n = print(s, STAGE_Q_B, q_len, out, size);
      return n + snprintf(out + n, size - (size_t)n, "+mla_append:r%d,%s,%s%s", d->rank, cache,
                          d->rope ? append_style(s) : styles[MLAF_LAYER_PAIRS], norms ? ",norm" : "");
    }
    case STAGE_Q_B_APPEND_ABSORB: {
      const int n = print(s, STAGE_Q_B_APPEND, q_len, out, size);
      return n + snprintf(out + n, size - (size_t)n, "+mla_q_absorb:%s", style);
    }
    case STAGE_Q_SCALE: return snprintf(out, size, "mla_q_scale:h%d,n%d,%s", s->heads, layer_q_row(s), type);
    case STAGE_DEQUANT_KV_B:
      return snprintf(out, size, "mla_dequant:c%d,%s%s,t%lld", d->rank, type, kv_b, (long long)layer_kv_b_rows(s));
    case STAGE_APPEND:
    case STAGE_APPEND_ROPE_Q:
      return snprintf(out, size, "mla_append:h%d,r%d,p%d,%s,%s,%s%s", kind == STAGE_APPEND_ROPE_Q ? s->heads : 0, d->rank,
                      d->rope, type, cache, kind == STAGE_APPEND_ROPE_Q ? style : append_style(s), norms ? ",norm" : "");
    case STAGE_Q_ABSORB:
      return snprintf(out, size, "mla_q_absorb:h%d,n%d,p%d,r%d,%s%s,%s", s->heads, d->nope, d->rope, d->rank, type, kv_b, style);
    case STAGE_INDEX_K:
      return snprintf(out, size, "mla_qkv_a:d%d,l0,r%d,p0,%s%s", d->hidden, LAYER_INDEX_COLUMNS, type,
                      encodings[s->index_weights]);
    case STAGE_INDEX_W: return snprintf(out, size, "mla_qkv_a:d%d,l0,r%d,p0,%s", d->hidden, d->index_heads, type);
    case STAGE_INDEX_Q:
      return snprintf(out, size, "mla_q_b:l%d,h%d,n%d,p%d%s,%s%s", d->q_rank, d->index_heads,
                      LAYER_INDEX_COLUMNS - LAYER_INDEX_ROPE, LAYER_INDEX_ROPE, norms ? ",norm" : "", type,
                      encodings[s->index_weights]);
    case STAGE_INDEX_APPEND:
      return snprintf(out, size, "mla_index_append:h%d,%s,%s%s", d->index_heads, type, styles[d->index_style],
                      d->flags & MLAF_LAYER_INDEX_HADAMARD ? ",hadamard" : "");
    case STAGE_INDEX: return snprintf(out, size, "mla_index:h%d", d->index_heads);
    case STAGE_DECODE:
      if (layer_lists(s))
        return snprintf(out, size, "mla_decode:h%d,r%d,p%d,q1,%s%s%s,page1", s->heads, d->rank, d->rope, type,
                        d->cache_format ? "," : "", d->cache_format ? cache : "");
      return snprintf(out, size, "mla_decode:h%d,r%d,p%d,q%d%s,%s%s%s,page%d%s%s", s->heads, d->rank, d->rope, q_len,
                      q_len > 1 ? ",causal" : "", type, d->cache_format ? "," : "", d->cache_format ? cache : "", d->page_size,
                      layer_rotates_on_read(s) ? ",rope_" : "", layer_rotates_on_read(s) ? style : "");
    case STAGE_GATHER:
      return snprintf(out, size, "mla_gather_kv_b:h%d,n%d,p%d,v%d,r%d,%s,%s%s%s", s->heads, d->nope, d->rope, d->v, d->rank, type,
                      cache, layer_rotates_on_read(s) ? ",rope_" : "", layer_rotates_on_read(s) ? style : "");
    case STAGE_PREFILL:
      return snprintf(out, size, "mla_prefill:h%d,n%d,p%d,v%d,%s,causal", s->heads, d->nope, d->rope, d->v, type);
    case STAGE_V_OUT: return snprintf(out, size, "mla_v_out:h%d,r%d,v%d,%s%s", s->heads, d->rank, d->v, type, kv_b);
    default:
      return snprintf(out, size, "mla_o_proj:d%d,h%d,v%d%s,%s%s", d->hidden, s->heads, d->v,
                      d->flags & MLAF_LAYER_RESIDUAL ? ",residual" : "", type, w);
  }
}

mlaf_status layer_point(const layer_shape *s, layer_kind kind, int q_len, mlaf_point *out, mlaf_err *err) {
  char text[MLAF_POINT_TEXT_MAX], why[256] = "";
  print(s, kind, q_len, text, sizeof text);
  mlaf_status st = mlaf_point_parse(NULL, text, out, why, sizeof why);
  if (st) return mlaf_fail(err, st, "the layer's %s is %s: %s", layer_stage_name(layer_stage_of(kind)), text, why);
  for (int i = 0; i < out->op->n_fields; i++)
    if (out->op->fields[i].role == MLAF_SIZE && !layer_is_dequant(kind)) out->v[i] = 1;
  if (kind == STAGE_INDEX) layer_point_size(out, "ctx", s->d.ctx_max);
  return MLAF_OK;
}

void layer_point_size(mlaf_point *p, const char *field, int64_t value) {
  for (int i = 0; i < p->op->n_fields; i++)
    if (!strcmp(p->op->fields[i].name, field)) p->v[i] = (int32_t)(value < p->op->fields[i].max ? value : p->op->fields[i].max);
}

void layer_point_rows(mlaf_point *p, int64_t rows) { layer_point_size(p, "tokens", rows); }

/* Planned for one request that has all new tokens. */
mlaf_chunked_prefill_desc layer_chunked(const layer_shape *s) {
  mlaf_chunked_prefill_desc d = MLAF_CHUNKED_PREFILL_DESC_INIT;
  d.heads = s->heads, d.nope = s->d.nope, d.rope = s->d.rope, d.vdim = s->d.v, d.rank = s->d.rank, d.dtype = s->d.dtype;
  d.layout = layer_format(s)->name;
  d.page_tokens = s->d.page_size;
  d.chunk_tokens = s->d.prefill_chunk;
  d.batch = 1;
  d.tokens = s->d.prefill_tokens;
  d.crossover = s->d.prefill_crossover;
  if (layer_rotates_on_read(s)) d.rotate = s->d.rope_style == MLAF_LAYER_PAIRS ? MLAF_CHUNKED_PAIRS : MLAF_CHUNKED_HALVES;
  return d;
}

/* --- checks --- */

enum { DIM_MOST = 1 << 20 }; /* more than any operation takes: sums and products of two fit */

static mlaf_status check_numbers(const mlaf_layer_desc *d, mlaf_err *err) {
  const struct {
    const char *name;
    int32_t value, least, most;
  } list[] = {
      {"hidden", d->hidden, 1, DIM_MOST},      {"heads", d->heads, 1, DIM_MOST},
      {"q_rank", d->q_rank, 0, DIM_MOST},      {"rank", d->rank, 1, DIM_MOST},
      {"rope", d->rope, 0, DIM_MOST},          {"nope", d->nope, 1, DIM_MOST},
      {"v", d->v, 1, DIM_MOST},                {"dtype", d->dtype, 0, MLAF_DTYPE_COUNT - 1},
      {"rope_style", d->rope_style, 0, MLAF_LAYER_UNROTATED},
      {"tp_size", d->tp_size, 1, DIM_MOST},    {"tp_rank", d->tp_rank, 0, d->tp_size < 1 ? 0 : d->tp_size - 1},
      {"page_size", d->page_size, 1, DIM_MOST}, {"batch_max", d->batch_max, 1, 65536},
      {"ctx_max", d->ctx_max, 1, INT32_MAX},   {"ctx_min", d->ctx_min, 1, d->ctx_max},
      {"table_width", d->table_width, 1, INT32_MAX},
      {"prefill_tokens", d->prefill_tokens, 0, 1 << 20},
      {"prefill_chunk", d->prefill_chunk, 1, 1 << 20},
      {"weights", d->weights, MLAF_LAYER_WEIGHTS_16, MLAF_LAYER_E4M3FNUZ},
      {"prefill_crossover", d->prefill_crossover, 0, INT32_MAX},
      {"q_scale_original", d->q_scale_original, 0, INT32_MAX},
      {"cache_format", d->cache_format, MLAF_KV_16, MLAF_LAYER_CACHE_LAST},
      {"reserved", d->reserved, 0, 0},
      {"index_heads", d->index_heads, 0, 64},  {"index_topk", d->index_topk, 0, 1 << 20},
      {"index_style", d->index_style, MLAF_LAYER_PAIRS, MLAF_LAYER_HALVES},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    if (list[i].value < list[i].least || list[i].value > list[i].most)
      return mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_desc: %s is %d, must be %d..%d", list[i].name, list[i].value, list[i].least,
                       list[i].most);
  if (d->heads % d->tp_size)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_desc: heads is %d, no multiple of tp_size, %d", d->heads, d->tp_size);
  if (!(isfinite(d->eps) && d->eps >= 0 && isfinite(d->scale)))
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_desc: eps is %g and scale %g: finite numbers are wanted, eps not negative",
                     (double)d->eps, (double)d->scale);
  if (fpclassify(d->scale) == FP_SUBNORMAL)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_desc: scale is %g, must be at least %g in size, or 0", (double)d->scale,
                     (double)FLT_MIN);
  if (!(d->q_scale_beta >= 0 && d->q_scale_beta <= MLAF_Q_SCALE_BETA_MOST))
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_desc: q_scale_beta is %g, must be in 0..%g", (double)d->q_scale_beta,
                     (double)MLAF_Q_SCALE_BETA_MOST);
  if (d->q_scale_beta > 0 && d->q_scale_original < 1)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_desc: q_scale_original is %d: with q_scale_beta %g it says how many positions "
                     "share a factor, 1 and up", d->q_scale_original, (double)d->q_scale_beta);
  if (d->scale < 0)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_desc: scale is %g, must be positive, or 0 for 1/sqrt(nope + rope): negate the "
                     "queries' weights", (double)d->scale);
  const uint32_t known = MLAF_LAYER_RESIDUAL | MLAF_LAYER_SPLIT_CACHE | MLAF_LAYER_TABLE_16 | MLAF_LAYER_NO_NORMS |
                         MLAF_LAYER_ROPE_ON_READ | MLAF_LAYER_KV_B_16 | MLAF_LAYER_APPEND_APART |
                         MLAF_LAYER_ROWS_ANYWHERE | MLAF_LAYER_ABSORB_APART | MLAF_LAYER_V_OUT_APART |
                         MLAF_LAYER_DEQUANT_MANY | MLAF_LAYER_KEEP_16 | MLAF_LAYER_DEQUANT_NEVER | MLAF_LAYER_INDEX_16 |
                         MLAF_LAYER_INDEX_HADAMARD | MLAF_LAYER_INDEX_FP32_SCALES | MLAF_LAYER_KEEP_NEVER;
  if (d->flags & ~known) return mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_desc: flags is %#x, known are %#x", d->flags, known);
  if (d->flags & MLAF_LAYER_DEQUANT_NEVER && d->flags & MLAF_LAYER_KEEP_16)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_desc: flags has MLAF_LAYER_DEQUANT_NEVER, and MLAF_LAYER_KEEP_16, which "
                     "dequantises: leave one out");
  if (d->flags & MLAF_LAYER_KEEP_NEVER && d->flags & MLAF_LAYER_KEEP_16)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_desc: flags has MLAF_LAYER_KEEP_NEVER, and MLAF_LAYER_KEEP_16, which keeps "
                     "copies: leave one out");
  if (d->cache_format == MLAF_KV_FP8_V4)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_desc: cache_format is %d, fp8_v4, whose tokens have columns of their own, "
                     "which no layer makes", d->cache_format);
  if (d->cache_format && d->flags & (MLAF_LAYER_SPLIT_CACHE | MLAF_LAYER_ROPE_ON_READ))
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_desc: cache_format is %d, and flags has %s: a cache of 8 bits has the tensors "
                     "of its format, and keys are rotated", d->cache_format,
                     d->flags & MLAF_LAYER_SPLIT_CACHE ? "MLAF_LAYER_SPLIT_CACHE" : "MLAF_LAYER_ROPE_ON_READ");
  if (d->cache_scale && layer_format_of(d)->scale != MLAF_SCALE_LAUNCH)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_desc: cache_scale is %p, must be NULL: %s", (const void *)d->cache_scale,
                     d->cache_format ? "tokens of the cache hold their scales" : "the cache has 16 bits");
  if ((uintptr_t)d->cache_scale % sizeof(float))
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_desc: cache_scale is %p, must be 4-byte aligned", (const void *)d->cache_scale);
  if (!d->q_lens) return mlaf_fail(err, MLAF_E_ARG, "mlaf_layer_desc: q_lens is 0: bit 0 stands for q_len 1, bit 3 for 4");
  return MLAF_OK;
}

/* Batch-invariant plans: all stages are separate kernels, for any number of tokens. */
static mlaf_status take_invariance(layer_shape *s, mlaf_err *err) {
  mlaf_plan_opts opts;
  mlaf_status st = mlaf_plan_read_opts(s->d.plan, &opts, err);
  if (st || !(opts.flags & MLAF_PLAN_BATCH_INVARIANT)) return st;
  s->invariant = true;
  return MLAF_OK;
}

/* Every stage in every q_len is a problem that its operation takes. */
static mlaf_status check_stages(const layer_shape *s, mlaf_err *err) {
  mlaf_point p;
  mlaf_status st = MLAF_OK;
  for (int k = 0; !st && k < LAYER_STAGES; k++)
    for (int q = 1; !st && layer_rows_most(s, k) && q <= LAYER_Q_LENS; q++)
      if (k == STAGE_DECODE ? layer_plans_decode(s, q) : q == 1) st = layer_point(s, k, q, &p, err);
  return st;
}

mlaf_status layer_shape_take(const mlaf_layer_desc *desc, layer_join join, layer_shape *out, mlaf_err *err) {
  static const mlaf_calls as_args = {.args_name = "mlaf_layer_desc",
                                     .args_init = "MLAF_LAYER_DESC_INIT",
                                     .args_size = sizeof(mlaf_layer_desc),
                                     .args_first = offsetof(mlaf_layer_desc, weights)};
  mlaf_whole_args whole;
  const mlaf_layer_desc *d = mlaf_args_take(&as_args, desc, &whole, err);
  if (!d) return err->status;
  *out = (layer_shape){.d = *d, .joined = join != JOIN_NONE};
  out->index_joined = join == JOIN_A_INDEX && d->index_heads && !d->weights;
  if (!out->d.ctx_min) out->d.ctx_min = d->ctx_max;
  if (!out->d.table_width && d->page_size > 0 && d->ctx_max > 0)
    out->d.table_width = (int32_t)(((int64_t)d->ctx_max + d->page_size - 1) / d->page_size);
  if (!out->d.prefill_chunk) out->d.prefill_chunk = CHUNK;
  mlaf_status st = check_numbers(&out->d, err);
  if (!st) st = layer_index_check_desc(&out->d, layer_q_len_most(out), err);
  if (st) return st;
  if (d->index_eps == 0) out->d.index_eps = INDEX_EPS;
  out->index_weights = d->flags & MLAF_LAYER_INDEX_16 ? MLAF_LAYER_WEIGHTS_16 : d->weights;
  if (d->scale == 0) out->d.scale = (float)(1.0 / sqrt((double)d->nope + d->rope));
  out->heads = d->heads / d->tp_size;
  st = take_invariance(out, err);
  if (st) return st;
  layer_choices_by_default(out, NULL);
  layer_order_stages(out);
  return check_stages(out, err);
}

/* --- what a bundle wants --- */

typedef struct listing {
  size_t left;
  char *out;
  size_t size;
  bool found;
} listing;

static bool found(listing *l, const mlaf_point *p) {
  if (l->found || l->left--) return l->found;
  mlaf_point_print(p, l->out, l->size);
  return l->found = true;
}

/* 1, 2, 4, ... and the last, rounded up to such a number. */
static int64_t past(int64_t most) {
  int64_t n = 1;
  while (n < most) n *= 2;
  return n;
}

static void list_decode(listing *l, const layer_shape *s, mlaf_point *p) {
  for (int64_t b = 1; b <= past(layer_decode_batch_most(s)) && !l->found; b *= 2)
    for (int64_t c = layer_decode_ctx_most(s); !l->found; c /= 2) {
      layer_point_size(p, "batch", b);
      layer_point_size(p, "ctx", c);
      if (found(l, p) || c / 2 < layer_decode_ctx_least(s)) break;
    }
}

static void list_prefill(listing *l, const layer_shape *s) {
  const mlaf_chunked_prefill_desc d = layer_chunked(s);
  for (int part = 0; part < CHUNKED_PARTS && !l->found; part++) {
    char text[MLAF_PROBLEM_TEXT_MAX];
    chunked_problem(&d, part, text);
    if (l->left--) continue;
    snprintf(l->out, l->size, "%s", text);
    l->found = true;
  }
}

static mlaf_status list_stage(listing *l, const layer_shape *s, layer_kind kind, mlaf_err *err) {
  mlaf_point p;
  mlaf_status st = MLAF_OK;
  if (kind == STAGE_PREFILL) {
    list_prefill(l, s);
    return MLAF_OK;
  }
  if (kind != STAGE_DECODE) {
    st = layer_point(s, kind, 1, &p, err);
    for (int64_t t = past(layer_rows_least(s, kind)); !st && t <= past(layer_rows_most(s, kind)) && !l->found; t *= 2) {
      layer_point_rows(&p, t);
      found(l, &p);
    }
    return st;
  }
  for (int q = 1; !st && q <= LAYER_Q_LENS && !l->found; q++) {
    if (!layer_plans_decode(s, q)) continue;
    st = layer_point(s, kind, q, &p, err);
    if (!st) list_decode(l, s, &p);
  }
  return st;
}

static mlaf_status list_layer(listing *l, const layer_shape *s, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  for (int k = 0; !st && k < LAYER_STAGES && !l->found; k++)
    if (layer_rows_most(s, k)) st = list_stage(l, s, k, err);
  return st;
}

/* Plans that only the alternative of an 8-bit layer has: of copies all products, else those of many tokens. */
static mlaf_status list_alternative(listing *l, const layer_shape *s, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  for (int k = 0; !st && k < LAYER_STAGES && !l->found; k++) {
    const bool product = k < STAGE_Q_SCALE || k == STAGE_Q_ABSORB || k == STAGE_V_OUT || k == STAGE_O_PROJ;
    if ((s->d.weights ? k >= STAGE_DEQUANT_WEIGHTS : product) && layer_rows_most(s, k)) st = list_stage(l, s, k, err);
  }
  return st;
}

/* Plans that make the copies that a layer keeps. */
static mlaf_status list_copies(listing *l, const layer_shape *s, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  mlaf_point p;
  if (!(s->d.flags & MLAF_LAYER_KEEP_16)) return MLAF_OK;
  for (int i = 0; !st && i < LAYER_MATRICES && !l->found; i++) {
    if (!layer_has_matrix(s, i)) continue;
    st = layer_point(s, (layer_kind)(STAGE_DEQUANT_WEIGHTS + i), 1, &p, err);
    if (!st) found(l, &p);
  }
  if (!st && !l->found && layer_kv_b_bytes(s) == 1) {
    st = layer_point(s, STAGE_DEQUANT_KV_B, 1, &p, err);
    if (!st) found(l, &p);
  }
  return st;
}

mlaf_status mlaf_layer_problem_at(const mlaf_layer_desc *desc, int joined, size_t i, char *out, size_t out_size, char *why,
                                  size_t why_size) {
  mlaf_err err;
  layer_shape s;
  listing l = {.left = i, .out = out, .size = out_size};
  if (!desc || !out || !out_size) return MLAF_E_ARG;
  const layer_join join = joined == JOIN_A_INDEX ? JOIN_A_INDEX : joined ? JOIN_A : JOIN_NONE;
  mlaf_status st = layer_shape_take(desc, join, &s, &err);
  if (!st) st = list_layer(&l, &s, &err);
  if (!st && !l.found && layer_has_alternative(&s)) {
    layer_shape other;
    st = list_copies(&l, &s, &err);
    if (!st) st = layer_alternative_shape(&s, &other, &err);
    if (!st) st = list_alternative(&l, &other, &err);
  }
  if (!st && !l.found) out[0] = 0;
  if (st && why && why_size) snprintf(why, why_size, "%s", err.text);
  return st;
}
