/* A toy model of three MLA layers decodes 64 tokens, one call a layer and token, and every hidden state is compared with the same
 * in double precision. MLAF_DEVICE=emu:gfx942 runs it without a GPU.
 *
 * The model: h = embedding[token]; h += layer(h), three times; the next token is the largest of head h. */
#include <mlaforge/mlaforge.h>
#include <stdio.h>

#include "reference.h"

enum {
  LAYERS = 3, TOKENS = 64, WORDS = 50, HIDDEN = 128, HEADS = 4, Q_RANK = 96, RANK = 64, ROPE = 32, NOPE = 32, V = 64,
  PAGE = 16, PAGES = 2 + TOKENS / PAGE, ROW = RANK + ROPE, WEIGHTS = 7
};
static const double BOUND = 1e-2; /* of the relative error of h behind three layers */

static const ref_dims dims = {.hidden = HIDDEN, .heads = HEADS, .q_rank = Q_RANK, .rank = RANK, .rope = ROPE, .nope = NOPE,
                              .v = V, .eps = 1e-6, .scale = 0.125};
static const struct {
  const char *name;
  int rows, cols;
} shapes[WEIGHTS] = {
    {"q_a_proj.weight", Q_RANK, HIDDEN},
    {"q_a_layernorm.weight", 1, Q_RANK},
    {"q_b_proj.weight", HEADS * (NOPE + ROPE), Q_RANK},
    {"kv_a_proj_with_mqa.weight", RANK + ROPE, HIDDEN},
    {"kv_a_layernorm.weight", 1, RANK},
    {"kv_b_proj.weight", HEADS * (NOPE + V), RANK},
    {"o_proj.weight", HIDDEN, HEADS * V},
};

typedef struct toy_layer {
  mlaf_layer *layer;
  void *weights[WEIGHTS], *cache;
  double *wide[WEIGHTS], *wide_cache; /* the reference's */
} toy_layer;

static mlaf_ctx *ctx;
static uint64_t seed = 2026;
static void *held[64]; /* on the device */
static int n_held;

static void fail(const char *what) {
  char why[4096];
  mlaf_ctx_last_message(ctx, why, sizeof why);
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static void *to_device(const void *data, size_t size) {
  void *p = NULL;
  if (n_held == 64 || mlaf_mem_alloc(ctx, size, &p) || (data && mlaf_mem_write(ctx, p, data, size))) fail("memory");
  return held[n_held++] = p;
}

/* Uniform, of variance 1. */
static double draw(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return ((double)(seed >> 11) / 4503599627370496.0 - 1) * 1.7320508;
}

/* n numbers of 16 bits around `middle`, and what they are in double precision. */
static uint16_t *draw_all(size_t n, double middle, double size, double **wide) {
  uint16_t *bits = malloc(n * sizeof *bits);
  *wide = malloc(n * sizeof **wide);
  if (!bits || !*wide) fail("host memory");
  for (size_t i = 0; i < n; i++) (*wide)[i] = ref_wide(bits[i] = ref_bf16(middle + size * draw()));
  return bits;
}

static void make_layer(toy_layer *l, const mlaf_layer_desc *desc) {
  mlaf_layer_weight list[WEIGHTS];
  for (int i = 0; i < WEIGHTS; i++) {
    const int rows = shapes[i].rows, cols = shapes[i].cols;
    const size_t n = (size_t)rows * (size_t)cols;
    uint16_t *bits = draw_all(n, rows == 1, rows == 1 ? 0.1 : 1 / sqrt(cols), &l->wide[i]);
    l->weights[i] = to_device(bits, n * sizeof *bits);
    list[i] = (mlaf_layer_weight){shapes[i].name, l->weights[i], rows, cols, 0};
    free(bits);
  }
  l->cache = to_device(NULL, (size_t)PAGES * PAGE * ROW * sizeof(uint16_t));
  l->wide_cache = calloc((size_t)TOKENS * ROW, sizeof(double));
  if (!l->wide_cache) fail("host memory");
  if (mlaf_layer_create(ctx, desc, list, WEIGHTS, &l->layer)) fail("mlaf_layer_create");
}

/* Rows of P/2 cosines, then P/2 sines, rounded to float32 as the device has them. */
static void make_table(float table[TOKENS][ROPE], double wide[TOKENS][ROPE]) {
  for (int t = 0; t < TOKENS; t++)
    for (int i = 0; i < ROPE; i++) {
      const double angle = t * pow(10000, -2.0 * (i % (ROPE / 2)) / ROPE);
      wide[t][i] = table[t][i] = (float)(i < ROPE / 2 ? cos(angle) : sin(angle));
    }
}

static int largest(const double *head, const uint16_t *h) {
  int best = 0;
  double most = -INFINITY;
  for (int w = 0; w < WORDS; w++) {
    double dot = 0;
    for (int i = 0; i < HIDDEN; i++) dot += head[w * HIDDEN + i] * ref_wide(h[i]);
    if (dot > most) most = dot, best = w;
  }
  return best;
}

int main(void) {
  static float table[TOKENS][ROPE];
  static double wide_table[TOKENS][ROPE];
  static toy_layer layers[LAYERS];
  int32_t pages[PAGES];
  double *words, *head, worst = 0;
  char why[4096] = "";
  mlaf_ctx_opts opts = MLAF_CTX_OPTS_INIT;
  opts.device = getenv("MLAF_DEVICE"); /* NULL: the first GPU */
  if (mlaf_ctx_create(&opts, &ctx, why, sizeof why)) return fprintf(stderr, "no context: %s\n", why), 1;

  mlaf_layer_desc desc = MLAF_LAYER_DESC_INIT;
  make_table(table, wide_table);
  desc.flags = MLAF_LAYER_RESIDUAL;
  desc.hidden = HIDDEN, desc.heads = HEADS, desc.q_rank = Q_RANK, desc.rank = RANK;
  desc.rope = ROPE, desc.nope = NOPE, desc.v = V;
  desc.page_size = PAGE, desc.ctx_max = TOKENS;
  desc.scale = (float)dims.scale;
  desc.cos = to_device(table, sizeof table);
  desc.table_rows = TOKENS;
  for (int l = 0; l < LAYERS; l++) make_layer(&layers[l], &desc);

  uint16_t *bits = draw_all((size_t)WORDS * HIDDEN, 0, 1, &words), h[HIDDEN];
  free(draw_all((size_t)WORDS * HIDDEN, 0, 1, &head));
  for (int i = 0; i < PAGES; i++) pages[i] = PAGES - 1 - i; /* in any order */
  mlaf_layer_args a = MLAF_LAYER_ARGS_INIT;
  int64_t *positions = to_device(NULL, sizeof *positions), *slots = to_device(NULL, sizeof *slots);
  int32_t *lengths = to_device(NULL, sizeof *lengths);
  a.batch = 1;
  a.positions = positions, a.slots = slots, a.seq_lens = lengths;
  a.block_table = to_device(pages, sizeof pages);
  a.block_table_width = a.num_pages = PAGES;
  void *hidden = to_device(NULL, sizeof h);
  a.hidden = a.residual = a.out = hidden; /* h += layer(h) */
  a.workspace_size = mlaf_layer_workspace_size(layers[0].layer, &a);
  a.workspace = to_device(NULL, a.workspace_size);

  for (int t = 0, word = 0; t < TOKENS; t++) {
    const int64_t position = t, slot = (int64_t)pages[t / PAGE] * PAGE + t % PAGE;
    const int32_t length = t + 1;
    double x[HIDDEN], y[HIDDEN];
    if (mlaf_mem_write(ctx, positions, &position, sizeof position) || mlaf_mem_write(ctx, slots, &slot, sizeof slot) ||
        mlaf_mem_write(ctx, lengths, &length, sizeof length) || mlaf_mem_write(ctx, hidden, bits + word * HIDDEN, sizeof h))
      fail("inputs");
    memcpy(x, words + word * HIDDEN, sizeof x);
    for (int l = 0; l < LAYERS; l++) {
      a.cache = layers[l].cache;
      if (mlaf_layer_execute(layers[l].layer, &a, NULL)) fail("mlaf_layer_execute");
      double **w = layers[l].wide;
      const ref_weights weights = {w[0], w[1], w[2], w[3], w[4], w[5], w[6]};
      ref_layer(&dims, &weights, wide_table[t], wide_table[t] + ROPE / 2, t, layers[l].wide_cache, x, y);
      for (int i = 0; i < HIDDEN; i++) x[i] += y[i];
    }
    if (mlaf_sync(ctx, NULL) || mlaf_mem_read(ctx, h, hidden, sizeof h)) fail("outputs");
    const double error = ref_error(h, x, HIDDEN);
    worst = error > worst ? error : worst;
    printf("%d ", word = largest(head, h));
  }
  printf("\nmlaforge %s on %s: %d tokens through %d layers, relative error at most %.2e (bound %.1e)\n", mlaf_version(),
         mlaf_ctx_device_name(ctx), TOKENS, LAYERS, worst, BOUND);
  for (int l = 0; l < LAYERS; l++) {
    mlaf_layer_destroy(layers[l].layer);
    for (int i = 0; i < WEIGHTS; i++) free(layers[l].wide[i]);
    free(layers[l].wide_cache);
  }
  free(bits), free(words), free(head);
  for (int i = 0; i < n_held; i++) mlaf_mem_free(ctx, held[i]);
  mlaf_ctx_destroy(ctx);
  return !(worst <= BOUND);
}
