/* The vendored loader makes of the arguments what the library makes of them: the same checks, the same parameter block. */
#include "ops/mla_append/embed/mlaf_embed_mla_append.c" /* to look at its block */

#include <stdlib.h>

#include "cmocka_all.h"
#include "random_args.h"
#include "ops/mla_append/append.h"

#define MEMBERS(X) \
  X(flags) X(tokens) X(ckv) X(kpe) X(ckv_row_stride) X(kpe_row_stride) X(norm_weight) X(eps) X(scale) \
  X(scale_at) X(slots) X(positions) X(cos) X(sin) X(table_row_stride) X(table_rows) X(cache) X(cache_kpe) \
  X(cache_row_stride) X(cache_kpe_row_stride) X(num_slots) X(cache_page_stride) X(cache_kpe_page_stride) \
  X(page_tokens) X(kpe_out) X(kpe_out_row_stride) X(q_nope) X(q_pe) X(q_nope_token_stride) \
  X(q_nope_head_stride) X(q_pe_token_stride) X(q_pe_head_stride) X(q_out) X(q_out_token_stride) \
  X(q_out_head_stride) X(q_pe_out) X(q_pe_out_token_stride) X(q_pe_out_head_stride)

enum { ROUNDS = 20000 };

/* Mostly in order; each member is sometimes NULL, sometimes odd, sometimes too small. */
static void *address(void) { return address_but_one_of(60); }
static int64_t stride(void) {
  return next(3) ? 0 : next(20) ? (int64_t)(8 * (8 + next(1000))) : (int64_t)next(1000) - 20;
}

static mlaf_append_args random_args(void) {
  mlaf_append_args a = MLAF_APPEND_ARGS_INIT;
  const void **const inputs[] = {&a.ckv, &a.kpe, &a.norm_weight, &a.cos, &a.sin, &a.q_nope, &a.q_pe};
  void **const outputs[] = {&a.cache, &a.cache_kpe, &a.kpe_out, &a.q_out, &a.q_pe_out};
  int64_t *const strides[] = {&a.ckv_row_stride, &a.kpe_row_stride, &a.table_row_stride, &a.cache_row_stride,
                              &a.cache_kpe_row_stride, &a.cache_page_stride, &a.cache_kpe_page_stride, &a.kpe_out_row_stride,
                              &a.q_nope_token_stride, &a.q_nope_head_stride, &a.q_pe_token_stride, &a.q_pe_head_stride,
                              &a.q_out_token_stride, &a.q_out_head_stride, &a.q_pe_out_token_stride, &a.q_pe_out_head_stride};
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) *inputs[i] = address();
  for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) *outputs[i] = address();
  const bool dense = next(2);
  for (size_t i = 0; i < sizeof strides / sizeof *strides && !dense; i++) *strides[i] = next(3) ? 0 : or_extreme(stride());
  a.slots = address(), a.positions = address(), a.scale_at = next(3) ? NULL : address();
  if (next(2)) a.q_nope = a.q_pe = a.q_out = a.q_pe_out = NULL;
  a.flags = next(20) ? (uint32_t)next(8) : (uint32_t)next(64);
  a.tokens = or_extreme(next(20) ? (int64_t)next(5000) : (int64_t)(x >> 30) - 5);
  a.num_slots = or_extreme((int64_t)next(1 << 20) - (next(30) ? 0 : 1 << 20));
  a.table_rows = or_extreme((int64_t)next(1 << 20));
  a.page_tokens = or_extreme_32((int32_t)next(64));
  a.eps = next(20) ? 1e-6f : -1.0f;
  a.scale = next(20) ? 0.5f : 0.0f;
  return a;
}

static void the_same_launch(void **state) {
  static const int32_t ropes[] = {0, 32, 64}, most[] = {257, 17, 3, 2, 5, 3, 2};
  int good = 0, refused = 0, with_queries = 0;
  for (int i = 0; i < ROUNDS; i++) {
    mlaf_bound b = {.point = {.op = mlaf_op_of("mla_append:")}, .knob = 1};
    mlaf_embed_row row = {0};
    for (int f = 0; f < MLA_APPEND_FIELDS - 1; f++) b.point.v[f] = (int32_t)next((uint64_t)most[f]);
    b.point.v[MLA_APPEND_RANK] = 32 * (1 + b.point.v[MLA_APPEND_RANK] % 16);
    b.point.v[MLA_APPEND_ROPE] = ropes[b.point.v[MLA_APPEND_ROPE]];
    if (!b.point.v[MLA_APPEND_ROPE]) b.point.v[MLA_APPEND_STYLE] = 0;
    b.point.v[MLA_APPEND_TOKENS] = 1;
    memcpy(row.values, b.point.v, sizeof row.values);
    b.stage[0] = (mlaf_stage){.threads = 64 << next(3), .rows_per_wg = 1 + (uint32_t)next(16)};
    const mlaf_embed_kernel k = {.threads = b.stage[0].threads, .rows_per_wg = b.stage[0].rows_per_wg};
    const mlaf_embed_plan plan = {.row = &row};
    const mlaf_append_args a = random_args();
    mlaf_embed_append_args e;
    memset(&e, 0, sizeof e);
#define COPY(m) e.m = a.m;
    MEMBERS(COPY)
    const shape s = shape_of(&plan);
    const append_shape t = append_shape_of(&b.point);
    char why[256] = "";
    reason to = {why, sizeof why};
    mlaf_err err = {MLAF_OK, ""};
    const bool ours = append_check_args(&b, 1, &a, &err) == MLAF_OK, theirs = check(&s, &k, &e, &to) == MLAF_EMBED_OK;
    if (ours != theirs) fail_msg("round %d: the library says '%s', the loader '%s'", i, err.text, why);
    if (!ours) assert_string_equal(err.text, why);
    refused += !ours;
    if (!ours || !a.tokens) continue;
    good++;
    with_queries += a.q_nope || a.q_pe;
    kernel_args one;
    mlaf_append_kernel_args two;
    uint64_t blocks_one, blocks_two;
    memset(&one, 0, sizeof one), memset(&two, 0, sizeof two);
    const uint32_t wave = next(2) ? 32 : 64;
    fill_all(&s, &e, k.threads, wave, k.rows_per_wg, &one, &blocks_one);
    append_fill(&t, &a, k.threads, wave, k.rows_per_wg, &two, &blocks_two);
    assert_memory_equal(&one, &two, sizeof two);
    assert_int_equal(blocks_one, blocks_two);
  }
  if (good < ROUNDS / 50 || refused < ROUNDS / 50 || with_queries < 50) fail_msg("%d, %d, %d", good, refused, with_queries);
}

int main(void) {
  _Static_assert(sizeof(kernel_args) == sizeof(mlaf_append_kernel_args), "the same block");
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_launch)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
