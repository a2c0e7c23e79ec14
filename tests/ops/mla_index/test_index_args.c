/* mla_index: the words of its checks. */
#include "ops/checked.h"
#include "ops/mla_index/launch.h"

static mlaf_index_args good(void) {
  static _Alignas(16) uint8_t tensor[2][64];
  static _Alignas(16) float numbers[3][8];
  static int32_t table[8], lengths[8];
  return (mlaf_index_args){.struct_size = sizeof(mlaf_index_args), .tokens = 4, .q = tensor[0], .w = numbers[0],
                           .cache = tensor[1], .block_table = table, .lengths = lengths, .indices = (int32_t *)(void *)numbers[1],
                           .logits = numbers[2], .num_pages = 9, .max_length = 256, .topk = 5, .page_tokens = 64,
                           .table_width = 4, .q_tokens = 2};
}

static const args_kernel of = {"mla_index:h64,s4096,t64", 128, 512};

TEST(arguments_are_checked) {
  mlaf_err err;
  mlaf_index_args a = good();
  assert_int_equal(args_checked(&of, &a, &err), MLAF_OK);
  a.num_pages = 0, a.cache = NULL; /* no page is there */
  assert_int_equal(args_checked(&of, &a, &err), MLAF_OK);
  a = good(), a.page_tokens = 5, a.cache_page_stride = 672; /* 660 bytes, and pages begin at multiples of 16 */
  assert_int_equal(args_checked(&of, &a, &err), MLAF_OK);
  WRONG(a.q = NULL, "q is NULL");
  WRONG(a.cache = NULL, "cache is NULL");
  WRONG(a.cache = (const char *)a.cache + 4, "cache is");
  WRONG(a.logits = a.logits + 1, "logits is");
  WRONG(a.cache_page_stride = 8432, "cache_page_stride is 8432");
  WRONG(a.cache_page_stride = 8452, "cache_page_stride is 8452");
  WRONG(a.page_tokens = 5, "cache_page_stride is 0, and a page of 5 tokens has 660 bytes");
  WRONG(a.q_head_stride = 120, "q_head_stride");
  WRONG(a.logits_token_stride = 258, "logits_token_stride");
  WRONG(a.indices_token_stride = 4, "indices_token_stride");
  WRONG(a.block_table_request_stride = 3, "block_table_request_stride");
  WRONG(a.tokens = 5, "tokens is 5, must be a multiple of q_tokens, which is 2");
  WRONG(a.tokens = INT32_MAX - 1, "more blocks than a launch has");
  WRONG(a.max_length = 255, "max_length");
  WRONG(a.max_length = (1 << 24) + 4, "max_length");
  WRONG(a.topk = 0, "topk");
  WRONG(a.page_tokens = 0, "page_tokens");
  WRONG(a.table_width = 0, "table_width");
  WRONG(a.q_tokens = 0, "q_tokens");
  WRONG(a.num_pages = INT32_MAX, "num_pages");
  WRONG(a.flags = 1, "flags");
  const mlaf_index_args nothing = MLAF_INDEX_ARGS_INIT;
  assert_int_equal(args_checked(&of, &nothing, &err), MLAF_OK);
}

TESTS(NULL, NULL)
