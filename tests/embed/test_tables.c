/* Block tables where nothing can be generated or compiled: by the library from a bundle made by hand, and by the embedded loader,
 * over a fake CUDA driver that really runs the kernels (cuda/fake_tables.h, cuda/fake_whole.h). */
#include "mlaf_embed_inside.h"
#include "mlaf_embed_mla_decode.h"

#include <sys/stat.h>

#include "bundle/bundle.h"
#include "plan/ctx.h"
#include "op/numeric.h"
#include "ops/mla_decode/reference.h"
#include "cuda/cubin.h"
#include "cuda/fake_whole.h"
#include "cuda/fake_tables.h"
#include "cuda/fakecuda.h"
#include "embed/index.h"
#include "fake/fake_test.h"
#include "mlaforge/mlaforge.h"
#include "files.h"
#include "said.h"

enum { WIDE = FW_RANK + FW_ROPE, REQUESTS = 5, WIDTH = 63, STRIDE = 70, POOL = 150, ROWS = REQUESTS * FW_Q_LEN * FW_HEADS };
#define PROBLEM "mla_decode:h3,r32,p32,q2,causal,bf16,page16,b5,s512"
#define TABLES "mlaf_block_tables"

static const int32_t lengths[REQUESTS] = {1000, 3, 0, 470, 64};

/* --- a bundle made by hand --- */

static struct {
  char dir[64], hash[2][MLAF_HASH_HEX];
  cubin code[2]; /* decode, tables */
} made;

static char *in_dir(const char *name) { return mlaf_format("%s/%s", made.dir, name); }

static char *code_path(int which) { return mlaf_format("%s/bundle/code/%s.co", made.dir, made.hash[which]); }

static void write_code(void) {
  for (int i = 0; i < 2; i++) {
    char *path = code_path(i);
    write_file(path, &made.code[i], sizeof made.code[i]);
    free(path);
  }
}

static void write_manifest(bool with_tables) {
  char hash[MLAF_HASH_HEX], *path = in_dir("bundle/" MLAF_BUNDLE_MANIFEST);
  char *tables = mlaf_format("kernel\tsm_90a\t" TABLES "\t%s\t%zu\t256\t1\t0\t0\t0\tblock_tables\tchunk=1024\t-\t-\t-\t"
                             "unverified\n", made.hash[1], sizeof(cubin));
  char *text = mlaf_format(MLAF_BUNDLE_HEADER "generator\tg\ntarget\tsm_90a\tnvrtc\n%s"
                           "kernel\tsm_90a\twhole\t%s\t%zu\t128\t%d\t0\t0\t0\tt\tp\t-\t-\t-\tunverified\n"
                           "plan\tsm_90a\t" PROBLEM "\tbaseline\tbaseline\tnone\tx:a=1/s1\t1\t0.0\t0\twhole\t-\n",
                           with_tables ? tables : "", made.hash[0], sizeof(cubin), FW_ROWS);
  mlaf_sha256_hex(text, strlen(text), hash);
  char *whole = mlaf_format("%s# sha256 %s\n", text, hash);
  write_file(path, whole, strlen(whole));
  free(whole);
  free(text);
  free(tables);
  free(path);
}

static int setup(void **state) {
  snprintf(made.dir, sizeof made.dir, "/tmp/mlaf-tables-XXXXXX");
  if (!mkdtemp(made.dir)) return -1;
  char *bundle = in_dir("bundle"), *code = in_dir("bundle/code");
  const int failed = mkdir(bundle, 0700) || mkdir(code, 0700);
  free(bundle);
  free(code);
  make_cubin_of(&made.code[0], 190, "whole", "other");
  make_cubin_of(&made.code[1], 190, "other", "another"); /* the kernel that reads tables says nothing of its launch */
  put_cubin_meta(&made.code[0], "whole", sizeof(mlaf_decode_args), 128);
  put_cubin_meta(&made.code[1], TABLES, 128, 256);
  for (int i = 0; i < 2; i++) mlaf_sha256_hex(&made.code[i], sizeof made.code[i], made.hash[i]);
  write_code();
  write_manifest(true);
  fake_use("MLAF_CUDA_LIBRARY", "fakecuda/libfakecuda.so", "FAKECUDA");
  return failed;
}

static int teardown(void **state) {
  char *command = mlaf_format("rm -rf '%s'", made.dir);
  const int failed = system(command);
  free(command);
  return failed;
}

/* No generator, no kernel in a cache, no database: what runs comes from the bundle. */
static mlaf_ctx *open_ctx(void) {
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  mlaf_ctx *ctx = NULL;
  char why[1000] = "", *bundle = in_dir("bundle"), *cache = in_dir("cache");
  o.device = "cuda";
  o.bundle = bundle;
  o.gen_root = "/nonexistent";
  o.cache_dir = cache;
  o.flags = MLAF_CTX_NO_DB;
  if (mlaf_ctx_create(&o, &ctx, why, sizeof why)) fail_msg("%s", why);
  free(bundle);
  free(cache);
  return ctx;
}

static mlaf_status plan(mlaf_ctx *ctx, uint32_t flags, mlaf_plan **out, char *why, size_t size) {
  mlaf_plan_opts opts = MLAF_PLAN_OPTS_INIT;
  mlaf_problem p;
  assert_int_equal(mlaf_problem_parse(PROBLEM, &p, NULL, 0), MLAF_OK);
  opts.flags = flags;
  const mlaf_status st = mlaf_plan_create(ctx, &p, &opts, out);
  if (st) mlaf_ctx_last_message(ctx, why, size);
  return st;
}

/* --- a batch --- */

/* Exactly representable in bf16, and different everywhere. */
static uint16_t number(uint32_t i) { return mlaf_encode16(MLAF_BF16, (float)((int)(i * 2654435761u >> 25) - 64) / 64); }

typedef struct batch {
  _Alignas(16) uint16_t q[ROWS * WIDE], cache[POOL * FW_PAGE * WIDE], o[ROWS * FW_RANK];
  float lse[ROWS];
  int32_t table[REQUESTS * STRIDE];
  double want_o[ROWS * FW_RANK], want_lse[ROWS];
} batch;

static batch *make_batch(void) {
  batch *x = calloc(1, sizeof *x);
  assert_non_null(x);
  int32_t qo[REQUESTS + 1] = {0}, kv[REQUESTS + 1] = {0}, last[REQUESTS], ids[POOL];
  for (uint32_t i = 0; i < sizeof x->q / 2; i++) x->q[i] = number(i);
  for (uint32_t i = 0; i < sizeof x->cache / 2; i++) x->cache[i] = number(i + 12345);
  for (int i = 0; i < REQUESTS * STRIDE; i++) x->table[i] = -7; /* behind a row's pages anything may stand */
  for (int b = 0; b < REQUESTS; b++) {
    qo[b + 1] = qo[b] + FW_Q_LEN;
    kv[b + 1] = kv[b] + (lengths[b] + FW_PAGE - 1) / FW_PAGE;
    last[b] = lengths[b] ? (lengths[b] - 1) % FW_PAGE + 1 : 0;
    for (int k = kv[b]; k < kv[b + 1]; k++) x->table[b * STRIDE + k - kv[b]] = ids[k] = k * 77 % POOL;
  }
  mlaf_problem p;
  assert_int_equal(mlaf_problem_parse(PROBLEM, &p, NULL, 0), MLAF_OK);
  const mlaf_batch of = {.problem = p, .batch = REQUESTS, .num_pages = POOL, .total_q = REQUESTS * FW_Q_LEN, .q = x->q,
                         .ckv = x->cache, .kpe = x->cache + FW_RANK, .ckv_row_stride = WIDE, .kpe_row_stride = WIDE,
                         .qo_indptr = qo, .kv_indptr = kv, .kv_indices = ids, .kv_last_page_lens = last, .scale = (double)0.07f};
  mlaf_err err = {MLAF_OK, ""};
  if (mlaf_reference(&of, x->want_o, x->want_lse, NULL, &err)) fail_msg("%s", err.text);
  return x;
}

static void clear(batch *x) {
  memset(x->o, 0xff, sizeof x->o);
  memset(x->lse, 0xff, sizeof x->lse);
}

/* bf16 keeps a value to 2^-8 of it. */
static void expect_right(const batch *x) {
  double diff = 0, norm = 0;
  for (int i = 0; i < ROWS * FW_RANK; i++) {
    const double e = (double)mlaf_decode16(MLAF_BF16, x->o[i]) - x->want_o[i];
    diff += e * e;
    norm += x->want_o[i] * x->want_o[i];
  }
  assert_true(sqrt(diff) <= 1.01 / 256 * sqrt(norm));
  for (int i = 0; i < ROWS; i++) {
    if (isinf(x->want_lse[i])) assert_true(isinf(x->lse[i]) && x->lse[i] < 0);
    else assert_true(fabs((double)x->lse[i] - x->want_lse[i]) < 1e-4);
  }
}

static fake_launch launched(const char *which) {
  fake_launch (*get)(void);
  fake_symbol(which, &get);
  return get();
}

static void *memory(size_t size) {
  void *p = aligned_alloc(256, (size + 511) / 256 * 256);
  assert_non_null(p);
  return p;
}

/* --- tests --- */

static fake_launch by_library(batch *x) {
  mlaf_ctx *ctx = open_ctx();
  mlaf_plan *of = NULL;
  mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
  char why[4096] = "";
  if (plan(ctx, MLAF_PLAN_NO_COMPILE | MLAF_PLAN_TABLES, &of, why, sizeof why)) fail_msg("%s", why);
  assert_int_equal(mlaf_plan_query(of, &info), MLAF_OK);
  assert_string_equal(info.code, "bundle");
  assert_int_equal(info.compiles, 0);
  assert_null(ctx->gen); /* no Lua state, nothing looked for */
  mlaf_execute_args a = MLAF_EXECUTE_ARGS_INIT;
  a.q = x->q, a.ckv = x->cache, a.o = x->o, a.lse = x->lse, a.num_pages = POOL, a.batch = REQUESTS, a.scale = 0.07f;
  a.total_q = REQUESTS * FW_Q_LEN;
  a.block_table = x->table, a.block_table_width = WIDTH, a.block_table_stride = STRIDE, a.seq_lens = lengths;
  a.workspace_size = mlaf_execute_workspace_size(of, &a);
  a.workspace = memory(a.workspace_size);
  clear(x);
  if (mlaf_execute(of, &a, NULL)) fail_msg("%s", said(ctx));
  expect_right(x);
  free(a.workspace);
  mlaf_plan_release(of);
  mlaf_ctx_destroy(ctx);
  return launched("fakecuda_before");
}

static const mlaf_embed_row row = {0, {FW_HEADS, FW_RANK, FW_ROPE, FW_Q_LEN, 1, 0, 0, 0, 0, 0, FW_PAGE, REQUESTS, 512}, 0, 1,
                                   {1}};
static const mlaf_embed_decode_problem asked = {FW_HEADS, FW_RANK, FW_ROPE, FW_Q_LEN, 1, MLAF_EMBED_DECODE_BF16, FW_PAGE,
                                                REQUESTS, 512, 0, 0, 0, 0};

static mlaf_embed *open_loader(int n_kernels, const mlaf_embed_plan **of) {
  static mlaf_embed_kernel kernels[2];
  static mlaf_embed_target target;
  mlaf_embed *e = NULL;
  char why[500] = "";
  kernels[0] = (mlaf_embed_kernel){.code = (void *)&made.code[0], .symbol = "whole", .threads = 128, .rows_per_wg = FW_ROWS};
  kernels[1] = (mlaf_embed_kernel){.code = (void *)&made.code[1], .symbol = TABLES, .threads = 256, .rows_per_wg = 1};
  target = (mlaf_embed_target){"sm_90a", kernels, &row, n_kernels, 1};
  const mlaf_embed_index index = index_of(&target);
  if (mlaf_embed_open(&index, 0, &e, why, sizeof why)) fail_msg("%s", why);
  if (mlaf_embed_decode_plan(e, &asked, of, why, sizeof why)) fail_msg("%s", why);
  return e;
}

static fake_launch by_loader(batch *x) {
  const mlaf_embed_plan *of = NULL;
  mlaf_embed *e = open_loader(2, &of);
  char why[500] = "";
  if (mlaf_embed_decode_tables_open(e, why, sizeof why) || mlaf_embed_decode_tables_open(e, why, sizeof why)) fail_msg("%s", why);
  mlaf_embed_decode_args a = {.batch = REQUESTS, .num_pages = POOL, .q = x->q, .ckv = x->cache, .o = x->o, .lse = x->lse,
                       .scale = 0.07f};
  const mlaf_embed_decode_tables t = {x->table, lengths, STRIDE, WIDTH, FW_Q_LEN};
  const size_t size = mlaf_embed_decode_tables_size(REQUESTS, WIDTH);
  int32_t *lists = memory(size);
  memset(lists, 0xff, size);
  clear(x);
  if (mlaf_embed_decode_tables_make(of, &t, lists, size, &a, NULL, why, sizeof why)) fail_msg("%s", why);
  assert_int_equal(a.total_q, REQUESTS * FW_Q_LEN);
  assert_true((const char *)(a.kv_indices + REQUESTS * WIDTH) <= (const char *)lists + size);
  if (mlaf_embed_decode_execute(of, &a, NULL, why, sizeof why)) fail_msg("%s", why);
  expect_right(x);
  free(lists);
  mlaf_embed_close(e);
  return launched("fakecuda_before");
}

TEST(library_and_loader_serve_them) {
  batch *x = make_batch();
  const fake_launch a = by_library(x), b = by_loader(x);
  assert_memory_equal(a.grid, b.grid, sizeof a.grid);
  assert_memory_equal(a.block, b.block, sizeof a.block);
  assert_int_equal(a.args_size, FAKE_TABLES_BYTES);
  assert_int_equal(a.overlaps, 1);
  assert_int_equal(b.overlaps, 1);
  assert_int_equal(fake_int("fake_leaks"), 0);
  free(x);
}

/* Grids of any batch and width are the library's; the fake runs none that does not cover its batch. */
TEST(grids_agree) {
  static const struct { int32_t batch, width; } cases[] = {{1, 1}, {8, 1024}, {9, 1025}, {4097, 2}, {9000, 3}, {2, 70000}};
  const mlaf_embed_plan *of = NULL;
  mlaf_embed *e = open_loader(2, &of);
  mlaf_ctx *ctx = open_ctx();
  mlaf_plan *plan_of = NULL;
  char why[4096] = "";
  assert_int_equal(mlaf_embed_decode_tables_open(e, why, sizeof why), MLAF_EMBED_OK);
  if (plan(ctx, MLAF_PLAN_NO_COMPILE | MLAF_PLAN_TABLES, &plan_of, why, sizeof why)) fail_msg("%s", why);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const int32_t n = cases[i].batch, width = cases[i].width;
    int32_t *table = memory((size_t)n * (size_t)width * 4), *seq = memory((size_t)n * 4);
    uint16_t *q = memory((size_t)n * FW_HEADS * WIDE * 2), *o = memory((size_t)n * FW_HEADS * FW_RANK * 2);
    uint16_t *cache = memory(4096);
    for (int64_t k = 0; k < (int64_t)n * width; k++) table[k] = -1;
    for (int32_t b = 0; b < n; b++) seq[b] = 0;
    mlaf_execute_args a = MLAF_EXECUTE_ARGS_INIT;
    a.q = q, a.ckv = cache, a.o = o, a.num_pages = 1, a.batch = n, a.total_q = n, a.scale = 1;
    a.block_table = table, a.block_table_width = width, a.block_table_stride = width, a.seq_lens = seq;
    a.workspace_size = mlaf_execute_workspace_size(plan_of, &a);
    a.workspace = memory(a.workspace_size);
    assert_int_equal(mlaf_execute(plan_of, &a, NULL), MLAF_OK);
    const fake_launch library = launched("fakecuda_before");
    mlaf_embed_decode_args b = {.batch = n, .num_pages = 1, .q = q, .ckv = cache, .o = o, .scale = 1};
    const mlaf_embed_decode_tables t = {table, seq, 0, width, 1};
    const size_t size = mlaf_embed_decode_tables_size(n, width);
    assert_int_equal(size, a.workspace_size);
    if (mlaf_embed_decode_tables_make(of, &t, a.workspace, size, &b, NULL, why, sizeof why)) fail_msg("%s", why);
    const fake_launch loader = launched("fakecuda_last");
    assert_memory_equal(library.grid, loader.grid, sizeof library.grid);
    assert_int_equal(b.qo_indptr[n], n);
    free(table), free(seq), free(q), free(o), free(cache), free(a.workspace);
  }
  mlaf_plan_release(plan_of);
  mlaf_ctx_destroy(ctx);
  mlaf_embed_close(e);
}

/* A bundle of an earlier version, and a damaged one: nothing else helps here, so that it is said what is wrong. */
TEST(what_is_missing_is_said) {
  mlaf_plan *of = NULL;
  char why[4096] = "", *path = code_path(1);
  mlaf_ctx *ctx;
  write_file(path, "ELF", 3);
  ctx = open_ctx();
  assert_int_not_equal(plan(ctx, MLAF_PLAN_NO_COMPILE | MLAF_PLAN_TABLES, &of, why, sizeof why), MLAF_OK);
  if (!strstr(why, path) || !strstr(why, "is damaged") || !strstr(why, "the kernel that reads block tables")) fail_msg("%s", why);
  assert_int_equal(plan(ctx, MLAF_PLAN_NO_COMPILE, &of, why, sizeof why), MLAF_OK); /* lists are served all the same */
  mlaf_plan_release(of);
  mlaf_ctx_destroy(ctx);
  write_code();
  write_manifest(false);
  ctx = open_ctx();
  assert_int_not_equal(plan(ctx, MLAF_PLAN_NO_COMPILE | MLAF_PLAN_TABLES, &of, why, sizeof why), MLAF_OK);
  if (!strstr(why, "has none for sm_90a, since an earlier version made it") || !strstr(why, "mlaforge generate"))
    fail_msg("%s", why);
  mlaf_ctx_destroy(ctx);
  write_manifest(true);
  free(path);
}

TEST(the_loader_refuses) {
  const mlaf_embed_plan *of = NULL;
  mlaf_embed *e = open_loader(1, &of);
  char why[500] = "";
  int32_t here[64] = {0};
  assert_int_equal(mlaf_embed_decode_tables_open(e, why, sizeof why), MLAF_EMBED_NO_KERNEL);
  assert_non_null(strstr(why, "no kernel embedded: the kernel that reads block tables, on sm_90a"));
  mlaf_embed_close(e);
  assert_int_equal(mlaf_embed_decode_tables_open(NULL, why, sizeof why), MLAF_EMBED_ARG);
  assert_true(mlaf_embed_decode_tables_size(70000, 1) == SIZE_MAX && mlaf_embed_decode_tables_size(1, 0) == SIZE_MAX);
  assert_true(mlaf_embed_decode_tables_size(65536, 32768) == SIZE_MAX && mlaf_embed_decode_tables_size(2, 3) == (6 + 6 + 2) * 4);
  e = open_loader(2, &of);
  const mlaf_embed_decode_tables good = {here, here, 0, 4, 1};
#define REFUSED(change, says)                                                                                            \
  do {                                                                                                                   \
    mlaf_embed_decode_tables t = good;                                                                                   \
    mlaf_embed_decode_args a = {.batch = 2, .num_pages = 9};                                                             \
    void *at = here;                                                                                                     \
    size_t size = sizeof here;                                                                                           \
    change;                                                                                                              \
    assert_int_equal(mlaf_embed_decode_tables_make(of, &t, at, size, &a, NULL, why, sizeof why), MLAF_EMBED_ARG);        \
    if (!strstr(why, says)) fail_msg("'%s' does not say '%s'", why, says);                                               \
    (void)at, (void)size;                                                                                                \
  } while (0)
  REFUSED((void)t, "mlaf_embed_decode_tables_open was not called");
  assert_int_equal(mlaf_embed_decode_tables_open(e, why, sizeof why), MLAF_EMBED_OK);
  REFUSED(a.batch = -1, "batch is -1 and width 4: batch is in 0..65536");
  REFUSED(t.width = 0, "batch * width");
  REFUSED(a.num_pages = -1, "num_pages is -1, must not be negative");
  REFUSED(t.q_tokens = FW_Q_LEN + 1, "q_tokens");
  REFUSED(t.row_stride = 3, "rows do not overlap");
  REFUSED(t.seq_lens = NULL, "seq_lens (nil)");
  REFUSED(t.block_table = (void *)((char *)here + 2), "4-byte aligned");
  REFUSED(at = NULL, "the memory is (nil)");
  REFUSED(size = mlaf_embed_decode_tables_size(2, 4) - 1, "(mlaf_embed_decode_tables_size)");
  mlaf_embed_decode_args none = {.batch = 0};
  assert_int_equal(mlaf_embed_decode_tables_make(of, &good, here, sizeof here, &none, NULL, why, sizeof why), MLAF_EMBED_OK);
  assert_true(none.total_q == 0 && !none.qo_indptr);
  mlaf_embed_close(e);
}

TESTS(setup, teardown)
