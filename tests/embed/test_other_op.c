/* The loader knows no operation: one that is none of the library's, with other fields, three sizes and one kernel, gets its plans
 * and launches from the same file, beside mla_decode's. "scale:n4,flip,rows...,cols...,reps..." */
#include "mlaf_embed_inside.h"
#include "mlaf_embed_mla_decode.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "cuda/fakecuda.h"
#include "embed/index.h"

/* --- what an operation's folder would hold --- */

typedef struct toy_problem { int32_t width, mode, deep, rows, cols, reps; } toy_problem;
typedef struct toy_args { uint32_t *to; uint32_t value, n; } toy_args;

static int32_t fit_toy(const int32_t *asked, const mlaf_embed_kernel *k, int32_t knob) {
  toy_problem p;
  memcpy(&p, asked, sizeof p);
  return knob + p.reps;
}
static int of_one_row(const int32_t *asked, const int32_t *tuned) { return asked[3] > 1 && tuned[3] == 1; }
static int for_all(const mlaf_embed_kernel *k) { return k->step == 7; }
static const mlaf_embed_rules toy = {"toy", for_all, of_one_row, fit_toy, 0}, unknown = {"nobody", NULL, NULL, NULL, 0};

static mlaf_embed_status toy_plan(mlaf_embed *e, const toy_problem *p, const mlaf_embed_plan **out, char *why, size_t size) {
  return mlaf_embed_plan_for(e, &toy, (const int32_t *)p, out, why, size);
}
static int toy_run(const mlaf_embed_plan *x, const toy_args *a) {
  toy_args copy = *a;
  const uint32_t grid[] = {3, 2, 1};
  int previous = 0, code = mlaf_embed_enter(x->owner, &previous);
  if (code) return code;
  code = mlaf_embed_launch(x->owner, x->kernels[0], x->functions[0], grid, &copy, sizeof copy, NULL);
  mlaf_embed_leave(x->owner, previous);
  return code;
}

/* --- what `mlaforge embed` would write --- */

static const unsigned char elf[64] = {0x7f, 'E', 'L', 'F'}, alien[64] = {0x7f, 'E', 'L', 'F', 0, 0, 0, 0x77};
static const mlaf_embed_kernel kernels[] = {
    {.code = elf, .symbol = "fill", .threads = 64, .rows_per_wg = 1},
    {.code = alien, .symbol = "fill", .threads = 64, .rows_per_wg = 1},
    {.code = elf, .symbol = "fill", .threads = 32, .rows_per_wg = 1, .step = 7},
    {.code = elf, .symbol = "big", .threads = 32, .rows_per_wg = 1},
};
static const mlaf_embed_field toy_fields[] = {
    {"width", "n", NULL, 0, 0, -1, 0, 0, 0, 0, NULL},
    {"mode", NULL, (const char *const[]){"", "flip", "turn"}, 3, 0, -1, 0, 0, 0, 0, NULL},
    {"deep", "d", NULL, 0, 0, 1, 2, 0, 0, 0, NULL},   {"rows", "a", NULL, 0, 1, -1, 0, 0, 0, 0, NULL},
    {"cols", "c", NULL, 0, 1, -1, 0, 0, 0, 0, NULL},  {"reps", "k", NULL, 0, 1, -1, 0, 0, 0, 0, NULL}};
static const mlaf_embed_op ops[] = {{"mla_decode", decode_fields, 9}, {"toy", toy_fields, 6}};
static const mlaf_embed_row rows[] = {
    {0, {4, 1, 5, 8, 8, 8, 64, 8, 8}, 0, 1, {4}}, /* mla_decode's: its first values are those of a toy */
    {1, {4, 1, 5, 8, 8, 8}, 0, 1, {1}},           /* 1 */
    {1, {4, 1, 5, 8, 8, 8}, 1, 2, {1}},           /* 2: the baseline of the same */
    {1, {4, 1, 5, 8, 64, 8}, 0, 3, {1}},          /* 3 */
    {1, {4, 1, 5, 64, 8, 8}, 0, 4, {1}},          /* 4 */
    {1, {4, 2, 5, 8, 8, 8}, 0, 5, {1}},           /* 5 */
    {1, {4, 0, 5, 8, 8, 8}, 0, 6, {2}},           /* 6: its kernel does not load */
    {1, {4, 0, 5, 512, 8, 8}, 1, 7, {1}},         /* 7 */
    {1, {9, 0, 5, 1, 8, 8}, 0, 8, {1}},           /* 8: for one row */
    {1, {9, 0, 5, 512, 8, 8}, 0, 9, {3}},         /* 9: for any */
};
static const mlaf_embed_target target = {"sm_90a", kernels, rows, 4, sizeof rows / sizeof *rows};
static const mlaf_embed_index both = {MLAF_EMBED_VERSION, 1, "", &target, ops, 2};

static void *driver;
static mlaf_embed *device;

static int setup(void **state) {
  char path[600];
  snprintf(path, sizeof path, "%s/fakecuda/libfakecuda.so", getenv("MLAF_BUILD_DIR") ? getenv("MLAF_BUILD_DIR") : ".");
  setenv("MLAF_CUDA_LIBRARY", path, 1);
  driver = dlopen(path, RTLD_NOW);
  return !driver || mlaf_embed_open(&both, 0, &device, NULL, 0);
}
static int teardown(void **state) {
  mlaf_embed_close(device);
  return 0;
}

static void nearest_in_all_sizes(void **state) {
  static const struct {
    toy_problem asked;
    int row, knob;
  } cases[] = {
      {{4, 1, 5, 8, 8, 8}, 1, 1},          /* the choice, not its baseline, and as it was tuned */
      {{4, 1, 5, 8, 23, 8}, 3, 11},        /* of two in one size the nearer in doublings: 64, not 8 */
      {{4, 1, 5, 8, 22, 8}, 1, 9},
      {{4, 1, 5, 24, 24, 8}, 4, 12},       /* as far from 3 and 4: the nearer in the first size */
      {{4, 1, 5, 64, 9, 2}, 4, 6},         /* the third size asks for another knob */
      {{4, 2, 77, 8, 8, 8}, 5, 5},         /* mode 2 does not look at deep */
      {{4, 0, 5, 8, 8, 8}, 7, 15},         /* the nearest does not load: the baseline far away */
      {{9, 0, 5, 2, 8, 8}, 9, 17},         /* for one row stands back, however near */
      {{9, 0, 5, 1, 8, 8}, 8, 8},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const mlaf_embed_plan *plan = NULL, *again = NULL;
    char why[300] = "";
    if (toy_plan(device, &cases[i].asked, &plan, why, sizeof why)) fail_msg("case %zu: %s", i, why);
    if (plan->row != &rows[cases[i].row]) fail_msg("case %zu: row %td", i, plan->row - rows);
    assert_int_equal(mlaf_embed_plan_knob(plan), cases[i].knob);
    assert_int_equal(toy_plan(device, &cases[i].asked, &again, NULL, 0), MLAF_EMBED_OK);
    assert_ptr_equal(plan, again);
  }
}

static void says_what_is_missing(void **state) {
  static const toy_problem absent = {5, 1, 6, 8, 8, 8}, moot = {5, 2, 6, 8, 8, 8}, plain = {5, 0, 6, 8, 8, 8},
                           none = {4, 1, 5, 8, 0, 8};
  static const struct {
    const toy_problem *asked;
    mlaf_embed_status status;
    const char *says;
  } cases[] = {{&absent, MLAF_EMBED_NO_KERNEL, "for toy:n5,flip,d6 on sm_90a"},
               {&moot, MLAF_EMBED_NO_KERNEL, "for toy:n5,turn on sm_90a"},
               {&plain, MLAF_EMBED_NO_KERNEL, "for toy:n5,d6 on sm_90a"},
               {&none, MLAF_EMBED_ARG, "cols is below 1"}};
  const mlaf_embed_plan *plan = NULL;
  char why[300];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(toy_plan(device, cases[i].asked, &plan, why, sizeof why), cases[i].status);
    if (!strstr(why, cases[i].says)) fail_msg("case %zu: %s", i, why);
  }
  assert_int_equal(mlaf_embed_plan_for(device, &unknown, (const int32_t *)&absent, &plan, why, sizeof why), MLAF_EMBED_NO_KERNEL);
  assert_non_null(strstr(why, "no kernel of nobody is embedded"));
  assert_null(plan);
}

static void launches(void **state) {
  static uint32_t to[4];
  static const toy_problem asked = {4, 1, 5, 8, 8, 8};
  const toy_args args = {to, 0x70, 2};
  const mlaf_embed_plan *plan = NULL;
  fake_launch (*last)(void);
  void *f = dlsym(driver, "fakecuda_last");
  memcpy(&last, &f, sizeof f);
  assert_int_equal(toy_plan(device, &asked, &plan, NULL, 0), MLAF_EMBED_OK);
  assert_int_equal(toy_run(plan, &args), 0);
  assert_true(to[0] == 0x70 && to[1] == 0x70 && to[2] == 0);
  const fake_launch l = last();
  assert_true(l.grid[0] == 3 && l.grid[1] == 2 && l.grid[2] == 1 && l.block[0] == 64);
  /* and no operation runs another one's plan */
  const mlaf_embed_decode_args of_decode = {.batch = 1};
  char why[300] = "";
  assert_int_equal(mlaf_embed_decode_execute(plan, &of_decode, NULL, why, sizeof why), MLAF_EMBED_ARG);
  assert_non_null(strstr(why, "a plan of another operation, toy"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(nearest_in_all_sizes), cmocka_unit_test(says_what_is_missing),
                                     cmocka_unit_test(launches)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
