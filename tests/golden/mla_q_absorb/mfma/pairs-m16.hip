// Generated from templates/mla_q_absorb/mfma.hip.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_mla_q_absorb_mfma_e120261d
// parameters:
//   blocks = 4
//   depth = 1
//   dtype = bf16
//   nope = 128
//   parts = 1
//   pass = 16
//   rank = 512
//   rope = 64
//   style = pairs
//   waves = 8
// regenerate: lua5.4 gen/cli.lua render mla_q_absorb/mfma target=gfx942 blocks=4 depth=1 dtype=bf16 nope=128 parts=1 pass=16 rank=512 rope=64 style=pairs waves=8
// mla_q_absorb by matrix instructions of CDNA: queries into the latent space, (q_nope W_UK[h], rope(q_pe)); W_UK[h] is [N, R].
// A projection by matrix instructions of CDNA: outputs are the rows of the matrix instruction, tokens its columns. Nothing but
// the sums goes through LDS: a lane loads what it multiplies.
//
//   layout=outputs  lane l has row l%16 of each of `blocks` groups of 16 outputs, and 16 bytes of it: values 8 * (l/16) .. +7 of
//                   a step of 32. x the same, so the order of values within a step is free: two instructions of 16.
//                   L1 takes four lanes a clock, and four lines whose addresses differ by a multiple of 512 bytes, as rows mostly
//                   do, one after the other. So 16-bit weights come in steps of a line, 64 values, and of the `depth` lines that
//                   are asked for together lane l has line n ^ l % depth as its number n; then each puts its own in order
//   layout=inputs   lane l has rows 4 * (l/16) .. +3 of a step of 16, and `blocks` (4 or 8) outputs from blocks * (l%16) on of
//                   each. Two-by-two transpositions make `blocks` operands of four values; number c has outputs c, blocks + c, ..
//   waves           share the contraction: each has a run of steps, `depth` of them on their way. Sums meet in LDS.
//                   Where columns turn, a wave more turns them meanwhile
//   parts           blocks that share the passes of a tile (parts.h): W is read more often, and more compute units have work
//
// Lanes beyond the last output or token load the last one's, whose results nobody writes. With a norm, x times the norm's
// weights is rounded to 16 bits on its way into the product, or W is, where a block has fewer rows of it and 16 bits are bf16 (a
// f16 could be too small). Squares of lines are products of x with itself, of which the diagonal counts. The factor of a token
// comes in at the end.

#define MLAF_BF16 1
#define MLAF_MFMA_K32 0
// One text for CUDA and HIP: block and thread numbers, lanes, loads and stores of global memory, packs of eight 16-bit values.
constexpr int LANES = 64;
// A layer's first launch lets the next one start only behind its own wait. So whatever was there before a layer's launches is
// there for all of them but the second, ahead of their own waits, too: mla_decode/sm90_few_ahead reads a cache then.
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
// [templates/lib/mfma.h]
// [templates/lib/projection/args.h]

constexpr int INNER = 128, OUTER = 512, TOKENS = 16, WAYS = 8, THREADS = 576;
constexpr int TILE = 64;
// What every projection kernel has: y[t, h, :] = W[h] x[t, h, :], of a block's TILE outputs of one head, in passes of TOKENS
// tokens. Blocks are numbered head by head, tile by tile. Partial sums of WAYS shares of the contraction meet in shared memory.
constexpr int TILES = (OUTER + TILE - 1) / TILE;
constexpr int PITCH = TILE + 4; // floats of a token's partial sums: neighbours lie in different banks
// The rope columns of a row, which stand behind its INNER columns in x: rotated by cosines and sines from a table, and written
// behind the OUTER columns of y. Work items of one thread each, a token and 16 bytes (halves: twice 16):
//
//   pairs      columns 8c .. 8c+7, pairs (x_2i, x_2i+1), angles 4c .. 4c+3
//   halves     columns 8c .. 8c+7 and P/2 + 8c .. P/2 + 8c+7, pairs (x_i, x_i+P/2), angles 8c .. 8c+7
//   unrotated  columns 8c .. 8c+7 as they are
//
// A position outside the table makes the columns NaN: nothing faults, and nobody takes them for an answer.
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


// All tokens of the launch, of one head: items first, first + step, ...
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
// [templates/lib/projection/one_trip.h]
// Blocks that share a launch's tokens (CDNA): so many take a tile of outputs, and each takes other passes of the tokens. The
// grid is made by outputs of a block, which has TILE / TILE_BLOCKS of them on average.
//
// Workgroups are dealt out over the dies in turn, and each die has an L2. A tile's blocks are on one die, so its weights are
// there for all, but for the last tiles of a head. Side by side on a die are blocks with the same tokens.
constexpr int TILE_BLOCKS = 1;

// A block's tile, counted head by head, and which of the tile's blocks it is.
struct share {
  u32 tile;
  int part;
};
MLAF_DEV share my_share() {
  return {my_block(), 0};
}
constexpr int BLOCKS = 4, GROUPS = 1; // GROUPS: of 16 tokens
constexpr int TOGETHER = TOKENS / 16; // groups whose sums meet at a time
constexpr int STEPS = INNER / 16, DEPTH = 1;

struct operands {
  const char* w[4]; // rows of this lane
  const char* x[GROUPS];
  i64 w_step;
};
struct sums_of_wave {
  f32x4 of[BLOCKS][GROUPS];
};

constexpr int WORDS = BLOCKS / 2; // of a lane's outputs in a row
typedef u32 words_of_row __attribute__((ext_vector_type(WORDS)));

template <int N>
MLAF_DEV void add_steps(const operands& o, int step, sums_of_wave& s) {
  words_of_row w[N][4];
  u32x2 x[N][GROUPS];
#pragma unroll
  for (int n = 0; n < N; n++) {
#pragma unroll
    for (int r = 0; r < 4; r++) w[n][r] = load<words_of_row>(o.w[r] + (i64)(step + n) * o.w_step);
#pragma unroll
    for (int g = 0; g < GROUPS; g++) x[n][g] = load<u32x2>(o.x[g] + (i64)(step + n) * 32);
  }
#pragma unroll
  for (int n = 0; n < N; n++)
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
      const u32x2 even = {join_lo(w[n][0][i], w[n][1][i]), join_lo(w[n][2][i], w[n][3][i])};
      const u32x2 odd = {join_hi(w[n][0][i], w[n][1][i]), join_hi(w[n][2][i], w[n][3][i])};
#pragma unroll
      for (int g = 0; g < GROUPS; g++) {
        s.of[2 * i][g] = mfma16(even, x[n][g], s.of[2 * i][g]);
        s.of[2 * i + 1][g] = mfma16(odd, x[n][g], s.of[2 * i + 1][g]);
      }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) mlaf_mla_q_absorb_mfma_e120261d(const mlaf_projection_kernel_args a) {
  __shared__ __attribute__((aligned(16))) float sums[WAYS * TOKENS * PITCH];
  const float* const squares = nullptr;
  const int thread = (int)my_thread(), lane = thread % 64, wave = uniform(thread / 64), row = lane % 16, group = lane / 16;
  fetch_arguments(a);
  const share mine = my_share();
  const place p = place_of(a, mine.tile);
  const int begin = STEPS * wave / WAYS, end = STEPS * (wave + 1) / WAYS;
  operands o;
  const int output = p.first + BLOCKS * row;
#pragma unroll
  for (int r = 0; r < 4; r++) o.w[r] = p.w + (4 * group + r) * a.w_row + 2 * (output < OUTER ? output : OUTER - BLOCKS);
  o.w_step = 16 * a.w_row;
  // Columns that turn are shared out over the head's blocks: a wave beside those that multiply.
  const int blocks = TILES * TILE_BLOCKS, block = p.first / TILE * TILE_BLOCKS + mine.part;
  if (wave == WAYS) turn_rows(a, p.x, p.y, block * 64 + lane, blocks * 64);
  const i64 first = mine.part * (16 * GROUPS);
  for (i64 t0 = first; t0 < a.tokens; t0 += TILE_BLOCKS * 16 * GROUPS) {
#pragma unroll
    for (int g = 0; g < GROUPS; g++) o.x[g] = row_of_x(a, p, t0 + 16 * g + row) + 8 * group;
    sums_of_wave s = {};
    int step = wave < WAYS ? begin : end;
#pragma unroll 1
    for (; step + DEPTH <= end; step += DEPTH) add_steps<DEPTH>(o, step, s);
#pragma unroll 1
    for (; step < end; step++) add_steps<1>(o, step, s);
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
          for (int r = 0; r < 4; r++) to[BLOCKS * (4 * group + r) + b] = s.of[b][g][r];
      }
      __syncthreads();
      finish(a, p, t0 + 16 * from, sums, squares);
    }
  }
}
