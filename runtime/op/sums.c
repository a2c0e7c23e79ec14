#include "op/sums.h"

#include "base/bits.h"
#include "base/clones.h"
#include "mlaforge/problem.h"

/* Eight numbers that lie anywhere. Written as vectors: of loops over eight sums GCC makes permutations of their inputs. */
enum { LANES = 8 };
typedef double eight __attribute__((vector_size(64), aligned(8), may_alias));
typedef int64_t eight_bits __attribute__((vector_size(64)));

static inline double add_lanes(const eight *s) {
  const double *x = (const double *)s;
  return ((x[0] + x[4]) + (x[1] + x[5])) + ((x[2] + x[6]) + (x[3] + x[7]));
}

MLAF_CLONES static double dot(const double *a, const double *b, int64_t n) {
  eight s = {0};
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) s += *(const eight *)(a + i) * *(const eight *)(b + i);
  for (; i < n; i++) s[0] += a[i] * b[i];
  return add_lanes(&s);
}

MLAF_CLONES static void dot_sizes(const double *a, const double *b, int64_t n, mlaf_sum *out) {
  eight s = {0}, sizes = {0};
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    const eight term = *(const eight *)(a + i) * *(const eight *)(b + i);
    s += term;
    sizes += (eight)((eight_bits)term & INT64_MAX); /* without signs */
  }
  for (; i < n; i++) s[0] += a[i] * b[i], sizes[0] += fabs(a[i] * b[i]);
  out->sum = add_lanes(&s), out->size = add_lanes(&sizes);
}

MLAF_CLONES static void add_scaled(double *restrict to, double by, const double *restrict x, int64_t n) {
  for (int64_t i = 0; i < n; i++) to[i] += by * x[i];
}

MLAF_CLONES static void widen_bf16(const uint16_t *restrict from, int64_t n, double *restrict to) {
  for (int64_t i = 0; i < n; i++) to[i] = (double)mlaf_bits_float((uint32_t)from[i] << 16);
}

/* Without a choice between two numbers, which would be a branch: a half's bits as a float's are the number times 2^-112, but for
 * infinities and NaN, whose exponent gets all its bits. */
MLAF_CLONES static void widen_f16(const uint16_t *restrict from, int64_t n, double *restrict to) {
  for (int64_t i = 0; i < n; i++) {
    const uint32_t h = from[i], size = h & 0x7fff, all = size >= 0x7c00 ? 0x7f800000 : 0;
    const uint32_t bits = mlaf_float_bits(mlaf_bits_float(size << 13) * 0x1p112f) | all | (h & 0x8000) << 16;
    to[i] = (double)mlaf_bits_float(bits);
  }
}

/* Clones have no name for others to call. */
double mlaf_dot(const double *a, const double *b, int64_t n) { return dot(a, b, n); }
void mlaf_add_scaled(double *to, double by, const double *x, int64_t n) { add_scaled(to, by, x, n); }

mlaf_sum mlaf_dot_sizes(const double *a, const double *b, int64_t n) {
  mlaf_sum s;
  dot_sizes(a, b, n, &s);
  return s;
}

void mlaf_widen16(int32_t dtype, const uint16_t *from, int64_t n, double *to) {
  if (dtype == MLAF_F16) widen_f16(from, n, to);
  else widen_bf16(from, n, to);
}

void mlaf_widen8(const double codes[256], const uint8_t *from, int64_t n, double scale, double *to) {
  for (int64_t i = 0; i < n; i++) to[i] = codes[from[i]] * scale;
}

double mlaf_dot_bf16(const double *a, const uint16_t *b, int64_t n) {
  enum { AT_ONCE = 256 };
  double wide[AT_ONCE], sum = 0;
  for (int64_t i = 0; i < n; i += AT_ONCE) {
    const int64_t part = n - i < AT_ONCE ? n - i : AT_ONCE;
    widen_bf16(b + i, part, wide);
    sum += dot(a + i, wide, part);
  }
  return sum;
}
