// The kernel argument blocks, byte for byte those of runtime/ops/mla_decode/launch.h (which says what each field means). Passed
// by value: these bytes are the explicit part of the kernarg segment.
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
  long ckv_row_stride;
  long kpe_row_stride;
  long total_q;
  int num_pages;
  int splits;
  float scale_log2e;
  int batch;
};
static_assert(sizeof(mlaf_decode_args) == 128, "differs from runtime/ops/mla_decode/launch.h");

struct mlaf_combine_args {
  const float* part_o;
  const float* part_lse;
  char* o;
  float* lse;
  long rows;
  int splits;
  int reserved;
};
static_assert(sizeof(mlaf_combine_args) == 48, "differs from runtime/ops/mla_decode/launch.h");
