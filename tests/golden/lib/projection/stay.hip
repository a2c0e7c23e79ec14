// Generated from gen/projection/kernels.lua by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_mla_q_absorb_stay_133727e9
// parameters:
//   dtype = f16
//   nope = 64
//   parts = 4
//   rank = 512
//   rope = 32
//   style = halves
//   waves = 2
// regenerate: lua5.4 gen/cli.lua render mla_q_absorb/stay target=gfx942 dtype=f16 nope=64 parts=4 rank=512 rope=32 style=halves waves=2

#define MLAF_BF16 0
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

constexpr int INNER = 64, OUTER = 512, TOKENS = 16, WAYS = 1, THREADS = 128;
constexpr int TILE = 128;
constexpr int TILES = (OUTER + TILE - 1) / TILE;
constexpr int PITCH = TILE + 4; // floats of a token's partial sums: neighbours lie in different banks
constexpr int ROPE = 32;
constexpr int ITEM_CHUNKS = 2; // of 16 bytes
constexpr int ITEMS = ROPE / (8 * ITEM_CHUNKS);              // of a row
constexpr int ANGLES = 8;      // of an item

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
      float &p = v[0][k], &q = v[ITEM_CHUNKS - 1][k];
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
// [templates/lib/projection/one_trip.h]
constexpr int TILE_BLOCKS = 4;

struct share {
  u32 tile;
  int part;
};
MLAF_DEV share my_share() {
  const u32 head = my_block() / (TILES * TILE_BLOCKS) * TILES, at = my_block() % (TILES * TILE_BLOCKS);
  return {head + at / TILE_BLOCKS, int(at % TILE_BLOCKS)}; // a die has two tiles at most: the same tokens count for more
}
constexpr int STEPS = INNER / 16, BLOCKS = 8;
constexpr int PATCH_ROW = 272; // bytes: neighbours begin in other banks

struct weights {
  u32x2 of[STEPS][BLOCKS];
};
struct tokens16 {
  word4 of[STEPS / 2];
};

MLAF_DEV void load_tokens(const char* x, tokens16& to) {
#pragma unroll
  for (int i = 0; i < STEPS / 2; i++) to.of[i] = load<word4>(x + 64 * i);
}

MLAF_DEV void load_tile(const char* w, i64 row, weights& to) {
  word4 raw[STEPS][4];
#pragma unroll
  for (int s = 0; s < STEPS; s++)
#pragma unroll
    for (int r = 0; r < 4; r++) raw[s][r] = load<word4>(w + (32 * (s / 2) + 4 * (s % 2) + r) * row);
  __builtin_amdgcn_sched_barrier(0); // all are asked for before any is waited for
#pragma unroll
  for (int s = 0; s < STEPS; s++)
#pragma unroll
    for (int i = 0; i < BLOCKS / 2; i++) {
      to.of[s][2 * i] = u32x2{join_lo(raw[s][0][i], raw[s][1][i]), join_lo(raw[s][2][i], raw[s][3][i])};
      to.of[s][2 * i + 1] = u32x2{join_hi(raw[s][0][i], raw[s][1][i]), join_hi(raw[s][2][i], raw[s][3][i])};
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) mlaf_mla_q_absorb_stay_133727e9(const mlaf_projection_kernel_args a) {
  __shared__ __attribute__((aligned(16))) char lds[8704];
  const int thread = (int)my_thread(), lane = thread % 64, wave = uniform(thread / 64), row = lane % 16, group = lane / 16;
  fetch_arguments(a);
  const share mine = my_share();
  const place p = place_of(a, mine.tile);
  const i64 first = 16 * (mine.part * 2 + wave), step = 16 * TILE_BLOCKS * 2;
  const int output = p.first + BLOCKS * row;
  tokens16 next;
  weights w;
  if (first < a.tokens) load_tokens(row_of_x(a, p, first + row) + 16 * group, next);
  load_tile(p.w + 8 * group * a.w_row + 2 * (output < OUTER ? output : OUTER - BLOCKS), a.w_row, w);
  char* const patch = lds + wave * 4352;
#pragma unroll 1
  for (i64 t0 = first; t0 < a.tokens; t0 += step) {
    const tokens16 x = next;
    load_tokens(row_of_x(a, p, t0 + step + row) + 16 * group, next); // behind the last ones: the last one's
    f32x4 s[BLOCKS] = {};
#pragma unroll
    for (int i = 0; i < STEPS; i++)
#pragma unroll
      for (int b = 0; b < BLOCKS; b++) s[b] = mfma16(w.of[i][b], i % 2 ? x.of[i / 2].zw : x.of[i / 2].xy, s[b]);
#pragma unroll
    for (int r = 0; r < 4; r++) {
      float v[BLOCKS];
#pragma unroll
      for (int b = 0; b < BLOCKS; b++) v[b] = s[b][r];
      *(word4*)(patch + row * PATCH_ROW + 16 * (4 * group + r)) = pack(v);
    }
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const int token = 4 * i + group;
      const word4 y = *(const word4*)(patch + token * PATCH_ROW + 16 * row);
      if (t0 + token < a.tokens && output < OUTER) store(p.y + (t0 + token) * a.y_token + 2 * output, y);
    }
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
  }
  const int blocks = TILES * TILE_BLOCKS, block = p.first / TILE * TILE_BLOCKS + mine.part;
  turn_rows(a, p.x, p.y, block * THREADS + thread, blocks * THREADS);
}
