/* An append with embedded kernels, from a bundle of two operations: three tokens, of which one is padding, into a cache of pages
 * that lie apart, checked against plain C in double precision. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlaf_kernels.h"

enum { TOKENS = 3, HEADS = 16, RANK = 512, ROPE = 64, ROW = RANK + ROPE, PAGE = 4, PAGE_ROWS = 5, PAGES = 3, TABLE = 10,
       CACHE = PAGES * PAGE_ROWS * ROW };
static const int64_t slots[TOKENS] = {9, -1, 2}, positions[TOKENS] = {7, INT64_C(1) << 50, 0};
static const uint16_t POISON = 0x7fc1;

static uint16_t ckv[TOKENS * RANK], kpe[TOKENS * ROPE], gain[RANK], q_nope[TOKENS * HEADS * RANK], q_pe[TOKENS * HEADS * ROPE];
static uint16_t cache[CACHE], q_out[TOKENS * HEADS * ROW];
static float table[TABLE * ROPE]; /* cosines, then sines */

static float wide(uint16_t x) {
  uint32_t bits = (uint32_t)x << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}
static uint16_t narrow(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
static void noise(uint16_t *to, size_t n) {
  static uint32_t state = 1;
  for (size_t i = 0; i < n; i++) {
    state = state * 1664525u + 1013904223u;
    to[i] = narrow((float)(state >> 8) / (1 << 23) - 1.0f);
  }
}

static int (*device_alloc)(void **, size_t), (*device_copy)(void *, const void *, size_t, int);
static void *to_device(const void *data, size_t size) {
  void *p = NULL;
  if (device_alloc(&p, size) || device_copy(p, data, size, 1)) exit(fprintf(stderr, "no device memory\n"));
  return p;
}

/* Half a unit in the last place of bf16, and what float32 adds; products that cancel are off by their own size. */
static int off(uint16_t got, double want) {
  const double unit = ldexp(1, ilogb(fmax(fabs(want), 0x1p-6)) - 7);
  return !(fabs(wide(got) - want) <= 0.51 * unit);
}

static int wrong_rope(const uint16_t *got, const uint16_t *x, const float *turn) {
  int wrong = 0;
  for (int i = 0; i < ROPE / 2; i++) {
    const double c = turn[i], s = turn[ROPE / 2 + i], a = wide(x[2 * i]), b = wide(x[2 * i + 1]);
    wrong += off(got[2 * i], a * c - b * s) + off(got[2 * i + 1], b * c + a * s);
  }
  return wrong;
}

static int wrong_token(int t) {
  const size_t row = (size_t)(slots[t] / PAGE * PAGE_ROWS + slots[t] % PAGE);
  double sum = 0;
  int wrong = 0;
  for (int i = 0; i < RANK; i++) sum += (double)wide(ckv[t * RANK + i]) * wide(ckv[t * RANK + i]);
  const double factor = 1 / sqrt(sum / RANK + 1e-6);
  for (int i = 0; i < RANK; i++) wrong += off(cache[row * ROW + i], wide(ckv[t * RANK + i]) * factor * wide(gain[i]));
  wrong += wrong_rope(cache + row * ROW + RANK, kpe + t * ROPE, table + positions[t] * ROPE);
  for (int h = t * HEADS; h < (t + 1) * HEADS; h++)
    wrong += !!memcmp(q_out + h * ROW, q_nope + h * RANK, 2 * RANK) +
             wrong_rope(q_out + h * ROW + RANK, q_pe + h * ROPE, table + positions[t] * ROPE);
  for (int i = 0; i < ROW; i++) cache[row * ROW + i] = POISON; /* so that only what nobody should have touched is left */
  for (int i = 0; i < HEADS * ROW; i++) q_out[t * HEADS * ROW + i] = POISON;
  return wrong;
}

int main(void) {
  char why[512] = "";
  mlaf_embed *e = NULL;
  const mlaf_embed_plan *plan = NULL;
  const mlaf_embed_append_problem problem = {HEADS, RANK, ROPE, 0, 0, 0, 1, 4};
  noise(ckv, TOKENS * RANK), noise(kpe, TOKENS * ROPE), noise(gain, RANK);
  noise(q_nope, TOKENS * HEADS * RANK), noise(q_pe, TOKENS * HEADS * ROPE);
  for (int i = 0; i < CACHE; i++) cache[i] = POISON;
  for (int i = 0; i < TOKENS * HEADS * ROW; i++) q_out[i] = POISON;
  for (int p = 0; p < TABLE; p++)
    for (int i = 0; i < ROPE / 2; i++) {
      table[p * ROPE + i] = cosf((float)(p + i));
      table[p * ROPE + ROPE / 2 + i] = sinf((float)(p + i));
    }
  if (mlaf_embed_open(&mlaf_kernels, 0, &e, why, sizeof why) || mlaf_embed_append_plan(e, &problem, &plan, why, sizeof why))
    return fprintf(stderr, "no plan: %s\n", why), 1;
  void *hip = dlopen(getenv("MLAF_HIP_LIBRARY"), RTLD_NOW), *alloc = hip ? dlsym(hip, "hipMalloc") : NULL,
       *copy = hip ? dlsym(hip, "hipMemcpy") : NULL;
  memcpy(&device_alloc, &alloc, sizeof alloc), memcpy(&device_copy, &copy, sizeof copy);
  mlaf_embed_append_args a = {.tokens = TOKENS, .eps = 1e-6f, .scale = 1, .table_rows = TABLE, .num_slots = PAGES * PAGE,
                              .cache_page_stride = PAGE_ROWS * ROW, .page_tokens = PAGE};
  a.ckv = to_device(ckv, sizeof ckv), a.kpe = to_device(kpe, sizeof kpe), a.norm_weight = to_device(gain, sizeof gain);
  a.slots = to_device(slots, sizeof slots), a.positions = to_device(positions, sizeof positions);
  a.cos = to_device(table, sizeof table), a.cache = to_device(cache, sizeof cache);
  a.q_nope = to_device(q_nope, sizeof q_nope), a.q_pe = to_device(q_pe, sizeof q_pe), a.q_out = to_device(q_out, sizeof q_out);
  if (mlaf_embed_append_execute(plan, &a, NULL, why, sizeof why)) return fprintf(stderr, "launch: %s\n", why), 1;
  device_copy(cache, a.cache, sizeof cache, 2), device_copy(q_out, a.q_out, sizeof q_out, 2);
  const int wrong = wrong_token(0) + wrong_token(2);
  int touched = 0;
  for (int i = 0; i < CACHE; i++) touched += cache[i] != POISON;
  for (int i = 0; i < TOKENS * HEADS * ROW; i++) touched += q_out[i] != POISON;
  printf("%s: append of %d tokens, %d values wrong, %d touched that should not be\n", mlaf_embed_target_name(e), TOKENS, wrong,
         touched);
  mlaf_embed_close(e);
  return wrong || touched;
}
