/* Launches that decide themselves how their batch is cut, through the library and through the embedded loader over a fake CUDA
 * driver that really runs them (cuda/fake_fitted.h): grids, the word of splits, the workspace and the combine kernel are right if
 * the numbers are, and nothing outside the workspace was written. */
#include "mlaf_embed_inside.h"
#include "mlaf_embed_mla_decode.h"

#include "mlaforge/plan.h"
#include "run/loaded.h"
#include "op/numeric.h"
#include "ops/mla_decode/reference.h"
#include "cuda/cubin.h"
#include "cuda/fake_whole.h"
#include "cuda/fakecuda.h"
#include "fake/fake_test.h"
#include "mlaf_thresholds.h"
#include "point.h"
#include "embed/index.h"

enum { WIDE = FW_RANK + FW_ROPE, MOST = 1100, UNITS = 132, GROUPS = 2, PARTS = UNITS / GROUPS, GUARD = 4096 };

/* --- batches --- */

typedef struct batch {
  mlaf_batch of;
  int32_t qo[MOST + 1], kv[MOST + 1], last[MOST], *pages;
  uint16_t *q, *cache;
  double *o, *lse; /* the reference */
} batch;

typedef struct lengths {
  const char *name;
  int requests, tokens[8], q_tokens[8]; /* as the request's number mod 8 says */
  int longest;                          /* of request 1, where it is not 0 */
} lengths;

static const lengths batches[] = {
    {"equal", 5, {200, 200, 200, 200, 200, 200, 200, 200}, {2, 2, 2, 2, 2, 2, 2, 2}, 0},
    {"one", 1, {900}, {2}, 0},
    {"one long among short", 9, {30, 3, 64, 17, 128, 1, 65, 33}, {2, 1, 2, 2, 1, 2, 2, 2}, 5000},
    {"empties", 8, {70, 3, 0, 470, 64, 0, 129, 16}, {2, 1, 2, 2, 0, 1, 0, 2}, 3000},
    {"only empties", 3, {0, 0, 0}, {2, 1, 2}, 0},
    {"more than parts", 150, {100, 100, 100, 100, 100, 100, 100, 100}, {1, 2, 2, 2, 2, 2, 2, 2}, 0},
    {"more than parts, one long", 150, {20, 1, 90, 0, 33, 65, 5, 130}, {2, 1, 2, 2, 0, 1, 1, 2}, 2500},
    {"more than are looked at", MOST, {20, 1, 5, 0, 33, 17, 5, 40}, {2, 1, 2, 2, 2, 1, 0, 2}, 0}};
enum { BATCHES = sizeof batches / sizeof *batches };

/* Exactly representable in bf16, and different everywhere. */
static uint16_t number(uint32_t i) { return mlaf_encode16(MLAF_BF16, (float)((int)(i * 2654435761u >> 25) - 64) / 64); }

static void *filled(size_t size, int byte) {
  void *p = aligned_alloc(256, (size + 511) / 256 * 256);
  assert_non_null(p);
  memset(p, byte, (size + 511) / 256 * 256);
  return p;
}

static batch *make_batch(const lengths *l) {
  batch *x = calloc(1, sizeof *x);
  assert_non_null(x);
  for (int b = 0; b < l->requests; b++) {
    const int tokens = b == 1 && l->longest ? l->longest : l->tokens[b % 8];
    x->qo[b + 1] = x->qo[b] + l->q_tokens[b % 8];
    x->kv[b + 1] = x->kv[b] + (tokens + FW_PAGE - 1) / FW_PAGE;
    x->last[b] = tokens ? (tokens - 1) % FW_PAGE + 1 : 0;
  }
  const int n_pages = x->kv[l->requests], pool = n_pages + 3, rows = x->qo[l->requests] * FW_HEADS;
  x->pages = filled((size_t)pool * 4, 0);
  x->q = filled((size_t)rows * WIDE * 2, 0);
  x->cache = filled((size_t)pool * FW_PAGE * WIDE * 2, 0);
  x->o = calloc((size_t)rows * FW_RANK, sizeof *x->o);
  x->lse = calloc((size_t)rows, sizeof *x->lse);
  for (int i = 0; i < n_pages; i++) x->pages[i] = pool - 1 - i;
  for (int i = 0; i < rows * WIDE; i++) x->q[i] = number((uint32_t)i);
  for (int i = 0; i < pool * FW_PAGE * WIDE; i++) x->cache[i] = number((uint32_t)i + 12345);
  mlaf_problem p = MLAF_PROBLEM_INIT;
  p.heads = FW_HEADS, p.rank = FW_RANK, p.rope = FW_ROPE, p.q_len = FW_Q_LEN, p.causal = 1, p.dtype = MLAF_BF16;
  p.page_size = FW_PAGE, p.batch = l->requests, p.ctx = 512;
  x->of = (mlaf_batch){.problem = p, .batch = l->requests, .num_pages = pool, .total_q = x->qo[l->requests], .q = x->q,
                       .ckv = x->cache, .kpe = x->cache + FW_RANK, .ckv_row_stride = WIDE, .kpe_row_stride = WIDE,
                       .qo_indptr = x->qo, .kv_indptr = x->kv, .kv_indices = x->pages, .kv_last_page_lens = x->last,
                       .scale = (double)0.07f};
  mlaf_err err = {MLAF_OK, ""};
  if (mlaf_reference(&x->of, x->o, x->lse, NULL, &err)) fail_msg("%s", err.text);
  return x;
}

static void free_batch(batch *x) { free(x->pages), free(x->q), free(x->cache), free(x->o), free(x->lse), free(x); }

/* --- variants --- */

typedef struct variant {
  const char *decode;
  uint32_t flags, team, splits;
  bool combined;
  uint32_t behind; /* flags of the combine kernel */
} variant;

enum { TURNS = MLAF_KERNEL_TURNS };
enum { MEETS = MLAF_KERNEL_MEETS }; /* its parts add up what they cut, so it needs no combine kernel */
static const variant variants[] = {
    {"fit", TURNS, 1, 1, true, 0},      {"fit", TURNS, 1, 2, true, 0},      {"fit", 0, 1, 1, true, 0},
    {"fit", 0, 1, 3, true, 0},          {"fit", 0, 1, 70, true, 0},         {"fitmeet", MEETS, 1, 1, false, 0},
    {"fitmeet", MEETS, 1, 1, true, 0},  {"fitmeet", MEETS, 1, 4, true, 0},  {"fitmeet", MEETS, 2, 1, false, 0},
    {"fitmeet", MEETS, 2, 3, true, 0},  {"fitmeet", MEETS, 4, 1, false, 0}, {"fitmeet", MEETS, 4, 2, true, 0},
    {"fit", 0, 1, 1, true, TURNS},      {"fit", 0, 1, 3, true, TURNS},      {"fitmeet", MEETS, 2, 3, true, TURNS}};
enum { VARIANTS = sizeof variants / sizeof *variants, THREADS = 128, ADD_THREADS = 64 };

/* Results of a launch: outputs, the kernels, the word that tells the combine kernel of parts. */
typedef struct result {
  uint16_t *o;
  float *lse;
  unsigned char *space, *workspace; /* a guard, the workspace, a guard */
  size_t rows, size;
  fake_launch last, before;
  int told;
} result;

static fake_launch launched(const char *which) {
  fake_launch (*get)(void);
  fake_symbol(which, &get);
  return get();
}

static result make_result(const batch *x, size_t workspace) {
  result r = {.rows = (size_t)x->of.total_q * FW_HEADS, .size = workspace};
  r.o = filled((r.rows + 4) * FW_RANK * 2, 0xff); /* NaN */
  r.lse = filled((r.rows + 4) * 4, 0xff);
  r.space = filled(workspace + 2 * GUARD, 0xff);
  r.workspace = r.space + GUARD;
  return r;
}

static void finish_result(result *r, bool combined, const char *what) {
  r->last = launched("fakecuda_last");
  r->before = launched("fakecuda_before");
  if (!combined) r->before = r->last;
  memcpy(&r->told, r->workspace + MLAF_FIT_BYTES - 4, 4);
  for (size_t i = 0; i < GUARD; i++)
    if (r->space[i] != 0xff || r->workspace[r->size + i] != 0xff) fail_msg("%s: written outside the workspace", what);
  const size_t parts = r->told > 0 ? (size_t)r->told : 0; /* a word each, then nothing before the last word */
  for (size_t i = 4 * parts; i < MLAF_FIT_BYTES - 4; i++) assert_int_equal(r->workspace[i], 0xff);
  for (size_t i = r->rows * FW_RANK; i < (r->rows + 4) * FW_RANK; i++) assert_int_equal(r->o[i], 0xffff);
}

static void free_result(result *r) { free(r->o), free(r->lse), free(r->space); }

/* bf16 keeps a value to 2^-8 of it; sums in fp32 add less than a hundredth of that. */
static void expect_right(const batch *x, const result *r, const char *what) {
  for (size_t row = 0; row < r->rows; row++) {
    double diff = 0, norm = 0;
    for (size_t c = row * FW_RANK; c < (row + 1) * FW_RANK; c++) {
      const double e = (double)mlaf_decode16(MLAF_BF16, r->o[c]) - x->o[c];
      diff += e * e;
      norm += x->o[c] * x->o[c];
    }
    if (!(sqrt(diff) <= 1.01 / 256 * sqrt(norm))) fail_msg("%s: row %zu: error %g of %g", what, row, sqrt(diff), sqrt(norm));
    const double lse = (double)r->lse[row];
    if (isinf(x->lse[row]) ? lse != x->lse[row] : !(fabs(lse - x->lse[row]) < 1e-4))
      fail_msg("%s: row %zu: lse %g, not %g", what, row, lse, x->lse[row]);
  }
}

/* --- the library --- */

static void by_library(mlaf_device *dev, const batch *x, const variant *v, const char *what, result *out) {
  const mlaf_kernel_ref add = {.template_name = "t", .symbol = "fitadd", .threads = ADD_THREADS, .rows_per_wg = FW_MERGE_ROWS};
  mlaf_kernel_ref decode = {.template_name = "t", .threads = THREADS, .rows_per_wg = FW_ROWS};
  snprintf(decode.symbol, sizeof decode.symbol, "%s", v->decode);
  cubin code;
  make_cubin_of(&code, 190, v->decode, "fitadd");
  code.data[0].flags = MLAF_KERNEL_FITS | v->flags, code.data[1].flags = MLAF_KERNEL_FITS | v->behind;
  code.data[0].cluster[1] = v->team;
  const mlaf_code image = {&code, sizeof code};
  const mlaf_loaded_desc desc = {what, {{&decode, image}, {v->combined ? &add : NULL, image}}, v->splits};
  mlaf_err err = {MLAF_OK, ""};
  mlaf_loaded *l = NULL;
  if (mlaf_loaded_open(dev, pt(&x->of.problem), &desc, &l, &err)) fail_msg("%s: %s", what, err.text);
  *out = make_result(x, mlaf_loaded_workspace_size(l, v->splits, x->of.total_q));
  mlaf_execute_args a = MLAF_EXECUTE_ARGS_INIT;
  a.q = x->q, a.ckv = x->cache, a.qo_indptr = x->qo, a.kv_indptr = x->kv, a.kv_indices = x->pages;
  a.kv_last_page_lens = x->last, a.o = out->o, a.lse = out->lse, a.workspace = out->workspace;
  a.workspace_size = out->size, a.num_pages = x->of.num_pages, a.batch = x->of.batch, a.total_q = x->of.total_q, a.scale = 0.07f;
  for (int again = 0; again < 2; again++) { /* in a workspace that is new, and in one that has been used */
    memset(out->o, 0xff, out->rows * FW_RANK * 2);
    memset(out->lse, 0xff, out->rows * 4);
    if (mlaf_loaded_launch(l, v->splits, &a, NULL, &err)) fail_msg("%s: %s", what, err.text);
    finish_result(out, v->combined, what);
    expect_right(x, out, what);
  }
  a.workspace_size--;
  assert_int_equal(mlaf_loaded_launch(l, v->splits, &a, NULL, &err), MLAF_E_ARG);
  assert_non_null(strstr(err.text, "workspace"));
  mlaf_loaded_close(l);
}

/* --- the loader --- */

static void by_loader(const batch *x, const variant *v, const char *what, result *out) {
  cubin code;
  make_cubin_of(&code, 190, v->decode, "fitadd");
  const mlaf_embed_kernel kernels[] = {
      {.code = (const void *)&code, .symbol = v->decode, .threads = THREADS, .rows_per_wg = FW_ROWS,
       .launch = {.cluster = {0, v->team, 0}, .flags = v->flags | MLAF_EMBED_KERNEL_FITS}},
      {.code = (const void *)&code, .symbol = "fitadd", .threads = ADD_THREADS, .rows_per_wg = FW_MERGE_ROWS,
       .launch = {.flags = MLAF_EMBED_KERNEL_FITS | v->behind}}};
  const mlaf_problem *p = &x->of.problem;
  const mlaf_embed_row row = {0, {FW_HEADS, FW_RANK, FW_ROPE, FW_Q_LEN, 1, 0, 0, 0, 0, 0, FW_PAGE, p->batch, p->ctx}, 0,
                              (int32_t)v->splits, {1, v->combined ? 2 : 0}};
  const mlaf_embed_target target = {"sm_90a", kernels, &row, 2, 1};
  const mlaf_embed_index index = index_of(&target);
  const mlaf_embed_decode_problem asked = {FW_HEADS, FW_RANK, FW_ROPE, FW_Q_LEN, 1, MLAF_EMBED_DECODE_BF16, FW_PAGE,
                                           p->batch, p->ctx, 0, 0, 0, 0};
  const mlaf_embed_plan *plan = NULL;
  mlaf_embed *e = NULL;
  char why[500] = "";
  if (mlaf_embed_open(&index, 0, &e, why, sizeof why)) fail_msg("%s: %s", what, why);
  if (mlaf_embed_decode_plan(e, &asked, &plan, why, sizeof why)) fail_msg("%s: %s", what, why);
  *out = make_result(x, mlaf_embed_decode_workspace(plan, x->of.total_q));
  mlaf_embed_decode_args a = {.batch = x->of.batch, .num_pages = x->of.num_pages, .total_q = x->of.total_q, .q = x->q,
                              .ckv = x->cache,
                       .qo_indptr = x->qo, .kv_indptr = x->kv, .kv_indices = x->pages, .kv_last_page_lens = x->last,
                       .o = out->o, .lse = out->lse, .workspace = out->workspace, .workspace_size = out->size, .scale = 0.07f};
  if (mlaf_embed_decode_execute(plan, &a, NULL, why, sizeof why)) fail_msg("%s: %s", what, why);
  finish_result(out, v->combined, what);
  a.workspace_size--;
  assert_int_equal(mlaf_embed_decode_execute(plan, &a, NULL, why, sizeof why), MLAF_EMBED_ARG);
  mlaf_embed_close(e);
}

static void expect_same(const result *a, const result *b, const char *what) {
  const fake_launch *x[] = {&a->last, &a->before}, *y[] = {&b->last, &b->before};
  if (a->size != b->size) fail_msg("%s: workspaces of %zu and %zu bytes", what, a->size, b->size);
  for (int i = 0; i < 2; i++) {
    assert_memory_equal(x[i]->grid, y[i]->grid, sizeof x[i]->grid);
    assert_memory_equal(x[i]->block, y[i]->block, sizeof x[i]->block);
    assert_int_equal(x[i]->args_size, y[i]->args_size);
  }
  assert_int_equal(a->told, b->told);
  assert_memory_equal(a->o, b->o, a->rows * FW_RANK * 2);
  assert_memory_equal(a->lse, b->lse, a->rows * 4);
}

/* The parts that a launch of this grid cuts into, if it does. */
static int parts_of(const fake_launch *l) {
  const int blocks = (int)(l->grid[1] * l->grid[2]);
  return blocks < PARTS ? blocks : PARTS;
}

/* Blocks of the combine kernel: a row a team; where blocks take turns, or one split leaves few rows, as the device holds. */
static uint32_t blocks_behind(const batch *x, const variant *v) {
  const uint32_t rows = (uint32_t)x->of.total_q * FW_HEADS, most = UNITS * MLAF_FIT_THREADS / ADD_THREADS;
  const uint32_t each = (rows + FW_MERGE_ROWS - 1) / FW_MERGE_ROWS, full = rows < most ? rows : most;
  return v->splits == 1 || (v->behind && full > each) ? full : each;
}

TEST(library_and_loader_agree) {
  int cut = 0, whole = 0;
  fake_use("MLAF_CUDA_LIBRARY", "fakecuda/libfakecuda.so", "FAKECUDA");
  mlaf_device *dev = open_device("cuda");
  const int before = fake_int("fake_leaks");
  for (int i = 0; i < BATCHES; i++) {
    batch *x = make_batch(&batches[i]);
    for (int k = 0; k < VARIANTS; k++) {
      const variant *v = &variants[k];
      result a, b;
      char what[160];
      snprintf(what, sizeof what, "%s, %s/s%u, team %u%s%s", batches[i].name, v->decode, v->splits, v->team,
               v->flags & TURNS ? ", turns" : "", v->combined ? ", combined" : "");
      by_library(dev, x, v, what, &a);
      by_loader(x, v, what, &b);
      expect_same(&a, &b, what);
      if (v->combined) assert_int_equal(a.last.grid[0], blocks_behind(x, v));
      if (a.told && a.told != parts_of(&a.before)) fail_msg("%s: %d parts, not %d", what, a.told, parts_of(&a.before));
      if (i == 0 && a.told) fail_msg("%s: cut into %d parts", what, a.told);
      if ((i == BATCHES - 1 || (batches[i].longest && v->splits == 1)) && !a.told) fail_msg("%s: not cut", what);
      cut += a.told > 0, whole += a.told == 0;
      free_result(&a), free_result(&b);
    }
    free_batch(x);
  }
  assert_true(cut >= 3 * VARIANTS && whole >= 2 * VARIANTS);
  assert_int_equal(fake_int("fake_leaks"), before);
  mlaf_device_close(dev);
}

/* As many blocks as run at once, the batch whatever it is; a combine kernel behind one split no larger than the device. */
TEST(grids) {
  static const struct { int batch, variant; uint32_t decode[3], add; } cases[] = {
      {1, 0, {2, 1, 66}, 6},   {7, 0, {2, 1, 66}, 2112}, {7, 1, {2, 2, 33}, 2477}, {5, 2, {2, 1, 150}, 843},
      {0, 5, {2, 1, 66}, 0},   {0, 8, {2, 2, 33}, 0},    {0, 10, {2, 4, 5}, 0},    {0, 9, {2, 6, 11}, 15},
      {0, 4, {2, 70, 5}, 15}};
  fake_use("MLAF_CUDA_LIBRARY", "fakecuda/libfakecuda.so", "FAKECUDA");
  mlaf_device *dev = open_device("cuda");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const variant *v = &variants[cases[i].variant];
    batch *x = make_batch(&batches[cases[i].batch]);
    result r;
    by_library(dev, x, v, "grids", &r);
    for (int k = 0; k < 3; k++)
      if (r.before.grid[k] != cases[i].decode[k]) fail_msg("case %zu: grid %d is %u", i, k, r.before.grid[k]);
    if (v->combined && r.last.grid[0] != cases[i].add) fail_msg("case %zu: %u blocks combine", i, r.last.grid[0]);
    assert_int_equal(r.last.args_size, sizeof(mlaf_decode_args));
    const size_t slots = (size_t)PARTS * 2 * FW_Q_LEN * FW_HEADS, shares = v->splits > 1 ? v->splits * r.rows : 0;
    const size_t rows = slots > shares ? slots : shares;
    assert_int_equal(r.size, (MLAF_FIT_BYTES + rows * FW_RANK * 4 + 255) / 256 * 256 + rows * 4);
    free_result(&r);
    free_batch(x);
  }
  mlaf_device_close(dev);
}

TESTS(NULL, NULL)
