/* A toy model of three MLA layers decodes 64 tokens, one call a layer and token, and every hidden state is compared with the same
 * in double precision. MLAF_DEVICE=emu:gfx942 runs it without a GPU.
 *
 * The model: h = embedding[token]; h += layer(h), three times; the next token is the largest of head h. */
#include "toy.h"

enum { LAYERS = 3, TOKENS = 64, PAGE = 16, PAGES = 2 + TOKENS / PAGE };
static const double BOUND = 1e-2; /* of the relative error of h behind three layers */

typedef struct toy_layer {
  mlaf_layer *layer;
  void *cache;
  double *wide[WEIGHTS], *wide_cache; /* the reference's */
} toy_layer;

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

  mlaf_layer_desc desc = describe();
  make_table(TOKENS, table, wide_table);
  desc.page_size = PAGE, desc.ctx_max = TOKENS;
  desc.cos = to_device(table, sizeof table);
  desc.table_rows = TOKENS;
  for (int l = 0; l < LAYERS; l++) {
    layers[l].layer = make_layer(&desc, layers[l].wide);
    layers[l].cache = to_device(NULL, (size_t)PAGES * PAGE * ROW * sizeof(uint16_t));
    layers[l].wide_cache = calloc((size_t)TOKENS * ROW, sizeof(double));
    if (!layers[l].wide_cache) fail("host memory");
  }

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
  free_model();
  return !(worst <= BOUND);
}
