// A projection by matrix instructions of CDNA whose weights lie by inputs and whose sums are short: weights stay. A wave has all
// values of a tile's 128 outputs in registers, put together once, and takes every so-many-th 16 tokens of the launch. So no sums
// meet, and no wave waits for another.
//
//   step      16 values of a sum. Of 32 values lane l has rows 8 * (l/16) .. +7 of W, and the same 16 bytes of x: the first four
//             are one step's, the others the next one's. Of each row it has outputs 8 * (l%16) .. +7, which two-by-two
//             transpositions make eight operands of
//   waves     of a block, which share a tile's tokens; so do `parts` blocks (parts.h)
//   patch     of LDS, a wave's own: 16 tokens' outputs go out through it, so that whole lines are written. LDS does a wave's
//             instructions in their order
//
// Columns that turn are shared out over all threads of a head's blocks, and turned behind the products.
//@ contract(arch.wave == 64, "wave size %d", arch.wave)
//@ contract(inner % 32 == 0, "%d values of a sum are not a multiple of 32", inner)
//@ contract(outer % 8 == 0, "%d outputs are not a multiple of 8", outer)
//@ local stay = require("projection/stay")
//@ declares{ threads = 64 * waves, rows_per_wg = stay.TILE // parts, lds_bytes = stay.PATCH * waves }

#define MLAF_BF16 ${dtype == "bf16" and 1 or 0}
#define MLAF_MFMA_K32 0
//@ include("lib/projection/machine.h")
//@ include("lib/mfma.h")
//@ include("lib/projection/args.h")

constexpr int INNER = ${inner}, OUTER = ${outer}, TOKENS = 16, WAYS = 1, THREADS = ${64 * waves};
constexpr int TILE = ${stay.TILE};
//@ include("lib/projection/block.h", { inner = inner, norm = 0, residual = 0, turn = turn, style = style })
//@ include("lib/projection/one_trip.h")
//@ include("lib/projection/parts.h", { tile = stay.TILE, outer = outer, parts = parts })
constexpr int STEPS = INNER / 16, BLOCKS = 8;
constexpr int PATCH_ROW = ${stay.PATCH_ROW}; // bytes: neighbours begin in other banks

struct weights {
  u32x2 of[STEPS][BLOCKS];
};
struct tokens16 {
  word4 of[STEPS / 2];
};

MLAF_DEV void load_tokens(const char* x, tokens16& to) {
#pragma unroll
  for (int i = 0; i < STEPS / 2; i++) to.of[i] = load<word4>(x + 64 * i);
}

// w: this lane's first row and outputs.
MLAF_DEV void load_tile(const char* w, i64 row, weights& to) {
  word4 raw[STEPS][4];
#pragma unroll
  for (int s = 0; s < STEPS; s++)
#pragma unroll
    for (int r = 0; r < 4; r++) raw[s][r] = load<word4>(w + (32 * (s / 2) + 4 * (s % 2) + r) * row);
  __builtin_amdgcn_sched_barrier(0); // all are asked for before any is waited for
#pragma unroll
  for (int s = 0; s < STEPS; s++)
#pragma unroll
    for (int i = 0; i < BLOCKS / 2; i++) {
      to.of[s][2 * i] = u32x2{join_lo(raw[s][0][i], raw[s][1][i]), join_lo(raw[s][2][i], raw[s][3][i])};
      to.of[s][2 * i + 1] = u32x2{join_hi(raw[s][0][i], raw[s][1][i]), join_hi(raw[s][2][i], raw[s][3][i])};
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) ${symbol}(const mlaf_projection_kernel_args a) {
  __shared__ __attribute__((aligned(16))) char lds[${stay.PATCH * waves}];
  const int thread = (int)my_thread(), lane = thread % 64, wave = uniform(thread / 64), row = lane % 16, group = lane / 16;
  fetch_arguments(a);
  const share mine = my_share();
  const place p = place_of(a, mine.tile);
  const i64 first = 16 * (mine.part * ${waves} + wave), step = 16 * TILE_BLOCKS * ${waves};
  const int output = p.first + BLOCKS * row;
  tokens16 next;
  weights w;
  if (first < a.tokens) load_tokens(row_of_x(a, p, first + row) + 16 * group, next);
  load_tile(p.w + 8 * group * a.w_row + 2 * (output < OUTER ? output : OUTER - BLOCKS), a.w_row, w);
  char* const patch = lds + wave * ${stay.PATCH};
#pragma unroll 1
  for (i64 t0 = first; t0 < a.tokens; t0 += step) {
    const tokens16 x = next;
    load_tokens(row_of_x(a, p, t0 + step + row) + 16 * group, next); // behind the last ones: the last one's
    f32x4 s[BLOCKS] = {};
#pragma unroll
    for (int i = 0; i < STEPS; i++)
#pragma unroll
      for (int b = 0; b < BLOCKS; b++) s[b] = mfma16(w.of[i][b], i % 2 ? x.of[i / 2].zw : x.of[i / 2].xy, s[b]);
#pragma unroll
    for (int r = 0; r < 4; r++) {
      float v[BLOCKS];
#pragma unroll
      for (int b = 0; b < BLOCKS; b++) v[b] = s[b][r];
      *(word4*)(patch + row * PATCH_ROW + 16 * (4 * group + r)) = pack(v);
    }
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const int token = 4 * i + group;
      const word4 y = *(const word4*)(patch + token * PATCH_ROW + 16 * row);
      if (t0 + token < a.tokens && output < OUTER) store(p.y + (t0 + token) * a.y_token + 2 * output, y);
    }
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
  }
//@ if turn > 0 then
  const int blocks = TILES * TILE_BLOCKS, block = p.first / TILE * TILE_BLOCKS + mine.part;
  turn_rows(a, p.x, p.y, block * THREADS + thread, blocks * THREADS);
//@ end
}
