-- The optional tensors of a launch of mla_decode, each once. tools/args_given.lua makes ops/mla_decode/args.h of it for C, which
-- checks them, reads them from mlaf_call, and makes them for cases and timed launches (mlaf_given of ops/mla_decode/execute.h).
-- Names, types, order and comments of all arguments are in the structs that callers fill, mlaf_execute_args (mla_decode.h)
-- and mlaf_call (call.h): Python's structs are made of those (tools/structs.lua).
--
--   given    a row each: { name, ... }, fp32 numbers on the device
--     rows, columns  the member of mlaf_execute_args that counts its rows, the field that counts its columns; left out: 1
--     shape    what messages of mlaf_call_run call its shape; left out: it is one number
--     has      the field whose values say that a problem has the tensor: all but 0, or with `scale`, of `cache`, formats with
--              their scale there (gen/formats.lua). Left out: checks, cases and timed data do not know it
--     without  why a launch must not have it where that field is 0; otherwise: and where it has another value. Left out: checks
--              and numbers are by hand
--     cases    its first number by the case's name; left out or 0: NULL. timing: in timed launches
--   cases    names of the verification cases (runtime/ops/mla_decode/suite.c)
--   words    24 bytes of the kernel's block, which are 64-bit strides and total_q in other kernels: { name, field, members }. The
--            first whose field is not 0 counts
--   q_words  64 bytes behind the block of a kernel that knows more of Q than one dense tensor (gen/ops/mla_decode/q.lua):
--            pointers, of `given` or any, and words of 32 bits, which prepare.c fills
--   call_first  members that later versions of mlaf_call began with
return {
  cases = { "ragged", "deep", "sharp" },
  given = {
    { "kv_scale", has = "cache", scale = "launch",
      without = "the problem has a cache of 16 bits", otherwise = "tokens of the problem's cache hold their scales",
      cases = { ragged = 0.0371, sharp = 0x1p-6 }, timing = 0x1.8p-2 },
    { "q_scale", has = "fp8_q", without = "the problem has queries of 16 bits; plan with fp8_q",
      cases = { ragged = 0.0217, sharp = 0x1p-5 }, timing = 0x1.4p-3 },
    { "rope_table", rows = "rope_rows", columns = "rope", shape = "[positions, rope dim]", has = "rotate" },
    { "attn_sink", columns = "heads", shape = "[heads]" },
  },
  words = {
    { "rotate", "rotate", "ckv_row_stride kpe_row_stride rope_table total_q rope_rows" },
    { "fp8_q", "fp8_q", "ckv_row_stride total_q kv_scale q_scale" },
    { "cache", "cache", "ckv_row_stride kpe_row_stride kv_scale total_q reserved" },
  },
  q_words = { pointers = "q_pe", words = "q_token q_head q_pe_token q_pe_head" },
  call_first = "rope_table cache_kpe indices extra_cache q_scale q_pe",
}
