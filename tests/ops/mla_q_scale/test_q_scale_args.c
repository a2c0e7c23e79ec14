/* mla_q_scale: the words of its checks. */
#include "ops/checked.h"
#include "ops/mla_q_scale/launch.h"

static mlaf_q_scale_args good(void) {
  static _Alignas(16) uint16_t tensor[2][16];
  static int64_t positions[4];
  return (mlaf_q_scale_args){.struct_size = sizeof(mlaf_q_scale_args), .tokens = 4, .x = tensor[0], .y = tensor[1],
                             .positions = positions, .beta = 0.1f, .original = 8192};
}

static const args_kernel of = {"mla_q_scale:h16,n192,bf16,t64", 128, 4};

TEST(arguments_are_checked) {
  mlaf_err err;
  mlaf_q_scale_args a = good();
  assert_int_equal(args_checked(&of, &a, &err), MLAF_OK);
  a.y = NULL;
  assert_int_equal(args_checked(&of, &a, &err), MLAF_OK);
  WRONG(a.x = NULL, "x is NULL");
  WRONG(a.y = (char *)a.y + 2, "y is");
  WRONG(a.y = (void *)(uintptr_t)a.x, "y is x");
  WRONG(a.y = NULL; a.y_head_stride = 192, "strides");
  WRONG(a.x_token_stride = 196, "x_token_stride");
  WRONG(a.y_head_stride = 184, "y_head_stride");
  WRONG(a.y_token_stride = a.y_head_stride = 192, "y has rows that overlap");
  WRONG(a.y = NULL; a.x_token_stride = 192, "x has rows that overlap");
  WRONG(a.positions = NULL, "positions");
  WRONG(a.positions = (const int64_t *)(const void *)((const char *)a.positions + 4), "positions");
  WRONG(a.beta = NAN, "beta");
  WRONG(a.beta = 3e38f, "beta is 3e+38, must be in");
  WRONG(a.original = 0, "original");
  WRONG(a.flags = 1, "flags");
  WRONG(a.tokens = -1, "tokens");
  WRONG(a.tokens = INT32_MAX, "tokens");
  const mlaf_q_scale_args nothing = MLAF_Q_SCALE_ARGS_INIT;
  assert_int_equal(args_checked(&of, &nothing, &err), MLAF_OK);
}

TESTS(NULL, NULL)
