/* Properties of attention that need no reference: a kernel that breaks one is wrong whatever the tolerance.
 * Most run on the first variant of both families, one and several splits. */
#include "cmocka_all.h"
#include "op/numeric.h"
#include "rig.h"

static rig shared;

static int open_rig(void **state) {
  rig_open(&shared);
  return 0;
}
static int close_rig(void **state) {
  rig_close(&shared);
  return 0;
}

static mlaf_testcase *make_case(const mlaf_problem *p) {
  mlaf_case_spec spec = {.name = "property", .problem = *p, .seed = 11, .n = 3, .q_lens = {1, 1, 1}, .kv_lens = {213, 64, 1},
                         .unused_pages = 2, .score_std = 1.5};
  mlaf_testcase *t;
  mlaf_err err;
  if (mlaf_testcase_make(&spec, MLAF_INJECT_NONE, &t, &err)) fail_msg("%s", err.text);
  return t;
}

typedef void (*property)(const mlaf_problem *p, const mlaf_loaded *l, uint32_t splits);

static void for_both_families(property check) {
  static const char *const texts[] = {"mla_decode:h16,r512,p64,q1,bf16,page16,b3,s4096",
                                      "mla_decode:h128,r512,p64,q1,bf16,page16,b3,s4096"};
  for (size_t i = 0; i < 2; i++) {
    mlaf_problem p = rig_problem(texts[i]);
    rig_candidates c;
    rig_candidates_make(&shared, &p, &c);
    const char *family[] = {"mfma_reg:", "mfma_lds:"};
    const mlaf_variant *v = NULL; /* with a combine kernel, so that every split count can be launched */
    for (size_t k = 0; !v && k < c.n_all; k++)
      if (!c.all[k].rejected && c.all[k].knob > 1 && !strncmp(c.all[k].name, family[i], 4)) v = &c.all[k];
    assert_non_null(v);
    mlaf_loaded *l = rig_load(&shared, &p, v);
    check(&p, l, 1);
    check(&p, l, 3);
    mlaf_loaded_close(l);
    rig_candidates_free(&c);
  }
}

/* Same input, same bits. */
static void check_repeatable(const mlaf_problem *p, const mlaf_loaded *l, uint32_t splits) {
  mlaf_testcase *t = make_case(p);
  rig_output a = rig_run(&shared, l, t, splits), b = rig_run(&shared, l, t, splits);
  assert_memory_equal(a.o, b.o, a.rows * (size_t)p->rank * 2);
  assert_memory_equal(a.lse, b.lse, a.rows * 4);
  rig_output_free(&a), rig_output_free(&b), mlaf_testcase_free(t);
}

/* Moving pages in memory, and the table with them, changes no bit. */
static void check_page_permutation(const mlaf_problem *p, const mlaf_loaded *l, uint32_t splits) {
  mlaf_testcase *t = make_case(p);
  rig_output a = rig_run(&shared, l, t, splits);
  const int32_t pages = t->batch.num_pages;
  const size_t page_elements = (size_t)p->page_size * (size_t)t->batch.ckv_row_stride;
  assert_int_equal(t->ckv_count, (size_t)pages * page_elements);
  uint16_t *moved = malloc(t->ckv_count * 2);
  int32_t *indices = (int32_t *)t->batch.kv_indices;
  for (int32_t i = 0; i < pages; i++) /* reverse the cache */
    memcpy(moved + (size_t)(pages - 1 - i) * page_elements, t->ckv + (size_t)i * page_elements, page_elements * 2);
  for (int64_t i = 0; i < t->total_pages; i++) indices[i] = pages - 1 - indices[i];
  memcpy(t->ckv, moved, t->ckv_count * 2);
  free(moved);
  rig_output b = rig_run(&shared, l, t, splits);
  assert_memory_equal(a.o, b.o, a.rows * (size_t)p->rank * 2);
  assert_memory_equal(a.lse, b.lse, a.rows * 4);
  rig_output_free(&a), rig_output_free(&b), mlaf_testcase_free(t);
}

/* Splitting the sequence changes rounding only. */
static void check_split_equals_unsplit(const mlaf_problem *p, const mlaf_loaded *l, uint32_t splits) {
  if (splits == 1) return;
  mlaf_testcase *t = make_case(p);
  rig_output a = rig_run(&shared, l, t, splits), b = rig_run(&shared, l, t, 1);
  double d = rig_distance(&a, &b, p);
  if (d > 2.5e-3) fail_msg("split and unsplit differ by %g", d);
  for (size_t i = 0; i < a.rows; i++) assert_true(fabsf(a.lse[i] - b.lse[i]) <= 1e-4f * (1 + fabsf(b.lse[i])));
  rig_output_free(&a), rig_output_free(&b), mlaf_testcase_free(t);
}

/* Doubling Q's scale factor is halving Q: a power of two commutes with every rounding, so no bit changes. */
static void check_scale_moves_into_q(const mlaf_problem *p, const mlaf_loaded *l, uint32_t splits) {
  mlaf_testcase *t = make_case(p);
  rig_output a = rig_run(&shared, l, t, splits);
  t->batch.scale *= 2;
  for (size_t i = 0; i < t->q_count; i++) t->q[i] = mlaf_bf16_encode(mlaf_bf16_decode(t->q[i]) * 0.5f);
  rig_output b = rig_run(&shared, l, t, splits);
  assert_memory_equal(a.o, b.o, a.rows * (size_t)p->rank * 2);
  assert_memory_equal(a.lse, b.lse, a.rows * 4);
  rig_output_free(&a), rig_output_free(&b), mlaf_testcase_free(t);
}

/* Adding one constant to every score of a row leaves O alone and moves LSE by it: the rope columns of all cached rows
 * get a vector e, which adds scale * q_rope.e to each score of the row. */
static void check_score_shift(const mlaf_problem *p, const mlaf_loaded *l, uint32_t splits) {
  mlaf_testcase *t = make_case(p);
  const size_t d = (size_t)(p->rank + p->rope);
  for (size_t i = 0; i < t->ckv_count; i++) /* rope columns 0 at first, so that adding e is exact */
    if (i % d >= (size_t)p->rank) t->ckv[i] = 0;
  rig_output a = rig_run(&shared, l, t, splits);
  for (size_t i = 0; i < t->ckv_count; i++)
    if (i % d >= (size_t)p->rank) t->ckv[i] = mlaf_bf16_encode(0.25f);
  rig_output b = rig_run(&shared, l, t, splits);
  double distance = rig_distance(&b, &a, p);
  if (distance > 2.5e-3) fail_msg("a score shift moved O by %g", distance);
  for (size_t row = 0; row < a.rows; row++) {
    double shift = 0;
    for (size_t c = (size_t)p->rank; c < d; c++) shift += 0.25 * mlaf_bf16_decode(t->q[row * d + c]) * t->batch.scale;
    if (fabs(b.lse[row] - (a.lse[row] + shift)) > 1e-4 * (1 + fabs(a.lse[row])))
      fail_msg("row %zu: lse %g, shifted by %g it should be %g", row, b.lse[row], shift, a.lse[row] + shift);
  }
  rig_output_free(&a), rig_output_free(&b), mlaf_testcase_free(t);
}

/* Q zero: every visible token weighs the same. So lse = log(n), and O is linear in V: doubling V doubles O, bit by bit. */
static void check_linear_in_v(const mlaf_problem *p, const mlaf_loaded *l, uint32_t splits) {
  mlaf_testcase *t = make_case(p);
  memset(t->q, 0, t->q_count * 2);
  rig_output a = rig_run(&shared, l, t, splits);
  for (size_t i = 0; i < t->ckv_count; i++) t->ckv[i] = mlaf_bf16_encode(mlaf_bf16_decode(t->ckv[i]) * 2);
  rig_output b = rig_run(&shared, l, t, splits);
  for (size_t i = 0; i < a.rows * (size_t)p->rank; i++)
    assert_true(mlaf_bf16_decode(b.o[i]) == 2 * mlaf_bf16_decode(a.o[i]));
  for (size_t row = 0; row < a.rows; row++) {
    int32_t n = (int32_t[]){213, 64, 1}[row / (size_t)p->heads];
    assert_true(fabs(a.lse[row] - log(n)) < 1e-5);
  }
  rig_output_free(&a), rig_output_free(&b), mlaf_testcase_free(t);
}

/* Request `i` of a case alone; `tables` is room for its tables. */
static mlaf_testcase alone(const mlaf_testcase *t, const mlaf_problem *p, int32_t i, int32_t tables[5]) {
  const size_t d = (size_t)(p->heads * (p->rank + p->rope));
  const mlaf_batch *x = &t->batch;
  mlaf_testcase one = *t;
  tables[0] = tables[2] = 0;
  tables[1] = 1;
  tables[3] = x->kv_indptr[i + 1] - x->kv_indptr[i];
  tables[4] = x->kv_last_page_lens[i];
  one.q = t->q + (size_t)i * d;
  one.q_count = d;
  one.total_pages = tables[3];
  one.batch.batch = 1;
  one.batch.total_q = 1;
  one.batch.qo_indptr = tables;
  one.batch.kv_indptr = tables + 2;
  one.batch.kv_indices = x->kv_indices + x->kv_indptr[i];
  one.batch.kv_last_page_lens = tables + 4;
  return one;
}

/* Kernels that cut a request by its own length give it the same bits alone and among others: one, two and more parts. */
static void check_alone(const char *text, const char *name) {
  mlaf_problem p = rig_problem(text);
  const mlaf_case_spec spec = {.name = "property", .problem = p, .seed = 12, .n = 4, .q_lens = {1, 1, 1, 1},
                               .kv_lens = {700, 1, 6000, 213}, .score_std = 1.5};
  mlaf_testcase *t;
  mlaf_variant v;
  mlaf_err err;
  if (mlaf_testcase_make(&spec, MLAF_INJECT_NONE, &t, &err)) fail_msg("%s", err.text);
  if (mlaf_gen_variant(shared.gen, text, "gfx942", name, &v, &err)) fail_msg("%s", err.text);
  mlaf_loaded *l = rig_load(&shared, &p, &v);
  const size_t row = (size_t)(p.heads * p.rank);
  rig_output all = rig_run(&shared, l, t, v.knob);
  for (int32_t i = 0; i < spec.n; i++) {
    int32_t tables[5];
    const mlaf_testcase one = alone(t, &p, i, tables);
    rig_output got = rig_run(&shared, l, &one, v.knob);
    assert_memory_equal(got.o, all.o + (size_t)i * row, row * 2);
    assert_memory_equal(got.lse, all.lse + i * p.heads, (size_t)p.heads * 4);
    rig_output_free(&got);
  }
  rig_output_free(&all), mlaf_loaded_close(l), mlaf_variant_clear(&v), mlaf_testcase_free(t);
}

TEST(invariant_columns) {
  check_alone("mla_decode:h64,r512,p64,q1,bf16,page16,b4,s4096",
              "mfma_lds_invariant:blocks=1,load=vgpr,order=columns,rescale=lazy,stages=3,waves=4/s63,rows=4,team=2");
  check_alone("mla_decode:h128,r512,p64,q1,bf16,page1,b4,s4096",
              "mfma_lds_invariant:blocks=1,load=vgpr,order=columns,rescale=lazy,stages=3,waves=4/s48,rows=4,team=2");
}

TEST(repeatable) { for_both_families(check_repeatable); }
TEST(page_permutation) { for_both_families(check_page_permutation); }
TEST(split_equals_unsplit) { for_both_families(check_split_equals_unsplit); }
TEST(scale_moves_into_q) { for_both_families(check_scale_moves_into_q); }
TEST(score_shift) { for_both_families(check_score_shift); }
TEST(linear_in_v) { for_both_families(check_linear_in_v); }

TESTS(open_rig, close_rig)
