// The kernel's argument block, byte for byte that of runtime/ops/mla_append/launch.h (which says what each field means). Passed
// by value. Strides and rows in bytes.
struct mlaf_append_kernel_args {
  const char* ckv;
  const char* kpe;
  const char* weight;
  const i64* slots;
  const i64* positions;
  const char* cos;
  const char* sin;
  const float* scale_at;
  char* latent;
  char* rope;
  char* kpe_out;
  const char* q_nope;
  const char* q_pe;
  char* q_out;
  char* q_pe_out;
  i64 ckv_stride, kpe_stride, kpe_out_stride, table_stride;
  i64 latent_page, rope_page;
  i64 latent_row, rope_row;
  i64 q_nope_token, q_nope_head, q_pe_token, q_pe_head, q_out_token, q_out_head, q_pe_out_token, q_pe_out_head;
  i64 tokens;
  i64 table_rows;
  u64 page_inverse;
  u32 num_slots, page_tokens;
  u32 token_blocks, flags;
  float eps, scale;
};
static_assert(sizeof(mlaf_append_kernel_args) == 296, "differs from runtime/ops/mla_append/launch.h");

// Flags, as in include/mlaforge/mla_append.h.
constexpr u32 APPEND_ALL_Q = 1, APPEND_POWER_OF_TWO = 2, APPEND_TABLE_16 = 4;
constexpr u32 APPEND_NEVER = 1u << 31; // no launch has it
