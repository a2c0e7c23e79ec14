// The argument block of a decode kernel whose cache is pages of rows and then their tokens' scales, in up to two pools, in place
// of mla_decode/lib/args.h: as many bytes. runtime/ops/mla_decode/launch.h says what each field means.
struct mlaf_narrow { // 32 bits that count in 64
  int value;
#ifdef __cplusplus
  __device__ __forceinline__ operator long() const { return value; }
#endif
};
struct mlaf_decode_args {
  const char* q;
  const char* ckv;
  union { // fit_walk.h and fit_wave.h know the other names
    const char* extra_ckv;
    const char* kpe;
  };
  const int* qo_indptr;
  const int* kv_indptr;
  const int* kv_indices;
  const int* kv_last_page_lens;
  char* o;
  float* lse;
  float* part_o;
  float* part_lse;
  union {
    unsigned page_rows;
    unsigned ckv_row_stride;
  };
  union {
    unsigned extra_page_rows;
    unsigned kpe_row_stride;
  };
  unsigned page_tokens;
  unsigned extra_page_tokens;
  struct mlaf_narrow total_q;
  int extra_tokens;
  int num_pages;
  int splits;
  float scale_log2e;
  int batch;
};
static_assert(sizeof(struct mlaf_decode_args) == 128, "differs from runtime/ops/mla_decode/launch.h");
