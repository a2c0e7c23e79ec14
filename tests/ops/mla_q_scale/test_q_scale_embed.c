/* The vendored loader makes of the arguments what the library makes of them: the same verdict, the same parameter block. Of two
 * faults each may name another one. */
#include "ops/mla_q_scale/embed/mlaf_embed_mla_q_scale.c" /* to look at its block */

#include <stdlib.h>

#include "cmocka_all.h"
#include "random_args.h"
#include "ops/mla_q_scale/launch.h"

enum { ROUNDS = 20000 };

/* Mostly in order; sometimes NULL, sometimes odd, sometimes too small. */
static void *address(void) { return address_but_one_of(60); }
static int64_t stride(void) {
  return or_extreme(next(2) ? 0 : next(20) ? (int64_t)(8 * (8 + next(1000))) : (int64_t)next(1000) - 20);
}

static mlaf_q_scale_args random_args(void) {
  mlaf_q_scale_args a = MLAF_Q_SCALE_ARGS_INIT;
  a.x = address(), a.y = next(3) ? address() : next(10) ? NULL : (void *)(uintptr_t)a.x;
  a.x_token_stride = stride(), a.x_head_stride = stride();
  if (a.y || !next(10)) a.y_token_stride = stride(), a.y_head_stride = stride();
  a.positions = address();
  a.beta = next(30) ? (float)next(1000) / 500 - 1 : INFINITY;
  a.original = or_extreme_32(next(30) ? 1 + (int32_t)next(100000) : -(int32_t)next(3));
  a.flags = next(30) ? 0 : (uint32_t)next(4);
  a.tokens = or_extreme(next(20) ? (int64_t)next(5000) : (int64_t)(x >> 30) - 5);
  return a;
}

static void the_same_launch(void **state) {
  int good = 0, refused = 0;
  for (int i = 0; i < ROUNDS; i++) {
    mlaf_bound b = {.point = {.op = mlaf_op_of("mla_q_scale:")}, .knob = 1};
    mlaf_embed_row row = {0};
    b.point.v[MLA_Q_SCALE_HEADS] = 1 + (int32_t)next(256), b.point.v[MLA_Q_SCALE_QDIM] = 8 * (1 + (int32_t)next(64));
    b.point.v[MLA_Q_SCALE_TOKENS] = 1;
    memcpy(row.values, b.point.v, sizeof row.values);
    b.stage[0] = (mlaf_stage){.threads = 128u << next(2), .rows_per_wg = 1 + (uint32_t)next(64)};
    const mlaf_embed_kernel k = {.threads = b.stage[0].threads, .rows_per_wg = b.stage[0].rows_per_wg};
    const mlaf_embed_plan plan = {.row = &row};
    const mlaf_q_scale_args a = random_args();
    const mlaf_embed_q_scale_args e = {a.flags, a.tokens, a.x, a.x_token_stride, a.x_head_stride, a.y, a.y_token_stride,
                                       a.y_head_stride, a.positions, a.beta, a.original};
    const shape s = shape_of(&plan);
    char why[256] = "";
    reason to = {why, sizeof why};
    mlaf_err err = {MLAF_OK, ""};
    const bool ours = mlaf_q_scale_calls.check_args(&b, 1, &a, &err) == MLAF_OK, theirs = check(&s, &k, &e, &to) == MLAF_EMBED_OK;
    if (ours != theirs) fail_msg("round %d: the library says '%s', the loader '%s'", i, err.text, why);
    refused += !ours;
    if (!ours || !a.tokens) continue;
    good++;
    static mlaf_prepared p;
    assert_int_equal(mlaf_q_scale_calls.prepare(&b, 1, &a, &p, &err), MLAF_OK);
    const kernel_args mine = fill(&s, &e);
    assert_memory_equal(&mine, p.parameters, sizeof mine);
    assert_int_equal(p.launches[0].grid[0], (mine.rows + k.rows_per_wg - 1) / k.rows_per_wg);
  }
  if (good < ROUNDS / 50 || refused < ROUNDS / 50) fail_msg("%d, %d", good, refused);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_launch)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
