// Low-rank columns, through RMSNorm, to query heads, and those at once into the latent space, by matrix instructions of CDNA:
// y[t, h] = (q W_UK[h], rope(q_pe)), q = W[h] norm(x[t]). Queries never leave the compute unit that made them.
//
//   blocks    `shares` of a head's tokens, `each` of them, times `columns` of its latent columns. All blocks of a head make its
//             queries anew, so they are on one die, whose L2 has the head's weights for all of them
//   first     x times the norm's weights lies in LDS; a wave has 16 outputs and the whole sum. W comes straight from memory by
//             lines, as in mfma.h: of four that are asked for together lane l has line n ^ l % 4 as its number n
//   rope      groups of 16 rope columns, which a head's first blocks have; a group's sum is shared by the waves
//   second    waves have LANE_COLUMNS * 16 of the block's latent columns each, or a part of the sum, where there are fewer
//
// Rows of x behind the last token are those of the last one.
//@ contract(arch.wave == 64, "wave size %d", arch.wave)
//@ contract(heads % arch.xcds == 0, "%d heads are not dealt out evenly over %d dies", heads, arch.xcds)
//@ local plan = require("projection/plan").mfma_absorb({ inner = inner, nope = nope, rope = rope, rank = rank,
//@   each = each, shares = shares, columns = columns })
//@ contract(not plan.refused, "%s", plan.refused)
//@ contract(plan.lds <= arch.lds_bytes, "%d bytes of LDS", plan.lds)
//@ declares{ threads = plan.threads, rows_per_wg = plan.rows, lds_bytes = plan.lds }
//@ local shrinks = dtype == "f16" -- gain.h; a bf16 stays as it is

#define MLAF_BF16 ${dtype == "bf16" and 1 or 0}
#define MLAF_MFMA_K32 0
//@ include("lib/projection/machine.h")
//@ include("lib/mfma.h")
//@ include("lib/projection/args.h")
//@ include("lib/projection/launch.h", { shared = 0, cluster = 1, maps = {}, flags = require("projection/side").ABSORBS })

constexpr int INNER = ${inner}, NOPE = ${nope}, P = ${rope}, THREADS = ${plan.threads}, WAVES = ${plan.waves};
constexpr int EACH = ${each}, SHARES = ${shares}, COLUMNS = ${columns};
constexpr int TILES = ${heads} * SHARES * COLUMNS; // blocks of the product
constexpr int UNITS = INNER / 256, AHEAD = ${plan.ahead}; // UNITS: sets of four lines of a row; so many are in flight
constexpr int TURNED = ${plan.turned}, TURNING = ${plan.turning}; // groups of rope columns, of as many blocks of a head
constexpr int TURNED_UNITS = ${plan.turned_units}; // of a wave
constexpr int OUTS = ${plan.outs}, LANE_COLUMNS = ${plan.lane_columns}, WAYS = ${plan.ways}; // OUTS: latent columns of a block
constexpr int STEPS = NOPE / 16 / WAYS; // of the second product
constexpr int Q_PITCH = 2 * NOPE + 8, TURN_PITCH = 20, SUM_PITCH = OUTS + 4; // bytes; floats: neighbours lie in other banks
constexpr int SUMS_AT = ${plan.sums_at}, Q_AT = ${plan.q_at}, FACTORS_AT = ${plan.factors_at};
//@ include("lib/projection/gain.h")
//@ include("lib/projection/one_trip.h")
//@ include("lib/projection/side.h")

// The second product's arguments follow the first product's and those of what is appended. Its x is not read.
template <class ARGS>
struct absorbing : ARGS {
  mlaf_projection_kernel_args second;
};
typedef absorbing<beside<mlaf_projection_kernel_args>> params;
static_assert(sizeof(params) == sizeof(beside<mlaf_projection_kernel_args>) + 152, "differs from runtime/op/joint.c");

struct lines {
  word4 of[4][2]; // halves of a line
};

// Four lines of a row of W, those of unit `unit`.
MLAF_DEV void ask(lines& to, const char* row, int unit, int turn) {
#pragma unroll
  for (int n = 0; n < 4; n++)
#pragma unroll
    for (int h = 0; h < 2; h++) to.of[n][h] = load_weights(row + 512 * unit + 128 * (n ^ turn) + 64 * h);
}
// Lanes in `on` exchange a and b. Both masks of in_order in scalar registers would make each choice an instruction of 8 bytes.
MLAF_DEV void exchange_where(u64 on, word4& a, word4& b) {
  u32 x[4], y[4];
  asm("s_mov_b64 vcc, %16\n"
      "v_cndmask_b32_e32 %0, %8, %12, vcc\n"
      "v_cndmask_b32_e32 %1, %9, %13, vcc\n"
      "v_cndmask_b32_e32 %2, %10, %14, vcc\n"
      "v_cndmask_b32_e32 %3, %11, %15, vcc\n"
      "v_cndmask_b32_e32 %4, %12, %8, vcc\n"
      "v_cndmask_b32_e32 %5, %13, %9, vcc\n"
      "v_cndmask_b32_e32 %6, %14, %10, vcc\n"
      "v_cndmask_b32_e32 %7, %15, %11, vcc"
      : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(y[0]), "=&v"(y[1]), "=&v"(y[2]), "=&v"(y[3])
      : "v"(a.x), "v"(a.y), "v"(a.z), "v"(a.w), "v"(b.x), "v"(b.y), "v"(b.z), "v"(b.w), "s"(on)
      : "vcc");
  a = word4{x[0], x[1], x[2], x[3]}, b = word4{y[0], y[1], y[2], y[3]};
}
// Lines in order, in eight pieces: by bit 1 of their numbers, then by bit 2.
template <int PIECE>
MLAF_DEV void put_in_order(lines& w) {
  constexpr int H = PIECE & 1, BY = PIECE / 4, FIRST = BY ? PIECE / 2 % 2 : PIECE / 2 % 2 * 2;
  exchange_where(BY ? 0xccccccccccccccccul : 0xaaaaaaaaaaaaaaaaul, w.of[FIRST][H], w.of[FIRST + 1 + BY][H]);
}
MLAF_DEV void in_order(lines& w) {
  put_in_order<0>(w), put_in_order<1>(w), put_in_order<2>(w), put_in_order<3>(w);
  put_in_order<4>(w), put_in_order<5>(w), put_in_order<6>(w), put_in_order<7>(w);
  __builtin_amdgcn_sched_barrier(0);
  asm volatile("s_nop 1"); // a matrix instruction takes nothing that a vector instruction has made just before it (mfma.h)
}

// A product added to where a sum lies: the compiler may take other registers for what comes out, and exchange_where() would
// overwrite those that came in too early.
MLAF_DEV void add_product(f32x4& sum, u32x2 a, u32x2 b) { MFMA_ASM("${arch.mfma.m16n16k16[dtype]}", "v", "v", "v", a, b, sum); }
MLAF_DEV void begin_sum(f32x4 (&sum)[2]) {
  sum[0] = sum[1] = f32x4{};
  asm volatile("s_nop 1" : "+v"(sum[0]), "+v"(sum[1]));
}
MLAF_DEV f32x4 end_sum(f32x4 (&sum)[2]) {
  __builtin_amdgcn_sched_barrier(0);
//@ local settle = require("amd").nops(arch.hazard.xdl_to_valu[arch.mfma.m16n16k16.passes], "\\n")
  asm volatile("${settle}" : "+v"(sum[0]), "+v"(sum[1]));
  return sum[0] + sum[1];
}

// An eighth of a unit: adds its products to a sum of two halves, so that an instruction does not wait for the one before it.
// Beside them the next unit's order (NEXT), and loads of a later one (LATER). at: the lane's 16 bytes of x, of half lines.
template <int I, bool NEXT, bool LATER>
MLAF_DEV void add_eighth(f32x4 (&sum)[2], const lines& w, word4 (&v)[8], const char* const (&at)[2], lines& next, lines& later,
                         const char* row, int turn) {
  if (I + 2 < 8) v[(I + 2) % 8] = *(const word4*)(at[I % 2] + 128 * (I / 2 + 1));
  if (LATER) later.of[I / 2][I % 2] = load_weights(row + 128 * (I / 2 ^ turn) + 64 * (I % 2));
  add_product(sum[0], w.of[I / 2][I % 2].xy, v[I].xy);
  if (NEXT) put_in_order<I>(next);
  add_product(sum[1], w.of[I / 2][I % 2].zw, v[I].zw);
  __builtin_amdgcn_sched_barrier(0);
}
template <bool NEXT, bool LATER>
MLAF_DEV void add_unit(f32x4 (&sum)[2], const lines& w, const char* x, int swizzle, int group, lines& next, lines& later,
                       const char* row, int turn) {
  const char* const at[2] = {x + 16 * (group ^ swizzle), x + 16 * ((4 + group) ^ swizzle)};
  word4 v[8];
  v[0] = *(const word4*)at[0], v[1] = *(const word4*)at[1];
  add_eighth<0, NEXT, LATER>(sum, w, v, at, next, later, row, turn);
  add_eighth<1, NEXT, LATER>(sum, w, v, at, next, later, row, turn);
  add_eighth<2, NEXT, LATER>(sum, w, v, at, next, later, row, turn);
  add_eighth<3, NEXT, LATER>(sum, w, v, at, next, later, row, turn);
  add_eighth<4, NEXT, LATER>(sum, w, v, at, next, later, row, turn);
  add_eighth<5, NEXT, LATER>(sum, w, v, at, next, later, row, turn);
  add_eighth<6, NEXT, LATER>(sum, w, v, at, next, later, row, turn);
  add_eighth<7, NEXT, LATER>(sum, w, v, at, next, later, row, turn);
}

// ---- x: rows of the norm's input in LDS, 16 bytes c of row t at c ^ t % 8 of its eight, and factors ----------------------
constexpr int CHUNKS = INNER / 8, ROUNDS = (CHUNKS + 63) / 64, ROWS = EACH / WAVES; // ROWS: of a wave
struct raw_rows {
  word4 x[ROWS][ROUNDS], gain[ROUNDS];
};
MLAF_DEV u32 chunk_of(int round, int lane) { return smaller(u32(64 * round + lane), u32(CHUNKS - 1)); }

MLAF_DEV void ask_rows(raw_rows& r, const params& p, i64 t0, int count, int wave, int lane) {
#pragma unroll
  for (int k = 0; k < ROWS; k++) {
    if (wave + WAVES * k >= count) break;
    const char* const row = p.x + (t0 + wave + WAVES * k) * p.x_token;
#pragma unroll
    for (int i = 0; i < ROUNDS; i++) r.x[k][i] = load<word4>(row + 16 * chunk_of(i, lane));
  }
#pragma unroll
  for (int i = 0; i < ROUNDS; i++) r.gain[i] = load<word4>(p.gain + 16 * chunk_of(i, lane));
}
// Two pairs multiplied, each product rounded, ties away from zero where that takes fewer instructions.
MLAF_DEV u32 times(f32x2 v, u32 gain, u32 half) {
  const f32x2 x = v * f32x2{unpack_lo(gain), unpack_hi(gain)};
//@ if dtype == "bf16" and arch.has_cvt_pk_bf16 == 0 then
  return __builtin_amdgcn_perm(bits_of(x[1]) + half, bits_of(x[0]) + half, 0x07060302u);
//@ else
  return pack2(x[0], x[1]);
//@ end
}
// A row times the norm's weights; the lane's part of its sum of squares.
MLAF_DEV void put_row(const raw_rows& r, int k, f32x2& squares, const gain_scale& shrink, char* memory, int wave, int lane) {
  const int token = wave + WAVES * k;
  u32 half = 0x8000u; // of a bf16's last place; in a register, since as a literal it makes an instruction longer
  asm volatile("" : "+s"(half));
  squares = f32x2{0.0f, 0.0f};
#pragma unroll
  for (int i = 0; i < ROUNDS; i++) {
    if (CHUNKS % 64 && 64 * i + lane >= CHUNKS) break;
    word4 v = r.x[k][i];
#pragma unroll
    for (int j = 0; j < 4; j++) {
      const f32x2 x = {unpack_lo(v[j]), unpack_hi(v[j])};
      squares = __builtin_elementwise_fma(x, x, squares);
      v[j] = times(x, shrunk(r.gain[i][j], shrink), half);
    }
    *(word4*)(memory + token * 2 * INNER + 16 * ((64 * i + lane) ^ (token & 7))) = v;
  }
}
MLAF_DEV void put_factors(const params& p, const f32x2 (&squares)[ROWS], float up, char* memory, int wave, int lane) {
  float square[ROWS];
#pragma unroll
  for (int k = 0; k < ROWS; k++) square[k] = squares[k][0] + squares[k][1];
#pragma unroll
  for (int d = 32; d; d /= 2)
#pragma unroll
    for (int k = 0; k < ROWS; k++) square[k] += exchange(square[k], lane, d);
#pragma unroll
  for (int k = 0; k < ROWS; k++)
    if (lane == 0)
      ((float*)(memory + FACTORS_AT))[wave + WAVES * k] =
          inverse_root(multiply_add(square[k], ${f32(1.0 / inner)}, p.eps)) * up;
}

//@ if rope > 0 then
// ---- Rope columns: a thread has a token and two columns that turn together, of group thread / 128 ------------------------
struct angle {
  float cos, sin;
};
MLAF_DEV angle angle_of(const params& p, i64 position, int column) {
//@   if style == "unrotated" then
  return {1.0f, 0.0f};
//@   else
  const mlaf_projection_kernel_args& a = p.second;
  if ((u64)position >= (u64)a.table_rows) return {not_a_number(), not_a_number()};
  const i64 at = position * a.table_row;
  if (a.flags & PROJECTION_TABLE_16)
    return {unpack_lo(load<unsigned short>(a.cos + at + 2 * column)), unpack_lo(load<unsigned short>(a.sin + at + 2 * column))};
  return {load<float>(a.cos + at + 4 * column), load<float>(a.sin + at + 4 * column)};
//@   end
}
// The rope column that is row `row` of group `of`: with halves eight of each half.
MLAF_DEV int rope_column(int of, int row) {
  return ${style == "halves" and "row / 8 * (P / 2) + 8 * of + row % 8" or "16 * of + row"};
}
// A lane's first address in W for unit `e` of its block's rope columns: UNITS of each group.
MLAF_DEV const char* row_of_turned(const params& p, const char* w, int column, int e, int row, int group) {
  return w + (NOPE + rope_column(column * TURNED + e / UNITS, row)) * p.w_row + 16 * group;
}
MLAF_DEV void turn_columns(const params& p, const char* memory, char* y, int of, int token, int pair, const angle& turn) {
  const int first = ${style == "halves" and "pair" or "2 * pair"}, other = first + ${style == "halves" and "8" or "1"};
  float a = 0.0f, b = 0.0f;
#pragma unroll
  for (int u = 0; u < UNITS; u++) {
    const float* const sums = (const float*)memory + ((of % TURNED * UNITS + u) * 16 + token) * TURN_PITCH;
    a += sums[first], b += sums[other];
  }
  const float factor = ((const float*)(memory + FACTORS_AT))[token];
  a *= factor, b *= factor;
//@   if style ~= "unrotated" then
  const float across = b * turn.sin, back = a * turn.sin;
  a = multiply_add(a, turn.cos, -across);
  b = multiply_add(b, turn.cos, back);
//@   end
  const u32 both = pack2(a, b);
//@   if style == "halves" then
  store(y + 2 * (${rank} + rope_column(of, first)), (unsigned short)both);
  store(y + 2 * (${rank} + rope_column(of, other)), (unsigned short)(both >> 16));
//@   else
  store(y + 2 * (${rank} + rope_column(of, first)), both);
//@   end
}
//@ end

// ---- W_UK: a lane has four rows of a step and LANE_COLUMNS columns of them -----------------------------------------------
constexpr int WORDS = LANE_COLUMNS / 2;
typedef u32 words_of_row __attribute__((ext_vector_type(WORDS)));
struct keys {
  words_of_row of[STEPS][4];
};
// Sums of 16 tokens, LANE_COLUMNS columns of each of a wave's 16 rows.
struct latent {
  f32x4 of[LANE_COLUMNS];
};
MLAF_DEV void ask_keys(keys& to, const char* w, i64 w_row, int group) {
#pragma unroll
  for (int s = 0; s < STEPS; s++)
#pragma unroll
    for (int r = 0; r < 4; r++) to.of[s][r] = load<words_of_row>(w + (16 * s + 4 * group + r) * w_row);
}
MLAF_DEV void multiply_keys(latent& sum, const keys& w, const char* q, int group) {
#pragma unroll
  for (int s = 0; s < STEPS; s++) {
    const u32x2 v = *(const u32x2*)(q + 32 * s + 8 * group);
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
      const u32x2 even = {join_lo(w.of[s][0][i], w.of[s][1][i]), join_lo(w.of[s][2][i], w.of[s][3][i])};
      const u32x2 odd = {join_hi(w.of[s][0][i], w.of[s][1][i]), join_hi(w.of[s][2][i], w.of[s][3][i])};
      sum.of[2 * i] = mfma16(even, v, sum.of[2 * i]);
      sum.of[2 * i + 1] = mfma16(odd, v, sum.of[2 * i + 1]);
    }
  }
}
// A lane has 4 * LANE_COLUMNS columns side by side of a token: four of each of its rows.
MLAF_DEV void add_latent(float (&v)[8], const latent& s, int eight) {
#pragma unroll
  for (int k = 0; k < 8; k++) v[k] = s.of[(8 * eight + k) % LANE_COLUMNS][(8 * eight + k) / LANE_COLUMNS];
}

// All arguments in one trip to memory (one_trip.h), the second product's, too.
MLAF_DEV void fetch_all(const params& p) {
  fetch_arguments(p);
  asm volatile("" ::"s"(p.gain), "s"(p.second.w), "s"(p.second.y), "s"(p.second.w_row), "s"(p.second.w_head),
               "s"(p.second.y_token), "s"(p.second.y_head));
}
// A value that the compiler knows nothing of: what is computed of it is not computed ahead of here.
MLAF_DEV u32 from_here(u32 x) {
  __builtin_amdgcn_sched_barrier(0);
  asm volatile("" : "+v"(x));
  return x;
}

extern "C" __global__ void __launch_bounds__(THREADS) ${symbol}(const params p) {
  __shared__ __attribute__((aligned(16))) char memory[${plan.lds}];
  const u32 thread = my_thread();
  const int wave = uniform((int)(thread / 64));
  fetch_all(p);
  if (appended(p, TILES)) return;
  const u32 turn_of_die = my_block() / ${arch.xcds};
  const int head = int(turn_of_die / (SHARES * COLUMNS) * ${arch.xcds} + my_block() % ${arch.xcds});
  const int part = int(turn_of_die % (SHARES * COLUMNS)), share = part % SHARES, column = part / SHARES;
  const gain_scale shrink = scale_of_gain(p, int(thread % 64));
  // Which latent columns and which part of the sum a wave has.
  const int by_columns = int((u32)wave / WAYS), way = int((u32)wave % WAYS);
//@ if rope > 0 then
  const bool has_turned = column < TURNING;
//@ end
#pragma unroll 1
  for (i64 t0 = EACH * share; t0 < p.tokens; t0 += EACH * SHARES) {
    const int count = p.tokens - t0 < EACH ? int(p.tokens - t0) : EACH;
    if (t0 != EACH * share) __syncthreads(); // what was in LDS is written
    raw_rows raw;
    ask_rows(raw, p, t0, count, wave, int(thread % 64));
    // W, while x comes.
    const u32 same = from_here(thread);
    const int lane = int(same % 64), row = int(same % 16), group = int(same % 64 / 16), turn = int(same % 4);
    const char* const w = p.w + (i64)head * (NOPE + P) * p.w_row;
    const char* const w_row = w + (16 * wave + row) * p.w_row + 16 * group;
    lines on_way[AHEAD + 1];
    f32x2 squares[ROWS] = {};
    ask(on_way[0], w_row, 0, turn);
//@ if rope > 0 then
    const int of = column * TURNED + int(same / 128), token = int(same / 8 % 16), pair = int(same % 8);
    const bool turns = has_turned && same < 128 * TURNED && token < count;
    i64 position = 0;
//@   if style ~= "unrotated" then
    if (turns) position = load<i64>(p.second.positions + t0 + token);
//@   end
//@ end
#pragma unroll
    for (int k = 0; k < ROWS || k < AHEAD; k++) { // rows are multiplied while memory is busy with W
      if (k && k < AHEAD) ask(on_way[k], w_row, k, turn);
      __builtin_amdgcn_sched_barrier(0);
      if (k < ROWS && wave + WAVES * k < count) put_row(raw, k, squares[k], shrink, memory, wave, lane);
    }
//@ if rope > 0 then
    angle angles = {0.0f, 0.0f};
    if (turns) angles = angle_of(p, position, 8 * of + pair);
//@ end
    in_order(on_way[0]);
    __syncthreads();
    const int x_row = smaller(row, count - 1), swizzle = x_row & 7;
    const char* const x = memory + x_row * 2 * INNER;
    const char* const w_uk = p.second.w + head * p.second.w_head + way * (NOPE / WAYS) * p.second.w_row
                             + 2 * (column * OUTS + LANE_COLUMNS * (16 * by_columns + row));
    f32x4 sum[2];
    begin_sum(sum);
    keys k;
//@ if rope > 0 then
    lines rope_lines; // of a wave's first unit of rope columns
//@ end
#pragma unroll
    for (int u = 0; u < UNITS; u++) {
      lines &now = on_way[u % (AHEAD + 1)], &next = on_way[(u + 1) % (AHEAD + 1)], &later = on_way[(u + AHEAD) % (AHEAD + 1)];
      if (u == UNITS - AHEAD) {
//@ if rope > 0 then
        if (has_turned && wave < TURNED * UNITS)
          ask(rope_lines, row_of_turned(p, w, column, wave, row, group), wave % UNITS, turn);
//@ end
        ask_keys(k, w_uk, p.second.w_row, group);
      }
      __builtin_amdgcn_sched_barrier(0);
      const char* const row_later = w_row + 512 * (u + AHEAD);
      if (u + AHEAD < UNITS) add_unit<true, true>(sum, now, x + 512 * u, swizzle, group, next, later, row_later, turn);
      else if (u + 1 < UNITS) add_unit<true, false>(sum, now, x + 512 * u, swizzle, group, next, later, row_later, turn);
      else add_unit<false, false>(sum, now, x + 512 * u, swizzle, group, next, later, row_later, turn);
    }
//@ if rope > 0 then
    f32x4 turned[TURNED_UNITS][2];
    if (has_turned) {
#pragma unroll
      for (int i = 0; i < TURNED_UNITS; i++) {
        const int e = wave + WAVES * i;
        if (e >= TURNED * UNITS) break;
        if (i) ask(rope_lines, row_of_turned(p, w, column, e, row, group), e % UNITS, turn);
        begin_sum(turned[i]);
        in_order(rope_lines);
        add_unit<false, false>(turned[i], rope_lines, x + 512 * (e % UNITS), swizzle, group, rope_lines, rope_lines, w, turn);
      }
    }
//@ end
    put_factors(p, squares, shrink.up(), memory, wave, lane);
    __syncthreads(); // x is read
    const u32 again = from_here(same);
    const int row2 = int(again % 16), group2 = int(again % 64 / 16);
    const float factor = ((const float*)(memory + FACTORS_AT))[x_row];
    const f32x4 q = end_sum(sum) * factor;
    *(u32x2*)(memory + Q_AT + row2 * Q_PITCH + 2 * (16 * wave + 4 * group2)) = u32x2{pack2(q[0], q[1]), pack2(q[2], q[3])};
//@ if rope > 0 then
    if (has_turned) {
#pragma unroll
      for (int i = 0; i < TURNED_UNITS; i++) {
        const int e = wave + WAVES * i;
        if (e >= TURNED * UNITS) break;
        *(f32x4*)((float*)memory + (e * 16 + row2) * TURN_PITCH + 4 * group2) = end_sum(turned[i]);
      }
    }
//@ end
    __syncthreads();
    char* const y = p.second.y + t0 * p.second.y_token + head * p.second.y_head;
    latent s = {};
    multiply_keys(s, k, memory + Q_AT + row2 * Q_PITCH + way * (2 * NOPE / WAYS), group2);
    const int at = 16 * LANE_COLUMNS * by_columns + 4 * LANE_COLUMNS * group2; // the lane's first column of the block
//@ if plan.ways == 1 then
#pragma unroll
    for (int i = 0; i < LANE_COLUMNS / 2; i++) {
      float v[8];
      add_latent(v, s, i);
      if (row2 < count) store(y + row2 * p.second.y_token + 2 * (column * OUTS + at + 8 * i), pack(v));
    }
//@ else
    float* const sums = (float*)(memory + SUMS_AT);
#pragma unroll
    for (int i = 0; i < LANE_COLUMNS / 2; i++) {
      float v[8];
      add_latent(v, s, i);
      float* const to = sums + (way * 16 + row2) * SUM_PITCH + at + 8 * i;
      *(f32x4*)to = f32x4{v[0], v[1], v[2], v[3]};
      *(f32x4*)(to + 4) = f32x4{v[4], v[5], v[6], v[7]};
    }
//@ end
//@ if rope > 0 then
    if (turns) turn_columns(p, memory, y + token * p.second.y_token, of, token, pair, angles);
//@ end
//@ if plan.ways > 1 then
    __syncthreads();
#pragma unroll 1
    for (u32 i = again; i < (u32)count * (OUTS / 8); i += THREADS) {
      const int t = int(i / (OUTS / 8)), from = int(i % (OUTS / 8)) * 8;
      float v[8] = {};
#pragma unroll
      for (int n = 0; n < WAYS; n++)
#pragma unroll
        for (int c = 0; c < 8; c++) v[c] += sums[(n * 16 + t) * SUM_PITCH + from + c];
      store(y + t * p.second.y_token + 2 * (column * OUTS + from), pack(v));
    }
//@ end
  }
}
