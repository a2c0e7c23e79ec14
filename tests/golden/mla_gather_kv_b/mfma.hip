// Generated from templates/mla_gather_kv_b/mfma.hip.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx90a
// symbol: mlaf_mla_gather_kv_b_mfma_3574fd2a
// parameters:
//   blocks = 1
//   dtype = f16
//   heads = 8
//   layout = fp8_ds_mla
//   nope = 192
//   rank = 256
//   rope = 64
//   rotate = 0
//   stages = 1
//   vdim = 256
//   waves = 2
// regenerate: lua5.4 gen/cli.lua render mla_gather_kv_b/mfma target=gfx90a blocks=1 dtype=f16 heads=8 layout=fp8_ds_mla nope=192 rank=256 rope=64 rotate=0 stages=1 vdim=256 waves=2


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
struct mlaf_gather_kv_b_kernel_args {
  const char* cache;
  union {
    const float* scale_at;
    const char* kpe;
  };
  const int* table;
  const int* table_indptr;
  const int* cu_seqlens;
  const int* seq_starts;
  const char* w;
  char* k;
  char* v;
  char* k_pe;
  i64 cache_row, cache_page, num_pages, table_stride;
  i64 w_row, w_head;
  i64 k_token, k_head, v_token, v_head, k_pe_token, k_pe_head;
  i64 tokens;
  int batch, table_width;
  u32 page_tokens, shares;
  float scale;
  u32 kpe_row;
};
static_assert(sizeof(mlaf_gather_kv_b_kernel_args) == 208, "differs from runtime/ops/mla_gather_kv_b/launch.h");
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_gather_kv_b_mfma_3574fd2a_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    0, 0, 0, {0, 0}, 0, {}};

MLAF_DEV float half_value(unsigned short x) { return (float)__builtin_bit_cast(_Float16, x); }
constexpr int H = 8, N = 192, OUT = 448, ALL = H * OUT, R = 256, ROPE = 64;
constexpr int WAVES = 2, THREADS = 64 * WAVES, TOKENS = 32 * WAVES, BLOCKS = 1, OUTPUTS = 32 * BLOCKS;
constexpr int STAGES = 1, STAGE = OUTPUTS * 2 * R, ROUNDS = (ALL + OUTPUTS - 1) / OUTPUTS;
constexpr int ROW_CHUNKS = R / 8, CHUNKS = OUTPUTS * ROW_CHUNKS, COPIES = (CHUNKS + THREADS - 1) / THREADS;
constexpr int TURN = ROW_CHUNKS % 8 == 0 ? 7 : 3; // what chunks are exchanged by stays within a row

constexpr i64 NO_TOKEN = -2, NO_ROW = -1;
MLAF_DEV i64 find_row(const mlaf_gather_kv_b_kernel_args& a, i64 t) {
  if (t >= a.tokens || a.batch <= 0 || t < load<int>(a.cu_seqlens)) return NO_TOKEN;
  int low = 0, high = a.batch - 1; // the last request that begins at t or before
  while (low < high) {
    const int middle = (low + high + 1) >> 1;
    if (load<int>(a.cu_seqlens + middle) <= t) low = middle;
    else high = middle - 1;
  }
  if (t >= load<int>(a.cu_seqlens + low + 1)) return NO_TOKEN;
  const i64 position = t - load<int>(a.cu_seqlens + low) + (a.seq_starts ? load<int>(a.seq_starts + low) : 0);
  const u32 in = (u32)position / a.page_tokens; // of a negative position more than any table has
  i64 first = low * a.table_stride, width = a.table_width;
  if (a.table_indptr) {
    first = load<int>(a.table_indptr + low);
    width = load<int>(a.table_indptr + low + 1) - first;
  }
  if (first < 0 || in >= width) return NO_ROW;
  const i64 page = load<int>(a.table + first + in);
  if ((u64)page >= (u64)a.num_pages) return NO_ROW;
  return page * a.cache_page + (i64)((u32)position - in * a.page_tokens) * a.cache_row;
}

MLAF_DEV float decode1(u32 code) {
  const unsigned short half = (unsigned short)((code & 0x7fu) << 7 | (code & 0x80u) << 8);
  const float x = half_value(half) * 256.0f;
  return (code & 0x7fu) == 0x7fu ? not_a_number() : x;
}
MLAF_DEV u32 decode2(u32 codes, float scale) {
  return pack2(decode1(codes & 0xffu) * scale, decode1(codes >> 8 & 0xffu) * scale);
}
MLAF_DEV word4 decode8(word2 x, float scale) {
  return words(decode2(x.x, scale), decode2(x.x >> 16, scale), decode2(x.y, scale), decode2(x.y >> 16, scale));
}

MLAF_DEV float tidy(float x) { return x == x ? x : not_a_number(); }
MLAF_DEV word4 nan8() {
  const u32 two = pack2(not_a_number(), not_a_number());
  return words(two, two, two, two);
}

MLAF_DEV word4 latent8(const mlaf_gather_kv_b_kernel_args& a, i64 row, int c) {
  if (row < 0) return row == NO_TOKEN ? words(0, 0, 0, 0) : nan8();
  return decode8(load<word2>(a.cache + row + 8 * c), tidy(load<float>(a.cache + row + R + 4 * (c / 16))));
}

MLAF_DEV float scale_behind(const mlaf_gather_kv_b_kernel_args& a) {
  return 1.0f;
}

MLAF_DEV word4 rope8(const mlaf_gather_kv_b_kernel_args& a, i64 row, int c, float scale) {
  if (row < 0) return nan8();
  return load<word4>(a.cache + row + R + 16 + 16 * c);
}


MLAF_DEV void store_rope8(const mlaf_gather_kv_b_kernel_args& a, i64 t, i64 row, int c, u32 share, float scale) {
  const word4 x = rope8(a, row, c, scale);
  char* const to = a.k_pe + t * a.k_pe_token + 16 * c;
  for (u32 h = share; h < (a.k_pe_head ? H : 1u); h += a.shares) store(to + h * a.k_pe_head, x);
}

struct target {
  char* at;
  i64 token;
};
MLAF_DEV target target_of(const mlaf_gather_kv_b_kernel_args& a, int f) {
  const int head = f / OUT, i = f % OUT;
  if (i < N) return {a.k + head * a.k_head + 2 * i, a.k_token};
  return {a.v + head * a.v_head + 2 * (i - N), a.v_token};
}

MLAF_DEV const char* row_of_w(const mlaf_gather_kv_b_kernel_args& a, int f) {
  return a.w + f / OUT * a.w_head + f % OUT * a.w_row;
}

typedef float f32x16 __attribute__((ext_vector_type(16)));

MLAF_DEV f32x16 mfma32x32(u32x2 a, u32x2 b, f32x16 c) {
#if MLAF_BF16
  return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(__builtin_bit_cast(i16x4, a), __builtin_bit_cast(i16x4, b), c, 0, 0, 0);
#else
  return __builtin_amdgcn_mfma_f32_32x32x8f16(__builtin_bit_cast(f16x4, a), __builtin_bit_cast(f16x4, b), c, 0, 0, 0);
#endif
}

MLAF_DEV void load_round(const mlaf_gather_kv_b_kernel_args& a, int round, int thread, word4 (&x)[COPIES]) {
#pragma unroll
  for (int k = 0; k < COPIES; k++) {
    const int i = thread + k * THREADS, f = round * OUTPUTS + i / ROW_CHUNKS;
    if (CHUNKS % THREADS == 0 || i < CHUNKS) x[k] = load<word4>(row_of_w(a, smaller(f, ALL - 1)) + 16 * (i % ROW_CHUNKS));
  }
}

MLAF_DEV void store_round(char* lds, int thread, const word4 (&x)[COPIES]) {
#pragma unroll
  for (int k = 0; k < COPIES; k++) {
    const int i = thread + k * THREADS, o = i / ROW_CHUNKS, c = i % ROW_CHUNKS;
    const int place = (o & ~31) + 8 * (o >> 2 & 3) + 4 * (o >> 4 & 1) + (o & 3);
    if (CHUNKS % THREADS == 0 || i < CHUNKS) *(word4*)(lds + place * 2 * R + 16 * (c ^ (place & TURN))) = x[k];
  }
}

MLAF_DEV void multiply(const char* w, const word4 (&x)[R / 16], int lane, f32x16 (&s)[BLOCKS]) {
  const int place = lane & 31, g = lane >> 5;
#pragma unroll
  for (int b = 0; b < BLOCKS; b++) s[b] = f32x16{};
#pragma unroll
  for (int f = 0; f < R / 16; f++)
#pragma unroll
    for (int b = 0; b < BLOCKS; b++) {
      const word4 y = *(const word4*)(w + (32 * b + place) * 2 * R + 16 * ((2 * f + g) ^ (place & TURN)));
      s[b] = mfma32x32(y.xy, x[f].xy, s[b]);
      s[b] = mfma32x32(y.zw, x[f].zw, s[b]);
    }
}

MLAF_DEV void write(const mlaf_gather_kv_b_kernel_args& a, i64 t, int round, float scale, int lane, const f32x16 (&s)[BLOCKS]) {
#pragma unroll
  for (int b = 0; b < BLOCKS; b++) {
    const int f = round * OUTPUTS + 32 * b + 16 * (lane >> 5);
    if (f >= ALL) continue;
    const target to = target_of(a, f);
#pragma unroll
    for (int k = 0; k < 16; k += 8) {
      float v[8];
#pragma unroll
      for (int i = 0; i < 8; i++) v[i] = s[b][k + i] * scale;
      store(to.at + t * to.token + 2 * k, pack(v));
    }
  }
}

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(128, 128),
                                     amdgpu_waves_per_eu(2, 2))) void
mlaf_mla_gather_kv_b_mfma_3574fd2a(mlaf_gather_kv_b_kernel_args a) {
  __shared__ __attribute__((aligned(16))) char lds[16384];
  const int thread = (int)my_thread(), lane = thread & 63, wave = uniform(thread >> 6);
  const u32 tiles = (u32)((a.tokens + TOKENS - 1) / TOKENS), share = my_block() / tiles;
  const i64 t = (i64)(my_block() - share * tiles) * TOKENS + 32 * wave + (lane & 31);
  const int first = (int)(share * ROUNDS / a.shares), last = (int)((share + 1) * ROUNDS / a.shares);
  word4 next[COPIES], x[R / 16];
  load_round(a, first, thread, next);
  const i64 row = find_row(a, t);
  const float scale = scale_behind(a);
#pragma unroll
  for (int f = 0; f < R / 16; f++) x[f] = latent8(a, row, 2 * f + (lane >> 5));
  if (a.k_pe && row != NO_TOKEN)
#pragma unroll
    for (int c = 0; c < ROPE / 16; c++) store_rope8(a, t, row, 2 * c + (lane >> 5), share, scale);
  store_round(lds, thread, next);
  load_round(a, first + 1, thread, next);
  __syncthreads();
#pragma nounroll
  for (int round = first; round < last; round++) {
    f32x16 s[BLOCKS];
    char* const now = lds + (STAGES > 1 ? ((round - first) & 1) * STAGE : 0);
    multiply(now, x, lane, s);
    if (STAGES == 1) __syncthreads(); // nobody reads this round any more
    store_round(STAGES > 1 ? lds + (~(round - first) & 1) * STAGE : lds, thread, next);
    load_round(a, round + 2, thread, next);
    if (row != NO_TOKEN) write(a, t, round, scale, lane, s);
    __syncthreads();
  }
}
