/* mla_merge_parts: the words of its checks. */
#include "ops/checked.h"
#include "ops/mla_merge_parts/launch.h"

static mlaf_merge_parts_args good(void) {
  static _Alignas(16) uint16_t tensor[2][16];
  static float sums[2][4];
  return (mlaf_merge_parts_args){.struct_size = sizeof(mlaf_merge_parts_args), .tokens = 4, .parts = tensor[0],
                                 .parts_lse = sums[0], .o = tensor[1], .lse = sums[1]};
}

static const args_kernel of = {"mla_merge_parts:n4,h16,v128,bf16,t1024", 64, 4};

TEST(arguments_are_checked) {
  mlaf_err err;
  mlaf_merge_parts_args a = good();
  assert_int_equal(args_checked(&of, &a, &err), MLAF_OK);
  a.parts_part_stride = 4 * 16 * 128 + 8, a.parts_lse_part_stride = 1000; /* one buffer of O and LSE of each rank */
  a.parts_lse_token_stride = 1, a.parts_lse_head_stride = 4;
  a.lse = NULL;
  assert_int_equal(args_checked(&of, &a, &err), MLAF_OK);
  WRONG(a.parts = NULL, "parts is NULL");
  WRONG(a.parts_lse = NULL, "parts_lse is NULL");
  WRONG(a.o = NULL, "o is NULL");
  WRONG(a.o = (char *)a.o + 2, "o is");
  WRONG(a.o = (void *)(uintptr_t)a.parts, "o is part 0 of parts: the result needs memory of its own");
  WRONG(a.lse = (float *)(uintptr_t)a.parts_lse, "lse is part 0 of parts_lse: the result needs memory");
  WRONG(a.parts_part_stride = 8192; a.o = (void *)((uintptr_t)a.parts + 2 * 8192), "o is part 1 of parts: the result needs");
  WRONG(a.lse = (float *)((uintptr_t)a.parts_lse + 4 * 3 * 64), "lse is part 3 of parts_lse: the result needs memory");
  WRONG(a.parts_part_stride = 132, "parts_part_stride");
  WRONG(a.parts_lse_part_stride = -4, "parts_lse_part_stride is -4, must be 0 or 1 and up");
  WRONG(a.o_head_stride = 120, "o_head_stride");
  WRONG(a.o_token_stride = 128, "o has rows that overlap");
  WRONG(a.flags = 4, "flags");
  WRONG(a.tokens = -1, "tokens");
  WRONG(a.tokens = INT32_MAX, "tokens");
  const mlaf_merge_parts_args nothing = MLAF_MERGE_PARTS_ARGS_INIT;
  assert_int_equal(args_checked(&of, &nothing, &err), MLAF_OK);
}

TESTS(NULL, NULL)
