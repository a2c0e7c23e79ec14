// The kernel's argument block, byte for byte that of runtime/ops/mla_gather_kv_b/launch.h (which says what each field means).
// Passed by value. Strides in bytes, the table's in entries. Of a split cache only: kpe and kpe_row. Of kpe16, which has a scale,
// too, cache_row has num_pages in its upper half, and num_pages is the address of rope columns. A kernel that takes the table of
// rotations says MLAF_KERNEL_SCALES (16).
struct mlaf_gather_kv_b_kernel_args {
  const char* cache;
  union {
    const float* scale_at;
    const char* kpe;
  };
  const int* table;
  const int* table_indptr;
  const int* cu_seqlens;
  const int* seq_starts;
  const char* w;
  char* k;
  char* v;
  char* k_pe;
  i64 cache_row, cache_page, num_pages, table_stride;
  i64 w_row, w_head;
  i64 k_token, k_head, v_token, v_head, k_pe_token, k_pe_head;
  i64 tokens;
  int batch, table_width;
  u32 page_tokens, shares;
  float scale;
  u32 kpe_row;
//@ if rotate > 0 then
  const char* rope_table; // a row of fp32 a position: P/2 cosines, P/2 sines
  i64 rope_rows;
//@ end
};
//@ if rotate > 0 then
static_assert(sizeof(mlaf_gather_kv_b_kernel_args) == 224, "differs from runtime/ops/mla_gather_kv_b/launch.h");
//@ else
static_assert(sizeof(mlaf_gather_kv_b_kernel_args) == 208, "differs from runtime/ops/mla_gather_kv_b/launch.h");
//@ end
