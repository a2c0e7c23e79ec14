/* One nearest rule in three places: the tuning database, a bundle and the vendored loader answer the same questions from the same
 * tuned problems, and bundle and loader fit the same splits. */
#include "ops/mla_decode/embed/mlaf_embed_mla_decode.c" /* for its limit */

#include <math.h>
#include <unistd.h>

#include "bundle/bundle.h"
#include "ops/mla_decode/launch.h"
#include "op/nearest.h"
#include "cuda/fakecuda.h"
#include "db/db_fixture.h"
#include "embed/index.h"
#include "ops/mla_decode/fields.h"
#include "point.h"

_Static_assert((int)BATCH_MAX == (int)MLA_DECODE_BATCH_MAX,
               "the vendored loader has another limit than gen/ops/mla_decode/fields.lua");

enum { H = 128, Q = 2, QUESTIONS = 3000 };

static const unsigned char elf[64] = {0x7f, 'E', 'L', 'F'};
static const int batches[] = {1, 8, 9, 20, 64}, contexts[] = {256, 1024, 16384};
enum { GRID = sizeof batches / sizeof *batches * (sizeof contexts / sizeof *contexts), ROWS = 2 * GRID };

/* Decode kernels: two of the usual kind, one of which it is not known how many blocks run at once, one that is only ever used
 * with one split and so has no combine kernel anywhere, and two that may cut their batch: one has a combine kernel behind one
 * split, too, the other a plan that shows that it can do without. The last is the combine kernel. */
static const struct {
  uint32_t rows_per_wg, step, slots, flags;
} facts[] = {{64, 64, 132, 0}, {32, 16, 304, 0}, {64, 64, 0, 0}, {64, 128, 132, 0},
             {64, 64, 132, MLAF_KERNEL_FITS}, {64, 64, 132, MLAF_KERNEL_FITS | MLAF_KERNEL_MEETS}, {4, 0, 0, 0}};
enum { KERNELS = sizeof facts / sizeof *facts, ALONE = 3, ALWAYS = 4, FREE = 5, COMBINE = 6, DECODES = COMBINE };

/* The same tuned problems three times over. */
static struct {
  mlaf_bundle_kernel kernels[KERNELS];
  mlaf_bundle_plan plans[ROWS];
  char texts[ROWS][MLAF_PROBLEM_TEXT_MAX];
  mlaf_bundle bundle;
  mlaf_embed_kernel embedded[KERNELS];
  mlaf_embed_row rows[ROWS];
  mlaf_embed_target target;
  mlaf_embed_index index;
} t;

static mlaf_problem asked_at(int batch, int ctx) {
  mlaf_problem p = make_problem(H, batch, ctx);
  p.q_len = Q;
  p.causal = 1;
  return p;
}

static uint32_t splits_of(int decode, int i) {
  static const uint32_t some[] = {1, 2, 16, 77, 256};
  return decode == ALONE || (decode >= ALWAYS && i < 10) ? 1 : some[i % 5];
}

static void add(int n, int i, bool baseline) {
  const int decode = baseline ? 1 : i % DECODES;
  const mlaf_problem p = asked_at(batches[i / 3], contexts[i % 3]);
  const uint32_t splits = splits_of(decode, i + i / 5);
  const bool combined = splits > 1 || decode == ALWAYS;
  mlaf_problem_print(&p, t.texts[n], sizeof t.texts[n]);
  t.plans[n] = (mlaf_bundle_plan){.target = "sm_90a", .text = t.texts[n], .problem = point_of(&p), .baseline = baseline,
                                  .rung = "exact",
                                  .source = "measured", .variant = "x:a=1/s9,rows=1", .knob = splits,
                                  .kernels = {&t.kernels[decode], combined ? &t.kernels[COMBINE] : NULL}};
  t.rows[n] = (mlaf_embed_row){0, {H, p.rank, p.rope, Q, 1, 0, 0, p.page_size, p.batch, p.ctx}, baseline, (int32_t)splits,
                               {decode + 1, combined ? COMBINE + 1 : 0}};
}

static int setup(void **state) {
  for (int i = 0; i < GRID; i++) {
    add(2 * i, i, false);
    add(2 * i + 1, i, true);
  }
  for (int k = 0; k < KERNELS; k++) {
    t.kernels[k] = (mlaf_bundle_kernel){.target = "sm_90a", .rows_per_wg = facts[k].rows_per_wg, .step = facts[k].step,
                                        .slots = facts[k].slots, .flags = facts[k].flags};
    t.embedded[k] = (mlaf_embed_kernel){.code = elf, .symbol = "fill", .threads = 128, .rows_per_wg = facts[k].rows_per_wg,
                                        .step = facts[k].step, .slots = facts[k].slots,
                                        .flags = facts[k].flags};
  }
  t.bundle = (mlaf_bundle){.plans = t.plans, .n_plans = ROWS, .kernels = t.kernels, .n_kernels = KERNELS};
  t.target = (mlaf_embed_target){"sm_90a", t.embedded, t.rows, KERNELS, ROWS};
  t.index = index_of(&t.target);
  char path[600];
  snprintf(path, sizeof path, "%s/fakecuda/libfakecuda.so", getenv("MLAF_BUILD_DIR") ? getenv("MLAF_BUILD_DIR") : ".");
  setenv("MLAF_CUDA_LIBRARY", path, 1);
  return db_dir_setup(state);
}

/* The grid's own problems, what lies between, ties (batch 3 of 1 and 9), and far outside. */
static mlaf_problem question(int i) {
  static uint64_t x = 88172645463325252u;
  if (i < GRID) return asked_at(batches[i / 3], contexts[i % 3]);
  x ^= x << 13, x ^= x >> 7, x ^= x << 17;
  return i % 2 ? asked_at(1 + (int)(x % 100), 1 << (x >> 32) % 18) : asked_at(1 << x % 11, 1 + (int)((x >> 32) % 100000));
}

static mlaf_db *tuned_db(const db_dir *d, const mlaf_device_info *dev) {
  mlaf_db *db = open_db(d->path);
  for (int i = 0; i < GRID; i++) {
    mlaf_sample s = make_sample("some", 100, "v1");
    add_sample(db, dev, &t.plans[2 * i].problem, &s);
  }
  return db;
}

static bool is_for_any(const mlaf_bundle_plan *x) { return x->kernels[0]->flags & MLAF_KERNEL_FITS; }

/* What the planner tells the database, by what the generator says of a kernel. */
static bool not_for_one(void *user, const mlaf_choice *c) {
  for (int i = 0; i < ROWS; i += 2)
    if (!strcmp(c->problem, t.plans[i].text)) return !mlaf_stands_back(pt(user), &t.plans[i].problem) || is_for_any(&t.plans[i]);
  fail_msg("no plan of %s", c->problem);
  return false;
}

static void unheard(void *user, const mlaf_db_considered *step) {}

static void three_answers_agree(void **state) {
  const mlaf_device_info dev = make_device("d");
  mlaf_db *db = tuned_db(*state, &dev);
  mlaf_embed *e = NULL;
  char why[500] = "";
  if (mlaf_embed_open(&t.index, 0, &e, why, sizeof why)) fail_msg("%s", why);
  int passed = 0, fitted = 0, borrowed = 0, kept = 0, behind_one = 0, free_of_it = 0;
  for (int i = 0; i < QUESTIONS; i++) {
    mlaf_problem p = question(i);
    const mlaf_embed_decode_problem asked = {H, p.rank, p.rope, Q, 1, MLAF_EMBED_DECODE_BF16, p.page_size, p.batch, p.ctx,
                                             p.rotate};
    const mlaf_embed_plan *plan = NULL;
    const mlaf_bundle_plan **list = NULL;
    mlaf_bundle_fitted f;
    mlaf_choice choice;
    mlaf_rung rung;
    mlaf_err err;
    size_t n;
    assert_int_equal(mlaf_db_peek(db, &dev, NULL, pt(&p), &choice, &rung, &err), MLAF_OK);
    passed += !not_for_one(&p, &choice);
    assert_int_equal(mlaf_db_why(db, &dev, NULL, pt(&p), not_for_one, &p, unheard, NULL, &choice, &rung, &err), MLAF_OK);
    assert_int_equal(mlaf_bundle_rank(&t.bundle, "sm_90a", pt(&p), &list, &n, &err), MLAF_OK);
    if (mlaf_embed_decode_plan(e, &asked, &plan, why, sizeof why)) fail_msg("%s", why);
    mlaf_bundle_fit(list, n, list[0], pt(&p), &f);
    assert_string_equal(choice.problem, list[0]->text);
    assert_ptr_equal(plan->row, &t.rows[list[0] - t.plans]);
    assert_int_equal(plan->knob, f.knob);
    assert_int_equal(plan->kernels[1] ? plan->kernels[1] - t.embedded : -1, f.kernels[1] ? f.kernels[1] - t.kernels : -1);
    const bool always = list[0]->kernels[0] == &t.kernels[ALWAYS];
    assert_true((f.knob > 1 || always) == (f.kernels[1] != NULL));
    if (i < GRID) assert_int_equal(f.knob, list[0]->knob); /* what was tuned stands */
    fitted += f.knob != list[0]->knob;
    borrowed += !list[0]->kernels[1] && f.knob > 1;
    kept += list[0]->kernels[0] == &t.kernels[ALONE] && f.knob == 1;
    behind_one += always && f.knob == 1 && list[0]->knob > 1;
    free_of_it += list[0]->kernels[0] == &t.kernels[FREE] && f.knob == 1 && list[0]->knob > 1;
    free(list);
  }
  assert_true(passed > 10 && behind_one > 0 && free_of_it > 0);
  assert_true(fitted > QUESTIONS / 4 && borrowed > 0 && kept > 0);
  mlaf_embed_close(e);
  mlaf_db_close(db);
}

/* The loader takes sizes that no plan is made for: its answer is the largest one's, and it comes. */
static void sizes_beyond_all_plans(void **state) {
  mlaf_embed *e = NULL;
  char why[500] = "";
  if (mlaf_embed_open(&t.index, 0, &e, why, sizeof why)) fail_msg("%s", why);
  const int sizes[][2] = {{64, INT32_MAX}, {INT32_MAX, 16384}, {INT32_MAX, INT32_MAX}};
  alarm(60);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const mlaf_problem p = asked_at(sizes[i][0], sizes[i][1]);
    const mlaf_embed_decode_problem asked = {H, p.rank, p.rope, Q, 1, MLAF_EMBED_DECODE_BF16, p.page_size, p.batch, p.ctx,
                                             p.rotate};
    const mlaf_embed_plan *plan = NULL;
    if (mlaf_embed_decode_plan(e, &asked, &plan, why, sizeof why)) fail_msg("%s", why);
    assert_ptr_equal(plan->row, &t.rows[ROWS - 2]);
  }
  alarm(0);
  mlaf_embed_close(e);
}

static void splits_fill_the_device(void **state) {
  const mlaf_fit_kernel k = {64, 64, 132}, no_slots = {64, 64, 0}, no_step = {64, 0, 132};
  mlaf_problem p = asked_at(4, 16384); /* 16 workgroups of a split, 256 rounds of tokens */
  assert_int_equal(mlaf_fit_knob(pt(&p), &k, 16), 8); /* 8 x 16 = 128 at once; 16 would take two rounds of workgroups */
  p.batch = 33;
  assert_int_equal(mlaf_fit_knob(pt(&p), &k, 8), 1); /* 132 workgroups: one round without a combine kernel */
  p = asked_at(1, 100); /* two rounds of tokens */
  assert_int_equal(mlaf_fit_knob(pt(&p), &k, 77), 1); /* nothing to divide */
  assert_int_equal(mlaf_fit_knob(pt(&p), &no_slots, 132), 132);
  assert_int_equal(mlaf_fit_knob(pt(&p), &no_step, 132), 132);
}

static void names_rebuild_the_variant(void **state) {
  const mlaf_bundle_plan **list = NULL;
  mlaf_bundle_fitted f;
  mlaf_err err;
  size_t n;
  const mlaf_problem p = asked_at(1, 1100);
  assert_int_equal(mlaf_bundle_rank(&t.bundle, "sm_90a", pt(&p), &list, &n, &err), MLAF_OK);
  mlaf_bundle_fit(list, n, list[0], pt(&p), &f);
  char name[64];
  if (f.knob > 1) snprintf(name, sizeof name, "x:a=1/s%u,rows=1", f.knob);
  else snprintf(name, sizeof name, "x:a=1/s1");
  assert_true(f.knob != list[0]->knob);
  assert_string_equal(f.variant, name);
  free(list);
}

static void reach(void **state) {
  const mlaf_problem p = asked_at(8, 1024), near = asked_at(16, 8192), far = asked_at(16, 8193), one = asked_at(4, 1024);
  const double to_near = mlaf_point_doublings(pt(&p), pt(&near)), to_far = mlaf_point_doublings(pt(&p), pt(&far));
  assert_true(mlaf_in_reach(pt(&p), to_near, false) && !mlaf_in_reach(pt(&p), to_far, false));
  assert_true(mlaf_in_reach(pt(&p), mlaf_point_doublings(pt(&p), pt(&one)), true) && !mlaf_in_reach(pt(&p), to_near, true));
  /* What was tuned for one number of tokens is no choice of a projection's for another. */
  mlaf_point tokens;
  assert_int_equal(mlaf_point_parse(NULL, "mla_v_out:h16,r512,v128,bf16,t16", &tokens, NULL, 0), MLAF_OK);
  assert_true(mlaf_in_reach(&tokens, 0, false) && !mlaf_in_reach(&tokens, 1, false) && !mlaf_in_reach(&tokens, 1, true));
  assert_true(fabs(to_near - 4) < 1e-12 && mlaf_point_doublings(pt(&p), pt(&p)) == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(three_answers_agree), cmocka_unit_test(sizes_beyond_all_plans),
      cmocka_unit_test(splits_fill_the_device),
      cmocka_unit_test(names_rebuild_the_variant), cmocka_unit_test(reach),
  };
  return cmocka_run_group_tests(tests, setup, db_dir_teardown);
}
