/* The matrix instructions of gfx942, and the 16-bit ones of gfx90a and gfx950: v_mfma_* and, at the end, v_smfmac_*, whose A is
 * 4:2 sparse.
 *
 * Lane maps (public matrix-instruction calculator, cdna3). An instruction multiplies `blocks` pairs A[M][K] B[K][M].
 * With G = 64 / (M * blocks) groups of lanes along k and P = K / G elements of k per lane:
 *
 *   A element (block b, row i, k): lane (b*G + k/P)*M + i, element k%P of that lane's registers
 *   B element (block b, k, col j): lane (b*G + k/P)*M + j, element k%P
 *   D row i of block b is M consecutive lanes of one register:
 *     M = 32: register 16b + 4(i/8) + i%4, lanes 32((i/4)%2) ..     M = 16: register 4b + i%4, lanes 16(i/4) ..
 *     M =  4: register i, lanes 4b ..
 *   fp64: 16x16x4 as above but D row i is register pair i/4, lanes 16(i%4); 4x4x4_4b: A lane i+4b+16k, D lane j+4b+16i.
 *
 * Arithmetic: products of bf16, f16, fp8 and xf32 are exact in fp32; they are added to the fp32 accumulator one by one in k
 * order, each addition rounded to nearest even. f32 and f64 use one fused multiply-add per k. Subnormals are kept
 * everywhere. xf32 inputs are rounded to 10 mantissa bits, nearest even. Silicon may sum in another order: results agree to
 * rounding, not bit for bit. i8 wraps in 32 bits. EXEC is ignored, as on the hardware: every lane is read and written. */
#pragma GCC optimize("fp-contract=off")
#include <math.h>
#include <string.h>

#include "emu/emu.h"

/* Vector code is cloned per host instruction set; sanitizers cannot instrument the resolvers. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CLONES __attribute__((target_clones("avx512f", "avx2,fma", "default")))
#else
#define CLONES
#endif

typedef enum in_type { IN_BF16, IN_F16, IN_F32, IN_XF32, IN_FP8, IN_BF8, IN_I8, IN_F64 } in_type;

typedef struct mfma {
  uint8_t m, k, blocks;
  uint8_t a, b;         /* in_type */
  uint8_t ab_regs;      /* registers per lane of A and of B */
  uint8_t d_regs;
  uint8_t passes;       /* 4 clk each: LLVM SISchedule.td SIDPGFX940FullSpeedModel */
  bool cbsz, blgp;      /* modifiers the instruction has (calculator); fp64 reads blgp as neg */
} mfma;

typedef union reg64 {
  uint32_t u[EMU_LANES];
  float f[EMU_LANES];
  int32_t i[EMU_LANES];
} reg64;

/* Up to 8 elements of k per lane, one row of 64 lanes each. */
typedef struct unpacked {
  reg64 e[8];
} unpacked __attribute__((aligned(64)));

typedef uint32_t (*vregs)[EMU_LANES];

/* --- unpacking: registers -> one fp32 (or int32) per lane and k --- */

static inline __attribute__((always_inline)) float bits_float(uint32_t u) {
  float f;
  memcpy(&f, &u, sizeof f);
  return f;
}

static inline __attribute__((always_inline)) uint32_t float_bits(float f) {
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  return u;
}

static inline __attribute__((always_inline)) uint32_t half_bits(uint32_t h) {
  uint32_t x = float_bits(bits_float((h & 0x7fff) << 13) * 0x1p112f); /* exact, subnormals included */
  uint32_t special = (h & 0x7c00) == 0x7c00 ? 0x7f800000u : 0;
  return x | special | (h & 0x8000) << 16;
}

/* FNUZ: bias 8 (e4m3) or 16 (e5m2), no infinities, no negative zero; 0x80 is the one NaN. */
static inline __attribute__((always_inline)) uint32_t fnuz_bits(uint32_t x, int mant, int bias) {
  uint32_t e = (x & 0x7f) >> mant, m = x & ((1u << mant) - 1);
  uint32_t normal = (e + 127 - (uint32_t)bias) << 23 | m << (23 - mant);
  uint32_t sub = float_bits((float)(int32_t)m * (mant == 3 ? 0x1p-10f : 0x1p-17f)); /* m * 2^(1 - bias - mant) */
  uint32_t mag = e ? normal : sub;
  return x == 0x80 ? 0x7fc00000u : mag | (x & 0x80) << 24;
}

static inline __attribute__((always_inline)) uint32_t xf32_bits(uint32_t u) {
  uint32_t rounded = (u + 0xfff + (u >> 13 & 1)) & ~0x1fffu;
  return (u & 0x7f800000) == 0x7f800000 ? u : rounded;
}

CLONES static void unpack_bf16(unpacked *out, vregs in, int regs) {
  for (int r = 0; r < regs; r++)
    for (int l = 0; l < EMU_LANES; l++) {
      out->e[2 * r].u[l] = in[r][l] << 16;
      out->e[2 * r + 1].u[l] = in[r][l] & 0xffff0000u;
    }
}

CLONES static void unpack_f16(unpacked *out, vregs in, int regs) {
  for (int r = 0; r < regs; r++)
    for (int l = 0; l < EMU_LANES; l++) {
      out->e[2 * r].u[l] = half_bits(in[r][l] & 0xffff);
      out->e[2 * r + 1].u[l] = half_bits(in[r][l] >> 16);
    }
}

CLONES static void unpack_xf32(unpacked *out, vregs in, int regs) {
  for (int r = 0; r < regs; r++)
    for (int l = 0; l < EMU_LANES; l++) out->e[r].u[l] = xf32_bits(in[r][l]);
}

CLONES static void unpack_fp8(unpacked *out, vregs in, int regs) {
  for (int r = 0; r < regs; r++)
    for (int b = 0; b < 4; b++)
      for (int l = 0; l < EMU_LANES; l++) out->e[4 * r + b].u[l] = fnuz_bits(in[r][l] >> 8 * b & 0xff, 3, 8);
}

CLONES static void unpack_bf8(unpacked *out, vregs in, int regs) {
  for (int r = 0; r < regs; r++)
    for (int b = 0; b < 4; b++)
      for (int l = 0; l < EMU_LANES; l++) out->e[4 * r + b].u[l] = fnuz_bits(in[r][l] >> 8 * b & 0xff, 2, 16);
}

CLONES static void unpack_i8(unpacked *out, vregs in, int regs) {
  for (int r = 0; r < regs; r++)
    for (int b = 0; b < 4; b++)
      for (int l = 0; l < EMU_LANES; l++) out->e[4 * r + b].i[l] = (int8_t)(in[r][l] >> 8 * b);
}

static void unpack(unpacked *out, vregs in, int regs, uint8_t type) {
  switch (type) {
    case IN_BF16: unpack_bf16(out, in, regs); break;
    case IN_F16: unpack_f16(out, in, regs); break;
    case IN_XF32: unpack_xf32(out, in, regs); break;
    case IN_FP8: unpack_fp8(out, in, regs); break;
    case IN_BF8: unpack_bf8(out, in, regs); break;
    case IN_I8: unpack_i8(out, in, regs); break;
    default: memcpy(out, in, (size_t)regs * sizeof in[0]); break; /* f32 */
  }
}

/* B lanes after blgp: which lane's value lane l uses. */
static unsigned blgp_lane(unsigned l, unsigned blgp) {
  switch (blgp) {
    case 1: return l % 32;
    case 2: return l % 32 + 32;
    case 3: return (l + 16) % 64;
    case 4: case 5: case 6: case 7: return l % 16 + 16 * (blgp - 4);
    default: return l;
  }
}

static void apply_blgp(unpacked *b, int elements, unsigned blgp) {
  for (int e = 0; e < elements; e++) {
    reg64 old = b->e[e];
    for (unsigned l = 0; l < EMU_LANES; l++) b->e[e].u[l] = old.u[blgp_lane(l, blgp)];
  }
}

/* --- multiplying: one 16 x 16 tile, rows and columns already located --- */

typedef struct tile {
  float *row[16];      /* 16 accumulators each: the D registers themselves */
  const float *a[32];  /* per k: 16 values of A's column */
  const float *b[32];  /* per k: 16 values of B's row */
  int k;
} tile;

typedef float v16f __attribute__((vector_size(64), aligned(4)));
typedef int32_t v16i __attribute__((vector_size(64), aligned(4)));

CLONES static void tile_float(const tile *t) {
  v16f acc[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) acc[i] = *(const v16f *)t->row[i];
  for (int k = 0; k < t->k; k++) {
    const float *a = t->a[k];
    v16f b = *(const v16f *)t->b[k];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) acc[i] += a[i] * b;
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) *(v16f *)t->row[i] = acc[i];
}

CLONES static void tile_fma(const tile *t) {
  for (int i = 0; i < 16; i++)
    for (int k = 0; k < t->k; k++)
      for (int j = 0; j < 16; j++) t->row[i][j] = __builtin_fmaf(t->a[k][i], t->b[k][j], t->row[i][j]);
}

CLONES static void tile_int(const tile *t) {
  for (int i = 0; i < 16; i++) {
    v16i acc = *(const v16i *)t->row[i];
    for (int k = 0; k < t->k; k++) acc += ((const int32_t *)t->a[k])[i] * *(const v16i *)t->b[k];
    *(v16i *)t->row[i] = acc;
  }
}

/* 16 blocks of 4x4: D register i, lane 4b + j. K = 4 (or 1), one lane group per block. */
static void tiny_blocks(const mfma *d, vregs acc, const unpacked *a, const unpacked *b, const uint8_t *block_of) {
  for (int i = 0; i < 4; i++)
    for (int l = 0; l < EMU_LANES; l++) {
      int al = 4 * block_of[l / 4] + i;
      if (d->a == IN_I8) {
        int32_t s = (int32_t)acc[i][l];
        for (int k = 0; k < d->k; k++) s += a->e[k].i[al] * b->e[k].i[l];
        acc[i][l] = (uint32_t)s;
      } else {
        float s = bits_float(acc[i][l]);
        for (int k = 0; k < d->k; k++)
          s = d->a == IN_F32 ? fmaf(a->e[k].f[al], b->e[k].f[l], s) : s + a->e[k].f[al] * b->e[k].f[l];
        acc[i][l] = float_bits(s);
      }
    }
}

static void big_blocks(const mfma *d, vregs acc, const unpacked *a, const unpacked *b, const uint8_t *block_of) {
  int m = d->m, groups = EMU_LANES / (m * d->blocks), per_lane = d->k / groups;
  for (int blk = 0; blk < d->blocks; blk++)
    for (int part = 0; part < m / 16 * (m / 16); part++) {
      int i0 = part / (m / 16) * 16, j0 = part % (m / 16) * 16;
      tile t;
      t.k = d->k;
      for (int k = 0; k < d->k; k++) {
        t.a[k] = &a->e[k % per_lane].f[(block_of[blk] * groups + k / per_lane) * m + i0];
        t.b[k] = &b->e[k % per_lane].f[(blk * groups + k / per_lane) * m + j0];
      }
      for (int r = 0; r < 16; r++) {
        int i = i0 + r;
        int reg = m == 32 ? 16 * blk + 4 * (i / 8) + i % 4 : 4 * blk + i % 4;
        int lane = m == 32 ? 32 * (i / 4 % 2) + j0 : 16 * (i / 4);
        t.row[r] = (float *)&acc[reg][lane];
      }
      if (d->a == IN_I8) tile_int(&t);
      else if (d->a == IN_F32) tile_fma(&t);
      else tile_float(&t);
    }
}

/* --- execution --- */

static bool check_operands(emu_wave *w, const emu_inst *in, const mfma *d) {
  for (int s = 0; s < 3; s++)
    if (in->src[s].kind == EMU_O_VREG && !emu_vreg_check(w, in->src[s].reg, s == 2 ? d->d_regs : d->ab_regs, ~0ull)) return false;
  return emu_vreg_written(w, in->dst[0].reg, d->d_regs, ~0ull);
}

/* Put C where D goes. D may overlap A or B of the small shapes: those are unpacked before this runs. */
static void load_c(emu_wave *w, const emu_inst *in, const mfma *d) {
  vregs out = w->v + in->dst[0].reg;
  const emu_operand *c = &in->src[2];
  if (c->kind == EMU_O_VREG) {
    if (c->reg != in->dst[0].reg) memmove(out, w->v + c->reg, d->d_regs * sizeof out[0]);
    return;
  }
  for (int r = 0; r < d->d_regs; r++)
    for (int l = 0; l < EMU_LANES; l++) out[r][l] = (uint32_t)c->value;
}

static bool exec_mfma(emu_wave *w, const emu_inst *in) {
  const mfma *d = in->aux;
  if (!check_operands(w, in, d)) return false;
  unpacked a, b;
  unpack(&a, w->v + in->src[0].reg, d->ab_regs, d->a);
  unpack(&b, w->v + in->src[1].reg, d->ab_regs, d->b);
  if (in->blgp) apply_blgp(&b, d->k * d->m * d->blocks / EMU_LANES, in->blgp);
  /* cbsz: each run of 2^cbsz blocks uses block abid of the run for A. */
  uint8_t block_of[16];
  for (int blk = 0; blk < d->blocks; blk++) block_of[blk] = (uint8_t)((blk >> in->cbsz << in->cbsz) + in->abid);
  load_c(w, in, d);
  if (d->m == 4) tiny_blocks(d, w->v + in->dst[0].reg, &a, &b, block_of);
  else big_blocks(d, w->v + in->dst[0].reg, &a, &b, block_of);
  w->counts.mfma_passes += d->passes;
  w->counts.mfma_flops += 2ull * d->m * d->m * d->k * d->blocks;
  return true;
}

static double get_double(vregs v, int lane) {
  uint64_t u = (uint64_t)v[1][lane] << 32 | v[0][lane];
  double x;
  memcpy(&x, &u, sizeof x);
  return x;
}

static void put_double(vregs v, int lane, double x) {
  uint64_t u;
  memcpy(&u, &x, sizeof u);
  v[0][lane] = (uint32_t)u;
  v[1][lane] = (uint32_t)(u >> 32);
}

static double c_double(const emu_wave *w, const emu_operand *c, int pair, int lane) {
  if (c->kind == EMU_O_VREG) return get_double(w->v + c->reg + 2 * pair, lane);
  if (c->is_float) return c->fvalue;
  int64_t i = (int32_t)c->value;
  double x;
  memcpy(&x, &i, sizeof x);
  return x;
}

static bool exec_f64(emu_wave *w, const emu_inst *in) {
  const mfma *d = in->aux;
  if (!check_operands(w, in, d)) return false;
  double a[EMU_LANES], b[EMU_LANES], c[4][EMU_LANES];
  unsigned neg = in->blgp | in->neg_lo; /* the encoding's blgp field holds neg:[a,b,c] */
  for (int l = 0; l < EMU_LANES; l++) {
    a[l] = get_double(w->v + in->src[0].reg, l) * (neg & 1 ? -1 : 1);
    b[l] = get_double(w->v + in->src[1].reg, l) * (neg & 2 ? -1 : 1);
    for (int p = 0; p < d->d_regs / 2; p++) c[p][l] = c_double(w, &in->src[2], p, l) * (neg & 4 ? -1 : 1);
  }
  for (int p = 0; p < d->d_regs / 2; p++)
    for (int l = 0; l < EMU_LANES; l++) {
      double s = c[p][l];
      int i = d->m == 16 ? 4 * p + l / 16 : l / 16, blk = l / 4 % 4;
      for (int k = 0; k < 4; k++)
        s = d->m == 16 ? fma(a[16 * k + i], b[16 * k + l % 16], s) : fma(a[i + 4 * blk + 16 * k], b[l % 16 + 16 * k], s);
      put_double(w->v + in->dst[0].reg + 2 * p, l, s);
    }
  w->counts.mfma_passes += d->passes;
  w->counts.mfma_flops += 2ull * d->m * d->m * d->k * d->blocks;
  return true;
}

/* --- sparse A: of every four k, two are stored, and a register of 2-bit positions says which ---
 *
 * One block; G = 64 / M groups of lanes along k, each lane with k/G consecutive k of B and half as many of A. The positions of a
 * lane's elements are its bits of the index register from 2 * element on, in set abid (cbsz 0) or the first set (else): 8 bits a
 * set for 16-bit inputs, 16 for 8-bit ones. D is also the accumulator. */
static bool exec_smfmac(emu_wave *w, const emu_inst *in) {
  const mfma *d = in->aux;
  uint32_t index[EMU_LANES];
  int groups = EMU_LANES / d->m, stored = d->k / groups / 2; /* elements of A in a lane */
  unsigned shift = in->cbsz ? 0 : in->abid * (unsigned)stored * 2;
  if (!emu_vreg_check(w, in->src[0].reg, 2, ~0ull) || !emu_vreg_check(w, in->src[1].reg, 4, ~0ull) ||
      !emu_vreg_check(w, in->src[2].reg, 1, ~0ull) || !emu_vreg_check(w, in->dst[0].reg, d->d_regs, ~0ull) ||
      !emu_vreg_written(w, in->dst[0].reg, d->d_regs, ~0ull)) return false;
  memcpy(index, w->v[in->src[2].reg], sizeof index);
  unpacked a, b[2];
  unpack(&a, w->v + in->src[0].reg, 2, d->a);
  unpack(&b[0], w->v + in->src[1].reg, 2, d->b);
  unpack(&b[1], w->v + in->src[1].reg + 2, 2, d->b);
  for (int i = 0; i < d->m; i++)
    for (int j = 0; j < d->m; j++) {
      int reg = d->m == 32 ? 4 * (i / 8) + i % 4 : i % 4, lane = d->m == 32 ? 32 * (i / 4 % 2) + j : 16 * (i / 4) + j;
      uint32_t *acc = &w->v[in->dst[0].reg + reg][lane];
      float f = bits_float(*acc);
      int32_t n = (int32_t)*acc;
      for (int g = 0; g < groups; g++)
        for (int e = 0; e < stored; e++) {
          int al = g * d->m + i, k = 4 * (e / 2) + (int)(index[al] >> (shift + 2 * (unsigned)e) & 3);
          const reg64 *be = &b[k / stored].e[k % stored];
          if (d->a == IN_I8) n += a.e[e].i[al] * be->i[g * d->m + j];
          else f += a.e[e].f[al] * be->f[g * d->m + j];
        }
      *acc = d->a == IN_I8 ? (uint32_t)n : float_bits(f);
    }
  w->counts.mfma_passes += d->passes;
  w->counts.mfma_flops += 2ull * d->m * d->m * d->k; /* as the dense shape counts them */
  return true;
}

/* --- tables --- */

/* m k blocks a b ab_regs d_regs passes cbsz blgp */
static const mfma bf16_16 = {16, 16, 1, IN_BF16, IN_BF16, 2, 4, 4, false, false};
static const mfma bf16_32 = {32, 8, 1, IN_BF16, IN_BF16, 2, 16, 8, false, false};
static const mfma bf16_4 = {4, 4, 16, IN_BF16, IN_BF16, 2, 4, 2, true, true};
static const mfma bf16_16b = {16, 4, 4, IN_BF16, IN_BF16, 2, 16, 8, true, true};
static const mfma bf16_32b = {32, 4, 2, IN_BF16, IN_BF16, 2, 32, 16, true, true};
static const mfma f16_16 = {16, 16, 1, IN_F16, IN_F16, 2, 4, 4, false, false};
static const mfma f16_32 = {32, 8, 1, IN_F16, IN_F16, 2, 16, 8, false, false};
static const mfma f16_4 = {4, 4, 16, IN_F16, IN_F16, 2, 4, 2, true, true};
static const mfma f16_16b = {16, 4, 4, IN_F16, IN_F16, 2, 16, 8, true, true};
static const mfma f16_32b = {32, 4, 2, IN_F16, IN_F16, 2, 32, 16, true, true};
/* gfx90a: two of these shapes in twice the passes (SIDPFullSpeedModel). gfx950: twice the k in the same passes. */
static const mfma bf16_16_slow = {16, 16, 1, IN_BF16, IN_BF16, 2, 4, 8, false, false};
static const mfma bf16_32_slow = {32, 8, 1, IN_BF16, IN_BF16, 2, 16, 16, false, false};
static const mfma f16_16_slow = {16, 16, 1, IN_F16, IN_F16, 2, 4, 8, false, false};
static const mfma f16_32_slow = {32, 8, 1, IN_F16, IN_F16, 2, 16, 16, false, false};
static const mfma bf16_16_wide = {16, 32, 1, IN_BF16, IN_BF16, 4, 4, 4, false, false};
static const mfma bf16_32_wide = {32, 16, 1, IN_BF16, IN_BF16, 4, 16, 8, false, false};
static const mfma f16_16_wide = {16, 32, 1, IN_F16, IN_F16, 4, 4, 4, false, false};
static const mfma f16_32_wide = {32, 16, 1, IN_F16, IN_F16, 4, 16, 8, false, false};
static const mfma i8_16 = {16, 32, 1, IN_I8, IN_I8, 2, 4, 4, false, false};
static const mfma i8_32 = {32, 16, 1, IN_I8, IN_I8, 2, 16, 8, false, false};
static const mfma i8_4 = {4, 4, 16, IN_I8, IN_I8, 1, 4, 2, true, true};
static const mfma i8_16b = {16, 4, 4, IN_I8, IN_I8, 1, 16, 8, true, true};
static const mfma i8_32b = {32, 4, 2, IN_I8, IN_I8, 1, 32, 16, true, true};
static const mfma f32_16 = {16, 4, 1, IN_F32, IN_F32, 1, 4, 8, false, true};
static const mfma f32_32 = {32, 2, 1, IN_F32, IN_F32, 1, 16, 16, false, true};
static const mfma f32_4 = {4, 1, 16, IN_F32, IN_F32, 1, 4, 2, true, true};
static const mfma f32_16b = {16, 1, 4, IN_F32, IN_F32, 1, 16, 8, true, true};
static const mfma f32_32b = {32, 1, 2, IN_F32, IN_F32, 1, 32, 16, true, true};
static const mfma xf32_16 = {16, 8, 1, IN_XF32, IN_XF32, 2, 4, 4, false, false};
static const mfma xf32_32 = {32, 4, 1, IN_XF32, IN_XF32, 2, 16, 8, false, false};
static const mfma f64_16 = {16, 4, 1, IN_F64, IN_F64, 2, 8, 8, false, true};
static const mfma f64_4 = {4, 4, 4, IN_F64, IN_F64, 2, 2, 4, false, true};
static const mfma fp8_16[4] = {
    {16, 32, 1, IN_FP8, IN_FP8, 2, 4, 4, false, false}, {16, 32, 1, IN_FP8, IN_BF8, 2, 4, 4, false, false},
    {16, 32, 1, IN_BF8, IN_FP8, 2, 4, 4, false, false}, {16, 32, 1, IN_BF8, IN_BF8, 2, 4, 4, false, false}};
static const mfma fp8_32[4] = {
    {32, 16, 1, IN_FP8, IN_FP8, 2, 16, 8, false, false}, {32, 16, 1, IN_FP8, IN_BF8, 2, 16, 8, false, false},
    {32, 16, 1, IN_BF8, IN_FP8, 2, 16, 8, false, false}, {32, 16, 1, IN_BF8, IN_BF8, 2, 16, 8, false, false}};

static const mfma sparse_bf16[2] = {{16, 32, 1, IN_BF16, IN_BF16, 2, 4, 4, true, false},
                                    {32, 16, 1, IN_BF16, IN_BF16, 2, 16, 8, true, false}};
static const mfma sparse_f16[2] = {{16, 32, 1, IN_F16, IN_F16, 2, 4, 4, true, false},
                                   {32, 16, 1, IN_F16, IN_F16, 2, 16, 8, true, false}};
static const mfma sparse_i8[2] = {{16, 64, 1, IN_I8, IN_I8, 2, 4, 4, true, false},
                                  {32, 32, 1, IN_I8, IN_I8, 2, 16, 8, true, false}};
static const mfma sparse_fp8_16[4] = {
    {16, 64, 1, IN_FP8, IN_FP8, 2, 4, 4, true, false}, {16, 64, 1, IN_FP8, IN_BF8, 2, 4, 4, true, false},
    {16, 64, 1, IN_BF8, IN_FP8, 2, 4, 4, true, false}, {16, 64, 1, IN_BF8, IN_BF8, 2, 4, 4, true, false}};
static const mfma sparse_fp8_32[4] = {
    {32, 32, 1, IN_FP8, IN_FP8, 2, 16, 8, true, false}, {32, 32, 1, IN_FP8, IN_BF8, 2, 16, 8, true, false},
    {32, 32, 1, IN_BF8, IN_FP8, 2, 16, 8, true, false}, {32, 32, 1, IN_BF8, IN_BF8, 2, 16, 8, true, false}};

#define SPARSE(name, desc) {"v_smfmac_" name, exec_smfmac, EMU_C_MFMA, 1, 0, &desc}
#define OP(name, desc) {"v_mfma_" name, exec_mfma, EMU_C_MFMA, 0, 0, &desc}
#define OP64(name, desc) {"v_mfma_" name, exec_f64, EMU_C_MFMA, 0, 0, &desc}
const emu_op emu_ops_mfma[] = {
    OP("f32_16x16x16_bf16", bf16_16), OP("f32_32x32x8_bf16", bf16_32), OP("f32_4x4x4_16b_bf16", bf16_4),
    OP("f32_16x16x4_4b_bf16", bf16_16b), OP("f32_32x32x4_2b_bf16", bf16_32b),
    OP("f32_16x16x16_f16", f16_16), OP("f32_32x32x8_f16", f16_32), OP("f32_4x4x4_16b_f16", f16_4),
    OP("f32_16x16x4_4b_f16", f16_16b), OP("f32_32x32x4_2b_f16", f16_32b),
    OP("f32_16x16x16bf16_1k", bf16_16_slow), OP("f32_32x32x8bf16_1k", bf16_32_slow), OP("f32_16x16x16f16", f16_16_slow),
    OP("f32_32x32x8f16", f16_32_slow), OP("f32_16x16x32_bf16", bf16_16_wide), OP("f32_32x32x16_bf16", bf16_32_wide),
    OP("f32_16x16x32_f16", f16_16_wide), OP("f32_32x32x16_f16", f16_32_wide),
    OP("i32_16x16x32_i8", i8_16), OP("i32_32x32x16_i8", i8_32), OP("i32_4x4x4_16b_i8", i8_4),
    OP("i32_16x16x4_4b_i8", i8_16b), OP("i32_32x32x4_2b_i8", i8_32b),
    OP("f32_16x16x4_f32", f32_16), OP("f32_32x32x2_f32", f32_32), OP("f32_4x4x1_16b_f32", f32_4),
    OP("f32_16x16x1_4b_f32", f32_16b), OP("f32_32x32x1_2b_f32", f32_32b),
    OP("f32_16x16x8_xf32", xf32_16), OP("f32_32x32x4_xf32", xf32_32),
    OP64("f64_16x16x4_f64", f64_16), OP64("f64_4x4x4_4b_f64", f64_4),
    OP("f32_16x16x32_fp8_fp8", fp8_16[0]), OP("f32_16x16x32_fp8_bf8", fp8_16[1]),
    OP("f32_16x16x32_bf8_fp8", fp8_16[2]), OP("f32_16x16x32_bf8_bf8", fp8_16[3]),
    OP("f32_32x32x16_fp8_fp8", fp8_32[0]), OP("f32_32x32x16_fp8_bf8", fp8_32[1]),
    OP("f32_32x32x16_bf8_fp8", fp8_32[2]), OP("f32_32x32x16_bf8_bf8", fp8_32[3]),
    SPARSE("f32_16x16x32_bf16", sparse_bf16[0]), SPARSE("f32_32x32x16_bf16", sparse_bf16[1]),
    SPARSE("f32_16x16x32_f16", sparse_f16[0]), SPARSE("f32_32x32x16_f16", sparse_f16[1]),
    SPARSE("i32_16x16x64_i8", sparse_i8[0]), SPARSE("i32_32x32x32_i8", sparse_i8[1]),
    SPARSE("f32_16x16x64_fp8_fp8", sparse_fp8_16[0]), SPARSE("f32_16x16x64_fp8_bf8", sparse_fp8_16[1]),
    SPARSE("f32_16x16x64_bf8_fp8", sparse_fp8_16[2]), SPARSE("f32_16x16x64_bf8_bf8", sparse_fp8_16[3]),
    SPARSE("f32_32x32x32_fp8_fp8", sparse_fp8_32[0]), SPARSE("f32_32x32x32_fp8_bf8", sparse_fp8_32[1]),
    SPARSE("f32_32x32x32_bf8_fp8", sparse_fp8_32[2]), SPARSE("f32_32x32x32_bf8_bf8", sparse_fp8_32[3]),
    {NULL, NULL, 0, 0, 0, NULL},
};

static bool overlap(unsigned a, unsigned na, unsigned b, unsigned nb) { return a < b + nb && b < a + na; }

/* Source widths, even alignment of tuples, and the overlaps the hardware does not support: a result of more than four
 * registers is written while A, B and other parts of C are still being read. */
static bool bind_sparse(emu_inst *in, mlaf_err *err) {
  const mfma *d = in->aux;
  static const uint8_t want[3] = {2, 4, 1};
  unsigned sets = d->k / (EMU_LANES / d->m) == 8 ? 4 : 2;
  bool ok = in->n_dst == 1 && in->n_src == 3 && in->dst[0].kind == EMU_O_VREG && in->dst[0].count == d->d_regs &&
            in->dst[0].reg % 2 == 0 && !in->blgp && (in->cbsz || in->abid < sets);
  for (int i = 0; ok && i < 3; i++) {
    const emu_operand *s = &in->src[i];
    ok = s->kind == EMU_O_VREG && s->count == want[i] && (want[i] == 1 || s->reg % 2 == 0) &&
         (d->d_regs <= 4 || !overlap(s->reg, want[i], in->dst[0].reg, d->d_regs));
  }
  in->passes = d->passes;
  return ok || (mlaf_fail(err, MLAF_E_FAULT, "pc 0x%x: '%s': a sparse multiply takes D, which it adds to, A in 2, B in 4 and the"
                          " positions in 1 register, none of them in a D of 16, and abid below %u", in->pc, in->text, sets),
                false);
}

bool emu_mfma_bind(emu_inst *in, mlaf_err *err) {
  const mfma *d = in->aux;
  if (in->dtype) return bind_sparse(in, err);
  if (in->n_dst != 1 || in->n_src != 3 || in->dst[0].kind != EMU_O_VREG || in->src[0].kind != EMU_O_VREG ||
      in->src[1].kind != EMU_O_VREG || (in->src[2].kind != EMU_O_VREG && in->src[2].kind != EMU_O_CONST))
    return mlaf_fail(err, MLAF_E_FAULT, "pc 0x%x: '%s': an MFMA takes a register D, registers A and B, and C as registers or an "
                     "inline constant", in->pc, in->text), false;
  in->passes = d->passes;
  const emu_operand *ops[4] = {&in->dst[0], &in->src[0], &in->src[1], &in->src[2]};
  const char *const names[4] = {"D", "A", "B", "C"};
  for (int i = 0; i < 4; i++) {
    unsigned want = i == 0 || i == 3 ? d->d_regs : d->ab_regs;
    if (ops[i]->kind != EMU_O_VREG) continue;
    if (ops[i]->count != want)
      return mlaf_fail(err, MLAF_E_FAULT, "pc 0x%x: '%s': operand %s has %u registers, needs %u", in->pc, in->text, names[i],
                       ops[i]->count, want), false;
    if (want > 1 && ops[i]->reg % 2)
      return mlaf_fail(err, MLAF_E_FAULT, "pc 0x%x: '%s': operand %s must start at an even register", in->pc, in->text,
                       names[i]), false;
    if (i == 0 || d->d_regs <= 4 || !overlap(ops[0]->reg, d->d_regs, ops[i]->reg, want)) continue;
    if (i == 3 && ops[3]->reg == ops[0]->reg) continue;
    return mlaf_fail(err, MLAF_E_FAULT, "pc 0x%x: '%s': D overlaps %s%s, which this shape reads while writing D", in->pc,
                     in->text, i == 3 ? "part of " : "", names[i]), false;
  }
  if ((in->cbsz && !d->cbsz) || (in->abid && !d->cbsz) || (in->blgp && !d->blgp) ||
      (d->cbsz && (1u << in->cbsz > d->blocks || in->abid >= 1u << in->cbsz)))
    return mlaf_fail(err, MLAF_E_FAULT, "pc 0x%x: '%s': cbsz:%u abid:%u blgp:%u is not defined for this instruction", in->pc,
                     in->text, in->cbsz, in->abid, in->blgp), false;
  return true;
}
