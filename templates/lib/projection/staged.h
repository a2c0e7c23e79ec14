// A projection by matrix instructions of CDNA, for many tokens: a block's rows of W and of x go through LDS, where all its waves
// take them from. Lines of 128 bytes come whole, eight rows a load, so that L1 finds no two rows in one of its banks, and no
// lane has to put anything in order.
//
//   round     64 values of the sum: a line of each of the block's rows, 16 * blocks of W and `pass` of x; of 16 outputs two
//             lines
//   stage     of LDS, of three where they fit, else of two: the lines of a round, row after row. 16 bytes number c of a row lie
//             at c ^ row % 8: eight lanes that write a row, or read eight rows, find all banks
//   parts     blocks that share the passes of a tile (parts.h)
//   wave      some groups of 16 outputs times some of 16 tokens, and the whole sum of each; or more of them, and halves of a
//             round's lines: then so many waves' sums meet at the end. What reads least from LDS is taken
//
//             loads        into LDS   out of LDS   products
//   round t   t+2+depth    t+2        t+1          t
//
// One barrier a round. It waits for what was written, which is read in the next one, but of three stages not for what is read:
// that stage is written again two barriers later, and what was read is multiplied before. Of two it is written again behind the
// next barrier, which waits for all; so reads come first, and writes behind them. Between two barriers the wave's other
// instructions come under its products. Loads behind the last round take lines of the last ones once more. Lanes beyond the last
// output or token load the last one's, whose results nobody writes. With a norm W is multiplied by the norm's weights and rounded
// before it goes into LDS (of f16 it could be too small: not here); squares are products of x with itself, of which the diagonal
// counts. The factor of a token comes in at the end.
//@ contract(arch.wave == 64, "wave size %d", arch.wave)
//@ contract(depth == 2 or depth == 4, "depth %d is not 2 or 4", depth)
//@ contract(norm == 0 or dtype == "bf16", "with a norm weights times the norm's may be too small for f16")
//@ contract(outer % 8 == 0, "%d outputs are not a multiple of 8", outer)
//@ local groups = pass // 16
//@ local staged = require("projection/staged")
//@ local made = staged.make({ blocks = blocks, pass = pass, norm = norm })
//@ local waves = staged.waves
//@ contract(not made.refused, "%s", made.refused)
//@ contract(inner % (made.values * depth) == 0, "%d values of a sum are no rounds of %d, %d together", inner, made.values, depth)
//@ contract(made.lds <= arch.lds_bytes, "%d bytes of LDS", made.lds)
//@ declares{ threads = 64 * waves, rows_per_wg = made.tile // parts, lds_bytes = made.lds }
//@ local side = require("projection/side")

#define MLAF_BF16 ${dtype == "bf16" and 1 or 0}
#define MLAF_MFMA_K32 0
//@ include("lib/projection/machine.h")
//@ include("lib/mfma.h")
//@ include("lib/projection/args.h")

constexpr int INNER = ${inner}, OUTER = ${outer}, WAYS = ${made.ways}, THREADS = ${64 * waves};
constexpr int TOKENS = ${16 * made.together * made.by_tokens}; // whose sums meet at a time
constexpr int TILE = ${made.tile};
//@ include("lib/projection/block.h", { inner = inner, norm = norm, residual = residual, turn = 0, style = "unrotated" })
//@ include("lib/projection/one_trip.h")
//@ include("lib/projection/parts.h", { tile = made.tile, outer = outer, parts = parts })
constexpr int WAVES = ${waves}, BLOCKS = ${blocks}, GROUPS = ${groups}, LINES = ${made.lines}; // LINES: of a round
constexpr int MY_BLOCKS = ${made.blocks}, MY_GROUPS = ${made.groups}, MY_HALVES = 2 * LINES / WAYS; // of a wave
constexpr int WAVES_BY_TOKENS = ${made.by_tokens}, TOGETHER = ${made.together};
constexpr int DEPTH = ${depth}, GROUPS_OF_ROUNDS = INNER / (64 * LINES * DEPTH);
constexpr int STAGE = ${made.stage}, STAGES = ${made.stages}, X_AT = LINES * BLOCKS * 2048; // bytes; 16 rows are 2048
// Loads of a wave and round.
constexpr int W_LOADS = 2 * LINES * BLOCKS / WAVES, X_LOADS = 2 * LINES * GROUPS / WAVES, LOADS = W_LOADS + X_LOADS;
constexpr int ALL_BUT_LDS = 127; // what sched_barrier lets pass
constexpr int READS = MY_HALVES * (MY_BLOCKS + MY_GROUPS);

//@ if side.of(template) then
//@ include("lib/projection/launch.h", { shared = 0, cluster = 1, maps = {}, flags = 0 })
//@ end
// A lane's loads of a round: number i of a wave is eight rows, this lane's 16 bytes of one of them.
struct source {
  const char* row[LOADS];
//@ if norm == 1 then
  const char* gain;
//@ end
};
struct line_set {
  word4 of[LOADS];
//@ if norm == 1 then
  word4 gain;
//@ end
};
// A wave's operands of a round: halves of a line of 16 rows.
struct operands {
  word4 w[MY_BLOCKS][MY_HALVES], x[MY_GROUPS][MY_HALVES];
};
struct sums_of_wave {
  f32x4 of[MY_BLOCKS][MY_GROUPS];
//@ if norm == 1 then
  f32x4 squares[MY_GROUPS];
//@ end
};

// Load number i of round `at` of those that `from` stands at; with a norm the last one is of its weights.
constexpr int ASKS = LOADS + ${norm};
MLAF_DEV void ask(const source& from, int at, int i, line_set& to) {
//@ if norm == 1 then
  if (i == LOADS) {
    to.gain = load<word4>(from.gain + 128 * LINES * at);
    return;
  }
//@ end
  to.of[i] = load<word4>(from.row[i] + 128 * LINES * at);
}
MLAF_DEV void ask(const source& from, int at, line_set& to) {
#pragma unroll
  for (int i = 0; i < ASKS; i++) ask(from, at, i, to);
}
MLAF_DEV void go_on(source& from, int bytes) {
#pragma unroll
  for (int i = 0; i < LOADS; i++) from.row[i] += bytes;
//@ if norm == 1 then
  from.gain += bytes;
//@ end
}

//@ if norm == 1 then
// A word times the norm's, rounded: halves away from zero, which takes four instructions fewer than to even. Low bits of what is
// not a number are zero, so it stays so.
MLAF_DEV u32 weighed(u32 w, u32 gain) {
  const u32 low = bits_of(unpack_lo(w) * unpack_lo(gain)) + 0x8000u, high = bits_of(unpack_hi(w) * unpack_hi(gain)) + 0x8000u;
  return join_hi(low, high);
}
//@ end
// The norm scales lines before they go into LDS.
MLAF_DEV void weigh(line_set& lines) {
//@ if norm == 1 then
#pragma unroll
  for (int i = 0; i < W_LOADS; i++)
#pragma unroll
    for (int k = 0; k < 4; k++) lines.of[i][k] = weighed(lines.of[i][k], lines.gain[k]);
//@ end
}
// Number i of what goes into LDS, and of what comes from there.
MLAF_DEV void put(const line_set& lines, char* to, int i) {
  *(word4*)(to + (i < W_LOADS ? 0 : X_AT) + (i < W_LOADS ? i : i - W_LOADS) * WAVES * 1024) = lines.of[i];
}
MLAF_DEV void take(const char* (&w)[MY_HALVES], const char* (&x)[MY_HALVES], int stage, int i, operands& to) {
  const int h = i / (MY_BLOCKS + MY_GROUPS), b = i % (MY_BLOCKS + MY_GROUPS), g = b - MY_BLOCKS;
  if (g < 0) to.w[b][h] = *(const word4*)(w[h] + stage + 2048 * b);
  else to.x[g][h] = *(const word4*)(x[h] + stage + 2048 * WAVES_BY_TOKENS * g);
}

// A wave's products FIRST to LAST - 1 of a round.
constexpr int COLUMN = MY_BLOCKS + ${norm}, PRODUCTS = 2 * MY_HALVES * COLUMN * MY_GROUPS;
template <int FIRST, int LAST>
MLAF_DEV void multiply(const operands& o, sums_of_wave& s) {
#pragma unroll
  for (int i = FIRST; i < LAST; i++) {
    const int b = i % COLUMN, g = i / COLUMN % MY_GROUPS, quarter = i / COLUMN / MY_GROUPS, h = quarter / 2;
    const word2 x = quarter % 2 ? o.x[g][h].zw : o.x[g][h].xy;
    if (b < MY_BLOCKS) s.of[b][g] = mfma16(quarter % 2 ? o.w[b][h].zw : o.w[b][h].xy, x, s.of[b][g]);
//@ if norm == 1 then
    else s.squares[g] = mfma16(x, x, s.squares[g]);
//@ end
  }
}

// A round: products of `now`, and under them, evenly, all else, so that no port has many instructions to take at a time. What
// stands between two fences of the scheduler comes in the order of its groups: behind a product one of LDS, one load, vector
// instructions.
struct round_of_wave {
  const source& from;      // line `ask_at` of it is asked for into
  int ask_at;
  line_set& lines;         // what goes into LDS first,
  char* in;
  const char *(&w)[MY_HALVES], *(&x)[MY_HALVES]; // and what comes from there,
  int out;
  operands& then;          // to here
};
constexpr int REGIONS = ${norm == 1 and "4 * W_LOADS" or "PRODUCTS / 2"}; // with a norm a word of W each
constexpr int LDS_REGIONS = STAGES == 3 ? REGIONS : REGIONS - REGIONS / 6; // of two stages the barrier waits for all of it

// LDS instructions FIRST to LAST - 1 of a round.
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
// Region number I of a round, and those behind it.
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
//@ if norm == 1 then
    u32 word = weighed(to_weigh.of[I / 4][I % 4], to_weigh.gain[I % 4]);
    asm volatile("" : "+v"(word)); // here, not behind the barrier
    to_weigh.of[I / 4][I % 4] = word;
//@ end
#pragma unroll
    for (int k = FIRST; k < LAST; k++) {
      __builtin_amdgcn_sched_group_barrier(PRODUCT, 1, 0);
      __builtin_amdgcn_sched_group_barrier(LDS, 1, 0);
      __builtin_amdgcn_sched_group_barrier(LOAD, 1, 0);
//@ if norm == 1 then
      __builtin_amdgcn_sched_group_barrier(VECTOR, (9 * REGIONS + PRODUCTS - 1) / PRODUCTS, 0);
//@ end
    }
    __builtin_amdgcn_sched_barrier(0);
    do_round<I + 1>(r, now, s, to_weigh);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) ${symbol}(const ${side.args(template, "mlaf_projection_kernel_args")} a) {
  __shared__ __attribute__((aligned(16))) char lds[${made.lds}];
  float* const sums = (float*)lds;
  float* const squares = sums + WAYS * TOKENS * PITCH;
  const int thread = (int)my_thread(), lane = thread % 64, wave = uniform(thread / 64), row = lane % 16, group = lane / 16;
  fetch_arguments(a);
//@ if side.of(template) then
  if (appended(a, TILES * TILE_BLOCKS)) return;
//@ end
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
//@ if norm == 1 then
    at.gain = a.gain + mine_first / (16 * BLOCKS) % LINES * 128 + 16 * (lane % 8);
//@ end
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
//@ if made.stages == 2 then
    __syncthreads(); // what is read is written again
//@ end
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
    // The sums, so many groups of each wave at a time, which are tokens side by side.
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
//@ if norm == 1 then
        if (by_outputs == 0 && group == row / 4) squares[token] = s.squares[from_group + g][row % 4];
//@ end
      }
      __syncthreads();
      finish(a, p, t, sums, squares);
    }
  }
}
