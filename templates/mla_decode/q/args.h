// The argument block of a decode kernel: mla_decode/lib/args.h or args_words.h (`words`, or false), and behind it mlaf_q_words
// where the kernel knows more of Q than one dense tensor (gen/ops/mla_decode/args.lua). Of two tensors q has columns [0, R), q_pe
// columns [R, R + ROPE), and strides count 16 bytes.
//@ -- q: gen/ops/mla_decode/q.lua
//@ if q.words == 1 then
#define mlaf_decode_args mlaf_dense_q_args
//@ end
//@ if words then include("mla_decode/lib/args_words.h", { words = words }) else include("mla_decode/lib/args.h") end
//@ if q.words == 1 then
#undef mlaf_decode_args
struct mlaf_decode_args : mlaf_dense_q_args {
//@   for _, member in ipairs(q.members()) do
  ${member};
//@   end
};
static_assert(sizeof(mlaf_decode_args) == 192, "differs from runtime/ops/mla_decode/launch.h");
//@ end
