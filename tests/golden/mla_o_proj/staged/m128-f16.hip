// Generated from templates/mla_o_proj/staged.hip.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_mla_o_proj_staged_e5ad130e
// parameters:
//   blocks = 2
//   depth = 2
//   dtype = f16
//   heads = 16
//   hidden = 7168
//   parts = 1
//   pass = 128
//   residual = 1
//   v = 128
// regenerate: lua5.4 gen/cli.lua render mla_o_proj/staged target=gfx942 blocks=2 depth=2 dtype=f16 heads=16 hidden=7168 parts=1 pass=128 residual=1 v=128
// mla_o_proj by matrix instructions of CDNA for many tokens: values of all heads to hidden states, the residual added if any.
// A projection by matrix instructions of CDNA, for many tokens: a block's rows of W and of x go through LDS, where all its waves
// take them from. Lines of 128 bytes come whole, eight rows a load, so that L1 finds no two rows in one of its banks, and no
// lane has to put anything in order.
//
//   round     64 values of the sum: a line of each of the block's rows, 16 * blocks of W and `pass` of x
//   stage     of LDS, of three: the lines of a round, row after row. 16 bytes number c of a row lie at c ^ row % 8: eight lanes
//             that write a row, or read eight rows, find all banks
//   parts     blocks that share the passes of a tile (parts.h)
//   wave      some groups of 16 outputs times some of 16 tokens, and the whole sum of each
//
//             loads        into LDS   out of LDS   products
//   round t   t+2+depth    t+2        t+1          t
//
// One barrier a round. It waits for what was written, which is read in the next one, but not for what is read: that stage is
// written again two barriers later, and what was read is multiplied before. Between two barriers the wave's other instructions
// come under its products. Loads behind the last round take lines of the last ones once more. Lanes beyond the last output or
// token load the last one's, whose results nobody writes. With a norm W is multiplied by the norm's weights and rounded on its
// way into LDS (of f16 it could be too small: not here); squares are products of x with itself, of which the diagonal counts.
// The factor of a token comes in at the end.

#define MLAF_BF16 0
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

constexpr int INNER = 2048, OUTER = 7168, TOKENS = 128, WAYS = 1, THREADS = 256;
constexpr int TILE = 32;
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
MLAF_DEV void finish(const mlaf_projection_kernel_args& a, const place& p, i64 t0, const float* sums, const float* squares) {
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
    float r[8];
    unpack(r, load<word4>(a.residual + (t0 + token) * a.residual_token + 2 * (p.first + column)));
#pragma unroll
    for (int k = 0; k < 8; k++) v[k] += r[k];
    store(p.y + (t0 + token) * a.y_token + 2 * (p.first + column), pack(v));
  }
}
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
constexpr int WAVES = 4, BLOCKS = 2, GROUPS = 8;
constexpr int MY_BLOCKS = 2, MY_GROUPS = 2; // of a wave
constexpr int WAVES_BY_OUTPUTS = BLOCKS / MY_BLOCKS;
constexpr int DEPTH = 2, GROUPS_OF_ROUNDS = INNER / (64 * DEPTH);
constexpr int STAGE = 20480, X_AT = BLOCKS * 2048; // bytes; 16 rows are 2048
constexpr int W_LOADS = 2 * BLOCKS / WAVES, X_LOADS = 2 * GROUPS / WAVES, LOADS = W_LOADS + X_LOADS; // of a wave and round
constexpr int ALL_BUT_LDS = 127; // what sched_barrier lets pass
constexpr int READS = 2 * (MY_BLOCKS + MY_GROUPS);

// What a lane loads of a round: number i of a wave is eight rows, this lane's 16 bytes of one of them.
struct source {
  const char* row[LOADS];
};
struct line_set {
  word4 of[LOADS];
};
// What a wave multiplies in a round: halves of a line of 16 rows.
struct operands {
  word4 w[MY_BLOCKS][2], x[MY_GROUPS][2];
};
struct sums_of_wave {
  f32x4 of[MY_BLOCKS][MY_GROUPS];
};

// Line `at` of the rounds that `from` stands at.
MLAF_DEV void ask(const source& from, int at, line_set& to) {
#pragma unroll
  for (int i = 0; i < LOADS; i++) to.of[i] = load<word4>(from.row[i] + 128 * at);
}
MLAF_DEV void go_on(source& from, int bytes) {
#pragma unroll
  for (int i = 0; i < LOADS; i++) from.row[i] += bytes;
}

// What a norm makes of lines before they go into LDS.
MLAF_DEV void weigh(line_set& lines) {
}
MLAF_DEV void put(const line_set& lines, char* to) {
#pragma unroll
  for (int i = 0; i < LOADS; i++)
    *(word4*)(to + (i < W_LOADS ? 0 : X_AT) + (i < W_LOADS ? i : i - W_LOADS) * WAVES * 1024) = lines.of[i];
}

MLAF_DEV void take(const char* (&w)[2], const char* (&x)[2], int stage, operands& to) {
#pragma unroll
  for (int h = 0; h < 2; h++) {
#pragma unroll
    for (int b = 0; b < MY_BLOCKS; b++) to.w[b][h] = *(const word4*)(w[h] + stage + 2048 * b);
#pragma unroll
    for (int g = 0; g < MY_GROUPS; g++) to.x[g][h] = *(const word4*)(x[h] + stage + 2048 * g);
  }
}

// Of a wave's products of a round number `first` to `last` - 1.
constexpr int COLUMN = MY_BLOCKS + 0, PRODUCTS = 4 * COLUMN * MY_GROUPS;
MLAF_DEV void multiply(const operands& o, int first, int last, sums_of_wave& s) {
#pragma unroll
  for (int i = 0; i < PRODUCTS; i++) {
    if (i < first || i >= last) continue;
    const int b = i % COLUMN, g = i / COLUMN % MY_GROUPS, quarter = i / COLUMN / MY_GROUPS, h = quarter / 2;
    const word2 x = quarter % 2 ? o.x[g][h].zw : o.x[g][h].xy;
    if (b < MY_BLOCKS) s.of[b][g] = mfma16(quarter % 2 ? o.w[b][h].zw : o.w[b][h].xy, x, s.of[b][g]);
  }
}

// The order of a round's instructions: behind each product one that writes LDS and one that loads, then one that reads LDS.
MLAF_DEV void under_products() {
  constexpr int PRODUCT = 8, LOAD = 32, READ = 256, WRITE = 512; // what sched_group_barrier calls them
#pragma unroll
  for (int i = 0; i < LOADS; i++) {
    __builtin_amdgcn_sched_group_barrier(PRODUCT, 1, 0);
    __builtin_amdgcn_sched_group_barrier(WRITE, 1, 0);
    __builtin_amdgcn_sched_group_barrier(LOAD, 1, 0);
  }
#pragma unroll
  for (int i = 0; i < READS; i++) {
    __builtin_amdgcn_sched_group_barrier(PRODUCT, 1, 0);
    __builtin_amdgcn_sched_group_barrier(READ, 1, 0);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) mlaf_mla_o_proj_staged_e5ad130e(const mlaf_projection_kernel_args a) {
  __shared__ __attribute__((aligned(16))) char lds[61440];
  float* const sums = (float*)lds;
  float* const squares = sums + TOKENS * PITCH;
  const int thread = (int)my_thread(), lane = thread % 64, wave = uniform(thread / 64), row = lane % 16, group = lane / 16;
  const share mine = my_share();
  const place p = place_of(a, mine.tile);
  const i64 first_token = mine.part * TOKENS;
  const int by_outputs = wave % WAVES_BY_OUTPUTS * MY_BLOCKS, by_tokens = wave / WAVES_BY_OUTPUTS * MY_GROUPS;
  const int from_row = 8 * wave + lane / 8; // of number 0; number i is 8 * WAVES * i rows further on
  char* const to = lds + from_row * 128 + ((lane % 8) ^ (from_row % 8)) * 16;
  const char *w[2], *x[2];
#pragma unroll
  for (int h = 0; h < 2; h++) {
    w[h] = lds + 2048 * by_outputs + row * 128 + ((4 * h + group) ^ (row % 8)) * 16;
    x[h] = w[h] + X_AT + 2048 * (by_tokens - by_outputs);
  }
  source from;
#pragma unroll
  for (int i = 0; i < W_LOADS; i++) {
    const int output = p.first + from_row + 8 * WAVES * i;
    from.row[i] = p.w + (output < OUTER ? output : OUTER - 1) * a.w_row + 16 * (lane % 8);
  }
#pragma unroll 1
  for (i64 t0 = first_token; t0 < a.tokens; t0 += TILE_BLOCKS * TOKENS) {
    if (t0 > first_token) __syncthreads(); // those before were written from the sums
    source at = from;
#pragma unroll
    for (int i = 0; i < X_LOADS; i++)
      at.row[W_LOADS + i] = row_of_x(a, p, t0 + from_row + 8 * WAVES * i) + 16 * (lane % 8);
    line_set lines[DEPTH];
    operands o[2];
    sums_of_wave s = {};
#pragma unroll
    for (int r = 0; r < DEPTH; r++) ask(at, r, lines[r]);
    int left = GROUPS_OF_ROUNDS - 1; // groups of DEPTH rounds behind the one that is loaded
    auto next_rounds = [&] { go_on(at, left > 0 ? 128 * DEPTH : 0), left--; };
    next_rounds();
#pragma unroll
    for (int r = 0; r < 2; r++) {
      weigh(lines[r]);
      put(lines[r], to + r * STAGE);
      ask(at, r, lines[r]);
    }
    __syncthreads();
    take(w, x, 0, o[0]);
    weigh(lines[2 % DEPTH]);
    int in = 2 * STAGE, out = STAGE;
#pragma unroll 1
    for (int group_of_rounds = 0; group_of_rounds < GROUPS_OF_ROUNDS; group_of_rounds++)
#pragma unroll
      for (int d = 0; d < DEPTH; d++) {
        line_set& next = lines[(d + 2) % DEPTH];
        if (d + 2 == DEPTH) next_rounds();
        __builtin_amdgcn_sched_barrier(0);
        put(next, to + in);
        __builtin_amdgcn_sched_barrier(ALL_BUT_LDS); // the barrier below counts on reads being the last
        take(w, x, out, o[(d + 1) % 2]);
        ask(at, (d + 2) % DEPTH, next);
        multiply(o[d % 2], 0, PRODUCTS, s);
        under_products();
        __builtin_amdgcn_sched_barrier(0);
        asm volatile("s_waitcnt lgkmcnt(%0)\ns_barrier" ::"n"(READS) : "memory");
        in = in == 2 * STAGE ? 0 : in + STAGE;
        out = out == 2 * STAGE ? 0 : out + STAGE;
      }
    __syncthreads(); // what the last rounds took for one more is read: the sums go there
#pragma unroll
    for (int g = 0; g < MY_GROUPS; g++) {
      const int token = 16 * (by_tokens + g) + row;
      float* const sum = sums + token * PITCH + 16 * by_outputs + 4 * group;
#pragma unroll
      for (int b = 0; b < MY_BLOCKS; b++) *(f32x4*)(sum + 16 * b) = s.of[b][g];
    }
    __syncthreads();
    finish(a, p, t0, sums, squares);
  }
}
