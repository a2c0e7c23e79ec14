// The argument block of a decode kernel that reads an 8-bit cache, in place of mla_decode/lib/args.h: as many bytes, of which 24
// hold narrower numbers, to make room for the scale. runtime/ops/mla_decode/launch.h says what each field means.
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
  unsigned ckv_row_stride; // bytes
  unsigned kpe_row_stride; // bytes
  const float* kv_scale;
  struct mlaf_narrow total_q;
  int reserved;
  int num_pages;
  int splits;
  float scale_log2e;
  int batch;
};
static_assert(sizeof(struct mlaf_decode_args) == 128, "differs from runtime/ops/mla_decode/launch.h");
