// The argument block of a decode kernel that takes more than mla_decode/lib/args.h has, in place of that: as many bytes, of which
// 24 hold narrower numbers, `words` (gen/ops/mla_decode/args.lua). runtime/ops/mla_decode/launch.h says what each field means.
//@ -- rotate: it rotates what it reads; cache: it reads an 8-bit cache, whose strides are bytes; fp8_q: queries are of 8 bits,
//@ -- too, and rope columns of the same row; pools: pages are rows and what lies behind them, in up to two pools.
struct mlaf_narrow { // 32 bits that count in 64
  int value;
#ifdef __cplusplus
  __device__ __forceinline__ operator long() const { return value; }
#endif
};
struct mlaf_decode_args {
  const char* q;
  const char* ckv;
//@ if words == "pools" then
  union { // fit_walk.h and fit_wave.h know the other names
    const char* extra_ckv;
    const char* kpe;
  };
//@ else
  const char* kpe;
//@ end
  const int* qo_indptr;
  const int* kv_indptr;
  const int* kv_indices;
  const int* kv_last_page_lens;
  char* o;
  float* lse;
  float* part_o;
  float* part_lse;
//@ if words == "pools" then
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
//@ elseif words == "fp8_q" then
  union {
    unsigned ckv_row_stride;
    unsigned kpe_row_stride;
  };
  struct mlaf_narrow total_q;
  const float* kv_scale;
  const float* q_scale;
//@ else
  unsigned ckv_row_stride;
  unsigned kpe_row_stride;
  const float* ${words == "rotate" and "rope_table" or "kv_scale"};
  struct mlaf_narrow total_q;
  int ${words == "rotate" and "rope_rows" or "reserved"};
//@ end
  int num_pages;
  int splits;
  float scale_log2e;
  int batch;
};
static_assert(sizeof(struct mlaf_decode_args) == 128, "differs from runtime/ops/mla_decode/launch.h");
