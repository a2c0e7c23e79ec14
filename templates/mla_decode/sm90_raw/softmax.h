// The softmax of a tile: scores to P^T in f16.
//
// m is lifted: a row's largest score is LIFT above m when m is set, and m is set anew where a score is SLACK above that. So P is
// at most 2^(LIFT + SLACK) in f16, and P of a token that counts 2^-27 of the largest still is no subnormal number.
//@ -- scales: of the groups of columns; 0: none. pools: they are powers of two, and columns of bf16 without one stand behind.
//@ needs("COLS", "GROUPS", "N", "NV", "P_SLAB")
constexpr float LIFT = 13.0f, SLACK = 2.0f, LOWEST = -1e30f;

struct row_state {
  float m[COLS], sum[COLS]; // reference; sum of P, of this thread's tokens only
  float by[COLS];           // factors of scores
//@ if scales > 0 then
//@   local none = pools and "" or " that none exceeds"
  float inverse[GROUPS];    // P is multiplied by a token's scale over a power of two${none}, so that f16 has it
//@ end
};

MLAF_DEV void begin_rows(row_state& r, const float* factors) {
#pragma unroll
  for (int c = 0; c < COLS; c++) {
    r.m[c] = LOWEST;
    r.sum[c] = 0.0f;
    r.by[c] = factors[8 * (c / 2) + 2 * (threadIdx.x % 4) + c % 2];
  }
//@ if scales > 0 then
#pragma unroll
  for (int g = 0; g < GROUPS; g++) r.inverse[g] = ${pools and "1.0f" or "0x1p100f"};
//@ end
}

MLAF_DEV void poison(row_state& r) {
#pragma unroll
  for (int c = 0; c < COLS; c++) r.sum[c] = not_a_number();
}

//@ local tokens = scales > 0 and "const token_scales& scales, " or ""
//@ local compared = pools and "" or tokens
// True if a score, or a scale, is too far above what it is taken relative to.
MLAF_DEV bool too_high(const float (&s)[N / 2], ${compared}const row_state& r) {
  bool higher = false;
#pragma unroll
  for (int i = 0; i < N / 2; i++) higher |= s[i] > r.m[i / 4 * 2 + i % 2] + (LIFT + SLACK);
//@ if scales > 0 and not pools then
#pragma unroll
  for (int i = 0; i < 2 * GROUPS; i++) higher |= fabsf(scales.of[i / GROUPS][i % GROUPS]) * r.inverse[i % GROUPS] > 1.0f;
//@ end
  return higher;
}

// Sets m anew where a score is too far above it, and rescales. All threads of the warpgroup. tops: of each row, by warp; then of
// each group of columns.${pools and " first: O is zero." or ""}
MLAF_DEV void raise(const float (&s)[N / 2], ${tokens}row_state& r, float (&o)[NV][N / 2], float* tops,
                    int group${pools and ", bool first" or ""}) {
  constexpr int EACH = N + ${scales};
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4;
#pragma unroll
  for (int c = 0; c < COLS; c++) {
    const float top = max_over_lanes<4, 32>(fmaxf(s[c / 2 * 4 + c % 2], s[c / 2 * 4 + c % 2 + 2]));
    if (lane < 4) tops[warp * EACH + 8 * (c / 2) + 2 * lane + c % 2] = top;
  }
//@ if scales > 0 and not pools then
#pragma unroll
  for (int g = 0; g < GROUPS; g++) {
    const float top = max_over_lanes<4, 32>(fmaxf(fabsf(scales.of[0][g]), fabsf(scales.of[1][g])));
    if (lane == 0) tops[warp * EACH + N + g] = top;
  }
//@ end
  named_sync(1 + group, 128);
  auto top_of = [&](int n) { return fmaxf(fmaxf(tops[n], tops[EACH + n]), fmaxf(tops[2 * EACH + n], tops[3 * EACH + n])); };
#pragma unroll
  for (int c = 0; c < COLS; c++) {
    const float top = top_of(8 * (c / 2) + 2 * (lane % 4) + c % 2);
    if (!__any_sync(~0u, top > r.m[c] + (LIFT + SLACK))) continue;
    const float now = top > r.m[c] + (LIFT + SLACK) ? top - LIFT : r.m[c], factor = exp2_fast(r.m[c] - now);
    r.m[c] = now;
    r.sum[c] *= factor;
#pragma unroll
    for (int i = 0; i < NV; i++) {
      o[i][c / 2 * 4 + c % 2] *= factor;
      o[i][c / 2 * 4 + c % 2 + 2] *= factor;
    }
  }
//@ if pools then
  // P times a scale may be anything: its largest one becomes 2^LIFT to 2^(LIFT + 1).
#pragma unroll
  for (int g = 0; g < GROUPS; g++) {
    float most = 0.0f;
#pragma unroll
    for (int i = 0; i < N / 2; i++) most = fmaxf(most, exp2_fast(s[i] - r.m[i / 4 * 2 + i % 2]) * scales.of[i / 2 % 2][g]);
    most = max_over_lanes<1, 32>(most);
    if (lane == 0) tops[warp * EACH + N + g] = most;
  }
  named_sync(1 + group, 128);
//@ end
//@ if scales > 0 then
#pragma unroll
  for (int g = 0; g < GROUPS; g++) {
    const float top = top_of(N + g);
//@   if pools then
    if (!(first ? top > 0.0f : top * r.inverse[g] > exp2_fast(LIFT + SLACK))) continue;
    const u32 exponent = bits_of(top) >> 23, kept = exponent < 40 ? 40 : exponent > 254 ? 254 : exponent;
    const float now = float_of(254 + (int)LIFT - kept << 23), factor = now / r.inverse[g]; // of powers of two
//@   else
    if (!(top * r.inverse[g] > 1.0f)) continue;
    const u32 exponent = bits_of(top) >> 23;
    const float now = float_of(252 - (exponent > 250 ? 250 : exponent) << 23), factor = now / r.inverse[g]; // of powers of two
//@   end
    r.inverse[g] = now;
#pragma unroll
    for (int i = NV / GROUPS * g; i < NV / GROUPS * (g + 1); i++)
#pragma unroll
      for (int k = 0; k < N / 2; k++) o[i][k] *= factor;
  }
//@ end
}

//@ local slabs = pools and "GROUPS + 1" or "GROUPS"
// P^T to shared memory: a row of 128 bytes for each query row, swizzled; a slab for each group of columns, times its scales.
// sum: of P, to be added to the row's.${pools and " True if a P in f16 is infinite." or ""}
MLAF_DEV ${pools and "bool" or "void"} store_p(const float (&s)[N / 2], ${tokens}const row_state& r, float (&sum)[COLS], u32 p) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4;
  float x[N / 2];
#pragma unroll
  for (int i = 0; i < N / 2; i++) x[i] = exp2_fast(s[i] - r.m[i / 4 * 2 + i % 2]);
#pragma unroll
  for (int c = 0; c < COLS; c++) sum[c] = x[c / 2 * 4 + c % 2] + x[c / 2 * 4 + c % 2 + 2];
  const u32 at = p + lane % 8 * 128 + ((2 * warp + lane / 8 % 2 ^ lane % 8) << 4);
//@ if pools then
  u32 most = 0;
//@ end
#pragma unroll
  for (int g = 0; g < ${slabs}; g++) {
    const u32 to = at + g * P_SLAB;
    u32 packed[N / 4];
//@ if pools then
    float by[2]; // finite, since P may be 0
#pragma unroll
    for (int h = 0; h < 2; h++) by[h] = g < GROUPS ? fminf(scales.of[h][g] * r.inverse[g], 0x1.fffffep127f) : 1.0f;
//@ end
#pragma unroll
    for (int i = 0; i < N / 4; i++) {
//@ if pools then
      packed[i] = g < GROUPS ? pack_f16(x[2 * i] * by[i % 2], x[2 * i + 1] * by[i % 2]) : pack2(x[2 * i], x[2 * i + 1]);
      if (g < GROUPS) most = larger_f16(most, packed[i]);
//@ elseif scales > 0 then
      const float by = scales.of[i % 2][g] * r.inverse[g];
      packed[i] = pack_f16(x[2 * i] * by, x[2 * i + 1] * by);
//@ else
      packed[i] = pack_f16(x[2 * i], x[2 * i + 1]);
//@ end
    }
#pragma unroll
    for (int j = 0; j + 1 < N / 8; j += 2)
      store_matrices(to + 1024 * (j + lane / 16), packed[2 * j], packed[2 * j + 1], packed[2 * j + 2], packed[2 * j + 3]);
    if (N / 8 % 2) store_matrices(to + 1024 * (N / 8 - 1), packed[N / 4 - 2], packed[N / 4 - 1]);
  }
//@ if pools then
  return (most & 0x7c00) == 0x7c00 || most >> 26 == 0x1f;
//@ end
}
