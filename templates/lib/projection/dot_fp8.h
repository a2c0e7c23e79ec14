// Rounds round .. round + N - 1 of dot.h, layout=outputs, for weights of 8 bits. A load's 16 values have one scale.
//@ needs("COLS", "CHUNKS", "sums_of_warp", "decode8", "scale_at")
template <int N>
MLAF_DEV void add_rounds(const mlaf_projection_scaled_args& a, const char* const (&w)[COLS], const char* const (&scales)[COLS],
                         const char* const (&x)[TOKENS], int round, int lane, sums_of_warp& s) {
  word4 weights[N][COLS];
  float scale[N][COLS];
  bool there[N];
#pragma unroll
  for (int r = 0; r < N; r++) {
    const int chunk = (round + r) * LANES + lane;
    there[r] = CHUNKS % LANES == 0 || chunk < CHUNKS;
#pragma unroll
    for (int c = 0; c < COLS; c++) {
      weights[r][c] = there[r] ? load_weights(w[c] + 16 * chunk) : words(0, 0, 0, 0);
      scale[r][c] = there[r] ? scale_at(a, scales[c], 16 * chunk) : 0.0f;
    }
  }
#pragma unroll
  for (int r = 0; r < N; r++) {
    const int chunk = (round + r) * LANES + lane;
    float part[TOKENS][COLS] = {};
#pragma unroll ${pass > 2 and 1 or 2}
    for (int half = 0; half < 2; half++) { // of 4 tokens one after the other: both would take all registers
      float v[TOKENS][8];
#pragma unroll
      for (int t = 0; t < TOKENS; t++)
        unpack(v[t], there[r] ? load<word4>(x[t] + 32 * chunk + 16 * half) : words(0, 0, 0, 0));
//@ if norm == 1 then
      float g[8];
      unpack(g, there[r] ? load<word4>(a.gain + 32 * chunk + 16 * half) : words(0, 0, 0, 0));
#pragma unroll
      for (int t = 0; t < TOKENS; t++)
#pragma unroll
        for (int i = 0; i < 8; i++) {
          s.squares[t] = multiply_add(v[t][i], v[t][i], s.squares[t]);
          v[t][i] *= g[i];
        }
//@ end
#pragma unroll
      for (int c = 0; c < COLS; c++) {
        float u[8];
        decode8(u, half ? weights[r][c].z : weights[r][c].x, half ? weights[r][c].w : weights[r][c].y);
#pragma unroll
        for (int t = 0; t < TOKENS; t++)
#pragma unroll
          for (int i = 0; i < 8; i++) part[t][c] = multiply_add(u[i], v[t][i], part[t][c]);
      }
    }
#pragma unroll
    for (int c = 0; c < COLS; c++)
#pragma unroll
      for (int t = 0; t < TOKENS; t++) s.of[t][c] = multiply_add(part[t][c], scale[r][c], s.of[t][c]);
  }
}

