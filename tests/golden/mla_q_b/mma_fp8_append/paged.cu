// Generated from templates/mla_q_b/mma_fp8_append.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_q_b_mma_fp8_append_f003790e
// parameters:
//   append = 1
//   append_norm = 1
//   append_style = 0
//   cols = 2
//   dtype = bf16
//   heads = 16
//   nope = 128
//   norm = 1
//   pass = 16
//   q_rank = 1536
//   rank = 512
//   rope = 64
//   stages = 3
//   ways = 2
//   weights = 1
// regenerate: lua5.4 gen/cli.lua render mla_q_b/mma_fp8_append target=sm_90a append=1 append_norm=1 append_style=0 cols=2 dtype=bf16 heads=16 nope=128 norm=1 pass=16 q_rank=1536 rank=512 rope=64 stages=3 ways=2 weights=1
// As mla_q_b/mma_fp8, and blocks behind the product's append latent rows to the cache.
// A projection by warp-wide matrix instructions, for every NVIDIA GPU since Ampere: outputs are the rows of the matrix
// instruction, tokens its columns.
//
//   block     cols * ways warps: warp (c, w) has outputs 16c .. 16c+15 of the tile and values 32w .. 32w+31 of every step, which
//             has 32 * ways
//   ring      `stages` steps of W and x in shared memory, copied by cp.async; a stage is
//             layout=outputs  W [TILE][STEP] | x [TOKENS][STEP] | norm's weights [STEP]
//             layout=inputs   W [STEP][TILE], read transposed | x ...
//             rows padded by 16 bytes: eight rows in a line lie in different banks
//   sums      of the ways meet in shared memory, where the ring was
//
// With a norm, x times the norm's weights is rounded to 16 bits on its way into the product; the factor of a token comes in at
// the end, from the squares that warps of the first column summed up.

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
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_b_mma_fp8_append_f003790e_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 15744, {1, 1, 1},
    145, 0, 0, {0, 0}, 0, {}};

constexpr int INNER = 1536, OUTER = 3072, TOKENS = 16, COLS = 2, WAYS = 2, STAGES = 3;
constexpr int THREADS = 128, TILE = 32, STEP = 64, STEPS = (INNER + STEP - 1) / STEP;
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
constexpr int ITEM_CHUNKS = 1; // of 16 bytes
constexpr int ITEMS = ROPE / (8 * ITEM_CHUNKS);              // of a row
constexpr u32 NOT_NUMBERS = 0x7fc07fc0u;                     // NaN as fp32, two of bf16 and two of f16
constexpr int ANGLES = 4;      // of an item

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
    float &x = v[0][2 * i], &y = v[0][2 * i + 1];
    const float across = apart(y * s), back = apart(x * s);
    x = multiply_add(x, c, -across);
    y = multiply_add(y, c, back);
  }
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
constexpr int NT = TOKENS / 8;
constexpr int PITCH_X = 2 * STEP + 32, PITCH_W = 80; // bytes
constexpr int X_AT = 2560, GAIN_AT = X_AT + TOKENS * PITCH_X, STAGE = 5248; // in a stage

// Weights of 8 bits: bytes of e4m3 to 16-bit numbers and to floats, exactly, and their scales.
//
//   e4m3fn    bias 7, up to 448, NaN is 0x7f and 0xff        e4m3fnuz  bias 8, up to 240, NaN is 0x80, no -0
//
// Every byte is a bf16 and a f16, so products are exact; a block's scale comes in behind them, in fp32. The includer hands over
// `weights`, 1 for e4m3fn and 2 for e4m3fnuz. Where the target has no instruction for the encoding, a byte's bits are those of a
// f16 that is 2^-8 (e4m3fnuz: 2^-7) of it, whose subnormals are f16's.
MLAF_DEV void unpack_halves(u32 x, float& a, float& b) {
  asm("{\n.reg .b16 l, h;\nmov.b32 {l, h}, %2;\ncvt.f32.f16 %0, l;\ncvt.f32.f16 %1, h;\n}" : "=f"(a), "=f"(b) : "r"(x));
}

// Bytes 2 PAIR and 2 PAIR + 1 of four as a pair of f16. Volatile, or else the compiler makes numbers of many bytes before it
// wants them, and spills.
template <int PAIR>
MLAF_DEV u32 halves_of(u32 codes) {
  u32 x;
  asm volatile("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(x) : "h"((unsigned short)(codes >> 16 * PAIR)));
  return x;
}

// The same as floats, and as numbers of 16 bits.
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

// Eight bytes.
MLAF_DEV void decode8(float (&v)[8], u32 x, u32 y) {
  decode2<0>(x, v[0], v[1]);
  decode2<1>(x, v[2], v[3]);
  decode2<0>(y, v[4], v[5]);
  decode2<1>(y, v[6], v[7]);
}
MLAF_DEV word4 expand8(u32 x, u32 y) { return words(expand2<0>(x), expand2<1>(x), expand2<0>(y), expand2<1>(y)); }

// The argument block of kernels whose launch says MLAF_KERNEL_SCALES, to the end of runtime/op/projection.h's.
struct mlaf_projection_scaled_args : mlaf_projection_kernel_args {
  const float* w_scale;
  i64 scale_row, scale_first_row, scale_head, scale_first_column; // scale_row in bytes
};
static_assert(sizeof(mlaf_projection_scaled_args) == 192, "differs from runtime/op/projection.h");

// The scale of an element of W[head]; its row's scales begin at scales_of, one for 128 columns.
MLAF_DEV const char* scales_of(const mlaf_projection_scaled_args& a, int head, int row) {
  return (const char*)a.w_scale + (a.scale_first_row + head * a.scale_head + row >> 7) * a.scale_row;
}
MLAF_DEV float scale_at(const mlaf_projection_scaled_args& a, const char* scales, int column) {
  return load<float>(scales + 4 * (a.scale_first_column + column >> 7));
}
// Operands of mma.h of weights of 8 bits, which lie in the ring as bytes and become numbers in registers, in an order of values
// (layout=outputs: lane t of a quad has four beside each other) or of outputs (inputs: 2g and 2g+1) that fits. A warp's part of a
// step has one scale, asked for a step ahead.
// 16 outputs, values 0..15 and 16..31 of the warp's.
MLAF_DEV void load_operands(u32 (&a0)[4], u32 (&a1)[4], u32 w, int col, int way, int lane) {
  u32 codes[4]; // rows g and g+8: values 4t .. 4t+3 of the first 16, of the others
  load_matrices(codes, w + (16 * col + (lane & 15)) * PITCH_W + 32 * way + (lane >> 4) * 16);
  a0[0] = expand2<0>(codes[0]), a0[1] = expand2<0>(codes[1]), a0[2] = expand2<1>(codes[0]), a0[3] = expand2<1>(codes[1]);
  a1[0] = expand2<0>(codes[2]), a1[1] = expand2<0>(codes[3]), a1[2] = expand2<1>(codes[2]), a1[3] = expand2<1>(codes[3]);
}
// A token's values in the same order.
MLAF_DEV void load_quads(u32 (&b)[4], u32 at) {
#pragma unroll
  for (int i = 0; i < 4; i += 2)
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(b[i]), "=r"(b[i + 1]) : "r"(at + 16 * i) : "memory");
}

// That of the warp's outputs and values of a step; of one behind the last, another.
MLAF_DEV float scale_of_step(const mlaf_projection_scaled_args& a, const place& p, int step, int col, int way) {
  const int value = step * STEP + 32 * way < INNER ? step * STEP + 32 * way : INNER - 1;
  const int output = p.first + 16 * col < OUTER ? p.first + 16 * col : OUTER - 1;
  return scale_at(a, scales_of(a, p.head, output), value);
}
MLAF_DEV void copy_step(const mlaf_projection_kernel_args& a, const place& p, i64 t0, int step, u32 at, int thread) {
  const int first = step * STEP;
  constexpr int CHUNKS = STEP / 16, W_ROWS = TILE;
#pragma unroll
  for (int i = 0; i < (W_ROWS * CHUNKS + THREADS - 1) / THREADS; i++) {
    const int n = i * THREADS + thread, row = n / CHUNKS, chunk = n % CHUNKS;
    if (W_ROWS * CHUNKS % THREADS != 0 && n >= W_ROWS * CHUNKS) break;
    const int output = p.first + row, value = first + 16 * chunk;
    const bool real = (OUTER % TILE == 0 || output < OUTER) && (INNER % STEP == 0 || value < INNER);
    copy16(at + row * PITCH_W + 16 * chunk, real ? p.w + output * a.w_row + value : p.w, real);
  }
#pragma unroll
  for (int i = 0; i < (TOKENS * (STEP / 8) + THREADS - 1) / THREADS; i++) {
    const int n = i * THREADS + thread, token = n / (STEP / 8), chunk = n % (STEP / 8), value = first + 8 * chunk;
    if (TOKENS * (STEP / 8) % THREADS != 0 && n >= TOKENS * (STEP / 8)) break;
    const bool real = t0 + token < a.tokens && (INNER % STEP == 0 || value < INNER);
    copy16(at + X_AT + token * PITCH_X + 16 * chunk, real ? p.x + (t0 + token) * a.x_token + 2 * value : p.x, real);
  }
  if (thread < STEP / 8) {
    const bool real = INNER % STEP == 0 || first + 8 * thread < INNER;
    copy16(at + GAIN_AT + 16 * thread, real ? a.gain + 2 * (first + 8 * thread) : a.gain, real);
  }
}

MLAF_DEV u32 load_pair(u32 at) {
  u32 x;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(at) : "memory");
  return x;
}
MLAF_DEV float add_squares(float sum, u32 pair) {
  const float lo = unpack_lo(pair), hi = unpack_hi(pair);
  return fmaf(lo, lo, fmaf(hi, hi, sum));
}

extern "C" __global__ void __launch_bounds__(128, 1) mlaf_mla_q_b_mma_fp8_append_f003790e(const beside<mlaf_projection_scaled_args> a) {
  extern __shared__ __align__(128) char memory[];
  const int thread = (int)my_thread(), lane = thread & 31, warp = thread >> 5, col = warp % COLS, way = warp / COLS;
  const u32 ring = shared_address(memory);
  const place p = my_place(a);
  float* const sums = (float*)memory;
  float* const squares = sums + WAYS * TOKENS * PITCH;
  if (!FIRST_OF_LAYER) let_next_launch_start();
  if (appended(a, TILES)) return;
  const gain_scale shrink = scale_of_gain(a, lane);
  wait_for_previous_launch();
  if (FIRST_OF_LAYER) let_next_launch_start();

  for (i64 t0 = 0; t0 < a.tokens; t0 += TOKENS) {
    float s[NT][4] = {};
    float square[NT] = {};
#pragma unroll
    for (int i = 0; i < STAGES - 1; i++) {
      if (i < STEPS) copy_step(a, p, t0, i, ring + i * STAGE, thread);
      end_copy_group();
    }
    int slot = 0, free = STAGES - 1;
    float next_scale = scale_of_step(a, p, 0, col, way);
#pragma unroll 1
    for (int step = 0; step < STEPS; step++) {
      wait_for_copies<STAGES - 2>();
      __syncthreads(); // everybody's copies are there, and the slot of the step before is free
      if (step + STAGES - 1 < STEPS) copy_step(a, p, t0, step + STAGES - 1, ring + free * STAGE, thread);
      end_copy_group();
      const u32 w = ring + slot * STAGE, x = w + X_AT;
      u32 a0[4], a1[4]; // 16 outputs, values 0..15 and 16..31 of the warp's
      load_operands(a0, a1, w, col, way, lane);
      const float scale = next_scale;
      next_scale = scale_of_step(a, p, step + 1, col, way);
      u32 gain[4];
#pragma unroll
      for (int i = 0; i < 4; i++)
        gain[i] = shrunk(load_pair(w + GAIN_AT + 64 * way + 32 * (i >> 1) + 8 * (lane & 3) + 4 * (i & 1)), shrink);
      const u32 xa = x + (lane >> 2) * PITCH_X + 64 * way + 8 * (lane & 3);
#pragma unroll
      for (int n = 0; n < NT; n++) {
        u32 b[4];
        load_quads(b, xa + n * 8 * PITCH_X);
#pragma unroll
        for (int i = 0; i < 4; i++) {
          square[n] = add_squares(square[n], b[i]);
          b[i] = multiply2(b[i], gain[i]);
        }
        float part[4] = {};
        mma16(part, a0, b[0], b[1]);
        mma16(part, a1, b[2], b[3]);
#pragma unroll
        for (int i = 0; i < 4; i++) s[n][i] = fmaf(part[i], scale, s[n][i]);
      }
      slot = slot + 1 == STAGES ? 0 : slot + 1;
      free = free + 1 == STAGES ? 0 : free + 1;
    }
    wait_for_copies<0>();
    __syncthreads();
    float* const mine = sums + way * TOKENS * PITCH + 16 * col + (lane >> 2);
#pragma unroll
    for (int n = 0; n < NT; n++)
#pragma unroll
      for (int i = 0; i < 4; i++) mine[(8 * n + 2 * (lane & 3) + (i & 1)) * PITCH + 8 * (i >> 1)] = s[n][i];
#pragma unroll
    for (int n = 0; n < NT; n++) {
      const float sum = sum_over_lanes<1, 4>(square[n]);
      if (col == 0 && (lane & 3) == 0) squares[way * TOKENS + 8 * n + (lane >> 2)] = sum;
    }
    __syncthreads();
    finish(a, p, t0, sums, squares, shrink.up());
    __syncthreads(); // the next pass copies to where the sums are
  }
}
