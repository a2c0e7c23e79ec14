/* The vendored loader makes of the arguments what the library makes of them: the same verdict, the same parameter block. Of two
 * faults each may name another one. */
#include "ops/mla_dequant/embed/mlaf_embed_mla_dequant.c" /* to look at its block */

#include <stdlib.h>

#include "cmocka_all.h"
#include "random_args.h"
#include "ops/mla_dequant/launch.h"

enum { ROUNDS = 20000 };

/* Mostly in order; sometimes NULL, sometimes odd, sometimes too small. */
static void *address(void) { return address_but_one_of(60); }
static int64_t stride(void) { return next(2) ? 0 : next(20) ? (int64_t)(16 * (32 + next(1000))) : (int64_t)next(1000) - 20; }

static mlaf_dequant_args random_args(void) {
  mlaf_dequant_args a = MLAF_DEQUANT_ARGS_INIT;
  a.w = address(), a.w_scale = address(), a.y = next(30) ? address() : (void *)(uintptr_t)a.w;
  a.w_row_stride = or_extreme(stride()), a.y_row_stride = or_extreme(stride());
  a.w_scale_row_stride = or_extreme(next(2) ? 0 : (int64_t)next(400) - 2);
  a.w_scale_row = or_extreme(next(20) ? (int64_t)next(5000) : -1 - (int64_t)next(5));
  a.w_scale_column = or_extreme(next(20) ? (int64_t)(8 * next(500)) : (int64_t)next(1000) - 50);
  a.flags = next(30) ? 0 : (uint32_t)next(4);
  a.rows = or_extreme(next(20) ? (int64_t)next(50000) : (int64_t)(x >> 30) - 5);
  return a;
}

static void the_same_launch(void **state) {
  int good = 0, refused = 0;
  for (int i = 0; i < ROUNDS; i++) {
    mlaf_bound b = {.point = {.op = mlaf_op_of("mla_dequant:")}, .knob = 1};
    mlaf_embed_row row = {0};
    b.point.v[MLA_DEQUANT_COLUMNS] = 32 * (1 + (int32_t)next(16)), b.point.v[MLA_DEQUANT_W_ROWS] = 1;
    memcpy(row.values, b.point.v, sizeof row.values);
    b.stage[0] = (mlaf_stage){.threads = 128u << next(2), .rows_per_wg = 1 + (uint32_t)next(64)};
    const mlaf_embed_kernel k = {.threads = b.stage[0].threads, .rows_per_wg = b.stage[0].rows_per_wg};
    const mlaf_embed_plan plan = {.row = &row};
    const mlaf_dequant_args a = random_args();
    const mlaf_embed_dequant_args e = {a.flags, a.rows, a.w, a.w_row_stride, a.w_scale, a.w_scale_row_stride, a.w_scale_row,
                                       a.w_scale_column, a.y, a.y_row_stride};
    const int columns = columns_of(&plan);
    char why[256] = "";
    reason to = {why, sizeof why};
    mlaf_err err = {MLAF_OK, ""};
    const bool ours = mlaf_dequant_calls.check_args(&b, 1, &a, &err) == MLAF_OK;
    const bool theirs = check(columns, &k, &e, &to) == MLAF_EMBED_OK;
    if (ours != theirs) fail_msg("round %d: the library says '%s', the loader '%s'", i, err.text, why);
    refused += !ours;
    if (!ours || !a.rows) continue;
    good++;
    static mlaf_prepared p;
    assert_int_equal(mlaf_dequant_calls.prepare(&b, 1, &a, &p, &err), MLAF_OK);
    const kernel_args mine = fill(columns, &e);
    assert_memory_equal(&mine, p.parameters, sizeof mine);
    assert_int_equal(p.launches[0].grid[0], (mine.rows + k.rows_per_wg - 1) / k.rows_per_wg);
  }
  if (good < ROUNDS / 50 || refused < ROUNDS / 50) fail_msg("%d, %d", good, refused);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_launch)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
