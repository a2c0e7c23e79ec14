// Generated from templates/mla_q_b/ring_append.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_q_b_ring_append_883d41b1
// parameters:
//   append = 3
//   append_norm = 1
//   append_style = 1
//   dtype = bf16
//   heads = 16
//   nope = 128
//   norm = 1
//   pass = 64
//   per_sm = 1
//   q_rank = 1536
//   rank = 512
//   rope = 64
//   rows = 48
//   split = 2
//   ways = 2
// regenerate: lua5.4 gen/cli.lua render mla_q_b/ring_append target=sm_90a append=3 append_norm=1 append_style=1 dtype=bf16 heads=16 nope=128 norm=1 pass=64 per_sm=1 q_rank=1536 rank=512 rope=64 rows=48 split=2 ways=2
// As mla_q_b/ring, and blocks behind the product's append latent rows to the cache.
// A projection by wgmma, for more tokens than registers can feed: weights and x come through a ring in shared memory by tensor
// copies, 64 values of a sum at a time. Tokens are the rows of the product, 64 a warpgroup; a tile's outputs its columns.
//
//   block     a tile of TILE outputs of one head, or a share of its sum (SPLIT blocks, a cluster): warpgroups that multiply, a
//             warp that loads weights, a warp that loads x; where columns turn, two warps that turn the tile's share of them
//   loaders   with a norm, or of short sums, and in tiles that are not wide, a block waits for x: there both warps load W and x,
//             every second step each, and a place of the ring is always the same one's
//   ways      warpgroups with the same tokens take the steps of the sum in turns (WAYS of them): with a norm a step is a chain of
//             x through registers, and one warpgroup alone waits for it at each
//   ring      STAGES of x [TOKENS][64] | W, rows of 128 bytes, swizzled. layout=outputs: W [TILE][64]; inputs: 64 outputs of 64
//             values side by side, [TILE/64][64][64]. Rows of x behind the last token are zeros; rows behind TOKENS are whatever
//             lies there, and so are the results that nobody writes
//   norm      a warp takes its 16 rows of x into registers, squares them for the sum, multiplies by the norm's weights, rounded
//             to 16 bits, and multiplies from there; the factor of a token comes in at the end
//   sums      a token's lie side by side where the ring was; sums.h finishes them
//   tiles     with more than one a block takes tiles of a head one after the other: sums lie behind the ring, so that the next
//             tile's W and x come while they are written
//
// Weights are constants of a layer: the first STAGES of them are asked for before the launch waits for the one before.

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
// [templates/lib/mma.h]
// [templates/lib/projection/args.h]
// What this kernel wants of its launch, for the runtime to read from the code object: runtime/device/kernel_launch.h says what
// each field means. The includer hands over `shared`, bytes of dynamic shared memory, `cluster`, blocks that work on a tile
// together, `maps`, tensor maps { which of 1 W, 2 x; columns and rows of a box }, and `flags` beside PDL's: 16, it takes scales;
// 64, what it loads ahead wants room in L1.
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_b_ring_append_883d41b1_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 175360, {2, 1, 1},
    129, 0, 0, {0, 0}, 2, {{1, 64, 48, 128}, {2, 64, 64, 128}}};
struct __align__(64) mlaf_tensor_map {
  u64 opaque[16];
};
struct mlaf_projection_params {
  mlaf_projection_kernel_args a;
  mlaf_tensor_map w, x;
};
// [templates/lib/hopper.h]
// wgmma for 64 rows and N columns, fp32 accumulators; A from registers (_rs) or shared memory (_ss), B from shared memory,
// K-major or, with _t, columns contiguous. The upper words of matrix descriptors are constants here, so that the lower words
// stay in uniform registers. `kinds`: list of { n, trans }; `type`: bf16 or f16.

// Upper words: bytes between groups of 8 rows (16-byte units), swizzle. Rows of 128 bytes (64 columns) or of 64 bytes.
constexpr u32 SWIZZLE_128 = 64 | 1u << 30, SWIZZLE_64 = 32 | 2u << 30;
// Lower words. An address inside a cluster carries the block's number there above these bits.
MLAF_DEV u32 k_major(u32 at) { return (at & 0x3ffff) >> 4 | 1u << 16; }
MLAF_DEV u32 n_major(u32 at, u32 bytes_per_64_columns) { return (at & 0x3ffff) >> 4 | bytes_per_64_columns >> 4 << 16; }

template <u32 B_HI = SWIZZLE_128>
MLAF_DEV void wgmma_rs(float (&d)[24], const u32 (&a)[4], u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %29, 0;\nmov.b64 b, {%28, %30};\n"
    "wgmma.mma_async.sync.aligned.m64n48k16.f32.bf16.bf16\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
    "%16, %17, %18, %19, %20, %21, %22, %23}, "
    "{%24, %25, %26, %27}, b, p, 1, 1, 0;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
      "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23])
    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"((int)accumulate), "n"(B_HI));
}
template <u32 B_HI = SWIZZLE_128>
MLAF_DEV void wgmma_ss(float (&d)[24], u32 a, u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %26, 0;\nmov.b64 b, {%25, %27};\n"
    "mov.b64 a, {%24, %28};\n"
    "wgmma.mma_async.sync.aligned.m64n48k16.f32.bf16.bf16\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
    "%16, %17, %18, %19, %20, %21, %22, %23}, "
    "a, b, p, 1, 1, 0, 0;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
      "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23])
    : "r"(a), "r"(b), "r"((int)accumulate), "n"(B_HI), "n"(SWIZZLE_128));
}

MLAF_DEV void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
MLAF_DEV void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N>
MLAF_DEV void wgmma_wait() { // until at most N groups are in flight
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
// The compiler must not move uses of accumulators across this point.
template <int N>
MLAF_DEV void settle(float (&x)[N]) {
#pragma unroll
  for (int i = 0; i < N; i++) asm volatile("" : "+f"(x[i])::"memory");
}

constexpr int INNER = 1536, OUTER = 3072, TOKENS = 64, TILE = 48, WAYS = 2, SPLIT = 2;
constexpr int THREADS = 320, STAGES = 12, STEPS = INNER / 64;
constexpr int WAY_WARPS = 4, MATH_WARPS = WAYS * WAY_WARPS; // that multiply a step, and all
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

// Beside the product: blocks behind its own append the latent rows of tokens, a warp (wave) a token, by mla_append's own text.
// There are as many as find room beside the product's, so that a warp may take several tokens, one after the other.
// They wait for the launch before as the product's blocks do, and who comes next waits for them as for those. They have their own
// arguments behind the others.
MLAF_DEV word2 words(u32 a, u32 b) { return make_uint2(a, b); }
// What another launch may be writing: leaves nothing in L1.
MLAF_DEV i64 load_past_l1(const i64* at) {
  i64 x;
#if __CUDA_ARCH__ >= 700
  asm volatile("ld.relaxed.gpu.global.s64 %0, [%1];" : "=l"(x) : "l"(at) : "memory");
#else
  x = *(const volatile i64*)at;
#endif
  return x;
}
// Loads where `there`, with no branch: what was in w stays there else.
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
// Has an address computed before what follows, however late it is used: an instruction that is never executed takes it.
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
// Rotation of the rope columns by cosines and sines from a table, in work items of one lane each:
//
//   pairs      item c: columns 8c .. 8c+7, pairs (x_2i, x_2i+1), angles 4c .. 4c+3
//   halves     item c: columns 8c .. 8c+7 and P/2 + 8c .. P/2 + 8c+7, pairs (x_i, x_i+P/2), angles 8c .. 8c+7
//   unrotated  item c: columns 8c .. 8c+7 as they are
//
// A position outside the table makes the columns NaN: nothing faults, and nobody takes them for an answer.
constexpr int ITEM_CHUNKS = 2; // of 16 bytes
constexpr int ITEMS = ROPE / (8 * ITEM_CHUNKS);              // of a row
constexpr u32 NOT_NUMBERS = 0x7fc07fc0u;                     // NaN as fp32, two of bf16 and two of f16
constexpr int ANGLES = 8;      // of an item

// Byte where chunk k of an item begins in its row.
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

// Cosines and sines of an item as they stand in the table: four in the 16 bytes of a word, or in its first eight.
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
    float &x = v[0][i], &y = v[1][i];
    const float across = apart(y * s), back = apart(x * s);
    x = multiply_add(x, c, -across);
    y = multiply_add(y, c, back);
  }
}
// Eight floats to eight bytes of e4m3, rounded to nearest even. What is too large becomes the largest number, as all writers of
// such caches do; NaN stays NaN.
//
//   e4m3fn    bias 7, up to 448, NaN is 0x7f and 0xff        e4m3fnuz  bias 8, up to 240, NaN is 0x80, no -0
//
// In integers but where the target has an instruction for it: from 2^(1-bias) on the code is the float's upper bits, rounded,
// less the difference of the biases; below, adding a number whose last bit is worth a code's step rounds to it.
MLAF_DEV u32 encode2(float lo, float hi) {
  unsigned short y;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(y) : "f"(hi), "f"(lo));
  return y;
}
MLAF_DEV word2 encode(const float (&v)[8]) {
  return words(encode2(v[0], v[1]) | encode2(v[2], v[3]) << 16, encode2(v[4], v[5]) | encode2(v[6], v[7]) << 16);
}

MLAF_DEV float infinity() { return float_of(0x7f800000u); }
// A scale from device memory: NaN unless it is a positive normal number, so that the row reads as NaN.
MLAF_DEV float usable(float scale) { return scale >= float_of(0x00800000u) && scale < infinity() ? scale : not_a_number(); }

// v / scale, correctly rounded, by the rounded inverse of scale: the product's error is what a second step takes away. A finite v
// beyond all codes stays beyond them. An infinite one becomes NaN, by the term v * 0.
MLAF_DEV void divide(float (&v)[8], float scale, float inverse_scale) {
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const float q = multiply_add(v[i], 0.0f, v[i] * inverse_scale);
    v[i] = magnitude(q) < 1024.0f ? multiply_add(multiply_add(-q, scale, v[i]), inverse_scale, q) : q;
  }
}

// Over the 16 lanes that hold a tile of 128 columns.
MLAF_DEV float max_of_tile(float x, int lane) {
#pragma unroll
  for (int d = 1; d < 16; d *= 2) x = larger(x, exchange(x, lane, d));
  return x;
}

// The scale of a tile: its largest value over the type's largest, or the power of two from there on. Of a tile with an infinity
// it is infinite: all of it reads as NaN.
MLAF_DEV float scale_of(float most, bool power_of_two) {
  if (most == infinity()) return most;
  const float x = most * inverse(448.0f);
  // most / 448, correctly rounded; 1e-4 and the least normal number are what writers of such caches take for a tile of zeros.
  const float exact = multiply_add(multiply_add(-x, 448.0f, most), inverse(448.0f), x);
  if (!power_of_two) return larger(exact, float_of(0x00800000u));
  const u32 u = bits_of(larger(exact, 1e-4f));
  return float_of(u + 0x7fffffu & 0xff800000u);
}

// n / d for the inverse 2^64 / d, rounded up; 0 for the inverse 0. Exact.
MLAF_DEV u32 quotient(u32 n, u64 inverse) { return (u32)(n * (inverse >> 32) + (n * (inverse & 0xffffffffu) >> 32) >> 32); }

// Where a slot's row goes; inside: there is such a row.
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
  sum += exchange(sum, lane, 1); // on its way while slots are looked at: the sum is what a launch of few tokens waits for
  if (__builtin_expect(slot_now != slot, 0)) to = place_of(a, slot_now);
  if (__builtin_expect(position_now != position, 0)) angle = load_turn(a, position_now, lane, mine);
  if (!to.inside) return;

#pragma unroll
  for (int d = 2; d < LANES; d *= 2) sum += exchange(sum, lane, d);
  const float factor = inverse_root(multiply_add(sum, 0.001953125f, a.eps));
  char* const rope = to.latent + 528;
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
    float most = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; i++) most = larger(most, magnitude(v[i]));
    const float scale = scale_of(max_of_tile(most, lane), a.flags & APPEND_POWER_OF_TWO);
    divide(v, scale, inverse(scale));
    if (there) store(to.latent + 8 * chunk, encode(v));
    if (chunk % 16 == 0 && chunk < 64) store(to.latent + R + chunk / 4, there ? scale : 0.0f); // fewer tiles than four: 0
  }
}
} // namespace append

template <class ARGS>
struct beside : ARGS {
  append::mlaf_append_kernel_args side;
  i64 side_blocks;
};

// Whether this block is one of those, behind `blocks` of the product; it is done then.
template <class ARGS>
MLAF_DEV bool appended(const beside<ARGS>& a, u32 blocks) {
  if (my_block() < blocks) return false;
  const u32 warps = THREADS / LANES, first = (my_block() - blocks) * warps + my_thread() / LANES;
#pragma unroll 1
  for (u32 t = first; t < a.side.tokens; t += (u32)a.side_blocks * warps)
    append::append_token(a.side, t, (int)(my_thread() % LANES));
  return true;
}
// A norm's weights in kernels that round x times a weight to 16 bits before they divide by the root mean square. In f16 the
// product may overflow (20000 times 4 does). So all weights are multiplied by one power of two, `down`, that leaves the largest
// of them below 1, and a token's factor by its inverse, `up`. Both are exact, but for weights that become smaller than 2^-14,
// where f16 has fewer bits. In bf16 nothing is done.
struct gain_scale {
  __device__ __forceinline__ float up() const { return 1.0f; }
};
MLAF_DEV gain_scale scale_of_gain(const mlaf_projection_kernel_args&, int) { return {}; }
MLAF_DEV u32 shrunk(u32 gain, const gain_scale&) { return gain; }
MLAF_DEV void keep_scale_of_gain(const mlaf_projection_kernel_args&, u32, int) {}
MLAF_DEV gain_scale kept_scale(u32) { return {}; }
MLAF_DEV word4 shrunk(const word4& gain, const gain_scale& s) {
  return words(shrunk(gain.x, s), shrunk(gain.y, s), shrunk(gain.z, s), shrunk(gain.w, s));
}
// The end of a pass for kernels of NVIDIA: partial sums of WAYS warps, and of SPLIT blocks of a cluster, are added up in a fixed
// order, finished and written. Sums [WAYS][TOKENS][PITCH] and, with a norm, sums of squares [WAYS][TOKENS] lie in shared memory
// one behind the other.
constexpr int SQUARES_AT = WAYS * TOKENS * PITCH;

// Four sums of a warp's or block's share, added up.
MLAF_DEV void add4(float (&v)[4], const float4& x) { v[0] += x.x, v[1] += x.y, v[2] += x.z, v[3] += x.w; }
MLAF_DEV u32 at_block(u32 at, u32 block) {
  u32 x;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(x) : "r"(at), "r"(block));
  return x;
}
MLAF_DEV float4 load_from(u32 at, int block) {
  float4 x;
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w) : "r"(at_block(at, (u32)block)) : "memory");
  return x;
}
MLAF_DEV float load_number_from(u32 at, int block) {
  float x;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(x) : "r"(at_block(at, (u32)block)) : "memory");
  return x;
}
MLAF_DEV void sync_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

constexpr int QUADS = TILE / 4, QUADS_OF_PASS = TOKENS * QUADS, SHARE = (QUADS_OF_PASS + SPLIT - 1) / SPLIT; // of a block

// The sums of a pass: added up, finished, rounded once, written. rank: of this block in its cluster.
// up: what the norm's weights were divided by (gain.h).
MLAF_DEV void write_pass(const mlaf_projection_kernel_args& a, const place& p, i64 t0, float* sums,
                         int rank, float up = 1.0f) {
  if (WAYS > 1) // this block's share first, into where its first warp's was
#pragma unroll 1
    for (int i = (int)my_thread(); i < QUADS_OF_PASS; i += THREADS) {
      float* const at = sums + i / QUADS * PITCH + i % QUADS * 4;
      float v[4] = {};
#pragma unroll
      for (int way = 0; way < WAYS; way++) add4(v, *(const float4*)(at + way * TOKENS * PITCH));
      *(float4*)at = make_float4(v[0], v[1], v[2], v[3]);
    }
  if (WAYS > 1 && (int)my_thread() < TOKENS) {
    float* const at = sums + SQUARES_AT + my_thread();
    float square = 0.0f;
#pragma unroll
    for (int way = 0; way < WAYS; way++) square += at[way * TOKENS];
    *at = square;
  }
  sync_cluster();
  const u32 shared = shared_address(sums);
  // A block finishes a share of the pass' tokens, so that lanes side by side read side by side from the others.
#pragma unroll 2
  for (int i = rank * SHARE + (int)my_thread(); i < smaller(QUADS_OF_PASS, rank * SHARE + SHARE); i += THREADS) {
    const int token = i / QUADS, column = i % QUADS * 4;
    if (t0 + token >= a.tokens || (OUTER % TILE != 0 && p.first + column >= OUTER)) continue;
    float4 of[SPLIT];
#pragma unroll
    for (int block = 0; block < SPLIT; block++) of[block] = load_from(shared + 4 * (token * PITCH + column), block);
    float square = 0.0f;
#pragma unroll
    for (int block = 0; block < SPLIT; block++) square += load_number_from(shared + 4 * (SQUARES_AT + token), block);
    float v[4] = {};
#pragma unroll
    for (int block = 0; block < SPLIT; block++) add4(v, of[block]);
    const float factor = inverse_root(multiply_add(square, 0.000651041667f, a.eps)) * up;
#pragma unroll
    for (int k = 0; k < 4; k++) v[k] *= factor;
    word2 y;
    y.x = pack2(v[0], v[1]), y.y = pack2(v[2], v[3]);
    store(p.y + (t0 + token) * a.y_token + 2 * (p.first + column), y);
  }
}
constexpr int W_AT = TOKENS * 128, W_BYTES = TILE * 128, STAGE = W_AT + W_BYTES; // in a stage
constexpr int FULL_AT = 172032, EMPTY_AT = FULL_AT + 8 * STAGES;
constexpr int GAIN_AT = 172288;
constexpr int W_WARP = MATH_WARPS, X_WARP = MATH_WARPS + 1;
constexpr int TURN_AT = 320, TURN_THREADS = 0;

// The threads that work on sums.
MLAF_DEV void sync_workers() {
  __syncthreads();
}

// [templates/lib/projection/places.h]

// ---- The loaders: a lane each ------------------------------------------------------------------------------------------
// A step's W; its x comes, too.
MLAF_DEV void load_w(const mlaf_projection_params& p, u32 shared, const place& at, int step, const ring& r) {
  const u32 full = shared + FULL_AT + 8 * r.stage, to = shared + r.stage * STAGE + W_AT;
  const int column = (int)(at.head * p.a.w_head / 2);
  barrier_expect(full, STAGE);
  copy_box_once(to, &p.w, column + 64 * step, at.first, full);
}
MLAF_DEV void load_x(const mlaf_projection_params& p, u32 shared, const place& at, int step, i64 t0, const ring& r) {
  const u32 full = shared + FULL_AT + 8 * r.stage;
  copy_box(shared + r.stage * STAGE, &p.x, (int)(at.head * p.a.x_head / 2) + 64 * step, (int)t0, full);
}
MLAF_DEV void wait_empty(u32 shared, const ring& r) { barrier_wait(shared + EMPTY_AT + 8 * r.stage, r.lap ^ 1); }
// The steps of a pass that a loader has.
MLAF_DEV void load_steps(const mlaf_projection_params& p, u32 shared, const place& at, int begin, int end, i64 t0, int loader,
                         ring& all) {
  const int first = (loader + all.stage) & 1;
  int step = begin + first;
  ring r = all;
  r.advance(first);
  all.advance(end - begin);
  if (t0 == 0) // their W is on its way
#pragma unroll 1
    for (; step < end && step < begin + STAGES; step += 2, r.advance<2>()) load_x(p, shared, at, step, t0, r);
#pragma unroll 1
  for (; step < end; step += 2, r.advance<2>()) {
    wait_empty(shared, r);
    load_w(p, shared, at, step, r);
    load_x(p, shared, at, step, t0, r);
  }
}

// ---- Math --------------------------------------------------------------------------------------------------------------
// A ring's x on its way through a norm: a warp takes its 16 rows of a step into registers, squares them for the sum, and
// multiplies them by the norm's weights, which lie in shared memory from GAIN_AT on.
MLAF_DEV u32 times(u32 a, u32 b) { // two pairs multiplied, each product rounded once
  u32 x;
  asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(x) : "r"(a), "r"(b));
  return x;
}
// The norm's weights as lanes want them: of 64 values, lane t of a quad has its 8 words side by side.
MLAF_DEV void lay_gain(const mlaf_projection_kernel_args& a, const gain_scale& shrink, char* memory, int thread) {
#pragma unroll 1
  for (int i = thread; i < INNER / 8; i += THREADS) { // words 4i .. 4i+3: lanes 0 .. 3, each the same of its words
    const word4 g = shrunk(load<word4>(a.gain + 16 * i), shrink);
    u32* const to = (u32*)(memory + GAIN_AT) + i / 8 * 32 + i % 8;
    to[0] = g.x, to[8] = g.y, to[16] = g.z, to[24] = g.w;
  }
}
// A warp's 16 rows of a stage, and the same times the norm's weights, as the product wants them.
MLAF_DEV void take_x(u32 (&raw)[4][4], u32 (&a)[4][4], u32 x, u32 gain, int warp, int lane) {
  const int row = 16 * warp + (lane & 15), half = lane >> 4;
  u32 g[8];
#pragma unroll
  for (int i = 0; i < 8; i += 4)
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(g[i]), "=r"(g[i + 1]), "=r"(g[i + 2]), "=r"(g[i + 3]) : "r"(gain + 32 * (lane & 3) + 4 * i) : "memory");
#pragma unroll
  for (int j = 0; j < 4; j++) load_matrices(raw[j], x + row * 128 + ((2 * j + half) ^ (row & 7)) * 16);
#pragma unroll
  for (int j = 0; j < 4; j++)
#pragma unroll
    for (int i = 0; i < 4; i++) a[j][i] = times(raw[j][i], g[2 * j + (i >> 1)]);
}
// Products of each eight rows with themselves, of which the diagonals are wanted: two sums each, since a product waits for the
// one before of the same sum. While the tensor cores are busy with the step.
MLAF_DEV void add_squares(float (&squares)[2][2][4], const u32 (&raw)[4][4]) {
#pragma unroll
  for (int j = 0; j < 4; j++) {
    mma16(squares[j & 1][0], raw[j], raw[j][0], raw[j][2]);
    mma16(squares[j & 1][1], raw[j], raw[j][1], raw[j][3]);
  }
}

struct stage_at {
  u32 x, w; // address of x, descriptor of W
};
MLAF_DEV stage_at wait_full(u32 shared, const ring& r) {
  const u32 at = shared + r.stage * STAGE;
  barrier_wait(shared + FULL_AT + 8 * r.stage, r.lap);
  return {at, k_major(at + W_AT)};
}

MLAF_DEV void multiply_pass(char* memory, u32 shared, int begin, int end, int thread, ring& all) {
  // Of the stages, an even number, a way has its own ones: it never skips a use of one, as barriers' parities want.
  const int lane = thread & 31, any = __shfl_sync(~0u, thread >> 5, 0), warp = any % WAY_WARPS, way = any / WAY_WARPS;
  const int first = (way + STAGES - all.stage) % WAYS;
  ring r = all;
  r.advance(first);
  all.advance(end - begin);
  begin += first;
  float d[TILE / 2];
#pragma unroll
  for (int i = 0; i < TILE / 2; i++) d[i] = 0.0f;
  settle(d);
  u32 before = 0; // barrier of the step whose products may still run
  float squares[2][2][4] = {};
  // A branch between products makes the compiler wait for each of them: known counts have none. Where two blocks of an SM overlap
  // it takes fewer registers so, without which they would not fit.
  constexpr bool KNOWN = STEPS % (2 * WAYS * SPLIT) == 0 && 1;
  const int steps = KNOWN ? STEPS / (WAYS * SPLIT) : (end - begin + WAYS - 1) / WAYS;
#pragma unroll 1
  for (int two = 0; two < steps; two += 2) {
    u32 a[2][4][4]; // of this step and of the one before
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int step = begin + (two + i) * WAYS;
      if (!KNOWN && two + i >= steps) break;
      const stage_at s = wait_full(shared, r);
      u32 raw[4][4];
      take_x(raw, a[i], s.x, shared + GAIN_AT + 128 * step, warp, lane);
      wgmma_fence();
#pragma unroll
      for (int j = 0; j < 4; j++) wgmma_rs(d, a[i][j], s.w + 2 * j, true);
      wgmma_commit();
      add_squares(squares, raw);
      wgmma_wait<1>(); // the step before is done, and its registers are free
      if (before) give_back(before, lane);
      before = shared + EMPTY_AT + 8 * r.stage;
      r.advance<WAYS>();
    }
  }
  wgmma_wait<0>();
  settle(d);
  if (before) give_back(before, lane);
  sync_workers(); // the ring is done with
  const int row = 16 * warp + (lane >> 2);
  float* const sums = (float*)(memory) + way * TOKENS * PITCH;
  float* const squares_at = (float*)memory + SQUARES_AT + way * TOKENS;
#pragma unroll
  for (int h = 0; h < 2; h++) {
    if (TOKENS % 64 != 0 && row + 8 * h >= TOKENS) continue;
    float* const to = sums + (row + 8 * h) * PITCH + 2 * (lane & 3);
#pragma unroll
    for (int i = 0; i < TILE / 8; i++) *(float2*)(to + 8 * i) = make_float2(d[4 * i + 2 * h], d[4 * i + 2 * h + 1]);
    const float even = squares[0][h][2 * h] + squares[1][h][2 * h], odd = squares[0][h][2 * h + 1] + squares[1][h][2 * h + 1];
    if ((lane & 3) == lane >> 3) squares_at[row + 8 * h] = lane & 4 ? odd : even;
  }
}

extern "C" __global__ void __launch_bounds__(320, 1) mlaf_mla_q_b_ring_append_883d41b1(
    const __grid_constant__ beside<mlaf_projection_params> p) {
  extern __shared__ __align__(1024) char memory[];
  if (!FIRST_OF_LAYER) let_next_launch_start();
  if (appended(p, TILES * SPLIT)) return;
  const u32 shared = shared_address(memory);
  const int thread = (int)my_thread(), warp = __shfl_sync(~0u, thread >> 5, 0), rank = (int)(my_block() % SPLIT);
  const place at = place_of(p.a, my_block() / SPLIT);
  const int begin = STEPS * rank / SPLIT, end = STEPS * (rank + 1) / SPLIT;
  ring r = {0, 0};
  if (thread == 32 * W_WARP || thread == 32 * X_WARP) {
    for (int i = warp - W_WARP; i < STAGES; i += 2) {
      barrier_init(shared + FULL_AT + 8 * i, 1);
      barrier_init(shared + EMPTY_AT + 8 * i, WAY_WARPS);
    }
    barriers_ready();
    // Nothing is in the ring yet, and who waits for these copies does so behind the barrier below.
    for (ring mine = {warp - W_WARP, 0}; mine.stage < STAGES && begin + mine.stage < end; mine.stage += 2)
      load_w(p, shared, at, begin + mine.stage, mine);
  }
  const gain_scale shrink = scale_of_gain(p.a, thread & 31);
  lay_gain(p.a, shrink, memory, thread);
  __syncthreads();
  wait_for_previous_launch();
  if (FIRST_OF_LAYER) let_next_launch_start();
#pragma unroll 1
  for (i64 t0 = 0; t0 < p.a.tokens; t0 += TOKENS) {
    if (warp == W_WARP || warp == X_WARP) {
      if ((thread & 31) == 0) load_steps(p, shared, at, begin, end, t0, warp - W_WARP, r);
      __syncwarp();
    } else {
      multiply_pass(memory, shared, begin, end, thread, r);
    }
    if (warp >= W_WARP) sync_workers(); // the ring is done with
    sync_workers();
    write_pass(p.a, at, t0, (float*)memory, rank, shrink.up());
    fence_async(); // copies of the next pass come to where the sums are
    sync_cluster(); // nobody reads this block's sums any more
  }
}
