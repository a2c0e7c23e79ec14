// Partial results in 16 bits on CDNA, as mla_decode/lib/narrow.h has them, but in the order of their columns: decode kernels hand
// rows through LDS in any case, and a combine kernel's lane takes 8 columns side by side.
MLAF_DEV u32 narrow_bytes(u32 x, u32 y, u32 nibbles) {
  return __builtin_amdgcn_perm(y, x, (nibbles & 15) | (nibbles & 0xf0) << 4 | (nibbles & 0xf00) << 8 | (nibbles & 0xf000) << 12);
}
#define __byte_perm narrow_bytes
#define fmaf __builtin_fmaf
//@ include("mla_decode/lib/narrow.h")
// Two values of which a multiplication has made numbers in [0.5, 2) already.
MLAF_DEV u32 narrow_pair(float x, float y) { return narrow_bytes(bits_of(x), bits_of(y), 0x6521); }
