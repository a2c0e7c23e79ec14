/* The timing buffers: what the problem names, in random order, with realistic data. */
#include "cmocka_all.h"
#include "check/bench.h"
#include "run/fake_device.h"
#include "check/verify.h"
#include "ops/mla_decode/compare.h"
#include "decode_problem.h"
#include "point.h"

/* Every logical page has its own physical page, unless the cache is limited; then all physical pages are in use. */
static void check_pages(const mlaf_decode_args *a, const mlaf_problem *p) {
  int32_t per_request = (p->ctx + p->page_size - 1) / p->page_size, pages = p->batch * per_request, in_order = 0;
  int *uses = calloc((size_t)a->num_pages, sizeof *uses);
  for (int32_t b = 0; b <= p->batch; b++) {
    assert_int_equal(a->qo_indptr[b], b * p->q_len);
    assert_int_equal(a->kv_indptr[b], b * per_request);
  }
  for (int32_t b = 0; b < p->batch; b++)
    assert_int_equal((per_request - 1) * p->page_size + a->kv_last_page_lens[b], p->ctx);
  for (int32_t i = 0; i < pages; i++) {
    assert_in_range(a->kv_indices[i], 0, a->num_pages - 1);
    uses[a->kv_indices[i]]++;
    in_order += i && a->kv_indices[i] == a->kv_indices[i - 1] + 1;
  }
  for (int32_t i = 0; i < a->num_pages; i++)
    assert_in_range(uses[i], pages / a->num_pages, (pages + a->num_pages - 1) / a->num_pages);
  assert_true(in_order < pages / 4); /* random, not sequential */
  free(uses);
}

static void check_data(const mlaf_decode_args *a, const mlaf_problem *p) {
  const uint16_t *kv = a->ckv;
  double sum = 0, squares = 0;
  int64_t n = (int64_t)a->num_pages * p->page_size * (p->rank + p->rope);
  for (int64_t i = 0; i < n; i++) {
    double v = mlaf_decode16(p->dtype, kv[i]);
    sum += v;
    squares += v * v;
  }
  assert_true(fabs(sum / (double)n) < 0.02);
  assert_true(fabs(squares / (double)n - 1) < 0.02);
}

TEST(shapes) {
  static const char *const problems[] = {"mla_decode:h4,r64,p32,q2,bf16,page16,b5,s300",
                                         "mla_decode:h1,r32,p0,q1,f16,page1,b3,s1000",
                                         "mla_decode:h3,r128,p64,q8,causal,bf16,page64,b16,s640"};
  for (size_t i = 0; i < 3; i++) {
    mlaf_problem p = parsed(problems[i]);
    fake_device dev = fake_make(&p, BUG_NONE);
    mlaf_loaded *one = fake_load(&dev, 1), *many = fake_load(&dev, 6);
    mlaf_bench *bench = NULL;
    mlaf_timing t;
    mlaf_err err = {MLAF_OK, ""};
    if (mlaf_bench_create((mlaf_device *)&dev, pt(&p), NULL, &bench, &err)) fail_msg("%s", err.text);
    int buffers = dev.allocations;
    assert_int_equal(mlaf_bench_time(bench, one, NULL, &t, &err), MLAF_OK);
    assert_int_equal(dev.timed_launches, 1);
    assert_null(dev.timed.part_o);
    assert_int_equal(dev.timed.batch, p.batch);
    assert_int_equal(dev.timed.total_q, p.batch * p.q_len);
    assert_int_equal(dev.timed.num_pages, p.batch * ((p.ctx + p.page_size - 1) / p.page_size));
    check_pages(&dev.timed, &p);
    check_data(&dev.timed, &p);
    /* The workspace comes when a variant needs it and stays for the next one. */
    assert_int_equal(mlaf_bench_time(bench, many, NULL, &t, &err), MLAF_OK);
    assert_int_equal(dev.timed_launches, 2);
    assert_non_null(dev.timed.part_o);
    assert_int_equal(dev.allocations, buffers + 1);
    assert_int_equal(mlaf_bench_time(bench, one, NULL, &t, &err), MLAF_OK);
    assert_int_equal(mlaf_bench_time(bench, many, NULL, &t, &err), MLAF_OK);
    assert_int_equal(dev.allocations, buffers + 1);
    mlaf_bench_free(bench);
    mlaf_loaded_close(one);
    mlaf_loaded_close(many);
    assert_int_equal(dev.allocations, 0);
  }
}

TEST(limited_cache) {
  mlaf_problem p = parsed("mla_decode:h4,r64,p32,q1,bf16,page16,b8,s1000");
  fake_device dev = fake_make(&p, BUG_NONE);
  mlaf_loaded *l = fake_load(&dev, 1);
  mlaf_bench *bench = NULL;
  mlaf_timing t;
  mlaf_err err;
  const mlaf_bench_opts opts = {.data = {.seed = 3, .cache_limit = 100 * 16 * 96 * 2}};
  assert_int_equal(mlaf_bench_create((mlaf_device *)&dev, pt(&p), &opts, &bench, &err), MLAF_OK);
  assert_int_equal(mlaf_bench_time(bench, l, NULL, &t, &err), MLAF_OK);
  assert_int_equal(dev.timed.num_pages, 100);
  check_pages(&dev.timed, &p);
  mlaf_bench_free(bench);
  mlaf_loaded_close(l);
}

/* On a device with a cache: sets of pages, neighbours have none in common, and four caches lie between two uses of a page. */
TEST(sets_rotate) {
  mlaf_problem p = parsed("mla_decode:h4,r64,p32,q1,bf16,page16,b4,s500"); /* 128 pages of 3 KiB */
  fake_device dev = fake_make(&p, BUG_NONE);
  dev.base.info.l2_bytes = 1 << 20;
  mlaf_loaded *l = fake_load(&dev, 3);
  mlaf_bench *bench = NULL;
  mlaf_timing t;
  assert_int_equal(mlaf_bench_create((mlaf_device *)&dev, pt(&p), NULL, &bench, NULL), MLAF_OK);
  assert_int_equal(mlaf_bench_time(bench, l, NULL, &t, NULL), MLAF_OK);
  assert_int_equal(dev.timed_launches, 2);
  assert_int_equal(dev.timed_sets, 16); /* 16 x 384 KiB is the first above 4 MiB */
  assert_int_equal(mlaf_bench_data(bench)->sets, 16);
  assert_int_equal(dev.timed.num_pages, 16 * 128);
  char used[16 * 128] = {0};
  for (int s = 0; s < 16; s++)
    for (int i = 0; i < 128; i++) {
      const int32_t page = dev.timed_indices[s][i];
      assert_in_range(page, 0, 16 * 128 - 1);
      assert_false(used[page]);
      used[page] = 1;
    }
  mlaf_bench_free(bench);
  mlaf_loaded_close(l);
  assert_int_equal(dev.allocations, 0);
}

/* Number `i` of the pattern, as the sum of twelve uniforms one after the other. */
static uint16_t pattern_at(uint64_t seed, mlaf_dtype dtype, size_t i) {
  mlaf_rng rng = {seed + 3 * (uint64_t)i * 0x9e3779b97f4a7c15ull};
  int64_t sum = 0;
  for (int k = 0; k < 3; k++) {
    const uint64_t z = mlaf_rng_next(&rng);
    for (int at = 0; at < 64; at += 16) sum += (int64_t)(z >> at & 0xffffu);
  }
  return mlaf_encode16(dtype, (float)(sum - 6 * 65535) * (1.0f / 65536));
}

static void check_pattern(const mlaf_pool *pool, mlaf_dtype dtype, const uint16_t *got, size_t first, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const size_t at = (first + i) % MLAF_POOL_BLOCK;
    if (got[i] != pattern_at(5, dtype, at) || mlaf_pool_block(pool)[at] != got[i])
      fail_msg("element %zu of %zu: %x, of the host's copy %x", first + i, n, got[i], mlaf_pool_block(pool)[at]);
  }
}

/* The numbers are those of the whole pattern, however little of it is asked for, and in whatever order. */
TEST(pool_pattern) {
  enum { BLOCK = MLAF_POOL_BLOCK };
  static const struct { mlaf_dtype dtype; size_t need, first, fill; } steps[] = {
      {MLAF_BF16, 10, BLOCK - 7, 50000},     {MLAF_BF16, 30001, 2000000, 8192}, {MLAF_F16, 8192, 8191, 2},
      {MLAF_F16, BLOCK + 100, 3 * BLOCK, 1}, {MLAF_BF16, 8193, BLOCK - 1, 1},   {MLAF_BF16, 8193, 123456, 100000},
  };
  mlaf_problem p = parsed("mla_decode:h4,r64,p32,q1,bf16,page16,b2,s500");
  fake_device dev = fake_make(&p, BUG_NONE);
  mlaf_pool *pool = NULL;
  uint16_t *other = malloc(100000 * sizeof *other);
  assert_int_equal(mlaf_pool_create((mlaf_device *)&dev, 5, &pool, NULL), MLAF_OK);
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    void *data = NULL;
    assert_int_equal(mlaf_pool_need(pool, steps[i].dtype, 2 * steps[i].need, &data, NULL), MLAF_OK);
    assert_int_equal(mlaf_pool_fill(pool, other, 2 * steps[i].fill, steps[i].first, NULL), MLAF_OK);
    check_pattern(pool, steps[i].dtype, data, 0, steps[i].need);
    check_pattern(pool, steps[i].dtype, other, steps[i].first, steps[i].fill);
  }
  free(other);
  mlaf_pool_free(pool);
  assert_int_equal(dev.allocations, 0);
}

/* Benches share a pool; each finds its dtype in it. */
TEST(shared_pool) {
  mlaf_problem p = parsed("mla_decode:h4,r64,p32,q1,bf16,page16,b2,s500");
  fake_device dev = fake_make(&p, BUG_NONE);
  mlaf_pool *pool = NULL;
  assert_int_equal(mlaf_pool_create((mlaf_device *)&dev, 5, &pool, NULL), MLAF_OK);
  static const char *const problems[] = {"mla_decode:h4,r64,p32,q1,bf16,page16,b2,s500",
                                         "mla_decode:h4,r64,p32,q1,bf16,page16,b9,s500",
                                         "mla_decode:h4,r64,p32,q1,f16,page16,b2,s300"};
  for (int i = 0; i < 3; i++) {
    p = dev.problem = parsed(problems[i]);
    const mlaf_bench_opts opts = {.data = {.seed = 2}, .pool = pool};
    mlaf_bench *bench = NULL;
    mlaf_timing t;
    mlaf_loaded *l = fake_load(&dev, 1);
    assert_int_equal(mlaf_bench_create((mlaf_device *)&dev, pt(&p), &opts, &bench, NULL), MLAF_OK);
    assert_int_equal(mlaf_bench_time(bench, l, NULL, &t, NULL), MLAF_OK);
    check_data(&dev.timed, &p);
    mlaf_bench_free(bench);
    mlaf_loaded_close(l);
    assert_int_equal(dev.allocations, 1); /* the pool */
  }
  mlaf_pool_free(pool);
  assert_int_equal(dev.allocations, 0);
}

/* The check on the timed data finds what is wrong, and nothing where nothing is; also where lengths differ. */
TEST(timed_data_is_checked) {
  static const int32_t ragged[] = {37, 500, 1, 211};
  static const char *const problems[] = {"mla_decode:h5,r64,p32,q1,bf16,page16,b4,s500",
                                         "mla_decode:h4,r64,p32,q3,causal,f16,page16,b4,s500"};
  for (int i = 0; i < 4; i++) {
    const mlaf_problem p = parsed(problems[i / 2]);
    fake_device dev = fake_make(&p, BUG_NONE);
    const mlaf_bench_opts opts = {.data = {.seed = 2, .tokens = i % 2 ? ragged : NULL}};
    mlaf_loaded *l = fake_load(&dev, 3);
    mlaf_bench *bench = NULL;
    double error = -1;
    mlaf_err err = {MLAF_OK, ""};
    assert_int_equal(mlaf_bench_create((mlaf_device *)&dev, pt(&p), &opts, &bench, &err), MLAF_OK);
    assert_int_equal(mlaf_bench_data(bench)->tokens, i % 2 ? 749 : 2000);
    if (mlaf_bench_check(bench, l, &error, &err)) fail_msg("%s", err.text);
    assert_true(error > 0 && error < mlaf_error_bound((mlaf_dtype)p.dtype));
    dev.bug = BUG_DROP_TOKEN;
    assert_int_equal(mlaf_bench_check(bench, l, &error, &err), MLAF_E_INCORRECT);
    assert_non_null(strstr(err.text, "relative error"));
    mlaf_bench_free(bench);
    mlaf_loaded_close(l);
  }
}

TEST(refusals) {
  mlaf_problem p = parsed("mla_decode:h4,r512,p64,q1,bf16,page64,b256,s100000");
  fake_device dev = fake_make(&p, BUG_NONE), other = fake_make(&p, BUG_NONE);
  mlaf_bench *bench = NULL;
  mlaf_timing t;
  mlaf_err err;
  assert_int_equal(mlaf_bench_create((mlaf_device *)&dev, pt(&p), NULL, &bench, &err), MLAF_E_ARG);
  assert_non_null(strstr(err.text, "needs a cache of 27.5 GiB, fake has 16.0 GiB"));
  p = parsed("mla_decode:h4,r32,p0,q1,bf16,page1,b1024,s16777216");
  assert_int_equal(mlaf_bench_create((mlaf_device *)&dev, pt(&p), NULL, &bench, &err), MLAF_E_ARG);
  assert_non_null(strstr(err.text, "page ids are 32-bit"));
  assert_null(bench);
  assert_int_equal(dev.allocations, 0);
  p = parsed("mla_decode:h4,r64,p32,q1,bf16,page16,b8,s100");
  mlaf_loaded *l = fake_load(&other, 1);
  assert_int_equal(mlaf_bench_create((mlaf_device *)&dev, pt(&p), NULL, &bench, &err), MLAF_OK);
  assert_int_equal(mlaf_bench_time(bench, l, NULL, &t, &err), MLAF_E_ARG);
  mlaf_loaded_close(l);
  mlaf_bench_free(bench);
}

/* The figures a time is put beside, by hand: H=16, B=2, ctx=1000. */
TEST(work) {
  mlaf_problem p = parsed("mla_decode:h16,r512,p64,q1,bf16,page64,b2,s1000");
  mlaf_work w = mlaf_problem_work(pt(&p));
  assert_true(w.bytes == 2.0 * (32 * 576 + 2 * 1000 * 576 + 32 * 512) + 4 * 32);
  assert_true(w.flops == 2.0 * 32 * 1000 * (576 + 512));
  p = parsed("mla_decode:h16,r512,p64,q3,causal,bf16,page64,b2,s1000");
  assert_true(mlaf_problem_work(pt(&p)).flops == 2.0 * 96 * 999 * (576 + 512)); /* 1000, 999 and 998 tokens are seen */
}

TESTS(NULL, NULL)
