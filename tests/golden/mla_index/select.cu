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

struct shared_part {
  u32 count[BINS];
  u32 sums[2][WAVES]; // of each wave, by turns
  u32 digit, left, reserved[2];
};

MLAF_DEV u32 from_lane(u32 x, int lane) { return (u32)__builtin_amdgcn_ds_bpermute(lane << 2, (int)x); }
MLAF_DEV void count_one(u32* at) { __hip_atomic_fetch_add(at, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP); }

MLAF_DEV u32 key_of(u32 bits) {
  if (bits == ABSENT) return 0;
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 1;
  if (bits == 0x80000000u) bits = 0;
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

MLAF_DEV void load_keys(u32 (&k)[4], const char* row, int at, int n) {
  const word4 x = at < n ? load<word4>(row + 4 * (i64)at) : words(ABSENT, ABSENT, ABSENT, ABSENT);
  k[0] = key_of(x.x);
  k[1] = at + 1 < n ? key_of(x.y) : 0;
  k[2] = at + 2 < n ? key_of(x.z) : 0;
  k[3] = at + 3 < n ? key_of(x.w) : 0;
}

MLAF_DEV u32 sum_before(shared_part& s, u32 x, int turn, u32& all) {
  const int lane = (int)my_thread() % LANES, wave = (int)my_thread() / LANES;
  u32 sum = x;
#pragma unroll
  for (int d = 1; d < LANES; d *= 2) {
    const u32 y = from_lane(sum, lane - d & LANES - 1);
    if (lane >= d) sum += y;
  }
  if (lane == LANES - 1) s.sums[turn][wave] = sum;
  __syncthreads();
  u32 before = 0;
  all = 0;
#pragma unroll
  for (int i = 0; i < WAVES; i++) {
    const u32 y = s.sums[turn][i];
    if (i < wave) before += y;
    all += y;
  }
  return before + sum - x;
}

MLAF_DEV void find_digit(shared_part& s, const char* row, int n, int shift, int bits, u32& prefix, u32& left) {
  const int thread = (int)my_thread();
  for (int i = thread; i < BINS; i += THREADS) s.count[i] = 0;
  __syncthreads();
  for (int at = 4 * thread; at < n; at += 4 * THREADS) {
    u32 k[4];
    load_keys(k, row, at, n);
#pragma unroll
    for (int i = 0; i < 4; i++)
      if (at + i < n && (u64)k[i] >> shift + bits == prefix) count_one(&s.count[k[i] >> shift & (1u << bits) - 1]);
  }
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
  }
  __syncthreads();
  prefix = prefix << bits | s.digit;
  left = s.left;
}

extern "C" __global__ void __launch_bounds__(1024) mlaf_mla_index_select_348ed8c9(const mlaf_index_kernel_args a) {
  __shared__ shared_part s;
  const int thread = (int)my_thread();
  const u32 t = my_block();
  let_next_launch_start();
  wait_for_previous_launch();
  const int n = length_of(a, t);
  const char *row = a.logits + t * a.logits_token, *table = table_of(a, t);
  char* out = a.indices + t * a.indices_token;

  u32 last = 0, equal = 0; // the smallest key that is taken, but only so often
  if (n > a.topk) {
    equal = (u32)a.topk;
    find_digit(s, row, n, 21, 11, last, equal);
    find_digit(s, row, n, 10, 11, last, equal);
    find_digit(s, row, n, 0, 10, last, equal);
    if (!last) equal = 0;
  }

  u32 larger = 0, same = 0; // that many stand before
  int turn = 1;
  for (int first = 0; first < n; first += 4 * THREADS, turn ^= 1) {
    const int at = first + 4 * thread;
    u32 k[4], mine = 0, all;
    load_keys(k, row, at, n);
#pragma unroll
    for (int i = 0; i < 4; i++) mine += k[i] > last ? 1u : k[i] == last ? 1u << 16 : 0;
    const u32 before = sum_before(s, mine, turn, all);
    u32 l = larger + (before & 0xffff), e = same + (before >> 16);
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const bool tie = k[i] == last && e < equal;
      if (k[i] > last || tie) {
        const u32 page = page_of(a, at + i), slot = at + i - page * a.page_tokens;
        store(out + 4ul * (l + smaller(e, equal)), load<int>(table + 4ul * page) * a.page_tokens + (int)slot);
      }
      l += k[i] > last;
      e += k[i] == last;
    }
    larger += all & 0xffff;
    same += all >> 16;
  }
  for (u32 i = larger + smaller(same, equal) + thread; i < (u32)a.topk; i += THREADS) store(out + 4ul * i, -1);
}
