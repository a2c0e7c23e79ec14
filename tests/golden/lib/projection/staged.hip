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
// [19 more lines of templates/lib/projection/machine.h]

MLAF_DEV void unpack(float (&v)[8], word4 x) {
// [11 more lines of templates/lib/projection/machine.h]
// [templates/lib/mfma.h]
// [templates/lib/projection/args.h]

constexpr int INNER = 1536, OUTER = 3072, WAYS = 2, THREADS = 256;
constexpr int TOKENS = 64; // whose sums meet at a time
constexpr int TILE = 64;
constexpr int TILES = (OUTER + TILE - 1) / TILE;
constexpr int PITCH = TILE + 4; // floats of a token's partial sums: neighbours lie in different banks

struct place {
// [18 more lines of templates/lib/projection/block.h]

MLAF_DEV void finish(const mlaf_projection_kernel_args& a, const place& p, i64 t0, const float* sums,
                     const float* squares, float up = 1.0f) {
#pragma unroll 1
// [9 more lines of templates/lib/projection/block.h]
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
// [11 more lines of templates/lib/projection/staged.h]
constexpr int REGIONS = 4 * W_LOADS; // with a norm a word of W each
constexpr int LDS_REGIONS = STAGES == 3 ? REGIONS : REGIONS - REGIONS / 6; // of two stages the barrier waits for all of it
// [22 more lines of templates/lib/projection/staged.h]
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
// [24 more lines of templates/lib/projection/staged.h]
    at.gain = a.gain + mine_first / (16 * BLOCKS) % LINES * 128 + 16 * (lane % 8);
#pragma unroll
// [24 more lines of templates/lib/projection/staged.h]
#pragma unroll 1
// [22 more lines of templates/lib/projection/staged.h]
        if (by_outputs == 0 && group == row / 4) squares[token] = s.squares[from_group + g][row % 4];
      }
      __syncthreads();
      finish(a, p, t, sums, squares);
    }
  }
}
