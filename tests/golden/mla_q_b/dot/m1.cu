// Generated from templates/mla_q_b/dot.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_q_b_dot_c3a6ff5e
// parameters:
//   cols = 1
//   depth = 2
//   dtype = bf16
//   heads = 16
//   nope = 128
//   norm = 1
//   pass = 1
//   q_rank = 1536
//   rope = 64
//   threads = 256
// regenerate: lua5.4 gen/cli.lua render mla_q_b/dot target=sm_90a cols=1 depth=2 dtype=bf16 heads=16 nope=128 norm=1 pass=1 q_rank=1536 rope=64 threads=256
// mla_q_b by dot products: low-rank columns, through RMSNorm where there is one, to query heads.
// A projection by dot products, for a few tokens, on any target.
//
//   layout=outputs    W[h] is [OUTER][INNER]: a warp (wave) has `cols` outputs, its lanes 16 bytes of each row, LANES * 8 values
//                     further on; `depth` such loads of every row are on their way. Sums go over the lanes.
//   layout=inputs     W[h] is [INNER][OUTER]: a thread has 8 outputs, 16 bytes of every WAYS-th row; a row of x lies in shared
//                     memory as fp32. Sums go over the threads that have the same outputs.
//
// All arithmetic is fp32: x times the norm's weights is not rounded, the sum of squares comes along.

#define MLAF_BF16 1
// One text for CUDA and HIP: block and thread numbers, lanes, loads and stores of global memory, packs of eight 16-bit values.
constexpr int LANES = 32;
// A layer's first launch lets the next one start only behind its own wait. So whatever was there before a layer's launches is
// there for all of them but the second, ahead of their own waits, too: mla_decode/sm90_few_ahead reads a cache then.
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
// Weights: each byte is read once by one block, so L1 need not keep it.
MLAF_DEV word4 load_weights(const void* p) {
  word4 x;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(p) : "memory");
  return x;
}
MLAF_DEV float inverse_root(float x) { return rsqrtf(x); }
MLAF_DEV float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }

// Eight 16-bit values as floats, and back, rounded to nearest even.
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
// Two pairs multiplied, each product rounded.
MLAF_DEV u32 multiply2(u32 a, u32 b) { return pack2(unpack_lo(a) * unpack_lo(b), unpack_hi(a) * unpack_hi(b)); }
// [templates/lib/projection/args.h]
// What this kernel wants of its launch, for the runtime to read from the code object: runtime/device/kernel_launch.h says what
// each field means. The includer hands over `shared`, bytes of dynamic shared memory, `cluster`, blocks that work on a tile
// together, `maps`, tensor maps { which of 1 W, 2 x; columns and rows of a box }, and `flags` beside PDL's: 16, it takes scales;
// 64, what it loads ahead wants room in L1.
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_b_dot_c3a6ff5e_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    1, 0, 0, {0, 0}, 0, {}};

constexpr int INNER = 1536, OUTER = 3072, TOKENS = 1, THREADS = 256;
constexpr int TILE = 8, WAYS = 1;
// What every projection kernel has: y[t, h, :] = W[h] x[t, h, :], of a block's TILE outputs of one head, in passes of TOKENS
// tokens. Blocks are numbered head by head, tile by tile. Partial sums of WAYS shares of the contraction meet in shared memory.
constexpr int TILES = (OUTER + TILE - 1) / TILE;
constexpr int PITCH = TILE + 4; // floats of a token's partial sums: neighbours lie in different banks

// A block's place in the problem, and where its head's tensors begin.
struct place {
  int head, first; // first: output of the tile
  const char *x, *w;
  char* y;
};
MLAF_DEV place place_of(const mlaf_projection_kernel_args& a, u32 block) {
  place p;
  p.head = (int)(block / TILES);
  p.first = (int)(block % TILES) * TILE;
  p.x = a.x + p.head * a.x_head;
  p.w = a.w + p.head * a.w_head;
  p.y = a.y + p.head * a.y_head;
  return p;
}
MLAF_DEV place my_place(const mlaf_projection_kernel_args& a) { return place_of(a, my_block()); }

// The row of a pass' token; those behind the last one read the last one's.
MLAF_DEV const char* row_of_x(const mlaf_projection_kernel_args& a, const place& p, i64 t) {
  return p.x + (t < a.tokens ? t : a.tokens - 1) * a.x_token;
}

// Sums [WAYS][TOKENS][PITCH] and, with a norm, sums of squares [WAYS][TOKENS]: added up, finished, rounded once, written.
// up: what the norm's weights were divided by (gain.h).
MLAF_DEV void finish(const mlaf_projection_kernel_args& a, const place& p, i64 t0, const float* sums,
                     const float* squares, float up = 1.0f) {
#pragma unroll 1
  for (int i = (int)my_thread(); i < TOKENS * (TILE / 8); i += THREADS) {
    const int token = i / (TILE / 8), column = i % (TILE / 8) * 8;
    if (t0 + token >= a.tokens || p.first + column >= OUTER) continue;
    float v[8] = {};
    for (int way = 0; way < WAYS; way++) {
      const float* const from = sums + (way * TOKENS + token) * PITCH + column;
#pragma unroll
      for (int k = 0; k < 8; k++) v[k] += from[k];
    }
    float square = 0.0f;
#pragma unroll 1
    for (int way = 0; way < WAYS; way++) square += squares[way * TOKENS + token];
    const float factor = inverse_root(multiply_add(square, 0.000651041667f, a.eps)) * up;
#pragma unroll
    for (int k = 0; k < 8; k++) v[k] *= factor;
    store(p.y + (t0 + token) * a.y_token + 2 * (p.first + column), pack(v));
  }
}

constexpr int COLS = 1, CHUNKS = INNER / 8, ROUNDS = (CHUNKS + LANES - 1) / LANES;
constexpr int DEPTH = ROUNDS < 2 ? ROUNDS : 2;

struct sums_of_warp {
  float of[TOKENS][COLS];
  float squares[TOKENS];
};

// Rounds round .. round + N - 1.
template <int N>
MLAF_DEV void add_rounds(const mlaf_projection_kernel_args& a, const char* const (&w)[COLS], const char* const (&x)[TOKENS],
                         int round, int lane, sums_of_warp& s) {
  word4 weights[N][COLS];
  bool there[N];
#pragma unroll
  for (int r = 0; r < N; r++) {
    const int chunk = (round + r) * LANES + lane;
    there[r] = CHUNKS % LANES == 0 || chunk < CHUNKS;
#pragma unroll
    for (int c = 0; c < COLS; c++)
      weights[r][c] = there[r] ? load_weights(w[c] + 16 * chunk) : words(0, 0, 0, 0);
  }
#pragma unroll
  for (int r = 0; r < N; r++) {
    const int chunk = (round + r) * LANES + lane;
    float v[TOKENS][8];
#pragma unroll
    for (int t = 0; t < TOKENS; t++) unpack(v[t], there[r] ? load<word4>(x[t] + 16 * chunk) : words(0, 0, 0, 0));
    float g[8];
    unpack(g, there[r] ? load<word4>(a.gain + 16 * chunk) : words(0, 0, 0, 0));
#pragma unroll
    for (int t = 0; t < TOKENS; t++)
#pragma unroll
      for (int i = 0; i < 8; i++) {
        s.squares[t] = multiply_add(v[t][i], v[t][i], s.squares[t]);
        v[t][i] *= g[i];
      }
#pragma unroll
    for (int c = 0; c < COLS; c++) {
      float u[8];
      unpack(u, weights[r][c]);
#pragma unroll
      for (int t = 0; t < TOKENS; t++)
#pragma unroll
        for (int i = 0; i < 8; i++) s.of[t][c] = multiply_add(u[i], v[t][i], s.of[t][c]);
    }
  }
}

MLAF_DEV float over_lanes(float x, int lane) {
#pragma unroll
  for (int d = 1; d < LANES; d *= 2) x += exchange(x, lane, d);
  return x;
}

extern "C" __global__ void __launch_bounds__(256) mlaf_mla_q_b_dot_c3a6ff5e(const mlaf_projection_kernel_args a) {
  __shared__ __attribute__((aligned(16))) float sums[TOKENS * PITCH];
  __shared__ float squares[TOKENS];
  const int thread = (int)my_thread(), lane = thread % LANES, warp = thread / LANES;
  const place p = my_place(a);
  if (!FIRST_OF_LAYER) let_next_launch_start();
  wait_for_previous_launch();
  if (FIRST_OF_LAYER) let_next_launch_start();
  const char* w[COLS];
#pragma unroll
  for (int c = 0; c < COLS; c++) {
    const int output = p.first + warp * COLS + c;
    w[c] = p.w + (output < OUTER ? output : OUTER - 1) * a.w_row;
  }
  for (i64 t0 = 0; t0 < a.tokens; t0 += TOKENS) {
    const char* x[TOKENS];
#pragma unroll
    for (int t = 0; t < TOKENS; t++) x[t] = row_of_x(a, p, t0 + t);
    sums_of_warp s = {};
#pragma unroll 1
    for (int round = 0; round + DEPTH <= ROUNDS; round += DEPTH) add_rounds<DEPTH>(a, w, x, round, lane, s);
    if (ROUNDS % DEPTH) add_rounds<(ROUNDS % DEPTH ? ROUNDS % DEPTH : 1)>(a, w, x, ROUNDS - ROUNDS % DEPTH, lane, s);
    if (t0) __syncthreads(); // the pass before was written from the sums
#pragma unroll
    for (int t = 0; t < TOKENS; t++) {
#pragma unroll
      for (int c = 0; c < COLS; c++) {
        const float sum = over_lanes(s.of[t][c], lane);
        if (lane == 0) sums[t * PITCH + warp * COLS + c] = sum;
      }
      const float square = over_lanes(s.squares[t], lane);
      if (thread == 0) squares[t] = square;
    }
    __syncthreads();
    finish(a, p, t0, sums, squares);
  }
}
