// Code shared by streams of 16-bit and of 8-bit weights: which chunks of a sum a warp takes, and what its lanes load and sum up.
// end_pass.h has what becomes of the sums.
//@ needs("WAYS", "MT", "NT", "RUN", "CHUNKS")

MLAF_DEV word4 load_x(const void* p) {
  word4 x;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(p) : "memory");
  return x;
}
MLAF_DEV u32 word_of(const word4& x, int i) { return i == 0 ? x.x : i == 1 ? x.y : i == 2 ? x.z : x.w; }

struct sums_of_warp {
  float of[MT][NT][4];
//@ if norm == 1 then
  float squares[NT];
//@ end
};
// The first address that a lane loads from, and the warp's first chunk of the block.
struct lane_place {
  const char *w, *x[NT];
//@ if norm == 1 then
  const char* gain;
//@ end
  i64 w_step; // bytes between two of its loads of a chunk
  int first;
};

MLAF_DEV int chunk_of(const lane_place& l, int step) { return l.first + step / RUN * (RUN * WAYS) + step % RUN; }
MLAF_DEV bool is_there(int chunk) { return CHUNKS % (RUN * WAYS) == 0 || chunk < CHUNKS; }

//@ if norm == 1 then
// Two pairs multiplied, each product rounded once.
MLAF_DEV u32 times(u32 a, u32 b) {
  u32 x;
  asm("mul.rn.${dtype == "bf16" and "bf16x2" or "f16x2"} %0, %1, %2;" : "=r"(x) : "r"(a), "r"(b));
  return x;
}
MLAF_DEV float add_squares(float sum, u32 pair) {
  const float lo = unpack_lo(pair), hi = unpack_hi(pair);
  return fmaf(lo, lo, fmaf(hi, hi, sum));
}
//@ end
