/* Caches of fp8_v4, whose scales lie behind the rows of their page, read by index lists of one pool or of two: whole launches on
 * emulators against the reference over the tokens that the lists name, with NaN everywhere else; and what is refused. */
#include "cmocka_all.h"
#include "on_device.h"
#include "ops/mla_decode/calls.h"
#include "ops/mla_decode/execute.h"
#include "ops/mla_decode/tokens.h"
#include "plan/ctx.h"

enum { ROW = 576, SCALES = 8, COLUMNS = 512 };

static uint32_t seed = 9;
static int32_t draw(int32_t n) {
  seed = seed * 1664525u + 1013904223u;
  return (int32_t)((seed >> 8) % (uint32_t)n);
}

/* A pool, and the lists over it. */
typedef struct pool_case {
  int32_t pages, page, topk, stride, spare_rows; /* spare_rows: more than a page's bytes come to; -1: the stride is left out */
  bool lengths;
  int32_t absent; /* one of so many entries is there; 0: none */
} pool_case;
typedef struct pools_case {
  int32_t tokens, heads, share;
  pool_case pool[2]; /* the second without topk: there is none */
  bool sink, lse;
} pools_case;

typedef struct pool {
  unsigned char *bytes;
  int32_t *indices, *lengths;
  int64_t page_bytes;
} pool;

static const mlaf_cache_format *format(void) {
  const mlaf_problem p = {.cache = MLAF_KV_FP8_V4};
  return mlaf_decode_format(&p, false);
}
static mlaf_stored_token token_of(const pool_case *c, const pool *x, int32_t entry) {
  const mlaf_stored_page page = {.rows = x->bytes + entry / c->page * x->page_bytes, .row = ROW, .tokens = c->page};
  return mlaf_stored_token_of(format(), COLUMNS, 0, &page, entry % c->page);
}

/* Scales are any powers of two that a byte says, codes follow them. */
static void draw_token(mlaf_stored_token t, mlaf_rng *rng) {
  for (int g = 0; g < 7; g++) {
    t.scales[g] = (unsigned char)(draw(6) ? 116 + draw(8) : draw(255));
    const double scale = (double)mlaf_stored_power(t.scales[g]);
    for (int c = 64 * g; c < 64 * g + 64; c++) t.latent[c] = mlaf_e4m3_encode(false, mlaf_rng_normal(rng) / scale);
  }
  for (int c = 0; c < 64; c++) {
    const uint16_t x = mlaf_encode16(MLAF_BF16, mlaf_rng_normal(rng));
    memcpy(t.rope + 2 * c, &x, sizeof x);
  }
}

/* The first half of a pool's tokens; all other bytes are NaN of every type, pads and spare rows, too. */
static pool draw_pool(const pools_case *c, const pool_case *p) {
  const int64_t rows = mlaf_format_page_rows(format(), p->page, COLUMNS, 0) + (p->spare_rows > 0 ? p->spare_rows : 0);
  const int32_t half = p->pages * p->page / 2, n = (c->tokens + c->share - 1) / c->share;
  pool x = {.page_bytes = rows * ROW};
  mlaf_rng rng = {(uint64_t)draw(1 << 20)};
  x.bytes = malloc((size_t)(p->pages * x.page_bytes) + 16);
  memset(x.bytes, 0xff, (size_t)(p->pages * x.page_bytes) + 16);
  for (int32_t i = 0; i < half; i++) draw_token(token_of(p, &x, i), &rng);
  x.lengths = p->lengths ? malloc(4 * (size_t)n) : NULL;
  static const int32_t odd[] = {0, 1, -3, 63, 65};
  for (int32_t i = 0; p->lengths && i < n; i++) x.lengths[i] = i % 6 < 5 ? odd[i % 6] : p->topk + draw(9);
  x.indices = malloc(4 * (size_t)c->tokens * (size_t)p->stride);
  for (int32_t i = 0; i < c->tokens * p->stride; i++) {
    const int32_t token = i / p->stride, k = i % p->stride, length = x.lengths ? x.lengths[token / c->share] : p->topk;
    const int32_t end = p->pages * p->page, absent[] = {-1, INT32_MIN, INT32_MAX, end, end + 1, 114514, -2};
    const bool there = half && p->absent && !draw(p->absent);
    x.indices[i] = k >= length || k >= p->topk ? (end ? half + draw(half + 1) : 3) : there ? draw(half) : absent[draw(7)];
  }
  return x;
}

/* --- the reference over what lists name: each token in a page of its own --- */

static int32_t gather(const pool_case *c, const pool *x, const pools_case *all, int32_t token, unsigned char *to) {
  const int32_t told = x->lengths ? x->lengths[token / all->share] : c->topk, most = told > c->topk ? c->topk : told;
  int32_t n = 0;
  for (int32_t k = 0; k < most; k++) {
    const int32_t entry = x->indices[token * c->stride + k];
    if (entry < 0 || entry >= c->pages * c->page) continue;
    const mlaf_stored_token from = token_of(c, x, entry);
    memcpy(to + n * 2 * ROW, from.latent, ROW);
    memcpy(to + n * 2 * ROW + ROW, from.scales, SCALES);
    n++;
  }
  return n;
}

static void expect(const pools_case *c, const pool *pools, const float *sink, const uint16_t *q, double *o, double *lse) {
  const int32_t most = c->tokens * (c->pool[0].topk + c->pool[1].topk);
  int32_t *tables = calloc((size_t)(3 * c->tokens + 2 + most), 4), at = 0;
  int32_t *qo = tables, *indptr = qo + c->tokens + 1, *last = indptr + c->tokens + 1, *ids = last + c->tokens;
  unsigned char *kv = malloc((size_t)most * 2 * ROW + 1);
  for (int32_t t = 0; t < c->tokens; t++) {
    for (int i = 0; i < 2; i++)
      if (c->pool[i].topk) at += gather(&c->pool[i], &pools[i], c, t, kv + (int64_t)at * 2 * ROW);
    qo[t + 1] = t + 1, indptr[t + 1] = at, last[t] = 1;
  }
  for (int32_t i = 0; i < at; i++) ids[i] = i;
  mlaf_batch x = {.problem = {.heads = c->heads, .rank = COLUMNS, .q_len = 1, .page_size = 1, .cache = MLAF_KV_FP8_V4},
                  .batch = c->tokens, .num_pages = at, .total_q = c->tokens, .q = q, .ckv = (const uint16_t *)(void *)kv,
                  .ckv_row_stride = ROW, .kpe_row_stride = ROW, .page_rows = 2, .qo_indptr = qo, .kv_indptr = indptr,
                  .kv_indices = ids, .kv_last_page_lens = last, .scale = (double)0.05f};
  assert_int_equal(mlaf_reference(&x, o, lse, NULL, NULL), MLAF_OK);
  for (int64_t r = 0; sink && r < (int64_t)c->tokens * c->heads; r++)
    for (int i = 0; i < COLUMNS; i++)
      o[r * COLUMNS + i] *= lse[r] == -INFINITY ? 1 : 1 / (1 + exp((double)sink[r % c->heads] - lse[r]));
  free(tables);
  free(kv);
}

/* --- launches --- */

static mlaf_plan *plan_of(mlaf_ctx *ctx, const pools_case *c, mlaf_kv_format cache, uint32_t flags) {
  mlaf_problem p = MLAF_PROBLEM_INIT;
  mlaf_plan_opts opts = MLAF_PLAN_OPTS_INIT;
  mlaf_plan *plan = NULL;
  opts.flags = flags;
  p.heads = c->heads;
  p.rope = cache == MLAF_KV_FP8_V4 ? 0 : 64;
  p.cache = cache;
  p.page_size = 1;
  p.batch = c->tokens;
  p.ctx = c->pool[0].topk + c->pool[1].topk;
  if (mlaf_mla_decode_plan_create(ctx, &p, &opts, &plan)) fail_msg("%s", said(ctx));
  return plan;
}

static mlaf_execute_args args_of(mlaf_ctx *ctx, const pools_case *c, const pool *pools) {
  mlaf_execute_args a = MLAF_EXECUTE_ARGS_INIT;
  const pool_case *first = &c->pool[0], *extra = &c->pool[1];
  const size_t n = (size_t)((c->tokens + c->share - 1) / c->share), list = 4 * (size_t)c->tokens;
  a.batch = c->tokens;
  a.total_q = c->tokens;
  a.scale = 0.05f;
  a.topk_share = c->share;
  a.num_pages = first->pages;
  a.page_tokens = first->page;
  a.ckv_page_stride = first->spare_rows < 0 ? 0 : pools[0].page_bytes;
  a.ckv = first->pages ? put(ctx, pools[0].bytes, (size_t)(first->pages * pools[0].page_bytes)) : NULL;
  a.indices = put(ctx, pools[0].indices, list * (size_t)first->stride);
  a.indices_stride = first->stride;
  a.topk = first->topk;
  if (first->lengths) a.topk_length = put(ctx, pools[0].lengths, 4 * n);
  if (!extra->topk) return a;
  a.extra_num_pages = extra->pages;
  a.extra_page_tokens = extra->page;
  a.extra_page_stride = extra->spare_rows < 0 ? 0 : pools[1].page_bytes;
  a.extra_ckv = extra->pages ? put(ctx, pools[1].bytes, (size_t)(extra->pages * pools[1].page_bytes)) : NULL;
  a.extra_indices = put(ctx, pools[1].indices, list * (size_t)extra->stride);
  a.extra_indices_stride = extra->stride;
  a.extra_topk = extra->topk;
  if (extra->lengths) a.extra_topk_length = put(ctx, pools[1].lengths, 4 * n);
  return a;
}

static void check_rows(const pools_case *c, const double *o, const double *lse, const uint16_t *got, const float *lse_got) {
  double off = 0, all = 0;
  for (int64_t r = 0; r < (int64_t)c->tokens * c->heads; r++) {
    double row_off = 0, row = 0;
    for (int i = 0; i < COLUMNS; i++) {
      const double e = mlaf_decode16(MLAF_BF16, got[r * COLUMNS + i]) - o[r * COLUMNS + i];
      if (!isfinite(e)) fail_msg("row %lld, column %d is not finite, must be %g", (long long)r, i, o[r * COLUMNS + i]);
      row_off += e * e, row += o[r * COLUMNS + i] * o[r * COLUMNS + i];
    }
    if (row_off > 0 && sqrt(row_off / row) > 5e-3) fail_msg("row %lld: error %g", (long long)r, sqrt(row_off / row));
    off += row_off, all += row;
    if (lse_got && !(lse_got[r] == lse[r] || fabs(lse_got[r] - lse[r]) < 1e-4))
      fail_msg("row %lld: lse %g, must be %g", (long long)r, lse_got[r], lse[r]);
  }
  if (all > 0 && sqrt(off / all) > 2.5e-3) fail_msg("error %g", sqrt(off / all));
}

static void run(mlaf_ctx *ctx, const pools_case *c) {
  const bool two = c->pool[1].topk;
  const int64_t n = (int64_t)c->tokens * c->heads;
  static const float sinks[] = {0, INFINITY, -INFINITY, 1.5f, -20, 9};
  float *sink = malloc(4 * (size_t)c->heads), *lse_got = malloc((size_t)n * 4);
  uint16_t *q = malloc((size_t)n * COLUMNS * 2), *got = malloc((size_t)n * COLUMNS * 2);
  double *o = malloc((size_t)n * COLUMNS * 8), *lse = malloc((size_t)n * 8);
  mlaf_rng rng = {3};
  for (int64_t i = 0; i < n * COLUMNS; i++) q[i] = mlaf_encode16(MLAF_BF16, mlaf_rng_normal(&rng));
  for (int32_t h = 0; h < c->heads; h++) sink[h] = sinks[h % 6];
  pool pools[2] = {draw_pool(c, &c->pool[0])};
  if (two) pools[1] = draw_pool(c, &c->pool[1]);
  expect(c, pools, c->sink ? sink : NULL, q, o, lse);
  mlaf_plan *plan = plan_of(ctx, c, MLAF_KV_FP8_V4, two ? MLAF_PLAN_POOLS : MLAF_PLAN_LISTS);
  mlaf_execute_args a = args_of(ctx, c, pools);
  a.q = put(ctx, q, (size_t)n * COLUMNS * 2);
  memset(got, 0xff, (size_t)n * COLUMNS * 2);
  a.o = put(ctx, got, (size_t)n * COLUMNS * 2);
  a.lse = c->lse ? put(ctx, NULL, (size_t)n * 4) : NULL;
  a.attn_sink = c->sink ? put(ctx, sink, 4 * (size_t)c->heads) : NULL;
  if (mlaf_mla_decode_execute(plan, &a, NULL)) fail_msg("%s", said(ctx)); /* the stream's workspace */
  assert_int_equal(mlaf_sync(ctx, NULL), MLAF_OK);
  mlaf_mem_read(ctx, got, a.o, (size_t)n * COLUMNS * 2);
  if (a.lse) mlaf_mem_read(ctx, lse_got, a.lse, (size_t)n * 4);
  check_rows(c, o, lse, got, a.lse ? lse_got : NULL);
  void *const host[] = {q, got, o, lse, lse_got, sink, pools[0].bytes, pools[0].indices, pools[0].lengths, pools[1].bytes,
                        pools[1].indices, pools[1].lengths};
  void *const device[] = {(void *)a.q, (void *)a.ckv, a.o, a.lse, (void *)a.extra_ckv};
  for (size_t i = 0; i < sizeof host / sizeof *host; i++) free(host[i]);
  for (size_t i = 0; i < sizeof device / sizeof *device; i++) mlaf_mem_free(ctx, device[i]);
  mlaf_plan_release(plan);
}

TEST(pools_are_right) {
  static const pools_case cases[] = {
      /* two pools: page sizes and lengths of their own, a window of 128 beside few entries */
      {.tokens = 14, .heads = 16, .share = 2, .sink = true, .lse = true,
       .pool = {{.pages = 4, .page = 64, .topk = 128, .stride = 128, .absent = 1, .lengths = true, .spare_rows = 1},
                {.pages = 90, .page = 2, .topk = 70, .stride = 75, .absent = 3, .lengths = true, .spare_rows = -1}}},
      /* one: pages of 61, some rows apart */
      {.tokens = 12, .heads = 16, .share = 2, .sink = true,
       .pool = {{.pages = 5, .page = 61, .topk = 133, .stride = 140, .absent = 1, .lengths = true, .spare_rows = 2}}},
      /* pool 1 without pages; pool 2 without; neither list names anything */
      {.tokens = 3, .heads = 16, .share = 1, .lse = true,
       .pool = {{.page = 64, .topk = 8, .stride = 8, .absent = 1},
                {.pages = 3, .page = 64, .topk = 65, .stride = 65, .absent = 1}}},
      {.tokens = 3, .heads = 16, .share = 1, .lse = true, .sink = true,
       .pool = {{.pages = 3, .page = 64, .topk = 65, .stride = 65, .absent = 1},
                {.page = 2, .topk = 8, .stride = 8, .absent = 1}}},
      {.tokens = 3, .heads = 16, .share = 1, .lse = true, .sink = true,
       .pool = {{.pages = 3, .page = 64, .topk = 65, .stride = 65}, {.pages = 3, .page = 2, .topk = 8, .stride = 8}}},
      /* more entries than each block counts by itself; other heads */
      {.tokens = 20, .heads = 5, .share = 1,
       .pool = {{.pages = 9, .page = 61, .topk = 60, .stride = 60, .absent = 2},
                {.pages = 64, .page = 1, .topk = 61, .stride = 61, .absent = 1}}},
      {.tokens = 2, .heads = 128, .share = 1, .lse = true,
       .pool = {{.pages = 2, .page = 256, .topk = 64, .stride = 64, .absent = 1},
                {.pages = 7, .page = 64, .topk = 130, .stride = 130, .absent = 1}}},
  };
  static const struct {
    const char *device;
    size_t cases; /* of them, each target's own kernels */
  } on[] = {{"emu:gfx942", sizeof cases / sizeof *cases}, {"emu:gfx950", 2}, {"emu:gfx90a", 2}};
  for (size_t d = 0; d < sizeof on / sizeof *on; d++) {
    mlaf_ctx *ctx = open_on(on[d].device);
    for (size_t i = 0; i < on[d].cases; i++) run(ctx, &cases[i]);
    mlaf_ctx_destroy(ctx);
  }
}

/* --- what is refused --- */

TEST(refusals) {
  const pools_case c = {.tokens = 2, .heads = 16, .share = 1,
                        .pool = {{.pages = 3, .page = 64, .topk = 8, .stride = 8, .absent = 1},
                                 {.pages = 4, .page = 2, .topk = 8, .stride = 8, .absent = 1}}};
  mlaf_ctx *ctx = open_on("emu:gfx942");
  pool pools[2] = {draw_pool(&c, &c.pool[0]), draw_pool(&c, &c.pool[1])};
  mlaf_execute_args good = args_of(ctx, &c, pools);
  mlaf_plan *without = plan_of(ctx, &c, MLAF_KV_FP8_V4, MLAF_PLAN_LISTS | MLAF_PLAN_TABLES);
  int32_t here[4] = {0};
  good.q = put(ctx, NULL, 1 << 16);
  good.o = put(ctx, NULL, 1 << 16);
#define REFUSED(by, change, says)                                                                                                \
  do {                                                                                                                           \
    mlaf_execute_args a = good;                                                                                                  \
    change;                                                                                                                      \
    if (mlaf_mla_decode_execute(by, &a, NULL) != MLAF_E_ARG) fail_msg("%s: taken", #change);                                     \
    if (!strstr(said(ctx), says)) fail_msg("'%s' does not say '%s'", said(ctx), says);                                           \
  } while (0)
  REFUSED(without, (void)a, "make the plan with MLAF_PLAN_POOLS");
  mlaf_plan *plan = plan_of(ctx, &c, MLAF_KV_FP8_V4, MLAF_PLAN_POOLS | MLAF_PLAN_LISTS);
  mlaf_plan *other = plan_of(ctx, &c, MLAF_KV_FP8_DS_MLA, MLAF_PLAN_POOLS);
  REFUSED(other, a.ckv_page_stride = a.extra_page_stride = 0,
          "a second pool is read beside a cache of fp8_v4, and the problem's is fp8_ds_mla");
  REFUSED(plan, a.indices = NULL, "indices is (nil)");
  REFUSED(plan, a.extra_indices = NULL, "extra_indices is (nil)");
  REFUSED(plan, a.extra_topk_length = (const int32_t *)((const char *)here + 1),
          "a second pool comes with lists, 4-byte aligned");
  REFUSED(plan, a.extra_topk = 0, "extra_topk is 0, must be 1..1048576");
  REFUSED(plan, a.extra_indices_stride = 7, "extra_indices_stride is 7");
  REFUSED(plan, a.extra_num_pages = -1, "extra_num_pages is -1");
  REFUSED(plan, a.extra_ckv = NULL, "extra_ckv is (nil)");
  REFUSED(plan, a.extra_page_stride = 1152,
          "extra_page_stride is 1152, must be a multiple of 576 from 1728 on: pages of 2 tokens of fp8_v4");
  REFUSED(plan, a.ckv_page_stride = 64 * 584, "ckv_page_stride is 37376, must be a multiple of 576 from 37440 on");
  REFUSED(plan, a.ckv_row_stride = 584, "ckv_row_stride is 584, must be 0 or 576: scales lie behind a page's rows");
  REFUSED(plan, a.page_rows = 65, "page_rows is 65, must be 0: pages of the problem's cache are ckv_page_stride apart");
  REFUSED(plan, a.num_pages = 1 << 23; a.ckv_page_stride = ROW * 1000, "a pool has 2^31 rows or more");
  REFUSED(plan, a.kv_scale = (const float *)(const void *)here, "tokens of the problem's cache hold their scales");
  REFUSED(plan, a.kpe = here, "must be NULL: rows of a cache of fp8_v4 have the rope columns, too");
  REFUSED(without, memset(&a.extra_ckv, 0, sizeof a - offsetof(mlaf_execute_args, extra_ckv)); a.indices = NULL;
          a.topk = a.topk_share = 0; a.indices_stride = 0; a.block_table = here; a.seq_lens = here;
          a.block_table_width = 1; a.block_table_stride = 1,
          "page_tokens is 64 and page_rows 0, must be the plan's page_size, 1, and 0: pages of fp8_v4 are not taken apart");
  for (int i = 0; i < 2; i++) free(pools[i].bytes), free(pools[i].indices), free(pools[i].lengths);
  mlaf_plan_release(plan);
  mlaf_plan_release(other);
  mlaf_plan_release(without);
  mlaf_ctx_destroy(ctx);
}

TESTS(NULL, NULL)
