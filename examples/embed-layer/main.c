/* A whole MLA layer of embedded kernels: a prompt by prefill, then tokens one by one by decode over the cache that it left; each
 * hidden state is compared with the same in double precision. Every launch is on one stream, with no library of mlaforge. */
#include <math.h>

#include "memory.h"
#include "mlaf_kernels.h"
#include "reference.h"

enum {
  PROMPT = 9, TOKENS = 21, HIDDEN = 128, HEADS = 4, Q_RANK = 96, RANK = 64, ROPE = 32, NOPE = 32, V = 64, PAGE = 16, PAGES = 3,
  ROW = RANK + ROPE, Q_ROW = NOPE + ROPE, KV_ROW = NOPE + V, C_ROW = Q_RANK + ROW
};
enum { Q_A, KV_A, Q_NORM, Q_B, KV_NORM, KV_B, O, WEIGHTS }; /* the first two are one tensor: one product */
static const double BOUND = 1e-2; /* of the relative error of a hidden state */

static const ref_dims dims = {.hidden = HIDDEN, .heads = HEADS, .q_rank = Q_RANK, .rank = RANK, .rope = ROPE, .nope = NOPE,
                              .v = V, .eps = 1e-6, .scale = 0.125};
static const struct { int rows, cols; } shapes[WEIGHTS] = {
    [Q_A] = {Q_RANK, HIDDEN},  [KV_A] = {ROW, HIDDEN},         [Q_NORM] = {1, Q_RANK},   [Q_B] = {HEADS * Q_ROW, Q_RANK},
    [KV_NORM] = {1, RANK},     [KV_B] = {HEADS * KV_ROW, RANK}, [O] = {HIDDEN, HEADS * V},
};

/* --- the plans --- */

typedef struct plans {
  const mlaf_embed_plan *qkv_a, *q_b, *q_b_append, *append, *q_absorb, *decode, *v_out, *gather, *prefill, *o_proj;
} plans;

static char why[512];
static void need(mlaf_embed_status status, const char *what) {
  if (status) exit((fprintf(stderr, "%s: %s\n", what, why), 1));
}
#define NEED(call) need(call, #call)

/* Those nearest to steps of so many tokens, of requests with no more than TOKENS. */
static plans make_plans(mlaf_embed *e, int tokens) {
  const mlaf_embed_qkv_a_problem qkv_a = {.hidden = HIDDEN, .q_rank = Q_RANK, .rank = RANK, .rope = ROPE, .tokens = tokens};
  const mlaf_embed_q_b_problem q_b = {.q_rank = Q_RANK, .heads = HEADS, .nope = NOPE, .rope = ROPE, .norm = 1, .tokens = tokens};
  const mlaf_embed_q_b_problem q_b_append = {.q_rank = Q_RANK, .heads = HEADS, .nope = NOPE, .rope = ROPE, .norm = 1, .append = 1,
                                             .rank = RANK, .append_norm = 1, .tokens = tokens};
  const mlaf_embed_append_problem append = {.heads = HEADS, .rank = RANK, .rope = ROPE, .norm = 1, .tokens = tokens};
  const mlaf_embed_q_absorb_problem q_absorb = {.heads = HEADS, .nope = NOPE, .rope = ROPE, .rank = RANK, .tokens = tokens};
  const mlaf_embed_decode_problem decode = {.heads = HEADS, .rank = RANK, .rope = ROPE, .q_len = 1, .page_size = PAGE, .batch = 1,
                                            .ctx = TOKENS};
  const mlaf_embed_v_out_problem v_out = {.heads = HEADS, .rank = RANK, .v = V, .tokens = tokens};
  const mlaf_embed_gather_problem gather = {.heads = HEADS, .nope = NOPE, .rope = ROPE, .vdim = V, .rank = RANK,
                                            .tokens = tokens};
  const mlaf_embed_prefill_problem prefill = {.heads = HEADS, .nope = NOPE, .rope = ROPE, .vdim = V, .causal = 1, .batch = 1,
                                              .tokens = tokens, .ctx = tokens};
  const mlaf_embed_o_proj_problem o_proj = {.hidden = HIDDEN, .heads = HEADS, .v = V, .residual = 1, .tokens = tokens};
  plans p;
  NEED(mlaf_embed_qkv_a_plan(e, &qkv_a, &p.qkv_a, why, sizeof why));
  NEED(mlaf_embed_q_b_plan(e, &q_b, &p.q_b, why, sizeof why));
  NEED(mlaf_embed_q_b_plan(e, &q_b_append, &p.q_b_append, why, sizeof why));
  NEED(mlaf_embed_append_plan(e, &append, &p.append, why, sizeof why));
  NEED(mlaf_embed_q_absorb_plan(e, &q_absorb, &p.q_absorb, why, sizeof why));
  NEED(mlaf_embed_decode_plan(e, &decode, &p.decode, why, sizeof why));
  NEED(mlaf_embed_v_out_plan(e, &v_out, &p.v_out, why, sizeof why));
  NEED(mlaf_embed_gather_plan(e, &gather, &p.gather, why, sizeof why));
  NEED(mlaf_embed_prefill_plan(e, &prefill, &p.prefill, why, sizeof why));
  NEED(mlaf_embed_o_proj_plan(e, &o_proj, &p.o_proj, why, sizeof why));
  return p;
}

/* --- the layer --- */

/* On the device. */
typedef struct layer {
  plans prompt, step;
  const uint16_t *w[WEIGHTS];
  const float *table; /* rows of P/2 cosines, then P/2 sines */
  int64_t *positions, *slots;
  const int32_t *pages;
  int32_t *zero_to_n, *kv_indptr, *last;
  uint16_t *cache, *x, *c, *q, *k, *k_pe, *absorbed, *latent, *values, *y;
  void *workspace;
  size_t workspace_size;
} layer;

/* x to c and q, and the tokens' rows of the cache. `turn`: the rope columns of q turn in place, so rows are appended by a launch
 * of their own; else by blocks beside q's product. */
static void begin(const layer *l, const plans *p, int tokens, int turn) {
  const mlaf_embed_projection_args a = {.tokens = tokens, .x = l->x, .w = l->w[Q_A], .y = l->c};
  const mlaf_embed_projection_args b = {.tokens = tokens, .x = l->c, .x_token_stride = C_ROW, .w = l->w[Q_B], .y = l->q,
                                        .norm_weight = l->w[Q_NORM], .eps = (float)dims.eps};
  mlaf_embed_append_args to = {.tokens = tokens, .ckv = l->c + Q_RANK, .kpe = l->c + Q_RANK + RANK, .ckv_row_stride = C_ROW,
                               .kpe_row_stride = C_ROW, .norm_weight = l->w[KV_NORM], .eps = (float)dims.eps, .slots = l->slots,
                               .positions = l->positions, .cos = l->table, .table_rows = TOKENS, .cache = l->cache,
                               .num_slots = PAGES * PAGE};
  NEED(mlaf_embed_qkv_a_execute(p->qkv_a, &a, NULL, why, sizeof why));
  if (!turn) {
    NEED(mlaf_embed_q_b_append_execute(p->q_b_append, &b, &to, NULL, why, sizeof why));
    return;
  }
  to.q_pe = to.q_pe_out = l->q + NOPE;
  to.q_pe_head_stride = to.q_pe_out_head_stride = Q_ROW;
  to.q_pe_token_stride = to.q_pe_out_token_stride = HEADS * Q_ROW;
  NEED(mlaf_embed_q_b_execute(p->q_b, &b, NULL, why, sizeof why));
  NEED(mlaf_embed_append_execute(p->append, &to, NULL, why, sizeof why));
}

/* y = W_o values + x */
static void finish(const layer *l, const plans *p, int tokens) {
  const mlaf_embed_projection_args o = {.tokens = tokens, .x = l->values, .w = l->w[O], .residual = l->x, .y = l->y};
  NEED(mlaf_embed_o_proj_execute(p->o_proj, &o, NULL, why, sizeof why));
}

/* All tokens of the prompt attend to each other: their rows of the cache become keys and values of each head. */
static void prefill(const layer *l) {
  const plans *p = &l->prompt;
  begin(l, p, PROMPT, 1);
  const mlaf_embed_gather_args g = {.batch = 1, .page_tokens = PAGE, .tokens = PROMPT, .cache = l->cache, .num_pages = PAGES,
                                    .scale = 1, .table = l->pages, .table_stride = PAGES, .cu_seqlens = l->zero_to_n,
                                    .w = l->w[KV_B], .k = l->k, .k_pe = l->k_pe};
  const mlaf_embed_prefill_args a = {.batch = 1, .scale = (float)dims.scale, .total_q = PROMPT, .total_k = PROMPT, .q = l->q,
                                     .k = l->k, .k_token_stride = HEADS * KV_ROW, .k_head_stride = KV_ROW, .k_pe = l->k_pe,
                                     .v = l->k + NOPE, .v_token_stride = HEADS * KV_ROW, .v_head_stride = KV_ROW,
                                     .cu_seqlens_q = l->zero_to_n, .cu_seqlens_k = l->zero_to_n, .o = l->values};
  NEED(mlaf_embed_gather_execute(p->gather, &g, NULL, why, sizeof why));
  NEED(mlaf_embed_prefill_execute(p->prefill, &a, NULL, why, sizeof why));
  finish(l, p, PROMPT);
}

/* One token attends to the cache in the latent space: W_UK is in its query, W_UV behind attention. */
static void decode(const layer *l) {
  const plans *p = &l->step;
  begin(l, p, 1, 0); /* q_absorb turns them */
  const mlaf_embed_projection_args q = {.tokens = 1, .x = l->q, .w = l->w[KV_B], .w_head_stride = KV_ROW * RANK, .y = l->absorbed,
                                        .positions = l->positions, .cos = l->table, .table_rows = TOKENS};
  const mlaf_embed_decode_args a = {.batch = 1, .num_pages = PAGES, .total_q = 1, .q = l->absorbed, .ckv = l->cache,
                                    .qo_indptr = l->zero_to_n, .kv_indptr = l->kv_indptr, .kv_indices = l->pages,
                                    .kv_last_page_lens = l->last, .o = l->latent, .scale = (float)dims.scale,
                                    .workspace = l->workspace, .workspace_size = l->workspace_size};
  const mlaf_embed_projection_args v = {.tokens = 1, .x = l->latent, .w = l->w[KV_B] + NOPE * RANK,
                                        .w_head_stride = KV_ROW * RANK, .y = l->values};
  NEED(mlaf_embed_q_absorb_execute(p->q_absorb, &q, NULL, why, sizeof why));
  NEED(mlaf_embed_decode_execute(p->decode, &a, NULL, why, sizeof why));
  NEED(mlaf_embed_v_out_execute(p->v_out, &v, NULL, why, sizeof why));
  finish(l, p, 1);
}

/* --- data --- */

static double draw(void) { /* uniform, of variance 1 */
  static uint64_t seed = 2026;
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return ((double)(seed >> 11) / 4503599627370496.0 - 1) * 1.7320508;
}

/* n numbers of 16 bits around `middle`, and what they are in double precision. */
static void draw_all(size_t n, double middle, double size, uint16_t *bits, double *wide) {
  for (size_t i = 0; i < n; i++) wide[i] = ref_wide(bits[i] = ref_bf16(middle + size * draw()));
}

/* All weights one behind the other. */
static void draw_weights(layer *l, double **wide) {
  enum { ALL = (Q_RANK + ROW) * HIDDEN + Q_RANK + HEADS * Q_ROW * Q_RANK + RANK + HEADS * KV_ROW * RANK + HIDDEN * HEADS * V };
  static uint16_t bits[ALL];
  static double all[ALL];
  const uint16_t *to = to_device(NULL, sizeof bits);
  size_t at = 0;
  for (int i = 0; i < WEIGHTS; i++) {
    const int rows = shapes[i].rows, cols = shapes[i].cols;
    const size_t n = (size_t)rows * (size_t)cols;
    l->w[i] = to + at;
    wide[i] = all + at;
    draw_all(n, rows == 1, rows == 1 ? 0.1 : 1 / sqrt(cols), bits + at, wide[i]);
    at += n;
  }
  up((void *)(uintptr_t)to, bits, sizeof bits);
}

static void allocate(layer *l) {
  const size_t row = sizeof(uint16_t) * PROMPT;
  l->positions = to_device(NULL, PROMPT * sizeof *l->positions), l->slots = to_device(NULL, PROMPT * sizeof *l->slots);
  l->zero_to_n = to_device(NULL, 2 * sizeof(int32_t)), l->kv_indptr = to_device(NULL, 2 * sizeof(int32_t));
  l->last = to_device(NULL, sizeof(int32_t)), l->cache = to_device(NULL, sizeof(uint16_t) * PAGES * PAGE * ROW);
  l->x = to_device(NULL, row * HIDDEN), l->y = to_device(NULL, row * HIDDEN), l->c = to_device(NULL, row * C_ROW);
  l->q = to_device(NULL, row * HEADS * Q_ROW), l->k = to_device(NULL, row * HEADS * KV_ROW);
  l->k_pe = to_device(NULL, row * ROPE), l->absorbed = to_device(NULL, row * HEADS * ROW);
  l->latent = to_device(NULL, row * HEADS * RANK), l->values = to_device(NULL, row * HEADS * V);
  l->workspace_size = mlaf_embed_decode_workspace(l->step.decode, 1);
  l->workspace = to_device(NULL, l->workspace_size);
}

int main(void) {
  static const int32_t pages[PAGES] = {2, 0, 1}; /* in any order */
  static float table[TOKENS][ROPE];
  static double wide_table[TOKENS][ROPE], wide_x[TOKENS][HIDDEN], cache[TOKENS][ROW], *wide[WEIGHTS];
  static uint16_t x[TOKENS][HIDDEN], y[TOKENS][HIDDEN];
  mlaf_embed *e = NULL;
  layer l;
  NEED(mlaf_embed_open(&mlaf_kernels, 0, &e, why, sizeof why));
  open_memory(mlaf_embed_target_name(e));
  l.prompt = make_plans(e, PROMPT), l.step = make_plans(e, 1);
  for (int t = 0; t < TOKENS; t++)
    for (int i = 0; i < ROPE; i++) {
      const double angle = t * pow(10000, -2.0 * (i % (ROPE / 2)) / ROPE);
      wide_table[t][i] = table[t][i] = (float)(i < ROPE / 2 ? cos(angle) : sin(angle));
    }
  allocate(&l);
  draw_weights(&l, wide);
  draw_all(TOKENS * HIDDEN, 0, 1, x[0], wide_x[0]);
  l.table = to_device(table, sizeof table);
  l.pages = to_device(pages, sizeof pages);

  for (int t = 0, n = PROMPT; t < TOKENS; t += n, n = 1) {
    int64_t positions[PROMPT], slots[PROMPT];
    const int32_t tokens[2] = {0, n}, kv[2] = {0, t / PAGE + 1}, last = t % PAGE + 1;
    for (int i = 0; i < n; i++) {
      positions[i] = t + i;
      slots[i] = (int64_t)pages[(t + i) / PAGE] * PAGE + (t + i) % PAGE;
    }
    const size_t rows = (size_t)n * sizeof x[0], each = (size_t)n * sizeof *slots;
    up(l.positions, positions, each), up(l.slots, slots, each), up(l.zero_to_n, tokens, sizeof tokens);
    up(l.kv_indptr, kv, sizeof kv), up(l.last, &last, sizeof last), up(l.x, x[t], rows);
    if (t) decode(&l);
    else prefill(&l);
    down(y[t], l.y, rows);
  }

  const ref_weights w = {wide[Q_A], wide[Q_NORM], wide[Q_B], wide[KV_A], wide[KV_NORM], wide[KV_B], wide[O]};
  double worst = 0;
  for (int t = 0; t < TOKENS; t++) {
    double want[HIDDEN];
    ref_layer(&dims, &w, wide_table[t], wide_table[t] + ROPE / 2, t, cache[0], wide_x[t], want);
    for (int i = 0; i < HIDDEN; i++) want[i] += wide_x[t][i];
    const double error = ref_error(y[t], want, HIDDEN);
    worst = error > worst ? error : worst;
  }
  printf("%s: a prompt of %d tokens, then %d one by one, relative error at most %.2e (bound %.1e)\n", mlaf_embed_target_name(e),
         PROMPT, TOKENS - PROMPT, worst, BOUND);
  mlaf_embed_close(e);
  return !(worst <= BOUND);
}
