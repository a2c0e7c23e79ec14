/* aiter-attention FOLDER: run AITER's gfx942 bf16 attention kernels (hsa/gfx942 of ROCm/aiter, not part of this repository)
 * and compare with an fp64 reference; output as of aiter-check. Paged attention as in csrc/py_itfs_cu/asm_pa.cu: two requests,
 * pages of 16 tokens in random order, K as [page][head][d / 8][token][8], V as [page][head][token / 8][d][8]. Forward
 * attention in batch mode as in csrc/include/mha_fwd.h and csrc/cpp_itfs/mha_fwd.cu: [batch][token][head][d], lengths that
 * fill no tile. */
#include "aiter_run.h"

enum { PAGE = 16, DV = 128, BATCH = 2, PACK = 8, MAX_KEYS = 512 };

typedef struct subject {
  const char *name;
  bool paged, causal;
  int heads, kv_heads, d;       /* d of Q and K; V's is DV */
  int queries, keys[BATCH];     /* of each request */
  int rows, block;              /* forward: query rows and threads of a workgroup */
} subject;

static const subject subjects[] = {
  {"pa/pa_bf16_noquant_gqa8_1tg_4w", true, false, 16, 2, 128, 1, {203, 77}, 0, 256},
  {"pa/pa_bf16_noquant_gqa16_1tg_4w", true, false, 32, 2, 128, 1, {203, 77}, 0, 256},
  {"fmha_v3_fwd/MI300/fwd_hd128_bf16_rtne", false, false, 8, 2, 128, 300, {333, 333}, 256, 512},
  {"fmha_v3_fwd/MI300/fwd_hd128_bf16_rtna", false, false, 8, 2, 128, 300, {333, 333}, 256, 512},
  {"fmha_v3_fwd/MI300/fwd_hd128_bf16_rtz", false, false, 8, 2, 128, 300, {333, 333}, 256, 512},
  {"fmha_v3_fwd/MI300/fwd_hd128_bf16_causal_rtne", false, true, 8, 2, 128, 333, {333, 333}, 256, 512},
  {"fmha_v3_fwd/MI300/fwd_hd192x128_bf16_rtne", false, false, 8, 2, 192, 300, {333, 333}, 128, 256},
  {"fmha_v3_fwd/MI300/fwd_hd192x128_bf16_causal_rtne", false, true, 8, 2, 192, 333, {333, 333}, 128, 256}};

typedef struct call {
  aiter_run run;
  const subject *s;
  float *q, *k, *v; /* [token of all requests][head][d] */
  uint16_t *out;    /* bf16 [query of all requests][head][DV] */
} call;

static size_t first_key(const subject *s, int b) { return b ? (size_t)s->keys[0] : 0; }

/* n random bf16 numbers as floats. */
static float *numbers(mlaf_rng *rng, size_t n) {
  float *f = malloc(n * sizeof *f);
  for (size_t i = 0; f && i < n; i++) f[i] = mlaf_bf16_decode(mlaf_bf16_encode((float)mlaf_rng_below(rng, 20001) / 10000 - 1));
  return f;
}

/* The same on the device, in order. */
static void *plain(aiter_run *r, const float *f, size_t n) {
  uint16_t *h = aiter_device(r, NULL, n * 2 + AITER_PAST);
  for (size_t i = 0; h && i < n; i++) h[i] = mlaf_bf16_encode(f[i]);
  return h;
}

/* Lays values out in pages of request b's table: `outer` runs over d / 8 (K) or token / 8 (V), and the eight of the other kind
 * lie together. */
static void *paged(call *c, const float *f, const int32_t *table, int max_pages, bool is_v) {
  const subject *s = c->s;
  size_t page_size = (size_t)s->kv_heads * PAGE * DV;
  uint16_t *h = aiter_device(&c->run, NULL, (size_t)(BATCH * max_pages) * page_size * 2 + AITER_PAST);
  for (int b = 0; h && b < BATCH; b++)
    for (int t = 0; t < s->keys[b]; t++)
      for (int head = 0; head < s->kv_heads; head++)
        for (int d = 0; d < DV; d++) {
          size_t in = (size_t)(t % PAGE), e = (size_t)d;
          size_t at = is_v ? (in / PACK * DV + e) * PACK + in % PACK : (e / PACK * PAGE + in) * PACK + e % PACK;
          at += (size_t)table[b * max_pages + t / PAGE] * page_size + (size_t)head * PAGE * DV;
          h[at] = mlaf_bf16_encode(f[((first_key(s, b) + (size_t)t) * (size_t)s->kv_heads + (size_t)head) * DV + e]);
        }
  return h;
}

static bool fill_paged(call *c, mlaf_rng *rng) {
  enum { MAX_PAGES = (MAX_KEYS + PAGE - 1) / PAGE };
  const subject *s = c->s;
  aiter_run *r = &c->run;
  int32_t table[BATCH * MAX_PAGES], lengths[BATCH] = {s->keys[0], s->keys[1]};
  for (int i = 0; i < BATCH * MAX_PAGES; i++) {
    int j = (int)mlaf_rng_below(rng, (uint32_t)i + 1);
    table[i] = table[j], table[j] = i;
  }
  size_t nq = (size_t)(BATCH * s->heads) * DV, head_bytes = PAGE * DV * 2;
  bool ok = aiter_slot_ptr(r, 0, c->out = aiter_device(r, NULL, nq * 2 + AITER_PAST)) &&
            aiter_slot_ptr(r, 1, plain(r, c->q, nq)) && aiter_slot_ptr(r, 2, paged(c, c->k, table, MAX_PAGES, false)) &&
            aiter_slot_ptr(r, 3, paged(c, c->v, table, MAX_PAGES, true)) &&
            aiter_slot_ptr(r, 4, aiter_device(r, table, sizeof table)) &&
            aiter_slot_ptr(r, 5, aiter_device(r, lengths, sizeof lengths));
  aiter_slot_f32(r, 8, (float)(1.4426950408889634 / sqrt(DV)));
  aiter_slot_u32(r, 9, MAX_PAGES);
  aiter_slot_u32(r, 10, (size_t)s->kv_heads);
  aiter_slot_u32(r, 11, (size_t)s->heads * DV * 2);
  aiter_slot_u32(r, 12, (size_t)s->kv_heads * head_bytes);
  aiter_slot_u32(r, 13, head_bytes);
  aiter_slot_u32(r, 15, (size_t)(s->heads / s->kv_heads));
  return ok;
}

/* Strides of a [batch][token][head][d] tensor in bytes: of tokens, heads, requests, in slots at, at + 1, at + 2. */
static void strides(aiter_run *r, int at, int tokens, int heads, int d) {
  aiter_slot_u32(r, at, (size_t)(heads * d) * 2);
  aiter_slot_u32(r, at + 1, (size_t)d * 2);
  aiter_slot_u32(r, at + 2, (size_t)tokens * (size_t)(heads * d) * 2);
}

static bool fill_forward(call *c) {
  const subject *s = c->s;
  aiter_run *r = &c->run;
  size_t rows = (size_t)(BATCH * s->queries * s->heads), keys = (size_t)(BATCH * s->keys[0] * s->kv_heads), d = (size_t)s->d;
  bool ok = aiter_slot_ptr(r, 0, c->out = aiter_device(r, NULL, rows * DV * 2 + AITER_PAST)) &&
            aiter_slot_ptr(r, 1, plain(r, c->q, rows * d)) && aiter_slot_ptr(r, 2, plain(r, c->k, keys * d)) &&
            aiter_slot_ptr(r, 3, plain(r, c->v, keys * DV)) && aiter_slot_ptr(r, 4, aiter_device(r, NULL, rows * 4 + AITER_PAST));
  aiter_slot_f32(r, 5, (float)(1 / sqrt(s->d)));
  aiter_slot_u32(r, 6, (size_t)s->queries);
  aiter_slot_u32(r, 7, (size_t)(s->heads * s->d) * 2);
  strides(r, 8, s->queries, s->heads, s->d);
  aiter_slot_u32(r, 8, (size_t)(s->rows * s->heads * s->d) * 2); /* of a workgroup's tile */
  aiter_slot_u32(r, 11, (size_t)(s->heads / s->kv_heads));
  strides(r, 12, s->keys[0], s->kv_heads, s->d);
  aiter_slot_u32(r, 15, s->d == 192 ? 0 : 5); /* AITER's own choice of tuning */
  aiter_slot_u32(r, 16, 1);                    /* writes the LSE too */
  aiter_slot_u32(r, 17, (size_t)s->keys[0]);
  aiter_slot_u32(r, 18, d);
  aiter_slot_u32(r, 19, DV);
  aiter_slot_u32(r, 20, (size_t)s->heads);
  strides(r, 21, s->keys[0], s->kv_heads, DV);
  strides(r, 24, s->queries, s->heads, DV);
  aiter_slot_u32(r, 29, (size_t)s->queries * 4);
  return ok;
}

/* Probabilities of n keys for one query, fp64. */
static void softmax(const float *q, const float *k, int n, size_t step, int d, double *p) {
  double top = -INFINITY, sum = 0;
  for (int i = 0; i < n; i++) {
    p[i] = 0;
    for (int e = 0; e < d; e++) p[i] += (double)q[e] * k[(size_t)i * step + (size_t)e];
    p[i] /= sqrt(d);
    if (p[i] > top) top = p[i];
  }
  for (int i = 0; i < n; i++) sum += p[i] = exp(p[i] - top);
  for (int i = 0; i < n; i++) p[i] /= sum;
}

static double error(const void *user, const char **type) {
  const call *c = user;
  const subject *s = c->s;
  double worst = 0, most = 0, p[MAX_KEYS];
  size_t kv = (size_t)s->kv_heads;
  for (int b = 0; b < BATCH; b++)
    for (int t = 0; t < s->queries; t++)
      for (int h = 0; h < s->heads; h++) {
        size_t row = (size_t)((b * s->queries + t) * s->heads + h), head = (size_t)(h / (s->heads / s->kv_heads));
        size_t from = first_key(s, b) * kv + head;
        int n = s->causal ? s->keys[b] - s->queries + t + 1 : s->keys[b];
        softmax(c->q + row * (size_t)s->d, c->k + from * (size_t)s->d, n, kv * (size_t)s->d, s->d, p);
        double o[DV] = {0};
        for (int i = 0; i < n; i++)
          for (size_t d = 0; d < DV; d++) o[d] += p[i] * c->v[(from + (size_t)i * kv) * DV + d];
        for (size_t d = 0; d < DV; d++) {
          double got = mlaf_bf16_decode(c->out[row * DV + d]), off = fabs(got - o[d]);
          if (!(off <= worst)) worst = isnan(got) ? INFINITY : off;
          if (fabs(o[d]) > most) most = fabs(o[d]);
        }
      }
  *type = "bf16";
  return worst / most;
}

static void run(emu_asm *a, const char *folder, const subject *s) {
  call c = {.run = {.a = a}, .s = s};
  mlaf_rng rng = {7};
  size_t tokens = (size_t)(s->keys[0] + s->keys[1]) * (size_t)s->kv_heads;
  c.q = numbers(&rng, (size_t)(BATCH * s->queries * s->heads * s->d));
  c.k = numbers(&rng, tokens * (size_t)s->d), c.v = numbers(&rng, tokens * DV);
  bool ok = c.q && c.k && c.v && (s->paged ? fill_paged(&c, &rng) : fill_forward(&c));
  uint32_t tiles = s->rows ? (uint32_t)((s->queries + s->rows - 1) / s->rows) : 0;
  uint32_t grid[3] = {s->causal ? (tiles + 1) / 2 : tiles, (uint32_t)s->heads, BATCH}; /* a causal group takes two tiles */
  if (s->d == 192) grid[0] = (uint32_t)s->heads, grid[1] = tiles;
  if (s->paged) grid[0] = (uint32_t)s->kv_heads, grid[1] = BATCH, grid[2] = 1;
  /* Rounding toward zero (rtz) errs by up to a unit where rounding to nearest errs by half of one. */
  double bound = strstr(s->name, "_rtz") ? 0x1p-6 : 0x1p-7;
  aiter_execute(&c.run, ok, folder, s->name, grid, (uint32_t)s->block, bound, error, &c);
  free(c.q), free(c.k), free(c.v);
}

int main(int argc, char **argv) {
  emu_asm a;
  if (argc < 2) return fprintf(stderr, "aiter-attention FOLDER [PART OF A NAME]\n"), 2;
  if (!emu_asm_open(&a)) return fprintf(stderr, "%s\n", a.err.text), 1;
  ((emu_device *)a.dev)->log = (mlaf_log){aiter_hear, NULL, MLAF_LOG_WARN};
  for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
    if (argc < 3 || strstr(subjects[i].name, argv[2])) run(&a, argv[1], &subjects[i]);
  emu_asm_close(&a);
  return 0;
}
