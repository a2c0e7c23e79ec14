/* The kernels' argument blocks as the runtime and as the templates declare them, and as code objects ask for them. */
#include <assert.h>

#include "run/built.h"
#include "ops/mla_decode/launch.h"

/* The templates' header is C++ for the kernel compiler and plain enough for C under other names. */
typedef struct template_decode_args template_decode_args;
typedef struct template_combine_args template_combine_args;
#define mlaf_decode_args template_decode_args
#define mlaf_combine_args template_combine_args
#include "../templates/mla_decode/lib/args.h"
#undef mlaf_decode_args
#undef mlaf_combine_args
typedef struct rotate_args rotate_args;
#define mlaf_decode_args rotate_args
#include "../templates/mla_decode/lib/args_rotate.h"
#undef mlaf_decode_args
typedef struct cache_args cache_args;
#define mlaf_decode_args cache_args
#define mlaf_narrow      cache_narrow
#include "../templates/mla_decode/lib/args_cache.h"
#undef mlaf_narrow
#undef mlaf_decode_args
typedef struct pools_args pools_args;
#define mlaf_decode_args pools_args
#define mlaf_narrow      pools_narrow
#include "../templates/mla_decode/lib/args_pools.h"
#undef mlaf_narrow
#undef mlaf_decode_args

static void same_offsets(void **state) {
#define SAME(kind, field)                                                                         \
  assert_int_equal(offsetof(mlaf_##kind##_args, field), offsetof(template_##kind##_args, field)); \
  assert_int_equal(sizeof(((mlaf_##kind##_args *)0)->field), sizeof(((template_##kind##_args *)0)->field))
  SAME(decode, q);
  SAME(decode, ckv);
  SAME(decode, kpe);
  SAME(decode, qo_indptr);
  SAME(decode, kv_indptr);
  SAME(decode, kv_indices);
  SAME(decode, kv_last_page_lens);
  SAME(decode, o);
  SAME(decode, lse);
  SAME(decode, part_o);
  SAME(decode, part_lse);
  SAME(decode, ckv_row_stride);
  SAME(decode, kpe_row_stride);
  SAME(decode, total_q);
  SAME(decode, num_pages);
  SAME(decode, splits);
  SAME(decode, scale_log2e);
  SAME(decode, batch);
  SAME(combine, part_o);
  SAME(combine, part_lse);
  SAME(combine, o);
  SAME(combine, lse);
  SAME(combine, rows);
  SAME(combine, splits);
  assert_int_equal(sizeof(mlaf_decode_args), sizeof(template_decode_args));
#define SAME_ROTATED(ours, field)                                                      \
  assert_int_equal(offsetof(mlaf_decode_args, ours), offsetof(rotate_args, field)); \
  assert_int_equal(sizeof(((mlaf_decode_args *)0)->ours), sizeof(((rotate_args *)0)->field))
  SAME_ROTATED(q, q);
  SAME_ROTATED(part_lse, part_lse);
  SAME_ROTATED(rotate.ckv_row_stride, ckv_row_stride);
  SAME_ROTATED(rotate.kpe_row_stride, kpe_row_stride);
  SAME_ROTATED(rotate.rope_table, rope_table);
  SAME_ROTATED(rotate.total_q, total_q);
  SAME_ROTATED(rotate.rope_rows, rope_rows);
  SAME_ROTATED(num_pages, num_pages);
  SAME_ROTATED(splits, splits);
  SAME_ROTATED(scale_log2e, scale_log2e);
  SAME_ROTATED(batch, batch);
  assert_int_equal(sizeof(mlaf_decode_args), sizeof(rotate_args));
#define SAME_CACHED(ours, field)                                                    \
  assert_int_equal(offsetof(mlaf_decode_args, ours), offsetof(cache_args, field)); \
  assert_int_equal(sizeof(((mlaf_decode_args *)0)->ours), sizeof(((cache_args *)0)->field))
  SAME_CACHED(q, q);
  SAME_CACHED(part_lse, part_lse);
  SAME_CACHED(cache.ckv_row_stride, ckv_row_stride);
  SAME_CACHED(cache.kpe_row_stride, kpe_row_stride);
  SAME_CACHED(cache.kv_scale, kv_scale);
  SAME_CACHED(cache.total_q, total_q);
  SAME_CACHED(num_pages, num_pages);
  SAME_CACHED(splits, splits);
  SAME_CACHED(scale_log2e, scale_log2e);
  SAME_CACHED(batch, batch);
  assert_int_equal(sizeof(mlaf_decode_args), sizeof(cache_args));
#define SAME_POOLS(ours, field)                                                     \
  assert_int_equal(offsetof(mlaf_decode_args, ours), offsetof(pools_args, field)); \
  assert_int_equal(sizeof(((mlaf_decode_args *)0)->ours), sizeof(((pools_args *)0)->field))
  SAME_POOLS(q, q);
  SAME_POOLS(kpe, extra_ckv);
  SAME_POOLS(part_lse, part_lse);
  SAME_POOLS(pools.page_rows, page_rows);
  SAME_POOLS(pools.extra_page_rows, extra_page_rows);
  SAME_POOLS(pools.page_tokens, page_tokens);
  SAME_POOLS(pools.extra_page_tokens, extra_page_tokens);
  SAME_POOLS(pools.total_q, total_q);
  SAME_POOLS(pools.extra_tokens, extra_tokens);
  SAME_POOLS(num_pages, num_pages);
  SAME_POOLS(batch, batch);
  assert_int_equal(sizeof(mlaf_decode_args), sizeof(pools_args));
  assert_int_equal(sizeof(mlaf_combine_args), sizeof(template_combine_args));
}

/* A code object may ask for more (hidden arguments), never for fewer bytes than we pass. */
static void code_objects_take_them(void **state) {
  static const char *const problems[] = {"mla_decode:h4,r64,p32,q1,bf16,page16,b1,s4096",
                                         "mla_decode:h128,r512,p64,q1,bf16,page64,b1,s4096"};
  for (int i = 0; i < 2; i++) {
    built b;
    built_open(&b, problems[i], NULL);
    for (int k = 0; k < b.build.n; k++) {
      assert_true(b.build.meta[k].kernarg_bytes >= (k ? sizeof(mlaf_combine_args) : sizeof(mlaf_decode_args)));
      assert_string_equal(b.build.meta[k].symbol, b.build.refs[k].symbol);
    }
    built_close(&b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(same_offsets), cmocka_unit_test(code_objects_take_them)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
