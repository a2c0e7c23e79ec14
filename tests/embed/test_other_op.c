/* The loader knows no operation: one that is none of the library's, with other fields, three sizes and one kernel, gets its plans
 * and launches from the same file, beside mla_decode's. "scale:n4,flip,rows...,cols...,reps..." */
#include "mlaf_embed_inside.h"
#include "mlaf_embed_mla_decode.h"

#include <dlfcn.h>

#include "cmocka_all.h"
#include "cuda/fakecuda.h"
#include "embed/index.h"

/* --- what an operation's folder would hold --- */

typedef struct toy_problem { int32_t width, mode, deep, rows, cols, reps; } toy_problem;
typedef struct toy_args { uint32_t *to; uint32_t value, n; } toy_args;

static uint32_t fit_toy(const mlaf_embed_point *asked, const mlaf_embed_fit_kernel *k, uint32_t knob) {
  return knob + (uint32_t)asked->v[5]; /* reps */
}
static bool of_one_row(const mlaf_embed_point *asked, const mlaf_embed_point *tuned) {
  return asked->v[3] > 1 && tuned->v[3] == 1;
}
static bool for_all(uint32_t flags) { return flags == MLAF_EMBED_KERNEL_TURNS; }
static mlaf_embed_status check_stages(const mlaf_embed_bound *b, mlaf_embed_err *err) {
  return b->stage[0].rows_per_wg == 1 ? MLAF_EMBED_OK : mlaf_embed_fail(err, MLAF_EMBED_E_TEMPLATE, "not one row a workgroup");
}
static mlaf_embed_status check_args(const mlaf_embed_bound *b, uint32_t knob, const void *args, mlaf_embed_err *err) {
  const toy_args *a = args;
  return a->to ? MLAF_EMBED_OK : mlaf_embed_fail(err, MLAF_EMBED_E_ARG, "to is NULL, %g", 0.5);
}
static mlaf_embed_status prepare(const mlaf_embed_bound *b, uint32_t knob, const void *args, mlaf_embed_prepared *out,
                                 mlaf_embed_err *err) {
  memcpy(out->parameters, args, sizeof(toy_args));
  out->launches[0] = (mlaf_embed_launch){.fn = b->stage[0].fn, .grid = {3, 2, 1}, .block = {b->stage[0].threads, 1, 1},
                                         .args = out->parameters, .args_size = sizeof(toy_args)};
  out->n = 1;
  return MLAF_EMBED_OK;
}
static const mlaf_embed_calls calls = {.check_stages = check_stages, .check_args = check_args, .prepare = prepare,
                                       .fit_knob = fit_toy, .stands_back = of_one_row, .any_lengths = for_all};
#define NUMBER(name_, key_, role_) \
  {.name = name_, .label = name_, .key = key_, .min = 1, .max = 1 << 20, .multiple = 1, .role = role_, .moot_by = -1, \
   .steps = 2, .first = 1}
static const mlaf_embed_field fields[] = {
    NUMBER("width", "n", MLAF_EMBED_SHAPE),
    {.name = "mode", .words = (const char *const[]){"", "flip", "turn"}, .max = 2, .moot_by = -1},
    {.name = "deep", .key = "d", .max = 99, .moot_by = 1, .moot_at = 2},
    NUMBER("rows", "a", MLAF_EMBED_SIZE),
    NUMBER("cols", "c", MLAF_EMBED_SIZE),
    NUMBER("reps", "k", MLAF_EMBED_SIZE),
};
static const mlaf_embed_op toy = {.name = "toy", .fields = fields, .n_fields = 6, .calls = &calls},
                           unknown = {.name = "nobody", .fields = fields, .n_fields = 6, .calls = &calls},
                           longer = {.name = "toy", .fields = fields, .n_fields = 5, .calls = &calls};

static mlaf_embed_status toy_plan(mlaf_embed *e, const toy_problem *p, const mlaf_embed_plan **out, char *why, size_t size) {
  return mlaf_embed_plan_for(e, &toy, (const int32_t *)p, out, why, size);
}

/* --- what `mlaforge embed` would write --- */

static const unsigned char elf[64] = {0x7f, 'E', 'L', 'F'}, alien[64] = {0x7f, 'E', 'L', 'F', 0, 0, 0, 0x77};
static const mlaf_embed_kernel kernels[] = {
    {.code = elf, .symbol = "fill", .threads = 64, .rows_per_wg = 1},
    {.code = alien, .symbol = "fill", .threads = 64, .rows_per_wg = 1},
    {.code = elf, .symbol = "fill", .threads = 32, .rows_per_wg = 1, .launch = {.flags = MLAF_EMBED_KERNEL_TURNS}},
    {.code = elf, .symbol = "big", .threads = 32, .rows_per_wg = 1},
};
static const mlaf_embed_index_op ops[] = {{"mla_decode", 11}, {"toy", 6}};
static const mlaf_embed_row rows[] = {
    {0, {4, 1, 5, 8, 8, 8, 0, 64, 8, 8}, 0, 1, {4}}, /* mla_decode's: its first values are those of a toy */
    {1, {4, 1, 5, 8, 8, 8}, 0, 1, {1}},           /* 1 */
    {1, {4, 1, 5, 8, 8, 8}, 1, 2, {1}},           /* 2: the baseline of the same */
    {1, {4, 1, 5, 8, 64, 8}, 0, 3, {1}},          /* 3 */
    {1, {4, 1, 5, 64, 8, 8}, 0, 4, {1}},          /* 4 */
    {1, {4, 2, 0, 8, 8, 8}, 0, 5, {1}},           /* 5 */
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

TEST(nearest_in_all_sizes) {
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

TEST(says_what_is_missing) {
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
  assert_int_equal(mlaf_embed_plan_for(device, &longer, (const int32_t *)&absent, &plan, why, sizeof why), MLAF_EMBED_ARG);
  assert_non_null(strstr(why, "the index was written for another toy"));
  assert_null(plan);
}

TEST(launches) {
  static uint32_t to[4];
  static const toy_problem asked = {4, 1, 5, 8, 8, 8};
  const toy_args args = {to, 0x70, 2};
  const mlaf_embed_plan *plan = NULL;
  fake_launch (*last)(void);
  void *f = dlsym(driver, "fakecuda_last");
  memcpy(&last, &f, sizeof f);
  assert_int_equal(toy_plan(device, &asked, &plan, NULL, 0), MLAF_EMBED_OK);
  assert_int_equal(mlaf_embed_run(plan, &toy, &args, NULL, NULL, 0), MLAF_EMBED_OK);
  assert_true(to[0] == 0x70 && to[1] == 0x70 && to[2] == 0);
  const fake_launch l = last();
  assert_true(l.grid[0] == 3 && l.grid[1] == 2 && l.grid[2] == 1 && l.block[0] == 64);
  /* and no operation runs another one's plan */
  const mlaf_embed_decode_args of_decode = {.batch = 1};
  const toy_args nowhere = {NULL, 1, 1};
  char why[300] = "", little[8];
  assert_int_equal(mlaf_embed_decode_execute(plan, &of_decode, NULL, why, sizeof why), MLAF_EMBED_ARG);
  assert_non_null(strstr(why, "a plan of another operation, toy"));
  assert_int_equal(mlaf_embed_run(plan, &toy, &nowhere, NULL, why, sizeof why), MLAF_EMBED_ARG);
  assert_string_equal(why, "to is NULL, 0.5");
  assert_int_equal(mlaf_embed_run(plan, &toy, &nowhere, NULL, little, sizeof little), MLAF_EMBED_ARG);
  assert_string_equal(little, "to is N");
  assert_int_equal(mlaf_embed_run(plan, &toy, &nowhere, NULL, NULL, 0), MLAF_EMBED_ARG);
  assert_int_equal(last().total, l.total);
}

TESTS(setup, teardown)
