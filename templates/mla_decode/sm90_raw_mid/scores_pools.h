// Scores of tokens that are CODES e4m3, a power of two for each 64 of them, and 64 columns of bf16 which are K and V, too. Such a
// scale goes into K and V in f16, which is exact for those from 2^-14 to 2^7: writers of such caches use 2^-13 and above.
//
// A tile with any other scale is *wide*: scores are sums by group of columns, times the scale in fp32, and P goes to the values
// once for each group, times the scale relative to a power of two that the group's O is kept relative to, while scales of the
// other groups are 0. Once such a power is not 1, all tiles of the piece behind it are wide, too.
//@ -- own: number of the named barrier of the warpgroup's threads.
//@ needs("BUFFERS", "CODES", "GROUPS", "N", "PITCH", "PS", "P_SLAB", "Q_SLAB", "SHIFTS_AT", "SHIFT_FACTORS_AT", "SHIFT_TOPS_AT")
//@ needs("TOKEN_ROW")
constexpr float WIDE_LIFT = 13.0f, WIDE_SLACK = 2.0f; // P times a scale: as m's of sm90_raw/softmax.h

//@ include("mla_decode/sm90_raw/power_of.h")
MLAF_DEV uint2 load_codes(u32 at) {
  uint2 x;
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(x.x), "=r"(x.y) : "r"(at) : "memory");
  x.y = x.y & 0xffffff | 0x7f000000; // what fills up the eight is no scale
  return x;
}
// Not 0 if one of four scales is none of 113..134.
MLAF_DEV u32 outside_f16(u32 x) {
  const u32 low = x & 0x7f7f7f7f, from_113 = low + 0x0f0f0f0f, from_135 = low + 0x79797979;
  return (x & from_135 | ~x & ~from_113) & 0x80808080;
}
// The lowest byte's power of two as f16, twice.
MLAF_DEV u32 f16_of(u32 code) {
  u32 x;
  asm("prmt.b32 %0, %1, 0, 0x4040;" : "=r"(x) : "r"(code));
  return x * 1024 - 112u * 0x10001 * 1024;
}
MLAF_DEV u32 times_f16(u32 x, u32 y) {
  asm("mul.rn.f16x2 %0, %0, %1;" : "+r"(x) : "r"(y));
  return x;
}
MLAF_DEV void shift_out(uint2& x) {
  x.x = __funnelshift_r(x.x, x.y, 8);
  x.y >>= 8;
}

MLAF_DEV void store_16(u32 at, u32 x) {
  asm volatile("st.shared.b16 [%0], %1;" ::"r"(at), "h"((unsigned short)x) : "memory");
}
// Scales to f16, for the values: those of groups lane%4 and 4 behind it, of the warp's tokens lane/4 and 8 behind it. A token's
// place in a group's 128 bytes is 32 (token%8/2) + 8 (token/16) + 4 (token/8%2) + 2 (token%2): what a lane reads lies together.
MLAF_DEV void store_scales(u32 to, const uint2 (&codes)[2]) {
  const int lane = thread_now() % 32, g = lane % 4;
  to += g * 128 + lane / 8 * 32 + lane / 4 % 2 * 2;
#pragma unroll
  for (int h = 0; h < 2; h++) {
    store_16(to + 4 * h, f16_of(codes[h].x >> 8 * g));
    if (g < 3) store_16(to + 512 + 4 * h, f16_of(codes[h].y >> 8 * g));
  }
}

// S^T of a tile, whose last products are left under way.
MLAF_DEV void scores(u32 at, u32 q, const uint2 (&codes)[2], float (&s)[N / 2]) {
  u32 x[2][4], a[BUFFERS][4];
  uint2 left[2] = {codes[0], codes[1]};
  at += threadIdx.x % 32 / 16 * 16;
#pragma unroll
  for (int k = 0; k < 4; k++) {
    if (k >= BUFFERS) mma_wait<BUFFERS - 1>();
    load_matrices(a[k % BUFFERS], at + CODES + 32 * k);
    if (k == 3) load_matrices(x[0], at);
    mma_begin();
    mma_bf16(s, a[k % BUFFERS], q + (CODES / 64 * Q_SLAB + 32 * k) / 16, k > 0);
    mma_commit();
  }
#pragma unroll 1
  for (int g = 0; g < GROUPS; g++) {
    const u32 by[2] = {f16_of(left[0].x), f16_of(left[1].x)};
    shift_out(left[0]);
    shift_out(left[1]);
#pragma unroll
    for (int c = 0; c < 4; c++) {
      u32 (&own)[4] = a[c % BUFFERS];
      const u32 (&from)[4] = x[c / 2];
      if (c % 2 == 0) load_matrices(x[(c / 2 + 1) % 2], at + 32 * (c / 2 + 1)); // the last one for nothing
      mma_wait<BUFFERS - 1>();
      to_f16(from[c % 2 * 2], own[0], own[2]);
      to_f16(from[c % 2 * 2 + 1], own[1], own[3]);
#pragma unroll
      for (int i = 0; i < 4; i++) own[i] = times_f16(own[i], by[i % 2]);
      mma_begin();
      mma_f16(s, own, q + c * 2, true);
      mma_commit();
    }
    at += 64;
    q += Q_SLAB / 16;
  }
}

// ---- Wide tiles -------------------------------------------------------------------------------------------------------
// The scale of group g of the token whose row is at `row`.
MLAF_DEV float scale_of(u32 row, int g) {
  u32 code;
  asm volatile("ld.shared.u8 %0, [%1];" : "=r"(code) : "r"(row + TOKEN_ROW + g) : "memory");
  return power_of(code);
}
// The same, or 0 where the group's codes are zeros: however large it is, it says nothing of P's range.
MLAF_DEV float scale_that_counts(u32 row, int g) {
  const uint4 x = load_16(row + 64 * g + thread_now() % 4 * 16);
  u32 codes = (x.x | x.y | x.z | x.w) & 0x7f7f7f7f;
  codes |= __shfl_xor_sync(~0u, codes, 1);
  codes |= __shfl_xor_sync(~0u, codes, 2);
  return codes ? scale_of(row, g) : 0.0f;
}

MLAF_DEV void wide_scores(u32 at, u32 row, u32 q, float (&s)[N / 2]) {
  u32 x[4], a[4];
  float part[N / 2];
  at += thread_now() % 32 / 16 * 16;
#pragma unroll
  for (int k = 0; k < 4; k++) {
    load_matrices(a, at + CODES + 32 * k);
    mma_begin();
    mma_bf16(s, a, q + (CODES / 64 * Q_SLAB + 32 * k) / 16, k > 0);
    mma_commit();
    mma_wait<0>();
  }
  settle(s);
#pragma unroll 1
  for (int g = 0; g < GROUPS; g++) {
#pragma unroll
    for (int c = 0; c < 4; c++) {
      if (c % 2 == 0) load_matrices(x, at + 32 * (c / 2));
      to_f16(x[c % 2 * 2], a[0], a[2]);
      to_f16(x[c % 2 * 2 + 1], a[1], a[3]);
      mma_begin();
      mma_f16(part, a, q + c * 2, c > 0);
      mma_commit();
      mma_wait<0>();
    }
    settle(part);
    const float by[2] = {scale_of(row, g), scale_of(row + 8 * PITCH, g)};
#pragma unroll
    for (int i = 0; i < N / 2; i++) s[i] = fmaf(part[i], by[i / 2 % 2], s[i]);
    at += 64;
    q += Q_SLAB / 16;
  }
}

// Chooses anew what P times a group's scale is taken relative to where it is too large, or too small and the first: its largest
// one becomes 2^WIDE_LIFT and more. first: O is zero. With P number i. True if it is not 1 for all groups.
MLAF_DEV bool refer(u32 smem, const float (&p)[N / 2], u32 row, bool first, u32 i) {
  const int n = thread_now() % 128, lane = n % 32, warp = n / 32;
  bool other = false;
  float tops[2] = {0.0f, 0.0f};
#pragma unroll
  for (int k = 0; k < N / 2; k++) tops[k / 2 % 2] = fmaxf(tops[k / 2 % 2], p[k]);
#pragma unroll 1
  for (int g = 0; g < GROUPS; g++) {
    float most = 0.0f;
#pragma unroll
    for (int h = 0; h < 2; h++) most = fmaxf(most, tops[h] * scale_that_counts(row + h * (8 * PITCH), g));
    most = max_over_lanes<1, 32>(most);
    if (lane == 0) store_4(smem + SHIFT_TOPS_AT + 4 * (8 * warp + g), most);
  }
  named_sync(${own}, 128);
  if (n < 8) {
    const float old = load_4(smem + SHIFTS_AT + 4 * n);
    float top = 0.0f, now = old;
    if (n < GROUPS)
#pragma unroll
      for (int k = 0; k < 4; k++) top = fmaxf(top, load_4(smem + SHIFT_TOPS_AT + 4 * (8 * k + n)));
    if (top * old > exp2_fast(WIDE_LIFT + WIDE_SLACK) || first && top > 0.0f && top < 0x1p-8f) {
      const u32 exponent = bits_of(top) >> 23, kept = exponent < 40 ? 40 : exponent > 254 ? 254 : exponent;
      now = float_of(254 + (int)WIDE_LIFT - kept << 23);
    }
    store_4(smem + SHIFTS_AT + 4 * n, now);
    store_4(smem + SHIFT_FACTORS_AT + 4 * (i % PS * 8 + n), now / old); // of powers of two
    other = now != 1.0f;
  }
  return named_any(${own}, 128, other);
}

// P (x) for group g, to `to`; all groups' scales for the values, to `scales`: 1, and 0 of the others. With the first group goes P
// of the columns of bf16.
MLAF_DEV void store_wide(u32 smem, const float (&x)[N / 2], u32 row, int g, u32 to, u32 scales) {
  const float shift = load_4(smem + SHIFTS_AT + 4 * g);
  float by[2]; // finite, since P may be 0
#pragma unroll
  for (int h = 0; h < 2; h++) by[h] = fminf(scale_that_counts(row + h * (8 * PITCH), g) * shift, 0x1.fffffep127f);
#pragma unroll
  for (int j = 0; j < N / 8; j += 2) {
    u32 packed[4], wide[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const float first = x[4 * j + 2 * k], second = x[4 * j + 2 * k + 1];
      packed[k] = pack_f16(first * by[k % 2], second * by[k % 2]);
      wide[k] = g == 0 ? pack2(first, second) : 0;
    }
    store_matrices(to + 1024 * j, packed[0], packed[1], packed[2], packed[3]);
    store_matrices(to + P_SLAB + 1024 * j, wide[0], wide[1], wide[2], wide[3]);
  }
  for (int k = thread_now() % 32; k < 8 * GROUPS; k += 32)
    store_u32(scales + k / 8 * 128 + k % 8 / 2 * 32 + k % 2 * 4, k / 8 == g ? 0x3c003c00 : 0);
}
