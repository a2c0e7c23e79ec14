// The argument block of a decode kernel whose cache and queries are of 8 bits, in place of mla_decode/lib/args_cache.h: as many
// bytes, with both scales. runtime/ops/mla_decode/launch.h says what each field means.
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
  union { // rope columns are of the same row
    unsigned ckv_row_stride; // bytes
    unsigned kpe_row_stride;
  };
  struct mlaf_narrow total_q;
  const float* kv_scale;
  const float* q_scale;
  int num_pages;
  int splits;
  float scale_log2e;
  int batch;
};
static_assert(sizeof(struct mlaf_decode_args) == 128, "differs from runtime/ops/mla_decode/launch.h");
