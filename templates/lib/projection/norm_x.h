// A ring's x behind a norm: a warp takes its 16 rows of a step into registers, squares them for the sum, and
// multiplies them by the norm's weights, which lie in shared memory from GAIN_AT on.
//@ needs("INNER", "THREADS", "GAIN_AT", "shrunk")
MLAF_DEV u32 times(u32 a, u32 b) { // two pairs multiplied, each product rounded once
  u32 x;
  asm("mul.rn.${dtype == "bf16" and "bf16x2" or "f16x2"} %0, %1, %2;" : "=r"(x) : "r"(a), "r"(b));
  return x;
}
// The norm's weights as lanes want them: of 64 values, lane t of a quad has its 8 words side by side.
MLAF_DEV void lay_gain(const mlaf_projection_kernel_args& a, const gain_scale& shrink, char* memory, int thread) {
#pragma unroll 1
  for (int i = thread; i < INNER / 8; i += THREADS) { // words 4i .. 4i+3: lanes 0 .. 3, each the same of its words
    const word4 g = shrunk(load<word4>(a.gain + 16 * i), shrink);
    u32* const to = (u32*)(memory + GAIN_AT) + i / 8 * 32 + i % 8;
    to[0] = g.x, to[8] = g.y, to[16] = g.z, to[24] = g.w;
  }
}
// A warp's 16 rows of a stage, and the same times the norm's weights, as the product wants them.
MLAF_DEV void take_x(u32 (&raw)[4][4], u32 (&a)[4][4], u32 x, u32 gain, int warp, int lane) {
  const int row = 16 * warp + (lane & 15), half = lane >> 4;
  u32 g[8];
#pragma unroll
  for (int i = 0; i < 8; i += 4)
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(g[i]), "=r"(g[i + 1]), "=r"(g[i + 2]), "=r"(g[i + 3]) : "r"(gain + 32 * (lane & 3) + 4 * i) : "memory");
#pragma unroll
  for (int j = 0; j < 4; j++) load_matrices(raw[j], x + row * 128 + ((2 * j + half) ^ (row & 7)) * 16);
#pragma unroll
  for (int j = 0; j < 4; j++)
#pragma unroll
    for (int i = 0; i < 4; i++) a[j][i] = times(raw[j][i], g[2 * j + (i >> 1)]);
}
// Products of each eight rows with themselves, of which the diagonals are wanted: two sums each, since a product waits for the
// one before of the same sum. While the tensor cores are busy with the step.
MLAF_DEV void add_squares(float (&squares)[2][2][4], const u32 (&raw)[4][4]) {
#pragma unroll
  for (int j = 0; j < 4; j++) {
    mma16(squares[j & 1][0], raw[j], raw[j][0], raw[j][2]);
    mma16(squares[j & 1][1], raw[j], raw[j][1], raw[j][3]);
  }
}
