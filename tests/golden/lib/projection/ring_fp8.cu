// Generated from gen/projection/kernels.lua by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_q_b_ring_fp8_append_86520baa
// parameters:
//   append = 1
//   append_norm = 1
//   append_style = 0
//   dtype = bf16
//   heads = 16
//   nope = 128
//   norm = 1
//   pass = 64
//   per_sm = 1
//   q_rank = 1536
//   rank = 512
//   rope = 64
//   rows = 192
//   split = 1
//   ways = 1
//   weights = 1
// regenerate: lua5.4 gen/cli.lua render mla_q_b/ring_fp8_append target=sm_90a append=1 append_norm=1 append_style=0 dtype=bf16 heads=16 nope=128 norm=1 pass=64 per_sm=1 q_rank=1536 rank=512 rope=64 rows=192 split=1 ways=1 weights=1

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
// [templates/lib/projection/args.h]
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
  return load<float>(scales + 4 * (a.scale_first_column + column >> 7));
}
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_b_ring_fp8_append_86520baa_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 209152, {1, 1, 1},
    145, 0, 0, {0, 0}, 2, {{1, 64, 192, 128}, {2, 64, 64, 128}}};
struct __align__(64) mlaf_tensor_map {
  u64 opaque[16];
};
struct mlaf_projection_params {
  mlaf_projection_scaled_args a;
  mlaf_tensor_map w, x;
};
// [templates/lib/hopper.h]

constexpr u32 SWIZZLE_128 = 64 | 1u << 30, SWIZZLE_64 = 32 | 2u << 30;
MLAF_DEV u32 k_major(u32 at) { return (at & 0x3ffff) >> 4 | 1u << 16; }
MLAF_DEV u32 n_major(u32 at, u32 bytes_per_64_columns) { return (at & 0x3ffff) >> 4 | bytes_per_64_columns >> 4 << 16; }

template <u32 B_HI = SWIZZLE_128>
MLAF_DEV void wgmma_rs(float (&d)[32], const u32 (&a)[4], u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %37, 0;\nmov.b64 b, {%36, %38};\n"
    "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
    "{%32, %33, %34, %35}, b, p, 1, 1, 0;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
      "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
      "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"((int)accumulate), "n"(B_HI));
}
template <u32 B_HI = SWIZZLE_128>
MLAF_DEV void wgmma_ss(float (&d)[32], u32 a, u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %34, 0;\nmov.b64 b, {%33, %35};\n"
    "mov.b64 a, {%32, %36};\n"
    "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
    "a, b, p, 1, 1, 0, 0;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
      "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
      "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
    : "r"(a), "r"(b), "r"((int)accumulate), "n"(B_HI), "n"(SWIZZLE_128));
}

MLAF_DEV void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
MLAF_DEV void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N>
MLAF_DEV void wgmma_wait() { // until at most N groups are in flight
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
template <int N>
MLAF_DEV void settle(float (&x)[N]) {
#pragma unroll
  for (int i = 0; i < N; i++) asm volatile("" : "+f"(x[i])::"memory");
}

constexpr int INNER = 1536, OUTER = 3072, TOKENS = 64, TILE = 192, WAYS = 1, SPLIT = 1;
constexpr int GROUPS = 3, WAY = 128 * GROUPS; // warpgroups of a way, 64 outputs each; its threads
constexpr int THREADS = 512, STAGES = 5, STEPS = INNER / 128, SCALES = (TILE + 15) / 16;
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

MLAF_DEV word2 words(u32 a, u32 b) { return make_uint2(a, b); }
MLAF_DEV i64 load_past_l1(const i64* at) {
  i64 x;
#if __CUDA_ARCH__ >= 700
  asm volatile("ld.relaxed.gpu.global.s64 %0, [%1];" : "=l"(x) : "l"(at) : "memory");
#else
  x = *(const volatile i64*)at;
#endif
  return x;
}
MLAF_DEV void load_if(bool there, word4& w, const char* at) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %5, 0;\n@p ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\n}"
               : "+r"(w.x), "+r"(w.y), "+r"(w.z), "+r"(w.w)
               : "l"(at), "r"((u32)there));
}
MLAF_DEV void load_half_if(bool there, word4& w, const char* at) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %3, 0;\n@p ld.global.v2.u32 {%0, %1}, [%2];\n}"
               : "+r"(w.x), "+r"(w.y)
               : "l"(at), "r"((u32)there));
}
MLAF_DEV void ready(const void* p, u32 never) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %1, 0;\n@p prefetch.global.L2 [%0];\n}" ::"l"(p), "r"(never) : "memory");
}
MLAF_DEV float inverse(float x) { return __frcp_rn(x); }
MLAF_DEV float magnitude(float x) { return fabsf(x); }
MLAF_DEV float larger(float a, float b) { return fmaxf(a, b); }
MLAF_DEV float apart(float x) { return x; }

namespace append {
// [templates/mla_append/lib/args.h]
constexpr int R = 512, ROPE = 64;
constexpr int CHUNKS = R / 8, ROUNDS = (CHUNKS + LANES - 1) / LANES;
constexpr int ITEM_CHUNKS = 1; // of 16 bytes
constexpr int ITEMS = ROPE / (8 * ITEM_CHUNKS);              // of a row
constexpr u32 NOT_NUMBERS = 0x7fc07fc0u;                     // NaN as fp32, two of bf16 and two of f16
constexpr int ANGLES = 4;      // of an item

MLAF_DEV int column_byte(int item, int k) { return 16 * item + k * ROPE; }

struct rope_item {
  word4 x[ITEM_CHUNKS];
};
MLAF_DEV rope_item load_item(const char* row, int item) {
  rope_item r;
#pragma unroll
  for (int k = 0; k < ITEM_CHUNKS; k++) r.x[k] = load<word4>(row + column_byte(item, k));
  return r;
}

struct turn {
  word4 cos[ANGLES / 4], sin[ANGLES / 4];
};

MLAF_DEV word4 load_angles(const char* at, bool there, bool narrow) {
  word4 w = words(NOT_NUMBERS, NOT_NUMBERS, NOT_NUMBERS, NOT_NUMBERS);
  load_if(there && !narrow, w, at);
  load_half_if(there && narrow, w, at);
  return w;
}

MLAF_DEV turn load_turn(const mlaf_append_kernel_args& a, i64 position, int item, bool wanted) {
  const bool there = wanted && (u64)position < (u64)a.table_rows, narrow = a.flags & APPEND_TABLE_16;
  const int step = narrow ? 8 : 16;
  const i64 at = position * a.table_stride + item * (ANGLES / 4) * step;
  turn t;
#pragma unroll
  for (int i = 0; i < ANGLES / 4; i++) {
    t.cos[i] = load_angles(a.cos + at + i * step, there, narrow);
    t.sin[i] = load_angles(a.sin + at + i * step, there, narrow);
  }
  return t;
}

MLAF_DEV float angle_of(const word4& w, int i, bool narrow) {
  const u32 wide = i == 0 ? w.x : i == 1 ? w.y : i == 2 ? w.z : w.w, pair = i < 2 ? w.x : w.y;
  return narrow ? i % 2 ? unpack_hi(pair) : unpack_lo(pair) : float_of(wide);
}

MLAF_DEV void rotate(float (&v)[ITEM_CHUNKS][8], const turn& t, bool narrow) {
#pragma unroll
  for (int i = 0; i < ANGLES; i++) {
    const float c = angle_of(t.cos[i / 4], i % 4, narrow), s = angle_of(t.sin[i / 4], i % 4, narrow);
    float &x = v[0][2 * i], &y = v[0][2 * i + 1];
    const float across = apart(y * s), back = apart(x * s);
    x = multiply_add(x, c, -across);
    y = multiply_add(y, c, back);
  }
}


MLAF_DEV u32 quotient(u32 n, u64 inverse) { return (u32)(n * (inverse >> 32) + (n * (inverse & 0xffffffffu) >> 32) >> 32); }

struct place {
  char* latent;
  bool inside;
};
MLAF_DEV place place_of(const mlaf_append_kernel_args& a, i64 slot) {
  const u32 page = quotient((u32)slot, a.page_inverse), row = (u32)slot - page * a.page_tokens;
  place p;
  p.inside = (u64)slot < (u64)a.num_slots;
  p.latent = a.latent + page * a.latent_page + row * a.latent_row;
  return p;
}

MLAF_DEV void append_token(const mlaf_append_kernel_args& a, u32 t, int lane) {
  const i64 *const slot_at = a.slots + t, *const position_at = a.positions + t;
  i64 slot = load_past_l1(slot_at);
  i64 position = load_past_l1(position_at);
  word4 w[ROUNDS];
#pragma unroll
  for (int k = 0; k < ROUNDS; k++)
    w[k] = k * LANES + lane < CHUNKS ? load<word4>(a.weight + 16 * (k * LANES + lane)) : words(0, 0, 0, 0);
  const char* const from = a.ckv + t * a.ckv_stride + 16 * lane;
  ready(from, a.flags & APPEND_NEVER);
  const bool mine = lane < ITEMS;
  const char* const rope_from = a.kpe + t * a.kpe_stride + column_byte(lane, 0);
  ready(rope_from, a.flags & APPEND_NEVER);
  turn angle = load_turn(a, position, lane, mine);
  place to = place_of(a, slot);
  wait_for_previous_launch();
  const i64 slot_now = load<i64>(slot_at);
  const i64 position_now = load<i64>(position_at);
  word4 x[ROUNDS];
#pragma unroll
  for (int k = 0; k < ROUNDS; k++) {
    const int chunk = k * LANES + lane;
    x[k] = words(0, 0, 0, 0);
    if (CHUNKS % LANES == 0 || chunk < CHUNKS) x[k] = load<word4>(from + 16 * k * LANES);
  }
  rope_item item = {};
  if (mine) item = load_item(rope_from, 0);
  float part[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
  for (int k = 0; k < ROUNDS; k++) {
    float v[8];
    unpack(v, x[k]);
#pragma unroll
    for (int i = 0; i < 8; i++) part[i % 4] = multiply_add(v[i], v[i], part[i % 4]);
  }
  float sum = part[0] + part[1] + (part[2] + part[3]);
  sum += exchange(sum, lane, 1); // in flight while slots are looked at: the sum is what a launch of few tokens waits for
  if (__builtin_expect(slot_now != slot, 0)) to = place_of(a, slot_now);
  if (__builtin_expect(position_now != position, 0)) angle = load_turn(a, position_now, lane, mine);
  if (!to.inside) return;

#pragma unroll
  for (int d = 2; d < LANES; d *= 2) sum += exchange(sum, lane, d);
  const float factor = inverse_root(multiply_add(sum, 0.001953125f, a.eps));
  char* const rope = to.latent + 1024;
  const bool wanted = mine && a.kpe_out;
  float v[ITEM_CHUNKS][8]; // of all lanes, mine or not: without a branch this runs between the norm's exchanges
#pragma unroll
  for (int k = 0; k < ITEM_CHUNKS; k++) unpack(v[k], item.x[k]);
  rotate(v, angle, a.flags & APPEND_TABLE_16);
#pragma unroll
  for (int k = 0; k < ITEM_CHUNKS; k++) item.x[k] = pack(v[k]);
#pragma unroll
  for (int k = 0; k < ITEM_CHUNKS; k++) {
    if (wanted) store(a.kpe_out + t * a.kpe_out_stride + column_byte(lane, k), item.x[k]);
    if (mine) store(rope + column_byte(lane, k), item.x[k]);
  }
#pragma unroll
  for (int k = 0; k < ROUNDS; k++) {
    const int chunk = k * LANES + lane;
    const bool there = CHUNKS % LANES == 0 || chunk < CHUNKS;
    float v[8];
    unpack(v, x[k]);
    float g[8];
    unpack(g, w[k]);
#pragma unroll
    for (int i = 0; i < 8; i++) v[i] = there ? v[i] * g[i] * factor : 0.0f; // the factor comes last
    if (there) store(to.latent + 16 * chunk, pack(v));
  }
}
} // namespace append

template <class ARGS>
struct beside : ARGS {
  append::mlaf_append_kernel_args side;
  i64 side_blocks;
};

template <class ARGS>
MLAF_DEV bool appended(const beside<ARGS>& a, u32 blocks) {
  if (my_block() < blocks) return false;
  const u32 warps = THREADS / LANES, first = (my_block() - blocks) * warps + my_thread() / LANES;
#pragma unroll 1
  for (u32 t = first; t < a.side.tokens; t += (u32)a.side_blocks * warps)
    append::append_token(a.side, t, (int)(my_thread() % LANES));
  return true;
}
constexpr int SQUARES_AT = WAYS * TOKENS * PITCH;

MLAF_DEV void add4(float (&v)[4], const float4& x) { v[0] += x.x, v[1] += x.y, v[2] += x.z, v[3] += x.w; }

constexpr int OCTETS = TILE / 8, ITEMS_OF_PASS = TOKENS * OCTETS; // eight outputs of a token each

MLAF_DEV void write_pass(const mlaf_projection_kernel_args& a, const place& p, i64 t0, float* sums,
                         int rank, float up = 1.0f) {
#pragma unroll (WAYS == 1 ? 2 : 1)
  for (int i = (int)my_thread(); i < ITEMS_OF_PASS; i += WAY * WAYS) {
    const int token = i / OCTETS, column = i % OCTETS * 8;
    if (t0 + token >= a.tokens || (OUTER % TILE != 0 && p.first + column >= OUTER)) continue;
    float v[2][4] = {};
    float square = 0.0f;
#pragma unroll
    for (int way = 0; way < WAYS; way++) {
      const float4* const from = (const float4*)(sums + (way * TOKENS + token) * PITCH + column);
      add4(v[0], from[0]);
      add4(v[1], from[1]);
      square += sums[SQUARES_AT + way * TOKENS + token];
    }
    const float factor = inverse_root(multiply_add(square, 0.000651041667f, a.eps)) * up;
#pragma unroll
    for (int k = 0; k < 8; k++) v[k / 4][k % 4] *= factor;
    store(p.y + (t0 + token) * a.y_token + 2 * (p.first + column),
          words(pack2(v[0][0], v[0][1]), pack2(v[0][2], v[0][3]), pack2(v[1][0], v[1][1]), pack2(v[1][2], v[1][3])));
  }
}
constexpr int W_AT = TOKENS * 256, W_BYTES = TILE * 128, STAGE = W_AT + W_BYTES; // in a stage
constexpr int FULL_AT = 204800, X_AT = FULL_AT + 8 * STAGES, EMPTY_AT = X_AT + 8 * STAGES; // W is there; x; room
constexpr int SCALES_AT = 208000;
constexpr int GAIN_AT = 204928, PARTS_AT = SQUARES_AT + WAYS * TOKENS; // of squares: floats, behind their sums
constexpr int SQUARERS = GROUPS == 3 ? 256 : WAY; // threads of a way that square x: each as much of it
constexpr int W_WARP = 4 * GROUPS * WAYS, X_WARP = W_WARP + 1;

// [templates/lib/projection/places.h]

MLAF_DEV void load_w(const mlaf_projection_params& p, u32 shared, const place& at, int step, const ring& r) {
  const u32 full = shared + FULL_AT + 8 * r.stage;
  barrier_expect(full, W_BYTES);
  copy_box_once(shared + r.stage * STAGE + W_AT, &p.w, (int)(at.head * p.a.w_head / 2) + 64 * step, at.first, full);
}
MLAF_DEV void load_x(const mlaf_projection_params& p, u32 shared, const place& at, int step, i64 t0, const ring& r) {
  const u32 full = shared + X_AT + 8 * r.stage, to = shared + r.stage * STAGE;
  const int column = (int)(at.head * p.a.x_head / 2) + 128 * step;
  barrier_expect(full, W_AT);
  copy_box(to, &p.x, column, (int)t0, full);
  copy_box(to + TOKENS * 128, &p.x, column + 64, (int)t0, full);
}
MLAF_DEV void wait_empty(u32 shared, const ring& r) { barrier_wait(shared + EMPTY_AT + 8 * r.stage, r.lap ^ 1); }

MLAF_DEV void lay_scales(const mlaf_projection_scaled_args& a, const place& at, int begin, int end, char* memory, int thread) {
  float* const to = (float*)(memory + SCALES_AT);
#pragma unroll 1
  for (int i = thread; i < 2 * (end - begin) * SCALES; i += THREADS) {
    const int row = at.first + 16 * (i % SCALES);
    to[i] = scale_at(a, scales_of(a, at.head, row < OUTER ? row : OUTER - 1), 128 * begin + i / SCALES * 64);
  }
}

MLAF_DEV u32 times(u32 a, u32 b) {
  u32 x;
  asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(x) : "r"(a), "r"(b));
  return x;
}
MLAF_DEV void lay_gain(const mlaf_projection_kernel_args& a, char* memory, int thread) {
#pragma unroll 1
  for (int i = thread; i < INNER / 8; i += THREADS) *(word4*)(memory + GAIN_AT + 16 * i) = load<word4>(a.gain + 16 * i);
}
MLAF_DEV float add_squares(float sum, u32 x, int thread) {
  constexpr int CHUNKS = 16 * TOKENS / SQUARERS; // of 8 values, 8 of them a half step
  const int token = thread % TOKENS;
  if (SQUARERS < WAY && thread >= SQUARERS) return 0.0f;
  float part[4] = {};
#pragma unroll
  for (int i = 0; i < CHUNKS; i++) {
    const int chunk = thread / TOKENS * CHUNKS + i;
    u32 w[4];
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "r"(x + chunk / 8 * (TOKENS * 128) + token * 128 + (chunk % 8 ^ (token & 7)) * 16) : "memory");
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const float lo = unpack_lo(w[k]), hi = unpack_hi(w[k]);
      part[k] = fmaf(lo, lo, fmaf(hi, hi, part[k]));
    }
  }
  return sum + ((part[0] + part[1]) + (part[2] + part[3]));
}
MLAF_DEV u32 load_2(u32 at) {
  unsigned short x;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(x) : "r"(at) : "memory");
  return x;
}
MLAF_DEV u32 load_word(u32 at) {
  u32 x;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(at) : "memory");
  return x;
}
MLAF_DEV void take_w(u32 (&a)[4][4], u32 w, int half, int g, u32 gain) {
  u32 codes[4][4];
#pragma unroll
  for (int j = 0; j < 4; j++)
#pragma unroll
    for (int i = 0; i < 4; i++)
      codes[j][i] = load_2(w + (4 * half + j ^ g) * 16 + (i & 1) * (8 * 128) + (i >> 1) * 8); // 16 values, swizzled
  u32 gains[4][2];
#pragma unroll
  for (int j = 0; j < 4; j++)
#pragma unroll
    for (int i = 0; i < 2; i++) gains[j][i] = load_word(gain + 128 * half + 32 * j + 16 * i);
#pragma unroll
  for (int j = 0; j < 4; j++)
#pragma unroll
    for (int i = 0; i < 4; i++) a[j][i] = times(expand2<0>(codes[j][i]), gains[j][i >> 1]);
}

MLAF_DEV u32 of_warp(u32 x) {
  u32 y;
  asm("redux.sync.or.b32 %0, %1, 0xffffffff;" : "=r"(y) : "r"(x));
  return y;
}
MLAF_DEV void multiply_half(float (&part)[TOKENS / 2], const u32 (&a)[4][4], u32 x, bool beside) {
  if (!beside) settle(part);
  wgmma_fence();
#pragma unroll
  for (int j = 0; j < 4; j++) wgmma_rs(part, a[j], x + 2 * j, beside || j > 0);
  wgmma_commit();
}
MLAF_DEV void finish_part(float (&total)[TOKENS / 2], float (&part)[TOKENS / 2], float scale) {
  wgmma_wait<0>();
  settle(part);
#pragma unroll
  for (int i = 0; i < TOKENS / 2; i++) total[i] = fmaf(part[i], scale, total[i]);
}

template <bool WHOLE>
MLAF_DEV float multiply_steps(float (&total)[TOKENS / 2], char* memory, u32 shared, int begin, int step, int end, int thread,
                              ring r) {
  const int lane = thread & 31, warp = __shfl_sync(~0u, thread >> 5, 0) % (4 * GROUPS), g = lane >> 2, t = lane & 3;
  const float* const scales = (const float*)(memory + SCALES_AT) + (warp < SCALES ? warp : 0);
  const u32 row = W_AT + (16 * warp + g) * 128 + 2 * t, gain = shared + GAIN_AT + 4 * t;
  float part[TOKENS / 2], square = 0.0f;
#pragma unroll
  for (int i = 0; i < TOKENS / 2; i++) part[i] = 0.0f;
  u32 a[2][4][4]; // of half steps
  barrier_wait(shared + FULL_AT + 8 * r.stage, r.lap);
  take_w(a[0], shared + r.stage * STAGE + row, 0, g, gain + 256 * step);
  wait_for_previous_launch(); // weights come ahead of it, and so do their first numbers
  barrier_wait(shared + X_AT + 8 * r.stage, r.lap);
#pragma unroll 1
  for (; step < end; step += WAYS) {
    const u32 at = shared + r.stage * STAGE, x = of_warp(k_major(at));
    const bool last = step + WAYS >= end;
    ring next = r;
    next.advance<WAYS>();
    next.stage = last ? r.stage : next.stage;
    next.lap = last ? r.lap : next.lap;
    const u32 full = shared + FULL_AT + 8 * next.stage;
    multiply_half(part, a[0], x, false);
    take_w(a[1], at + row, 1, g, gain + 256 * step);
    if (!WHOLE) finish_part(total, part, scales[2 * (step - begin) * SCALES]);
    multiply_half(part, a[1], x + TOKENS * 8, WHOLE);
    square = add_squares(square, at, thread % WAY);
    barrier_wait(full, next.lap);
    if (WHOLE) wgmma_wait<1>(); // nobody reads a[0] any more
    take_w(a[0], shared + next.stage * STAGE + row, 0, g, gain + 256 * (last ? step : step + WAYS));
    barrier_wait(full + (X_AT - FULL_AT), next.lap); // without a branch here the compiler makes most numbers behind the products
    finish_part(total, part, scales[(2 * (step - begin) + 1) * SCALES]);
    give_back(shared + EMPTY_AT + 8 * r.stage, lane);
    r.advance<WAYS>();
  }
  return square;
}

MLAF_DEV void multiply_pass(const mlaf_projection_scaled_args& args, char* memory, u32 shared, int begin, int end, int thread,
                            ring& all) {
  const int lane = thread & 31, any = __shfl_sync(~0u, thread >> 5, 0), warp = any % (4 * GROUPS), way = any / (4 * GROUPS);
  const int g = lane >> 2, t = lane & 3;
  const int first = (way + STAGES - all.stage) % WAYS;
  ring r = all;
  r.advance(first);
  all.advance(end - begin);
  float total[TOKENS / 2];
#pragma unroll
  for (int i = 0; i < TOKENS / 2; i++) total[i] = 0.0f;
  const float square = args.scale_first_column % 128 == 0
    ? multiply_steps<true>(total, memory, shared, begin, begin + first, end, thread, r)
    : multiply_steps<false>(total, memory, shared, begin, begin + first, end, thread, r);
  __syncthreads(); // the ring is done with
  float* const sums = (float*)memory + way * TOKENS * PITCH;
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int output = 16 * warp + g + 8 * h;
    if (TILE % 64 != 0 && output >= TILE) continue;
#pragma unroll
    for (int j = 0; j < TOKENS / 8; j++)
#pragma unroll
      for (int e = 0; e < 2; e++) sums[(8 * j + 2 * t + e) * PITCH + output] = total[4 * j + 2 * h + e];
  }
  ((float*)memory)[PARTS_AT + thread] = square;
}
MLAF_DEV void add_parts(float* memory, int thread) {
  if (thread < WAYS * TOKENS) {
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < SQUARERS / TOKENS; i++) sum += memory[PARTS_AT + thread / TOKENS * WAY + i * TOKENS + thread % TOKENS];
    memory[SQUARES_AT + thread] = sum;
  }
}

MLAF_DEV void load_pass(const mlaf_projection_params& p, u32 shared, const place& at, int begin, int end, i64 t0, int warp,
                        int thread, ring& r) {
  if (thread == 32 * W_WARP)
    for (int step = t0 ? begin : begin + STAGES; step < end; step++, r.next()) {
      wait_empty(shared, r);
      load_w(p, shared, at, step, r);
    }
  if (thread == 32 * X_WARP)
    for (int step = begin; step < end; step++, r.next()) {
      wait_empty(shared, r);
      load_x(p, shared, at, step, t0, r);
    }
  __syncwarp();
  if (warp == W_WARP) wait_for_previous_launch();
}

extern "C" __global__ void __launch_bounds__(512, 1) mlaf_mla_q_b_ring_fp8_append_86520baa(
    const __grid_constant__ beside<mlaf_projection_params> p) {
  extern __shared__ __align__(1024) char memory[];
  if (!FIRST_OF_LAYER) let_next_launch_start();
  if (appended(p, TILES * SPLIT)) return;
  const u32 shared = shared_address(memory);
  const int thread = (int)my_thread(), warp = __shfl_sync(~0u, thread >> 5, 0), rank = (int)(my_block() % SPLIT);
  const place at = place_of(p.a, my_block() / SPLIT);
  const int begin = STEPS * rank / SPLIT, end = STEPS * (rank + 1) / SPLIT;
  ring r = {0, 0};
  if (thread == 32 * W_WARP) {
    for (int i = 0; i < STAGES; i++) {
      barrier_init(shared + FULL_AT + 8 * i, 1);
      barrier_init(shared + X_AT + 8 * i, 1);
      barrier_init(shared + EMPTY_AT + 8 * i, 4 * GROUPS);
    }
    barriers_ready();
    for (int i = 0; i < STAGES && begin + i < end; i++, r.next()) load_w(p, shared, at, begin + i, r);
  }
  lay_scales(p.a, at, begin, end, memory, thread);
  lay_gain(p.a, memory, thread);
  __syncthreads();
  if (warp > W_WARP) wait_for_previous_launch();
  if (FIRST_OF_LAYER && warp > W_WARP) let_next_launch_start();
  if (warp >= W_WARP) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 32;");
#pragma unroll 1
    for (i64 t0 = 0; t0 < p.a.tokens; t0 += TOKENS) {
      load_pass(p, shared, at, begin, end, t0, warp, thread, r);
      for (int i = 0; i < 3; i++) __syncthreads(); // the ring is done with; sums are there
      __syncthreads(); // sums are written
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
#pragma unroll 1
  for (i64 t0 = 0; t0 < p.a.tokens; t0 += TOKENS) {
    multiply_pass(p.a, memory, shared, begin, end, thread, r);
    __syncthreads();
    add_parts((float*)memory, thread);
    __syncthreads();
    write_pass(p.a, at, t0, (float*)memory, rank);
    fence_async(); // copies of the next pass come to where the sums are
    __syncthreads();
  }
}
