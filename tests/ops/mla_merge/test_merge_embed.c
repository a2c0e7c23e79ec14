/* The vendored loader makes of the arguments what the library makes of them: the same verdict, the same parameter block. Of two
 * faults each may name another one. */
#include "ops/mla_merge/embed/mlaf_embed_mla_merge.c" /* to look at its block */

#include <stdlib.h>

#include "cmocka_all.h"
#include "random_args.h"
#include "ops/mla_merge/launch.h"

enum { ROUNDS = 20000 };

/* Mostly in order; sometimes NULL, sometimes odd, sometimes too small. */
static void *address(void) { return address_but_one_of(60); }
static int64_t stride(void) { return next(2) ? 0 : next(20) ? (int64_t)(8 * (8 + next(1000))) : (int64_t)next(1000) - 20; }
static mlaf_merge_part random_part(void) {
  mlaf_merge_part p = {.o = address(), .lse = address()};
  if (next(2)) p.o_token_stride = or_extreme(stride()), p.o_head_stride = or_extreme(stride());
  if (next(2)) {
    p.lse_token_stride = or_extreme(1 + (int64_t)next(9));
    p.lse_head_stride = or_extreme((int64_t)next(5000) - (next(20) ? 0 : 5000));
  }
  return p;
}

static mlaf_merge_args random_args(void) {
  mlaf_merge_args a = MLAF_MERGE_ARGS_INIT;
  a.prefix = random_part(), a.suffix = random_part();
  const mlaf_merge_part to = next(3) ? random_part() : next(2) ? a.prefix : a.suffix;
  a.o = (void *)(uintptr_t)to.o, a.o_token_stride = to.o_token_stride, a.o_head_stride = to.o_head_stride;
  a.lse = next(3) ? (float *)(uintptr_t)to.lse : NULL, a.lse_token_stride = to.lse_token_stride;
  a.lse_head_stride = to.lse_head_stride;
  a.flags = next(20) ? (uint32_t)next(4) : (uint32_t)next(64);
  if (a.flags & MLAF_MERGE_IN_PLACE && next(10)) a.o = NULL, a.lse = NULL;
  a.tokens = or_extreme(next(20) ? (int64_t)next(5000) : (int64_t)(x >> 30) - 5);
  return a;
}

static mlaf_embed_merge_part copied(const mlaf_merge_part *p) {
  return (mlaf_embed_merge_part){p->o, p->o_token_stride, p->o_head_stride, p->lse, p->lse_token_stride, p->lse_head_stride};
}

static void the_same_launch(void **state) {
  int good = 0, refused = 0;
  for (int i = 0; i < ROUNDS; i++) {
    mlaf_bound b = {.point = {.op = mlaf_op_of("mla_merge:")}, .knob = 1};
    mlaf_embed_row row = {0};
    b.point.v[MLA_MERGE_HEADS] = 1 + (int32_t)next(256), b.point.v[MLA_MERGE_VDIM] = 8 * (1 + (int32_t)next(64));
    b.point.v[MLA_MERGE_TOKENS] = 1;
    memcpy(row.values, b.point.v, sizeof row.values);
    b.stage[0] = (mlaf_stage){.threads = 64u << next(3), .rows_per_wg = 1 + (uint32_t)next(64)};
    const mlaf_embed_kernel k = {.threads = b.stage[0].threads, .rows_per_wg = b.stage[0].rows_per_wg};
    const mlaf_embed_plan plan = {.row = &row};
    const mlaf_merge_args a = random_args();
    const mlaf_embed_merge_args e = {.flags = a.flags, .tokens = a.tokens, .prefix = copied(&a.prefix),
                                     .suffix = copied(&a.suffix), .o = a.o, .o_token_stride = a.o_token_stride,
                                     .o_head_stride = a.o_head_stride,
                                     .lse = a.lse, .lse_token_stride = a.lse_token_stride, .lse_head_stride = a.lse_head_stride};
    const shape s = shape_of(&plan);
    char why[256] = "";
    reason to = {why, sizeof why};
    mlaf_err err = {MLAF_OK, ""};
    const bool ours = mlaf_merge_calls.check_args(&b, 1, &a, &err) == MLAF_OK, theirs = check(&s, &k, &e, &to) == MLAF_EMBED_OK;
    if (ours != theirs) fail_msg("round %d: the library says '%s', the loader '%s'", i, err.text, why);
    refused += !ours;
    if (!ours || !a.tokens) continue;
    good++;
    static mlaf_prepared p;
    assert_int_equal(mlaf_merge_calls.prepare(&b, 1, &a, &p, &err), MLAF_OK);
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
