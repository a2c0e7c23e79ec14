// Generated from templates/mla_index/select.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_mla_index_select_348ed8c9
// parameters:
//   threads = 1024
// regenerate: lua5.4 gen/cli.lua render mla_index/select target=gfx942 threads=1024


#define MLAF_BF16 0
constexpr int LANES = 64;
constexpr bool FIRST_OF_LAYER = false;
// [templates/lib/wave.h]
#define MLAF_CVT_BF16 0
// [templates/lib/number.h]
typedef u32x4 word4;
typedef u32x2 word2;
MLAF_DEV word4 words(u32 a, u32 b, u32 c, u32 d) { return word4{a, b, c, d}; }
MLAF_DEV u32 my_block() { return (u32)group_x(); }
MLAF_DEV u32 my_thread() { return (u32)thread_id(); }
MLAF_DEV void wait_for_previous_launch() {}
MLAF_DEV void let_next_launch_start() {}
MLAF_DEV float exchange(float x, int lane, int d) { return lane_xor(x, lane, d); }
template <class T>
MLAF_DEV T load(const void* p) {
  return *(const MLAF_GLOBAL T*)(u64)p;
}
template <class T>
MLAF_DEV void store(void* p, T x) {
  *(MLAF_GLOBAL T*)(u64)p = x;
}
MLAF_DEV word4 load_weights(const void* p) { return load<word4>(p); }
MLAF_DEV float not_a_number() { return float_of(0x7fc00000u); } // its low bits are zero, as number.h wants
MLAF_DEV float inverse_root(float x) { return __builtin_amdgcn_rsqf(x); }
MLAF_DEV float multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

MLAF_DEV void unpack(float (&v)[8], word4 x) {
  const u32 w[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
  for (int i = 0; i < 4; i++) {
    v[2 * i] = unpack_lo(w[i]);
    v[2 * i + 1] = unpack_hi(w[i]);
  }
}
MLAF_DEV word4 pack(const float (&v)[8]) {
  return words(pack2(v[0], v[1]), pack2(v[2], v[3]), pack2(v[4], v[5]), pack2(v[6], v[7]));
}
MLAF_DEV u32 multiply2(u32 a, u32 b) { return pack2(unpack_lo(a) * unpack_lo(b), unpack_hi(a) * unpack_hi(b)); }
// [templates/mla_index/lib/args.h]
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_index_select_348ed8c9_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    0, 0, 0, {0, 0}, 0, {}};

constexpr int THREADS = 1024, WAVES = THREADS / LANES, BINS = 2048, OWN = BINS / THREADS;
constexpr u32 LIST = 4096; // entries
constexpr int EACH = (int)LIST / THREADS;

struct shared_part {
  u32 count[BINS]; // of a histogram; then the keys of one bin; then where a bucket begins
  u32 key[LIST], position[LIST];
  u32 sums[2][WAVES]; // of each wave, by turns
  u32 least[WAVES], most[WAVES];
  u32 digit, left, binned, listed, same, reserved[3];
};
static_assert(sizeof(shared_part) == 41248, "differs from gen/ops/mla_index/shape.lua");
constexpr u32 FINITE = 0x00800000u, INFINITE = 0xff800000u; // keys of finite values are from FINITE to below INFINITE
constexpr u32 NONE = 0xffffffffu;

MLAF_DEV u32 from_lane(u32 x, int lane) { return (u32)__builtin_amdgcn_ds_bpermute(lane << 2, (int)x); }
MLAF_DEV u32 add_to(u32* at, u32 x) {
  return __hip_atomic_fetch_add(at, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}
MLAF_DEV int count_bits(u32 x) { return __builtin_popcount(x); }
MLAF_DEV int first_bit(u32 x) { return __builtin_ctz(x); }

MLAF_DEV u32 key_of(u32 bits) {
  const u32 ordered = bits ^ ((u32)((int)bits >> 31) | 0x80000000u), key = bits == 0x80000000u ? bits : ordered;
  return bits == ABSENT ? 0u : (bits & 0x7fffffffu) > 0x7f800000u ? 1u : key;
}
MLAF_DEV float value_of(u32 key) { return float_of(key & 0x80000000u ? key & 0x7fffffffu : ~key); }

MLAF_DEV word4 load_four(const char* row, int at, int n) {
  if (at >= n) return words(ABSENT, ABSENT, ABSENT, ABSENT);
  return load<word4>(row + 4 * (i64)at);
}
MLAF_DEV void cut_four(word4& x, int at, int n) {
  if (at + 4 <= n) return;
  if (at + 1 >= n) x.y = ABSENT;
  if (at + 2 >= n) x.z = ABSENT;
  if (at + 3 >= n) x.w = ABSENT;
}

struct of_row {
  const char* row;
  int n, step;
  template <class F>
  __device__ __forceinline__ void each(F f) const {
#pragma unroll 1
    for (int at = step * (int)my_thread(); at < n; at += step * THREADS) {
      word4 x = load_four(row, at, n);
      cut_four(x, at, n);
      f(key_of(x.x)), f(key_of(x.y)), f(key_of(x.z)), f(key_of(x.w));
    }
  }
};
struct of_list {
  const u32* keys;
  u32 n;
  template <class F>
  __device__ __forceinline__ void each(F f) const {
#pragma unroll 1
    for (u32 i = my_thread(); i < n; i += THREADS) f(keys[i]);
  }
};

struct of_equal {
  const u32 *keys, *positions;
  u32 n, key;
  template <class F>
  __device__ __forceinline__ void each(F f) const {
#pragma unroll 1
    for (u32 i = my_thread(); i < n; i += THREADS) f(keys[i] == key ? NONE - positions[i] : 0);
  }
};

MLAF_DEV u32 sum_to_lane(u32 x, int lane) {
#pragma unroll
  for (int d = 1; d < LANES; d *= 2) {
    const u32 y = from_lane(x, lane - d & LANES - 1);
    if (lane >= d) x += y;
  }
  return x;
}
MLAF_DEV u32 sum_before(shared_part& s, u32 x, int turn, u32& all) {
  const int lane = (int)my_thread() % LANES, wave = (int)my_thread() / LANES;
  const u32 sum = sum_to_lane(x, lane);
  if (lane == LANES - 1) s.sums[turn][wave] = sum;
  __syncthreads();
  const u32 waves = sum_to_lane(lane < WAVES ? s.sums[turn][lane] : 0, lane), before = from_lane(waves, wave - 1 & LANES - 1);
  all = from_lane(waves, LANES - 1);
  return (wave ? before : 0) + sum - x;
}

MLAF_DEV void clear_counts(shared_part& s) {
  __syncthreads();
  for (int i = (int)my_thread(); i < BINS; i += THREADS) s.count[i] = 0;
  if (my_thread() == 0) s.digit = NONE, s.binned = 0;
  __syncthreads();
}
MLAF_DEV void find_bin(shared_part& s, u32 left) {
  const int thread = (int)my_thread();
  __syncthreads();
  u32 own = 0, all;
#pragma unroll
  for (int i = 0; i < OWN; i++) own += s.count[BINS - 1 - thread * OWN - i]; // from the largest down
  u32 above = sum_before(s, own, 0, all);
  if (above < left && left <= above + own) {
    int bin = BINS - 1 - thread * OWN;
    while (above + s.count[bin] < left) above += s.count[bin--];
    s.digit = bin;
    s.left = left - above;
    s.same = s.count[bin];
  }
  __syncthreads();
}

struct even_bins {
  float low, per;
  bool good;
  __device__ __forceinline__ u32 of(u32 key) const {
    const float x = (value_of(key) - low) * per;
    return x < (float)BINS ? x > 0.0f ? (u32)x : 0u : (u32)BINS - 1;
  }
  __device__ __forceinline__ float begin(u32 bin) const { return low + (float)bin / per; }
};
MLAF_DEV void range_of_wave(u32& least, u32& most, int lane) {
#pragma unroll
  for (int d = 1; d < LANES; d *= 2) {
    const u32 y = from_lane(least, lane ^ d), z = from_lane(most, lane ^ d);
    least = smaller(least, y);
    most = z > most ? z : most;
  }
}
template <class SOURCE>
MLAF_DEV even_bins divide_range(shared_part& s, const SOURCE& from) {
  const int lane = (int)my_thread() % LANES;
  u32 least = NONE, most = 0;
  from.each([&](u32 k) {
    if (k >= FINITE && k < INFINITE) {
      least = smaller(least, k);
      most = k > most ? k : most;
    }
  });
  range_of_wave(least, most, lane);
  if (lane == 0) s.least[my_thread() / LANES] = least, s.most[my_thread() / LANES] = most;
  __syncthreads();
  least = lane < WAVES ? s.least[lane] : NONE, most = lane < WAVES ? s.most[lane] : 0;
  range_of_wave(least, most, lane);
  if (least >= most) return {0.0f, 0.0f, false};
  const float low = value_of(least), per = (float)BINS / (value_of(most) - low);
  return {low, per, per > 0.0f && per < value_of(INFINITE)};
}
template <class SOURCE>
MLAF_DEV void fill_bins(shared_part& s, const SOURCE& from, const even_bins& bins) {
  clear_counts(s);
  from.each([&](u32 k) {
    if (k > 1) add_to(&s.count[bins.of(k)], 1);
  });
}

struct found {
  u32 last, wanted, same;
};

template <class SOURCE>
MLAF_DEV bool find_in_bin(shared_part& s, const SOURCE& from, const even_bins& bins, u32 left, found& f) {
  if (!bins.good) return false;
  fill_bins(s, from, bins);
  find_bin(s, left);
  const u32 bin = s.digit, binned = bin == NONE ? 0 : s.same, wanted = s.left;
  __syncthreads();
  if (!binned || binned > BINS) return false;
  from.each([&](u32 k) {
    if (k > 1 && bins.of(k) == bin) s.count[add_to(&s.binned, 1)] = k;
  });
  __syncthreads();
#pragma unroll 1
  for (u32 i = my_thread(); i < binned; i += THREADS) {
    const u32 mine = s.count[i];
    u32 larger = 0, same = 0, earlier = 0;
#pragma unroll 1
    for (u32 j = 0; j < binned; j++) {
      const u32 other = s.count[j];
      larger += other > mine;
      same += other == mine;
      earlier += other == mine && j < i;
    }
    if (!earlier && larger < wanted && wanted <= larger + same) s.digit = mine, s.left = wanted - larger, s.same = same;
  }
  __syncthreads();
  f = {s.digit, s.left, s.same};
  return true;
}

template <class SOURCE>
MLAF_DEV bool find_by_digits(shared_part& s, const SOURCE& from, u32 left, found& f) {
  f = {0, left, 0};
#pragma unroll 1
  for (int digit = 0; digit < 3; digit++) {
    const int shift = digit == 2 ? 0 : 21 - 11 * digit, bits = digit == 2 ? 10 : 11;
    clear_counts(s);
    from.each([&](u32 k) {
      if (k && (u64)k >> shift + bits == f.last) add_to(&s.count[k >> shift & (1u << bits) - 1], 1);
    });
    find_bin(s, f.wanted);
    if (s.digit == NONE) return false;
    f = {f.last << bits | s.digit, s.left, s.same};
  }
  return true;
}
template <class SOURCE>
MLAF_DEV found find_last(shared_part& s, const SOURCE& from, const even_bins& bins, u32 left) {
  found f;
  if (find_in_bin(s, from, bins, left, f) || find_by_digits(s, from, left, f)) return f;
  return {0, 0, 0};
}

MLAF_DEV bool guess(shared_part& s, const char* row, int n, int topk, even_bins& bins, float& low) {
  const of_row sample = {row, n, smaller(64, n / 1024 & ~3)}; // 4096 keys, and one of 16 where they are many
  bins = divide_range(s, sample);
  if (!bins.good) return false;
  fill_bins(s, sample, bins);
  const float share = (float)topk * 4.0f / (float)sample.step; // and four deviations more of what a sample has
  find_bin(s, (u32)(share + 4.0f * sqrtf(share)) + 4u);
  low = bins.begin(s.digit);
  return s.digit != NONE;
}

MLAF_DEV bool list(shared_part& s, const char* row, int n, bool all, float low) {
  constexpr int AHEAD = 8, BLOCK = 4 * THREADS; // a thread's loads at once; positions between them
  const int thread = (int)my_thread(), lane = thread % LANES;
  if (thread == 0) s.listed = 0;
  __syncthreads();
#pragma unroll 1
  for (int first = 0; first < n; first += AHEAD * BLOCK) {
    word4 x[AHEAD];
#pragma unroll
    for (int i = 0; i < AHEAD; i++) x[i] = load_four(row, first + i * BLOCK + 4 * thread, n);
    u32 mine = 0; // bit 4 i + k: number k of four i
#pragma unroll
    for (int i = 0; i < AHEAD; i++) {
      cut_four(x[i], first + i * BLOCK + 4 * thread, n);
      const u32 bits[4] = {x[i].x, x[i].y, x[i].z, x[i].w};
#pragma unroll
      for (int k = 0; k < 4; k++) mine |= (u32)(all ? bits[k] != ABSENT : float_of(bits[k]) >= low) << 4 * i + k;
    }
    u32 to = sum_to_lane(count_bits(mine), lane), before = 0;
    if (lane == LANES - 1 && to) before = add_to(&s.listed, to);
    to += from_lane(before, LANES - 1) - count_bits(mine);
    for (; mine; mine &= mine - 1, to++) {
      const int bit = first_bit(mine);
      if (to < LIST) s.position[to] = first + bit / 4 * BLOCK + 4 * thread + bit % 4;
    }
  }
  __syncthreads();
  if (s.listed > LIST) return false;
  for (u32 i = thread; i < s.listed; i += THREADS) s.key[i] = key_of(load<u32>(row + 4ul * s.position[i]));
  __syncthreads();
  return true;
}

MLAF_DEV void store_row(const mlaf_index_kernel_args& a, const char* table, char* out, u32 entry, u32 position) {
  const u32 page = page_of(a, position), slot = position - page * a.page_tokens;
  store(out + 4ul * entry, load<int>(table + 4ul * page) * a.page_tokens + (int)slot);
}

MLAF_DEV u32 store_list(shared_part& s, const mlaf_index_kernel_args& a, const char* table, char* out, int n, const found& f) {
  const u32 listed = s.listed, thread = my_thread();
  u32 until = NONE; // of keys equal to the last one those up to this position
  if (f.same > f.wanted) {
    found position;
    find_by_digits(s, of_equal{s.key, s.position, listed, f.last}, f.wanted, position);
    until = NONE - position.last;
  }
  int shift = 0;
  while (n - 1 >> shift >= BINS) shift++;
  clear_counts(s);
  u32 at[EACH], slot[EACH];
#pragma unroll
  for (int c = 0; c < EACH; c++) {
    const u32 i = thread + c * THREADS;
    at[c] = NONE, slot[c] = 0;
    if (i >= listed || s.key[i] < f.last || s.key[i] == f.last && s.position[i] > until) continue;
    at[c] = s.position[i];
    slot[c] = add_to(&s.count[at[c] >> shift], 1);
  }
  __syncthreads();
  u32 own[OWN], sum = 0, all;
#pragma unroll
  for (int i = 0; i < OWN; i++) sum += own[i] = s.count[thread * OWN + i];
  sum = sum_before(s, sum, 1, all);
#pragma unroll
  for (int i = 0; i < OWN; i++) s.count[thread * OWN + i] = sum, sum += own[i];
  __syncthreads();
#pragma unroll
  for (int c = 0; c < EACH; c++)
    if (at[c] != NONE) s.key[s.count[at[c] >> shift] + slot[c]] = at[c];
  __syncthreads();
#pragma unroll 1
  for (u32 i = thread; i < all; i += THREADS) {
    const u32 mine = s.key[i], bucket = mine >> shift, end = bucket + 1 < BINS ? s.count[bucket + 1] : all;
    u32 entry = s.count[bucket];
    for (u32 j = entry; j < end; j++) entry += s.key[j] < mine;
    store_row(a, table, out, entry, mine);
  }
  return all;
}

MLAF_DEV u32 store_in_order(shared_part& s, const mlaf_index_kernel_args& a, const char* row, const char* table, char* out, int n,
                            const found& f) {
  constexpr int STEP = 4 * LANES;
  const int lane = (int)my_thread() % LANES, wave = (int)my_thread() / LANES;
  const int share = (n + WAVES * STEP - 1) / (WAVES * STEP) * STEP; // of a wave
  const int from = smaller(n, wave * share), to = smaller(n, from + share);
  u32 larger = 0, same = 0, all_larger, all_same;
#pragma unroll 1
  for (int at = from + 4 * lane; at < to; at += STEP) {
    word4 x = load_four(row, at, to);
    cut_four(x, at, to);
    const u32 k[4] = {key_of(x.x), key_of(x.y), key_of(x.z), key_of(x.w)};
#pragma unroll
    for (int i = 0; i < 4; i++) larger += k[i] > f.last, same += k[i] == f.last;
  }
  larger = from_lane(sum_before(s, larger, 1, all_larger), 0);
  same = from_lane(sum_before(s, same, 0, all_same), 0);
#pragma unroll 1
  for (int at = from + 4 * lane; at < from + share; at += STEP) { // as long for all lanes
    word4 x = load_four(row, at, to);
    cut_four(x, at, to);
    const u32 k[4] = {key_of(x.x), key_of(x.y), key_of(x.z), key_of(x.w)};
    u32 mine = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) mine += k[i] > f.last ? 1u : k[i] == f.last ? 1u << 16 : 0;
    const u32 sum = sum_to_lane(mine, lane), before = sum - mine, all = from_lane(sum, LANES - 1);
    u32 l = larger + (before & 0xffff), e = same + (before >> 16);
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const bool tie = k[i] == f.last && e < f.wanted;
      if (k[i] > f.last || tie) store_row(a, table, out, l + smaller(e, f.wanted), (u32)(at + i));
      l += k[i] > f.last;
      e += k[i] == f.last;
    }
    larger += all & 0xffff;
    same += all >> 16;
  }
  return all_larger + smaller(all_same, f.wanted);
}

extern "C" __global__ void __launch_bounds__(1024, 1) mlaf_mla_index_select_348ed8c9(const mlaf_index_kernel_args a) {
  __shared__ shared_part s;
  const u32 t = my_block();
  let_next_launch_start();
  wait_for_previous_launch();
  const int n = length_of(a, t);
  const char *row = a.logits + t * a.logits_token, *table = table_of(a, t);
  char* out = a.indices + t * a.indices_token;

  const u32 topk = (u32)a.topk;
  found f = {0, 0, 0};
  even_bins bins;
  float low = 0.0f;
  u32 stored;
  const bool all = n <= (int)LIST;
  const bool guessed = all || topk <= LIST / 2 && guess(s, row, n, a.topk, bins, low);
  if (guessed && list(s, row, n, all, low) && (all || s.listed >= topk)) {
    const of_list keys = {s.key, s.listed};
    if (all && keys.n > topk) bins = divide_range(s, keys);
    if (keys.n > topk) f = find_last(s, keys, bins, topk);
    stored = store_list(s, a, table, out, n, f);
  } else {
    const of_row keys = {row, n, 4};
    __syncthreads();
    if (n > a.topk) f = find_last(s, keys, divide_range(s, keys), topk);
    stored = store_in_order(s, a, row, table, out, n, f);
  }
  for (u32 i = stored + my_thread(); i < topk; i += THREADS) store(out + 4ul * i, -1);
}
