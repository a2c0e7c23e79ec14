// Generated from templates/mla_q_b/stream_append.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_q_b_stream_append_6231dd5b
// parameters:
//   append = 1
//   append_norm = 1
//   append_style = 0
//   depth = 4
//   dtype = bf16
//   heads = 16
//   land = shared
//   nope = 128
//   norm = 1
//   pass = 16
//   per_sm = 1
//   q_rank = 1536
//   rank = 512
//   rope = 64
//   rows = 32
//   split = 1
//   warps = 16
// regenerate: lua5.4 gen/cli.lua render mla_q_b/stream_append target=sm_90a append=1 append_norm=1 append_style=0 depth=4 dtype=bf16 heads=16 land=shared nope=128 norm=1 pass=16 per_sm=1 q_rank=1536 rank=512 rope=64 rows=32 split=1 warps=16
// As mla_q_b/stream, and blocks behind the product's append latent rows to the cache.
// A projection at the pace of memory, for up to 64 tokens: weights go from global memory into the registers that matrix
// instructions read, 16 bytes a load, and nothing lies between. Outputs are the rows of the instruction, tokens its columns.
//
//   order     the values of a sum may be taken in any order that weights and x share. Lane (g, t) of a warp, g = l/4, t = l%4,
//             has values 8t .. 8t+7 of a chunk of 32: words 0 and 1 are what it holds of the first instruction, 2 and 3 of the
//             second one
//   outputs   W[h] is [OUTER][INNER]: it loads those 16 bytes of rows g, g+8, g+16 .. of the tile, and of x's tokens g, g+8 ..
//   inputs    W[h] is [INNER][OUTER]: it loads outputs 8g .. 8g+7 of the rows of its eight values; two-by-two transpositions
//             make pairs of values of them. Fragment i has outputs 8g+2i in rows 0..7, 8g+2i+1 in rows 8..15
//   block     a tile of TILE outputs of one head, or a share of its sum (SPLIT blocks, a cluster). Its warps take the chunks in
//             turns, two neighbours (a line of 128 bytes) at a time. DEPTH chunks of weights are on their way, AHEAD of x
//   sums      of the warps meet in shared memory, those of the blocks in the cluster's
//
// Weights are constants of a layer: the first of them are asked for before the launch waits for the one before. With a norm, x
// times the norm's weights is rounded to 16 bits on its way into the product; the factor of a token comes in at the end.

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
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_b_stream_append_6231dd5b_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 168960, {1, 1, 1},
    129, 0, 0, {0, 0}, 0, {}};

constexpr int INNER = 1536, OUTER = 3072, TOKENS = 16, TILE = 32, WAYS = 16, SPLIT = 1;
constexpr int THREADS = 512;
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
constexpr int MT = TILE / 16, NT = TOKENS / 8, CHUNKS = 48, STEPS = 4; // of a block, of a warp
constexpr int RUN = 2, DEPTH = 4, AHEAD = 4; // RUN: chunks that a warp takes in a row
constexpr int LOADS = 2 * MT; // of 16 bytes of a lane and chunk
constexpr int SLOTS_AT = 37888; // in shared memory: [DEPTH][LOADS][THREADS] of 16 bytes, each thread's own

// What streams of weights of 16 and of 8 bits share: which chunks of a sum a warp takes, and what its lanes load and sum up.
// end_pass.h has what becomes of the sums.

MLAF_DEV word4 load_x(const void* p) {
  word4 x;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(p) : "memory");
  return x;
}
MLAF_DEV u32 word_of(const word4& x, int i) { return i == 0 ? x.x : i == 1 ? x.y : i == 2 ? x.z : x.w; }

struct sums_of_warp {
  float of[MT][NT][4];
  float squares[NT];
};
// Where a lane's loads begin, and which chunk of the block is the warp's first.
struct lane_place {
  const char *w, *x[NT];
  const char* gain;
  i64 w_step; // bytes between two of its loads of a chunk
  int first;
};

MLAF_DEV int chunk_of(const lane_place& l, int step) { return l.first + step / RUN * (RUN * WAYS) + step % RUN; }
MLAF_DEV bool is_there(int chunk) { return CHUNKS % (RUN * WAYS) == 0 || chunk < CHUNKS; }

// Two pairs multiplied, each product rounded once.
MLAF_DEV u32 times(u32 a, u32 b) {
  u32 x;
  asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(x) : "r"(a), "r"(b));
  return x;
}
MLAF_DEV float add_squares(float sum, u32 pair) {
  const float lo = unpack_lo(pair), hi = unpack_hi(pair);
  return fmaf(lo, lo, fmaf(hi, hi, sum));
}

struct weights {
  word4 of[LOADS];
};
struct inputs {
  word4 of[NT];
  word4 gain;
};

MLAF_DEV u32 slot(u32 mine, int place, int i) { return mine + 16 * THREADS * (place * LOADS + i); }
// `there`: the warp has such a step. What a thread copies it alone reads, so it waits for nobody else.
MLAF_DEV void ask_weights(const mlaf_projection_kernel_args& a, const lane_place& l, int step, u32 mine, int place, bool there) {
  const int chunk = chunk_of(l, step);
  const char* const from = l.w + (i64)chunk * 64;
  if (there)
#pragma unroll
    for (int i = 0; i < LOADS; i++)
      copy16(slot(mine, place, i), is_there(chunk) ? from + i * l.w_step : l.w, is_there(chunk));
  end_copy_group();
}
MLAF_DEV void take_weights(u32 mine, int place, weights& w) {
#pragma unroll
  for (int i = 0; i < LOADS; i++)
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w.of[i].x), "=r"(w.of[i].y), "=r"(w.of[i].z), "=r"(w.of[i].w) : "r"(slot(mine, place, i)) : "memory");
}
MLAF_DEV void ask_inputs(const lane_place& l, int step, inputs& x) {
  const int chunk = chunk_of(l, step);
#pragma unroll
  for (int n = 0; n < NT; n++) x.of[n] = is_there(chunk) ? load_x(l.x[n] + (i64)chunk * 64) : words(0, 0, 0, 0);
  x.gain = is_there(chunk) ? load_x(l.gain + (i64)chunk * 64) : words(0, 0, 0, 0);
}


MLAF_DEV void multiply(const weights& w, inputs& x, sums_of_warp& s, u32 gain_scale_at) {
  const word4 g = shrunk(x.gain, kept_scale(gain_scale_at));
#pragma unroll
  for (int n = 0; n < NT; n++) {
    word4& v = x.of[n];
    s.squares[n] = add_squares(add_squares(add_squares(add_squares(s.squares[n], v.x), v.y), v.z), v.w);
    v = words(times(v.x, g.x), times(v.y, g.y), times(v.z, g.z), times(v.w, g.w));
  }
#pragma unroll
  for (int m = 0; m < MT; m++) {
    const word4 &r0 = w.of[2 * m], &r8 = w.of[2 * m + 1];
    const u32 a0[4] = {r0.x, r8.x, r0.y, r8.y}, a1[4] = {r0.z, r8.z, r0.w, r8.w};
#pragma unroll
    for (int n = 0; n < NT; n++) {
      mma16(s.of[m][n], a0, x.of[n].x, x.of[n].y);
      mma16(s.of[m][n], a1, x.of[n].z, x.of[n].w);
    }
  }
}

// The end of a pass for kernels of NVIDIA: partial sums of WAYS warps, and of SPLIT blocks of a cluster, are added up in a fixed
// order, finished and written. Sums [WAYS][TOKENS][PITCH] and, with a norm, sums of squares [WAYS][TOKENS] lie in shared memory
// one behind the other.
constexpr int SQUARES_AT = WAYS * TOKENS * PITCH;

// Four sums of a warp's or block's share, added up.
MLAF_DEV void add4(float (&v)[4], const float4& x) { v[0] += x.x, v[1] += x.y, v[2] += x.z, v[3] += x.w; }

constexpr int OCTETS = TILE / 8, ITEMS_OF_PASS = TOKENS * OCTETS; // eight outputs of a token each

// The sums of a pass: added up, finished, rounded once, written. rank: of this block in its cluster.
// up: what the norm's weights were divided by (gain.h).
MLAF_DEV void write_pass(const mlaf_projection_kernel_args& a, const place& p, i64 t0, float* sums,
                         int rank, float up = 1.0f) {
#pragma unroll (WAYS == 1 ? 2 : 1)
  for (int i = (int)my_thread(); i < ITEMS_OF_PASS; i += THREADS) {
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

extern "C" __global__ void __launch_bounds__(512, 1) mlaf_mla_q_b_stream_append_6231dd5b(const beside<mlaf_projection_kernel_args> a) {
  extern __shared__ __align__(128) char memory[];
  if (!FIRST_OF_LAYER) let_next_launch_start();
  if (appended(a, TILES * SPLIT)) return;
  const int thread = (int)my_thread(), lane = thread & 31, warp = thread >> 5, g = lane >> 2, t = lane & 3;
  const int rank = (int)(my_block() % SPLIT);
  const place p = place_of(a, my_block() / SPLIT);
  float* const sums = (float*)memory;
  lane_place l;
  l.first = warp * RUN;
  l.w_step = 8 * a.w_row;
  l.w = p.w + (p.first + g) * a.w_row + 16 * t + (i64)rank * (CHUNKS * 64);
  l.gain = a.gain + 16 * t + rank * (CHUNKS * 64);

  const u32 mine = shared_address(memory) + SLOTS_AT + 16 * thread;
#pragma unroll
  for (int i = 0; i < DEPTH; i++) ask_weights(a, l, i, mine, i, true);
  const u32 gain_scale_at = shared_address(sums + TILE); // the padding of the first row
  keep_scale_of_gain(a, gain_scale_at, thread);
  wait_for_previous_launch();
  if (FIRST_OF_LAYER) let_next_launch_start();

#pragma unroll 1
  for (i64 t0 = 0; t0 < a.tokens; t0 += TOKENS) {
    if (t0)
#pragma unroll
      for (int i = 0; i < DEPTH; i++) ask_weights(a, l, i, mine, i, true);
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
        weights w;
        wait_for_copies<DEPTH - 1>();
        take_weights(mine, i, w);
        multiply(w, x[i % AHEAD], s, gain_scale_at);
        ask_weights(a, l, base + i + DEPTH, mine, i, base + i + DEPTH < STEPS);
        if (base + i + AHEAD < STEPS) ask_inputs(l, base + i + AHEAD, x[i % AHEAD]);
      }
// The end of a pass in streams of weights, a part of the kernel's body: sums `s` of a warp's lanes (g, t) go to shared memory, a
// token's outputs side by side. Those of all warps are finished there and written. As a function it made other machine code.
    float* const mine = sums + warp * TOKENS * PITCH;
#pragma unroll
    for (int n = 0; n < NT; n++)
#pragma unroll
      for (int e = 0; e < 2; e++) {
        float* const to = mine + (8 * n + 2 * t + e) * PITCH;
#pragma unroll
        for (int m = 0; m < MT; m++) {
          to[16 * m + g] = s.of[m][n][e];
          to[16 * m + g + 8] = s.of[m][n][2 + e];
        }
      }
#pragma unroll
    for (int n = 0; n < NT; n++) {
      const float sum = sum_over_lanes<1, 4>(s.squares[n]);
      if (t == 0) sums[SQUARES_AT + warp * TOKENS + 8 * n + g] = sum;
    }
    __syncthreads();
    write_pass(a, p, t0, sums, rank, kept_scale(gain_scale_at).up());
    __syncthreads();
  }
}
