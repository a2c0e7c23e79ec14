/* A layer of small dims on the emulator with random weights, and calls of it, for tests. Everything is known on the host twice:
 * as the 16 bits that the device has, and in double precision for the reference of examples/layer. */
#pragma once

#include "../../examples/layer/reference.h"
#include "layer/choice.h"
#include "layer/forms.h"
#include "mlaforge/mlaforge.h"
#include "op/e4m3.h"
#include "run/built.h"
#include "said.h"

enum { W_Q_A, W_Q_NORM, W_Q_B, W_KV_A, W_KV_NORM, W_KV_B, W_O, WEIGHTS };
enum { PAGE = 16, PAGES = 24, REQUESTS = 3, ROWS = REQUESTS * 4, POSITIONS = 96, WIDTH = POSITIONS / PAGE, COLS = 512 };

typedef struct rig {
  mlaf_ctx *ctx;
  void *held[512]; /* on the device */
  int n_held;
  uint64_t seed;
} rig;

typedef struct model {
  ref_dims d;
  mlaf_layer_desc desc;
  uint16_t *bits[WEIGHTS];
  double *wide[WEIGHTS];
  void *device[WEIGHTS];
  mlaf_layer_weight list[2 * WEIGHTS]; /* of the device, as a checkpoint has them */
  size_t n;
  double table[POSITIONS][64];
} model;

/* --- numbers --- */

static inline double draw(rig *r) { /* uniform, of variance 1 */
  r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
  return ((double)(r->seed >> 11) / 4503599627370496.0 - 1) * 1.7320508;
}
static inline uint16_t *draw_bits(rig *r, size_t n, double middle, double size) {
  uint16_t *bits = malloc(n * sizeof *bits);
  assert_non_null(bits);
  for (size_t i = 0; i < n; i++) bits[i] = ref_bf16(middle + size * draw(r));
  return bits;
}
static inline double *widen(const uint16_t *bits, size_t n) {
  double *x = malloc(n * sizeof *x);
  assert_non_null(x);
  for (size_t i = 0; i < n; i++) x[i] = ref_wide(bits[i]);
  return x;
}

/* --- the device --- */

static inline void must(rig *r, mlaf_status st, const char *what) {
  if (st) fail_msg("%s: %s: %s", what, mlaf_status_name(st), said(r->ctx));
}
/* A refusal, and the words that its message must have. */
static inline void says(rig *r, mlaf_status got, mlaf_status want, const char *part) {
  if (got != want || !strstr(said(r->ctx), part))
    fail_msg("%s: '%s', must be %s with '%s'", mlaf_status_name(got), said(r->ctx), mlaf_status_name(want), part);
}
static inline void says_arg(rig *r, mlaf_status got, const char *part) { says(r, got, MLAF_E_ARG, part); }
static inline void *put(rig *r, const void *data, size_t size) {
  void *p = NULL;
  assert_true(r->n_held < (int)(sizeof r->held / sizeof *r->held));
  must(r, mlaf_mem_alloc(r->ctx, size, &p), "alloc");
  if (data) must(r, mlaf_mem_write(r->ctx, p, data, size), "write");
  return r->held[r->n_held++] = p;
}
static inline void get(rig *r, void *to, const void *p, size_t size) { must(r, mlaf_mem_read(r->ctx, to, p, size), "read"); }

static inline void rig_start(rig *r, const mlaf_ctx_opts *opts) {
  char why[4096] = "";
  mlaf_ctx_opts o = *opts;
  *r = (rig){.seed = 7};
  o.device = "emu:gfx942";
  o.flags = MLAF_CTX_NO_DB;
  if (mlaf_ctx_create(&o, &r->ctx, why, sizeof why)) fail_msg("no context: %s", why);
}
static inline void rig_stop(rig *r) {
  for (int i = 0; i < r->n_held; i++) mlaf_mem_free(r->ctx, r->held[i]);
  mlaf_ctx_destroy(r->ctx);
}
static inline int rig_open(void **state) {
  static rig r;
  const mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  need_compiler("gfx942");
  built_cache();
  rig_start(&r, &o);
  *state = &r;
  return 0;
}
static inline int rig_close(void **state) {
  rig_stop(*state);
  return 0;
}

/* --- models --- */

static inline void weight(rig *r, model *m, int which, const char *name, int rows, int cols) {
  const size_t n = (size_t)rows * (size_t)cols;
  m->bits[which] = draw_bits(r, n, rows == 1, rows == 1 ? 0.2 : 1 / sqrt(cols));
  m->wide[which] = widen(m->bits[which], n);
  if (!m->device[which]) m->device[which] = put(r, NULL, n * sizeof(uint16_t));
  must(r, mlaf_mem_write(r->ctx, m->device[which], m->bits[which], n * sizeof(uint16_t)), "weights");
  m->list[m->n++] = (mlaf_layer_weight){name, m->device[which], rows, cols, 0};
}

/* Values of 1 in `desc` stand: flags, q_rank, rope_style. */
static inline void make_model(rig *r, model *m, int32_t q_rank, int32_t style, uint32_t flags) {
  static float table[POSITIONS][64];
  const ref_dims d = {.hidden = 128, .heads = 4, .q_rank = q_rank, .rank = 64, .rope = 32, .nope = 32, .v = 64,
                      .halves = style == MLAF_LAYER_HALVES, .eps = 1e-5, .scale = 0.13};
  const int head = d.nope + d.rope, latent = d.rank + d.rope;
  *m = (model){.d = d, .desc = MLAF_LAYER_DESC_INIT};
  if (q_rank) { /* one tensor, as loaders join them */
    m->device[W_Q_A] = put(r, NULL, sizeof(uint16_t) * (size_t)((q_rank + latent) * d.hidden));
    m->device[W_KV_A] = (char *)m->device[W_Q_A] + sizeof(uint16_t) * (size_t)(q_rank * d.hidden);
    weight(r, m, W_Q_A, "model.layers.3.self_attn.q_a_proj.weight", q_rank, d.hidden);
    weight(r, m, W_Q_NORM, "model.layers.3.self_attn.q_a_layernorm.weight", 1, q_rank);
  }
  weight(r, m, W_Q_B, q_rank ? "model.layers.3.self_attn.q_b_proj.weight" : "q_proj.weight", d.heads * head,
         q_rank ? q_rank : d.hidden);
  weight(r, m, W_KV_A, "model.layers.3.self_attn.kv_a_proj_with_mqa.weight", latent, d.hidden);
  weight(r, m, W_KV_NORM, "model.layers.3.self_attn.kv_a_layernorm.weight", 1, d.rank);
  weight(r, m, W_KV_B, "kv_b_proj.weight", d.heads * (d.nope + d.v), d.rank);
  weight(r, m, W_O, "model.layers.3.self_attn.o_proj.weight", d.hidden, d.heads * d.v);
  for (int t = 0; t < POSITIONS; t++)
    for (int i = 0; i < d.rope; i++) {
      const double angle = t * pow(10000, -2.0 * (i % (d.rope / 2)) / d.rope);
      const bool first = i < d.rope / 2;
      m->table[t][i] = table[t][i] = (float)(style == MLAF_LAYER_UNROTATED ? first : first ? cos(angle) : sin(angle));
    }
  mlaf_layer_desc *o = &m->desc;
  o->flags = flags;
  o->hidden = d.hidden, o->heads = d.heads, o->q_rank = q_rank, o->rank = d.rank, o->rope = d.rope, o->nope = d.nope, o->v = d.v;
  o->rope_style = style, o->page_size = PAGE, o->batch_max = REQUESTS, o->q_lens = 1, o->ctx_max = 64, o->table_width = WIDTH;
  o->eps = (float)d.eps;
  o->scale = (float)d.scale;
  o->cos = put(r, table, sizeof table);
  o->table_row_stride = 64;
  o->sin = (const char *)o->cos + sizeof(float) * (size_t)(d.rope / 2);
  o->table_rows = POSITIONS;
}

/* Queries are scaled by their position, with a step every `original`. */
static inline void scale_queries(model *m, double beta, int32_t original) {
  m->desc.q_scale_beta = (float)beta, m->desc.q_scale_original = original;
  m->d.q_beta = (double)m->desc.q_scale_beta, m->d.q_original = original;
}

/* A matrix as its bytes of e4m3fnuz, a scale for each 128 x 128; the host's copy becomes what they stand for. */
static inline void narrow(rig *r, model *m, int which, mlaf_layer_weight *w, uint8_t *codes, float *scales) {
  const int64_t across = (w->cols + 127) / 128;
  for (int64_t i = 0; i < (w->rows + 127) / 128 * across; i++) scales[i] = (float)(0.004 * (1.5 + draw(r) / 2));
  for (int64_t i = 0; i < w->rows * w->cols; i++) {
    const double scale = (double)scales[i / w->cols / 128 * across + i % w->cols / 128];
    int code = 0x7f;
    while (code > 0 && mlaf_e4m3_decode(true, (uint8_t)code) * scale > fabs(m->wide[which][i])) code--;
    codes[i] = (uint8_t)(code && m->wide[which][i] < 0 ? code | 0x80 : code);
    m->wide[which][i] = mlaf_e4m3_decode(true, codes[i]) * scale;
  }
}

/* All of a model's matrices; those of q_a and kv_a stay side by side, and so are their scales. */
static inline void narrow_all(rig *r, model *m) {
  static const char *const names[WEIGHTS] = {[W_Q_A] = "q_a_proj.weight_scale_inv", [W_Q_B] = "q_b_proj.weight_scale_inv",
                                             [W_KV_A] = "kv_a_proj_with_mqa.weight_scale_inv",
                                             [W_KV_B] = "kv_b_proj.weight_scale_inv", [W_O] = "o_proj.weight_scale_inv"};
  enum { MOST = 1 << 16, BLOCKS = 16 };
  static uint8_t codes[MOST];
  float scales[BLOCKS];
  char *at = NULL, *scales_at = NULL; /* of q_a */
  const size_t listed = m->n;
  for (int which = 0; which < WEIGHTS; which++) {
    mlaf_layer_weight *w = NULL;
    for (size_t i = 0; i < listed; i++)
      if (m->list[i].data == m->device[which]) w = &m->list[i];
    if (!names[which]) continue;
    assert_true(w && w->rows * w->cols <= MOST);
    narrow(r, m, which, w, codes, scales);
    const mlaf_layer_weight of = {names[which], NULL, (w->rows + 127) / 128, (w->cols + 127) / 128, 0};
    char *to = which == W_KV_A ? at + m->d.q_rank * m->d.hidden : put(r, NULL, 2 * MOST);
    const size_t behind = sizeof *scales * (size_t)(m->d.q_rank / 128);
    char *scales_to = which == W_KV_A ? scales_at + behind : put(r, NULL, 2 * sizeof scales);
    if (which == W_Q_A) at = to, scales_at = scales_to;
    must(r, mlaf_mem_write(r->ctx, to, codes, (size_t)(w->rows * w->cols)), "codes");
    must(r, mlaf_mem_write(r->ctx, scales_to, scales, sizeof *scales * (size_t)(of.rows * of.cols)), "scales");
    w->data = to;
    m->list[m->n] = of;
    m->list[m->n++].data = scales_to;
  }
  m->desc.weights = MLAF_LAYER_E4M3FNUZ;
}

static inline ref_weights reference_of(const model *m) {
  return (ref_weights){m->wide[W_Q_A], m->wide[W_Q_NORM], m->wide[W_Q_B], m->wide[W_KV_A], m->wide[W_KV_NORM], m->wide[W_KV_B],
                       m->wide[W_O]};
}

static inline void free_model(model *m) {
  for (int i = 0; i < WEIGHTS; i++) free(m->bits[i]), free(m->wide[i]);
}

static inline mlaf_layer *make_layer(rig *r, const model *m) {
  mlaf_layer *layer = NULL;
  must(r, mlaf_layer_create(r->ctx, &m->desc, m->list, m->n, &layer), "mlaf_layer_create");
  return layer;
}
/* One with such a choice for all numbers of tokens. */
static inline mlaf_layer *make_layer_as(rig *r, const model *m, layer_choice choice) {
  mlaf_layer *layer = NULL;
  must(r, layer_create_as(r->ctx, &m->desc, m->list, m->n, &choice, &layer), "layer_create_as");
  return layer;
}

/* Bound of a whole layer's relative error against double precision. */
static inline double bound_of(const model *m) {
  const mlaf_form_layer l = {.heads = m->d.heads, .nope = m->d.nope, .rope = m->d.rope, .scale = m->d.scale,
                             .table_rows = POSITIONS, .q_beta = m->d.q_beta, .q_original = m->d.q_original};
  return mlaf_form_bound(&l);
}

/* --- calls --- */

/* Requests with so many cached tokens each, and q new ones. One with past -1 is padding: no tokens, slots of -1, positions far
 * outside. */
typedef struct step {
  int batch, q, past[REQUESTS];
  int x_gap, y_gap; /* columns between rows of hidden states */
  int page_gap;     /* rows between pages */
  bool lists;       /* in place of a block table */
} step;

/* All of a call on the host. */
typedef struct call {
  step s;
  int64_t tokens, page_rows, cache_rows;
  int32_t pages[REQUESTS][WIDTH];
  uint16_t x[ROWS][COLS], y[ROWS][COLS], *cache, *before; /* of the cache before and after */
  mlaf_layer_args a;
  unsigned char *workspace; /* after */
} call;

static inline size_t cache_bytes(const model *m, const call *c) {
  return sizeof *c->cache * (size_t)(c->cache_rows * (m->d.rank + m->d.rope));
}
static inline int64_t row_of(const call *c, int b, int position) {
  return c->pages[b][position / PAGE] * c->page_rows + position % PAGE;
}

static inline void tables(rig *r, call *c) {
  int64_t positions[ROWS], slots[ROWS];
  int32_t lengths[REQUESTS], indptr[REQUESTS + 1] = {0}, indices[REQUESTS * WIDTH], last[REQUESTS], qo[REQUESTS + 1] = {0};
  for (int b = 0; b < c->s.batch; b++) {
    const int past = c->s.past[b], n = past < 0 ? 0 : past + c->s.q, pages = (n + PAGE - 1) / PAGE;
    lengths[b] = n;
    indptr[b + 1] = indptr[b] + pages;
    qo[b + 1] = qo[b] + c->s.q;
    last[b] = n ? n - (pages - 1) * PAGE : 0;
    memcpy(indices + indptr[b], c->pages[b], sizeof *indices * (size_t)pages);
    for (int i = 0; i < c->s.q; i++) {
      const int position = past + i;
      positions[b * c->s.q + i] = past < 0 ? INT64_MAX - i : position;
      slots[b * c->s.q + i] = past < 0 ? -1 : (int64_t)c->pages[b][position / PAGE] * PAGE + position % PAGE;
    }
  }
  c->a.positions = put(r, positions, sizeof positions);
  c->a.slots = put(r, slots, sizeof slots);
  if (c->s.lists) {
    c->a.kv_indptr = put(r, indptr, sizeof indptr);
    c->a.kv_indices = put(r, indices, sizeof indices);
    c->a.kv_indices_size = REQUESTS * WIDTH;
    c->a.kv_last_page_lens = put(r, last, sizeof last);
    c->a.qo_indptr = put(r, qo, sizeof qo);
    return;
  }
  c->a.block_table = put(r, c->pages, sizeof c->pages);
  c->a.seq_lens = put(r, lengths, sizeof lengths);
  c->a.block_table_width = WIDTH;
}

/* A call with random hidden states over a random cache; nothing is launched. */
static inline void begin(rig *r, const model *m, const mlaf_layer *layer, const step *s, call *c) {
  const int row = m->d.rank + m->d.rope, x_row = m->d.hidden + s->x_gap, y_row = m->d.hidden + s->y_gap;
  static uint16_t poison[ROWS][COLS];
  *c = (call){.s = *s, .tokens = (int64_t)s->batch * s->q, .page_rows = PAGE + s->page_gap, .a = MLAF_LAYER_ARGS_INIT};
  c->cache_rows = PAGES * c->page_rows;
  assert_true(c->tokens <= ROWS && x_row <= COLS && y_row <= COLS);
  c->before = draw_bits(r, (size_t)(c->cache_rows * row), 0, 1);
  c->cache = malloc(sizeof *c->cache * (size_t)(c->cache_rows * row));
  assert_non_null(c->cache);
  for (int b = 0; b < REQUESTS; b++) /* any order, no page twice */
    for (int i = 0; i < WIDTH; i++) c->pages[b][i] = (b * WIDTH + i) * 7 % PAGES;
  for (int t = 0; t < ROWS; t++)
    for (int i = 0; i < COLS; i++) c->x[t][i] = i < x_row ? ref_bf16(draw(r)) : 0;
  memset(poison, 0xff, sizeof poison);
  uint16_t *dense = malloc(sizeof *dense * (size_t)(ROWS * x_row));
  assert_non_null(dense);
  for (int t = 0; t < ROWS; t++) memcpy(dense + t * x_row, c->x[t], sizeof *dense * (size_t)x_row);
  c->a.batch = s->batch, c->a.q_len = s->q;
  c->a.hidden = put(r, dense, sizeof *dense * (size_t)(ROWS * x_row));
  free(dense);
  c->a.hidden_token_stride = s->x_gap ? x_row : 0;
  c->a.out = put(r, poison, sizeof *c->y[0] * (size_t)(ROWS * y_row));
  c->a.out_token_stride = s->y_gap ? y_row : 0;
  c->a.cache = put(r, c->before, sizeof *c->cache * (size_t)(c->cache_rows * row));
  c->a.num_pages = PAGES;
  c->a.page_rows = s->page_gap ? c->page_rows : 0;
  if (m->desc.flags & MLAF_LAYER_RESIDUAL) c->a.residual = c->a.hidden, c->a.residual_token_stride = c->a.hidden_token_stride;
  if (m->desc.flags & MLAF_LAYER_SPLIT_CACHE) { /* two views of one tensor */
    c->a.cache_kpe = (char *)c->a.cache + sizeof(uint16_t) * (size_t)m->d.rank;
    c->a.cache_row_stride = c->a.cache_kpe_row_stride = row;
  }
  tables(r, c);
  c->a.workspace_size = mlaf_layer_workspace_size(layer, &c->a);
  assert_true(c->a.workspace_size > 0 && c->a.workspace_size < SIZE_MAX);
  c->a.workspace = put(r, NULL, c->a.workspace_size);
  must(r, mlaf_mem_fill(r->ctx, c->a.workspace, 0xff, c->a.workspace_size), "fill"); /* NaN */
  c->workspace = malloc(c->a.workspace_size);
  assert_non_null(c->workspace);
}

static inline void fetch(rig *r, const model *m, call *c) {
  const int row = m->d.rank + m->d.rope, y_row = m->d.hidden + c->s.y_gap;
  must(r, mlaf_sync(r->ctx, NULL), "sync");
  get(r, c->cache, c->a.cache, sizeof *c->cache * (size_t)(c->cache_rows * row));
  get(r, c->workspace, c->a.workspace, c->a.workspace_size);
  for (int t = 0; t < ROWS; t++)
    get(r, c->y[t], (char *)c->a.out + sizeof(uint16_t) * (size_t)(t * y_row), sizeof(uint16_t) * (size_t)y_row);
}

static inline void execute(rig *r, const model *m, const mlaf_layer *layer, call *c) {
  must(r, mlaf_layer_execute(layer, &c->a, NULL), "mlaf_layer_execute");
  fetch(r, m, c);
}

static inline void end(call *c) { free(c->cache), free(c->before), free(c->workspace); }
static inline void end_all(call *c, mlaf_layer *layer, model *m) {
  end(c);
  mlaf_layer_destroy(layer);
  free_model(m);
}

/* --- what must come out --- */

/* Reference output of a call's token i of request b, from a reference cache [POSITIONS][R+P] that holds what came before. */
static inline void reference(const model *m, const call *c, int b, int i, double *cache, double *y) {
  double x[COLS];
  const ref_weights w = reference_of(m);
  const int t = b * c->s.q + i, at = c->s.past[b] + i;
  for (int k = 0; k < m->d.hidden; k++) x[k] = ref_wide(c->x[t][k]);
  ref_layer(&m->d, &w, m->table[at], m->table[at] + m->d.rope / 2, at, cache, x, y);
  for (int k = 0; k < m->d.hidden && m->desc.flags & MLAF_LAYER_RESIDUAL; k++) y[k] += x[k];
}

/* A request's cache before the call, in double precision. */
static inline double *past_of(const model *m, const call *c, int b) {
  const int row = m->d.rank + m->d.rope;
  double *cache = calloc((size_t)(POSITIONS * row), sizeof *cache);
  assert_non_null(cache);
  for (int p = 0; p < c->s.past[b]; p++)
    for (int k = 0; k < row; k++) cache[p * row + k] = ref_wide(c->before[row_of(c, b, p) * row + k]);
  return cache;
}
