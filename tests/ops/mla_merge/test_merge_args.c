/* mla_merge: the words of its checks. */
#include "ops/checked.h"
#include "ops/mla_merge/launch.h"

static mlaf_merge_args good(void) {
  static _Alignas(16) uint16_t tensor[3][16];
  static float sums[3][4];
  return (mlaf_merge_args){.struct_size = sizeof(mlaf_merge_args), .tokens = 4, .prefix = {.o = tensor[0], .lse = sums[0]},
                           .suffix = {.o = tensor[1], .lse = sums[1]}, .o = tensor[2], .lse = sums[2]};
}

static const args_kernel of = {"mla_merge:h16,v128,bf16,t64", 64, 4};

TEST(arguments_are_checked) {
  mlaf_err err;
  mlaf_merge_args a = good();
  assert_int_equal(args_checked(&of, &a, &err), MLAF_OK);
  a.o = (void *)(uintptr_t)a.suffix.o; /* over the suffix */
  a.lse = (float *)(uintptr_t)a.suffix.lse;
  assert_int_equal(args_checked(&of, &a, &err), MLAF_OK);
  WRONG(a.prefix.o = NULL, "prefix.o is NULL");
  WRONG(a.suffix.lse = NULL, "suffix.lse is NULL");
  WRONG(a.o = (char *)a.o + 2, "o is");
  WRONG(a.lse = (float *)(void *)((char *)a.lse + 2), "lse is");
  WRONG(a.prefix.o_token_stride = 132, "prefix.o_token_stride");
  WRONG(a.suffix.o_head_stride = 120, "suffix.o_head_stride");
  WRONG(a.suffix.lse_head_stride = 4, "suffix.lse_token_stride");
  WRONG(a.flags = 4, "flags");
  WRONG(a.tokens = -1, "tokens");
  WRONG(a.tokens = INT32_MAX, "tokens");
  WRONG(a.flags = MLAF_MERGE_IN_PLACE, "IN_PLACE");
  WRONG(a.o = (void *)(uintptr_t)a.prefix.o; a.o_head_stride = 256, "other strides");
  WRONG(a.lse = (float *)(uintptr_t)a.suffix.lse; a.lse_token_stride = 16; a.lse_head_stride = 1, "other strides");
  const mlaf_merge_args nothing = MLAF_MERGE_ARGS_INIT;
  assert_int_equal(args_checked(&of, &nothing, &err), MLAF_OK);
}

TESTS(NULL, NULL)
