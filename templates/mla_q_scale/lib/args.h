// The kernel's argument block, byte for byte that of runtime/ops/mla_q_scale/launch.h (which says what each field means). Passed
// by value. Strides in bytes.
struct mlaf_q_scale_kernel_args {
  const char* x;
  char* y;
  const i64* positions;
  i64 x_token, x_head, y_token, y_head;
  i64 rows;
  float beta;
  u32 original;
};
static_assert(sizeof(mlaf_q_scale_kernel_args) == 72, "differs from runtime/ops/mla_q_scale/launch.h");
