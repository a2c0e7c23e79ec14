// A tile of an 8-bit cache in shared memory: rows as the cache stores them become rows of 16-bit numbers, which is exact, by all
// threads of a workgroup. One factor for all tokens goes into the softmax scale and O. Where tokens hold scales of their own
// (`scaled`, handed over: four fp32 behind R bytes, for 128 columns each), these multiply scores and probabilities in fp32:
//
//   S = sum over groups g of s_g (Q K_g) + Q K_rope        O's columns of group g = (P s_g) V_g
//
// P s_g is two numbers of 16 bits, the second what the first was rounded by: one alone would turn a token that is all its row
// sees by the same factor in all columns. In f16, which has few exponents, the scale's power of two multiplies the numbers of the
// tile (exact from 2^-14 to 2^7) and only the rest, mostly in [1, 2), scores and probabilities.
//@ -- apart: rope columns are of 16 bits, right behind the codes in shared memory.
//@ -- powers: rows of 448 codes and 64 bf16, behind them a power of two for each 64 codes (ue8m0), which multiplies them in the
//@ -- tile: bf16 has all products from 2^-133 on.
//@ needs("BLOCKS", "CHAINS", "COLS", "NT", "PITCH", "PITCH_P", "R", "ROPE", "ROW_BYTES", "TILE", "UNITS", "WARPS")
constexpr int DECODED = ${(scaled or apart) and "R" or powers and "R - 64" or "R + ROPE"}; // codes of a row
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

//@ local split = scaled and dtype == "f16"
//@ if split then
// The exponent of a scale's part that goes into the tile.
MLAF_DEV int power_of(float scale) {
  const int exponent = (int)(bits_of(scale) >> 23 & 0xff) - 127;
  return max(-14, min(exponent, 7));
}

//@ end
//@ if powers then
// The power of two that a byte of ue8m0 is: 0 is 2^-127, 255 is NaN.
MLAF_DEV float power_of(u32 code) { return float_of(code == 0 ? 1u << 22 : code == 255 ? 0x7fc00000u : code << 23); }
template <int PAIR>
MLAF_DEV u32 expand2(u32 codes, float scale) {
  float a, b;
  decode2<PAIR>(codes, a, b);
  return pack2(a * scale, b * scale);
}

//@ end
// Eight codes become 16 bytes at a time: neighbouring lanes read and write neighbouring words.
MLAF_DEV void decode_tile(u32 from, u32 to, int thread) {
#pragma unroll 4
  for (int i = thread; i < TILE * (DECODED / 8); i += 32 * WARPS) {
    const int token = i / (DECODED / 8), unit = i % (DECODED / 8);
    u32 x[2], y[4];
    load_words(x, from + token * ROW_BYTES + 8 * unit);
//@ if powers then
    u32 code;
    asm volatile("ld.shared.u8 %0, [%1];" : "=r"(code) : "r"(from + token * ROW_BYTES + DECODED + 128 + unit / 8) : "memory");
    const float scale = power_of(code);
    y[0] = expand2<0>(x[0], scale), y[1] = expand2<1>(x[0], scale);
    y[2] = expand2<0>(x[1], scale), y[3] = expand2<1>(x[1], scale);
//@ else
    y[0] = expand2<0>(x[0]), y[1] = expand2<1>(x[0]), y[2] = expand2<0>(x[1]), y[3] = expand2<1>(x[1]);
//@ end
//@ if split then
    float scale;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(scale) : "r"(from + token * ROW_BYTES + SCALES_AT + unit / 16 * 4) : "memory");
    const u32 power = (u32)(power_of(scale) + 15) << 10, twice = power << 16 | power; // as two f16
#pragma unroll
    for (int k = 0; k < 4; k++) asm("mul.rn.f16x2 %0, %0, %1;" : "+r"(y[k]) : "r"(twice));
//@ end
    store_words(to + token * PITCH + 16 * unit, y[0], y[1], y[2], y[3]);
  }
//@ if scaled or apart then
  for (int i = thread; i < TILE * (ROPE / 8); i += 32 * WARPS) { // rope columns are of 16 bits
    const int token = i / (ROPE / 8), chunk = i % (ROPE / 8);
    u32 x[4];
    load_words(x, from + token * ROW_BYTES + ${scaled and "SCALES_AT + 16" or "R"} + 16 * chunk);
    store_words(to + token * PITCH + 2 * R + 16 * chunk, x[0], x[1], x[2], x[3]);
  }
//@ elseif powers then
  for (int i = thread; i < TILE * 8; i += 32 * WARPS) { // columns of bf16
    const int token = i / 8, chunk = i % 8;
    u32 x[4];
    load_words(x, from + token * ROW_BYTES + DECODED + 16 * chunk);
    store_words(to + token * PITCH + 2 * DECODED + 16 * chunk, x[0], x[1], x[2], x[3]);
  }
//@ end
}
//@ if queries then
//@   needs("CHUNKS", "ROWS")

// Rows of queries of 8 bits become rows of 16-bit numbers; zeros behind the `live` ones.
MLAF_DEV void decode_queries(u32 to, const char* from, int live, int thread) {
#pragma unroll 4
  for (int i = thread; i < ROWS * CHUNKS; i += 32 * WARPS) {
    const int row = i / CHUNKS, chunk = i % CHUNKS;
    const uint2 x = row < live ? *(const uint2*)(from + row * (R + ROPE) + 8 * chunk) : make_uint2(0, 0);
    store_words(to + row * PITCH + 16 * chunk, expand2<0>(x.x), expand2<1>(x.x), expand2<0>(x.y), expand2<1>(x.y));
  }
}
//@ end
//@ if scaled then

// The four scales of a token of the tile at `raw`${split and ", less what is in the tile" or ""}.
MLAF_DEV void load_scales(float (&s)[4], u32 raw, int token) {
  u32 x[4];
  load_words(x, raw + token * ROW_BYTES + SCALES_AT);
#pragma unroll
  for (int g = 0; g < 4; g++) s[g] = float_of(x[g])${split and " * float_of((u32)(127 - power_of(float_of(x[g]))) << 23)" or ""};
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

// O's columns of this warp. p: probabilities in fp32.
MLAF_DEV void multiply_scaled_pv(u32 p, u32 v, u32 raw, int col_warp, int lane, float (&o)[UNITS][BLOCKS][2][4]) {
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
    u32 a[BLOCKS][4], rest[BLOCKS][4];
#pragma unroll
    for (int u = 0; u < UNITS; u++) {
      const int g = COLS * u / 8; // of all warps' units u
      if (u == 0 || g != COLS * (u - 1) / 8) {
#pragma unroll
        for (int b = 0; b < BLOCKS; b++)
#pragma unroll
          for (int i = 0; i < 4; i++) {
            const float p0 = x[b][i][0] * scale[i >> 1][0][g], p1 = x[b][i][1] * scale[i >> 1][1][g];
            a[b][i] = pack2(p0, p1);
            rest[b][i] = pack2(p0 - unpack_lo(a[b][i]), p1 - unpack_hi(a[b][i]));
          }
      }
      if (R / 16 % COLS != 0 && col_warp + COLS * u >= R / 16) break;
      u32 b4[4];
      load_matrices_transposed(b4, va + t * 16 * PITCH + (col_warp + COLS * u) * 32);
#pragma unroll
      for (int b = 0; b < BLOCKS; b++) {
        mma16(o[u][b][0], a[b], b4[0], b4[1]);
        mma16(o[u][b][1], a[b], b4[2], b4[3]);
        mma16(o[u][b][0], rest[b], b4[0], b4[1]);
        mma16(o[u][b][1], rest[b], b4[2], b4[3]);
      }
    }
  }
}
//@ end
