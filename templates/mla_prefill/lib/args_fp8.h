// The argument block of kernels with inputs of 8 bits: that of the others, and scales of Q, K and V behind it, NULL for 1. Byte
// for byte that of runtime/ops/mla_prefill/launch.h; such a kernel says MLAF_KERNEL_SCALES (16).
struct mlaf_prefill_scaled_args {
  mlaf_prefill_kernel_args all;
  const float* q_scale;
  const float* k_scale;
  const float* v_scale;
};
static_assert(sizeof(mlaf_prefill_scaled_args) == 208, "differs from runtime/ops/mla_prefill/launch.h");
