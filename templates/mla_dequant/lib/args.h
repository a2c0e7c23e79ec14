// The kernel's argument block, byte for byte that of runtime/ops/mla_dequant/launch.h (which says what each field means). Passed
// by value. Strides in bytes.
struct mlaf_dequant_kernel_args {
  const char* w;
  const char* w_scale;
  char* y;
  i64 w_row, scale_row, y_row;
  i64 scale_first_row, scale_first_column;
  i64 rows;
};
static_assert(sizeof(mlaf_dequant_kernel_args) == 72, "differs from runtime/ops/mla_dequant/launch.h");
