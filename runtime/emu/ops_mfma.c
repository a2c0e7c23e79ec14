/* The matrix instructions: v_mfma_*, v_mfma_scale_* and, at the end, v_smfmac_*, whose A is 4:2 sparse.
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
 * but for gfx90a's 16-bit shapes, which flush them. xf32 inputs are rounded to 10 mantissa bits, nearest even. Silicon may sum in
 * another order: results agree to rounding, not bit for bit. i8 wraps in 32 bits. EXEC is ignored, as on the hardware: every lane
 * is read and written.
 *
 * Where f32 overflows on the way, the order matters and silicon's is followed: docs/lab/emulator.md, "Numbers". */
#pragma GCC optimize("fp-contract=off")
#include <pthread.h>

#include "base/clones.h"
#include "base/half.h"
#include "emu/mfma.h"
#include "emu/small_float.h"

#ifdef __clang__ /* there a comma separates versions */
#define CLONES MLAF_CLONES
#else
#define CLONES MLAF_CLONES_OF("avx512f", "avx2,fma", "default")
#endif

typedef union reg64 {
  uint32_t u[EMU_LANES];
  float f[EMU_LANES];
  int32_t i[EMU_LANES];
} reg64;

/* Up to 32 elements of k per lane, one row of 64 lanes each. */
enum { ELEMENTS = 32 };
typedef struct unpacked {
  reg64 e[ELEMENTS];
} unpacked __attribute__((aligned(64)));

typedef uint32_t (*vregs)[EMU_LANES];

/* --- unpacking: registers -> one fp32 (or int32) per lane and k --- */

/* FNUZ: bias 8 (e4m3) or 16 (e5m2), no infinities, no negative zero; 0x80 is the one NaN. */
static inline __attribute__((always_inline)) uint32_t fnuz_bits(uint32_t x, int mant, int bias) {
  uint32_t e = (x & 0x7f) >> mant, m = x & ((1u << mant) - 1);
  uint32_t normal = (e + 127 - (uint32_t)bias) << 23 | m << (23 - mant);
  uint32_t sub = mlaf_float_bits((float)(int32_t)m * (mant == 3 ? 0x1p-10f : 0x1p-17f)); /* m * 2^(1 - bias - mant) */
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
      out->e[2 * r].u[l] = mlaf_half_decode_bits(in[r][l] & 0xffff);
      out->e[2 * r + 1].u[l] = mlaf_half_decode_bits(in[r][l] >> 16);
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

/* The small formats of OCP as floats, by cbsz and blgp of f8f6f4. */
static const emu_small *const formats[EMU_SMALL_FORMATS] = {&emu_fp8, &emu_bf8, &emu_fp6, &emu_bf6, &emu_fp4};
const uint8_t emu_small_regs[EMU_SMALL_FORMATS] = {8, 8, 6, 6, 4};
static float small_floats[EMU_SMALL_FORMATS][256];
static pthread_once_t small_once = PTHREAD_ONCE_INIT;

static void small_init(void) {
  for (int f = 0; f < EMU_SMALL_FORMATS; f++)
    for (uint32_t code = 0; code < UINT32_C(1) << formats[f]->bits; code++)
      small_floats[f][code] = (float)emu_small_value(formats[f], code);
}

static void unpack_small(unpacked *out, vregs in, int regs, int format) {
  unsigned bits = formats[format]->bits;
  pthread_once(&small_once, small_init);
  for (unsigned e = 0; e < (unsigned)regs * 32 / bits; e++)
    for (int l = 0; l < EMU_LANES; l++) {
      unsigned at = e * bits, low = in[at / 32][l] >> at % 32;
      if (at % 32 + bits > 32) low |= in[at / 32 + 1][l] << (32 - at % 32);
      out->e[e].f[l] = small_floats[format][low & ((1u << bits) - 1)];
    }
}

static void unpack(unpacked *out, vregs in, int regs, uint8_t type) {
  switch (type) {
    case EMU_IN_FP8_OCP: unpack_small(out, in, regs, 0); break;
    case EMU_IN_BF8_OCP: unpack_small(out, in, regs, 1); break;
    case EMU_IN_BF16: unpack_bf16(out, in, regs); break;
    case EMU_IN_F16: unpack_f16(out, in, regs); break;
    case EMU_IN_XF32: unpack_xf32(out, in, regs); break;
    case EMU_IN_FP8: unpack_fp8(out, in, regs); break;
    case EMU_IN_BF8: unpack_bf8(out, in, regs); break;
    case EMU_IN_I8: unpack_i8(out, in, regs); break;
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

enum { K_MAX = 64 };
typedef struct tile {
  float *row[16];         /* 16 accumulators each: the D registers themselves */
  const float *a[K_MAX];  /* per k: 16 values of A's column */
  const float *b[K_MAX];  /* per k: 16 values of B's row */
  int k;
  uint8_t fused;          /* products that are summed at once: emu_isa.mfma_fused */
} tile;

typedef float v16f __attribute__((vector_size(64), aligned(4)));
typedef int32_t v16i __attribute__((vector_size(64), aligned(4)));

/* Products on top of c, as far as overflow goes: no partial sum of the n is rounded to f32, but each product is, so that one of
 * 2^128 or more is an infinity; without `fused` all are f32 sums, of pairs and of pairs of pairs. */
static float sum_products(const float *a, const float *b, int n, float c, bool fused) {
  double s = c;
  float pair[4] = {0, 0, 0, 0};
  bool up = false, down = false;
  for (int i = 0; i < n; i++) {
    double p = (double)a[i] * (double)b[i];
    s += p;
    up |= p >= 0x1p128;
    down |= p <= -0x1p128;
    if (!fused) pair[i] = a[i] * b[i];
  }
  if (!fused) return c + (n > 2 ? (pair[0] + pair[1]) + (pair[2] + pair[3]) : pair[0] + pair[1]);
  if (!isfinite(s) || !(up || down)) return (float)s;
  return up && down ? NAN : up ? INFINITY : -INFINITY;
}

/* The sum that was not finite, group after group. */
static float sum_again(const float *a, const float *b, int k, float c, unsigned group) {
  bool fused = group != 0;
  int n = fused ? (int)group : k % 4 == 0 ? 4 : 2;
  for (int i = 0; i < k; i += n) c = sum_products(a + i, b + i, n < k - i ? n : k - i, c, fused);
  return c;
}

static __attribute__((noinline)) void tile_overflowed(const tile *t) {
  float a[K_MAX], b[K_MAX];
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 16; j++) {
      float c = t->row[i][j], s = c;
      for (int k = 0; k < t->k; k++) a[k] = t->a[k][i], b[k] = t->b[k][j], s += a[k] * b[k];
      t->row[i][j] = isfinite(s) ? s : sum_again(a, b, t->k, c, t->fused);
    }
}

CLONES static void tile_float(const tile *t) {
  v16f acc[16], any = {0};
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) acc[i] = *(const v16f *)t->row[i];
  for (int k = 0; k < t->k; k++) {
    const float *a = t->a[k];
    v16f b = *(const v16f *)t->b[k];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) acc[i] += a[i] * b;
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) any += acc[i]; /* what is not finite stays so */
  float odd = 0;
  for (int j = 0; j < 16; j++) odd += any[j] - any[j];
  if (odd != 0.0f) {
    tile_overflowed(t);
    return;
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
static void tiny_blocks(const emu_mfma *d, vregs acc, const unpacked *a, const unpacked *b, const uint8_t *block_of,
                        uint8_t fused) {
  for (int i = 0; i < 4; i++)
    for (int l = 0; l < EMU_LANES; l++) {
      int al = 4 * block_of[l / 4] + i;
      if (d->a == EMU_IN_I8) {
        int32_t s = (int32_t)acc[i][l];
        for (int k = 0; k < d->k; k++) s += a->e[k].i[al] * b->e[k].i[l];
        acc[i][l] = (uint32_t)s;
      } else {
        float c = mlaf_bits_float(acc[i][l]), s = c, ak[4], bk[4];
        for (int k = 0; k < d->k; k++) {
          ak[k] = a->e[k].f[al], bk[k] = b->e[k].f[l];
          s = d->a == EMU_IN_F32 ? fmaf(ak[k], bk[k], s) : s + ak[k] * bk[k];
        }
        if (!isfinite(s) && d->a != EMU_IN_F32) s = sum_again(ak, bk, d->k, c, fused);
        acc[i][l] = mlaf_float_bits(s);
      }
    }
}

static void big_blocks(const emu_mfma *d, vregs acc, const unpacked *a, const unpacked *b, const uint8_t *block_of,
                       uint8_t fused) {
  int m = d->m, groups = EMU_LANES / (m * d->blocks), per_lane = d->k / groups;
  for (int blk = 0; blk < d->blocks; blk++)
    for (int part = 0; part < m / 16 * (m / 16); part++) {
      int i0 = part / (m / 16) * 16, j0 = part % (m / 16) * 16;
      tile t;
      t.k = d->k;
      t.fused = d->a == EMU_IN_XF32 ? 4 : fused;
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
      if (d->a == EMU_IN_I8) tile_int(&t);
      else if (d->a == EMU_IN_F32) tile_fma(&t);
      else tile_float(&t);
    }
}

/* --- execution --- */

static bool check_operands(emu_wave *w, const emu_inst *in, const emu_mfma *d) {
  for (int s = 0; s < 3; s++)
    if (in->src[s].kind == EMU_O_VREG && !emu_vreg_check(w, in->src[s].reg, s == 2 ? d->d_regs : d->ab_regs, ~0ull)) return false;
  return emu_vreg_written(w, in->dst[0].reg, d->d_regs, ~0ull);
}

/* Put C where D goes. D may overlap A or B of the small shapes: those are unpacked before this runs. */
static void load_c(emu_wave *w, const emu_inst *in, const emu_mfma *d) {
  vregs out = w->v + in->dst[0].reg;
  const emu_operand *c = &in->src[2];
  if (c->kind == EMU_O_VREG) {
    if (c->reg != in->dst[0].reg) memmove(out, w->v + c->reg, d->d_regs * sizeof out[0]);
    return;
  }
  for (int r = 0; r < d->d_regs; r++)
    for (int l = 0; l < EMU_LANES; l++) out[r][l] = (uint32_t)c->value;
}

/* gfx90a: "MFMA_F16, MFMA_BF16 and MFMA_BF16_1K flush subnormal input/output data to zero" (MIOpen, "MI200 MFMA behavior"). */
static void flush_rows(uint32_t (*v)[EMU_LANES], int rows, float least) {
  for (int r = 0; r < rows; r++)
    for (int l = 0; l < EMU_LANES; l++)
      if (fabsf(mlaf_bits_float(v[r][l])) < least) v[r][l] &= 0x80000000u;
}

bool emu_mfma_dense(emu_wave *w, const emu_inst *in) {
  const emu_mfma *d = in->aux;
  const emu_isa *isa = w->group->code->isa;
  bool flush = isa->mfma_flush && (d->a == EMU_IN_F16 || d->a == EMU_IN_BF16);
  int elements = d->k * d->m * d->blocks / EMU_LANES;
  vregs out = w->v + in->dst[0].reg;
  if (!check_operands(w, in, d)) return false;
  unpacked a, b;
  unpack(&a, w->v + in->src[0].reg, d->ab_regs, d->a);
  unpack(&b, w->v + in->src[1].reg, d->ab_regs, d->b);
  if (in->blgp) apply_blgp(&b, elements, in->blgp);
  /* cbsz: each run of 2^cbsz blocks uses block abid of the run for A. */
  uint8_t block_of[16];
  for (int blk = 0; blk < d->blocks; blk++) block_of[blk] = (uint8_t)((blk >> in->cbsz << in->cbsz) + in->abid);
  load_c(w, in, d);
  if (flush) {
    float least = d->a == EMU_IN_F16 ? 0x1p-14f : 0x1p-126f;
    for (int e = 0; e < elements; e++) flush_rows(&a.e[e].u, 1, least), flush_rows(&b.e[e].u, 1, least);
    flush_rows(out, d->d_regs, 0x1p-126f);
  }
  if (d->m == 4) tiny_blocks(d, out, &a, &b, block_of, isa->mfma_fused);
  else big_blocks(d, out, &a, &b, block_of, isa->mfma_fused);
  if (flush) flush_rows(out, d->d_regs, 0x1p-126f);
  return true;
}

/* --- f8f6f4: formats of their own for A and B, and a scale (E8M0) for every 32 k of a row and of a column ---
 *
 * A lane has 32 elements: of 6 and 4 bits 32 consecutive k, of 8 bits two runs of 16 that lie K / 2 apart. The scale of a row's
 * (or column's) n-th 32 k is in the n-th group of lanes, a byte that op_sel (its low bit) and op_sel_hi name. AMD, "Matrix Core
 * Programming on CDNA3 and CDNA4", 5.4 and 5.5: the scales are applied after the dot product and before the accumulation. */
static void place_of_k(unsigned format, int m, int k, int total, int *lane, int *element) {
  int half = total / 2;
  if (formats[format]->bits < 8) *lane = k / 32 * m, *element = k % 32;
  else *lane = k % half / 16 * m, *element = k / half * 16 + k % 16;
}

/* 2^(e - 127) of each lane's scale; all ones is NaN. */
static bool scales(emu_wave *w, const emu_inst *in, int src, double out[EMU_LANES]) {
  unsigned which = (unsigned)src - 3, shift = 8 * ((in->op_sel >> which & 1u) | (in->op_sel_hi >> which & 1u) << 1);
  const emu_operand *o = &in->src[src];
  for (int l = 0; l < EMU_LANES; l++) out[l] = 1.0;
  if (in->n_src < 5) return true;
  uint32_t all = 0;
  if (o->kind == EMU_O_VREG ? !emu_vreg_check(w, o->reg, 1, ~0ull) : !emu_sread32(w, o, &all)) return false;
  for (int l = 0; l < EMU_LANES; l++) {
    uint32_t e = (o->kind == EMU_O_VREG ? w->v[o->reg][l] : all) >> shift & 0xff;
    out[l] = e == 0xff ? NAN : ldexp(1.0, (int)e - 127);
  }
  return true;
}

bool emu_mfma_small(emu_wave *w, const emu_inst *in) {
  const emu_mfma *d = in->aux;
  unpacked a, b;
  double sa[EMU_LANES], sb[EMU_LANES];
  for (int s = 0; s < 3; s++)
    if (in->src[s].kind == EMU_O_VREG && !emu_vreg_check(w, in->src[s].reg, in->src[s].count, ~0ull)) return false;
  if (!scales(w, in, 3, sa) || !scales(w, in, 4, sb) || !emu_vreg_written(w, in->dst[0].reg, d->d_regs, ~0ull)) return false;
  unpack_small(&a, w->v + in->src[0].reg, emu_small_regs[in->cbsz], in->cbsz);
  unpack_small(&b, w->v + in->src[1].reg, emu_small_regs[in->blgp], in->blgp);
  load_c(w, in, d);
  const float *row_k[128], *col_k[128]; /* per k: the elements of all rows, of all columns */
  for (int k = 0; k < d->k; k++) {
    int lane, e;
    place_of_k(in->cbsz, d->m, k, d->k, &lane, &e), row_k[k] = &a.e[e].f[lane];
    place_of_k(in->blgp, d->m, k, d->k, &lane, &e), col_k[k] = &b.e[e].f[lane];
  }
  for (int i = 0; i < d->m; i++)
    for (int j = 0; j < d->m; j++) {
      int reg = d->m == 32 ? 4 * (i / 8) + i % 4 : i % 4, lane = d->m == 32 ? 32 * (i / 4 % 2) + j : 16 * (i / 4) + j;
      uint32_t *acc = &w->v[in->dst[0].reg + reg][lane];
      float f = mlaf_bits_float(*acc);
      for (int block = 0; block < d->k / 32; block++) {
        double dot = 0;
        for (int k = 32 * block; k < 32 * block + 32; k++) dot += (double)row_k[k][i] * (double)col_k[k][j];
        f = (float)(f + dot * sa[block * d->m + i] * sb[block * d->m + j]);
      }
      *acc = mlaf_float_bits(f);
    }
  return true;
}

static double get_double(vregs v, int lane) {
  return mlaf_bits_double((uint64_t)v[1][lane] << 32 | v[0][lane]);
}

static void put_double(vregs v, int lane, double x) {
  const uint64_t u = mlaf_double_bits(x);
  v[0][lane] = (uint32_t)u;
  v[1][lane] = (uint32_t)(u >> 32);
}

static double c_double(const emu_wave *w, const emu_operand *c, int pair, int lane) {
  if (c->kind == EMU_O_VREG) return get_double(w->v + c->reg + 2 * pair, lane);
  if (c->is_float) return c->fvalue;
  return mlaf_bits_double((uint64_t)(int32_t)c->value);
}

bool emu_mfma_f64(emu_wave *w, const emu_inst *in) {
  const emu_mfma *d = in->aux;
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
  return true;
}

/* --- sparse A: of every four k, two are stored, and a register of 2-bit positions says which ---
 *
 * One block; G = 64 / M groups of lanes along k, each lane with k/G consecutive k of B and half as many of A. The positions of a
 * lane's elements are its bits of the index register from 2 * element on, in set abid (cbsz 0) or the first set (else): 2 bits a
 * stored element. D is also the accumulator. */
bool emu_mfma_sparse(emu_wave *w, const emu_inst *in) {
  const emu_mfma *d = in->aux;
  uint32_t index[EMU_LANES];
  int groups = EMU_LANES / d->m, stored = d->k / groups / 2; /* elements of A in a lane */
  unsigned shift = in->cbsz ? 0 : in->abid * (unsigned)stored * 2, fused = w->group->code->isa->mfma_fused;
  if (!emu_vreg_check(w, in->src[0].reg, d->ab_regs, ~0ull) || !emu_vreg_check(w, in->src[1].reg, 2u * d->ab_regs, ~0ull) ||
      !emu_vreg_check(w, in->src[2].reg, 1, ~0ull) || !emu_vreg_check(w, in->dst[0].reg, d->d_regs, ~0ull) ||
      !emu_vreg_written(w, in->dst[0].reg, d->d_regs, ~0ull)) return false;
  memcpy(index, w->v[in->src[2].reg], sizeof index);
  unpacked a, b;
  unpack(&a, w->v + in->src[0].reg, d->ab_regs, d->a);
  unpack(&b, w->v + in->src[1].reg, 2 * d->ab_regs, d->b);
  for (int i = 0; i < d->m; i++)
    for (int j = 0; j < d->m; j++) {
      int reg = d->m == 32 ? 4 * (i / 8) + i % 4 : i % 4, lane = d->m == 32 ? 32 * (i / 4 % 2) + j : 16 * (i / 4) + j, x = 0;
      uint32_t *acc = &w->v[in->dst[0].reg + reg][lane];
      float c = mlaf_bits_float(*acc), f = c, ak[K_MAX], bk[K_MAX];
      int32_t n = (int32_t)*acc;
      for (int g = 0; g < groups; g++)
        for (int e = 0; e < stored; e++, x++) {
          int al = g * d->m + i, k = 4 * (e / 2) + (int)(index[al] >> (shift + 2 * (unsigned)e) & 3);
          const reg64 *be = &b.e[k];
          if (d->a == EMU_IN_I8) n += a.e[e].i[al] * be->i[g * d->m + j];
          else ak[x] = a.e[e].f[al], bk[x] = be->f[g * d->m + j], f += ak[x] * bk[x];
        }
      if (d->a != EMU_IN_I8 && !isfinite(f)) f = sum_again(ak, bk, x, c, fused);
      *acc = d->a == EMU_IN_I8 ? (uint32_t)n : mlaf_float_bits(f);
    }
  return true;
}
