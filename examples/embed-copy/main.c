/* One decode step with embedded kernels: two requests, each with a few cached tokens, checked against plain C; then the same from
 * a block table, as servers keep them.
 * Memory comes from the driver the loader uses; a real program has its own (hipMalloc, cudaMalloc, a tensor library). */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlaf_kernels.h"

enum { HEADS = 16, RANK = 512, ROPE = 64, PAGE = 64, BATCH = 2, PAGES = 8, COLS = RANK + ROPE };
static const int lengths[BATCH] = {70, 200};

/* --- device memory --- */
typedef int (*alloc_fn)(void **, size_t);
static alloc_fn device_alloc;
static int (*hip_copy)(void *, const void *, size_t, int);
static int (*cuda_up)(uint64_t, const void *, size_t), (*cuda_down)(void *, uint64_t, size_t);

static void *library(const char *variable, const char *name) {
  const char *named = getenv(variable);
  void *handle = dlopen(named ? named : name, RTLD_NOW);
  if (!handle) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return handle;
}

static void find(void *handle, const char *name, void *to) {
  void *f = dlsym(handle, name);
  memcpy(to, &f, sizeof f);
}

static void open_memory(const char *target) {
  if (strncmp(target, "sm_", 3)) {
    void *hip = library("MLAF_HIP_LIBRARY", "libamdhip64.so");
    find(hip, "hipMalloc", &device_alloc);
    find(hip, "hipMemcpy", &hip_copy);
    return;
  }
  void *cuda = library("MLAF_CUDA_LIBRARY", "libcuda.so.1"), *context = NULL;
  int (*retain)(void **, int), (*set_current)(void *);
  find(cuda, "cuDevicePrimaryCtxRetain", &retain);
  find(cuda, "cuCtxSetCurrent", &set_current);
  retain(&context, 0);
  set_current(context);
  find(cuda, "cuMemAlloc_v2", &device_alloc);
  find(cuda, "cuMemcpyHtoD_v2", &cuda_up);
  find(cuda, "cuMemcpyDtoH_v2", &cuda_down);
}

static void *to_device(const void *data, size_t size) {
  void *p = NULL;
  int bad = device_alloc(&p, size ? size : 256);
  if (!bad && data) bad = hip_copy ? hip_copy(p, data, size, 1) : cuda_up((uint64_t)(uintptr_t)p, data, size);
  if (bad) {
    fprintf(stderr, "device memory: driver error %d\n", bad);
    exit(1);
  }
  return p;
}

static void from_device(void *data, const void *p, size_t size) {
  if (hip_copy) hip_copy(data, p, size, 2);
  else cuda_down(data, (uint64_t)(uintptr_t)p, size);
}

/* --- bf16 and the reference --- */
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
static float noise(void) {
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return (float)(state >> 8) / (1 << 23) - 1.0f;
}

/* O of one (request, head) in double precision. */
static void reference(const uint16_t *q, const uint16_t *cache, const int32_t *pages, int n, double scale, double *o) {
  double score[PAGES * PAGE], most = -INFINITY, sum = 0;
  for (int t = 0; t < n; t++) {
    const uint16_t *k = cache + ((size_t)pages[t / PAGE] * PAGE + t % PAGE) * COLS;
    score[t] = 0;
    for (int c = 0; c < COLS; c++) score[t] += (double)wide(q[c]) * wide(k[c]);
    score[t] *= scale;
    if (score[t] > most) most = score[t];
  }
  memset(o, 0, RANK * sizeof *o);
  for (int t = 0; t < n; t++) {
    const uint16_t *v = cache + ((size_t)pages[t / PAGE] * PAGE + t % PAGE) * COLS;
    const double p = exp(score[t] - most);
    sum += p;
    for (int c = 0; c < RANK; c++) o[c] += p * wide(v[c]);
  }
  for (int c = 0; c < RANK; c++) o[c] /= sum;
}

/* The lists made on the device from a block table: rows of page ids, and lengths. */
static int use_block_table(mlaf_embed *e, const mlaf_embed_plan *plan, const int32_t *kv, const int32_t *indices,
                           mlaf_embed_decode_args *a, char *why, size_t why_size) {
  enum { WIDTH = 4 };
  int32_t table[BATCH * WIDTH];
  for (int i = 0; i < BATCH * WIDTH; i++) table[i] = -1; /* behind a request's pages anything may stand */
  for (int b = 0; b < BATCH; b++)
    for (int k = kv[b]; k < kv[b + 1]; k++) table[b * WIDTH + k - kv[b]] = indices[k];
  if (mlaf_embed_decode_tables_open(e, why, why_size)) return 1;
  const mlaf_embed_decode_tables t = {.block_table = to_device(table, sizeof table),
                                      .seq_lens = to_device(lengths, sizeof lengths), .width = WIDTH, .q_tokens = 1};
  const size_t size = mlaf_embed_decode_tables_size(BATCH, WIDTH);
  return mlaf_embed_decode_tables_make(plan, &t, to_device(NULL, size), size, a, NULL, why, why_size) != MLAF_EMBED_OK;
}

int main(int argc, char **argv) {
  static uint16_t q[BATCH * HEADS * COLS], cache[PAGES * PAGE * COLS], o[BATCH * HEADS * RANK];
  static double want[RANK];
  int32_t qo[BATCH + 1] = {0}, kv[BATCH + 1] = {0}, last[BATCH];
  const int32_t indices[PAGES] = {5, 2, 7, 0, 4, 1}; /* any order */
  const float scale = 1.0f / sqrtf(128 + ROPE);
  char why[512] = "";
  for (size_t i = 0; i < sizeof q / sizeof *q; i++) q[i] = narrow(noise());
  for (size_t i = 0; i < sizeof cache / sizeof *cache; i++) cache[i] = narrow(noise());
  for (int b = 0; b < BATCH; b++) {
    qo[b + 1] = b + 1;
    kv[b + 1] = kv[b] + (lengths[b] + PAGE - 1) / PAGE;
    last[b] = (lengths[b] - 1) % PAGE + 1;
  }

  mlaf_embed *e = NULL;
  if (mlaf_embed_open(&mlaf_kernels, 0, &e, why, sizeof why)) {
    fprintf(stderr, "no device: %s\n", why);
    return 1;
  }
  const mlaf_embed_decode_problem problem = {.heads = HEADS, .rank = RANK, .rope = ROPE, .q_len = 1, .page_size = PAGE,
                                             .dtype = MLAF_EMBED_DECODE_BF16, .batch = BATCH, /* of which shape the kernel is */
                                             .ctx = argc > 1 ? (int32_t)strtol(argv[1], NULL, 10) : 200};
  const mlaf_embed_plan *plan = NULL;
  if (mlaf_embed_decode_plan(e, &problem, &plan, why, sizeof why)) {
    fprintf(stderr, "no plan: %s\n", why);
    return 1;
  }
  open_memory(mlaf_embed_target_name(e));
  mlaf_embed_decode_args a = {.batch = BATCH, .num_pages = PAGES, .total_q = BATCH, .scale = scale};
  a.q = to_device(q, sizeof q);
  a.ckv = to_device(cache, sizeof cache);
  a.qo_indptr = to_device(qo, sizeof qo);
  a.kv_indptr = to_device(kv, sizeof kv);
  a.kv_indices = to_device(indices, sizeof indices);
  a.kv_last_page_lens = to_device(last, sizeof last);
  a.o = to_device(NULL, sizeof o);
  a.lse = to_device(NULL, BATCH * HEADS * sizeof(float));
  a.workspace_size = mlaf_embed_decode_workspace(plan, a.total_q);
  a.workspace = to_device(NULL, a.workspace_size);
  if (mlaf_embed_decode_execute(plan, &a, NULL, why, sizeof why)) {
    fprintf(stderr, "launch: %s\n", why);
    return 1;
  }
  from_device(o, a.o, sizeof o); /* waits for the default stream */

  double off = 0, size = 0;
  for (int b = 0; b < BATCH; b++)
    for (int h = 0; h < HEADS; h++) {
      const int row = b * HEADS + h;
      reference(q + (size_t)row * COLS, cache, indices + kv[b], lengths[b], scale, want);
      for (int c = 0; c < RANK; c++) {
        const double d = wide(o[(size_t)row * RANK + c]) - want[c];
        off += d * d;
        size += want[c] * want[c];
      }
    }
  const double error = sqrt(off / size);
  printf("%s, %d splits, %zu bytes of workspace, relative error %.2e\n", mlaf_embed_target_name(e), mlaf_embed_plan_knob(plan),
         a.workspace_size, error);

  static uint16_t again[BATCH * HEADS * RANK];
  a.o = to_device(again, sizeof again); /* zeros */
  a.qo_indptr = a.kv_indptr = a.kv_indices = a.kv_last_page_lens = NULL;
  if (use_block_table(e, plan, kv, indices, &a, why, sizeof why) || mlaf_embed_decode_execute(plan, &a, NULL, why, sizeof why)) {
    fprintf(stderr, "block table: %s\n", why);
    return 1;
  }
  from_device(again, a.o, sizeof again);
  const int same = !memcmp(again, o, sizeof o);
  printf("from a block table: %s\n", same ? "the same bytes" : "DIFFERENT");
  mlaf_embed_close(e);
  return !(error < 5e-3 && same);
}
