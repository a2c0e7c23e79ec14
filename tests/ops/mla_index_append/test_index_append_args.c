/* mla_index_append: the words of its checks. */
#include "ops/checked.h"
#include "ops/mla_index_append/launch.h"

static mlaf_index_append_args good(void) {
  static _Alignas(16) uint8_t tensor[5][64];
  static _Alignas(16) float numbers[5][8];
  static int64_t words[2][8];
  static int32_t lengths[2][8];
  return (mlaf_index_append_args){.struct_size = sizeof(mlaf_index_append_args), .tokens = 4, .k = tensor[0], .q = tensor[1],
                                  .w = tensor[2], .norm_weight = numbers[0], .norm_bias = numbers[1], .slots = words[0],
                                  .positions = words[1], .cos = numbers[2], .seq_lens = lengths[0], .keys = tensor[3],
                                  .scales = numbers[3], .q8 = tensor[4], .w8 = numbers[4], .lengths = lengths[1],
                                  .table_rows = 9, .num_pages = 9, .page_tokens = 64, .q_tokens = 2, .eps = 1e-6f,
                                  .w_scale = 0.01f};
}

static const args_kernel of = {"mla_index_append:h64,bf16,halves,t64", 64, 4};

TEST(arguments_are_checked) {
  mlaf_err err;
  mlaf_index_append_args a = good();
  assert_int_equal(args_checked(&of, &a, &err), MLAF_OK);
  a.num_pages = 0, a.keys = NULL, a.scales = NULL; /* no page is there */
  assert_int_equal(args_checked(&of, &a, &err), MLAF_OK);
  a = good(), a.lengths = NULL, a.seq_lens = NULL;
  assert_int_equal(args_checked(&of, &a, &err), MLAF_OK);
  a = good(), a.keys_page_stride = 132 * 64, a.scales_page_stride = 33 * 64; /* as in a planar cache */
  assert_int_equal(args_checked(&of, &a, &err), MLAF_OK);
  WRONG(a.k = NULL, "k is NULL");
  WRONG(a.q = NULL, "q is NULL");
  WRONG(a.w = NULL, "w is NULL");
  WRONG(a.keys = NULL, "keys is NULL");
  WRONG(a.scales = NULL, "scales is NULL");
  WRONG(a.norm_bias = NULL, "norm_bias is NULL");
  WRONG(a.seq_lens = NULL, "lengths is given, and seq_lens");
  WRONG(a.keys_page_stride = 132 * 63, "keys_page_stride");
  WRONG(a.keys_row_stride = 132, "keys_row_stride");
  WRONG(a.k_token_stride = 132, "k_token_stride");
  WRONG(a.table_row_stride = 32, "table_row_stride");
  WRONG(a.table_rows = 0, "table_rows");
  WRONG(a.tokens = 5, "tokens is 5, must be a multiple of q_tokens, which is 2");
  WRONG(a.tokens = INT32_MAX - 1, "more than a launch of this kernel takes");
  WRONG(a.num_pages = INT32_MAX, "num_pages");
  WRONG(a.page_tokens = 0, "page_tokens");
  WRONG(a.q_tokens = 0, "q_tokens");
  WRONG(a.eps = -1, "eps is -1");
  WRONG(a.w_scale = 1e7f, "w_scale");
  WRONG(a.flags = 4, "flags");
  const mlaf_index_append_args nothing = MLAF_INDEX_APPEND_ARGS_INIT;
  assert_int_equal(args_checked(&of, &nothing, &err), MLAF_OK);
}

TESTS(NULL, NULL)
