// Generated from gen/projection/kernels.lua by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_q_absorb_stream_e263c474
// parameters:
//   depth = 2
//   dtype = bf16
//   land = registers
//   nope = 128
//   pass = 8
//   per_sm = 3
//   rank = 512
//   rope = 64
//   rows = 64
//   split = 1
//   style = pairs
//   warps = 2
// regenerate: lua5.4 gen/cli.lua render mla_q_absorb/stream target=sm_90a depth=2 dtype=bf16 land=registers nope=128 pass=8 per_sm=3 rank=512 rope=64 rows=64 split=1 style=pairs warps=2

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
// [templates/lib/projection/args.h]
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_absorb_stream_e263c474_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 4352, {1, 1, 1},
    65, 0, 0, {0, 0}, 0, {}};

constexpr int INNER = 128, OUTER = 512, TOKENS = 8, TILE = 64, WAYS = 2, SPLIT = 1;
constexpr int THREADS = 64;
constexpr int TILES = (OUTER + TILE - 1) / TILE;
constexpr int PITCH = TILE + 4; // floats of a token's partial sums: neighbours lie in different banks
constexpr int ROPE = 64;
constexpr int ITEM_CHUNKS = 1; // of 16 bytes
constexpr int ITEMS = ROPE / (8 * ITEM_CHUNKS);              // of a row
constexpr int ANGLES = 4;      // of an item

MLAF_DEV void load_angles(float (&to)[ANGLES], const char* row, int item, bool narrow) {
#pragma unroll
  for (int i = 0; i < ANGLES; i += 4) {
    if (narrow) {
      const word2 w = load<word2>(row + 2 * (ANGLES * item + i));
      to[i] = unpack_lo(w.x), to[i + 1] = unpack_hi(w.x), to[i + 2] = unpack_lo(w.y), to[i + 3] = unpack_hi(w.y);
    } else {
      const word4 w = load<word4>(row + 4 * (ANGLES * item + i));
      to[i] = float_of(w.x), to[i + 1] = float_of(w.y), to[i + 2] = float_of(w.z), to[i + 3] = float_of(w.w);
    }
  }
}

MLAF_DEV void ask_turn(const mlaf_projection_kernel_args& a, int first, int step) {
#pragma unroll 1
  for (i64 i = first; i < a.tokens * ITEMS; i += step) {
    i64 position;
    asm volatile("ld.relaxed.gpu.global.s64 %0, [%1];" : "=l"(position) : "l"(a.positions + i / ITEMS) : "memory");
    if ((u64)position >= (u64)a.table_rows) continue;
    const i64 at = position * a.table_row + (a.flags & PROJECTION_TABLE_16 ? 2 : 4) * ANGLES * (i % ITEMS);
    asm volatile("prefetch.global.L2 [%0];" ::"l"(a.cos + at) : "memory");
    asm volatile("prefetch.global.L2 [%0];" ::"l"(a.sin + at) : "memory");
  }
}

MLAF_DEV void turn_rows(const mlaf_projection_kernel_args& a, const char* x, char* y, int first, int step) {
#pragma unroll 2
  for (i64 i = first; i < a.tokens * ITEMS; i += step) {
    const i64 t = i / ITEMS;
    const int item = (int)(i % ITEMS);
    const char* const from = x + t * a.x_token + 2 * INNER + 16 * item;
    char* const to = y + t * a.y_token + 2 * OUTER + 16 * item;
    word4 in[ITEM_CHUNKS];
#pragma unroll
    for (int k = 0; k < ITEM_CHUNKS; k++) in[k] = load<word4>(from + k * ROPE);
    float v[ITEM_CHUNKS][8], c[ANGLES], s[ANGLES];
    const i64 position = load<i64>(a.positions + t);
#pragma unroll
    for (int k = 0; k < ANGLES; k++) c[k] = s[k] = not_a_number();
    if ((u64)position < (u64)a.table_rows) {
      load_angles(c, a.cos + position * a.table_row, item, a.flags & PROJECTION_TABLE_16);
      load_angles(s, a.sin + position * a.table_row, item, a.flags & PROJECTION_TABLE_16);
    }
#pragma unroll
    for (int k = 0; k < ITEM_CHUNKS; k++) unpack(v[k], in[k]);
#pragma unroll
    for (int k = 0; k < ANGLES; k++) {
      float &p = v[0][2 * k], &q = v[0][2 * k + 1];
      const float across = q * s[k], back = p * s[k];
      p = multiply_add(p, c[k], -across);
      q = multiply_add(q, c[k], back);
    }
#pragma unroll
    for (int k = 0; k < ITEM_CHUNKS; k++) in[k] = pack(v[k]);
#pragma unroll
    for (int k = 0; k < ITEM_CHUNKS; k++) store(to + k * ROPE, in[k]);
  }
}

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

MLAF_DEV const char* row_of_x(const mlaf_projection_kernel_args& a, const place& p, i64 t) {
  return p.x + (t < a.tokens ? t : a.tokens - 1) * a.x_token;
}

MLAF_DEV void finish(const mlaf_projection_kernel_args& a, const place& p, i64 t0, const float* sums,
                     const float* squares) {
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
    store(p.y + (t0 + token) * a.y_token + 2 * (p.first + column), pack(v));
  }
}
constexpr int MT = TILE / 16, NT = TOKENS / 8, CHUNKS = 4, STEPS = 2; // of a block, of a warp
constexpr int RUN = 1, DEPTH = 2, AHEAD = 2; // RUN: chunks that a warp takes in a row
constexpr int LOADS = 8; // of 16 bytes of a lane and chunk


MLAF_DEV word4 load_x(const void* p) {
  word4 x;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(p) : "memory");
  return x;
}
MLAF_DEV u32 word_of(const word4& x, int i) { return i == 0 ? x.x : i == 1 ? x.y : i == 2 ? x.z : x.w; }

struct sums_of_warp {
  float of[MT][NT][4];
};
struct lane_place {
  const char *w, *x[NT];
  i64 w_step; // bytes between two of its loads of a chunk
  int first;
};

MLAF_DEV int chunk_of(const lane_place& l, int step) { return l.first + step / RUN * (RUN * WAYS) + step % RUN; }
MLAF_DEV bool is_there(int chunk) { return CHUNKS % (RUN * WAYS) == 0 || chunk < CHUNKS; }


struct weights {
  word4 of[LOADS];
};
struct inputs {
  word4 of[NT];
};

MLAF_DEV void ask_weights(const mlaf_projection_kernel_args& a, const lane_place& l, int step, weights& w) {
  const int chunk = chunk_of(l, step);
  const char* const from = l.w + chunk * (32 * a.w_row);
#pragma unroll
  for (int i = 0; i < LOADS; i++) w.of[i] = is_there(chunk) ? load_weights(from + i * l.w_step) : words(0, 0, 0, 0);
}
MLAF_DEV void ask_inputs(const lane_place& l, int step, inputs& x) {
  const int chunk = chunk_of(l, step);
#pragma unroll
  for (int n = 0; n < NT; n++) x.of[n] = is_there(chunk) ? load_x(l.x[n] + (i64)chunk * 64) : words(0, 0, 0, 0);
}

MLAF_DEV u32 join_lo(u32 a, u32 b) { return __byte_perm(a, b, 0x5410); }
MLAF_DEV u32 join_hi(u32 a, u32 b) { return __byte_perm(a, b, 0x7632); }

MLAF_DEV void multiply(const weights& w, inputs& x, sums_of_warp& s) {
#pragma unroll
  for (int m = 0; m < MT; m++) {
    u32 of[8];
#pragma unroll
    for (int i = 0; i < 8; i++) of[i] = word_of(w.of[i], m);
    const u32 a0[4] = {join_lo(of[0], of[1]), join_hi(of[0], of[1]), join_lo(of[2], of[3]), join_hi(of[2], of[3])};
    const u32 a1[4] = {join_lo(of[4], of[5]), join_hi(of[4], of[5]), join_lo(of[6], of[7]), join_hi(of[6], of[7])};
#pragma unroll
    for (int n = 0; n < NT; n++) {
      mma16(s.of[m][n], a0, x.of[n].x, x.of[n].y);
      mma16(s.of[m][n], a1, x.of[n].z, x.of[n].w);
    }
  }
}


MLAF_DEV void add4(float (&v)[4], const float4& x) { v[0] += x.x, v[1] += x.y, v[2] += x.z, v[3] += x.w; }

constexpr int OCTETS = TILE / 8, ITEMS_OF_PASS = TOKENS * OCTETS; // eight outputs of a token each

MLAF_DEV void write_pass(const mlaf_projection_kernel_args& a, const place& p, i64 t0, float* sums,
                         int rank) {
#pragma unroll (WAYS == 1 ? 2 : 1)
  for (int i = (int)my_thread(); i < ITEMS_OF_PASS; i += THREADS) {
    const int token = i / OCTETS, column = i % OCTETS * 8;
    if (t0 + token >= a.tokens || (OUTER % TILE != 0 && p.first + column >= OUTER)) continue;
    float v[2][4] = {};
#pragma unroll
    for (int way = 0; way < WAYS; way++) {
      const float4* const from = (const float4*)(sums + (way * TOKENS + token) * PITCH + column);
      add4(v[0], from[0]);
      add4(v[1], from[1]);
    }
    store(p.y + (t0 + token) * a.y_token + 2 * (p.first + column),
          words(pack2(v[0][0], v[0][1]), pack2(v[0][2], v[0][3]), pack2(v[1][0], v[1][1]), pack2(v[1][2], v[1][3])));
  }
}

extern "C" __global__ void __launch_bounds__(64, 4) mlaf_mla_q_absorb_stream_e263c474(const mlaf_projection_kernel_args a) {
  extern __shared__ __align__(128) char memory[];
  if (!FIRST_OF_LAYER) let_next_launch_start();
  const int thread = (int)my_thread(), lane = thread & 31, warp = thread >> 5, g = lane >> 2, t = lane & 3;
  const int rank = (int)(my_block() % SPLIT);
  const place p = place_of(a, my_block() / SPLIT);
  float* const sums = (float*)memory;
  lane_place l;
  l.first = warp * RUN;
  l.w_step = a.w_row;
  const int output = OUTER % TILE == 0 || p.first + 8 * g < OUTER ? p.first + 8 * g : OUTER - 8; // whose sums nobody writes
  l.w = p.w + (rank * (CHUNKS * 32) + 8 * t) * a.w_row + 2 * output;

  weights w[DEPTH];
#pragma unroll
  for (int i = 0; i < DEPTH; i++) ask_weights(a, l, i, w[i]);
  if (rank == 0) ask_turn(a, p.first / TILE * THREADS + thread, TILES * THREADS);
  wait_for_previous_launch();
  if (FIRST_OF_LAYER) let_next_launch_start();

#pragma unroll 1
  for (i64 t0 = 0; t0 < a.tokens; t0 += TOKENS) {
    if (t0)
#pragma unroll
      for (int i = 0; i < DEPTH; i++) ask_weights(a, l, i, w[i]);
#pragma unroll
    for (int n = 0; n < NT; n++) l.x[n] = row_of_x(a, p, t0 + 8 * n + g) + 16 * t + rank * (CHUNKS * 64);
    sums_of_warp s = {};
    inputs x[AHEAD];
#pragma unroll
    for (int i = 0; i < AHEAD; i++) ask_inputs(l, i, x[i]);
#pragma unroll 1
    for (int base = 0; base < STEPS; base += DEPTH)
#pragma unroll
      for (int i = 0; i < DEPTH; i++) {
        if (STEPS % DEPTH != 0 && base + i >= STEPS) break;
        multiply(w[i], x[i % AHEAD], s);
        if (base + i + DEPTH < STEPS) ask_weights(a, l, base + i + DEPTH, w[i]);
        if (base + i + AHEAD < STEPS) ask_inputs(l, base + i + AHEAD, x[i % AHEAD]);
      }
    float* const mine = sums + warp * TOKENS * PITCH;
#pragma unroll
    for (int n = 0; n < NT; n++)
#pragma unroll
      for (int e = 0; e < 2; e++) {
        float* const to = mine + (8 * n + 2 * t + e) * PITCH;
#pragma unroll
        for (int m = 0; m < MT; m++) {
          *(float2*)(to + 8 * g + 2 * m) = make_float2(s.of[m][n][e], s.of[m][n][2 + e]);
        }
      }
    __syncthreads();
    write_pass(a, p, t0, sums, rank);
    __syncthreads();
  }
  if (rank == 0) turn_rows(a, p.x, p.y, p.first / TILE * THREADS + thread, TILES * THREADS);
}
