// The argument block, byte for byte that of gen/ops/mla_index_append/args.lua. Passed by value. Strides in bytes.
struct mlaf_index_append_kernel_args {
  const char* k;
  const char* norm_weight;
  const char* norm_bias;
  const char* slots;
  const char* positions;
  const char* cos;
  const char* sin;
  const char* q;
  const char* w;
  const char* seq_lens;
  char* keys;
  char* scales;
  char* q8;
  char* w8;
  char* lengths;
  i64 k_token, table_stride, q_token, q_head, w_token, keys_page, keys_row, scales_page, scales_row, q8_token, q8_head, w8_token;
  i64 table_rows;
  u32 num_slots, tokens;
  int page_tokens, q_tokens;
  u32 flags;
  float eps, w_scale;
  int reserved;
};
static_assert(sizeof(mlaf_index_append_kernel_args) == 256, "differs from gen/ops/mla_index_append/args.lua");

// Flags, as in include/mlaforge/mla_index_append.h.
constexpr u32 POWER_OF_TWO = 1, TABLE_16 = 2;
