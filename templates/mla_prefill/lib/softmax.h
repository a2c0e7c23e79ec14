// The softmax between both products, on scores as wgmma leaves them: lane l of a warp has of rows l / 4 and l / 4 + 8 two columns
// in eight each.
//@ needs("KEYS")
struct row_state {
  float offset[2], sum[2]; // of scores, in powers of 2, -inf: no key seen yet; this thread's share of the sum
  float shrink[2];         // what the past is worth to the next round, since `offset` has been raised for that
};

// Scores of a round -> P, not yet packed, and what the past is worth now: with the maximum of the round. True: the next round is
// likely to do without. So it is for rows of many keys, and for those whose maximum did not grow much now.
//
// A row whose offset would let a weight be 2 or more gets a new one, by which its maximum's weight is 1/8. 16 bits hold that
// exactly: of a row that one key decides P is not rounded. From the next round on the offset is one by which the row's sum is 1/2
// to 8; but the maximum's weight is not raised above 1/2. So a weight below 2 that comes later is at most four fifths of all. And
// the sum hardly moves when keys are added, which a maximum of few keys does.
constexpr float ROOM_UP = 1.0f;
constexpr int START = 2; // a new maximum's weight, in powers of 2 below 1/2
constexpr int SHIFT_MOST = MLAF_BF16 ? 30 : 4; // small weights keep their bits
template <int N>
MLAF_DEV bool soften(float scale, float (&s)[N], row_state& r, float (&now)[2]) {
  float add[2][2] = {}, offset[2], past[2];
  bool steady[2];
  bool calm = true;
#pragma unroll
  for (int h = 0; h < 2; h++) {
    float top[2] = {s[2 * h], s[2 * h + 1]};
#pragma unroll
    for (int i = 4; i < N; i += 4) {
      top[0] = fmaxf(top[0], s[i + 2 * h]);
      top[1] = fmaxf(top[1], s[i + 2 * h + 1]);
    }
    const float m = max_over_lanes<1, 4>(fmaxf(top[0], top[1])), before = r.offset[h];
    steady[h] = m == minus_inf() || m * scale < before + ROOM_UP;
    if (!steady[h]) r.offset[h] = m * scale + (ROOM_UP + START);
    offset[h] = r.offset[h] == minus_inf() ? 0.0f : r.offset[h]; // nothing seen yet: all weights are 0, not NaN
    past[h] = exp2_fast(before - offset[h]);
    now[h] = past[h] * r.shrink[h];
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
  for (int h = 0; h < 2; h++) {
    r.sum[h] = r.sum[h] * past[h] + (add[h][0] + add[h][1]);
    const float total = sum_over_lanes<1, 4>(r.sum[h]);
    const int power = (__float_as_int(total) >> 23) - 127;
    const int shift = power >= 3 ? smaller(power - 1, SHIFT_MOST) : smaller(larger(power + 1, -START), 0);
    r.shrink[h] = __int_as_float(127 - shift << 23);
    r.offset[h] += shift;
    r.sum[h] *= r.shrink[h];
    calm = calm && (steady[h] || total >= 0.5f);
  }
  return __all_sync(~0u, calm);
}

template <int N>
MLAF_DEV void make_p(const float (&s)[N], u32 (&p)[KEYS / 16][4]) {
#pragma unroll
  for (int k = 0; k < KEYS / 16; k++)
#pragma unroll
    for (int i = 0; i < 4; i++) p[k][i] = 8 * k < N ? pack2(s[(8 * k + 2 * i) % N], s[(8 * k + 2 * i + 1) % N]) : 0;
}
