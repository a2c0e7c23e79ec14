// A tile of an 8-bit cache in shared memory: rows as the cache stores them become rows of 16-bit numbers, which is exact, by all
// threads of a workgroup. One factor for all tokens goes into the softmax scale and O. Where tokens hold scales of their own
// (`scaled`, handed over: four fp32 behind R bytes, for 128 columns each), these multiply scores and probabilities in fp32, which
// is exact for any scale too:
//
//   S = sum over groups g of s_g (Q K_g) + Q K_rope        O's columns of group g = (P s_g) V_g
//
//@ needs("BLOCKS", "CHAINS", "COLS", "NT", "PITCH", "PITCH_P", "R", "ROPE", "ROW_BYTES", "TILE", "UNITS", "WARPS")
constexpr int DECODED = ${scaled and "R" or "R + ROPE"}; // codes of a row
constexpr int GROUPS = (R + 127) / 128, SCALES_AT = R;

MLAF_DEV void load_words(u32 (&x)[4], u32 at) {
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(at) : "memory");
}
MLAF_DEV void load_words(u32 (&x)[2], u32 at) {
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(x[0]), "=r"(x[1]) : "r"(at) : "memory");
}
MLAF_DEV void store_words(u32 at, u32 a, u32 b, u32 c, u32 d) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}

// Eight codes become 16 bytes at a time: neighbouring lanes read and write neighbouring words.
MLAF_DEV void decode_tile(u32 from, u32 to, int thread) {
#pragma unroll 4
  for (int i = thread; i < TILE * (DECODED / 8); i += 32 * WARPS) {
    const int token = i / (DECODED / 8), unit = i % (DECODED / 8);
    u32 x[2];
    load_words(x, from + token * ROW_BYTES + 8 * unit);
    store_words(to + token * PITCH + 16 * unit, expand2<0>(x[0]), expand2<1>(x[0]), expand2<0>(x[1]), expand2<1>(x[1]));
  }
//@ if scaled then
  for (int i = thread; i < TILE * (ROPE / 8); i += 32 * WARPS) { // rope columns are of 16 bits
    const int token = i / (ROPE / 8), chunk = i % (ROPE / 8);
    u32 x[4];
    load_words(x, from + token * ROW_BYTES + SCALES_AT + 16 + 16 * chunk);
    store_words(to + token * PITCH + 2 * R + 16 * chunk, x[0], x[1], x[2], x[3]);
  }
//@ end
}
//@ if scaled then

// The four scales of a token of the tile at `raw`.
MLAF_DEV void load_scales(float (&s)[4], u32 raw, int token) {
  u32 x[4];
  load_words(x, raw + token * ROW_BYTES + SCALES_AT);
#pragma unroll
  for (int g = 0; g < 4; g++) s[g] = float_of(x[g]);
}

// Scores of a warp's tokens, whose decoded rows are at `k` and stored rows at `raw`.
MLAF_DEV void multiply_scaled_qk(u32 q, u32 k, u32 raw, int lane, float (&s)[NT][BLOCKS][4]) {
  const u32 qa = q + (lane & 15) * PITCH + (lane >> 4) * 16, ka = k + (lane & 7) * PITCH + (lane >> 3) * 16;
  float scale[NT][2][4];
#pragma unroll
  for (int n = 0; n < NT; n++)
#pragma unroll
    for (int e = 0; e < 2; e++) load_scales(scale[n][e], raw, 8 * n + 2 * (lane & 3) + e);
#pragma unroll
  for (int n = 0; n < NT; n++)
#pragma unroll
    for (int b = 0; b < BLOCKS; b++)
#pragma unroll
      for (int i = 0; i < 4; i++) s[n][b][i] = 0.0f;
#pragma unroll
  for (int g = 0; g <= GROUPS; g++) { // the last are the rope columns
    const int first = g < GROUPS ? 4 * g : R / 32, end = g < GROUPS ? smaller(4 * g + 4, R / 32) : (R + ROPE) / 32;
    if (first == end) continue;
    float acc[CHAINS][NT][BLOCKS][4] = {};
#pragma unroll
    for (int kk = first; kk < end; kk++) {
      u32 a[BLOCKS][2][4];
#pragma unroll
      for (int b = 0; b < BLOCKS; b++) {
        load_matrices(a[b][0], qa + b * 16 * PITCH + kk * 64);
        load_matrices(a[b][1], qa + b * 16 * PITCH + kk * 64 + 32);
      }
#pragma unroll
      for (int n = 0; n < NT; n++) {
        u32 b4[4];
        load_matrices(b4, ka + n * 8 * PITCH + kk * 64);
#pragma unroll
        for (int b = 0; b < BLOCKS; b++) {
          mma16(acc[0][n][b], a[b][0], b4[0], b4[1]);
          mma16(acc[CHAINS - 1][n][b], a[b][1], b4[2], b4[3]);
        }
      }
    }
#pragma unroll
    for (int n = 0; n < NT; n++)
#pragma unroll
      for (int b = 0; b < BLOCKS; b++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
          const float sum = acc[0][n][b][i] + (CHAINS > 1 ? acc[CHAINS - 1][n][b][i] : 0.0f);
          s[n][b][i] += g < GROUPS ? sum * scale[n][i & 1][g & 3] : sum;
        }
  }
}

//@ if dtype == "f16" then
// In f16 a probability times a small scale would lose its bits, so that scales are divided by a power of two first: one for each
// group, no scale of the tiles so far larger. O's columns are multiplied by it at the end. Its exponent, biased, is 1..253.
constexpr int LEAST_POWER = 1, MOST_POWER = 253;
MLAF_DEV float power_of(int exponent) { return float_of((u32)exponent << 23); }
MLAF_DEV float inverse_power_of(int exponent) { return float_of((u32)(254 - exponent) << 23); }

// Raises the exponents to those of a tile. `shrink`: what O's columns so far are to be multiplied by.
MLAF_DEV void raise_powers(int (&power)[GROUPS], float (&shrink)[GROUPS], u32 raw, int lane) {
  int most[4] = {};
#pragma unroll
  for (int t = lane; t < TILE; t += 32) {
    float s[4];
    load_scales(s, raw, t);
#pragma unroll
    for (int g = 0; g < 4; g++) most[g] = (int)max((u32)most[g], (bits_of(s[g]) >> 23 & 0xff) + 1);
  }
#pragma unroll
  for (int g = 0; g < GROUPS; g++) {
    const int all = (int)__reduce_max_sync(~0u, (u32)most[g]), now = max(power[g], smaller(all, MOST_POWER));
    const int less = now - power[g];
    shrink[g] = less < 127 ? power_of(127 - less) : 0.0f;
    power[g] = now;
  }
}
//@ end

// O's columns of this warp. p: probabilities in fp32.
//@ local power = dtype == "f16" and " const int (&power)[GROUPS]," or ""
MLAF_DEV void multiply_scaled_pv(u32 p, u32 v, u32 raw, int col_warp, int lane,${power}
                                 float (&o)[UNITS][BLOCKS][2][4]) {
  const int row = lane >> 2, token = 2 * (lane & 3);
  const u32 va = v + (lane & 15) * PITCH + (lane >> 4) * 16;
#pragma unroll
  for (int t = 0; t < TILE / 16; t++) {
    float x[BLOCKS][4][2], scale[2][2][4]; // tokens token and token + 8, and the one behind each
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
      for (int e = 0; e < 2; e++) load_scales(scale[h][e], raw, 16 * t + token + 8 * h + e);
#pragma unroll
    for (int b = 0; b < BLOCKS; b++)
#pragma unroll
      for (int i = 0; i < 4; i++) { // as mma16 wants A: rows, then tokens
        u32 w[2];
        load_words(w, p + (16 * b + row + 8 * (i & 1)) * PITCH_P + 4 * (16 * t + token + 8 * (i >> 1)));
        x[b][i][0] = float_of(w[0]), x[b][i][1] = float_of(w[1]);
      }
    u32 a[BLOCKS][4];
#pragma unroll
    for (int u = 0; u < UNITS; u++) {
      const int g = COLS * u / 8; // of all warps' units u
      if (u == 0 || g != COLS * (u - 1) / 8) {
#pragma unroll
        for (int b = 0; b < BLOCKS; b++)
#pragma unroll
          for (int i = 0; i < 4; i++) {
//@ if dtype == "f16" then
            const float unit = inverse_power_of(power[g]);
            a[b][i] = pack2(x[b][i][0] * (scale[i >> 1][0][g] * unit), x[b][i][1] * (scale[i >> 1][1][g] * unit));
//@ else
            a[b][i] = pack2(x[b][i][0] * scale[i >> 1][0][g], x[b][i][1] * scale[i >> 1][1][g]);
//@ end
          }
      }
      if (R / 16 % COLS != 0 && col_warp + COLS * u >= R / 16) break;
      u32 b4[4];
      load_matrices_transposed(b4, va + t * 16 * PITCH + (col_warp + COLS * u) * 32);
#pragma unroll
      for (int b = 0; b < BLOCKS; b++) {
        mma16(o[u][b][0], a[b], b4[0], b4[1]);
        mma16(o[u][b][1], a[b], b4[2], b4[3]);
      }
    }
  }
}
//@ end
