// Weights of 8 bits: bytes of e4m3 to 16-bit numbers and to floats, exactly (lib/e4m3.h), and their scales.
//
// Products are exact; a block's scale comes in behind them, in fp32. The includer hands over `weights`, 1 for e4m3fn and 2 for
// e4m3fnuz.
//@ needs("mlaf_projection_kernel_args", "MLAF_BF16")
//@ include("lib/e4m3.h", { encoding = weights })

// Eight bytes.
MLAF_DEV void decode8(float (&v)[8], u32 x, u32 y) {
  decode2<0>(x, v[0], v[1]);
  decode2<1>(x, v[2], v[3]);
  decode2<0>(y, v[4], v[5]);
  decode2<1>(y, v[6], v[7]);
}
MLAF_DEV word4 expand8(u32 x, u32 y) { return words(expand2<0>(x), expand2<1>(x), expand2<0>(y), expand2<1>(y)); }

// The argument block of kernels whose launch says MLAF_KERNEL_SCALES, to the end of runtime/op/projection.h's.
struct mlaf_projection_scaled_args : mlaf_projection_kernel_args {
  const float* w_scale;
  i64 scale_row, scale_first_row, scale_head, scale_first_column; // scale_row in bytes
};
static_assert(sizeof(mlaf_projection_scaled_args) == 192, "differs from runtime/op/projection.h");

// The scale of an element of W[head]; its row's scales begin at scales_of, one for 128 columns.
MLAF_DEV const char* scales_of(const mlaf_projection_scaled_args& a, int head, int row) {
  return (const char*)a.w_scale + (a.scale_first_row + head * a.scale_head + row >> 7) * a.scale_row;
}
MLAF_DEV float scale_at(const mlaf_projection_scaled_args& a, const char* scales, int column) {
//@ if arch.wave == 64 then
  const float x = load<float>(scales + 4 * (a.scale_first_column + column >> 7));
  return x == x ? x : not_a_number(); // whose low bits are zero
//@ else
  return load<float>(scales + 4 * (a.scale_first_column + column >> 7));
//@ end
}
