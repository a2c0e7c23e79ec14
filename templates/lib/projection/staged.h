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
//@ contract(arch.wave == 64, "wave size %d", arch.wave)
//@ contract(inner % (64 * depth) == 0, "%d values of a sum are no rounds of 64, %d together", inner, depth)
//@ contract(depth == 2 or depth == 4, "depth %d is not 2 or 4", depth)
//@ contract(norm == 0 or dtype == "bf16", "with a norm weights times the norm's may be too small for f16")
//@ contract(outer % 8 == 0, "%d outputs are not a multiple of 8", outer)
//@ local groups = pass // 16
//@ local staged = require("projection/staged")
//@ local made = staged.make({ blocks = blocks, pass = pass, norm = norm })
//@ local waves = staged.waves
//@ contract(not made.refused, "%s", made.refused)
//@ contract(made.lds <= arch.lds_bytes, "%d bytes of LDS", made.lds)
//@ declares{ threads = 64 * waves, rows_per_wg = made.tile // parts, lds_bytes = made.lds }
//@ local side = require("projection/side")

#define MLAF_BF16 ${dtype == "bf16" and 1 or 0}
#define MLAF_MFMA_K32 0
//@ include("lib/projection/machine.h")
//@ include("lib/mfma.h")
//@ include("lib/projection/args.h")

constexpr int INNER = ${inner}, OUTER = ${outer}, TOKENS = ${pass}, WAYS = 1, THREADS = ${64 * waves};
constexpr int TILE = ${made.tile};
//@ include("lib/projection/block.h", { inner = inner, norm = norm, residual = residual, turn = 0, style = "unrotated" })
//@ include("lib/projection/parts.h", { tile = made.tile, outer = outer, parts = parts })
constexpr int WAVES = ${waves}, BLOCKS = ${blocks}, GROUPS = ${groups};
constexpr int MY_BLOCKS = ${made.blocks}, MY_GROUPS = ${made.groups}; // of a wave
constexpr int WAVES_BY_OUTPUTS = BLOCKS / MY_BLOCKS;
constexpr int DEPTH = ${depth}, GROUPS_OF_ROUNDS = INNER / (64 * DEPTH);
constexpr int STAGE = ${made.stage}, X_AT = BLOCKS * 2048; // bytes; 16 rows are 2048
constexpr int W_LOADS = 2 * BLOCKS / WAVES, X_LOADS = 2 * GROUPS / WAVES, LOADS = W_LOADS + X_LOADS; // of a wave and round
constexpr int ALL_BUT_LDS = 127; // what sched_barrier lets pass
constexpr int READS = 2 * (MY_BLOCKS + MY_GROUPS);

//@ if side.of(template) then
//@ include("lib/projection/launch.h", { shared = 0, cluster = 1, maps = {}, flags = 0 })
//@ end
// What a lane loads of a round: number i of a wave is eight rows, this lane's 16 bytes of one of them.
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
// What a wave multiplies in a round: halves of a line of 16 rows.
struct operands {
  word4 w[MY_BLOCKS][2], x[MY_GROUPS][2];
};
struct sums_of_wave {
  f32x4 of[MY_BLOCKS][MY_GROUPS];
//@ if norm == 1 then
  f32x4 squares[MY_GROUPS];
//@ end
};

// Line `at` of the rounds that `from` stands at.
MLAF_DEV void ask(const source& from, int at, line_set& to) {
#pragma unroll
  for (int i = 0; i < LOADS; i++) to.of[i] = load<word4>(from.row[i] + 128 * at);
//@ if norm == 1 then
  to.gain = load<word4>(from.gain + 128 * at);
//@ end
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
// What a norm makes of lines before they go into LDS.
MLAF_DEV void weigh(line_set& lines) {
//@ if norm == 1 then
#pragma unroll
  for (int i = 0; i < W_LOADS; i++)
#pragma unroll
    for (int k = 0; k < 4; k++) lines.of[i][k] = weighed(lines.of[i][k], lines.gain[k]);
//@ end
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
constexpr int COLUMN = MY_BLOCKS + ${norm}, PRODUCTS = 4 * COLUMN * MY_GROUPS;
MLAF_DEV void multiply(const operands& o, int first, int last, sums_of_wave& s) {
#pragma unroll
  for (int i = 0; i < PRODUCTS; i++) {
    if (i < first || i >= last) continue;
    const int b = i % COLUMN, g = i / COLUMN % MY_GROUPS, quarter = i / COLUMN / MY_GROUPS, h = quarter / 2;
    const word2 x = quarter % 2 ? o.x[g][h].zw : o.x[g][h].xy;
    if (b < MY_BLOCKS) s.of[b][g] = mfma16(quarter % 2 ? o.w[b][h].zw : o.w[b][h].xy, x, s.of[b][g]);
//@ if norm == 1 then
    else s.squares[g] = mfma16(x, x, s.squares[g]);
//@ end
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
//@ if norm == 1 then
// A round's later products, and what a norm makes of lines under them: some of its words behind some of the products.
MLAF_DEV void weigh_under_products(const operands& o, sums_of_wave& s, line_set& lines) {
  constexpr int WORDS = 4 * W_LOADS, LEFT = PRODUCTS / 2;
  constexpr int VECTOR = 2, PRODUCT = 8;
#pragma unroll
  for (int i = 0; i < WORDS; i++) {
    const int from = LEFT + LEFT * i / WORDS, to = LEFT + LEFT * (i + 1) / WORDS;
    multiply(o, from, to, s);
    u32 word = weighed(lines.of[i / 4][i % 4], lines.gain[i % 4]);
    asm volatile("" : "+v"(word)); // here, not behind the barrier
    lines.of[i / 4][i % 4] = word;
#pragma unroll
    for (int k = from; k < to; k++) {
      __builtin_amdgcn_sched_group_barrier(PRODUCT, 1, 0);
      __builtin_amdgcn_sched_group_barrier(VECTOR, 4, 0);
    }
    __builtin_amdgcn_sched_barrier(0);
  }
}
//@ end

extern "C" __global__ void __launch_bounds__(THREADS) ${symbol}(const ${side.args(template, "mlaf_projection_kernel_args")} a) {
  __shared__ __attribute__((aligned(16))) char lds[${made.lds}];
  float* const sums = (float*)lds;
  float* const squares = sums + TOKENS * PITCH;
  const int thread = (int)my_thread(), lane = thread % 64, wave = uniform(thread / 64), row = lane % 16, group = lane / 16;
//@ if side.of(template) then
  if (appended(a, TILES * TILE_BLOCKS)) return;
//@ end
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
//@ if norm == 1 then
  from.gain = a.gain + 16 * (lane % 8);
//@ end
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
        multiply(o[d % 2], 0, ${norm == 1 and "PRODUCTS / 2" or "PRODUCTS"}, s);
        under_products();
        __builtin_amdgcn_sched_barrier(0);
//@ if norm == 1 then
        weigh_under_products(o[d % 2], s, lines[(d + 3) % DEPTH]);
//@ end
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
//@ if norm == 1 then
      if (by_outputs == 0 && group == row / 4) squares[token] = s.squares[g][row % 4];
//@ end
    }
    __syncthreads();
    finish(a, p, t0, sums, squares);
  }
}
