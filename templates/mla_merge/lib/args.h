// The kernel's argument block, byte for byte that of runtime/ops/mla_merge/launch.h (which says what each field means). Passed by
// value. Strides of O in bytes, of sums in floats.
struct mlaf_merge_kernel_args {
  const char* prefix_o;
  const float* prefix_lse;
  const char* suffix_o;
  const float* suffix_lse;
  char* o;
  float* lse;
  i64 prefix_token, prefix_head, prefix_lse_token, prefix_lse_head;
  i64 suffix_token, suffix_head, suffix_lse_token, suffix_lse_head;
  i64 o_token, o_head, lse_token, lse_head;
  i64 rows;
  u32 flags, reserved;
};
static_assert(sizeof(mlaf_merge_kernel_args) == 160, "differs from runtime/ops/mla_merge/launch.h");
constexpr u32 MERGE_BASE_2 = 2; // as in include/mlaforge/mla_merge.h
