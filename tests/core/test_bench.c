/* The timing buffers: what the problem names, in random order, with realistic data. */
#include <math.h>

#include "cmocka_all.h"
#include "core/bench.h"
#include "core/fake_device.h"

static mlaf_problem parse(const char *text) {
  mlaf_problem p;
  assert_int_equal(mlaf_problem_parse(text, &p, NULL, 0), MLAF_OK);
  return p;
}

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

static void shapes(void **state) {
  static const char *const problems[] = {"mla_decode:h4,r64,p32,q2,bf16,page16,b5,s300",
                                         "mla_decode:h1,r32,p0,q1,f16,page1,b3,s1000",
                                         "mla_decode:h3,r128,p64,q8,causal,bf16,page64,b16,s640"};
  for (size_t i = 0; i < 3; i++) {
    mlaf_problem p = parse(problems[i]);
    fake_device dev = fake_make(&p, BUG_NONE);
    mlaf_loaded *one = fake_load(&dev, 1), *many = fake_load(&dev, 6);
    mlaf_bench *bench = NULL;
    mlaf_timing t;
    mlaf_err err = {MLAF_OK, ""};
    if (mlaf_bench_create((mlaf_device *)&dev, &p, NULL, &bench, &err)) fail_msg("%s", err.text);
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

static void limited_cache(void **state) {
  mlaf_problem p = parse("mla_decode:h4,r64,p32,q1,bf16,page16,b8,s1000");
  fake_device dev = fake_make(&p, BUG_NONE);
  mlaf_loaded *l = fake_load(&dev, 1);
  mlaf_bench *bench = NULL;
  mlaf_timing t;
  mlaf_err err;
  const mlaf_bench_opts opts = {.seed = 3, .cache_limit = 100 * 16 * 96 * 2};
  assert_int_equal(mlaf_bench_create((mlaf_device *)&dev, &p, &opts, &bench, &err), MLAF_OK);
  assert_int_equal(mlaf_bench_time(bench, l, NULL, &t, &err), MLAF_OK);
  assert_int_equal(dev.timed.num_pages, 100);
  check_pages(&dev.timed, &p);
  mlaf_bench_free(bench);
  mlaf_loaded_close(l);
}

static void refusals(void **state) {
  mlaf_problem p = parse("mla_decode:h4,r512,p64,q1,bf16,page64,b256,s100000");
  fake_device dev = fake_make(&p, BUG_NONE), other = fake_make(&p, BUG_NONE);
  mlaf_bench *bench = NULL;
  mlaf_timing t;
  mlaf_err err;
  assert_int_equal(mlaf_bench_create((mlaf_device *)&dev, &p, NULL, &bench, &err), MLAF_E_ARG);
  assert_non_null(strstr(err.text, "needs a cache of 27.5 GiB, fake has 16.0 GiB"));
  p = parse("mla_decode:h4,r32,p0,q1,bf16,page1,b1024,s16777216");
  assert_int_equal(mlaf_bench_create((mlaf_device *)&dev, &p, NULL, &bench, &err), MLAF_E_ARG);
  assert_non_null(strstr(err.text, "page ids are 32-bit"));
  assert_null(bench);
  assert_int_equal(dev.allocations, 0);
  p = parse("mla_decode:h4,r64,p32,q1,bf16,page16,b8,s100");
  mlaf_loaded *l = fake_load(&other, 1);
  assert_int_equal(mlaf_bench_create((mlaf_device *)&dev, &p, NULL, &bench, &err), MLAF_OK);
  assert_int_equal(mlaf_bench_time(bench, l, NULL, &t, &err), MLAF_E_ARG);
  mlaf_loaded_close(l);
  mlaf_bench_free(bench);
}

/* The figures a time is put beside, by hand: H=16, B=2, ctx=1000. */
static void work(void **state) {
  mlaf_problem p = parse("mla_decode:h16,r512,p64,q1,bf16,page64,b2,s1000");
  mlaf_work w = mlaf_problem_work(&p);
  assert_true(w.bytes == 2.0 * (32 * 576 + 2 * 1000 * 576 + 32 * 512) + 4 * 32);
  assert_true(w.flops == 2.0 * 32 * 1000 * (576 + 512));
  p = parse("mla_decode:h16,r512,p64,q3,causal,bf16,page64,b2,s1000");
  assert_true(mlaf_problem_work(&p).flops == 2.0 * 96 * 999 * (576 + 512)); /* 1000, 999 and 998 tokens are seen */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(shapes), cmocka_unit_test(limited_cache),
                                     cmocka_unit_test(refusals), cmocka_unit_test(work)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
