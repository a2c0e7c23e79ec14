// The arguments of a combine kernel fused with the value projection, byte for byte those of runtime/ops/mla_decode/launch.h.
struct mlaf_values_args {
  mlaf_decode_args a;
  char* values;
  int w_head_rows;
  int reserved[13];
};
static_assert(sizeof(mlaf_values_args) == 192, "differs from runtime/ops/mla_decode/launch.h");
