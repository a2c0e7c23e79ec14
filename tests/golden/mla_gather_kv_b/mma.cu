// Generated from templates/mla_gather_kv_b/mma.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_gather_kv_b_mma_781bf981
// parameters:
//   across = 4
//   cols = 128
//   dtype = bf16
//   heads = 8
//   layout = fp8_ds_mla
//   nope = 192
//   rank = 512
//   rope = 64
//   rotate = 0
//   rows = 64
//   stages = 4
//   vdim = 256
// regenerate: lua5.4 gen/cli.lua render mla_gather_kv_b/mma target=sm_90a across=4 cols=128 dtype=bf16 heads=8 layout=fp8_ds_mla nope=192 rank=512 rope=64 rotate=0 rows=64 stages=4 vdim=256


#define MLAF_BF16 1
constexpr int LANES = 32;
constexpr bool FIRST_OF_LAYER = false;
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
typedef uint4 word4;
typedef uint2 word2;
MLAF_DEV word4 words(u32 a, u32 b, u32 c, u32 d) { return make_uint4(a, b, c, d); }
MLAF_DEV u32 my_block() { return blockIdx.x; }
MLAF_DEV u32 my_thread() { return threadIdx.x; }
MLAF_DEV float exchange(float x, int, int d) { return __shfl_xor_sync(~0u, x, d); }
template <class T>
MLAF_DEV T load(const void* p) {
  return *(const T*)p;
}
template <class T>
MLAF_DEV void store(void* p, T x) {
  *(T*)p = x;
}
MLAF_DEV word4 load_weights(const void* p) {
  word4 x;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(p) : "memory");
  return x;
}
MLAF_DEV float inverse_root(float x) { return rsqrtf(x); }
MLAF_DEV float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }

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
// [templates/lib/mma.h]
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
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_gather_kv_b_mma_781bf981_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 140800, {1, 1, 1},
    1, 0, 0, {0, 0}, 0, {}};

typedef uint2 word2;
MLAF_DEV float half_value(unsigned short x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
  return y;
}
constexpr int H = 8, N = 192, OUT = 448, ALL = H * OUT, R = 512, ROPE = 64;
constexpr int TOKENS = 64, COLS = 128, ACROSS = 4, WIDE = COLS / ACROSS, THREADS = 256;
constexpr int STAGES = 4, STEP = 64, STEPS = R / STEP, TILES = (ALL + COLS - 1) / COLS;
constexpr int PITCH_X = 2 * R + 16, PITCH_W = 2 * STEP + 16; // bytes of a row in shared memory

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

MLAF_DEV int place_of(int o) { return (o & ~31) + 8 * ((o & 7) >> 1) + 2 * ((o & 31) >> 3) + (o & 1); }

MLAF_DEV void copy_step(const mlaf_gather_kv_b_kernel_args& a, u32 to, int tile, int step, int thread) {
  constexpr int CHUNKS = STEP / 8;
  static_assert(COLS * CHUNKS % THREADS == 0, "each thread copies as much");
#pragma unroll
  for (int k = 0; k < COLS * CHUNKS / THREADS; k++) {
    const int i = thread + k * THREADS, o = i / CHUNKS, c = i % CHUNKS, f = tile * COLS + o;
    const bool real = f < ALL;
    copy16(to + place_of(o) * PITCH_W + 16 * c, row_of_w(a, real ? f : 0) + 2 * STEP * step + 16 * c, real);
  }
}

MLAF_DEV void gather(const mlaf_gather_kv_b_kernel_args& a, char* x, const i64* rows, int thread) {
  constexpr int CHUNKS = R / 8, AT_ONCE = 8;
#pragma unroll 1
  for (int first = thread; first < TOKENS * CHUNKS; first += AT_ONCE * THREADS) {
    word4 v[AT_ONCE];
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) {
      const int i = first + k * THREADS;
      if (i < TOKENS * CHUNKS) v[k] = latent8(a, rows[i / CHUNKS], i % CHUNKS);
    }
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) {
      const int i = first + k * THREADS;
      if (i < TOKENS * CHUNKS) *(word4*)(x + i / CHUNKS * PITCH_X + 16 * (i % CHUNKS)) = v[k];
    }
  }
}

typedef float sums[2][WIDE / 8][4];

MLAF_DEV void multiply(u32 x, u32 w, int lane, sums& s) {
  const u32 xa = x + (lane & 15) * PITCH_X + (lane >> 4) * 16;
  const u32 wa = w + ((lane & 7) + (lane >> 4) * 8) * PITCH_W + (lane >> 3 & 1) * 16;
#pragma unroll
  for (int k = 0; k < STEP / 16; k++) {
    u32 a[2][4];
    load_matrices(a[0], xa + 32 * k);
    load_matrices(a[1], xa + 16 * PITCH_X + 32 * k);
#pragma unroll
    for (int n = 0; n < WIDE / 16; n++) {
      u32 b[4];
      load_matrices(b, wa + n * 16 * PITCH_W + 32 * k);
#pragma unroll
      for (int m = 0; m < 2; m++) {
        mma16(s[m][2 * n], a[m], b[0], b[1]);
        mma16(s[m][2 * n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

MLAF_DEV void write(const mlaf_gather_kv_b_kernel_args& a, const i64* rows, i64 t0, int first, int at, float scale, int lane,
                    const sums& s) {
#pragma unroll
  for (int q = 0; q < WIDE / 32; q++) {
    const int f = at + 32 * q + 8 * (lane & 3);
    if (f >= ALL) continue;
    const target to = target_of(a, f);
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const int token = first + 16 * m + 8 * h + (lane >> 2);
        u32 x[4];
#pragma unroll
        for (int u = 0; u < 4; u++) x[u] = pack2(s[m][4 * q + u][2 * h] * scale, s[m][4 * q + u][2 * h + 1] * scale);
        if (rows[token] != NO_TOKEN) store(to.at + (t0 + token) * to.token, words(x[0], x[1], x[2], x[3]));
      }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) mlaf_mla_gather_kv_b_mma_781bf981(const __grid_constant__ mlaf_gather_kv_b_kernel_args a) {
  extern __shared__ __align__(128) char memory[];
  char* const x = memory;
  i64* const rows = (i64*)(memory + TOKENS * PITCH_X + STAGES * COLS * PITCH_W);
  const int thread = (int)my_thread(), lane = thread & 31, warp = thread >> 5;
  const u32 x_at = shared_address(x), w_at = x_at + TOKENS * PITCH_X;
  const u32 tiles_of_tokens = (u32)((a.tokens + TOKENS - 1) / TOKENS), share = my_block() / tiles_of_tokens;
  const i64 t0 = (i64)(my_block() - share * tiles_of_tokens) * TOKENS;
  const int first = (int)(share * TILES / a.shares), last = (int)((share + 1) * TILES / a.shares);

  let_next_launch_start();
  int copied = 0; // steps; W is a constant
  const int count = (last - first) * STEPS;
#pragma unroll
  for (int s = 0; s < STAGES - 1; s++, copied++) {
    if (copied < count) copy_step(a, w_at + s * COLS * PITCH_W, first + copied / STEPS, copied % STEPS, thread);
    end_copy_group();
  }
  wait_for_previous_launch();
  for (int i = thread; i < TOKENS; i += THREADS) rows[i] = find_row(a, t0 + i);
  __syncthreads();
  gather(a, x, rows, thread);
  const float scale = scale_behind(a);
  if (a.k_pe)
    for (int i = thread; i < TOKENS * (ROPE / 8); i += THREADS) {
      const int token = i / (ROPE / 8);
      if (rows[token] != NO_TOKEN) store_rope8(a, t0 + token, rows[token], i % (ROPE / 8), share, scale);
    }

  const int down = warp / ACROSS, side = warp % ACROSS;
  int stage = 0;
  for (int tile = first; tile < last; tile++) {
    sums s = {};
#pragma unroll 1
    for (int step = 0; step < STEPS; step++) {
      wait_for_copies<STAGES - 2>();
      __syncthreads(); // this step is there for all, and nobody reads the one before it any more
      const int next = stage == 0 ? STAGES - 1 : stage - 1;
      if (copied < count) copy_step(a, w_at + next * COLS * PITCH_W, first + copied / STEPS, copied % STEPS, thread);
      end_copy_group();
      copied++;
      multiply(x_at + 32 * down * PITCH_X + 2 * STEP * step, w_at + (stage * COLS + side * WIDE) * PITCH_W, lane, s);
      stage = stage + 1 == STAGES ? 0 : stage + 1;
    }
    write(a, rows, t0, 32 * down, tile * COLS + side * WIDE, scale, lane, s);
  }
  wait_for_copies<0>(); // no copy may outlive its block
}
