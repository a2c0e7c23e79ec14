// Steps of mfma.h with weights of 8 bits.
//
//   layout=outputs  a lane loads `values` bytes of a row, 16 or, where a sum is no multiple of 64, 8, and as many of x: a step
//                   has 4 * values. The products of a step and of 16 outputs have one scale
//   layout=inputs   a lane has `blocks` bytes of its four rows, transposed as bytes; a step of 16 rows has one scale
//@ needs("BLOCKS", "GROUPS", "STEPS", "operands", "sums_of_wave", "expand8", "expand2", "scale_at", "scales_of")
//@ if layout == "outputs" then
constexpr int VALUES = ${values}, PARTS = VALUES / 8; // of a load, of 8 values each
typedef u32 codes_of_row __attribute__((ext_vector_type(VALUES / 4)));

template <int N>
MLAF_DEV void add_steps(const mlaf_projection_scaled_args& a, const operands& o, int step, sums_of_wave& s) {
  codes_of_row w[N][BLOCKS];
  word4 x[N][GROUPS][PARTS];
  float scale[N][BLOCKS];
//@   if norm == 1 then
  word4 gain[N][PARTS];
//@   end
#pragma unroll
  for (int n = 0; n < N; n++) {
    const i64 at = (i64)(step + n) * (4 * VALUES);
#pragma unroll
    for (int b = 0; b < BLOCKS; b++) {
      w[n][b] = load<codes_of_row>(o.w[b] + at);
      scale[n][b] = scale_at(a, o.scales[b], (step + n) * (4 * VALUES));
    }
#pragma unroll
    for (int i = 0; i < PARTS; i++) {
#pragma unroll
      for (int g = 0; g < GROUPS; g++) x[n][g][i] = load<word4>(o.x[g] + 2 * at + 16 * i);
//@   if norm == 1 then
      gain[n][i] = load<word4>(o.gain + 2 * at + 16 * i);
//@   end
    }
  }
#pragma unroll
  for (int n = 0; n < N; n++) {
//@   if norm == 1 then
#pragma unroll
    for (int g = 0; g < GROUPS; g++)
#pragma unroll
      for (int i = 0; i < 4 * PARTS; i++) {
        const u32 pair = x[n][g][i / 4][i % 4];
        const float lo = unpack_lo(pair), hi = unpack_hi(pair);
        s.squares[g] = multiply_add(lo, lo, multiply_add(hi, hi, s.squares[g]));
        x[n][g][i / 4][i % 4] = multiply2(pair, shrunk(gain[n][i / 4][i % 4], o.shrink));
      }
//@   end
#pragma unroll
    for (int b = 0; b < BLOCKS; b++) {
      word4 v[PARTS];
#pragma unroll
      for (int i = 0; i < PARTS; i++) v[i] = expand8(w[n][b][2 * i], w[n][b][2 * i + 1]);
#pragma unroll
      for (int g = 0; g < GROUPS; g++) {
        f32x4 part = {};
#pragma unroll
        for (int i = 0; i < PARTS; i++) {
          part = mfma16(v[i].xy, x[n][g][i].xy, part);
          part = mfma16(v[i].zw, x[n][g][i].zw, part);
        }
#pragma unroll
        for (int r = 0; r < 4; r++) s.of[b][g][r] = multiply_add(part[r], scale[n][b], s.of[b][g][r]);
      }
    }
  }
}
//@ else
constexpr int WORDS = BLOCKS / 4; // of a lane's outputs in a row
typedef u32 codes_of_row __attribute__((ext_vector_type(WORDS)));

// Bytes 0 and 1, or 2 and 3, of two rows: each row's first, then each row's second.
MLAF_DEV u32 pair_lo(u32 a, u32 b) { return __builtin_amdgcn_perm(b, a, 0x05010400u); }
MLAF_DEV u32 pair_hi(u32 a, u32 b) { return __builtin_amdgcn_perm(b, a, 0x07030602u); }

template <int N>
MLAF_DEV void add_steps(const mlaf_projection_scaled_args& a, const operands& o, int step, sums_of_wave& s) {
  codes_of_row w[N][4];
  u32x2 x[N][GROUPS];
  float scale[N];
#pragma unroll
  for (int n = 0; n < N; n++) {
#pragma unroll
    for (int r = 0; r < 4; r++) w[n][r] = load<codes_of_row>(o.w[r] + (i64)(step + n) * o.w_step);
#pragma unroll
    for (int g = 0; g < GROUPS; g++) x[n][g] = load<u32x2>(o.x[g] + (i64)(step + n) * 32);
    scale[n] = scale_at(a, scales_of(a, o.head, 16 * (step + n)), o.first);
  }
#pragma unroll
  for (int n = 0; n < N; n++)
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
      const u32 lo01 = pair_lo(w[n][0][i], w[n][1][i]), lo23 = pair_lo(w[n][2][i], w[n][3][i]);
      const u32 hi01 = pair_hi(w[n][0][i], w[n][1][i]), hi23 = pair_hi(w[n][2][i], w[n][3][i]);
      const u32x2 of[4] = {{expand2<0>(lo01), expand2<0>(lo23)}, {expand2<1>(lo01), expand2<1>(lo23)},
                           {expand2<0>(hi01), expand2<0>(hi23)}, {expand2<1>(hi01), expand2<1>(hi23)}};
#pragma unroll
      for (int k = 0; k < 4; k++)
#pragma unroll
        for (int g = 0; g < GROUPS; g++) {
          const f32x4 part = mfma16(of[k], x[n][g], f32x4{});
#pragma unroll
          for (int r = 0; r < 4; r++) s.of[4 * i + k][g][r] = multiply_add(part[r], scale[n], s.of[4 * i + k][g][r]);
        }
    }
}
//@ end
