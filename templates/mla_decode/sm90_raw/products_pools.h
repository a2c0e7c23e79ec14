// The matrix products of a tile whose tokens are CODES e4m3, a power of two for each 64 of them, and 64 columns of bf16 that are
// K and V, too: in place of products.h.
//@ needs("AHEAD", "BUFFERS", "CODES", "GROUPS", "N", "NV", "PITCH", "P_SLAB", "Q_SLAB", "STEP_16")
static_assert(GROUPS == 7 && NV == 8, "the order of products");

//@ include("mla_decode/sm90_raw/power_of.h")
// The larger of each half; a number where the other is NaN.
MLAF_DEV u32 larger_f16(u32 x, u32 y) {
  u32 z;
  asm("max.f16x2 %0, %1, %2;" : "=r"(z) : "r"(x), "r"(y));
  return z;
}

// Each token's scales: of its row lane/4, and of the row 8 behind it.
struct token_scales {
  float of[2][GROUPS];
};

MLAF_DEV void load_scales(float (&of)[GROUPS], u32 at) {
  uint2 x;
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(x.x), "=r"(x.y) : "r"(at) : "memory");
#pragma unroll
  for (int g = 0; g < GROUPS; g++) of[g] = power_of((g < 4 ? x.x : x.y) >> g % 4 * 8 & 0xff);
}

// A scale counts as 0 where all codes that it is for are: however large it is, it says nothing of P's range. row_at: of row
// lane/4.
MLAF_DEV void leave_out_zeros(u32 row_at, token_scales& scales) {
#pragma unroll
  for (int h = 0; h < 2; h++)
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
      const uint4 x = load_16(row_at + h * (8 * PITCH) + 64 * g + threadIdx.x % 4 * 16);
      u32 codes = (x.x | x.y | x.z | x.w) & 0x7f7f7f7f;
      codes |= __shfl_xor_sync(~0u, codes, 1);
      codes |= __shfl_xor_sync(~0u, codes, 2);
      if (codes == 0) scales.of[h][g] = 0.0f;
    }
}

// S^T of a tile. at: of the row that the lane has the address for; scales_at: of row lane/4's; q: operand() of Q.
// Steps of 16 columns of two groups, two pairs of groups in turns; the last group's two steps are 32 of its columns each.
MLAF_DEV void scores(u32 at, u32 scales_at, u32 q, float (&s)[N / 2], token_scales& scales) {
  constexpr int STEPS = 14, PAIRED = 12;
  const int second = threadIdx.x % 32 / 16;
  u32 x[AHEAD + 1][4], a[BUFFERS][2][4];
  float part[2][2][N / 2];
#pragma unroll
  for (int k = 0; k < 4; k++) load_matrices(a[k / 2][k % 2], at + 16 * second + CODES + 32 * k);
  auto column = [&](int c) { return c < PAIRED ? c / 4 * 128 + c % 4 * 16 : CODES - 64 + (c - PAIRED) * 32; };
  auto apart = [&](int c) { return c < PAIRED ? 64 : 16; };
  auto load = [&](int c) { load_matrices(x[c % (AHEAD + 1)], at + apart(c) * second + column(c)); };
  // Adds the sums of a pair of groups, which are done.
  auto add = [&](int pair) {
#pragma unroll
    for (int k = 0; k < 2; k++) {
      settle(part[pair % 2][k]);
#pragma unroll
      for (int i = 0; i < N / 2; i++)
        s[i] = fmaf(part[pair % 2][k][i], scales.of[i / 2 % 2][smaller(2 * pair + k, GROUPS - 1)], s[i]);
    }
  };
#pragma unroll
  for (int c = 0; c < AHEAD; c++) load(c);
#pragma unroll
  for (int k = 0; k < 2; k++) {
    mma_begin();
    mma_bf16(s, a[k][0], q + (CODES / 64 * Q_SLAB + 64 * k) / 16, k > 0);
    mma_bf16(s, a[k][1], q + (CODES / 64 * Q_SLAB + 64 * k + 32) / 16, true);
    mma_commit();
  }
#pragma unroll
  for (int h = 0; h < 2; h++) load_scales(scales.of[h], scales_at + h * (8 * PITCH));
#pragma unroll
  for (int c = 0; c < STEPS; c++) {
    u32 (&own)[2][4] = a[(c + 2) % BUFFERS];
    if (c + AHEAD < STEPS) load(c + AHEAD);
    if (c + 2 >= BUFFERS) mma_wait<BUFFERS - 1>();
    if (c == 3 + BUFFERS) settle(s);
    if (c % 4 == BUFFERS - 1 && c > 4) add(c / 4 - 1);
    operands_of(x[c % (AHEAD + 1)], own);
    mma_begin();
#pragma unroll
    for (int k = 0; k < 2; k++) {
      const int first = column(c) + k * apart(c);
      mma_f16(part[c / 4 % 2][k], own[k], q + (first / 64 * Q_SLAB + first % 64 * 2) / 16, c % 4 > 0);
    }
    mma_commit();
  }
  mma_wait<0>();
  add(2);
  add(3);
}

// O^T += V^T P^T (p: operand() of P, a slab for each group and one for the columns of bf16). at: of the lane's row of its
// matrices, two blocks of 64 columns apart by halves of a warp. The last group alone takes 32 tokens at a time. wide_at: of the
// lane's row of bf16.
MLAF_DEV void multiply_v(u32 at, u32 single_at, u32 wide_at, u32 p, float (&o)[NV][N / 2]) {
  constexpr int HALF = 9, STEPS = 2 * HALF; // of 32 tokens: three pairs of groups and bf16, twice; the last group
  u32 x[AHEAD + 1][4], a[BUFFERS][2][4];
  auto tokens = [&](int n) { return n / HALF * 2 + n % HALF / 4; }; // 16 of them
  auto load = [&](int n) {
    const int t = n % HALF == 8 ? n / HALF * 2 : tokens(n);
    load_transposed(x[n % (AHEAD + 1)], n % HALF == 8 ? single_at + t * STEP_16 : n % HALF % 4 == 3 ? wide_at + t * STEP_16 :
                                        at + n % HALF % 4 * 128 + t * STEP_16);
  };
#pragma unroll
  for (int n = 0; n < AHEAD; n++) load(n);
#pragma unroll
  for (int n = 0; n < STEPS; n++) {
    u32 (&own)[2][4] = a[n % BUFFERS];
    if (n + AHEAD < STEPS) load(n + AHEAD);
    if (n >= BUFFERS) mma_wait<BUFFERS - 1>();
    const int m = n % HALF, pair = m % 4;
    if (m == 8) {
      operands_of_transposed(x[n % (AHEAD + 1)], own);
      mma_begin();
#pragma unroll
      for (int k = 0; k < 2; k++)
        mma_f16(o[GROUPS - 1], own[k], p + ((GROUPS - 1) * P_SLAB + (n / HALF * 2 + k) * 32) / 16, true);
    } else if (pair == 3) {
#pragma unroll
      for (int i = 0; i < 4; i++) own[0][i] = x[n % (AHEAD + 1)][i];
      mma_begin();
      mma_bf16(o[GROUPS], own[0], p + (GROUPS * P_SLAB + tokens(n) * 32) / 16, true);
    } else {
      operands_of_transposed(x[n % (AHEAD + 1)], own);
      mma_begin();
#pragma unroll
      for (int k = 0; k < 2; k++)
        mma_f16(o[2 * pair + k], own[k], p + ((2 * pair + k) * P_SLAB + tokens(n) * 32) / 16, true);
    }
    mma_commit();
  }
  mma_wait<0>();
#pragma unroll
  for (int b = 0; b < NV; b++) settle(o[b]);
}

// O's columns of bf16 into the order of the others: from column lane/4, and 8 behind it, of a warp's 16, to 2 (lane/4) and the
// next one.
MLAF_DEV void by_column_pairs(float (&o)[N / 2]) {
  const int lane = threadIdx.x & 31, row = lane / 4, from = 2 * row % 8 * 4 + lane % 4;
#pragma unroll
  for (int i = 0; i < N / 2; i++) {
    if (i / 2 % 2) continue;
    float x[2][2];
#pragma unroll
    for (int k = 0; k < 2; k++)
#pragma unroll
      for (int h = 0; h < 2; h++) x[k][h] = __shfl_sync(~0u, o[i + 2 * h], from + 4 * k);
    o[i] = row < 4 ? x[0][0] : x[0][1];
    o[i + 2] = row < 4 ? x[1][0] : x[1][1];
  }
}
