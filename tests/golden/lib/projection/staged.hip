// Generated from gen/projection/kernels.lua by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_mla_q_b_staged_b888127d
// parameters:
//   blocks = 4
//   depth = 4
//   dtype = bf16
//   heads = 16
//   nope = 128
//   norm = 1
//   parts = 2
//   pass = 64
//   q_rank = 1536
//   rope = 64
// regenerate: lua5.4 gen/cli.lua render mla_q_b/staged target=gfx942 blocks=4 depth=4 dtype=bf16 heads=16 nope=128 norm=1 parts=2 pass=64 q_rank=1536 rope=64

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

constexpr int INNER = 1536, OUTER = 3072, WAYS = 2, THREADS = 256;
constexpr int TOKENS = 64; // whose sums meet at a time
constexpr int TILE = 64;
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
constexpr int TILE_BLOCKS = 2;

struct share {
  u32 tile;
  int part;
};
MLAF_DEV share my_share() {
  const u32 head = my_block() / (TILES * TILE_BLOCKS) * TILES, at = my_block() % (TILES * TILE_BLOCKS);
  return {head + at % TILES, int(at / TILES)};
}
constexpr int WAVES = 4, BLOCKS = 4, GROUPS = 4, LINES = 1; // LINES: of a round
constexpr int MY_BLOCKS = 4, MY_GROUPS = 2, MY_HALVES = 2 * LINES / WAYS; // of a wave
constexpr int WAVES_BY_TOKENS = 2, TOGETHER = 2;
constexpr int DEPTH = 4, GROUPS_OF_ROUNDS = INNER / (64 * LINES * DEPTH);
constexpr int STAGE = 16384, STAGES = 3, X_AT = LINES * BLOCKS * 2048; // bytes; 16 rows are 2048
constexpr int W_LOADS = 2 * LINES * BLOCKS / WAVES, X_LOADS = 2 * LINES * GROUPS / WAVES, LOADS = W_LOADS + X_LOADS;
constexpr int ALL_BUT_LDS = 127; // what sched_barrier lets pass
constexpr int READS = MY_HALVES * (MY_BLOCKS + MY_GROUPS);

struct source {
  const char* row[LOADS];
  const char* gain;
};
struct line_set {
  word4 of[LOADS];
  word4 gain;
};
struct operands {
  word4 w[MY_BLOCKS][MY_HALVES], x[MY_GROUPS][MY_HALVES];
};
struct sums_of_wave {
  f32x4 of[MY_BLOCKS][MY_GROUPS];
  f32x4 squares[MY_GROUPS];
};

constexpr int ASKS = LOADS + 1;
MLAF_DEV void ask(const source& from, int at, int i, line_set& to) {
  if (i == LOADS) {
    to.gain = load<word4>(from.gain + 128 * LINES * at);
    return;
  }
  to.of[i] = load<word4>(from.row[i] + 128 * LINES * at);
}
MLAF_DEV void ask(const source& from, int at, line_set& to) {
#pragma unroll
  for (int i = 0; i < ASKS; i++) ask(from, at, i, to);
}
MLAF_DEV void go_on(source& from, int bytes) {
#pragma unroll
  for (int i = 0; i < LOADS; i++) from.row[i] += bytes;
  from.gain += bytes;
}

MLAF_DEV u32 weighed(u32 w, u32 gain) {
  const u32 low = bits_of(unpack_lo(w) * unpack_lo(gain)) + 0x8000u, high = bits_of(unpack_hi(w) * unpack_hi(gain)) + 0x8000u;
  return join_hi(low, high);
}
MLAF_DEV void weigh(line_set& lines) {
#pragma unroll
  for (int i = 0; i < W_LOADS; i++)
#pragma unroll
    for (int k = 0; k < 4; k++) lines.of[i][k] = weighed(lines.of[i][k], lines.gain[k]);
}
MLAF_DEV void put(const line_set& lines, char* to, int i) {
  *(word4*)(to + (i < W_LOADS ? 0 : X_AT) + (i < W_LOADS ? i : i - W_LOADS) * WAVES * 1024) = lines.of[i];
}
MLAF_DEV void take(const char* (&w)[MY_HALVES], const char* (&x)[MY_HALVES], int stage, int i, operands& to) {
  const int h = i / (MY_BLOCKS + MY_GROUPS), b = i % (MY_BLOCKS + MY_GROUPS), g = b - MY_BLOCKS;
  if (g < 0) to.w[b][h] = *(const word4*)(w[h] + stage + 2048 * b);
  else to.x[g][h] = *(const word4*)(x[h] + stage + 2048 * WAVES_BY_TOKENS * g);
}

constexpr int COLUMN = MY_BLOCKS + 1, PRODUCTS = 2 * MY_HALVES * COLUMN * MY_GROUPS;
template <int FIRST, int LAST>
MLAF_DEV void multiply(const operands& o, sums_of_wave& s) {
#pragma unroll
  for (int i = FIRST; i < LAST; i++) {
    const int b = i % COLUMN, g = i / COLUMN % MY_GROUPS, quarter = i / COLUMN / MY_GROUPS, h = quarter / 2;
    const word2 x = quarter % 2 ? o.x[g][h].zw : o.x[g][h].xy;
    if (b < MY_BLOCKS) s.of[b][g] = mfma16(quarter % 2 ? o.w[b][h].zw : o.w[b][h].xy, x, s.of[b][g]);
    else s.squares[g] = mfma16(x, x, s.squares[g]);
  }
}

struct round_of_wave {
  const source& from;      // line `ask_at` of it is asked for into
  int ask_at;
  line_set& lines;         // what goes into LDS first,
  char* in;
  const char *(&w)[MY_HALVES], *(&x)[MY_HALVES]; // and what comes from there,
  int out;
  operands& then;          // to here
};
constexpr int REGIONS = 4 * W_LOADS; // with a norm a word of W each
constexpr int LDS_REGIONS = STAGES == 3 ? REGIONS : REGIONS - REGIONS / 6; // of two stages the barrier waits for all of it

template <int FIRST, int LAST>
MLAF_DEV void lds_instructions(const round_of_wave& r) {
#pragma unroll
  for (int i = FIRST; i < LAST; i++) {
    const int write = STAGES == 3 ? i : i - READS, read = STAGES == 3 ? i - LOADS : i;
    if (i && (read == 0 || write == 0)) __builtin_amdgcn_sched_barrier(ALL_BUT_LDS); // all of one kind, then of the other
    if (read >= 0 && read < READS) take(r.w, r.x, r.out, read, r.then);
    else put(r.lines, r.in, write);
    if (STAGES == 2 && write >= 0) ask(r.from, r.ask_at, write, r.lines);
  }
}
template <int I>
MLAF_DEV void do_round(const round_of_wave& r, const operands& now, sums_of_wave& s, line_set& to_weigh) {
  if constexpr (I < REGIONS) {
    constexpr int PRODUCT = 8, LOAD = 32, LDS = 128, VECTOR = 2; // what sched_group_barrier calls them
    constexpr int ALL = LOADS + READS, FIRST = PRODUCTS * I / REGIONS, LAST = PRODUCTS * (I + 1) / REGIONS;
    lds_instructions<I < LDS_REGIONS ? ALL * I / LDS_REGIONS : ALL, I < LDS_REGIONS ? ALL * (I + 1) / LDS_REGIONS : ALL>(r);
#pragma unroll
    for (int k = ASKS * I / REGIONS; k < ASKS * (I + 1) / REGIONS; k++)
      if (STAGES == 3 || k >= LOADS) ask(r.from, r.ask_at, k, r.lines);
    multiply<FIRST, LAST>(now, s);
    u32 word = weighed(to_weigh.of[I / 4][I % 4], to_weigh.gain[I % 4]);
    asm volatile("" : "+v"(word)); // here, not behind the barrier
    to_weigh.of[I / 4][I % 4] = word;
#pragma unroll
    for (int k = FIRST; k < LAST; k++) {
      __builtin_amdgcn_sched_group_barrier(PRODUCT, 1, 0);
      __builtin_amdgcn_sched_group_barrier(LDS, 1, 0);
      __builtin_amdgcn_sched_group_barrier(LOAD, 1, 0);
      __builtin_amdgcn_sched_group_barrier(VECTOR, (9 * REGIONS + PRODUCTS - 1) / PRODUCTS, 0);
    }
    __builtin_amdgcn_sched_barrier(0);
    do_round<I + 1>(r, now, s, to_weigh);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) mlaf_mla_q_b_staged_b888127d(const mlaf_projection_kernel_args a) {
  __shared__ __attribute__((aligned(16))) char lds[49152];
  float* const sums = (float*)lds;
  float* const squares = sums + WAYS * TOKENS * PITCH;
  const int thread = (int)my_thread(), lane = thread % 64, wave = uniform(thread / 64), row = lane % 16, group = lane / 16;
  fetch_arguments(a);
  const share mine = my_share();
  const place p = place_of(a, mine.tile);
  const i64 first_token = mine.part * (16 * GROUPS);
  const int way = wave % WAYS, by_tokens = wave / WAYS % WAVES_BY_TOKENS, by_outputs = wave / WAYS / WAVES_BY_TOKENS * MY_BLOCKS;
  const int from_row = 8 * wave + lane / 8; // of number 0; number i is 8 * WAVES * i rows further on
  char* const to = lds + from_row * 128 + ((lane % 8) ^ (from_row % 8)) * 16;
  const char *w[MY_HALVES], *x[MY_HALVES];
#pragma unroll
  for (int h = 0; h < MY_HALVES; h++) {
    const int half = way * MY_HALVES + h, line = half / 2;
    char* const of_lane = lds + row * 128 + ((4 * (half % 2) + group) ^ (row % 8)) * 16;
    w[h] = of_lane + 2048 * (line * BLOCKS + by_outputs);
    x[h] = of_lane + X_AT + 2048 * (line * GROUPS + by_tokens);
  }
#pragma unroll 1
  for (i64 t0 = first_token; t0 < a.tokens; t0 += TILE_BLOCKS * 16 * GROUPS) {
    if (t0 > first_token) __syncthreads(); // those before were written from the sums
    int mine_first = from_row; // what is found by it is found anew for each pass: there are no registers to keep it in
    asm volatile("" : "+v"(mine_first));
    source at;
#pragma unroll
    for (int i = 0; i < W_LOADS; i++) {
      const int at_row = mine_first + 8 * WAVES * i, output = p.first + at_row % (16 * BLOCKS);
      at.row[i] = p.w + (output < OUTER ? output : OUTER - 1) * a.w_row + at_row / (16 * BLOCKS) * 128 + 16 * (lane % 8);
    }
    at.gain = a.gain + mine_first / (16 * BLOCKS) % LINES * 128 + 16 * (lane % 8);
#pragma unroll
    for (int i = 0; i < X_LOADS; i++) {
      const int at_row = mine_first + 8 * WAVES * i;
      at.row[W_LOADS + i] = row_of_x(a, p, t0 + at_row % (16 * GROUPS)) + at_row / (16 * GROUPS) * 128 + 16 * (lane % 8);
    }
    line_set lines[DEPTH];
    operands o[2];
    sums_of_wave s = {};
#pragma unroll
    for (int r = 0; r < DEPTH; r++) ask(at, r, lines[r]);
    int left = GROUPS_OF_ROUNDS - 1; // groups of DEPTH rounds behind the one that is loaded
    auto next_rounds = [&] { go_on(at, left > 0 ? 128 * LINES * DEPTH : 0), left--; };
    next_rounds();
#pragma unroll
    for (int r = 0; r < 2; r++) {
      weigh(lines[r]);
#pragma unroll
      for (int i = 0; i < LOADS; i++) put(lines[r], to + r * STAGE, i);
      ask(at, r, lines[r]);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < READS; i++) take(w, x, 0, i, o[0]);
    weigh(lines[2 % DEPTH]);
    int in = 2 % STAGES * STAGE, out = STAGE;
#pragma unroll 1
    for (int group_of_rounds = 0; group_of_rounds < GROUPS_OF_ROUNDS; group_of_rounds++)
#pragma unroll
      for (int d = 0; d < DEPTH; d++) {
        line_set& next = lines[(d + 2) % DEPTH];
        if (d + 2 == DEPTH) next_rounds();
        __builtin_amdgcn_sched_barrier(0);
        do_round<0>({at, (d + 2) % DEPTH, next, to + in, w, x, out, o[(d + 1) % 2]}, o[d % 2], s, lines[(d + 3) % DEPTH]);
        asm volatile("s_waitcnt lgkmcnt(%0)\ns_barrier" ::"n"(STAGES == 3 ? READS : 0) : "memory");
        in = in == (STAGES - 1) * STAGE ? 0 : in + STAGE;
        out = out == (STAGES - 1) * STAGE ? 0 : out + STAGE;
      }
#pragma unroll
    for (int from_group = 0; from_group < MY_GROUPS; from_group += TOGETHER) {
      const i64 t = t0 + 16 * WAVES_BY_TOKENS * from_group;
      if (from_group && t >= a.tokens) break; // the same for all
      __syncthreads(); // what the last rounds took for one more is read, and sums before these
#pragma unroll
      for (int g = 0; g < TOGETHER; g++) {
        const int token = way * TOKENS + 16 * (WAVES_BY_TOKENS * g + by_tokens) + row;
        float* const sum = sums + token * PITCH + 16 * by_outputs + 4 * group;
#pragma unroll
        for (int b = 0; b < MY_BLOCKS; b++) *(f32x4*)(sum + 16 * b) = s.of[b][from_group + g];
        if (by_outputs == 0 && group == row / 4) squares[token] = s.squares[from_group + g][row % 4];
      }
      __syncthreads();
      finish(a, p, t, sums, squares);
    }
  }
}
