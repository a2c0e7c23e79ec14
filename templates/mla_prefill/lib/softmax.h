// The softmax between both products, on scores as wgmma leaves them: lane l of a warp has of rows l / 4 and l / 4 + 8 two columns
// in eight each.
//@ needs("KEYS")
struct row_state {
  float top[2], sum[2]; // maximum of scores not yet scaled; this thread's share of the sum
};

// Scores of a round -> P, not yet packed, and what the past is worth now. The largest weight is 2^-ROOM_UP then, which 16 bits
// hold exactly: of a row that one key decides P is not rounded.
constexpr float ROOM_UP = 1.0f;
template <int N>
MLAF_DEV void soften(float scale, float (&s)[N], row_state& r, float (&now)[2]) {
  float offset[2], add[2][2] = {};
#pragma unroll
  for (int h = 0; h < 2; h++) {
    float top[2] = {s[2 * h], s[2 * h + 1]};
#pragma unroll
    for (int i = 4; i < N; i += 4) {
      top[0] = fmaxf(top[0], s[i + 2 * h]);
      top[1] = fmaxf(top[1], s[i + 2 * h + 1]);
    }
    const float m = fmaxf(r.top[h], max_over_lanes<1, 4>(fmaxf(top[0], top[1])));
    offset[h] = m == minus_inf() ? 0.0f : m * scale + ROOM_UP; // nothing seen yet: all weights are 0, not NaN
    now[h] = exp2_fast(r.top[h] * scale + ROOM_UP - offset[h]);
    r.top[h] = m;
  }
#pragma unroll
  for (int i = 0; i < N; i += 2) {
    const int h = i >> 1 & 1;
    s[i] = exp2_fast(fmaf(s[i], scale, -offset[h]));
    s[i + 1] = exp2_fast(fmaf(s[i + 1], scale, -offset[h]));
    add[h][0] += s[i];
    add[h][1] += s[i + 1];
  }
#pragma unroll
  for (int h = 0; h < 2; h++) r.sum[h] = r.sum[h] * now[h] + (add[h][0] + add[h][1]);
}

template <int N>
MLAF_DEV void make_p(const float (&s)[N], u32 (&p)[KEYS / 16][4]) {
#pragma unroll
  for (int k = 0; k < KEYS / 16; k++)
#pragma unroll
    for (int i = 0; i < 4; i++) p[k][i] = 8 * k < N ? pack2(s[(8 * k + 2 * i) % N], s[(8 * k + 2 * i + 1) % N]) : 0;
}
