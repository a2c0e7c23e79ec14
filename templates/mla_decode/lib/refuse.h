// Requests that are refused: qo_indptr says that one has more query tokens than the kernel has rows for, or rows outside Q. The
// host does not see that table. Such a request counts as one without query tokens, and its rows become NaN, with LSE NaN. The
// includer has H, Q_LEN and mla_decode/lib/args.h; `fills`: R, and it is a decode kernel, which writes them.
//@ needs("H", "Q_LEN")

// True if a request cannot have n query tokens (fewer than none, too) that are [from, to) of `all`, in tokens or in rows.
template <typename T>
MLAF_DEV bool is_refused(int n, T from, T to, T all) {
  return (u32)n > (u32)Q_LEN || (from | to) < 0 || to > all; // to < 0: the difference of two wild numbers may be a small one
}
//@ if fills then
//@   needs("R")
//@   local global = arch.wave == 64 and "MLAF_GLOBAL " or ""

// This word is NaN in fp32, also once that is rounded, in both types of 16 bits, and as a narrow partial result.
constexpr u32 NAN_WORD = 0x7fc07fc0;

// Existing rows of [from, to) become NaN, by `lanes` threads, of which this is number `lane`. part: where part_o and
// part_lse have row 0 of all requests; -1: to o and lse.
MLAF_DEV void refuse(const mlaf_decode_args& a, i64 from, i64 to, i64 part, int lane, int lanes) {
  const i64 end = to < a.total_q * H ? to : a.total_q * H;
  const int words = part < 0 ? R / 2 : R;
  ${global}u32* const lse = (${global}u32*)(u64)(part < 0 ? a.lse : a.part_lse + part);
  ${global}u32* const o = (${global}u32*)(u64)(part < 0 ? a.o : (char*)(a.part_o + part * R));
#pragma unroll 1
  for (i64 row = from > 0 ? from : 0; row < end; row++) {
    if (lse && lane == 0) lse[row] = NAN_WORD;
#pragma unroll 1
    for (int i = lane; i < words; i += lanes) o[row * words + i] = NAN_WORD;
  }
}
//@ end
