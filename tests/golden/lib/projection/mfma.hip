// Generated from gen/projection/kernels.lua by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_mla_q_b_mfma_fp8_f0df10ae
// parameters:
//   blocks = 1
//   depth = 4
//   dtype = bf16
//   heads = 16
//   nope = 128
//   norm = 1
//   parts = 1
//   pass = 16
//   q_rank = 1536
//   rope = 64
//   waves = 8
//   weights = 2
// regenerate: lua5.4 gen/cli.lua render mla_q_b/mfma_fp8 target=gfx942 blocks=1 depth=4 dtype=bf16 heads=16 nope=128 norm=1 parts=1 pass=16 q_rank=1536 rope=64 waves=8 weights=2

#define MLAF_BF16 1
#define MLAF_MFMA_K32 0
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
// [templates/lib/mfma.h]
// [templates/lib/projection/args.h]

constexpr int INNER = 1536, OUTER = 3072, TOKENS = 16, WAYS = 8, THREADS = 512;
constexpr int TILE = 16;
constexpr int TILES = (OUTER + TILE - 1) / TILE;
constexpr int PITCH = TILE + 4; // floats of a token's partial sums: neighbours lie in different banks

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
// [templates/lib/projection/one_trip.h]
constexpr int TILE_BLOCKS = 1;

struct share {
  u32 tile;
  int part;
};
MLAF_DEV share my_share() {
  return {my_block(), 0};
}
constexpr int BLOCKS = 1, GROUPS = 1; // GROUPS: of 16 tokens
constexpr int TOGETHER = TOKENS / 16; // groups whose sums meet at a time
constexpr int STEPS = INNER / 64, DEPTH = 4;

struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_q_b_mfma_fp8_f0df10ae_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    16, 0, 0, {0, 0}, 0, {}};


template <int PAIR>
MLAF_DEV void decode2(u32 codes, float& a, float& b) {
  const f32x2 x = __builtin_amdgcn_cvt_pk_f32_fp8((int)codes, PAIR == 1);
  a = x.x, b = x.y;
}
template <int PAIR>
MLAF_DEV u32 expand2(u32 codes) {
#if MLAF_BF16
  float a, b;
  decode2<PAIR>(codes, a, b);
  return __builtin_amdgcn_perm(bits_of(b), bits_of(a), 0x07060302u); // their lower halves are zero
#else
  float a, b;
  decode2<PAIR>(codes, a, b);
  return pack2(a, b);
#endif
}

MLAF_DEV void decode8(float (&v)[8], u32 x, u32 y) {
  decode2<0>(x, v[0], v[1]);
  decode2<1>(x, v[2], v[3]);
  decode2<0>(y, v[4], v[5]);
  decode2<1>(y, v[6], v[7]);
}
MLAF_DEV word4 expand8(u32 x, u32 y) { return words(expand2<0>(x), expand2<1>(x), expand2<0>(y), expand2<1>(y)); }

struct mlaf_projection_scaled_args : mlaf_projection_kernel_args {
  const float* w_scale;
  i64 scale_row, scale_first_row, scale_head, scale_first_column; // scale_row in bytes
};
static_assert(sizeof(mlaf_projection_scaled_args) == 192, "differs from runtime/op/projection.h");

MLAF_DEV const char* scales_of(const mlaf_projection_scaled_args& a, int head, int row) {
  return (const char*)a.w_scale + (a.scale_first_row + head * a.scale_head + row >> 7) * a.scale_row;
}
MLAF_DEV float scale_at(const mlaf_projection_scaled_args& a, const char* scales, int column) {
  const float x = load<float>(scales + 4 * (a.scale_first_column + column >> 7));
  return x == x ? x : not_a_number(); // whose low bits are zero
}
struct operands {
  const char* w[1]; // rows of this lane
  const char* scales[BLOCKS];
  const char* x[GROUPS];
  const char* gain;
};
struct sums_of_wave {
  f32x4 of[BLOCKS][GROUPS];
  float squares[GROUPS];
};

constexpr int VALUES = 16, PARTS = VALUES / 8; // of a load, of 8 values each
typedef u32 codes_of_row __attribute__((ext_vector_type(VALUES / 4)));

template <int N>
MLAF_DEV void add_steps(const mlaf_projection_scaled_args& a, const operands& o, int step, sums_of_wave& s) {
  codes_of_row w[N][BLOCKS];
  word4 x[N][GROUPS][PARTS];
  float scale[N][BLOCKS];
  word4 gain[N][PARTS];
#pragma unroll
  for (int n = 0; n < N; n++) {
    const i64 at = (i64)(step + n) * (4 * VALUES);
#pragma unroll
    for (int b = 0; b < BLOCKS; b++) {
      w[n][b] = load<codes_of_row>(o.w[b] + at);
      scale[n][b] = scale_at(a, o.scales[b], (step + n) * (4 * VALUES));
    }
#pragma unroll
    for (int i = 0; i < PARTS; i++) {
#pragma unroll
      for (int g = 0; g < GROUPS; g++) x[n][g][i] = load<word4>(o.x[g] + 2 * at + 16 * i);
      gain[n][i] = load<word4>(o.gain + 2 * at + 16 * i);
    }
  }
#pragma unroll
  for (int n = 0; n < N; n++) {
#pragma unroll
    for (int g = 0; g < GROUPS; g++)
#pragma unroll
      for (int i = 0; i < 4 * PARTS; i++) {
        const u32 pair = x[n][g][i / 4][i % 4];
        const float lo = unpack_lo(pair), hi = unpack_hi(pair);
        s.squares[g] = multiply_add(lo, lo, multiply_add(hi, hi, s.squares[g]));
        const u32 weight = gain[n][i / 4][i % 4];
        x[n][g][i / 4][i % 4] = multiply2(pair, weight);
      }
#pragma unroll
    for (int b = 0; b < BLOCKS; b++) {
      word4 v[PARTS];
#pragma unroll
      for (int i = 0; i < PARTS; i++) v[i] = expand8(w[n][b][2 * i], w[n][b][2 * i + 1]);
#pragma unroll
      for (int g = 0; g < GROUPS; g++) {
        f32x4 part = {};
#pragma unroll
        for (int i = 0; i < PARTS; i++) {
          part = mfma16(v[i].xy, x[n][g][i].xy, part);
          part = mfma16(v[i].zw, x[n][g][i].zw, part);
        }
#pragma unroll
        for (int r = 0; r < 4; r++) s.of[b][g][r] = multiply_add(part[r], scale[n][b], s.of[b][g][r]);
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) mlaf_mla_q_b_mfma_fp8_f0df10ae(const mlaf_projection_scaled_args a) {
  __shared__ __attribute__((aligned(16))) float sums[WAYS * TOKENS * PITCH];
  __shared__ float squares[WAYS * TOKENS];
  const int thread = (int)my_thread(), lane = thread % 64, wave = uniform(thread / 64), row = lane % 16, group = lane / 16;
  fetch_arguments(a);
  const share mine = my_share();
  const place p = place_of(a, mine.tile);
  const int begin = STEPS * wave / WAYS, end = STEPS * (wave + 1) / WAYS;
  operands o;
#pragma unroll
  for (int b = 0; b < BLOCKS; b++) {
    const int output = p.first + 16 * b + row;
    o.w[b] = p.w + (output < OUTER ? output : OUTER - 1) * a.w_row + 16 * group;
    o.scales[b] = scales_of(a, p.head, p.first + 16 * b < OUTER ? p.first + 16 * b : OUTER - 1);
  }
  o.gain = a.gain + 32 * group;
  const i64 first = mine.part * (16 * GROUPS);
  for (i64 t0 = first; t0 < a.tokens; t0 += TILE_BLOCKS * 16 * GROUPS) {
#pragma unroll
    for (int g = 0; g < GROUPS; g++) o.x[g] = row_of_x(a, p, t0 + 16 * g + row) + 32 * group;
    sums_of_wave s = {};
    int step = wave < WAYS ? begin : end;
#pragma unroll 1
    for (; step + DEPTH <= end; step += DEPTH) add_steps<DEPTH>(a, o, step, s);
#pragma unroll 1
    for (; step < end; step++) add_steps<1>(a, o, step, s);
#pragma unroll
    for (int from = 0; from < GROUPS; from += TOGETHER) {
      if (t0 + 16 * from >= a.tokens) break; // the same for all
      if (t0 != first || from) __syncthreads(); // those before were written from the sums
#pragma unroll
      for (int g = from; g < from + TOGETHER; g++) {
        if (THREADS > 64 * WAYS && wave == WAYS) break;
        const int token = wave * TOKENS + 16 * (g - from) + row;
        float* const to = sums + token * PITCH;
#pragma unroll
        for (int b = 0; b < BLOCKS; b++)
#pragma unroll
          for (int r = 0; r < 4; r++) to[16 * b + 4 * group + r] = s.of[b][g][r];
        const float square = sum_over_groups(s.squares[g], lane);
        if (group == 0) squares[token] = square;
      }
      __syncthreads();
      finish(a, p, t0 + 16 * from, sums, squares);
    }
  }
}
