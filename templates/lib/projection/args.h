// The kernel's argument block, byte for byte that of runtime/op/projection.h (which says what each field means). Passed by value.
// Strides in bytes.
struct mlaf_projection_kernel_args {
  const char* x;
  const char* w;
  char* y;
  const char* gain;
  const char* residual;
  const i64* positions;
  const char* cos;
  const char* sin;
  i64 x_token, x_head, w_row, w_head, y_token, y_head, residual_token;
  i64 table_row, table_rows;
  i64 tokens;
  float eps;
  u32 flags;
};
static_assert(sizeof(mlaf_projection_kernel_args) == 152, "differs from runtime/op/projection.h");
constexpr u32 PROJECTION_TABLE_16 = 1; // as in include/mlaforge/projection.h
