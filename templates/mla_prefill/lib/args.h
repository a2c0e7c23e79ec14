// The kernel's argument block, byte for byte that of runtime/ops/mla_prefill/launch.h (which says what each field means).
// Passed by value. Strides in bytes, lse's in floats.
struct mlaf_prefill_kernel_args {
  const char* q;
  const char* k;
  const char* k_pe;
  const char* v;
  const int* cu_seqlens_q;
  const int* cu_seqlens_k;
  char* o;
  float* lse;
  i64 q_token, q_head, k_token, k_head, k_pe_token, k_pe_head, v_token, v_head, o_token, o_head;
  i64 lse_token, lse_head;
  i64 total_q, total_k;
  int batch;
  float scale_log2e;
};
static_assert(sizeof(mlaf_prefill_kernel_args) == 184, "differs from runtime/ops/mla_prefill/launch.h");
