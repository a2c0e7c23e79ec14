/* mla_prefill: checks of arguments. Its kernels: kernels.tsv. */
#include "ops/checked.h"
#include "ops/mla_prefill/prefill.h"

#define V3 "mla_prefill:h3,n128,p64,v128,bf16,causal,b4,t64,s64"

static mlaf_prefill_args good(void) {
  static int32_t cu[2] = {0, 4};
  static _Alignas(16) uint16_t tensor[8];
  return (mlaf_prefill_args){.struct_size = sizeof(mlaf_prefill_args), .batch = 1, .scale = 1, .total_q = 4, .total_k = 4,
                             .q = tensor, .k = tensor, .v = tensor, .o = tensor, .cu_seqlens_q = cu, .cu_seqlens_k = cu};
}

static const args_kernel of = {V3, 256, 128};

TEST(arguments_are_checked) {
  mlaf_err err;
  mlaf_prefill_args a = good();
  assert_int_equal(args_checked(&of, &a, &err), MLAF_OK);
  WRONG(a.q = NULL, "q is NULL");
  WRONG(a.k = (const char *)a.k + 2, "k is");
  WRONG(a.cu_seqlens_k = NULL, "cu_seqlens_k");
  WRONG(a.scale = 0, "scale");
  WRONG(a.scale = 1e-40f, "scale is 9.99995e-41");
  WRONG(a.flags = 1, "flags");
  WRONG(a.batch = -1, "batch");
  WRONG(a.total_q = -1, "total_q");
  WRONG(a.total_k = INT64_C(1) << 31, "total_k");
  WRONG(a.k_token_stride = 12, "k_token_stride");
  WRONG(a.v_head_stride = 64, "v_head_stride");
  WRONG(a.lse = (float *)a.o; a.lse_head_stride = 4, "lse_token_stride");
  WRONG(a.batch = INT32_MAX, "batch");
  WRONG(a.k_scale = (const float *)a.o, "k_scale");
  mlaf_prefill_args nothing = {.struct_size = sizeof nothing, .scale = 1};
  assert_int_equal(args_checked(&of, &nothing, &err), MLAF_OK);
}

TESTS(NULL, NULL)
