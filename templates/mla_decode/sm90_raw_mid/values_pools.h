// The values' products where tokens are CODES e4m3, a power of two for each 64 of them, and 64 columns of bf16.
//@ needs("HALF", "N", "P_SLAB", "STEP_16", "V_AHEAD", "V_BUFFERS")
static_assert(HALF == 4, "the last block of the second half is bf16");

MLAF_DEV void load_transposed(u32 (&x)[2], u32 at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(x[0]), "=r"(x[1]) : "r"(at) : "memory");
}
MLAF_DEV uint2 load_pair(u32 at) {
  uint2 x;
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(x.x), "=r"(x.y) : "r"(at) : "memory");
  return x;
}

// O^T += V^T P^T (p: operand() of P, in f16, then in bf16): 16 tokens of a block of 64 columns at a time, all blocks in turns.
// at: of the lane's row of its matrices, which hold two blocks; scales: of its tokens in the half's first block. A warp's columns
// of bf16 are 8 from 8 warp on, which come with the e4m3 before, and 8 from 32 + 8 warp on.
template <int G>
MLAF_DEV void multiply_v(u32 at, u32 p, u32 scales, float (&o)[HALF][N / 2]) {
  constexpr int PAIRS = HALF / 2, STEPS = 4 * HALF;
  u32 x[V_AHEAD + 1][4], a[V_BUFFERS][4], y[2];
  auto place = [&](int n) { return at + n % PAIRS * 128 + n / PAIRS * STEP_16; };
#pragma unroll
  for (int n = 0; n < V_AHEAD; n++) load_transposed(x[n], place(n));
#pragma unroll
  for (int n = 0; n < STEPS; n++) {
    u32 (&own)[4] = a[n % V_BUFFERS];
    const u32 (&from)[4] = x[n / 2 % (V_AHEAD + 1)];
    const bool wide = G == 1 && n % HALF == HALF - 1;
    uint2 by;
    if (n % 2 == 0 && n / 2 + V_AHEAD < STEPS / 2) load_transposed(x[(n / 2 + V_AHEAD) % (V_AHEAD + 1)], place(n / 2 + V_AHEAD));
    if (wide) load_transposed(y, at + 256 + n / HALF * STEP_16);
    else by = load_pair(scales + n % HALF * 128 + n / HALF * 8);
    if (n >= V_BUFFERS) mma_wait<V_BUFFERS - 1>();
    if (wide) {
      own[0] = from[2], own[1] = y[0], own[2] = from[3], own[3] = y[1];
    } else {
      to_f16(by_column(from[n % 2 * 2]), own[0], own[1]);
      to_f16(by_column(from[n % 2 * 2 + 1]), own[2], own[3]);
#pragma unroll
      for (int i = 0; i < 4; i++) own[i] = times_f16(own[i], i < 2 ? by.x : by.y);
    }
    mma_begin();
    if (wide) mma_bf16(o[n % HALF], own, p + P_SLAB / 16 + n / HALF * 2, true);
    else mma_f16(o[n % HALF], own, p + n / HALF * 2, true);
    mma_commit();
  }
  mma_wait<0>();
#pragma unroll
  for (int b = 0; b < HALF; b++) settle(o[b]);
}

// Two columns of bf16 side by side, of those that the thread and the next row's have: from 8 warp + lane/4 on where lane/4 is
// even, else from 32 + 8 warp + lane/4 - 1.
MLAF_DEV void by_column_pairs(float& x, float& y) {
  const bool odd = thread_now() / 4 % 2;
  const float other = __shfl_xor_sync(~0u, odd ? x : y, 4);
  if (odd) x = other;
  else y = other;
}
// The first of them, from the half's first column.
MLAF_DEV int wide_column() {
  const int thread = thread_now(), row = thread % 32 / 4;
  return 64 * (HALF - 1) + thread / 32 % 4 * 8 + row / 2 * 2 + row % 2 * 32;
}

// Multiplies O's blocks by what P of their columns is taken relative to now over what it was.
template <int G>
MLAF_DEV void rescale_blocks(u32 factors, float (&o)[HALF][N / 2]) {
#pragma unroll
  for (int b = 0; b < HALF; b++) {
    const float f = load_4(factors + 4 * (HALF * G + b));
#pragma unroll
    for (int k = 0; k < N / 2; k++) o[b][k] *= f;
  }
}

// O that is relative to nothing.
template <int G>
MLAF_DEV void end_blocks(u32 shifts, float (&o)[HALF][N / 2]) {
#pragma unroll
  for (int b = 0; b < HALF; b++) {
    const float f = load_4(shifts + 4 * (HALF * G + b));
    if (f == 1.0f) continue;
#pragma unroll
    for (int k = 0; k < N / 2; k++) o[b][k] *= float_of((254u << 23) - bits_of(f)); // a power of two
  }
}
