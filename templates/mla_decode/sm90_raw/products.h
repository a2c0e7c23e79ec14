// The matrix products of a tile of raw bytes (mma.h). Handed over: scales (groups of columns that each token has a scale for; 0:
// none), kind (the problem's type), step_8; kpe16: behind a token's codes, which have one scale, come its rope columns of that
// type; scales_apart: scales lie side by side; planar: rope columns lie apart,
// too, at rope_at of the lane's row.
//@ needs("AHEAD", "BUFFERS", "GROUPS", "N", "NV", "PITCH", "P_SLAB", "Q_SLAB", "R", "STEP_16", "TOKEN")

// S^T of a tile. at: of the row that the lane has the address for; q: operand() of Q.
// Products that add to the same numbers wait for each other: neighbours add to different ones.
//@ if scales > 0 then
// Each token's scales: of its row lane/4, and of the row 8 behind it.
struct token_scales {
  float of[2][GROUPS];
};

MLAF_DEV void scores(u32 at, u32 scales_at, u32 q, float (&s)[N / 2], token_scales& scales${planar and ", u32 rope_at" or ""}) {
  constexpr int STEPS = NV * 2, EACH = R / GROUPS; // of 16 columns in each of two groups; columns of a group
  const int second = threadIdx.x % 32 / 16;
  u32 x[AHEAD + 1][4], a[BUFFERS][2][4];
  float part[GROUPS][N / 2];
//@ if planar then
#pragma unroll
  for (int k = 0; k < 4; k++) load_matrices(a[k / 2][k % 2], rope_at + 16 * second + 32 * k);
//@ elseif rope > 0 then
#pragma unroll
  for (int k = 0; k < 4; k++) load_matrices(a[k / 2][k % 2], at + 16 * second + TOKEN - 128 + 32 * k);
//@ end
  at += EACH * second;
  auto column = [&](int c) { return c % 2 * (2 * EACH) + c / 2 * 16; }; // both pairs of groups in turns
#pragma unroll
  for (int c = 0; c < AHEAD; c++) load_matrices(x[c], at + column(c));
//@ if rope > 0 then
#pragma unroll
  for (int k = 0; k < 2; k++) {
    mma_begin();
    mma_${kind}(s, a[k][0], q + (NV * Q_SLAB + 64 * k) / 16, k > 0);
    mma_${kind}(s, a[k][1], q + (NV * Q_SLAB + 64 * k + 32) / 16, true);
    mma_commit();
  }
//@ else
#pragma unroll
  for (int i = 0; i < N / 2; i++) s[i] = 0.0f;
//@ end
#pragma unroll
  for (int h = 0; h < 2; h++) {
//@ if scales_apart then
    const uint4 y = load_16(scales_at + 16 * h);
//@ else
    const uint4 y = load_16(scales_at + h * (${step_8} * PITCH));
//@ end
    scales.of[h][0] = float_of(y.x), scales.of[h][1] = float_of(y.y);
    scales.of[h][2] = float_of(y.z), scales.of[h][3] = float_of(y.w);
  }
#pragma unroll
  for (int c = 0; c < STEPS; c++) {
    u32 (&own)[2][4] = a[(c + 2) % BUFFERS];
    if (c + AHEAD < STEPS) load_matrices(x[(c + AHEAD) % (AHEAD + 1)], at + column(c + AHEAD));
    if (c + 2 >= BUFFERS) mma_wait<BUFFERS - 1>();
    operands_of(x[c % (AHEAD + 1)], own);
    mma_begin();
#pragma unroll
    for (int k = 0; k < 2; k++) {
      const int first = column(c) + k * EACH;
      mma_f16(part[first / EACH], own[k], q + (first / 64 * Q_SLAB + first % 64 * 2) / 16, c > 1);
    }
    mma_commit();
  }
  mma_wait<0>();
  settle(s);
#pragma unroll
  for (int g = 0; g < GROUPS; g++) {
    settle(part[g]);
#pragma unroll
    for (int i = 0; i < N / 2; i++) s[i] = fmaf(part[g][i], scales.of[i / 2 % 2][g], s[i]);
  }
}
//@ else
MLAF_DEV void scores(u32 at, u32 q, float (&s)[N / 2]${kpe16 and ", float latent_scale" or ""}) {
  constexpr int CHUNKS = ${kpe16 and "R" or "TOKEN"} / 32, CHAINS = N <= 16 ? 2 : 1;
  u32 x[AHEAD + 1][4], a[BUFFERS][2][4];
  float part[CHAINS][N / 2];
  at += threadIdx.x % 32 / 16 * 16;
//@ local sum = rows <= 16 and "s" or "part[0]" -- of the rope columns; registers of many rows hold no other
//@ local function add_rope(add)
#pragma unroll
  for (int k = 0; k < 4; k++) load_matrices(a[k / 2][k % 2], at + R + 32 * k);
#pragma unroll
  for (int k = 0; k < 2; k++) {
    mma_begin();
    mma_${kind}(${sum}, a[k][0], q + (NV * Q_SLAB + 64 * k) / 16, ${add});
    mma_${kind}(${sum}, a[k][1], q + (NV * Q_SLAB + 64 * k + 32) / 16, true);
    mma_commit();
  }
//@ end
//@ local ahead = kpe16 and rows <= 16 -- rope columns come first
#pragma unroll
  for (int c = 0; c < AHEAD; c++) load_matrices(x[c], at + 32 * c);
//@ if ahead then add_rope("k > 0") end
#pragma unroll
  for (int c = 0; c < CHUNKS; c++) {
    u32 (&own)[2][4] = a[${ahead and "(c + 2)" or "c"} % BUFFERS];
    if (c + AHEAD < CHUNKS) load_matrices(x[(c + AHEAD) % (AHEAD + 1)], at + 32 * (c + AHEAD));
    if (c${ahead and " + 2" or ""} >= BUFFERS) mma_wait<BUFFERS - 1>();
    operands_of(x[c % (AHEAD + 1)], own);
    mma_begin();
    mma_f16(part[0], own[0], q + (c / 2 * Q_SLAB + c % 2 * 64) / 16, c > 0);
    mma_f16(part[CHAINS - 1], own[1], q + (c / 2 * Q_SLAB + c % 2 * 64 + 32) / 16, CHAINS == 1 || c > 0);
    mma_commit();
  }
  mma_wait<0>();
#pragma unroll
  for (int k = 0; k < CHAINS; k++) settle(part[k]);
//@ if ahead then
  settle(s);
#pragma unroll
  for (int i = 0; i < N / 2; i++) s[i] = fmaf(part[0][i] + part[1][i], latent_scale, s[i]);
//@ else
//@   if kpe16 then
#pragma unroll
  for (int i = 0; i < N / 2; i++) part[0][i] *= latent_scale;
//@     add_rope("true")
  mma_wait<0>();
  settle(part[0]);
//@   end
#pragma unroll
  for (int i = 0; i < N / 2; i++) s[i] = CHAINS == 1 ? part[0][i] : part[0][i] + part[1][i];
//@ end
}
//@ end

// O^T += V^T P^T (p: operand() of P): 16 tokens of two blocks of 64 columns at a time, all blocks in turns, so that products
// which add to the same numbers are far apart. at: of the lane's row of its matrices.
MLAF_DEV void multiply_v(u32 at, u32 p, float (&o)[NV][N / 2]) {
  constexpr int STEPS = 2 * NV, PAIRS = NV / 2;
  u32 x[AHEAD + 1][4], a[BUFFERS][2][4];
  auto place = [&](int n) { return at + n % PAIRS * 128 + n / PAIRS * STEP_16; };
#pragma unroll
  for (int n = 0; n < AHEAD; n++) load_transposed(x[n], place(n));
#pragma unroll
  for (int n = 0; n < STEPS; n++) {
    u32 (&own)[2][4] = a[n % BUFFERS];
    if (n + AHEAD < STEPS) load_transposed(x[(n + AHEAD) % (AHEAD + 1)], place(n + AHEAD));
    if (n >= BUFFERS) mma_wait<BUFFERS - 1>();
    operands_of_transposed(x[n % (AHEAD + 1)], own);
    mma_begin();
    const int pair = n % PAIRS;
    const u32 columns = p + (pair / (PAIRS / GROUPS) * P_SLAB + n / PAIRS * 32) / 16;
    mma_f16(o[2 * pair], own[0], columns, true);
    mma_f16(o[2 * pair + 1], own[1], columns, true);
    mma_commit();
  }
  mma_wait<0>();
#pragma unroll
  for (int b = 0; b < NV; b++) settle(o[b]);
}
