// One warp's share of a merge: partial results of a row, weighed by their LSE, in fp32. The includer says how a row is shared out
// (mla_decode/combine_warp.cu.in), and with narrow values has mla_decode/lib/narrow.h.
//@ needs("DEPTH", "FULL", "R", "SHARES", "VALUES", "VECTORS")
//@ if narrow then
//@ needs("NARROW_MIDDLE")
//@ end
// A row's partial results: so many, the k-th at row first + k stride of part_o and part_lse, the last one `aside` behind that.
struct sources {
  u32 first, stride, aside;
  int count;
  MLAF_MEMBER u32 at(int k) const { return first + k * stride + ${fitted > 0 and "(k == count - 1 ? aside : 0)" or "0"}; }
};

struct merged {
  float top, sum; // largest LSE; weights
  float o[VECTORS][VALUES];
};

// Maximum over all lanes, by a comparison of integers in the floats' order. A NaN may be the largest or the least.
MLAF_DEV float max_of_warp(float x) {
  const int key = (int)bits_of(x) ^ ((int)bits_of(x) >> 31 & 0x7fffffff);
  const int top = __reduce_max_sync(~0u, key); // one instruction, five shuffles otherwise
  return float_of(top ^ (top >> 31 & 0x7fffffff));
}

// 2^(x - top), 0 where x says that there is nothing.
MLAF_DEV float weight_of(float x, float top) { return x == minus_inf() ? 0.0f : exp2_fast(x - top); } // NaN stays NaN

// Loads that stay where they are, all of them before the first sum; !there: anything, nothing is read.
MLAF_DEV uint4 load(const char* at, bool there) {
  uint4 x;
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %5, 0;\n@p ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\n}"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(at), "r"((u32)there));
  return x;
}
MLAF_DEV float load(const float* at, bool there) {
  float x;
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\n@p ld.global.f32 %0, [%1];\n}" : "=f"(x) : "l"(at), "r"((u32)there));
  return x;
}

MLAF_DEV void add(float (&o)[VALUES], float w, const uint4& x) {
  const u32 words[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
  for (int i = 0; i < 4; i++) {
//@ if narrow then
    o[2 * i] = fmaf(w, narrow_lo(words[i]), o[2 * i]);
    o[2 * i + 1] = fmaf(w, narrow_hi(words[i]), o[2 * i + 1]);
//@ else
    o[i] = fmaf(w, float_of(words[i]), o[i]);
//@ end
  }
}

// The partial results of `group` of `groups` of a row, its vectors share, share + SHARES, ... of 32 lanes.
MLAF_DEV merged merge(const mlaf_combine_args& a, const sources& from, int group, int groups, int share) {
  const int lane = threadIdx.x & 31, column = VALUES * (32 * share + lane), splits = from.count;
  const char* base = (const char*)a.part_o + 16 * (32 * share + lane);
  asm("" : "+l"(base)); // added up once, not for each load
  merged m = {minus_inf()};
//@ if narrow then
  float middle = 0.0f; // what a value of 0 has become in the sums
//@ end
  int first = group;
  do { // 32 splits of the group
    const int mine = first + groups * lane;
    const u32 at = from.at(mine); // of the rows in part_o, which are fewer than 2^32: each takes 64 bytes at least
    float lse = load(a.part_lse + at, mine < splits), weight;
//@ if narrow then
    float unit = load(a.part_o + (i64)at * R + R / 2, mine < splits);
//@ else
    u32 live = 0;
//@ end
    int done = 0;
#pragma unroll 1
    do {
      uint4 x[DEPTH][VECTORS];
#pragma unroll
      for (int k = 0; k < DEPTH; k++) {
        const int split = first + groups * (done + k);
        const char* const data = base + (i64)from.at(split) * (4 * R);
#pragma unroll
        for (int i = 0; i < VECTORS; i++)
          x[k][i] = load(data + 512 * SHARES * i, split < splits && (FULL || column + 32 * VALUES * SHARES * i < R));
      }
      if (done == 0) { // LSEs come with the first partial results; what was summed up before is worth less
        if (mine >= splits) lse = minus_inf();
        const float higher = fmaxf(m.top, max_of_warp(lse)), past = weight_of(m.top, higher);
        weight = weight_of(lse, higher);
        m.sum *= past;
        m.top = higher;
//@ if narrow then
        if (lse == minus_inf()) unit = 0.0f;
        middle *= past;
//@ else
        live = __ballot_sync(~0u, lse != minus_inf());
//@ end
#pragma unroll
        for (int i = 0; i < VECTORS * VALUES; i++) m.o[i / VALUES][i % VALUES] *= past;
      }
#pragma unroll
      for (int k = 0; k < DEPTH; k++) {
        if (2 * k == DEPTH && first + groups * (done + k) >= splits) break;
        float w = __shfl_sync(~0u, weight, done + k);
        m.sum += w;
//@ if narrow then
        w *= __shfl_sync(~0u, unit, done + k);
        middle = fmaf(w, NARROW_MIDDLE, middle); // no split, or none with a token: numbers, whatever they are, times 0
//@ else
        if (!(live >> (done + k) & 1)) continue;
//@ end
#pragma unroll
        for (int i = 0; i < VECTORS; i++) add(m.o[i], w, x[k][i]);
      }
      done += DEPTH;
    } while (done < 32 && first + groups * done < splits);
    first += 32 * groups;
  } while (first < splits);
//@ if narrow then
#pragma unroll
  for (int i = 0; i < VECTORS * VALUES; i++) m.o[i / VALUES][i % VALUES] -= middle;
//@ end
  return m;
}

// sum is 0, at least 1 (the largest weight), or NaN.
MLAF_DEV float scale_of(float sum) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(sum));
  return sum == 0.0f ? 0.0f : y;
}

// The place in memory of columns 2 pair, 2 pair + 1 of merge(), a vector behind the other: 4 columns a lane, or 8 in two halves.
MLAF_DEV int place_of_pair(int pair) {
//@ if narrow then
  const int lane = pair / 16 * 4 + pair % 4, j = pair / 4 % 4; // mla_decode/lib/narrow.h
  return lane / 32 * 256 + j / 2 * 128 + lane % 32 * 4 + j % 2 * 2;
//@ else
  return 2 * pair;
//@ end
}
