/* Sparse attention by index lists: the kernel that makes page lists of them, against the same on the host; whole launches on
 * emulators against the reference over what the lists name; sinks; and what is refused. */
#include "cmocka_all.h"
#include "on_device.h"
#include "op/numeric.h"
#include "ops/mla_decode/calls.h"
#include "ops/mla_decode/execute.h"
#include "ops/mla_decode/index_lists.h"
#include "ops/mla_decode/reference.h"
#include "plan/plan.h"
#include "plan/second_kernel.h"
#include "mlaf_thresholds.h"

static uint32_t seed = 7;
static int32_t draw(int32_t n) {
  seed = seed * 1664525u + 1013904223u;
  return (int32_t)((seed >> 8) % (uint32_t)n);
}

/* Lists of `tokens` query tokens over `pages` pages of `page` tokens, of which the next begins `rows` later. */
typedef struct lists_case {
  int32_t tokens, topk, stride, share, pages, page, rows, heads;
  int32_t absent;  /* of so many entries one is there; 1: all, 0: none */
  bool lengths, sink, lse;
  int dtype;
} lists_case;

typedef struct made {
  int32_t *indices, *lengths;
  float *sink;
} made;

/* Entries that are absent, as servers and mistakes have them. */
static int32_t absent(const lists_case *c) {
  const int32_t end = c->pages * c->page, all[] = {-1, INT32_MIN, INT32_MAX, end, end + 1, 114514, -2};
  return all[draw(sizeof all / sizeof *all)];
}

static int32_t length_of(const lists_case *c, const made *m, int32_t t) {
  const int32_t n = m->lengths ? m->lengths[t / c->share] : c->topk;
  return n < 0 ? 0 : n > c->topk ? c->topk : n;
}

/* Entries of the first half of the cache; behind a list's length those of its second half, which nobody may read. */
static made draw_lists(const lists_case *c) {
  const int32_t n = (c->tokens + c->share - 1) / c->share, half = c->pages * c->page / 2;
  static const int32_t odd[] = {0, 1, -3, 63, 65};
  made m = {malloc(4 * (size_t)c->tokens * (size_t)c->stride), c->lengths ? malloc(4 * (size_t)n) : NULL,
            c->sink ? malloc(4 * (size_t)c->heads) : NULL};
  for (int32_t i = 0; c->lengths && i < n; i++) m.lengths[i] = i % 6 < 5 ? odd[i % 6] : c->topk + draw(9);
  if (c->lengths && n < 5) m.lengths[0] = c->topk / 2 + 1;
  for (int32_t t = 0; t < c->tokens; t++)
    for (int32_t k = 0; k < c->stride; k++) {
      const bool counts = k < length_of(c, &m, t);
      const bool there = t % 7 != 3 && c->absent && draw(c->absent) == 0 && !(t % 5 == 1 && k < 70);
      m.indices[t * c->stride + k] = counts ? (there ? draw(half) : absent(c)) : half + draw(half);
    }
  static const float sinks[] = {0, INFINITY, -INFINITY, 1.5f, -20, 90};
  for (int32_t h = 0; c->sink && h < c->heads; h++) m.sink[h] = sinks[h % 6];
  return m;
}
static void free_lists(made *m) {
  free(m->indices);
  free(m->lengths);
  free(m->sink);
}

/* Entries of token t's list that are there, as the kernels' rows; their number. */
static int32_t kept(const lists_case *c, const made *m, int32_t t, int32_t *out) {
  int32_t n = 0;
  for (int32_t k = 0; k < length_of(c, m, t); k++) {
    const int32_t i = m->indices[t * c->stride + k];
    if (i >= 0 && i < c->pages * c->page) out[n++] = i / c->page * c->rows + i % c->page;
  }
  return n;
}

/* --- on a device --- */

static mlaf_plan *plan_of(mlaf_ctx *ctx, const lists_case *c, uint32_t flags) {
  mlaf_problem p = MLAF_PROBLEM_INIT;
  mlaf_plan_opts opts = MLAF_PLAN_OPTS_INIT;
  mlaf_plan *plan = NULL;
  opts.flags = flags;
  p.heads = c->heads;
  p.page_size = 1;
  p.dtype = c->dtype;
  p.batch = c->tokens;
  p.ctx = c->topk;
  if (mlaf_mla_decode_plan_create(ctx, &p, &opts, &plan)) fail_msg("%s", said(ctx));
  return plan;
}

static mlaf_execute_args args_of(mlaf_ctx *ctx, const lists_case *c, const made *m) {
  mlaf_execute_args a = MLAF_EXECUTE_ARGS_INIT;
  a.batch = c->tokens;
  a.total_q = c->tokens;
  a.num_pages = c->pages;
  a.page_tokens = c->page;
  a.page_rows = c->rows;
  a.scale = 0.1f;
  a.indices = put(ctx, m->indices, 4 * (size_t)c->tokens * (size_t)c->stride);
  a.indices_stride = c->stride;
  a.topk = c->topk;
  a.topk_share = c->share;
  if (m->lengths) a.topk_length = put(ctx, m->lengths, 4 * (size_t)((c->tokens + c->share - 1) / c->share));
  if (m->sink) a.attn_sink = put(ctx, m->sink, 4 * (size_t)c->heads);
  return a;
}

static void check_made(const lists_case *c, const made *m, mlaf_ctx *ctx, const mlaf_execute_args *first) {
  const size_t n = (size_t)c->tokens;
  int32_t *indptr = malloc(4 * (n + 1)), *qo = malloc(4 * (n + 1)), *last = malloc(4 * n), *want = malloc(4 * (size_t)c->topk);
  mlaf_mem_read(ctx, indptr, first->kv_indptr, 4 * (n + 1));
  mlaf_mem_read(ctx, qo, first->qo_indptr, 4 * (n + 1));
  mlaf_mem_read(ctx, last, first->kv_last_page_lens, 4 * n);
  int32_t *ids = malloc(4 * (size_t)indptr[n] + 4), at = 0;
  mlaf_mem_read(ctx, ids, first->kv_indices, 4 * (size_t)indptr[n]);
  for (int32_t t = 0; t < c->tokens; t++) {
    const int32_t k = kept(c, m, t, want);
    if (indptr[t] != at || indptr[t + 1] != at + k || qo[t] != t || qo[t + 1] != t + 1 || last[t] != 1)
      fail_msg("token %d of %d: entries %d..%d, must be %d..%d; query tokens %d..%d; last page %d", t, c->tokens, indptr[t],
               indptr[t + 1], at, at + k, qo[t], qo[t + 1], last[t]);
    if (memcmp(ids + at, want, 4 * (size_t)k)) fail_msg("token %d of %d: other rows than the list has", t, c->tokens);
    at += k;
  }
  free(indptr);
  free(qo);
  free(last);
  free(want);
  free(ids);
}

/* The launches ahead of the decode kernel alone. */
static void run_lists(mlaf_ctx *ctx, const lists_case *c) {
  mlaf_plan *plan = plan_of(ctx, c, MLAF_PLAN_LISTS);
  made m = draw_lists(c);
  mlaf_execute_args a = args_of(ctx, c, &m), first;
  mlaf_shared *s = ctx->shared;
  const mlaf_function *fns[MLAF_SECOND_KERNELS_EACH];
  mlaf_second_prepared around;
  mlaf_err err = {MLAF_OK, ""};
  a.workspace_size = mlaf_mla_decode_workspace_size(plan, &a);
  a.workspace = put(ctx, NULL, a.workspace_size);
  a.q = a.ckv = a.o = a.workspace; /* nothing looks there */
  mlaf_status st = mlaf_index_lists.prepare(mlaf_plan_bound(plan), 1, mlaf_second_kernels(s, &mlaf_index_lists, fns), &a, &first,
                                            &around, &err);
  if (st) fail_msg("%s", err.text);
  assert_int_equal(around.ahead, (int64_t)(c->tokens - 1) * c->topk > 2048 ? 2 : 1);
  for (size_t i = 0; i < around.ahead; i++) assert_int_equal(mlaf_ops(s->dev)->launch(s->dev, NULL, &around.launch[i], &err), 0);
  assert_null(mlaf_second_of(&mlaf_decode_calls, &first));
  check_made(c, &m, ctx, &first);
  free_lists(&m);
  mlaf_mem_free(ctx, a.workspace);
  mlaf_plan_release(plan);
}

TEST(lists_as_on_the_host) {
  static const lists_case cases[] = {
      {.tokens = 1, .topk = 1, .stride = 1, .share = 1, .pages = 9, .page = 1, .rows = 1, .absent = 1},
      {.tokens = 1, .topk = 2048, .stride = 2048, .share = 1, .pages = 500, .page = 64, .rows = 64, .absent = 2},
      {.tokens = 17, .topk = 133, .stride = 140, .share = 1, .pages = 700, .page = 1, .rows = 1, .absent = 3, .lengths = true},
      {.tokens = 12, .topk = 300, .stride = 300, .share = 4, .pages = 40, .page = 61, .rows = 64, .absent = 1, .lengths = true},
      {.tokens = 40, .topk = 1152, .stride = 1152, .share = 1, .pages = 40, .page = 64, .rows = 72, .absent = 4},
      {.tokens = 300, .topk = 257, .stride = 257, .share = 1, .pages = 40, .page = 64, .rows = 64, .absent = 1, .lengths = true},
      {.tokens = 3, .topk = 5000, .stride = 5000, .share = 1, .pages = 90, .page = 2, .rows = 2, .absent = 0},
  };
  static const char *const devices[] = {"emu:gfx942", "emu:gfx90a"};
  for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
    mlaf_ctx *ctx = open_on(devices[d]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      lists_case c = cases[i];
      c.heads = 16;
      run_lists(ctx, &c);
    }
    mlaf_ctx_destroy(ctx);
  }
}

/* --- whole launches --- */

/* Random rows that lists may name, NaN everywhere else: the second half of each cache, gaps between pages. */
static uint16_t *draw_cache(const lists_case *c, int64_t rows, int columns) {
  uint16_t *kv = malloc((size_t)rows * (size_t)columns * 2);
  mlaf_rng rng = {11};
  memset(kv, 0xff, (size_t)rows * (size_t)columns * 2);
  for (int32_t i = 0; i < c->pages * c->page / 2; i++)
    for (int k = 0; k < columns; k++)
      kv[((int64_t)(i / c->page) * c->rows + i % c->page) * columns + k] = mlaf_encode16(c->dtype, mlaf_rng_normal(&rng));
  return kv;
}

static void expect(const lists_case *c, const made *m, const uint16_t *q, const uint16_t *kv, int64_t rows, double *o,
                   double *lse) {
  int32_t *tables = calloc((size_t)(3 * c->tokens + 2) + (size_t)c->tokens * (size_t)c->topk, 4);
  int32_t *qo = tables, *indptr = qo + c->tokens + 1, *last = indptr + c->tokens + 1, *ids = last + c->tokens;
  for (int32_t t = 0; t < c->tokens; t++) {
    qo[t + 1] = t + 1;
    indptr[t + 1] = indptr[t] + kept(c, m, t, ids + indptr[t]);
    last[t] = 1;
  }
  mlaf_batch x = {.problem = MLAF_PROBLEM_INIT, .batch = c->tokens, .num_pages = (int32_t)rows, .total_q = c->tokens, .q = q,
                  .ckv = kv, .kpe = kv + 512, .ckv_row_stride = 576, .kpe_row_stride = 576, .qo_indptr = qo, .kv_indptr = indptr,
                  .kv_indices = ids, .kv_last_page_lens = last, .scale = (double)0.1f};
  x.problem.heads = c->heads;
  x.problem.page_size = 1;
  x.problem.dtype = c->dtype;
  assert_int_equal(mlaf_reference(&x, o, lse, NULL, NULL), MLAF_OK);
  for (int64_t r = 0; m->sink && r < (int64_t)c->tokens * c->heads; r++) {
    const double by = lse[r] == -INFINITY ? 1 : 1 / (1 + exp((double)m->sink[r % c->heads] - lse[r]));
    for (int i = 0; i < 512; i++) o[r * 512 + i] *= by;
  }
  free(tables);
}

#define TINY 1e-8 /* sum of squares of a row that a large sink leaves: its values may be too small for a normal f16 */
static void check_rows(const lists_case *c, const double *o, const double *lse, const uint16_t *got, const float *lse_got) {
  const double bound = c->dtype == MLAF_F16 ? 2.5e-3 / 8 : 2.5e-3;
  double off = 0, all = 0;
  for (int64_t r = 0; r < (int64_t)c->tokens * c->heads; r++) {
    double row_off = 0, row = 0;
    for (int i = 0; i < 512; i++) {
      const double e = mlaf_decode16(c->dtype, got[r * 512 + i]) - o[r * 512 + i];
      if (!isfinite(e)) fail_msg("row %lld, column %d: %g, must be %g", (long long)r, i, e + o[r * 512 + i], o[r * 512 + i]);
      row_off += e * e;
      row += o[r * 512 + i] * o[r * 512 + i];
    }
    if (row <= TINY && row_off > (row == 0 ? 0 : TINY)) fail_msg("row %lld is not 0", (long long)r);
    if (row > TINY && sqrt(row_off / row) > 2 * bound) fail_msg("row %lld: error %g", (long long)r, sqrt(row_off / row));
    off += row_off, all += row;
    if (lse_got && !(lse_got[r] == lse[r] || fabs(lse_got[r] - lse[r]) < 1e-4))
      fail_msg("lse %g, must be %g", lse_got[r], lse[r]);
  }
  if (all > 0 && sqrt(off / all) > bound) fail_msg("error %g, bound %g", sqrt(off / all), bound);
}

static void run_whole(mlaf_ctx *ctx, const lists_case *c) {
  const int64_t rows = (int64_t)(c->pages - 1) * c->rows + c->page, n = (int64_t)c->tokens * c->heads;
  mlaf_plan *plan = plan_of(ctx, c, MLAF_PLAN_LISTS);
  made m = draw_lists(c);
  mlaf_execute_args a = args_of(ctx, c, &m);
  uint16_t *q = malloc((size_t)n * 576 * 2), *kv = draw_cache(c, rows, 576), *got = malloc((size_t)n * 1024);
  double *o = malloc((size_t)n * 512 * 8), *lse = malloc((size_t)n * 8);
  float *lse_got = malloc((size_t)n * 4);
  mlaf_rng rng = {3};
  for (int64_t i = 0; i < n * 576; i++) q[i] = mlaf_encode16(c->dtype, mlaf_rng_normal(&rng));
  expect(c, &m, q, kv, rows, o, lse);
  a.q = put(ctx, q, (size_t)n * 576 * 2);
  a.ckv = put(ctx, kv, (size_t)rows * 576 * 2);
  memset(got, 0xff, (size_t)n * 1024);
  a.o = put(ctx, got, (size_t)n * 1024);
  a.lse = c->lse ? put(ctx, NULL, (size_t)n * 4) : NULL;
  if (mlaf_mla_decode_execute(plan, &a, NULL)) fail_msg("%s", said(ctx)); /* the stream's workspace */
  assert_int_equal(mlaf_sync(ctx, NULL), MLAF_OK);
  mlaf_mem_read(ctx, got, a.o, (size_t)n * 1024);
  if (a.lse) mlaf_mem_read(ctx, lse_got, a.lse, (size_t)n * 4);
  check_rows(c, o, lse, got, a.lse ? lse_got : NULL);
  free_lists(&m);
  void *const host[] = {q, kv, got, o, lse, lse_got}, *const device[] = {(void *)a.q, (void *)a.ckv, a.o, a.lse};
  for (size_t i = 0; i < sizeof host / sizeof *host; i++) free(host[i]);
  for (size_t i = 0; i < sizeof device / sizeof *device; i++) mlaf_mem_free(ctx, device[i]);
  mlaf_plan_release(plan);
}

TEST(sparse_attention_is_right) {
  static const lists_case cases[] = {
      {.tokens = 1, .topk = 300, .stride = 300, .share = 1, .pages = 9, .page = 64, .rows = 64, .absent = 2, .heads = 5,
       .lse = true},
      {.tokens = 14, .topk = 133, .stride = 140, .share = 2, .pages = 600, .page = 1, .rows = 1, .absent = 3, .lengths = true,
       .heads = 16, .lse = true, .sink = true},
      {.tokens = 9, .topk = 90, .stride = 90, .share = 1, .pages = 5, .page = 61, .rows = 64, .absent = 1, .heads = 24,
       .sink = true, .dtype = MLAF_F16},
      {.tokens = 5, .topk = 64, .stride = 64, .share = 1, .pages = 40, .page = 4, .rows = 4, .absent = 4, .heads = 128},
      {.tokens = 4, .topk = 70, .stride = 70, .share = 1, .pages = 40, .page = 4, .rows = 4, .absent = 0, .heads = 8, .lse = true,
       .sink = true},
  };
  static const char *const devices[] = {"emu:gfx942", "emu:gfx90a", "emu:gfx950"};
  for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
    mlaf_ctx *ctx = open_on(devices[d]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) run_whole(ctx, &cases[i]);
    mlaf_ctx_destroy(ctx);
  }
}

/* --- what is refused --- */

TEST(refusals) {
  const lists_case c = {.tokens = 2, .topk = 8, .stride = 8, .share = 1, .pages = 9, .page = 16, .rows = 16, .absent = 1,
                        .heads = 16};
  mlaf_ctx *ctx = open_on("emu:gfx942");
  mlaf_plan *without = plan_of(ctx, &c, 0);
  made m = draw_lists(&c);
  mlaf_execute_args good = args_of(ctx, &c, &m);
  mlaf_problem pages = MLAF_PROBLEM_INIT;
  mlaf_plan *paged = NULL;
  int32_t here[4] = {0};
  good.q = good.ckv = put(ctx, NULL, 1 << 20);
  good.o = put(ctx, NULL, 1 << 20);
  assert_int_equal(mlaf_mla_decode_execute(without, &good, NULL), MLAF_E_ARG);
  assert_non_null(strstr(said(ctx), "make the plan with MLAF_PLAN_LISTS"));
  mlaf_plan *plan = plan_of(ctx, &c, MLAF_PLAN_LISTS);
  assert_int_equal(mlaf_mla_decode_execute(without, &good, NULL), MLAF_E_ARG); /* also where another plan has the kernels */
  assert_non_null(strstr(said(ctx), "make the plan with MLAF_PLAN_LISTS"));
  mlaf_plan_opts opts = MLAF_PLAN_OPTS_INIT;
  opts.flags = MLAF_PLAN_LISTS;
  assert_int_equal(mlaf_mla_decode_plan_create(ctx, &pages, &opts, &paged), MLAF_OK);
#define REFUSED(by, change, says)                                                                                                \
  do {                                                                                                                           \
    mlaf_execute_args a = good;                                                                                                  \
    change;                                                                                                                      \
    if (mlaf_mla_decode_execute(by, &a, NULL) != MLAF_E_ARG) fail_msg("%s: taken", #change);                                     \
    if (!strstr(said(ctx), says)) fail_msg("'%s' does not say '%s'", said(ctx), says);         \
  } while (0)
  REFUSED(paged, (void)a, "page_size is 64, must be 1");
  REFUSED(plan, a.batch = 1, "batch is 1 and total_q 2");
  REFUSED(plan, a.indices = NULL, "indices is (nil)");
  REFUSED(plan, a.indices = (const int32_t *)((const char *)a.indices + 2), "4-byte aligned lists");
  REFUSED(plan, a.qo_indptr = here, "qo_indptr is");
  REFUSED(plan, a.block_table = here, "block_table is");
  REFUSED(plan, a.topk_length = (const int32_t *)((const char *)here + 1), "topk_length is");
  REFUSED(plan, a.attn_sink = (const float *)((const char *)here + 1), "attn_sink is");
  REFUSED(plan, a.topk = 0, "topk is 0, must be 1..1048576");
  REFUSED(plan, a.topk = (1 << 20) + 1, "topk is 1048577");
  REFUSED(plan, a.indices_stride = 7, "indices_stride is 7");
  REFUSED(plan, a.topk_share = -1, "topk_share is -1");
  REFUSED(plan, a.page_tokens = -1, "page_tokens is -1");
  REFUSED(plan, a.page_rows = 15, "page_rows is 15");
  REFUSED(plan, a.num_pages = -1, "num_pages is -1");
  REFUSED(plan, a.num_pages = INT32_MAX, "2^31 rows or more");
  REFUSED(plan, a.workspace = (void *)a.o; a.workspace_size = 4, "with indices this launch needs");
  REFUSED(plan, a.scale = NAN, "scale is");
  free_lists(&m);
  mlaf_plan_release(plan);
  mlaf_plan_release(paged);
  mlaf_plan_release(without);
  mlaf_ctx_destroy(ctx);
}

/* --- decode kernels that read lists themselves --- */

/* Prepares a launch of a plan whose decode kernel has these flags. False: list kernels come ahead of it. */
static bool reads_itself(mlaf_ctx *ctx, const mlaf_plan *plan, uint32_t flags, const mlaf_execute_args *a,
                         mlaf_decode_args *out) {
  const mlaf_function *fns[MLAF_SECOND_KERNELS_EACH];
  mlaf_bound b = *mlaf_plan_bound(plan);
  mlaf_second_prepared around;
  mlaf_execute_args first;
  mlaf_prepared prepared;
  mlaf_err err = {MLAF_OK, ""};
  b.stage[MLAF_STAGE_DECODE].launch.flags = flags;
  const bool fits = flags & MLAF_KERNEL_FITS;
  if (fits) b.stage[MLAF_STAGE_COMBINE] = b.stage[MLAF_STAGE_DECODE]; /* one comes behind what may be cut */
  if (mlaf_index_lists.prepare(&b, 1, mlaf_second_kernels(ctx->shared, &mlaf_index_lists, fns), a, &first, &around,
                               &err) ||
      mlaf_decode_check_args(&b, 1, &first, &err) || mlaf_decode_prepare(&b, 1, &first, &prepared, &err))
    fail_msg("%s", err.text);
  *out = mlaf_decode_parameters_of(&prepared)->decode;
  const bool itself = around.ahead == 0;
  assert_int_equal(around.n, around.ahead + (a->attn_sink && !itself ? 1 : 0));
  assert_int_equal((uintptr_t)out->qo_indptr % sizeof(int32_t), itself ? MLAF_LIST_MARK : 0);
  if (itself) assert_ptr_equal((uintptr_t)out->qo_indptr - MLAF_LIST_MARK, a->attn_sink);
  assert_int_equal(prepared.n, around.ahead > 0 && fits ? 2 : 1);
  return around.ahead == 0;
}

static uint64_t word_of(const mlaf_decode_args *d) { return (uint64_t)(uintptr_t)d->kv_last_page_lens; }

TEST(kernels_read_lists) {
  const lists_case c = {.tokens = 6, .topk = 8, .stride = 11, .share = 2, .pages = 9, .page = 16, .rows = 16, .absent = 1,
                        .heads = 16, .lengths = true, .sink = true};
  mlaf_ctx *ctx = open_on("emu:gfx942");
  mlaf_plan *plan = plan_of(ctx, &c, MLAF_PLAN_LISTS);
  made m = draw_lists(&c);
  mlaf_execute_args a = args_of(ctx, &c, &m);
  mlaf_decode_args d;
  uint64_t word;
  a.workspace_size = mlaf_mla_decode_workspace_size(plan, &a);
  a.workspace = put(ctx, NULL, a.workspace_size);
  a.q = a.ckv = a.o = a.workspace; /* nothing looks there */
  assert_false(reads_itself(ctx, plan, 0, &a, &d));
  assert_ptr_not_equal(d.kv_indices, a.indices);
  assert_true(reads_itself(ctx, plan, MLAF_KERNEL_LISTS, &a, &d));
  assert_ptr_equal(d.kv_indices, a.indices);
  assert_ptr_equal(d.kv_indptr, a.topk_length);
  assert_int_equal(word_of(&d), 7 | 1 << 20 | (uint64_t)3 << 40);
  assert_int_equal(d.num_pages, 9 * 16);
  assert_int_equal(d.batch, 6);
  mlaf_execute_args x = a;
  x.topk_length = NULL;
  x.topk_share = 0;
  x.indices_stride = 0;
  assert_true(reads_itself(ctx, plan, MLAF_KERNEL_LISTS, &x, &d));
  assert_null(d.kv_indptr);
  assert_int_equal(word_of(&d), 7);
  x = a;
  x.page_rows = 17; /* gaps between pages: rows are not entries */
  assert_false(reads_itself(ctx, plan, MLAF_KERNEL_LISTS, &x, &d));
  x = a;
  x.indices_stride = 8 + (1 << 24);
  assert_false(reads_itself(ctx, plan, MLAF_KERNEL_LISTS, &x, &d));
  assert_true(mlaf_list_word(1 << 20, 1 << 20, (1 << 20) + (1 << 24) - 1, &word));
  assert_int_equal(word, UINT64_MAX);
  assert_false(mlaf_list_word(8, (1 << 20) + 1, 8, &word));
  uint32_t extra;
  assert_true(mlaf_extra_word(1 << 20, (1 << 20) + (1 << 12) - 1, &extra));
  assert_int_equal(extra, UINT32_MAX);
  assert_true(mlaf_extra_word(1, 1, &extra));
  assert_int_equal(extra, 0);
  assert_false(mlaf_extra_word(8, 8 + (1 << 12), &extra));
  free_lists(&m);
  mlaf_plan_release(plan);
  mlaf_ctx_destroy(ctx);
}

/* The merge behind splits takes what it takes without lists: the decode kernel's arguments where a batch may be cut. It applies
 * sinks, and is told of lists if it knows them: others read tables there. */
TEST(merges_behind_lists) {
  const lists_case c = {.tokens = 6, .topk = 8, .stride = 8, .share = 1, .pages = 9, .page = 16, .rows = 16, .absent = 1,
                        .heads = 16, .sink = true};
  mlaf_ctx *ctx = open_on("emu:gfx942");
  mlaf_plan *plan = plan_of(ctx, &c, MLAF_PLAN_LISTS);
  made m = draw_lists(&c);
  mlaf_execute_args a = args_of(ctx, &c, &m);
  mlaf_err err = {MLAF_OK, ""};
  a.workspace_size = 1 << 24;
  a.o = a.workspace = put(ctx, NULL, a.workspace_size);
  a.q = a.ckv = a.workspace; /* nothing looks there */
  for (uint32_t fits = 0; fits < 2; fits++) {
    for (uint32_t splits = 1; splits < 4; splits++) {
      mlaf_bound b = *mlaf_plan_bound(plan);
      mlaf_prepared prepared;
      const mlaf_decode_parameters *with = mlaf_decode_parameters_of(&prepared);
      b.stage[MLAF_STAGE_DECODE].launch.flags = MLAF_KERNEL_LISTS | (fits ? MLAF_KERNEL_FITS : 0);
      b.stage[MLAF_STAGE_COMBINE] = b.stage[MLAF_STAGE_DECODE];
      if (mlaf_decode_prepare(&b, splits, &a, &prepared, &err)) fail_msg("%s", err.text);
      assert_int_equal(prepared.n, splits > 1 ? 2 : 1);
      const uintptr_t sinks = splits == 1 ? (uintptr_t)a.attn_sink : 0; /* of rows in splits: the merge kernel's */
      assert_int_equal((uintptr_t)with->decode.qo_indptr, sinks | MLAF_LIST_MARK);
      assert_ptr_equal(with->behind.decode.kpe, a.attn_sink);
      assert_int_equal((uintptr_t)with->behind.decode.qo_indptr, MLAF_LIST_MARK);
      b.stage[MLAF_STAGE_COMBINE].launch.flags &= ~(uint32_t)MLAF_KERNEL_LISTS;
      if (mlaf_decode_prepare(&b, splits, &a, &prepared, &err)) fail_msg("%s", err.text);
      assert_ptr_equal(with->behind.decode.qo_indptr, a.qo_indptr);
      if (splits > 1) assert_ptr_equal(prepared.launches[1].args, fits ? (const void *)&with->behind : &with->combine);
    }
  }
  free_lists(&m);
  mlaf_plan_release(plan);
  mlaf_ctx_destroy(ctx);
}

/* Lists are left to list kernels where whole requests leave much of the device idle for long, and a cut batch does not. */
TEST(waves_of_lists) {
  const lists_case c = {.tokens = 1, .topk = 8, .stride = 8, .share = 1, .pages = 9, .page = 16, .rows = 16, .absent = 1,
                        .heads = 16};
  mlaf_ctx *ctx = open_on("emu:gfx942");
  mlaf_plan *plan = plan_of(ctx, &c, MLAF_PLAN_LISTS);
  const uint32_t held = (uint32_t)mlaf_info(ctx->shared->dev)->compute_units;
  const struct {
    uint32_t tokens, flags;
    int32_t topk;
    bool itself;
  } cases[] = {{held, MLAF_KERNEL_FITS, 2048, true},          {held + 1, MLAF_KERNEL_FITS, 2048, false},
               {2 * held, MLAF_KERNEL_FITS, 2048, true},      {held * 3 / 2, MLAF_KERNEL_FITS, 2048, false},
               {held / 2, MLAF_KERNEL_FITS, 2048, false},     {held * 9 / 10, MLAF_KERNEL_FITS, 2048, true},
               {held * 3 / 2, 0, 2048, true},                 {held / 2, MLAF_KERNEL_FITS, MLAF_LISTS_IDLE * 2, true},
               {held / 2, MLAF_KERNEL_FITS, MLAF_LISTS_IDLE * 2 + 64, false}, {1, MLAF_KERNEL_FITS, 64, true},
               {held * 3 / 2, MLAF_KERNEL_FITS, MLAF_LISTS_IDLE, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    lists_case big = c;
    mlaf_decode_args d;
    big.tokens = (int32_t)cases[i].tokens;
    big.topk = big.stride = cases[i].topk;
    made m = draw_lists(&big);
    mlaf_execute_args a = args_of(ctx, &big, &m);
    a.workspace_size = (size_t)1 << 31;
    a.workspace = a.o = (void *)(uintptr_t)4096; /* nothing looks there */
    a.q = a.ckv = a.o;
    if (reads_itself(ctx, plan, MLAF_KERNEL_LISTS | MLAF_KERNEL_MEETS | cases[i].flags, &a, &d) != cases[i].itself)
      fail_msg("%u tokens, flags %u, topk %d", cases[i].tokens, cases[i].flags, cases[i].topk);
    free_lists(&m);
  }
  mlaf_plan_release(plan);
  mlaf_ctx_destroy(ctx);
}

/* Lists that may be equally long are taken in turns by as few blocks as need no more of them; where lengths come with them, or
 * the kernel takes one list a block, there is a block for each. */
TEST(lists_in_turns) {
  lists_case c = {.tokens = 1, .topk = 8, .stride = 8, .share = 1, .pages = 9, .page = 16, .rows = 16, .absent = 1, .heads = 16,
                  .lengths = true};
  mlaf_ctx *ctx = open_on("emu:gfx942");
  mlaf_plan *plan = plan_of(ctx, &c, MLAF_PLAN_LISTS);
  const uint32_t units = (uint32_t)mlaf_info(ctx->shared->dev)->compute_units, tokens[] = {1, units, 8 * units + 3};
  uint32_t fewer = 0;
  for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
    c.tokens = (int32_t)tokens[i];
    made m = draw_lists(&c);
    for (int turns = 0; turns < 2; turns++) {
      for (int lengths = 0; lengths < 2; lengths++) {
        mlaf_bound b = *mlaf_plan_bound(plan);
        mlaf_execute_args a = args_of(ctx, &c, &m);
        mlaf_prepared prepared;
        mlaf_err err = {MLAF_OK, ""};
        if (!lengths) a.topk_length = NULL;
        a.q = a.ckv = a.o = (void *)(uintptr_t)4096; /* nothing looks there */
        b.stage[MLAF_STAGE_DECODE].launch.flags = MLAF_KERNEL_LISTS | (turns ? MLAF_KERNEL_LIST_TURNS : 0);
        if (mlaf_decode_prepare(&b, 1, &a, &prepared, &err)) fail_msg("%s", err.text);
        const uint32_t z = prepared.launches[0].grid[2], each = (tokens[i] + z - 1) / z;
        assert_int_equal(z, turns && !lengths ? (tokens[i] + each - 1) / each : tokens[i]);
        if (turns && !lengths) fewer += z < tokens[i];
      }
    }
    free_lists(&m);
  }
  assert_int_equal(fewer, 1);
  mlaf_plan_release(plan);
  mlaf_ctx_destroy(ctx);
}

TESTS(NULL, NULL)
