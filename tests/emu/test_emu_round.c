/* MODE: rounding in every direction, subnormals flushed or kept, fp16_ovfl. Expected values come from exact sums: the rounded
 * result and what it lost, in 113 bits, say which neighbour a direction takes. Nothing here uses the host's rounding modes. */
#include "valu_diff.h"

static unsigned dir; /* MODE's code: 0 nearest even, 1 up, 2 down, 3 toward zero */

typedef struct exact { __float128 hi, lo; bool zero, minus; } exact; /* hi + lo, |lo| below hi's last bit; a zero's sign */

static exact add(__float128 a, __float128 b) {
  __float128 s = a + b, t = s - a, e = (a - (s - t)) + (b - t);
  bool minus = __builtin_signbit((double)a) && __builtin_signbit((double)b);
  if (a != -b || isnan((double)s)) minus = s < 0;
  else if (!(a == 0 && (!!__builtin_signbit((double)a) == !!__builtin_signbit((double)b)))) minus = dir == 2;
  return (exact){s, s - s == 0 ? e : 0, s == 0 && e == 0, minus};
}
static exact only(__float128 a, bool minus) { return (exact){a, 0, a == 0, minus}; }

/* -1: the exact number lies below r, 1: above, 0: r is it. */
static int side(exact x, __float128 r) {
  __float128 d = x.hi - r;
  return d != 0 ? (d > 0 ? 1 : -1) : x.lo != 0 ? (x.lo > 0 ? 1 : -1) : 0;
}
/* From the nearest number to the one in the mode's direction: -1, 0 or 1 steps up. */
static int steps(exact x, __float128 r) {
  int s = side(x, r);
  bool toward = dir == 3 && r != 0 ? (r > 0 ? s < 0 : s > 0) : false;
  if (dir == 1) return s > 0;
  if (dir == 2) return s < 0 ? -1 : 0;
  return toward ? s : 0;
}
static uint32_t round32(exact x) {
  float r = (float)x.hi;
  int n;
  if (isnan(r) || isinf((double)x.hi)) return u32_of(r);
  if (x.zero) return x.minus ? 0x80000000 : 0;
  if (dir == 0 && isfinite(r)) { /* 113 bits were rounded already: a tie is one only if nothing was lost */
    float up = nextafterf(r, INFINITY), down = nextafterf(r, -INFINITY);
    if (x.lo > 0 && x.hi - r == ((__float128)up - r) / 2) r = up;
    if (x.lo < 0 && r - x.hi == ((__float128)r - down) / 2) r = down;
    return u32_of(r);
  }
  n = dir ? steps(x, r) : 0;
  r = n > 0 ? nextafterf(r, INFINITY) : n < 0 ? nextafterf(r, -INFINITY) : r;
  return u32_of(r) | (r == 0 && x.hi < 0 ? 0x80000000 : 0);
}
static uint64_t round64(exact x) {
  double r = (double)x.hi;
  int n;
  if (isnan(r) || x.hi - x.hi != 0) return u64_of(r);
  if (x.zero) return x.minus ? UINT64_C(1) << 63 : 0;
  n = dir ? steps(x, r) : 0;
  r = n > 0 ? nextafter(r, INFINITY) : n < 0 ? nextafter(r, -INFINITY) : r;
  return u64_of(r) | (r == 0 && x.hi < 0 ? UINT64_C(1) << 63 : 0);
}
static uint32_t step16(uint32_t h, int n) { /* one number up or down */
  if (n == 0) return h;
  if ((h & 0x7fff) == 0) return n > 0 ? 1 : 0x8001;
  return (h >> 15) == (n < 0) ? h + 1 : h - 1;
}
static uint32_t round16(exact x) {
  uint16_t h = test_half_of_quad(x.hi);
  if (x.hi != x.hi) return 0x7e00;
  if (x.hi - x.hi != 0) return h;
  if (x.zero) return x.minus ? 0x8000 : 0;
  if ((h & 0x7fff) == 0x7c00) return dir == 0 || dir == (h >> 15 ? 2 : 1) ? h : h - 1u;
  uint32_t out = step16(h, dir ? steps(x, f16_of(h)) : 0);
  return (out & 0x7fff) ? out : (x.hi < 0 ? 0x8000 : 0);
}
static bool minus(double a) { return signbit(a); }
#define MUL(a, b) only((__float128)(a) * (b), minus(a) != minus(b))
static exact fma_exact(double a, double b, double c) {
  exact p = MUL(a, b);
  if (p.zero && c == 0) return only(0, p.minus == minus(c) ? p.minus : dir == 2);
  return add(p.hi, c);
}

/* Every case in each of the four directions; f32's and f64's fields differ, so that neither stands for the other. */
#define DIRECTIONS(X) X(0, "0") X(1, "1") X(2, "2") X(3, "3")
#define MODE32(n) "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), " n "\n"
#define MODE64(n) "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 2, 2), " n "\n"
#define LIST(X)                                                                                                        \
  X(add32, MODE32, NUM32, "v_add_f32 v16, v1, v2", O(0) = round32(add(F(1), F(2))))                                    \
  X(sub32, MODE32, NUM32, "v_sub_f32 v16, v1, v2", O(0) = round32(add(F(1), -F(2))))                                   \
  X(subrev32, MODE32, NUM32, "v_subrev_f32 v16, v1, v2", O(0) = round32(add(F(2), -F(1))))                             \
  X(mul32, MODE32, NUM32, "v_mul_f32 v16, v1, v2", O(0) = round32(MUL(F(1), F(2))))                                    \
  X(fma32, MODE32, NUM32, "v_fma_f32 v16, v1, v2, v3", O(0) = round32(fma_exact(F(1), F(2), F(3))))                    \
  X(fmac32, MODE32, NUM32, "v_mov_b32 v16, v3\nv_fmac_f32 v16, v1, v2", O(0) = round32(fma_exact(F(1), F(2), F(3))))   \
  X(pkadd32, MODE32, NUM32X2, "v_pk_add_f32 v[16:17], v[2:3], v[4:5]",                                                 \
    O(0) = round32(add(F(2), F(4))); O(1) = round32(add(F(3), F(5))))                                                  \
  X(pkfma32, MODE32, NUM32X2, "v_pk_fma_f32 v[16:17], v[2:3], v[4:5], v[6:7]",                                         \
    O(0) = round32(fma_exact(F(2), F(4), F(6))); O(1) = round32(fma_exact(F(3), F(5), F(7))))                          \
  X(cvti32, MODE32, NUM32, "v_cvt_f32_i32 v16, v1", O(0) = round32(only(I(1), false)))                                 \
  X(cvtu32, MODE32, NUM32, "v_cvt_f32_u32 v16, v1", O(0) = round32(only(V(1), false)))                                 \
  X(cvt64, MODE32, NUM32, "v_cvt_f32_f64 v16, v[2:3]", O(0) = round32(only(D(2), minus(D(2)))))                        \
  X(ldexp32, MODE32, NUM32, "v_ldexp_f32 v16, v1, -16", O(0) = round32(only((__float128)F(1) / 65536, minus(F(1)))))   \
  X(rndne, MODE32, NUM32, "v_rndne_f32 v16, v1", OF(roundevenf(F(1))))                                                 \
  X(trunc, MODE32, BITS, "v_cvt_i32_f32 v16, v1",                                                                      \
    float x = F(1); O(0) = isnan(x) ? 0 : x >= 0x1p31f ? 0x7fffffff : x < -0x1p31f ? 0x80000000 : (uint32_t)(int32_t)x) \
  X(exp, MODE32, NUM32, "v_min_f32 v1, 0, v1\nv_exp_f32 v16, v1\nv_exp_f32 v17, v1\ns_nop 0\nv_sub_f32 v16, v16, v17\n" \
    "v_mov_b32 v17, 0xa5a50001", O(0) = isnan(F(1)) && !(V(1) & 0x400000) ? 0x7fc00000 : dir == 2 ? 0x80000000 : 0)     \
  X(add64, MODE64, NUM64, "v_add_f64 v[16:17], v[2:3], v[4:5]", OQ(round64(add(D(2), D(4)))))                          \
  X(mul64, MODE64, NUM64, "v_mul_f64 v[16:17], v[2:3], v[4:5]", OQ(round64(MUL(D(2), D(4)))))                          \
  X(fma64, MODE64, NUM64, "v_fma_f64 v[16:17], v[2:3], v[4:5], v[6:7]", OQ(round64(fma_exact(D(2), D(4), D(6)))))      \
  X(add16, MODE64, NUM16, "v_add_f16 v16, v1, v2", O(0) = round16(add(H(1), H(2))))                                    \
  X(sub16, MODE64, NUM16, "v_sub_f16 v16, v1, v2", O(0) = round16(add(H(1), -H(2))))                                   \
  X(mul16, MODE64, NUM16, "v_mul_f16 v16, v1, v2", O(0) = round16(MUL(H(1), H(2))))                                    \
  X(fma16, MODE64, NUM16, "v_fma_f16 v16, v1, v2, v3", O(0) = 0xa5a50000 | round16(fma_exact(H(1), H(2), H(3))))       \
  X(cvt16, MODE64, NUM16, "v_cvt_f16_f32 v16, v1", O(0) = round16(only(F(1), minus(F(1)))))                            \
  X(cvtu16, MODE64, NUM16, "v_cvt_f16_u16 v16, v1", O(0) = round16(only(U16(1), false)))                               \
  X(pkmul16, MODE64, NUMPK16, "v_pk_mul_f16 v16, v1, v2", O(0) = round16(MUL(H(1), H(2))) | round16(MUL(HH(1), HH(2))) << 16) \
  X(pkfma16, MODE64, NUMPK16, "v_pk_fma_f16 v16, v1, v2, v3",                                                          \
    O(0) = round16(fma_exact(H(1), H(2), H(3))) | round16(fma_exact(HH(1), HH(2), HH(3))) << 16)                       \
  X(other32, MODE64, NUM32, "v_add_f32 v16, v1, v2", OF(F(1) + F(2)))                                                  \
  X(other16, MODE32, NUM16, "v_add_f16 v16, v1, v2", OH(H(1) + H(2)))

#define DEFINE(name, mode, kind, text, ...) \
  static void want_##name(const lane_in *in, lane_out *out) { __VA_ARGS__; }
LIST(DEFINE)
#define ROWS(n, code) static const diff_case rows_##n[] = {LIST(ROW_##n)};
#define ROW_0(name, mode, kind, text, ...) {mode("0") text, kind, 0, want_##name},
#define ROW_1(name, mode, kind, text, ...) {mode("1") text, kind, 0, want_##name},
#define ROW_2(name, mode, kind, text, ...) {mode("2") text, kind, 0, want_##name},
#define ROW_3(name, mode, kind, text, ...) {mode("3") text, kind, 0, want_##name},
DIRECTIONS(ROWS)

TEST(every_direction) {
  static const diff_case *const rows[] = {rows_0, rows_1, rows_2, rows_3};
  for (dir = 0; dir < 4; dir++) diff_run_all(rows[dir], sizeof rows_0 / sizeof *rows_0);
  dir = 0;
}

/* Subnormal operands (bit 0 of a field clear) and results (bit 1 clear) become zero of the same sign. */
#define FTZ(x) (fabsf(x) < 0x1p-126f ? copysignf(0.0f, x) : (x))
#define FTZ16(x) (fabsf(x) < 0x1p-14f ? copysignf(0.0f, x) : (x))
#define FTZ64(x) (fabs(x) < 0x1p-1022 ? copysign(0.0, x) : (x))
#define DENORM32(n) "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), " #n "\n"
#define DENORM64(n) "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 6, 2), " #n "\n"
#define FLUSH_LIST(X)                                                                                                  \
  X(a0, DENORM32(0) "v_add_f32 v16, v1, v2", NUM32, float r = FTZ(F(1)) + FTZ(F(2)); OF(FTZ(r)))                       \
  X(a1, DENORM32(1) "v_add_f32 v16, v1, v2", NUM32, float r = F(1) + F(2); OF(FTZ(r)))                                 \
  X(a2, DENORM32(2) "v_add_f32 v16, v1, v2", NUM32, OF(FTZ(F(1)) + FTZ(F(2))))                                         \
  X(a3, DENORM32(3) "v_add_f32 v16, v1, v2", NUM32, OF(F(1) + F(2)))                                                   \
  X(f0, DENORM32(0) "v_fma_f32 v16, v1, v2, v3", NUM32, float r = fmaf(FTZ(F(1)), FTZ(F(2)), FTZ(F(3))); OF(FTZ(r)))   \
  X(p0, DENORM32(0) "v_pk_mul_f32 v[16:17], v[2:3], v[4:5]", NUM32X2,                                                  \
    float r = FTZ(F(2)) * FTZ(F(4)), t = FTZ(F(3)) * FTZ(F(5)); OF(FTZ(r)); O(1) = u32_of(FTZ(t)))                     \
  X(c0, DENORM32(0) "v_cvt_f32_f64 v16, v[2:3]", NUM32, float r = (float)D(2); OF(FTZ(r)))                             \
  X(q0, DENORM32(0) "v_cmp_lt_f32 s[40:41], 0, v1", BITS, BIT(FTZ(F(1)) > 0))                                          \
  X(m0, DENORM32(0) "v_mov_b32 v16, v1", BITS, O(0) = V(1))                                                            \
  X(h0, DENORM64(0) "v_add_f16 v16, v1, v2", NUM16, float r = f16_of(h_of(FTZ16(H(1)) + FTZ16(H(2)))); OH(FTZ16(r)))   \
  X(h2, DENORM64(2) "v_mul_f16 v16, v1, v2", NUM16, OH(FTZ16(H(1)) * FTZ16(H(2))))                                     \
  X(h1, DENORM64(1) "v_mul_f16 v16, v1, v2", NUM16, float r = f16_of(h_of(H(1) * H(2))); OH(FTZ16(r)))                 \
  X(d0, DENORM64(0) "v_mul_f64 v[16:17], v[2:3], v[4:5]", NUM64, double r = FTZ64(D(2)) * FTZ64(D(4)); OD(FTZ64(r)))   \
  X(d1, DENORM64(1) "v_add_f64 v[16:17], v[2:3], v[4:5]", NUM64, double r = D(2) + D(4); OD(FTZ64(r)))                 \
  X(x0, DENORM64(0) "v_add_f32 v16, v1, v2", NUM32, OF(F(1) + F(2)))
#define FLUSH_DEFINE(name, text, kind, ...) \
  static void flush_##name(const lane_in *in, lane_out *out) { __VA_ARGS__; }
FLUSH_LIST(FLUSH_DEFINE)
#define FLUSH_ROW(name, text, kind, ...) {text, kind, 0, flush_##name},
static const diff_case flushes[] = {FLUSH_LIST(FLUSH_ROW)};
TEST(subnormals) { diff_run_all(flushes, sizeof flushes / sizeof *flushes); }

/* fp16_ovfl: results too large become the largest number; infinities that come in stay. */
#define OVFL "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1\n"
static uint32_t held(double x) {
  uint32_t h = h_of((float)x);
  return isfinite(x) && (h & 0x7fff) == 0x7c00 ? h - 1 : h;
}
#define OVFL_LIST(X)                                                                                                   \
  X(add, OVFL "v_add_f16 v16, v1, v2", NUM16,                                                                          \
    O(0) = isinf(H(1)) || isinf(H(2)) ? h_of(H(1) + H(2)) : held((double)H(1) + H(2)))                                 \
  X(cvt, OVFL "v_cvt_f16_f32 v16, v1", NUM16, O(0) = held(F(1)))                                                       \
  X(f32, OVFL "v_mul_f32 v16, v1, v2", NUM32, OF(F(1) * F(2)))                                                         \
  X(fp8, OVFL "v_mov_b32 v2, 0\nv_cvt_pk_fp8_f32 v16, v1, v2\nv_cvt_f32_fp8 v16, v16", NUM32,                          \
    float x = F(1); if (!isfinite(x)) OF(NAN); else if (fabsf(x) >= 240) OF(copysignf(240, x));                        \
    else if (fabsf(x) < 0x1p-7f) { float k = roundevenf(fabsf(x) * 0x1p10f) / 0x1p10f; OF(k == 0 ? 0 : copysignf(k, x)); } \
    else { int e; frexpf(x, &e); float k = ldexpf(roundevenf(ldexpf(x, 4 - e)), e - 4);                                \
      OF(fabsf(k) > 240 ? copysignf(240, x) : k); })
#define OVFL_DEFINE(name, text, kind, ...) \
  static void ovfl_##name(const lane_in *in, lane_out *out) { __VA_ARGS__; }
OVFL_LIST(OVFL_DEFINE)
#define OVFL_ROW(name, text, kind, ...) {text, kind, 0, ovfl_##name},
static const diff_case overflows[] = {OVFL_LIST(OVFL_ROW)};
TEST(overflow_is_held) { diff_run_all(overflows, sizeof overflows / sizeof *overflows); }

TESTS(NULL, NULL)
