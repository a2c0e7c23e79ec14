// The argument block of a decode kernel that rotates what it reads, in place of mla_decode/lib/args.h: as many bytes, of which 24
// hold narrower numbers, to make room for the table. runtime/ops/mla_decode/launch.h says what each field means.
struct mlaf_narrow { // 32 bits that count in 64
  int value;
#ifdef __cplusplus
  __device__ __forceinline__ operator long() const { return value; }
#endif
};
struct mlaf_decode_args {
  const char* q;
  const char* ckv;
  const char* kpe;
  const int* qo_indptr;
  const int* kv_indptr;
  const int* kv_indices;
  const int* kv_last_page_lens;
  char* o;
  float* lse;
  float* part_o;
  float* part_lse;
  unsigned ckv_row_stride;
  unsigned kpe_row_stride;
  const float* rope_table;
  struct mlaf_narrow total_q;
  int rope_rows;
  int num_pages;
  int splits;
  float scale_log2e;
  int batch;
};
static_assert(sizeof(struct mlaf_decode_args) == 128, "differs from runtime/ops/mla_decode/launch.h");
