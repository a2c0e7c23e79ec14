// The argument block of a decode kernel that takes Q in two tensors: mla_decode/lib/args.h or args_words.h (`words`, or false),
// and behind it mlaf_q_words of runtime/ops/mla_decode/launch.h.
#define mlaf_decode_args mlaf_dense_q_args
//@ if words then include("mla_decode/lib/args_words.h", { words = words }) else include("mla_decode/lib/args.h") end
#undef mlaf_decode_args
struct mlaf_decode_args : mlaf_dense_q_args { // q: columns [0, R) of the first row
  const char* q_pe;                           // columns [R, R + ROPE)
  unsigned q_token, q_head, q_pe_token, q_pe_head; // strides in 16 bytes
  unsigned more[10];
};
static_assert(sizeof(mlaf_decode_args) == 192, "differs from runtime/ops/mla_decode/launch.h");
