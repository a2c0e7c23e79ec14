// Generated from templates/mla_q_b/mma_append.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_q_b_mma_append_3880e2f0
// parameters:
//   append = 4
//   append_norm = 0
//   append_style = 2
//   cols = 2
//   dtype = f16
//   heads = 4
//   nope = 64
//   norm = 0
//   pass = 16
//   q_rank = 256
//   rank = 256
//   rope = 32
//   stages = 3
//   ways = 2
// regenerate: lua5.4 gen/cli.lua render mla_q_b/mma_append target=sm_90a append=4 append_norm=0 append_style=2 cols=2 dtype=f16 heads=4 nope=64 norm=0 pass=16 q_rank=256 rank=256 rope=32 stages=3 ways=2
// As mla_q_b/mma, and blocks behind the product's append latent rows to the cache.
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

#define MLAF_BF16 0
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
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_b_mma_append_3880e2f0_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 20736, {1, 1, 1},
    129, 0, 0, {0, 0}, 0, {}};

constexpr int INNER = 256, OUTER = 384, TOKENS = 16, COLS = 2, WAYS = 2, STAGES = 3;
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
constexpr int R = 256, ROPE = 32;
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
  const char* const from = a.ckv + t * a.ckv_stride + 16 * lane;
  ready(from, a.flags & APPEND_NEVER);
  const bool mine = lane < ITEMS;
  const char* const rope_from = a.kpe + t * a.kpe_stride + column_byte(lane, 0);
  ready(rope_from, a.flags & APPEND_NEVER);
  place to = place_of(a, slot);
  wait_for_previous_launch();
  const i64 slot_now = load<i64>(slot_at);
  word4 x[ROUNDS];
#pragma unroll
  for (int k = 0; k < ROUNDS; k++) {
    const int chunk = k * LANES + lane;
    x[k] = words(0, 0, 0, 0);
    if (CHUNKS % LANES == 0 || chunk < CHUNKS) x[k] = load<word4>(from + 16 * k * LANES);
  }
  rope_item item = {};
  if (mine) item = load_item(rope_from, 0);
  const float scale = usable(a.scale_at ? load<float>(a.scale_at) : a.scale), inverse_scale = inverse(scale);
  if (__builtin_expect(slot_now != slot, 0)) to = place_of(a, slot_now);
  if (!to.inside) return;

  char* const rope = to.latent + 256;
  const bool wanted = mine && a.kpe_out;
#pragma unroll
  for (int k = 0; k < ITEM_CHUNKS; k++) {
    if (wanted) store(a.kpe_out + t * a.kpe_out_stride + column_byte(lane, k), item.x[k]);
    float v[1][8];
    unpack(v[k], item.x[k]);
    divide(v[k], scale, inverse_scale);
    if (mine) store(rope + column_byte(lane, k) / 2, encode(v[k]));
  }
#pragma unroll
  for (int k = 0; k < ROUNDS; k++) {
    const int chunk = k * LANES + lane;
    const bool there = CHUNKS % LANES == 0 || chunk < CHUNKS;
    float v[8];
    unpack(v, x[k]);
    divide(v, scale, inverse_scale);
    if (there) store(to.latent + 8 * chunk, encode(v));
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
constexpr int NT = TOKENS / 8;
constexpr int PITCH_X = 2 * STEP + 16, PITCH_W = 144; // bytes
constexpr int X_AT = 4608, GAIN_AT = X_AT + TOKENS * PITCH_X, STAGE = 6912; // in a stage

MLAF_DEV void copy_step(const mlaf_projection_kernel_args& a, const place& p, i64 t0, int step, u32 at, int thread) {
  const int first = step * STEP;
  constexpr int CHUNKS = STEP / 8, W_ROWS = TILE;
#pragma unroll
  for (int i = 0; i < (W_ROWS * CHUNKS + THREADS - 1) / THREADS; i++) {
    const int n = i * THREADS + thread, row = n / CHUNKS, chunk = n % CHUNKS;
    if (W_ROWS * CHUNKS % THREADS != 0 && n >= W_ROWS * CHUNKS) break;
    const int output = p.first + row, value = first + 8 * chunk;
    const bool real = (OUTER % TILE == 0 || output < OUTER) && (INNER % STEP == 0 || value < INNER);
    copy16(at + row * PITCH_W + 16 * chunk, real ? p.w + output * a.w_row + 2 * value : p.w, real);
  }
#pragma unroll
  for (int i = 0; i < (TOKENS * (STEP / 8) + THREADS - 1) / THREADS; i++) {
    const int n = i * THREADS + thread, token = n / (STEP / 8), chunk = n % (STEP / 8), value = first + 8 * chunk;
    if (TOKENS * (STEP / 8) % THREADS != 0 && n >= TOKENS * (STEP / 8)) break;
    const bool real = t0 + token < a.tokens && (INNER % STEP == 0 || value < INNER);
    copy16(at + X_AT + token * PITCH_X + 16 * chunk, real ? p.x + (t0 + token) * a.x_token + 2 * value : p.x, real);
  }
}


extern "C" __global__ void __launch_bounds__(128, 1) mlaf_mla_q_b_mma_append_3880e2f0(const beside<mlaf_projection_kernel_args> a) {
  extern __shared__ __align__(128) char memory[];
  const int thread = (int)my_thread(), lane = thread & 31, warp = thread >> 5, col = warp % COLS, way = warp / COLS;
  const u32 ring = shared_address(memory);
  const place p = my_place(a);
  float* const sums = (float*)memory;
  float* const squares = sums + WAYS * TOKENS * PITCH;
  if (!FIRST_OF_LAYER) let_next_launch_start();
  if (appended(a, TILES)) return;
  wait_for_previous_launch();
  if (FIRST_OF_LAYER) let_next_launch_start();

  for (i64 t0 = 0; t0 < a.tokens; t0 += TOKENS) {
    float s[NT][4] = {};
#pragma unroll
    for (int i = 0; i < STAGES - 1; i++) {
      if (i < STEPS) copy_step(a, p, t0, i, ring + i * STAGE, thread);
      end_copy_group();
    }
    int slot = 0, free = STAGES - 1;
#pragma unroll 1
    for (int step = 0; step < STEPS; step++) {
      wait_for_copies<STAGES - 2>();
      __syncthreads(); // everybody's copies are there, and the slot of the step before is free
      if (step + STAGES - 1 < STEPS) copy_step(a, p, t0, step + STAGES - 1, ring + free * STAGE, thread);
      end_copy_group();
      const u32 w = ring + slot * STAGE, x = w + X_AT;
      u32 a0[4], a1[4]; // 16 outputs, values 0..15 and 16..31 of the warp's
      const u32 wa = w + (16 * col + (lane & 15)) * PITCH_W + 64 * way + (lane >> 4) * 16;
      load_matrices(a0, wa);
      load_matrices(a1, wa + 32);
      const u32 xa = x + (lane & 7) * PITCH_X + 64 * way + (lane >> 3) * 16;
#pragma unroll
      for (int n = 0; n < NT; n++) {
        u32 b[4];
        load_matrices(b, xa + n * 8 * PITCH_X);
        mma16(s[n], a0, b[0], b[1]);
        mma16(s[n], a1, b[2], b[3]);
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
    __syncthreads();
    finish(a, p, t0, sums, squares);
    __syncthreads(); // the next pass copies to where the sums are
  }
}
