// Generated from templates/mla_v_out/mfma.hip.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_mla_v_out_mfma_720d97da
// parameters:
//   blocks = 1
//   depth = 4
//   dtype = bf16
//   parts = 1
//   pass = 16
//   rank = 512
//   v = 128
//   waves = 8
// regenerate: lua5.4 gen/cli.lua render mla_v_out/mfma target=gfx942 blocks=1 depth=4 dtype=bf16 parts=1 pass=16 rank=512 v=128 waves=8
// mla_v_out by matrix instructions of CDNA: values of each head from attention's rows, o[t, h] = W_UV[h] u[t, h].
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

constexpr int INNER = 512, OUTER = 128, TOKENS = 16, WAYS = 8, THREADS = 512;
constexpr int TILE = 16;
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
constexpr int BLOCKS = 1, GROUPS = 1; // GROUPS: of 16 tokens
constexpr int TOGETHER = TOKENS / 16; // groups whose sums meet at a time
constexpr int STEPS = INNER / 64, DEPTH = 4;

struct operands {
  const char* w[1]; // rows of this lane
  const char* x[GROUPS];
};
struct sums_of_wave {
  f32x4 of[BLOCKS][GROUPS];
};

// Lines in order: number j is what the lane loaded as number j ^ turn.
template <int N>
MLAF_DEV void in_order(word4 (&line)[N][2], int turn) {
#pragma unroll
  for (int bit = 1; bit < N; bit *= 2) {
    const bool on = turn & bit;
#pragma unroll
    for (int n = 0; n < N; n++) {
      if (n & bit) continue;
#pragma unroll
      for (int h = 0; h < 2; h++)
#pragma unroll
        for (int i = 0; i < 4; i++) { // values, not places: the compiler would choose between those at run time
          const u32 a = line[n][h][i], b = line[n + bit][h][i];
          line[n][h][i] = on ? b : a;
          line[n + bit][h][i] = on ? a : b;
        }
    }
  }
}

template <int N, bool X_IN_TURN>
MLAF_DEV void add_steps(const operands& o, int step, sums_of_wave& s) {
  word4 w[BLOCKS][N][2], x[GROUPS][N][2]; // halves of a line
  const int turn = (int)my_thread() % N, x_turn = X_IN_TURN ? turn : 0;
#pragma unroll
  for (int n = 0; n < N; n++) {
    const i64 at = (i64)step * 128 + (n ^ turn) * 128, x_at = (i64)step * 128 + (n ^ x_turn) * 128;
#pragma unroll
    for (int h = 0; h < 2; h++) {
#pragma unroll
      for (int b = 0; b < BLOCKS; b++) w[b][n][h] = load_weights(o.w[b] + at + 64 * h);
#pragma unroll
      for (int g = 0; g < GROUPS; g++) x[g][n][h] = load<word4>(o.x[g] + x_at + 64 * h);
    }
  }
  __builtin_amdgcn_sched_barrier(0); // all are asked for before any is waited for
#pragma unroll
  for (int b = 0; b < BLOCKS; b++) {
    in_order<N>(w[b], turn);
  }
#pragma unroll
  for (int g = 0; g < GROUPS; g++) {
    if (X_IN_TURN) in_order<N>(x[g], turn);
#pragma unroll
    for (int n = 0; n < 2 * N; n++) {
      word4 v = x[g][n / 2][n % 2];
#pragma unroll
      for (int b = 0; b < BLOCKS; b++) {
        s.of[b][g] = mfma16(w[b][n / 2][n % 2].xy, v.xy, s.of[b][g]);
        s.of[b][g] = mfma16(w[b][n / 2][n % 2].zw, v.zw, s.of[b][g]);
      }
    }
  }
}

// Steps begin .. end - 1 of a wave. X_IN_TURN: rows of x are in one bank, as those of W mostly are.
template <bool X_IN_TURN>
MLAF_DEV void add_up(const operands& o, int begin, int end, sums_of_wave& s) {
  int step = begin;
#pragma unroll 1
  for (; step + DEPTH <= end; step += DEPTH) add_steps<DEPTH, X_IN_TURN>(o, step, s);
#pragma unroll 1
  for (; step + 2 <= end; step += 2) add_steps<2, X_IN_TURN>(o, step, s);
#pragma unroll 1
  for (; step < end; step++) add_steps<1, X_IN_TURN>(o, step, s);
}

extern "C" __global__ void __launch_bounds__(THREADS) mlaf_mla_v_out_mfma_720d97da(const mlaf_projection_kernel_args a) {
  __shared__ __attribute__((aligned(16))) float sums[WAYS * TOKENS * PITCH];
  const float* const squares = nullptr;
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
  }
  const i64 first = mine.part * (16 * GROUPS);
  for (i64 t0 = first; t0 < a.tokens; t0 += TILE_BLOCKS * 16 * GROUPS) {
#pragma unroll
    for (int g = 0; g < GROUPS; g++) o.x[g] = row_of_x(a, p, t0 + 16 * g + row) + 16 * group;
    sums_of_wave s = {};
    if (a.x_token % 512 == 0) add_up<true>(o, begin, end, s);
    else add_up<false>(o, begin, end, s);
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
      }
      __syncthreads();
      finish(a, p, t0 + 16 * from, sums, squares);
    }
  }
}
