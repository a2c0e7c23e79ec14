// Generated from gen/projection/kernels.lua by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_q_absorb_stream_fp8_d750f8d9
// parameters:
//   depth = 4
//   dtype = bf16
//   nope = 128
//   pass = 8
//   rank = 512
//   rope = 64
//   rows = 64
//   split = 1
//   style = pairs
//   warps = 2
//   weights = 1
// regenerate: lua5.4 gen/cli.lua render mla_q_absorb/stream_fp8 target=sm_90a depth=4 dtype=bf16 nope=128 pass=8 rank=512 rope=64 rows=64 split=1 style=pairs warps=2 weights=1

#define MLAF_BF16 1
constexpr int LANES = 32;
constexpr bool FIRST_OF_LAYER = false;
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
typedef uint4 word4;
// [21 more lines of templates/lib/projection/machine.h]

MLAF_DEV void unpack(float (&v)[8], word4 x) {
// [11 more lines of templates/lib/projection/machine.h]
// [templates/lib/mma.h]
// [templates/lib/projection/args.h]
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_absorb_stream_fp8_d750f8d9_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 4368, {1, 1, 1},
    81, 0, 0, {0, 0}, 0, {}};

constexpr int INNER = 128, OUTER = 512, TOKENS = 8, TILE = 64, WAYS = 2, SPLIT = 1;
constexpr int THREADS = 64;
constexpr int TILES = (OUTER + TILE - 1) / TILE;
constexpr int PITCH = TILE + 4; // floats of a token's partial sums: neighbours lie in different banks
constexpr int ROPE = 64;
constexpr int ITEM_CHUNKS = 1; // of 16 bytes
constexpr int ITEMS = ROPE / (8 * ITEM_CHUNKS);              // of a row
constexpr int ANGLES = 4;      // of an item

MLAF_DEV void load_angles(float (&to)[ANGLES], const char* row, int item, bool narrow) {
// [11 more lines of templates/lib/projection/turn.h]

MLAF_DEV void ask_turn(const mlaf_projection_kernel_args& a, int first, int step) {
// [10 more lines of templates/lib/projection/turn.h]

MLAF_DEV void turn_rows(const mlaf_projection_kernel_args& a, const char* x, char* y, int first, int step) {
// [9 more lines of templates/lib/projection/turn.h]
    float v[ITEM_CHUNKS][8], c[ANGLES], s[ANGLES];
// [11 more lines of templates/lib/projection/turn.h]
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
// [18 more lines of templates/lib/projection/block.h]

MLAF_DEV void finish(const mlaf_projection_kernel_args& a, const place& p, i64 t0, const float* sums,
                     const float* squares) {
#pragma unroll 1
// [9 more lines of templates/lib/projection/block.h]
    store(p.y + (t0 + token) * a.y_token + 2 * (p.first + column), pack(v));
  }
}
MLAF_DEV void unpack_halves(u32 x, float& a, float& b) {
  asm("{\n.reg .b16 l, h;\nmov.b32 {l, h}, %2;\ncvt.f32.f16 %0, l;\ncvt.f32.f16 %1, h;\n}" : "=f"(a), "=f"(b) : "r"(x));
}

template <int PAIR>
MLAF_DEV u32 halves_of(u32 codes) {
  u32 x;
  asm volatile("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(x) : "h"((unsigned short)(codes >> 16 * PAIR)));
  return x;
}

template <int PAIR>
MLAF_DEV void decode2(u32 codes, float& a, float& b) {
  unpack_halves(halves_of<PAIR>(codes), a, b);
}
template <int PAIR>
MLAF_DEV u32 expand2(u32 codes) {
#if MLAF_BF16
  float a, b;
  decode2<PAIR>(codes, a, b);
  return pack2(a, b);
#else
  return halves_of<PAIR>(codes);
#endif
}

MLAF_DEV void decode8(float (&v)[8], u32 x, u32 y) {
// [17 more lines of templates/lib/projection/fp8.h]
  return load<float>(scales + 4 * (a.scale_first_column + column >> 7));
}
constexpr int MT = TILE / 16, NT = TOKENS / 8, CHUNK = 32, CHUNKS = 4, STEPS = 2;
constexpr int RUN = 1, DEPTH = 2, AHEAD = 2; // CHUNKS of a block, STEPS of a warp, RUN in a row
constexpr int LOADS = 8, PARTS = CHUNK / 32; // loads of a lane and chunk; of x, 8 values each
constexpr int SCALES = 1, SCALES_AT = 4352; // of a chunk; where they begin


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

typedef word2 codes;
MLAF_DEV codes load_codes(const void* p, bool there) {
  codes x = make_uint2(0, 0);
  if (there)
    asm volatile("ld.global.L1::no_allocate.v2.u32 {%0, %1}, [%2];" : "=r"(x.x), "=r"(x.y) : "l"(p) : "memory");
  return x;
}

struct weights {
  codes of[LOADS];
};
struct inputs {
  word4 of[NT][PARTS];
};

MLAF_DEV void ask_weights(const mlaf_projection_scaled_args& a, const lane_place& l, int step, weights& w) {
  const int chunk = chunk_of(l, step);
  const char* const from = l.w + chunk * (CHUNK * a.w_row);
#pragma unroll
// [9 more lines of templates/lib/projection/stream_fp8.h]
  }
}

MLAF_DEV void lay_scales(const mlaf_projection_scaled_args& a, const place& p, int rank, float* scales) {
#pragma unroll 1
  for (int i = (int)my_thread(); i < CHUNKS * SCALES; i += THREADS) {
    const int value = (rank * CHUNKS + i / SCALES) * CHUNK;
    scales[i] = scale_at(a, scales_of(a, p.head, value), p.first);
  }
}

MLAF_DEV void mma16_first(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." MLAF_MMA_TYPE "." MLAF_MMA_TYPE ".f32 "
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
               : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(0.0f));
}
MLAF_DEV u32 pair_of(const codes& a, const codes& b, int i) {
  return __byte_perm(i < 2 ? a.x : a.y, i < 2 ? b.x : b.y, i % 2 ? 0x7362 : 0x5140);
}

MLAF_DEV void operands_of(u32 (&a)[2 * PARTS][4], const weights& w, int m) {
#pragma unroll
  for (int i = 0; i < 2 * PARTS; i++) {
    const u32 v0 = pair_of(w.of[4 * i], w.of[4 * i + 1], m), v2 = pair_of(w.of[4 * i + 2], w.of[4 * i + 3], m);
    a[i][0] = expand2<0>(v0), a[i][1] = expand2<1>(v0), a[i][2] = expand2<0>(v2), a[i][3] = expand2<1>(v2);
  }
}

MLAF_DEV void multiply(const weights& w, inputs& x, const float* scales,
                       sums_of_warp& s) {
#pragma unroll
  for (int m = 0; m < MT; m++) {
    u32 a[2 * PARTS][4];
    operands_of(a, w, m);
    const float scale = scales[0];
#pragma unroll
// [11 more lines of templates/lib/projection/stream_fp8.h]


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

extern "C" __global__ void __launch_bounds__(64, 4) mlaf_mla_q_absorb_stream_fp8_d750f8d9(const mlaf_projection_scaled_args a) {
  extern __shared__ __align__(128) char memory[];
  if (!FIRST_OF_LAYER) let_next_launch_start();
  const int thread = (int)my_thread(), lane = thread & 31, warp = thread >> 5, g = lane >> 2, t = lane & 3;
  const int rank = (int)(my_block() % SPLIT);
  const place p = place_of(a, my_block() / SPLIT);
  float* const sums = (float*)memory;
  float* const scales = (float*)(memory + SCALES_AT);
  lane_place l;
  l.first = warp * RUN;
  l.w_step = a.w_row;
  const int output = OUTER % TILE == 0 || p.first + 8 * g < OUTER ? p.first + 8 * g : OUTER - 8; // whose sums nobody writes
  l.w = p.w + (rank * (CHUNKS * CHUNK) + 8 * t) * a.w_row + output;

  weights w[DEPTH];
#pragma unroll
  for (int i = 0; i < DEPTH; i++) ask_weights(a, l, i, w[i]);
  lay_scales(a, p, rank, scales);
  __syncthreads();
// [21 more lines of templates/lib/projection/stream_fp8.h]
        multiply(w[i], x[i % AHEAD], scales_here, s);
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
