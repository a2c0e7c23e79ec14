// Launches of index lists (mla_decode/lib/index_list.h), and attention sinks there: one more term in a row's denominator.
//@ needs("SINKS_AT")
constexpr float LOG2E = 1.44269504f;

// The launch's lists, in the place of the tables of requests (runtime/ops/mla_decode/launch.h: mlaf_list_word). qo_indptr is odd,
// the sinks' address but for that bit.
MLAF_DEV bool reads_list(const mlaf_decode_args& a) { return (u64)a.qo_indptr & 1; }
MLAF_DEV const float* sinks_of(const mlaf_decode_args& a) { return (const float*)((u64)a.qo_indptr - 1); }

// Factor of O of row n for its sink. lse: in powers of two. A row without tokens is 0 already.
MLAF_DEV float sink_factor(const mlaf_decode_args& a, u32 smem, int n, float lse) {
  if (!reads_list(a) || lse == minus_inf()) return 1.0f;
  float sink;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(sink) : "r"(smem + SINKS_AT + 4 * n) : "memory");
  return 1.0f / (1.0f + exp2_fast(sink - lse));
}
