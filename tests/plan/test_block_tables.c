/* The kernel that makes the tables' first form of the second, on the emulator, against the same on the host; and what may be
 * asked of it. */
#include "cmocka_all.h"
#include "ops/mla_decode/block_tables.h"
#include "plan/second_kernel.h"
#include "point.h"
#include "run/built.h"
#include "mlaforge/mlaforge.h"

enum { MOST = 65536 };

typedef struct fixture {
  mlaf_ctx *ctx;
  mlaf_problem problem;
} fixture;

/* A case: lengths in tokens, pages of `tokens` of which the next begins `rows` later, kernels with pages of `page`. */
typedef struct tables_case {
  int32_t batch, width, page, tokens, rows, pages, q_tokens;
  bool lists; /* index pointers instead of a block table */
  int32_t lengths[MOST];
} tables_case;

static uint32_t seed = 1;
static int32_t draw(int32_t n) {
  seed = seed * 1664525u + 1013904223u;
  return (int32_t)((seed >> 8) % (uint32_t)n);
}

static void *put(mlaf_ctx *ctx, const int32_t *x, size_t n) {
  void *p = NULL;
  assert_int_equal(mlaf_mem_alloc(ctx, 4 * n, &p), MLAF_OK);
  assert_int_equal(mlaf_mem_write(ctx, p, x, 4 * n), MLAF_OK);
  return p;
}
static int32_t *get(mlaf_ctx *ctx, const void *p, size_t n) {
  int32_t *x = malloc(4 * (n ? n : 1));
  assert_non_null(x);
  assert_int_equal(mlaf_mem_read(ctx, x, p, 4 * n), MLAF_OK);
  return x;
}

static int32_t pages_of(int32_t tokens, int32_t page) { return (tokens + page - 1) / page; }

/* Checks one request's part of what the kernel made. */
static void check_request(const tables_case *c, int32_t b, const int32_t *row, const int32_t *indptr, const int32_t *last,
                          const int32_t *ids, int32_t *expected_at) {
  const int64_t room = (int64_t)c->width * c->tokens;
  const bool bad = !c->lists && (c->lengths[b] < 0 || c->lengths[b] > room);
  const int32_t tokens = bad ? (int32_t)room : c->lengths[b], n = pages_of(tokens, c->page);
  const int32_t sub = c->tokens / c->page, step = c->rows / c->page;
  if (indptr[b] != *expected_at || indptr[b + 1] != *expected_at + n)
    fail_msg("request %d: pages %d..%d, must be %d..%d", b, indptr[b], indptr[b + 1], *expected_at, *expected_at + n);
  assert_int_equal(last[b], n ? tokens - (n - 1) * c->page : 0);
  for (int32_t k = 0; k < n; k++) {
    const int32_t id = row[k / sub];
    const int32_t want = id < 0 || id >= c->pages || (bad && !k) ? -1 : id * step + k % sub;
    if (ids[*expected_at + k] != want) fail_msg("request %d, page %d: %d, must be %d", b, k, ids[*expected_at + k], want);
  }
  *expected_at += n;
}

/* Rows of ids, some outside the cache; as a table with a stride, or end to end. */
static int32_t *draw_rows(const tables_case *c, int32_t stride, int32_t *indptr, int32_t *last) {
  int32_t *rows = malloc(4 * ((size_t)c->batch * (size_t)stride + 1));
  assert_non_null(rows);
  for (int64_t i = 0; i < (int64_t)c->batch * stride; i++)
    rows[i] = draw(20) ? draw(c->pages) : draw(2) ? -1 - draw(5) : c->pages;
  indptr[0] = 0;
  for (int32_t b = 0; b < c->batch; b++) {
    const int32_t n = pages_of(c->lengths[b] > 0 ? c->lengths[b] : 0, c->tokens);
    indptr[b + 1] = indptr[b] + n;
    last[b] = n ? c->lengths[b] - (n - 1) * c->tokens : 0;
  }
  return rows;
}

static mlaf_status launch(fixture *f, const mlaf_execute_args *a, void *at, mlaf_execute_args *out, mlaf_err *err) {
  mlaf_shared *s = f->ctx->shared;
  mlaf_second_prepared launch;
  const mlaf_function *fns[MLAF_SECOND_KERNELS_EACH];
  const mlaf_function *const *loaded = mlaf_second_kernels(s, &mlaf_block_tables, fns);
  const mlaf_status st = mlaf_block_tables_prepare(s->dev, loaded, &f->problem, a, at, out, &launch, err);
  return st ? st : mlaf_ops(s->dev)->launch(s->dev, NULL, &launch.launch[0], err);
}

static void run_case(fixture *f, const tables_case *c) {
  const int32_t stride = c->width + 3;
  int32_t *indptr = malloc(4 * ((size_t)c->batch + 1)), *last = malloc(4 * (size_t)c->batch), at = 0;
  int32_t *rows = draw_rows(c, stride, indptr, last);
  mlaf_execute_args a = MLAF_EXECUTE_ARGS_INIT, out;
  mlaf_err err = {MLAF_OK, ""};
  f->problem.page_size = c->page;
  a.batch = c->batch;
  a.total_q = (int64_t)c->batch * c->q_tokens;
  a.num_pages = c->pages;
  a.page_tokens = c->tokens;
  a.page_rows = c->rows;
  void *table = put(f->ctx, rows, (size_t)c->batch * (size_t)stride), *lengths = put(f->ctx, c->lengths, (size_t)c->batch);
  void *lists = put(f->ctx, indptr, (size_t)c->batch + 1), *ends = put(f->ctx, last, (size_t)c->batch), *made = NULL;
  if (c->lists) {
    a.qo_indptr = a.kv_indptr = lists;
    a.kv_indices = table;
    a.kv_last_page_lens = ends;
    a.kv_indices_size = indptr[c->batch];
  } else {
    a.block_table = table;
    a.seq_lens = lengths;
    a.block_table_width = c->width;
    a.block_table_stride = stride;
  }
  const size_t size = mlaf_block_tables_size(&f->problem, &a);
  assert_int_equal(mlaf_mem_alloc(f->ctx, size, &made), MLAF_OK);
  if (launch(f, &a, made, &out, &err)) fail_msg("%s", err.text);
  assert_false(mlaf_block_tables.wanted(&out));
  assert_int_equal(out.num_pages, (c->pages - 1) * (c->rows / c->page) + c->tokens / c->page);
  int32_t *got = get(f->ctx, out.kv_indptr, (size_t)c->batch + 1);
  int32_t *ends_got = get(f->ctx, out.kv_last_page_lens, (size_t)c->batch);
  int32_t *ids = get(f->ctx, out.kv_indices, (size_t)got[c->batch]);
  for (int32_t b = 0; b < c->batch; b++) check_request(c, b, rows + (c->lists ? indptr[b] : b * stride), got, ends_got, ids, &at);
  if (!c->lists) {
    int32_t *qo = get(f->ctx, out.qo_indptr, (size_t)c->batch + 1);
    for (int32_t b = 0; b <= c->batch; b++) assert_int_equal(qo[b], b * c->q_tokens);
    free(qo);
  } else {
    assert_ptr_equal(out.qo_indptr, a.qo_indptr);
  }
  void *const device[] = {table, lengths, lists, ends, made};
  void *const host[] = {indptr, last, rows, got, ends_got, ids};
  for (size_t i = 0; i < sizeof device / sizeof *device; i++) mlaf_mem_free(f->ctx, device[i]);
  for (size_t i = 0; i < sizeof host / sizeof *host; i++) free(host[i]);
}

static int open_fixture(void **state) {
  fixture *f = calloc(1, sizeof *f);
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  char why[500] = "";
  mlaf_err err = {MLAF_OK, ""};
  int compiles = 0;
  built_cache();
  need_compiler("gfx942");
  o.device = "emu:gfx942";
  o.flags = MLAF_CTX_NO_DB;
  if (!f || mlaf_ctx_create(&o, &f->ctx, why, sizeof why)) return -1;
  f->problem = (mlaf_problem)MLAF_PROBLEM_INIT;
  pthread_mutex_lock(&f->ctx->lock);
  mlaf_status st = mlaf_second_kernels_open(f->ctx, &mlaf_block_tables, true, &compiles, &err);
  pthread_mutex_unlock(&f->ctx->lock);
  if (st) fail_msg("%s", err.text);
  *state = f;
  return 0;
}
static int close_fixture(void **state) {
  fixture *f = *state;
  mlaf_ctx_destroy(f->ctx);
  free(f);
  return 0;
}

TEST(tables_as_on_the_host) {
  /* batch, width, page, tokens, rows, pages, q_tokens, lists */
  static const tables_case cases[] = {
      {1, 1, 64, 64, 64, 7, 1, false, {0}},      {5, 4, 64, 64, 64, 9, 2, false, {0}},   {70, 6, 16, 16, 16, 500, 1, false, {0}},
      {9, 5, 8, 16, 24, 40, 4, false, {0}},      {9, 5, 16, 16, 976, 40, 1, false, {0}}, {9, 5, 1, 16, 17, 40, 1, false, {0}},
      {3, 2500, 1, 1, 1, 9000, 1, false, {0}},   {2, 90, 4, 64, 68, 300, 1, false, {0}}, {9, 5, 8, 16, 24, 40, 1, true, {0}},
      {70, 6, 16, 16, 32, 500, 1, true, {0}},    {1, 1, 1, 64, 65, 3, 1, true, {0}},
  };
  tables_case *c = malloc(sizeof *c);
  assert_non_null(c);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    *c = cases[i];
    const int32_t room = c->width * c->tokens;
    for (int32_t b = 0; b < c->batch; b++) c->lengths[b] = b % 5 == 3 ? 0 : b % 7 == 1 ? room : 1 + draw(room);
    if (c->lists && c->batch == 1) c->lengths[0] = 61;
    if (!c->lists && c->batch > 4) c->lengths[2] = -1, c->lengths[4] = room + 1; /* NaN, not a fault */
    run_case(*state, c);
  }
  free(c);
}

/* More requests than waves: each has several. */
TEST(many_requests) {
  tables_case *c = calloc(1, sizeof *c);
  assert_non_null(c);
  *c = (tables_case){.batch = 9001, .width = 2, .page = 64, .tokens = 64, .rows = 64, .pages = 100, .q_tokens = 1};
  for (int32_t b = 0; b < c->batch; b++) c->lengths[b] = draw(129);
  run_case(*state, c);
  free(c);
}

TEST_OF(refusals, fixture *f) {
  mlaf_execute_args good = MLAF_EXECUTE_ARGS_INIT, out;
  int32_t here[4] = {0};
  mlaf_err err;
  f->problem.page_size = 16;
  good.batch = 2;
  good.total_q = 2;
  good.num_pages = 9;
  good.block_table = good.seq_lens = here;
  good.block_table_width = good.block_table_stride = 4;
#define REFUSED(change, says)                                                                                              \
  do {                                                                                                                     \
    mlaf_execute_args a = good;                                                                                            \
    change;                                                                                                                \
    err.text[0] = 0;                                                                                                       \
    assert_int_equal(launch(f, &a, here, &out, &err), MLAF_E_ARG);                                                        \
    if (!strstr(err.text, says)) fail_msg("'%s' does not say '%s'", err.text, says);                                       \
  } while (0)
  REFUSED(a.seq_lens = NULL, "seq_lens (nil)");
  REFUSED(a.block_table = NULL, "block_table is NULL");
  REFUSED(a.block_table_width = 0, "block_table_width is 0");
  REFUSED(a.block_table_stride = 3, "block_table_stride 3");
  REFUSED(a.page_tokens = 24, "page_tokens is 24");
  REFUSED(a.page_rows = 8, "page_rows is 8");
  REFUSED(a.page_rows = 40, "page_rows is 40");
  REFUSED(a.total_q = 3, "qo_indptr is wanted");
  REFUSED(a.page_rows = 1 << 30; a.num_pages = 100, "more than 2^31 pages");
  REFUSED(a.block_table_width = 1 << 30; a.block_table_stride = 1 << 30, "fewer columns");
  REFUSED(a.block_table = a.seq_lens = NULL; a.page_rows = 32, "qo_indptr is (nil)");
  REFUSED(a.block_table = a.seq_lens = NULL; a.qo_indptr = a.kv_indptr = a.kv_indices = a.kv_last_page_lens = here;
          a.page_rows = 32, "kv_indices_size is 0");
}

/* No request has a token: there need be no list of pages, and the kernel's has none. */
TEST_OF(idle_batch, fixture *f) {
  mlaf_execute_args a = MLAF_EXECUTE_ARGS_INIT, out;
  mlaf_err err = {MLAF_OK, ""};
  enum { BATCH = 3 };
  const int32_t none[BATCH + 1] = {0};
  void *zeros = put(f->ctx, none, BATCH + 1), *made = NULL;
  f->problem.page_size = 16;
  a.batch = BATCH, a.total_q = BATCH, a.num_pages = 9, a.page_rows = 32;
  a.qo_indptr = a.kv_indptr = a.kv_last_page_lens = zeros;
  assert_int_equal(mlaf_mem_alloc(f->ctx, mlaf_block_tables_size(&f->problem, &a), &made), MLAF_OK);
  if (launch(f, &a, made, &out, &err)) fail_msg("%s", err.text);
  int32_t *indptr = get(f->ctx, out.kv_indptr, BATCH + 1), *last = get(f->ctx, out.kv_last_page_lens, BATCH);
  for (int b = 0; b < BATCH; b++) assert_true(!indptr[b] && !indptr[b + 1] && !last[b]);
  a.kv_indices_size = 1; /* then there has to be a list */
  assert_int_equal(launch(f, &a, made, &out, &err), MLAF_E_ARG);
  assert_non_null(strstr(err.text, "kv_indices is (nil)"));
  void *const device[] = {zeros, made};
  for (size_t i = 0; i < sizeof device / sizeof *device; i++) mlaf_mem_free(f->ctx, device[i]);
  free(indptr);
  free(last);
}

TESTS(open_fixture, close_fixture)
