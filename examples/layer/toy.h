/* The toy model of MLA layers that examples share: its sizes, its random weights, and memory on the device. */
#ifndef TOY_H
#define TOY_H

#include <mlaforge/mlaforge.h>
#include <stdio.h>

#include "reference.h"

enum {
  WORDS = 50, HIDDEN = 128, HEADS = 4, Q_RANK = 96, RANK = 64, ROPE = 32, NOPE = 32, V = 64, ROW = RANK + ROPE,
  WEIGHTS = 7, HELD = 64
};

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

static mlaf_ctx *ctx;
static uint64_t seed = 2026;
static void *held[HELD]; /* on the device */
static int n_held;

static void fail(const char *what) {
  char why[4096];
  mlaf_ctx_last_message(ctx, why, sizeof why);
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static void *to_device(const void *data, size_t size) {
  void *p = NULL;
  if (n_held == HELD || mlaf_mem_alloc(ctx, size, &p) || (data && mlaf_mem_write(ctx, p, data, size))) fail("memory");
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

/* A layer of random weights, which come back in double precision. */
static mlaf_layer *make_layer(const mlaf_layer_desc *desc, double *wide[WEIGHTS]) {
  mlaf_layer_weight list[WEIGHTS];
  mlaf_layer *layer;
  for (int i = 0; i < WEIGHTS; i++) {
    const int rows = shapes[i].rows, cols = shapes[i].cols;
    const size_t n = (size_t)rows * (size_t)cols;
    uint16_t *bits = draw_all(n, rows == 1, rows == 1 ? 0.1 : 1 / sqrt(cols), &wide[i]);
    list[i] = (mlaf_layer_weight){shapes[i].name, to_device(bits, n * sizeof *bits), rows, cols, 0};
    free(bits);
  }
  if (mlaf_layer_create(ctx, desc, list, WEIGHTS, &layer)) fail("mlaf_layer_create");
  return layer;
}

/* A layer's description as far as both models share it. */
static mlaf_layer_desc describe(void) {
  mlaf_layer_desc d = MLAF_LAYER_DESC_INIT;
  d.flags = MLAF_LAYER_RESIDUAL;
  d.hidden = HIDDEN, d.heads = HEADS, d.q_rank = Q_RANK, d.rank = RANK, d.rope = ROPE, d.nope = NOPE, d.v = V;
  d.scale = (float)dims.scale;
  return d;
}

/* Rows of P/2 cosines, then P/2 sines, rounded to float32 as the device has them. */
static void make_table(int positions, float table[][ROPE], double wide[][ROPE]) {
  for (int t = 0; t < positions; t++)
    for (int i = 0; i < ROPE; i++) {
      const double angle = t * pow(10000, -2.0 * (i % (ROPE / 2)) / ROPE);
      wide[t][i] = table[t][i] = (float)(i < ROPE / 2 ? cos(angle) : sin(angle));
    }
}

/* Everything that the above made; the context is gone. */
static void free_model(void) {
  for (int i = 0; i < n_held; i++) mlaf_mem_free(ctx, held[i]);
  mlaf_ctx_destroy(ctx);
}

#endif
